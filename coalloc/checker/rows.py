"""A schedule as columns: running jobs and placements, their points in time, processors, tasks and link loads.

Points in time closer than the time tolerance are one, so that jobs back to back do not overlap by rounding. Intervals
are half-open, and a job that lasts no longer than the tolerance occupies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.checker.processor_sets import Floats, Groups, Ints, Sets, Spans, groups_of, sets_of
from coalloc.instance import Instance, Job, column
from coalloc.instance.processor_names import distinct
from coalloc.instance.time_base import TimeBase
from coalloc.schedule import Placement, Schedule


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The running jobs (the first ``num_running`` rows), then interrupted runs and the placements, as columns.

    ``jobs`` holds None where ``is_unknown``: the instance has no such job, or no such mode of it. ``slowdown`` is SP,
    NaN where a processor is unknown or none is named. ``start`` and ``end`` are in s, ``begin`` and ``finish`` index
    ``instants`` (s). Other times equal those of a row within its ``tolerance`` (s), from ``base``. Row i holds the
    processors of set ``held[i]`` of ``sets``.
    """

    placements: tuple[Placement, ...]
    num_running: int
    ids: list[str]
    jobs: Sequence[Job | None]
    is_unknown: NDArray[np.bool_]
    start: Floats
    end: Floats
    slowdown: Floats
    instants: Floats
    begin: Ints
    finish: Ints
    tolerance: Floats
    base: TimeBase
    held: Ints
    sets: Sets
    groups: Groups
    next_run: Ints
    """The row of the next run of the job of each row that is a suspended run; -1 of all others, or without one."""

    def placed(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, Placement, Job | None]]:
        """Yield row, placement and job of each placement whose row is chosen."""
        for row in np.flatnonzero(chosen).tolist():
            if row >= self.num_running:
                yield row, self.placements[row - self.num_running], self.jobs[row]

    def known(self, is_chosen: Callable[[Job], object]) -> Iterator[tuple[int, Placement, Job]]:
        """Yield row, placement and job of each placement whose job is known and chosen."""
        for row, job in enumerate(self.jobs[self.num_running :], self.num_running):
            if job is not None and is_chosen(job):
                yield row, self.placements[row - self.num_running], job

    def spans(self, row: int) -> Spans:
        """Return the processors of a row."""
        return self.sets.spans(int(self.held[row]))

    def parts(self, row: int) -> list[tuple[int, int, int]]:
        """Return the processors of a row as ``(first, stop, group)``."""
        return self.sets.parts(int(self.held[row]))

    def summed_up(self, amounts: Floats) -> Floats:
        """Return amounts of the rows, with those of the suspended runs before that a row continues."""
        total = amounts.copy()
        suspended = np.flatnonzero(self.next_run >= 0)
        for row in suspended[np.argsort(self.start[suspended], kind="stable")].tolist():
            total[self.next_run[row]] += total[row]
        return total

    @property
    def with_suspensions(self) -> CheckedRows:
        """The rows, where each suspended run goes on until the next run of its job: as long its memory stays taken."""
        is_last = self.next_run < 0
        if is_last.all():
            return self
        finish = np.where(is_last, self.finish, np.maximum(self.finish, self.begin[self.next_run]))
        return replace(self, finish=finish)

    def column(self, name: str, otherwise: float, number_of: Callable[[Any], float] = float) -> Floats:
        """Return the number that a field of the job of each row states, or another one where the job is unknown."""
        numbers = np.full(len(self.jobs), otherwise)
        known = [job for job in self.jobs if job is not None] if self.is_unknown.any() else self.jobs
        numbers[~self.is_unknown] = np.fromiter(map(number_of, column(known, name)), np.float64, len(known))
        return numbers


def rows_of(instance: Instance, schedule: Schedule) -> CheckedRows:
    """Return running jobs, which hold their nodes from 0 or later, interrupted runs and placements as columns."""
    running, placements = instance.running, schedule.runs
    jobs, groups = _jobs(instance, placements), groups_of(instance.platform)
    nodes = column(placements, "nodes")
    names, held = distinct([*(r.nodes for r in running), *nodes] if running else nodes)
    sets = sets_of(names, groups)
    start = np.concatenate([_column(r.start for r in running), column(placements, "start")])
    end = np.concatenate([_column(r.end for r in running), column(placements, "end")])
    base = instance.time_base
    instants, index = base.merged(np.concatenate([start, end]))
    return CheckedRows(
        placements=placements,
        num_running=len(running),
        ids=[*(r.job.id for r in running), *column(placements, "job")],
        jobs=jobs,
        is_unknown=_are_unknown(instance, jobs),
        start=start,
        end=end,
        slowdown=_slowdowns(sets, groups)[held],
        instants=instants,
        begin=index[: len(start)],
        finish=index[len(start) :],
        tolerance=base.tolerances(np.where(np.abs(start) > np.abs(end), start, end)),
        base=base,
        held=held,
        sets=sets,
        groups=groups,
        next_run=_next_runs(schedule, len(running), len(start)),
    )


def _next_runs(schedule: Schedule, num_running: int, num_rows: int) -> Ints:
    """Return ``next_run`` of the rows."""
    following, runs = np.full(num_rows, -1), schedule.runs
    if schedule.interrupted:
        row_of = {runs[k].job: k for k in range(len(schedule.interrupted), len(runs))}
        latest = sorted(range(len(schedule.interrupted)), key=lambda k: -runs[k].start)
        for k in latest:
            if schedule.interrupted[k].cause == "suspension" and runs[k].job in row_of:
                following[num_running + k] = num_running + row_of[runs[k].job]
            row_of[runs[k].job] = k
    return following


def _jobs(instance: Instance, placements: Sequence[Placement]) -> Sequence[Job | None]:
    """Return the running jobs, then the job of each placement in its shape, None where it is unknown."""
    names, shapes = column(placements, "job"), column(placements, "shape")
    if names == column(instance.jobs, "id") and not (instance.running or any(shapes) or "shapes" in instance.features):
        return instance.jobs
    placed = map(_as_shaped, map(instance.job_by_id.get, names), shapes)
    return [*(run.job for run in instance.running), *placed]


def _are_unknown(instance: Instance, jobs: Sequence[Job | None]) -> NDArray[np.bool_]:
    """Return which of some jobs are unknown: none of the instance's own, which need not be made for that."""
    if jobs is instance.jobs:
        return np.zeros(len(jobs), bool)
    return np.array([job is None for job in jobs], bool)


def _as_shaped(job: Job | None, number: int) -> Job | None:
    """Return a job as the shape of a number says it: unknown where it has none of that number."""
    if job is None or not (job.shapes or number):
        return job
    if number > len(job.shapes):
        return None
    if number == 0:
        return job.replace(shapes=())
    shape = job.shapes[number - 1]
    return job.replace(tasks=shape.tasks, base_time=shape.base_time, times=shape.times, shapes=())


def _column(numbers: Iterable[float]) -> Floats:
    """Return numbers as a column."""
    return np.fromiter(numbers, np.float64)


def _slowdowns(sets: Sets, groups: Groups) -> Floats:
    """Return the largest 1/Gamma of each set, NaN where a processor is unknown or none is named."""
    slowdowns = np.full(len(sets.sizes), -np.inf)
    np.maximum.at(slowdowns, sets.holder, groups.slowness[sets.group])
    return np.where(sets.is_known & (sets.sizes > 0), slowdowns, np.nan)


def tasks_by_cluster(rows: CheckedRows) -> Ints:
    """Return how many processors of each set are in each cluster, shape ``(num_sets, num_clusters)``."""
    sets, num_clusters = rows.sets, len(rows.groups.cluster_names)
    cell = sets.holder * num_clusters + rows.groups.cluster[sets.group]
    counts = np.bincount(cell, sets.stop - sets.first, len(sets.sizes) * num_clusters)
    return counts.astype(np.int64).reshape(-1, num_clusters)


def link_loads(rows: CheckedRows, instance: Instance) -> Floats:
    """Return the load of every row on every link, MB/s, shape ``(num_rows, num_links)``.

    With t of n tasks on one side of a link: ``t * PTBW * (n - t)/(n - 1)``. Tasks are those placed
    on known processors, so that a job with a task too few is not taken for a co-allocated one.
    """
    links = instance.platform.links
    tasks = tasks_by_cluster(rows)[rows.held]
    total = tasks.sum(axis=1)
    bandwidth = rows.column("task_bandwidth", 0.0)
    loads = np.zeros((len(rows.ids), len(links)))
    for k, link in enumerate(links):
        inside = tasks[:, sorted(link.clusters)].sum(axis=1)
        loads[:, k] = bandwidth * (inside * (total - inside) / np.maximum(1, total - 1))
    return loads
