"""The front of makespan and energy, and its picture and command."""

import json
import math

import pytest
import typer
from typer.testing import CliRunner

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.cli.study_front import front
from coalloc.studies import front as front_module
from coalloc.studies.front import draw
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


def test_an_interrupted_front_keeps_its_points_and_bounds_no_edp(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    whole = coalloc.energy_front(two_nodes(), points=3)
    limits = whole["makespan_limit"].tolist()
    solve = front_module.solve
    monkeypatch.setattr(
        front_module, "solve", lambda *a, **k: interrupted() if k.get("makespan_limit") == limits[1] else solve(*a, **k)
    )
    with pytest.raises(Interrupted) as interrupt:
        coalloc.energy_front(two_nodes(), ["pcbe"], points=3)
    table = interrupt.value.table
    assert table["makespan"].tolist() == pytest.approx([20.0])
    assert math.isnan(table.attrs["edp_bound"])
    assert interrupt.value.missing == ("two: point 2 of 3", "two: point 3 of 3", "pcbe")


def test_what_is_refused():
    with pytest.raises(CoallocError, match="points must be at least 2"):
        coalloc.energy_front(two_nodes(), points=1)
    with pytest.raises(CoallocError, match="'easy' places jobs within scope 'platform'"):
        coalloc.energy_front(two_nodes(), ["easy"])


def test_the_picture_names_every_series(tmp_path):
    table = coalloc.energy_front(two_nodes(), ["pcbe"], points=2)
    figure = draw(table, tmp_path / "front.svg")
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts == ["proven impossible", "exact", "pcbe"]
    assert (tmp_path / "front.svg").read_text().startswith("<?xml")


def test_the_command(tmp_path):
    app = typer.Typer()
    app.command()(front)
    path, csv = tmp_path / "two.json", tmp_path / "front.csv"
    coalloc.write_instance(two_nodes(), path)
    arguments = [str(path), "--policy", "pcbe", "--points", "2", "--quiet"]
    printed = CliRunner().invoke(app, [*arguments, "-o", str(csv)])
    assert printed.exit_code == 0, printed.output
    assert "no schedule has an EDP below" in printed.stdout
    assert csv.read_text().startswith("instance,label,")
    rows = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [row["label"] for row in rows] == ["exact", "exact", "pcbe"]
    assert rows[1]["makespan_limit"] is None
