"""Values made from Python: the same faults as in a file, immutable, and changed only into valid copies."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from coalloc.documents.sentences import json_path, shown
from coalloc.instance import (
    Cluster,
    Fault,
    Instance,
    InstanceError,
    Job,
    NodeGroup,
    Platform,
    RunningJob,
    Switch,
    read_instance,
)
from tests.instance.documents import CROSS_FAULTS, FIELD_FAULTS, FIXTURES, broken

PLATFORM = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)])


def lines(make, *args, **kwargs):
    """Return the lines of the complaint about one call."""
    with pytest.raises(InstanceError) as caught:
        make(*args, **kwargs)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"tasks": 0}, "tasks: must be at least 1, got 0"),
        ({"tasks": 3.0}, "tasks: must be an integer, got 3.0"),
        ({"tasks": True}, "tasks: must be an integer, got true"),
        ({"tasks": np.True_}, "tasks: must be an integer, got True"),
        ({"tasks": np.int64(0)}, "tasks: must be at least 1, got 0"),
        ({"base_time": 0}, "base_time: must be above 0, got 0"),
        ({"base_time": True}, "base_time: must be a number, got true"),
        ({"base_time": float("nan")}, "base_time: must be finite, got nan"),
        ({"base_time": float("inf")}, "base_time: must be finite, got inf"),
        ({"base_time": 10**400}, "base_time: must be finite, got a number with about 401 digits"),
        ({"base_time": "600"}, "base_time: must be a number, got '600'"),
        ({"base_time": None}, "base_time: must be a number, got null"),
        ({"processing_share": 1.1}, "processing_share: must be at most 1, got 1.1"),
        ({"id": ""}, "id: must not be empty"),
        ({"id": 1}, "id: must be a string, got 1"),
        ({"arrival": -1}, "arrival: must be at least 0, got -1"),
        ({"memory": -1}, "memory: must be at least 0, got -1"),
        ({"weight": -0.5}, "weight: must be at least 0, got -0.5"),
        ({"weight": None}, "weight: must be a number, got null"),
        ({"due_date": -1}, "due_date: must be at least 0, got -1"),
        ({"due_date": float("inf")}, "due_date: must be finite, got inf"),
        ({"task_bandwidth": 1e308}, "task_bandwidth: must be at most 1e+100, got 1e+308"),
    ],
)
def test_a_job_with_one_fault(fields, line):
    assert lines(Job, **({"id": "J1", "tasks": 1, "base_time": 600.0} | fields)) == [line]


def test_all_faults_of_a_call():
    assert lines(Job, "", 0, colour="red") == [
        "id: must not be empty",
        "tasks: must be at least 1, got 0",
        "base_time: is missing",
        "colour: is not a known key; known keys: id, tasks, base_time, processing_share, task_bandwidth, arrival, "
        "estimate, user, memory, energy_estimate, weight, due_date, deadline, after, eligible, "
        "requires, times, shapes, resources, task_resources, max_clusters, min_tasks_per_cluster, slices, level, lags",
    ]


def test_arguments_without_end_are_a_fault():
    (line,) = lines(Switch, "S1", "S0", 1.0, None, "more")
    assert line.startswith("['argument 4']: ")


def test_a_platform_and_an_instance_check_what_is_between_their_parts():
    cluster = PLATFORM.clusters[0]
    assert lines(Platform, [cluster, cluster]) == [
        "clusters[1].name: must not repeat the cluster name 'C1' of clusters[0].name"
    ]
    assert lines(Platform, []) == ["clusters: must not be empty"]
    assert lines(Cluster, "C1", [], 1.0) == ["nodes: must not be empty"]
    jobs = [Job("J1", 5, 1.0), Job("J1", 1, 1.0)]
    running = [RunningJob(Job("R1", 1, 1.0), ["C1/0", "C1/0", "C1/00"], 1.0)]
    assert lines(Instance, PLATFORM, jobs, running) == [
        "jobs[1].id: must not repeat the job id 'J1' of jobs[0].id",
        "jobs[0].tasks: must be at most 4 (all processors of the platform), got 5",
        "running[0].nodes: must name 1 processors, one per task, got 3",
        "running[0].nodes[1]: must not repeat 'C1/0' of running[0].nodes[0]",
        "running[0].nodes[2]: must be a processor of the platform, got 'C1/00'",
    ]


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_job_larger_than_any_text_of_its_size(digits):
    # Python refuses to write a number of 5,000 digits; the message must not.
    (line,) = lines(Instance, PLATFORM, [Job("J1", 10**digits, 1.0)])
    assert line.startswith(
        "jobs[0].tasks: must be at most 4 (all processors of the platform), got a number with about "
    )


FAULTS = FIELD_FAULTS | CROSS_FAULTS


def test_a_python_call_is_refused_like_a_file():
    # The keywords are the JSON keys, down to the last part; only files have an envelope.
    for place, content, line in (fault for fault in FAULTS.values() if fault[0][0] not in ("version", "format")):
        document = {key: part for key, part in broken((place, content)).items() if key not in ("version", "format")}
        found = lines(Instance, **document)
        assert line.replace("known keys: format, version, ", "known keys: ") in found


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint32])
def test_whole_numbers_of_numpy_are_numbers(kind):
    job = Job("J1", tasks=kind(3), base_time=kind(60))
    assert (job.tasks, job.base_time) == (3, 60.0)
    assert (type(job.tasks), type(job.base_time)) == (int, float)
    assert type(NodeGroup(kind(2), kind(1)).count) is int


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_of_numpy_are_numbers_but_never_whole(kind):
    assert type(Job("J1", 1, base_time=kind(0.5)).base_time) is float
    assert lines(Job, "J1", kind(3), 1.0) == ["tasks: must be an integer, got 3.0"]


def test_the_estimate_is_the_base_time_unless_given():
    assert Job("J1", 1, 600).estimate == 600.0
    assert Job("J1", 1, 600, estimate=900).estimate == 900.0


def test_values_cannot_be_changed_only_replaced():
    job = Job("J1", 3, 600.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        job.tasks = 4
    assert job.replace(tasks=4) == Job("J1", 4, 600.0)
    assert job.tasks == 3
    assert lines(job.replace, tasks=0) == ["tasks: must be at least 1, got 0"]
    assert lines(job.replace, size=2)[0].startswith("size: is not a known key")
    assert lines(Instance(PLATFORM, [job]).replace, jobs=[job.replace(tasks=5)]) == [
        "jobs[0].tasks: must be at most 4 (all processors of the platform), got 5"
    ]


def test_equal_values_are_one():
    assert {Job("J1", 1, 60), Job("J1", 1, 60.0)} == {Job("J1", 1, 60.0)}
    assert Platform((Cluster("C1", (NodeGroup(4, 1.0),), 125.0),)) == PLATFORM


def test_values_and_errors_travel_between_processes():
    instance = read_instance(FIXTURES / "instance-v1.json")
    assert pickle.loads(pickle.dumps(instance)) == instance
    error = InstanceError([Fault("jobs[0]", "is missing")], "wl1.json")
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.faults, copied.source) == (str(error), error.faults, "wl1.json")


def test_a_path_from_above():
    assert Fault("tasks", "x").under("jobs[0]") == Fault("jobs[0].tasks", "x")
    assert Fault("[0].tasks", "x").under("jobs") == Fault("jobs[0].tasks", "x")
    assert Fault("", "x").under("jobs") == Fault("jobs", "x")
    assert Fault("jobs", "x").under("") == Fault("jobs", "x")
    assert json_path(("jobs", 3, "a b", "c")) == "jobs[3]['a b'].c"


def test_refused_values_are_shown_short_and_safe():
    assert shown({"a": 1}) == "an object"
    assert shown((1,)) == "a list"
    assert shown("\x1b[31m\u202e") == r"'\x1b[31m\u202e'"
    assert len(shown("x" * 1000)) < 70
    assert shown(10**5000) == "a number with about 5001 digits"
