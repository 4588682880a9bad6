"""What a grid study says, on a table of a few made-up runs."""

import math

import pandas as pd
import pytest

from coalloc import CoallocError
from coalloc.plot.grid import NAMES, draw_means
from coalloc.studies.grid import COLUMNS
from coalloc.studies.grid_report import (
    GOALS,
    coverage,
    degradations,
    efficiency,
    paired_differences,
    pictures,
    savings,
    summary,
)
from tests.extras import needs_pictures


def row(week, strategy, factor, wait, energy, is_managed=True):
    """Return a run whose SD_b is that of its factor, with 1000 processor s of work."""
    metrics = {
        "competitive_factor": factor,
        "competitive_factor_printed": 0.0,
        "wait_mean": wait,
        "waited_share": 0.5,
        "sd_b": factor,
        "energy": energy,
        "work": 1000.0,
        "energy_efficiency": 1000.0 / energy,
    }
    return {"week": week, "strategy": strategy, "power_management": is_managed, "jobs": 3, **metrics}


# Points (factor, wait, SD_b, energy): a is best in all but energy, b in energy; c is never better than a.
TABLE = pd.DataFrame(
    [
        row("w1", "c", 2.0, 10.0, 100.0),
        row("w1", "a", 1.0, 0.0, 100.0),
        row("w1", "b", 3.0, 30.0, 50.0),
        row("w2", "c", 2.0, 10.0, 200.0),
        row("w2", "a", 1.0, 0.0, 200.0),
        row("w2", "b", 3.0, 30.0, 50.0),
        row("w1", "a", 1.0, 0.0, 400.0, is_managed=False),
        row("w2", "a", 0.5, 0.0, 500.0, is_managed=False),
    ],
    columns=list(COLUMNS),
)


def test_table_10_of_a_grid():
    # Fronts: c (2, 10, 2, 100), a (1, 0, 1, 100), and b's two equal points. SC(a, c) = SC(c, c) = 1 and SC(b, c) = 0:
    # 2/3. Each of the others is covered by itself alone: 1/3; of equal ones the first stands first.
    found = coverage(TABLE)
    assert found.index.tolist() == ["a", "b", "c"]
    assert found["coverage"].tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert found["rank"].tolist() == [1, 2, 3]


def test_table_11_of_a_grid():
    # Mean EnEff: a and c (10 + 5)/2, b 20: 100 (1 - 7.5/20) = 62.5 % worse.
    found = efficiency(TABLE)
    assert found["degradation"].to_dict() == pytest.approx({"b": 0.0, "c": 62.5, "a": 62.5})
    assert found["rank"].tolist() == [1, 2, 3]


def test_degradations_are_those_of_the_means():
    found = degradations(TABLE)
    assert found["competitive_factor"].to_dict() == pytest.approx({"c": 100.0, "a": 0.0, "b": 200.0})
    assert found["energy"].to_dict() == pytest.approx({"c": 200.0, "a": 200.0, "b": 0.0})
    assert found["wait_mean"].to_dict() == pytest.approx({"c": math.nan, "a": 0.0, "b": math.nan}, nan_ok=True)


def test_the_summary_has_both_rankings():
    found = summary(TABLE)
    assert found.loc["b", ["rank", "rank_efficiency", "energy", "waited_share"]].tolist() == [2, 1, 50.0, 0.5]


def test_differences_are_paired_by_week():
    # c less a: 1 in both weeks.
    found = paired_differences(TABLE, "a", "competitive_factor")
    assert found.loc["c"].tolist() == pytest.approx([1.0, math.nan, math.nan, 2], nan_ok=True)
    with pytest.raises(CoallocError, match="no metric 'energy' of strategy 'd'"):
        paired_differences(TABLE, "d", "energy")


def test_what_power_management_changes():
    # Energy: 100 - 400 and 200 - 500, of 450 on average; the factor 0 and 0.5, of 0.75; waits have no share.
    found = savings(TABLE).set_index("metric")
    assert set(found["strategy"]) == {"a"}
    assert found.loc["energy", ["mean", "share", "weeks"]].tolist() == pytest.approx([-300.0, -300 / 450, 2])
    assert found.loc["competitive_factor", ["mean", "share"]].tolist() == pytest.approx([0.25, 0.25 / 0.75])
    assert found.loc["wait_mean", "mean"] == 0.0
    assert math.isnan(found.loc["wait_mean", "share"])


@needs_pictures
def test_pictures_show_the_six_best_all_means_and_both_ways():
    found = pictures(TABLE)
    assert list(found) == ["degradations", "means", "power-management-a"]
    panels = {ax.get_title(loc="left"): ax for ax in found["degradations"].axes}
    assert [bar.get_width() for bar in panels["Six best by competitive factor"].patches] == [0.0, 100.0, 200.0]
    assert "Six best by mean wait (undefined: the best is 0)" in panels
    energy = next(ax for ax in found["means"].axes if ax.get_xlabel() == NAMES["energy"])
    assert [bar.get_width() for bar in energy.patches] == [150e-9, 150e-9, 50e-9]
    always_on = [ax.lines[1].get_ydata().tolist() for ax in found["power-management-a"].axes]
    assert always_on[0] == [1.0, 0.5]
    assert [ax.get_xlabel() for ax in found["power-management-a"].axes] == ["", "", "", "", "week"]
    names = [NAMES[metric].format(unit="s") for metric in GOALS]
    assert [ax.get_ylabel() for ax in found["power-management-a"].axes] == names


@needs_pictures
def test_means_of_which_one_dwarfs_the_others_are_on_a_logarithmic_axis():
    # 3000 s are 21 times the median wait; a slowdown of 20 is 20 times the median, and no more.
    table = pd.DataFrame({"wait_mean": [0.0, 140.0, 3000.0], "sd_b": [1.0, 1.0, 20.0]}, index=["a", "b", "c"])
    wait, slowdown = draw_means(table, 0.0 * table).axes
    assert (wait.get_xscale(), slowdown.get_xscale()) == ("symlog", "linear")
    assert wait.get_xlabel() == "mean wait, min (logarithmic)"
    assert [bar.get_width() for bar in wait.patches] == [0.0, 140.0 / 60.0, 50.0]
    assert wait.get_xlim()[0] == 0.0
