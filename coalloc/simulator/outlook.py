"""Unavailable parts of a site over time: windows, and running jobs that start later, in the course of a run.

A closing begins and ends as a change from outside. What still runs there when it begins, longer than estimated, is
killed; no start is granted that would run into one by its estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol, Self

from coalloc.instance import Platform, RunningJob
from coalloc.instance.time_base import TimeBase
from coalloc.problem.allocation import Allocation, NodeClass
from coalloc.rules.capacity_vectors import CapacityVectors
from coalloc.rules.closings import Closing, closings_of
from coalloc.rules.reservations import Release
from coalloc.simulator.processors import Processors


@dataclass(frozen=True, slots=True)
class Shutting:
    """A closing of a site (by number) begins, or ends; ``processors`` of the platform have to do with it."""

    time: float
    is_leaving: bool
    processors: Processors
    site: int
    closing: Closing


@dataclass(frozen=True, slots=True)
class Reserved:
    """A running job (by index) that starts later begins on its ``processors`` of the platform."""

    time: float
    is_leaving: bool
    processors: Processors
    index: int


class Expected(Protocol):
    """Attributes of a running job that the outlook reads."""

    @property
    def estimated_end(self) -> float:
        """The end of the job by its estimate, s."""

    @property
    def taken(self) -> Allocation:
        """The part of a room that the job takes."""


class Outlook:
    """The closings of a site: those to come, those that have begun, and what of each room they leave.

    ``sizes`` is the room where nothing runs and nothing is closed; the first ``num_classes`` are processors of classes.
    """

    def __init__(
        self, closings: Sequence[Closing], sizes: Allocation, num_classes: int, vectors: CapacityVectors, base: TimeBase
    ) -> None:
        self._base = base
        self._coming, self._begun = list(closings), list[Closing]()
        self._sizes, self._num_classes = sizes, num_classes
        self._first_stock, self._first_pool = vectors.first_stock, vectors.first_pool

    def copied(self) -> Self:
        """Return the closings of a site as something of its own."""
        twin = copy(self)
        twin._coming, twin._begun = self._coming.copy(), self._begun.copy()
        return twin

    @property
    def closings(self) -> tuple[Closing, ...]:
        """Closings that are not over, by start."""
        return (*self._begun, *self._coming)

    def begin(self, closing: Closing) -> None:
        """Note that a closing has begun."""
        self._coming.remove(closing)
        self._begun.append(closing)

    def finish(self, closing: Closing) -> None:
        """Note that a closing is over."""
        self._begun.remove(closing)

    def open_until(self, now: float) -> tuple[float, ...]:
        """Return from when on each class is not there, s: ``now`` if it is not there now, infinity if it stays."""
        until = [math.inf] * self._num_classes
        for closing in reversed(self._coming):
            for g in self._classes(closing):
                until[g] = max(now, closing.start)
        for closing in self._begun:
            for g in self._classes(closing):
                until[g] = now
        return tuple(until)

    def ends(self, now: float) -> Iterator[Release]:
        """Yield when what has begun is there again, later than ``now`` (s): it may not have been opened yet."""
        soon = math.nextafter(now, math.inf)
        return ((max(soon, closing.end), closing.taken) for closing in self._begun)

    def coming(self, now: float) -> Iterator[Closing]:
        """Yield the closings to come; a job that ends within the time tolerance after one begins has ended by then."""
        for closing in self._coming:
            yield closing._replace(start=max(now, closing.start + self._base.tolerance_at(closing.start)))

    def fault(self, taken: Allocation, now: float, end: float, others: Sequence[Expected]) -> str:
        """Return what a job that takes so much of a room until ``end`` (s) would run into, nothing if nothing.

        ``others`` are the jobs that run.
        """
        for closing in self._coming:
            if closing.start >= end - self._base.tolerance_at(end):
                break
            for g in self._classes(closing):
                if taken[g]:
                    return (
                        f"on node class {g}, which is unavailable from {closing.start:.12g} s to {closing.end:.12g} s; "
                        f"by its requested walltime it would run from {now:.12g} s to {end:.12g} s"
                    )
            limit = closing.start + self._base.tolerance_at(closing.start)
            for p in self.pools(closing):
                left = self._sizes[p] - closing.taken[p]
                if taken[p] and taken[p] + sum(run.taken[p] for run in others if run.estimated_end > limit) > left:
                    at = f"at {closing.start:.12g} s"
                    what = (
                        f"in a node group in which an outage leaves {left} processors {at}, too few for the jobs then"
                    )
                    if p < self._first_pool:
                        what = f"whose resource a reservation uses {at}, which leaves too little for the job"
                    return f"{what}; by its requested walltime it would run from {now:.12g} s to {end:.12g} s"
        return ""

    def pools(self, closing: Closing) -> Iterator[int]:
        """Yield the stocks and pools, by their places in a room, of which a closing takes a part."""
        return (p for p in range(self._first_stock, len(self._sizes)) if closing.taken[p])

    def _classes(self, closing: Closing) -> Iterator[int]:
        return (g for g in range(self._num_classes) if closing.taken[g])


def outlook_of(
    platform: Platform,
    classes: Sequence[NodeClass],
    running: Sequence[RunningJob],
    vectors: CapacityVectors,
    base: TimeBase,
) -> Outlook | None:
    """Return the closings of a site, None where there are none; ``running`` are the jobs that hold it, or will.

    One that is no longer than the time tolerance is none: it would begin and end at once.
    """
    closings = [
        closing
        for closing in closings_of(platform, classes, running, vectors)
        if closing.end > closing.start + base.tolerance_at(closing.start)
    ]
    sizes = (*(node_class.capacity for node_class in classes), *vectors.full)
    return Outlook(closings, sizes, len(classes), vectors, base) if closings else None
