"""A schedule as columns: what each placed job did, what the links carried, what ran already.

Metrics, groups of jobs and time series are computed from these columns, so that 200,000 jobs take a
fraction of a second. Times are in s. The jobs of the instance that the schedule does not place are not among them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.columns import column
from coalloc.documents.text import visible
from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.numbering import Intervals, UnknownProcessorError, intervals_of, places_within
from coalloc.instance.processor_names import ProcessorNames, distinct
from coalloc.instance.rounding import capacity_limit
from coalloc.instance.spread import clusters_under
from coalloc.problem.execution import all_to_all_load
from coalloc.schedule import InterruptedRun, Placement, Schedule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]

Holding = tuple[str, float, float, ProcessorNames]
"""A job by id, its start and end in s, and the names of the processors that it holds."""

ONE_GROUP = np.zeros(1, dtype=np.int64)
"""Begin of the groups where all jobs are one group."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Placed jobs as columns, shape ``(num_jobs,)`` each, in groups of adjacent rows.

    Group g begins at row ``first[g]`` and ends where the next begins; ungrouped jobs are one group.
    ``processors`` are those held, ``due_date`` is infinite where there is none. ``is_late``: the job ends after its
    deadline. ``clusters`` are how many it uses. ``has_unmet_level``: its tasks are not all under one switch of a level
    that it prefers. ``met_saturation``: at some instant the job loads a link whose total load is above its bandwidth.
    ``was_killed``: it was not done. A job that was interrupted has begun at ``first_start``, in ``interruptions`` runs
    before the one from ``start`` on. It held ``lost`` processor seconds in those whose work is lost, and ran for
    ``earlier`` s in those after which it was suspended and resumed.
    """

    arrival: Floats
    first_start: Floats
    start: Floats
    end: Floats
    base_time: Floats
    weight: Floats
    due_date: Floats
    is_late: Truths
    processors: Ints
    clusters: Ints
    has_unmet_level: Truths
    met_saturation: Truths
    was_killed: Truths
    interruptions: Ints
    lost: Floats
    earlier: Floats
    first: Ints

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def counts(self) -> Ints:
        """Number of jobs of each group, shape ``(num_groups,)``."""
        return np.diff(np.append(self.first, len(self)))

    def taken(self, rows: Ints, first: Ints | None = None) -> Jobs:
        """Return these rows, in this order, in groups that begin at ``first``; without, as one group."""
        return Jobs(
            self.arrival[rows],
            self.first_start[rows],
            self.start[rows],
            self.end[rows],
            self.base_time[rows],
            self.weight[rows],
            self.due_date[rows],
            self.is_late[rows],
            self.processors[rows],
            self.clusters[rows],
            self.has_unmet_level[rows],
            self.met_saturation[rows],
            self.was_killed[rows],
            self.interruptions[rows],
            self.lost[rows],
            self.earlier[rows],
            ONE_GROUP if first is None else first,
        )


@dataclass(frozen=True, slots=True)
class LinkLoads:
    """Loads of links: ``totals[k, i]``, MB/s, on link k from ``instants[i]`` (s) to ``instants[i + 1]``.

    Before the first instant and from the last on they carry nothing. ``names`` are distinct, ``bandwidths`` in MB/s.
    """

    names: tuple[str, ...]
    bandwidths: Floats
    instants: Floats
    totals: Floats

    def before(self, instants: Floats) -> Floats:
        """Return the load of each link just before some instants, MB/s, shape ``(num_links, num_instants)``."""
        nothing = np.zeros((len(self.names), 1))
        return np.concatenate([nothing, self.totals], axis=1)[:, np.searchsorted(self.instants, instants, side="left")]

    def shares(self, loads: Floats) -> Floats:
        """Return loads as shares of the bandwidth; a load on a link of no bandwidth is infinitely much."""
        bandwidths = np.broadcast_to(self.bandwidths[:, None], loads.shape)
        without = np.where(loads > 0.0, np.inf, 0.0)
        return np.asarray(np.divide(loads, bandwidths, out=without, where=bandwidths > 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ProcessorHolds:
    """Processors held as columns, one entry per job: how many, from when and until when, s."""

    processors: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, slots=True)
class Observed:
    """A schedule as columns, over the time from ``begin`` to ``finish``, s.

    ``jobs`` are the placed ones in the order of the schedule, ``running`` what the jobs that run already hold, and
    interrupted runs; ``waiting`` is when jobs wait again after those. ``num_processors`` is the platform's.
    """

    jobs: Jobs
    links: LinkLoads
    running: ProcessorHolds
    waiting: ProcessorHolds
    begin: float
    finish: float
    num_processors: int

    @property
    def span(self) -> float:
        """Length of the time that is observed, s."""
        return self.finish - self.begin

    def within(self, after: float | None, before: float | None) -> Observed:
        """Return the same over a part of the time, s; None: no limit."""
        begin = self.begin if after is None else max(self.begin, after)
        finish = self.finish if before is None else min(self.finish, before)
        return replace(self, begin=begin, finish=max(begin, finish))

    def seconds_within(self, start: Floats, end: Floats) -> Floats:
        """Return how much of each interval lies within the time that is observed, s."""
        parts = np.minimum(end, self.finish) - np.maximum(start, self.begin)
        return np.asarray(np.maximum(0.0, parts), dtype=np.float64)


def observe(instance: Instance, schedule: Schedule) -> Observed:
    """Return a schedule as columns, from the origin to the last end of a placement.

    Raises :class:`CoallocError` where the schedule places jobs or uses processors that the instance
    does not have: ``check`` says more.
    """
    placements, interrupted = schedule.placements, schedule.interrupted
    running: list[RunningJob | InterruptedRun] = [*instance.running, *interrupted]
    placed = placed_jobs(instance, schedule)
    start, end = _floats(placements, "start"), _floats(placements, "end")
    running_start, running_end = _floats(running, "start"), _floats(running, "end")
    tasks = _tasks_per_cluster(instance, column(placements, "nodes"))
    held = _tasks_per_cluster(instance, [run.nodes for run in running])
    again = placed_jobs(instance, Schedule(schedule.runs[: len(interrupted)])) if interrupted else ()
    loads = _loads(instance, [(placed, tasks), ([*(run.job for run in instance.running), *again], held)])
    spans = np.concatenate([start, running_start]), np.concatenate([end, running_end])
    links, met_saturation = _link_loads(instance, spans, loads)
    earlier = _earlier_runs(schedule, start, held[len(instance.running) :].sum(axis=1))
    return Observed(
        Jobs(
            arrival=_floats(placed, "arrival"),
            first_start=earlier.first_start,
            start=start,
            end=end,
            base_time=_floats(placed, "base_time"),
            weight=_floats(placed, "weight"),
            due_date=_latest(placed, "due_date"),
            is_late=end > _latest(placed, "deadline") + instance.time_base.tolerances(end),
            processors=tasks.sum(axis=1),
            clusters=(tasks > 0).sum(axis=1),
            has_unmet_level=_unmet_levels(instance, placed, tasks),
            met_saturation=_of_all_runs(schedule, met_saturation),
            was_killed=np.array([outcome == "killed" for outcome in column(placements, "outcome")], dtype=bool),
            interruptions=earlier.number,
            lost=earlier.lost,
            earlier=earlier.kept,
            first=ONE_GROUP,
        ),
        links,
        ProcessorHolds(held.sum(axis=1), running_start, running_end),
        earlier.waiting,
        begin=instance.origin,
        finish=float(end.max()) if len(end) else instance.origin,
        num_processors=instance.platform.num_processors,
    )


def _of_all_runs(schedule: Schedule, met_saturation: Truths) -> Truths:
    """Return whether a placed job met saturation in any of its runs; the interrupted ones are the last of the rows."""
    met, row_of = met_saturation[: len(schedule.placements)].copy(), {}
    if schedule.interrupted:
        row_of = {placement.job: row for row, placement in enumerate(schedule.placements)}
    for run, has_met in zip(reversed(schedule.interrupted), reversed(met_saturation.tolist()), strict=False):
        if has_met and run.job in row_of:
            met[row_of[run.job]] = True
    return met


@dataclass(frozen=True, slots=True)
class _EarlierRuns:
    """The interrupted runs of placed jobs.

    These are when the first begins (s; without, the placement), how many there are, what those held whose work is lost
    (processor s), how long those lasted whose work is kept (s), and when jobs wait in the queue for the next.
    """

    first_start: Floats
    number: Ints
    lost: Floats
    kept: Floats
    waiting: ProcessorHolds


def _earlier_runs(schedule: Schedule, start: Floats, processors: Ints) -> _EarlierRuns:
    """Return the interrupted runs of a schedule, which hold so many processors; ``start`` are its placements', s."""
    first_start, number, (lost, kept) = start, np.zeros(len(start), dtype=np.int64), np.zeros((2, len(start)))
    waiting: list[tuple[int, float, float]] = []
    if schedule.interrupted:
        first_start, row_of = start.copy(), {p.job: row for row, p in enumerate(schedule.placements)}
        runs = sorted(zip(schedule.interrupted, processors.tolist(), strict=True), key=lambda run: -run[0].start)
        for run, count in runs:
            row = row_of.get(run.job)
            if row is None:
                continue
            if run.cause != "suspension":
                waiting.append((count, run.end, float(first_start[row])))
            first_start[row] = run.start
            number[row] += 1
            if run.cause == "suspension" and not lost[row]:
                kept[row] += run.end - run.start
            else:
                lost[row] += count * (run.end - run.start)
    counts, begin, until = zip(*waiting, strict=True) if waiting else ((), (), ())
    held = ProcessorHolds(np.array(counts, np.int64), np.array(begin, np.float64), np.array(until, np.float64))
    return _EarlierRuns(first_start, number, lost, kept, held)


def _floats(values: Sequence[object], name: str) -> Floats:
    """Return a field of jobs or runs."""
    return np.array(column(values, name), dtype=np.float64)


def _unmet_levels(instance: Instance, jobs: Sequence[Job], tasks: Ints) -> Truths:
    """Return whether each job prefers a level under no single switch of which all its tasks are."""
    found = np.zeros(len(jobs), dtype=bool)
    for row, level in enumerate(column(jobs, "level")):
        if level is not None and not level.required:
            used = set(np.flatnonzero(tasks[row]).tolist())
            found[row] = not any(used <= part for part in clusters_under(instance.platform, level.name))
    return found


def _latest(jobs: Sequence[Job], name: str) -> Floats:
    """Return a date of each job, s; infinity where it has none."""
    return np.array([math.inf if date is None else date for date in column(jobs, name)], dtype=np.float64)


def placed_jobs(instance: Instance, schedule: Schedule) -> Sequence[Job]:
    """Return the job of each placement, in its shape; raises where the instance does not have it."""
    placements = schedule.placements
    if not ("shapes" in instance.features or any(column(placements, "shape"))):
        return _jobs_by_name(instance, placements)
    jobs = _jobs_by_name(instance, placements)
    return [_in_shape(job, placement) for job, placement in zip(jobs, placements, strict=True)]


def in_shapes(instance: Instance, schedule: Schedule) -> Instance:
    """Return an instance with its jobs in the shapes that they have in a schedule, of all of them."""
    if "shapes" not in instance.features:
        return instance
    placed = {job.id: job for job in placed_jobs(instance, schedule)}
    return instance.replace(jobs=[placed[job.id] for job in instance.jobs])


def _in_shape(job: Job, placement: Placement) -> Job:
    """Return a job as it runs in a placement; raises where it has no such shape."""
    if placement.shape > len(job.shapes):
        raise CoallocError(
            f"the schedule gives job {visible(job.id)} shape {placement.shape}, which the job does not have; "
            "`coalloc check` lists all violations"
        )
    return job.in_shapes[placement.shape]


def _jobs_by_name(instance: Instance, placements: Sequence[Placement]) -> Sequence[Job]:
    names = column(placements, "job")
    if names == column(instance.jobs, "id"):
        return instance.jobs
    unknown = [name for name in names if name not in instance.job_by_id]
    if unknown:
        raise CoallocError(
            f"the schedule places job {visible(unknown[0])}, which is not in the instance; "
            "`coalloc check` lists all violations"
        )
    return [instance.job_by_id[name] for name in names]


def intervals_held(instance: Instance, nodes: Sequence[ProcessorNames]) -> Intervals:
    """Return the processors of each list of names; raises where one is none of the platform."""
    try:
        return intervals_of(instance.platform.numbering, nodes)
    except UnknownProcessorError as error:
        raise CoallocError(
            f"the schedule uses {visible(error.args[0])}, which is not a processor of the platform; "
            "`coalloc check` lists all violations"
        ) from None


@dataclass(frozen=True, slots=True)
class NodeSpans:
    """Adjacent processors of one row as columns: the nodes ``first`` to ``last`` that they are on.

    ``begin`` and ``stop`` are the processors, counted from the first of the first node, which has ``cores`` cores as
    all of them have.
    """

    row: Ints
    first: Ints
    last: Ints
    begin: Ints
    stop: Ints
    cores: Ints


def node_spans(instance: Instance, nodes: Sequence[ProcessorNames]) -> NodeSpans:
    """Return on which nodes the processors are that the rows name."""
    held, numbering = intervals_held(instance, nodes), instance.platform.numbering
    num_before = np.cumsum(numbering.count) - numbering.count
    stretch = np.searchsorted(numbering.processor, held.first, side="right") - 1
    cores, base = numbering.cores[stretch], numbering.processor[stretch]
    node = (held.first - base) // cores
    begin, stop = held.first - base - node * cores, held.stop - base - node * cores
    first = num_before[stretch] + node
    return NodeSpans(held.holder, first, first + (stop - 1) // cores, begin, stop, cores)


@dataclass(frozen=True, slots=True)
class ObservedNodeUse:
    """The ``cores`` of a node that a row has, as columns; a node may stand there several times."""

    row: Ints
    node: Ints
    cores: Ints


def node_use(instance: Instance, nodes: Sequence[ProcessorNames]) -> ObservedNodeUse:
    """Return which nodes each row uses, and with how many cores."""
    spans = node_spans(instance, nodes)
    counts = spans.last - spans.first + 1
    span, place = np.repeat(np.arange(len(counts)), counts), places_within(counts)
    low = np.maximum(spans.begin[span], place * spans.cores[span])
    high = np.minimum(spans.stop[span], (place + 1) * spans.cores[span])
    return ObservedNodeUse(spans.row[span], spans.first[span] + place, high - low)


def _tasks_per_cluster(instance: Instance, nodes: Sequence[ProcessorNames]) -> Ints:
    """Return how many of the processors named in each row each cluster has, shape ``(num_rows, num_clusters)``."""
    unique, which = distinct(nodes)
    held = intervals_held(instance, unique)
    sizes = [cluster.num_processors for cluster in instance.platform.clusters]
    cluster = np.searchsorted(np.cumsum(sizes), held.first, side="right")
    counts = np.bincount(held.holder * len(sizes) + cluster, held.size, len(unique) * len(sizes))
    return counts.astype(np.int64).reshape(len(unique), len(sizes))[which]


def stepwise(spans: tuple[Ints, Ints], amounts: Floats, num_instants: int) -> Floats:
    """Return the sum of the amounts that count from each instant to the next; ``spans`` are first and last instants."""
    begin, finish = spans
    changes = np.bincount(begin, amounts, num_instants) - np.bincount(finish, amounts, num_instants)
    return np.asarray(np.cumsum(changes), dtype=np.float64)


# ------------------------------------------------------------------------------ links


def _link_loads(instance: Instance, spans: tuple[Floats, Floats], loads: Floats) -> tuple[LinkLoads, Truths]:
    """Return what links carry over time, and which jobs meet a saturated link that they load.

    ``spans`` are the starts and the ends of the jobs, s, ``loads`` their loads, shape ``(num_jobs, num_links)``.
    """
    links = instance.platform.links
    met = np.zeros(len(loads), dtype=bool)
    instants, index = instance.time_base.merged(np.concatenate(spans)[np.tile(loads.any(axis=1), 2)])
    begin, finish = np.zeros((2, len(loads)), dtype=np.int64)
    begin[loads.any(axis=1)], finish[loads.any(axis=1)] = np.split(index, 2)
    totals = np.zeros((len(links), len(instants)))
    for k, link in enumerate(links):
        totals[k] = _total_load(loads[:, k], begin, finish, len(instants))
        num_saturated = np.concatenate([[0], np.cumsum(totals[k] > capacity_limit(link.bandwidth))])
        met |= (loads[:, k] > 0.0) & (num_saturated[finish] > num_saturated[begin])
    bandwidths = np.array([link.bandwidth for link in links])
    return LinkLoads(_distinct([link.name for link in links]), bandwidths, instants, totals), met


def _loads(instance: Instance, parts: Sequence[tuple[Sequence[Job], Ints]]) -> Floats:
    """Return the load of each job on each link, MB/s; parts are jobs, and the tasks of each in each cluster."""
    links = instance.platform.links
    in_all, task_bandwidth = (
        np.concatenate([_floats(jobs, name) for jobs, _ in parts]) for name in ("tasks", "task_bandwidth")
    )
    tasks = np.concatenate([in_clusters for _, in_clusters in parts])
    loads = np.zeros((len(tasks), len(links)))
    rows = np.flatnonzero(((tasks > 0).sum(axis=1) > 1) & (in_all > 1.0))
    placed = tasks[rows]
    for k, link in enumerate(links):
        inside = placed[:, sorted(link.clusters)].sum(axis=1).astype(np.float64)
        loads[rows, k] = all_to_all_load(inside, in_all[rows], task_bandwidth[rows])
    return loads


def _total_load(loads: Floats, begin: Ints, finish: Ints, num_instants: int) -> Floats:
    """Return the load of a link from each instant to the next, MB/s."""
    loading = (loads > 0.0) & (begin < finish)
    spans = begin[loading], finish[loading]
    total = stepwise(spans, loads[loading], num_instants)
    return np.where(stepwise(spans, np.ones(len(spans[0])), num_instants) > 0.0, total, 0.0)  # no rest of rounding


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with a prime on those that stand before: a switch may be named as a cluster is."""
    found: list[str] = []
    for name in names:
        candidates = (name + primes * "'" for primes in itertools.count())
        found.append(next(candidate for candidate in candidates if candidate not in found))
    return tuple(found)
