"""Flux's queue policies: schedules by hand, and EASY as the policy of that name finds it."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform


def pool(processors, jobs):
    return Instance(Platform([Cluster("C1", [NodeGroup(processors, power=1.0)], 100.0)]), jobs)


def starts(instance, queue_policy, **options):
    """Return the start of each job, s."""
    run = coalloc.simulate(instance, "flux", queue_policy=queue_policy, **options)
    return {placement.job: placement.start for placement in run.schedule}


def job(name, tasks, seconds, arrival=0.0, **others):
    return Job(name, tasks, float(seconds), arrival=float(arrival), **others)


# Of three processors A has two until 100 s. B needs three for 50 s, C two for 100 s, D and E one for 120 s and 60 s.
FIVE = [job("A", 2, 100), job("B", 3, 50, 5), job("C", 2, 100, 6), job("D", 1, 120, 7), job("E", 1, 60, 8)]


def test_fcfs_starts_nothing_behind_a_job_that_waits():
    # B at 100 s; C and D side by side at 150 s; E when C ends.
    assert starts(pool(3, FIVE), "fcfs") == {"A": 0, "B": 100, "C": 150, "D": 150, "E": 250}


@pytest.mark.parametrize("policy", ["easy", "hybrid", "conservative"])
def test_the_first_job_that_waits_is_not_delayed(policy):
    # B has 100 s. D would end at 127 s and delay it; E ends at 68 s. C, in any case, fits at 150 s, with D.
    assert starts(pool(3, FIVE), policy) == {"A": 0, "B": 100, "C": 150, "D": 150, "E": 8}


# Of four processors A has three until 100 s. B needs three for 20 s: at 100 s, which leaves one free. C needs two for
# 40 s: at 120 s; D two for 100 s: at 120 s, too. E needs one, from 8 s to 133 s.
SIX = [job("A", 3, 100), job("B", 3, 20, 5), job("C", 2, 40, 6), job("D", 2, 100, 7), job("E", 1, 125, 8)]


def test_reservations_are_for_as_many_jobs_as_the_policy_says():
    # EASY: E starts at 8 s next to B. C starts at 120 s on two of three, D when E ends.
    assert starts(pool(4, SIX), "easy") == {"A": 0, "B": 100, "C": 120, "D": 133, "E": 8}
    # Two reservations: E does not delay C either; D, the third, has none.
    assert starts(pool(4, SIX), "hybrid", reservation_depth=2) == {"A": 0, "B": 100, "C": 120, "D": 133, "E": 8}
    # If C needs all four, E delays it: not with two reservations, where D and E start when C ends at 160 s.
    large = [*SIX[:2], SIX[2].replace(tasks=4), *SIX[3:]]
    assert starts(pool(4, large), "easy") == {"A": 0, "B": 100, "C": 133, "D": 173, "E": 8}
    assert starts(pool(4, large), "hybrid", reservation_depth=2) == {"A": 0, "B": 100, "C": 120, "D": 160, "E": 160}
    # All: E may not delay D, which has 120 s; next to C and D no processor is left until 160 s.
    all_reserved = {"A": 0, "B": 100, "C": 120, "D": 120, "E": 160}
    assert starts(pool(4, SIX), "conservative") == all_reserved
    assert starts(pool(4, SIX), "hybrid") == all_reserved


def test_a_cycle_looks_at_so_many_jobs():
    # Of three processors one is free. B alone is looked at, until it starts at 100 s; then C, then D, at 150 s; then E.
    assert starts(pool(3, FIVE), "easy", queue_depth=1) == {"A": 0, "B": 100, "C": 150, "D": 150, "E": 250}
    # B, C and D are looked at, and E not before B starts.
    assert starts(pool(3, FIVE), "easy", queue_depth=3)["E"] == 250


def test_a_cycle_that_starts_jobs_is_followed_by_another():
    # Five jobs fit at 0 s, and a cycle looks at two.
    assert set(starts(pool(5, [job(name, 1, 10) for name in "ABCDE"]), "fcfs", queue_depth=2).values()) == {0.0}


def test_reservations_are_made_anew():
    # Two processors; A has one until 100 s by its estimate, and ends at 30 s. B, both for 50 s, had 100 s and starts at
    # 30 s. C, one for 90 s, fits beside neither plan.
    early = [job("A", 1, 30, estimate=100.0), job("B", 2, 50, 5), job("C", 1, 110, 6)]
    assert starts(pool(2, early), "conservative") == {"A": 0, "B": 30, "C": 80}


@pytest.mark.parametrize("seed", range(20))
def test_easy_with_a_deep_queue_is_the_policy_easy(seed):
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            str(k), int(rng.integers(1, 8)), float(run), arrival=float(rng.integers(0, 200)), estimate=float(run + more)
        )
        for k, (run, more) in enumerate(rng.integers(1, 60, (60, 2)))
    ]
    instance = pool(8, jobs)
    expected = {placement.job: placement.start for placement in coalloc.simulate(instance, "easy").schedule}
    assert starts(instance, "easy", queue_depth=1000) == expected


def test_a_branch_goes_on_as_the_run_does():
    instance = pool(3, FIVE)
    expected = coalloc.simulate(instance, "flux", queue_policy="hybrid", queue_order="wfp3").schedule
    simulation = coalloc.Simulation(instance, "flux", queue_policy="hybrid", queue_order="wfp3")
    while not simulation.finished:
        branch = simulation.branch()
        branch.run()
        assert branch.result().schedule == expected
        simulation.step()


@pytest.mark.parametrize(
    ("option", "wrong"), [("queue_policy", "backfill"), ("queue_depth", 0), ("reservation_depth", 1.5)]
)
def test_wrong_options_are_one_line(option, wrong):
    with pytest.raises(CoallocError, match=option):
        coalloc.simulate(pool(3, FIVE), "flux", **{option: wrong})
