"""Unrelated machines: equal to all assignments tried, by hand, and only where nothing but the machine counts."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Window
from coalloc.problem import discretise
from coalloc.solvers.special.unrelated_machines import FEW, improved, machines_of, relaxed


def unrelated(times: np.ndarray, **platform) -> Instance:
    """Return jobs that take these times (s) on machines, each a node with a feature of its own."""
    names = [f"m{i}" for i in range(times.shape[1])]
    cluster = Cluster("C1", [NodeGroup(1, power=1.0, features=[name]) for name in names], 1.0)
    jobs = [Job(f"J{j}", 1, 1.0, times=dict(zip(names, map(float, row), strict=True))) for j, row in enumerate(times)]
    return Instance(Platform([cluster], **platform), jobs)


def drawn(seed: int, jobs: int = FEW + 1, machines: int = 2) -> np.ndarray:
    """Return whole times."""
    return np.random.default_rng(seed).integers(5, 50, size=(jobs, machines)).astype(float)


def least_end(times: np.ndarray) -> float:
    """Return the least of the last ends of all assignments to two machines."""
    return min(max(sum(row[i] for row, k in zip(times, chosen, strict=True) if k == i) for i in (0, 1))
               for chosen in product((0, 1), repeat=len(times)))  # fmt: skip


@pytest.mark.parametrize("slot", [1.0, None])
@pytest.mark.parametrize("seed", range(3))
def test_the_portfolio_agrees_with_all_assignments(seed, slot):
    times = drawn(seed)
    result = coalloc.solve(unrelated(times), slot=slot, time_limit=600.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(least_end(times)))
    assert "assignment" in {point.source for point in result.trace}


def test_the_lp_is_a_bound_and_knows_jobs_that_are_too_long():
    # 6 jobs of 10 on either machine and one of 25 on the first, 40 on the second: 85 in all, 42.5 each; within 30 the
    # long one is on the first alone, which changes nothing. Within 20 it has no machine.
    times = np.array([[10.0, 10.0]] * 6 + [[25.0, 40.0]])
    assert relaxed(times, math.inf, math.inf)[0] == pytest.approx(42.5)
    assert relaxed(times, 30.0, math.inf)[0] == pytest.approx(42.5)
    assert relaxed(times, 20.0, math.inf)[0] == math.inf


def test_moves_and_swaps_help_as_long_as_they_can():
    # All on the first: 60; one move at a time: 30 and 30. Two jobs each on the wrong machine are swapped.
    assert sorted(improved(np.full((6, 2), 10.0), [0] * 6)) == [0, 0, 0, 1, 1, 1]
    assert improved(np.array([[5.0, 50.0], [50.0, 5.0]]), [1, 0]) == [0, 1]


def test_a_job_may_be_kept_from_a_machine():
    times = drawn(0)
    instance = unrelated(times)
    instance = instance.replace(jobs=[job.replace(requires=["m1"]) if job.id < "J2" else job for job in instance.jobs])
    problem = discretise(instance, None)
    found = machines_of(problem)
    assert found is not None
    kept = [job.id < "J2" for job in instance.jobs]
    assert np.isinf(found.times[kept, 0]).all()
    assert coalloc.solve(instance, time_limit=600.0).objective == pytest.approx(least_end(found.times))


def test_it_is_for_jobs_of_which_the_machine_alone_counts():
    times = drawn(1)
    instance = unrelated(times)
    assert machines_of(discretise(instance, None)) is not None
    late = instance.replace(jobs=[instance.jobs[0].replace(arrival=5.0), *instance.jobs[1:]])
    wide = instance.replace(jobs=[instance.jobs[0].replace(tasks=2), *instance.jobs[1:]])
    alike = instance.replace(jobs=[job.replace(times={}) for job in instance.jobs])
    few = instance.replace(jobs=instance.jobs[:FEW])
    for other in (late, wide, alike, few):
        assert machines_of(discretise(other, None)) is None
    window = Window("C1", start=10.0, end=20.0)
    result = coalloc.solve(unrelated(times, unavailable=[window]), slot=1.0, time_limit=0.5)
    assert "assignment" not in {point.source for point in result.trace}
