"""Where strategies stand, over all weeks and over weeks drawn with replacement, which is how sure that is.

A *statistic* gives each strategy a number for a choice of weeks; the least is best. Intervals are the middle 95 % of
what it gives for choices of as many weeks drawn with replacement (percentile bootstrap): ranks and set coverages belong
to a set of weeks and are no means of weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coalloc.studies.grid_report import JUDGED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Ints], Floats]

DRAWS = 1000
CONFIDENCE = (2.5, 97.5)
"""Percentiles between which an interval lies."""
TIE = 1e-9
"""Relative difference up to which two numbers are the same: the tables have ten digits."""


class Interval(NamedTuple):
    """A quantity over all weeks, and between what it is over weeks drawn with replacement."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A statistic of strategies over all weeks, shape ``(num_strategies,)``, and over drawn ones, a row per draw."""

    names: tuple[str, ...]
    values: Floats
    draws: Floats

    @classmethod
    def of(cls, names: Sequence[str], statistic: Statistic, num_weeks: int, seed: int = 0) -> Standing:
        """Return the standing by a statistic; the same draws of weeks for the same seed and number."""
        rng = np.random.default_rng(seed)
        drawn = rng.integers(num_weeks, size=(DRAWS, num_weeks))
        return cls(tuple(names), statistic(np.arange(num_weeks)), np.array([statistic(weeks) for weeks in drawn]))

    def of_strategy(self, name: str) -> Interval:
        """Return the statistic of a strategy."""
        place = self.names.index(name)
        return _interval(self.values[place], self.draws[:, place])

    def rank(self, name: str) -> Interval:
        """Return the rank of a strategy: one more than there are better ones."""
        place = self.names.index(name)
        better = (self.draws < self.draws[:, [place]] * (1.0 - TIE) - TIE * TIE).sum(axis=1)
        return _interval(1 + int((self.values < self.values[place] * (1.0 - TIE) - TIE * TIE).sum()), 1 + better)

    def excess(self, name: str, others: Sequence[str]) -> Interval:
        """Return by how many percent a strategy is above the best of others, below where it is negative."""
        place, rest = self.names.index(name), [self.names.index(other) for other in others]
        against, drawn = self.values[rest].min(), self.draws[:, rest].min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return _interval(100.0 * (self.values[place] / against - 1.0), 100.0 * (self.draws[:, place] / drawn - 1.0))

    def difference(self, ones: Sequence[str], others: Sequence[str], of: Callable[..., Floats] = np.mean) -> Interval:
        """Return the mean (or what ``of`` says) of some strategies less that of others."""
        first, second = ([self.names.index(name) for name in names] for names in (ones, others))
        return _interval(
            float(of(self.values[first]) - of(self.values[second])),
            of(self.draws[:, first], axis=1) - of(self.draws[:, second], axis=1),
        )

    def ordered(self) -> list[str]:
        """Return the strategies, the best first; of equal ones the first in order."""
        return [self.names[place] for place in np.argsort(np.round(self.values, 12), kind="stable")]

    def joined(self, other: Standing) -> Standing:
        """Return the standing by the mean of two: of two grids."""
        return Standing(self.names, (self.values + other.values) / 2.0, (self.draws + other.draws) / 2.0)


def _interval(value: float, draws: Floats | Ints) -> Interval:
    known = np.asarray(draws, dtype=np.float64)
    known = known[np.isfinite(known)]
    low, high = np.percentile(known, CONFIDENCE) if len(known) else (np.nan, np.nan)
    return Interval(float(value), float(low), float(high))


# ------------------------------------------------------------------------------ statistics


def points_of(runs: pd.DataFrame, metrics: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
    """Return strategies, in the order of the table, and their metrics, shape ``(strategies, weeks, metrics)``."""
    names = tuple(dict.fromkeys(runs["strategy"].tolist()))
    weeks = list(dict.fromkeys(runs["week"].tolist()))
    indexed = runs.set_index(["strategy", "week"])[list(metrics)]
    return names, np.array([indexed.loc[name].loc[weeks].to_numpy(dtype=float) for name in names])


def by_coverage(runs: pd.DataFrame) -> Standing:
    """Return the standing by set coverage, that of Table 10: the mean share of its front that fronts of all cover."""
    names, points = points_of(runs, JUDGED)
    weak = (points[:, :, None, None, :] <= points[None, None, :, :, :]).all(axis=4)
    strict = np.array([_dominations(own) for own in points])

    def statistic(weeks: Ints) -> Floats:
        return coverages(weak, strict, weeks)

    return Standing.of(names, statistic, points.shape[1])


def _dominations(own: Floats) -> NDArray[np.bool_]:
    """Return whether week w of a strategy dominates week u of it, shape ``(weeks, weeks)``."""
    one, other = own[:, None, :], own[None, :, :]
    return np.asarray((one <= other).all(axis=2) & (one < other).any(axis=2))


def coverages(weak: NDArray[np.bool_], strict: NDArray[np.bool_], weeks: Ints) -> Floats:
    """Return the mean set coverage of each strategy over chosen weeks, those that are drawn twice counted twice.

    ``weak[a, w, b, u]``: week w of strategy a is as good as week u of b in everything; ``strict[b, w, u]``: week w of b
    dominates its week u. Whatever a week covers, one of the front does, so weeks need not be on it to cover.
    """
    chosen = np.unique(weeks)
    counts = np.bincount(weeks, minlength=weak.shape[1])[chosen]
    on_front = ~strict[:, chosen][:, :, chosen].any(axis=1) * counts
    covered = weak[:, chosen][:, :, :, chosen].any(axis=1)
    shares = (covered * on_front[None]).sum(axis=2) / on_front.sum(axis=1)
    return np.asarray(shares.mean(axis=0), dtype=np.float64)


def by_mean(runs: pd.DataFrame, metric: str) -> Standing:
    """Return the standing by the mean of a metric of which the least is best."""
    names, points = points_of(runs, [metric])
    return Standing.of(names, lambda weeks: points[:, weeks, 0].mean(axis=1), points.shape[1])


def by_efficiency(runs: pd.DataFrame) -> Standing:
    """Return the standing by the degradation of the mean EnEff, %, as in Table 11."""
    names, points = points_of(runs, ["energy_efficiency"])

    def statistic(weeks: Ints) -> Floats:
        means = points[:, weeks, 0].mean(axis=1)
        return np.asarray(100.0 * (1.0 - means / means.max()), dtype=np.float64)

    return Standing.of(names, statistic, points.shape[1])
