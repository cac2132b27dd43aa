"""Why a command was refused, in one sentence, from what the player has seen: nothing hidden is given away.

The engine says "Nothing happens." to everything that it does not accept. The reasons follow its domain (alfred.pddl):
what an action needs is looked up in what the player knows, and the first thing that is missing is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from trialogue.envs.household.grammar import DIALECTS, templates
from trialogue.envs.household.knowledge import Knowledge, kind
from trialogue.errors import nearest

LONGEST = 200  # characters; no command of the language is nearly as long
_APPLIANCES = {"heat": "microwave", "cool": "fridge", "clean": "sinkbasin"}


def reason(command: str, knowledge: Knowledge, admissible: Collection[str], dialect: str) -> str:
    """One sentence on why ``command`` is not possible now; "" if it is one of ``admissible``."""
    if command in admissible:
        return ""
    if not command.strip():
        return f"the command is empty; commands are: {', '.join(templates(dialect))}"
    if len(command) > LONGEST:
        return f"not a command: {len(command)} characters; commands are: {', '.join(templates(dialect))}"
    form, arguments = _parse(command, dialect)
    if form is None:
        return _not_a_command(command, dialect)
    verb = form.split(" ", 1)[0]
    named = dict(zip(re.findall(r"\{(\w+)\}", form), arguments, strict=False))
    judge = _Judge(knowledge, admissible, verb, arguments)
    return judge.unknown(named) or judge.unmet(named) or "that is not possible now"


def _parse(command: str, dialect: str) -> tuple[str | None, tuple[str, ...]]:
    for form in templates(dialect):
        if match := re.fullmatch(re.sub(r"\{\w+\}", "(.+)", form), command):
            return form, match.groups()
    return None, ()


def _not_a_command(command: str, dialect: str) -> str:
    known = templates(dialect)
    words = command.split()
    for other in DIALECTS.values():
        if other not in known and re.fullmatch(re.sub(r"\{\w+\}", ".+", other), command):
            return f"this game writes it as: {DIALECTS[dialect]}"
    forms = [form for form in known if form.split()[0] == words[0]]
    if forms:
        return f"the form is: {forms[0]}"
    near = nearest(words[0].lower(), {form.split()[0] for form in known})
    hint = f" (did you mean {near!r}?)" if near else ""
    return f"{words[0][:40]!r} is not a verb of this game{hint}; commands are: {', '.join(known)}"


class _Judge:
    """Holds one command against what is known."""

    def __init__(self, known: Knowledge, admissible: Collection[str], verb: str, arguments: tuple[str, ...]) -> None:
        self.known, self.admissible, self.verb, self.arguments = known, admissible, verb, arguments

    def unknown(self, named: dict[str, str]) -> str:
        """Whether something is named that the player has never met."""
        receptacle, thing = named.get("receptacle"), named.get("object") or named.get("something")
        if receptacle is not None and receptacle not in self.known.receptacles:
            return self._no_receptacle(receptacle)
        if thing is not None and thing not in self.known.place and thing not in self.known.receptacles:
            return f"no {thing} has been seen so far"
        return ""

    def unmet(self, named: dict[str, str]) -> str:
        """The first condition of the action that does not hold."""
        receptacle, thing = named.get("receptacle", ""), named.get("object", "")
        match self.verb:
            case "go":
                return f"you are already where {receptacle} is"
            case "open" | "close":
                return self._away(receptacle) or self._cannot_turn(receptacle)
            case "take":
                return self._away(receptacle) or self._cannot_take(thing, receptacle)
            case "move" | "put":
                return self._not_held(thing) or self._away(receptacle) or self._cannot_put(thing, receptacle)
            case "heat" | "cool" | "clean":
                return self._not_held(thing) or self._cannot_treat(thing, receptacle)
            case "use":
                return self._out_of_reach(thing) or f"{thing} cannot be switched on or off"
            case "examine":
                return self._cannot_examine(named["something"])
            case "slice":
                return self._cannot_slice()
        return ""

    def _no_receptacle(self, name: str) -> str:
        if name in self.known.place:
            return f"{name} is not a receptacle"
        same = [other for other in self.known.receptacles if kind(other) == kind(name)]
        there = f"there is only {', '.join(same)}" if same else f"receptacles are: {', '.join(self.known.receptacles)}"
        return f"there is no {name} here; {there}"

    def _at(self, receptacle: str) -> bool:
        return f"examine {receptacle}" in self.admissible

    def _away(self, receptacle: str) -> str:
        return "" if self._at(receptacle) else f"you are not at {receptacle}; go there first"

    def _shut(self, receptacle: str) -> bool:
        return f"open {receptacle}" in self.admissible

    def _cannot_turn(self, receptacle: str) -> str:
        opposite = "close" if self.verb == "open" else "open"
        if f"{opposite} {receptacle}" in self.admissible:
            return f"{receptacle} is already {'open' if self.verb == 'open' else 'closed'}"
        return f"{receptacle} cannot be opened or closed"

    def _cannot_take(self, thing: str, receptacle: str) -> str:
        if self.known.held == thing:
            return f"you already hold {thing}"
        if self.known.held:
            return f"your hands are full: you hold {self.known.held}; put it down first"
        if self._shut(receptacle):
            return f"{receptacle} is closed; open it first"
        if thing in self.known.receptacles:
            return f"{thing} is a receptacle and cannot be taken"
        if self.known.place.get(thing) == receptacle:
            return f"{thing} cannot be picked up"
        return f"{thing} is not seen in or on {receptacle}"

    def _not_held(self, thing: str) -> str:
        if self.known.held == thing:
            return ""
        return f"you do not hold {thing}; your hands hold {self.known.held or 'nothing'}"

    def _cannot_put(self, thing: str, receptacle: str) -> str:
        if self._shut(receptacle):
            return f"{receptacle} is closed; open it first"
        return f"{thing} does not go in or on {receptacle}"

    def _cannot_treat(self, thing: str, receptacle: str) -> str:
        appliance = _APPLIANCES[self.verb]
        if kind(receptacle) != appliance:
            return f"{receptacle} cannot {self.verb} things; that takes a {appliance}"
        return self._away(receptacle) or f"{thing} cannot be treated so: {self.verb}"

    def _out_of_reach(self, thing: str) -> str:
        place = self.known.place.get(thing)
        if place is None:
            return f"{thing} is in your hands" if thing in self.known.place else ""
        return "" if self._at(place) else f"you are not at {thing}; it was seen in or on {place}"

    def _cannot_examine(self, thing: str) -> str:
        if thing in self.known.receptacles:
            return self._away(thing)
        place = self.known.place.get(thing)
        if place is not None and self._at(place) and self._shut(place):
            return f"{place} is closed; open it first"
        return self._out_of_reach(thing)

    def _cannot_slice(self) -> str:
        tool = self.arguments[1]
        if kind(tool) not in ("knife", "butterknife"):
            return f"{tool} does not slice; that takes a knife or a butterknife"
        return self._not_held(tool) or self._out_of_reach(self.arguments[0]) or f"{self.arguments[0]} cannot be sliced"
