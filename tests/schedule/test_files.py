"""Schedule files: as strict as instance files, and silent about rules that the checker knows."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.values import LARGEST
from coalloc.instance import InstanceError
from coalloc.schedule import Placement, Schedule
from coalloc.schedule.files import read_schedule, write_schedule
from tests.instance.documents import FIXTURES
from tests.strategies import LAW

odd_texts = st.sampled_from(["<script>", "[/b]", "../x", "\x1b[0m", "a\nb"]) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5
)
texts = odd_texts.filter(str.isprintable)
instants = st.floats(allow_nan=False, allow_infinity=False)
placements = st.builds(
    Placement, texts, instants, instants, st.lists(odd_texts, max_size=3), st.sampled_from(["completed", "killed"])
)
schedules = st.builds(
    Schedule,
    st.lists(placements, max_size=4),
    st.none() | st.floats(0, LARGEST, exclude_min=True),
    texts,
)


@LAW
@given(schedules, st.sampled_from([".json", ".json.gz"]))
def test_writing_then_reading_is_the_identity(tmp_path_factory, schedule, suffix):
    # Of any origin: jobs placed twice, ends before starts, processors that nobody has.
    path = tmp_path_factory.mktemp("law") / f"schedule{suffix}"
    write_schedule(schedule, path)
    assert read_schedule(path) == schedule


def test_version_1_is_read_for_ever():
    assert read_schedule(FIXTURES / "schedule-v1.json") == Schedule(
        (
            Placement("J1", 0.0, 100.0, ("C1/0", "C1/1")),
            Placement("J2", 100.0, 130.5, ("C1/0.3",), "killed"),
        ),
        slot=None,
        instance="wl1",
    )


def test_a_schedule_is_written_with_all_its_keys(tmp_path):
    write_schedule(Schedule((Placement("J1", 0.0, 100.0, ("C1/0", "C1/1")),), instance="wl1"), tmp_path / "s.json")
    assert (
        (tmp_path / "s.json").read_text()
        == """{
  "format": "coalloc-schedule",
  "version": 1,
  "instance": "wl1",
  "slot": null,
  "placements": [
    {"job": "J1", "start": 0.0, "end": 100.0, "nodes": ["C1/0-1"], "outcome": "completed"}
  ]
}
"""
    )


def test_a_schedule_without_placements(tmp_path):
    write_schedule(Schedule((), slot=5.0), tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["placements"] == []
    assert read_schedule(tmp_path / "s.json") == Schedule((), slot=5.0)


def test_all_faults_come_at_once(tmp_path):
    path = tmp_path / "s.json"
    path.write_text("""{"format": "coalloc-schedule", "version": 1, "instance": "", "slot": 0, "length": 3,
        "placements": [{"job": "J1", "start": NaN, "end": true, "nodes": "C1/0", "outcome": "lost", "outcome": "lost"},
                       {"job": "J2", "start": "0", "end": 1e999, "nodes": [1]}, 7]}""")
    with pytest.raises(InstanceError) as caught:
        read_schedule(path)
    assert sorted(str(fault) for fault in caught.value.faults) == [
        "instance: must not be empty",
        "length: is not a known key; known keys: format, version, placements, slot, instance, failures, interrupted",
        "placements[0].end: must be a number, got true",
        "placements[0].nodes: must be a list, got 'C1/0'",
        "placements[0].outcome: must be 'completed' or 'killed', got 'lost'",
        "placements[0].outcome: occurs twice in the same object",
        "placements[0].start: must be finite, got NaN",
        "placements[1].end: must be finite, got 1e999",
        "placements[1].nodes[0]: must be a string, got 1",
        "placements[1].start: must be a number, got '0'",
        "placements[2]: must be an object, got 7",
        "slot: must be above 0, got 0",
    ]
    assert str(caught.value).splitlines()[0].startswith(f"{path}: ")


def test_an_instance_is_no_schedule():
    with pytest.raises(InstanceError, match=r"format: must be 'coalloc-schedule', got 'coalloc-instance'$"):
        read_schedule(FIXTURES / "instance-v1.json")
