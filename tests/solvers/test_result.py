"""What a result says of itself, and which points of a trace are news."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import RegularObjective
from coalloc.solvers.result import News, TracePoint


def test_points_are_news_where_they_change_by_a_thousandth_or_close_the_gap():
    said: list[str] = []
    news = News(said.append)
    # 2000 is the first; 1998.5 is 0.075 % below it and is not told; 1997 is 0.15 % below 2000; a bound of 1996.5 is the
    # first, 1997 closes the gap although it is 0.025 % above.
    for incumbent, bound in ((2000.0, None), (1998.5, None), (1997.0, None), (1997.0, 1996.5), (1997.0, 1997.0)):
        news(TracePoint(0.0, incumbent, bound, "a search"))
    assert [line.split()[3::2] for line in said] == [
        ["2000", "-", "-", "search"],
        ["1997", "-", "-", "search"],
        ["1997", "1996.5", "0.03", "a"],
        ["1997", "1997", "0.00", "a"],
    ]


class Weighed(RegularObjective):
    """Weights of jobs that end after 10 s."""

    name = "weighed"
    unit = "kg"

    def cost(self, job, start, end):
        return 2.0 * (end > 10.0)


class LateJobs(Weighed):
    """How many jobs end after 10 s, each counted twice."""

    name = "late-jobs"
    unit = "-"


# On one node the second of two jobs of 10 s ends at 20 s.
WATTS = {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": 1.0}
ONE_NODE = Instance(
    Platform([Cluster("C1", [NodeGroup(1, power=1.0, **WATTS)], link_bandwidth=1.0)]),
    [Job("J1", 1, 10.0), Job("J2", 1, 10.0)],
)


@pytest.mark.parametrize("slot", [None, 10.0])
@pytest.mark.parametrize(
    ("objective", "unit", "shown"),
    [
        (Weighed(), "kg", "2 kg (weighed)"),
        (LateJobs(), "-", "2 (late-jobs)"),
        ("makespan", "s", "20 s (makespan)"),
        # Responses of 10 and 20 s over run times of 10 s: (1 + 2) / 2.
        ("mean-bounded-slowdown", "-", "1.5 (mean-bounded-slowdown)"),
        (("makespan", Weighed()), "kg", "2 kg (makespan, weighed)"),
    ],
)
def test_a_result_has_the_unit_of_its_objective(objective, unit, shown, slot, tmp_path):
    result = coalloc.solve(ONE_NODE, objective=objective, slot=slot)
    assert result.unit == unit
    assert dict(result.lines())["objective"] == shown
    assert dict(result.lines())["bound"] == shown.partition(" (")[0]
    assert f"{shown.partition(' (')[0]}, bound" in repr(result)
    coalloc.io.write_result(result, tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text())["unit"] == unit
    assert str(coalloc.io.read_result(tmp_path / "result.json")) == str(result)
    if isinstance(objective, tuple):
        assert [level.unit for level in result.solved_levels] == ["s", "kg"]


def test_units_of_energy_and_of_packages():
    assert coalloc.solve(ONE_NODE, objective="energy").unit == "J"
    assert coalloc.solve(ONE_NODE, objective="edp", time_limit=5.0).unit == "J s"
    package = ONE_NODE.replace(jobs=ONE_NODE.jobs[:1])
    assert [coalloc.solve(package, model=model).unit for model in ("pas", "cbs", "jpr")] == ["s", "tasks", "s"]


def test_a_solver_that_was_not_needed_is_named():
    # The mean reference run time is 670,000 s.
    solved = coalloc.solve(coalloc.example("thesis-oas-1"), slot="100%")
    rules = "oas/auto, time slots of 670000 s, strict links"
    assert dict(solved.lines())["model"] == f"{rules}; no model needed"
    asked = replace(solved, options=replace(solved.options, solver="cbc"))
    assert dict(asked.lines())["model"] == f"{rules}; no model needed; cbc did not run"
