"""Metrics of schedules are defined by starts, ends and allocations of jobs.

j runs over the placed jobs: ``r_j`` is the arrival, ``s_j`` the start, ``f_j`` the start of the first run (``s_j``,
unless the job was interrupted), ``e_j`` the end, ``Te_j = e_j - s_j`` and the length of the runs before suspensions
since it last started anew, ``Tb_j`` the reference run time, ``m_j`` the
number of processors held, ``u_j`` the user, ``w_j`` the weight and ``due_j`` the due date. Time runs from ``a`` to
``b``: from the origin, which is the earliest arrival or 0 where jobs run already, to the last end of a placement, or
over an interval of that. Jobs that the schedule does not place count nowhere. Jobs that run already use processors,
links and power, but no metric of jobs counts them. Sums, means, maxima and percentiles over nothing are 0. Source:
thesis, sections 3.1.3 and 3.2.2; errata 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from coalloc.documents.arguments import public
from coalloc.instance import CoallocError, Instance
from coalloc.schedule import Schedule
from coalloc.schedule.observed import Floats, Ints, Jobs, Observed, node_spans, observe

BOUNDED_SLOWDOWN_THRESHOLD = 10.0
"""Run times below this many seconds count as this long in the bounded slowdown."""


# ------------------------------------------------------------------------------ jobs in columns


@dataclass(frozen=True, slots=True)
class Quantity:
    """Quantity measured of each job: its unit, its formula, and the function that computes it, one value per job."""

    unit: str
    formula: str
    values: Callable[[Jobs], Floats]


@dataclass(frozen=True)
class Column:
    """A quantity of jobs in groups of adjacent rows: group g begins at row ``first[g]`` and has ``counts[g]``."""

    values: Floats
    first: Ints
    counts: Ints

    @cached_property
    def ascending(self) -> Floats:
        """The values, those of each group in ascending order."""
        if len(self.first) == 1:
            return np.sort(self.values)
        return self.values[np.lexsort((self.values, np.repeat(np.arange(len(self.first)), self.counts)))]


class Measured(dict[Quantity, Column]):
    """The quantities of jobs, each computed when it is asked for, and kept until another is.

    Metrics of one quantity stand side by side, so that they share it; columns of many jobs are not kept all at once.
    """

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self.jobs = jobs

    def __missing__(self, quantity: Quantity) -> Column:
        self.clear()
        column = self[quantity] = Column(quantity.values(self.jobs), self.jobs.first, self.jobs.counts)
        return column


# ------------------------------------------------------------------------------ metrics


@dataclass(frozen=True, slots=True)
class JobMetric:
    """A metric of any jobs: its unit, its definition, and the function that returns one value per group."""

    unit: str
    definition: str
    value: Callable[[Measured], Floats]
    of: Literal["jobs"] = "jobs"


@dataclass(frozen=True, slots=True)
class PlatformMetric:
    """A metric of the platform from a to b, or of the schedule as a whole: unit, definition, function."""

    unit: str
    definition: str
    value: Callable[[Observed], float]
    of: Literal["platform", "schedule"] = "platform"


@public
def metrics(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Compute every metric of a schedule: makespan, waits, response times, slowdowns, utilization and more.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of the instance that passes ``coalloc.check``.

    Returns
    -------
    dict of str to float
        Metrics by name, which docs/metrics.md defines. Times are in s, shares from 0 to 1.

    Raises
    ------
    CoallocError
        The schedule places jobs or uses processors that the instance does not have.

    See Also
    --------
    coalloc.results.metrics_of : Metrics of the jobs that arrive in an interval.
    coalloc.results.metrics_by : Metrics by user, job size or hour of the week.
    coalloc.energy : Energy of a schedule.

    Notes
    -----
    The mean queue length is a sum of waits by Little's law. ``SimulationResult.metrics`` also has
    ``decision_time_mean`` and ``decision_time_max``, s: the CPU time of the policy per pass in which jobs waited.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> found = coalloc.metrics(instance, coalloc.simulate(instance, "fcfs").schedule)
    >>> [round(found[name], 3) for name in ("makespan", "wait_mean", "utilization")]
    [455.0, 133.333, 0.728]
    """
    observed = observe(instance, schedule)
    found = _of_all(observed.jobs) | {name: metric.value(observed) for name, metric in PLATFORM_METRICS.items()}
    return {name: found[name] for name in METRICS}


@public
def metrics_of(
    instance: Instance, schedule: Schedule, *, after: float | None = None, before: float | None = None
) -> dict[str, float]:
    """Compute the metrics of the jobs that arrive in an interval, and of the platform in that time.

    Jobs with ``after <= r_j < before`` are measured, and the platform from ``a = max(after, origin)`` to
    ``b = min(before, last end)``. An interval leaves out the warm-up, in which the platform fills, and the cool-down,
    in which nothing arrives any more. Jobs that arrive outside are not measured, but they hold processors and load
    links. There is no makespan of an interval.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of the instance.
    after : float or None, default None
        Begin of the interval, s: jobs with ``arrival >= after`` count. None: no limit.
    before : float or None, default None
        End of the interval, s: jobs with ``arrival < before`` count. None: no limit.

    Returns
    -------
    dict of str to float
        Metrics by name, as for ``coalloc.metrics``, without ``makespan``.

    Raises
    ------
    CoallocError
        No job arrives in the interval, or the schedule does not fit the instance.

    See Also
    --------
    coalloc.metrics : Metrics of the whole schedule.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.generate("lublin", seed=1, jobs=50, nodes=64)
    >>> schedule = coalloc.simulate(instance, "easy").schedule
    >>> found = coalloc.results.metrics_of(instance, schedule, after=3600.0)
    >>> found["jobs"] < 50
    True
    """
    observed = observe(instance, schedule)
    jobs = observed.jobs.taken(arriving(observed.jobs.arrival, after, before))
    during = observed.within(after, before)
    found = _of_all(jobs) | {name: m.value(during) for name, m in PLATFORM_METRICS.items() if m.of == "platform"}
    return {name: found[name] for name in METRICS if name in found}


def job_metrics(jobs: Jobs) -> dict[str, Floats]:
    """Return every metric of jobs by name, one value per group, shape ``(num_groups,)``."""
    measured = Measured(jobs)
    return {name: metric.value(measured) for name, metric in JOB_METRICS.items()}


def arriving(arrival: Floats, after: float | None = None, before: float | None = None) -> Ints:
    """Return the rows of the jobs with ``after <= r_j < before``, s; raises where a window has none."""
    low, high = -math.inf if after is None else after, math.inf if before is None else before
    rows = np.flatnonzero((arrival >= low) & (arrival < high))
    if not len(rows) and (after, before) != (None, None):
        known = (
            f"arrivals are from {arrival.min():.12g} to {arrival.max():.12g} s" if len(arrival) else "it has no jobs"
        )
        raise CoallocError(f"no job of the schedule arrives from after={low:.12g} to before={high:.12g} s; {known}")
    return rows


def _of_all(jobs: Jobs) -> dict[str, float]:
    """Return the metrics of jobs that are one group."""
    return {name: float(values[0]) for name, values in job_metrics(jobs).items()}


# ------------------------------------------------------------------------------ what is measured of a job


def _bounded_slowdown(jobs: Jobs) -> Floats:
    run = np.maximum(EXECUTION_TIME.values(jobs), BOUNDED_SLOWDOWN_THRESHOLD)
    return np.asarray(np.maximum(1.0, RESPONSE.values(jobs) / run), dtype=np.float64)


WAIT = Quantity("s", "f_j - r_j", lambda jobs: jobs.first_start - jobs.arrival)
RESPONSE = Quantity("s", "e_j - r_j", lambda jobs: jobs.end - jobs.arrival)
EXECUTION_TIME = Quantity("s", "Te_j", lambda jobs: jobs.end - jobs.start + jobs.earlier)
BASE_TIME = Quantity("s", "Tb_j", lambda jobs: jobs.base_time)
EXECUTION_SLOWDOWN = Quantity(
    "-", "(Te_j - Tb_j) / Tb_j", lambda jobs: EXECUTION_TIME.values(jobs) / jobs.base_time - 1.0
)
BOUNDED_SLOWDOWN = Quantity(
    "-", f"max(1, (e_j - r_j) / max(Te_j, {BOUNDED_SLOWDOWN_THRESHOLD:g} s))", _bounded_slowdown
)
PROCESSOR_SECONDS = Quantity("processor s", "m_j Te_j", lambda jobs: jobs.processors * EXECUTION_TIME.values(jobs))
WEIGHTED_RESPONSE = Quantity("s", "w_j (e_j - r_j)", lambda jobs: jobs.weight * RESPONSE.values(jobs))
WEIGHTED_TARDINESS = Quantity(
    "s",
    "w_j max(0, e_j - due_j)",
    lambda jobs: jobs.weight * np.where(np.isinf(jobs.due_date), 0.0, np.maximum(0.0, jobs.end - jobs.due_date)),
)
LATENESS = Quantity("s", "e_j - due_j", lambda jobs: jobs.end - jobs.due_date)
COALLOCATED = Quantity("jobs", "use two or more clusters", lambda jobs: (jobs.clusters > 1).astype(np.float64))
USED_CLUSTERS = Quantity(
    "clusters", "the number of clusters that j uses", lambda jobs: jobs.clusters.astype(np.float64)
)
UNMET_LEVEL = Quantity(
    "jobs",
    "are not under one switch of the level that they prefer",
    lambda jobs: jobs.has_unmet_level.astype(np.float64),
)
LATE = Quantity("jobs", "end after their deadlines", lambda jobs: jobs.is_late.astype(np.float64))
KILLED = Quantity("jobs", "were killed", lambda jobs: jobs.was_killed.astype(np.float64))
INTERRUPTIONS = Quantity(
    "runs", "the number of interrupted runs of j", lambda jobs: jobs.interruptions.astype(np.float64)
)
LOST = Quantity("processor s", "the processor-seconds of the runs of j whose work is lost", lambda jobs: jobs.lost)
SATURATED = Quantity(
    "-",
    "at some time load a link whose total load is above its bandwidth",
    lambda jobs: jobs.met_saturation.astype(np.float64),
)


# ------------------------------------------------------------------------------ how jobs are summed up


def total(column: Column) -> Floats:
    """Return the sum of each group."""
    if not len(column.values):
        return np.zeros(len(column.first))
    return np.asarray(np.add.reduceat(column.values, column.first), dtype=np.float64)


def mean(column: Column) -> Floats:
    """Return the mean of each group."""
    return total(column) / np.maximum(column.counts, 1)


def maximum(column: Column) -> Floats:
    """Return the maximum of each group."""
    if not len(column.values):
        return np.zeros(len(column.first))
    return np.asarray(np.maximum.reduceat(column.values, column.first), dtype=np.float64)


def percentile(column: Column, percent: float) -> Floats:
    """Return a percentile of each group.

    Notes
    -----
    The p-th percentile of n values ``x_1 <= ... <= x_n`` is at position ``h = 1 + (n - 1) p/100``, linear between the
    two values next to it: the default of R, NumPy and pandas. Source: R. J. Hyndman and Y. Fan, Sample quantiles in
    statistical packages, The American Statistician 50, 1996, definition 7.
    """
    if not len(column.values):
        return np.zeros(len(column.first))
    position = (column.counts - 1) * (percent / 100.0)
    below = np.floor(position).astype(np.int64)
    low = column.ascending[column.first + below]
    high = column.ascending[column.first + np.minimum(below + 1, column.counts - 1)]
    return np.asarray(low + (position - below) * (high - low), dtype=np.float64)


def _sum_of(quantity: Quantity) -> JobMetric:
    return JobMetric(quantity.unit, f"Sum of {quantity.formula}.", lambda measured: total(measured[quantity]))


def _mean_of(quantity: Quantity) -> JobMetric:
    return JobMetric(quantity.unit, f"Mean of {quantity.formula}.", lambda measured: mean(measured[quantity]))


def _share_of(quantity: Quantity) -> JobMetric:
    """Return the share of the jobs of which something is true: the mean of 1 where it is, 0 where not."""
    return JobMetric("-", f"Share of the jobs that {quantity.formula}.", lambda measured: mean(measured[quantity]))


def _number_of(quantity: Quantity, why: str = "") -> JobMetric:
    """Return the number of the jobs of which something is true."""
    definition = f"Number of the jobs that {quantity.formula}{why}."
    return JobMetric("jobs", definition, lambda measured: total(measured[quantity]))


def _maximum_of(quantity: Quantity) -> JobMetric:
    return JobMetric(quantity.unit, f"Maximum of {quantity.formula}.", lambda measured: maximum(measured[quantity]))


def _percentiles_of(name: str, quantity: Quantity) -> dict[str, JobMetric]:
    """Return the percentiles of :data:`PERCENTILES` of a quantity by name."""
    return {f"{name}_{suffix}": _percentile_of(quantity, percent) for suffix, percent in PERCENTILES.items()}


def _percentile_of(quantity: Quantity, percent: float) -> JobMetric:
    words = "Median" if percent == 50.0 else f"{percent:g}th percentile"
    return JobMetric(
        quantity.unit, f"{words} of {quantity.formula}.", lambda measured: percentile(measured[quantity], percent)
    )


def _maximum_lateness(measured: Measured) -> Floats:
    greatest = maximum(measured[LATENESS])
    return np.where(np.isinf(greatest), 0.0, greatest)


def _execution_slowdown(measured: Measured) -> Floats:
    base = mean(measured[BASE_TIME])
    return np.divide(mean(measured[EXECUTION_TIME]), base, out=np.ones_like(base), where=base > 0.0) - 1.0


PERCENTILES: Mapping[str, float] = {"median": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}
"""Percentiles of wait, response and bounded slowdown, by the last part of their names."""

JOB_METRICS: Mapping[str, JobMetric] = {
    "jobs": JobMetric("jobs", "Number of jobs.", lambda measured: measured.jobs.counts.astype(np.float64)),
    "processor_seconds": _sum_of(PROCESSOR_SECONDS),
    "total_execution_time": _sum_of(EXECUTION_TIME),
    "total_response_time": _sum_of(RESPONSE),
    "total_weighted_response_time": _sum_of(WEIGHTED_RESPONSE),
    "weighted_tardiness": _sum_of(WEIGHTED_TARDINESS),
    "maximum_lateness": JobMetric(
        "s", f"Maximum of {LATENESS.formula} over the jobs with a due date; 0 if there are none.", _maximum_lateness
    ),
    "wait_mean": _mean_of(WAIT),
    **_percentiles_of("wait", WAIT),
    "wait_max": _maximum_of(WAIT),
    "response_mean": _mean_of(RESPONSE),
    **_percentiles_of("response", RESPONSE),
    "response_max": _maximum_of(RESPONSE),
    "execution_slowdown": JobMetric(
        "-",
        "(mean Te_j - mean Tb_j) / mean Tb_j, an excess: 0.26 is 26 % above the reference; negative with faster nodes.",
        _execution_slowdown,
    ),
    "execution_slowdown_mean": _mean_of(EXECUTION_SLOWDOWN),
    "bounded_slowdown_mean": _mean_of(BOUNDED_SLOWDOWN),
    **_percentiles_of("bounded_slowdown", BOUNDED_SLOWDOWN),
    "bounded_slowdown_max": _maximum_of(BOUNDED_SLOWDOWN),
    "coallocated_share": _share_of(COALLOCATED),
    "saturated_share": _share_of(SATURATED),
    "coallocated_jobs": _number_of(COALLOCATED),
    "used_clusters": _sum_of(USED_CLUSTERS),
    "unmet_levels": _number_of(UNMET_LEVEL),
    "deadlines_missed": _number_of(LATE),
    "killed": _number_of(KILLED, ": at their limits, or because their nodes became unavailable"),
    "interruptions": _sum_of(INTERRUPTIONS),
    "lost_processor_seconds": _sum_of(LOST),
}
"""Every metric of jobs by name, in the order of reports."""


# ------------------------------------------------------------------------------ the platform over time


def _utilization(observed: Observed) -> float:
    jobs, running = observed.jobs, observed.running
    used = float((jobs.processors * observed.seconds_within(jobs.start, jobs.end)).sum())
    used += float((running.processors * observed.seconds_within(running.start, running.end)).sum())
    available = observed.num_processors * observed.span
    return used / available if available > 0.0 else 0.0


def _queue_length_mean(observed: Observed) -> float:
    waited = float(observed.seconds_within(observed.jobs.arrival, observed.jobs.first_start).sum())
    waited += float(observed.seconds_within(observed.waiting.start, observed.waiting.end).sum())
    return waited / observed.span if observed.span > 0.0 else 0.0


def _peak_link_share(observed: Observed) -> float:
    links = observed.links
    inside = links.instants[(links.instants > observed.begin) & (links.instants < observed.finish)]
    return float(links.shares(links.before(np.append(inside, observed.finish))).max(initial=0.0))


PLATFORM_METRICS: Mapping[str, PlatformMetric] = {
    "makespan": PlatformMetric(
        "s", "Maximum of e_j, less the origin; 0 without placements.", lambda observed: observed.span, "schedule"
    ),
    "utilization": PlatformMetric(
        "-",
        "Processor-seconds used from a to b, including running jobs and interrupted runs, / (processors * (b - a)).",
        _utilization,
    ),
    "peak_link_share": PlatformMetric(
        "-", "Maximum over links and times from a to b of load / bandwidth; above 1 a link is saturated.",
        _peak_link_share,
    ),
    "queue_length_mean": PlatformMetric(
        "jobs",
        "Sum of the parts of the waits [r_j, f_j), and after lost runs, in [a, b), / (b - a): waiting jobs, "
        "averaged over time.",
        _queue_length_mean,
    ),
}  # fmt: skip
"""Every metric of the platform and of the whole schedule by name."""

METRICS: Mapping[str, JobMetric | PlatformMetric] = {
    "makespan": PLATFORM_METRICS["makespan"],
    **JOB_METRICS,
    **{name: metric for name, metric in PLATFORM_METRICS.items() if name != "makespan"},
}
"""Every metric by name, in the order of reports."""


def busy_time(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Return for each node by name how long at least one of its processors is held, s.

    Jobs that run already count from 0, or from their start, to their end.
    """
    placements, running = schedule.runs, instance.running
    held = [*(run.nodes for run in running), *(p.nodes for p in placements)]
    start = np.array([*(run.start for run in running), *(p.start for p in placements)], dtype=np.float64)
    end = np.array([*(run.end for run in running), *(p.end for p in placements)], dtype=np.float64)
    spans = node_spans(instance, held)
    num_nodes = len(instance.platform.nodes)
    covered, until = np.zeros(num_nodes), np.full(num_nodes, -math.inf)
    order = np.argsort(start[spans.row], kind="stable")
    columns = (spans.row[order].tolist(), spans.first[order].tolist(), (spans.last[order] + 1).tolist())
    for r, low, high in zip(*columns, strict=True):
        before = until[low:high]
        covered[low:high] += np.maximum(0.0, end[r] - np.maximum(start[r], before))
        np.maximum(before, end[r], out=before)
    return {node.name: busy for node, busy in zip(instance.platform.nodes, covered.tolist(), strict=True)}
