"""Reads mutated replies by the million and checks what must hold of every reading.

    python tests/fuzz_reader.py --count 1000000 --seed 0

Prints how many were read, how fast, the slowest one and what they were read as. Exits 1 with the offending reply when a
reading breaks one of the properties that :func:`fault` checks.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialogue.agents.models.contract import ToolCall
from trialogue.agents.reading import Language, Reading, read_calls, read_reply

HOUSEHOLD = Language(
    ("look", "inventory", "go to {receptacle}", "open {receptacle}", "take {object} from {receptacle}",
     "put {object} in/on {receptacle}", "heat {object} with {receptacle}", "use {object}"),
    ("look", "inventory", "go to desk 1", "go to desk 10", "go to fridge 1", "open fridge 1", "take mug 1 from desk 1",
     "put mug 1 in/on desk 1", "use desklamp 1"),
    "put",
)  # fmt: skip
LANGUAGES = (
    HOUSEHOLD,
    Language(HOUSEHOLD.templates),
    Language(("look", "go to {receptacle}", "move {object} to {receptacle}"), ("look", "move mug 1 to desk 1")),
    Language(("search[{entity}]", "lookup[{keyword}]", "finish[{answer}]")),
    Language(("search[{query}]", "click[{button}]"), ("click[Buy Now]", "click[< Prev]", "click[Back to Search]")),
    Language(("calculate[{expression}]", "convert {amount} from {unit} to {unit}", "finish[{answer}]")),
    Language(()),
)

CORPUS = (
    "look",
    "> go to desk 1",
    "go to the fridge1.",
    "think: A mug may be on the desk.",
    "> think: First I need a mug.\nOK.\n> go to desk 1\nOn the desk 1, you see a mug 1.\n> take mug 1 from desk 1",
    "Thought 1: I need to search the lake.\nAction 1: search[Lake Orin]\nObservation 1: Lake Orin is a lake.\n"
    "Thought 2: It is in the north.\nAction 2: finish[the north]",
    "Thought: It is cold.\nAction: heat mug 1 with fridge 1",
    "**Thought:** compute first.\n**Action:** calculate[(3 + 4) * 12]",
    "### Thought\nThe button is there.\n### Action\nclick[Buy Now]",
    "__Thought 3__: almost\n__Action 3__: `click[< Prev]`",
    "Action: search[red mug] search[blue mug]",
    "Action: click[Buy Now] because it fits the budget [really].",
    "Action: search\nAction Input: oat biscuits\nObservation: 12 results",
    'Action: search\nAction Input: {"query": "who wrote \\"To the Pier\\"?", "limit": 5}',
    'Action: take\nAction Input: {"object": "mug 1", "receptacle": "desk 1"}',
    '{"thought": "the mug is there", "action": "take mug 1 from desk 1"}',
    '{"thought": "He said \\"wait. Then go.\\"", "action": "search", "action_input": "pier [west]"}',
    'json\n{"action": "search", "action_input": "25 cm pan"}',
    '```json\n{\n  "action": "Final Answer",\n  "action_input": "212 m"\n}\n```',
    '<tool_call>\n{"name": "go_to", "arguments": {"receptacle": "desk 1"}}\n</tool_call>',
    '{"name": "put", "arguments": "{\\"object\\": \\"mug 1\\", \\"receptacle\\": \\"desk 1\\"}"}',
    '{"name": "convert", "arguments": {"amount": "3", "unit": "km"}}',
    '{"action": "search", "action_input": {"filters": {"field": "title"}, "n": [1, 2, null]}}',
    '</think>\n{"name": "click", "arguments": {"value": "next >"}}\n</tool_call>',
    '{"tool": "lookup", "tool_input": "height"}',
    "To find it I must type the term.\n\n```\nsearch[oat dog biscuits]\n```",
    "Sure! Here is what I would do next:\n\n```text\ngo to desk 1\n```\nTell me what happens.",
    "<think>Maybe search[chairs]? Weights [0.2, 0.8]. No.</think>\nAction: search[stool]",
    "<think>\nOkay, so the user wants a mug. Action: look\n</think>\n\nthink: a mug\ngo to desk 1",
    "I could do Action: click[Back to Search] first, no.</think>\nAction: click[Buy Now]",
    "[THINK]Perhaps Action: look[/THINK]open fridge 1",
    "◁think▷go to desk 1◁/think▷ go to desk 10",
    "<thinking>a<thinking>b</thinking>c</thinking>Final Answer: The Mill",
    "<reasoning>The token limit cuts this. Action: go to fridge 1",
    "Final Answer: 8",
    "Answer: the old mill\non the hill",
    "Thought: so\nFinal Answer: The\nMill",
    "Thought: The tower page gives it.\nAction: lookup[height]\nFinal Answer: 212 m",
    "So the three sights are the pier, the mill and the old lock.",
    "Two plus three boats. Therefore, the answer is 5.",
    "I'm sorry, but I cannot see any mug here. Could you tell me where it is?",
    "Options:\n* go to desk 1\n* look\n1. open fridge 1\n2) use desklamp 1",
    "For example:\nAction: go to desk 1\n\nBut I do not know.",
    'You may write "Action: look", or `search[x]`, as you like.',
    "思考：先找杯子。\n行动：go to desk 1\n观察：看到了杯子。",
    "思考 2：先找杯子。行动 2：take mug 1 from desk 1",
    "行动输入：书桌\n动作：search[湖]\n最终答案：北方",
    "Мне нужна кружка.\nAction: go to desk 1",
    "Réflexion : il faut une tasse.\nAction : look",
    "Ich sehe eine Tasse. put mug 1 on desk 1",
    "マグカップを探します。\n> look",
    "يجب أن أذهب إلى المكتب.\nAction: go to desk 1",
    "put mug 1 in desk 1",
    "move mug 1 to desk 1",
    "Put the Mug1 in/on the Desk #1, since it belongs there.",
    "convert 3 from km to miles",
    "calculate [2 ** 10].",
    "finish[a [sic] b]",
    "finish[]",
    "think[It must be a lake.]",
    "Action: think: I should look\nAction: look",
    "Action:",
    "Observation: you see a mug 1\nAction: take mug 1 from desk 1",
    "go to desk 1\r\nOn the desk 1, you see a mug 1.\r\n> look",
    '{"a": 1} {"action": "look"} {"action": "inventory"}',
    '{"option": "red",',
    "> look\n> look\n> look",
    "",
)

ARGUMENTS = (
    "{}", "", "null", "[1, 2]", "42", '"desk"', '{"receptacle": "desk 1"}',
    '{"object": "mug 1", "receptacle": "desk 1"}', '{"query": "who wrote \\"To the Pier\\"?"}',
    '{"entity": "Lake Orin"}',
    '{"answer": null}', '{"option": "red",',
    '{"text": "think: hm"}', '{"text": "look\\nlook"}', '{"expression": "2 + [3]"}',
    '{"x": {"y": [{}]}}', '{"q": "\\ud800"}',
)  # fmt: skip
NAMES = (
    "look", "go_to", "take_from", "put_in_on", "search", "lookup", "finish", "click", "calculate", "convert_from_to",
    "command", "think", "thought", "final_answer", "buy", "", "Go To", "search[x]", "a\nb",
)  # fmt: skip

PIECES = (
    "Thought:", "Thought 2: ", "Action:", "Action 1: ", "\nAction: ", "Action Input:", "Observation:",
    "\nObservation 1: ", "Final Answer:", "think:", "> ", ">", "OK.", "\n", "\n\n", "\r", "```", "```json\n", "~~~",
    "**", "__", "`", "#",
    "<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "<tool_call>", "[", "]", "{", "}", "(", '"', "'", "“", "”",
    "\\", "\\u0041", ":", "：", ". ", "。", ", ", " because ", "for example:\n", "思考：", "行动：", "观察：",
    "\x00", "\x1b[2J", "\u2028", "\x85", "\u200b", "\ufeff", "\ud800", "\udfff", "\U0001f600", "e\u0301", "\t", " ",
    "null", "NaN", "1e999",
)  # fmt: skip

TRAP, BAIT = "trap 7", "bait 7"
TRAPS = (
    f"<think>Action: go to {TRAP}</think>\n{{}}",
    f"<Thinking>\ngo to {TRAP}\n</Thinking>\n{{}}",
    f"[THINK]> go to {TRAP}[/THINK]\n{{}}",
    f"Action: go to {TRAP}\n</think>\n{{}}",
    f"{{}}\n<think>Action: go to {TRAP}",
    f"For example:\nAction: go to {BAIT}\n\n{{}}",
    f"Such as, for instance:\n```\ngo to {BAIT}\n```\n{{}}",
    f'I may write "x. Action: go to {BAIT}".\n{{}}',
    f"{{}}\nObservation: {TRAP} is here.\nThought: {TRAP}!\nAction: go to {TRAP}",
    f"{{}}\nObservation 1: {TRAP}\n> go to {TRAP}",
    f"{{}}\n观察：{TRAP}\n行动：go to {TRAP}",
)
"""Each keeps the trap inside reasoning or an invented episode, or the bait inside a quotation, whatever stands in place
of the braces. The bait may be thought of, and never done; the trap may not even be thought of."""


@dataclass(frozen=True)
class Case:
    """A reply, and how it is read. ``calls`` is None where native calls are not offered."""

    reply: str
    language: Language
    repairs: bool = True
    cut: bool = False
    thought_due: bool = False
    calls: tuple[ToolCall, ...] | None = None

    def read(self) -> Reading:
        finish_reason = "length" if self.cut else "stop"
        if self.calls is not None:
            return read_calls(
                self.reply, self.calls, finish_reason=finish_reason, language=self.language, repairs=self.repairs
            )
        return read_reply(
            self.reply,
            finish_reason=finish_reason,
            language=self.language,
            repairs=self.repairs,
            thought_due=self.thought_due,
        )


def fault(case: Case, reading: Reading) -> str:
    """What is wrong with ``reading``, "" if nothing is."""
    shown = (*reading.thoughts, reading.echo, reading.action or "", reading.problem)
    liberties = {liberty.kind for liberty in reading.liberties}
    faults = {
        "an action exactly where the kind says so": (reading.action is not None) != (reading.kind == "action"),
        "a problem exactly where nothing could be read": bool(reading.problem)
        != (reading.kind in ("unreadable", "truncated")),
        "a thought, or another kind": reading.kind == "thought" and not any(reading.thoughts),
        "thoughts, action and echo on one line": any("\n" in text or "\r" in text for text in shown),
        "an echo of at most 200, a problem of at most 1000 characters": len(reading.echo) > 200
        or len(reading.problem) > 1000,
        "liberties of at most 200 characters": any(len(lib.before + lib.after) > 400 for lib in reading.liberties),
        "nothing out of reasoning or an invented episode": any(TRAP in text for text in shown),
        "no action out of a quotation": BAIT in (reading.action or ""),
        "no thought as an action": _is_thought(reading.action),
        "text that can be stored": any(_unpaired(text) for text in shown),
        "the verb that was written": reading.action is not None and not _says(case, reading.action, liberties),
    }
    return next((expected for expected, broken in faults.items() if broken), "")


def _is_thought(action: str | None) -> bool:
    return action is not None and re.match(r"[>\s]*think\s*[:\[]", action, re.I) is not None


def _unpaired(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _says(case: Case, action: str, liberties: set[str]) -> bool:
    """Whether the verb of ``action`` was written. ``finish`` may stand for an answer, and ``put`` for ``move``."""
    called = [f"{call.name} {call.arguments}" for call in case.calls or ()]
    said = _unescaped("\n".join([case.reply, *called])).casefold()
    verb = re.split(r"[\s\[]+", action.strip(), maxsplit=1)[0].casefold()
    if "dialect" in liberties and verb in ("put", "move"):
        return "put" in said or "move" in said
    return verb in said or (verb == "finish" and ("answer" in said or "答案" in said)) or _unpaired(said)


def _unescaped(text: str) -> str:
    """``text``, and once more with what JSON escapes in it."""
    plain = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    bare = re.sub(r"\\+(.)", r"\1", plain)
    return "\n".join([text, bare, " ".join(bare.split())])


Mutation = Callable[[random.Random, str], str]


def _spliced(draw: random.Random, text: str) -> str:
    other = draw.choice(CORPUS)
    return text[: draw.randint(0, len(text))] + other[draw.randint(0, len(other)) :]


def _joined(draw: random.Random, text: str) -> str:
    return text + draw.choice(("\n", " ", "", "\n\n")) + draw.choice(CORPUS)


def _duplicated(draw: random.Random, text: str) -> str:
    start, end = _span(draw, text)
    return text[:end] + text[start:end] * draw.choice((1, 1, 2, 5)) + text[end:]


def _deleted(draw: random.Random, text: str) -> str:
    start, end = _span(draw, text)
    return text[:start] + text[end:]


def _inserted(draw: random.Random, text: str) -> str:
    place = draw.randint(0, len(text))
    return text[:place] + draw.choice(PIECES) + text[place:]


def _cut(draw: random.Random, text: str) -> str:
    return text[: draw.randint(0, len(text))]


def _recased(draw: random.Random, text: str) -> str:
    return draw.choice((str.upper, str.title, str.lower))(text)


def _run(draw: random.Random, text: str) -> str:
    """A very long run of one piece, up to about 10 kB."""
    place, piece = draw.randint(0, len(text)), draw.choice(PIECES + CORPUS[:12])
    return text[:place] + piece * draw.randint(10, 10_000 // max(len(piece), 1)) + text[place:]


def _span(draw: random.Random, text: str) -> tuple[int, int]:
    start, end = sorted((draw.randint(0, len(text)), draw.randint(0, len(text))))
    return start, min(end, start + 60)


COMMON: Sequence[Mutation] = (_spliced, _joined, _duplicated, _deleted, _inserted, _inserted, _inserted, _cut, _recased)
LONG_RUNS = 0.004  # of all replies: they take a thousand times as long as others


def mutated(draw: random.Random, text: str) -> str:
    for _ in range(draw.choice((0, 1, 1, 2, 3, 5, 8))):
        text = draw.choice(COMMON)(draw, text)
    return _run(draw, text) if draw.random() < LONG_RUNS else text


def drawn(draw: random.Random) -> Case:
    """A mutated reply, in one of four with a trap set around it, and a way to read it."""
    reply = mutated(draw, draw.choice(CORPUS))
    if draw.random() < 0.25:
        reply = draw.choice(TRAPS).replace("{}", reply)
    calls = tuple(_call(draw) for _ in range(draw.choice((0, 1, 1, 2)))) if draw.random() < 0.2 else None
    return Case(reply, draw.choice(LANGUAGES), draw.random() < 0.8, draw.random() < 0.15, draw.random() < 0.2, calls)


def _call(draw: random.Random) -> ToolCall:
    name, arguments = draw.choice(NAMES), draw.choice(ARGUMENTS)
    if draw.random() < 0.3:
        name, arguments = mutated(draw, name), mutated(draw, arguments)
    return ToolCall("call_1", name, arguments)


def seconds_to_read(case: Case) -> tuple[float, Reading]:
    """The processor time of one reading; the least of three where the first seems long."""
    started = time.thread_time()
    reading = case.read()
    seconds = time.thread_time() - started
    for _ in range(2 if seconds > 0.02 else 0):
        started = time.thread_time()
        case.read()
        seconds = min(seconds, time.thread_time() - started)
    return seconds, reading


def too_slow(case: Case, seconds: float) -> bool:
    """More than 50 ms for 10 kB; a shorter reply is given as much."""
    size = len(case.reply) + sum(len(call.name) + len(call.arguments) for call in case.calls or ())
    return seconds > 0.05 * max(1.0, size / 10_000)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    kinds: Counter[str] = Counter()
    slowest, size, started = 0.0, 0, time.perf_counter()
    for number in range(asked.count):
        case = drawn(random.Random(asked.seed * 1_000_003 + number))
        try:
            seconds, reading = seconds_to_read(case)
            wrong = "at most 50 ms for 10 kB" if too_slow(case, seconds) else fault(case, reading)
        except Exception as error:
            wrong, reading = f"no exception, got {type(error).__name__}: {error}", Reading("unreadable")
        if wrong:
            print(f"reply {number} of seed {asked.seed}: expected {wrong}\n{case!a}\nread as {reading!a}"[:6000])
            return 1
        kinds[reading.kind] += 1
        if seconds > slowest:
            slowest, size = seconds, len(case.reply)
    total = time.perf_counter() - started
    told = {"count": asked.count, "seconds": round(total, 1), "replies_per_second": round(asked.count / total)}
    print(json.dumps({**told, "slowest_ms": round(slowest * 1000, 1), "slowest_characters": size, "kinds": kinds}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
