"""``coalloc solve`` for energy and EDP, within a scope and a limit on the makespan, and its bad inputs."""

import json

import pytest

import coalloc
from tests.cli.running import run, write

WATTS = {"idle_watts": 1.0, "static_watts": 10.0, "core_watts": 1.0}
NODE = {"count": 1, "power": 1.0, "cores": 2, **WATTS}
PAIR = {
    "format": "coalloc-instance",
    "version": 1,
    "name": "pair",
    "platform": {"clusters": [{"name": "C1", "link_bandwidth": 0.0, "nodes": [NODE]}]},
    "jobs": [
        {"id": "J1", "tasks": 1, "base_time": 10.0},
        {"id": "J2", "tasks": 1, "base_time": 10.0, "arrival": 6.0},
    ],
}
"""One node of two cores. Together from 6 s on the jobs take 6 + 100 + 20 J until 16 s; at once 160 + 20 J."""


@pytest.fixture
def pair(tmp_path):
    return write(tmp_path / "pair.json", PAIR)


def changed(path, *, node=None, **platform):
    """Write the same with another node or platform."""
    cluster = {"name": "C1", "link_bandwidth": 0.0, "nodes": [node or NODE]}
    return write(path, {**PAIR, "platform": {"clusters": [cluster], **platform}})


@pytest.mark.parametrize("slot", [[], ["--slot", 2]])
@pytest.mark.parametrize(("objective", "value", "unit"), [("energy", 126.0, "J"), ("edp", 2016.0, "J s")])
def test_least_energy_and_edp(pair, tmp_path, objective, value, unit, slot):
    output = tmp_path / "s.json"
    solved = run("solve", pair, "--objective", objective, "--scope", "node", *slot, "-o", output, "-q")
    assert solved.exit_code == 0
    lines = solved.stdout.splitlines()
    assert lines[0] == "status     optimal (stopped by proof)"
    assert lines[1] == f"objective  {value:g} {unit} ({objective})"
    metered = coalloc.energy(coalloc.read_instance(pair), coalloc.read_schedule(output))
    assert (metered.total, metered.makespan) == pytest.approx((126.0, 16.0))
    assert run("check", pair, output, "--scope", "node").exit_code == 0


def test_the_least_makespan_within_a_scope(pair):
    document = json.loads(run("solve", pair, "--scope", "node", "--json", "-q").stdout)
    assert (document["status"], document["objective"], document["options"]["scope"]) == ("optimal", 16.0, "node")


def test_a_limit_that_cannot_be_kept_is_exit_code_1(pair, tmp_path):
    options = ["--objective", "energy", "--scope", "node", "--makespan-limit", 15.5]
    solved = run("solve", pair, *options, "-o", tmp_path / "s.json")
    assert solved.exit_code == 1
    assert (
        "infeasible (stopped by proof): no schedule in continuous time ends within makespan_limit=15.5 s"
        in solved.stdout
    )
    assert not (tmp_path / "s.json").exists()


def test_missing_watts_name_the_node_group(tmp_path):
    path = changed(tmp_path / "i.json", node={"count": 1, "power": 1.0, "cores": 2, "idle_watts": 1.0})
    for options in (["--scope", "node"], ["--slot", 2]):
        refused = run("solve", path, "--objective", "energy", *options)
        assert refused.exit_code == 2
        assert "clusters[0].nodes[0] (cluster 'C1') has no static_watts, core_watts" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_node_that_draws_less_when_it_is_busy_is_refused(tmp_path):
    path = changed(tmp_path / "i.json", node={**NODE, "idle_watts": 11.0})
    refused = run("solve", path, "--objective", "energy", "--scope", "node")
    assert refused.exit_code == 2
    assert "minimum energy requires static_watts >= idle_watts" in refused.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--objective", "energy", "--formulation", "blocks"], "must be auto in continuous time"),
        (
            ["--objective", "energy", "--write-model", "m.lp"],
            "in continuous time requires scope=\"node\"; scope='platform' requires a time slot",
        ),
        (["--objective", "energy", "--slot", 2, "--links", "shared"], "links of objective 'energy' must be 'strict'"),
        (["--objective", "energy", "--scope", "node", "--makespan-limit", 0], "makespan_limit: must be above 0"),
        (["--objective", "energy", "--scope", "node", "--makespan-limit", "nan"], "makespan_limit: must be"),
        (["--objective", "energy", "--slot", 2, "--formulation", "node"], "must be auto or mode"),
        (["--model", "pas", "--scope", "node"], "scope and makespan_limit require model 'oas', got 'pas'"),
        (["--objective", "joules", "--scope", "node"], "objective"),
        (["--objective", "edp", "--scope", "rack"], "scope"),
        (
            ["--objective", "edp", "--scope", "node", "--write-model", "m.lp"],
            "objective 'edp' has no model; it is minimised by",
        ),
    ],
)
def test_what_is_refused_is_said(pair, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    refused = run("solve", pair, *options)
    assert refused.exit_code == 2, refused.output
    assert words in " ".join(refused.output.split())
    assert "Traceback" not in refused.output


def test_the_model_of_energy_is_written_with_its_names(pair, tmp_path):
    path = tmp_path / "model.lp"
    written = run("solve", pair, "--objective", "energy", "--scope", "node", "--write-model", path, "-q")
    assert written.exit_code == 0
    assert "busy_by_set" in path.read_text()


def test_a_start_for_energy(pair, tmp_path):
    # In slots of 3 s both jobs share the node from 6 to 18 s: 6 + 120 + 24 J.
    start = tmp_path / "start.json"
    solved = ["solve", pair, "--objective", "energy", "--scope", "node", "-q"]
    assert run(*solved, "-o", start).exit_code == 0
    again = run(*solved, "--slot", 3, "--start", start)
    assert again.exit_code == 0
    assert "objective  150 J (energy)" in again.stdout
