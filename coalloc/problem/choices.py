"""What can be decided of a job: modes, their speed levels, assignments; and the rows that tie jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coalloc.allocation import Allocation


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


@dataclass(frozen=True, slots=True)
class TimeSumRow:
    """The sum of ``terms``, (1 or -1, "start" or "end", job by index), is at least ``least`` ticks."""

    terms: tuple[tuple[int, Literal["start", "end"], int], ...]
    least: float
