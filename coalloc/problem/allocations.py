"""Allocations of each job: modes, room and spreads over clusters, with their requirements and durations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import CoallocError, Instance, Job
from coalloc.instance.resources import of_nodes, tasks_on_node, tasks_within
from coalloc.instance.rounding import capacity_limit
from coalloc.instance.spread import SPREADING, Spread, Tasks, spread_of
from coalloc.problem.allocation import (
    Allocation,
    NodeClass,
    Scope,
    Stock,
    counted_groups,
    has_too_little,
    least_tasks,
    stocks_of,
)
from coalloc.problem.choices import Mode
from coalloc.problem.clock import TickClock
from coalloc.problem.counting import compositions, num_compositions
from coalloc.problem.declared import Declared
from coalloc.problem.execution import (
    dedicated_time,
    execution_time,
    execution_times,
    link_loads_of,
    processing_slowdown,
)
from coalloc.problem.resources import LinkBandwidth, NodeMemory, Pool, Resource, crowded_nodes

Links = Literal["strict", "shared", "ignore"]


MAX_MODES = 200_000
"""Allocation vectors, over all jobs, beyond which they are not enumerated."""
MOST_LOADS = 2_000_000
"""Loads that are remembered in tables: 64 MB."""


@dataclass(frozen=True)
class Allocations:
    """Allocations of each job: its modes, with their requirements and durations, and room for its tasks.

    Modes are enumerated where they are few (:data:`MAX_MODES`); where they are many, searches ask for room and
    spreads instead.
    """

    instance: Instance
    classes: tuple[NodeClass, ...]
    clock: TickClock
    links: Links
    saturation: float
    scope: Scope
    declared: Declared

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs to schedule; everything else is indexed like them."""
        return tuple(self.instance.jobs)

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Processors of each class, shape ``(num_classes,)``."""
        return tuple(node_class.capacity for node_class in self.classes)

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Resources that tasks share besides processors: links, scarce memories, stocks, pools."""
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
        for (cluster, number), classes in self.pooled_groups.items():
            capacity = sum(self.capacities[g] for g in classes)
            yield Pool(f"{self.instance.platform.clusters[cluster].name}, group {number}", classes, capacity)

    @cached_property
    def pooled_groups(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The classes, by index, of each cluster and group of which a window takes a number of processors."""
        return counted_groups(self.instance.platform, self.classes)

    @cached_property
    def num_links(self) -> int:
        """Number of links, which are the first resources, in the order of the platform."""
        return len(self.instance.platform.links)

    @cached_property
    def num_memories(self) -> int:
        """Number of memories, which are the resources behind the links."""
        return sum(isinstance(resource, NodeMemory) for resource in self.resources)

    @cached_property
    def limits(self) -> tuple[float, ...]:
        """Largest total load of each resource, shape ``(num_resources,)``: MB/s (inf where links may saturate), MB."""
        return tuple(resource.limit for resource in self.resources)

    def loads(self, job: Job, allocation: Sequence[int]) -> tuple[float, ...]:
        """Return what an allocation asks of every resource, shape ``(num_resources,)``."""
        return tuple([r.load(sum([allocation[g] for g in r.classes]), job) for r in self.resources])

    @cached_property
    def effective_powers(self) -> tuple[float, ...]:
        """Effective power of each class."""
        return tuple([node_class.effective_power for node_class in self.classes])

    @cached_property
    def _known_times(self) -> dict[Job, dict[float, tuple[float, float]]]:
        """Execution times so far, in seconds and ticks, of each job by the least effective power that it uses."""
        return {}

    @cached_property
    def is_moldable(self) -> bool:
        """Whether some job may run in several shapes."""
        return "shapes" in self.instance.features

    @cached_property
    def is_timed(self) -> bool:
        """Whether some job, in one of its shapes, names times."""
        return "times" in self.instance.features

    def shapes(self, job: Job) -> tuple[Job, ...]:
        """Return the rigid jobs that a job may run as: itself, where it has one shape only."""
        if not job.shapes:
            return (job,)
        if job not in self._known_shapes:
            allowed = self.declared.of(job.id).shapes
            self._known_shapes[job] = tuple(s for s in job.in_shapes if all(s.tasks in tasks for tasks in allowed))
        return self._known_shapes[job]

    @cached_property
    def _known_shapes(self) -> dict[Job, tuple[Job, ...]]:
        """Shapes computed so far, by job."""
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
            return Mode(tuple(allocation), seconds, self.clock.ticks(seconds), self.loads(job, allocation))
        used = [power for power, count in zip(self.effective_powers, allocation, strict=True) if count]
        known, slowest = self._known_times.setdefault(job, {}), min(used)
        if slowest not in known:
            seconds = execution_time(job, processing_slowdown([slowest]))
            known[slowest] = seconds, self.clock.ticks(seconds)
        return Mode(tuple(allocation), *known[slowest], self.loads(job, allocation))

    def modes_on(self, allocations: NDArray[np.int64]) -> list[Mode]:
        """Return the mode of each job on its allocation, shape ``(num_jobs, num_classes)``."""
        if self.is_moldable or self.is_timed:
            return [self.mode(job, used) for job, used in zip(self.jobs, map(tuple, allocations.tolist()), strict=True)]
        powers = np.where(allocations > 0, np.array(self.effective_powers), np.inf).min(axis=1, initial=np.inf)
        seconds = execution_times(self.jobs, 1.0 / powers[:, None])[:, 0]
        inside = (allocations[:, resource.classes].sum(axis=1) for resource in self.resources)
        loads = [self.loads_on(*pair, self.jobs).tolist() for pair in zip(self.resources, inside, strict=True)]
        columns = map(tuple, allocations.tolist()), seconds.tolist(), self.clock.ticks_of(seconds).tolist()
        rows = zip(*loads, strict=True) if loads else repeat((), len(self.jobs))
        return list(map(Mode, *columns, rows))

    @staticmethod
    def loads_on(resource: Resource, inside: NDArray[np.int64], jobs: Sequence[Job]) -> NDArray[np.float64]:
        """Return what each of some jobs asks of a resource with so many tasks there."""
        if isinstance(resource, LinkBandwidth):
            return link_loads_of(inside, jobs)
        return np.array([resource.load(tasks, job) for tasks, job in zip(inside.tolist(), jobs, strict=True)], float)

    def class_times(self, job: Job) -> tuple[float, ...]:
        """Return how long a job takes on each class alone, s, shape ``(num_classes,)``: the slowest used decides."""
        if job not in self._known_class_times:
            self._known_class_times[job] = tuple(dedicated_time(job, node_class.group) for node_class in self.classes)
        return self._known_class_times[job]

    @cached_property
    def _known_class_times(self) -> dict[Job, tuple[float, ...]]:
        """Times by class computed so far, by job."""
        return {}

    def class_ticks(self, job: Job) -> tuple[float, ...]:
        """Return the ticks that a rigid job takes where a class is the slowest it uses, shape ``(num_classes,)``."""
        if job.times:
            return tuple(map(self.clock.ticks, self.class_times(job)))
        by_power = {
            p: self.clock.ticks(execution_time(job, processing_slowdown([p]))) for p in set(self.effective_powers)
        }
        return tuple([by_power[power] for power in self.effective_powers])

    @cached_property
    def rigid_jobs(self) -> tuple[Job, ...]:
        """All jobs in each of their shapes, those of a job together."""
        return self.jobs if not self.is_moldable else tuple(chain.from_iterable(map(self.shapes, self.jobs)))

    @cached_property
    def ticks_table(self) -> NDArray[np.float64]:
        """:meth:`class_ticks` of all :attr:`rigid_jobs`, shape ``(len(rigid_jobs), num_classes)``."""
        powers, which = np.unique(np.array(self.effective_powers), return_inverse=True)
        table = self.clock.ticks_of(execution_times(self.rigid_jobs, 1.0 / powers))[:, which]
        for row, job in enumerate(self.rigid_jobs if self.is_timed else ()):
            if job.times:
                table[row] = self.class_ticks(job)
        return np.ascontiguousarray(table)

    def fits_alone(self, mode: Mode) -> bool:
        """Return whether the mode exceeds no resource when it is alone."""
        return all(load <= limit for load, limit in zip(mode.loads, self.limits, strict=True))

    def tasks_within(self, job: Job, resource: int) -> range:
        """Return the numbers of tasks of a rigid job that can be on the classes of a resource."""
        inside, outside = self.sides[resource]
        return range(max(0, job.tasks - outside), min(job.tasks, inside) + 1)

    @cached_property
    def sides(self) -> tuple[tuple[int, int], ...]:
        """Processors on the classes of each resource, and on the others."""
        inside = (sum(self.capacities[g] for g in resource.classes) for resource in self.resources)
        return tuple((processors, sum(self.capacities) - processors) for processors in inside)

    def load_table(self, job: Job, resource: int) -> list[float]:
        """Return what a rigid job asks of a resource with 0, 1, ... tasks there, up to as many as can be.

        Tables are remembered, but no more than memory has room for.
        """
        most, of = self.tasks_within(job, resource).stop - 1, self.resources[resource]
        key = type(of), most, of.sees(job)
        known = self._known_load_tables
        if key not in known:
            if len(known) * (most + 1) > MOST_LOADS:
                known.clear()
            known[key] = of.load_table(most, job)
        return known[key]

    @cached_property
    def _known_load_tables(self) -> dict[tuple[object, ...], list[float]]:
        """Load tables so far; equal jobs, and links with equally many processors below, share them."""
        return {}

    def rooms(self, job: Job) -> tuple[int, ...]:
        """Return how many tasks of a job each class can hold, by processors, memory, resources and constraints."""
        if self.has_equal_rooms:
            return self.capacities
        declared = self.declared.of(job.id)
        is_restricted = bool(declared.nodes or declared.most_tasks)
        if not (job.memory or is_restricted or self.instance.resources_asked):
            return self.capacities
        key = job.memory, job.resources, job.task_resources, job.id if is_restricted else None
        if key not in self._known_rooms:
            rooms = [min(pair) for pair in zip(self._rooms_by_memory(job), self._rooms_by_resources(job), strict=True)]
            if is_restricted:
                most = (declared.most_on(node) for node in self.first_nodes)
                rooms = [int(min(pair)) for pair in zip(rooms, most, strict=True)]
            self._known_rooms[key] = tuple(rooms)
        return self._known_rooms[key]

    @cached_property
    def has_equal_rooms(self) -> bool:
        """Whether nothing but processors says how many tasks of a job a class can hold, of any job."""
        is_restricted = any(of_job.nodes or of_job.most_tasks for of_job in self.declared.by_id.values())
        return not (is_restricted or self.instance.resources_asked or self.instance.largest_task_memory)

    @cached_property
    def first_nodes(self) -> tuple[int, ...]:
        """The first node of each class, by index: what is declared of one holds for all of them."""
        return tuple(self.instance.platform.processor_node[c.processors[0]] for c in self.classes)

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
            return self.widest_part if rooms is self.capacities else self.widest(rooms)
        key = rooms, job.resources, job.task_resources
        if key not in self._known_most_tasks:
            self._known_most_tasks[key] = self._most_tasks_of(job, rooms)
        return self._known_most_tasks[key]

    @cached_property
    def _known_most_tasks(self) -> dict[tuple[object, ...], int]:
        """Most tasks computed so far of jobs that take resources, by all that they depend on."""
        return {}

    def _most_tasks_of(self, job: Job, rooms: Sequence[int]) -> int:
        """Return how many tasks of a job that takes resources have room within the scope."""
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
        return bool(self.declared.of(job.id).most_tasks)

    def _rooms_by_memory(self, job: Job) -> list[int]:
        return [node_class.room(job.memory or 0.0) for node_class in self.classes]

    @cached_property
    def _known_rooms(self) -> dict[tuple[object, ...], tuple[int, ...]]:
        """Rooms so far, by all that they depend on."""
        return {}

    def spread(self, job: Job) -> Spread | None:
        """Return what a job in one shape asks of its tasks in each cluster; None where it may be spread in any way."""
        if not (self.restricts_spreads or job.is_spread):  # it may be narrower than in the instance
            return None
        declared = self.declared.of(job.id)
        predicates, is_in_one_cluster = declared.allowed, declared.is_in_one_cluster
        if not (predicates or is_in_one_cluster or job.is_spread):
            return None
        if job not in self._known_spreads:
            spread = spread_of(job, self.instance.platform) or Spread()
            if predicates:
                spread = replace(spread, allows=lambda tasks: all(allows(tasks) for allows in predicates))
            if is_in_one_cluster or self.scope != "platform":
                spread = spread.narrowed(1)
            self._known_spreads[job] = spread
        return self._known_spreads[job]

    @cached_property
    def _known_spreads(self) -> dict[Job, Spread]:
        """Spreads computed so far."""
        return {}

    @cached_property
    def restricts_spreads(self) -> bool:
        """Whether some job may not be spread over clusters in any way."""
        return self.declared.restricts_spreads or bool(SPREADING & self.instance.features)

    def spreads(
        self, job: Job, rooms: Sequence[float], order: Sequence[int] | None = None, *, is_allowed: bool = True
    ) -> Iterator[Tasks]:
        """Yield every spread of a job in one shape over classes with so much room, links aside; it restricts them.

        The clusters of the first classes of ``order`` (by index) have most tasks first. ``is_allowed``: whether custom
        constraints are asked.
        """
        spread, num_clusters = self.spread(job), len(self.instance.platform.clusters)
        assert spread is not None
        held = [0] * num_clusters
        for room, node_class in zip(rooms, self.classes, strict=True):
            inside = held[node_class.cluster]
            held[node_class.cluster] = max(inside, int(room)) if self.scope == "node" else inside + int(room)
        first = (self.classes[g].cluster for g in order or ())
        spread = spread if is_allowed else replace(spread, allows=None)
        return spread.found(job.tasks, held, list(dict.fromkeys([*first, *range(num_clusters)])))

    def holds(self, job: Job, rooms: Sequence[int]) -> bool:
        """Return whether classes with so much room hold a job in one shape, links aside."""
        if self.widest(rooms) < job.tasks:
            return False
        return self.spread(job) is None or any(True for _ in self.spreads(job, rooms))

    def has_room(self, job: Job) -> bool:
        """Return whether a job finds room for its tasks, in its narrowest shape, and as they are to be spread."""
        if self.most_tasks(job) < least_tasks(job):
            return False
        return not self.restricts_spreads or any(self.holds(shape, self.rooms(shape)) for shape in self.shapes(job))

    def widest(self, rooms: Sequence[float]) -> int:
        """Return how many tasks of one job fit, within the scope, into classes with so much room each."""
        return max(self.within_scope([int(room) for room in rooms]))

    @cached_property
    def widest_part(self) -> int:
        """Greatest number of tasks of one job that fit, within the scope, on the empty platform."""
        return self.widest(self.capacities)

    def within_scope(self, rooms: Sequence[int]) -> list[int]:
        """Return the sum over each part of the platform that the scope keeps a job within."""
        if self.scope == "node":
            return list(rooms)
        parts = [0] * len(self.instance.platform.clusters)
        for room, node_class in zip(rooms, self.classes, strict=True):
            parts[node_class.cluster if self.scope == "cluster" else 0] += room
        return parts

    def rooms_in_scope(self, job: Job) -> tuple[int, ...]:
        """Return ``rooms``, with none on parts of the platform that the scope would keep the job within in vain."""
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
        """Rooms in the scope computed so far, by tasks and room."""
        return {}

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The sets of classes (by index) of which a job must stay within one; none where it may be anywhere."""
        if self.scope == "platform":
            return ()
        if self.scope == "node":
            return tuple((g,) for g in range(len(self.classes)))
        clusters = range(len(self.instance.platform.clusters))
        return tuple(tuple(g for g, c in enumerate(self.classes) if c.cluster == cluster) for cluster in clusters)

    def count(self, job: Job) -> int:
        """Return how many allocation vectors a job has; links, scope and what constraints allow aside.

        Of a job that restricts its tasks in each cluster they are counted up to the limit alone.
        """
        rooms = self.rooms(job)
        if self.restricts_spreads:
            return sum(self._count_spread(shape, rooms) for shape in self.shapes(job))
        if rooms not in self._known_counts:
            most = max(shape.tasks for other in self.jobs for shape in self.shapes(other))
            self._known_counts[rooms] = num_compositions(most, rooms)
        return sum([self._known_counts[rooms][shape.tasks] for shape in self.shapes(job)])

    def _count_spread(self, job: Job, rooms: tuple[int, ...]) -> int:
        """Return how many allocation vectors a job has in one shape."""
        asked = replace(self.spread(job) or Spread(), allows=None)
        if asked == Spread():
            return num_compositions(job.tasks, rooms)[-1]
        key = job.tasks, asked, rooms  # equal ones are counted once
        if key not in self._known_spread_counts:
            found = 0
            for spread in self.spreads(job, rooms, is_allowed=False):
                counts = enumerate(spread)
                found += math.prod(num_compositions(n, self._rooms_in(c, rooms))[-1] for c, n in counts if n)
                if found > MAX_MODES:
                    break
            self._known_spread_counts[key] = found
        return self._known_spread_counts[key]

    def _rooms_in(self, cluster: int, rooms: Sequence[int]) -> list[int]:
        """Return the room of the classes of a cluster."""
        return [room for room, node_class in zip(rooms, self.classes, strict=True) if node_class.cluster == cluster]

    @cached_property
    def _known_spread_counts(self) -> dict[tuple[object, ...], int]:
        """Counts of spread jobs computed so far."""
        return {}

    @cached_property
    def _known_counts(self) -> dict[tuple[int, ...], list[int]]:
        """Numbers of allocation vectors so far, by room and by tasks."""
        return {}

    @cached_property
    def number(self) -> int:
        """Number of allocation vectors of all jobs."""
        return sum(map(self.count, self.jobs))

    @cached_property
    def modes(self) -> tuple[tuple[Mode, ...], ...]:
        """Every mode of each job that fits on the empty platform, shape ``(num_jobs,)``.

        Raises ``CoallocError`` if there are more than ``MAX_MODES``.
        """
        if self.number > MAX_MODES:
            raise CoallocError(
                f"the jobs have {self.number:,} allocation vectors on {len(self.classes)} node classes, above "
                f"the limit of {MAX_MODES:,}; use formulation='count' (model pas: 'node')"
            )
        return tuple(map(self.modes_of, range(len(self.jobs))))

    def modes_of(self, j: int) -> tuple[Mode, ...]:
        """Return every mode of a job, by index, that fits alone."""
        job = self.jobs[j]
        found = (self.mode(job, allocation) for allocation in self.of(job))
        return tuple(mode for mode in found if self.fits_alone(mode))

    def of(self, job: Job) -> Iterator[Allocation]:
        """Yield every allocation vector of a job within the scope, links aside: by shape, in lexicographic order."""
        rooms = self.rooms(job)
        if job.shapes:
            for shape in self.shapes(job):
                yield from self.of(shape)
            return
        if self.spread(job) is not None:
            yield from self.spread_allocations(job, rooms)
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

    def spread_allocations(self, job: Job, rooms: Sequence[int]) -> Iterator[Allocation]:
        """Yield every allocation vector of a job that is spread, on classes with so much room, by spread."""
        inside: dict[int, list[int]] = {}
        for g, node_class in enumerate(self.classes):
            inside.setdefault(node_class.cluster, []).append(g)
        for spread in self.spreads(job, rooms):
            used = [(inside[c], count) for c, count in enumerate(spread) if count]
            for parts in product(*(compositions(count, [rooms[g] for g in classes]) for classes, count in used)):
                allocation = [0] * len(rooms)
                for (classes, _), counts in zip(used, parts, strict=True):
                    for g, count in zip(classes, counts, strict=True):
                        allocation[g] = count
                if self.scope != "node" or max(allocation) == job.tasks:
                    yield tuple(allocation)
