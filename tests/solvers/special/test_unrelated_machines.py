"""Unrelated machines: equal to all assignments tried, by hand, and only where nothing but the machine counts."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Window
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.models import assignment
from coalloc.problem import discretise
from coalloc.solvers.special.unrelated_machines import FEW_JOBS, improved, machines_of, reduced_costs, relaxed, searched


def unrelated(times: np.ndarray, **platform) -> Instance:
    """Return jobs that take these times (s) on machines, each a node with a feature of its own."""
    names = [f"m{i}" for i in range(times.shape[1])]
    cluster = Cluster("C1", [NodeGroup(1, power=1.0, features=[name]) for name in names], 1.0)
    jobs = [Job(f"J{j}", 1, 1.0, times=dict(zip(names, map(float, row), strict=True))) for j, row in enumerate(times)]
    return Instance(Platform([cluster], **platform), jobs)


def drawn(seed: int, jobs: int = FEW_JOBS + 1, machines: int = 2) -> np.ndarray:
    """Return whole times."""
    return np.random.default_rng(seed).integers(5, 50, size=(jobs, machines)).astype(float)


def ends(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all assignments, a row of machines for each, and their last ends."""
    num_jobs, num_machines = times.shape
    assigned = np.array(list(product(range(num_machines), repeat=num_jobs)))
    taken = times[np.arange(num_jobs), assigned]
    loads = [np.where(assigned == i, taken, 0.0).sum(axis=1) for i in range(num_machines)]
    return assigned, np.max(loads, axis=0)


def least_end(times: np.ndarray) -> float:
    """Return the least of the last ends of all assignments."""
    return float(ends(times)[1].min())


@pytest.mark.parametrize("slot", [1.0, None])
@pytest.mark.parametrize("seed", range(15))
def test_the_portfolio_agrees_with_all_assignments(seed, slot):
    times = drawn(seed)
    result = coalloc.solve(unrelated(times), slot=slot, time_limit=600.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(least_end(times)))
    assert "assignment" in {point.source for point in result.trace}


@pytest.mark.parametrize(
    ("slot", "first", "last"),
    [
        # The LP has 10 (13 - k) = 15 k, k = 5.2: 78, and 79 is the end before 80.
        (1.0, (78, 78), (79, 79)),
        # 1,248 and 1,279: a sixteenth of the gap is 1, so not each end has a model.
        (0.0625, (1248, 1249), (1279, 1279)),
        (None, (78.0, 80.0), (78.0, 80.0)),
    ],
)
def test_ends_are_refuted_from_the_bound_on(monkeypatch, slot, first, last):
    # 13 jobs of 10 s, or 15 s on the second machine; with k of them there the end is max(10 (13 - k), 15 k): 80, k = 5.
    limits, build = [], assignment.build

    def recorded(times, least, most):
        limits.append((least, most))
        return build(times, least, most)

    monkeypatch.setattr(assignment, "build", recorded)
    result = coalloc.solve(unrelated(np.tile([10.0, 15.0], (13, 1))), slot=slot, methods=["assignment"])
    assert (result.status, result.objective) == ("optimal", 80.0)
    assert (limits[0], limits[-1]) == (pytest.approx(first), pytest.approx(last))
    assert all(most + 1 == least for (_, most), (least, _) in pairwise(limits))


@pytest.mark.parametrize("seed", range(5))
def test_no_better_end_is_left_out_by_reduced_costs(seed):
    # Whatever the weights, a pair's bound is no more than the least end of all assignments with the pair.
    rng = np.random.default_rng(seed)
    times = np.where(rng.random((6, 3)) < 0.2, math.inf, drawn(seed, 6, 3))
    times[np.arange(6), rng.integers(0, 3, 6)] = 7.0
    solved = relaxed(times, math.inf, math.inf)
    assert solved is not None
    assigned, last = ends(times)
    for weights in (solved.weights, rng.dirichlet(np.ones(3)), np.array([0.0, 0.5, 0.5])):
        value, extra = reduced_costs(times, weights)
        assert value <= solved.value + 1e-6
        for j, i in np.argwhere(np.isfinite(times)):
            assert value + extra[j, i] <= last[assigned[:, j] == i].min() + 1e-6
    assert reduced_costs(times, solved.weights)[0] == pytest.approx(solved.value)  # strong duality


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_what_all_assignments_have(seed):
    times = drawn(seed, 9, 3)
    times[::2, 0] = math.inf
    _, extra = reduced_costs(times, np.full(3, 1.0 / 3.0))
    first = improved(times, times.argmin(axis=1))
    best = least_end(times)
    found, again = (
        searched(times, first, extra, best, attempts=2000, patience=2, seed=seed, deadline=math.inf) for _ in range(2)
    )
    assert (found == again).all()
    assert np.bincount(found, times[np.arange(9), found]).max() == best


@pytest.mark.parametrize("seed", range(5))
def test_no_move_or_swap_helps_after_all_that_help(seed):
    times = drawn(seed, 20, 3)
    found = improved(times, np.zeros(20, dtype=np.int64))
    loads = np.bincount(found, times[np.arange(20), found], minlength=3)
    longest = int(loads.argmax())
    for j in np.flatnonzero(found == longest):
        for i in {0, 1, 2} - {longest}:
            left = loads[longest] - times[j, longest]
            assert max(left, loads[i] + times[j, i]) >= loads[longest]
            for k in np.flatnonzero(found == i):
                assert max(left + times[k, longest], loads[i] - times[k, i] + times[j, i]) >= loads[longest]


def test_the_engine_refuses_machines_that_cannot_have_a_job():
    times, one = np.array([1.0, math.inf]), np.array([1])
    with pytest.raises(InternalError, match="machine_of of machine_swaps_search is out of range"):
        engine().machine_swaps_search(1, 2, 1, times, one - 1, one.copy(), 0.0, 1, 0, 1.0)
    with pytest.raises(InternalError, match="near of machine_swaps_search is out of range"):
        engine().machine_swaps_search(1, 2, 1, times, one + 1, one - 1, 0.0, 1, 0, 1.0)
    with pytest.raises(InternalError, match="times of machine_swaps_search is not a number"):
        engine().machine_swaps_search(1, 2, 1, np.array([1.0, math.nan]), one - 1, one - 1, 0.0, 1, 0, 1.0)
    # With a job of -1 on the second machine the first, without a job, would be the longest, of which one is moved.
    for least in (-1.0, 0.0):
        with pytest.raises(InternalError, match="times of machine_swaps_search is out of range"):
            engine().machine_swaps_search(1, 2, 1, np.array([1.0, least]), one, one.copy(), -2.0, 1, 0, 1.0)


def test_the_lp_is_a_bound_and_knows_jobs_that_are_too_long():
    # 6 jobs of 10 on either machine and one of 25 on the first, 40 on the second: 85 in all, 42.5 each; within 30 the
    # long one is on the first alone, which changes nothing. Within 20 it has no machine.
    times = np.array([[10.0, 10.0]] * 6 + [[25.0, 40.0]])
    assert relaxed(times, math.inf, math.inf).value == pytest.approx(42.5)
    assert relaxed(times, 30.0, math.inf).value == pytest.approx(42.5)
    assert relaxed(times, 20.0, math.inf).value == math.inf


def test_moves_and_swaps_help_as_long_as_they_can():
    # All on the first: 60; one move at a time: 30 and 30. Two jobs each on the wrong machine are swapped.
    assert np.bincount(improved(np.full((6, 2), 10.0), np.zeros(6, dtype=np.int64))).tolist() == [3, 3]
    assert improved(np.array([[5.0, 50.0], [50.0, 5.0]]), np.array([1, 0])).tolist() == [0, 1]


def test_moves_end_at_a_deadline():
    times, first = np.full((6, 2), 10.0), np.zeros(6, dtype=np.int64)
    assert improved(times, first, deadline=0.0).tolist() == first.tolist()


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
    few = instance.replace(jobs=instance.jobs[:FEW_JOBS])
    for other in (late, wide, alike, few):
        assert machines_of(discretise(other, None)) is None
    window = Window("C1", start=10.0, end=20.0)
    result = coalloc.solve(unrelated(times, unavailable=[window]), slot=1.0, time_limit=0.5)
    assert "assignment" not in {point.source for point in result.trace}
