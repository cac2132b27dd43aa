"""Fixtures for more than one file: real data (skipped, saying so, where it is absent)."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from trialogue.envs import TextEnv, make


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real data that TRIALOGUE_TEST_DATA names."""
    folder = os.environ.get("TRIALOGUE_TEST_DATA")
    if not folder:
        pytest.skip("TRIALOGUE_TEST_DATA is not set: no real data to test with")
    return Path(folder)


@pytest.fixture(scope="session")
def alfworld_data(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds json_2.1.1/valid_seen with its 140 solvable games."""
    folder = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(test_data / "alfworld" / "alfworld_valid_seen.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def household() -> Iterator[TextEnv]:
    """A household environment to be reset by each test; settings are the defaults."""
    env = make("household")
    yield env
    env.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests have an hour, the others the few minutes of the configuration."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))
