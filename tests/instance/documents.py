"""Documents to break: small valid files, and one fault each with the line that must report it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from coalloc.instance import InstanceError, read_instance

FIXTURES = Path(__file__).parent.parent / "fixtures"

VALID: dict[str, Any] = {
    "format": "coalloc-instance",
    "version": 1,
    "name": "wl1",
    "platform": {
        "clusters": [
            {"name": "C1", "link_bandwidth": 125.0, "nodes": [{"count": 4, "power": 1.0}]},
            {"name": "C2", "link_bandwidth": 125.0, "switch": "S1", "nodes": [{"count": 2, "power": 0.5, "cores": 2}]},
        ],
        "switches": [{"name": "S1", "parent": "S0", "bandwidth": 250.0}],
    },
    "jobs": [
        {"id": "J1", "tasks": 3, "base_time": 600.0},
        {"id": "J2", "tasks": 8, "base_time": 300.0, "processing_share": 0.7},
    ],
    "running": [{"job": {"id": "R1", "tasks": 2, "base_time": 9.0}, "nodes": ["C1/3", "C2/1.1"], "end": 5.0}],
}
"""Eight processors: C1/0 to C1/3, C2/0.0 to C2/1.1."""

ABSENT = object()

Place = tuple[str | int, ...]


def broken(*changes: tuple[Place, Any]) -> dict[str, Any]:
    """Return the valid document with something else at each place; ``ABSENT`` takes the key away."""
    document = copy.deepcopy(VALID)
    for place, content in changes:
        *holders, last = place
        part: Any = document
        for key in holders:
            part = part[key]
        if content is ABSENT:
            del part[last]
        else:
            part[last] = content
    return document


def lines_of(path: Path, document: object) -> list[str]:
    """Write a document (or the text of one), and return the lines that ``read_instance`` complains with."""
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        read_instance(path)
    assert len(caught.value.faults) == len(str(caught.value).splitlines())
    return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]


GROUP: Place = ("platform", "clusters", 0, "nodes", 0)
JOB: Place = ("jobs", 1)

CLUSTER: Place = ("platform", "clusters", 0)
STATES: dict[str, Any] = {
    "chassis": 1,
    "boards": 2,
    "cores": 2,
    "site_watts": 50,
    "chassis_watts": 0,
    "board_watts": 110,
    "core_idle_watts": 17.8,
    "core_working_watts": 26,
    "startup_time": 20,
    "core_grace": 5,
    "site_grace": 10,
}
"""Power states of a cluster, with places for the four processors of C1."""

FIELD_FAULTS: dict[str, tuple[Place, Any, str]] = {
    "unknown key of the document": (
        ("colour",),
        1,
        "colour: is not a known key; known keys: format, version, platform, jobs, running, name, local_users, limits",
    ),
    "unknown key of a switch": (
        ("platform", "switches", 0, "speed"),
        1,
        "platform.switches[0].speed: is not a known key; known keys: name, parent, bandwidth, level",
    ),
    "unknown key of a running job": (
        ("running", 0, "begin"),
        1,
        "running[0].begin: is not a known key; known keys: job, nodes, end, start",
    ),
    "missing key": ((*JOB, "base_time"), ABSENT, "jobs[1].base_time: is missing"),
    "missing platform": (("platform",), ABSENT, "platform: is missing"),
    "missing jobs": (("jobs",), ABSENT, "jobs: is missing"),
    "missing version": (("version",), ABSENT, "version: is missing"),
    "missing format": (("format",), ABSENT, "format: is missing"),
    "text for a number": ((*JOB, "base_time"), "9", "jobs[1].base_time: must be a number, got '9'"),
    "number for a text": ((*JOB, "id"), 7, "jobs[1].id: must be a string, got 7"),
    "object for a list": (("jobs",), {"J1": {}}, "jobs: must be a list, got an object"),
    "text for a list": (("running", 0, "nodes"), "C1/3", "running[0].nodes: must be a list, got 'C1/3'"),
    "number for an object": (("platform",), 4, "platform: must be an object, got 4"),
    "list for an object": (JOB, [1], "jobs[1]: must be an object, got a list"),
    "null for a number": ((*JOB, "estimate"), None, "jobs[1].estimate: must be a number, got null"),
    "true for a number": ((*JOB, "base_time"), True, "jobs[1].base_time: must be a number, got true"),
    "true for a whole number": ((*JOB, "tasks"), True, "jobs[1].tasks: must be an integer, got true"),
    "no tasks": ((*JOB, "tasks"), 0, "jobs[1].tasks: must be at least 1, got 0"),
    "tasks with a fraction": ((*JOB, "tasks"), 3.5, "jobs[1].tasks: must be an integer, got 3.5"),
    "no base time": ((*JOB, "base_time"), 0, "jobs[1].base_time: must be above 0, got 0"),
    "negative base time": ((*JOB, "base_time"), -5.0, "jobs[1].base_time: must be above 0, got -5.0"),
    "no nodes in a group": ((*GROUP, "count"), 0, "platform.clusters[0].nodes[0].count: must be at least 1, got 0"),
    "no cores": ((*GROUP, "cores"), 0, "platform.clusters[0].nodes[0].cores: must be at least 1, got 0"),
    "empty id": ((*JOB, "id"), "", "jobs[1].id: must not be empty"),
    "half a character": (
        (*JOB, "id"),
        "\ud800",
        r"jobs[1].id: must be a string without lone surrogates, got '\ud800'",
    ),
    "empty cluster name": (("platform", "clusters", 0, "name"), "", "platform.clusters[0].name: must not be empty"),
    "share above 1": ((*JOB, "processing_share"), 1.5, "jobs[1].processing_share: must be at most 1, got 1.5"),
    "share below 0": ((*JOB, "processing_share"), -0.1, "jobs[1].processing_share: must be at least 0, got -0.1"),
    "negative task bandwidth": ((*JOB, "task_bandwidth"), -1, "jobs[1].task_bandwidth: must be at least 0, got -1"),
    "negative link bandwidth": (
        ("platform", "clusters", 0, "link_bandwidth"),
        -1.0,
        "platform.clusters[0].link_bandwidth: must be at least 0, got -1.0",
    ),
    "negative switch bandwidth": (
        ("platform", "switches", 0, "bandwidth"),
        -1.0,
        "platform.switches[0].bandwidth: must be at least 0, got -1.0",
    ),
    "negative arrival": ((*JOB, "arrival"), -1.0, "jobs[1].arrival: must be at least 0, got -1.0"),
    "negative end": (("running", 0, "end"), -1.0, "running[0].end: must be at least 0, got -1.0"),
    "no availability": (
        (*GROUP, "availability"),
        0,
        "platform.clusters[0].nodes[0].availability: must be above 0, got 0",
    ),
    "availability above 1": (
        (*GROUP, "availability"),
        1.01,
        "platform.clusters[0].nodes[0].availability: must be at most 1, got 1.01",
    ),
    "no power": ((*GROUP, "power"), 0.0, "platform.clusters[0].nodes[0].power: must be above 0, got 0.0"),
    "negative watts": (
        (*GROUP, "idle_watts"),
        -1,
        "platform.clusters[0].nodes[0].idle_watts: must be at least 0, got -1",
    ),
    "negative watts of boards": (
        (*CLUSTER, "power_states"),
        STATES | {"board_watts": -1},
        "platform.clusters[0].power_states.board_watts: must be at least 0, got -1",
    ),
    "negative watts of a start-up": (
        (*CLUSTER, "power_states"),
        STATES | {"startup_watts": -0.5},
        "platform.clusters[0].power_states.startup_watts: must be at least 0, got -0.5",
    ),
    "negative grace": (
        (*CLUSTER, "power_states"),
        STATES | {"core_grace": -5.0},
        "platform.clusters[0].power_states.core_grace: must be at least 0, got -5.0",
    ),
    "no boards": (
        (*CLUSTER, "power_states"),
        STATES | {"boards": 0},
        "platform.clusters[0].power_states.boards: must be at least 1, got 0",
    ),
    "unknown key of power states": (
        (*CLUSTER, "power_states"),
        STATES | {"watts": 1},
        "platform.clusters[0].power_states.watts: is not a known key; known keys: chassis, boards, cores, site_watts, "
        "chassis_watts, board_watts, core_idle_watts, core_working_watts, startup_time, core_grace, site_grace, "
        "startup_watts",
    ),
    "missing key of power states": (
        (*CLUSTER, "power_states"),
        {key: number for key, number in STATES.items() if key != "site_grace"},
        "platform.clusters[0].power_states.site_grace: is missing",
    ),
    "number for power states": (
        (*CLUSTER, "power_states"),
        7,
        "platform.clusters[0].power_states: must be an object, got 7",
    ),
    "platform without clusters": (("platform", "clusters"), [], "platform.clusters: must not be empty"),
    "cluster without nodes": (
        ("platform", "clusters", 0, "nodes"),
        [],
        "platform.clusters[0].nodes: must not be empty",
    ),
    "unknown version": (("version",), 4, "version: must be 1, 2 or 3 (the supported versions), got 4"),
    "version as text": (("version",), "1", "version: must be 1, 2 or 3 (the supported versions), got '1'"),
    "version true": (("version",), True, "version: must be 1, 2 or 3 (the supported versions), got true"),
    "foreign format": (("format",), "json", "format: must be 'coalloc-instance', got 'json'"),
    "format of no type": (("format",), None, "format: must be 'coalloc-instance', got null"),
}
"""By name: place, content, and the line it must give. A JSON Schema must refuse each of them too."""

CROSS_FAULTS: dict[str, tuple[Place, Any, str]] = {
    "whole number with a point": ((*JOB, "tasks"), 3.0, "jobs[1].tasks: must be an integer, got 3.0"),
    "duplicate id": ((*JOB, "id"), "J1", "jobs[1].id: must not repeat the job id 'J1' of jobs[0].id"),
    "id of a running job": (
        ("running", 0, "job", "id"),
        "J1",
        "running[0].job.id: must not repeat the job id 'J1' of jobs[0].id",
    ),
    "duplicate cluster name": (
        ("platform", "clusters", 1, "name"),
        "C1",
        "platform.clusters[1].name: must not repeat the cluster name 'C1' of clusters[0].name",
    ),
    "more tasks than processors": (
        (*JOB, "tasks"),
        9,
        "jobs[1].tasks: must be at most 8 (all processors of the platform), got 9",
    ),
    "switch below itself": (
        ("platform", "switches", 0, "parent"),
        "S1",
        "platform.switches[0].parent: must not form a cycle of switches, got 'S1'",
    ),
    "unknown switch": (
        ("platform", "clusters", 0, "switch"),
        "S9",
        "platform.clusters[0].switch: must name a switch of the platform, got 'S9'",
    ),
    "running on too few": (
        ("running", 0, "nodes"),
        ["C1/0"],
        "running[0].nodes: must name 2 processors, one per task, got 1",
    ),
    "running nowhere": (
        ("running", 0, "nodes", 0),
        "C9/0",
        "running[0].nodes[0]: must be a processor of the platform, got 'C9/0'",
    ),
    "running twice on one": (
        ("running", 0, "nodes", 1),
        "C1/3",
        "running[0].nodes[1]: must not repeat 'C1/3' of running[0].nodes[0]",
    ),
    "fewer places on boards than processors": (
        (*CLUSTER, "power_states"),
        STATES | {"boards": 1},
        "platform.clusters[0].power_states: must have places for the 4 processors of the cluster, got 2 "
        "(1 chassis of 1 boards of 2 cores)",
    ),
    "nodes of several cores with power states": (
        ("platform", "clusters", 1, "power_states"),
        STATES,
        "platform.clusters[1].nodes[0].cores: must be 1 in a cluster with power_states, got 2",
    ),
    "watts of nodes with power states": (
        CLUSTER,
        {
            "name": "C1",
            "link_bandwidth": 125.0,
            "nodes": [{"count": 4, "power": 1.0, "static_watts": 9.0}],
            "power_states": STATES,
        },
        "platform.clusters[0].nodes[0].static_watts: must not be given in a cluster with power_states",
    ),
    "processors beyond any machine": (
        (*GROUP, "count"),
        10**12,
        "platform.clusters: must have at most 10000000 processors in total, got 1000000000004",
    ),
}
"""What no schema can say: between fields, or beyond JSON's idea of a whole number."""
