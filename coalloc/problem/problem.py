"""Problem of the exact methods: the jobs as choices between modes, time as slots or seconds.

A mode is an allocation vector of one job; its duration and what it asks of links and memories are constants,
so the maximum in SP, the quadratic bandwidth (2.6) and every other max() are gone before a model
is built (thesis 3.2.1 with errata 1 to 4). Times are in *ticks*: whole slots of a slotted problem,
seconds of a continuous one; no problem mixes them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.text import quoted
from coalloc.instance import Instance, Job
from coalloc.instance.calendar import Calendar, common_period
from coalloc.instance.constraints import Constraint, NotTogether, TimeRow
from coalloc.instance.rounding import slots_down, slots_up
from coalloc.instance.time_base import TimeBase
from coalloc.problem.allocation import NodeClass, Scope, Stock
from coalloc.problem.allocations import Allocations, Links
from coalloc.problem.allowed_slots import AllowedSlots
from coalloc.problem.blocks import Busy, blocks_of, busy_of
from coalloc.problem.budgets import BudgetRow, budget_row
from coalloc.problem.choices import Mode, NotTogetherRow, SpeedLevel, TimeSumRow
from coalloc.problem.clock import Rounding, TickClock
from coalloc.problem.cluster_rows import ClusterRows, cluster_rows
from coalloc.problem.counting import numbered
from coalloc.problem.declared import Declared, declared_by
from coalloc.problem.levels import SpeedLevels
from coalloc.problem.ordering import acyclic
from coalloc.problem.package import Package, package_of
from coalloc.problem.resources import Countable, LinkBandwidth, NodeMemory, Resource
from coalloc.problem.stated import StatedConstraint


@dataclass(frozen=True)
class Problem:
    """An instance as exact methods see it: jobs as choices between modes, times in whole slots or in seconds.

    A mode is an allocation vector of a job with a constant duration and constant loads. Times are in ticks: slots of a
    slotted problem, seconds of a continuous one. ``model.problem`` is the problem of a model of
    ``coalloc.build_model``.

    Attributes
    ----------
    instance : Instance
        The instance.
    classes : tuple of NodeClass
        The classes of interchangeable nodes.
    slot : float or None
        Length of a time slot, s. None: continuous time.
    rounding : {"up", "down"}
        Rounding of times to slots.
    links : {"strict", "shared", "ignore"}
        The link model.
    saturation : float
        Tolerated share of the load of a link above its bandwidth.
    scope : {"platform", "cluster", "node"}
        Where the tasks of one job may run.
    base : TimeBase
        Resolution and tolerance of times.
    constraints : tuple of Constraint
        The constraints of the instance, and custom ones.
    clock : Clock
        Conversion between seconds and ticks.
    allocations : Allocations
        Where each job may run: room on each class, modes, loads.
    jobs : tuple of Job
        The jobs to schedule.
    modes : tuple of tuple of Mode
        The modes of each job that fit on the empty platform, shape ``(num_jobs,)``: each has an ``allocation`` (tasks
        per class), an ``execution_time`` (s), a ``duration`` (ticks) and ``loads`` (MB/s on links, then MB of
        memories).

    See Also
    --------
    coalloc.build_model : Build a model of a problem.

    Notes
    -----
    Source: thesis, section 3.2.1; errata 1 to 4.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> model = coalloc.build_model(instance, formulation="mode", slot=100.0)
    >>> [len(modes) for modes in model.problem.modes]
    [3, 2, 2]
    >>> model.problem.modes[0][0].allocation
    (0, 2)
    """

    instance: Instance
    classes: tuple[NodeClass, ...]
    slot: float | None
    rounding: Rounding
    links: Links
    saturation: float
    scope: Scope
    base: TimeBase
    constraints: tuple[Constraint, ...] = (StatedConstraint(),)

    @cached_property
    def declared(self) -> Declared:
        """Declarations of the constraints on the jobs."""
        return declared_by(self.constraints, self.instance, is_rounded_down=self.rounding == "down")

    @cached_property
    def clock(self) -> TickClock:
        """Clock that converts between times and ticks."""
        return TickClock(self.slot, self.rounding, self.base)

    @cached_property
    def allocations(self) -> Allocations:
        """Allocations of each job."""
        return Allocations(
            self.instance, self.classes, self.clock, self.links, self.saturation, self.scope, self.declared
        )

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs to schedule, each made once; everything else is indexed like them."""
        return self.allocations.jobs

    @property
    def capacities(self) -> tuple[int, ...]:
        """Processors of each class, shape ``(num_classes,)``."""
        return self.allocations.capacities

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Resources that tasks share besides processors: links, scarce memories, stocks, pools."""
        return self.allocations.resources

    @property
    def modes(self) -> tuple[tuple[Mode, ...], ...]:
        """Every mode of each job that fits on the empty platform, shape ``(num_jobs,)``."""
        return self.allocations.modes

    @property
    def levels(self) -> tuple[tuple[SpeedLevel, ...], ...]:
        """The speed levels of each job in all its shapes, fastest first, shape ``(num_jobs,)``."""
        return self.speeds.levels

    @property
    def has_one_level_each(self) -> bool:
        """Whether each job has one level only: one shape, and no choice of its duration."""
        return len(self.speeds.columns.ticks) == len(self.jobs)

    @cached_property
    def speeds(self) -> SpeedLevels:
        """Durations of each job by node classes."""
        return SpeedLevels(self.allocations)

    @cached_property
    def releases(self) -> tuple[float, ...]:
        """Earliest start of each job, ticks: the latest that a constraint asks for, or that jobs before it leave."""
        asked = [self.allowed_from(j, self.release_alone(j)) for j in range(len(self.jobs))]
        for j in self._in_turn:
            asked[j] = max(
                [
                    asked[j],
                    *(asked[i] + self.levels[i][0].duration * is_end + least for i, is_end, least in self._delays[j]),
                ]
            )
            asked[j] = self.allowed_from(j, asked[j])
        return tuple(asked)

    def release_alone(self, j: int) -> float:
        """Return the arrival of a job, by index, or a later start that bounds on its times ask for, ticks."""
        job = self.jobs[j]
        return self.clock.tick_at(max(job.arrival, self.declared.of(job.id).earliest_start))

    @cached_property
    def calendars(self) -> dict[int, Calendar]:
        """Calendars of the jobs, by index, that may start at some times only; rounded down none is known."""
        if not any(of_job.calendar for of_job in self.declared.by_id.values()):
            return {}
        found = ((j, self.declared.of(job.id).calendar) for j, job in enumerate(self.jobs))
        return {j: calendar for j, calendar in found if calendar is not None}

    @cached_property
    def allowed_slots(self) -> dict[int, AllowedSlots]:
        """The slots in which they may start."""
        assert self.slot is not None
        return {
            j: AllowedSlots.of(calendar, self.slot, self.base, quoted(self.jobs[j].id))
            for j, calendar in self.calendars.items()
        }

    def allowed_from(self, j: int, tick: float) -> float:
        """Return the first tick from one on at which the calendar of a job, by index, lets it start."""
        if j not in self.calendars:
            return tick
        if self.slot is not None:
            return self.allowed_slots[j].first_from(int(tick))
        return self.calendars[j].first_start(self.clock.seconds_of(tick), self.base.tolerance) - self.base.shift

    def allowed_spans(self, j: int, first: float, last: float) -> list[tuple[float, float]]:
        """Return the first and the last tick of each span between two ticks in which its calendar lets a job start."""
        if self.slot is not None:
            slots = self.allowed_slots[j].spans(math.floor(first), math.floor(last))
            return [(float(begin), float(end)) for begin, end in slots]
        shift = self.base.shift
        spans = self.calendars[j].spans(self.clock.seconds_of(first), self.clock.seconds_of(last))
        return [(begin - shift, end - shift) for begin, end in spans]

    @property
    def first_slot(self) -> int:
        """The first slot in which a job may run: models have none before it, though arrivals be in Unix time."""
        return int(min(self.releases, default=0))

    @cached_property
    def latest_ends(self) -> tuple[float, ...]:
        """Latest end of each job, ticks: the earliest that a constraint, or a job after it, asks for; else infinity."""
        asked = [self.clock.last_tick(self.declared.of(job.id).latest_end) for job in self.jobs]
        for j in reversed(self._in_turn):
            for i, is_end, least in self._delays[j]:
                if is_end:
                    asked[i] = min(asked[i], asked[j] - self.levels[j][0].duration - least)
        return tuple(asked)

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """The jobs, by index, that rows ask to end before each job starts."""
        found: list[list[int]] = [[] for _ in self.jobs]
        for row in self.rows:
            if isinstance(row, TimeSumRow) and row.least >= 0 and len(row.terms) == 2:
                (_, late, j), (_, early, i) = sorted(row.terms, reverse=True)
                if (late, early) == ("start", "end") and i != j:
                    found[j].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def _delays(self) -> tuple[tuple[tuple[int, bool, float], ...], ...]:
        """For each job the jobs, by index, after whose start (or end) it starts so many ticks later, 0 or more."""
        found: list[list[tuple[int, bool, float]]] = [[] for _ in self.jobs]
        for row in self.rows:
            if isinstance(row, TimeSumRow) and row.least >= 0 and len(row.terms) == 2:
                (_, late, j), (_, early, i) = sorted(row.terms, reverse=True)
                if late == "start" and i != j:
                    found[j].append((i, early == "end", row.least))
        return tuple(map(tuple, found))

    @cached_property
    def _in_turn(self) -> tuple[int, ...]:
        """The jobs, by index, each behind all that end before it starts; none where a cycle, or a lack, forbids that.

        Of a job that fits nowhere there is no time that it takes: ``levels`` says so, and not what it delays.
        """
        if not any(self._delays) or not all(map(self.allocations.has_room, self.jobs)):
            return ()
        try:
            earlier = {j: [i for i, _, _ in delays] for j, delays in enumerate(self._delays)}
            return tuple(TopologicalSorter(earlier).static_order())
        except CycleError:
            return ()

    @cached_property
    def pinned(self) -> frozenset[int]:
        """The jobs, by index, of which a row says by when they start: lists begin with them."""
        single = (row.terms[0] for row in self.rows if isinstance(row, TimeSumRow) and len(row.terms) == 1)
        return frozenset(j for factor, which, j in single if (factor, which) == (-1, "start"))

    @cached_property
    def is_tied(self) -> bool:
        """Whether a constraint ties jobs to each other, to a calendar or to a budget."""
        return bool(self.rows or self.calendars or self.declared.budgets or self.declared.clusters)

    @cached_property
    def couples(self) -> bool:
        """Whether a constraint does that, or asks for a latest end."""
        return self.is_tied or not all(math.isinf(end) for end in self.latest_ends)

    @cached_property
    def budgets(self) -> tuple[BudgetRow, ...]:
        """Limits on the total that the allocations of all jobs take."""
        return tuple(budget_row(self.allocations, self.modes, budget, name) for name, budget in self.declared.budgets)

    @cached_property
    def cluster_rows(self) -> ClusterRows:
        """The jobs that are in one cluster, or no two of which are in one."""
        return cluster_rows(self.allocations, self.declared.clusters)

    @property
    def ties_jobs(self) -> bool:
        """Whether a constraint ties times of jobs to each other, or fixes them."""
        return bool(self.rows)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """The kind of each job, numbered from 0 in order of their first jobs, shape ``(num_jobs,)``.

        Jobs of one kind may be exchanged in every schedule: they have the same modes, times in ticks and all, and no
        constraint tells them apart.
        """
        told_apart = self.declared.tells_apart()
        spent = [[frozenset(excess.items()) for excess in row.excess] for row in self.budgets]
        return numbered(
            (self._seen_of(j), told_apart.get(job.id), *(of_jobs[j] for of_jobs in spent))
            for j, job in enumerate(self.jobs)
        )

    def _seen_of(self, j: int) -> Hashable:
        """Return all that the problem sees of a job alone."""
        job = self.jobs[j]
        loads = (job.task_bandwidth, job.memory or 0.0, job.resources, job.task_resources)
        shapes = self.allocations.shapes(job)
        of_classes = tuple(
            tuple(map(self.clock.ticks, self.allocations.class_times(shape))) if shape.times else () for shape in shapes
        )
        times = (self.releases[j], self.latest_ends[j], self.levels[j], of_classes)
        tasks = tuple([shape.tasks for shape in shapes])
        return (tasks, loads, self.allocations.rooms(job), times, job.spread_limits)

    @cached_property
    def rows(self) -> tuple[NotTogetherRow | TimeSumRow, ...]:
        """The rows that the constraints give models."""
        number = {job.id: j for j, job in enumerate(self.jobs)}
        rows: list[NotTogetherRow | TimeSumRow] = []
        for _, row in self.declared.rows:
            if isinstance(row, NotTogether):
                rows.append(NotTogetherRow(tuple(number[job] for job in row.jobs)))
            else:
                terms = tuple((factor, which, number[job]) for factor, which, job in row.terms)
                rows.append(TimeSumRow(terms, self._least_tick(row)))
        for j, job in enumerate(self.jobs):
            if (latest := self.declared.of(job.id).latest_start) < math.inf:
                row = TimeRow(((-1, "start", job.id),), -latest)
                rows.append(TimeSumRow(((-1, "start", j),), self._least_tick(row)))
        return tuple(rows)

    def _least_tick(self, row: TimeRow) -> float:
        """Return the ticks that a sum of times has to reach if it has to reach so many seconds.

        Of whole slots that is the next number up. A difference of two times that are cut to slots reaches the one down,
        with an end that has to be late the one before.
        In continuous time a row that says by when something happens gives way by the tolerance.
        """
        seconds = row.least
        if self.slot is None:
            gives_way = row.terms[0][0] < 0 if len(row.terms) == 1 else seconds < 0.0
            return -self.base.latest_within(-seconds) if gives_way else self.base.nearest(seconds)
        is_up = (self.rounding == "up") == (seconds >= 0.0)
        tolerance = self.base.tolerance if len(row.terms) == 1 else 0.0  # of a point in time, or of a lag
        round_to_slots = slots_up if is_up else slots_down
        slots = round_to_slots(abs(seconds), self.slot, tolerance)
        is_early = self.rounding == "down" and row.asks_for_late_ends
        return math.copysign(slots, seconds) - is_early

    def next_start(self, j: int, start: float, duration: float, placed: Mapping[int, tuple[float, float]]) -> float:
        """Return the first start (ticks) from ``start`` on that no constraint forbids to a job of this duration.

        ``placed`` are starts and ends (ticks) of other jobs, by index. Infinity where there is none, or where a row
        makes the job wait for one that is not placed.
        """
        if not self.awaited[j] <= placed.keys():
            return math.inf
        slack = self.base.tolerance if self.slot is None else 0.0
        while math.isfinite(start) and start + duration <= self.latest_ends[j]:
            later = max([start, *(row.first_start(j, start, duration, placed, slack) for row in self._rows_of[j])])
            later = self.allowed_from(j, later) if math.isfinite(later) else later
            if later <= start:
                return start
            start = later
        return math.inf

    @cached_property
    def _rows_of(self) -> tuple[tuple[NotTogetherRow | TimeSumRow, ...], ...]:
        """The rows that name each job, by index."""
        found: list[list[NotTogetherRow | TimeSumRow]] = [[] for _ in self.jobs]
        for row in self.rows:
            for j in row.members:
                found[j].append(row)
        return tuple(map(tuple, found))

    @cached_property
    def awaited(self) -> tuple[frozenset[int], ...]:
        """The jobs, by index, that lists place before each: those that rows ask it to follow, as far as in no cycle.

        Rows with the greatest differences come first: of a least and a greatest lag the job waits for the least one.
        """
        found: list[set[int]] = [set() for _ in self.jobs]
        for late, early in acyclic(self._following()):
            found[late].add(early)
        return tuple(map(frozenset, found))

    def _following(self) -> Iterator[tuple[int, int]]:
        """Yield the jobs of each difference of times, the one to be late first; the greatest differences first."""
        pairs = [row for row in self.rows if isinstance(row, TimeSumRow) and len(row.members) == 2]
        for row in sorted(pairs, key=lambda row: -row.least):
            (_, _, late), (_, _, early) = sorted(row.terms, reverse=True)
            yield late, early

    @cached_property
    def busy(self) -> tuple[Busy, ...]:
        """The jobs that run already, those that start later left out."""
        return busy_of(self.allocations)

    @cached_property
    def blocks(self) -> tuple[Busy, ...]:
        """Blocks of processors over time to come: running jobs that start later, and maintenance windows."""
        return blocks_of(self.allocations, self.busy)

    @cached_property
    def package(self) -> Package:
        """Free capacity when all jobs start together; jobs that end by then hold nothing any more."""
        return package_of(self.allocations, self.busy, max(self.releases, default=0.0))

    @cached_property
    def contended_resources(self) -> tuple[int, ...]:
        """The resources of which there would be too little if every job took as much as it can at once."""
        return tuple(k for k in range(len(self.resources)) if self._is_contended(k))

    def _is_contended(self, k: int) -> bool:
        held = [busy.loads[k] for busy in (*self.busy, *self.blocks)]
        together = np.cumsum(np.concatenate([held, self._most_loads(k)]))
        return bool((together > self.resources[k].limit).any())

    def _most_loads(self, k: int) -> NDArray[np.float64]:
        """Return the most that each job may ask of a resource: it rises with tasks, on links up to half of them."""
        allocations, resource, shapes = self.allocations, self.resources[k], self.allocations.rigid_jobs
        tasks, (inside, outside) = np.array([shape.tasks for shape in shapes], dtype=np.int64), allocations.sides[k]
        least, most = np.maximum(0, tasks - outside), np.minimum(tasks, inside)
        middle = (tasks // 2, tasks // 2 + 1) if isinstance(resource, LinkBandwidth) else ()
        tried = (most, *(np.clip(part, least, most) for part in middle))
        loads = np.max([allocations.loads_on(resource, part, shapes) for part in tried], axis=0, initial=0.0)
        loads = np.where(least <= most, loads, 0.0)
        if not allocations.is_moldable:
            return loads
        counts = [len(allocations.shapes(job)) for job in self.jobs]
        of_jobs = np.zeros(len(counts))
        np.maximum.at(of_jobs, np.repeat(np.arange(len(counts)), counts), loads)
        return of_jobs

    @cached_property
    def contended_links(self) -> tuple[int, ...]:
        """The links among them."""
        return tuple(k for k in self.contended_resources if k < self.allocations.num_links)

    @cached_property
    def contended_memories(self) -> tuple[int, ...]:
        """The memories among them."""
        return tuple(k for k in self.contended_resources if isinstance(self.resources[k], NodeMemory))

    @cached_property
    def countables(self) -> tuple[tuple[int, Countable], ...]:
        """The stocks, then the pools among them, with their indices."""
        pairs = ((k, self.resources[k]) for k in self.contended_resources)
        return tuple((k, resource) for k, resource in pairs if isinstance(resource, Countable))

    @cached_property
    def contended_pools(self) -> tuple[int, ...]:
        """The indices of these."""
        return tuple(k for k, _ in self.countables)

    @cached_property
    def contended_stocks(self) -> tuple[int, ...]:
        """The stocks among them."""
        return tuple(k for k in self.contended_resources if isinstance(self.resources[k], Stock))

    @cached_property
    def has_monotone_capacity(self) -> bool:
        """Whether what is free only grows, but for the jobs to schedule: no window takes anything."""
        return not self.blocks and self.contended_pools == self.contended_stocks

    @cached_property
    def has_equal_releases(self) -> bool:
        """Whether all jobs to schedule arrive at one instant."""
        return len(set(self.releases)) <= 1

    @cached_property
    def is_restricted(self) -> bool:
        """Whether memory, resources, spreads or constraints keep some job from processors that it could have had."""
        is_shared = bool(self.contended_memories or self.contended_stocks) or self.allocations.restricts_spreads
        of_jobs = () if self.allocations.has_equal_rooms else self.jobs
        return is_shared or any(self.allocations.rooms(job) != self.capacities for job in of_jobs)

    @cached_property
    def horizon_in_turn(self) -> float:
        """Ticks within which every order of the jobs fits: each after the other, at its slowest, when all is there.

        Where rows ask for lags between jobs, or calendars let them wait, in a schedule in which nothing can start
        earlier, at every instant after that a job runs, a lag does or one waits (docs/mathematics/execution-model.md,
        "Horizons").
        """
        last = max([*self.releases, *(busy.end for busy in (*self.busy, *self.blocks))], default=0)
        lags = sum(max(0, row.least) for row in self.rows if isinstance(row, TimeSumRow))
        in_turn: list[float] = self.speeds.columns.slowest.tolist()
        return last + sum(in_turn) + lags + self._waits

    @property
    def _waits(self) -> float:
        """Ticks that jobs wait for their calendars at most, in all.

        What starts after an instant at which nothing runs could start earlier: one job alone as soon as its calendar
        lets it; where rows tie jobs, all of them together, by what is a period of all calendars.
        """
        if not self.calendars:
            return 0.0
        patterns = self.allowed_slots.values() if self.slot is not None else self.calendars.values()
        if not self.ties_jobs:
            return sum(pattern.longest_wait for pattern in patterns)
        return len(self.jobs) * reduce(common_period, [pattern.length for pattern in patterns])

    @cached_property
    def end_lags(self) -> tuple[int, ...]:
        """The jobs, by index, whose end a row asks to be late: held for longer than it runs, one seems to keep it."""
        rows = (row for row in self.rows if isinstance(row, TimeSumRow))
        return tuple(sorted({j for row in rows for factor, which, j in row.terms if which == "end" and factor > 0}))
