"""Act and ReAct (Yao et al. 2023) in one agent, whose placement of thoughts is a setting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trialogue.agents.contract import Briefing, Liberty, Turn, View
from trialogue.agents.decision_points import REPETITION, DecisionPoints
from trialogue.agents.experience import Experience, shortened
from trialogue.agents.models.contract import Constraint, Message, Model, Reply, Request
from trialogue.agents.notation import Notation, Wanted, notation_named
from trialogue.agents.prompt import first_observation, new_transcript, render_memory
from trialogue.agents.react_settings import ReactSettings
from trialogue.agents.reading import Language, Reading, read_calls, read_reply
from trialogue.agents.reading.reasoning import strip_reasoning
from trialogue.agents.review import Reviewer
from trialogue.agents.transcript import Transcript, one_line
from trialogue.agents.wording import Replies, Wording, wording_digest, wording_for
from trialogue.errors import ContextOverflow, UsageError
from trialogue.exemplars.contract import Exemplar

ExemplarsFor = Callable[[str, str, str], Sequence[Exemplar]]
"""The exemplars for an environment, a task type and a dialect, best first."""


@dataclass
class Draft:
    """A turn in the making."""

    event: str = ""
    memory: str = ""
    raw: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    liberties: list[Liberty] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        self.thoughts += reading.thoughts
        self.liberties += reading.liberties

    def turn(self, reading: Reading) -> Turn:
        return Turn(
            kind=reading.kind,
            thoughts=tuple(self.thoughts),
            action=reading.action,
            raw=tuple(self.raw),
            liberties=tuple(self.liberties),
            problem=reading.problem,
            event=self.event,
            memory=self.memory,
            notes=tuple(self.notes),
        )


class ReactAgent:
    """Prompts ``model`` with exemplars and the episode so far, and reads its replies.

    Raises UsageError for settings that the model cannot meet. ``exemplar_ids`` names, after ``begin``, the exemplars
    that the episode is really played with. ``person`` reviews turns where the settings ask for it.
    """

    def __init__(
        self,
        model: Model,
        settings: ReactSettings,
        exemplars_for: ExemplarsFor | None = None,
        person: Model | None = None,
    ) -> None:
        settings.check(model)
        self._model = model
        self._settings = settings
        self._exemplars_for = exemplars_for
        self._reviewer = Reviewer.of(settings.review, person)
        self._as_chat = settings.as_chat(model)
        self.exemplar_ids: tuple[str, ...] = ()

    def begin(self, briefing: Briefing) -> None:
        settings = self._settings
        exemplars = self._exemplars(briefing)
        self.exemplar_ids = tuple(exemplar.id for exemplar in exemplars)
        self._briefing = briefing
        self._wording: Wording = wording_for(briefing.env)
        self._notation: Notation = notation_named(settings.notation_for(self._wording), briefing.templates)
        self._memory = self._remembered(briefing)
        self._transcript: Transcript = new_transcript(
            briefing, exemplars, self._wording, settings.thoughts, self._notation, self._memory, settings.prompt
        )
        self._points = DecisionPoints(briefing.goal, settings.patience)
        self._experience = Experience()
        self._calls = 0
        self._thoughts_in_a_row = 0
        self._missed = False

    async def turn(self, view: View) -> Turn:
        self._hear(view)
        draft = Draft(event=self._event(view))
        if self._settings.thoughts == "dense" or draft.event:
            reading = await self._think(view, draft, self._thought_words(draft.event))
            if reading.action is not None:
                return self._done(draft, reading)
        return self._done(draft, await self._act(view, draft))

    def conditions(self) -> Mapping[str, object]:
        rendered = "chat" if self._as_chat else "completion"
        return {**self._settings.model_dump(mode="json"), "format": rendered, "wording": wording_digest()}

    # -- what subclasses may do in their own way ------------------------------------------------------

    def _remembered(self, briefing: Briefing) -> str:
        """What of ``briefing.memory`` stands in the prompt."""
        return render_memory(briefing.memory, self._wording)

    def _event(self, view: View) -> str:
        """What calls for a thought in this turn, "" if nothing does."""
        if self._settings.on_repetition == "thought" and self._experience.is_repeating():
            return REPETITION
        if self._settings.thoughts != "decision_points":
            return ""
        return self._points.event(view.observation, view.problem)

    def _thought_words(self, event: str) -> str:
        """How a chat is asked for the thought that ``event`` calls for; "" where the instruction says enough."""
        if event == REPETITION:
            return f"{self._wording.repetition} {self._replies.thought_due}"
        asked_already = self._settings.thoughts == "dense" and self._notation.joint
        return "" if asked_already else self._replies.thought_due

    # -- the turn ---------------------------------------------------------------------------------------

    def _done(self, draft: Draft, reading: Reading) -> Turn:
        self._thoughts_in_a_row = self._thoughts_in_a_row + 1 if reading.kind == "thought" else 0
        self._missed = reading.kind in ("unreadable", "truncated")
        if reading.action is not None:
            self._experience.did(reading.action)
        return draft.turn(reading)

    def _exemplars(self, briefing: Briefing) -> Sequence[Exemplar]:
        if self._exemplars_for is None or not self._settings.exemplars:
            return ()
        return self._exemplars_for(briefing.env, briefing.type, briefing.dialect)[: self._settings.exemplars]

    def _hear(self, view: View) -> None:
        """Puts what is new into the transcript. After a thought nothing is: its answer stands there already."""
        if view.observation is None:
            if view.problem:
                self._transcript.heard(view.problem)
            return
        settings, wording = self._settings, self._wording
        text = shortened(view.observation, settings.observation_chars, wording.shortened)
        if self._experience.heard_nothing:
            text = first_observation(text, self._briefing.goal, wording)
        lines = [text, *self._notes_on(view)]
        if view.problem and settings.show_reasons:
            lines.append(view.problem)
        if view.admissible is not None and settings.show_admissible:
            lines.append(wording.admissible.format(commands=" | ".join(view.admissible)))
        self._transcript.heard("\n".join(lines))

    def _notes_on(self, view: View) -> list[str]:
        """What the agent itself adds to an observation, from what it has seen before."""
        known = self._experience.heard(view.observation or "")
        notes = []
        if self._settings.recall and known is not None:
            notes.append(self._wording.recall.format(number=known.number, text=known.answer))
        if self._settings.on_repetition == "hint" and self._experience.is_repeating():
            notes.append(self._wording.repetition)
        return notes

    async def _think(self, view: View, draft: Draft, words: str) -> Reading:
        """Asks for a thought. An action that comes with it is taken, where actions are not constrained."""
        if words:
            self._transcript.ask(words)
        joint = self._notation.joint and not self._settings.constrained
        reading = await self._ask(view, draft, "both" if joint else "thought")
        if reading.action is not None and self._settings.constrained and not reading.by_person:
            dropped = Liberty("unconstrained_action", reading.action, "")
            reading = replace(reading, kind="thought", action=None, liberties=(*reading.liberties, dropped))
        if not reading.thoughts:
            missing = Liberty("thought_missing", reading.echo, "")
            reading = replace(reading, liberties=(*reading.liberties, missing))
        draft.add(reading)
        self._transcript.said(reading.thoughts or ("",), reading.action)
        return reading

    async def _act(self, view: View, draft: Draft) -> Reading:
        """Asks for an action (or, where the model may choose, a thought); asks again as often as is allowed."""
        reading = await self._try(view, draft)
        for _ in range(self._settings.reask):
            if reading.kind in ("action", "thought"):
                break
            self._transcript.heard(reading.problem)
            reading = await self._try(view, draft)
        return reading

    async def _try(self, view: View, draft: Draft) -> Reading:
        wanted: Wanted = "either" if self._thought_allowed else "action"
        reading = self._judged(await self._ask(view, draft, wanted))
        draft.add(reading)
        if reading.kind in ("action", "thought"):
            shown = wanted == "either" or _is_a_persons_thought(reading)
            self._transcript.said(reading.thoughts if shown else (), reading.action)
        else:
            self._transcript.echoed(reading.echo, wanted)
        return reading

    def _judged(self, reading: Reading) -> Reading:
        """``reading``, with thoughts that nobody asked for noted, and refused if they are all there is."""
        if not reading.thoughts or self._thought_allowed or _is_a_persons_thought(reading):
            return reading
        unasked = tuple(Liberty("thought_unasked", thought, "") for thought in reading.thoughts)
        reading = replace(reading, liberties=(*reading.liberties, *unasked))
        if reading.kind != "thought":
            return reading
        example = self._language(None).example()
        return replace(reading, kind="unreadable", problem=self._wording.thought_refused.format(example=example))

    @property
    def _thought_allowed(self) -> bool:
        """Whether a reply may be a thought and nothing else.

        Where a thought and its command are one turn of the notation, the command is due once the thought stands.
        """
        most = 1 if self._notation.joint else self._settings.max_thoughts_in_a_row
        missed = self._notation.joint and self._missed
        return self._settings.thoughts == "sparse" and self._thoughts_in_a_row < most and not missed

    @property
    def _replies(self) -> Replies:
        return self._wording.replies[self._notation.name]

    # -- calls of the model -----------------------------------------------------------------------------

    async def _ask(self, view: View, draft: Draft, wanted: Wanted) -> Reading:
        """One reply, read and, where the settings say so, reviewed by a person."""
        reply = await self._generate(lambda: self._request(view, wanted), draft)
        draft.raw.append(reply.text)
        draft.memory = self._memory_digest()
        reading = self._read(reply, view, wanted)
        if self._reviewer is None:
            return reading
        unsure = self._experience.would_repeat(reading.action)
        return await self._reviewer.reviewed(
            reading, view, draft.notes, goal=self._briefing.goal, repeats=unsure, seed=self._next_seed
        )

    def _read(self, reply: Reply, view: View, wanted: Wanted) -> Reading:
        language, repairs = self._language(view.admissible), self._settings.repairs
        if self._notation.name == "tools":
            return read_calls(
                reply.text, reply.calls, finish_reason=reply.finish_reason, language=language, repairs=repairs
            )
        return read_reply(
            reply.text,
            finish_reason=reply.finish_reason,
            language=language,
            repairs=repairs,
            thought_due=wanted in ("thought", "both"),
        )

    async def _generate(self, request: Callable[[], Request], draft: Draft) -> Reply:
        """Asks the model. Where the prompt does not fit its window, shortens it as the settings say, and asks again.

        Raises ContextOverflow where nothing is left to leave out.
        """
        while True:
            try:
                return await self._model.generate(request())
            except ContextOverflow:
                done = await self._shorten()
                if not done:
                    raise
                draft.notes.append(done)

    async def _shorten(self) -> str:
        """Leaves something out of the prompt. Returns what, "" where nothing may or can be."""
        transcript, policy = self._transcript, self._settings.context
        if policy == "end":
            return ""
        if policy == "exemplars" and (done := transcript.drop_exemplar()):
            return done
        instead = self._wording.left_out.format(count=transcript.oldest_commands())
        if policy == "summary" and transcript.oldest():
            instead = await self._summary() or instead
        return transcript.drop_oldest(instead) or transcript.drop_exemplar()

    async def _summary(self) -> str:
        """What the older half of the steps showed, in the model's own words; "" where it found none.

        Where even that half does not fit the model's window, nobody is asked.
        """
        transcript, settings = self._transcript, self._settings
        told = f"{self._wording.goal.format(goal=self._briefing.goal)}\n\n{transcript.oldest()}"
        request = plain_request(
            self._model,
            told,
            self._wording.summarise,
            settings.thought_tokens * 2,
            seed=self._next_seed(),
            temperature=settings.temperature_of("both", self._briefing.trial),
        )
        try:
            reply = await self._model.generate(request)
        except ContextOverflow:
            return ""
        text = plain_text(self._model, reply)
        return self._wording.summary.format(count=transcript.oldest_commands(), text=text) if text else ""

    def _request(self, view: View, wanted: Wanted) -> Request:
        settings, notation = self._settings, self._notation
        tokens = {"thought": settings.thought_tokens, "action": settings.action_tokens}
        both = settings.thought_tokens + settings.action_tokens
        constrained = settings.constrained and wanted not in ("thought", "both")
        return Request(
            prompt=self._prompt(wanted),
            stop=("\n",) if constrained and not self._as_chat else notation.stop(wanted, chat=self._as_chat),
            max_tokens=tokens.get(wanted, both) + notation.overhead,
            temperature=settings.temperature_of(wanted, self._briefing.trial),
            seed=self._next_seed(),
            constraint=self._constraint(view, wanted) if constrained else None,
            tools=notation.tools(self._briefing.templates),
        )

    def _next_seed(self) -> int:
        self._calls += 1
        return call_seed(self._briefing.seed, self._calls - 1, self._briefing.trial)

    def _prompt(self, wanted: Wanted) -> str | tuple[Message, ...]:
        if self._as_chat:
            return self._transcript.as_messages()
        text = self._transcript.as_text(wanted)
        return text if self._model.style == "completion" else (Message("user", text),)

    def _constraint(self, view: View, wanted: Wanted) -> Constraint:
        if not view.admissible:
            raise UsageError(
                f"constrained decoding needs admissible commands, and {self._briefing.env!r} does not list any; "
                "set constrained: false"
            )
        made = self._notation.constraint(
            view.admissible, wanted == "either", self._transcript.number, chat=self._as_chat
        )
        if made is None:
            raise UsageError(
                f"constrained decoding writes commands as they stand, and the notation {self._notation.name!r} does "
                "not; set notation: arrow or labelled"
            )
        return made

    def _memory_digest(self) -> str:
        """The digest of the memory, if it really stands in the prompt as it is now."""
        shown = bool(self._memory) and self._memory in self._transcript.opening.text()
        return digest(self._memory) if shown else ""

    def _language(self, admissible: tuple[str, ...] | None) -> Language:
        return Language(self._briefing.templates, admissible, self._briefing.dialect)


def _is_a_persons_thought(reading: Reading) -> bool:
    return reading.by_person and reading.kind == "thought"


def plain_request(
    model: Model, told: str, asked: str, tokens: int, *, seed: int, temperature: float = 0.0, cue: str = ""
) -> Request:
    """A request beside the episode: ``told``, then what is ``asked``; a text prompt ends in ``cue``."""
    chat = model.style == "chat"
    prompt = (Message("user", plain_prompt(told, asked)),) if chat else plain_prompt(told, asked, cue)
    return Request(prompt, max_tokens=tokens, temperature=temperature, seed=seed)


def plain_prompt(told: str, asked: str, cue: str = "") -> str:
    """The text of a :func:`plain_request`."""
    return f"{told}\n\n{asked}\n{cue}".rstrip()


def plain_text(model: Model, reply: Reply) -> str:
    """What was said to a :func:`plain_request`, on one line. Of a model that completes text, the first paragraph.

    It often opens with an empty line, so that a stop there would leave nothing.
    """
    text = strip_reasoning(reply.text).text.strip()
    return one_line(text.partition("\n\n")[0] if model.style == "completion" else text)


def digest(text: str) -> str:
    """Twelve hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def call_seed(seed: int, call: int, trial: int = 0) -> int:
    """The seed of the ``call``-th model call (from 0) of an episode, in [0, 2**31); each trial has its own."""
    told = f"{seed}:{call}" if trial == 0 else f"{seed}:{call}:{trial}"
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:4]) >> 1
