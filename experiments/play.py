"""Plays an environment by hand, at a terminal or from a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from trialogue.envs.contract import Policy, TextEnv
from trialogue.errors import UsageError, nearest

PROMPT = "> "
WORDS = {
    ":hint": "the expert's next action, from what has been seen",
    ":why": "why the last action was not accepted, and what is nearest to it",
    ":commands": "what is possible now",
    ":goal": "the goal, again",
    ":help": "these words",
    ":quit": "leave (so does Ctrl-D)",
}

Say = Callable[[str], None]


class Table:
    """One episode at which a person sits: takes lines, says what comes of them."""

    def __init__(self, env: TextEnv, say: Say) -> None:
        self._env = env
        self._say = say
        self.steps = 0
        self.over = False

    def begin(self, task: str | None, seed: int | None) -> None:
        """Resets to ``task``, or to what ``seed`` draws, and says where one is."""
        observation, self.info = self._env.reset(seed=seed, options=None if task is None else {"task": task})
        self._refused: tuple[str, str, str | None] | None = None
        self._expert = _Adviser(self._env.expert())
        self._expert.hear("", observation, self.info["admissible"])
        self._say(f"task {self.info['task']} ({self.info['type']})\ngoal {self.info['goal']}\n\n{observation}")

    def take(self, line: str) -> None:
        """One line: a word with a colon, or an action. Empty lines are passed over."""
        line = line.strip()
        if line.startswith(":"):
            self._word(line)
        elif line:
            self._act(line)

    @property
    def completions(self) -> list[str]:
        """What a line may be: the commands of the moment, or the beginnings of the templates, and the words."""
        commands = self.info["admissible"]
        if commands is None:
            commands = [template.partition("{")[0] for template in self._env.action_space.templates]
        return [*commands, *WORDS]

    def _act(self, action: str) -> None:
        near = self._env.action_space.explain(action).nearest
        observation, _, terminated, truncated, self.info = self._env.step(action)
        self.steps += 1
        self._refused = None if self.info["valid"] else (action, self.info["reason"], near)
        self._expert.hear(action, observation, self.info["admissible"])
        self._say(observation)
        if self.info["won"] or terminated or truncated:
            self.over = True
            end = "won" if self.info["won"] else "not won"
            self._say(f"\n{end}, score {self.info['score']:g}, after {self.steps} steps")

    def _word(self, word: str) -> None:
        if word == ":quit":
            self.over = True
        elif word == ":hint":
            self._say(self._hint())
        elif word == ":why":
            self._say(self._why())
        elif word == ":goal":
            self._say(self.info["goal"])
        elif word == ":commands":
            self._say("\n".join(self.info["admissible"] or self._env.action_space.templates))
        else:
            self._say(self._help("" if word == ":help" else word))

    def _hint(self) -> str:
        if self._expert.advice:
            return self._expert.advice
        if self._refused is not None and self._refused[2]:
            return f"{self._expert.silence} Nearest to {self._refused[0]!r}: {self._refused[2]}"
        return f"{self._expert.silence} Try :commands"

    def _why(self) -> str:
        if self._refused is None:
            return "the last action was accepted" if self.steps else "nothing has been done yet"
        action, reason, near = self._refused
        return f"{action!r}: {reason}" + (f"\nnearest: {near}" if near else "")

    def _help(self, unknown: str) -> str:
        lines = [f"{word:10} {what}" for word, what in WORDS.items()]
        if unknown:
            near = nearest(unknown, WORDS)
            lines.insert(0, f"there is no {unknown}." + (f" Did you mean {near}?" if near else ""))
        return "\n".join(lines)


class _Adviser:
    """The expert, told everything that was seen, also what came of actions that were not its own."""

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy
        self._said = ""
        self._led = True
        self.silence = "There is no expert here."

    @property
    def advice(self) -> str:
        """What it would do now; "" when it knows nothing, and ``silence`` says why."""
        doubt = "" if self._led or not self._said else "  (a guess: it knows only its own way of playing)"
        return self._said + doubt

    def hear(self, action: str, observation: str, admissible: Sequence[str] | None) -> None:
        """``action`` was done ("" at the start) and answered by ``observation``."""
        if self._policy is None:
            return
        try:
            if action != self._said:
                self._tell(action)
            self._said = self._policy.act(observation, admissible)
        except Exception as error:
            # It plays its own game, and may lose the thread of another's.
            self._policy, self._said = None, ""
            self.silence = f"The expert cannot follow any more ({type(error).__name__}: {error})."

    def _tell(self, action: str) -> None:
        did = getattr(self._policy, "did", None)
        if did is None:
            self._led = False
        else:
            did(action)


def play(env: TextEnv, task: str | None, seed: int | None = None) -> Table:
    """Plays one episode with lines from standard input until it ends, ``:quit``, or the end of the input."""
    table = Table(env, lambda text: print(_printable(text)))
    table.begin(task, seed)
    if not table.over:
        print("\n(:help for help)")
    _complete(lambda: table.completions)
    while not table.over:
        try:
            line = input(PROMPT)
        except (EOFError, KeyboardInterrupt):
            print()
            break
        if not sys.stdin.isatty():
            print(line)
        table.take(line)
    return table


def choose(env: TextEnv, split: str) -> str:
    """The first task of ``split``, or of the first split that needs no data. Raises UsageError, DataError."""
    split = split or next(iter(env.splits), "")
    if not split:
        raise UsageError(f"{env.name} has no split that needs no data; name one with --split, or a --task")
    return env.tasks(split)[0].id


def _printable(text: str) -> str:
    """``text`` without what would steer the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)


def _complete(options: Callable[[], list[str]]) -> None:
    """Tab completes whole commands, where the terminal can; lines are remembered."""
    if not sys.stdin.isatty():
        return
    with contextlib.suppress(ImportError):
        import readline

        readline.set_completer_delims("")
        readline.set_completer(completer(options))
        readline.parse_and_bind("tab: complete")


def completer(options: Callable[[], list[str]]) -> Callable[[str, int], str | None]:
    """What readline asks: the ``state``-th of the options that begin with ``text``, None after the last."""

    def complete(text: str, state: int) -> str | None:
        found: list[Any] = [option for option in options() if option.casefold().startswith(text.casefold())]
        return found[state] if state < len(found) else None

    return complete
