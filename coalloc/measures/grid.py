"""Metrics of a schedule of a two-level grid: those of the grid study, each with its definition.

In the definitions j runs over the placed jobs: r_j is the arrival, s_j the start, c_j the end, size_j the tasks and p_j
the reference run time; m_i are the processors of site i, v_i is the power of one of them. All times are on the clock of
the instance, which begins at 0. Source: the two-level grid study, Table 1 and equations (3), (10) and (11); errata
29, 30 and 39.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, Platform
from coalloc.power.meter import energy
from coalloc.power.sites import Working
from coalloc.schedule import Schedule
from coalloc.schedule.observed import placed_jobs

Floats = NDArray[np.float64]

SHORTEST_RUN = 10.0
"""Run times below this many seconds count as this long in SD_b."""


WorkBy = Literal["logged", "site"]


@dataclass(frozen=True, slots=True)
class GridRun:
    """A schedule as the metrics see it: a platform, its placed jobs as columns, times in s, and its energy, J.

    ``is_work_on_site``: the work of a job counts its run time on the site, not that of the log. The energy is None
    where it is not asked for.
    """

    platform: Platform
    arrival: Floats
    start: Floats
    end: Floats
    base_time: Floats
    tasks: Floats
    is_work_on_site: bool
    energy: float | None

    @property
    def logged_work(self) -> float:
        """Sum of size_j p_j, processor s."""
        return float((self.tasks * self.base_time).sum())

    @property
    def work(self) -> float:
        """Work that EnEff counts as done, processor s."""
        return float((self.tasks * (self.end - self.start)).sum()) if self.is_work_on_site else self.logged_work

    @property
    def joules(self) -> float:
        """The energy, J, where it is asked for."""
        assert self.energy is not None
        return self.energy


@dataclass(frozen=True, slots=True)
class GridMetric:
    """A metric of a grid: its unit, its definition, and the function that computes it."""

    unit: str
    definition: str
    value: Callable[[GridRun], float]


@public
def grid_metrics(
    instance: Instance,
    schedule: Schedule,
    *,
    power_management: bool | None = True,
    working: Working = "total",
    work: WorkBy = "logged",
) -> dict[str, float]:
    """Compute the metrics of a two-level grid: competitive factor, waits, slowdown, energy and energy efficiency.

    Parameters
    ----------
    instance : Instance
        Jobs without communication, on clusters with power states.
    schedule : Schedule
        A schedule that passes ``coalloc.check``; every job runs on one cluster.
    power_management : bool or None, default True
        As for ``coalloc.energy``. None: leave out ``energy`` and ``energy_efficiency``.
    working : {"total", "extra"}, default "total"
        As for ``coalloc.energy``.
    work : {"logged", "site"}, default "logged"
        Work of a job: tasks times reference run time (``"logged"``), or tasks times its run time on the site
        (``"site"``).

    Returns
    -------
    dict of str to float
        Metrics by name, as docs/metrics.md defines them.

    Raises
    ------
    CoallocError
        The schedule places unknown jobs, jobs that communicate or jobs larger than every cluster, or its energy cannot
        be computed.

    See Also
    --------
    coalloc.studies.grid_study : Compare the strategies of a broker.

    Notes
    -----
    Source: the two-level grid study, Table 1 and equations (3), (10) and (11); errata 29, 30 and 39.

    Examples
    --------
    >>> import coalloc
    >>> jobs = [coalloc.Job(f"J{n}", tasks=2**n, base_time=600.0) for n in range(6)]
    >>> week = coalloc.Instance(coalloc.grid.platform("grid2"), jobs)
    >>> run = coalloc.simulate(week, "grid", strategy="MCT", power_management=True)
    >>> found = coalloc.grid.grid_metrics(week, run.schedule)
    >>> found["wait_mean"], round(found["energy"] / 3.6e6, 2)
    (20.0, 0.35)
    """
    jobs = placed_jobs(instance, schedule)
    refuse_jobs(jobs, instance.platform)
    joules = None
    if power_management is not None:
        joules = energy(instance, schedule, power_management=power_management, working=working).total
    run = _run(instance, schedule, jobs, work == "site", joules)
    asked = (name for name in GRID_METRICS if joules is not None or name not in IN_JOULES)
    return {name: GRID_METRICS[name].value(run) for name in asked}


def _run(
    instance: Instance, schedule: Schedule, jobs: Sequence[Job], is_work_on_site: bool, joules: float | None
) -> GridRun:
    placements = schedule.placements
    return GridRun(
        instance.platform,
        arrival=_column(job.arrival for job in jobs),
        start=_column(placement.start for placement in placements),
        end=_column(placement.end for placement in placements),
        base_time=_column(job.base_time for job in jobs),
        tasks=_column(job.tasks for job in jobs),
        is_work_on_site=is_work_on_site,
        energy=joules,
    )


def refuse_jobs(jobs: Sequence[Job], platform: Platform) -> None:
    """Raise :class:`CoallocError` where a job communicates, names times, or is larger than every cluster."""
    largest = max(cluster.num_processors for cluster in platform.clusters)
    for job in jobs:
        if job.processing_share != 1.0:
            raise CoallocError(f"job {quoted(job.id)} has communication, which grid metrics do not support")
        if job.times:
            raise CoallocError(f"job {quoted(job.id)} has times, which grid metrics do not support")
        if job.tasks > largest:
            raise CoallocError(f"job {quoted(job.id)} has {job.tasks} tasks, but no cluster has as many processors")


def _column(numbers: Iterable[float]) -> Floats:
    return np.array(list(numbers), dtype=np.float64)


# ------------------------------------------------------------------------------ what is measured


def makespan_bound(run: GridRun) -> float:
    """Return B, a lower bound on C_max, s: each job by itself, and all the work on all processors."""
    if not len(run.arrival):
        return 0.0
    alone = run.arrival + run.base_time / _fastest(run.platform, run.tasks)
    return max(float(alone.max()), float(run.arrival.min()) + run.logged_work / run.platform.total_power)


def _fastest(platform: Platform, tasks: Floats) -> Floats:
    """Return the greatest power of a processor among the clusters that are large enough, one for each of ``tasks``."""
    sizes = _column(cluster.num_processors for cluster in platform.clusters)
    powers = _column(max(group.effective_power for group in cluster.nodes) for cluster in platform.clusters)
    return np.asarray(np.where(tasks[:, None] <= sizes, powers, 0.0).max(axis=1), dtype=np.float64)


def _printed_bound(run: GridRun) -> float:
    alone = float((run.arrival + run.base_time).max(initial=0.0))
    return max(alone, run.logged_work / len(run.platform.clusters))


def _last_end_over(bound: float, run: GridRun) -> float:
    return float(run.end.max()) / bound if len(run.end) else 0.0


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values) if len(values) else 0.0


GRID_METRICS: Mapping[str, GridMetric] = {
    "competitive_factor": GridMetric(
        "-",
        "rho = C_max / B with C_max = maximum of c_j and B = max(maximum of r_j + p_j / V_j, minimum of r_j + "
        "(sum of size_j p_j) / (sum of m_i v_i)), V_j the greatest v_i of the sites with m_i >= size_j.",
        lambda run: _last_end_over(makespan_bound(run), run),
    ),
    "competitive_factor_printed": GridMetric(
        "-",
        "C_max / max(maximum of r_j + p_j, (sum of size_j p_j) / number of sites): equation (3), which is no bound.",
        lambda run: _last_end_over(_printed_bound(run), run),
    ),
    "wait_mean": GridMetric("s", "Mean of s_j - r_j.", lambda run: _mean(run.start - run.arrival)),
    "waited_share": GridMetric(
        "-",
        "Share of the jobs with s_j > r_j; if it is 0, wait metrics are not informative.",
        lambda run: _mean((run.start > run.arrival).astype(np.float64)),
    ),
    "sd_b": GridMetric(
        "-",
        f"Mean of (c_j - r_j) / max({SHORTEST_RUN:g} s, c_j - s_j); without a floor of 1.",
        lambda run: _mean((run.end - run.arrival) / np.maximum(SHORTEST_RUN, run.end - run.start)),
    ),
    "energy": GridMetric("J", "Energy of the platform from the earliest arrival to C_max.", lambda run: run.joules),
    "work": GridMetric(
        "processor s",
        "Sum of size_j p_j, a constant of the week; on demand of size_j (c_j - s_j).",
        lambda run: run.work,
    ),
    "energy_efficiency": GridMetric(
        "processor s/J", "EnEff = work / energy.", lambda run: run.work / run.joules if run.joules else 0.0
    ),
}
"""Every metric of a grid by name; sums, means and ratios over nothing are 0."""

IN_JOULES = ("energy", "energy_efficiency")
"""Metrics that depend on the power of the platform."""
