"""A household expert that searches as a player must: it reads the goal, the observations and the admissible commands.

It visits receptacles in the order in which such objects usually lie there, opens what is closed, takes, treats, puts;
and it can say what it thinks (:mod:`trialogue.envs.household.thinking`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialogue.envs.household.engine import NOTHING
from trialogue.envs.household.goal import APPLIANCES, Aim, Goal, Wish
from trialogue.envs.household.knowledge import Knowledge, kind
from trialogue.envs.household.lesson import Lesson
from trialogue.envs.household.rooms import likelihoods
from trialogue.envs.household.thinking import Thinking
from trialogue.errors import UsageError


class Expert:
    """Plays one episode towards ``goal``, the text of ``info["goal"]``. ``treated`` are objects it made clean, hot or
    cool; ``wish`` is what its last command was for, None where nothing was left to try."""

    def __init__(self, goal: str) -> None:
        self.goal = Goal.read(goal)
        self.knows = Knowledge()
        self.treated: set[str] = set()
        self.wish: Wish | None = None
        self._last = ""
        self._admissible: frozenset[str] = frozenset()
        self._found: dict[str, str] = {}
        self._thinking = Thinking(self.goal)

    def act(self, observation: str, admissible: Sequence[str] | None) -> str:
        """The next command; "look" when nothing is left to try. UsageError without admissible commands."""
        if admissible is None:
            raise UsageError("the expert plays by the admissible commands; got None.")
        self.knows.observe(self._last, observation)
        if observation != NOTHING and self._last.startswith(f"{self.goal.treatment} "):
            self.treated.add(self.knows.held or "")
        for thing, place in sorted(self.knows.place.items()):
            if place is not None and kind(thing) in (self.goal.object, self.goal.lamp):
                self._found.setdefault(thing, place)
        self._admissible = frozenset(admissible)
        self.wish = next(self._wishes(), None)
        self._last = self.wish.command if self.wish else "look"
        return self._last

    def thought(self, *, dense: bool) -> str:
        """See :class:`trialogue.envs.contract.Policy`."""
        return self._thinking.before(self.wish, self.knows, self.unseen, dense=dense)

    def reflection(self) -> str:
        """What was looked into in vain, and where wanted things lay at first. See :class:`~.contract.Policy`."""
        vain = [place for place in self.knows.receptacles if place in self.knows.inspected - set(self._found.values())]
        return Lesson(tuple(vain), tuple(self._found.items())).told()

    def recall(self, reflection: str) -> None:
        """See :class:`trialogue.envs.contract.Policy`."""
        lesson = Lesson.read(reflection)
        self.knows.inspected |= {*lesson.vain, *(place for _, place in lesson.found)}
        self.knows.place.update(lesson.found)

    def did(self, action: str) -> None:
        """See :class:`trialogue.envs.contract.Policy`."""
        self._last = action

    def unseen(self, wanted: str) -> list[str]:
        """The receptacles that were not looked into, likely places for a ``wanted`` thing first."""
        unseen = [place for place in self.knows.receptacles if place not in self.knows.inspected]
        return sorted(unseen, key=lambda place: -self._likelihood(wanted, place))

    def seen(self, wanted: str) -> list[tuple[str, str]]:
        """The things of a kind that were seen and not taken, each with its receptacle."""
        places = sorted(self.knows.place.items())
        return [(thing, place) for thing, place in places if place is not None and kind(thing) == wanted]

    def _wishes(self) -> Iterator[Wish]:
        """Admissible commands that help, best first."""
        held = self.knows.held
        if held is None:
            yield from self._collect()
        elif kind(held) != self.goal.object:
            yield from self._put_away(held)
        elif self.goal.lamp:
            yield from self._light()
        elif self.goal.treatment and held not in self.treated:
            yield from self._treat(held)
        else:
            yield from self._deliver(held)

    def _collect(self) -> Iterator[Wish]:
        """Takes a wanted object that was seen elsewhere than at the target, or searches for one."""
        seen = [(thing, place) for thing, place in self.seen(self.goal.object) if place != self._chosen_target()]
        elsewhere = [pair for pair in seen if kind(pair[1]) != self.goal.target or self.goal.treatment]
        for thing, place in elsewhere:
            yield from self._take(thing, place)
        yield from self._search(self.goal.object)
        for thing, place in seen:
            yield from self._take(thing, place)

    def _take(self, thing: str, place: str) -> Iterator[Wish]:
        yield from self._wish("take", thing, place, f"take {thing} from {place}", *_reaching(place))

    def _put_away(self, held: str) -> Iterator[Wish]:
        """Puts down what was taken by mistake, here or at the first receptacle where it can be done."""
        for place in self.knows.receptacles:
            yield from self._wish("put_away", held, place, f"move {held} to {place}", f"put {held} in/on {place}")
        for place in self.knows.receptacles:
            yield from self._wish("put_away", held, place, *_reaching(place))

    def _light(self) -> Iterator[Wish]:
        for lamp, place in self.seen(self.goal.lamp):
            yield from self._wish("light", lamp, place, f"use {lamp}", *_reaching(place))
        yield from self._search(self.goal.lamp)

    def _treat(self, held: str) -> Iterator[Wish]:
        treatment = self.goal.treatment
        for appliance in self._of_kind(APPLIANCES[treatment]):
            treat = f"{treatment} {held} with {appliance}"
            yield from self._wish("treat", held, appliance, treat, f"go to {appliance}")

    def _deliver(self, held: str) -> Iterator[Wish]:
        chosen = self._chosen_target()
        for target in sorted(self._of_kind(self.goal.target), key=lambda place: place != chosen):
            put = (f"move {held} to {target}", f"put {held} in/on {target}")
            yield from self._wish("deliver", held, target, *put, *_reaching(target))

    def _chosen_target(self) -> str | None:
        """The target that already holds a wanted object: two objects have to end in the same receptacle."""
        holding = [place for _, place in self.seen(self.goal.object) if kind(place) == self.goal.target]
        return holding[0] if holding and not self.goal.treatment else None

    def _search(self, wanted: str) -> Iterator[Wish]:
        """Visits what has not been looked into, likely places first."""
        for place in self.unseen(wanted):
            yield from self._wish("search", wanted, place, *_reaching(place))

    def _wish(self, aim: Aim, thing: str, place: str, *commands: str) -> Iterator[Wish]:
        """The admissible ones of ``commands``."""
        for command in commands:
            if command in self._admissible:
                yield Wish(command, aim, thing, place)

    def _of_kind(self, wanted: str) -> list[str]:
        return [place for place in reversed(self.knows.receptacles) if kind(place) == wanted]

    def _likelihood(self, wanted: str, place: str) -> float:
        """How often such an object starts in this kind of receptacle, for each of them in this room."""
        often = likelihoods().get(wanted, {}).get(kind(place), 0)
        return often / len(self._of_kind(kind(place)))


def _reaching(place: str) -> tuple[str, ...]:
    """What gets one to ``place`` and shows what is in it; ``examine`` serves where one stands there already."""
    return f"open {place}", f"go to {place}", f"examine {place}"
