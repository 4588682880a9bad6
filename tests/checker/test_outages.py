"""Outages of nodes, and of a number of processors of a group."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Instance, Job, RunningJob
from coalloc.instance.windows import Window
from coalloc.schedule import Placement, Schedule
from tests.checker.test_times import PLATFORM

WINDOWS = Instance(
    PLATFORM.replace(
        unavailable=[
            Window("C2", 10.0, 20.0),
            Window("C1", 30.0, 40.0, nodes=["C1/1-2"]),
            Window("C1", 50.0, 60.0, group=0, processors=1),
            Window("C1", 55.0, 65.0, group=0, processors=1),
        ]
    ),
    [Job("A", 1, 10.0), Job("B", 1, 10.0)],
    [RunningJob(Job("R", 1, 5.0), ["C1/0"], 75.0, start=70.0)],
)
"""C1/0 and C1/1 are group 0 of C1."""


@pytest.mark.parametrize(
    ("start", "node", "violated"),
    [
        (0.0, "C2/0", None),  # it ends when the window begins
        (20.0, "C2/0", None),
        (0.1, "C2/0", ("unavailable", "C2/0", 10.0)),
        (19.0, "C2/1", ("unavailable", "C2/1", 19.0)),
        (25.0, "C1/2", ("unavailable", "C1/2", 30.0)),
        (25.0, "C1/3", None),
        (41.0, "C1/1", None),  # one processor of the group is left at 50 s
        (46.0, "C1/1", ("unavailable", "group 0 of C1", 55.0)),  # none is left from 55 to 60 s
        (60.0, "C1/1", None),
        (66.0, "C1/0", ("overlap", "C1/0", 70.0)),
    ],
)
def test_windows_and_reservations(start, node, violated):
    elsewhere = Placement("B", 0.0, 10.0, ["C1/3"])
    found = check(WINDOWS, Schedule([Placement("A", start, start + 10.0, [node]), elsewhere]))
    assert [(v.rule, v.where, v.when) for v in found] == ([] if violated is None else [violated])


def test_what_runs_already_counts_in_a_window_of_a_number_of_processors():
    # R holds C1/0 from 48 s on; with A on C1/1 that is 2, and the window leaves 1.
    reserved = WINDOWS.replace(running=[RunningJob(Job("R", 1, 5.0), ["C1/0"], 54.0, start=48.0)])
    elsewhere = Placement("B", 0.0, 10.0, ["C1/3"])
    (violation,) = check(reserved, Schedule([Placement("A", 43.0, 53.0, ["C1/1"]), elsewhere]))
    assert (violation.rule, violation.jobs, violation.amount, violation.limit) == ("unavailable", ("A",), 2, 1)
