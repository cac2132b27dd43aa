"""Runs as eval logs of Inspect, for its viewer and its analysis: one log a run, one sample an episode.

A sample's messages are those that a chat model was sent; for other agents the trajectory is told as a dialogue. Its
scores are ``won`` (C or I) and ``score``; an episode that ended in an error of the model or the environment has an
error in their place. Seeds and trials are epochs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialogue.agents.models.contract import Message
from trialogue.agents.models.contract import ToolCall as Call
from trialogue.errors import MissingExtra
from trialogue.experiments.compare import flatten
from trialogue.experiments.endings import ERRORS, Ending
from trialogue.experiments.exports.conversations import calls_of, conversations
from trialogue.experiments.rates import success
from trialogue.experiments.results import Run, read_run
from trialogue.experiments.store import Store
from trialogue.experiments.tagging import of_run

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample, EvalSpec
    from inspect_ai.model import ChatMessage, ModelUsage
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCall

NO_MODEL = "none/none"


def export_inspect(store: Store, runs: Collection[int], folder: Path) -> Iterator[Path]:
    """Writes one ``.eval`` file a run into ``folder``; yields their paths. Raises MissingExtra without inspect_ai."""
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise MissingExtra("export to an Inspect log", "inspect-ai", "inspect") from None
    folder.mkdir(parents=True, exist_ok=True)
    for row in store.runs(forks=True):
        if row["id"] in runs:
            path = folder / f"{row['name'].replace('/', '_').replace('#', '_')}.eval"
            write_eval_log(_log(store, row), str(path), format="eval")
            yield path


def _log(store: Store, row: Any) -> EvalLog:
    from inspect_ai.log import EvalLog, EvalStats

    run = read_run(store, row)
    tags = {one.episode: [tag.kind for tag in one.tags] for one in of_run(store, row)}
    rows = store.episodes(row["id"])
    played = [episode for episode in rows if episode["ending"] not in (None, Ending.SOLVED_EARLIER)]
    unfinished = any(episode["ending"] is None for episode in rows)
    epochs: dict[str, list[int]] = {}
    for episode in played:
        epochs.setdefault(episode["task"], []).append(episode["id"])
    model = _model(run)
    times = [(e["started"] or 0.0, (e["started"] or 0.0) + (e["seconds"] or 0.0)) for e in played]
    began = min((start for start, _ in times), default=float(store.meta("created")))
    ended = max((end for _, end in times), default=began)
    return EvalLog(
        status="cancelled" if unfinished else "success",
        eval=_spec(store, run, epochs, model, began),
        results=_results(run, played),
        stats=EvalStats(started_at=_iso(began), completed_at=_iso(ended), model_usage=_usage(played, model)),
        samples=[
            _sample(
                store, episode, epochs[episode["task"]].index(episode["id"]) + 1, model, tags.get(episode["id"], [])
            )
            for episode in played
        ],
    )


def _spec(store: Store, run: Run, epochs: Mapping[str, Sequence[int]], model: str, began: float) -> EvalSpec:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

    ids = list(epochs)
    return EvalSpec(
        created=_iso(began),
        task=run.tasks,
        task_display_name=run.name,
        solver=run.agent,
        solver_args=_plain(run.conditions.get("agent") or {}),
        dataset=EvalDataset(name=run.tasks, samples=len(ids), sample_ids=ids, shuffled=False),
        model=model,
        config=EvalConfig(epochs=max(map(len, epochs.values()), default=1)),
        packages={"trialogue": store.meta("trialogue")},
        metadata=dict(flatten(run.conditions)),
    )


def _results(run: Run, played: Sequence[Any]) -> EvalResults:
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    scored = [episode for episode in played if episode["ending"] not in ERRORS]
    rate = success(run.outcomes, errors_as_failures=False)
    low, high = rate.interval
    rates = {"accuracy": rate.value if rate.n else 0.0, "interval_low": low, "interval_high": high}
    mean = sum(episode["score"] or 0.0 for episode in scored) / len(scored) if scored else 0.0
    told = {"won": rates, "score": {"mean": mean}}
    return EvalResults(
        total_samples=len(played),
        completed_samples=len(scored),
        scores=[
            EvalScore(
                name=name,
                scorer=name,
                scored_samples=len(scored),
                unscored_samples=len(played) - len(scored),
                metrics={key: EvalMetric(name=key, value=value) for key, value in values.items()},
            )
            for name, values in told.items()
        ],
    )


def _sample(store: Store, row: Any, epoch: int, model: str, tags: Sequence[str]) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput

    messages = _messages(store, row)
    last = next((m.text for m in reversed(messages) if m.role == "assistant"), "")
    is_error = row["ending"] in ERRORS
    keys = ("ending", "type", "seed", "trial", "steps", "turns", "thoughts_count", "invalid", "repairs", "goal")
    return EvalSample(
        id=row["task"],
        epoch=epoch,
        input=f"{row['goal']}\n\n{row['observation']}".strip(),
        target="",
        messages=messages,
        output=ModelOutput.from_content(model, last),
        scores=None if is_error else _scores(row, last),
        error=EvalError(message=row["error"], traceback="", traceback_ansi="") if is_error else None,
        metadata={"episode": row["id"], "tags": list(tags), **{key: row[key] for key in keys}},
        model_usage=_usage([row], model),
        total_time=row["seconds"],
        working_time=row["seconds"],
    )


def _scores(row: Any, last: str) -> dict[str, Score]:
    from inspect_ai.scorer import Score

    won = Score(value="C" if row["won"] else "I", answer=last, explanation=f"the episode ended as {row['ending']}")
    return {"won": won, "score": Score(value=float(row["score"] or 0.0))}


def _messages(store: Store, row: Any) -> list[ChatMessage]:
    calls = calls_of(store, row["id"])
    talks = [talk for talk in conversations(calls) if talk.is_chat]
    if not talks:
        return list(_dialogue(store, row))
    last = max(talks, key=lambda talk: len(talk.calls)).calls[-1]
    prompt = last.request.prompt
    assert not isinstance(prompt, str)
    return [_message(message) for message in (*prompt, Message("assistant", last.reply.text, last.reply.calls))]


def _dialogue(store: Store, row: Any) -> Iterator[ChatMessage]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    yield ChatMessageUser(content=f"{row['observation']}\n{row['goal']}".strip())
    steps = {step.turn: step for step in store.steps(row["id"])}
    for turn in store.turns(row["id"]):
        lines = [f"think: {thought}" for thought in json.loads(turn["thoughts"])]
        yield ChatMessageAssistant(content="\n".join([*lines, *([turn["action"]] if turn["action"] else [])]))
        step = steps.get(turn["turn"])
        if step is not None:
            yield ChatMessageUser(content=step.observation or step.reason)


def _message(message: Message) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    match message.role:
        case "system":
            return ChatMessageSystem(content=message.content)
        case "user":
            return ChatMessageUser(content=message.content)
        case "tool":
            return ChatMessageTool(content=message.content, tool_call_id=message.call_id)
    calls = [_call(call) for call in message.calls]
    return ChatMessageAssistant(content=message.content, tool_calls=calls or None)


def _call(call: Call) -> ToolCall:
    from inspect_ai.tool import ToolCall

    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(id=call.id, function=call.name, arguments=arguments)
    error = "the arguments are no JSON object"
    return ToolCall(id=call.id, function=call.name, arguments={"arguments": call.arguments}, parse_error=error)


def _usage(rows: Sequence[Any], model: str) -> dict[str, ModelUsage]:
    from inspect_ai.model import ModelUsage

    if not any(row["calls"] for row in rows):
        return {}
    read, cached, wrote = (sum(row[f"{key}_tokens"] or 0 for row in rows) for key in ("prompt", "cached", "completion"))
    costs = [row["cost"] for row in rows if row["cost"] is not None]
    cost = sum(costs) if costs else None
    usage = ModelUsage(
        input_tokens=read,
        output_tokens=wrote,
        total_tokens=read + wrote,
        input_tokens_cache_read=cached,
        total_cost=cost,
    )
    return {model: usage}


def _model(run: Run) -> str:
    """As Inspect names models: with a slash after the provider."""
    model = run.conditions.get("model") or {}
    return str(model.get("name", "")).replace(":", "/", 1) or NO_MODEL


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(value))
    return told


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
