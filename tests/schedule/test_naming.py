"""The assignment of nodes beside a slow reference, and what the engine refuses."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem.allocation import NodeClass
from coalloc.schedule import Occupation, assign_nodes

NUM_NODES = 300  # several words of 64 bits, and a level of words above them


def test_names_are_the_lowest_free_ones_as_one_by_one():
    rng = np.random.default_rng(1)
    for _ in range(30):
        instance, classes, jobs = random_jobs(rng)
        names = assign_nodes(instance, classes, jobs)
        assert [sorted(map(number, of_job)) for of_job in names] == one_by_one(instance, classes, jobs)


def test_a_set_of_nodes_that_lie_apart_is_named_by_ranges_in_order():
    # Class 0 has even nodes, class 1 odd ones: four nodes side by side are one range, of both classes.
    platform = Platform([Cluster("C1", [NodeGroup(8, 1.0)], link_bandwidth=125.0)])
    group = platform.clusters[0].nodes[0]
    classes = [NodeClass(0, group, (0, 2, 4, 6)), NodeClass(0, group, (1, 3, 5, 7))]
    names = assign_nodes(Instance(platform, ()), classes, [Occupation("A", 0.0, 1.0, (2, 2)), late((1, 0))])
    assert [of_job.texts for of_job in names] == [("C1/0-3",), ("C1/4",)]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"capacities": [1 << 62]}, "capacities of naming_new is too large"),
        ({"class_of": [1]}, "class_of of naming_new is out of range"),
        ({"counts": [-1]}, "counts of naming_new is out of range"),
        ({"held_class": [-1]}, "held_class of naming_new is out of range"),
        ({"held_first": [-1]}, "held_first of naming_new is out of range"),
        ({"held_stop": [9]}, "held_stop of naming_new is out of range"),
        ({"steps": [0, 1, 1]}, "steps of naming_new is out of order"),
        ({"steps": [1, 0, 2]}, "steps of naming_new is out of order"),
        ({"steps": [1, 2]}, "steps of naming_new is out of order"),
        ({"steps": [0, 3]}, "steps of naming_new is out of order"),
    ],
)
def test_the_engine_refuses(given, fault):
    # One take of 2 of 4 processors, of which one is held; step 1 releases the take, step 2 what is held.
    sound = {
        "capacities": [4],
        "class_of": [0],
        "counts": [2],
        "held_class": [0],
        "held_first": [1],
        "held_stop": [2],
        "steps": [0, 1, 2],
    }
    arrays = [np.array(value, np.int64) for value in (sound | given).values()]
    with pytest.raises(InternalError, match=fault):
        engine().naming_new(1, 1, 1, len(arrays[-1]), *arrays)


def late(allocation):
    return Occupation("late", 0.5, 1.0, allocation)


def number(name):
    return int(name.partition("/")[2])


def random_jobs(rng):
    """Return nodes of two classes, some held at first, and jobs that never ask for more than is free."""
    split = int(rng.integers(1, NUM_NODES))
    platform = Platform([Cluster("C1", [NodeGroup(NUM_NODES, 1.0)], link_bandwidth=125.0)])
    held = rng.choice(NUM_NODES, 20, replace=False)
    running = RunningJob(Job("R", 20, 1.0), [f"C1/{node}" for node in held], 7.0)
    group = platform.clusters[0].nodes[0]
    shuffled = rng.permutation(NUM_NODES)
    classes = [NodeClass(0, group, tuple(sorted(part.tolist()))) for part in np.split(shuffled, [split])]
    capacities = [len(set(c.processors) - set(held.tolist())) for c in classes]
    jobs = []
    for j in range(80):  # at most 10 jobs run at once: each lasts less than 10 s, and one starts each second
        tasks = tuple(int(rng.integers(0, capacity // 10 + 1)) for capacity in capacities)
        jobs.append(Occupation(f"J{j}", float(j), j + float(rng.choice([0.0, 3.0, 9.5])), tasks))
    return Instance(platform, (), (running,)), classes, [jobs[j] for j in rng.permutation(80)]


def one_by_one(instance, classes, jobs):
    """Return the numbers that each job gets where every processor is in a heap."""
    held = {number(name) for run in instance.running for name in run.nodes}
    free = [sorted(set(c.processors) - held) for c in classes]
    busy = [(instance.running[0].end, g, p) for g, c in enumerate(classes) for p in c.processors if p in held]
    found = {}
    for job in sorted(jobs, key=lambda job: job.start):
        for _, g, processor in [release for release in busy if release[0] <= job.start]:
            heapq.heappush(free[g], processor)
        busy = [release for release in busy if release[0] > job.start]
        if job.end == job.start:
            found[job.job] = [p for g, tasks in enumerate(job.allocation) for p in classes[g].processors[:tasks]]
        else:
            taken = [(g, heapq.heappop(free[g])) for g, tasks in enumerate(job.allocation) for _ in range(tasks)]
            busy += [(job.end, g, processor) for g, processor in taken]
            found[job.job] = [processor for _, processor in taken]
    return [sorted(found[job.job]) for job in jobs]
