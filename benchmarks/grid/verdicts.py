"""What the source concludes of its two grids, as quantities that the tables have, with what it printed.

A claim is about one grid, or about both by the mean of the two as in Tables 10 and 11. Cells are texts: a number and,
in brackets, the interval over weeks. Source: the two-level grid study, section 6.3 and conclusions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scenarios import AS_BUILT, BEST, CORES_PER_BOARD, Scenario
from standing import Interval, Standing, by_coverage, by_efficiency, by_mean

from coalloc.measures.intervals import ConfidenceInterval, mean_interval
from coalloc.rules.brokering import STRATEGIES
from coalloc.studies.rankings import degradation

SPEED_PAIRS = tuple(
    (name, other)
    for name in STRATEGIES
    for other in STRATEGIES
    if name == f"{other}_v" or (name.endswith("_veff") and other == f"{name.removesuffix('_veff')}_eff")
)
"""Strategies that know the speeds, each with the one that differs by nothing else."""

PLANS = tuple(name for name, strategy in STRATEGIES.items() if strategy.level == 4)
"""Level 4."""
LITTLE = tuple(name for name, strategy in STRATEGIES.items() if strategy.level <= 1)
"""What the strategies of the source's levels 0 and 1 need: levels 0 and 1."""
SIXTH = 6
"""The last strategy in Figures 7 to 10."""


class Study:
    """The runs of a scenario, and where strategies stand by them."""

    def __init__(self, scenario: Scenario, table: pd.DataFrame, weekly: pd.DataFrame) -> None:
        self.scenario, self.table, self.weekly = scenario, table, weekly.set_index("week")
        as_built = table[table["cores_per_board"] == AS_BUILT]
        self.managed = as_built[as_built["power_management"]]
        self.always_on = as_built[~as_built["power_management"]]
        self._by_mean: dict[str, Standing] = {}

    @property
    def num_weeks(self) -> int:
        """Weeks that the table has."""
        return int(self.managed["week"].nunique())

    @functools.cached_property
    def coverage(self) -> Standing:
        """By set coverage."""
        return by_coverage(self.managed)

    @functools.cached_property
    def efficiency(self) -> Standing:
        """By the degradation of EnEff."""
        return by_efficiency(self.managed)

    def mean(self, metric: str) -> Standing:
        """Return the standing by the mean of a metric."""
        if metric not in self._by_mean:
            self._by_mean[metric] = by_mean(self.managed, metric)
        return self._by_mean[metric]

    @property
    def names(self) -> tuple[str, ...]:
        """The strategies."""
        return self.coverage.names

    def degradations(self, metric: str) -> list[tuple[str, float]]:
        """Return strategies with the degradation of their mean, %, the best first."""
        standing = self.mean(metric)
        found = dict(zip(standing.names, degradation(standing.values), strict=True))
        return [(name, float(found[name])) for name in standing.ordered()]

    def change(self, metric: str, cores: int = AS_BUILT, strategy: str = BEST) -> tuple[ConfidenceInterval, float]:
        """Return what power management changes of a metric, by week, and the mean with all switched on."""
        rows = self.table[(self.table["strategy"] == strategy) & (self.table["cores_per_board"] == cores)]
        both = rows.pivot(index="week", columns="power_management", values=metric)
        return mean_interval((both[True] - both[False]).tolist()), float(both[False].mean())

    def saving(self, cores: int = AS_BUILT, strategy: str = BEST) -> ConfidenceInterval:
        """Return which share of the energy power management saves, by week."""
        rows = self.table[(self.table["strategy"] == strategy) & (self.table["cores_per_board"] == cores)]
        both = rows.pivot(index="week", columns="power_management", values="energy")
        return mean_interval((1.0 - both[True] / both[False]).tolist())

    def energy_gap(self, strategy: str, is_without_startups: bool = False) -> ConfidenceInterval:
        """Return by how many percent the energy of a strategy is above the bound, by week.

        Without start-ups, which the bound leaves out, for ``BEST`` alone.
        """
        taken = self.managed[self.managed["strategy"] == strategy].set_index("week")["energy"]
        if is_without_startups:
            assert strategy == BEST
            taken -= self.weekly["startup_energy"]
        return mean_interval((100.0 * (taken / self.weekly["energy_bound"] - 1.0)).dropna().tolist())

    def startup_share(self) -> ConfidenceInterval:
        """Return which share of the energy of ``BEST`` start-ups take, by week."""
        taken = self.managed[self.managed["strategy"] == BEST].set_index("week")["energy"]
        return mean_interval((self.weekly["startup_energy"] / taken).dropna().tolist())

    def makespan_gap(self, strategy: str) -> ConfidenceInterval:
        """Return by how many percent the last end under a strategy is above the bound B, by week."""
        rows = self.managed[self.managed["strategy"] == strategy]["competitive_factor"]
        return mean_interval((100.0 * (rows - 1.0)).tolist())


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the source about a grid, what it printed, and what a study says of that."""

    grid: str
    says: str
    source: str
    cell: Callable[[Study], str]


@dataclass(frozen=True, slots=True)
class JointClaim:
    """A statement of the source about both grids."""

    says: str
    source: str
    cell: Callable[[Study, Study], str]


# ------------------------------------------------------------------------------ texts


def number(value: float) -> str:
    """Return a number with three digits, whole from 1000 on."""
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def interval(found: Interval | ConfidenceInterval, scale: float = 1.0) -> str:
    """Return a quantity and its interval."""
    value, low, high = (scale * part for part in found[:3])
    return f"{number(value)} ({number(low)} to {number(high)})"


def rank(standing: Standing, name: str) -> str:
    """Return the rank of a strategy, its interval, and who is first if another is."""
    found, first = standing.rank(name), standing.ordered()[0]
    others = "" if found.value == 1 else f"; first: `{first}`"
    equal = [other for other in standing.names if other != name and _is_equal(standing, other, name)]
    beside = f"; equal: {', '.join(f'`{other}`' for other in equal)}" if equal else ""
    return f"{found.value:.0f} ({found.low:.0f} to {found.high:.0f}){others}{beside}"


def _is_equal(standing: Standing, one: str, other: str) -> bool:
    first, second = (standing.values[standing.names.index(name)] for name in (one, other))
    return bool(np.isclose(first, second, rtol=1e-9, atol=1e-12))


# ------------------------------------------------------------------------------ cells


def coverage_rank(name: str) -> Callable[[Study], str]:
    return lambda study: rank(study.coverage, name)


def joint_coverage_rank(name: str) -> Callable[[Study, Study], str]:
    return lambda one, two: rank(one.coverage.joined(two.coverage), name)


def efficiency_rank(name: str) -> Callable[[Study], str]:
    def cell(study: Study) -> str:
        return f"{rank(study.efficiency, name)}; {interval(study.efficiency.of_strategy(name))} % worse than the best"

    return cell


def joint_efficiency_rank(name: str) -> Callable[[Study, Study], str]:
    return lambda one, two: rank(one.efficiency.joined(two.efficiency), name)


def knows_speeds(study: Study) -> str:
    """Return how many of the strategies that know speeds are covered less, and by how much on average."""
    standing = study.coverage
    values = dict(zip(standing.names, standing.values, strict=True))
    better = sum(values[name] < values[other] for name, other in SPEED_PAIRS)
    names, others = zip(*SPEED_PAIRS, strict=True)
    return f"{better} of {len(SPEED_PAIRS)}; SC lower by {interval(_negative(standing.difference(names, others)))}"


def _negative(found: Interval) -> Interval:
    return Interval(-found.value, -found.high, -found.low)


def more_information(study: Study) -> str:
    """Return the best that sees plans, the best that knows next to nothing, and how far their coverages differ."""
    standing = study.coverage
    order = standing.ordered()
    plans, little = (next(name for name in order if name in group) for group in (PLANS, LITTLE))
    found = standing.difference(PLANS, LITTLE, np.min)
    return f"`{plans}` against `{little}`: SC {_signed(found)}"


def level_means(study: Study) -> str:
    """Return the mean coverage of level 4 less that of levels 0 and 1."""
    return _signed(study.coverage.difference(PLANS, LITTLE))


def _signed(found: Interval) -> str:
    return f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def metric_rank(metric: str, name: str) -> Callable[[Study], str]:
    """Return the cell of a strategy's rank by a metric, and how much worse it is than the best of the others."""

    def cell(study: Study) -> str:
        standing = study.mean(metric)
        others = [other for other in standing.names if other != name]
        found = standing.excess(name, others)
        return f"{rank(standing, name)}; {interval(found)} % above the best other"

    return cell


def degradation_at(metric: str, place: int) -> Callable[[Study], str]:
    """Return the cell of the degradation of the strategy at a rank by a metric."""

    def cell(study: Study) -> str:
        best, found = study.degradations(metric)[0], study.degradations(metric)[place - 1]
        if np.isnan(found[1]):
            return f"undefined: the best (`{best[0]}`) is 0, `{found[0]}` is not"
        return f"{number(found[1])} % (`{found[0]}`; best `{best[0]}`)"

    return cell


def energy_saved(cores: int) -> Callable[[Study], str]:
    return lambda study: f"{interval(study.saving(cores), 100.0)} %"


def loss(metric: str, unit: str = "") -> Callable[[Study], str]:
    """Return the cell of what power management costs of a metric, and what that is with all switched on."""

    def cell(study: Study) -> str:
        change, before = study.change(metric)
        return f"{signed(change)}{unit}, from {number(before)}{unit}"

    return cell


def signed(found: ConfidenceInterval) -> str:
    """Return a change and its interval."""
    return f"{found.mean:+.3g} ({found.low:+.3g} to {found.high:+.3g})"


def nobody_waits(study: Study) -> str:
    """Return in how many weeks nobody waits with all switched on, and how many jobs do on average."""
    runs = study.always_on[study.always_on["strategy"] == BEST]["waited_share"]
    return f"{int((runs == 0.0).sum())} of {len(runs)} weeks; {number(100.0 * runs.mean())} % of the jobs wait"


def makespan_distance(study: Study) -> str:
    """Return how far the best strategy and the source's best are above the makespan bound."""
    best = study.mean("competitive_factor").ordered()[0]
    return "; ".join(f"`{name}` {interval(study.makespan_gap(name))} %" for name in dict.fromkeys((best, BEST)))


def energy_distance(study: Study) -> str:
    """Return how far the best strategy and the source's best are above the energy bound."""
    best = study.mean("energy").ordered()[0]
    parts = [f"`{name}` {interval(study.energy_gap(name))} %" for name in dict.fromkeys((best, BEST))]
    return "; ".join([*parts, f"without its start-ups {interval(study.energy_gap(BEST, is_without_startups=True))} %"])


def startups(study: Study) -> str:
    """Return what start-ups take of the energy of the source's best, and how many there are."""
    number_of = study.weekly["startups"].mean()
    return f"{interval(study.startup_share(), 100.0)} %, {number(number_of)} start-ups a week"


# ------------------------------------------------------------------------------ claims

JOINT: Sequence[JointClaim] = (
    JointClaim("`MaxAR_v` is first of all by coverage (Table 10)", "1", joint_coverage_rank(BEST)),
    JointClaim("`MST_v` is second", "2", joint_coverage_rank("MST_v")),
    JointClaim("`MLp_v` is third", "3", joint_coverage_rank("MLp_v")),
    JointClaim("`MaxAR_v` is first by EnEff (Table 11)", "1", joint_efficiency_rank(BEST)),
    JointClaim("`MST_v` is second by EnEff", "2", joint_efficiency_rank("MST_v")),
    JointClaim("`LBal_E` is third by EnEff", "3", joint_efficiency_rank("LBal_E")),
)


def _claims(grid: str, source: Sequence[str]) -> list[Claim]:
    """Return the claims about a grid, with what the source printed of it."""
    cells: list[tuple[str, Callable[[Study], str]]] = [
        ("rank of `MaxAR_v` by coverage", coverage_rank(BEST)),
        ("rank of `MST_v`", coverage_rank("MST_v")),
        ("rank of `MLp_v`", coverage_rank("MLp_v")),
        ("rank of `MaxAR_v` by EnEff", efficiency_rank(BEST)),
        ("who knows speeds is better than who does not, all else alike", knows_speeds),
        ("best of level 4 less best of levels 0 and 1", more_information),
        ("mean of level 4 less mean of levels 0 and 1, in SC", level_means),
        ("`LBal_E` by energy", metric_rank("energy", "LBal_E")),
        ("Figure 7: `MST` by rho", metric_rank("competitive_factor", "MST")),
        ("Figure 7: sixth by rho", degradation_at("competitive_factor", SIXTH)),
        ("Figure 8: second by mean wait", degradation_at("wait_mean", 2)),
        ("Figure 8: sixth by mean wait", degradation_at("wait_mean", SIXTH)),
        ("Figure 9: `MLp_v` by SD_b", metric_rank("sd_b", "MLp_v")),
        ("Figure 10: sixth by energy", degradation_at("energy", SIXTH)),
        ("power management saves energy under `MaxAR_v` (Figure 16)", energy_saved(AS_BUILT)),
        *((f"the same, {n} core{'s' if n > 1 else ''} per board everywhere", energy_saved(n)) for n in CORES_PER_BOARD),
        ("share of start-ups in the energy of `MaxAR_v`", startups),
        ("what it costs of rho (Figure 13)", loss("competitive_factor")),
        ("of the mean wait (Figure 14)", loss("wait_mean", " s")),
        ("of SD_b (Figure 15)", loss("sd_b")),
        ("weeks in which nobody waits under `MaxAR_v`, all switched on", nobody_waits),
        ("last end above the bound B (rho - 1)", makespan_distance),
        ("energy above its bound", energy_distance),
    ]
    return [Claim(grid, says, printed, cell) for (says, cell), printed in zip(cells, source, strict=True)]


NOT_PRINTED = ("no number",) * 3
"""Of waiting and of bounds the source says nothing."""
SAVED = ("much, no number", "not tried", "not tried", "no number", "0", "0", "0")
"""What it says of power management, of either grid."""

CLAIMS: Sequence[Claim] = (
    *_claims(
        "grid1",
        (
            "1; equal: `MaxAR_veff`",
            "3",
            "5",
            "1",
            "9 of 9; SC lower by 0.42",
            "`MST_v` against `MaxAR_v`: SC +0.01",
            "+0.16",
            "not among the six best",
            "1",
            "no number",
            "0 %",
            "0 %",
            "4 % worse than `MST_v`, the best",
            "below 2.5 %",
            *SAVED,
            *NOT_PRINTED,
        ),
    ),
    *_claims(
        "grid2",
        (
            "4",
            "8",
            "2",
            "2; 6.0 % worse than `LBal_E`",
            "8 of 9; SC lower by 0.12",
            "`MST` against `MLp_v`: SC -0.00",
            "+0.01",
            "1",
            "2",
            "no number",
            "above 10^4 %",
            "above 10^4 %",
            "1",
            "above 180 %",
            *SAVED,
            *NOT_PRINTED,
        ),
    ),
)
