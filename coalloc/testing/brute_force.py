"""Brute force: the optimum of small instances, written from the definitions and without any model.

Every exact method is judged against this module, so it shares with them only the values, the
allocation vectors and the rounding rules; slowdowns, link loads and durations are computed here once
more. Source: thesis, chapter 2 (execution model), 3.1 (PAS, CBS, JPR) and 3.2 (OAS). Meant for about
5 jobs and 9 processors.

Why enumerating counts per node class is enough: nodes of a class are interchangeable, and intervals
whose overlap never exceeds the size of a class can be coloured with its nodes. Where memory counts, every node of
several cores is a class of its own, for what is on it together must fit; a node of one core has one task at a time.

Why enumerating *chronological* schedules is enough for OAS: fix the allocations of an optimal
schedule. Durations and link loads are then constants, and processors of a class as well as bandwidth
of a link and memory of a node are cumulative resources. The feasible vectors of starts form a closed set, so among the
optimal ones there is one whose sum of starts is smallest; since the objective is regular, no job of it
can start earlier while the others stay. List its jobs by start and put them back one by one, each at
the earliest instant, not before the start of the job put before it, at which it fits beside those
already there. No job comes later than it was. Nor does job j come earlier, at t < S_j: the jobs listed
after it start at S_j or later, and from S_j to t + d_j they already ran beside j; before S_j they do
not run at all. So j could have been moved to t alone, which was excluded. Hence the enumeration over
all orders and all allocations meets this schedule. As jobs are put in order of their starts, what is
held can only shrink from there on: a job fits for all its duration if it fits at its start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.constraints import (
    AllowedNodes,
    AllowedShapes,
    AllowedSpreads,
    AllowedStarts,
    Budget,
    Constraint,
    Declaration,
    MostTasks,
    TimeBounds,
    TimeRow,
)
from coalloc.instance.rounding import capacity_limit, slots_down, slots_up, time_tolerance
from coalloc.objectives import RegularObjective, regular_objective
from coalloc.problem.allocation import (
    Allocation,
    NodeClass,
    Scope,
    allocation_of,
    node_classes,
    switched_classes,
    tasks_per_cluster,
)
from coalloc.schedule import Occupation, Placement, Schedule, assign_nodes
from coalloc.testing.brute_force_lags import (
    Calendars,
    Difference,
    FixedDemand,
    LagSearch,
    declared_differences,
    lag_differences,
    with_declared_limits,
)

FloatArray = npt.NDArray[np.float64]
COSTS: Mapping[str, Callable[[Job, float, float], float]] = {
    "total-weighted-response-time": lambda job, _, end: job.weight * (end - job.arrival),
    "mean-wait": lambda job, start, _: start - job.arrival,
    "mean-bounded-slowdown": lambda job, start, end: max(1.0, (end - job.arrival) / max(end - start, 10.0)),
    "weighted-tardiness": lambda job, _, end: (
        job.weight * (end - job.due_date) if job.due_date is not None and end > job.due_date else 0.0
    ),
    "maximum-lateness": lambda job, _, end: -math.inf if job.due_date is None else end - job.due_date,
}
"""Cost of a job that runs from a start to an end, s; summed up, but for the lateness, which is a maximum."""
DEFINED = ("makespan", "total-response-time", *COSTS)
"""The objectives that have a second definition here; any other is asked, by its row in the registry, for its costs."""
Rounding = Literal["up", "down"]
Links = Literal["strict", "shared"]

CHUNK_SHARE = 0.75
"""Share of the tasks that CBS tries to keep in one cluster. Source: thesis, section 3.1.3.1."""


@dataclass(frozen=True, slots=True)
class BruteForceResult:
    """The optimum and a schedule that attains it.

    ``objectives`` are in order of priority, infinite where the instance is infeasible. ``schedule``
    is None where the instance is infeasible, and where durations were rounded down (such an optimum
    is a bound and belongs to no schedule).
    """

    objectives: tuple[float, ...]
    schedule: Schedule | None

    @property
    def objective(self) -> float:
        """The objective of first priority."""
        return self.objectives[0]

    @property
    def feasible(self) -> bool:
        """Whether any solution exists."""
        return math.isfinite(self.objectives[0])


# --- what one job can do -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Option:
    """An allocation of a job in one of its shapes, with its link loads (MB/s, one per link) and processing slowdown.

    ``memory`` (MB, one per class) is what its tasks ask of one node: all of the class where that is a node of several
    cores, else one. ``groups`` are the processors of each group of which windows take some, ``taken`` what its tasks
    take of resources in each of the :func:`_places`.
    """

    allocation: Allocation
    tasks: tuple[int, ...]
    loads: tuple[float, ...]
    slowdown: float
    memory: tuple[float, ...]
    job: Job
    groups: tuple[float, ...] = ()
    taken: tuple[float, ...] = ()

    @property
    def demand(self) -> tuple[float, ...]:
        """Requirements: processors of each class, bandwidth of each link, memory of each class, of places, groups."""
        return (*self.allocation, *self.loads, *self.memory, *self.taken, *self.groups)


@dataclass(frozen=True, slots=True)
class _Place:
    """Resource that some classes have together; of nodes of one core each has it, and one task at a time."""

    resource: str
    classes: tuple[int, ...]
    limit: float
    is_alone: bool = False

    def taken(self, job: Job, allocation: Allocation) -> float:
        """Return what a rigid job takes of it: its amount as a whole, once, and that of each task that is there."""
        inside = sum(allocation[g] for g in self.classes)
        tasks = min(inside, 1) if self.is_alone else inside
        if tasks == 0:
            return 0.0
        return job.resources.get(self.resource, 0.0) + tasks * job.task_resources.get(self.resource, 0.0)


@dataclass(frozen=True, slots=True)
class _Quota:
    """Capacity that a limit leaves to jobs, whatever the processors: a place that takes the amounts of its jobs."""

    amounts: Mapping[str, float]
    limit: float
    is_alone: bool = False

    def taken(self, job: Job, _: Allocation) -> float:
        """Return the amount of a job."""
        return self.amounts.get(job.id, 0.0)


def _asked(instance: Instance) -> list[str]:
    """Return the resources that jobs take something of."""
    jobs = [*instance.jobs, *(run.job for run in instance.running)]
    return sorted({name for job in jobs for name in (*job.resources, *job.task_resources)})


def _places(instance: Instance, classes: Sequence[NodeClass]) -> list[_Place | _Quota]:
    """Return the places that may have something of a resource that jobs take: nothing of what they do not state.

    Behind them are the limits.
    """
    platform, found = instance.platform, list[_Place | _Quota]()
    for name in _asked(instance):
        if name in platform.resources:
            found.append(_Place(name, tuple(range(len(classes))), capacity_limit(platform.resources[name])))
        elif any(name in cluster.resources for cluster in platform.clusters):
            for number, cluster in enumerate(platform.clusters):
                inside = tuple(g for g, c in enumerate(classes) if c.cluster == number)
                found.append(_Place(name, inside, capacity_limit(cluster.resources.get(name, 0.0))))
        else:
            for g, c in enumerate(classes):
                limit = capacity_limit(c.group.resources.get(name, 0.0))
                found.append(_Place(name, (g,), limit, c.group.cores == 1))
    for limited in instance.limits:
        each = limited.amounts or [1.0] * len(limited.jobs)
        amounts = dict(zip(limited.jobs, each, strict=True))
        found.append(_Quota(amounts, capacity_limit(limited.capacity)))
    return found


def _classes(
    instance: Instance, scope: Scope = "platform", apart: Sequence[Collection[int]] = ()
) -> tuple[NodeClass, ...]:
    """Return the node classes, with every node of several cores for itself where some job takes what nodes have.

    Nodes that constraints tell apart, in sets, are in different ones.
    """
    asks = any(job.memory for job in (*instance.jobs, *(run.job for run in instance.running)))
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    asks |= any(name in group.resources for name in _asked(instance) for group in groups)
    node_of, index = instance.platform.processor_node, instance.platform.processor_index
    reserved: list[Collection[int]] = [
        {node_of[index[name]] for name in run.nodes} for run in instance.running if run.start > 0.0
    ]
    reserved += apart
    if asks:
        return switched_classes(instance.platform, scope, reserved)
    return node_classes(instance.platform, scope, reserved=reserved)


def _memories(classes: Sequence[NodeClass]) -> list[float]:
    """Return the memory of a node of each class, MB; infinite where it is not limited."""
    return [math.inf if c.group.memory is None else capacity_limit(c.group.memory) for c in classes]


def _allocations(tasks: int, capacities: Sequence[int]) -> Iterator[Allocation]:
    """Yield every way to split tasks over classes of these capacities."""
    if not capacities:
        if tasks == 0:
            yield ()
        return
    for count in range(min(tasks, capacities[0]) + 1):
        for rest in _allocations(tasks - count, capacities[1:]):
            yield (count, *rest)


def _option(job: Job, allocation: Allocation, instance: Instance, classes: Sequence[NodeClass]) -> _Option:
    """Return the option of an allocation. Source: thesis, equations (2.5) and (2.6)."""
    tasks = tasks_per_cluster(allocation, classes, len(instance.platform.clusters))
    loads = []
    for link in instance.platform.links:
        inside = sum(tasks[c] for c in link.clusters)
        crossing = inside * (job.tasks - inside) / (job.tasks - 1) if job.tasks > 1 else 0.0
        loads.append(crossing * job.task_bandwidth)
    used = list(zip(classes, allocation, strict=True))
    slowdown = max(1.0 / c.effective_power for c, count in used if count)
    if job.times:  # all of its slowdown, in units of the base time
        slowdown = max(_named_time(job, c) for c, count in used if count) / job.base_time
    on_one_node = (count if c.group.cores > 1 else min(count, 1) for c, count in used)
    memory = tuple(count * (job.memory or 0.0) for count in on_one_node)
    taken = tuple(place.taken(job, allocation) for place in _places(instance, classes))
    return _Option(allocation, tasks, tuple(loads), slowdown, memory, job, taken=taken)


def _shapes(job: Job) -> list[Job]:
    """Return the rigid jobs that a job may run as: with its own tasks and times, or those of one of its shapes."""
    own = job.replace(shapes=())
    others = (own.replace(tasks=s.tasks, base_time=s.base_time, times=s.times) for s in job.shapes)
    return [own, *others] if job.shapes else [job]


def _shape_number(job: Job, tasks: int) -> int:
    """Return the number of the shape of a job that has so many tasks: only one has."""
    return [job.tasks, *(shape.tasks for shape in job.shapes)].index(tasks)


def _options(
    job: Job, instance: Instance, classes: Sequence[NodeClass], free: Sequence[int], limits: Sequence[float]
) -> list[_Option]:
    """Return the options of a job that fit alone into free processors per class, link limits (MB/s) and memories.

    They are on clusters that it may use, and on nodes with all that it requires.
    """
    names = [cluster.name for cluster in instance.platform.clusters]
    allowed = [
        count if names[c.cluster] in (job.eligible or names) and all(f in c.group.features for f in job.requires) else 0
        for c, count in zip(classes, free, strict=True)
    ]
    options = (
        _option(shape, allocation, instance, classes)
        for shape in _shapes(job)
        for allocation in _allocations(shape.tasks, allowed)
        if _is_spread_well(job, tasks_per_cluster(allocation, classes, len(names)), instance)
    )
    room = (*limits, *_memories(classes), *(place.limit for place in _places(instance, classes)))
    loads = ((o, (*o.loads, *o.memory, *o.taken)) for o in options)
    return [option for option, asked in loads if all(load <= most for load, most in zip(asked, room, strict=True))]


def _is_spread_well(job: Job, tasks: Sequence[int], instance: Instance) -> bool:
    """Return whether so many tasks in each cluster are as a job asks."""
    used = [(cluster, count) for cluster, count in zip(instance.platform.clusters, tasks, strict=True) if count]
    counts = [count for _, count in used]
    is_well = len(used) <= (job.max_clusters or len(used)) and min(counts) >= (job.min_tasks_per_cluster or 1)
    if job.slices is not None:
        is_well &= counts == [sum(counts) // job.slices] * job.slices
    if job.level is not None and job.level.required:
        switches = {switch.name: switch for switch in instance.platform.switches}
        above = set()
        for cluster, _ in used:
            switch = switches.get(cluster.switch or "")
            while switch is not None and switch.level != job.level.name:
                switch = switches.get(switch.parent)
            above.add(None if switch is None else switch.name)
        is_well &= len(above) == 1 and None not in above
    return is_well


def _shared_memories(classes: Sequence[NodeClass]) -> list[float]:
    """Return the memory, MB, that jobs share in each class: a node of one core has one task at a time."""
    pairs = zip(classes, _memories(classes), strict=True)
    return [memory if c.group.cores > 1 else math.inf for c, memory in pairs]


def _running_option(run: RunningJob, instance: Instance, classes: Sequence[NodeClass]) -> _Option:
    """Return what a running job holds."""
    processors = [instance.platform.processor_index[name] for name in run.nodes]
    return _option(run.job, allocation_of(processors, classes), instance, classes)


def _named_time(job: Job, node_class: NodeClass) -> float:
    """Return how long a job that names times takes on a class where no link saturates, s."""
    group, share = node_class.group, job.processing_share
    for feature in group.features:
        if feature in job.times:
            return job.times[feature] * (share / group.availability + 1.0 - share)
    return job.base_time * (share / group.effective_power + 1.0 - share)


def _execution_time(job: Job, processing: float, communication: float = 1.0) -> float:
    """Return Te, s. Source: thesis, equations (2.2) and (2.3); of a job that names times, without communication."""
    if job.times:
        return job.base_time * processing
    communicating = 0.0 if job.processing_share == 1.0 else (1.0 - job.processing_share) * communication
    return job.base_time * (job.processing_share * processing + communicating)


def _schedule(
    instance: Instance, classes: Sequence[NodeClass], intervals: Sequence[Occupation], slot: float | None = None
) -> Schedule:
    """Return a schedule with node names for intervals in seconds."""
    nodes = assign_nodes(instance, classes, intervals)
    jobs = instance.job_by_id
    placements = (
        Placement(i.job, i.start, i.end, names, shape=_shape_number(jobs[i.job], sum(i.allocation)))
        for i, names in zip(intervals, nodes, strict=True)
    )
    return Schedule(tuple(placements), slot=slot, instance=instance.name)


# --- OAS: when and where -------------------------------------------------------------------------


def brute_force_oas(
    instance: Instance,
    slot: float | None,
    objective: str | RegularObjective = "makespan",
    rounding: Rounding = "up",
    saturation: float = 0.0,
    *,
    scope: Scope = "platform",
    constraints: Sequence[Constraint] = (),
    horizon: int | None = None,
) -> BruteForceResult:
    """Return the optimal schedule of all jobs, links never saturated (OAS).

    Parameters
    ----------
    instance
        At most about 5 jobs on 9 processors.
    slot
        Length of a slot, s; starts and durations are whole slots from the points in time ``k * slot``, k >= 0.
        None: continuous time.
    objective
        ``makespan``: latest end of a job minus ``instance.origin``; ``total-response-time``: sum of
        ends minus arrivals; the others likewise from their definitions (``COSTS``); a slowdown is a ratio, the rest s.
        With slots an end is the end of the job's last slot. A regular objective of your own, or another of the
        registry, is asked for the cost of every job.
    rounding
        How arrivals, durations and ends of running jobs become slots: ``up`` (a schedule can be kept), or
        ``down`` (a bound on continuous time; a job of 0 slots occupies nothing).
    saturation
        Share above their bandwidth that links tolerate.
    scope
        Where the tasks of a job may be.
    constraints
        What else restricts a schedule. If all say everything by declarations, and nothing else is asked for, these are
        searched. Otherwise each is asked for the faults of complete schedules, for the nodes that it tells
        apart, and for earliest starts. Then they must be such that an optimal schedule exists in which every job starts
        at its arrival, at such an earliest start, or at the end of another.
    horizon
        Slots each of which is tried as a start of every job, so that constraints may be any.

    Returns
    -------
    BruteForceResult
        Infeasible when some job has no allocation that fits the empty platform, or no schedule keeps the constraints.
    """
    if not isinstance(objective, str) or objective not in DEFINED:
        objective = regular_objective(objective)
    declared = [one for constraint in constraints for one in constraint.declare(instance)]
    has_lags = any(job.lags for job in instance.jobs)
    is_declared = (
        rounding == "up" and horizon is None and all(one.is_declared for one in constraints) and declared != []
    )
    if has_lags and constraints and not is_declared:
        raise CoallocError("brute force knows lags or constraints that declare not everything, not both")
    if is_declared:
        instance = with_declared_limits(instance, declared)
    classes = _classes(instance, scope, [one.nodes for one in declared if isinstance(one, (AllowedNodes, MostTasks))])
    capacities = [c.capacity for c in classes]
    limits = [capacity_limit(link.bandwidth, saturation) for link in instance.platform.links]
    ticks = _rounded(slot, rounding)
    options = [_within(_options(job, instance, classes, capacities, limits), classes, scope) for job in instance.jobs]
    if is_declared:
        options = [[o for o in found if _is_declared_of(o, declared, instance, classes)] for found in options]
    ended = {run.job.id: ticks(run.end) for run in instance.running}
    choices = [_Choices.of(job, found, ticks, ended) for job, found in zip(instance.jobs, options, strict=True)]
    if not all(choice.options for choice in choices):
        return BruteForceResult((math.inf,), None)
    groups = _counted_groups(instance, classes)
    choices = [choice.with_groups(list(groups.values())) for choice in choices]
    held = [
        (ticks(run.end), _held(run, instance, classes, groups.values())) for run in instance.running if run.start <= 0.0
    ]
    sizes = [float(sum(capacities[g] for g in members)) for members in groups.values()]
    stocks = [math.inf if place.is_alone else place.limit for place in _places(instance, classes)]
    blocks = _blocks(instance, classes, groups, slot, ticks)
    unit = 1.0 if slot is None else slot
    earliest = (one.earliest_start for one in declared if isinstance(one, TimeBounds))
    asked = [ticks(instant) for instant in earliest if math.isfinite(instant)]

    def schedule_of(placed: Sequence[_Placed]) -> Schedule:
        in_order = sorted(placed, key=lambda p: p.job)
        intervals = [
            Occupation(instance.jobs[p.job].id, unit * p.start, unit * p.end, p.option.allocation) for p in in_order
        ]
        return _schedule(instance, classes, intervals, slot)

    def is_allowed(placed: Sequence[_Placed]) -> bool:
        schedule = schedule_of(placed)
        return not any(fault for constraint in constraints for fault in constraint.faults(instance, schedule))

    is_timed = any(isinstance(one, (AllowedStarts, Budget, TimeBounds, TimeRow)) for one in declared)
    if has_lags or (is_declared and is_timed):  # of the rest, limits and options say all
        search_of_lags = LagSearch(
            [choice.demands for choice in choices],
            [choice.durations for choice in choices],
            np.array([*capacities, *limits, *_shared_memories(classes), *stocks, *sizes], dtype=float),
            [
                *(FixedDemand(-math.inf, end, demand) for end, demand in held),
                *(FixedDemand(block.start, block.end, block.demand) for block in blocks),
            ],
            [
                *_differences(instance, slot, choices),
                *lag_differences(instance, slot, is_up=rounding == "up"),
                *declared_differences(declared, instance, slot),
            ],
            _regular(instance, objective, unit),
            Calendars.of(declared, instance, slot),
            [_budget(one, choices) for one in declared if isinstance(one, Budget)],
        )
        search_of_lags.run()
        if math.isinf(search_of_lags.best):
            return BruteForceResult((math.inf,), None)
        found = [
            _Placed(j, choices[j].options[o], start, start + float(choices[j].durations[o]))
            for j, (o, start) in enumerate(search_of_lags.best_placed)
        ]
        value = _reported(instance, objective, search_of_lags.best, unit)
        return BruteForceResult((value,), schedule_of(found) if slot is None or rounding == "up" else None)
    search = _OasSearch(
        choices,
        held,
        np.array([*capacities, *limits, *_shared_memories(classes), *stocks, *sizes], dtype=float),
        _regular(instance, objective, unit),
        [_last_tick(job, slot) for job in instance.jobs],
        _preceding(instance),
        is_allowed if constraints and not is_declared else None,
        [*(() if horizon is None else range(horizon + 1)), *(block.end for block in blocks), *asked],
        blocks,
    )
    search.extend((), tuple(range(len(choices))), 0.0)
    if math.isinf(search.best):
        return BruteForceResult((math.inf,), None)
    attained = slot is None or rounding == "up"
    value = _reported(instance, objective, search.best, unit)
    return BruteForceResult((value,), schedule_of(search.best_placed) if attained else None)


@dataclass(frozen=True, slots=True)
class _Block:
    """Capacity held from ``start`` to ``end``, in slots or in seconds, beside jobs that run from the start on."""

    start: float
    end: float
    demand: tuple[float, ...]


def _counted_groups(instance: Instance, classes: Sequence[NodeClass]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the classes of each group (by cluster and number) of which windows take a number of processors."""
    pairs = zip(instance.platform.unavailable, instance.platform.window_nodes, strict=True)
    return {(w.cluster, w.group): _members(classes, nodes, instance) for w, nodes in pairs if w.group is not None}


def _members(classes: Sequence[NodeClass], nodes: Collection[int], instance: Instance) -> tuple[int, ...]:
    """Return the classes, by index, of some nodes: all nodes of a class are among them, or none."""
    node_of = instance.platform.processor_node
    return tuple(g for g, node_class in enumerate(classes) if node_of[node_class.processors[0]] in nodes)


def _blocks(
    instance: Instance,
    classes: Sequence[NodeClass],
    groups: Mapping[tuple[str, int], Sequence[int]],
    slot: float | None,
    ticks: Callable[[float], float],
) -> list[_Block]:
    """Return the windows, and the running jobs that start later; what begins in a slot is in the way in all of it."""
    begins = _rounded(slot, "down")
    rest = (0.0,) * (len(instance.platform.links) + len(classes) + len(_places(instance, classes)))
    found = []
    for window, nodes in zip(instance.platform.unavailable, instance.platform.window_nodes, strict=True):
        closed = _members(classes, nodes, instance) if window.processors is None else ()
        processors = (float(c.capacity) if g in closed else 0.0 for g, c in enumerate(classes))
        taken = [float(window.processors or 0) if key == (window.cluster, window.group) else 0.0 for key in groups]
        found.append(_Block(begins(window.start), ticks(window.end), (*processors, *rest, *taken)))
    for run in instance.running:
        if run.start > 0.0:
            demand = _held(run, instance, classes, groups.values())
            found.append(_Block(begins(run.start), ticks(run.end), demand))
    return [block for block in found if block.start < block.end]


def _held(
    run: RunningJob, instance: Instance, classes: Sequence[NodeClass], groups: Iterable[Sequence[int]]
) -> tuple[float, ...]:
    """Return what a running job takes of every resource, of groups of classes as well."""
    option = _running_option(run, instance, classes)
    return (*option.demand, *(float(sum(option.allocation[g] for g in members)) for members in groups))


def _last_tick(job: Job, slot: float | None) -> float:
    """Return the latest end of a job, in slots or in seconds: its deadline, infinity where it has none."""
    if job.deadline is None:
        return math.inf
    return job.deadline + time_tolerance(job.deadline) if slot is None else slots_down(job.deadline, slot)


def _preceding(instance: Instance) -> list[frozenset[int]]:
    """Return the jobs to schedule that must have ended before each job starts, by index."""
    number = {job.id: j for j, job in enumerate(instance.jobs)}
    return [frozenset(number[other] for other in job.after if other in number) for job in instance.jobs]


def _differences(instance: Instance, slot: float | None, choices: Sequence[_Choices]) -> Iterator[Difference]:
    """Yield arrivals, precedences and deadlines as differences of starts."""
    preceding = _preceding(instance)
    for j, job in enumerate(instance.jobs):
        yield Difference(j, None, choices[j].arrival)
        yield from (Difference(j, i, 0.0, plus_early=1) for i in preceding[j])
        if job.deadline is not None:
            yield Difference(None, j, -_last_tick(job, slot), plus_early=1)


def _is_declared_of(
    option: _Option, declared: Iterable[Declaration], instance: Instance, classes: Sequence[NodeClass]
) -> bool:
    """Return whether declarations of its job alone allow an option."""
    whole = range(len(instance.platform.nodes))
    for one in declared:
        if option.job.id in one.jobs:
            match one:
                case AllowedNodes() | MostTasks():
                    nodes = one.nodes if isinstance(one, MostTasks) else {*whole} - {*one.nodes}
                    most = one.most if isinstance(one, MostTasks) else 0
                    if sum(option.allocation[g] for g in _members(classes, nodes, instance)) > most:
                        return False
                case AllowedShapes():
                    if sum(option.allocation) not in one.tasks:
                        return False
                case AllowedSpreads():
                    if not one.allows(option.tasks):
                        return False
    return True


def _budget(budget: Budget, choices: Sequence[_Choices]) -> tuple[list[FloatArray], float]:
    """Return the weights of the options of each job, and the most that they may sum to."""
    weights = [np.array([budget.weight(o.job, o.tasks) for o in each.options], dtype=float) for each in choices]
    return weights, budget.limit + budget.margin


def _within(options: Sequence[_Option], classes: Sequence[NodeClass], scope: Scope) -> list[_Option]:
    """Return the options whose tasks are all in one cluster, or on one node (then each class is one)."""
    if scope == "platform":
        return list(options)
    used = ([g for g, count in enumerate(o.allocation) if count] for o in options)
    parts = ({g if scope == "node" else classes[g].cluster for g in of_option} for of_option in used)
    return [option for option, part in zip(options, parts, strict=True) if len(part) == 1]


def _rounded(slot: float | None, rounding: Rounding) -> Callable[[float], float]:
    """Return how seconds become the unit of the search: slots, or seconds in continuous time."""
    if slot is None:
        return float
    return partial(slots_up if rounding == "up" else slots_down, slot=slot)


Span = tuple[int, float, float]
"""A job by index, its start and its end, in slots or in seconds if time is continuous."""


def _regular(instance: Instance, objective: str | RegularObjective, unit: float) -> Callable[[Sequence[Span]], float]:
    """Return how starts and ends make a regular objective, up to a constant."""
    if objective == "makespan":
        return lambda spans: max((end for _, _, end in spans), default=0.0)
    if objective == "total-response-time":
        return lambda spans: sum(end for _, _, end in spans)
    of_job: Callable[[Job, float, float], float]
    if isinstance(objective, RegularObjective):
        of_job, is_sum = objective.cost, objective.aggregate == "sum"
    else:
        of_job, is_sum = COSTS[objective], objective != "maximum-lateness"
    jobs = instance.jobs

    def cost(spans: Sequence[Span]) -> float:
        costs = [of_job(jobs[j], unit * start, unit * end) for j, start, end in spans]
        return sum(costs) if is_sum else max(costs, default=-math.inf)

    return cost


def _reported(instance: Instance, objective: str | RegularObjective, best: float, unit: float) -> float:
    """Return what the search minimised as the objective is reported."""
    if isinstance(objective, RegularObjective):
        return best / objective.divisor(instance) - objective.offset(instance)
    if objective in COSTS:
        return best / len(instance.jobs) if objective.startswith("mean-") else best
    return unit * best - (instance.origin if objective == "makespan" else sum(job.arrival for job in instance.jobs))


@dataclass(frozen=True, slots=True)
class _Choices:
    """One job in the search: arrival, options, their demands (options, resources) and durations (options,)."""

    arrival: float
    options: list[_Option]
    demands: FloatArray
    durations: FloatArray

    @classmethod
    def of(
        cls, job: Job, options: list[_Option], ticks: Callable[[float], float], ended: Mapping[str, float]
    ) -> _Choices:
        """Return the choices of a job with its times in slots; what lasts no slot demands nothing.

        ``ended`` are the ends of running jobs: those that it comes after have ended when it arrives.
        """
        durations = np.array([ticks(_execution_time(o.job, o.slowdown)) for o in options], dtype=float)
        demands = np.array([o.demand for o in options], dtype=float)
        demands[durations == 0.0] = 0.0
        arrival = max([ticks(job.arrival), *(ended[other] for other in job.after if other in ended)])
        return cls(arrival, options, demands, durations)

    def with_groups(self, groups: Sequence[Sequence[int]]) -> _Choices:
        """Return the same with what each option takes of groups of classes behind its demands."""
        taken = [tuple(float(sum(o.allocation[g] for g in members)) for members in groups) for o in self.options]
        columns = np.array(taken, dtype=float).reshape(len(self.options), len(groups))
        columns[self.durations == 0.0] = 0.0
        options = [replace(o, groups=of_option) for o, of_option in zip(self.options, taken, strict=True)]
        return replace(self, options=options, demands=np.hstack([self.demands, columns]))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A job (by index) that the search has put somewhere."""

    job: int
    option: _Option
    start: float
    end: float


@dataclass(slots=True)
class _OasSearch:
    """Depth-first search over chronological schedules; times in slots, or in seconds if time is continuous.

    ``held`` are ends and demands of running jobs, ``capacity`` has one entry per resource (classes,
    links, memories), ``regular`` folds the spans of all jobs into what is minimised. Jobs end by their ``latest`` ends,
    and start when those ``preceding`` them have ended. With ``is_allowed``, which is
    asked of complete schedules, every instant at which a job may start is tried, and not the first alone: ends, and
    ``instants``. ``blocks`` begin later, so what is free does not only grow.
    """

    choices: Sequence[_Choices]
    held: Sequence[tuple[float, tuple[float, ...]]]
    capacity: FloatArray
    regular: Callable[[Sequence[Span]], float]
    latest: Sequence[float]
    preceding: Sequence[frozenset[int]]
    is_allowed: Callable[[Sequence[_Placed]], bool] | None = None
    instants: Sequence[float] = ()
    blocks: Sequence[_Block] = ()
    best: float = math.inf
    best_placed: tuple[_Placed, ...] = field(default=())

    def extend(self, placed: tuple[_Placed, ...], remaining: tuple[int, ...], now: float) -> None:
        """Put every remaining job, in every way that may still improve, at ``now`` or later."""
        done = [(p.job, p.start, p.end) for p in placed]
        if not remaining:
            value = self.regular(done)
            if value < self.best and (self.is_allowed is None or self.is_allowed(placed)):
                self.best, self.best_placed = value, placed
            return
        times, free = self._profile(placed, now)
        ends = {p.job: p.end for p in placed}
        moves = sorted(move for j in remaining for move in self._moves(j, times, free, ends))
        if {move[1] for move in moves} != set(remaining):
            return  # one of them can no longer end in time
        soonest = {j: min((move for move in moves if move[1] == j), key=self._alone) for j in remaining}
        moves = [move for move in moves if self.preceding[move[1]] <= ends.keys()]
        for end, j, o, start in moves:
            others = tuple(k for k in remaining if k != j)
            # Jobs that start together are put in the order of their numbers, once, unless one comes after the other.
            last = placed[-1] if placed else None
            is_together = last is not None and start == last.start and last.job not in self.preceding[j]
            repeats = is_together and last is not None and j < last.job
            least = [(k, soonest[k][3], soonest[k][0]) for k in others]
            if repeats or not self._improves([*done, (j, start, end), *least]):
                continue
            self.extend((*placed, _Placed(j, self.choices[j].options[o], start, end)), others, start)

    def _moves(
        self, j: int, times: FloatArray, free: FloatArray, ends: Mapping[int, float]
    ) -> Iterator[tuple[float, int, int, float]]:
        """Yield (end, job, option, start): each option at its first start, or at every one from there on.

        Of those that the job comes after the ``ends`` that are known count.
        """
        choices = self.choices[j]
        ready = max([choices.arrival, *(ends[i] for i in self.preceding[j] if i in ends)])
        first = None if self.blocks else self._earliest_starts(choices, ready, times, free)
        for o, duration in enumerate(choices.durations.tolist()):
            if first is None:
                starts = self._unblocked_starts(choices.demands[o], duration, ready, times, free)
            else:
                begin = float(first[o])
                starts = iter([begin, *(times[times > begin].tolist() if self.is_allowed is not None else ())])
            for start in starts:
                if start + duration <= self.latest[j]:
                    yield start + duration, j, o, start
                if self.is_allowed is None:
                    break

    def _unblocked_starts(
        self, demand: FloatArray, duration: float, ready: float, times: FloatArray, free: FloatArray
    ) -> Iterator[float]:
        """Yield the instants, in order, at which what is asked for is free and stays so, for blocks begin later."""
        for start in sorted({max(ready, float(times[0])), *(t for t in times.tolist() if t > ready)}):
            margin = time_tolerance(start + duration)
            begins = (block.start for block in self.blocks if start < block.start < start + duration - margin)
            if all(self._is_free(demand, instant, times, free) for instant in (start, *begins)):
                yield start

    def _is_free(self, demand: FloatArray, instant: float, times: FloatArray, free: FloatArray) -> bool:
        """Return whether what is asked for is free at an instant."""
        margin = time_tolerance(instant)
        left = free[max(0, int(np.searchsorted(times, instant + margin, side="right")) - 1)].copy()
        for block in self.blocks:
            if block.start <= instant + margin and block.end > instant + margin:
                left -= block.demand
        return bool((demand <= np.maximum(left, 0.0)).all())

    def _alone(self, move: tuple[float, int, int, float]) -> float:
        """Return what a move (end, job, option, start) is worth by itself: a later end may cost less after a start."""
        end, j, _, start = move
        return self.regular([(j, start, end)])

    def _improves(self, spans: Sequence[Span]) -> bool:
        """Return whether spans that no completion can beat leave room below the best known."""
        bound = self.regular(spans)
        return bound < self.best - time_tolerance(bound)

    def _profile(self, placed: Sequence[_Placed], now: float) -> tuple[FloatArray, FloatArray]:
        """Return the instants from ``now`` on at which a job may start, and what is free from each on.

        Shapes ``(instants,)`` and ``(instants, resources)``. What is free only grows. A link, or a memory, that
        running jobs overload has nothing free, which does not hinder a job that asks for none of it.
        """
        holds = [*self.held, *((p.end, p.option.demand) for p in placed)]
        instants = (*(end for end, _ in holds), *self.instants)
        times = np.array(sorted({now, *(t for t in instants if t > now)}), dtype=float)
        if not holds:
            return times, np.tile(self.capacity, (len(times), 1))
        ends = np.array([end for end, _ in holds], dtype=float)
        demands = np.array([demand for _, demand in holds], dtype=float)
        active = ends > times[:, np.newaxis] + time_tolerance(float(times[-1]))
        return times, np.maximum(self.capacity - active.astype(float) @ demands, 0.0)

    @staticmethod
    def _earliest_starts(choices: _Choices, ready: float, times: FloatArray, free: FloatArray) -> FloatArray:
        """Return when each option of a job can start, shape ``(options,)``; the last instant takes any."""
        fits = (choices.demands[:, np.newaxis, :] <= free).all(axis=2)
        starts: FloatArray = np.maximum(times[fits.argmax(axis=1)], ready)
        return starts


# --- PAS, CBS, JPR: where, all at once -------------------------------------------------------------


def brute_force_pas(instance: Instance, saturation: float = 0.0, links: Links = "strict") -> BruteForceResult:
    """Return the assignment of all jobs, started together, with least total execution time (PAS).

    All start at the latest arrival, on processors that no running job holds any more. With ``strict``
    links no link that a job loads carries more than ``1 + saturation`` of its bandwidth. With ``shared``
    links they may, and each job is slowed down as if all jobs of the package, and the running ones,
    overlapped throughout: ``SC = max(1, load/MBW over the links that it loads)``; ends in the schedule
    then follow from this static SC.

    Source: thesis, section 3.1.2.
    """
    package = _Package.of(instance)
    if links == "shared":
        return package.best(lambda options: (math.fsum(package.shared_times(options)),), package.shared_times)
    limits = [capacity_limit(link.bandwidth, saturation) for link in instance.platform.links]

    def total(options: Sequence[_Option]) -> tuple[float]:
        return (math.fsum(package.dedicated_times(options)) if package.within(limits, options) else math.inf,)

    return package.best(total, package.dedicated_times)


def brute_force_cbs(instance: Instance) -> BruteForceResult:
    """Return the assignment that keeps most tasks together, then loads links least (Chunk Big Small).

    Objectives: tasks that the largest chunks of the jobs lack to hold ``CHUNK_SHARE`` of each job, then the
    sum over all links of the jobs' loads, MB/s. Starts and free processors as in :func:`brute_force_pas`;
    links are no constraint, but for a job that would never end (:meth:`_Package.ends`), and ends count no communication
    slowdown.

    Source: thesis, section 3.1.3.1, as a lexicographic objective, since no cluster holds 75 % of a very large job.
    """
    package = _Package.of(instance)
    wanted = [math.ceil(CHUNK_SHARE * job.tasks) for job in instance.jobs]

    def shortfall_and_load(options: Sequence[_Option]) -> tuple[float, float]:
        if not package.ends(options):
            return math.inf, math.inf
        shortfall = sum(max(0, chunk - max(o.tasks)) for chunk, o in zip(wanted, options, strict=True))
        return float(shortfall), math.fsum(load for o in options for load in o.loads)

    return package.best(shortfall_and_load, package.dedicated_times, priorities=2)


def brute_force_jpr(instance: Instance) -> BruteForceResult:
    """Return the assignment to the best processors, whatever the links (Job Preference on Resources).

    Objectives: total execution time without communication slowdown, s, then minus the total effective
    power used. Starts, free processors and links as in :func:`brute_force_cbs`.

    Source: thesis, section 3.1.3.1.
    """
    package = _Package.of(instance)

    def time_and_power(options: Sequence[_Option]) -> tuple[float, float]:
        if not package.ends(options):
            return math.inf, math.inf
        used = (zip(o.allocation, package.classes, strict=True) for o in options)
        power = math.fsum(count * c.effective_power for pairs in used for count, c in pairs)
        return math.fsum(package.dedicated_times(options)), -power

    return package.best(time_and_power, package.dedicated_times, priorities=2)


@dataclass(frozen=True, slots=True)
class _Package:
    """Package of all jobs of an instance, to be started together at ``start`` (s) beside the running jobs."""

    instance: Instance
    classes: tuple[NodeClass, ...]
    start: float
    running: tuple[_Option, ...]

    @classmethod
    def of(cls, instance: Instance) -> _Package:
        """Return the package of an instance, which starts at the latest arrival."""
        classes = _classes(instance)
        start = max((job.arrival for job in instance.jobs), default=0.0)
        busy = (run for run in instance.running if run.end > start + time_tolerance(start))
        return cls(instance, classes, start, tuple(_running_option(run, instance, classes) for run in busy))

    def best(
        self,
        value: Callable[[Sequence[_Option]], tuple[float, ...]],
        times: Callable[[Sequence[_Option]], list[float]],
        priorities: int = 1,
    ) -> BruteForceResult:
        """Return the assignment of least finite ``value``, with ends by ``times`` (s, one per job).

        Values are compared priority by priority; those that differ by rounding errors only are equal.
        """
        candidates = [(value(options), options) for options in self._assignments()]
        candidates = [candidate for candidate in candidates if math.isfinite(candidate[0][0])]
        if not candidates:
            return BruteForceResult((math.inf,) * priorities, None)
        for rank in range(priorities):
            least = min(found[rank] for found, _ in candidates)
            candidates = [c for c in candidates if c[0][rank] <= least + time_tolerance(least)]
        best, chosen = candidates[0]
        intervals = [
            Occupation(job.id, self.start, self.start + time, option.allocation)
            for job, option, time in zip(self.instance.jobs, chosen, times(chosen), strict=True)
        ]
        return BruteForceResult(best, _schedule(self.instance, self.classes, intervals))

    def _assignments(self) -> Iterator[tuple[_Option, ...]]:
        """Yield every assignment of all jobs to processors that are free at the start."""
        held = [sum(o.allocation[g] for o in self.running) for g in range(len(self.classes))]
        free = tuple(c.capacity - taken for c, taken in zip(self.classes, held, strict=True))
        no_limits = [math.inf for _ in self.instance.platform.links]
        options = [_options(job, self.instance, self.classes, free, no_limits) for job in self.instance.jobs]
        taken = [math.fsum(o.memory[g] for o in self.running) for g in range(len(self.classes))]
        memories = _shared_memories(self.classes)
        return _fitting(options, free, [max(0.0, most - used) for most, used in zip(memories, taken, strict=True)])

    def totals(self, options: Sequence[_Option]) -> list[float]:
        """Return the load of each link by these options and the running jobs, MB/s."""
        return [math.fsum(o.loads[k] for o in (*options, *self.running)) for k in self._link_range]

    @property
    def _link_range(self) -> range:
        return range(len(self.instance.platform.links))

    def within(self, limits: Sequence[float], options: Sequence[_Option]) -> bool:
        """Return whether no link that an option loads carries more than its limit, MB/s."""
        totals = self.totals(options)
        return all(totals[k] <= limits[k] for o in options for k in self._link_range if o.loads[k] > 0.0)

    def ends(self, options: Sequence[_Option]) -> bool:
        """Return whether every job ends some day: none that communicates loads a link of no bandwidth."""
        return math.isfinite(math.fsum(self.shared_times(options)))

    def dedicated_times(self, options: Sequence[_Option]) -> list[float]:
        """Return the execution time of each job where no link saturates, s."""
        return [_execution_time(job, o.slowdown) for job, o in zip(self.instance.jobs, options, strict=True)]

    def shared_times(self, options: Sequence[_Option]) -> list[float]:
        """Return the execution time of each job if all overlap throughout, s; infinite on a link of no bandwidth.

        Source: thesis, equations (2.7) to (2.9), over the links that the job loads.
        """
        bandwidths = [link.bandwidth for link in self.instance.platform.links]
        totals = self.totals(options)
        ratios = [t / b if b > 0.0 else math.inf for t, b in zip(totals, bandwidths, strict=True)]
        return [
            _execution_time(job, o.slowdown, max([1.0, *(r for r, load in zip(ratios, o.loads, strict=True) if load)]))
            for job, o in zip(self.instance.jobs, options, strict=True)
        ]


def _fitting(
    options: Sequence[Sequence[_Option]], free: Sequence[int], memories: Sequence[float]
) -> Iterator[tuple[_Option, ...]]:
    """Yield every choice of one option per job that together fit into free processors and memory (MB) per class."""
    if not options:
        yield ()
        return
    for option in options[0]:
        left = tuple(f - n for f, n in zip(free, option.allocation, strict=True))
        has_memory = all(asked <= most for asked, most in zip(option.memory, memories, strict=True))
        if min(left) >= 0 and has_memory:
            rest_of_memory = [m if math.isinf(m) else m - a for m, a in zip(memories, option.memory, strict=True)]
            for rest in _fitting(options[1:], left, rest_of_memory):
                yield (option, *rest)
