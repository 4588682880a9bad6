"""The work bound: work over the processors that jobs may use, by scope, with the tails of releases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import discretise
from coalloc.solvers.bounds.simple import longest_job, packing, simple_bound
from coalloc.solvers.bounds.work import work
from tests.strategies import LAW, instances, list_schedule


def grid(*jobs: Job) -> Instance:
    """Return a site of 2 processors three times as fast, and one of 4."""
    small, large = Cluster("small", [NodeGroup(2, 3.0)], 0.0), Cluster("large", [NodeGroup(4, 1.0)], 0.0)
    return Instance(Platform([small, large]), jobs)


def test_work_is_done_by_all_sites_together():
    # 5 jobs of 2 * 30 s: 300 processor-seconds of the reference node, of which 2*3 + 4*1 are done per second.
    jobs = [Job(f"J{k}", 2, 30.0) for k in range(5)]
    assert coalloc.lower_bound(grid(*jobs), method="work", scope="cluster") == pytest.approx(30.0)
    # Packing takes each for the fast site, on all 6 processors: 5 * 2 * 10 / 6.
    assert packing(discretise(grid(*jobs), None, scope="cluster")) == pytest.approx(100 / 6)


def test_jobs_too_large_for_a_site_are_done_by_the_others():
    # 3 tasks find room at the large site alone: two jobs of 3 * 20 s are 120 processor-seconds on 4 processors. The
    # small site is no help; with scope platform it is: 120 over 10.
    jobs = [Job(f"J{k}", 3, 20.0) for k in range(2)]
    assert coalloc.lower_bound(grid(*jobs), method="work", scope="cluster") == pytest.approx(30.0)
    assert work(discretise(grid(*jobs), None)) == pytest.approx(12.0)
    # What is known without any search has it.
    assert simple_bound(discretise(grid(*jobs), None, scope="cluster")) == pytest.approx(30.0)


def test_the_longest_job_runs_on_the_fastest_site_that_can_hold_it():
    # Across the sites it would run at the pace of the large one as well; 2 tasks fit into the small one.
    assert longest_job(discretise(grid(Job("J1", 3, 30.0)), None, scope="cluster")) == 30.0
    assert longest_job(discretise(grid(Job("J1", 2, 30.0)), None, scope="cluster")) == 10.0
    # Two fast sites of 2 processors hold 3 tasks together, but neither does alone.
    platform = Platform([Cluster(name, [NodeGroup(2, 3.0)], 9.0) for name in "AB"] + [grid().platform.clusters[1]])
    instance = Instance(platform, [Job("J1", 3, 30.0)])
    assert longest_job(discretise(instance, None)) == 10.0
    assert longest_job(discretise(instance, None, scope="cluster")) == 30.0


def test_the_tail_of_a_release_counts():
    # From 100 s on: 4 jobs of 4 * 10 s at the large site, one at a time. The earliest arrival is 0.
    jobs = [Job("J0", 1, 3.0), *(Job(f"J{k}", 4, 10.0, arrival=100.0) for k in range(1, 5))]
    assert coalloc.lower_bound(grid(*jobs), method="work", scope="cluster") == pytest.approx(140.0)


def test_in_slots_a_job_takes_whole_ones():
    # 10 s on the fast site, 30 s on the other: 2 and 5 slots of 7 s, at powers 3 and 1: 5 per processor at least.
    # 6 jobs of 2 tasks take 60 of 10 per slot: 6 slots.
    jobs = [Job(f"J{k}", 2, 30.0) for k in range(6)]
    assert coalloc.lower_bound(grid(*jobs), method="work", slot=7.0, scope="cluster") == 42.0


def test_no_jobs_do_no_work():
    assert work(discretise(grid(), None, scope="cluster")) == 0.0


@LAW
@given(instances(max_running=1), st.sampled_from(("platform", "cluster", "node")), st.sampled_from((None, 20.0)))
def test_no_schedule_ends_before_the_bound(instance, scope, slot):
    # In slots, rounded down: then slots are a relaxation as well.
    reduced, schedule = list_schedule(instance, scope)
    if len(schedule):
        end = max(placement.end for placement in schedule)
        problem = discretise(reduced, slot, "down", scope=scope)
        assert problem.clock.seconds(max(simple_bound(problem), work(problem))) <= end * (1.0 + 1e-9)
