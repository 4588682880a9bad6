"""Solves of an audit in each window: bounds, the best schedules known, and waits without fragmentation.

All that is returned are means over the jobs, in s or the unit of the measure, but for makespans, s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.bench.outcomes import Outcome
from coalloc.instance import Instance, Job, RunningJob
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.problem.allocation import node_classes
from coalloc.rules.fluid import delays, least_total_delay
from coalloc.schedule import Occupation, Placement, Schedule, assign_nodes
from coalloc.solvers.result import SolveResult
from coalloc.studies.audit_windows import WindowSample, bounded_slowdowns, free_sample
from coalloc.studies.interruption import uninterrupted
from coalloc.studies.site_runs import unrestricted

Floats = NDArray[np.float64]

MOST_SEARCHED = 4_000
"""Jobs of a window up to which schedules are searched for; beyond, the best are those of policies."""

HEAD_START = 1.0
"""Seconds by which jobs that run already arrive before all others, so that they start first, alone."""

SHARES_OF_TIME: Mapping[str, float] = {"wait": 0.5, "bounded_slowdown": 0.4, "makespan": 0.1}
"""Shares of the time limit after which each measure has been searched for, and bounded."""

CLAIRVOYANT = "{} with true run times"
SEARCH = "search"

OBJECTIVES: Mapping[str, str] = {
    "wait": "mean-wait",
    "bounded_slowdown": "mean-bounded-slowdown",
    "makespan": "makespan",
}
"""Measures of a schedule, and the objective of each."""

JOB_MEASURES = ("wait", "bounded_slowdown")
"""Measures that are means over the jobs."""


# ------------------------------------------------------------------------------ bounds


def bounds(sample: WindowSample, time_limit: float) -> dict[str, float]:
    """Return a lower bound on the mean wait (s), the mean bounded slowdown and the makespan (s)."""
    found = simple_bounds(sample)
    for measure in JOB_MEASURES:
        bound = lower_bound(sample.instance, OBJECTIVES[measure], time_limit=time_limit / len(JOB_MEASURES))
        found[measure] = max(found[measure], of_objective(sample, measure, bound))
    return found


def simple_bounds(sample: WindowSample) -> dict[str, float]:
    """Return the same as far as it costs next to nothing."""
    makespan = max(lower_bound(sample.instance, method=method) for method in ("longest-job", "packing"))
    return {
        "wait": _divided_wait(sample),
        "bounded_slowdown": max(1.0, _divided_slowdown(sample)),
        "makespan": of_objective(sample, "makespan", makespan),
    }


def of_objective(sample: WindowSample, measure: str, bound: float) -> float:
    """Return the bound on a measure that a bound on its objective gives, of which the clock begins with the window.

    What jobs had waited before adds to their waits. With b waited before, the bounded slowdown of a job is at least
    that without b, plus what b makes it more where it starts at once.
    """
    if measure == "wait":
        return float(sample.waited.mean()) + bound
    if measure == "bounded_slowdown":
        return bound + float((bounded_slowdowns(sample.waited, sample.jobs.run) - 1.0).mean())
    return max(sample.instance.origin + bound, *(run.end for run in sample.instance.running), 0.0)


def _divided_wait(sample: WindowSample) -> float:
    """Return what the mean wait is at least without fragmentation, s."""
    delay = least_total_delay(sample.jobs, sample.supply)
    return float(sample.waited.mean()) + delay / len(sample.waited)


def _divided_slowdown(sample: WindowSample) -> float:
    """Return what the mean bounded slowdown is at least without fragmentation.

    With b waited before it is at least (b + wait + run) over the bounded run time: delays count by the inverse of that.
    """
    jobs, waited = sample.jobs, sample.waited
    bounded = np.maximum(jobs.run, BOUNDED_SLOWDOWN_THRESHOLD)
    weighted = least_total_delay(jobs, sample.supply, 1.0 / bounded) / len(waited)
    return float(((waited + jobs.run) / bounded).mean()) + weighted


# ------------------------------------------------------------------------------ schedules


def policy_starts(sample: WindowSample, policy: Mapping[str, Any], *, knows_run_times: bool) -> Floats:
    """Return the starts under a policy, s, which knows the users' estimates or the true run times.

    Jobs that run already go first and alone, as jobs of what is left of their estimates.
    """
    running, jobs = sample.instance.running, sample.instance.jobs
    shift = max(sample.clock, HEAD_START if running else 0.0)
    ahead = shift - HEAD_START
    held = zip(running, sample.remaining.tolist(), strict=True)
    first = [_running_job(k, run, left).replace(arrival=ahead) for k, (run, left) in enumerate(held)]
    simulated = [*first, *(job.replace(id=f"j{k}", arrival=job.arrival + shift) for k, job in enumerate(jobs))]
    if knows_run_times:
        simulated = [job.replace(estimate=job.base_time) for job in simulated]
    options = {name: option for name, option in policy.items() if name != "policy"}
    run = simulate(sample.instance.replace(jobs=simulated, running=()), policy["policy"], **options)
    return np.array([placement.start for placement in run.schedule.placements[len(first) :]]) - shift


def _running_job(number: int, run: RunningJob, estimated_end: float) -> Job:
    """Return a job that runs already as one that starts before the window."""
    left = HEAD_START + run.end
    return Job(f"r{number}", tasks=run.job.tasks, base_time=left, estimate=max(left, HEAD_START + estimated_end))


def _schedule(instance: Instance, starts: Floats) -> Schedule | None:
    """Return the schedule of starts on one pool of processors; None where there are several."""
    classes = node_classes(instance.platform)
    if len(classes) > 1:
        return None
    spans = [
        Occupation(job.id, start, start + job.base_time, (job.tasks,))
        for job, start in zip(instance.jobs, starts.tolist(), strict=True)
    ]
    nodes = assign_nodes(instance, classes, spans)
    return Schedule(
        [Placement(span.job, span.start, span.end, names) for span, names in zip(spans, nodes, strict=True)],
        instance=instance.name,
    )


@dataclass(frozen=True)
class KnownSchedule:
    """A schedule that is known: who made it, whether a policy with the users' estimates could, and its starts, s."""

    label: str
    is_online: bool
    starts: Floats


def of_policies(sample: WindowSample, policies: Mapping[str, Mapping[str, Any]]) -> list[KnownSchedule]:
    """Return the schedules of policies, with the users' estimates and with true run times."""
    return [
        KnownSchedule(
            CLAIRVOYANT.format(label) if knows else label,
            not knows,
            policy_starts(sample, policy, knows_run_times=knows),
        )
        for knows in (False, True)
        for label, policy in policies.items()
    ]


def search(
    sample: WindowSample, measure: str, known: Sequence[KnownSchedule], time_limit: float, seed: int
) -> SolveResult:
    """Return what ``solve`` finds from the best of the schedules that are known."""
    first = min(known, key=lambda held: sample.measured(held.starts)[measure], default=None)
    start = None if first is None else _schedule(sample.instance, first.starts)
    objective = OBJECTIVES[measure]
    return uninterrupted(solve(sample.instance, objective=objective, time_limit=time_limit, seed=seed, start=start))


# ------------------------------------------------------------------------------ one window


def simulated_starts(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return the starts of the jobs under a policy with the users' estimates; called in a process of its own."""
    starts = policy_starts(_sample(options, instance), options["policy"], knows_run_times=False)
    return {"status": "done", "starts": starts.tolist()}


def _sample(options: Mapping[str, Any], instance: Instance) -> WindowSample:
    waited, remaining = (np.array(options[name], dtype=np.float64) for name in ("waited", "remaining"))
    return WindowSample(instance, waited, remaining, options["clock"])


def measure_window(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return what is proved of a window, and the best that is known; called in a process of its own."""
    sample = _sample(options, instance)
    is_searched = len(sample.waited) <= MOST_SEARCHED
    low = simple_bounds(sample) if is_searched else bounds(sample, options["time_limit"])
    known = of_policies(sample, options["policies"])
    for measure, share in SHARES_OF_TIME.items() if is_searched else ():
        result = search(sample, measure, known, share * options["time_limit"], options["seed"])
        if result.lower_bound is not None:
            low[measure] = max(low[measure], of_objective(sample, measure, result.lower_bound))
        if result.schedule is not None:
            starts = np.array([result.schedule[job.id].start for job in instance.jobs])
            known.append(KnownSchedule(SEARCH, False, starts))
    measured = [sample.measured(held.starts) for held in known]
    best = min(range(len(known)), key=lambda k: measured[k]["wait"])
    return {
        "status": "done",
        "bounds": low,
        "without_fragmentation": _divided(sample),
        "schedules": [
            {"label": held.label, "is_online": held.is_online, **found}
            for held, found in zip(known, measured, strict=True)
        ],
        "best_starts": known[best].starts.tolist(),
    }


def measure_arrivals(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return what is proved of jobs that arrive from ``begin`` on, s, whatever else runs; called in its own process.

    A bound is the larger of two: with all that restricts the jobs, and without limits, partitions and levels.
    """
    begin = options["begin"]
    parts = [part for part in (instance, unrestricted(instance)) if part is not None]
    low = {
        measure: max(
            lower_bound(part, OBJECTIVES[measure], time_limit=share * options["time_limit"] / len(parts))
            for part in parts
        )
        for measure, share in SHARES_OF_TIME.items()
    }
    divided = _divided(free_sample(instance.jobs, instance, begin))
    if any(job.shapes for job in instance.jobs):
        divided["bound"] = 0.0  # of the work of the first mode only
    low["wait"] = max(low["wait"], divided["bound"])
    low["makespan"] += instance.origin - begin
    return {"status": "done", "bounds": low, "without_fragmentation": divided}


def _divided(sample: WindowSample) -> dict[str, float]:
    """Return between what the least mean wait lies if jobs could be divided and interrupted, s."""
    jobs, supply, before = sample.jobs, sample.supply, float(sample.waited.mean())
    reached = min(float(delays(jobs, supply, priority).mean()) for priority in (jobs.work, jobs.run))
    return {"bound": _divided_wait(sample), "best": before + reached, "waited": before}
