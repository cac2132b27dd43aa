"""What a household expert thinks before its commands: sparse thoughts where something is decided, or one before each.

The thoughts are those of ReAct's ALFWorld prompts (Yao et al. 2023, section 4): what is needed and where it may be,
what was found, what comes next. A search tells its next places as a list, so that whoever reads the episode only has to
go on with the list, and tells the list anew where the search leaves it.
"""

from __future__ import annotations

from collections.abc import Callable

from trialogue.envs.household.goal import APPLIANCES, Goal, Wish
from trialogue.envs.household.knowledge import Knowledge, kind

LISTED = 8
"""How many places a search tells at once."""

_STATES = {"clean": "clean", "heat": "hot", "cool": "cool"}


class Thinking:
    """The thoughts of one episode. :meth:`before` is asked once for each command, in their order."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._begun = False
        self._doing = ("", "")
        self._listed: list[str] = []
        self._searching = ""
        self._lamp_seen = False

    def before(
        self, wish: Wish | None, knows: Knowledge, unseen: Callable[[str], list[str]], *, dense: bool = False
    ) -> str:
        """The thought before the command of ``wish``, "" for none; ``dense``: also where nothing is decided.

        ``unseen`` gives the places where a kind of thing may still be, likely ones first.
        """
        if wish is None:
            return "I have looked everywhere." if dense else ""
        news = self._lamp_news(knows)
        decided, plain = self._search(wish, unseen) if wish.aim == "search" else self._act(wish, knows)
        opening = "" if self._begun else self._task()
        self._begun = True
        told = " ".join(filter(None, (opening, news, decided)))
        return told or (plain if dense else "")

    def _task(self) -> str:
        goal = self._goal
        if goal.lamp:
            return f"I need a {goal.object}, and a {goal.lamp} to look at it."
        if goal.count == 2:
            return f"I need two {goal.object}, one after the other, for a {goal.target}."
        if goal.treatment:
            return (
                f"I need a {goal.object}, to {goal.treatment} with a {APPLIANCES[goal.treatment]}, for a {goal.target}."
            )
        return f"I need a {goal.object} for a {goal.target}."

    def _search(self, wish: Wish, unseen: Callable[[str], list[str]]) -> tuple[str, str]:
        """Tells the places again at the beginning of a search and where the next is not the next of those told."""
        goes_on = self._doing == ("search", wish.thing)
        begins = "" if goes_on else self._why(wish)
        self._doing = ("search", wish.thing)
        if goes_on and wish.place == self._searching:
            return "", f"{wish.place} is closed. I open it."
        self._searching = wish.place
        if goes_on and self._listed[:1] == [wish.place]:
            del self._listed[0]
            return "", f"No {wish.thing} here. Next is {wish.place}."
        places = [place for place in unseen(wish.thing) if place != wish.place][: LISTED - 1]
        self._listed = places
        missing = f"No {wish.thing} yet." if goes_on else begins
        return " ".join(filter(None, (missing, f"Where to look: {'; '.join([wish.place, *places])}."))), ""

    def _why(self, wish: Wish) -> str:
        """What leads to a new search, beside the beginning of the episode."""
        aim, thing = self._doing
        if wish.thing == self._goal.lamp:
            return f"I have {thing}. I need a {wish.thing}."
        return f"{self._placed(thing)} One more {wish.thing}." if aim == "deliver" else ""

    def _act(self, wish: Wish, knows: Knowledge) -> tuple[str, str]:
        before, self._doing = self._doing, (wish.aim, wish.thing)
        if before == self._doing:
            opens = wish.command.startswith("open ")
            return "", f"{wish.place} is closed. I open it." if opens else f"I am there: {wish.command}."
        if wish.aim == "take":
            return self._taking(wish, knows, before), ""
        if wish.aim == "put_away":
            return f"I do not need {wish.thing}. I put it down.", ""
        if wish.aim == "light":
            return f"I have {knows.held}. {wish.thing} is at {wish.place}.", ""
        state = _STATES.get(self._goal.treatment, "")
        if wish.aim == "treat":
            return f"I have {wish.thing}. To make it {state}: {wish.place}.", ""
        has = f"{wish.thing} is {state} now" if state else f"I have {wish.thing}"
        return f"{has}. It goes to {wish.place}.", ""

    def _taking(self, wish: Wish, knows: Knowledge, before: tuple[str, str]) -> str:
        """Where the object is; that another is beside it, where two are wanted; what was done before."""
        done = f"{self._placed(before[1])} " if before[0] == "deliver" else ""
        others = [
            thing
            for thing in knows.inside(wish.place)
            if kind(thing) == self._goal.object and thing != wish.thing and self._goal.count == 2 and not done
        ]
        also = f" {others[0]} is there too." if others else ""
        return f"{done}{wish.thing} is at {wish.place}.{also}"

    def _placed(self, thing: str) -> str:
        return f"{thing} is in place."

    def _lamp_news(self, knows: Knowledge) -> str:
        """The lamp, where it was seen before it is of use."""
        if not self._goal.lamp or self._lamp_seen:
            return ""
        lamps = [(thing, place) for thing, place in sorted(knows.place.items()) if kind(thing) == self._goal.lamp]
        self._lamp_seen = bool(lamps)
        if not lamps or knows.held:
            return ""
        return f"{lamps[0][0]} is at {lamps[0][1]}, for later."
