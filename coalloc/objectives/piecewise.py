"""Costs of jobs as piecewise-linear functions of their ends, and the ramps that bounds and searches read of them.

A *ramp* has a floor and then one slope: built-in costs are ramps from the first possible end on. Of any other function
the largest convex function below it, between the first possible end and the horizon, has lines, of which one with the
least cost as its floor is a ramp below it. Derivation: docs/mathematics/bounds-on-costs.md, "Prices over time".
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from coalloc.instance import CoallocError

Point = tuple[float, float]
"""An end (s) and a cost."""


class Ramp(NamedTuple):
    """The larger of ``floor`` and ``slope * t + intercept``, of a time t: an end (s), or a start (s or ticks)."""

    floor: float
    slope: float
    intercept: float

    def at(self, time: float) -> float:
        """Return the cost at a time."""
        return max(self.floor, self.slope * time + self.intercept)


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """Cost of a job as a nondecreasing piecewise-linear function of its end, steps allowed.

    Up to the first point the cost is that of the first point, between points it is linear, and after the last one it
    rises by ``slope_after``. Two points with the same end are a step: an end at that time still has the lower cost.

    Parameters
    ----------
    points : sequence of (float, float)
        Ends (s) and costs, in the unit of the objective; neither decreases. At least one.
    slope_after : float, default 0.0
        Increase per second after the last point, at least 0.

    See Also
    --------
    coalloc.extend.RegularObjective : The base class whose ``pieces`` returns it.

    Examples
    --------
    A job that is late after 100 s costs 5, and 1 for each minute from 400 s on:

    >>> from coalloc.extend import PiecewiseLinear
    >>> late = [(100.0, 0.0), (100.0, 5.0), (400.0, 5.0)]
    >>> cost = PiecewiseLinear(late, slope_after=1 / 60)
    >>> [cost.at(end) for end in (100.0, 101.0, 520.0)]
    [0.0, 5.0, 7.0]
    """

    points: Sequence[Point]
    slope_after: float = 0.0

    def __post_init__(self) -> None:
        """Refuse no points, what is not finite, and what decreases."""
        if not self.points:
            raise CoallocError("a PiecewiseLinear must have at least one point")
        if not all(map(math.isfinite, [self.slope_after, *(number for point in self.points for number in point)])):
            raise CoallocError("the points and the slope of a PiecewiseLinear must be finite")
        if self.slope_after < 0.0 or any(b[0] < a[0] or b[1] < a[1] for a, b in pairwise(self.points)):
            raise CoallocError("neither ends nor costs of a PiecewiseLinear may decrease")

    def at(self, end: float) -> float:
        """Return the cost of an end, s."""
        number = bisect_left(self.points, end, key=lambda point: point[0])
        if number == 0:
            return self.points[0][1]
        before, cost = self.points[number - 1]
        if number == len(self.points):
            return cost + self.slope_after * (end - before)
        after, most = self.points[number]
        return most if after == end else cost + (most - cost) * (end - before) / (after - before)


def as_ramp(pieces: PiecewiseLinear, first: float) -> Ramp | None:
    """Return a function of ends from ``first`` (s) on as a ramp; None where it is none."""
    last, cost = pieces.points[-1]
    slope, least = pieces.slope_after, pieces.at(first)
    if least != cost + slope * max(0.0, first - last):
        return None  # there is a step, or another slope
    is_linear = first >= last and slope > 0.0
    return Ramp(-math.inf if is_linear else least, slope, cost - slope * last)


def ramp_below(pieces: PiecewiseLinear, first: float, last: float) -> Ramp:
    """Return a ramp that is nowhere above a function of ends from ``first`` to ``last`` (s)."""
    exact = as_ramp(pieces, first)
    if exact is not None:
        return exact
    inside = [(end, pieces.at(end)) for end, _ in pieces.points if first < end < last]
    hull = _hull([(first, pieces.at(first)), *inside, *([(last, pieces.at(last))] if last > first else [])])
    floor = hull[0][1]
    lines = [_line(floor, *pair) for pair in pairwise(hull)]
    return max(lines, key=lambda ramp: sum(ramp.at(end) for end, _ in hull), default=Ramp(floor, 0.0, floor))


def _line(floor: float, one: Point, other: Point) -> Ramp:
    slope = (other[1] - one[1]) / (other[0] - one[0])
    return Ramp(floor, slope, one[1] - slope * one[0])


def _hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the largest convex function that is nowhere above points in the order of their ends."""
    found: list[Point] = []
    for end, cost in dict(points).items():
        while len(found) > 1 and _is_above(found[-2], found[-1], (end, cost)):
            found.pop()
        found.append((end, cost))
    return found


def _is_above(one: Point, middle: Point, other: Point) -> bool:
    """Return whether the middle one of three points is on or above the line through the others."""
    return (middle[1] - one[1]) * (other[0] - one[0]) >= (other[1] - one[1]) * (middle[0] - one[0])
