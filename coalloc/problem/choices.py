"""Decisions on a job: modes, their speed levels, assignments; and the rows that tie jobs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from coalloc.problem.allocation import Allocation

Spans = Mapping[int, tuple[float, float]]
"""Start and end, ticks, of jobs by index."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to place a job.

    ``allocation`` has shape ``(num_classes,)``, ``loads`` (MB/s on links, MB of memories) shape ``(num_resources,)``;
    ``execution_time`` is Te in seconds with SC = 1, ``duration`` the same in ticks.
    """

    allocation: Allocation
    execution_time: float
    duration: float
    loads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SpeedLevel:
    """The classes that a job may use, by index, if it is given ``duration`` ticks and has so many tasks."""

    duration: float
    classes: tuple[int, ...]
    tasks: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A decision: job ``job`` (by index) starts at ``start`` (ticks) in ``mode``."""

    job: int
    start: float
    mode: Mode

    @property
    def end(self) -> float:
        """Ticks."""
        return self.start + self.mode.duration


@dataclass(frozen=True, slots=True)
class NotTogetherRow:
    """At no instant do two of these jobs (by index) run."""

    jobs: tuple[int, ...]

    @property
    def members(self) -> Collection[int]:
        """The jobs that it names."""
        return set(self.jobs)

    def first_start(self, j: int, start: float, duration: float, placed: Spans, slack: float) -> float:  # noqa: ARG002
        """Return from when on, ``start`` or later, a job may start beside those placed that overlap it now."""
        others = (placed[k] for k in self.jobs if k != j and k in placed)
        return max((until for since, until in others if start < until and since < start + duration), default=start)


@dataclass(frozen=True, slots=True)
class TimeSumRow:
    """The sum of ``terms``, (1 or -1, "start" or "end", job by index), is at least ``least`` ticks."""

    terms: tuple[tuple[int, Literal["start", "end"], int], ...]
    least: float

    @property
    def members(self) -> Collection[int]:
        """The jobs that it names."""
        return {job for _, _, job in self.terms}

    def first_start(self, j: int, start: float, duration: float, placed: Spans, slack: float) -> float:
        """Return from when on, ``start`` or later, a job may start; infinity where no later start keeps the row.

        Where a job that it names has no place the row forbids nothing. A start may be ``slack`` too late; all in ticks.
        """
        factor_of_start, least = 0, self.least
        for factor, which, job in self.terms:
            if job == j:
                factor_of_start += factor
                least -= factor * (duration if which == "end" else 0.0)
            elif job in placed:
                least -= factor * placed[job][which == "end"]
            else:
                return start
        if factor_of_start > 0:
            return max(start, least)
        return start if factor_of_start * start >= least - slack else math.inf
