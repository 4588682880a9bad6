"""Jobs that start in the order of a list."""

import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance import RunningJob
from coalloc.problem import discretise
from coalloc.rules.chronological_generation import InitialState, ListedJob, needs_of, starts_of

NODE = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2, memory=100.0)], 10.0)])
EARLY, LATE, WIDE = Job("early", 1, 4.0), Job("late", 1, 3.0, arrival=5.0), Job("wide", 2, 2.0)


def starts(*jobs, running=(), order=None):
    problem = discretise(Instance(NODE, jobs, running=running), None, scope="node")
    choices = []
    for j in range(len(jobs)) if order is None else order:
        (mode,) = problem.modes[j]
        needs = needs_of(problem, mode.allocation, mode.loads)
        choices.append(ListedJob(j, mode, problem.releases[j], mode.duration, needs))
    return starts_of(InitialState.of(problem), choices)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ((EARLY, LATE), [0.0, 5.0]),
        ((LATE, EARLY), [5.0, 5.0]),  # the other core is free from 0 on, but the early job is named after the late one
        ((EARLY, WIDE), [0.0, 4.0]),
        ((EARLY, EARLY.replace(id="twin"), WIDE), [0.0, 0.0, 4.0]),
        ((WIDE, EARLY), [0.0, 2.0]),
    ],
)
def test_none_starts_before_the_one_before_it(jobs, expected):
    assert starts(*jobs) == expected


def test_a_running_job_holds_its_core():
    running = [RunningJob(Job("r", 1, 9.0), ("C1/0.0",), 6.0)]
    assert starts(EARLY, WIDE, running=running) == [0.0, 6.0]


def test_memory_keeps_jobs_apart():
    # 60 MB each, of 100: the second starts when the first has ended.
    jobs = [EARLY.replace(memory=60.0), EARLY.replace(id="twin", memory=60.0)]
    assert starts(*jobs) == [0.0, 4.0]
