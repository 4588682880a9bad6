"""The front of makespan and energy, and its picture and command."""

import json
import math

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.cli.study_front import front
from coalloc.display import palette
from coalloc.studies import front as front_module
from coalloc.studies.front import draw, summary
from coalloc.studies.interruption import Interrupted


def two_nodes() -> Instance:
    """Return two jobs of 2 tasks and 10 s, and two nodes of 2 cores: 10 + 2*5 W, and 2 + 2*1 W at half the speed."""
    fast = NodeGroup(1, power=1.0, cores=2, idle_watts=0.0, static_watts=10.0, core_watts=5.0)
    frugal = NodeGroup(1, power=0.5, cores=2, idle_watts=0.0, static_watts=2.0, core_watts=1.0)
    jobs = [Job(f"J{n}", 2, 10.0) for n in (1, 2)]
    return Instance(Platform([Cluster("C1", [fast, frugal], 0.0)]), jobs, name="two")


def test_the_front_has_the_points_that_can_be_derived():
    # A job takes 200 J on the fast node and 80 J on the frugal one. One on each: 20 s; both on the frugal one: 40 s.
    table = coalloc.energy_front(two_nodes(), {"pcbe": {}}, points=3)
    exact = table[table["label"] == "exact"]
    assert exact["energy"].tolist() == pytest.approx([280.0, 280.0, 160.0])
    assert exact["makespan"].tolist() == pytest.approx([20.0, 20.0, 40.0])
    assert exact["bound"].tolist() == pytest.approx([280.0, 280.0, 160.0])
    assert set(exact["status"]) == {"optimal"}
    assert exact["edp_bound"].tolist() == pytest.approx([20.0 * 280.0, 20.0 * 280.0, 30.0 * 160.0], rel=1e-5)
    assert table.attrs["edp_bound"] == pytest.approx(4800.0, rel=1e-5)
    # pcbe starts J1 on the frugal node and J2, which does not fit beside it, on the fast one.
    (policy,) = table[table["label"] == "pcbe"].to_dict("records")
    assert (policy["makespan"], policy["energy"], policy["bound"]) == pytest.approx((20.0, 280.0, 280.0))


def test_a_slotted_front_bounds_policies_by_the_linear_programme():
    table = coalloc.energy_front(two_nodes(), ["pcbe"], points=2, slot=10.0)
    assert table["energy"].tolist() == pytest.approx([280.0, 160.0, 280.0])
    assert table["bound"].tolist()[-1] == pytest.approx(coalloc.lower_bound(two_nodes(), "energy"))


def test_a_slotted_front_counts_ends_of_slots():
    # Slots of 15 s: a job takes one on the fast node, 15 * 20 J, and two on the frugal one, 30 * 4 J. One on each takes
    # 420 J in 30 s, both on the frugal one 240 J in 60 s.
    table = coalloc.energy_front(two_nodes(), points=2, slot=15.0, scope="platform")
    assert table["makespan"].tolist() == pytest.approx([30.0, 60.0])
    assert table["energy"].tolist() == pytest.approx([420.0, 240.0])
    assert table["edp_bound"].iloc[0] == pytest.approx(30.0 * 420.0)


def test_an_interrupted_front_keeps_its_points_and_still_bounds_every_schedule(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    whole = coalloc.energy_front(two_nodes(), ["pcbe"], points=3)
    second = whole["makespan_limit"][1]
    solve = front_module.solve
    monkeypatch.setattr(
        front_module, "solve", lambda *a, **k: interrupted() if k.get("makespan_limit") == second else solve(*a, **k)
    )
    with pytest.raises(Interrupted) as interrupt:
        coalloc.energy_front(two_nodes(), ["pcbe"], points=3)
    table = interrupt.value.table
    assert table["label"].tolist() == ["exact", "exact", "pcbe"]
    assert table["makespan"][0] == whole["makespan"][0]
    assert table["makespan_limit"][1] == math.inf
    assert 0.0 < table.attrs["edp_bound"] <= whole.attrs["edp_bound"]
    assert interrupt.value.missing == ("two: point 2 of 3",)


def test_where_nothing_is_to_be_traded_one_limit_is_enough():
    # One node: 200 J and 10 s at least and at most.
    instance = two_nodes()
    fast = instance.platform.clusters[0].nodes[0]
    alone = instance.replace(platform=Platform([Cluster("C1", [fast], 0.0)]), jobs=instance.jobs[:1])
    table = coalloc.energy_front(alone, points=20, time_limit=None)
    assert table[["makespan", "energy", "bound"]].values.tolist() == [pytest.approx([10.0, 200.0, 200.0])] * 2
    assert len(summary(table)) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_proven_within_a_limit_is_proven_within_smaller_ones(seed):
    instance = coalloc.generate("pcbe", seed=seed, jobs=4)
    table = coalloc.energy_front(instance, ["pcbe", "node-list"], points=4, time_limit=2.0)
    exact = table[table["label"] == "exact"]
    assert exact["energy"].is_monotonic_decreasing
    assert exact["bound"].is_monotonic_decreasing
    assert (table["bound"] <= table["energy"] * (1.0 + 1e-9)).all()
    for policy in table[table["label"] != "exact"].itertuples():
        within = exact[exact["makespan_limit"] >= policy.makespan]
        assert within["energy"].max() <= policy.energy * (1.0 + 1e-9)
        if policy.makespan < exact["makespan"].max():  # then its makespan is a limit
            assert within["makespan_limit"].min() == pytest.approx(policy.makespan, rel=3e-6)


def test_a_point_proven_within_several_limits_is_summed_up_in_one_row():
    table = front_table(("exact", 20.0, 20.0, 280.0, 280.0), ("exact", 30.0, 20.0, 280.0, 280.0))
    assert summary(table)["makespan_limit"].tolist() == [30.0]
    unproven = front_table(("exact", 20.0, 20.0, 280.0, 280.0), ("exact", 30.0, 20.0, 280.0, 270.0))
    assert summary(unproven)["makespan_limit"].tolist() == [20.0, 30.0]
    policies = front_table(("pcbe", math.nan, 20.0, 280.0, 280.0), ("fcfs", math.nan, 20.0, 280.0, 280.0))
    assert summary(policies)["label"].tolist() == ["pcbe", "fcfs"]


def test_jobs_that_run_already_are_part_of_the_front():
    # Two jobs of 10 s on the fast node, 20 s on the other: with the fast one held until 15 s, one on each ends at 25 s.
    instance = two_nodes().replace(running=[RunningJob(Job("R", 1, 15.0), ("C1/0.0",), 15.0)])
    table = coalloc.energy_front(instance, ["pcbe"], points=2)
    assert table["makespan"][0] == pytest.approx(25.0)
    assert (table["gap"][:2] == 0.0).all()


def test_what_is_refused():
    with pytest.raises(CoallocError, match="points: must be 2 to 10000, got 1"):
        coalloc.energy_front(two_nodes(), points=1)
    with pytest.raises(CoallocError, match="'easy' places jobs within scope 'platform'"):
        coalloc.energy_front(two_nodes(), ["easy"])


def test_instances_without_a_front_are_refused_before_anything_is_solved():
    said: list[str] = []
    refused = [
        (two_nodes().replace(jobs=()), "no front of instance 'two': it has no jobs"),
        (coalloc.example("thesis-oas-1"), "has no idle_watts, static_watts, core_watts"),
    ]
    for instance, sentence in refused:
        with pytest.raises(CoallocError, match=sentence):
            coalloc.energy_front(instance, progress=said.append)
    assert said == []


# ------------------------------------------------------------------------------ the picture


def front_table(*rows: tuple[str, float, float, float, float]) -> pd.DataFrame:
    """Return a table of (label, limit, makespan, energy, bound)."""
    table = pd.DataFrame(rows, columns=["label", "makespan_limit", "makespan", "energy", "bound"])
    table["gap"] = (table["energy"] - table["bound"]) / table["energy"]
    table["edp"] = table["makespan"] * table["energy"]
    table["edp_bound"] = table["makespan"] * table["bound"]
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


def test_the_picture_names_every_series(tmp_path):
    figure = draw(front_table(*FRONT[:1], ("pcbe", math.nan, 30.0, 290.0, 144.0)), tmp_path / "front.svg")
    assert key(figure) == [
        "proven impossible",
        "certified lower envelope: every schedule is on it or above",
        "exact front, 1 limit on the makespan, all proven",
        "pcbe",
    ]
    assert (tmp_path / "front.svg").read_text().startswith("<?xml")


def test_points_that_are_not_proven_are_hollow():
    figure = draw(front_table(*FRONT))
    assert "exact front, 2 limits on the makespan; hollow: 1 not proven, gap up to 10.00 %" in key(figure)
    assert drawn(figure, markerfacecolor=palette.PAPER) == [[40.0, 160.0]]
    assert len(drawn(figure)) == 2


def test_policies_at_the_same_point_share_a_mark():
    policies = [(name, math.nan, 25.0 + late, 300.0, 144.0) for name, late in (("A", 0.0), ("B", 1.0), ("C", 1e-9))]
    figure = draw(front_table(*FRONT, *policies))
    assert key(figure)[-2:] == ["A\nC", "B"]
    assert drawn(figure)[-2:] == [[25.0, 300.0], [26.0, 300.0]]


def test_axes_have_units_that_fit():
    figure = draw(front_table(("exact", math.inf, 7200.0, 2.5e6, 2.5e6)))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("makespan, min", "energy, kJ")
    assert drawn(figure) == [[120.0, 2500.0]]


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
    arguments = [str(path), "--policy", "pcbe", "--points", "2", "--quiet"]
    printed = CliRunner().invoke(app, [*arguments, "-o", str(csv)])
    assert printed.exit_code == 0, printed.output
    # Within 20 s 280 J, else 160 J in 40 s: 5600 and 6400 J s, and no EDP below 20 s * 160 J.
    last = printed.stdout.splitlines()[-1]
    assert last.startswith("2 of 2 points of the front are proven; no schedule has an EDP below 3200")
    assert last.endswith("has one of 5600 J s")
    assert csv.read_text().startswith("instance,label,")
    rows = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [row["label"] for row in rows] == ["exact", "exact", "pcbe"]
    assert rows[1]["makespan_limit"] is None
