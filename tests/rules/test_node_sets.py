"""Ends and busy times of sets of jobs on one node, against brute force."""

import itertools

import numpy as np
import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance import RunningJob
from coalloc.instance.rounding import slots_up
from coalloc.rules import node_sets
from coalloc.rules.node_sets import NodeJobs, ends_of_counts, least_busy, least_ends, states_kept
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.brute_force_energy import brute_force_energy

CORES = 3


def jobs_of(seed: int) -> list[Job]:
    """Return four jobs, some of them equal."""
    rng = np.random.default_rng(seed)
    return [
        Job(f"J{n}", int(rng.integers(1, CORES + 1)), float(rng.choice([1.0, 2.5, 3.0, 4.75])), arrival=float(arrival))
        for n, arrival in enumerate(rng.choice([0.0, 0.0, 1.0, 4.5], 4))
    ]


def node_of(jobs: list[Job], slot: float | None, running: float = 0.0) -> NodeJobs:
    """Return the node of three cores, on one of which a job runs until then."""

    def grid(seconds: float) -> float:
        return seconds if slot is None else slot * slots_up(seconds, slot)

    return NodeJobs(
        tasks=tuple(job.tasks for job in jobs),
        durations=tuple(grid(job.base_time) for job in jobs),
        releases=tuple(grid(job.arrival) for job in jobs),
        free=(grid(running), 0.0, 0.0),
        running=running,
    )


def instance_of(jobs: list[Job], running: float = 0.0) -> Instance:
    """Return the same as an instance that draws 1 W while the node has a busy core."""
    node = NodeGroup(1, power=1.0, cores=CORES, idle_watts=0.0, static_watts=1.0, core_watts=0.0)
    runs = [RunningJob(Job("R", 1, 9.0), ("C1/0.0",), running)] if running else []
    return Instance(Platform([Cluster("C1", [node], 0.0)]), jobs, runs)


def subsets(jobs: list[Job]):
    """Yield each set of jobs but the empty one, as a bit mask and as a list."""
    for mask in range(1, 1 << len(jobs)):
        yield mask, [job for j, job in enumerate(jobs) if mask >> j & 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("running", [0.0, 3.5])
def test_no_set_can_end_earlier(seed, running):
    jobs = jobs_of(seed)
    ends = least_ends(node_of(jobs, None, running))
    for mask, members in subsets(jobs):
        instance = instance_of(members, running)
        expected = brute_force_oas(instance, None).objective + instance.origin
        assert ends[mask] == pytest.approx(expected), mask


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("slot", "running"), [(None, 0.0), (2.0, 0.0), (2.0, 2.5)])
def test_no_set_keeps_the_node_busy_for_less(seed, slot, running):
    jobs = [job.replace(arrival=0.0) for job in jobs_of(seed)]
    busy = least_busy(node_of(jobs, slot, running))
    for mask, members in subsets(jobs):
        # a schedule that ends before the job that runs already is metered to its own end only
        expected = max(running, brute_force_energy(instance_of(members, running), slot).objective)
        assert busy[mask] == pytest.approx(expected), mask


def test_a_gap_after_a_job_that_runs_already_saves_the_rest_of_its_slot():
    # Slots of 2 s. A job holds a core for 2.5 s, so until 4 s; one of 3 tasks follows from 4 to 6 s: 2.5 + 2 s busy.
    node = node_of([Job("J1", CORES, 1.0)], 2.0, 2.5)
    assert (least_ends(node)[1], least_busy(node)[1]) == (6.0, 4.5)


def test_jobs_that_run_already_keep_the_node_busy():
    # One core is held for 5 s: a job of 2 tasks and 3 s runs beside it, one of 3 tasks after it.
    jobs = [Job("J1", 2, 3.0), Job("J2", 3, 1.0)]
    busy = least_busy(node_of(jobs, None, 5.0))
    assert [busy[mask] for mask in range(4)] == [5.0, 5.0, 6.0, 6.0]


def test_a_job_that_is_too_wide_is_in_no_set():
    ends = least_ends(node_of([Job("J1", CORES + 1, 1.0), Job("J2", 1, 2.0)], None))
    assert ends == {0: 0.0, 2: 2.0}


def test_equal_jobs_are_interchangeable():
    jobs = [Job(f"J{n}", 2, 2.5) for n in range(4)]
    ends = least_ends(node_of(jobs, None))
    for count in range(1, 5):
        sets = itertools.combinations(range(4), count)
        assert {ends[sum(1 << j for j in members)] for members in sets} == {2.5 * count}


@pytest.mark.parametrize("seed", range(4))
def test_where_fewer_states_are_kept_the_ends_are_bounds(seed, monkeypatch):
    node = node_of(jobs_of(seed), None)
    exact = least_ends(node)
    monkeypatch.setattr(node_sets, "MAX_STATES", 1)
    bounds = least_ends.__wrapped__(node)  # without the cache
    assert bounds.keys() == exact.keys()
    assert all(bounds[mask] <= exact[mask] for mask in exact)
    longest = max(job.base_time for job in jobs_of(seed))
    assert bounds[15] >= longest


def test_fewer_states_are_kept_of_more_sets():
    assert states_kept(4, CORES) == node_sets.MAX_STATES
    assert 1 <= states_kept(12, 64) < states_kept(12, 4) < node_sets.MAX_STATES


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("running", [0.0, 3.5])
def test_kinds_of_one_job_end_as_their_sets_do(seed, running):
    jobs = jobs_of(seed)
    node = node_of(jobs, None, running)
    found = ends_of_counts(node, [[j] for j in range(4)], 100.0, 16)
    masks = (found.counts @ (1 << np.arange(4))).tolist()
    assert dict(zip(masks, found.ends.tolist(), strict=True)) == pytest.approx(least_ends(node))
    assert (found.counts @ found.weights).tolist() == sorted(found.codes.tolist()) == found.codes.tolist()


def test_the_first_of_a_kind_to_arrive_are_the_best():
    # Of two jobs of 3 tasks and 2 s, there at 0 and at 5, one can end at 2 and both at 7.
    node = NodeJobs(tasks=(3, 3), durations=(2.0, 2.0), releases=(0.0, 5.0), free=(0.0, 0.0, 0.0))
    assert ends_of_counts(node, [[0, 1]], 10.0, 10).ends.tolist() == [0.0, 2.0, 7.0]
    assert ends_of_counts(node, [[0, 1]], 6.9, 10).ends.tolist() == [0.0, 2.0]
    assert ends_of_counts(node, [[0, 1]], 10.0, 2) is None


def test_kinds_that_are_too_many_to_count_have_no_ends():
    node = NodeJobs(tasks=(1,) * 70, durations=(1.0,) * 70, releases=(0.0,) * 70, free=(0.0,))
    assert ends_of_counts(node, [[j] for j in range(70)], 2.0, 1000) is None


@pytest.mark.parametrize("seed", range(3))
def test_states_that_become_one_end_no_later(monkeypatch, seed):
    node, kinds = node_of(jobs_of(seed), None), [[j] for j in range(4)]
    exact = ends_of_counts(node, kinds, 100.0, 16)
    monkeypatch.setattr(node_sets, "MAX_STATES_OF_COUNTS", 1)
    merged = ends_of_counts(node, kinds, 100.0, 16)
    assert (merged.ends <= exact.ends).all()
    assert merged.ends.any()
