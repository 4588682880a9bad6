"""What is proven and held of a window."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.studies.audit_samples import bounds, measure_window, policy_starts
from coalloc.studies.audit_windows import WindowSample
from tests.rules.test_fluid import rigid_waits

EASY = {"policy": "easy"}


def pool(count):
    return Platform([Cluster("pool", [NodeGroup(count, power=1.0)], 0.0)])


RUNNING = RunningJob(Job("r", tasks=1, base_time=10.0, estimate=100.0), ["pool/0"], 10.0)
"""It holds one of two processors until 10 s; by its estimate until 100 s."""

SAMPLE = WindowSample(
    Instance(
        pool(2),
        [Job("wide", tasks=2, base_time=10.0), Job("long", tasks=1, base_time=50.0, estimate=60.0)],
        running=[RUNNING],
    ),
    waited=np.array([5.0, 0.0]),
    remaining=np.array([100.0]),
)


def test_a_policy_knows_the_estimate_of_what_runs_and_not_its_end():
    # By the estimates the wide job cannot start before 100 s, so the long one passes it, and runs until 50 s.
    assert policy_starts(SAMPLE, EASY, knows_run_times=False).tolist() == [50.0, 0.0]
    # With run times the wide one is due at 10 s: the long one would delay it.
    assert policy_starts(SAMPLE, EASY, knows_run_times=True).tolist() == [10.0, 20.0]


def test_a_policy_sees_the_clock_of_the_trace():
    # F1 is log10(10) * 2 + 870 log10(r) for the first, log10(100) * 2 + 870 log10(r) for the others, which arrive 1 s
    # later: from 0 on, log10 of the first second is 0, and the short one of the two is first whatever came before.
    # At 10^9 s a second is 870 * log10(1 + 1e-9) = 4e-7: the estimates decide, too. At 10 s it is 36: arrivals do.
    first = Job("1", tasks=2, base_time=50.0, arrival=0.0)
    long, short = (Job(f"{k}", 2, run, arrival=k) for k, run in ((1.0, 100.0), (2.0, 10.0)))
    sample = WindowSample(Instance(pool(2), [first, long, short]), np.zeros(3), np.zeros(0))
    f1 = {"policy": "easy", "queue_order": "f1"}
    at = {clock: policy_starts(replace(sample, clock=clock), f1, knows_run_times=False) for clock in (10.0, 1e9)}
    assert at[10.0].tolist() == [0.0, 50.0, 150.0]
    assert at[1e9].tolist() == [0.0, 60.0, 50.0]


def test_a_window_says_what_is_proven_and_what_is_held():
    state = {"waited": [5.0, 0.0], "remaining": [100.0], "clock": 0.0}
    options = {**state, "policies": {"easy": EASY}, "time_limit": 1.0, "seed": 0}
    found = measure_window(options, SAMPLE.instance)
    held = {schedule["label"]: schedule for schedule in found["schedules"]}
    # The waits are 5 + 50 and 0, or 5 + 10 and 20; nothing is better, for one of them goes first.
    assert held["easy"]["wait"] == 27.5
    assert held["easy"]["is_online"]
    assert held["easy with true run times"]["wait"] == 17.5
    assert min(schedule["wait"] for schedule in found["schedules"]) == 17.5
    assert 0.0 < found["bounds"]["wait"] <= 17.5
    # Slowdowns are (15 + 10) / 10 and (20 + 50) / 50, or 6.5 and 1: 1.95 at best.
    assert min(schedule["bounded_slowdown"] for schedule in found["schedules"]) == pytest.approx(1.95)
    assert found["bounds"]["bounded_slowdown"] <= 1.95
    # 20 units of the wide job from 10 s on, or 70 units beside 10 that are held: (10 + 20 + 50) / 2 = 40 s of two.
    assert 40.0 <= found["bounds"]["makespan"] <= held["easy"]["makespan"] == 60.0
    # Divided, the long job runs at once and is done at 50 s; the wide one has one processor from 10 to 30 s: 15 s late
    # at best, or 0 s if the long one is interrupted for 10 s.
    assert found["without_fragmentation"]["waited"] == 2.5
    assert found["without_fragmentation"]["bound"] <= found["without_fragmentation"]["best"] <= 17.5


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_below_what_is_optimal(seed):
    # Each wait before the window is the same in all schedules, so they have one best order; all orders are tried.
    rng = np.random.default_rng(seed)
    jobs = [
        Job(f"{k}", int(rng.integers(1, 4)), float(rng.integers(1, 30)), arrival=float(rng.integers(0, 3) * 8))
        for k in range(4)
    ]
    waited = np.array([rng.integers(0, 9) * (job.arrival == 0.0) for job in jobs], dtype=np.float64)
    sample = WindowSample(Instance(pool(3), jobs), waited, np.zeros(0))
    held = [
        sample.measured(sample.jobs.release + rigid_waits(sample.jobs, 3, 0, 0.0, order))
        for order in itertools.permutations(range(4))
    ]
    for measure, bound in bounds(sample, 1.0).items():
        assert bound <= min(schedule[measure] for schedule in held) * (1.0 + 1e-9)
