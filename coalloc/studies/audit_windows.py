"""Windows of an audit: a history cut into instances, each with the jobs that ran and waited at its beginning.

A window has the jobs that wait at its beginning or arrive in it, until all of them have ended, and the jobs that run
then hold their processors until they end. The clock of its instance begins at its beginning; how long its jobs had
waited by then is kept aside, for no schedule of the window changes that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.numbering import Intervals, names_of
from coalloc.measures.groups import Labels
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.rules.fluid import FluidJobs, Supply
from coalloc.studies.site_runs import refuse_unbounded, restricted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class History:
    """Jobs of an instance and when each started, s; and to what each belongs, such as its queue, by name.

    ``is_valid``: no rule of the instance is known to be broken. ``sizes`` are the processors and the run time (s) of
    each job as it ran; None: as the jobs state them.
    """

    instance: Instance
    starts: Floats
    memberships: Mapping[str, Labels] = field(default_factory=dict)
    is_valid: bool = True
    sizes: Floats | None = None

    @cached_property
    def arrivals(self) -> Floats:
        """Arrival of each job, s."""
        return np.array([job.arrival for job in self.instance.jobs], dtype=np.float64)

    @cached_property
    def runs(self) -> Floats:
        """Run time of each job, s."""
        return np.array([job.base_time for job in self.instance.jobs], dtype=np.float64)

    @cached_property
    def tasks(self) -> Ints:
        """Processors of each job."""
        return np.array([job.tasks for job in self.instance.jobs], dtype=np.int64)

    @property
    def num_processors(self) -> int:
        """Processors of the platform."""
        return self.instance.platform.num_processors

    @property
    def ends(self) -> Floats:
        """End of each job, s."""
        return self.starts + self.runs

    @property
    def known(self) -> History:
        """The jobs whose start is known."""
        rows = np.flatnonzero(~np.isnan(self.starts))
        memberships = {name: labels.taken(rows) for name, labels in self.memberships.items()}
        return History(restricted(self.instance, rows), self.starts[rows], memberships)


@dataclass(frozen=True)
class WindowSample:
    """Sample of a window: its instance, and how long each of its jobs had waited by its beginning, s.

    ``remaining`` is when the running jobs end by their estimates, s on the clock of the instance. ``clock`` is what the
    clock of the trace shows at the beginning, s: the keys of some queue orders depend on it.
    """

    instance: Instance
    waited: Floats
    remaining: Floats
    clock: float = 0.0

    @cached_property
    def jobs(self) -> FluidJobs:
        """The jobs as columns."""
        jobs = self.instance.jobs
        return FluidJobs(
            np.array([job.arrival for job in jobs], dtype=np.float64),
            np.array([job.tasks for job in jobs], dtype=np.int64),
            np.array([job.base_time for job in jobs], dtype=np.float64),
        )

    @cached_property
    def supply(self) -> Supply:
        """Free capacity beside the running jobs."""
        running = self.instance.running
        tasks, ends = [run.job.tasks for run in running], [run.end for run in running]
        return Supply.beside(self.instance.platform.num_processors, tasks, ends)

    @property
    def work(self) -> float:
        """Processor-seconds that are done from the beginning on, those of running jobs too."""
        running = sum(run.job.tasks * run.end for run in self.instance.running)
        return float(self.jobs.work.sum()) + running

    def measured(self, starts: Floats, runs: Floats | None = None) -> dict[str, float]:
        """Return the mean wait (s), the mean bounded slowdown and the makespan (s) of a schedule by its starts, s.

        ``runs`` are its run times, s; None: those of the jobs.
        """
        runs = self.jobs.run if runs is None else runs
        waits = self.waited + starts - self.jobs.release
        latest = float((starts + runs).max(initial=0.0))
        return {
            "wait": float(waits.mean()),
            "bounded_slowdown": float(bounded_slowdowns(waits, runs).mean()),
            "makespan": max(latest, *(run.end for run in self.instance.running), 0.0),
        }


def bounded_slowdowns(waits: Floats, runs: Floats) -> Floats:
    """Return the bounded slowdown of each job from its wait and its run time, s."""
    return np.asarray(np.maximum(1.0, (waits + runs) / np.maximum(runs, BOUNDED_SLOWDOWN_THRESHOLD)), dtype=np.float64)


@dataclass(frozen=True)
class AuditWindow:
    """A part of a history, from ``begin`` to ``end``, s on its clock.

    ``rows`` are the places of its jobs in the history, and ``starts`` when they started, s on the clock of its
    instance. ``num_crowded_out`` jobs that ran at its beginning found no processors on the platform, and are left out.
    ``is_valid`` is that of the history.
    """

    begin: float
    end: float
    sample: WindowSample
    rows: Ints
    starts: Floats
    num_crowded_out: int
    is_valid: bool = True

    @property
    def num_waiting(self) -> int:
        """Jobs that waited already at the beginning."""
        return int((self.sample.waited > 0.0).sum())

    @property
    def most_used(self) -> int:
        """Processors that the history used at once for these jobs and those that ran."""
        jobs, held = self.sample.jobs, self.sample.instance.running
        begin = np.concatenate([self.starts, np.zeros(len(held))])
        finish = np.concatenate([self.starts + jobs.run, [run.end for run in held]])
        tasks = np.concatenate([jobs.processors, [run.job.tasks for run in held]])
        instants, index = self.sample.instance.time_base.merged(np.concatenate([begin, finish]))
        changes = np.bincount(index, np.concatenate([tasks, -tasks]), len(instants))
        return int(np.cumsum(changes).max(initial=0))

    @property
    def is_possible(self) -> bool:
        """Whether the platform has the processors that the history used, and no rule is known to be broken."""
        num_processors = self.sample.instance.platform.num_processors
        return self.is_valid and not self.num_crowded_out and self.most_used <= num_processors


def refuse_unequal(instance: Instance) -> None:
    """Raise where run times depend on the processors."""
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    faults = []
    if any(job.times for job in instance.jobs):
        faults.append("does not support times of jobs")
    if {group.effective_power for group in groups} != {1.0}:
        faults.append("requires identical processors of speed 1, on which the run times of the trace hold")
    refuse_unbounded(instance, "audit", *faults)


def restrictions(instance: Instance) -> list[str]:
    """Return what restricts the jobs of an instance beside its processors: none of it is part of a window."""
    has_memory = any(group.memory is not None for cluster in instance.platform.clusters for group in cluster.nodes)
    return [
        *(["memory"] if has_memory and instance.largest_task_memory else []),
        *sorted(instance.features),
        *(["running"] if instance.running and "start" not in instance.features else []),
    ]


def cut(
    history: History,
    begin: float,
    end: float,
    length: float,
    window_of: Callable[[History, float, float], AuditWindow | None],
) -> list[AuditWindow]:
    """Return the windows of a period that have jobs, each of a length (s) but for the last."""
    edges = [*np.arange(begin, end, length).tolist(), end]
    found = (window_of(history, low, high) for low, high in pairwise(edges))
    return [window for window in found if window is not None]


def arriving(history: History, begin: float, end: float) -> AuditWindow | None:
    """Return the jobs that arrive from ``begin`` to ``end``, s, and started; None where there are none."""
    counts = (history.arrivals >= begin) & (history.arrivals < end) & ~np.isnan(history.starts)
    rows = np.flatnonzero(counts)
    if not len(rows):
        return None
    sizes = None if history.sizes is None else history.sizes[rows]
    sample = free_sample([history.instance.jobs[row] for row in rows.tolist()], history.instance, begin, sizes)
    return AuditWindow(begin, end, sample, rows, history.starts[rows] - begin, 0, history.is_valid)


def free_sample(jobs: Sequence[Job], instance: Instance, begin: float, sizes: Floats | None = None) -> WindowSample:
    """Return jobs on the processors of their instance, without anything that restricts them, from ``begin`` on, s.

    ``sizes`` are their processors and run times, s; None: as they state them.
    """
    ran = [(job.tasks, job.base_time) for job in jobs] if sizes is None else sizes.tolist()
    jobs = [
        Job(job.id, int(tasks), run, arrival=job.arrival - begin, estimate=job.estimate, user=job.user)
        for job, (tasks, run) in zip(jobs, ran, strict=True)
    ]
    platform = Platform([Cluster("pool", [NodeGroup(instance.platform.num_processors, power=1.0)], 0.0)])
    free = Instance(platform, jobs, name=instance.name)
    return WindowSample(free, np.zeros(len(jobs)), np.zeros(0), begin)


def window_of(history: History, begin: float, end: float) -> AuditWindow | None:
    """Return the window from ``begin`` to ``end``, s; None where no job waits or arrives in it."""
    arrivals, starts, ends = history.arrivals, history.starts, history.ends
    rows = np.flatnonzero((arrivals < end) & ((arrivals >= begin) | (starts >= begin)))
    if not len(rows):
        return None
    held = np.flatnonzero((arrivals < begin) & (starts < begin) & (ends > begin))
    held = held[np.argsort(starts[held], kind="stable")]
    platform = history.instance.platform
    fits = np.cumsum(history.tasks[held]) <= platform.num_processors
    jobs = history.instance.jobs
    release = np.maximum(0.0, arrivals[rows] - begin)
    in_order = np.argsort(release, kind="stable")
    rows, release = rows[in_order], release[in_order]
    estimates = np.array([job.estimate for job in jobs], dtype=np.float64)
    instance = history.instance.replace(
        jobs=[jobs[row].replace(arrival=r) for row, r in zip(rows.tolist(), release.tolist(), strict=True)],
        running=_running(platform, [jobs[row] for row in held[fits].tolist()], ends[held[fits]] - begin),
    )
    remaining = starts[held[fits]] + estimates[held[fits]] - begin
    sample = WindowSample(instance, np.maximum(0.0, begin - arrivals[rows]), remaining, begin)
    return AuditWindow(begin, end, sample, rows, starts[rows] - begin, int((~fits).sum()))


def _running(platform: Platform, jobs: Sequence[Job], ends: Floats) -> list[RunningJob]:
    """Return jobs that run, on the first processors in turn."""
    stop = np.cumsum([job.tasks for job in jobs], dtype=np.int64)
    first = stop - np.array([job.tasks for job in jobs], dtype=np.int64)
    held = Intervals(np.arange(len(jobs)), first, stop)
    names = names_of(platform.numbering, len(jobs), held)
    return [
        RunningJob(job.replace(arrival=0.0), nodes, end)
        for job, nodes, end in zip(jobs, names, ends.tolist(), strict=True)
    ]
