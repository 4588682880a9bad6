"""What an audit asks of each window: bounds, the best schedules known, and what waits would be without fragmentation.

All that is returned are means over the jobs, in s or the unit of the measure, but for makespans, s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.allocation import node_classes
from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.bench.outcomes import Outcome
from coalloc.instance import Instance, Job
from coalloc.measures import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.rules.fluid import delays, least_total_delay
from coalloc.schedule import Occupation, Placement, Schedule, assign_nodes
from coalloc.solvers.result import SolveResult
from coalloc.studies.audit_windows import Sample, bounded_slowdowns
from coalloc.studies.interruption import uninterrupted

Floats = NDArray[np.float64]

MOST_SEARCHED = 4_000
"""Jobs of a window up to which schedules are searched for; beyond, the best are those of policies."""

HEAD_START = 1.0
"""Seconds by which jobs that run already arrive before all others where policies are to know their estimates."""

SHARES_OF_TIME = {"bound": 0.4, "search": 0.6}
"""Shares of the time limit that the bounds and the searches of all measures get."""

CLAIRVOYANT = "{} with true run times"
SEARCH = "search"

MEASURES: Mapping[str, str] = {"wait": "mean-wait", "bounded_slowdown": "mean-bounded-slowdown"}
"""What is measured of jobs, and the objective that says it."""


# ------------------------------------------------------------------------------ bounds


def bounds(sample: Sample, time_limit: float) -> dict[str, float]:
    """Return a lower bound on every measure, and on the makespan, s."""
    each = time_limit / len(MEASURES)
    return {
        "wait": max(_wait_bound(sample), float(sample.waited.mean()) + _objective_bound(sample, "wait", each)),
        "bounded_slowdown": _slowdown_bound(sample, each),
        "makespan": _makespan_bound(sample.instance),
    }


def _objective_bound(sample: Sample, measure: str, time_limit: float) -> float:
    """Return the bound of the objective on the clock of the instance: what jobs had waited before is not in it."""
    return lower_bound(sample.instance, MEASURES[measure], time_limit=time_limit)


def _wait_bound(sample: Sample) -> float:
    """Return what the mean wait is at least without fragmentation, s."""
    delay = least_total_delay(sample.jobs, sample.supply)
    return float(sample.waited.mean()) + delay / len(sample.waited)


def _slowdown_bound(sample: Sample, time_limit: float) -> float:
    """Return the best bound on the mean bounded slowdown.

    With b waited before, the slowdown of a job is at least that without b, plus what b makes it more where it starts at
    once; and, as (b + wait + run) over the bounded run time, at least what the weighted delays make it.
    """
    jobs, waited = sample.jobs, sample.waited
    bounded = np.maximum(jobs.run, BOUNDED_SLOWDOWN_THRESHOLD)
    at_once = bounded_slowdowns(waited, jobs.run)
    since = _objective_bound(sample, "bounded_slowdown", time_limit) + float((at_once - 1.0).mean())
    weighted = least_total_delay(jobs, sample.supply, 1.0 / bounded) / len(waited)
    return max(since, float(((waited + jobs.run) / bounded).mean()) + weighted)


def _makespan_bound(instance: Instance) -> float:
    """Return a lower bound on the latest end on the clock of the instance, s."""
    found = max(lower_bound(instance, method=method) for method in ("longest-job", "packing"))
    return max(instance.origin + found, *(run.end for run in instance.running), 0.0)


# ------------------------------------------------------------------------------ schedules


def policy_starts(sample: Sample, policy: Mapping[str, Any], *, knows_run_times: bool) -> Floats:
    """Return the starts under a policy, s, which knows the users' estimates or the true run times.

    Jobs that run already go first and alone, as jobs of what is left of their estimates.
    """
    held = zip(sample.instance.running, sample.remaining.tolist(), strict=True)
    first = [_running_job(k, run.job.tasks, run.end, estimate) for k, (run, estimate) in enumerate(held)]
    others = [job.replace(id=f"j{k}", arrival=job.arrival + HEAD_START) for k, job in enumerate(sample.instance.jobs)]
    jobs = [*first, *others]
    if knows_run_times:
        jobs = [job.replace(estimate=job.base_time) for job in jobs]
    options = {name: option for name, option in policy.items() if name != "policy"}
    run = simulate(sample.instance.replace(jobs=jobs, running=()), policy["policy"], **options)
    return np.array([placement.start for placement in run.schedule.placements[len(first) :]]) - HEAD_START


def _running_job(number: int, tasks: int, end: float, estimated_end: float) -> Job:
    """Return a job that runs already as one that arrives before the window."""
    left = HEAD_START + end
    return Job(f"r{number}", tasks=tasks, base_time=left, estimate=max(left, HEAD_START + estimated_end))


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
class Held:
    """A schedule that is known: who made it, whether a policy with the users' estimates could, and its starts, s."""

    label: str
    is_online: bool
    starts: Floats


def schedules(
    sample: Sample, policies: Mapping[str, Mapping[str, Any]], time_limit: float, seed: int
) -> Iterator[Held]:
    """Yield schedules: those of policies with estimates, with true run times, and those that are searched for."""
    found: list[Held] = []
    for knows in (False, True):
        for label, policy in policies.items():
            starts = policy_starts(sample, policy, knows_run_times=knows)
            found.append(Held(CLAIRVOYANT.format(label) if knows else label, not knows, starts))
    yield from found
    if len(sample.waited) > MOST_SEARCHED:
        return
    for measure in MEASURES:
        first = min(found, key=lambda held: sample.measured(held.starts)[measure])
        result = _search(sample, measure, first, time_limit / len(MEASURES), seed)
        if result.schedule is not None:
            starts = np.array([result.schedule[job.id].start for job in sample.instance.jobs])
            yield Held(SEARCH, False, starts)


def _search(sample: Sample, measure: str, first: Held, time_limit: float, seed: int) -> SolveResult:
    """Return what ``solve`` finds from the best schedule so far."""
    start = _schedule(sample.instance, first.starts)
    objective = MEASURES[measure]
    return uninterrupted(solve(sample.instance, objective=objective, time_limit=time_limit, seed=seed, start=start))


# ------------------------------------------------------------------------------ one window


def measure_window(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return what is proven of a window, and the best that is known; called in a process of its own."""
    sample = Sample(instance, *(np.array(options[name], dtype=np.float64) for name in ("waited", "remaining")))
    seconds = options["time_limit"]
    low = bounds(sample, seconds * SHARES_OF_TIME["bound"])
    known = [
        {"label": held.label, "is_online": held.is_online, **sample.measured(held.starts)}
        for held in schedules(sample, options["policies"], seconds * SHARES_OF_TIME["search"], options["seed"])
    ]
    return {"status": "done", "bounds": low, "without_fragmentation": _fluid(sample), "schedules": known}


def _fluid(sample: Sample) -> dict[str, float]:
    """Return between what the least mean wait lies if jobs could be divided and interrupted, s."""
    jobs, supply, before = sample.jobs, sample.supply, float(sample.waited.mean())
    reached = min(float(delays(jobs, supply, priority).mean()) for priority in (jobs.work, jobs.run))
    return {"bound": _wait_bound(sample), "best": before + reached, "waited": before}
