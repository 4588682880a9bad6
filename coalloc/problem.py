"""What exact methods see: the jobs as choices between modes, time as slots or seconds.

A mode is an allocation vector of one job; its duration and what it asks of links and memories are constants,
so the maximum in SP, the quadratic bandwidth (2.6) and every other max() are gone before a model
is built (thesis 3.2.1 with errata 1 to 4). Times are in *ticks*: whole slots of a slotted problem,
seconds of a continuous one; no problem mixes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, pairwise
from typing import Annotated, Literal

from coalloc.allocation import (
    Allocation,
    NodeClass,
    Scope,
    Stock,
    allocation_of,
    counted_groups,
    has_too_little,
    node_classes,
    reserved_nodes,
    stocks_of,
    switched_classes,
)
from coalloc.constraint import Constraint, NotTogether, Release, Stated, Times, stated
from coalloc.documents.text import quoted
from coalloc.execution import dedicated_time, execution_time, link_load, link_load_table, processing_slowdown
from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.resources import contended_nodes, of_nodes, tasks_on_node, tasks_within
from coalloc.instance.rounding import INSTANT_TOLERANCE, capacity_limit, slots_down, slots_up, time_tolerance

Rounding = Literal["up", "down"]
Links = Literal["strict", "shared", "ignore"]

EXACT_METHODS = "what solves, bounds or replays"
"""What errors call all that a :class:`Problem` is made for."""

MAX_SLOTS = 1e8
"""Slots, from the first arrival to the end of all jobs in turn, to which bounds are exact: a tenth of what rounding
takes off them."""
SLOT_TOLERANCES = 10.0
"""Tolerances of instants that a slot is at least."""
MAX_MODES = 200_000
"""Allocation vectors, over all jobs, beyond which they are not enumerated."""


@dataclass(frozen=True, slots=True)
class LinkBandwidth:
    """A link as a resource: the classes below it, by index, and its largest load, MB/s; inf where it may saturate."""

    name: str
    classes: tuple[int, ...]
    limit: float
    load = staticmethod(link_load)
    load_table = staticmethod(link_load_table)

    @staticmethod
    def sees(job: Job) -> Hashable:
        """Return what a load depends on besides the tasks there."""
        return job.tasks, job.task_bandwidth


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The memory of a node of several cores as a resource: the node's class, by index, and MB that tasks may hold."""

    name: str
    classes: tuple[int, ...]
    limit: float

    @staticmethod
    def load(tasks: int, job: Job) -> float:
        """Return what tasks of a job on the node ask for, MB."""
        return tasks * (job.memory or 0.0)

    @staticmethod
    def load_table(most: int, job: Job) -> list[float]:
        """Return what 0, 1, ..., ``most`` tasks of a job on the node ask for, MB."""
        return [NodeMemory.load(tasks, job) for tasks in range(most + 1)]

    @staticmethod
    def sees(job: Job) -> Hashable:
        """Return what a load depends on besides the tasks there."""
        return job.memory


@dataclass(frozen=True, slots=True)
class Pool:
    """Units that tasks on some classes, by index, take of a stock: processors that a window leaves of a group."""

    name: str
    classes: tuple[int, ...]
    limit: float

    @staticmethod
    def parts(job: Job) -> tuple[float, float]:  # noqa: ARG004 - every task of every job takes a processor
        """Return the units that a job takes by being there, and those that each of its tasks there takes."""
        return 0.0, 1.0

    @staticmethod
    def load(tasks: int, job: Job) -> float:  # noqa: ARG004
        """Return the units that so many tasks of a job take."""
        return float(tasks)

    @staticmethod
    def load_table(most: int, job: Job) -> list[float]:
        """Return the units that 0, 1, ..., ``most`` tasks of a job take."""
        return [Pool.load(tasks, job) for tasks in range(most + 1)]

    @staticmethod
    def sees(job: Job) -> Hashable:  # noqa: ARG004 - all jobs are alike
        """Return what a load depends on besides the tasks there."""
        return None


Countable = Stock | Pool
"""A resource of which a job takes a part for being there, and a part for each of its tasks there."""

Resource = LinkBandwidth | NodeMemory | Countable
"""What tasks on some classes share besides processors: ``load(tasks, job)`` with so many tasks there, up to a limit."""


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
class Busy:
    """A job that runs already: its tasks per class and its loads per resource, until ``end`` (ticks).

    One that is to start later, or a window in which processors are not there, begins at ``start`` (ticks).
    """

    job: str
    end: float
    allocation: Allocation
    loads: tuple[float, ...]
    start: float = -math.inf


def taken_in_pieces(
    blocks: Iterable[Busy], running: Iterable[Busy], amount: Callable[[Busy], float], limit: float
) -> Iterator[tuple[float, float, float]]:
    """Yield (start, end, amount) of what blocks take beside what runs already, from one change to the next.

    Together with that they take what there is at most.
    """
    own, running = [block for block in blocks if amount(block)], list(running)
    changes = {instant for block in own for instant in (block.start, block.end)}
    changes |= {busy.end for busy in running} if own else set()
    for start, end in pairwise(sorted(changes)):
        held = sum(amount(busy) for busy in running if busy.end > start)
        asked = sum(amount(block) for block in own if block.start <= start < block.end)
        taken = min(asked, limit - held)
        if taken > 0.0:
            yield start, end, taken


@dataclass(frozen=True, slots=True)
class Package:
    """All jobs of a problem, started together at ``start`` (ticks), the latest of their arrivals.

    ``processors`` are free then, shape ``(num_classes,)``, and of resources ``limits``, shape
    ``(num_resources,)``. ``running`` jobs outlast the start and take ``busy_loads`` of the resources.
    """

    start: float
    processors: tuple[int, ...]
    limits: tuple[float, ...]
    running: tuple[RunningJob, ...]
    busy_loads: tuple[float, ...]


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


@dataclass(frozen=True)
class Problem:
    """An instance, discretised: see :func:`discretise`."""

    instance: Instance
    classes: tuple[NodeClass, ...]
    slot: float | None
    rounding: Rounding
    links: Links
    saturation: float
    scope: Scope
    constraints: tuple[Constraint, ...] = (Release(),)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs to schedule; everything else is indexed like them."""
        return self.instance.jobs

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Processors of each class, shape ``(num_classes,)``."""
        return tuple(node_class.capacity for node_class in self.classes)

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """What tasks share besides processors: links, memories of which there may be too little, stocks, pools."""
        known = self.instance.resources_asked
        stocks = stocks_of(self.instance.platform, self.classes, known, crowded_nodes(self.instance)) if known else ()
        return (*self._links(), *self._memories(), *stocks, *self._pools())

    def _links(self) -> Iterator[LinkBandwidth]:
        for link in self.instance.platform.links:
            below = tuple(g for g, node_class in enumerate(self.classes) if node_class.cluster in link.clusters)
            limit = capacity_limit(link.bandwidth, self.saturation) if self.links == "strict" else math.inf
            yield LinkBandwidth(link.name, below, limit)

    def _memories(self) -> Iterator[NodeMemory]:
        platform, asked = self.instance.platform, self.instance.largest_task_memory
        for g, node_class in enumerate(self.classes):
            if node_class.group.cores > 1 and has_too_little(node_class.group, asked):
                node = platform.nodes[platform.processor_node[node_class.processors[0]]]
                yield NodeMemory(node.name, (g,), capacity_limit(node_class.group.memory or 0.0))

    @cached_property
    def _resources_of_nodes(self) -> tuple[str, ...]:
        """The names of the resources that nodes have and a job takes."""
        return of_nodes(self.instance.platform, self.instance.resources_asked)

    def _pools(self) -> Iterator[Pool]:
        """Yield the groups of which windows take a number of processors, each once."""
        for (cluster, number), classes in self._counted_groups.items():
            capacity = sum(self.capacities[g] for g in classes)
            yield Pool(f"{self.instance.platform.clusters[cluster].name}, group {number}", classes, capacity)

    @cached_property
    def _counted_groups(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The classes, by index, of each cluster and group of which a window takes a number of processors."""
        return counted_groups(self.instance.platform, self.classes)

    @cached_property
    def num_links(self) -> int:
        """How many of the resources are links: the first ones, in the order of the platform."""
        return len(self.instance.platform.links)

    @cached_property
    def num_memories(self) -> int:
        """How many of the resources are memories: those behind the links."""
        return sum(isinstance(resource, NodeMemory) for resource in self.resources)

    @cached_property
    def limits(self) -> tuple[float, ...]:
        """Largest total load of each resource, shape ``(num_resources,)``: MB/s (inf where links may saturate), MB."""
        return tuple(resource.limit for resource in self.resources)

    @cached_property
    def releases(self) -> tuple[float, ...]:
        """Earliest start of each job, ticks: the latest that a constraint asks for, or that jobs before it leave."""
        asked = [self.ticks(max(c.earliest_start(job) for c in self.constraints)) for job in self.jobs]
        for j in self._in_turn:
            asked[j] = max([asked[j], *(asked[i] + self.levels[i][0].duration for i in self.before[j])])
        return tuple(asked)

    @property
    def first_slot(self) -> int:
        """The first slot in which a job may run: models have none before it, though arrivals be in Unix time."""
        return int(min(self.releases, default=0))

    @cached_property
    def latest_ends(self) -> tuple[float, ...]:
        """Latest end of each job, ticks: the earliest that a constraint, or a job after it, asks for; else infinity."""
        asked = [self._last_tick(min(c.latest_end(job) for c in self.constraints)) for job in self.jobs]
        for j in reversed(self._in_turn):
            for i in self.before[j]:
                asked[i] = min(asked[i], asked[j] - self.levels[j][0].duration)
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
    def _in_turn(self) -> tuple[int, ...]:
        """The jobs, by index, each behind all that end before it starts; none where a cycle, or a lack, forbids that.

        Of a job that fits nowhere there is no time that it takes: :attr:`levels` says so, and not what it delays.
        """
        if not any(self.before) or not all(map(self._has_room, self.jobs)):
            return ()
        try:
            return tuple(TopologicalSorter(dict(enumerate(self.before))).static_order())
        except CycleError:
            return ()

    def _has_room(self, job: Job) -> bool:
        """Return whether a job finds room for its tasks, in its narrowest shape."""
        return self.most_tasks(job) >= least_tasks(job)

    def _last_tick(self, seconds: float) -> float:
        if math.isinf(seconds):
            return seconds
        return seconds + time_tolerance(seconds) if self.slot is None else slots_down(seconds, self.slot)

    @cached_property
    def pinned(self) -> frozenset[int]:
        """The jobs, by index, of which a row says by when they start: lists begin with them."""
        single = (row.terms[0] for row in self.rows if isinstance(row, TimeSumRow) and len(row.terms) == 1)
        return frozenset(j for factor, which, j in single if (factor, which) == (-1, "start"))

    @cached_property
    def couples(self) -> bool:
        """Whether a constraint ties jobs to each other, or to an instant by which they must have ended."""
        return self.ties_jobs or not all(math.isinf(end) for end in self.latest_ends)

    @property
    def ties_jobs(self) -> bool:
        """Whether a constraint ties jobs to each other."""
        return bool(self._coupling)

    @cached_property
    def _coupling(self) -> tuple[Constraint, ...]:
        """The constraints that tie jobs to each other: the others forbid no start for what is placed."""
        return tuple(constraint for constraint in self.constraints if constraint.couples)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """The kind of each job, numbered from 0 in order of their first jobs, shape ``(num_jobs,)``.

        Jobs of one kind may be exchanged in every schedule: they have the same modes, times in ticks and all, and no
        constraint tells them apart.
        """
        return numbered(map(self._seen_of, range(len(self.jobs))))

    def _seen_of(self, j: int) -> Hashable:
        """Return all that the problem sees of a job."""
        job = self.jobs[j]
        loads = (job.task_bandwidth, job.memory or 0.0, job.resources, job.task_resources)
        shapes = self.shapes(job)
        of_classes = tuple(tuple(map(self.ticks, self.class_times(shape))) if shape.times else () for shape in shapes)
        times = (self.releases[j], self.latest_ends[j], self.levels[j], of_classes)
        told_apart = tuple([constraint.tells_apart_by(job) for constraint in self.constraints])
        return (tuple([shape.tasks for shape in shapes]), loads, self.rooms(job), times, told_apart)

    @cached_property
    def rows(self) -> tuple[NotTogetherRow | TimeSumRow, ...]:
        """The rows that the constraints give models."""
        number = {job.id: j for j, job in enumerate(self.jobs)}
        rows: list[NotTogetherRow | TimeSumRow] = []
        for row in (row for constraint in self.constraints for row in constraint.rows(self.instance)):
            if isinstance(row, NotTogether):
                rows.append(NotTogetherRow(tuple(number[job] for job in row.jobs)))
            else:
                terms = tuple((factor, which, number[job]) for factor, which, job in row.terms)
                rows.append(TimeSumRow(terms, self._least_tick(row.least)))
        return tuple(rows)

    def _least_tick(self, seconds: float) -> float:
        """Return the ticks that a sum of times has to reach if it has to reach so many seconds.

        Of whole slots that is the next number up. A difference of two times that are cut to slots reaches the one down.
        """
        if self.slot is None:
            return seconds
        is_up = (self.rounding == "up") == (seconds >= 0.0)
        slots = slots_up(abs(seconds), self.slot) if is_up else slots_down(abs(seconds), self.slot)
        return math.copysign(slots, seconds)

    def next_start(self, j: int, start: float, duration: float, placed: Mapping[int, tuple[float, float]]) -> float:
        """Return the first start (ticks) from ``start`` on that no constraint forbids to a job of this duration.

        ``placed`` are starts and ends (ticks) of other jobs, by index. Infinity where there is none.
        """
        times: Times = {
            self.jobs[k].id: (self.seconds(start), self.seconds(end))
            for k, (start, end) in (placed.items() if self._coupling else ())
            if k != j
        }
        while start + duration <= self.latest_ends[j]:
            later = self.seconds(start)
            for constraint in self._coupling:
                later = max(later, constraint.next_start(self.jobs[j], later, later + self.seconds(duration), times))
            if math.isinf(later) or self.ticks(later) <= start:
                return start if math.isfinite(later) else math.inf
            start = self.ticks(later)
        return math.inf

    @cached_property
    def busy(self) -> tuple[Busy, ...]:
        """The jobs that run already, those that start later left out."""
        return tuple(self._placed(run, -math.inf) for run in self.instance.running if run.start <= 0.0)

    def _placed(self, run: RunningJob, start: float) -> Busy:
        index = self.instance.platform.processor_index
        allocation = allocation_of((index[name] for name in run.nodes), self.classes)
        return Busy(run.job.id, self.ticks(run.end), allocation, self.loads(run.job, allocation), start)

    @cached_property
    def blocks(self) -> tuple[Busy, ...]:
        """What holds processors for a time to come: running jobs that start later, and windows.

        Rounded to slots they may overlap each other, and what runs already: of each class they take together what there
        is at most.
        """
        reserved = (self._placed(run, self._tick_before(run.start)) for run in self.instance.running if run.start > 0.0)
        known = [b for b in (*reserved, *self._closings(), *self._takings()) if b.start < b.end]
        loading = (replace(b, allocation=(0,) * len(self.classes)) for b in known if any(b.loads))
        return (*(piece for g in range(len(self.classes)) for piece in self._held(g, known)), *loading)

    def _held(self, g: int, blocks: Sequence[Busy]) -> Iterator[Busy]:
        """Yield what blocks take of a class beside what runs already, from one change to the next."""
        pieces = taken_in_pieces(blocks, self.busy, lambda busy: busy.allocation[g], self.capacities[g])
        for start, end, taken in pieces:
            allocation = tuple(int(taken) if i == g else 0 for i in range(len(self.classes)))
            yield Busy("", end, allocation, (0.0,) * len(self.resources), start)

    def _tick_before(self, seconds: float) -> float:
        """Return when what starts at so many seconds begins to be in the way, ticks."""
        return seconds if self.slot is None else slots_down(seconds, self.slot)

    def _closings(self) -> Iterator[Busy]:
        """Yield when each class is not there: all of it."""
        platform = self.instance.platform
        for g, node_class in enumerate(self.classes if platform.unavailable else ()):
            node = platform.processor_node[node_class.processors[0]]
            windows = [w for w, nodes in zip(platform.unavailable, platform.window_nodes, strict=True) if node in nodes]
            spans = ((self._tick_before(w.start), self.ticks(w.end)) for w in windows if w.group is None)
            allocation = tuple(self.capacities[g] if i == g else 0 for i in range(len(self.classes)))
            for start, end in spans:
                yield Busy("", end, allocation, (0.0,) * len(self.resources), start)

    def _takings(self) -> Iterator[Busy]:
        """Yield the processors that windows take of groups."""
        names = [cluster.name for cluster in self.instance.platform.clusters]
        pools = {key: len(self.resources) - len(self._counted_groups) + n for n, key in enumerate(self._counted_groups)}
        for window in self.instance.platform.unavailable:
            if window.group is not None:
                taken = pools[names.index(window.cluster), window.group]
                loads = tuple(float(window.processors or 0) if k == taken else 0.0 for k in range(len(self.resources)))
                span = self._tick_before(window.start), self.ticks(window.end)
                yield Busy("", span[1], (0,) * len(self.classes), loads, span[0])

    @cached_property
    def package(self) -> Package:
        """What is free when all jobs start together; jobs that end by then hold nothing any more."""
        start = max(self.releases, default=0.0)
        started = (run for run in self.instance.running if run.start <= 0.0)
        pairs = zip(started, self.busy, strict=True)
        lasting = [(run, busy) for run, busy in pairs if busy.end > start + time_tolerance(start)]
        held = [sum(busy.allocation[g] for _, busy in lasting) for g in range(len(self.classes))]
        loads = tuple(math.fsum(busy.loads[k] for _, busy in lasting) for k in range(len(self.resources)))
        return Package(
            start=start,
            processors=tuple(capacity - taken for capacity, taken in zip(self.capacities, held, strict=True)),
            limits=tuple(max(0.0, limit - load) for limit, load in zip(self.limits, loads, strict=True)),
            running=tuple(run for run, _ in lasting),
            busy_loads=loads,
        )

    def ticks(self, seconds: float) -> float:
        """Return a time in ticks: slots, rounded as the problem says, or the seconds themselves."""
        if self.slot is None:
            return seconds
        return slots_up(seconds, self.slot) if self.rounding == "up" else slots_down(seconds, self.slot)

    def seconds(self, ticks: float) -> float:
        """Return a time in seconds."""
        return ticks if self.slot is None else ticks * self.slot

    def loads(self, job: Job, allocation: Sequence[int]) -> tuple[float, ...]:
        """Return what an allocation asks of every resource, shape ``(num_resources,)``."""
        return tuple([r.load(sum([allocation[g] for g in r.classes]), job) for r in self.resources])

    @cached_property
    def _powers(self) -> tuple[float, ...]:
        """Effective power of each class."""
        return tuple([node_class.effective_power for node_class in self.classes])

    @cached_property
    def _known_times(self) -> dict[Job, dict[float, tuple[float, float]]]:
        """Execution times so far, in seconds and ticks, of each job by the least effective power that it uses."""
        return {}

    @cached_property
    def is_moldable(self) -> bool:
        """Whether some job may run in several shapes."""
        return any(job.shapes for job in self.jobs)

    def shapes(self, job: Job) -> tuple[Job, ...]:
        """Return the rigid jobs that a job may run as: itself, where it has one shape only."""
        if not job.shapes:
            return (job,)
        if job not in self._known_shapes:
            possible = (s for s in job.in_shapes if all(c.has_shape(job, s.tasks) for c in self.constraints))
            self._known_shapes[job] = tuple(possible)
        return self._known_shapes[job]

    @cached_property
    def _known_shapes(self) -> dict[Job, tuple[Job, ...]]:
        """Those so far."""
        return {}

    def shape_of(self, job: Job, tasks: int) -> Job:
        """Return the rigid job that a job runs as with so many tasks."""
        if not job.shapes:
            return job
        known = next((shape for shape in self.shapes(job) if shape.tasks == tasks), None)
        return known or next(shape for shape in job.in_shapes if shape.tasks == tasks)

    def shape_number(self, j: int, allocation: Sequence[int]) -> int:
        """Return the number of the shape that a job, by index, has on an allocation: no two have as many tasks."""
        job, tasks = self.jobs[j], sum(allocation)
        return next((number for number, shape in enumerate(job.shapes, start=1) if shape.tasks == tasks), 0)

    def mode(self, job: Job, allocation: Sequence[int]) -> Mode:
        """Return the mode of an allocation vector; it says which shape the job has."""
        if job.shapes:
            job = self.shape_of(job, sum(allocation))
        if job.times:
            times = self.class_times(job)
            seconds = max(time for time, count in zip(times, allocation, strict=True) if count)
            return Mode(tuple(allocation), seconds, self.ticks(seconds), self.loads(job, allocation))
        used = [power for power, count in zip(self._powers, allocation, strict=True) if count]
        known, slowest = self._known_times.setdefault(job, {}), min(used)
        if slowest not in known:
            seconds = execution_time(job, processing_slowdown([slowest]))
            known[slowest] = seconds, self.ticks(seconds)
        return Mode(tuple(allocation), *known[slowest], self.loads(job, allocation))

    def class_times(self, job: Job) -> tuple[float, ...]:
        """Return how long a job takes on each class alone, s, shape ``(num_classes,)``: the slowest used decides."""
        if job not in self._known_class_times:
            self._known_class_times[job] = tuple(dedicated_time(job, node_class.group) for node_class in self.classes)
        return self._known_class_times[job]

    @cached_property
    def _known_class_times(self) -> dict[Job, tuple[float, ...]]:
        """Those so far."""
        return {}

    def class_ticks(self, job: Job) -> tuple[float, ...]:
        """Return the ticks that a rigid job takes where a class is the slowest it uses, shape ``(num_classes,)``."""
        if job.times:
            return tuple(map(self.ticks, self.class_times(job)))
        by_power = {p: self.ticks(execution_time(job, processing_slowdown([p]))) for p in set(self._powers)}
        return tuple([by_power[power] for power in self._powers])

    def fits_alone(self, mode: Mode) -> bool:
        """Return whether the mode exceeds no resource when it is alone."""
        return all(load <= limit for load, limit in zip(mode.loads, self.limits, strict=True))

    def tasks_within(self, job: Job, resource: int) -> range:
        """Return the numbers of tasks of a rigid job that can be on the classes of a resource."""
        inside = sum(self.capacities[g] for g in self.resources[resource].classes)
        outside = sum(self.capacities) - inside
        return range(max(0, job.tasks - outside), min(job.tasks, inside) + 1)

    @cached_property
    def contended_resources(self) -> tuple[int, ...]:
        """The resources of which there would be too little if every job took as much as it can at once."""
        contended = []
        for k, resource in enumerate(self.resources):
            most = sum(busy.loads[k] for busy in (*self.busy, *self.blocks))
            most += sum(max(self._most_load(shape, k) for shape in self.shapes(job)) for job in self.jobs)
            if most > resource.limit:
                contended.append(k)
        return tuple(contended)

    def _most_load(self, job: Job, k: int) -> float:
        """Return the most that a rigid job may ask of a resource."""
        return max(self.load_table(job, k)[self.tasks_within(job, k).start :], default=0.0)

    def load_table(self, job: Job, resource: int) -> list[float]:
        """Return what a rigid job asks of a resource with 0, 1, ... tasks there, up to as many as can be; made once."""
        most, of = self.tasks_within(job, resource).stop - 1, self.resources[resource]
        key = type(of), most, of.sees(job)
        if key not in self._known_load_tables:
            self._known_load_tables[key] = of.load_table(most, job)
        return self._known_load_tables[key]

    @cached_property
    def _known_load_tables(self) -> dict[tuple[object, ...], list[float]]:
        """Load tables so far; equal jobs, and links with equally many processors below, share them."""
        return {}

    @cached_property
    def contended_links(self) -> tuple[int, ...]:
        """The links among them."""
        return tuple(k for k in self.contended_resources if k < self.num_links)

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
    def is_plain(self) -> bool:
        """Whether what is free only grows, but for the jobs to schedule: no window takes anything."""
        return not self.blocks and self.contended_pools == self.contended_stocks

    def rooms(self, job: Job) -> tuple[int, ...]:
        """Return how many tasks of a job each class can hold, by processors, memory, resources and constraints."""
        if not (job.memory or self._restrictions or self.instance.resources_asked):
            return self.capacities
        if job not in self._known_rooms:
            rooms = zip(map(min, self._rooms_by_memory(job), self._rooms_by_resources(job)), self.classes, strict=True)
            self._known_rooms[job] = tuple(
                min([room, *(int(min(room, constraint.most_tasks(job, c))) for constraint in self._restrictions)])
                if all(constraint.is_eligible(job, c) for constraint in self._restrictions)
                else 0
                for room, c in rooms
            )
        return self._known_rooms[job]

    def _rooms_by_resources(self, job: Job) -> Sequence[int]:
        if not job.asks_resources:
            return self.capacities
        own = self._resources_of_nodes
        rooms = [c.num_nodes * tasks_on_node(c.group, own, job) if own else c.capacity for c in self.classes]
        for _, stock in self.stocks:
            for g in stock.classes:
                rooms[g] = tasks_within(stock.limit, job, stock.resource, rooms[g])
        return rooms

    @cached_property
    def stocks(self) -> tuple[tuple[int, Stock], ...]:
        """The stocks among the resources, with their indices there."""
        return tuple((k, resource) for k, resource in enumerate(self.resources) if isinstance(resource, Stock))

    def most_tasks(self, job: Job) -> int:
        """Return how many tasks of a job have room within the scope: by processors, memory, resources, constraints."""
        rooms = self.rooms(job)
        if not job.asks_resources or self.scope == "node":
            return max(self.within_scope(rooms))
        parts = [0] * len(self.instance.platform.clusters)
        for room, node_class in zip(rooms, self.classes, strict=True):
            parts[node_class.cluster] += room
        for _, stock in self.stocks:
            if stock.level == "cluster":
                c = self.classes[stock.classes[0]].cluster
                parts[c] = tasks_within(stock.limit, job, stock.resource, parts[c])
        most = max(parts) if self.scope == "cluster" else sum(parts)
        for _, stock in self.stocks:
            if stock.level == "platform":
                most = tasks_within(stock.limit, job, stock.resource, most)
        return most

    def is_counted(self, job: Job) -> bool:
        """Return whether a constraint says how many tasks of a job a class may have."""
        pairs = ((constraint, node_class) for constraint in self._restrictions for node_class in self.classes)
        return any(constraint.most_tasks(job, node_class) < math.inf for constraint, node_class in pairs)

    def _rooms_by_memory(self, job: Job) -> list[int]:
        return [node_class.room(job.memory or 0.0) for node_class in self.classes]

    @cached_property
    def _known_rooms(self) -> dict[Job, tuple[int, ...]]:
        """Rooms so far."""
        return {}

    @cached_property
    def _restrictions(self) -> tuple[Constraint, ...]:
        """The constraints that keep jobs from classes."""
        return tuple(constraint for constraint in self.constraints if constraint.restricts_classes)

    @cached_property
    def is_restricted(self) -> bool:
        """Whether memory, resources or constraints keep some job from processors that it could have otherwise."""
        is_shared = bool(self.contended_memories or self.contended_stocks)
        return is_shared or any(self.rooms(job) != self.capacities for job in self.jobs)

    def shortage(self, job: Job) -> str:
        """Return why memory, resources or constraints leave a job too little room; nothing where they do not."""
        most, tasks = self.most_tasks(job), least_tasks(job)
        if most >= tasks:
            return ""
        if short := self.short_resource(job):
            resource, enough = short
            found = f"what there is of it within a {self.scope} is enough for {enough} of its {tasks} tasks"
            return f"job {quoted(job.id)} takes {quoted(resource)}: {found}"
        if max(self.within_scope(self._rooms_by_memory(job))) >= tasks:
            return f"job {quoted(job.id)} has {tasks} tasks, the constraints leave it {most} processors"
        found = f"the nodes have that for {most}"
        if self.scope != "platform":
            found = f"no {self.scope} has that for more than {most}"
        asked = f"asks for {job.memory or 0.0:g} MB of memory per task"
        return f"job {quoted(job.id)} {asked}: {found} of its {tasks} tasks"

    def short_resource(self, job: Job) -> tuple[str, int] | None:
        """Return the first resource that is enough for too few tasks of a job where it may be, and for how many."""
        if not job.asks_resources:
            return None
        for name in self.instance.resources_asked:
            only = {key: {name: amounts[name]} if name in amounts else {} for key, amounts in _asked(job).items()}
            most = self.most_tasks(job.replace(memory=None, **only))
            if most < least_tasks(job) <= self.most_tasks(job.replace(memory=None, resources={}, task_resources={})):
                return name, most
        return None

    def within_scope(self, rooms: Sequence[int]) -> list[int]:
        """Return the sum over each part of the platform that the scope keeps a job within."""
        if self.scope == "node":
            return list(rooms)
        parts = [0] * len(self.instance.platform.clusters)
        for room, node_class in zip(rooms, self.classes, strict=True):
            parts[node_class.cluster if self.scope == "cluster" else 0] += room
        return parts

    def rooms_in_scope(self, job: Job) -> tuple[int, ...]:
        """Return :meth:`rooms`, with none on parts of the platform that the scope would keep the job within in vain."""
        rooms, tasks = self.rooms(job), least_tasks(job)
        key = tasks, rooms
        if key not in self._known_rooms_in_scope:
            found = list(rooms) if not self.parts else [0] * len(rooms)
            for part in self.parts:
                if sum(rooms[g] for g in part) >= tasks:
                    for g in part:
                        found[g] = rooms[g]
            self._known_rooms_in_scope[key] = tuple(found)
        return self._known_rooms_in_scope[key]

    @cached_property
    def _known_rooms_in_scope(self) -> dict[tuple[int, tuple[int, ...]], tuple[int, ...]]:
        """Those so far, by tasks and room."""
        return {}

    def count_allocations(self, job: Job) -> int:
        """Return how many allocation vectors a job has, links and scope aside."""
        rooms = self.rooms(job)
        if rooms not in self._known_counts:
            most = max(shape.tasks for other in self.jobs for shape in self.shapes(other))
            self._known_counts[rooms] = _num_compositions(most, rooms)
        return sum([self._known_counts[rooms][shape.tasks] for shape in self.shapes(job)])

    @cached_property
    def _known_counts(self) -> dict[tuple[int, ...], list[int]]:
        """Numbers of allocation vectors so far, by room and by tasks."""
        return {}

    @cached_property
    def num_allocations(self) -> int:
        """How many allocation vectors all jobs have."""
        return sum(map(self.count_allocations, self.jobs))

    @cached_property
    def modes(self) -> tuple[tuple[Mode, ...], ...]:
        """Every mode of each job that fits alone, shape ``(num_jobs,)``.

        Raises :class:`CoallocError` where there are more than ``MAX_MODES``.
        """
        if self.num_allocations > MAX_MODES:
            raise CoallocError(
                f"the jobs have {self.num_allocations:,} allocation vectors on {len(self.classes)} node classes, more than the "
                f"{MAX_MODES:,} that are enumerated; use formulation='count' (model pas: 'node')"
            )
        return tuple(map(self.modes_of, range(len(self.jobs))))

    def modes_of(self, j: int) -> tuple[Mode, ...]:
        """Return every mode of a job, by index, that fits alone."""
        job = self.jobs[j]
        found = (self.mode(job, allocation) for allocation in self.allocations(job))
        return tuple(mode for mode in found if self.fits_alone(mode))

    def allocations(self, job: Job) -> Iterator[Allocation]:
        """Yield every allocation vector of a job within the scope, links aside: by shape, in lexicographic order."""
        rooms = self.rooms(job)
        if job.shapes:
            for shape in self.shapes(job):
                yield from self.allocations(shape)
            return
        if self.scope == "platform":
            yield from compositions(job.tasks, rooms)
            return
        for cluster in range(len(self.instance.platform.clusters)):
            inside = [n if c.cluster == cluster else 0 for n, c in zip(rooms, self.classes, strict=True)]
            if self.scope == "cluster":
                yield from compositions(job.tasks, inside)
            else:
                yield from (a for a in compositions(job.tasks, inside) if max(a) == job.tasks)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The sets of classes (by index) of which a job must stay within one; none where it may be anywhere."""
        if self.scope == "platform":
            return ()
        if self.scope == "node":
            return tuple((g,) for g in range(len(self.classes)))
        clusters = range(len(self.instance.platform.clusters))
        return tuple(tuple(g for g, c in enumerate(self.classes) if c.cluster == cluster) for cluster in clusters)

    @cached_property
    def horizon_in_turn(self) -> float:
        """Ticks within which every order of the jobs fits: each after the other, at its slowest, when all is there.

        Where rows ask for lags between jobs, in a schedule in which nothing can start earlier, at every instant after
        that a job runs or a lag does (docs/mathematics.md, "Horizons").
        """
        last = max([*self.releases, *(busy.end for busy in (*self.busy, *self.blocks))], default=0)
        lags = sum(max(0, row.least) for row in self.rows if isinstance(row, TimeSumRow))
        return last + sum(levels[-1].duration for levels in self.levels if levels) + lags

    @cached_property
    def levels(self) -> tuple[tuple[SpeedLevel, ...], ...]:
        """The speed levels of each job in all its shapes, fastest first, shape ``(num_jobs,)``.

        Effective powers at which a job takes equally many ticks are one level. A slower level of the same tasks has all
        classes of a faster one. Raises :class:`CoallocError` where a job has none, for memory or constraints.
        """
        return tuple(map(self._levels_of, self.jobs))

    def slowest_classes(self, j: int, level: int) -> tuple[int, ...]:
        """Return the classes that a level has and the one before it has not: a job with a task there is no faster.

        Levels of other shapes do not count.
        """
        levels = self.levels[j]
        faster = (lv.classes for lv in reversed(levels[:level]) if lv.tasks == levels[level].tasks)
        before = next(faster, ())
        return tuple(g for g in levels[level].classes if g not in before)

    def level_of(self, j: int, mode: Mode) -> int:
        """Return the number of the speed level of a mode of a job, by index."""
        tasks = sum(mode.allocation)
        levels = enumerate(self.levels[j])
        return next(n for n, level in levels if (level.duration, level.tasks) == (mode.duration, tasks))

    @cached_property
    def held_exactly(self) -> tuple[int, ...]:
        """The jobs, by index, whose end a row asks to be late: held for longer than it runs, one seems to keep it."""
        rows = (row for row in self.rows if isinstance(row, TimeSumRow))
        return tuple(sorted({j for row in rows for factor, which, j in row.terms if which == "end" and factor > 0}))

    @cached_property
    def class_sets(self) -> frozenset[tuple[int, ...]]:
        """All sets of classes that speed levels may have, by index."""
        rooms = {self.capacities, *(self.rooms(job) for job in self.jobs)}
        found = frozenset(allowed for of_classes in rooms for _, allowed, _ in self._prefixes(of_classes))
        timed = (j for j, job in enumerate(self.jobs) if any(shape.times for shape in self.shapes(job)))
        return found.union(level.classes for j in timed for level in self.levels[j])

    @property
    def speed_prefixes(self) -> tuple[tuple[int, ...], ...]:
        """For each effective power, greatest first, the classes (by index) that are at least as fast."""
        return tuple(allowed for _, allowed, _ in self._prefixes(self.capacities))

    def _levels_of(self, job: Job) -> tuple[SpeedLevel, ...]:
        if job.shapes:
            of_shapes = chain.from_iterable(map(self._levels_of_rigid, self.shapes(job)))
            levels = sorted(of_shapes, key=lambda level: (level.duration, level.tasks))
        else:
            levels = self._levels_of_rigid(job)
        if not levels:
            raise CoallocError(self.shortage(job) or f"job {quoted(job.id)} fits nowhere")
        return tuple(levels)

    def _levels_of_rigid(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job in one shape, fastest first."""
        if job.times:
            return self._timed_levels_of(job)
        levels: dict[float, SpeedLevel] = {}
        for power, allowed, room in self._prefixes(self.rooms(job)):
            if room >= job.tasks:
                duration = self.ticks(execution_time(job, 1.0 / power))
                levels[duration] = SpeedLevel(duration, allowed, job.tasks)
        return list(levels.values())

    def _timed_levels_of(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job that names times: the classes on which it takes at most so many ticks."""
        rooms, joining = self.rooms(job), dict[float, list[int]]()
        for g, seconds in enumerate(self.class_times(job)):
            if rooms[g]:
                joining.setdefault(self.ticks(seconds), []).append(g)
        levels, allowed, inside, is_wide = list[SpeedLevel](), list[int](), [0] * len(rooms), False
        for duration in sorted(joining):
            allowed = sorted(allowed + joining[duration])
            for g in joining[duration]:
                inside[g] = rooms[g]
            is_wide = is_wide or max(self.within_scope(inside)) >= job.tasks  # and so with more classes
            if is_wide:
                levels.append(SpeedLevel(duration, tuple(allowed), job.tasks))
        return levels

    def _prefixes(self, rooms: tuple[int, ...]) -> list[tuple[float, tuple[int, ...], int]]:
        """Return effective powers, greatest first, with the classes at least as fast that have room, and that room.

        It is the largest that the scope allows one job of it.
        """
        if rooms not in self._known_prefixes:
            usable = [g for g, room in enumerate(rooms) if room]
            prefixes = self._known_prefixes[rooms] = []
            for power in sorted({self._powers[g] for g in usable}, reverse=True):
                allowed = tuple([g for g in usable if self._powers[g] >= power])
                inside = [room if self._powers[g] >= power else 0 for g, room in enumerate(rooms)]
                prefixes.append((power, allowed, max(self.within_scope(inside))))
        return self._known_prefixes[rooms]

    @cached_property
    def _known_prefixes(self) -> dict[tuple[int, ...], list[tuple[float, tuple[int, ...], int]]]:
        """Prefixes so far, by what room the classes have."""
        return {}


def crowded_nodes(instance: Instance) -> list[int]:
    """Return the nodes, by index, of which tasks may ask for more than there is of a resource: each is a class."""
    names = of_nodes(instance.platform, instance.resources_asked)
    return contended_nodes(instance.platform, [*instance.jobs, *(run.job for run in instance.running)], names)


def _asked(job: Job) -> dict[str, Mapping[str, float]]:
    """Return what a job takes of resources, as fields of it."""
    return {"resources": job.resources, "task_resources": job.task_resources}


def least_tasks(job: Job) -> int:
    """Return the tasks of a job in its narrowest shape."""
    return min([job.tasks, *(shape.tasks for shape in job.shapes)]) if job.shapes else job.tasks


def numbered(values: Iterable[Hashable]) -> tuple[int, ...]:
    """Return for each value the number, from 0 on, at which it came first among the different ones."""
    numbers: dict[Hashable, int] = {}
    return tuple([numbers.setdefault(value, len(numbers)) for value in values])


def _num_compositions(most: int, limits: Sequence[int]) -> list[int]:
    """Return how many vectors :func:`compositions` yields for each total from 0 to ``most``."""
    ways = [1] + [0] * most
    for limit in limits:
        sums = [0, *accumulate(ways)]
        ways = [sums[n + 1] - sums[max(0, n - limit)] for n in range(most + 1)]
    return ways


def compositions(total: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every vector of whole numbers with this total, each between 0 and its limit."""
    if total == 0:
        yield (0,) * len(limits)
        return
    if not limits:
        return
    rest = sum(limits[1:])
    for count in range(max(0, total - rest), min(total, limits[0]) + 1):
        for tail in compositions(total - count, limits[1:]):
            yield (count, *tail)


Slot = Annotated[float | str | None, 'seconds, a percentage such as "50%", or None']
"""Length of a slot as a caller gives it: seconds, or a share of the mean base time; None is continuous time."""


def time_span(instance: Instance) -> float:
    """Return seconds from the first arrival (0 where jobs run already) in which all jobs can end, one by one."""
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    ends = [*(job.arrival for job in instance.jobs), *(run.end for run in instance.running)]
    ends += [window.end for window in instance.platform.unavailable]
    slowest = (max(map(max, _stated_times(job))) for job in instance.jobs)
    slowness = max(1.0 / min(group.effective_power, group.availability) for group in groups)
    in_turn = sum(slowest) * max(1.0, slowness)
    return max(ends, default=0.0) - instance.origin + in_turn


def _stated_times(job: Job) -> list[list[float]]:
    """Return the base time of each shape of a job, and the times that it names, s."""
    return [[shape.base_time, *shape.times.values()] for shape in job.in_shapes]


def slot_seconds(instance: Instance, slot: Slot) -> float | None:
    """Return a slot length in seconds: a number of seconds, or ``"50%"`` of the mean base time.

    Raises :class:`CoallocError` for one in which times, or bounds on them, are no longer whole to the slot.
    """
    if slot is None:
        return None
    if isinstance(slot, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*", slot)
        if match is None:
            raise CoallocError(f'slot: must be seconds, or a percentage such as "50%", got {slot!r}')
        seconds = float(match.group(1)) / 100.0 * (instance.mean_base_time or 1.0)
    else:
        seconds = float(slot)
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise CoallocError(f"slot: must be above 0 and finite, got {slot!r}")
    least = max(time_span(instance) / MAX_SLOTS, SLOT_TOLERANCES * INSTANT_TOLERANCE)
    if seconds < least:
        raise CoallocError(f"slot: must be at least {least:.2g} s here, for times to be whole slots, got {slot!r}")
    return seconds


def discretise(
    instance: Instance,
    slot: float | None,
    rounding: Rounding = "up",
    *,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    constraints: Iterable[Constraint] = (),
) -> Problem:
    """Return the problem that an instance is on a grid of ``slot`` seconds (None: continuous time).

    With ``rounding="up"`` durations, arrivals and ends of running jobs are rounded up to slots, and a
    schedule of the problem is one of the instance. With ``"down"`` all are rounded down, and the
    optimum, times the slot, is at most the optimum of the instance in continuous time: so only ``constraints`` are
    kept that still forbid nothing else then.
    """
    instance.refuse_shared_nodes(EXACT_METHODS)
    _refuse_instants(instance)
    kept = (*stated(instance), *(c for c in constraints if rounding == "up" or c.holds_rounded_down))
    reserved = reserved_nodes(instance.platform, instance.running, EXACT_METHODS)
    apart = [*reserved, *(nodes for constraint in kept for nodes in constraint.separates())]
    apart += [{node} for node in crowded_nodes(instance)]
    classes = node_classes(instance.platform, scope, instance.largest_task_memory, apart)
    return Problem(instance, classes, slot, rounding, links, saturation, scope, kept)


def _refuse_instants(instance: Instance) -> None:
    """Raise :class:`CoallocError` for jobs that are over in less than two instants differ by: they occupy nothing."""
    times = ((job, min(map(min, _stated_times(job)))) for job in instance.jobs)
    short = [(job, seconds) for job, seconds in times if seconds < INSTANT_TOLERANCE]
    if short:
        (first, seconds), more = short[0], f", and {len(short) - 1} more" if len(short) > 1 else ""
        raise CoallocError(
            f"job {quoted(first.id)} has a base_time, or one of times, of {seconds:g} s{more}: must be at least "
            f"{INSTANT_TOLERANCE:g} s here, for closer instants are one"
        )


def on_another_grid(problem: Problem, slot: float, rounding: Rounding) -> Problem:
    """Return a problem on a grid of other slots."""
    return discretise(
        problem.instance,
        slot,
        rounding,
        links=problem.links,
        saturation=problem.saturation,
        scope=problem.scope,
        constraints=[c for c in problem.constraints if not isinstance(c, Stated)],
    )


def discretise_for_energy(
    instance: Instance, slot: float | None, *, saturation: float = 0.0, scope: Scope = "platform"
) -> Problem:
    """Return :func:`discretise` rounded up, with classes in which it shows which nodes have a busy core."""
    instance.refuse_shared_nodes(EXACT_METHODS)
    classes, kept = switched_classes(instance.platform, scope), tuple(stated(instance))
    return Problem(instance, classes, slot, "up", "strict", saturation, scope, kept)
