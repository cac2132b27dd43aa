"""Won episodes as training data for supervised fine-tuning: one conversation a line, in JSON.

Chat: ``messages`` as chat endpoints take them (and ``tools``); an assistant message of which nothing could be read has
``weight`` 0. Completions: ``prompt`` and ``completion``, which ``segments`` cut into parts that the model wrote
(``loss`` true, its line break included) and parts that it read. What a person put in the model's place counts as the
model's. An episode is one line, unless its prompt was shortened, or several questions were asked beside each other
(``part`` tells them apart); votes that lost are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, Literal

from trialogue.agents.contract import Lesson
from trialogue.agents.models.contract import Message, Tool
from trialogue.agents.transcript import one_line
from trialogue.agents.wording import wording_for
from trialogue.experiments.exports.conversations import Call, Conversation, calls_of, conversations
from trialogue.experiments.exports.task_prompt import Segment, TaskPrompt, Thoughts
from trialogue.experiments.records import dumps
from trialogue.experiments.store import Store

Prompt = Literal["sent", "task"]


@dataclass(frozen=True)
class Said:
    """What became of a call: the turn it belongs to, and what of it stands in the prompts after it.

    ``thinks``: it brought only thoughts. ``thoughts``: those that it brought. ``observation``: what answered it.
    """

    readable: bool
    thinks: bool
    thoughts: tuple[str, ...]
    observation: str
    answer: str


def export_sft(
    store: Store,
    runs: Collection[int],
    *,
    unsolved: bool = False,
    thoughts: Thoughts = "keep",
    prompt: Prompt = "sent",
) -> Iterator[str]:
    """One line for each conversation of the won episodes (``unsolved``: of all) of ``runs``, run by run.

    With ``prompt`` "task" an episode is one line, and the task alone (and its memory) stands before it, whatever stood
    there when it was played, and whoever played it; reflections on lost trials are lines of their own, where a later
    trial was won. Raises DataError where a prompt cannot be read back as it was sent.
    """
    conditions = {row["id"]: json.loads(row["conditions"]) for row in store.runs(forks=True)}
    for run in runs:
        rows = store.episodes(run)
        won = {(row["task_index"], row["seed"]) for row in rows if row["won"]}
        for row in rows:
            # A trial after one that was won is won without a turn.
            played = bool(row["turns"] and (row["won"] or (unsolved and row["ending"] is not None)))
            told: list[Mapping[str, object]] = []
            if prompt == "sent":
                told += _as_sent(store, row, conditions[run], thoughts) if played else ()
            elif played or (row["task_index"], row["seed"]) in won:
                told += _as_task(store, row, conditions[run], thoughts, played=played)
            yield from (_line(row, conditions[run], data, f"{n} of {len(told)}") for n, data in enumerate(told, 1))


def _line(row: Any, conditions: Mapping[str, Any], told: Mapping[str, object], part: str) -> str:
    about = {
        **{key: row[key] for key in ("task", "type", "seed", "trial", "agent")},
        "episode": row["id"],
        "run": row["run_name"],
        "won": bool(row["won"]),
        "part": part,
        "model": (conditions.get("model") or {}).get("name"),
        "conditions": _digest(conditions),
        "digest": _digest(told),
    }
    return dumps({**told, **about})


def _as_task(
    store: Store, row: Any, conditions: Mapping[str, Any], thoughts: Thoughts, *, played: bool
) -> Iterator[Mapping[str, object]]:
    """The episode if it was ``played`` well, and what was learnt from it, as thoughts are, if it was lost at first."""
    lesson = Lesson(**json.loads(row["lesson"])) if row["lesson"] and thoughts == "keep" else None
    if not played and (lesson is None or not lesson.reflection):
        return
    told = TaskPrompt(store, row, conditions.get("env", {}).get("name", ""), thoughts)
    if played:
        yield _told_as_completion(Segment(told.opening, False), *told.segments)
    if lesson is not None and lesson.reflection:
        opening, said = told.reflection(row["ending"], lesson.reflection)
        yield _told_as_completion(Segment(opening, False), *said)


def _as_sent(
    store: Store, row: Any, conditions: Mapping[str, Any], thoughts: Thoughts
) -> Iterator[Mapping[str, object]]:
    calls = calls_of(store, row["id"])
    said = _what_became(store, row["id"], calls)
    kept = [talk for talk in conversations(calls) if not _voted_down(talk, calls, said)]
    cues = _cues(conditions.get("env", {}).get("name", ""))
    for talk in kept:
        yield _chat(talk, said, thoughts, cues) if talk.is_chat else _completion(talk, said, thoughts)


def _digest(value: object) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:12]


def _what_became(store: Store, episode: int, calls: Sequence[Call]) -> dict[int, Said]:
    steps = {step.turn: step for step in store.steps(episode)}
    found: dict[int, Said] = {}
    first = 0
    for turn in store.turns(episode):
        of_turn = [call for call in calls if first <= call.number < turn["calls"]]
        first = turn["calls"]
        thoughts = [text for text in map(one_line, json.loads(turn["thoughts"])) if text]
        step = steps.get(turn["turn"])
        for call in of_turn:
            is_last = call is of_turn[-1]
            brought = tuple(t for t in thoughts if t in one_line(call.reply.text) or (is_last and len(of_turn) == 1))
            found[call.number] = Said(
                readable=turn["kind"] in ("action", "thought") and (is_last or bool(brought)),
                thinks=bool(brought) and (turn["kind"] == "thought" or not is_last),
                thoughts=brought,
                observation=step.observation if step is not None and is_last else "",
                answer=(turn["action"] or "").partition("[")[2].removesuffix("]"),
            )
    return found


def _voted_down(talk: Conversation, calls: Sequence[Call], said: Mapping[int, Said]) -> bool:
    """Whether it is one of several answers to the same prompt, and not one of those that were taken."""
    call = talk.calls[0]
    became = said.get(call.number)
    if len(talk.calls) > 1 or became is None or not became.answer:
        return False
    same = [other for other in calls if other.request.prompt == call.request.prompt]
    return len(same) > 1 and became.answer.casefold() not in call.reply.text.casefold()


_UNREAD = Said(readable=True, thinks=False, thoughts=(), observation="", answer="")
"""Of a call beside the turns: a summary, a reflection."""


# -- chat -------------------------------------------------------------------------------------------------


def _chat(talk: Conversation, said: Mapping[int, Said], thoughts: Thoughts, cues: Collection[str]) -> dict[str, object]:
    messages: list[dict[str, object]] = []
    done = 0
    for call, following in zip_longest(talk.calls, talk.calls[1:]):
        became = said.get(call.number, _UNREAD)
        prompt = _messages(call)
        messages += [_told(message) for message in prompt[done:]]
        answer = _messages(following)[len(prompt)] if following else _last(call)
        done = len(prompt) + 1
        if thoughts == "keep" or not became.thoughts:
            messages.append({**_told(answer), **({} if became.readable else {"weight": 0})})
        elif became.thinks:
            messages[-1]["content"] = _without_cues(str(messages[-1]["content"]), cues)
            done = len(_messages(following)) if following else done  # what answers a thought goes with it
        else:
            messages[-1]["content"] = _without_cues(str(messages[-1]["content"]), cues)
            messages.append(_told(answer, without=became.thoughts))
    tools = talk.calls[-1].request.tools
    return {"messages": messages, **({"tools": [_tool(tool) for tool in tools]} if tools else {})}


def _messages(call: Call) -> tuple[Message, ...]:
    prompt = call.request.prompt
    assert not isinstance(prompt, str)
    return prompt


def _last(call: Call) -> Message:
    return Message("assistant", call.reply.text.strip(), call.reply.calls)


def _told(message: Message, without: Sequence[str] = ()) -> dict[str, object]:
    """A message as chat endpoints take it."""
    content = without_thoughts(message.content, without)
    told: dict[str, object] = {"role": message.role, "content": content}
    if message.calls:
        told["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return {**told, "tool_call_id": message.call_id} if message.call_id else told


def _tool(tool: Tool) -> dict[str, object]:
    properties = {name: {"type": "string"} for name in tool.parameters}
    schema = {"type": "object", "properties": properties, "required": list(tool.parameters)}
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": schema}}


@cache
def _cues(env: str) -> frozenset[str]:
    """The lines that ask a chat for a thought."""
    wording = wording_for(env)
    return frozenset({wording.plan, *(replies.thought_due for replies in wording.replies.values())})


def _without_cues(text: str, cues: Collection[str]) -> str:
    return "\n".join(line for line in text.split("\n") if not any(line.endswith(cue) for cue in cues))


# -- completions ------------------------------------------------------------------------------------------


def _completion(talk: Conversation, said: Mapping[int, Said], thoughts: Thoughts) -> dict[str, object]:
    segments = [Segment(str(talk.calls[0].request.prompt), False)]
    for call, following in zip_longest(talk.calls, talk.calls[1:]):
        became = said.get(call.number, _UNREAD)
        if following is None:
            written, read = call.reply.text.rstrip() + "\n", ""
        else:
            added = str(following.request.prompt)[len(str(call.request.prompt)) :]
            end = end_of_written(added, call.reply.text, became.observation)
            written, read = added[:end], added[end:]
        if thoughts == "drop" and became.thoughts:
            written, read = _dropped(segments, written, read, became)
        segments += [Segment(written, became.readable), Segment(read, False)]
    return _told_as_completion(*segments)


def _told_as_completion(prompt: Segment, *after: Segment) -> dict[str, object]:
    rest = _joined(after)
    completion = "".join(segment.text for segment in rest)
    told = [{"text": segment.text, "loss": segment.loss} for segment in rest]
    return {"prompt": prompt.text, "completion": completion, "segments": told}


def end_of_written(added: str, reply: str, observation: str) -> int:
    """Where, in what a call added to the prompt, the part that the model wrote ends; its line break included.

    The reply stands there as it came, or as it was mended: then up to the line that answers it.
    """
    said, lead = reply.strip(), len(added) - len(added.lstrip(" "))
    if said and added[lead:].startswith(f"{said}\n"):
        return lead + len(said) + 1
    first_line = added.find("\n") + 1 or len(added)
    heard = observation.strip().partition("\n")[0]
    place = added.find(heard, first_line) if heard else -1
    return first_line if place < 0 else added.rfind("\n", 0, place) + 1


def _dropped(segments: list[Segment], written: str, read: str, became: Said) -> tuple[str, str]:
    """What is left without the thoughts; the label that stood before one goes from ``segments`` too."""
    before = segments.pop()
    head = before.text[: before.text.rfind("\n") + 1]
    if became.thinks:
        # What answers a thought goes with it; the line that the next reply goes on from stays.
        segments.append(Segment(head + (written + read).rpartition("\n")[2], before.loss))
        return "", ""
    whole = before.text[len(head) :] + written
    left = without_thoughts(whole, became.thoughts)
    shared = left.startswith(before.text[len(head) :])
    segments.append(before if shared else Segment(head, before.loss))
    return (left[len(before.text) - len(head) :] if shared else left), read


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Without empty ones; equal neighbours as one."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and joined[-1].loss == segment.loss:
            joined[-1] = Segment(joined[-1].text + segment.text, segment.loss)
        elif segment.text:
            joined.append(segment)
    return joined


def without_thoughts(text: str, thoughts: Sequence[str]) -> str:
    """``text`` without the line that holds each thought; of a JSON object, without its thought."""
    if not thoughts:
        return text
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if isinstance(told, dict) and "thought" in told:
        left = json.dumps({key: value for key, value in told.items() if key != "thought"}, ensure_ascii=False)
        return left + ("\n" if text.endswith("\n") else "")
    lines = text.split("\n")
    for thought in thoughts:
        place = next((place for place, line in enumerate(lines) if thought in line), None)
        if place is not None:
            del lines[place]
    return "\n".join(lines)
