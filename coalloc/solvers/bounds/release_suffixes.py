"""Problem as the bounds see it: jobs by speed levels, processors by speed, and the suffix of each release.

Speeds are the distinct effective powers, fastest first. At a level a job may use a *prefix* of them.
Sets of tasks, each bound to a prefix, fit on the processors exactly when every prefix has room for the
tasks bound to it or to a shorter one (Hall's theorem; the prefixes are nested). So all that matters of
a job at a level is its ``needs``: how many processors it takes of each prefix. Derivation:
docs/mathematics/bounds.md, "Speed levels and prefixes".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coalloc.instance import Job
from coalloc.problem import Problem, SpeedLevel
from coalloc.problem.execution import link_load
from coalloc.rules.serial_sgs import fillings
from coalloc.rules.tuning import TRIED

Member = tuple[int, int]
"""(job, level), both by index."""


@dataclass(frozen=True, slots=True)
class LevelledJob:
    """A job by levels, fastest first: ticks, and processors taken of each prefix, shape (num_levels, num_speeds).

    Where ``is_rigid`` a slower level needs no more of any prefix than a faster one. ``takes`` are the least shares
    that it takes of all that there is of each resource, shape (num_levels, num_resources); of what runs, none.
    """

    durations: tuple[float, ...]
    needs: tuple[tuple[int, ...], ...]
    is_rigid: bool = True
    takes: tuple[tuple[float, ...], ...] = ()

    @property
    def least_tasks(self) -> int:
        """The tasks of the job, in its narrowest shape."""
        return min(of_level[-1] for of_level in self.needs)

    def level_of(self, duration: float, tasks: int) -> int | None:
        """Return the level of a duration (ticks) with so many tasks; None where it was left out."""
        levels = enumerate(zip(self.durations, self.needs, strict=True))
        return next((level for level, (d, needs) in levels if (d, needs[-1]) == (duration, tasks)), None)


@dataclass(frozen=True, slots=True)
class ReleaseSuffix:
    """The jobs that arrive at ``release`` (ticks) or later, and what running jobs still hold then.

    ``numbers`` are the indices of the jobs in the problem; running job b, which has one level, is ``~b``.
    ``capacities`` are the processors of each speed.
    """

    release: float
    capacities: tuple[int, ...]
    jobs: tuple[LevelledJob, ...]
    numbers: tuple[int, ...]


def speeds(problem: Problem) -> list[float]:
    """Return the distinct effective powers, fastest first."""
    return sorted({c.effective_power for c in problem.classes}, reverse=True)


def speed_capacities(problem: Problem) -> tuple[int, ...]:
    """Return the processors of each speed."""
    return tuple(sum(c.capacity for c in problem.classes if c.effective_power == speed) for speed in speeds(problem))


def levelled_jobs(problem: Problem, *, use_links: bool) -> list[LevelledJob]:
    """Return the jobs by levels; with ``use_links`` without those fast levels at which a job alone saturates a link."""
    order = speeds(problem)
    places = [order.index(node_class.effective_power) for node_class in problem.classes]
    jobs = []
    for job, levels in zip(problem.jobs, problem.levels, strict=True):
        kept = _possible_levels(problem, job, levels) if use_links else levels
        prefixes = [max([places[g] for g in level.classes]) for level in kept]
        needs = tuple(
            tuple(level.tasks if s >= prefix else 0 for s in range(len(order)))
            for level, prefix in zip(kept, prefixes, strict=True)
        )
        takes = tuple(_shares(problem, job, level.tasks) for level in kept) if job.asks_resources else ()
        jobs.append(LevelledJob(tuple(level.duration for level in kept), needs, not job.shapes, takes))
    return jobs


def _shares(problem: Problem, job: Job, tasks: int) -> tuple[float, ...]:
    """Return the share that a job takes at least of each resource: all places that have it as one."""
    totals = ((name, problem.instance.platform.total_of(name)) for name in problem.instance.resources_asked)
    return tuple(job.amount(name, tasks) / total if total else 0.0 for name, total in totals)


def _possible_levels(problem: Problem, job: Job, levels: Sequence[SpeedLevel]) -> Sequence[SpeedLevel]:
    if problem.scope == "platform" and not can_saturate(problem, job):
        return levels
    if job.shapes:
        shapes = [problem.allocations.shape_of(job, level.tasks) for level in levels]
        kept = [lv for lv, shape in zip(levels, shapes, strict=True) if not _is_impossible(problem, shape, lv)]
        return kept or levels[-1:]
    first = 0
    while first < len(levels) - 1 and _is_impossible(problem, job, levels[first]):
        first += 1
    return levels[first:]


def can_saturate(problem: Problem, job: Job) -> bool:
    """Return whether an even split would load some link above its limit; no other split loads one more."""
    most = max(link_load(shape.tasks // 2, shape) for shape in problem.allocations.shapes(job))
    return any(most > limit for limit in problem.allocations.limits[: problem.allocations.num_links])


def _is_impossible(problem: Problem, job: Job, level: SpeedLevel) -> bool:
    """Return whether every allocation within the classes of a level is proved to saturate a link or break the scope."""
    free = [capacity if g in level.classes else 0 for g, capacity in enumerate(problem.capacities)]
    if any(True for _ in fillings(problem, job, free, problem.allocations.limits)):
        return False
    if problem.allocations.count(job) > TRIED:
        return False
    allocations = (a for a in problem.allocations.of(job) if all(n <= c for n, c in zip(a, free, strict=True)))
    return not any(
        problem.allocations.fits_alone(problem.allocations.mode(job, allocation)) for allocation in allocations
    )


def held_by_running(problem: Problem) -> list[tuple[float, tuple[int, ...]]]:
    """Return the end (ticks) of each running job and the processors that it holds of each prefix."""
    order = speeds(problem)
    held = []
    for busy in problem.busy:
        powers = [c.effective_power for c in problem.classes]
        counts = [sum(n for n, power in zip(busy.allocation, powers, strict=True) if power >= speed) for speed in order]
        held.append((busy.end, tuple(counts)))
    return held


def release_suffix_of(
    problem: Problem, jobs: Sequence[LevelledJob], release: float, proven_end: float
) -> ReleaseSuffix:
    """Return the suffix of a release.

    Running jobs count until ``proven_end`` only, a lower bound on the latest end: what they do after the
    jobs to schedule have ended is no work to wait for.
    """
    numbers = [j for j, r in enumerate(problem.releases) if r >= release and min(jobs[j].durations) > 0.0]
    busy = dict(_rests(problem, release, proven_end))
    return ReleaseSuffix(
        release,
        speed_capacities(problem),
        (*(jobs[j] for j in numbers), *busy.values()),
        (*numbers, *(~b for b in busy)),
    )


def _rests(problem: Problem, release: float, proven_end: float) -> Iterator[tuple[int, LevelledJob]]:
    for b, (end, needs) in enumerate(held_by_running(problem)):
        rest = min(end, proven_end) - release
        if rest > 0.0:
            yield b, LevelledJob((rest,), (needs,))
