"""Serial schedule generation scheme: jobs of a list are placed one by one, each as early as it can end.

Every exact method starts from such a schedule: it gives the horizon and the first incumbent.
Annealing generates thousands, so what a job may do and the allocations already chosen are kept in one
:class:`Generation`. Source: R. Kolisch, S. Hartmann, "Heuristic algorithms for the resource-constrained project
scheduling problem: classification and computational analysis", in Project Scheduling, Kluwer (1999). Whatever is left
out here, a filling or a level, makes a schedule worse and no proof wrong: those are of bounds and complete searches.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from operator import attrgetter
from types import SimpleNamespace
from typing import cast

import numpy as np

from coalloc.instance import CoallocError, Job
from coalloc.instance.resources import tasks_within
from coalloc.problem import MAX_MODES, Assignment, Mode, Problem, SpeedLevel
from coalloc.problem.allocation import Allocation, allocation_of
from coalloc.rules.orders import ORDERS
from coalloc.rules.profile import Profile
from coalloc.rules.tuning import TRIED
from coalloc.schedule import Schedule

FEW_MODES = 100
"""Allocation vectors of a job up to which they count as few."""

FILLING_RULES = ("whole cluster", "slowest first", "fastest first")
"""Rules by which a job fills the classes of a level; the first takes one cluster where it can, else the slowest first.
"""

Way = tuple[int, int] | Mode
"""Way to place a job: up to a slowest level with a filling rule, both by index, or in one mode.

Of a moldable job ``~i`` stands for the level ``i`` alone: up to a slowest one it mostly takes the widest shape.
"""
Link = tuple[Sequence[int], Sequence[float], float]
"""The classes below a link, the load (MB/s) of a job by its tasks there, what is left of it (MB/s); or so of a pool."""


class Generation:
    """Serial generation for one problem, with the fillings and modes found so far.

    Unless a rule says otherwise, a job takes the slowest processors of a level first, for the faster ones
    serve more jobs; where links can saturate, a cluster that holds the whole job is tried before that.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._modes: defaultdict[int, dict[Allocation, Mode]] = defaultdict(dict)
        self._few: dict[int, list[Mode]] = {}
        self._fillings: dict[tuple[object, ...], Allocation | None] = {}
        self._counted = {
            j: problem.allocations.rooms(job)
            for j, job in enumerate(problem.jobs if problem.declared.counts_tasks else ())
            if problem.allocations.is_counted(job)
        }
        self._orders: list[dict[tuple[int, ...], list[list[int]]]] = [{} for _ in FILLING_RULES]

    def _class_orders(self, allowed: Sequence[int], rule: str) -> list[list[int]]:
        """Return the orders in which a job fills the classes of a level, the preferred first."""
        problem, classes = self.problem, self.problem.classes
        sign = -1.0 if rule == "fastest first" else 1.0
        ranked = sorted(allowed, key=lambda g: (sign * classes[g].effective_power, g))
        if problem.scope == "node":
            return [[g] for g in ranked]
        clusters = dict.fromkeys(classes[g].cluster for g in ranked)
        within = [[g for g in ranked if classes[g].cluster == cluster] for cluster in clusters]
        if problem.scope == "cluster":
            return within
        return [*within, ranked] if rule == "whole cluster" and problem.contended_links else [ranked]

    def orders(self, rule: int, classes: tuple[int, ...]) -> list[list[int]]:
        """Return the orders in which a job fills the classes of a level by a rule, by index, the preferred first.

        They are made when they are first asked for: where jobs name their times there are as many sets of classes as
        there are levels, of all jobs.
        """
        known = self._orders[rule]
        if classes not in known:
            known[classes] = self._class_orders(classes, FILLING_RULES[rule])
        return known[classes]

    def place(self, profile: Profile, j: int, way: Way) -> Assignment | None:
        """Return the assignment of job ``j`` that ends first in a way; nothing is booked.

        None where constraints do not let it run beside the jobs that are placed, or by when it has to end.
        """
        if isinstance(way, Mode):
            start = earliest_start_of(self.problem, profile, j, way)
            return None if math.isinf(start) else Assignment(j, start, way)
        slowest, rule = way
        return self.earliest_end(profile, j, slowest, rule)

    def earliest_end(
        self, profile: Profile, j: int, slowest: int | None = None, rule: int = 0, since: float = -math.inf
    ) -> Assignment | None:
        """Return the assignment of job ``j`` that ends first, then starts first, over its levels.

        With ``slowest`` no slower level is used (:data:`Way`), unless nothing else fits, and with ``since`` (ticks) no
        earlier start. None as in :meth:`place`, or where fillings fail and modes are too many to try. Raises
        :class:`CoallocError` where the job finds no allocation on an empty platform.
        """
        levels = self.problem.levels[j]
        best: Assignment | None = None
        release = max(since, self.problem.releases[j])
        if slowest is not None:
            levels = levels[: slowest + 1] if slowest >= 0 else levels[~slowest:-slowest]
        for level in levels:
            before = math.inf if best is None else best.end
            found = self._earliest_start(profile, j, level, rule, release=release, before=before)
            best = found or best
        if best is not None:
            return best
        return (
            _any_assignment(self.problem, profile, j) if slowest is None else self.earliest_end(profile, j, since=since)
        )

    def _earliest_start(
        self, profile: Profile, j: int, level: SpeedLevel, rule: int, *, release: float, before: float
    ) -> Assignment | None:
        """Return the first assignment from ``release`` on that nothing forbids, if it ends before ``before``."""
        while (found := self._first_that_fits(profile, j, level, rule, release=release, before=before)) is not None:
            release = _allowed_from(self.problem, profile, found)
            if release <= found.start:
                return found
            if math.isinf(release):
                return None
        return None

    def _first_that_fits(
        self, profile: Profile, j: int, level: SpeedLevel, rule: int, *, release: float, before: float
    ) -> Assignment | None:
        """Return the first assignment of a job at a level from ``release`` on, if it ends before ``before``."""
        tasks = level.tasks
        if release + level.duration >= before:
            return None  # what is free need not be counted
        num_classes = len(self.problem.classes)
        for start in profile.windows(release, level.duration, tasks, level.classes):
            if start + level.duration >= before:
                return None  # windows come in order of start, so what follows ends no sooner
            since = start if level.duration else math.inf  # what takes no time is in nobody's way
            free = profile.free(since, start + level.duration)
            is_found = False
            for tried in [free] if profile.spending is None else profile.spending.within(j, free, level):
                if sum([tried[g] for g in level.classes]) >= tasks:
                    allocation = self.filling(j, level, rule, tried[:num_classes], tried[num_classes:])
                    is_found = is_found or allocation is not None
                    if allocation is not None and _affords(profile, j, allocation):
                        return Assignment(j, start, self.mode(j, allocation))
            if is_found and self.problem.allocations.number <= MAX_MODES:
                return None  # other fillings are tried as modes
        return None

    def filling(
        self, j: int, level: SpeedLevel, rule: int, free: Sequence[float], left: Sequence[float]
    ) -> Allocation | None:
        """Return the preferred allocation of a job within the classes of a level, remembered; None where none fits.

        ``free`` are processors per class, ``left`` is what is left of each contended resource.
        """
        classes, tasks = level.classes, level.tasks
        key = (j, classes, tasks, rule, *free, *left)  # floats as they are: near is another key, never a wrong filling
        if key not in self._fillings:
            if len(self._fillings) >= MAX_MODES:
                self._fillings.clear()
            problem = self.problem
            job = problem.allocations.shape_of(problem.jobs[j], tasks)
            tables = [problem.allocations.load_table(job, k) for k in problem.contended_links]
            below = [problem.resources[k].classes for k in problem.contended_links]
            links: list[Link] = list(
                zip(below, tables, left, strict=False)
            )  # links come first, then memories, then pools
            memories = left[len(below) : len(left) - len(problem.contended_pools)]
            counted = self._counted.get(j)
            within = free if counted is None else [*map(min, free, counted)]
            room = _with_memory(problem, job, within, problem.contended_memories, memories)
            links += _pools(problem, job, problem.contended_pools, left[len(below) + len(memories) :])
            found = _filled(problem, job, room, self.orders(rule, classes), links)
            self._fillings[key] = next((allocation for allocation in found if allocation is not None), None)
        return self._fillings[key]

    def mode(self, j: int, allocation: Allocation) -> Mode:
        """Return the mode of an allocation of job ``j``, made once."""
        known = self._modes[j]
        if allocation not in known:
            known[allocation] = self.problem.allocations.mode(self.problem.jobs[j], allocation)
        return known[allocation]

    def few_modes(self, j: int) -> list[Mode]:
        """Return the modes of job ``j`` that fit alone; none where they are not few."""
        if j not in self._few:
            problem, job = self.problem, self.problem.jobs[j]
            is_few = problem.allocations.count(job) <= FEW_MODES
            made = [self.mode(j, a) for a in problem.allocations.of(job)] if is_few else []
            self._few[j] = [mode for mode in made if problem.allocations.fits_alone(mode)]
        return self._few[j]


def latest_end(assignments: Sequence[Assignment]) -> float:
    """Return when the last of some assignments ends, ticks; 0 where there are none."""
    return max((assignment.end for assignment in assignments), default=0.0)


def list_schedule(problem: Problem, jobs: Sequence[int], deadline: float = math.inf) -> list[Assignment]:
    """Place the jobs (indices) in this order, each where it ends first (then where it starts first).

    A job that constraints keep from running beside those before it waits for others; nothing is returned where none of
    those that are left can be placed. Past the deadline, an instant of ``time.perf_counter()``, s, none starts before
    the one placed last: no gaps are looked for. Raises :class:`CoallocError` where a job has no allocation on an empty
    platform.
    """
    return _list_schedule(Generation(problem), jobs, deadline)


def completions(problem: Problem, placed: Sequence[Assignment], deadline: float) -> Iterator[list[Assignment]]:
    """Yield schedules that keep assignments of some jobs and place the others in each named order, as lists do.

    They are in the order of their starts. Jobs that those placed come after may end too late.
    """
    generation, known = Generation(problem), {assignment.job for assignment in placed}
    for order in dict.fromkeys(map(tuple, named_orders(problem))):
        rest = [j for j in order if j not in known]
        added = _list_schedule(generation, rest, deadline, placed)
        if len(added) == len(rest):
            yield sorted([*placed, *added], key=lambda assignment: assignment.start)


def _list_schedule(
    generation: Generation, jobs: Sequence[int], deadline: float, placed: Sequence[Assignment] = ()
) -> list[Assignment]:
    """Place jobs beside those that are placed already."""
    problem, left = generation.problem, deque(jobs)
    profile = Profile(problem)
    for assignment in placed:
        book(profile, assignment)
    assignments: list[Assignment] = []
    since = -math.inf
    while left:
        if assignments and time.perf_counter() > deadline:
            since = max(since, assignments[-1].start)
        tried: Iterator[int] = islice(left, 1)  # what is in its way now is there to stay
        if problem.ties_jobs:
            tried = (j for j in left if problem.awaited[j] <= profile.placed.keys())
        found = (generation.earliest_end(profile, j, since=since) for j in tried)
        first = next((assignment for assignment in found if assignment is not None), None)
        if first is None:
            return []
        left.remove(first.job)
        assignments.append(first)
        book(profile, first)
    return assignments


def named_orders(problem: Problem) -> list[list[int]]:
    """Return the jobs (indices) in each named order, the best for the latest end last; first those of a fixed start."""
    fields = {name: np.array(list(map(attrgetter(name), problem.jobs))) for name in ("arrival", "tasks", "estimate")}
    jobs = cast(Job, SimpleNamespace(**fields))  # the keys are arithmetic
    orders: list[list[int]] = [np.argsort(key(jobs), kind="stable").tolist() for key in ORDERS.values()]
    return [sorted(order, key=lambda j: j not in problem.pinned) for order in orders] if problem.pinned else orders


def best_list_schedule(
    problem: Problem,
    target: float = -math.inf,
    deadline: float = math.inf,
    *,
    orders: Sequence[Sequence[int]] | None = None,
    cost: Callable[[Sequence[Assignment]], float] = latest_end,
) -> list[Assignment]:
    """Return the cheapest schedule among those of some orders, the named ones unless given; nothing where none is one.

    The last are tried first. No further order is tried once one costs no more than ``target``, a proved bound, or at
    the deadline (an instant of ``time.perf_counter()``, s); the jobs that one leaves then fill no gaps. The cost is the
    latest end, ticks, unless given.
    """
    generation = Generation(problem)
    best, least = list[Assignment](), math.inf
    for order in reversed(dict.fromkeys(map(tuple, named_orders(problem) if orders is None else orders))):
        if best and time.perf_counter() > deadline:
            break
        schedule = _list_schedule(generation, order, deadline)
        value = cost(schedule) if schedule or not order else math.inf
        if schedule and value <= least:
            best, least = schedule, value
        if least <= target:
            break
    return best


def start_in_order(problem: Problem, choices: Sequence[tuple[int, Mode]]) -> list[Assignment]:
    """Place jobs in this order in given modes, each at the earliest instant that is free.

    Nothing is returned where constraints forbid that order.
    """
    profile = Profile(problem)
    assignments = []
    for j, mode in choices:
        start = earliest_start_of(problem, profile, j, mode)
        if math.isinf(start):
            return []
        assignment = Assignment(j, start, mode)
        book(profile, assignment)
        assignments.append(assignment)
    return assignments


def assignments_of(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return a schedule as assignments in the order of their starts, on the clock of the problem."""
    processors = problem.instance.platform.processor_index
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    assignments = []
    for placement in sorted(schedule, key=lambda p: p.start):
        j = number[placement.job]
        allocation = allocation_of((processors[name] for name in placement.nodes), problem.classes)
        start = problem.clock.tick_at(placement.start - problem.base.shift)
        assignments.append(Assignment(j, start, problem.allocations.mode(problem.jobs[j], allocation)))
    return assignments


def choices_of(problem: Problem, assignments: Sequence[Assignment]) -> list[tuple[int, Mode]]:
    """Return (job, mode with this problem's duration) in the order of starts."""
    in_order = sorted(assignments, key=lambda a: a.start)
    return [(a.job, problem.allocations.mode(problem.jobs[a.job], a.mode.allocation)) for a in in_order]


def book(profile: Profile, assignment: Assignment) -> None:
    """Occupy what an assignment uses."""
    mode = assignment.mode
    profile.take(assignment.start, assignment.end, profile.vector(mode.allocation, mode.loads))
    if profile.couples:
        profile.placed[assignment.job] = assignment.start, assignment.end
    if profile.spending is not None:
        profile.spending.take(assignment.job, mode.allocation)


def earliest_start(profile: Profile, release: float, mode: Mode) -> float:
    """Return the first instant from ``release`` on at which the mode fits to its end."""
    start = profile.first_start(release, mode.duration, profile.vector(mode.allocation, mode.loads))
    if math.isinf(start):  # in the end everything is free, and the profile lets pass what its subtractions have lost
        raise CoallocError("a mode that fits the platform must fit once everything has ended")
    return start


def earliest_start_of(problem: Problem, profile: Profile, j: int, mode: Mode, since: float = -math.inf) -> float:
    """Return the first instant at which job ``j`` may run in a mode; infinity where constraints leave none.

    With ``since`` (ticks) it starts no earlier.
    """
    if not _affords(profile, j, mode.allocation):
        return math.inf
    release = max(since, problem.releases[j])
    while True:
        found = Assignment(j, earliest_start(profile, release, mode), mode)
        release = _allowed_from(problem, profile, found)
        if release <= found.start or math.isinf(release):
            return max(release, found.start)


def _affords(profile: Profile, j: int, allocation: Allocation) -> bool:
    """Return whether budgets and clusters leave a job an allocation, beside those placed, and something to others."""
    return profile.spending is None or profile.spending.affords(j, allocation)


def _allowed_from(problem: Problem, profile: Profile, assignment: Assignment) -> float:
    """Return the first instant, from the start of an assignment on, at which the constraints let it start."""
    if not problem.couples:
        return assignment.start
    return problem.next_start(assignment.job, assignment.start, assignment.mode.duration, profile.placed)


def earliest_end(problem: Problem, profile: Profile, j: int) -> Assignment | None:
    """Return the assignment of job ``j`` that ends first, over all starts and levels."""
    return Generation(problem).earliest_end(profile, j)


def _any_assignment(problem: Problem, profile: Profile, j: int) -> Assignment | None:
    """Return the earliest-ending assignment over all modes, where no filling was found; None of too many modes."""
    if problem.allocations.number > MAX_MODES:
        return None
    if not problem.modes[j]:
        raise CoallocError(f"job {problem.jobs[j].id!r} does not fit on the platform")
    starts = ((earliest_start_of(problem, profile, j, mode), mode) for mode in problem.modes[j])
    candidates = [Assignment(j, start, mode) for start, mode in starts if math.isfinite(start)]
    return min(candidates, key=lambda assignment: assignment.end, default=None)


def fillings(problem: Problem, job: Job, free: Sequence[int], left: Sequence[float]) -> Iterator[Mode]:
    """Yield modes of a rigid job on free processors (per class) that take no more than is left of each resource.

    One fills the fastest classes first, one the clusters with most free processors first; with scope
    ``cluster`` or ``node`` there is one per cluster or node.
    """
    links: list[Link] = [
        (problem.resources[k].classes, problem.allocations.load_table(job, k), left[k])
        for k in range(problem.allocations.num_links)
    ]
    first_pool = problem.allocations.num_links + problem.allocations.num_memories
    links += _pools(problem, job, range(first_pool, len(left)), left[first_pool:])
    room = room_for(problem, job, free, left)
    for allocation in _filled(problem, job, room, _class_orders(problem, room), links):
        if allocation is not None:
            yield problem.allocations.mode(job, allocation)


def room_for(problem: Problem, job: Job, free: Sequence[int], left: Sequence[float]) -> Sequence[float]:
    """Return how many tasks of a job each class can take: by free processors, and what is left of each resource."""
    usable = [min(pair) for pair in zip(free, problem.allocations.rooms(job), strict=True)]
    memories = range(problem.allocations.num_links, problem.allocations.num_links + problem.allocations.num_memories)
    room = _with_memory(problem, job, usable, memories, left[memories.start : memories.stop])
    return _with_stocks(problem, job, room, left) if job.asks_resources else room


def _with_stocks(problem: Problem, job: Job, room: Sequence[float], left: Sequence[float]) -> Sequence[float]:
    """Return the tasks that each class can take, cut to what is left of each stock: of its last classes first.

    Which classes of one cluster are cut is all the same to links, and of the platform as a whole all or none are.
    """
    cut, widest = list(room), max(shape.tasks for shape in problem.allocations.shapes(job))
    for k, stock in problem.allocations.stocks:
        total = int(sum(cut[g] for g in stock.classes))
        most = tasks_within(left[k], job, stock.resource, total)
        excess = 0 if stock.level == "platform" and most >= widest else total - most
        for g in reversed(stock.classes):
            taken = min(int(cut[g]), excess)
            cut[g] -= taken
            excess -= taken
    return cut


def _pools(problem: Problem, job: Job, pools: Sequence[int], left: Sequence[float]) -> list[Link]:
    """Return what pools leave of a job, as links do: the units that it takes by its tasks on their classes."""
    found: list[Link] = []
    for k, units in zip(pools, left, strict=True):
        pool = problem.resources[k]
        found.append((pool.classes, problem.allocations.load_table(job, k), units))
    return found


def _with_memory(
    problem: Problem, job: Job, free: Sequence[float], memories: Sequence[int], left: Sequence[float]
) -> Sequence[float]:
    """Return how many tasks the free processors of each class can have by what is ``left`` (MB) of the memories."""
    if not memories or not job.memory:
        return free
    room = list(free)
    for k, megabytes in zip(memories, left, strict=True):
        g = problem.resources[k].classes[0]
        if room[g] * job.memory > megabytes:
            room[g] = megabytes // job.memory
    return room


def _class_orders(problem: Problem, free: Sequence[float]) -> list[list[int]]:
    classes = problem.classes
    used = [g for g in range(len(classes)) if free[g] > 0]
    if problem.scope == "node":
        return [[g] for g in used]
    fastest = sorted(used, key=lambda g: -classes[g].effective_power)
    if problem.scope == "cluster":
        return [[g for g in fastest if classes[g].cluster == c] for c in sorted({classes[g].cluster for g in used})]
    room: dict[int, float] = {}
    for g in used:
        room[classes[g].cluster] = room.get(classes[g].cluster, 0) + free[g]
    widest = sorted(fastest, key=lambda g: (-room[classes[g].cluster], classes[g].cluster))
    return [fastest, widest] if fastest != widest else [fastest]


def _filled(
    problem: Problem, job: Job, room: Sequence[float], orders: Sequence[Sequence[int]], links: Sequence[Link]
) -> Iterator[Allocation | None]:
    """Yield the first allocation of a rigid job in each order of classes that the links can carry; None where none is.

    Of one that is spread over clusters in a certain way the first spread is taken for which there is one.
    """
    if problem.allocations.spread(job) is None:
        yield from (_fill(job.tasks, room, order, links) for order in orders)
        return
    for order in orders:
        rooms = [room[g] if g in order else 0 for g in range(len(room))]
        spreads = islice(problem.allocations.spreads(job, rooms, order), TRIED)
        found = (_fill_spread(problem, spread, rooms, order, links) for spread in spreads)
        yield next((allocation for allocation in found if allocation is not None), None)


def _fill_spread(
    problem: Problem, spread: Sequence[int], rooms: Sequence[float], order: Sequence[int], links: Sequence[Link]
) -> Allocation | None:
    """Return the allocation of a spread that fills the classes of each cluster in an order, if the links carry it."""
    rest, allocation = list(spread), [0] * len(rooms)
    for g in order:
        cluster = problem.classes[g].cluster
        allocation[g] = min(rest[cluster], int(rooms[g]))
        rest[cluster] -= allocation[g]
    is_carried = all(table[sum([allocation[g] for g in below])] <= limit for below, table, limit in links)
    return tuple(allocation) if is_carried and not any(rest) else None


def _fill(tasks: int, free: Sequence[float], order: Sequence[int], links: Sequence[Link]) -> Allocation | None:
    """Return the first allocation, most tasks on the first classes of the order, that the links can carry.

    A link is looked at as soon as the last of its classes has its tasks.
    """
    rooms = [int(room) for room in accumulate([free[g] for g in reversed(order)], initial=0)][::-1]  # from each on
    if rooms[0] < tasks:
        return None
    closed: list[list[Link]] = [[] for _ in order]
    for below, table, limit in links:
        places = [i for i, g in enumerate(order) if g in below]
        if places:
            closed[places[-1]].append((below, table, limit))
    allocation = [0] * len(free)
    steps = 0

    def place(i: int, rest: int) -> bool:
        nonlocal steps
        steps += 1
        if i == len(order):
            return rest == 0
        if steps > TRIED:
            return False
        g = order[i]
        allocation[g] = 0
        checks = [(sum([allocation[h] for h in below]), table, limit) for below, table, limit in closed[i]]
        for count in range(min(rest, int(free[g])), max(0, rest - rooms[i + 1]) - 1, -1):
            for others, table, limit in checks:
                if table[others + count] > limit:
                    break
            else:
                allocation[g] = count
                if place(i + 1, rest - count):  # noqa: F821 - it is deleted once all is done
                    return True
        allocation[g] = 0
        return False

    is_filled = place(0, tasks)
    del place  # it refers to itself, and would be there until the garbage collector comes
    return tuple(allocation) if is_filled else None
