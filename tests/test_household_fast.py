"""The household's own rules: word for word what the reference says, and at what price."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from random import Random

import household_difference as difference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.envs import make
from trialogue.envs.household import generate
from trialogue.envs.household.engine import NOTHING, Engine, Game, borrow
from trialogue.envs.household.rules.conditions import Unreadable
from trialogue.envs.household.rules.engine import RuleEngine
from trialogue.envs.household.rules.facts import Facts
from trialogue.envs.household.rules.names import names_of
from trialogue.envs.household.rules.pddl import read_domain, read_problem
from trialogue.envs.household.rules.templates import read_query, read_template
from trialogue.envs.household.rules.twl2 import read_grammar
from trialogue.envs.household.solution import solution
from trialogue.errors import DataError, EnvError, MissingExtra, UnknownName
from trialogue.experiments.bench.household import measure

TASK = "generated_eval/clean/s1000001-r12-d14"


@pytest.fixture(scope="module")
def reference() -> Engine:
    try:
        return borrow("reference")
    except MissingExtra as error:
        pytest.skip(str(error))


def sampled(plays: list[difference.Play], count: int) -> list[difference.Play]:
    return Random(7).sample(plays, count)


@pytest.mark.parametrize("play", sampled(list(difference.generated(300)), 6), ids=lambda play: play.name)
def test_generated_games_read_as_in_the_reference(play: difference.Play, reference: Engine) -> None:
    assert difference.compare(play, steps=15, seed=0) > 15


@pytest.mark.parametrize("play", list(difference.odd(6)), ids=lambda play: play.name)
def test_odd_games_read_as_in_the_reference(play: difference.Play, reference: Engine) -> None:
    assert difference.compare(play, steps=30, seed=0) == 30


def test_real_games_read_as_in_the_reference(alfworld_data: Path, reference: Engine) -> None:
    for play in sampled(list(difference.real(alfworld_data, "valid_seen")), 6):
        assert difference.compare(play, steps=15, seed=0) > 15


@pytest.mark.slow
def test_many_games_read_as_in_the_reference(alfworld_data: Path, tmp_path: Path, reference: Engine) -> None:
    log = tmp_path / "compared.jsonl"
    asked = ["--data", str(alfworld_data), "--games", "60", "--steps", "100", "--log", str(log)]
    assert difference.main(asked) == 0
    assert len(log.read_text().splitlines()) == 60


def test_a_comparison_goes_on_where_it_was_stopped(tmp_path: Path, reference: Engine) -> None:
    log = tmp_path / "compared.jsonl"
    asked = ["--generated", "0", "--odd", "2", "--steps", "3", "--log", str(log)]
    assert difference.main([*asked, "--games", "1"]) == difference.main(asked) == difference.main(asked) == 0
    assert [json.loads(line)["compared"] for line in log.read_text().splitlines()] == [3, 3]


def test_a_comparison_notices_a_difference(monkeypatch: pytest.MonkeyPatch, reference: Engine) -> None:
    told = RuleEngine.step
    monkeypatch.setattr(RuleEngine, "step", lambda self, command: told(self, command.upper()))
    with pytest.raises(AssertionError):
        difference.compare(next(difference.generated(1)), steps=0, seed=0)


def test_environments_of_both_engines_tell_the_same(reference: Engine) -> None:
    envs = [make("household", engine=engine) for engine in ("rules", "reference")]
    first, second = (env.reset(seed=1, options={"task": TASK}) for env in envs)
    assert first == second
    for command in ("look", "fly", *solution(generate.scene(TASK), "move")):
        first, second = (env.step(command) for env in envs)
        assert first == second
    assert first[2] is True
    for env in envs:
        env.close()


def test_engines_are_named() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rules'"):
        make("household", engine="rule")


def without(packages: str, code: str) -> subprocess.CompletedProcess[str]:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({packages.split()!r}))\n"
    return subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True)


def test_textworld_is_not_needed() -> None:
    code = f"""
from trialogue.envs import make
from trialogue.envs.household import generate
from trialogue.envs.household.solution import solution
env = make("household")
env.reset(options={{"task": {TASK!r}}})
for command in solution(generate.scene({TASK!r}), "move"):
    won = env.step(command)[4]["won"]
assert won
assert env.versions()["engine"] == "rules"
"""
    done = without("textworld fast_downward jericho tatsu", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("missing", "made", "told"),
    [
        ("textworld", "make('household', engine='reference').reset(seed=1)", "trialogue[reference]"),
        ("alfworld", "make('household').reset(seed=1)", "pip install --no-deps alfworld"),
        ("textworld", "make('textworld')", "trialogue[textworld]"),
    ],
)
def test_what_is_missing_is_named(missing: str, made: str, told: str) -> None:
    done = without(missing, f"from trialogue.envs import make\n{made}")
    assert "MissingExtra" in done.stderr
    assert told in done.stderr


def test_a_step_costs_what_its_rules_cost() -> None:
    """A tenth of a millisecond of CPU on the slowest machine at hand; the reference takes 15 to 60."""
    engine = RuleEngine()
    began = time.process_time()
    engine.load(generate.build(TASK, "move"))
    moment, random = engine.reset(), Random(0)
    for _ in range(500):
        moment = engine.step(random.choice(moment.admissible))
    assert (time.process_time() - began) / 500 < 0.001


@pytest.mark.slow
def test_the_bench_measures_both_engines(reference: Engine) -> None:
    figures = list(measure(steps=20, episodes=4))
    assert [figure.name.rpartition(": ")[2] for figure in figures[:3]] == ["load a game", "reset it", "step"]
    assert all(figure.ratio is not None and figure.ratio > 5 for figure in figures[:3])
    assert figures[3].unit == "bytes"


def test_memory_stays_flat_over_episodes() -> None:
    env = make("household", receptacles=8, distractors=8)
    tracemalloc.start()
    sizes = []
    for _ in range(3):
        play_episodes(env, 20)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[2] - sizes[1] < 200_000  # of 20 episodes; the reference leaves 1.5 MiB for every environment object


def play_episodes(env: object, count: int) -> None:
    for seed in range(count):
        _, info = env.reset(seed=seed % 10)  # type: ignore[attr-defined]
        for command in info["admissible"][:5]:
            env.step(command)  # type: ignore[attr-defined]


def test_an_engine_wants_a_game_and_a_reset() -> None:
    engine = RuleEngine()
    with pytest.raises(EnvError, match="load one before reset"):
        engine.reset()
    engine.load(generate.build(TASK, "move"))
    with pytest.raises(EnvError, match="reset before 'look'"):
        engine.step("look")


# A world unlike ALFWorld's: quantifiers, conditional effects and subtypes that no household game has.
DOMAIN = """
(define (domain switches) (:requirements :adl)
 (:types lamp switch - thing thing)
 (:constants master - switch)
 (:predicates (wired ?s - switch ?l - lamp) (on ?l - lamp) (broken ?t - thing) (pressed ?s - switch) (same ?a ?b))
 (:action press :parameters (?s - switch)
  :precondition (and (not (broken ?s)) (imply (pressed ?s) (exists (?l - lamp) (and (wired ?s ?l) (not (on ?l))))))
  :effect (and (pressed ?s) (when (exists (?o - switch) (and (pressed ?o) (not (= ?o ?s)))) (pressed master))))
 (:action light :parameters (?s - switch ?l - lamp)
  :precondition (and (pressed ?s) (wired ?s ?l) (forall (?t - thing) (or (not (broken ?t)) (not (= ?t ?l)))))
  :effect (and (when (on ?l) (not (on ?l))) (when (not (on ?l)) (on ?l)) (not (pressed ?s))))
)"""
WORDS = '''
grammar :: """{"intro": [{"rhs": " #state#"}], "list_empty": [{"rhs": "none"}], "list_separator": [{"rhs": ", "}],
 "list_last_separator": [{"rhs": ", and "}],
 "state": [{"condition": "on(l:lamp) & on(m:lamp)", "rhs": "Many: [{l.name | on(l:lamp)}]."},
           {"condition": "on(l:lamp)", "rhs": "One: {l.name + '!' | on(l:lamp)}"},
           {"rhs": "Dark: [{l.indefinite + ' ' + l.name | wired(s:switch, l:lamp)}]."}]}""";
# the actions
action press { template :: "press {s}"; feedback :: "You press {s.name or s.id}. #state#"; }
action light { template :: "light {l} by {s}"; feedback :: "[{#pair# | pressed(t:switch) & wired(t:switch, m:lamp)}]";
  grammar :: """
  # a comment
  {"pair": [{"rhs": "{t.id} {m.definite} {m.name}"}]}
  """; }
'''
PROBLEM = """
(define (problem p) (:domain switches) (:objects a_bar_1 a_bar_2 - switch l_bar_1 l_bar_2 l_bar_3 - lamp)
 (:init (wired a_bar_1 l_bar_1) (wired a_bar_1 l_bar_2) (wired a_bar_2 l_bar_3) (wired master l_bar_2)
  (broken l_bar_3) (= (total-cost) 0))
 (:goal (and (on l_bar_1) (forall (?s - switch) (not (pressed ?s))))))"""


def test_rules_and_words_are_general(reference: Engine) -> None:
    """A world of its own reads as in the reference too.

    Conditional effects aside: the reference's texts take them for true whatever their conditions say.
    """
    plain = re.sub(r"\(when \(exists .*master\)\)|\(when \(on \?l\) \(not \(on \?l\)\)\)", "", DOMAIN)
    plain = plain.replace("(when (not (on ?l)) (on ?l))", "(on ?l)")
    assert "when" not in plain
    game, random = Game("switches", plain, WORDS, PROBLEM), Random(3)
    engines = (reference, RuleEngine())
    for engine in engines:
        engine.load(game)
    expected, found = (engine.reset() for engine in engines)
    for _ in range(120):
        assert found == expected
        command = random.choice((*expected.admissible, "press"))
        expected, found = (engine.step(command) for engine in engines)


def test_a_world_is_played_to_its_goal() -> None:
    engine = RuleEngine()
    engine.load(Game("switches", DOMAIN, WORDS, PROBLEM))
    start = engine.reset()
    assert start.text == "Dark: a l 3, a l 2, a l 1, and a l 2."
    assert start.admissible == ("press a 1", "press a 2", "press master ")
    assert engine.step("press l 1").text == NOTHING
    assert engine.step(" press a 2\n").text == "You press a 2. Dark: a l 3, and a l 2."
    end = engine.step("light l 3 by a 2")
    assert (end.text, end.won) == ("none", True)


@pytest.mark.parametrize(
    ("place", "becomes", "complaint"),
    [
        ("(define (domain switches)", "(define (world switches)", "expected .define .domain NAME"),
        ("(:requirements :adl)", "(:requirements :adl", "a '.' is missing"),
        ("(:types", ") (:types", "expected one list|a '.' too many"),
        ("(:types lamp", "(:types lamp - lamp", "below itself"),
        ("- thing thing", "- thin thing", "'thin' is not declared"),
        ("(on ?l - lamp)", "(lit ?l - lamp)", r"\(on .*no such predicate"),
        ("(wired ?s ?l)", "(wired ?s)", "it takes 2 terms"),
        ("(pressed ?s)", "(pressed ?x)", "the variable .x is not declared"),
        (":parameters (?s - switch)", ":parameters (?s - button)", "of the type 'button'"),
        (":effect", ":effects", "not understood: .':effects'"),
        ("(:action press", "(:derived (p) (on ?l)) (:action press", "section ':derived'"),
        ("(when (on ?l) (not (on ?l)))", "(forall (?x - lamp) (on ?x))", "no such predicate|expected a word"),
        ("(pressed ?s)", "(" * 70 + ")" * 70, "nested more than"),
        ("(not (broken ?s))", "(not)", "not takes 1 parts; found 0"),
        ("switches", "schälter", "not ASCII"),
    ],
)
def test_domains_that_are_not_understood_are_named(place: str, becomes: str, complaint: str) -> None:
    assert place in DOMAIN
    with pytest.raises(DataError, match=f"home: not a readable game: .*({complaint})"):
        RuleEngine().load(Game("home", DOMAIN.replace(place, becomes), WORDS, PROBLEM))


@pytest.mark.parametrize(
    ("place", "becomes", "complaint"),
    [
        ("(:domain switches)", "(:action x)", "no actions"),
        ("l_bar_3 - lamp", "l_bar_1 - lamp", "listed twice"),
        ("l_bar_3 - lamp", "l_bar_3 - light", "of the type 'light'"),
        ("(broken l_bar_3)", "(broken l_bar_4)", "'l_bar_4', which is not listed"),
        ("(broken l_bar_3)", "(broken)", "it takes 1 terms"),
        ("(:goal", "(:aim", "expected one :goal"),
        ("l_bar_3", "l.3", "'l.3' is not a name"),
    ],
)
def test_problems_that_are_not_understood_are_named(place: str, becomes: str, complaint: str) -> None:
    assert place in PROBLEM
    with pytest.raises(DataError, match=f"home: not a readable game: .*{complaint}"):
        RuleEngine().load(Game("home", DOMAIN, WORDS, PROBLEM.replace(place, becomes)))


@pytest.mark.parametrize(
    ("place", "becomes", "complaint"),
    [
        ("# the actions", "the actions", "not a grammar of games, from 'the actions"),
        ('"list_empty"', "list_empty", "not JSON"),
        ('{"pair": [{"rhs": "{t.id} {m.definite} {m.name}"}]}', "[]", "must map symbols"),
        ('[{"rhs": "none"}]', '[{"lhs": "none"}]', "texts under rhs"),
        ("action press", "action push", "no words for the actions press"),
        ('feedback :: "You', 'says :: "You', "expected a template, feedback"),
        (' feedback :: "You press {s.name or s.id}. #state#";', "", "needs a template and a feedback"),
        ("#pair#", "#pairs#", "#pairs# is missing"),
        ("{t.id}", "#pair#", "#pair# is circular"),
        ("{t.id}", "{x.id}", "'x', which stands for nothing"),
        ("{t.id}", "{t.id.upper}", "asks to evaluate 't.id.upper'"),
        ("{t.id}", "{t}}", "not understood"),
        ("{t.id}", "<b>", "not understood"),
        ("on(l:lamp) & on(m:lamp)", "on(l) & on(m)", "a query 'on.l.'"),
        ("on(l:lamp) & on(m:lamp)", "on(l:light)", "the type 'light'"),
        ("Many: [{l.name | on(l:lamp)}]", "Many: [{l.name | on(l:lamp)}", "a list without its end"),
        ("Many: ", "// Many: ", "a comment in a text"),
    ],
)
def test_grammars_that_are_not_understood_are_named(place: str, becomes: str, complaint: str) -> None:
    assert place in WORDS
    with pytest.raises(DataError, match=f"home: not a readable game: .*{complaint}"):
        RuleEngine().load(Game("home", DOMAIN, WORDS.replace(place, becomes), PROBLEM))


def test_a_symbol_without_an_alternative_that_applies_is_an_env_error() -> None:
    words = WORDS.replace('{"rhs": "Dark:', '{"condition": "on(l:lamp)", "rhs": "Dark:')
    engine = RuleEngine()
    engine.load(Game("home", DOMAIN, words, PROBLEM))
    with pytest.raises(EnvError, match="home: no alternative of #state# applies"):
        engine.reset()


PIECES = (
    '( ) (:action :effect (and (not ?x - object define domain ; = grammar :: """ { } [ ] | # #a# {o.name} action '
    "holds(a:agent) & , ' \" + or template feedback \n é"
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES.split(" ")), max_size=20).map(" ".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    domain = read_domain(DOMAIN)
    for read in (read_domain, lambda text: read_problem(text, domain), read_grammar, read_template, read_query):
        with suppress(Unreadable):
            read(text)


SECTIONS = st.sampled_from((":types", ":predicates", ":constants", ":objects", ":init", ":goal", ":action x :effect"))
LISP_WORDS = ("?", "?x", "-", "a", "and", "or", "not", "when", "exists", "forall", "imply", "=", "on", "wired", "lamp")
LISPS = st.recursive(
    st.sampled_from(LISP_WORDS),
    lambda inner: st.lists(inner, max_size=4).map(lambda words: f"({' '.join(words)})"),
    max_leaves=12,
)


@settings(max_examples=400)
@given(st.lists(st.tuples(SECTIONS, LISPS), max_size=3))
def test_any_lists_are_read_or_refused(sections: list[tuple[str, str]]) -> None:
    told = " ".join(f"({key} {value})" for key, value in sections)
    domain = read_domain(DOMAIN)
    for read, kind in ((read_domain, "domain"), (lambda text: read_problem(text, domain), "problem")):
        with suppress(Unreadable):
            read(f"(define ({kind} x) {told})")


def test_things_are_numbered_as_alfworld_does() -> None:
    ids = ["mug_bar_1", "mug_bar_2", "sink_bar_1_bar_sinkbasin", "sink_bar_1", "agent1", "loc_bar__minus_3_bar_2"]
    assert names_of(ids) == {
        "mug_bar_1": "mug 2",
        "mug_bar_2": "mug 1",
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "agent1": "agent1 ",
        "loc_bar__minus_3_bar_2": "loc 1",
    }


FACTS = st.tuples(st.sampled_from("pq"), st.tuples(st.sampled_from("abc"), st.sampled_from("abc")))


@given(st.lists(FACTS), st.lists(st.tuples(st.booleans(), FACTS)))
def test_indexes_keep_up_with_the_facts(start: list[tuple[str, tuple[str, str]]], changes: list[object]) -> None:
    base = Facts(start)
    base.index("p", (0,))
    facts, expected = base.fork("pq"), set(start)
    for add, (predicate, row) in changes:  # type: ignore[misc]
        facts.index("p", (1,))
        (facts.add if add else facts.remove)(predicate, row)
        (expected.add if add else expected.discard)((predicate, row))
    for positions in ((), (0,), (1,), (1, 0)):
        rows = [row for found in facts.index("p", positions).values() for row in found]
        assert sorted(rows) == sorted(row for predicate, row in expected if predicate == "p")
    assert {("p", row) for row in base.rows("p")} == {fact for fact in start if fact[0] == "p"}
