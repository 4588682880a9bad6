"""Brute force for energy: the optimum of tiny instances, from the definitions and without any model.

Every node is looked at by itself, whatever the scope. With slots every start is tried. In continuous time
starts are tried that are a job's arrival, or aligned with another job's start or end by its own start or end;
jobs that run already count among the others.

Why these are enough: fix the nodes and, among optimal schedules, the order of all starts and ends. Link jobs of
which a start or end coincides with one of the other's, and take a group so linked in which none starts at its
arrival. Moved a little as a whole, it changes the energy linearly. Moving left never lengthens the
schedule; if it makes nodes busy for longer, then a busy period begins in the group and ends outside of it, and moving
right, still within that period, saves energy: the schedule was not optimal. So the group can move left, at no loss,
until it meets an arrival or another job. In the end all groups hold a job that starts at its arrival, or one that
runs already. Hence energy is not regular (errata 23), and semi-active schedules are not enough. Meant for about 4 jobs.

Modelling features are known with slots alone: every complete schedule that would be the best is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from coalloc.checker import check
from coalloc.instance import CoallocError, Instance, NodeGroup, RunningJob
from coalloc.instance.rounding import capacity_limit, slots_up, time_tolerance
from coalloc.problem.allocation import Scope, node_classes
from coalloc.schedule import Occupation, Schedule
from coalloc.testing.brute_force import (
    BruteForceResult,
    _execution_time,
    _memories,
    _Option,
    _options,
    _places,
    _running_option,
    _schedule,
)

Objective = Literal["energy", "edp"]


@dataclass(frozen=True, slots=True)
class _PlacedOption:
    """A job (by index) on tasks per node; it draws in ``[start, end)`` s and holds processors until ``held``.

    That is its end, but for a job that runs already: with slots it holds processors to the end of its last slot.
    """

    job: int
    option: _Option
    start: float
    end: float
    held: float


def brute_force_energy(
    instance: Instance,
    slot: float | None,
    objective: Objective = "energy",
    scope: Scope = "platform",
    makespan_limit: float | None = None,
) -> BruteForceResult:
    """Return the least energy (J) or EDP (J s) of all schedules within a makespan (s), links never saturated.

    With a slot, starts and ends are whole slots, and jobs draw to their ends; only jobs that run already draw to their
    real ones. Watts count until the last end. Raises :class:`CoallocError` for modelling features without a slot.
    """
    if slot is None and instance.features:
        raise CoallocError(f"brute force for energy with {', '.join(sorted(instance.features))} requires a slot")
    search = _Search(instance, slot, objective, scope, math.inf if makespan_limit is None else makespan_limit)
    search.extend((), tuple(range(len(instance.jobs))))
    if math.isinf(search.best):
        return BruteForceResult((math.inf,), None)
    return BruteForceResult((search.best,), search.schedule(search.best_placed))


def brute_force_front(
    instance: Instance, slot: float | None, scope: Scope = "platform"
) -> tuple[tuple[float, float], ...]:
    """Return makespan (s) and energy (J) of all schedules that none beats in one and equals in the other, in order.

    For a makespan that is no longer than another's, optimal schedules are among those that are tried: see above.
    """
    search = _FrontSearch(instance, slot, scope)
    search.extend((), tuple(range(len(instance.jobs))))
    return tuple(sorted(search.front))


class _Search:
    """Depth-first search; energy and EDP of a part of a schedule are never more than those of the whole."""

    def __init__(
        self, instance: Instance, slot: float | None, objective: Objective, scope: Scope, limit: float
    ) -> None:
        self.instance, self.slot, self.objective = instance, slot, objective
        self.nodes = node_classes(instance.platform, "node")
        self.latest = instance.origin + limit
        self.bandwidths = [capacity_limit(link.bandwidth, 0.0) for link in instance.platform.links]
        self.capacities = [node.capacity for node in self.nodes]
        self.memories = _memories(self.nodes)
        self.places = [place.limit for place in _places(instance, self.nodes)]
        self.scope = scope
        self.options = [
            [o for o in _options(job, instance, self.nodes, self.capacities, self.bandwidths) if _in_scope(o, scope)]
            for job in instance.jobs
        ]
        self.longest = sum(
            max((self._held(_execution_time(o.job, o.slowdown)) for o in found), default=0.0) for found in self.options
        )
        self.running = tuple(self._running(run) for run in instance.running)
        self.longest += max((p.held for p in self.running), default=0.0)
        self.longest += max((window.end for window in instance.platform.unavailable), default=0.0)
        self.longest += sum(max(0.0, lag.min) for job in instance.jobs for lag in job.lags)
        self.is_monotone = all(_grows(node.group) for node in self.nodes)
        self.best, self.best_placed = math.inf, tuple[_PlacedOption, ...]()

    def _running(self, run: RunningJob) -> _PlacedOption:
        """Return a job that runs already; it has no index."""
        option = _running_option(run, self.instance, self.nodes)
        return _PlacedOption(-1, option, run.start, run.end, self._held(run.end))

    def extend(self, placed: tuple[_PlacedOption, ...], remaining: tuple[int, ...]) -> None:
        """Put the remaining jobs in every way that may still improve."""
        if self.is_hopeless(placed) and (self.is_monotone or not remaining):
            return
        if not remaining:
            self.keep(placed)
            return
        for j in remaining[:1] if self.slot is not None else remaining:
            others = tuple(k for k in remaining if k != j)
            for option in self.options[j]:
                seconds = self._held(_execution_time(option.job, option.slowdown))
                for start in self._starts(j, seconds, placed):
                    end = start + seconds
                    put = _PlacedOption(j, option, start, end, end)
                    if end <= self.latest + time_tolerance(end) and self._fits(put, placed):
                        self.extend((*placed, put), others)

    def is_hopeless(self, placed: tuple[_PlacedOption, ...]) -> bool:
        """Return whether what is placed is no better than the best known."""
        return self._value(placed) >= self.best - time_tolerance(self.best)

    def keep(self, placed: tuple[_PlacedOption, ...]) -> None:
        """Keep a valid schedule that is better than the best known."""
        if self._value(placed) < self.best and self._is_valid(placed):
            self.best, self.best_placed = self._value(placed), placed

    def _is_valid(self, placed: Sequence[_PlacedOption]) -> bool:
        """Return whether modelling features allow a schedule."""
        return not (self.instance.features and check(self.instance, self.schedule(placed), scope=self.scope))

    def schedule(self, placed: Sequence[_PlacedOption]) -> Schedule:
        """Return placed jobs as a schedule."""
        ordered = sorted(placed, key=lambda p: p.job)
        jobs = self.instance.jobs
        intervals = [Occupation(jobs[p.job].id, p.start, p.end, p.option.allocation) for p in ordered]
        return _schedule(self.instance, self.nodes, intervals, self.slot)

    def _held(self, seconds: float) -> float:
        return seconds if self.slot is None else self.slot * slots_up(seconds, self.slot)

    def _starts(self, j: int, seconds: float, placed: Sequence[_PlacedOption]) -> Iterator[float]:
        """Yield the starts (s) that are tried for a job."""
        arrival = self.instance.jobs[j].arrival
        if self.slot is None:
            aligned = {t - d for p in (*placed, *self.running) for t in (p.start, p.end) for d in (0.0, seconds)}
            yield from sorted({arrival, *(t for t in aligned if t > arrival)})
            return
        last = max(job.arrival for job in self.instance.jobs) + self.slot + self.longest
        for t in range(int(slots_up(arrival, self.slot)), int(last / self.slot) + 1):
            yield t * self.slot

    def _fits(self, put: _PlacedOption, placed: Sequence[_PlacedOption]) -> bool:
        """Return whether nodes and links hold a job beside the others, at its start and at every start within it."""
        most = (*self.capacities, *self.bandwidths, *self.memories, *self.places)
        limits = [limit + 1e-9 * max(1.0, limit) for limit in most]
        used = [r for r, amount in enumerate(put.option.demand) if amount]
        others = (*placed, *self.running)
        for t in (put.start, *(p.start for p in others if put.start <= p.start < put.held - time_tolerance(put.held))):
            there = [put, *(p for p in others if p.start <= t + time_tolerance(t) < p.held - time_tolerance(p.held))]
            if any(math.fsum(p.option.demand[r] for p in there) > limits[r] for r in used):
                return False
        return True

    def _value(self, placed: Sequence[_PlacedOption]) -> float:
        """Return the objective of what is placed: watts of each node, integrated piece by piece."""
        origin = self.instance.origin
        makespan = max((p.end for p in placed), default=origin) - origin
        joules = 0.0
        for n, node in enumerate(self.nodes):
            drawing = [
                (p.start, max(p.start, min(p.end, origin + makespan)), p.option.allocation[n])
                for p in (*placed, *self.running)
            ]
            busy = _union(sorted((start, end) for start, end, cores in drawing if cores))
            cores = math.fsum((end - start) * cores for start, end, cores in drawing)
            group = node.group
            joules += cores * (group.core_watts or 0.0) + busy * (group.static_watts or 0.0)
            joules += (makespan - busy) * (group.idle_watts or 0.0)
        return joules if self.objective == "energy" else joules * makespan


class _FrontSearch(_Search):
    """The same for makespan (s) and energy (J) at once; both of a part are never more than those of the whole."""

    def __init__(self, instance: Instance, slot: float | None, scope: Scope) -> None:
        super().__init__(instance, slot, "energy", scope, math.inf)
        self.front: list[tuple[float, float]] = []

    def is_hopeless(self, placed: tuple[_PlacedOption, ...]) -> bool:
        """Return whether a schedule is known that is no worse in either."""
        own = self._pair(placed)
        return any(_is_no_worse(pair, own) for pair in self.front)

    def keep(self, placed: tuple[_PlacedOption, ...]) -> None:
        """Keep a schedule instead of those that are no better in either."""
        own = self._pair(placed)
        self.front = [*(pair for pair in self.front if not _is_no_worse(own, pair)), own]

    def _pair(self, placed: tuple[_PlacedOption, ...]) -> tuple[float, float]:
        end = max((p.end for p in placed), default=self.instance.origin)
        return end - self.instance.origin, self._value(placed)


def _is_no_worse(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether the first is no worse in either, rounding aside."""
    return all(a <= b + time_tolerance(b) for a, b in zip(one, other, strict=True))


def _union(intervals: Sequence[tuple[float, float]]) -> float:
    """Return the length of the union of intervals that are sorted by start."""
    total, until = 0.0, -math.inf
    for start, end in intervals:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _grows(group: NodeGroup) -> bool:
    """Return whether a node with a busy core draws no less than one without."""
    return (group.static_watts or 0.0) + (group.core_watts or 0.0) >= (group.idle_watts or 0.0)


def _in_scope(option: _Option, scope: Scope) -> bool:
    if scope == "node":
        return sum(1 for count in option.allocation if count) == 1
    return scope == "platform" or sum(1 for count in option.tasks if count) == 1
