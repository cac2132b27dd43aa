"""Reads the answer of a reply that answers a question without commands. A pure function of the reply.

An answer is named by a line ``Answer: …`` (or ``Final Answer:``), by ``finish[…]``, alone or as a JSON call, or by "the
answer is …". A reply that names several, or one several times, gives one: the last. What comes after a
further question is the model's own invention and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trialogue.agents.contract import Liberty, TurnKind
from trialogue.agents.reading import Language, concluding_answer, read_reply
from trialogue.agents.reading.calls import clip
from trialogue.agents.reading.reasoning import strip_reasoning
from trialogue.agents.reading.text import storable

_NAMED = re.compile(
    r"(?P<command>^[^\w\n]*(?:(?:thought|action|answer)[\s*_]{0,8}\d{0,4}[\s*_]{0,8}[:：][^\w\n]*)?(?P<verb>finish)\s{0,8}\[)"
    r"|(?P<label>(?:\b(?:final[ _])?answer[\s*_]{0,8}\d{0,4}|最终答案|答案)[\s*_]{0,8}[:：])"
    r"|(?P<said>\bthe (?:final )?answer is\b)",
    re.I | re.M,
)
_THOUGHT = re.compile(r"^[\s*_#>]*(?:thoughts?|思考)[\s*_]{0,8}\d{0,4}[\s*_]{0,8}[:：][\s*_]*", re.I)
_SENTENCE_END = re.compile(r"(?:(?<=[^\W\d_]{3})|(?<=\d))[.!?]\s+(?=[A-Z]\S*(?:\s+\S+){2})")
_QUOTED = re.compile(r"""(["'])(.+)\1|“(.+)”|‘(.+)’|«(.+)»""")
_LONGEST = 12  # words of a line that is an answer without being named one


@dataclass(frozen=True)
class Answered:
    """``answer`` is None where none could be read. ``reasoning`` is what led to it, on one line."""

    answer: str | None
    reasoning: str = ""
    liberties: tuple[Liberty, ...] = ()
    kind: TurnKind = "action"


def read_answer(
    reply: str,
    *,
    finish_reason: str = "stop",
    language: Language,
    cue: str = "",
    question: str = "",
    bare: bool = False,
) -> Answered:
    """Reads one reply; it never raises, whatever the text.

    ``cue`` is what the prompt ended in (``Answer:``), ``question`` what a question begins with (``Question:``).
    ``finish_reason`` is "length" when the reply was cut: what it ends in is no answer then. ``bare`` says that a short
    line may be the answer by itself.
    """
    visible = strip_reasoning(storable(reply))
    liberties = [Liberty("reasoning_removed", clip(visible.reasoning), "")] if visible.reasoning else []
    text, invented = _before_question(f"{cue} {visible.text}" if cue else visible.text, question)
    if invented:
        liberties.append(Liberty("invented_question", clip(invented), ""))
    cut = finish_reason == "length" and not invented
    for named in _namings(text, language, cut):
        return _answered(named, text, liberties)
    if bare and not cut and (answer := _bare_answer(text)):
        return Answered(answer, "", (*liberties, Liberty("answer_unlabelled", clip(text), answer)))
    return Answered(None, _without_label(text), tuple(liberties), "truncated" if cut else "unreadable")


@dataclass(frozen=True)
class _Naming:
    """An answer, where it was named from, and as it was written there. ``inside`` a sentence of the reasoning."""

    answer: str
    start: int
    written: str
    inside: bool = False


def _namings(text: str, language: Language, cut: bool) -> Iterator[_Naming]:
    """The answers that are named in ``text``, the last first."""
    found = list(_NAMED.finditer(text))
    for place in reversed(range(len(found))):
        end = found[place + 1].start() if place + 1 < len(found) else len(text)
        if (naming := _naming(found[place], text[:end], language)) and not (cut and _reaches_end(naming, text)):
            yield naming
    if not found and (naming := _call(text, 0, language)):
        yield naming


def _naming(named: re.Match[str], text: str, language: Language) -> _Naming | None:
    start = named.start()
    if named["command"]:
        return _call(text[named.start("verb") :].partition("\n")[0], start, language)
    if named["said"]:
        written = text[start:].partition("\n")[0]
        answer = concluding_answer(_SENTENCE_END.split(written)[0])
        return _Naming(_undressed(answer), start, written, inside=True) if answer and _undressed(answer) else None
    written = text[named.end() :].strip().partition("\n")[0]
    if written.startswith("{"):
        return _call(written, start, language)
    return _Naming(_undressed(written), start, written) if _undressed(written) else None


def _call(written: str, start: int, language: Language) -> _Naming | None:
    """The answer of ``finish[…]``, or of a JSON call that means it."""
    form = language.finish
    action = read_reply(written, language=language).action
    arguments = form.match(action) if form is not None and action is not None else None
    return _Naming(arguments[0].strip(), start, written.strip()) if arguments and arguments[0].strip() else None


def _reaches_end(naming: _Naming, text: str) -> bool:
    """Whether an answer may have been longer, had the reply not been cut."""
    return text.rstrip().endswith(naming.written.rstrip()) and naming.written.rstrip()[-1:] not in ("]", "}")


def _bare_answer(text: str) -> str:
    """``text`` as an answer, if it is one short line and no thought; else ""."""
    short = "\n" not in text and len(text.split()) <= _LONGEST and _THOUGHT.match(text) is None
    return _undressed(text) if short else ""


def _answered(named: _Naming, text: str, liberties: list[Liberty]) -> Answered:
    reasoning = _without_label(text if named.inside else text[: named.start])
    if named.answer != named.written:
        liberties = [*liberties, Liberty("answer_taken", clip(named.written), named.answer)]
    return Answered(named.answer, reasoning, tuple(liberties))


def _before_question(text: str, question: str) -> tuple[str, str]:
    """``text`` up to a further question, and the rest."""
    found = re.search(rf"^[ *_#>]{{0,16}}{re.escape(question)}", text, re.M | re.I) if question else None
    kept, rest = (text, "") if found is None else (text[: found.start()], text[found.start() :])
    return kept.strip(), rest.strip()


def _without_label(text: str) -> str:
    return _THOUGHT.sub("", " ".join(text.split()))


def _undressed(answer: str) -> str:
    """``answer`` on one line, without emphasis, code marks and quotation marks around it."""
    bare = " ".join(answer.split()).strip(" *_`")
    quoted = _QUOTED.fullmatch(bare)
    return next(filter(None, quoted.groups()[1:]), "").strip() if quoted else bare
