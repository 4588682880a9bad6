"""RunningSets: which choices of modes are left as jobs come and go, by hand."""

from __future__ import annotations

import math

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, discretise
from coalloc.solvers.search import running_sets as module
from coalloc.solvers.search.running_sets import RunningSet, RunningSets, TooManyError


def running_sets_of(bandwidth: float, *jobs: Job, ceiling: float = math.inf) -> RunningSets:
    """Return the running sets of jobs on two clusters of 2 nodes behind links of a bandwidth; each job is worth 1."""
    platform = Platform(tuple(Cluster(name, (NodeGroup(2, 1.0),), bandwidth) for name in ("A", "B")))
    problem: Problem = discretise(Instance(platform, jobs), None)
    return RunningSets(problem, [1.0] * len(jobs), ceiling)


def with_jobs(running_sets: RunningSets, *jobs: int) -> RunningSet:
    """Return the running set of jobs that start together."""
    everyone = (1 << len(running_sets.durations)) - 1
    return next(
        start.running
        for start in running_sets.starts(running_sets.nobody, everyone)
        if {j for j, _ in start.keys} == {*jobs}
    )


def test_starts_are_all_sets_that_fit() -> None:
    # 4 nodes: 3 + 1 tasks fit, 3 + 2 do not.
    running_sets = running_sets_of(1000.0, Job("J1", 3, 10.0), Job("J2", 1, 20.0), Job("J3", 2, 40.0))
    starts = running_sets.starts(running_sets.nobody, 0b111)
    assert sorted(start.keys for start in starts) == [
        (),
        ((0, 0),),
        ((0, 0), (1, 0)),
        ((1, 0),),
        ((1, 0), (2, 0)),
        ((2, 0),),
    ]
    both = next(start for start in starts if start.jobs == 0b110)
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
    assert running_sets.without(together, ((0, 0),)) is one
    assert running_sets.without(one, ((0, 0),)) is one
    assert running_sets.without(one, ()) is running_sets.nobody
    with pytest.raises(StopIteration):
        with_jobs(running_sets, 0, 1)


@pytest.mark.parametrize(("bandwidth", "fits"), [(20.0, True), (19.99, False)])
def test_a_link_carries_its_bandwidth_and_no_more(bandwidth: float, fits: bool) -> None:
    # Two jobs of 2 tasks, one in each cluster: 1 * 10 * 1/1 = 10 MB/s each. They need not cross; three-task jobs must.
    running_sets = running_sets_of(bandwidth, Job("J1", 2, 10.0, 0.5, 10.0), Job("J2", 2, 10.0, 0.5, 10.0))
    # Both across: 20 MB/s on each link; each in a cluster of its own: nothing.
    assert len(with_jobs(running_sets, 0, 1).rooms) == (3 if fits else 2)


def test_what_ends_after_the_ceiling_does_not_count() -> None:
    running_sets = running_sets_of(1000.0, Job("J1", 1, 10.0), Job("J2", 1, 20.0), ceiling=15.0)
    assert running_sets.durations == [[10.0], []]


def test_too_many_choices_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 2)
    running_sets = running_sets_of(1000.0, Job("J1", 2, 10.0))
    with pytest.raises(TooManyError):
        running_sets.starts(running_sets.nobody, 1)


def test_many_starts_are_kept_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_ALTERNATIVES", 2)
    running_sets = running_sets_of(1000.0, Job("J1", 1, 10.0), Job("J2", 1, 20.0))
    assert [start.jobs for start in running_sets.starts(running_sets.nobody, 0b10)] == [0, 0b10]
    monkeypatch.setattr(module, "MAX_ALTERNATIVES", 2)
    with pytest.raises(TooManyError):
        running_sets.starts(running_sets.nobody, 0b11)
