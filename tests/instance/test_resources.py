"""Resources by name: their faults, and what the platform has of them."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob, Shape
from coalloc.instance.resources import contended_nodes, level_of, tasks_on_node, tasks_within, with_more

GROUPS = [NodeGroup(2, 1.0, cores=2, resources={"gpus": 1.0}), NodeGroup(3, 1.0)]
PLATFORM = Platform(
    [
        Cluster("C1", GROUPS, link_bandwidth=10.0, resources={"licences": 4.0}),
        Cluster("C2", [NodeGroup(1, 1.0, resources={"gpus": 4.0})], link_bandwidth=10.0),
    ],
    resources={"watts": 100.0},
)


def faults(make) -> list[str]:
    with pytest.raises(InstanceError) as caught:
        make()
    return str(caught.value).splitlines()


def test_where_a_resource_is():
    assert [level_of(PLATFORM, name) for name in ("watts", "licences", "gpus")] == ["platform", "cluster", "node"]
    # 2 nodes with 1 GPU and one with 4; twice as much of them is 12, of what else there is as much as before.
    assert [PLATFORM.total_of(name) for name in ("watts", "licences", "gpus")] == [100.0, 4.0, 6.0]
    more = with_more(PLATFORM, "gpus", 2.0)
    assert [more.total_of(name) for name in ("watts", "licences", "gpus")] == [100.0, 4.0, 12.0]


def test_how_many_tasks_a_place_can_have():
    job = Job("J1", 8, 1.0, resources={"licences": 1.0}, task_resources={"licences": 0.5, "gpus": 1.0})
    # 1 + 6 * 0.5 is 4; where there is less than the 1 as a whole, no task.
    assert [tasks_within(limit, job, "licences", 8) for limit in (4.0, 0.9, 5.0)] == [6, 0, 8]
    assert [tasks_on_node(group, ("gpus",), job) for group in GROUPS] == [1, 0]


def test_nodes_on_which_tasks_meet():
    # On a node of two cores with one GPU two tasks ask for 2; on nodes of one core tasks are alone.
    job = Job("J1", 1, 1.0, task_resources={"gpus": 1.0})
    assert contended_nodes(PLATFORM, [job], ["gpus"]) == [0, 1]
    assert contended_nodes(PLATFORM, [job.replace(task_resources={"gpus": 0.5})], ["gpus"]) == []


def test_a_job_takes_its_amount_as_a_whole_once():
    job = Job("J1", 3, 1.0, resources={"watts": 10.0}, task_resources={"watts": 5.0})
    assert [job.amount("watts", tasks) for tasks in (0, 1, 3)] == [0.0, 15.0, 25.0]
    assert job.asks_resources
    assert not Job("J2", 1, 1.0, resources={"watts": 0.0}).asks_resources


def test_amounts_are_from_0_on():
    said = "resources.watts: must be at least 0, got -1.0"
    assert faults(lambda: Job("J1", 1, 1.0, resources={"watts": -1.0})) == [said]
    assert faults(lambda: PLATFORM.replace(resources={"watts": -1.0})) == [said]
    assert faults(lambda: Job("J1", 1, 1.0, task_resources={"watts": float("inf")})) == [
        "task_resources.watts: must be finite, got inf"
    ]


def test_a_resource_is_of_one_level():
    nodes = [GROUPS[0], GROUPS[1].replace(resources={"watts": 1.0})]
    both = [PLATFORM.clusters[0].replace(nodes=nodes, resources={"gpus": 1.0, "licences": 4.0})]
    assert faults(lambda: PLATFORM.replace(clusters=both)) == [
        "clusters[0].nodes[0].resources.gpus: must be given at one level (platform, clusters or nodes), but is also in "
        "clusters[0].resources",
        "clusters[0].nodes[1].resources.watts: must be given at one level (platform, clusters or nodes), but is "
        "also in "
        "resources",
    ]


def test_unknown_resources_and_jobs_that_take_too_much_are_faults():
    jobs = [
        Job("J1", 1, 1.0, resources={"licenses": 1.0}),
        Job("J2", 1, 1.0, resources={"watts": 101.0}),
        Job("J3", 4, 1.0, task_resources={"gpus": 1.0}),  # one on each of three nodes: there is room for 3
        Job("J4", 4, 1.0, task_resources={"gpus": 1.0}, shapes=[Shape(3, 2.0)]),
        Job("J5", 2, 1.0, resources={"licences": 1.0}, task_resources={"licences": 1.5}),
    ]
    running = [RunningJob(Job("R1", 1, 1.0, task_resources={"gpu": 1.0}), ["C2/0"], 5.0)]
    assert faults(lambda: Instance(PLATFORM, jobs, running)) == [
        "jobs[0].resources.licenses: must be a resource of the platform, its clusters or its nodes, got 'licenses'",
        "jobs[1].resources.watts: must be lower: the capacity suffices for 0 of 1 tasks",
        "jobs[2].task_resources.gpus: must be lower: the capacity suffices for 3 of 4 tasks",
        "running[0].job.task_resources.gpu: must be a resource of the platform, its clusters or its nodes, got 'gpu'",
    ]


def test_a_schema_says_what_the_properties_mean():
    definitions = coalloc.io.schema("instance")["$defs"]
    for owner in ("Job", "NodeGroup", "Cluster", "Platform"):
        assert "units" in definitions[owner]["properties"]["resources"]["description"]
    amounts = definitions["Job"]["properties"]["task_resources"]["additionalProperties"]
    assert (amounts["type"], amounts["minimum"]) == ("number", 0)
