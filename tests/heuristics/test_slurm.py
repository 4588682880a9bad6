"""Slurm's main scheduler and its backfilling: schedules by hand, and a reference that goes second by second."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Window
from tests.heuristics.slurm_reference import Options, slurm


def pool(processors, jobs, **platform):
    return Instance(Platform([Cluster("C1", [NodeGroup(processors, power=1.0)], 100.0)], **platform), jobs)


def starts(instance, **options):
    """Return the start of each job, s."""
    run = coalloc.simulate(instance, "slurm", **options)
    return {placement.job: placement.start for placement in run.schedule}


def job(name, tasks, seconds, arrival=0.0, **others):
    return Job(name, tasks, float(seconds), arrival=float(arrival), **others)


# Of two processors A has one until 100 s. B needs both, C and D one each, for 40 s and 80 s; they come at 5, 6 and 7 s.
FOUR = [job("A", 1, 100), job("B", 2, 50, 5), job("C", 1, 40, 6), job("D", 1, 80, 7)]


def test_jobs_behind_the_first_that_waits_start_in_a_cycle_alone():
    # B does not fit at 5 s: nothing more starts until 30 s. C is planned until 70 s then, before B, which can start at
    # 100 s. When C ends, D, for 80 s, has 30 s until B. B has both until 150 s, then D.
    assert starts(pool(2, FOUR), bf_resolution=10.0) == {"A": 0, "B": 100, "C": 30, "D": 150}


def test_an_interval_says_when_jobs_pass():
    # A cycle at 10 s: C until 50 s; the next at 50 s, when C has just ended: D would end at 130 s.
    assert starts(pool(2, FOUR), bf_interval=10.0, bf_resolution=10.0) == {"A": 0, "B": 100, "C": 10, "D": 150}
    # A cycle at 120 s and no earlier: B starts by priority at 100 s, C and D at 150 s.
    assert starts(pool(2, FOUR), bf_interval=120.0, bf_resolution=10.0) == {"A": 0, "B": 100, "C": 150, "D": 150}


def test_a_coarse_resolution_keeps_a_job_back():
    # In steps of 60 s A is planned until 120 s, and C from 30 s until 90 s: as above. In steps of 90 s A is planned
    # until 180 s, C from 30 s until 120 s. It ends at 70 s; in the next cycle D is planned from 90 s until 180 s.
    # A ends at 100 s, but B needs both, and D runs until 170 s.
    assert starts(pool(2, FOUR)) == {"A": 0, "B": 100, "C": 30, "D": 150}
    assert starts(pool(2, FOUR), bf_resolution=90.0) == {"A": 0, "B": 170, "C": 30, "D": 90}


def test_what_is_beyond_the_window_is_not_planned():
    # A window of one minute: at 30 s B, which could start at 100 s, has no reservation, and D passes until 110 s.
    late = [FOUR[0], FOUR[1], FOUR[3]]
    assert starts(pool(2, late), bf_resolution=10.0, bf_window=1.0) == {"A": 0, "B": 110, "D": 30}
    assert starts(pool(2, late), bf_resolution=10.0) == {"A": 0, "B": 100, "D": 150}


def test_a_cycle_tests_so_many_jobs():
    # One is tested: B, at 30 s. When B runs, at 100 s, C is the first in the queue; both start at 150 s.
    assert starts(pool(2, FOUR), bf_resolution=10.0, bf_max_job_test=1) == {"A": 0, "B": 100, "C": 150, "D": 150}


def test_a_cycle_tests_so_many_jobs_of_a_user():
    # Three processors, A has one until 100 s, B needs all. Of ann one job is tested in each cycle: C passes at 30 s,
    # and with it E, of bob, which ends at 50 s; D passes at 60 s. Without the limit D is before E.
    jobs = [job("A", 1, 100), job("B", 3, 50, 5, user="eve")]
    jobs += [job("C", 1, 40, 6, user="ann"), job("D", 1, 20, 7, user="ann"), job("E", 1, 20, 8, user="bob")]
    options = {"bf_resolution": 10.0, "bf_max_job_user": 1}
    assert starts(pool(3, jobs), **options) == {"A": 0, "B": 100, "C": 30, "D": 60, "E": 30}
    assert starts(pool(3, jobs), bf_resolution=10.0) == {"A": 0, "B": 100, "C": 30, "D": 30, "E": 60}


def test_every_job_that_is_planned_keeps_its_time():
    # Three processors, A has two until 100 s. B needs three: 100 s to 150 s; C two: 150 s to 250 s. D, one for 120 s,
    # would delay B, and starts with C at 150 s. E, one for 60 s, passes at 30 s.
    jobs = [job("A", 2, 100), job("B", 3, 50, 5), job("C", 2, 100, 6), job("D", 1, 120, 7), job("E", 1, 60, 8)]
    found = starts(pool(3, jobs), bf_resolution=10.0)
    assert found == {"A": 0, "B": 100, "C": 150, "D": 150, "E": 30}


def test_each_partition_stops_at_its_own_first_job():
    # B waits for both nodes of its partition; D is behind it there, E is in another and starts at once.
    groups = [NodeGroup(2, power=1.0, features=["old"]), NodeGroup(1, power=1.0, features=["new"])]
    jobs = [job("A", 1, 100), job("B", 2, 50, 5), job("D", 1, 20, 6), job("E", 1, 20, 7)]
    of = {"A": "old", "B": "old", "D": "old", "E": "new"}
    jobs = [one.replace(requires=[of[one.id]]) for one in jobs]
    instance = Instance(Platform([Cluster("C1", groups, 100.0)]), jobs)
    assert starts(instance, bf_resolution=10.0) == {"A": 0, "B": 100, "D": 30, "E": 7}


def test_a_job_that_runs_longer_than_it_said_is_expected_to_end_one_step_later():
    # A said 20 s, and runs for 95 s. At 30 s it is expected to end at 60 s, where B is planned: C, 60 s in steps of
    # 60 s, does not fit before it. At 60 s A is expected to end at 120 s, and C fits.
    jobs = [job("A", 1, 95, estimate=20.0), job("B", 2, 50, 5), job("C", 1, 40, 6)]
    assert starts(pool(2, jobs)) == {"A": 0, "B": 100, "C": 60}


def test_a_maintenance_window_is_kept():
    # Node C1/0 is closed from 50 s to 90 s: A, for 60 s, starts on the other. B, for 60 s, waits; C ends at 50 s.
    window = Window("C1", start=50.0, end=90.0, nodes=["C1/0"])
    jobs = [job("A", 1, 60), job("B", 1, 60), job("C", 1, 20)]
    found = starts(pool(2, jobs, unavailable=[window]), bf_resolution=10.0)
    assert found == {"A": 0, "B": 60, "C": 0}


def test_fair_share_decides_who_is_first():
    # ann has had 100 s; bob's job starts at 100 s, though he came last, and ann's behind it.
    jobs = [job("A1", 1, 100, user="ann"), job("A2", 1, 10, 5, user="ann"), job("B1", 1, 10, 6, user="bob")]
    weights = dict.fromkeys(("weight_age", "weight_job_size", "weight_partition"), 0.0)
    order = {"order": "multifactor", **weights, "calc_period": 1.0}
    assert starts(pool(1, jobs), queue_order=order) == {"A1": 0, "A2": 110, "B1": 100}


def test_priorities_that_change_bring_a_cycle():
    # Two processors; A has one until 1000 s. B needs both, C one for 2000 s: behind B it never passes. At 100 s the
    # order turns: C is first, and starts in the first cycle from then on, at 120 s.
    class Turning:
        changes_every = 100.0

        def key(self, state):
            return lambda job: job.tasks if state.now >= 100.0 else -job.tasks

    jobs = [job("A", 1, 1000), job("B", 2, 50, 5), job("C", 1, 2000, 6)]
    assert starts(pool(2, jobs), queue_order=Turning(), bf_resolution=10.0) == {"A": 0, "B": 2120, "C": 120}


@pytest.mark.parametrize("seed", [*range(40), 618, 657])
def test_starts_are_those_of_a_reference_second_by_second(seed):
    rng = np.random.default_rng(seed)
    processors, jobs = int(rng.integers(2, 9)), []
    for k, arrival in enumerate(np.sort(rng.integers(0, 400, 25)).tolist()):
        seconds, user = int(rng.integers(5, 120)), "abc"[rng.integers(3)]
        estimate = max(1.0, float(seconds * rng.choice([0.5, 1.0, 1.0, 2.0, 3.0]) // 1))
        jobs.append(job(f"J{k}", int(rng.integers(1, processors + 1)), seconds, arrival, estimate=estimate, user=user))
    options = Options(
        interval=int(rng.choice([7, 30])),
        window=60 * int(rng.choice([1, 2, 1440])),
        resolution=int(rng.choice([1, 10, 60])),
        max_test=int(rng.choice([2, 5, 100])),
        max_user=int(rng.choice([0, 1, 2])),
    )
    named = {f"bf_{name}": float(getattr(options, name)) for name in ("interval", "resolution")}
    named |= {
        "bf_window": options.window / 60,
        "bf_max_job_test": options.max_test,
        "bf_max_job_user": options.max_user,
    }
    assert starts(pool(processors, jobs), **named) == slurm(jobs, processors, options)


def test_a_branch_goes_on_as_the_run_does():
    instance = pool(2, [one.replace(id=f"{one.id}{n}", arrival=one.arrival + 40 * n) for n in range(6) for one in FOUR])
    expected = coalloc.simulate(instance, "slurm", queue_order="wfp3").schedule
    simulation = coalloc.Simulation(instance, "slurm", queue_order="wfp3")
    while not simulation.finished:
        branch = simulation.branch()
        branch.run()
        assert branch.result().schedule == expected
        simulation.step()


@pytest.mark.parametrize(
    ("option", "wrong", "said"),
    [("bf_interval", 0, "above 0"), ("bf_max_job_test", 0, "at least 1"), ("bf_max_job_user", 1.5, "an integer")],
)
def test_options_that_are_none(option, wrong, said):
    with pytest.raises(CoallocError, match=f"{option} of policy 'slurm' must be {said}"):
        coalloc.simulate(pool(2, FOUR), "slurm", **{option: wrong})
