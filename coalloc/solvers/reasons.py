"""Why an instance has no schedule: an irreducible set of what it asks for, each of which is needed.

Every word that takes schedules away is a reason: a deadline, a precedence, where a job may be, what there is of a
resource, a window, a reservation. Reasons are left out, many at a time and then singly, as long as it is proven that
there is still no schedule; one stays if there is a schedule without it. What stays in the end has none, and without any
one of it there would be one.
Source: deletion filtering, J. Chinneck, E. Dravnieks, "Locating minimal infeasible constraint sets in linear programs",
ORSA Journal on Computing 3 (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from coalloc.display.wording import instant_text
from coalloc.documents.text import quoted
from coalloc.instance import Instance, Job, Lag, RunningJob, Window
from coalloc.instance.resources import total_of
from coalloc.problem import Problem
from coalloc.problem.shortages import spread_words
from coalloc.solvers.feasibility import too_late_together, why_crowded, why_infeasible

MOST_REASONS = 400
"""Reasons beyond which none is left out: each may take a proof."""

Change = Callable[[Instance], Instance]
Test = Callable[[Instance], bool | None]
"""Whether an instance has a schedule: True, False (proven), or None where that did not come out."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What an instance asks for, in words, and how it is left out."""

    sentence: str
    left_out: Change


def reasons_of(instance: Instance, *, keeps_running: bool = False) -> Iterator[Reason]:
    """Yield everything that an instance asks for and could do without; not what runs already, if that is to stay."""
    for job in instance.jobs:
        name = quoted(job.id)
        if job.deadline is not None:
            yield Reason(
                f"job {name} must end by {instant_text(job.deadline)}",
                _of_job(job, lambda j: j.replace(deadline=None)),
            )
        for other in job.after:
            yield Reason(
                f"job {name} must start after the end of {quoted(other)}", _of_job(job, _without_predecessor(other))
            )
        for lag in job.lags:
            yield Reason(f"job {name} must start {_lag_words(lag)}", _of_job(job, _without_lag(lag)))
        if job.eligible:
            clusters = " or ".join(map(quoted, job.eligible))
            yield Reason(f"job {name} may only use {clusters}", _of_job(job, lambda j: j.replace(eligible=())))
        if job.is_spread:
            yield Reason(
                f"job {name} restricts its tasks in each cluster ({', '.join(spread_words(job))})",
                _of_job(job, _without_spread),
            )
        if job.requires:
            features = " and ".join(map(quoted, job.requires))
            yield Reason(f"job {name} requires {features}", _of_job(job, lambda j: j.replace(requires=())))
    for resource in instance.resources_asked:
        total = total_of(instance.platform, resource)
        yield Reason(f"the capacity of {quoted(resource)} is {total:g}", partial(_without_resource, resource))
    for limit in instance.limits:
        sentence = f"the jobs of limit {quoted(limit.name)} take at most {limit.capacity:g} at any time"
        yield Reason(sentence, partial(_without_limit, limit.name))
    for window in instance.platform.unavailable:
        what = f"{window.processors} processors of group {window.group}" if window.processors else "nodes"
        times = f"{instant_text(window.start)} to {instant_text(window.end)}"
        closed = f"{what} of {quoted(window.cluster)} are unavailable from {times}"
        yield Reason(closed, partial(_without_window, window))
    for run in () if keeps_running else instance.running:
        since = f"from {instant_text(run.start)} " if run.start > 0.0 else ""
        yield Reason(
            f"job {quoted(run.job.id)} runs {since}until {instant_text(run.end)}", partial(_without_running, run)
        )


def _of_job(job: Job, change: Callable[[Job], Job]) -> Change:
    """Return a change of one job of an instance."""
    return lambda instance: instance.replace(jobs=[change(j) if j.id == job.id else j for j in instance.jobs])


def _lag_words(lag: Lag) -> str:
    """Return when a lag lets a job start, in words."""
    other = f"the {lag.from_} of {quoted(lag.after)}"
    if lag.is_same_start:
        return f"at {other}"
    most = "" if lag.max is None else f" and at most {lag.max:g} s"
    return f"at least {lag.min:g} s{most} after {other}"


def _without_spread(job: Job) -> Job:
    return job.replace(max_clusters=None, min_tasks_per_cluster=None, slices=None, level=None)


def _without_lag(lag: Lag) -> Callable[[Job], Job]:
    return lambda job: job.replace(lags=[other for other in job.lags if other != lag])


def _without_predecessor(other: str) -> Callable[[Job], Job]:
    return lambda job: _freed(job, other)


def _freed(job: Job, other: str) -> Job:
    """Return a job that does not come after another."""
    if other not in (*job.after, *(lag.after for lag in job.lags)):
        return job
    left = [name for name in job.after if name != other]
    return job.replace(after=left, lags=[lag for lag in job.lags if lag.after != other])


def _without_window(window: Window, instance: Instance) -> Instance:
    left = list(instance.platform.unavailable)
    left.remove(window)
    return instance.replace(platform=instance.platform.replace(unavailable=left))


def _without_resource(resource: str, instance: Instance) -> Instance:
    """Return an instance in which no job takes of a resource."""

    def freed(job: Job) -> Job:
        fields = {"resources": job.resources, "task_resources": job.task_resources}
        return job.replace(**{key: {n: a for n, a in of.items() if n != resource} for key, of in fields.items()})

    running = [run.replace(job=freed(run.job)) for run in instance.running]
    return instance.replace(jobs=list(map(freed, instance.jobs)), running=running)


def _without_limit(name: str, instance: Instance) -> Instance:
    return instance.replace(limits=[limit for limit in instance.limits if limit.name != name])


def _without_running(run: RunningJob, instance: Instance) -> Instance:
    left = [other for other in instance.running if other.job.id != run.job.id]
    jobs = [_freed(job, run.job.id) for job in instance.jobs]
    return instance.replace(running=left, jobs=jobs, limits=[limit.without(run.job.id) for limit in instance.limits])


def irreducible(instance: Instance, has_schedule: Test, *, keeps_running: bool = False) -> tuple[list[Reason], bool]:
    """Return reasons for which an instance has no schedule, and whether each of them is known to be needed.

    ``keeps_running``: no job that runs already is left out, for a constraint of the user's own may look at it.
    """
    kept = list(reasons_of(instance, keeps_running=keeps_running))
    if len(kept) > MOST_REASONS:
        return kept, False
    everything, size, is_proven = list(kept), max(1, len(kept) // 2), True
    while size:
        place, is_proven = 0, True
        while place < len(kept):
            tried = kept[:place] + kept[place + size :]
            found = has_schedule(_with_reasons(instance, everything, tried))
            is_proven &= found is not None
            if found is False:
                kept = tried
            else:
                place += size
        size //= 2
    return kept, is_proven


def _with_reasons(instance: Instance, everything: Sequence[Reason], kept: Sequence[Reason]) -> Instance:
    """Return an instance without the reasons that are not kept."""
    for reason in everything:
        if not any(reason is other for other in kept):
            instance = reason.left_out(instance)
    return instance


def is_beyond_one_job(problem: Problem) -> bool:
    """Return whether what keeps a problem without a schedule may be more than a job by itself."""
    is_several = bool(why_crowded(problem)) or too_late_together(problem) is not None
    is_shared = bool(problem.contended_stocks) and not why_infeasible(problem)
    is_tied = any(problem.before) or "lags" in problem.instance.features
    return is_tied or not problem.has_monotone_capacity or is_several or is_shared
