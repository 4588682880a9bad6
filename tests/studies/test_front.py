"""The front of makespan and energy, and its picture and command."""

import dataclasses
import itertools
import json
import math

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.cli.study_front import _conclusion, front
from coalloc.documents import palette
from coalloc.solvers.result import SolveStatus
from coalloc.studies import front as front_module
from coalloc.studies.front import draw
from coalloc.studies.interruption import Interrupted
from coalloc.testing.brute_force_energy import brute_force_front
from tests.extras import needs_pictures


def two_nodes() -> Instance:
    """Return two jobs of 2 tasks and 10 s, and two nodes of 2 cores: 10 + 2*5 W, and 2 + 2*1 W at half the speed."""
    fast = NodeGroup(1, power=1.0, cores=2, idle_watts=0.0, static_watts=10.0, core_watts=5.0)
    frugal = NodeGroup(1, power=0.5, cores=2, idle_watts=0.0, static_watts=2.0, core_watts=1.0)
    jobs = [Job(f"J{n}", 2, 10.0) for n in (1, 2)]
    return Instance(Platform([Cluster("C1", [fast, frugal], 0.0)]), jobs, name="two")


def test_the_front_has_the_points_that_can_be_derived():
    # A job takes 200 J on the fast node and 80 J on the frugal one. One on each: 20 s; both on the frugal one: 40 s.
    # The first limit is just below 40 s, which 280 J in 20 s are proven for; nothing is shorter.
    table = coalloc.studies.energy_front(two_nodes(), {"pcbe": {}})
    exact = table[table["label"] == "exact"]
    assert exact["makespan"].tolist() == pytest.approx([20.0, 40.0])
    assert exact["energy"].tolist() == pytest.approx([280.0, 160.0])
    assert exact["lower_bound"].tolist() == pytest.approx([280.0, 160.0])
    assert exact["makespan_limit"].tolist() == pytest.approx([40.0, math.inf], rel=2e-5)
    assert set(exact["status"]) == {"optimal"}
    assert exact["open_from"].isna().all()
    assert (table.attrs["complete"], table.attrs["open"]) == (True, [])
    assert table.attrs["least_makespan"] == pytest.approx(20.0)
    assert exact["edp_bound"].tolist() == pytest.approx([20.0 * 280.0, 40.0 * 160.0], rel=2e-5)
    assert table.attrs["edp_bound"] == pytest.approx(5600.0, rel=2e-5)
    # pcbe starts J1 on the frugal node and J2, which does not fit beside it, on the fast one.
    (policy,) = table[table["label"] == "pcbe"].to_dict("records")
    assert (policy["makespan"], policy["energy"], policy["lower_bound"]) == pytest.approx((20.0, 280.0, 280.0))


def test_a_slotted_front_bounds_policies_by_the_linear_programme():
    table = coalloc.studies.energy_front(two_nodes(), ["pcbe"], slot=10.0)
    assert table["energy"].tolist() == pytest.approx([280.0, 160.0, 280.0])
    assert table["lower_bound"].tolist()[-1] == pytest.approx(coalloc.lower_bound(two_nodes(), "energy"))


def test_a_slotted_front_counts_ends_of_slots():
    # Slots of 15 s: a job takes one on the fast node, 15 * 20 J, and two on the frugal one, 30 * 4 J. One on each takes
    # 420 J in 30 s, both on the frugal one 240 J in 60 s.
    table = coalloc.studies.energy_front(two_nodes(), slot=15.0, scope="platform")
    assert table["makespan"].tolist() == pytest.approx([30.0, 60.0])
    assert table["energy"].tolist() == pytest.approx([420.0, 240.0])
    assert table["edp_bound"].iloc[0] == pytest.approx(30.0 * 420.0)
    assert table.attrs["complete"]


# ------------------------------------------------------------------------------ against brute force


def drawn_instance(seed: int) -> Instance:
    """Return three jobs on a fast and a frugal node; every other instance has no idle watts, so that energies tie."""
    last = 2.0 if seed % 4 < 2 else 6.0
    return coalloc.generate("pcbe", seed=seed, jobs=3, idle_share=0.0 if seed % 2 else 0.05, last_arrival=last)


def assert_is_front(table: pd.DataFrame, expected) -> None:
    """Assert that a table has these points (s, J) and no others, all proven, and says that these are all."""
    assert list(zip(table["makespan"], table["energy"], strict=True)) == [pytest.approx(p, rel=2e-6) for p in expected]
    assert (table["gap"] == 0.0).all()
    assert table["on_front"].all()
    assert table.attrs["complete"]


def test_brute_force_has_the_points_that_can_be_derived():
    assert brute_force_front(two_nodes(), None, "node") == (pytest.approx((20.0, 280.0)), pytest.approx((40.0, 160.0)))


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(8))
def test_a_front_is_that_of_brute_force(seed):
    instance = drawn_instance(seed)
    assert_is_front(coalloc.studies.energy_front(instance), brute_force_front(instance, None, "node"))


@pytest.mark.parametrize("seed", [3, 4])
def test_a_front_in_slots_is_that_of_brute_force(seed):
    instance = drawn_instance(seed)
    assert_is_front(coalloc.studies.energy_front(instance, slot=2.0), brute_force_front(instance, 2.0, "node"))


@pytest.mark.parametrize("seed", [1, 5])
def test_a_front_beside_a_running_job_is_that_of_brute_force(seed):
    instance = drawn_instance(seed).replace(running=[RunningJob(Job("R", 1, 9.0), ("C1/0.0",), 4.5)])
    assert_is_front(coalloc.studies.energy_front(instance), brute_force_front(instance, None, "node"))


def test_a_point_is_the_shortest_of_its_energy(monkeypatch):
    # Without idle watts jobs may all start later, and take the same: the solver returns schedules that start up to 6 s
    # later than they can. So 160 J come in 46 s, then again within a limit just below that, likewise 280 J in 26 s;
    # each time the shortest schedule of that energy is asked for once, in place of a walk in small steps.
    solve = front_module.solve

    def late(*arguments, **options):
        found = solve(*arguments, **options)
        if options["objective"] == "makespan":
            return found
        end = max(p.end for p in found.schedule)
        later = min(6.0, options.get("makespan_limit", math.inf) - end)
        placements = [p.replace(start=p.start + later, end=p.end + later) for p in found.schedule]
        return dataclasses.replace(found, schedule=coalloc.Schedule(tuple(placements)))

    monkeypatch.setattr(front_module, "solve", late)
    said: list[str] = []
    table = coalloc.studies.energy_front(two_nodes(), progress=said.append)
    assert_is_front(table, [(20.0, 280.0), (40.0, 160.0)])
    shortened = [line for line in said if "with" in line.split()]
    assert shortened == ["two: minimum makespan with 160 J", "two: minimum makespan with 280 J"]
    assert len(said) == 2 + 3 + len(shortened)  # the ends; just below 46, 40 and 26 s; and these


# ------------------------------------------------------------------------------ fronts that are not complete


def assert_bounds(table: pd.DataFrame, points) -> None:
    """Assert that each point (s, J) of the true front is a row or in an open strip, and that none beats a bound."""
    exact = table[table["label"] == "exact"]
    for makespan, joules in points:
        is_row = any(
            (row.makespan, row.energy) == pytest.approx((makespan, joules), rel=2e-6) for row in exact.itertuples()
        )
        is_in_strip = any(low <= makespan * (1.0 + 1e-6) and makespan <= high for low, high in table.attrs["open"])
        assert is_row or is_in_strip
        assert exact[exact["makespan_limit"] >= makespan]["lower_bound"].max() <= joules * (1.0 + 1e-6)
        assert table.attrs["edp_bound"] <= makespan * joules * (1.0 + 1e-9)


@pytest.mark.parametrize("points", [2, 3])
def test_fewer_limits_than_points_leave_strips_open(points):
    instance = drawn_instance(8)
    true = brute_force_front(instance, None, "node")
    assert len(true) > points
    table = coalloc.studies.energy_front(instance, points=points)
    assert len(table) == points
    assert table["makespan"].tolist()[:: points - 1] == pytest.approx([true[0][0], true[-1][0]])
    assert (table["gap"] == 0.0).all()
    assert not table.attrs["complete"]
    assert_bounds(table, true)


@pytest.mark.parametrize("seed", [1, 2])
def test_as_many_points_as_the_front_has_are_all_found(seed):
    # The points are not evenly spaced: of seven, evenly spaced limits meet five.
    instance = coalloc.generate("pcbe", seed=seed, jobs=3)
    whole = coalloc.studies.energy_front(instance)
    table = coalloc.studies.energy_front(instance, points=len(whole))
    for column in ("makespan", "energy"):
        assert table[column].tolist() == pytest.approx(whole[column].tolist(), rel=2e-6)


def weakened(share: float, *objectives: str):
    """Return a solve that proves so much less of these objectives, as where its time runs out."""
    solve = front_module.solve

    def weak(*arguments, **options):
        found = solve(*arguments, **options)
        if options["objective"] not in objectives or found.schedule is None:
            return found
        return dataclasses.replace(found, status=SolveStatus.FEASIBLE, lower_bound=share * found.lower_bound)

    return weak


def test_what_is_not_proven_is_open_and_takes_a_bounded_number_of_solves(monkeypatch):
    instance = drawn_instance(8)
    monkeypatch.setattr(front_module, "solve", weakened(0.9, "energy"))
    monkeypatch.setattr(front_module, "POINTS", 4)
    said: list[str] = []
    table = coalloc.studies.energy_front(instance, progress=said.append)
    assert len(said) <= 2 + 4
    assert not table.attrs["complete"]
    assert table.attrs["open"][-1][1] == math.inf
    assert (table["gap"] > 0.0).all()
    assert_bounds(table, brute_force_front(instance, None, "node"))


def test_limits_within_which_nothing_new_is_known_are_one_row(monkeypatch):
    # Nothing but 0 J is proven: within every limit from 40 s on 160 J are known, within others 280 J in 20 s.
    monkeypatch.setattr(front_module, "solve", weakened(0.0, "energy"))
    table = coalloc.studies.energy_front(two_nodes())
    assert table["makespan"].tolist() == pytest.approx([20.0, 40.0])
    assert table["lower_bound"].tolist() == [0.0, 0.0]
    assert table.attrs["open"] == [
        pytest.approx((20.0, table["makespan_limit"][0])),
        (table["makespan_limit"][0], math.inf),
    ]


def test_a_least_makespan_that_is_not_proven_is_proven_by_the_walk(monkeypatch):
    # No schedule ends just below the shortest one.
    instance = drawn_instance(8)
    monkeypatch.setattr(front_module, "solve", weakened(0.9, "makespan"))
    table = coalloc.studies.energy_front(instance)
    assert_is_front(table, brute_force_front(instance, None, "node"))
    assert table.attrs["least_makespan"] == pytest.approx(table["makespan"][0], rel=2e-5)


def test_a_least_makespan_that_stays_unproven_is_said(monkeypatch):
    # 20 s, of which only 18 s are proven, and with two limits nothing is asked below.
    monkeypatch.setattr(front_module, "solve", weakened(0.9, "makespan"))
    table = coalloc.studies.energy_front(two_nodes(), points=2)
    assert table.attrs["least_makespan"] == pytest.approx(18.0)
    assert table["open_from"][0] == pytest.approx(18.0)
    assert table.attrs["open"][0] == pytest.approx((18.0, 20.0))
    assert "The minimum makespan is not proved; it is at least 18 s." in _conclusion(table)


def test_an_interrupted_front_keeps_its_points_and_still_bounds_every_schedule(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    whole = coalloc.studies.energy_front(two_nodes(), ["pcbe"])
    solve = front_module.solve
    monkeypatch.setattr(
        front_module, "solve", lambda *a, **k: interrupted() if "makespan_limit" in k else solve(*a, **k)
    )
    with pytest.raises(Interrupted) as interrupt:
        coalloc.studies.energy_front(two_nodes(), ["pcbe"])
    table = interrupt.value.table
    assert table["label"].tolist() == ["exact", "pcbe"]
    assert (table["makespan"][0], table["makespan_limit"][0]) == (whole["makespan"][1], math.inf)
    assert 0.0 < table.attrs["edp_bound"] <= whole.attrs["edp_bound"]
    assert table.attrs["open"] == [pytest.approx((20.0, 40.0))]
    assert interrupt.value.missing == ("two: minimum energy within 39.9996 s",)


def test_where_nothing_is_to_be_traded_one_limit_is_enough():
    # One node: 200 J and 10 s at least and at most.
    instance = two_nodes()
    fast = instance.platform.clusters[0].nodes[0]
    alone = instance.replace(platform=Platform([Cluster("C1", [fast], 0.0)]), jobs=instance.jobs[:1])
    table = coalloc.studies.energy_front(alone, time_limit=None)
    assert table[["makespan", "energy", "lower_bound"]].values.tolist() == [pytest.approx([10.0, 200.0, 200.0])]
    assert table.attrs["complete"]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_policy_meets_a_schedule_as_short(seed):
    # With two limits the front between its ends is left out, but for the makespans of policies.
    instance = coalloc.generate("pcbe", seed=seed, jobs=4)
    table = coalloc.studies.energy_front(instance, ["pcbe", "node-list"], points=2)
    exact = table[table["label"] == "exact"]
    assert exact["energy"].is_monotonic_decreasing
    assert exact["lower_bound"].is_monotonic_decreasing
    assert (table["lower_bound"] <= table["energy"] * (1.0 + 1e-9)).all()
    for policy in table[table["label"] != "exact"].itertuples():
        within = exact[exact["makespan_limit"] >= policy.makespan]
        assert within["energy"].max() <= policy.energy * (1.0 + 1e-9)
        assert policy.lower_bound == within["lower_bound"].max()


def test_jobs_that_run_already_are_part_of_the_front():
    # Two jobs of 10 s on the fast node, 20 s on the other: with the fast one held until 15 s, one on each ends at 25 s.
    instance = two_nodes().replace(running=[RunningJob(Job("R", 1, 15.0), ("C1/0.0",), 15.0)])
    table = coalloc.studies.energy_front(instance, ["pcbe"])
    assert table["makespan"][0] == pytest.approx(25.0)
    assert (table["gap"][:2] == 0.0).all()


def test_what_is_refused():
    with pytest.raises(CoallocError, match="points: must be from 2 to 10000, got 1"):
        coalloc.studies.energy_front(two_nodes(), points=1)
    with pytest.raises(CoallocError, match="'easy' has scope 'platform'"):
        coalloc.studies.energy_front(two_nodes(), ["easy"])


def test_instances_without_a_front_are_refused_before_anything_is_solved():
    said: list[str] = []
    refused = [
        (two_nodes().replace(jobs=()), "instance 'two' has no Pareto front: it has no jobs"),
        (coalloc.example("thesis-oas-1"), "has no idle_watts, static_watts, core_watts"),
    ]
    for instance, sentence in refused:
        with pytest.raises(CoallocError, match=sentence):
            coalloc.studies.energy_front(instance, progress=said.append)
    assert said == []


# ------------------------------------------------------------------------------ the picture


def front_table(*rows: tuple[str, float, float, float, float]) -> pd.DataFrame:
    """Return a table of (label, limit, makespan, energy, bound)."""
    table = pd.DataFrame(rows, columns=["label", "makespan_limit", "makespan", "energy", "lower_bound"])
    table["gap"] = (table["energy"] - table["lower_bound"]) / table["energy"]
    table["edp"] = table["makespan"] * table["energy"]
    table["edp_bound"] = table["makespan"] * table["lower_bound"]
    table["open_from"] = table["makespan"].where(table["gap"] > 0.0)
    return table.assign(instance="two", status="feasible", on_front=True)


FRONT = [("exact", 20.0, 20.0, 280.0, 280.0), ("exact", math.inf, 40.0, 160.0, 144.0)]
"""A point that is proven, and one that has a gap of a tenth."""


def key(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def drawn(figure, **look):
    """Return the points that are drawn without a line, and with this look."""
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    found = [line for line in lines if all(getattr(line, f"get_{name}")() == value for name, value in look.items())]
    return [point for line in found for point in line.get_xydata().tolist()]


@needs_pictures
def test_the_picture_names_every_series(tmp_path):
    figure = draw(front_table(*FRONT[:1], ("pcbe", math.nan, 30.0, 290.0, 144.0)), tmp_path / "front.svg")
    assert key(figure) == [
        "proved impossible",
        "certified lower envelope: every schedule is on it or above",
        "exact Pareto front, 1 point, complete",
        "pcbe",
    ]
    assert (tmp_path / "front.svg").read_text().startswith("<?xml")


@needs_pictures
def test_points_that_are_not_proven_are_hollow():
    figure = draw(front_table(*FRONT))
    assert "exact Pareto front, 2 points; 1 unsolved strip; hollow: 1 not proved, gap up to 10.00 %" in key(figure)
    assert drawn(figure, markerfacecolor=palette.PAPER) == [[40.0, 160.0]]
    assert len(drawn(figure)) == 2


@needs_pictures
def test_policies_at_the_same_point_share_a_mark():
    policies = [(name, math.nan, 25.0 + late, 300.0, 144.0) for name, late in (("A", 0.0), ("B", 1.0), ("C", 1e-9))]
    figure = draw(front_table(*FRONT, *policies))
    assert key(figure)[-2:] == ["A\nC", "B"]
    assert drawn(figure)[-2:] == [[25.0, 300.0], [26.0, 300.0]]


def marks(figure):
    """Return the marks that are drawn without a line, from the lowest."""
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "None" and len(line.get_xydata())]
    return sorted(lines, key=lambda line: line.get_zorder())


@needs_pictures
def test_marks_that_overlap_are_all_visible():
    places = {
        "on the front": (20.0, 280.0),
        "beside it": (20.2, 280.0),
        "above it": (20.1, 281.0),
        "far": (35.0, 290.0),
    }
    policies = [(name, math.nan, *place, 144.0) for name, place in places.items()]
    figure = draw(front_table(*FRONT, *policies))
    *of_policies, _, proven = marks(figure)
    # The larger is below: 5 points or more of it are beside the smaller one, whose shape is another.
    near = [line for line in of_policies if line.get_label() != "far"]
    sizes = [line.get_markersize() for line in near]
    assert all(lower - upper >= 5.0 for lower, upper in itertools.pairwise(sizes))
    assert len({line.get_marker() for line in near}) == 3
    # On top of all is the point of the front, smaller than any mark; a mark that is alone is not larger than usual.
    assert proven.get_xydata().tolist() == [[20.0, 280.0]]
    assert proven.get_markersize() <= min(sizes) - 5.0
    (alone,) = [line for line in of_policies if line.get_label() == "far"]
    assert alone.get_markersize() == min(sizes)


@needs_pictures
def test_the_points_of_a_dense_front_are_smaller():
    wide = marks(draw(front_table(*FRONT)))[-1].get_markersize()
    rows = [("exact", 20.0 + n, 20.0 + n, 280.0 - n, 280.0 - n) for n in range(200)]
    dense = marks(draw(front_table(*rows)))[-1].get_markersize()
    # 200 points on 7.6 inches are 2.4 points of length apart, in one direction or the other, and less a margin.
    assert 2.0 <= dense < 2.7 < wide


@needs_pictures
def test_axes_have_units_that_fit():
    figure = draw(front_table(("exact", math.inf, 7200.0, 2.5e6, 2.5e6)))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("makespan, min", "energy, kJ")
    assert drawn(figure) == [[120.0, 2500.0]]


@needs_pictures
def test_in_slots_the_envelope_is_that_of_schedules_in_slots():
    table = front_table(*FRONT)
    table.attrs["slot"] = "10%"
    assert "certified lower envelope: every schedule in slots is on it or above" in key(draw(table))


# ------------------------------------------------------------------------------ the command


def test_the_command(tmp_path):
    app = typer.Typer()
    app.command()(front)
    path, csv = tmp_path / "two.json", tmp_path / "front.csv"
    coalloc.write_instance(two_nodes(), path)
    arguments = [str(path), "--policy", "pcbe", "--quiet"]
    printed = CliRunner().invoke(app, [*arguments, "-o", str(csv)])
    assert printed.exit_code == 0, printed.output
    # In 20 s 280 J, in 40 s 160 J: 5600 and 6400 J s.
    assert printed.stdout.splitlines()[-2:] == [
        "The Pareto front is complete: 2 points.",
        "The minimum EDP is at least 5600 J s; the best known is 5600 J s (exact).",
    ]
    assert csv.read_text().startswith("instance,label,")
    rows = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [row["label"] for row in rows] == ["exact", "exact", "pcbe"]
    assert rows[1]["makespan_limit"] is None
