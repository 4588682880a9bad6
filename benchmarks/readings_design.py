"""Readings of a source: its open choices as factors, its claims, and how firm a verdict is over all readings.

A *reading* names a level of each factor; the first level of each is what coalloc assumes elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coalloc.measures.intervals import ConfidenceInterval

Reading = Mapping[str, str]
"""The level of each factor, by the name of the factor."""

YES, NO, OPEN = "yes", "no", "undecided"
SERIES = 7
"""Fewer printed numbers have no rank correlation that says anything."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An open choice of a source; the first of its levels is ours."""

    name: str
    levels: Sequence[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a source about a quantity: that it is at least, or at most, a number."""

    says: str
    unit: str = "%"
    least: float | None = None
    most: float | None = None

    def verdict(self, found: ConfidenceInterval) -> str:
        """Return whether the interval lies wholly on the side claimed, wholly on the other, or on both.

        A value without an interval is compared by itself.
        """
        if np.isnan(found.mean):
            return "-"
        low, high = (found.mean, found.mean) if np.isnan(found.low) else (found.low, found.high)
        if self.most is not None:
            low, high, bound = -high, -low, -self.most
        else:
            assert self.least is not None
            bound = self.least
        return YES if low >= bound else NO if high < bound else OPEN


@dataclass(frozen=True, slots=True)
class Printed:
    """Numbers that a source prints, and those of a reading in the same order."""

    what: str
    printed: Sequence[float]
    here: Sequence[float]

    @property
    def error(self) -> float:
        """Mean of |here - printed| over the larger of the two: 0 for equal numbers, 1 or more for unlike ones."""
        theirs, ours = np.asarray(self.printed, dtype=float), np.asarray(self.here, dtype=float)
        largest = np.maximum(np.abs(theirs), np.abs(ours))
        return float(np.mean(np.abs(ours - theirs) / np.where(largest > 0.0, largest, 1.0)))

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation; nan for fewer than seven numbers."""
        if len(self.printed) < SERIES:
            return float("nan")
        from scipy.stats import spearmanr

        return float(spearmanr(self.printed, self.here).statistic)


class Judged(NamedTuple):
    """What a reading says of each claim, and how it agrees with each set of printed numbers."""

    claims: Sequence[ConfidenceInterval]
    printed: Sequence[Printed]


def base(factors: Iterable[Factor]) -> Reading:
    """Return our reading."""
    return {factor.name: factor.levels[0] for factor in factors}


def singles(factors: Sequence[Factor], varied: Sequence[Factor]) -> Iterator[tuple[Factor, Reading]]:
    """Yield the readings that differ from ours in one of the varied factors, with that factor."""
    for factor in varied:
        for level in factor.levels[1:]:
            yield factor, {**base(factors), factor.name: level}


def crossed(factors: Sequence[Factor], moving: Sequence[Factor]) -> Iterator[Reading]:
    """Yield all combinations of the levels of some factors, the others as ours."""
    for levels in itertools.product(*(factor.levels for factor in moving)):
        yield {**base(factors), **{factor.name: level for factor, level in zip(moving, levels, strict=True)}}


def design(
    factors: Sequence[Factor], varied: Sequence[Factor], claims: Sequence[Claim], judge: Callable[[Reading], Judged]
) -> list[tuple[Reading, Judged]]:
    """Judge our reading, those that differ in one factor, and all levels of the factors that change a verdict."""
    found = {key_of(ours := base(factors)): (ours, judge(ours))}
    expected = verdicts(claims, found[key_of(ours)][1])
    moving = []
    for factor, reading in singles(factors, varied):
        judged = judge(reading)
        found[key_of(reading)] = (reading, judged)
        if factor not in moving and verdicts(claims, judged) != expected:
            moving.append(factor)
    for reading in crossed(factors, moving):
        if key_of(reading) not in found:
            found[key_of(reading)] = (reading, judge(reading))
    return list(found.values())


def verdicts(claims: Sequence[Claim], judged: Judged) -> list[str]:
    """Return the verdict on each claim."""
    return [claim.verdict(found) for claim, found in zip(claims, judged.claims, strict=True)]


def key_of(reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return a reading as a key."""
    return tuple(sorted(reading.items()))


def best(scores: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the readings that agree best with the printed numbers; none where nothing is printed.

    By the mean rank correlation where there is one, else by the mean error; equal ones are all named.
    """
    known = {name: score for name, score in scores.items() if not np.isnan(score[1])}
    if not known:
        return []
    keys = {name: round(error if np.isnan(rank) else -rank, 3) for name, (rank, error) in known.items()}
    return [name for name, key in keys.items() if key == min(keys.values())]
