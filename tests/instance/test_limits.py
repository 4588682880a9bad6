"""Limits of an instance: their faults, and the resources that stand for them."""

from __future__ import annotations

import json

import pytest

import coalloc
from coalloc import Cluster, Instance, InstanceError, Job, Limit, NodeGroup, Platform, RunningJob
from coalloc.instance import as_resources

PLATFORM = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
JOBS = [Job("J1", 1, 10.0), Job("J2", 1, 10.0)]
RUNNING = [RunningJob(Job("R1", 1, 5.0), ["C1/0"], 5.0)]


def test_every_fault_of_limits_is_one_line():
    limits = [
        Limit("anna", ["J1", "J3"], 1.0),
        Limit("anna", ["J1", "J2", "J1"], 2.0),
        Limit("debug", ["J1", "J2"], 2.0, [1.0]),
        Limit("long", ["J1", "R1"], 2.0, [3.0, 5.0]),  # what runs already may have more than there is
        Limit("none", ["J2"], 0.5),
    ]
    with pytest.raises(InstanceError) as caught:
        Instance(PLATFORM, JOBS, RUNNING, limits=limits)
    assert str(caught.value).splitlines() == [
        "limits[1].name: must not repeat the limit name 'anna' of limits[0].name",
        "limits[0].jobs[1]: must be a job of the instance, got 'J3'",
        "limits[1].jobs[2]: must not repeat the job 'J1' of limits[1].jobs[0]",
        "limits[2].amounts: must have one amount per job, 2, got 1",
        "limits[3].amounts[0]: must be at most the capacity, 2, got 3.0",
        "limits[4].capacity: must be at least 1 (one job), got 0.5",
    ]


def test_a_file_says_the_same(tmp_path):
    path = tmp_path / "instance.json"
    coalloc.write_instance(Instance(PLATFORM, JOBS, limits=[Limit("anna", ["J1", "J2"], 1.0)]), path)
    document = json.loads(path.read_text())
    assert document["limits"] == [{"name": "anna", "jobs": ["J1", "J2"], "capacity": 1.0}]
    document["limits"] += [
        {"name": "b", "jobs": ["J9", 3], "capacity": 1},
        {"name": "c", "jobs": ["J1"], "capacity": -1, "amounts": [2]},
    ]
    path.write_text(json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        coalloc.read_instance(path)
    assert sorted(str(caught.value).splitlines()) == [
        f"{path}: limits[1].jobs[0]: must be a job of the instance, got 'J9'",
        f"{path}: limits[1].jobs[1]: must be a string, got 3",
        f"{path}: limits[2].capacity: must be at least 0, got -1",
    ]


def test_limits_become_resources_that_are_called_like_no_other():
    platform = PLATFORM.replace(resources={"limit anna": 7.0})
    limits = [Limit("anna", ["J1", "R1"], 3.0, [2.0, 1.0]), Limit("all", ["J1", "J2"], 1.0)]
    lowered = as_resources(Instance(platform, JOBS, RUNNING, limits=limits))
    assert lowered.limits == ()
    assert lowered.platform.resources == {"limit anna": 7.0, "limit anna'": 3.0, "limit all": 1.0}
    assert [job.resources for job in lowered.jobs] == [{"limit anna'": 2.0, "limit all": 1.0}, {"limit all": 1.0}]
    assert lowered.running[0].job.resources == {"limit anna'": 1.0}


def test_an_instance_without_limits_is_itself():
    instance = Instance(PLATFORM, JOBS)
    assert as_resources(instance) is instance
