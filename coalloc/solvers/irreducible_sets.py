"""Why an instance has no schedule: an irreducible set of what it asks for, each of which is needed.

Every word that takes schedules away is a reason: a deadline, a precedence, where a job may be, what there is of a
resource, a window, a reservation. Reasons are left out, many at a time and then singly, as long as it is proved that
there is still no schedule; one stays if there is a schedule without it. What stays in the end has none, and without any
one of it there would be one.
Source: deletion filtering, J. Chinneck, E. Dravnieks, "Locating minimal infeasible constraint sets in linear programs",
ORSA Journal on Computing 3 (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance import Instance, Job, RunningJob
from coalloc.instance.features import FEATURES
from coalloc.instance.features.feature import Condition
from coalloc.problem import Problem
from coalloc.solvers.feasibility import too_late_together, why_crowded, why_infeasible

MOST_REASONS = 400
"""Reasons beyond which none is left out: each may take a proof."""

Test = Callable[[Instance], bool | None]
"""Whether an instance has a schedule: True, False (proved), or None where that did not come out."""


def reasons_of(instance: Instance, *, keeps_running: bool = False) -> Iterator[Condition]:
    """Yield everything that an instance asks for and could do without; not what runs already, if that is to stay."""
    for feature in FEATURES.values():
        yield from feature.conditions(instance)
    for run in () if keeps_running else instance.running:
        since = f"from {instant_text(run.start)} " if run.start > 0.0 else ""
        sentence = f"job {quoted(run.job.id)} runs {since}until {instant_text(run.end)}"
        yield Condition(sentence, partial(without_running, run))


def without_running(run: RunningJob, instance: Instance) -> Instance:
    """Return an instance without a running job, and without what others state of it: it has every schedule that was."""
    left = [other for other in instance.running if other.job.id != run.job.id]
    jobs = [_freed(job, run.job.id) for job in instance.jobs]
    return instance.replace(running=left, jobs=jobs, limits=[limit.without(run.job.id) for limit in instance.limits])


def _freed(job: Job, other: str) -> Job:
    """Return a job that does not come after another."""
    if other not in (*job.after, *(lag.after for lag in job.lags)):
        return job
    left = [name for name in job.after if name != other]
    return job.replace(after=left, lags=[lag for lag in job.lags if lag.after != other])


def irreducible(instance: Instance, has_schedule: Test, *, keeps_running: bool = False) -> tuple[list[Condition], bool]:
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


def _with_reasons(instance: Instance, everything: Sequence[Condition], kept: Sequence[Condition]) -> Instance:
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
