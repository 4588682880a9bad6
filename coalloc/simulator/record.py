"""Record of the jobs of a run that have ended: facts that never change, in columns.

A copy shares all facts up to where it leaves, and costs the same however many there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coalloc.simulator.processors import Processors

Floats = NDArray[np.float64]


class Facts(NamedTuple):
    """Jobs by index, in the order of their ends: their starts and ends (s), and the processors that they held."""

    jobs: array[int]
    starts: array[float]
    ends: array[float]
    processors: list[Processors]


class Record:
    """The facts of a run so far."""

    def __init__(self, before: Record | None = None) -> None:
        self._before = before
        self._facts = Facts(array("q"), array("d"), array("d"), [])

    @classmethod
    def of_all(cls, starts: Floats, ends: Floats, processors: Sequence[Processors]) -> Record:
        """Return what has happened to all jobs of a run, in their order."""
        whole, number = cls(), len(starts)
        columns = array("q", range(number)), array("d", starts.tobytes()), array("d", ends.tobytes())
        whole._facts = Facts(*columns, cast(list[Processors], processors))  # it is never added to
        return cls(whole)

    def add(self, job: int, start: float, end: float, processors: Processors) -> None:
        """Note a job that has ended."""
        jobs, starts, ends, held = self._facts
        jobs.append(job)
        starts.append(start)
        ends.append(end)
        held.append(processors)

    def __bool__(self) -> bool:
        return self._before is not None or bool(self._facts.jobs)

    def has(self, job: int) -> bool:
        """Return whether a job has ended."""
        return any(job in part.jobs for part in self._parts())

    def copied(self) -> Record:
        """Return a record of its own with the same facts."""
        if self._facts.jobs:
            shared = Record(self._before)
            shared._facts = self._facts
            self._before, self._facts = shared, Record()._facts
        return Record(self._before)

    def of(self, jobs: Sequence[int]) -> tuple[array[float], array[float], Sequence[Processors]]:
        """Return starts and ends (s) and processors of jobs, all of which have ended, in their order."""
        parts = [part for part in self._parts() if part.jobs]
        if len(parts) == 1 and parts[0].jobs == array("q", jobs):
            return parts[0][1:]
        ended = np.concatenate([np.empty(0, np.int64), *(np.array(part.jobs, np.int64) for part in parts)])
        place = np.empty(int(ended.max(initial=-1)) + 1, np.int64)
        place[ended] = np.arange(len(ended))
        order: NDArray[np.int64] = place[np.asarray(jobs, np.int64)]
        starts, ends = (np.concatenate([np.empty(0), *(np.array(part[k]) for part in parts)])[order] for k in (1, 2))
        held = [processors for part in parts for processors in part.processors]
        return array("d", starts.tobytes()), array("d", ends.tobytes()), [held[k] for k in order.tolist()]

    def __iter__(self) -> Iterator[tuple[int, float, float, Processors]]:
        """Yield the jobs by index, with their starts and ends (s) and processors."""
        for part in self._parts():
            yield from zip(*part, strict=True)

    def _parts(self) -> Iterator[Facts]:
        """Yield all facts, in parts."""
        record: Record | None = self
        while record is not None:
            yield record._facts
            record = record._before
