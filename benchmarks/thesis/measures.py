"""What is measured on one instance: runs of policies, what exact solves prove, and OAS in slots of several lengths.

Each measure takes a :class:`Sample` and returns rows, one per strategy, that name the point of the grid, the
seed and the strategy. What is proved goes into a row of its own, the strategy ``REFERENCE``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from workloads import Point, Workload

import coalloc
from coalloc import Instance, Schedule
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Row
from coalloc.measures.metrics import busy_time

REFERENCE = "reference"
"""Strategy of the rows that hold bounds and optima."""
OAS = "OAS"
"""Strategy of the rows of OAS in slots with its starts kept, as the source runs it."""
OAS_LEFT = "OAS, left-shifted"
"""Strategy of the rows of the same schedules with every start moved left: same nodes, same order, no idle rests."""
OPTIMUM = "OAS, continuous time"
"""Strategy of the rows of the exact solve in continuous time."""

METRICS = (
    "makespan",
    "wait_mean",
    "response_mean",
    "execution_slowdown",
    "execution_slowdown_mean",
    "utilization",
    "coallocated_share",
    "saturated_share",
)
"""Metrics of each run, as coalloc defines them; the mean execution time is added to them."""

RANKS = ("power_by_time", "power_by_work")
"""Rank correlations of the power that jobs get with what they ask of it."""
FEW_JOBS = 8
"""Jobs up to which runs have them: those of OAS."""

LONGEST_JOBS = 5_000
"""Jobs of longest base time whose slowdowns Figure 3.32 shows."""
ROUNDING = 1e-9
"""Slowdown that is none."""
SLOWDOWN_EDGES = tuple(round(-0.5 + 0.1 * i, 1) for i in range(16))
"""Edges of the classes of (Te - Tb)/Tb there; what is beyond counts in the outermost."""

TIME_LIMIT = 7200.0
"""Seconds after which a sample is killed: far more than any takes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One instance and what is to be measured on it; ``options`` are those of the measure."""

    measure: str
    workload: Workload
    point: Point
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> Call:
        """The call that measures the sample."""
        return Call(measured, asdict(self), TIME_LIMIT)


def measured(argument: Mapping[str, Any]) -> Row:
    """Return the rows of a sample, given as a dictionary, as what a store keeps."""
    point, seed = argument["point"], argument["seed"]
    instance = Workload(**argument["workload"]).instance(point, seed)
    rows = MEASURES[argument["measure"]](instance, **argument["options"])
    return {"status": "done", "rows": [{**point, "seed": seed, **row} for row in rows]}


# --- policies and the bounds that hold for them ----------------------------------------------------


def policies(
    instance: Instance, strategies: Mapping[str, Mapping[str, Any]], detail: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield a row per strategy; those named in ``detail`` also say how long nodes worked, and who was slowed down."""
    for label, options in strategies.items():
        run = coalloc.simulate(instance, **options)
        more = detailed(instance, run.schedule) if label in detail else {}
        yield {
            "strategy": label,
            **metrics_of(instance, run.schedule),
            "decision_time_mean": run.metrics["decision_time_mean"],
            **more,
        }


def metrics_of(instance: Instance, schedule: Schedule) -> dict[str, float | None]:
    """Return the metrics of the tables, with the mean execution time (s); of few jobs also how power is given."""
    found = coalloc.metrics(instance, schedule)
    execution = {"execution_mean": found["response_mean"] - found["wait_mean"]}
    few = power_ranks(instance, schedule) if len(instance.jobs) <= FEW_JOBS else {}
    return {name: found[name] for name in METRICS} | execution | few


def power_of_nodes(instance: Instance) -> dict[str, float]:
    """Return the effective power of each node by name."""
    clusters = instance.platform.clusters
    return {node.name: clusters[node.cluster].nodes[node.group].effective_power for node in instance.platform.nodes}


def power_ranks(instance: Instance, schedule: Schedule) -> dict[str, float | None]:
    """Return Spearman's correlation of the mean power of a job's nodes with what it asks of processors.

    The paper says "heavier processing requirements" (section 4.2): the processing seconds of a task, and those of all.
    None where all jobs get the same power.
    """
    power = power_of_nodes(instance)
    got = [float(np.mean([power[name] for name in schedule[job.id].nodes])) for job in instance.jobs]
    seconds = [job.base_time * job.processing_share for job in instance.jobs]
    work = [time * job.tasks for time, job in zip(seconds, instance.jobs, strict=True)]
    if np.ptp(got) == 0.0:
        return dict.fromkeys(RANKS)
    return {name: rank_correlation(asked, got) for name, asked in zip(RANKS, (seconds, work), strict=True)}


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation; scipy's takes half a second to import, in every sample."""
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks of values, those that tie sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def detailed(instance: Instance, schedule: Schedule) -> dict[str, Any]:
    """Return the busy time (s) of each node, the slowest first, and the slowdowns of the longest jobs.

    These as a histogram, as their mean, and as the share of jobs that take longer than their base time, or as long.
    """
    power = power_of_nodes(instance)
    busy = busy_time(instance, schedule)
    longest = sorted(instance.jobs, key=lambda job: -job.base_time)[:LONGEST_JOBS]
    slowdowns = [slowdown(schedule, job) for job in longest]
    edges = np.asarray(SLOWDOWN_EDGES)
    counts, _ = np.histogram(np.clip(slowdowns, edges[0], edges[-1]), edges)
    return {
        "busy": [busy[name] for name in sorted(power, key=lambda name: power[name])],
        "slowdowns": counts.tolist(),
        "longest_slowdown_mean": float(np.mean(slowdowns)),
        "longest_slowed_share": float(np.mean([value >= -ROUNDING for value in slowdowns])),
    }


def slowdown(schedule: Schedule, job: coalloc.Job) -> float:
    """Return (Te - Tb)/Tb of a job."""
    placement = schedule[job.id]
    return (placement.end - placement.start) / job.base_time - 1.0


def bounds(instance: Instance) -> Iterator[Row]:
    """Yield bounds on makespan and mean response time (s) that hold whether links saturate or not."""
    quiet = without_traffic(instance)
    yield {
        "strategy": REFERENCE,
        "bound": coalloc.lower_bound(quiet, method="area"),
        "response_bound": response_bound(quiet),
    }


def response_bound(instance: Instance) -> float:
    """Return a lower bound on the mean response time, s."""
    total = coalloc.lower_bound(instance, "total-response-time", method="best")
    return total / len(instance.jobs)


def without_traffic(instance: Instance) -> Instance:
    """Return the instance whose jobs send nothing: its bounds hold where links may saturate, for that only delays."""
    return instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])


# --- what is proved, and OAS in slots ---------------------------------------------------------------


def exact(instance: Instance, time_limit: float) -> Iterator[Row]:
    """Yield the optimum in continuous time, and what is proved with strict links and with links that may saturate."""
    quiet_instance = without_traffic(instance)
    strict = coalloc.solve(instance, time_limit=time_limit)
    quiet = coalloc.solve(quiet_instance, time_limit=time_limit)
    quiet_bound = proven(quiet)
    yield {"strategy": OPTIMUM, **metrics_of(instance, strict.schedule)}
    yield {
        "strategy": REFERENCE,
        "bound": quiet_bound,
        "is_optimum": is_proven(quiet),
        "strict_bound": max(proven(strict), quiet_bound),
        "strict_is_optimum": is_proven(strict),
        "response_bound": response_bound(quiet_instance),
    }


def is_proven(result: coalloc.SolveResult) -> bool:
    """Tell whether a schedule is proved optimal."""
    return result.status is coalloc.results.SolveStatus.OPTIMAL


def proven(result: coalloc.SolveResult) -> float:
    """Return the optimal makespan (s) if it is known, else the bound: 0 at worst."""
    known = result.objective if is_proven(result) else result.lower_bound
    return known or 0.0


def slots(instance: Instance, percentages: Sequence[float], time_limit: float) -> Iterator[Row]:
    """Yield OAS in slots of so many percent of the mean base time: its starts kept, and moved left."""
    for percentage in percentages:
        before = cpu_seconds()
        result = coalloc.solve(instance, slot=f"{percentage:g}%", time_limit=time_limit)
        cpu = cpu_seconds() - before
        for starts in ("keep", "left"):
            schedule = coalloc.replay(instance, result.schedule, starts=starts)
            yield {
                "strategy": OAS,
                "slot": percentage,
                "starts": starts,
                **metrics_of(instance, schedule),
                "slotted_makespan": result.objective,
                "is_proven": is_proven(result),
                "solve_time": result.timings["total"],
                "solve_cpu": cpu,
            }


def cpu_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for; others change it little."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


MEASURES: Mapping[str, Callable[..., Iterator[Row]]] = {
    "policies": policies,
    "bounds": bounds,
    "exact": exact,
    "slots": slots,
}
"""Every measure by name."""
