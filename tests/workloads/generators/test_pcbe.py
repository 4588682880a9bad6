"""The comparative workloads of PCBE."""

import pytest

import coalloc
from coalloc.workloads.generators import generate


def test_the_platform_is_that_of_the_comparatives():
    fast, slow = generate("pcbe").platform.clusters[0].nodes
    assert [(group.count, group.cores, group.clock) for group in (fast, slow)] == [(1, 4, 3.4), (1, 4, 1.5)]
    assert slow.power == 1.0
    assert fast.power == pytest.approx(3.4 / 1.5)


def test_more_nodes_change_no_job():
    fast, slow = generate("pcbe", nodes=6).platform.clusters[0].nodes
    assert (fast.count, slow.count) == (3, 3)
    assert generate("pcbe", nodes=6).jobs == generate("pcbe").jobs
    with pytest.raises(coalloc.CoallocError, match="nodes: must be even, because half of the nodes are fast, got 3"):
        generate("pcbe", nodes=3)


@pytest.mark.parametrize("seed", range(5))
def test_all_workloads_have_22_tasks_that_arrive_within_two_seconds(seed):
    jobs = generate("pcbe", seed=seed).jobs
    assert sum(job.tasks for job in jobs) == 22
    assert {job.tasks for job in jobs} <= {2, 4}
    arrivals = [job.arrival for job in jobs]
    assert arrivals == sorted(arrivals)
    assert arrivals[0] == 0.0
    assert arrivals[-1] <= 2.0
    # Three profiles, of 10, 5 and 1 s at 1 GHz; users give the energy of a core of the slow node.
    assert {job.estimate for job in jobs} <= {10.0, 5.0, 1.0}
    assert all(job.base_time == job.estimate / 1.5 for job in jobs)
    assert all(job.energy_estimate == job.estimate * 1.59 for job in jobs)


@pytest.mark.parametrize(("jobs", "tasks", "total"), [(8, 22, 22), (1, None, 4), (14, None, 44), (5, 20, 20)])
def test_tasks_follow_the_number_of_jobs(jobs, tasks, total):
    drawn = generate("pcbe", seed=3, jobs=jobs, tasks=tasks).jobs
    assert (len(drawn), sum(job.tasks for job in drawn)) == (jobs, total)


@pytest.mark.parametrize("tasks", [12, 30, 21])
def test_tasks_that_no_seven_jobs_have(tasks):
    with pytest.raises(
        coalloc.CoallocError, match=rf"tasks: must be even and from 2 to 4 per job \(7 jobs\), got {tasks}"
    ):
        generate("pcbe", tasks=tasks)


def test_workloads_can_be_metered():
    instance = generate("pcbe", seed=1)
    schedule = coalloc.simulate(instance, "pcbe", criterion="edp").schedule
    assert coalloc.energy(instance, schedule).total > 0.0
