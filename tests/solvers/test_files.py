"""Result files: what solve found comes back whole, and every fault of a file is named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.instance.files import instance_hash
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.files import read_result, write_result
from coalloc.solvers.result import ModelSize, SolveOptions, SolveResult, SolveStatus, TracePoint
from tests.strategies import LAW


def instance() -> Instance:
    """Return two jobs on one node, the second after the first: 20 s."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    return Instance(platform, (Job("J1", 1, 10.0), Job("J2", 1, 10.0)), name="two")


@pytest.fixture
def solved() -> SolveResult:
    """Return the result of a call of ``solve``."""
    return coalloc.solve(instance(), slot=10.0, formulation="mode", seed=3)


def infeasible() -> SolveResult:
    """Return the result for a job that saturates a link wherever it runs."""
    clusters = tuple(Cluster(name, (NodeGroup(1, 1.0),), 1.0) for name in ("C1", "C2"))
    return coalloc.solve(Instance(Platform(clusters), (Job("J1", 2, 10.0, 0.5, 9.0),)), slot=10.0)


def document(path: Path) -> dict[str, Any]:
    """Return a file as JSON."""
    read: dict[str, Any] = json.loads(path.read_text())
    return read


@pytest.mark.parametrize("name", ["result.json", "result.json.gz"])
def test_reading_returns_what_was_written(solved: SolveResult, tmp_path: Path, name: str) -> None:
    write_result(solved, tmp_path / name)
    assert read_result(tmp_path / name) == solved


def test_an_infeasible_result_has_no_numbers(tmp_path: Path) -> None:
    result = infeasible()
    write_result(result, tmp_path / "result.json")
    written = document(tmp_path / "result.json")
    assert (written["status"], written["objective"], written["lower_bound"], written["gap"]) == (
        "infeasible",
        None,
        None,
        None,
    )
    assert "saturates a link" in written["message"]
    assert read_result(tmp_path / "result.json") == result


def test_a_file_says_what_it_takes_to_judge_and_repeat(solved: SolveResult, tmp_path: Path) -> None:
    write_result(solved, tmp_path / "result.json")
    written = document(tmp_path / "result.json")
    assert (written["format"], written["version"]) == ("coalloc-result", 1)
    assert (written["status"], written["objective"], written["lower_bound"], written["gap"]) == (
        "optimal",
        20.0,
        20.0,
        0.0,
    )
    assert written["options"]["seed"] == 3
    assert written["options"]["slot"] == 10.0
    assert written["instance_sha256"] == instance_hash(instance())
    assert "coalloc" in written["versions"]
    assert [placement["job"] for placement in written["schedule"]["placements"]] == ["J1", "J2"]
    assert written["trace"][-1]["incumbent"] == 20.0


def test_the_hash_is_of_the_values_not_of_a_file(tmp_path: Path) -> None:
    coalloc.write_instance(instance(), tmp_path / "i.json")
    assert instance_hash(coalloc.read_instance(tmp_path / "i.json")) == instance_hash(instance())
    assert instance_hash(instance().replace(name="other")) != instance_hash(instance())
    assert len(instance_hash(instance())) == 64


times = st.floats(0, 1e9, allow_nan=False)
maybe = st.none() | times
results = st.builds(
    SolveResult,
    status=st.sampled_from(SolveStatus),
    stopped_by=st.sampled_from(["proof", "gap", "time", "work", "interrupt", "failure"]),
    objective=maybe,
    lower_bound=maybe,
    schedule=st.none()
    | st.just(Schedule((Placement("J<1>", 0.0, 10.5, ("C1/0", "C1/1.3")),), slot=None, instance="n<")),
    message=st.text(max_size=8),
    trace=st.lists(st.builds(TracePoint, times, maybe, maybe, st.text(min_size=1, max_size=5))).map(tuple),
    timings=st.dictionaries(st.sampled_from(["build", "solve"]), times),
    model_size=st.none() | st.just(ModelSize(1, 2, 3, 4)),
    options=st.just(SolveOptions(slot=0.1, gap=0.05, time_limit=0.5, work_limit=7)),
    levels=st.dictionaries(st.sampled_from(["chunks", "load"]), times),
    unit=st.sampled_from(["s", "-", "J s"]),
    simulated_objective=maybe,
    versions=st.just({"python": "3.11"}),
    _known_sha256=st.just("0" * 64),
)


@LAW
@given(results)
def test_writing_then_reading_is_the_identity(tmp_path_factory: pytest.TempPathFactory, result: SolveResult) -> None:
    path = tmp_path_factory.mktemp("results") / "result.json"
    write_result(result, path)
    assert read_result(path) == result


def test_an_infinite_gap_can_be_written(solved: SolveResult, tmp_path: Path) -> None:
    # Objective 0 above a bound of -1: the relative gap is infinite, and JSON has no such number.
    result = replace(solved, objective=0.0, lower_bound=-1.0)
    write_result(result, tmp_path / "result.json")
    assert document(tmp_path / "result.json")["gap"] is None
    assert read_result(tmp_path / "result.json") == result


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"status": "probably"}, "status"),
        ({"objective": "20"}, "objective"),
        ({"trace": [{"time": 0.0, "incumbent": None, "lower_bound": None}]}, "trace[0].source"),
        ({"surprise": 1}, "surprise"),
        ({"version": 3}, "version"),
        ({"format": "coalloc-schedule"}, "format"),
    ],
)
def test_faults_are_named_by_their_path(solved: SolveResult, tmp_path: Path, change: dict[str, Any], path: str) -> None:
    file = tmp_path / "result.json"
    write_result(solved, file)
    file.write_text(json.dumps(document(file) | change))
    with pytest.raises(InstanceError) as refused:
        read_result(file)
    assert path in [fault.path for fault in refused.value.faults]
    assert str(refused.value).startswith(str(file))


def test_a_file_that_is_no_result(tmp_path: Path) -> None:
    file = tmp_path / "result.json.gz"
    file.write_bytes(gzip.compress(b"[1, 2"))
    with pytest.raises(InstanceError):
        read_result(file)
    with pytest.raises(CoallocError):
        read_result(tmp_path / "missing.json")


def test_a_failed_write_leaves_no_file(solved: SolveResult, tmp_path: Path) -> None:
    with pytest.raises(CoallocError):
        write_result(solved, tmp_path / "no such folder" / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_printing_gives_six_aligned_lines(solved: SolveResult) -> None:
    lines = str(solved).splitlines()
    assert [line[:11].rstrip() for line in lines] == ["status", "objective", "bound", "gap", "time", "model"]
    assert lines[0] == "status     optimal (stopped by proof)"
    assert lines[1] == "objective  20 s (makespan)"
    assert lines[2] == "bound      20 s"
    assert lines[3] == "gap        0.00 %"
    unknown = str(infeasible()).splitlines()
    assert unknown[1:4] == ["objective  unknown (makespan)", "bound      unknown", "gap        unknown"]
