"""The report of the grid study: which boards run, where strategies stand, and that claims are what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from scenarios import AS_BUILT, BEST, SCENARIOS, WEEKLY, Scenario, with_boards, write_table
from standing import Standing, by_coverage, by_efficiency, by_mean
from verdicts import CLAIMS, JOINT, PLANS, SPEED_PAIRS, Study

import coalloc
from coalloc.rules.brokering import STRATEGIES
from coalloc.studies.grid_report import JUDGED, coverage, efficiency


def runs(metrics: Mapping[str, Sequence[float]], metric: str) -> pd.DataFrame:
    """Return a table with one metric of each strategy by week; those it is judged by besides are 1."""
    rows = [
        {
            "strategy": name,
            "week": f"w{week}",
            "power_management": True,
            **dict.fromkeys(JUDGED, 1.0),
            metric: value,
        }
        for name, values in metrics.items()
        for week, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def drawn(num_weeks: int = 6, seed: int = 1) -> pd.DataFrame:
    """Return a table of all strategies with random metrics, as a study has it."""
    rng = np.random.default_rng(seed)
    boards = [(name, True, AS_BUILT) for name in STRATEGIES]
    boards += [(name, False, AS_BUILT) for name in ("MaxAR_v", "MST_v", "MLp_v", "LBal_E")]
    boards += [(BEST, is_managed, cores) for cores in (1, 8) for is_managed in (True, False)]
    rows = []
    for week in range(num_weeks):
        for name, is_managed, cores in boards:
            energy = rng.uniform(1e9, 2e9)
            values = rng.uniform(1.0, 2.0, 4).tolist()
            rows.append(
                {
                    "week": f"week-{week}",
                    "strategy": name,
                    "power_management": is_managed,
                    "competitive_factor": values[0],
                    "wait_mean": values[1],
                    "sd_b": values[2],
                    "waited_share": values[3] - 1.0,
                    "energy": energy,
                    "energy_efficiency": 1e9 / energy,
                    "cores_per_board": cores,
                }
            )
    return pd.DataFrame(rows)


def weekly(num_weeks: int = 6, bound: float = 5e8) -> pd.DataFrame:
    """Return what is known of each week besides its runs: start-ups take 1 J."""
    weeks = [(f"week-{week}", bound, 1.0, 2) for week in range(num_weeks)]
    return pd.DataFrame(weeks, columns=list(WEEKLY))


def test_standings_are_those_of_the_study():
    table = drawn()
    study = Study(SCENARIOS[0], table, weekly())
    ours, theirs = study.coverage, coverage(study.managed)
    assert dict(zip(ours.names, ours.values, strict=True)) == pytest.approx(theirs["coverage"].to_dict())
    ours, theirs = study.efficiency, efficiency(study.managed)
    assert dict(zip(ours.names, ours.values, strict=True)) == pytest.approx(theirs["degradation"].to_dict())


def test_coverages_over_drawn_weeks():
    # On the front of A are both of its weeks, B covers week 1 of A alone, with its week 0.
    points = {"A": [(1.0, 4.0), (4.0, 1.0)], "B": [(3.0, 0.5), (9.0, 9.0)]}
    table = runs({name: [energy for energy, _ in weeks] for name, weeks in points.items()}, "energy")
    table["wait_mean"] = [wait for weeks in points.values() for _, wait in weeks]
    standing = by_coverage(table)
    # A covers all of its own front and none of B's (week 0 of B, which dominates the other); B half of A's.
    assert standing.values.tolist() == [(1.0 + 0.5) / 2, (0.0 + 1.0) / 2]
    # Weeks 0 and 0: A is (1, 4) alone, which B leaves uncovered. 1 and 1: A (4, 1) and B (9, 9), which A covers.
    assert sorted({tuple(draw) for draw in standing.draws.tolist()}) == [(0.5, 0.5), (0.5, 1.0), (0.75, 0.5)]


def test_ranks_excesses_and_differences():
    # The means are 2, 3 and 4; B is 50 % above A, and A 33 % below B. Weeks differ by nothing: intervals are points.
    standing = by_mean(runs({"A": [2.0, 2.0], "B": [3.0, 3.0], "C": [4.0, 4.0]}, "energy"), "energy")
    assert standing.ordered() == ["A", "B", "C"]
    assert standing.rank("B") == (2.0, 2.0, 2.0)
    assert standing.excess("B", ["A", "C"]) == pytest.approx((50.0, 50.0, 50.0))
    assert standing.excess("A", ["B", "C"]) == pytest.approx((-100 / 3, -100 / 3, -100 / 3))
    assert standing.difference(["C"], ["A", "B"]) == pytest.approx((1.5, 1.5, 1.5))
    assert standing.difference(["B", "C"], ["A"], np.min) == pytest.approx((1.0, 1.0, 1.0))


def test_equal_strategies_have_the_same_rank():
    standing = by_mean(runs({"A": [2.0], "B": [1.0], "C": [1.0 + 1e-12]}, "energy"), "energy")
    assert [standing.rank(name).value for name in "ABC"] == [3.0, 1.0, 1.0]


def test_the_interval_of_two_weeks_reaches_from_one_to_the_other():
    # One draw in four has week 0 twice, one in four week 1 twice: far more than the 2.5 % beyond an end.
    standing = by_mean(runs({"A": [2.0, 4.0]}, "energy"), "energy")
    assert standing.of_strategy("A") == (3.0, 2.0, 4.0)


def test_standings_of_two_grids_are_joined_by_their_mean():
    one, two = (by_efficiency(runs({"A": [a], "B": [1.0]}, "energy_efficiency")) for a in (0.5, 0.9))
    # A is 50 % and 10 % worse than B.
    assert one.joined(two).values == pytest.approx([30.0, 0.0])


def test_pairs_differ_by_the_speed_alone():
    assert len(SPEED_PAIRS) == 9
    assert ("MST_v", "MST") in SPEED_PAIRS
    assert ("MaxAR_veff", "MaxAR_eff") in SPEED_PAIRS
    assert "MCT_eff" in PLANS
    assert BEST not in PLANS


def test_boards_hold_as_many_processors_as_before():
    week = coalloc.Instance(coalloc.grid.platform("grid1"), [])
    # KTH has 100 processors: 13 boards of 8, of which 7 fill a chassis; 100 boards of 1, 50 of a chassis.
    for cores, boards in ((8, 7), (1, 50)):
        states = with_boards(week, cores).platform.clusters[0].power_states
        assert (states.cores, states.boards, states.chassis) == (cores, boards, 2)
    powers = [group.power for cluster in week.platform.clusters for group in cluster.nodes]
    assert powers == [g.power for cluster in with_boards(week, 8).platform.clusters for g in cluster.nodes]


def test_every_claim_has_a_cell(tmp_path):
    write_table(tmp_path / "runs.csv", drawn())
    table = pd.read_csv(tmp_path / "runs.csv")
    studies = [Study(Scenario(grid, "site"), table, weekly()) for grid in ("grid1", "grid2")]
    cells = [claim.cell(studies[claim.grid == "grid2"]) for claim in CLAIMS]
    cells += [claim.cell(*studies) for claim in JOINT]
    assert all(cells)
    assert not [cell for cell in cells if "nan" in cell]


def test_the_share_saved_and_the_distance_to_the_bound():
    # 3 J of 4 J in both weeks: a quarter saved. The bound is 2 J, so 3 J are 50 % above it; without 1 J for start-ups,
    # a third of them, they meet it.
    table = drawn(2)
    is_best = table["strategy"] == BEST
    table.loc[is_best, "energy"] = np.where(table.loc[is_best, "power_management"], 3.0, 4.0)
    study = Study(SCENARIOS[0], table, weekly(2, bound=2.0))
    assert study.saving().mean == 0.25
    assert study.energy_gap(BEST).mean == pytest.approx(50.0)
    assert study.energy_gap(BEST, is_without_startups=True).mean == pytest.approx(0.0)
    assert study.startup_share().mean == pytest.approx(1 / 3)


def test_a_standing_is_the_same_for_the_same_seed():
    first, second = (Standing.of(["A"], lambda weeks: weeks[:1] * 1.0, 9, seed=3) for _ in range(2))
    assert (first.draws == second.draws).all()
