"""Playing by hand: from a pipe, at a terminal, and what the words with a colon say."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from broken_envs import Stairs
from test_cli import HERE
from toy import Corridor

from trialogue.envs import TextEnv, make
from trialogue.experiments.play import WORDS, Table, choose, completer


def seated(env: TextEnv, task: str) -> tuple[Table, list[str]]:
    said: list[str] = []
    table = Table(env, said.append)
    table.begin(task, None)
    return table, said


def piped(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trialogue.experiments.cli", "play", *arguments],
        input=text,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_an_episode_from_a_pipe() -> None:
    done = piped("go rihgt\n:why\n:hint\n\ngo right\ngo right\nlook\n", "toy:Corridor", "--task", "test/2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "goal reach room 2" in done.stdout
    assert "> go rihgt\nNothing happens." in done.stdout
    assert "'go rihgt' is not possible here\nnearest: go right" in done.stdout
    assert done.stdout.rstrip().endswith("won, score 1, after 3 steps")


@pytest.mark.parametrize("end", ["", ":quit\nlook\n", "go right"])
def test_the_end_of_the_input_and_quit_leave_cleanly(end: str) -> None:
    done = piped(end, "toy:Corridor", "--set", "count=3", "--task", "test/3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "> look" not in done.stdout


def test_bytes_that_are_no_text_are_survived() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trialogue.experiments.cli", "play", "toy:Corridor", "--task", "test/1"],
        input=b"\xff\xfe\nlook\n",
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONUTF8": "1"},
        capture_output=True,
    )
    assert (done.returncode, b"You are in room 0" in done.stdout) == (0, True)


def test_an_unknown_task_is_refused_with_the_nearest() -> None:
    done = piped("", "toy:Corridor", "--task", "test/11")
    assert (done.returncode, "Did you mean 'test/1'" in done.stderr) == (2, True)


def test_why_speaks_of_the_last_action_only() -> None:
    table, said = seated(Corridor(), "test/2")
    table.take(":why")
    assert said[-1] == "nothing has been done yet"
    table.take("go up")
    table.take(":why")
    assert "'go up' is not possible here" in said[-1]
    table.take("go left")
    table.take(":why")
    assert said[-1] == "the last action was accepted"


def test_words_do_not_cost_a_step_and_unknown_ones_are_answered() -> None:
    table, said = seated(Corridor(), "test/2")
    for word in (":goal", ":commands", ":help", ":comands"):
        table.take(word)
    assert said[1:3] == ["reach room 2", "go left\ngo right\nlook"]
    assert said[4].startswith("there is no :comands. Did you mean :commands?")
    assert all(word in said[3] for word in WORDS)
    assert table.steps == 0


def test_hints_win_even_after_other_actions() -> None:
    """The household's expert is told what was done in place of what it said."""
    env = make("household", receptacles=6)
    table, said = seated(env, "generated_eval/cool/s1000009-r6-d14")
    for action in ("look", "go to countertop 1", "take plate 1 from countertop 1", "go to cabinet 1", "nonsense"):
        table.take(action)
    for _ in range(60):
        table.take(":hint")
        table.take(said[-1])
        if table.over:
            break
    env.close()
    assert table.info["won"]


def test_a_hint_says_when_it_is_a_guess() -> None:
    table, said = seated(Corridor(), "test/3")
    table.take(":hint")
    assert said[-1] == "go right"
    table.take("look")
    table.take(":hint")
    assert said[-1].startswith("go right  (a guess")


class Bewildered(Stairs):
    def expert(self) -> Bewildered.Expert:
        return Bewildered.Expert()

    class Expert:
        def act(self, observation: str, admissible: object) -> str:
            raise KeyError("where am I")


class Expertless(Stairs):
    def expert(self) -> None:
        return None


@pytest.mark.parametrize(("env", "words"), [(Bewildered, "KeyError: 'where am I'"), (Expertless, "no expert here")])
def test_without_an_expert_the_hint_is_the_nearest_command(env: type[TextEnv], words: str) -> None:
    table, said = seated(env(), "train/0")
    table.take(":hint")
    assert words in said[-1]
    assert "Try :commands" in said[-1]
    table.take("go upp")
    table.take(":hint")
    assert said[-1].endswith("Nearest to 'go upp': go up")


def test_the_first_task_is_played_unless_told() -> None:
    assert choose(Stairs(), "") == "train/0"
    assert choose(Stairs(), "eval") == "eval/0"


def test_whole_commands_are_completed() -> None:
    table, _ = seated(Corridor(), "test/2")
    complete = completer(lambda: table.completions)
    assert [complete("GO ", state) for state in range(3)] == ["go left", "go right", None]
    assert complete(":h", 0) == ":hint"


def test_tab_completes_and_ctrl_d_leaves_at_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    pytest.importorskip("readline")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "trialogue.experiments.cli", "play", "toy:Corridor", "--task", "test/2"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE), "TERM": "xterm", "INPUTRC": os.devnull},
    ) as process:
        os.close(theirs)
        try:
            terminal = Terminal(ours)
            terminal.read_until(b"> ")
            terminal.still()
            terminal.type(b"go r\t")
            terminal.read_until(b"go right")  # what is typed before the word is completed may be thrown away
            terminal.still()
            terminal.type(b"\n")
            terminal.read_until(b"You are in room 1.")
            terminal.read_until(b"> ")
            terminal.still()
            terminal.type(b"\x04")
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(ours)
    assert (process.returncode, errors) == (0, b"")


class Terminal:
    """What a program shows, read up to one mark after the other: what came with a mark is kept for the next."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = b""

    def read_until(self, mark: bytes) -> None:
        """``mark`` is to come within a minute."""
        while mark not in self._unread:
            ready, _, _ = select.select([self._descriptor], [], [], 60)
            assert ready, f"{mark!r} did not come; the terminal shows {self._unread!r}"
            self._unread += os.read(self._descriptor, 1024)
        self._unread = self._unread.partition(mark)[2]

    def still(self) -> None:
        """Waits until nothing more is shown: a prompt is there before keys are taken."""
        while select.select([self._descriptor], [], [], 1.0)[0]:
            self._unread += os.read(self._descriptor, 1024)

    def type(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)


def test_what_would_steer_the_terminal_is_shown_escaped() -> None:
    from trialogue.experiments.play import _printable

    assert _printable("a\x1b[31mb\tc\nü 桌") == "a\\x1b[31mb\tc\nü 桌"
