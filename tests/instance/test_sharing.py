"""What an instance says of shared nodes: names of places, files, and a line for each fault."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from coalloc import (
    Cluster,
    Instance,
    InstanceError,
    Job,
    LocalUser,
    NodeGroup,
    Platform,
    Sharing,
    read_instance,
    write_instance,
)
from coalloc.documents.kinds import document_of
from coalloc.instance.files import INSTANCE
from coalloc.io import schema

GROUP = NodeGroup(2, power=1.0, memory=100.0, multiprogramming=3)
SHARED = Instance(
    Platform([Cluster("C1", [GROUP], 5.0)], sharing=Sharing(contract=None, paging=0.1)),
    [Job("J1", tasks=2, base_time=10.0, memory=110.0)],
    local_users=[LocalUser("C1/1", 0, 10, profile="shell", cpu=0.5, memory=20), LocalUser("C1/1", 10, 20)],
)


def test_places_are_named_as_cores_are():
    assert SHARED.platform.processor_names == ("C1/0.0", "C1/0.1", "C1/0.2", "C1/1.0", "C1/1.1", "C1/1.2")
    assert SHARED.platform.processor_node == (0, 0, 0, 1, 1, 1)


def test_what_is_shared_comes_back_from_a_file(tmp_path):
    write_instance(SHARED, tmp_path / "shared.json")
    assert read_instance(tmp_path / "shared.json") == SHARED
    Draft202012Validator(schema("instance")).validate(document_of(SHARED, INSTANCE))


def test_a_file_of_dedicated_nodes_says_nothing_of_sharing(tmp_path):
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 5.0)])
    write_instance(Instance(platform, [Job("J1", tasks=1, base_time=1.0)]), tmp_path / "dedicated.json")
    text = (tmp_path / "dedicated.json").read_text()
    assert not any(word in text for word in ("multiprogramming", "sharing", "local_users"))


def test_nodes_are_shared_where_anything_says_so():
    dedicated = Instance(Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 5.0)]), [])
    assert not dedicated.shares_nodes
    assert dedicated.replace(local_users=[LocalUser("C1/0", 0, 1)]).shares_nodes
    assert dedicated.replace(platform=dedicated.platform.replace(sharing=Sharing())).shares_nodes
    several = Cluster("C1", [NodeGroup(1, power=1.0), NodeGroup(1, power=1.0, multiprogramming=2)], 5.0)
    assert dedicated.replace(platform=Platform([several])).shares_nodes


GROUP_PATH = ("platform", "clusters", 0, "nodes", 0)
USER = {"node": "C1/0", "start": 0.0, "end": 5.0}
FAULTS = {
    "no place": ((*GROUP_PATH, "multiprogramming"), 0, "platform.clusters[0].nodes[0].multiprogramming: must be at "
    "least 1, got 0"),
    "several cores": ((*GROUP_PATH, "cores"), 2, "platform.clusters[0].nodes[0].cores: must be 1 with "
    "time-shared nodes, got 2"),
    "contract": (("platform", "sharing", "contract"), 0.0, "platform.sharing.contract: must be above 0, got 0.0"),
    "much contract": (("platform", "sharing", "contract"), 1.5, "platform.sharing.contract: must be at most 1, got "
    "1.5"),
    "paging": (("platform", "sharing", "paging"), -0.1, "platform.sharing.paging: must be at least 0, got -0.1"),
    "paging slowdown": (("platform", "sharing", "paging_slowdown"), 0.9, "platform.sharing.paging_slowdown: must be at "
    "least 1, got 0.9"),
    "flag": (("platform", "sharing", "cooperation"), 1, "platform.sharing.cooperation: must be true or false, got 1"),
    "unknown key": (("platform", "sharing", "colour"), 1, "platform.sharing.colour: is not a known key; known keys: "
    "contract, paging, paging_slowdown, wait_factor, coscheduling, cooperation"),
    "group without memory": ((*GROUP_PATH, "memory"), None, "platform.clusters[0].nodes[0].memory: is missing: "
    "sharing.paging requires it"),
    "job without memory": (("jobs", 0, "memory"), None, "jobs[0].memory: is missing: sharing.paging requires it"),
    "more tasks than nodes": (("jobs", 0, "tasks"), 3, "jobs[0].tasks: must be at most 2 (one task per "
    "time-shared node), got 3"),
    "more memory than any node": (("jobs", 0, "memory"), 111.0, "jobs[0].memory: must fit on 2 nodes, but 111.0 MB "
    "fit on 0"),
    "user nowhere": (("local_users", 0, "node"), "C1/2", "local_users[0].node: must be a node of the platform, got "
    "'C1/2'"),
    "user at a place": (("local_users", 0, "node"), "C1/0.1", "local_users[0].node: must be a node of the platform, "
    "got 'C1/0.1'"),
    "end at start": (("local_users", 0, "end"), 0.0, "local_users[0].end: must be after its start, 0, got 0"),
    "users who overlap": (("local_users", 1), USER | {"node": "C1/1", "start": 9.0, "end": 9.5}, "local_users[1]: "
    "must not overlap local_users[0], active on 'C1/1' until 10"),
    "cpu": (("local_users", 0, "cpu"), 1.1, "local_users[0].cpu: must be at most 1, got 1.1"),
    "a job that runs already": (("running",), [{"job": {"id": "R", "tasks": 1, "base_time": 1.0, "memory": 0.0},
    "nodes": ["C1/0.0"], "end": 1.0}], "running: must be empty with time-shared nodes"),
}  # fmt: skip
"""By name: place, content, and the line it must give."""


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_gives_its_line(name, tmp_path):
    (*holders, key), content, line = FAULTS[name]
    document = json.loads(json.dumps(document_of(SHARED, INSTANCE)))
    holder = document
    for part in holders:
        holder = holder[part]
    if content is None:
        del holder[key]
    else:
        holder[key] = content
    (tmp_path / "bad.json").write_text(json.dumps(document))
    with pytest.raises(InstanceError) as report:
        read_instance(tmp_path / "bad.json")
    assert [str(fault) for fault in report.value.faults] == [line]


def test_a_user_whom_others_follow_within_his_time():
    users = [LocalUser("C1/0", 0, 100), LocalUser("C1/0", 10, 20), LocalUser("C1/0", 30, 40)]
    with pytest.raises(InstanceError) as report:
        SHARED.replace(local_users=users)
    assert [fault.path for fault in report.value.faults] == ["local_users[1]", "local_users[2]"]


def test_users_want_nodes_of_one_core():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], 5.0)])
    with pytest.raises(
        InstanceError, match=r"^platform.clusters\[0\].nodes\[0\].cores: must be 1 with time-shared nodes"
    ):
        Instance(platform, [], local_users=[LocalUser("C1/0", 0, 1)])


def test_a_platform_is_at_fault_by_itself():
    with pytest.raises(
        InstanceError, match=r"^clusters\[0\].nodes\[0\].cores: must be 1 with time-shared nodes, got 2$"
    ):
        Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2, multiprogramming=2)], 5.0)])
