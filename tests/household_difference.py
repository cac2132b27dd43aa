"""Plays household games in two engines at once and tells where they differ: the rules' engine and the reference.

    python tests/household_difference.py --data FOLDER --games 100 --steps 200 --seed 1 --log compared.jsonl

plays games of FOLDER/json_2.1.1, generated and odd ones, in an order that the seed shuffles, and writes a line for
each. What the log holds already is not played again, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

from trialogue.envs.household import games, generate, grammar
from trialogue.envs.household.engine import Engine, Game, Moment
from trialogue.envs.household.expert import Expert
from trialogue.envs.household.reference import ReferenceEngine
from trialogue.envs.household.rules.engine import RuleEngine
from trialogue.envs.household.solution import solution
from trialogue.envs.household.tasktypes import TASK_TYPES
from trialogue.errors import DataError


@dataclass(frozen=True)
class Play:
    """A game by name, and how to get it."""

    name: str
    build: Callable[[], Game]


_PLACES = ("Cabinet", "Desk", "Fridge", "Microwave", "Sink", "SinkBasin")
_THINGS = ("Apple", "Bowl", "ButterKnife", "DeskLamp", "Knife", "Mug")
_FLAGS = (
    *("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable", "isReceptacleObject"),
    *("isClean", "isHot", "isCool", "isSliced", "isToggled", "isOn"),
)
_GOAL = "Your task is to: "
_JUNK = (
    "",
    " ",
    "think: where is it?",
    "look at",
    "go to",
    "take",
    "xyzzy",
    "go  to desk 1",
    "LOOK",
    "help me",
    "{r}",
    "é",
)


def generated(count: int) -> Iterator[Play]:
    """``count`` games of all types, sizes and both dialects."""
    kinds = list(TASK_TYPES)
    for i in range(count):
        recipe = generate.Recipe("generated_eval", kinds[i % len(kinds)], 1_000_000 + i, 5 + i * 7 % 40, i * 11 % 50)
        dialect = "move" if i % 12 < 6 else "put"
        yield Play(f"{recipe.task.id} ({dialect})", partial(generate.build, recipe.task.id, dialect))


def odd(count: int) -> Iterator[Play]:
    """``count`` games that no generator makes: any fact may hold of any thing when they begin."""
    for i in range(count):
        yield Play(f"odd/{i}", partial(_odd, i))


def _odd(seed: int) -> Game:
    random = Random(f"odd/{seed}")
    domain, rules = grammar.packaged(random.choice(list(grammar.DIALECTS)))
    places = [f"{kind}_bar_{i}" for i, kind in enumerate(random.choices(_PLACES, k=random.randint(2, 9)))]
    things = [f"{kind}_bar_{i}" for i, kind in enumerate(random.choices(_THINGS, k=random.randint(2, 9)))]
    spots = [f"loc_bar_{i}" for i in range(random.randint(2, 5))]
    facts = [("atLocation", "agent1", random.choice(spots))]
    for place in places:
        facts += [
            ("receptacleType", place, f"{_kind(place)}Type"),
            ("receptacleAtLocation", place, random.choice(spots)),
        ]
        facts += [(flag, place) for flag in ("openable", "opened", "checked", "full") if random.random() < 0.5]
        facts += [("canContain", f"{_kind(place)}Type", f"{kind}Type") for kind in _THINGS if random.random() < 0.7]
    for thing in things:
        facts += [("objectType", thing, f"{_kind(thing)}Type")]
        facts += [(flag, thing) for flag in _FLAGS if random.random() < 0.5]
        facts += [("inReceptacle", thing, place) for place in places if random.random() < 0.3]
        facts += [("objectAtLocation", thing, spot) for spot in spots if random.random() < 0.3]
        facts += [("inReceptacleObject", thing, other) for other in things if random.random() < 0.1]
    if random.random() < 0.3:
        facts += [("holds", "agent1", random.choice(things)), ("holdsAny", "agent1")]
    random.shuffle(facts)
    kind = TASK_TYPES[random.choice(["put", "puttwo", "clean"])]
    goal = kind.pddl.replace("OBJ", _kind(random.choice(things))).replace("REC", _kind(random.choice(places)))
    listed = [
        "agent1 - agent",
        *(f"{place} - receptacle" for place in places),
        *(f"{spot} - location" for spot in spots),
    ]
    listed += [*(f"{thing} - object" for thing in things), *(f"{thing}Type - otype" for thing in _THINGS)]
    listed += [f"{place}Type - rtype" for place in _PLACES]
    told = " ".join(_fact(fact) for fact in dict.fromkeys(facts))
    problem = (
        f"(define (problem p) (:domain alfred) (:objects {' '.join(listed)}) (:init {told}) "
        f"(:goal (or {goal} (exists (?a - agent) (holdsAny ?a)))))"
    )
    return Game(f"odd/{seed}", domain, rules, problem)


def _kind(id: str) -> str:
    return id.split("_bar_")[0]


def _fact(fact: Sequence[str]) -> str:
    return f"({' '.join(fact)})"


def real(data: Path, split: str) -> Iterator[Play]:
    folder = games.root(data)
    for task in games.tasks(folder, split):
        yield Play(task.id, partial(games.read, folder, task.id))


def compare(play: Play, steps: int, seed: int) -> int:
    """Plays a plan or lets the expert play, then ``steps`` random commands. Returns the number of steps compared.

    AssertionError where the engines differ. DataError where the reference refuses an odd game.
    """
    both = _Both(play.build())
    both.reset()
    if play.name.startswith("generated"):
        both.follow(solution(generate.scene(play.name.split()[0]), play.name.split("(")[1][:-1]))
    elif not play.name.startswith("odd"):
        both.search()
    both.reset()
    random = Random(f"{seed}/{play.name}")
    seen = [*both.now.admissible]
    for _ in range(steps):
        both.step(_command(random, both.now.admissible, seen))
        seen += [command for command in both.now.admissible if random.random() < 0.2]
    return both.steps


class _Both:
    def __init__(self, game: Game) -> None:
        self.engines = _engines()
        self.steps = 0
        self.told: list[str] = []
        for engine in self.engines:
            engine.load(game)

    def reset(self) -> None:
        self.told = []
        self._agree("reset", *(engine.reset() for engine in self.engines))

    def step(self, command: str) -> None:
        self.told.append(command)
        self.steps += 1
        self._agree(command, *(engine.step(command) for engine in self.engines))

    def follow(self, plan: Sequence[str]) -> None:
        for command in plan:
            assert command in self.now.admissible, (command, self.now)
            self.step(command)
        assert self.now.won, self.told

    def search(self, steps: int = 60) -> None:
        """Lets the expert play; it need not win."""
        expert = Expert(self.now.text.partition(_GOAL)[2])
        while not self.now.won and steps:
            self.step(expert.act(self.now.text, self.now.admissible))
            steps -= 1

    def _agree(self, after: str, expected: Moment, found: Moment) -> None:
        assert found == expected, (after, self.told[-20:], expected, found)
        self.now = expected


@cache
def _engines() -> tuple[Engine, Engine]:
    return ReferenceEngine(), RuleEngine()


def _command(random: Random, admissible: Sequence[str], seen: Sequence[str]) -> str:
    """Mostly something possible, all verbs alike; else what was possible once, what nearly is, or no command at all."""
    by_verb: dict[str, list[str]] = {}
    for command in admissible:
        by_verb.setdefault(command.split()[0], []).append(command)
    possible = random.choice(by_verb[random.choice(sorted(by_verb))])
    dice = random.random()
    if dice < 0.75:
        return possible
    if dice < 0.85:
        return random.choice(seen)
    if dice < 0.95:
        return _nearly(random, possible)
    return random.choice(_JUNK)


def _nearly(random: Random, command: str) -> str:
    words = command.split(" ")
    match random.randrange(5):
        case 0:
            words[random.randrange(len(words))] = random.choice(
                ["1", "2", "17", "mug", "cabinet", "to", "in/on", "take"]
            )
        case 1:
            del words[random.randrange(len(words))]
        case 2:
            words = command.upper().split(" ")
        case 3:
            return f"  {command}\n"
        case 4:
            random.shuffle(words)
    return " ".join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds json_2.1.1; generated games only without it")
    parser.add_argument("--generated", type=int, default=300)
    parser.add_argument("--odd", type=int, default=100)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("compared.jsonl"))
    chosen = parser.parse_args(arguments)
    plays = [*generated(chosen.generated), *odd(chosen.odd)]
    if chosen.data:
        plays += [play for split in games.splits(games.root(chosen.data)) for play in real(chosen.data, split)]
    Random(chosen.seed).shuffle(plays)
    done = _done(chosen.log)
    failures = 0
    for play in plays[: chosen.games]:
        if (play.name, chosen.steps, chosen.seed) in done:
            continue
        line: dict[str, object] = {"game": play.name, "steps": chosen.steps, "seed": chosen.seed}
        try:
            line["compared"] = compare(play, chosen.steps, chosen.seed)
        except DataError as error:
            if not play.name.startswith("odd"):
                raise
            line["refused"] = str(error)
        except AssertionError as error:
            failures += 1
            line["differs"] = repr(error)
        with chosen.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
    lines = [json.loads(line) for line in chosen.log.read_text(encoding="utf-8").splitlines()]
    refused = sum("refused" in line for line in lines)
    told = f"{len(lines) - refused} games, {sum(line.get('compared', 0) for line in lines)} steps"
    print(f"{told}, {failures} new differences; the reference refused {refused} odd games")
    return 1 if failures else 0


def _done(log: Path) -> set[tuple[str, int, int]]:
    if not log.exists():
        return set()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {(line["game"], line["steps"], line["seed"]) for line in lines if "differs" not in line}


if __name__ == "__main__":
    sys.exit(main())
