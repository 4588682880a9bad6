"""Simple lower bounds, in ticks: longest job and packing on the latest end, squashed area on the sum of ends.

Derivations: docs/mathematics/bounds.md. All hold for slots, rounded up or down, and for seconds.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Platform
from coalloc.instance.resources import Level, level_of
from coalloc.objectives import Criterion
from coalloc.problem import NotTogetherRow, Problem
from coalloc.rules.dual_feasible import weightings
from coalloc.solvers.bounds.memory_relaxations import memory_relaxations
from coalloc.solvers.bounds.safe_side import rounded
from coalloc.solvers.bounds.work import work
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.system.garbage import no_collection

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def longest_job(problem: Problem) -> float:
    """Return the latest of (release + fastest duration) over the jobs."""
    return max(earliest_ends(problem), default=0)


MOST_WHOLE = 1e12
"""Capacity up to which dual feasible functions are exact in whole numbers of 64 bits."""


class Shapes(NamedTuple):
    """Requirements of jobs in each of their shapes, with their least ticks, and where the shapes of each job begin."""

    first: Ints
    size: Floats
    ticks: Floats


def packing(problem: Problem) -> float:
    """Return the best bound of dual feasible functions, the plain area bound among them.

    For each weighting and each release r: when the weighted durations of the jobs that arrive at r or
    later are done, if they get all that running jobs leave free.
    """
    if not problem.jobs:
        return 0.0
    shapes = fastest_shapes(problem)
    held = [sum(busy.allocation) for busy in problem.busy]
    return _packed(problem, shapes, held, sum(problem.capacities))


def _packed(problem: Problem, shapes: Shapes, held: Sequence[float], capacity: float) -> float:
    """Return :func:`packing` of jobs by a size and ticks in each shape, beside what running jobs hold of a capacity."""
    amounts = np.concatenate([shapes.size, [min(size, capacity) for size in held]])
    sizes, size_of = np.unique(amounts, return_inverse=True)
    arrivals, durations = np.array(problem.releases, dtype=float), shapes.ticks
    ends = np.array([busy.end for busy in problem.busy], dtype=float)
    first_shapes = shapes.first if problem.allocations.is_moldable else None
    if first_shapes is None:  # jobs of one size that arrive together count as one
        arrivals, size_of, durations = _together(arrivals, size_of, durations)
    order = np.argsort(arrivals, kind="stable")
    releases = arrivals[order]
    is_whole = capacity <= MOST_WHOLE and all(float(size).is_integer() for size in (*sizes, capacity))
    weights = weightings(sizes.tolist(), int(capacity)) if is_whole else [sizes / capacity]

    def done(weight: Floats) -> float:
        """Return when all is done by one weighting: they are many, so only one at a time is kept for all jobs."""
        works = weight[size_of[: len(durations)]] * durations
        if first_shapes is not None:  # a job takes the shape that weighs least in all
            works = np.minimum.reduceat(works, first_shapes)
        suffixes = np.cumsum(works[order][::-1])[::-1]
        if not len(ends):
            return float((releases + suffixes).max())
        return float(_done(releases, suffixes, weight[size_of[len(durations) :]], ends).max())

    return rounded(problem, max(done(np.asarray(weight)) for weight in weights))


def _together(arrivals: Floats, size_of: Ints, durations: Floats) -> tuple[Floats, Ints, Floats]:
    """Return arrivals, sizes (by number) and durations of jobs, those of equal arrival and size as one.

    Further sizes, of what runs, stay where they are.
    """
    num_jobs = len(durations)
    kinds, kind_of = np.unique(np.stack([arrivals, size_of[:num_jobs]]), axis=1, return_inverse=True)
    sizes = np.concatenate([kinds[1].astype(np.int64), size_of[num_jobs:]])
    together: Floats = np.bincount(kind_of.ravel(), durations).astype(float)
    return kinds[0], sizes, together


def _done(releases: Floats, work: Floats, weights: Floats, ends: Floats) -> Floats:
    """Return when ``work`` (weight times ticks) is done from each release on, beside running jobs until their ends."""
    times = np.unique(np.concatenate([releases[:1], ends[ends > releases[0]]]))
    free = np.maximum(0.0, 1.0 - (weights * (ends > times[:, None])).sum(axis=1))
    free[-1] = 1.0
    supplied = np.concatenate([[0.0], np.cumsum(free[:-1] * np.diff(times))])
    targets = _supply(times, supplied, releases) + work
    piece = np.maximum(np.searchsorted(supplied, targets, side="left") - 1, 0)
    share = np.where(work > 0.0, free[piece], 1.0)
    return np.where(work > 0.0, times[piece] + (targets - supplied[piece]) / share, releases)


def _supply(times: Floats, supplied: Floats, instants: Floats) -> Floats:
    """Return what is free up to each instant: linear between the times, everything after the last."""
    after_last: Floats = np.maximum(0.0, instants - times[-1])
    return after_last + np.interp(instants, times, supplied)


def fastest_durations(problem: Problem) -> list[float]:
    """Return the least ticks that each job can take, shape ``(num_jobs,)``."""
    ticks: list[float] = problem.speeds.columns.fastest.tolist()
    return ticks


def fastest_shapes(problem: Problem) -> Shapes:
    """Return tasks and least ticks of the shapes that the platform holds."""
    first, job_of, ticks, tasks, _ = problem.speeds.columns
    if problem.allocations.is_moldable:
        _, chosen = np.unique(np.stack([job_of, tasks]), axis=1, return_index=True)  # the fastest level comes first
        first = np.searchsorted(job_of[chosen], np.arange(len(first)))
    else:
        chosen, first = first[:-1], np.arange(len(first))
    return Shapes(first[:-1], tasks[chosen].astype(float), ticks[chosen])


def least_works(problem: Problem) -> list[float]:
    """Return the least processor ticks that each job can take, shape ``(num_jobs,)``."""
    first, tasks, ticks = fastest_shapes(problem)
    works: list[float] = np.minimum.reduceat(tasks * ticks, first).tolist() if len(first) else []
    return works


def earliest_ends(problem: Problem) -> list[float]:
    """Return when each job could end if it were alone, ticks, shape ``(num_jobs,)``."""
    return [r + d for r, d in zip(problem.releases, fastest_durations(problem), strict=True)]


def simple_bound(problem: Problem) -> float:
    """Return the best of :func:`longest_job`, :func:`packing`, and what memory, resources, the scope and rows add."""
    by_scope = [work(problem)] if problem.allocations.parts and problem.jobs else []
    return max(
        [
            longest_job(problem),
            packing(problem),
            *by_scope,
            *_by_memory(problem),
            *_by_resources(problem),
            *_by_rows(problem),
        ]
    )


def _by_rows(problem: Problem) -> Iterator[float]:
    """Yield when jobs that never run together are done one after the other."""
    fastest = fastest_durations(problem) if problem.rows else []
    for row in problem.rows:
        if isinstance(row, NotTogetherRow):
            done = -math.inf
            for release, least in sorted((problem.releases[j], fastest[j]) for j in {*row.jobs}):
                done = max(done, release) + least
            yield done


def _by_resources(problem: Problem) -> Iterator[float]:
    """Yield packing by each resource that jobs take."""
    return (resource_packing(problem, name) for name in problem.instance.resources_asked)


def resource_packing(problem: Problem, resource: str) -> float:
    """Return packing by a resource: all places that have it as one, of which a job takes as in one place alone."""
    total = problem.instance.platform.total_of(resource)
    if total <= 0.0:
        return 0.0
    shapes = fastest_shapes(problem)
    jobs = np.repeat(np.arange(len(problem.jobs)), np.diff(shapes.first, append=len(shapes.size)))
    taken = zip(jobs.tolist(), shapes.size.tolist(), strict=True)
    amounts = np.array([problem.jobs[j].amount(resource, int(tasks)) for j, tasks in taken], dtype=float)
    return _packed(problem, shapes._replace(size=amounts), _held(problem, resource), total)


def _held(problem: Problem, resource: str) -> list[float]:
    """Return what each running job takes of a resource: together, in each place, no more than it has.

    What they overload is first theirs that end last, so that at any time they hold what is not free.
    """
    platform, level = problem.instance.platform, level_of(problem.instance.platform, resource)
    started = [run for run in problem.instance.running if run.start <= 0.0]
    left, held = dict[int, float](), [0.0] * len(started)
    for b in sorted(range(len(started)), key=lambda b: -problem.busy[b].end):
        run = started[b]
        nodes = Counter(platform.processor_node[platform.processor_index[name]] for name in run.nodes)
        places = Counter[int]()
        for node, tasks in nodes.items():
            places[{"platform": 0, "cluster": platform.nodes[node].cluster, "node": node}[level]] += tasks
        for place, tasks in places.items():
            if place not in left:
                left[place] = _capacity(platform, resource, level, place)
            taken = min(run.job.amount(resource, tasks), left[place])
            left[place] -= taken
            held[b] += taken
    return held


def _capacity(platform: Platform, resource: str, level: Level, place: int) -> float:
    """Return what a place has of a resource: the platform, a cluster or a node, by index."""
    if level == "platform":
        return platform.resources[resource]
    if level == "cluster":
        return platform.clusters[place].resources.get(resource, 0.0)
    node = platform.nodes[place]
    return platform.clusters[node.cluster].nodes[node.group].resources.get(resource, 0.0)


def _by_memory(problem: Problem) -> Iterator[float]:
    """Yield bounds for memory: megabyte ticks of jobs over megabytes of nodes, and packing on what memory leaves."""
    if problem.is_restricted and any(job.memory for job in problem.jobs):
        yield _memory_area(problem)
        yield from map(packing, memory_relaxations(problem))


def _memory_area(problem: Problem) -> float:
    """Return when the megabyte ticks of the jobs that arrive at a release or later are done, over all releases.

    A node without a limit counts as one that has enough for the largest task on each core. What runs already is left
    out.
    """
    asked = problem.instance.largest_task_memory
    megabytes = math.fsum(
        c.capacity * asked if c.group.memory is None else min(c.capacity * asked, c.num_nodes * c.group.memory)
        for c in problem.classes
    )
    work = [(job.memory or 0.0) * least for job, least in zip(problem.jobs, least_works(problem), strict=True)]
    best, later = 0.0, 0.0
    for release, of_job in sorted(zip(problem.releases, work, strict=True), reverse=True):
        later += of_job / megabytes
        best = max(best, release + later)
    return rounded(problem, best)


def squashed_area(problem: Problem) -> float:
    """Return a lower bound on the sum of ends: one machine that does the work of all processors.

    Each job brings ``tasks * duration / processors`` ticks of it; the shortest remaining first is optimal then.
    Source: J. Turek et al., "Scheduling parallelizable tasks to minimize average response time", SPAA (1994).
    """
    processors = sum(problem.capacities)
    arrivals = sorted(zip(problem.releases, (work / processors for work in least_works(problem)), strict=True))
    now, total, waiting = 0.0, 0.0, list[float]()
    following = [*(release for release, _ in arrivals), math.inf][1:]
    for (release, ticks), interrupted in zip(arrivals, following, strict=True):
        now = max(now, release)
        heapq.heappush(waiting, ticks)
        while waiting and now + waiting[0] <= interrupted:
            now += heapq.heappop(waiting)
            total += now
        if waiting and now < interrupted:
            heapq.heapreplace(waiting, waiting[0] - (interrupted - now))
            now = interrupted
    return rounded(problem, total)


@no_collection()  # what is made of each job is kept
def quick_bound(criterion: Criterion) -> float:
    """Return a bound on the cost that costs nothing: longest job and packing, or every job alone and squashed area."""
    problem, objective = criterion.problem, criterion.objective
    if objective.is_latest_end:
        return simple_bound(problem)
    alone = objective.of_costs(criterion.alone)
    return max(alone, squashed_area(problem)) if objective.counts_ends else alone


def _run(incumbent: Incumbent) -> None:
    incumbent.prove(quick_bound(incumbent.criterion), METHOD.name)


METHOD = Method("longest job and packing", _run, stage="bound")
