"""``replay``: what a schedule is worth in continuous time, with its starts kept or moved left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import gt
from typing import Literal

import numpy as np

from coalloc.checker import check
from coalloc.documents.arguments import public
from coalloc.documents.errors import InternalError
from coalloc.documents.text import visible
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.instance.numbering import intervals_of
from coalloc.instance.processor_names import ProcessorNames
from coalloc.problem import Assignment, Mode, Problem, discretise
from coalloc.problem.allocation import allocations_of
from coalloc.problem.budgets import in_clusters
from coalloc.problem.execution import Load, kinds_of, processing_slowdown, shared_link_ends
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import book, earliest_start
from coalloc.schedule import Placement, Schedule
from coalloc.schedule.observed import in_shapes

Starts = Literal["keep", "left"]

STRUCTURE = (
    "other-instance",
    "missing-job",
    "duplicate-job",
    "unknown-job",
    "shape",
    "task-count",
    "repeated-processor",
    "unknown-processor",
    "eligibility",
)
"""Rules of the checker that say which jobs run on which processors."""


@public
def replay(instance: Instance, schedule: Schedule, starts: Starts = "keep") -> Schedule:
    """Run the jobs of a schedule on its nodes with their real durations, without slots.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        Its nodes and starts are used, its ends and its slot are not. A killed job keeps its duration.
    starts : {"keep", "left"}, default "keep"
        ``"keep"``: every start is kept; links may saturate and slow jobs down. ``"left"``: jobs are left-shifted in the
        order of their starts (a semi-active schedule): each starts as soon as it has arrived, its predecessors have
        ended, its nodes are free and available, and no link saturates. The order of jobs on every node is kept. Running
        jobs, advance reservations and maintenance windows stay in place. No start moves to the right.
        Jobs with a maximal or a negative lag, and those that it counts from, keep their starts.

    Returns
    -------
    Schedule
        A schedule in continuous time. It passes ``coalloc.check`` with ``links="shared"``, and with ``links="strict"``
        if the starts are ``"left"``.

    Raises
    ------
    CoallocError
        The schedule is not one of the instance, a node is not free at a start that is kept, or with ``starts="left"`` a
        single job saturates a link or exceeds the memory of a node.

    See Also
    --------
    coalloc.simulate : Run an instance under a policy.
    coalloc.slot_study : Measure the cost of slotted time.

    Notes
    -----
    The makespans of a slotted schedule are left-shifted <= replayed <= slotted (errata 5), and the optimum in
    continuous time is at most the first.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> slotted = coalloc.solve(instance, slot=150.0).schedule
    >>> replayed = coalloc.replay(instance, slotted)
    >>> shifted = coalloc.replay(instance, slotted, starts="left")
    >>> [coalloc.metrics(instance, s)["makespan"] for s in (slotted, replayed, shifted)]
    [600.0, 500.0, 455.0]
    """
    instance.refuse_shared_nodes("replay")
    if schedule.interrupted:
        raise CoallocError("the schedule has interrupted runs, which replay does not support")
    broken = [v for v in check(instance, schedule, links="ignore") if v.rule in STRUCTURE]
    if broken:
        raise CoallocError(f"the schedule does not match the instance: {visible(broken[0].sentence)}")
    problem = discretise(in_shapes(instance, schedule), None)
    placed = list(_placed(problem, schedule))
    times = _kept(problem, placed) if starts == "keep" else _moved_left(problem, placed)
    placements = tuple(p.replace(start=times[p.job][0], end=times[p.job][1]) for p in schedule)
    replayed = Schedule(placements, instance=instance.name)
    faults = check(instance, replayed, links="shared" if starts == "keep" else "strict", deadlines="report")
    if faults and starts == "left":
        raise InternalError(f"the schedule moved left does not pass the checker: {faults[0]}")
    if faults:
        raise CoallocError(
            f"the starts cannot be kept ({visible(faults[0].sentence)}); use starts='left' to left-shift the jobs"
        )
    return replayed


Times = Mapping[str, tuple[float, float]]
"""Start and end (s) of each job by id."""


@dataclass(frozen=True, slots=True)
class _PlacedMode:
    """A placement, its job by index, and the mode that it is; a killed job has the duration it had."""

    placement: Placement
    job: int
    mode: Mode


Span = tuple[int, int]
"""Processors ``[first, stop)`` by index."""


def _placed(problem: Problem, schedule: Schedule) -> Iterator[_PlacedMode]:
    """Yield the placements in the order of their starts, those of one instant as the schedule lists them."""
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    in_order = sorted(schedule, key=lambda p: p.start)
    numbering = problem.instance.platform.numbering
    allocations = allocations_of(numbering, [p.nodes for p in in_order], problem.classes)
    for placement, allocation in zip(in_order, allocations, strict=True):
        j = number[placement.job]
        mode = problem.allocations.mode(problem.jobs[j], allocation)
        if placement.outcome == "killed":
            mode = replace(mode, duration=placement.end - placement.start)
        yield _PlacedMode(placement, j, mode)


def _kept(problem: Problem, placed: Sequence[_PlacedMode]) -> Times:
    """Return the given starts with real ends: links are shared."""
    platform, running = problem.instance.platform, problem.instance.running
    held = allocations_of(platform.numbering, [run.nodes for run in running], problem.classes)
    loads = {
        run.job.id: Load(
            run.job,
            run.start,
            problem.allocations.loads(run.job, counts)[: problem.allocations.num_links],
            1.0,
            run.end,
        )
        for run, counts in zip(running, held, strict=True)
    }
    loads |= {item.placement.job: _load(problem, item) for item in placed}
    ends = shared_link_ends(loads, [link.bandwidth for link in problem.instance.platform.links])
    return {item.placement.job: (item.placement.start, ends[item.placement.job]) for item in placed}


def _load(problem: Problem, item: _PlacedMode) -> Load:
    """Return a placement as it is on the links; the end of a killed job is given."""
    job, loads = problem.jobs[item.job], item.mode.loads[: problem.allocations.num_links]
    groups = [node_class.group for node_class in compress(problem.classes, item.mode.allocation)]
    processing = processing_slowdown(group.effective_power for group in groups)
    end = item.placement.end if item.placement.outcome == "killed" else None
    kinds = kinds_of(job, groups) if job.times else ()
    return Load(job, item.placement.start, loads, processing, end, kinds)


def _moved_left(problem: Problem, placed: Sequence[_PlacedMode]) -> Times:
    """Return the earliest starts in the given order, on the same nodes, and their ends; no link saturates."""
    profile = Profile(problem)
    platform, running = problem.instance.platform, problem.instance.running
    free_from = np.zeros(platform.num_processors)
    for run, held in zip(running, _spans(platform, [run.nodes for run in running]), strict=True):
        for first, stop in held if run.start <= 0.0 else ():
            free_from[first:stop] = run.end
    ends = {run.job.id: run.end for run in running}
    times = {}
    starts = {run.job.id: run.start for run in running}
    tied = _tied(problem)
    for item, held in zip(placed, _spans(platform, [item.placement.nodes for item in placed]), strict=True):
        _refuse_impossible(problem, item)
        job = problem.jobs[item.job]
        late = [other for other in job.after if other not in ends]
        if late:
            raise CoallocError(f"the schedule starts job {visible(job.id)} before its predecessor {visible(late[0])}")
        before = (ends[other] for other in job.after)
        lags = (lag.min + (starts if lag.from_ == "start" else ends).get(lag.after, -np.inf) for lag in job.lags)
        kept = item.placement.start if job.id in tied else 0.0
        ready = max(job.arrival, kept, *before, *lags, *(float(free_from[first:stop].max()) for first, stop in held))
        assignment = Assignment(item.job, earliest_start(profile, ready, item.mode), item.mode)
        book(profile, assignment)
        for first, stop in held:
            free_from[first:stop] = assignment.end
        times[job.id] = assignment.start, assignment.end
        starts[job.id], ends[job.id] = times[job.id]
    return times


def _tied(problem: Problem) -> set[str]:
    """Return the ids of jobs with lags that an earlier start of one of the two may break: they keep their starts."""
    pairs = [(job.id, lag) for job in problem.jobs for lag in job.lags]
    tied = [(job, lag) for job, lag in pairs if lag.max is not None or lag.min < 0.0 or lag.from_ == "start"]
    return {name for job, lag in tied for name in (job, lag.after)}


def _spans(platform: Platform, nodes: Sequence[ProcessorNames]) -> list[list[Span]]:
    """Return the processors of each list of names."""
    spans: list[list[Span]] = [[] for _ in nodes]
    held = intervals_of(platform.numbering, nodes)
    for row, first, stop in zip(held.holder.tolist(), held.first.tolist(), held.stop.tolist(), strict=True):
        spans[row].append((first, stop))
    return spans


def _refuse_impossible(problem: Problem, item: _PlacedMode) -> None:
    """Raise where a job saturates a link by itself, or finds too little memory, or of a resource, where it is."""
    job = problem.jobs[item.job]
    for k, stock in problem.allocations.stocks:
        if item.mode.loads[k] > stock.limit:
            raise CoallocError(
                f"job {visible(job.id)} alone requires {item.mode.loads[k]:g} of the resource {visible(stock.name)}, "
                f"whose capacity is {stock.limit:g}"
            )
    spread = problem.allocations.spread(job)
    if spread is not None and not spread.keeps(in_clusters(problem.allocations, item.mode.allocation)):
        raise CoallocError(
            f"job {visible(job.id)} is spread over clusters as its max_clusters, min_tasks_per_cluster, slices or "
            "level exclude"
        )
    if any(map(gt, item.mode.allocation, problem.allocations.rooms(job))):
        by_memory = any(
            n > c.room(job.memory or 0.0) for n, c in zip(item.mode.allocation, problem.classes, strict=True)
        )
        asked = f"requires {job.memory or 0.0:g} MB of memory per task, but its nodes have less"
        why = asked if by_memory else "requires more of a resource than its nodes have"
        raise CoallocError(f"job {visible(job.id)} {why}")
    for k, link in enumerate(problem.instance.platform.links):
        load = item.mode.loads[k]
        if load > problem.allocations.limits[k]:
            raise CoallocError(
                f"job {visible(item.placement.job)} alone loads the link of {visible(link.name)} with {load:g} "
                "MB/s, above "
                f"its bandwidth of {link.bandwidth:g} MB/s; starts='keep' allows saturated links"
            )
