"""One reader for every format in which models give thoughts and actions. A pure function of the reply.

It never raises, whatever the text; takes at most one action; never takes one out of reasoning, quotations or an episode
that the model invented; and reports every liberty it took.

How it decides. Reasoning blocks are taken out. The rest is cut at its labels, and ends where the model begins to
invent observations. The action is the first of: a labelled action; a JSON call on lines of its own; a labelled final
answer (only where the language has ``finish[…]``); an unlabelled line. An unlabelled line is an action when it is
admissible or fits a template, or, as the first line, begins with a known verb; a reply that is nothing but one short
line which does not read like a sentence is one too, so that the environment can say what is wrong with it. All else
is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trialogue.agents.contract import Liberty, TurnKind
from trialogue.agents.reading.calls import BadCall, Call, clip, command_of, find_call, lone_thought, read_arguments
from trialogue.agents.reading.language import Language
from trialogue.agents.reading.pieces import Piece, is_thought, pieces_of
from trialogue.agents.reading.reasoning import strip_reasoning
from trialogue.agents.reading.repairs import repair
from trialogue.agents.reading.text import storable

_MOST_PIECES = 1000  # lines, or labelled parts of lines; what comes later in a reply is not read
_MOST_MENDS = 200  # different lines of one reply that are mended: no reply takes long to read


@dataclass(frozen=True)
class Reading:
    """What was read. ``echo`` is the part of the reply that may be shown to the model again, on one line.

    ``by_person`` says that a person put it in the place of what the model said.
    """

    kind: TurnKind
    thoughts: tuple[str, ...] = ()
    action: str | None = None
    liberties: tuple[Liberty, ...] = ()
    problem: str = ""
    echo: str = ""
    by_person: bool = False


def read_reply(
    text: str,
    *,
    finish_reason: str = "stop",
    language: Language,
    repairs: bool = True,
    thought_due: bool = False,
) -> Reading:
    """Reads one reply.

    ``finish_reason`` is "length" when the reply was cut. Without ``repairs`` only plainly written labels count and the
    command is passed on exactly as written. ``thought_due`` says that a thought was asked for, so that a reply may
    begin with one that has no label.
    """
    visible = strip_reasoning(storable(text))
    reader = _Reader(language, repairs, finish_reason == "length")
    if visible.reasoning:
        reader.note("reasoning_removed", visible.reasoning, "")
    pieces = [_thought_object(piece) for piece in pieces_of(visible.text, _MOST_PIECES + 1)]
    if len(pieces) > _MOST_PIECES:
        reader.note("rest_unread", pieces.pop().text, "")
    if thought_due and pieces and pieces[0].kind == "loose" and not _is_json(pieces[0].text):
        pieces[0] = replace(pieces[0], kind="thought")
    return reader.read(pieces)


def concluding_answer(text: str) -> str | None:
    """The answer of a chain-of-thought reply: what follows its last "the answer is" (Kojima et al. 2022), else None."""
    said = re.split(r"\bthe (?:final |correct )?answer is\b:?", strip_reasoning(text).text, flags=re.I)
    line = said[-1].strip().partition("\n")[0].strip() if len(said) > 1 else ""
    return line.rstrip(".").strip() or None


@dataclass(frozen=True)
class _Found:
    """An action, the places of the first and last piece that it was read from, and how it was written there."""

    action: str
    first: int
    last: int
    written: str
    thought: str = ""


class _Reader:
    def __init__(self, language: Language, repairs: bool, cut: bool) -> None:
        self.language = language
        self.repairs = repairs
        self.cut = cut
        self.liberties: list[Liberty] = []
        self._mends: dict[str, tuple[str, tuple[Liberty, ...]]] = {}

    def note(self, kind: str, before: str, after: str) -> None:
        self.liberties.append(Liberty(kind, clip(before), clip(after)))

    def read(self, pieces: Sequence[Piece]) -> Reading:
        kept, invented = self._before_observation(pieces)
        try:
            found = self._find(kept)
        except BadCall as bad:
            return self._without(kept, invented, str(bad))
        if found is None:
            return self._without(kept, invented, "")
        if self.cut and found.last == len(pieces) - 1 and not self._whole(found):
            return self._without(kept, invented, "Your action was cut off. Reply with one short command.")
        thoughts = self._thoughts(kept[: found.first], loose=True)
        if found.thought:
            thoughts = (*thoughts, found.thought)
        self._note_ignored(kept, found)
        self._note_invented(invented)
        return Reading("action", thoughts, found.action, tuple(self.liberties), echo=_told(kept))

    def _before_observation(self, pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """What was said before the first invented observation, and the rest.

        Besides labelled ones, the ``OK.`` that answers a thought is one, and so is text between prompt marks.
        """
        for place, piece in enumerate(pieces):
            after_thought = place > 0 and pieces[place - 1].kind != "action"
            answered = after_thought and re.fullmatch(r"[>\s]*OK\.?", piece.text, re.I) is not None
            if piece.kind == "observation" or answered or self._is_told(pieces, place):
                return pieces[:place], pieces[place:]
        return pieces, ()

    def _is_told(self, pieces: Sequence[Piece], place: int) -> bool:
        """Whether a loose line before a new prompt mark tells what happened, and is neither command nor comment."""
        piece, following = pieces[place], pieces[place + 1 : place + 2]
        if piece.kind != "loose" or piece.marked or not (following and following[0].marked):
            return False
        comment = re.search(r":$|\b(?:I|I'm|I'll|I’ll|we|let's|let’s)\b", piece.text) is not None
        return not comment and not self.language.accepts(self._repaired(piece.text)[0])

    def _find(self, pieces: Sequence[Piece]) -> _Found | None:
        ways: tuple[Callable[[Sequence[Piece]], _Found | None], ...] = (
            self._labelled,
            self._json,
            self._answer,
            self._unlabelled,
        )
        return next((found for way in ways if (found := way(pieces)) is not None), None)

    def _labelled(self, pieces: Sequence[Piece]) -> _Found | None:
        known = len(self.liberties)
        for place, piece in enumerate(pieces):
            if piece.kind == "action" and (piece.plain or self.repairs):
                found = self._at_label(pieces, place)
                if found is not None:
                    self.liberties.insert(known, Liberty("label", piece.label, ""))
                    return found
        return None

    def _at_label(self, pieces: Sequence[Piece], place: int) -> _Found | None:
        """The action of the label at ``place``: on its line, or on the first loose line under it."""
        start = place if pieces[place].text else place + 1
        end = _end_of_loose(pieces, place + 1)
        if start >= len(pieces) or (start > place and pieces[start].kind != "loose"):
            return None
        if _is_json(pieces[start].text):
            return self._call_in(pieces, start, end)
        if end < len(pieces) and pieces[end].kind == "input":
            return self._with_input(pieces, start, end)
        last, command = _bracketed(pieces, start, end)
        if last > start:
            self.note("white_space", "\n".join(piece.text for piece in pieces[start : last + 1]), command)
        return _Found(self._mended(command), place, last, command)

    def _with_input(self, pieces: Sequence[Piece], start: int, place: int) -> _Found:
        end = _end_of_loose(pieces, place + 1)
        text = "\n".join(piece.text for piece in pieces[place:end])
        name = self._dressless(pieces[start].text)
        action = self._from_json(Call(name, read_arguments(text.strip())), f"{name}: {text.strip()}")
        return _Found(action, start, end - 1, text)

    def _json(self, pieces: Sequence[Piece]) -> _Found | None:
        place = 0
        while place < len(pieces):
            end = _end_of_loose(pieces, place)
            starts = [start for start in range(place, end) if _is_json(pieces[start].text)]
            found = self._call_in(pieces, starts[0], end) if starts else None
            if found is not None:
                return found
            place = end + 1
        return None

    def _call_in(self, pieces: Sequence[Piece], start: int, end: int) -> _Found | None:
        text = "\n".join(piece.text for piece in pieces[start:end])
        call = find_call(text)
        if call is None:
            return None
        action = self._from_json(call, text[call.start : call.end])
        last = start + text[: call.end].count("\n")
        return _Found(action, start, last, "}", " ".join(call.thought.split()))

    def _from_json(self, call: Call, written: str) -> str:
        command = command_of(call, self.language)
        if is_thought(command):
            raise BadCall('A thought is no action; write it as a line that begins with "think:".')
        self.note("json", written, command)
        return self._mended(command)

    def _answer(self, pieces: Sequence[Piece]) -> _Found | None:
        finish = self.language.finish
        if finish is None or not self.repairs:
            return None
        for place, piece in enumerate(pieces):
            if piece.kind == "answer":
                end = _end_of_loose(pieces, place + 1)
                text = " ".join(part.text for part in pieces[place:end]).strip()
                action = finish.fill(text)
                self.note("final_answer", f"{piece.label} {text}", action)
                return _Found(action, place, end - 1, text)
        return None

    def _unlabelled(self, pieces: Sequence[Piece]) -> _Found | None:
        for place, piece in enumerate(pieces):
            answer = piece.kind == "answer" and self.repairs
            if (answer or piece.kind == "loose") and self._is_command(piece, place, len(pieces)):
                if answer or piece.fenced:
                    self.note("label" if answer else "fence", piece.label or "```", "")
                return _Found(self._mended(piece.text), place, place, piece.text)
        return None

    def _is_command(self, piece: Piece, place: int, count: int) -> bool:
        mended = self._repaired(piece.text)[0]
        known = self.language.accepts(mended)
        if self.language.is_admissible(mended) or (known and ("[" in mended or piece.marked)):
            return True
        if place == 0 and piece.kind == "loose" and (known or self.language.has_verb(mended)):
            return True
        if reads_like_prose(piece.text):
            return False
        return known or (count == 1 and piece.kind == "loose" and self._has_shape(piece.text))

    def _has_shape(self, line: str) -> bool:
        """Whether an unknown command looks like one of this language, and not like the end of a sentence."""
        begun, end = re.match(r"\W*\w+\s*\[", line), line.rfind("]")
        bracketed = begun is not None and end >= begun.end() and re.search(r"\w", line[end:]) is None
        return bracketed or (self.language.plain and re.search(r"\w", line) is not None and line[-1] not in ".!?:…")

    def _repaired(self, command: str) -> tuple[str, tuple[Liberty, ...]]:
        command = command.strip()
        if self.repairs and command not in self._mends and len(self._mends) < _MOST_MENDS:
            self._mends[command] = repair(command, self.language)
        return self._mends.get(command, (command, ()))

    def _mended(self, command: str) -> str:
        mended, liberties = self._repaired(command)
        for liberty in liberties:
            self.note(liberty.kind, liberty.before, liberty.after)
        return mended

    def _dressless(self, name: str) -> str:
        return name.strip(" *_`\"'") if self.repairs else name.strip()

    def _whole(self, found: _Found) -> bool:
        """Whether an action at the very end of a cut reply is surely not a part of a longer one."""
        longer = [other for other in self.language.admissible or () if other.startswith(found.action)]
        return longer == [found.action] or found.written.rstrip("`* ")[-1:] in ("]", "}")

    def _thoughts(self, pieces: Sequence[Piece], *, loose: bool) -> tuple[str, ...]:
        """The thoughts in ``pieces``; ``loose`` text before an action is one too, and that is noted."""
        thoughts: list[list[str]] = []
        for piece in pieces:
            if piece.kind == "thought":
                thoughts.append([piece.text])
            elif piece.kind == "loose" and thoughts:
                thoughts[-1].append(piece.text)
            elif piece.kind == "loose" and loose:
                self.note("prose_as_thought", piece.text, piece.text)
                thoughts.append([piece.text])
        texts = (" ".join(" ".join(parts).split()) for parts in thoughts)
        return tuple(text for text in texts if text)

    def _note_ignored(self, kept: Sequence[Piece], found: _Found) -> None:
        """Notes what stood beside the action and was not used."""
        rest = kept[found.last + 1 :]
        for piece in (*kept[: found.first], *rest):
            if piece.kind == "answer":
                self.note("final_answer_ignored", f"{piece.label} {piece.text}", "")
        rest = [piece for piece in rest if piece.kind != "answer"]
        if rest:
            kind = "extra_action" if self._count_actions(rest) else "trailing_text"
            self.note(kind, _told(rest), "")

    def _note_invented(self, invented: Sequence[Piece]) -> None:
        if invented:
            later = self._count_actions(invented)
            self.note("invented_observation", _told(invented), f"dropped, with {later} later actions")

    def _count_actions(self, pieces: Sequence[Piece]) -> int:
        return sum(
            piece.kind in ("action", "answer")
            or piece.marked
            or (piece.kind == "loose" and self.language.is_admissible(self._repaired(piece.text)[0]))
            for piece in pieces
        )

    def _without(self, kept: Sequence[Piece], invented: Sequence[Piece], problem: str) -> Reading:
        thoughts = self._thoughts(kept, loose=False)
        self._note_invented(invented)
        only_thoughts = bool(thoughts) and all(piece.kind in ("thought", "loose") for piece in kept)
        if only_thoughts and not problem:
            if self.cut and not invented:
                self.note("cut_off", thoughts[-1], thoughts[-1])
            return Reading("thought", thoughts, None, tuple(self.liberties), echo=_told(kept))
        kind: TurnKind = "truncated" if self.cut else "unreadable"
        problem = problem or self._problem(bool(kept), bool(invented))
        return Reading(kind, thoughts, None, tuple(self.liberties), problem, _told(kept))

    def _problem(self, said: bool, invented: bool) -> str:
        if self.cut:
            what = "Your reply was cut off before it came to an action."
        elif invented and not said:
            what = "Your reply made up an observation; only the environment observes."
        elif not said:
            what = "Your reply held no more than reasoning." if self.liberties else "Your reply was empty."
        else:
            what = "No action could be read in your reply."
        return f"{what} Expected one line with one command, such as: {self.language.example()}"


def reads_like_prose(line: str) -> bool:
    """Whether ``line`` is rather a sentence than a command: long, first person, or with a clause or an end mark."""
    words = line.split()
    return (
        len(words) > 12
        or (len(words) > 6 and line.rstrip()[-1:] in ".!?:…")
        or re.search(r"[,;]\s|\b(?:I|I'm|I'll|I’ll|we|let's|let’s|my|you|your)\b", line) is not None
    )


def _end_of_loose(pieces: Sequence[Piece], start: int) -> int:
    return next((place for place in range(start, len(pieces)) if pieces[place].kind != "loose"), len(pieces))


def _thought_object(piece: Piece) -> Piece:
    thought = lone_thought(piece.text) if piece.kind == "loose" else None
    return piece if thought is None else replace(piece, kind="thought", text=thought, label='{"thought"}')


def _is_json(text: str) -> bool:
    return re.match(r"\W{0,4}(?:json\b|<tool_call>)?\s*\{|json$|<tool_call>$", text.strip(), re.I) is not None


def _bracketed(pieces: Sequence[Piece], start: int, end: int) -> tuple[int, str]:
    """The command at ``start``: one line, or as many as its open bracket needs."""
    command = pieces[start].text
    open_brackets = command.count("[") - command.count("]")
    if open_brackets <= 0:
        return start, command
    for last in range(start + 1, end):
        open_brackets += pieces[last].text.count("[") - pieces[last].text.count("]")
        if open_brackets == 0:
            return last, " ".join(piece.text for piece in pieces[start : last + 1])
    return start, command


def _told(pieces: Sequence[Piece]) -> str:
    return clip(" ".join(f"{piece.label} {piece.text}".strip() for piece in pieces))
