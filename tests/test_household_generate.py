"""Generated games: ids, splits, rooms, and that every game can be won in both dialects."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.envs import TextEnv, generated, make
from trialogue.envs.household import generate, rooms
from trialogue.envs.household.generate import Recipe
from trialogue.envs.household.problem import write_problem
from trialogue.envs.household.solution import solution
from trialogue.envs.household.tasktypes import TASK_TYPES
from trialogue.errors import TrialogueError, UnknownName, UsageError

recipes = st.builds(
    Recipe,
    st.just("generated_train"),
    st.sampled_from(sorted(TASK_TYPES)),
    st.integers(0, 999_999),
    st.integers(5, 60),
    st.integers(0, 100),
)


@given(recipes)
def test_an_id_holds_all_that_decides_a_game(recipe: Recipe) -> None:
    assert Recipe.parse(recipe.task.id) == recipe


@given(recipes)
def test_a_scene_keeps_its_promises(recipe: Recipe) -> None:
    scene = generate.scene(recipe.task.id)
    needed = scene.kind.objects + (scene.target == rooms.LAMP)
    assert len(scene.places) == recipe.receptacles
    assert len(scene.items) == recipe.distractors + needed
    assert len({place.name for place in scene.places}) == len(scene.places)
    assert len({item.name for item in scene.items}) == len(scene.items)
    assert all(item.place in scene.places for item in scene.items)
    assert scene == generate.scene(recipe.task.id)


@given(recipes)
def test_objects_lie_where_they_may_and_the_wanted_ones_not_at_the_target(recipe: Recipe) -> None:
    scene = generate.scene(recipe.task.id)
    for item in scene.items:
        allowed = rooms.capacity()[item.place.type] if item.type != rooms.LAMP else {rooms.LAMP}
        assert item.type in allowed
        assert item.type != scene.item or item.place.type != scene.target


@given(st.text())
def test_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(TrialogueError):
        Recipe.parse("generated_eval/" + text)


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        ("generated_train/heat/s1000007-r12-d14", "a seed of generated_train must be from 0 to 999999; got 1000007"),
        ("generated_eval/heat/s7-r12-d14", "a seed of generated_eval must be from 1000000 to 1999999; got 7"),
        ("generated_eval/heat/s1000007-r4-d14", "number of receptacles must be from 5 to 60"),
        ("generated_eval/heat/s1000007-r12-d101", "number of distractors must be from 0 to 100"),
        ("generated_eval/heat/s01000007-r12-d14", "one looks like"),
        ("generated_eval/heat/s1000007-r12-d14 ", "one looks like"),
        ("generated_eval/heat/s١-r12-d14", "one looks like"),
        ("generated_eval/heet/s1000007-r12-d14", "Did you mean 'heat'"),
        ("generated_evil/heat/s1000007-r12-d14", "Did you mean 'generated_eval'"),
    ],
)
def test_ids_that_name_no_game_are_refused(household: TextEnv, task: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        household.task(task)


def test_every_prefix_of_a_split_is_balanced() -> None:
    for split in generated.SPLITS:
        tasks = generate.tasks(split, 300, 12, 14)
        assert Counter(task.type for task in tasks) == dict.fromkeys(TASK_TYPES, 50)
        for size in range(1, 60):
            counts = Counter(task.type for task in tasks[:size])
            assert max(counts.values()) - min(counts[kind] for kind in TASK_TYPES) <= 1


def test_no_evaluation_game_is_a_training_game() -> None:
    train, evaluation = (
        {_content(task.id) for task in generate.tasks(split, 300, 12, 14)} for split in generated.SPLITS
    )
    assert len(train) == len(evaluation) == 300
    assert not train & evaluation


def _content(task_id: str) -> tuple[object, ...]:
    scene = generate.scene(task_id)
    return (scene.goal, scene.places, scene.items)


def test_games_vary() -> None:
    scenes = [generate.scene(task.id) for task in generate.tasks("generated_eval", 300, 12, 14)]
    assert len({scene.goal for scene in scenes}) > 200
    for kind in TASK_TYPES.values():
        wordings = {_shape(scene.goal, scene.item, scene.target) for scene in scenes if scene.kind is kind}
        assert wordings == set(kind.goals)


def _shape(goal: str, item: str, target: str) -> str:
    words = {item.lower(): "OBJ", target.lower(): "REC", target.lower() + ".": "REC."}
    return " ".join(words.get(word, word) for word in goal.split(" "))


def test_settings_shape_the_games_and_are_bounded() -> None:
    env = make("household", receptacles=20, distractors=3, count=7)
    assert [task.id.rsplit("-", 2)[1:] for task in env.tasks("generated_eval")] == [["r20", "d3"]] * 7
    for settings in ({"count": 0}, {"receptacles": 4}, {"receptacles": 61}, {"distractors": -1}):
        with pytest.raises(UsageError, match="must be from"):
            make("household", **settings)
    with pytest.raises(UnknownName, match="Did you mean 'generated_train'"):
        make("household", split="generated_trian").reset(seed=1)


def test_the_games_behind_ids_never_change() -> None:
    """Recorded runs and exemplars refer to them. If alfworld changed its room lists, say so; do not renew the hash."""
    scenes = [generate.scene(task.id) for task in generate.tasks("generated_eval", 60, 12, 14)]
    texts = "".join(scene.goal + write_problem(scene) for scene in scenes)
    frozen = "d332c2a9986a782a27de2b2034e4d5100b64bf4e039c71aac707708417c46462"
    assert hashlib.sha256(texts.encode()).hexdigest() == frozen


def test_the_written_solution_wins_in_the_engine() -> None:
    env = make("household", receptacles=6, distractors=3)
    assert all(_play(env, task.id, "move") for task in env.tasks("generated_eval")[: len(TASK_TYPES)])
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["move", "put"])
def test_every_written_solution_wins(dialect: str) -> None:
    env = make("household", dialect=dialect)
    assert all(_play(env, task.id, dialect) for task in env.tasks("generated_eval")[:120])
    env.close()


def _play(env: TextEnv, task: str, dialect: str) -> bool:
    _, info = env.reset(options={"task": task})
    assert (info["dialect"], info["won"]) == (dialect, False)
    for command in solution(generate.scene(task), dialect):
        assert command in info["admissible"]
        observation, _, _, _, info = env.step(command)
        assert observation != "Nothing happens."
    return bool(info["won"])
