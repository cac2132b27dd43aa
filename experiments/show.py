"""One trajectory for people: thoughts, actions, observations and repairs told apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trialogue.errors import UnknownName
from trialogue.experiments.records import StepRecord
from trialogue.experiments.store import Store

THOUGHT, ACTION, OBSERVATION, REPAIR, PROBLEM = "magenta", "bold cyan", "default", "yellow", "red"


def print_episode(store: Store, episode: int, console: Console, *, prompts: bool = False) -> None:
    """Prints the episode; with ``prompts``, what each call added to the prompt before every turn."""
    row = store.episode(episode)
    steps = {step.turn: step for step in store.steps(episode)}
    print_head(row, console)
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
    event = f" ({turn['event']})" if turn["event"] else ""
    for thought in json.loads(turn["thoughts"]):
        line(console, f"think{event}", thought, THOUGHT)
    for liberty in json.loads(turn["liberties"]):
        line(console, "repair", f"{liberty['kind']}: {liberty['before']!r} -> {liberty['after']!r}", REPAIR)
    for note in json.loads(turn["notes"]):
        line(console, "note", note, REPAIR)
    if turn["problem"] and turn["action"] is None:
        line(console, turn["kind"], turn["problem"], PROBLEM)
    if step is not None and step.action is not None:
        line(console, f"act {step.step}", step.action, ACTION)
        line(console, "", step.observation, OBSERVATION)
        if not step.valid:
            line(console, "invalid", step.reason, PROBLEM)


def print_lesson(row: Any, console: Console) -> None:
    """What was kept of the episode for later trials."""
    if row["lesson"] is not None:
        lesson = json.loads(row["lesson"])
        for label, key in (("attempt", "attempt"), ("reflects", "reflection")):
            if lesson[key]:
                line(console, label, lesson[key], THOUGHT)


def print_end(row: Any, console: Console) -> None:
    if row["ending"] is None:
        line(console, "open", "not finished; the same `trialogue run` command goes on with it", PROBLEM)
        return
    n = {
        key: row[key] or 0
        for key in ("thoughts_count", "invalid", "prompt_tokens", "cached_tokens", "completion_tokens")
    }
    tokens = f"{n['prompt_tokens']} tokens in ({n['cached_tokens']} cached), {n['completion_tokens']} out"
    counts = f"; {row['steps']} steps, {n['thoughts_count']} thoughts, {n['invalid']} invalid, {tokens}"
    told = f"{row['ending']}, score {row['score']:g}{counts if row['turns'] else ''}"
    line(console, "end", told, "bold green" if row["won"] else "bold red")
    if row["error"]:
        line(console, "error", row["error"], PROBLEM)
    for note in json.loads(row["notes"]):
        line(console, "note", note, PROBLEM)


def line(console: Console, label: str, text: str, style: str) -> None:
    """One labelled line. The text is shown as it is: never as markup, its control characters escaped."""
    visible = "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    console.print(Text.assemble((f"{label:>9} ", "dim"), (visible, style)), soft_wrap=True)


def print_episodes(store: Store, run: str | None, console: Console) -> None:
    """One line an episode, of all runs or of one (an agent, or AGENT/TASKS)."""
    table = Table()
    for name in ("episode", "run", "task", "type", "seed", "trial", "ending", "steps", "thoughts", "invalid"):
        table.add_column(name, overflow="fold")
    rows = [row for row in store.episodes() if run in (None, row["run_name"], row["agent"])]
    if not rows:
        raise UnknownName("run", str(run), {row[key] for row in store.runs() for key in ("name", "agent")})
    for row in rows:
        counts = [str(row[key] or 0) for key in ("steps", "thoughts_count", "invalid")]
        style = "green" if row["won"] else None
        cells = [
            row["run_name"],
            row["task"],
            row["type"],
            str(row["seed"]),
            str(row["trial"]),
            row["ending"] or "open",
        ]
        table.add_row(str(row["id"]), *cells, *counts, style=style)
    console.print(table)
