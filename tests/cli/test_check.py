"""``coalloc check``: valid schedules, violations as lines and as JSON."""

import json

import pytest

import coalloc
from tests.cli.running import TINY, run, write


def schedule(*placements):
    """Return a schedule document; a placement is (job, start, end, nodes)."""
    keys = ("job", "start", "end", "nodes")
    return {
        "format": "coalloc-schedule",
        "version": 1,
        "instance": "tiny",
        "slot": None,
        "placements": [dict(zip(keys, placement, strict=True)) for placement in placements],
    }


VALID = schedule(("J1", 0.0, 100.0, ["C1/0", "C1/1"]), ("J2", 100.0, 200.0, ["C1/0"]), ("J3", 100.0, 150.0, ["C1/1"]))
BROKEN = schedule(("J1", 0.0, 100.0, ["C1/0", "C1/1"]), ("J2", 50.0, 150.0, ["C1/0"]))
"""J2 overlaps J1 on C1/0, and J3 is missing."""


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


def test_a_valid_schedule_and_what_it_is_worth(tiny, tmp_path):
    checked = run("check", tiny, write(tmp_path / "s.json", VALID))
    assert checked.exit_code == 0
    lines = checked.stdout.splitlines()
    assert lines[0] == "valid: 3 placements, makespan 200 s"
    # 350 of 400 processor-seconds are used; the waits are 0, 100 and 100 s.
    assert lines[1:] == [
        "mean wait          66.6667 s",
        "mean response time 150 s",
        "mean run time      0.00 % above the mean reference run time",
        "utilization        87.5 %",
        "co-allocated jobs  0.0 %",
        "peak link load     0.0 % of the bandwidth",
    ]


def test_every_violation_has_its_line(tiny, tmp_path):
    checked = run("check", tiny, write(tmp_path / "s.json", BROKEN))
    assert checked.exit_code == 1
    lines = checked.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["missing-job", "overlap", "invalid"]
    assert lines[-1] == "invalid: 2 violations of 2 rules"


def test_json_lists_what_the_checker_found(tiny, tmp_path):
    path = write(tmp_path / "s.json", BROKEN)
    listed = json.loads(run("check", tiny, path, "--json").stdout)
    found = coalloc.check(coalloc.read_instance(tiny), coalloc.read_schedule(path))
    assert [entry["rule"] for entry in listed] == ["missing-job", "overlap"]
    for entry, violation in zip(listed, found, strict=True):
        assert set(entry) == {"rule", "jobs", "where", "when", "amount", "limit", "sentence"}
        assert (entry["jobs"], entry["sentence"]) == (list(violation.jobs), violation.sentence)


def test_json_of_a_valid_schedule_is_an_empty_list(tiny, tmp_path):
    checked = run("check", tiny, write(tmp_path / "s.json", VALID), "--json")
    assert (checked.exit_code, json.loads(checked.stdout)) == (0, [])


def test_numbers_that_json_does_not_know_are_null(tiny, tmp_path):
    # The length of the placement overflows to infinity.
    placements = [dict(placement) for placement in VALID["placements"]]
    placements[0] |= {"start": -1.7e308, "end": 1.7e308}
    checked = run("check", tiny, write(tmp_path / "s.json", {**VALID, "placements": placements}), "--json")
    assert checked.exit_code == 1
    amounts = {entry["rule"]: entry["amount"] for entry in json.loads(checked.stdout)}
    assert amounts["duration"] is None


def test_a_result_file_is_checked_by_its_schedule(tiny, tmp_path):
    result = tmp_path / "r.json"
    run("solve", tiny, "--slot", 50, "--result", result)
    assert run("check", tiny, result).stdout.startswith("valid: 3 placements, makespan 200 s\n")


def test_a_result_without_a_schedule_is_bad_input(tiny, tmp_path):
    path = tmp_path / "r.json"
    run("solve", tiny, "--slot", 50, "--result", path)
    document = json.loads(path.read_text()) | {"schedule": None}
    checked = run("check", tiny, write(path, document))
    assert (checked.exit_code, checked.stderr) == (
        2,
        f"{path}: schedule: is missing: the result contains no schedule\n",
    )


def test_options_change_the_rules(tmp_path):
    # Two tasks of 100 MB/s on either side of links of 50 MB/s: load 100 MB/s, SC = 2, Te = 100*(0.5 + 0.5*2) = 150 s.
    cluster = {"link_bandwidth": 50.0, "nodes": [{"count": 1, "power": 1.0}]}
    job = {"id": "J1", "tasks": 2, "base_time": 100.0, "processing_share": 0.5, "task_bandwidth": 100.0}
    platform = {"clusters": [{"name": "C1", **cluster}, {"name": "C2", **cluster}]}
    path = write(tmp_path / "i.json", {**TINY, "platform": platform, "jobs": [job]})
    slow = write(tmp_path / "slow.json", schedule(("J1", 0.0, 150.0, ["C1/0", "C2/0"])))
    fast = write(tmp_path / "fast.json", schedule(("J1", 0.0, 100.0, ["C1/0", "C2/0"])))
    assert run("check", path, slow, "--links", "shared").exit_code == 0
    assert run("check", path, fast, "--links", "ignore").exit_code == 0
    assert run("check", path, fast, "--saturation", "1").exit_code == 0
    assert "link-load: " in run("check", path, fast).stdout
    assert "scope: " in run("check", path, fast, "--links", "ignore", "--scope", "cluster").stdout


def test_jobs_that_do_not_wait_for_a_start_up_are_named(tmp_path):
    states = {"chassis": 1, "boards": 1, "cores": 2, "startup_time": 20, "core_grace": 5, "site_grace": 10}
    states |= dict.fromkeys(("site_watts", "chassis_watts", "board_watts", "core_idle_watts", "core_working_watts"), 1)
    cluster = {"name": "C1", "link_bandwidth": 0, "nodes": [{"count": 2, "power": 1.0}], "power_states": states}
    job = {"id": "J1", "tasks": 2, "base_time": 100.0}
    path = write(tmp_path / "i.json", {**TINY, "platform": {"clusters": [cluster]}, "jobs": [job]})
    placed = write(tmp_path / "s.json", schedule(("J1", 19.0, 119.0, ["C1/0", "C1/1"])))
    assert run("check", path, placed).exit_code == 0
    checked = run("check", path, placed, "--power-management")
    assert (checked.exit_code, checked.stdout.splitlines()[0]) == (
        1,
        "start-up: job J1 starts at 19 s on cluster C1, which can start up at 0 s and requires 20 s for it",
    )


def test_power_management_needs_power_states(tiny, tmp_path):
    refused = run("check", tiny, write(tmp_path / "s.json", VALID), "--power-management")
    line = "coalloc: clusters[0] (cluster 'C1') has no power_states: power management requires them\n"
    assert (refused.exit_code, refused.stderr) == (2, line)


@pytest.mark.parametrize(
    ("option", "line"),
    [
        (("--links", "loose"), "coalloc: links: must be 'strict', 'shared' or 'ignore', got 'loose'\n"),
        (("--scope", "rack"), "coalloc: scope: must be 'platform', 'cluster' or 'node', got 'rack'\n"),
        (
            ("--saturation", "-1"),
            "coalloc: invalid value for '--saturation': must be a share such as 50% or 0.5, got '-1'; "
            "see `coalloc check --help`\n",
        ),
    ],
)
def test_options_that_there_are_not(tiny, tmp_path, option, line):
    refused = run("check", tiny, write(tmp_path / "s.json", VALID), *option)
    assert (refused.exit_code, refused.stderr) == (2, line)


def test_a_bad_schedule_file_has_a_line_per_fault(tiny, tmp_path):
    document = schedule(("J1", "soon", 100.0, ["C1/0"]), ("", 0.0, 1.0, []))
    path = write(tmp_path / "s.json", document)
    refused = run("check", tiny, path)
    assert refused.exit_code == 2
    assert refused.stderr.splitlines() == [
        f"{path}: placements[0].start: must be a number, got 'soon'",
        f"{path}: placements[1].job: must not be empty",
    ]


def test_a_schedule_that_names_another_instance_is_said(tiny, tmp_path):
    done = run("check", tiny, write(tmp_path / "s.json", {**VALID, "instance": "another"}))
    assert done.exit_code == 0
    assert done.stderr == "coalloc: warning: the schedule names another instance, 'another', not 'tiny'\n"


def test_a_schedule_of_another_instance_is_one_line(tiny, tmp_path):
    # It has J1 of this instance, in vain, and J8 and J9, which are not of it; J2 and J3 are not there.
    placements = (("J9", 0.0, 9.0, ["X/0"]), ("J1", 0.0, 1.0, ["X/0"]), ("J8", 0.0, 9.0, ["X/1"]))
    path = write(tmp_path / "s.json", {**schedule(*placements), "instance": "another"})
    done = run("check", tiny, path)
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "other-instance: the schedule belongs to instance another, not to tiny: 2 jobs unknown (J9, J8), "
        "2 jobs not placed (J2, J3)",
        "invalid: 1 violation of 1 rule",
    ]
    # A schedule that names no instance, or this one, is checked as it is.
    for name in ("instance", "tiny"):
        rules = run("check", tiny, write(path, {**schedule(*placements), "instance": name})).stdout.splitlines()
        assert [line.partition(":")[0] for line in rules][:4] == ["missing-job"] * 2 + ["unknown-job"] * 2


@pytest.mark.parametrize("command", ["solve", "explain"])
def test_fixing_a_schedule_of_another_instance_is_one_line(tiny, tmp_path, command):
    placements = (("J9", 0.0, 9.0, ["X/0"]), ("J1", 0.0, 1.0, ["X/0"]), ("J8", 0.0, 9.0, ["X/1"]))
    path = write(tmp_path / "s.json", {**schedule(*placements), "instance": "another"})
    done = run(command, tiny, "--fixed", path)
    assert (done.exit_code, done.stderr) == (
        2,
        f"coalloc: {path}: the schedule belongs to instance 'another', not to 'tiny', which lacks 2 of its jobs\n",
    )
