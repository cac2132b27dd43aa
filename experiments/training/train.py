"""A training from its configuration to the adapter and its card. The same call goes on where one was cut off."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from trialogue.agents.models.weights import find_weights, sha256_of
from trialogue.errors import DataError, UsageError
from trialogue.experiments.training.config import TrainingConfig
from trialogue.experiments.training.examples import DataFile, Example, read_examples
from trialogue.experiments.training.memory import keep_memory
from trialogue.experiments.training.selection import Selection, select, steps_of
from trialogue.experiments.training.tokens import Tokenize, Tokens, cut, tokenized

HELD_OUT_TIMES = 4  # besides the first
CHECKED_TEXTS = 200


@dataclass(frozen=True)
class Data:
    """What is read of the files. ``cut`` and ``lost`` count the episodes that were too long."""

    examples: list[Example]
    files: list[DataFile]
    chosen: Selection
    cut: int
    lost: int


def train(config: TrainingConfig, out: Path, console: Console, *, command: str, compare: int = 0) -> Path:
    """Writes ``adapter.gguf``, ``peft/``, ``log.jsonl``, ``card.md`` and a checkpoint to the folder ``out``.

    ``compare`` so many replies with those of llama.cpp. Returns the adapter's path. Raises MissingExtra, DataError,
    UsageError (a folder with another training), and KeyboardInterrupt once a checkpoint is written.
    """
    from trialogue.experiments.training.base import load_tokenizer, require_training, tokenize_with

    require_training()
    keep_memory()
    weights = find_weights(config.base)
    tokenizer = load_tokenizer(weights)
    tokenize = tokenize_with(tokenizer)
    data = _read(config, tokenize)
    console.print(_told(data), highlight=False)
    served = importlib.util.find_spec("xllamacpp") is not None
    if compare and not served:
        raise UsageError("comparing replies needs xllamacpp: pip install 'trialogue[local]'")
    if served:
        from trialogue.experiments.training.comparison import require_same_tokens

        require_same_tokens(weights, [example.text for example in data.examples[:CHECKED_TEXTS]], tokenize)
    out.mkdir(parents=True, exist_ok=True)
    return _Sitting(config, out, console, weights, data).run(tokenizer, tokenize, command, compare, served)


class _Sitting:
    """One process's part of a training."""

    def __init__(self, config: TrainingConfig, out: Path, console: Console, weights: Path, data: Data) -> None:
        import torch

        from trialogue.experiments.training import base, checkpoint
        from trialogue.experiments.training.adapter import AdapterInfo
        from trialogue.experiments.training.loop import Training
        from trialogue.experiments.training.lora import Adapter

        if config.threads:
            torch.set_num_threads(config.threads)
        self.config, self.out, self.console, self.weights, self.data = config, out, console, weights, data
        self.header = base.metadata(weights)
        device = _device(config)
        self.dtype = base.quicker_dtype(device) if config.dtype == "auto" else config.dtype
        model = base.load_model(weights, self.dtype, device)
        self.adapter = Adapter(model, config.lora, config.seed)
        model.train()
        self.info = AdapterInfo(
            config.name,
            config.lora.alpha,
            model.config.num_attention_heads,
            model.config.num_key_value_heads,
            str(self.header.get("general.name", "")),
            str(self.header.get("general.license", "")),
        )
        chosen, marks = data.chosen, config.snapshots.episodes
        steps = steps_of(chosen.train, config.seed, config.passes, config.batch_tokens, marks)
        self.training = Training(self.adapter, config, steps)
        self.record = {
            **config.record(),
            "base": sha256_of(weights),
            "data": [file.sha256 for file in data.files],
        }
        self.state = out / "checkpoint.pt"
        self.seconds = 0.0
        self.losses: list[tuple[int, float]] = []  # of the held-out episodes, after so many steps
        self.log: list[dict[str, Any]] = []
        found = checkpoint.load(self.state, self.record)
        if found is not None:
            self.training.restore(found["training"])
            self.seconds, self.log = found["seconds"], found["log"]
            self.losses = [(step, loss) for step, loss in found["held_out"]]
            console.print(f"going on after step {self.training.done} of {len(steps)}", highlight=False)

    def run(self, tokenizer: Any, tokenize: Tokenize, command: str, compare: int, served: bool) -> Path:
        (self.out / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.log), encoding="utf-8")
        with _interruptible() as check:
            try:
                self._steps(check)
            finally:
                self._save()
        path = self.out / "adapter.gguf"
        self._write(path)
        self.adapter.save_peft(self.out / "peft", self.weights.name)
        facts = self._facts(path, command, served)
        if compare:
            from trialogue.experiments.training import comparison

            prompts = comparison.sampled_prompts(self.data.examples, compare, self.config.seed)
            agreement = comparison.compare(self.adapter.model, tokenizer, tokenize, self.weights, path, prompts)
            for pair in agreement.pairs:
                if pair.trained != pair.served:
                    self.console.print(f"trained: {pair.trained!r}\nserved:  {pair.served!r}", markup=False)
            self.console.print(str(agreement), highlight=False)
            facts = replace(facts, agreement=agreement)
        from trialogue.experiments.training.card import card

        (self.out / "card.md").write_text(card(facts), encoding="utf-8")
        return path

    def _steps(self, check: Any) -> None:
        from trialogue.experiments.training.display import TrainingDisplay
        from trialogue.experiments.training.loop import mean_loss

        training, steps = self.training, self.training.steps
        left = sum(len(episode) for step in steps[training.done :] for episode in step)
        held_out_at = {round(len(steps) * n / HELD_OUT_TIMES) for n in range(HELD_OUT_TIMES + 1)}
        marks = set(self.config.snapshots.episodes)
        seen = sum(map(len, steps[: training.done]))
        saved = time.monotonic()
        with TrainingDisplay(self.console, len(steps), training.done, left) as display:
            while True:
                due = training.done in held_out_at and training.done not in {step for step, _ in self.losses}
                if due and self.data.chosen.held_out:
                    loss = mean_loss(self.adapter.model, self.data.chosen.held_out, check)
                    self.losses.append((training.done, loss))
                    self._log({"step": training.done, "held_out_loss": loss})
                    display.held_out(loss)
                if training.done == len(steps):
                    return
                begun = time.monotonic()
                step = training.step(check)
                seconds = time.monotonic() - begun
                self.seconds += seconds
                seen += len(steps[training.done - 1])
                self._log({"step": training.done, "episodes": seen, **vars(step), "seconds": round(seconds, 3)})
                display.stepped(step, seconds)
                if seen in marks:
                    self._write(self.out / f"adapter-{seen}-episodes.gguf")
                if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                    self._save()
                    saved = time.monotonic()

    def _log(self, line: dict[str, Any]) -> None:
        self.log.append(line)
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        from trialogue.experiments.training import checkpoint

        state = {
            "training": self.training.state(),
            "seconds": self.seconds,
            "held_out": self.losses,
            "log": self.log,
        }
        checkpoint.save(self.state, self.record, state)

    def _write(self, path: Path) -> None:
        from trialogue.experiments.training.adapter import write_adapter

        layers = ((name, a.cpu().numpy(), b.cpu().numpy()) for name, a, b in self.adapter.layers())
        write_adapter(path, layers, self.info)

    def _facts(self, path: Path, command: str, served: bool) -> Any:
        from trialogue.experiments.training.card import Facts

        steps = [line for line in self.log if "loss" in line]
        last = steps[-max(1, len(steps) // 10) :]
        return Facts(
            config=self.config,
            command=command,
            base=self.weights,
            base_sha256=sha256_of(self.weights),
            license=self.info.license,
            files=self.data.files,
            train=self.data.chosen.train,
            kept=self.data.chosen.held_out,
            cut=self.data.cut,
            lost=self.data.lost,
            steps=len(self.training.steps),
            loss=sum(line["loss"] * line["targets"] for line in last) / sum(line["targets"] for line in last),
            held_out=self.losses,
            seconds=self.seconds,
            adapter=path,
            adapter_sha256=sha256_of(path),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, in {self.dtype}",
            same_tokens=served,
        )


def _read(config: TrainingConfig, tokenize: Tokenize) -> Data:
    examples, files = read_examples(config.data)
    if not examples:
        raise DataError(f"nothing to learn in {', '.join(map(str, config.data))}")
    whole = [tokenized(example, tokenize) for example in examples]
    fitting: list[Tokens] = [tokens for told in whole if (tokens := cut(told, config.max_tokens)) is not None]
    shortened = sum(len(told) > config.max_tokens for told in whole) - (len(whole) - len(fitting))
    chosen = select(fitting, config.seed, config.held_out, config.limit)
    return Data(examples, files, chosen, shortened, len(whole) - len(fitting))


def _told(data: Data) -> str:
    read, learnt = _sum(data.chosen.train)
    long = f"; too long: {data.cut} cut, {data.lost} left out" if data.cut or data.lost else ""
    return (
        f"{len(data.chosen.train)} episodes to train on, {read} tokens ({learnt} of them learnt); "
        f"{len(data.chosen.held_out)} held out{long}"
    )


def _sum(episodes: Sequence[Tokens]) -> tuple[int, int]:
    return sum(map(len, episodes)), sum(episode.targets for episode in episodes)


def _device(config: TrainingConfig) -> str:
    import torch

    if config.device != "auto":
        return config.device
    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def _interruptible() -> Iterator[Any]:
    """Gives a function that raises KeyboardInterrupt once Ctrl-C was pressed: only where it is called, so that no step
    is left half done. Ctrl-C again interrupts at once."""
    pressed = threading.Event()

    def press(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
