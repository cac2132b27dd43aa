"""What is told of an adapter: what it was made of, how, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from trialogue.experiments.training.comparison import Agreement
from trialogue.experiments.training.config import TrainingConfig
from trialogue.experiments.training.examples import DataFile
from trialogue.experiments.training.tokens import Tokens


@dataclass(frozen=True)
class Facts:
    """Figures of a finished training. ``held_out`` are (step, loss); ``lost`` episodes were too long, ``cut`` ones
    ended earlier than they did; ``seconds`` are those of computing, all sittings together."""

    config: TrainingConfig
    command: str
    base: Path
    base_sha256: str
    license: str
    files: Sequence[DataFile]
    train: Sequence[Tokens]
    kept: Sequence[Tokens]
    cut: int
    lost: int
    steps: int
    loss: float
    held_out: Sequence[tuple[int, float]]
    seconds: float
    adapter: Path
    adapter_sha256: str
    machine: str
    agreement: Agreement | None = None
    same_tokens: bool = True


def card(facts: Facts) -> str:
    """As Markdown."""
    config = facts.config
    read, learnt = sum(map(len, facts.train)), sum(episode.targets for episode in facts.train)
    size = facts.adapter.stat().st_size
    lines = [
        f"# {config.name}",
        "",
        f"A LoRA adapter of {config.base} for llama.cpp; with Trialogue: `local:{config.base}+{facts.adapter.name}` "
        "(or its path).",
        "",
        "## What it was made of",
        "",
        f"* Base: {facts.base.name}, SHA-256 `{facts.base_sha256}`, licence {facts.license or 'not told by the file'}",
        *(
            f"* Data: {file.path.name}, SHA-256 `{file.sha256}`, {file.lines} lines"
            + (f", of which {file.empty} had nothing to learn" if file.empty else "")
            for file in facts.files
        ),
        f"* Trained on: {len(facts.train)} episodes of {_tasks(facts.train)} tasks, {read} tokens, of which {learnt} "
        f"were learnt and {read - learnt} only read; {config.passes} pass{'es' if config.passes > 1 else ''}",
        f"* Held out: {len(facts.kept)} episodes of {_tasks(facts.kept)} tasks",
        *([f"* Too long: {facts.cut} episodes were cut, {facts.lost} left out"] if facts.cut or facts.lost else []),
        f"* Tokens: {'the same in training and in llama.cpp' if facts.same_tokens else 'not compared with llama.cpp'}",
        "",
        "## How",
        "",
        f"`{facts.command}`, with:",
        "",
        "```yaml",
        yaml.safe_dump(config.record(), sort_keys=False, allow_unicode=True).rstrip(),
        "```",
        "",
        "## What came of it",
        "",
        f"* {facts.steps} steps in {facts.seconds / 60:.1f} minutes "
        f"({read * config.passes / max(facts.seconds, 1e-9):.0f} tokens a second) on {facts.machine}",
        f"* Loss of a learnt token, over the last tenth of the steps: {facts.loss:.4f}",
        *(
            [f"* Of the held-out episodes: {', '.join(f'{loss:.4f} (step {step})' for step, loss in facts.held_out)}"]
            if facts.held_out
            else []
        ),
        f"* {facts.adapter.name}: {size / 1e6:.1f} MB, SHA-256 `{facts.adapter_sha256}`",
        *([f"* In llama.cpp with the quantised base: {facts.agreement}"] if facts.agreement else []),
        "",
        "## What it cannot do",
        "",
        "(To be written by whoever tried it.)",
        "",
    ]
    return "\n".join(lines)


def _tasks(episodes: Sequence[Tokens]) -> int:
    named = {episode.task for episode in episodes if episode.task}
    return len(named) + sum(not episode.task for episode in episodes)
