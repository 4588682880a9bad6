"""Shapes of a job: what they are, their faults, and files of what says one."""

from __future__ import annotations

import json

import pytest

import coalloc
from coalloc import Cluster, Instance, InstanceError, Job, NodeGroup, Placement, Platform, RunningJob, Schedule, Shape
from coalloc.documents.kinds import document_of
from coalloc.instance.files import INSTANCE

GROUPS = [NodeGroup(2, power=1.0), NodeGroup(2, power=1.0, features=["a", "b"])]
PLATFORM = Platform([Cluster("C1", GROUPS, link_bandwidth=10.0)])


def test_a_job_runs_as_one_of_its_shapes():
    job = Job("J1", 2, 10.0, estimate=12.0, times={"a": 8.0}, shapes=[Shape(4, 6.0), Shape(1, 18.0, times={"b": 9.0})])
    own, wide, narrow = job.in_shapes
    assert own == Job("J1", 2, 10.0, estimate=12.0, times={"a": 8.0})
    assert wide == Job("J1", 4, 6.0)
    assert narrow == Job("J1", 1, 18.0, times={"b": 9.0})
    assert own.in_shapes == (own,)


def test_faults_of_shapes_come_at_once():
    jobs = [
        Job("J1", 2, 10.0, shapes=[Shape(5, 6.0), Shape(2, 9.0), Shape(1, 1.0), Shape(1, 2.0)]),
        Job("J2", 1, 10.0, shapes=[Shape(2, 6.0, times={"a": 1.0, "b": 1.0})]),
    ]
    with pytest.raises(InstanceError) as caught:
        Instance(PLATFORM, jobs, [RunningJob(Job("R1", 1, 5.0, shapes=[Shape(2, 3.0)]), ["C1/0"], 5.0)])
    assert str(caught.value).splitlines() == [
        "jobs[1].shapes[0].times: must name one feature of each group, "
        "got 'a' and 'b' of platform.clusters[0].nodes[1]",
        "jobs[0].shapes[0].tasks: must be at most 4 (all processors of the platform), got 5",
        "jobs[0].shapes[1].tasks: must differ from the tasks of other shapes, got 2",
        "jobs[0].shapes[3].tasks: must differ from the tasks of other shapes, got 1",
        "running[0].job.shapes: must not be given: a running job has one shape",
    ]


def test_a_document_has_the_faults_of_a_value(tmp_path):
    document = document_of(Instance(PLATFORM, [Job("J1", 2, 10.0, shapes=[Shape(4, 6.0)])]), INSTANCE)
    assert document["jobs"][0]["shapes"] == [{"tasks": 4, "base_time": 6.0, "estimate": 6.0}]
    document["jobs"][0]["shapes"] = [{"tasks": 2, "base_time": 6.0}, {"tasks": 0, "base_time": -1.0}]
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        coalloc.read_instance(path)
    assert [line.partition(": ")[2] for line in str(caught.value).splitlines()] == [
        "jobs[0].shapes[1].tasks: must be at least 1, got 0",
        "jobs[0].shapes[1].base_time: must be above 0, got -1.0",
        "jobs[0].shapes[0].tasks: must differ from the tasks of other shapes, got 2",
    ]


@pytest.mark.parametrize(("shape", "version"), [(0, 1), (1, 2)])
def test_a_schedule_that_names_a_shape_is_of_version_2(shape, version, tmp_path):
    schedule = Schedule([Placement("J1", 0.0, 6.0, ["C1/0-3"], shape=shape)])
    path = tmp_path / "schedule.json"
    coalloc.write_schedule(schedule, path)
    document = json.loads(path.read_text())
    assert document["version"] == version
    assert document["placements"][0].get("shape", 0) == shape
    assert coalloc.read_schedule(path) == schedule
    assert list(schedule.to_frame().get("shape", [])) == [shape] * shape
    if shape:
        path.write_text(json.dumps(document | {"version": 1}))
        with pytest.raises(InstanceError, match=r"placements\[0\]\.shape: requires version 2 of the format"):
            coalloc.read_schedule(path)
