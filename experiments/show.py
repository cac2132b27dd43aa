"""One trajectory for people: thoughts, actions, observations and repairs told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import takewhile, zip_longest
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trialogue.errors import UnknownName
from trialogue.experiments.edits import Edit
from trialogue.experiments.records import StepRecord
from trialogue.experiments.store import Store

THOUGHT, ACTION, OBSERVATION, REPAIR, PROBLEM = "magenta", "bold cyan", "default", "yellow", "red"


def print_episode(store: Store, episode: int, console: Console, *, prompts: bool = False) -> None:
    """Prints the episode; with ``prompts``, what each call added to the prompt before every turn.

    A fork is told as such, and stands beside its parent from where they part; a parent names its forks.
    """
    row = store.episode(episode)
    print_head(row, console)
    print_kin(store, row, console)
    if row["parent"] is not None and not prompts:
        print_beside(store, row, console)
        print_labels(store, row, console)
        return
    steps = {step.turn: step for step in store.steps(episode)}
    asked = Prompts(store.prompts(episode) if prompts else {}, console)
    memory = ""
    for turn in store.turns(episode):
        asked.print_before(turn["calls"])
        if turn["memory"] != memory:
            memory = turn["memory"]
            line(console, "memory", memory or "(none)", "dim")
        print_turn(turn, steps.get(turn["turn"]), console)
    asked.print_before(None)
    print_lesson(row, console)
    print_end(row, console)
    print_labels(store, row, console)


def print_kin(store: Store, row: Any, console: Console) -> None:
    """What the episode is a fork of, and the forks of it."""
    if row["parent"] is not None:
        line(console, "fork", f"of episode {row['parent']} at {Edit.of(row['fork'])}", REPAIR)
    for child in store.forks_of(row["id"]):
        line(console, "forked", f"by episode {child['id']} at {Edit.of(child['fork'])}", "dim")


def print_beside(store: Store, row: Any, console: Console) -> None:
    """The turns that a fork shares with its parent, then both side by side."""
    parent = store.episode(row["parent"])
    columns = [_told_turns(store, episode["id"]) for episode in (parent, row)]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*columns, strict=False)))
    for told in columns[0][:shared]:
        console.print(told, soft_wrap=True)
    table = Table(show_lines=True, expand=True)
    for heading, episode in (("parent", parent), ("fork", row)):
        table.add_column(f"{heading}: episode {episode['id']}", ratio=1, overflow="fold")
    for pair in zip_longest(*(column[shared:] for column in columns), fillvalue=Text()):
        table.add_row(*pair)
    table.add_row(
        *(
            labelled("end", end_told(episode), "bold green" if episode["won"] else "bold red")
            for episode in (parent, row)
        )
    )
    console.print(table)


def _told_turns(store: Store, episode: int) -> list[Text]:
    steps = {step.turn: step for step in store.steps(episode)}
    return [Text("\n").join(turn_lines(turn, steps.get(turn["turn"]))) for turn in store.turns(episode)]


def print_labels(store: Store, row: Any, console: Console) -> None:
    for label in store.labels(episode=row["id"]):
        line(console, "label", f"{label['label']} ({label['who']}) {label['note']}".rstrip(), THOUGHT)


class Prompts:
    """What each call added to the prompt of the one before, printed as far as has been reached."""

    def __init__(self, prompts: Mapping[int, str], console: Console) -> None:
        self._left = sorted(prompts.items())
        self._before = ""
        self._console = console

    def print_before(self, call: int | None) -> None:
        """Prints those of the calls before ``call``, or all that are left."""
        while self._left and (call is None or self._left[0][0] < call):
            _, prompt = self._left.pop(0)
            line(self._console, "prompt", prompt.removeprefix(self._before), "dim")
            self._before = prompt


def print_head(row: Any, console: Console) -> None:
    line(console, "episode", f"{row['id']}  {row['run_name']}  seed {row['seed']}  trial {row['trial']}", "bold")
    line(console, "task", f"{row['task']} ({row['type']})", "bold")
    if row["goal"]:
        line(console, "goal", row["goal"], "bold")
    if row["observation"]:
        line(console, "", row["observation"], OBSERVATION)


def print_turn(turn: Any, step: StepRecord | None, console: Console) -> None:
    for told in turn_lines(turn, step):
        console.print(told, soft_wrap=True)


def turn_lines(turn: Any, step: StepRecord | None) -> Iterator[Text]:
    """A turn, and the step that it took, line by line."""
    event = f" ({turn['event']})" if turn["event"] else ""
    for thought in json.loads(turn["thoughts"]):
        yield labelled(f"think{event}", thought, THOUGHT)
    for liberty in json.loads(turn["liberties"]):
        yield labelled("repair", f"{liberty['kind']}: {liberty['before']!r} -> {liberty['after']!r}", REPAIR)
    for note in json.loads(turn["notes"]):
        yield labelled("note", note, REPAIR)
    if turn["problem"] and turn["action"] is None:
        yield labelled(turn["kind"], turn["problem"], PROBLEM)
    if step is not None and step.action is not None:
        yield labelled(f"act {step.step}", step.action, ACTION)
        yield labelled("", step.observation, OBSERVATION)
        if not step.valid:
            yield labelled("invalid", step.reason, PROBLEM)


def print_lesson(row: Any, console: Console) -> None:
    """What was kept of the episode for later trials."""
    if row["lesson"] is not None:
        lesson = json.loads(row["lesson"])
        for label, key in (("attempt", "attempt"), ("reflects", "reflection")):
            if lesson[key]:
                line(console, label, lesson[key], THOUGHT)


def print_end(row: Any, console: Console) -> None:
    if row["ending"] is None:
        command = "run" if row["parent"] is None else "fork"
        line(console, "open", f"not finished; the same `trialogue {command}` command goes on with it", PROBLEM)
        return
    line(console, "end", end_told(row), "bold green" if row["won"] else "bold red")
    if row["error"]:
        line(console, "error", row["error"], PROBLEM)
    for note in json.loads(row["notes"]):
        line(console, "note", note, PROBLEM)


def end_told(row: Any) -> str:
    """How an episode ended, with its counts."""
    if row["ending"] is None:
        return "not finished"
    keys = ("thoughts_count", "invalid", "prompt_tokens", "cached_tokens", "completion_tokens")
    n = {key: row[key] or 0 for key in keys}
    tokens = f"{n['prompt_tokens']} tokens in ({n['cached_tokens']} cached), {n['completion_tokens']} out"
    counts = f"; {row['steps']} steps, {n['thoughts_count']} thoughts, {n['invalid']} invalid, {tokens}"
    return f"{row['ending']}, score {row['score']:g}{counts if row['turns'] else ''}"


def line(console: Console, label: str, text: str, style: str) -> None:
    """Prints one labelled line."""
    console.print(labelled(label, text, style), soft_wrap=True)


def labelled(label: str, text: str, style: str) -> Text:
    """One labelled line. The text is shown as it is: never as markup, its control characters escaped."""
    return Text.assemble((f"{label:>9} ", "dim"), (visible(text), style))


def visible(text: str) -> str:
    """``text`` without what would steer a terminal."""
    return "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def print_episodes(store: Store, run: str | None, console: Console) -> None:
    """One line an episode, of all runs or of one (an agent, or AGENT/TASKS)."""
    table = Table()
    for name in ("episode", "run", "task", "type", "seed", "trial", "ending", "steps", "thoughts", "invalid"):
        table.add_column(name, overflow="fold")
    rows = [row for row in store.episodes(forks=True) if run in (None, row["run_name"], row["agent"])]
    if not rows:
        known = {row[key] for row in store.runs(forks=True) for key in ("name", "agent")}
        raise UnknownName("run", str(run), known)
    if any(row["parent"] is not None for row in rows):
        table.add_column("fork of", overflow="fold")
    for row in rows:
        style = "green" if row["won"] else None
        named = (row["run_name"], row["task"], row["type"], row["seed"], row["trial"], row["ending"] or "open")
        counts = [row[key] or 0 for key in ("steps", "thoughts_count", "invalid")]
        forked = [f"{row['parent']} at {Edit.of(row['fork'])}"] if row["parent"] is not None else []
        cells = map(str, [row["id"], *named, *counts, *forked])
        table.add_row(*(Text(cell) for cell in cells), style=style)
    console.print(table)
