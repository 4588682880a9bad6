"""Features of version 2: in files, their faults, and the methods that refuse them."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    InstanceError,
    Job,
    Lag,
    Limit,
    NodeGroup,
    Platform,
    RunningJob,
    Shape,
)
from coalloc.documents.kinds import document_of
from coalloc.instance import Switch, SwitchLevel
from coalloc.instance.features import BASIC, FEATURES, refuse_undeclared, refuse_unsupported
from coalloc.instance.files import INSTANCE, PLATFORM
from coalloc.instance.windows import Window
from coalloc.simulator.policy import ENFORCED
from coalloc.testing.features import DRAWS, small_feature_instance

PLAIN = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=10.0)])
EQUIPPED = Platform([Cluster("C1", [NodeGroup(2, power=1.0, features=["gpu"])], link_bandwidth=10.0)])
SWITCHED = Platform(
    [Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=10.0, switch="S1")],
    [Switch("S1", "root", 10.0, level="row")],
)
EXAMPLES = {
    "deadline": Instance(PLAIN, [Job("J1", 1, 10.0, deadline=20.0)]),
    "after": Instance(PLAIN, [Job("J1", 1, 10.0), Job("J2", 1, 10.0, after=["J1"])]),
    "eligible": Instance(PLAIN, [Job("J1", 1, 10.0, eligible=["C1"])]),
    "requires": Instance(EQUIPPED, [Job("J1", 1, 10.0, requires=["gpu"])]),
    "times": Instance(EQUIPPED, [Job("J1", 1, 10.0, times={"gpu": 4.0})]),
    "shapes": Instance(PLAIN, [Job("J1", 1, 10.0, shapes=[Shape(2, 6.0)])]),
    "unavailable": Instance(
        PLAIN.replace(unavailable=[Window("C1", 5.0, 10.0, nodes=["C1/0"])]), [Job("J1", 2, 10.0), Job("J2", 1, 5.0)]
    ),
    "start": Instance(PLAIN, [Job("J1", 2, 10.0)], [RunningJob(Job("R1", 1, 5.0), ["C1/1"], 10.0, start=5.0)]),
    "resources": Instance(
        PLAIN.replace(resources={"licences": 1.0}),
        [Job("J1", 1, 10.0, resources={"licences": 1.0}), Job("J2", 1, 5.0, task_resources={"licences": 1.0})],
    ),
    "limits": Instance(
        PLAIN, [Job("J1", 1, 10.0), Job("J2", 1, 5.0)], limits=[Limit("anna", ["J1", "J2"], capacity=1.0)]
    ),
    "max_clusters": Instance(PLAIN, [Job("J1", 2, 10.0, max_clusters=1)]),
    "min_tasks_per_cluster": Instance(PLAIN, [Job("J1", 2, 10.0, min_tasks_per_cluster=2)]),
    "slices": Instance(PLAIN, [Job("J1", 2, 10.0, slices=1)]),
    "level": Instance(SWITCHED, [Job("J1", 2, 10.0, level=SwitchLevel("row"))]),
    "lags": Instance(PLAIN, [Job("J1", 1, 10.0), Job("J2", 1, 5.0, lags=[Lag("J1", "start", 5.0, 10.0)])]),
}
"""An instance that uses one feature."""
VERSION_3 = ("limits", "max_clusters", "min_tasks_per_cluster", "slices", "level", "lags")
"""The features of version 3."""


def lines(error: pytest.ExceptionInfo[InstanceError]) -> list[str]:
    return str(error.value).splitlines()


def test_there_is_an_example_and_a_draw_of_each_feature():
    assert list(EXAMPLES) == list(FEATURES) == list(DRAWS)
    assert {feature: set(instance.features) for feature, instance in EXAMPLES.items()} == {
        feature: {feature} for feature in FEATURES
    }
    assert Instance(PLAIN, [Job("J1", 1, 10.0)]).features == set()


@pytest.mark.parametrize("feature", FEATURES)
def test_a_file_that_uses_a_feature_is_of_its_version(feature, tmp_path):
    path, version = tmp_path / "instance.json", 3 if feature in VERSION_3 else 2
    coalloc.write_instance(EXAMPLES[feature], path)
    document = json.loads(path.read_text())
    assert document["version"] == version
    assert coalloc.read_instance(path) == EXAMPLES[feature]
    path.write_text(json.dumps(document | {"version": 1}))
    said = rf'requires version {version} of the format, the file has version 1: set "version": {version}$'
    with pytest.raises(InstanceError, match=said):
        coalloc.read_instance(path)


def test_a_file_that_uses_none_stays_of_version_1():
    assert document_of(Instance(PLAIN, [Job("J1", 1, 10.0)]), INSTANCE)["version"] == 1
    assert document_of(PLAIN, PLATFORM)["version"] == 1
    assert document_of(EQUIPPED, PLATFORM)["version"] == 2


def test_a_file_of_version_1_names_each_younger_feature(tmp_path: Path):
    instance = EXAMPLES["requires"].replace(
        jobs=[Job("J1", 1, 10.0, requires=["gpu"]), Job("J2", 1, 1.0, deadline=0.0)]
    )
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(document_of(instance, INSTANCE) | {"version": 1}))
    with pytest.raises(InstanceError) as caught:
        coalloc.read_instance(path)
    said = 'requires version 2 of the format, the file has version 1: set "version": 2'
    assert lines(caught) == [
        f"{path}: platform.clusters[0].nodes[0].features: {said}",
        f"{path}: jobs[0].requires: {said}",
        f"{path}: jobs[1].deadline: {said}",
    ]


def test_unknown_names_are_faults():
    with pytest.raises(InstanceError) as caught:
        Instance(
            EQUIPPED,
            [Job("J1", 1, 1.0, after=["J2", "R1"]), Job("J3", 1, 1.0, eligible=["C1", "C2"], requires=["gpu", "ssd"])],
            [RunningJob(Job("R1", 1, 1.0), ["C1/0"], 5.0)],
        )
    assert lines(caught) == [
        "jobs[0].after[0]: must be a job of the instance, got 'J2'",
        "jobs[1].eligible[1]: must be a cluster of the platform, got 'C2'",
        "jobs[1].requires[1]: must be a feature of some node of the platform, got 'ssd'",
    ]


def test_a_cycle_is_named_in_full():
    # B and C wait for each other by way of D; A waits for them but is in no cycle, E for itself.
    after = {"A": ["B"], "B": ["C"], "C": ["D"], "D": ["B"], "E": ["E"]}
    with pytest.raises(InstanceError) as caught:
        Instance(PLAIN, [Job(job, 1, 1.0, after=others) for job, others in after.items()])
    assert sorted(lines(caught)) == [
        "jobs[1].after: must not form a cycle: 'B' after 'C' after 'D' after 'B'",
        "jobs[4].after: must not form a cycle: 'E' after 'E'",
    ]


@pytest.mark.parametrize(
    ("feature", "keywords", "who"),
    [
        ("deadline", {"model": "pas"}, "model 'pas' (all jobs start together)"),
        ("after", {"model": "cbs"}, "model 'cbs' (all jobs start together)"),
        ("after", {"objective": "energy", "slot": 1.0}, "objective 'energy'"),
        ("times", {"objective": "edp", "slot": 1.0}, "objective 'edp'"),
    ],
)
def test_what_does_not_support_a_feature_refuses_it_in_one_line(feature, keywords, who):
    with pytest.raises(CoallocError) as caught:
        coalloc.solve(EXAMPLES[feature], **keywords)
    sentence, _, why = str(caught.value).partition(": ")
    assert sentence == f"{who} does not support {feature!r}, which this instance uses"
    assert bool(why) == ("objective" in keywords)


def test_a_method_supports_only_what_it_lists():
    instance = EXAMPLES["deadline"].replace(jobs=[Job("J1", 1, 10.0, deadline=20.0, eligible=["C1"])])
    refuse_unsupported(instance, "it", {"deadline", "eligible"})
    with pytest.raises(coalloc.UnsupportedFeature) as caught:
        refuse_unsupported(instance, "it", set(), "it cannot")
    assert (caught.value.method, caught.value.features) == ("it", ("deadline", "eligible"))
    assert str(caught.value) == "it does not support 'deadline' and 'eligible', which this instance uses: it cannot"


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_refuses_where_it_is_not_listed(name, monkeypatch):
    # As a feature that is new, and that exact methods, runs and the checker have not heard of.
    schedule = coalloc.solve(EXAMPLES[name], time_limit=1.0).schedule
    for module in ("coalloc.problem.discretisation.SUPPORTED", "coalloc.checker.checker.SUPPORTED"):
        monkeypatch.setattr(module, sys.modules[module.rpartition(".")[0]].SUPPORTED - {name})
    monkeypatch.setattr("coalloc.simulator.simulation.ENFORCED", ENFORCED - {name})
    for asked in (coalloc.solve, coalloc.lower_bound, coalloc.build_model, partial(coalloc.simulate, policy="easy")):
        with pytest.raises(coalloc.UnsupportedFeature, match=f"does not support '{name}', which this instance uses"):
            asked(EXAMPLES[name])
    with pytest.raises(coalloc.UnsupportedFeature, match=f"^check does not support '{name}'"):
        coalloc.check(EXAMPLES[name], schedule)


def test_a_field_that_nobody_declares_fails_at_import():
    fields = {field for feature in FEATURES.values() for field in feature.fields}
    fields |= {f"{owner}.{name}" for owner, names in BASIC.items() for name in names}
    owners = {field.partition(".")[0] for field in fields}
    known = {owner: [field.partition(".")[2] for field in fields if field.startswith(f"{owner}.")] for owner in owners}
    refuse_undeclared(known)
    with pytest.raises(TypeError, match=r"see \['Job.colour'\]"):
        refuse_undeclared(known | {"Job": [*known["Job"], "colour"]})
    with pytest.raises(TypeError, match=r"see \['Shape.tasks'\]"):
        refuse_undeclared(known | {"Shape": ["base_time", "estimate", "times"]})


@pytest.mark.parametrize("feature", FEATURES)
def test_a_schedule_replayed_is_the_same(feature):
    solved = coalloc.solve(EXAMPLES[feature], time_limit=1.0).schedule
    for starts in ("keep", "left"):
        assert list(coalloc.replay(EXAMPLES[feature], solved, starts=starts)) == list(solved)


def test_random_instances_use_every_pair_of_features():
    pairs = set()
    for seed in range(120):
        used = small_feature_instance(seed)[0].features
        pairs |= {(one, other) for one in used for other in used if one < other}
    assert len(pairs) == len(FEATURES) * (len(FEATURES) - 1) // 2


def test_faults_of_windows_and_reservations():
    windows = [
        Window("C2", 0.0, 1.0),
        Window("C1", 5.0, 5.0),
        Window("C1", 0.0, 1.0, nodes=["C1/1-2"]),
        Window("C1", 0.0, 1.0, group=1, processors=1),
        Window("C1", 0.0, 1.0, group=0, processors=3),
        Window("C1", 0.0, 1.0, group=0),
    ]
    with pytest.raises(InstanceError) as caught:
        PLAIN.replace(unavailable=windows)
    assert lines(caught) == [
        "unavailable[0].cluster: must be a cluster of the platform, got 'C2'",
        "unavailable[1].end: must be after its start, 5, got 5",
        "unavailable[2].nodes: must be nodes of cluster 'C1', got 'C1/1-2'",
        "unavailable[3].group: must be a group of the cluster, 0 to 0, got 1",
        "unavailable[4].processors: must be at most 2 (all of the group), got 3",
        "unavailable[5]: must have either nodes, or group and processors, or none of them",
    ]
    closed = PLAIN.replace(unavailable=[Window("C1", 5.0, 10.0, nodes=["C1/0"])])
    running = [
        RunningJob(Job("R1", 1, 1.0), ["C1/0"], 6.0),
        RunningJob(Job("R2", 1, 1.0), ["C1/1"], 3.0, start=3.0),
        RunningJob(Job("R3", 1, 1.0), ["C1/0"], 5.0, start=2.0),
    ]
    with pytest.raises(InstanceError) as caught:
        Instance(closed, [], running)
    assert lines(caught) == [
        "running[0].nodes: must not overlap platform.unavailable[0], which starts at 5 s",
        "running[1].end: must be after its start, 3, got 3",
        "running[2].nodes[0]: must not repeat 'C1/0' of running[0].nodes[0]",
    ]


def test_a_processor_may_be_reserved_for_one_after_the_other():
    running = [RunningJob(Job(f"R{n}", 1, 1.0), ["C1/0"], 5.0 * n + 5.0, start=5.0 * n) for n in range(3)]
    assert Instance(PLAIN, [], running).features == {"start"}


def test_a_reservation_of_a_part_of_a_node_is_refused_where_nodes_are_counted():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=1.0)])
    instance = Instance(platform, [Job("J1", 1, 1.0)], [RunningJob(Job("R1", 1, 5.0), ["C1/0.1"], 10.0, start=5.0)])
    with pytest.raises(CoallocError, match=r"^reservation 'R1' \(start 5 s\) covers a part of a node"):
        coalloc.solve(instance)


def test_a_job_names_one_feature_of_each_group():
    both = Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(1, 1.0, features=["a", "b"])], link_bandwidth=1.0)])
    with pytest.raises(InstanceError) as caught:
        Instance(both, [Job("J1", 1, 1.0, times={"a": 1.0, "b": 2.0}), Job("J2", 1, 1.0, times={"b": 3.0, "c": 4.0})])
    assert lines(caught) == [
        "jobs[0].times: must name one feature of each group, got 'a' and 'b' of platform.clusters[0].nodes[1]"
    ]


def test_times_are_above_0_and_never_change():
    with pytest.raises(InstanceError, match=r"^times\.a: must be above 0, got 0\.0$"):
        Job("J1", 1, 1.0, times={"a": 0.0})
    times = {"a": 5.0}
    job = Job("J1", 1, 1.0, times=times)
    times["a"] = 6.0
    assert (job.times["a"], job.times, len({job, job.replace()})) == (5.0, {"a": 5.0}, 1)
