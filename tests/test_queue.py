"""The order of play: every job once, and workers that stay with their group."""

from hypothesis import given
from hypothesis import strategies as st

from trialogue.experiments.queue import AffinityQueue


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), unique=True), st.integers(1, 5))
def test_every_job_is_taken_once_by_any_number_of_workers(jobs: list[tuple[str, int]], workers: int) -> None:
    queue = AffinityQueue(jobs, group=lambda job: job[0])
    taken: list[tuple[str, int]] = []
    last: list[object] = [None] * workers
    for turn in range(len(jobs) + workers):
        got = queue.take(last[turn % workers])
        if got is not None:
            last[turn % workers] = got[0]
            taken.append(got[1])
    assert sorted(taken) == sorted(jobs)


def test_a_worker_stays_with_its_group_and_others_go_elsewhere() -> None:
    queue = AffinityQueue(["a1", "b1", "a2", "b2", "a3"], group=lambda job: job[0])
    first, second = queue.take(), queue.take()
    assert first == ("a", "a1")
    assert second == ("b", "b1")
    assert queue.take("b") == ("b", "b2")
    assert queue.take("a") == ("a", "a2")
    assert queue.take("b") == ("a", "a3")
    assert queue.take("a") is None
