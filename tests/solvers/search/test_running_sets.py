"""RunningSets: which choices of modes are left as jobs come and go, by hand."""

from __future__ import annotations

import math

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, discretise
from coalloc.solvers.search import running_sets as module
from coalloc.solvers.search.running_sets import PackedNumbers, RunningSet, RunningSets, TooManyError


def running_sets_of(bandwidth: float, *jobs: Job, ceiling: float = math.inf, max_pairs: int = 1000) -> RunningSets:
    """Return the running sets of jobs on two clusters of 2 nodes behind links of a bandwidth; each job is worth 1."""
    platform = Platform(tuple(Cluster(name, (NodeGroup(2, 1.0),), bandwidth) for name in ("A", "B")))
    problem: Problem = discretise(Instance(platform, jobs), None)
    return RunningSets(problem, [1.0] * len(jobs), ceiling, max_pairs=max_pairs)


def with_jobs(running_sets: RunningSets, *jobs: int) -> RunningSet:
    """Return the running set of jobs that start together."""
    starts = running_sets.starts(running_sets.nobody, running_sets.counts.everything)
    return next(start.running for start in starts if {kind for kind, _ in start.keys} == {*jobs})


def test_starts_are_all_sets_that_fit() -> None:
    # 4 nodes: 3 + 1 tasks fit, 3 + 2 do not.
    running_sets = running_sets_of(1000.0, Job("J1", 3, 10.0), Job("J2", 1, 20.0), Job("J3", 2, 40.0))
    starts = running_sets.starts(running_sets.nobody, running_sets.counts.everything)
    assert sorted(start.keys for start in starts) == [
        (),
        ((0, 0),),
        ((0, 0), (1, 0)),
        ((1, 0),),
        ((1, 0), (2, 0)),
        ((2, 0),),
    ]
    both = next(start for start in starts if running_sets.counts.unpacked(start.jobs) == [0, 1, 1])
    assert (both.shortest, both.longest, both.running.rate) == (20.0, 40.0, 1 / 20 + 1 / 40)


def test_a_later_job_rules_out_choices_and_its_end_leaves_the_others() -> None:
    # J1 of 2 tasks: (2, 0), (1, 1) or (0, 2). J2 needs the links free: its 10 MB/s on both are all they carry, so J1
    # must not cross; beside (2, 0) and (0, 2) J2 has no 3 nodes. J3 of 2 tasks that asks nothing of the links fits all.
    running_sets = running_sets_of(
        10.0, Job("J1", 2, 10.0, 0.5, 10.0), Job("J2", 3, 10.0, 0.5, 10.0), Job("J3", 2, 20.0)
    )
    one = with_jobs(running_sets, 0)
    assert len(one.rooms) == 3
    together = with_jobs(running_sets, 0, 2)
    assert len(together.rooms) == 3  # J3 takes what J1 leaves
    assert running_sets.without(together, (0,)) is one
    assert running_sets.without(one, (0,)) is one
    assert running_sets.without(one, ()) is running_sets.nobody
    with pytest.raises(StopIteration):
        with_jobs(running_sets, 0, 1)


@pytest.mark.parametrize(("bandwidth", "fits"), [(20.0, True), (19.99, False)])
def test_a_link_carries_its_bandwidth_and_no_more(bandwidth: float, fits: bool) -> None:
    # Two jobs of 2 tasks, one in each cluster: 1 * 10 * 1/1 = 10 MB/s each. They need not cross; three-task jobs must.
    running_sets = running_sets_of(bandwidth, Job("J1", 2, 10.0, 0.5, 10.0), Job("J2", 2, 10.0, 0.5, 10.0))
    # Both across: 20 MB/s on each link; each in a cluster of its own: nothing.
    # They are equal, so they are two of one kind.
    both = next(start for start in running_sets.starts(running_sets.nobody, 2) if len(start.keys) == 2)
    assert len(both.running.rooms) == (3 if fits else 2)


def test_what_ends_after_the_ceiling_does_not_count() -> None:
    running_sets = running_sets_of(1000.0, Job("J1", 1, 10.0), Job("J2", 1, 20.0), ceiling=15.0)
    assert running_sets.durations == [[10.0], []]


def test_too_many_choices_are_not_looked_at() -> None:
    running_sets = running_sets_of(1000.0, Job("J1", 2, 10.0), max_pairs=2)
    with pytest.raises(TooManyError):
        running_sets.starts(running_sets.nobody, running_sets.counts.everything)


def test_many_starts_are_kept_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_ALTERNATIVES", 2)
    running_sets = running_sets_of(1000.0, Job("J1", 1, 10.0), Job("J2", 1, 20.0))
    second = running_sets.counts.one(1)
    assert [start.jobs for start in running_sets.starts(running_sets.nobody, second)] == [0, second]
    monkeypatch.setattr(module, "MAX_ALTERNATIVES", 2)
    with pytest.raises(TooManyError):
        running_sets.starts(running_sets.nobody, running_sets.counts.everything)


def test_equal_jobs_are_one_kind() -> None:
    # 4 nodes, three equal jobs of 2 tasks: none, one or two of them; where one runs, the next comes after it.
    running_sets = running_sets_of(1000.0, *(Job(f"J{i}", 2, 10.0) for i in range(3)))
    assert running_sets.kinds == [[0, 1, 2]]
    starts = running_sets.starts(running_sets.nobody, 3)
    assert [start.keys for start in starts] == [(), ((0, 0),), ((0, 0), (0, 0))]
    one = starts[1].running
    assert [start.jobs for start in running_sets.starts(one, 2)] == [0, 1]
    assert [start.jobs for start in running_sets.starts(starts[2].running, 1)] == [0]


def test_what_always_fits() -> None:
    # Alone all do. J1 has 2 of 4 nodes, in three ways: another of 2 tasks fits in one of its three ways beside each,
    # and J2, of 1 task, in one or two of its two. Beside J2 there is one more node in its cluster, so J2 has two ways,
    # but 2 tasks do not fit there.
    running_sets = running_sets_of(1000.0, Job("J1", 2, 10.0), Job("J2", 1, 10.0))
    assert running_sets.always_fitting(running_sets.nobody) == [(0, 0), (1, 0)]
    assert running_sets.always_fitting(with_jobs(running_sets, 0)) == []
    assert running_sets.always_fitting(with_jobs(running_sets, 1)) == [(1, 0)]


def test_packed_numbers() -> None:
    numbers = PackedNumbers([3, 1, 8])
    some = numbers.packed([2, 0, 8])
    assert numbers.unpacked(some) == [2, 0, 8]
    assert numbers.unpacked(numbers.everything) == [3, 1, 8]
    assert numbers.unpacked(some & numbers.mask(2)) == [0, 0, 8]
    # What is taken away borrows from a guard exactly where there is less.
    assert (some + numbers.guards - numbers.packed([2, 0, 7])) & numbers.guards == numbers.guards
    assert (some + numbers.guards - numbers.packed([0, 1, 0])) & numbers.guards == numbers.guards - (
        numbers.one(1) << 1
    )
    assert numbers.unpacked(some + numbers.one(1)) == [2, 1, 8]


def test_no_number_is_in_two_words() -> None:
    # 61 bits with the guard and then 4, which do not fit into 64: they begin the second word.
    numbers = PackedNumbers([2**60 - 1, 5])
    assert numbers.words(numbers.packed([7, 5]), numbers.guards).tolist() == [7, 5, 2**60, 8]
    assert numbers.unpacked(numbers.packed([7, 5])) == [7, 5]
