"""What a problem is set in: classes and resources, the clock, and what each job alone can take of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from coalloc.instance import Instance, Job
from coalloc.instance.resources import of_nodes, tasks_on_node, tasks_within
from coalloc.instance.rounding import capacity_limit, slots_down, slots_up
from coalloc.instance.spread import Spread, Tasks, spread_of
from coalloc.instance.time_base import TimeBase
from coalloc.problem.allocation import NodeClass, Scope, Stock, counted_groups, has_too_little, stocks_of
from coalloc.problem.choices import Mode
from coalloc.problem.constraint import Constraint, Release
from coalloc.problem.execution import dedicated_time, execution_time, processing_slowdown
from coalloc.problem.resources import LinkBandwidth, NodeMemory, Pool, Resource, crowded_nodes

Rounding = Literal["up", "down"]
Links = Literal["strict", "shared", "ignore"]


@dataclass(frozen=True)
class Frame:
    """What there is, and what each job alone can take of it: see ``coalloc.problem.discretise``."""

    instance: Instance
    classes: tuple[NodeClass, ...]
    slot: float | None
    rounding: Rounding
    links: Links
    saturation: float
    scope: Scope
    base: TimeBase
    constraints: tuple[Constraint, ...] = (Release(),)

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
        for (cluster, number), classes in self.pooled_groups.items():
            capacity = sum(self.capacities[g] for g in classes)
            yield Pool(f"{self.instance.platform.clusters[cluster].name}, group {number}", classes, capacity)

    @cached_property
    def pooled_groups(self) -> dict[tuple[int, int], tuple[int, ...]]:
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

    def last_tick(self, seconds: float) -> float:
        """Return the last tick that is not after a point in time (s), but for the tolerance.

        That is also when an outage begins to be in the way: what ends then ends by it.
        """
        if math.isinf(seconds):
            return seconds
        if self.slot is None:
            return self.base.latest_within(seconds)
        return slots_down(seconds, self.slot, self.base.tolerance)

    def tick_at(self, seconds: float) -> float:
        """Return a point in time (s) in ticks, rounded as the problem says; in continuous time to the nearest."""
        return self.base.nearest(seconds) if self.slot is None else self._slots(seconds, self.base.tolerance)

    def tick_from(self, seconds: float) -> float:
        """Return the first tick that is not before a point in time (s); in slots ``tick_at``."""
        return self.base.up(seconds) if self.slot is None else self.tick_at(seconds)

    def ticks(self, seconds: float) -> float:
        """Return a duration (s) in ticks: slots, rounded as the problem says, or seconds, to the nearest whole tick."""
        return self.base.nearest(seconds) if self.slot is None else self._slots(seconds, 0.0)

    def _slots(self, seconds: float, tolerance: float) -> int:
        assert self.slot is not None
        round_to_slots = slots_up if self.rounding == "up" else slots_down
        return round_to_slots(seconds, self.slot, tolerance)

    def seconds(self, ticks: float) -> float:
        """Return a duration, or a point in time on the clock of the problem, in seconds."""
        return ticks if self.slot is None else ticks * self.slot

    def seconds_of(self, tick: float) -> float:
        """Return a point in time on the user's clock, s."""
        return self.seconds(tick) + self.base.shift

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
        used = [power for power, count in zip(self.effective_powers, allocation, strict=True) if count]
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
        by_power = {p: self.ticks(execution_time(job, processing_slowdown([p]))) for p in set(self.effective_powers)}
        return tuple([by_power[power] for power in self.effective_powers])

    def fits_alone(self, mode: Mode) -> bool:
        """Return whether the mode exceeds no resource when it is alone."""
        return all(load <= limit for load, limit in zip(mode.loads, self.limits, strict=True))

    def tasks_within(self, job: Job, resource: int) -> range:
        """Return the numbers of tasks of a rigid job that can be on the classes of a resource."""
        inside = sum(self.capacities[g] for g in self.resources[resource].classes)
        outside = sum(self.capacities) - inside
        return range(max(0, job.tasks - outside), min(job.tasks, inside) + 1)

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

    def spread(self, job: Job) -> Spread | None:
        """Return what a job in one shape asks of its tasks in each cluster; None where it may be spread in any way."""
        if not (self._spreading or job.is_spread):
            return None
        if job not in self._known_spreads:
            spread = spread_of(job, self.instance.platform)
            if self._spreading:
                spread = replace(spread or Spread(), allows=lambda tasks: self._allows(job, tasks))
            if spread is not None and self.scope != "platform":
                spread = spread.narrowed(1)
            self._known_spreads[job] = spread
        return self._known_spreads[job]

    def _allows(self, job: Job, tasks: Tasks) -> bool:
        return all(constraint.allows(job, tasks) for constraint in self._spreading)

    @cached_property
    def _known_spreads(self) -> dict[Job, Spread | None]:
        """Those so far."""
        return {}

    @cached_property
    def _spreading(self) -> tuple[Constraint, ...]:
        """The constraints that exclude numbers of tasks in the clusters."""
        return tuple(constraint for constraint in self.constraints if constraint.restricts_spreads)

    @cached_property
    def restricts_spreads(self) -> bool:
        """Whether some job may not be spread over clusters in any way."""
        return bool(self._spreading) or any(job.is_spread for job in self.jobs)

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
        if max(self.within_scope(rooms)) < job.tasks:
            return False
        return self.spread(job) is None or any(True for _ in self.spreads(job, rooms))

    def has_room(self, job: Job) -> bool:
        """Return whether a job finds room for its tasks, in its narrowest shape, and as they are to be spread."""
        if self.most_tasks(job) < least_tasks(job):
            return False
        return not self.restricts_spreads or any(self.holds(shape, self.rooms(shape)) for shape in self.shapes(job))

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
        """Those so far, by tasks and room."""
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


def least_tasks(job: Job) -> int:
    """Return the tasks of a job in its narrowest shape."""
    return min([job.tasks, *(shape.tasks for shape in job.shapes)]) if job.shapes else job.tasks
