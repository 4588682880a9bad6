"""``coalloc explain``: what it prints and returns."""

import json

import pytest

import coalloc
from tests.cli.running import TINY, run, write
from tests.explanations.test_infeasible import many_ends_by


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


def test_what_bounds_an_instance(tiny):
    # Two nodes: J1 takes both for 100 s, J2 and J3 one each for 100 and 50 s: 350 processor-seconds, 175 s of two; but
    # J1 cannot run beside J2, so 200 s. With a node more it can, and both nodes of J1 then take J3: 150 s.
    explained = run("explain", tiny)
    assert explained.exit_code == 0
    lines = explained.stdout.splitlines()
    assert lines[0] == "what bounds the objective:"
    assert lines[2] == "what reduces the optimum:"
    assert lines[3:] == ["  with one more node of speed 1 in 'C1' the optimum is 150 s, lower by 50 s"]


def test_why_the_jobs_of_a_schedule_waited(tiny, tmp_path):
    assert run("simulate", tiny, "--policy", "fcfs", "-o", tmp_path / "s.json").exit_code == 0
    explained = run("explain", tiny, tmp_path / "s.json", "--job", "J2", "--json")
    assert explained.exit_code == 0
    reasons = json.loads(explained.stdout)["reasons"]
    (wait,) = (reason for reason in reasons if reason["about"] == "wait")
    assert (wait["kind"], wait["jobs"], wait["since"], wait["until"]) == ("processors", ["J2"], 0.0, 100.0)


def test_an_instance_without_schedule_and_a_schedule_that_is_not_valid(tiny, tmp_path):
    late = run("explain", tiny, "--makespan-limit", 80)
    assert late.exit_code == 1
    assert late.stdout.splitlines()[:2] == [
        "there is no schedule:",
        "  job 'J1' must end by 80 s, but cannot end before 100 s: it starts at 0 s or later and takes 100 s: "
        "20 s too late",
    ]
    broken = coalloc.Schedule([coalloc.Placement("J1", 0.0, 100.0, ["C1/0", "C1/1"])])
    coalloc.write_schedule(broken, tmp_path / "s.json")
    refused = run("explain", tiny, tmp_path / "s.json")
    assert refused.exit_code == 1
    assert refused.stdout.startswith("the schedule is invalid:\n  missing-job: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--job", "J9"], "coalloc: jobs: must be jobs of the instance, got 'J9'"),
        (["--job", "J1"], "coalloc: jobs: requires a schedule"),
        (["--slot", "abc"], "coalloc: slot: must be seconds or a percentage"),
        (["--objective", "edp"], "coalloc: objective of explain must be regular, got 'edp'"),
        (["--time-limit", "0"], "coalloc: time_limit: must be above 0 s, got 0.0"),
    ],
)
def test_bad_input_is_one_line(tiny, arguments, message):
    refused = run("explain", tiny, *arguments)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(message)
    assert len(refused.stderr.splitlines()) == 1


def test_what_was_not_decided_is_the_first_sentence_and_no_success(tmp_path):
    path = tmp_path / "late.json"
    coalloc.write_instance(many_ends_by(2700.0), path)
    explained = run("explain", path, "--time-limit", "1e-6")
    assert explained.exit_code == 1
    assert explained.stdout.startswith("undecided whether a schedule exists:\n")
    assert explained.stderr == "searching for a schedule or a proof of infeasibility, and for bounds: up to 1e-06 s\n"
    assert run("explain", path, "--time-limit", "1e-6", "--quiet").stderr == ""
