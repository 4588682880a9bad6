"""Progress: the pace of every job that runs, from the nodes and the links it uses.

A job advances at ``1/Te(now)``, with ``Te = Tb * (sigma * SP + (1 - sigma) * SC)``. What slows jobs down while they
run is a :class:`SlowdownSource`: links that jobs share (:mod:`coalloc.simulator.contention`), nodes that they share
with others. Each says SP and SC of the jobs it knows: the largest SP counts, and the SCs are multiplied. Whoever it
touches when a job starts or ends, or something changes from outside, gets a new pace. Source: thesis, equations (2.2)
to (2.9); errata 3.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol, Self

from coalloc.instance import Job
from coalloc.problem.execution import Kinds, execution_time, slowest_time
from coalloc.simulator.clock import Change
from coalloc.simulator.processors import Processors

Ends = Sequence[tuple[int, float]]
"""Jobs by index, and when each ends (s) if nothing changes any more; ``inf`` for one that stands still."""


class SlowdownSource(Protocol):
    """Something that slows jobs down while they run. Jobs go by index; ``processors`` are those of the platform."""

    def enter(self, index: int, job: Job, processors: Processors) -> Collection[int] | None:
        """Take in a job that starts; return whose pace that may change, None where this source never slows it down."""

    def leave(self, index: int) -> Collection[int]:
        """Let a job go, if it is here; return whose pace that may change."""

    def change(self, change: Change) -> Collection[int]:
        """Take in what happens outside; return whose pace that may change."""

    def slowdowns(self, index: int) -> tuple[float, float]:
        """Return SP and SC of a job now; 0 and 1 where this source has no say; SP ``inf``: it stands still."""

    def copied(self) -> Self:
        """Return a source of its own in the same state."""


@dataclass(slots=True)
class Advance:
    """Progress of a job: ``remaining`` (a share of it) was right at ``since`` (s); ``processing`` is SP by itself.

    One that names times has ``kinds``.
    """

    job: Job
    processing: float
    since: float
    remaining: float = 1.0
    execution_time: float = math.nan
    kinds: Kinds = ()

    def end(self) -> float:
        """Return when the job ends if nothing changes, s."""
        return self.since + self.remaining * self.execution_time if self.remaining else self.since

    def go_on(self, now: float, execution_time: float) -> None:
        """Let the job advance at another pace from now (s) on."""
        if not math.isnan(self.execution_time):
            self.remaining = max(0.0, self.remaining - (now - self.since) / self.execution_time)
        self.since, self.execution_time = now, execution_time


class Progress:
    """The jobs that run, by index: those that a source may slow down, the pace of others never changes.

    ``members`` are those that a source has taken in: it slows them down, or they slow others down.
    """

    def __init__(self, sources: Iterable[SlowdownSource]) -> None:
        self.sources = tuple(sources)
        self.members: set[int] = set()
        self._advances: dict[int, Advance] = {}

    def copied(self, sources: Iterable[SlowdownSource]) -> Self:
        """Return the progress as something of its own, with copies of its sources."""
        twin = copy(self)
        twin.sources, twin.members = tuple(sources), self.members.copy()
        twin._advances = {index: copy(advance) for index, advance in self._advances.items()}
        return twin

    def begin(
        self, index: int, job: Job, processors: Processors, processing: float, now: float, *, kinds: Kinds = ()
    ) -> Ends:
        """Let a job run from ``now`` (s), by itself with SP ``processing``; return the ends that this changes.

        Of one that names times the ``kinds`` say how long it takes.
        """
        affected = self.hold(index, job, processors) if self.sources else None
        if affected is None:  # as for most jobs
            return ((index, now + (slowest_time(kinds) if kinds else execution_time(job, processing))),)
        self._advances[index] = Advance(job, processing, now, kinds=kinds)
        affected.add(index)
        return self.updated(affected, now)

    def end(self, index: int, now: float) -> Ends:
        """Let a job go at ``now`` (s); return the ends that this changes."""
        self.members.remove(index)
        self._advances.pop(index, None)
        return self.updated({other for source in self.sources for other in source.leave(index)}, now)

    def pause(self, index: int, now: float) -> Ends:
        """Let a job stand still from ``now`` (s) on, and load nothing; return the ends that this changes."""
        advance = self._advances.pop(index, None)
        if index not in self.members:
            return ()
        ends = self.end(index, now)
        if advance is not None:
            advance.go_on(now, math.nan)
            self._advances[index] = advance
        return ends

    def is_paused(self, index: int) -> bool:
        """Return whether a job stands still that a source slows down."""
        return index in self._advances and index not in self.members

    def resume(self, index: int, processors: Processors, now: float) -> Ends:
        """Let a job that stands still go on from ``now`` (s); return the ends that this changes."""
        affected = self.hold(index, self._advances[index].job, processors) or set()
        return self.updated(affected | {index}, now)

    def change(self, change: Change, now: float) -> Ends:
        """Let something happen outside at ``now`` (s); return the ends that this changes."""
        return self.updated({index for source in self.sources for index in source.change(change)}, now)

    def hold(self, index: int, job: Job, processors: Processors) -> set[int] | None:
        """Take in a job that runs, which is all where its end is given: it only slows others down.

        Returns whose pace that may change, None where no source takes it in.
        """
        affected: set[int] | None = None
        for source in self.sources:
            found = source.enter(index, job, processors)
            if found is not None:
                affected = set(found) if affected is None else affected.union(found)
                self.members.add(index)
        return affected

    def updated(self, affected: Iterable[int], now: float) -> Ends:
        """Give each job its pace of now (s); return the ends that this changes."""
        ends = []
        for index in affected:
            advance = self._advances.get(index)
            if advance is None:
                continue
            seconds = self._execution_time(index, advance)
            if seconds != advance.execution_time:
                advance.go_on(now, seconds)
                ends.append((index, advance.end()))
        return ends

    def _execution_time(self, index: int, advance: Advance) -> float:
        """Return Te of a job now, s."""
        processing, communication = advance.processing, 1.0
        for source in self.sources:
            of_nodes, of_links = source.slowdowns(index)
            processing, communication = max(processing, of_nodes), communication * of_links
        if advance.kinds:  # on dedicated nodes, which have no say in SP
            return slowest_time(advance.kinds, communication)
        return execution_time(advance.job, processing, communication) if processing < math.inf else math.inf
