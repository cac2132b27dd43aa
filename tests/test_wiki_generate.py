"""Generated encyclopedias and the questions about them: consistent, and answerable from their pages alone."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from trialogue.envs.contract import Task
from trialogue.envs.wiki import generate, world
from trialogue.envs.wiki.data import CLAIM, QUESTION_TYPES
from trialogue.envs.wiki.generate import Asked, amount
from trialogue.envs.wiki.relations import KINDS, RELATIONS
from trialogue.envs.wiki.world import World
from trialogue.errors import UnknownName, UsageError

WORLDS = [world.build(Random(seed)) for seed in range(12)]
TYPES = (*QUESTION_TYPES, CLAIM)


def asked(kind: str, count: int) -> list[tuple[World, Asked]]:
    tasks = generate.tasks("generated_eval", (kind,), count)
    return [generate.build(task)[1:] for task in tasks]


@pytest.mark.parametrize("about", WORLDS)
def test_pages_state_the_facts_and_nothing_else(about: World) -> None:
    for thing in about.things:
        page = about.pages.page(thing.title)
        assert page is not None
        assert len(page.sentences) >= 7
        for relation in RELATIONS.values():
            said = [(s, value) for s in page.sentences if (value := relation.read(s)) is not None]
            fact = about.facts.get((thing.title, relation.name))
            assert [value for _, value in said] == ([] if fact is None else [fact.value])
            assert all(relation.keyword in sentence for sentence, _ in said)
            assert fact is None or relation.kind == thing.kind


@pytest.mark.parametrize("about", WORLDS)
def test_what_is_unstated_is_on_no_page(about: World) -> None:
    assert about.unstated
    assert not set(about.unstated) & set(about.facts)
    stated = {(fact.subject, fact.thing) for fact in about.facts.values() if fact.thing}
    for fact in about.unstated.values():
        if fact.thing and (fact.subject, fact.thing) not in stated:
            page = about.pages.page(fact.thing.title)
            assert page is not None
            assert RELATIONS[fact.relation.name].back.format(s=fact.subject.name) not in page.sentences


@pytest.mark.parametrize("about", WORLDS)
def test_nothing_that_is_true_contradicts(about: World) -> None:
    true = {**about.facts, **about.unstated}
    births = {f.subject: amount(f.value) for f in true.values() if f.relation.name == "birth"}
    for (title, name), fact in true.items():
        maker = true.get((title, {"publication": "author", "opening": "founder"}.get(name, "")))
        if maker is not None and maker.thing is not None:
            assert 22 <= amount(fact.value) - births[maker.thing] <= 50
        if name == "teacher" and fact.thing is not None:
            assert births[fact.thing] < births[fact.subject]
        if name == "capital" and fact.thing is not None:
            assert about.facts[fact.thing.title, "region"].thing == fact.subject


@pytest.mark.parametrize("about", WORLDS)
def test_titles_are_unique_and_shared_names_have_no_page_of_their_own(about: World) -> None:
    titles = [thing.title for thing in about.things]
    names = Counter(thing.name for thing in about.things)
    assert len(set(titles)) == len(titles) == len(about.pages)
    shared = [name for name, count in names.items() if count > 1]
    assert len(shared) == 2
    for name in shared:
        assert about.pages.page(name) is None
        assert {f"{name} (town)", f"{name} (river)"} == set(about.pages.similar(name)[:2])
    assert {thing.kind for thing in about.things} == set(KINDS)


@pytest.mark.parametrize("kind", TYPES)
def test_every_question_is_proved_by_sentences_on_its_pages(kind: str) -> None:
    for about, question in asked(kind, 60):
        for fact in question.support:
            page = about.pages.page(fact.subject.title)
            assert page is not None
            assert [v for s in page.sentences if (v := fact.relation.read(s))] == [fact.value]
        for fact, following in zip(question.support, question.support[1:], strict=False):
            assert kind == "comparison" or fact.thing == following.subject


def test_bridge_questions_need_two_pages_and_do_not_tell_their_answer() -> None:
    lengths: Counter[int] = Counter()
    for _, question in asked("bridge", 150):
        assert question.support[-1].value == question.answer
        assert question.answer.casefold() not in question.text.casefold()
        assert question.text.endswith("?")
        lengths[len(question.support)] += 1
    assert set(lengths) == {2, 3}
    assert min(lengths.values()) >= 20


def test_comparisons_are_balanced_and_proved_by_two_facts() -> None:
    answers: Counter[str] = Counter()
    for _, question in asked("comparison", 200):
        a, b = question.support
        assert a.subject.name in question.text
        assert b.subject.name in question.text
        if question.answer in ("yes", "no"):
            assert (a.value == b.value) is (question.answer == "yes")
            answers[question.answer] += 1
        else:
            most = any(word in question.text for word in ("later", "more", "longer"))
            larger, smaller = sorted((a, b), key=lambda fact: -amount(fact.value))
            assert question.answer == (larger if most else smaller).subject.name
            answers["first" if question.answer == a.subject.name else "second"] += 1
    assert min(answers[key] for key in ("yes", "no")) >= 20
    assert min(answers[key] for key in ("first", "second")) >= 35


def test_claims_are_balanced_and_their_labels_proved() -> None:
    labels: Counter[str] = Counter()
    for about, question in asked("claim", 300):
        labels[question.answer] += 1
        claimed = {value for r in RELATIONS.values() if (read := r.read_claim(question.text)) for value in read[1:]}
        if question.answer == "NOT ENOUGH INFO":
            assert question.unstated is not None
            assert claimed == {question.unstated.value}
            assert (question.unstated.subject.title, question.unstated.relation.name) not in about.facts
        else:
            assert question.unstated is None
            assert (claimed == {question.support[-1].value}) is (question.answer == "SUPPORTS")
    assert min(labels.values()) >= 70


def test_nothing_but_the_question_gives_the_label_away() -> None:
    tasks = generate.tasks("generated_eval", (CLAIM,), 30)
    assert {task.type for task in tasks} == {"claim"}
    assert {task.id for task in tasks} == {f"generated_eval/claim/s{1_000_000 + n}" for n in range(30)}


def test_splits_share_no_seed_and_a_prefix_is_balanced() -> None:
    train, held_out = (generate.tasks(split, QUESTION_TYPES, 40) for split in ("generated_train", "generated_eval"))
    assert not {task.id.rpartition("/")[2] for task in train} & {task.id.rpartition("/")[2] for task in held_out}
    assert Counter(task.type for task in train[:20]) == {"bridge": 10, "comparison": 10}


@pytest.mark.parametrize("kind", TYPES)
def test_an_id_rebuilds_everything(kind: str) -> None:
    task = Task(f"generated_train/{kind}/s77", "generated_train", kind)
    question, about, proof = generate.build(task)
    generate.build.cache_clear()
    again, about_again, proof_again = generate.build(task)
    assert (question, proof) == (again, proof_again)
    assert about.pages.fingerprint() == about_again.pages.fingerprint()
    assert generate.parse(task.id, TYPES) == task


@pytest.mark.parametrize(
    ("id", "error", "complaint"),
    [
        ("generated_eval/bridge/7", UsageError, "is not the id of a generated task"),
        ("generated_eval/bridge/s7", UsageError, "a seed of generated_eval must be from 1000000 to 1999999; got 7"),
        ("generated_eval/bridg/s1000001", UnknownName, "Did you mean 'bridge'"),
        ("generated_evil/bridge/s1000001", UnknownName, "Did you mean 'generated_eval'"),
    ],
)
def test_impossible_ids_are_refused(id: str, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        generate.parse(id, QUESTION_TYPES)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="count must be from 1 to 1000000; got 0"):
        generate.tasks("generated_eval", QUESTION_TYPES, 0)
