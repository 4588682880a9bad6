"""What a schedule is worth: every metric with its definition.

:data:`METRICS` names each metric, its unit and the function that computes it; the first paragraph of
that function's docstring is the definition that the documentation prints. In the formulas j runs
over the placed jobs, r_j is the arrival, s_j the start, e_j the end, Tb_j the base time and m_j the
number of processors of job j; Te_j = e_j - s_j. The origin is the earliest arrival, or 0 where jobs
run already. Means and maxima over no jobs are 0. Source: thesis, sections 3.1.3 and 3.2.2; errata 13.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.arguments import public
from coalloc.documents.text import visible
from coalloc.execution import link_loads
from coalloc.instance import CoallocError, Instance, Job
from coalloc.instance.rounding import capacity_limit, merge_instants
from coalloc.schedule import Schedule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOUNDED_SLOWDOWN_THRESHOLD = 10.0
"""Run times below this many seconds count as this long in the bounded slowdown."""


ROWS_AT_ONCE = 20_000
"""Placements whose processors are looked up in one go, so that memory stays small."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A schedule as columns, one entry per placement: times in s, ``processors`` held, two truth values.

    ``background`` is the processor-seconds that running jobs use from the origin until they end or
    the last placement does; ``num_processors`` is the platform's.
    """

    arrival: Floats
    start: Floats
    end: Floats
    base_time: Floats
    processors: Ints
    is_coallocated: NDArray[np.bool_]
    met_saturation: NDArray[np.bool_]
    peak_link_share: float
    background: float
    origin: float
    num_processors: int


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its unit and the function that computes it."""

    unit: str
    value: Callable[[Observed], float]

    @property
    def definition(self) -> str:
        """The formula, in words and symbols."""
        return (inspect.getdoc(self.value) or "").split("\n\n")[0].replace("\n", " ")


@public
def metrics(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Return every metric of a schedule by name, in the units that :data:`METRICS` names.

    Times are in s, shares 0 to 1; the definitions are those of the functions in :data:`METRICS`. The schedule should
    pass :func:`coalloc.check`.

    Raises
    ------
    CoallocError
        The schedule places jobs or uses processors that the instance does not have.
    """
    observed = observe(instance, schedule)
    return {name: metric.value(observed) for name, metric in METRICS.items()}


# ------------------------------------------------------------------------------ the metrics


def makespan(observed: Observed) -> float:
    """Maximum of e_j, less the origin; 0 without placements."""
    return float(observed.end.max()) - observed.origin if len(observed.end) else 0.0


def total_execution_time(observed: Observed) -> float:
    """Sum of Te_j."""
    return float((observed.end - observed.start).sum())


def total_response_time(observed: Observed) -> float:
    """Sum of e_j - r_j."""
    return float((observed.end - observed.arrival).sum())


def wait_mean(observed: Observed) -> float:
    """Mean of s_j - r_j."""
    return _mean(observed.start - observed.arrival)


def wait_max(observed: Observed) -> float:
    """Maximum of s_j - r_j."""
    return _max(observed.start - observed.arrival)


def response_mean(observed: Observed) -> float:
    """Mean of e_j - r_j."""
    return _mean(observed.end - observed.arrival)


def response_max(observed: Observed) -> float:
    """Maximum of e_j - r_j."""
    return _max(observed.end - observed.arrival)


def execution_slowdown(observed: Observed) -> float:
    """(mean Te_j - mean Tb_j) / mean Tb_j; negative where nodes faster than the reference prevail."""
    base = _mean(observed.base_time)
    return _mean(observed.end - observed.start) / base - 1.0 if base else 0.0


def execution_slowdown_mean(observed: Observed) -> float:
    """Mean of (Te_j - Tb_j) / Tb_j; negative where nodes faster than the reference prevail."""
    return _mean((observed.end - observed.start) / observed.base_time - 1.0)


def bounded_slowdown_mean(observed: Observed) -> float:
    """Mean of max(1, (e_j - r_j) / max(Te_j, 10 s))."""
    run = np.maximum(observed.end - observed.start, BOUNDED_SLOWDOWN_THRESHOLD)
    return _mean(np.maximum(1.0, (observed.end - observed.arrival) / run))


def compaction(observed: Observed) -> float:
    """Processor-seconds used from the origin to max e_j, by running jobs too, / (processors * makespan)."""
    available = observed.num_processors * makespan(observed)
    used = float(((observed.end - observed.start) * observed.processors).sum()) + observed.background
    return used / available if available > 0.0 else 0.0


def coallocated_share(observed: Observed) -> float:
    """Share of the jobs that use two or more clusters."""
    return _mean(observed.is_coallocated)


def saturated_share(observed: Observed) -> float:
    """Share of the jobs that, at some instant, load a link whose total load is above its bandwidth."""
    return _mean(observed.met_saturation)


def peak_link_share(observed: Observed) -> float:
    """Maximum over links and instants of load / bandwidth; above 1 a link is saturated."""
    return observed.peak_link_share


def queue_length_mean(observed: Observed) -> float:
    """Sum of (s_j - r_j) / makespan: the number of waiting jobs, averaged over time."""
    span = makespan(observed)
    return float((observed.start - observed.arrival).sum()) / span if span > 0.0 else 0.0


METRICS: Mapping[str, Metric] = {
    "makespan": Metric("s", makespan),
    "total_execution_time": Metric("s", total_execution_time),
    "total_response_time": Metric("s", total_response_time),
    "wait_mean": Metric("s", wait_mean),
    "wait_max": Metric("s", wait_max),
    "response_mean": Metric("s", response_mean),
    "response_max": Metric("s", response_max),
    "execution_slowdown": Metric("-", execution_slowdown),
    "execution_slowdown_mean": Metric("-", execution_slowdown_mean),
    "bounded_slowdown_mean": Metric("-", bounded_slowdown_mean),
    "compaction": Metric("-", compaction),
    "coallocated_share": Metric("-", coallocated_share),
    "saturated_share": Metric("-", saturated_share),
    "peak_link_share": Metric("-", peak_link_share),
    "queue_length_mean": Metric("jobs", queue_length_mean),
}
"""Every metric by name, in the order of reports."""


def busy_time(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Return for each node by name how long at least one of its processors is held, s.

    Jobs that run already count from 0 to their end.
    """
    platform = instance.platform
    spans: list[list[tuple[float, float]]] = [[] for _ in platform.nodes]
    held = [(run.nodes, 0.0, run.end) for run in instance.running]
    for nodes, start, end in [*held, *((p.nodes, p.start, p.end) for p in schedule.placements)]:
        for node in {platform.processor_node[processor] for processor in processor_indices(instance, nodes)}:
            spans[node].append((start, end))
    return {node.name: _covered(node_spans) for node, node_spans in zip(platform.nodes, spans, strict=True)}


# ------------------------------------------------------------------------------ observing


def observe(instance: Instance, schedule: Schedule) -> Observed:
    """Return a schedule as columns; raises as :func:`metrics` does."""
    placements = schedule.placements
    jobs = placed_jobs(instance, schedule)
    start = np.fromiter((p.start for p in placements), np.float64, len(placements))
    end = np.fromiter((p.end for p in placements), np.float64, len(placements))
    tasks = _tasks_per_cluster(instance, [p.nodes for p in placements])
    met_saturation, peak = _saturation(instance, (start, end), jobs, tasks)
    last = float(end.max(initial=0.0))
    return Observed(
        arrival=np.fromiter((job.arrival for job in jobs), np.float64, len(jobs)),
        start=start,
        end=end,
        base_time=np.fromiter((job.base_time for job in jobs), np.float64, len(jobs)),
        processors=tasks.sum(axis=1),
        is_coallocated=(tasks > 0).sum(axis=1) > 1,
        met_saturation=met_saturation,
        peak_link_share=peak,
        background=float(sum(len(run.nodes) * max(0.0, min(run.end, last)) for run in instance.running)),
        origin=instance.origin,
        num_processors=instance.platform.num_processors,
    )


def placed_jobs(instance: Instance, schedule: Schedule) -> Sequence[Job]:
    """Return the job of each placement; raises where the instance does not have it."""
    placements = schedule.placements
    if len(placements) == len(instance.jobs) and all(
        p.job == job.id for p, job in zip(placements, instance.jobs, strict=True)
    ):
        return instance.jobs
    unknown = [p.job for p in placements if p.job not in instance.job_by_id]
    if unknown:
        raise CoallocError(
            f"the schedule places {visible(unknown[0])}, which is no job of the instance; "
            "`coalloc check` lists all that is wrong with it"
        )
    return [instance.job_by_id[p.job] for p in placements]


def processor_indices(instance: Instance, nodes: Iterable[str]) -> Iterator[int]:
    """Yield the indices of processors by name."""
    index = instance.platform.processor_index
    try:
        for name in nodes:
            yield index[name]
    except KeyError as error:
        raise CoallocError(
            f"the schedule uses {visible(error.args[0])}, which is no processor of the platform; "
            "`coalloc check` lists all that is wrong with it"
        ) from None


def _tasks_per_cluster(instance: Instance, nodes: Sequence[Sequence[str]]) -> Ints:
    """Return how many of the processors named in each row each cluster has, shape ``(num_rows, num_clusters)``."""
    platform = instance.platform
    num_clusters = len(platform.clusters)
    cluster = np.array([platform.nodes[node].cluster for node in platform.processor_node], dtype=np.int64)
    counts = np.zeros((len(nodes), num_clusters), dtype=np.int64)
    for first in range(0, len(nodes), ROWS_AT_ONCE):
        rows = nodes[first : first + ROWS_AT_ONCE]
        names = itertools.chain.from_iterable(rows)
        processors = np.fromiter(processor_indices(instance, names), np.int64)
        row = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        found = np.bincount(row * num_clusters + cluster[processors], minlength=len(rows) * num_clusters)
        counts[first : first + len(rows)] = found.reshape(len(rows), num_clusters)
    return counts


def _saturation(
    instance: Instance, spans: tuple[Floats, Floats], jobs: Sequence[Job], tasks: Ints
) -> tuple[NDArray[np.bool_], float]:
    """Return which placements meet a saturated link that they load, and the highest load / bandwidth of any link.

    ``spans`` are the starts and the ends of the placements, s; ``tasks`` has shape ``(num_jobs, num_clusters)``.
    """
    running = instance.running
    loads = _loads(
        instance,
        [*jobs, *(run.job for run in running)],
        np.concatenate([tasks, _tasks_per_cluster(instance, [run.nodes for run in running])]),
    )
    met = np.zeros(len(loads), dtype=bool)
    peak = 0.0
    if not loads.any():
        return met[: len(jobs)], peak
    starts = np.concatenate([spans[0], np.zeros(len(running))])
    ends = np.concatenate([spans[1], [run.end for run in running]])
    instants, index = merge_instants(np.concatenate([starts, ends]))
    begin, finish = index[: len(starts)], index[len(starts) :]
    for k, link in enumerate(instance.platform.links):
        totals = _total_load(loads[:, k], begin, finish, len(instants))
        num_saturated = np.concatenate([[0], np.cumsum(totals > capacity_limit(link.bandwidth))])
        met |= (loads[:, k] > 0.0) & (num_saturated[finish] > num_saturated[begin])
        highest = float(totals.max(initial=0.0))
        if highest > 0.0:
            peak = max(peak, highest / link.bandwidth if link.bandwidth > 0.0 else math.inf)
    return met[: len(jobs)], peak


def _loads(instance: Instance, jobs: Sequence[Job], tasks: Ints) -> Floats:
    """Return the load of each job on each link, MB/s; ``tasks`` per job and cluster."""
    loads = np.zeros((len(jobs), len(instance.platform.links)))
    for row in np.flatnonzero((tasks > 0).sum(axis=1) > 1):
        loads[row] = link_loads(jobs[int(row)], tasks[row].tolist(), instance.platform)
    return loads


def _total_load(loads: Floats, begin: Ints, finish: Ints, num_instants: int) -> Floats:
    """Return the load of a link from each instant to the next, MB/s."""
    loading = (loads > 0.0) & (begin < finish)
    added = np.bincount(begin[loading], loads[loading], num_instants)
    removed = np.bincount(finish[loading], loads[loading], num_instants)
    return np.cumsum(added - removed)


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return the length of the union of intervals, s."""
    covered, until = 0.0, -math.inf
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Return the mean, 0 of nothing."""
    return float(values.mean()) if len(values) else 0.0


def _max(values: Floats) -> float:
    """Return the maximum, 0 of nothing."""
    return float(values.max()) if len(values) else 0.0
