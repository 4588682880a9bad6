"""Submissions to the benchmark library: right ones are compared, and wrong ones are invalid, for the right reason."""

import copy
import json
import re
from dataclasses import replace

import pytest

import coalloc
from coalloc.studies import check_submission
from tests.cli.running import run

ENTRY = coalloc.library()["thesis-01"]
OTHER = coalloc.library()["thesis-02"]
CERTIFICATE = ENTRY.certificate


def checked(tmp_path, document):
    path = tmp_path / "submission.json"
    path.write_text(json.dumps(document))
    return check_submission(path)


def schedule_document(entry=ENTRY):
    return copy.deepcopy(entry.certificate["schedule"])


@pytest.fixture(scope="module")
def result_document(tmp_path_factory):
    path = tmp_path_factory.mktemp("result") / "result.json"
    result = coalloc.solve(ENTRY.instance, slot=ENTRY.slot, objective=ENTRY.objective)
    coalloc.io.write_result(result, path)
    return json.loads(path.read_text())


def test_the_best_known_schedule_is_equal(tmp_path):
    found = checked(tmp_path, schedule_document())
    assert (found.name, found.verdict, found.value, found.best) == ("thesis-01", "equal", ENTRY.value, ENTRY.value)
    assert not found.is_certified


def test_a_result_and_a_certificate_are_equal(tmp_path, result_document):
    assert checked(tmp_path, result_document).verdict == "equal"
    found = checked(tmp_path, CERTIFICATE)
    assert (found.verdict, found.is_certified) == ("equal", True)


def test_a_schedule_for_another_objective_is_judged_by_this_one(tmp_path):
    schedule = coalloc.solve(ENTRY.instance, slot=ENTRY.slot, objective="total-response-time").schedule
    path = tmp_path / "s.json"
    coalloc.write_schedule(schedule, path)
    found = check_submission(path)
    assert found.value == max(placed.end for placed in schedule.placements)
    assert found.verdict == ("worse" if found.value > ENTRY.value else "equal")


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"value": ENTRY.value * 1.01}, "better"),
        ({"is_certified": False}, "certified"),
        ({"value": ENTRY.value * 0.99}, "worse"),
    ],
)
def test_it_is_compared_with_what_the_library_holds(tmp_path, monkeypatch, change, verdict):
    held = replace(ENTRY, **change)
    monkeypatch.setitem(coalloc.library()._entries, "thesis-01", held)
    assert checked(tmp_path, CERTIFICATE).verdict == verdict


def moved(document, shift, which=0):
    """Move the job that ends last, or first, where nothing is in its way."""
    placed = sorted(document["placements"], key=lambda placed: -placed["end"])[which]
    placed["start"] += shift
    placed["end"] += shift


def to(document, key, value):
    document[key] = value


def placement(document, **fields):
    document["placements"][0] |= fields


def twice(document):
    document["placements"].append(document["placements"][0])


SCHEDULES = {
    "a job is missing": (lambda d: d["placements"].pop(), "missing-job"),
    "a job runs twice": (twice, "J|twice|duplicate"),
    "a job starts before 0": (lambda d: moved(d, -d["slot"] * 1000), "start"),
    "a job starts within a slot": (lambda d: moved(d, 1.0), "no multiple of the slot"),
    "a job ends too early": (
        lambda d: placement(d, end=d["placements"][0]["start"] + d["slot"] / 2),
        "end|duration|slot",
    ),
    "a job has one processor too few": (lambda d: d["placements"][-1]["nodes"].pop(), "processor|task|node"),
    "a processor does not exist": (lambda d: placement(d, nodes=["C9/0"]), "C9"),
    "a job is unknown": (lambda d: placement(d, job="J99"), "J99"),
    "another slot": (lambda d: to(d, "slot", d["slot"] / 2), "slot"),
    "no slot": (lambda d: d.pop("slot"), "slot"),
    "another instance's": (lambda d: to(d, "instance", "thesis-02"), ""),
    "of no instance of the library": (
        lambda d: to(d, "instance", "tesis-01"),
        "no instance of the library .did you mean",
    ),
}


@pytest.mark.parametrize("wrong", SCHEDULES)
def test_a_wrong_schedule_is_invalid(tmp_path, wrong):
    change, reason = SCHEDULES[wrong]
    document = schedule_document()
    change(document)
    found = checked(tmp_path, document)
    assert (found.verdict, found.value) == ("invalid", None)
    assert found.reasons

    assert re.search(reason, " ".join(found.reasons)), found.reasons


CERTIFICATES = {
    "a higher bound": (lambda d: to(d, "bound", d["bound"] * 1.1), ""),
    "a lower bound": (lambda d: to(d, "bound", d["bound"] / 2), "optimal"),
    "no proof": (lambda d: to(d, "proof", {"rule": "contradiction"}), ""),
    "no schedule": (lambda d: d.pop("schedule"), "optimal"),
    "the schedule of another": (lambda d: to(d, "schedule", schedule_document(OTHER)), ""),
    "another saturation": (lambda d: to(d["problem"], "saturation", 0.5), "must be for links strict, saturation 0"),
    "another objective": (lambda d: to(d["problem"], "objective", "total-response-time"), "total-response-time"),
    "another instance": (lambda d: to(d, "instance_sha256", "0" * 64), "SHA-256"),
}


@pytest.mark.parametrize("wrong", CERTIFICATES)
def test_a_wrong_certificate_is_invalid(tmp_path, wrong):
    change, reason = CERTIFICATES[wrong]
    document = copy.deepcopy(CERTIFICATE)
    change(document)
    found = checked(tmp_path, document)

    assert (found.verdict, found.is_certified) == ("invalid", False)
    assert re.search(reason, " ".join(found.reasons)), found.reasons


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: to(d, "instance_sha256", "0" * 64), "SHA-256"),
        (lambda d: to(d["options"], "slot", 1.0), "solved for 'makespan', slot 1.0"),
        (lambda d: to(d["options"], "objective", "mean-wait"), "solved for 'mean-wait'"),
        (lambda d: to(d, "schedule", None), "no schedule"),
    ],
)
def test_a_wrong_result_is_invalid(tmp_path, result_document, change, reason):
    document = copy.deepcopy(result_document)
    change(document)
    found = checked(tmp_path, document)
    assert found.verdict == "invalid"
    assert reason in " ".join(found.reasons)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "JSON"),
        ("[]", "must contain a JSON object"),
        ("{}", "format: must be one of coalloc-schedule, coalloc-result, coalloc-certificate, got null"),
        ('{"format": "coalloc-instance"}', "got 'coalloc-instance'"),
        ('{"format": ["coalloc-schedule"]}', "format: must be one of"),
        ('{"format": "coalloc-scedule"}', "(did you mean 'coalloc-schedule'?)"),
        ('{"format": "coalloc-schedule", "version": 1, "placements": 3}', "placements"),
    ],
)
def test_what_is_no_submission_is_a_line(tmp_path, content, reason):
    path = tmp_path / "submission.json"
    path.write_text(content)
    shown = run("library", "check", path)
    assert shown.exit_code == 2
    assert reason in shown.stderr


def test_files_that_cannot_be_read_hide_no_others(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(CERTIFICATE))
    bad.write_text("{")
    for options in ((), ("--json",)):
        shown = run("library", "check", bad, good, tmp_path / "none.json", *options)
        assert shown.exit_code == 2
        assert "equal" in shown.stdout
        assert [line.split(": ")[0] for line in shown.stderr.splitlines()] == [str(bad), str(tmp_path / "none.json")]


def test_the_shell_lists_shows_and_checks(tmp_path):
    assert "thesis" in run("library", "list").stdout
    assert run("library", "list", "thesis").stdout.count("thesis-") == 30
    schedule, certificate, instance = (tmp_path / name for name in ("s.json", "c.json.gz", "i.json"))
    shown = run("library", "show", "thesis-01", "--schedule", schedule, "--certificate", certificate, "-o", instance)
    assert (shown.exit_code, "optimal" in shown.stdout) == (0, True)
    assert coalloc.read_instance(instance) == ENTRY.instance
    assert run("verify", "library:thesis-01", certificate).exit_code == 0
    assert run("check", "library:thesis-01", schedule).exit_code == 0
    shown = run("library", "check", schedule, certificate)
    assert shown.exit_code == 0
    assert shown.stdout.count("thesis-01: equal") == 2
    bad = schedule_document()
    bad["placements"].pop()
    schedule.write_text(json.dumps(bad))
    shown = run("library", "check", schedule)
    assert (shown.exit_code, "missing-job" in shown.stderr) == (1, True)
    assert run("library", "show", "thesis-00").exit_code == 2
    assert run("library", "list", "nothing").exit_code == 2
