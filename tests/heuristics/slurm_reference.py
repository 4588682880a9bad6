"""Slurm's two schedulers on one pool, second by second, from docs/policies.md: whole seconds, nothing skipped."""

from __future__ import annotations

import math
from typing import NamedTuple

from coalloc.instance import Job


class Options(NamedTuple):
    """Options of the policy; the window is in s here."""

    interval: int = 30
    window: int = 86_400
    resolution: int = 60
    max_test: int = 100
    max_user: int = 0


def slurm(jobs: list[Job], processors: int, options: Options) -> dict[str, int]:
    """Return the start of each job, s; the queue is in order of arrival."""
    queue: list[Job] = []
    running: list[tuple[Job, int]] = []
    starts: dict[str, int] = {}
    now = -1
    while len(starts) < len(jobs):
        now += 1
        ended = [run for run in running if run[1] + run[0].base_time == now]
        arrived = [job for job in jobs if job.arrival == now]
        running = [run for run in running if run not in ended]
        queue += arrived
        found = by_priority(queue, processors - sum(job.tasks for job, _ in running)) if ended or arrived else []
        if now % options.interval == 0:
            found += cycle([job for job in queue if job not in found], running, found, now, processors, options)
        running += [(job, now) for job in found]
        starts |= {job.id: now for job in found}
        queue = [job for job in queue if job not in found]
    return starts


def by_priority(queue: list[Job], free: int) -> list[Job]:
    """Return the jobs up to the first that does not fit."""
    found: list[Job] = []
    for job in queue:
        if job.tasks > free:
            return found
        free -= job.tasks
        found.append(job)
    return found


def cycle(
    queue: list[Job], running: list[tuple[Job, int]], started: list[Job], now: int, processors: int, options: Options
) -> list[Job]:
    """Return the jobs that start in a cycle of backfilling."""
    step = options.resolution
    taken = [(now, math.ceil(max(now + 0.5, start + job.estimate) / step) * step, job.tasks) for job, start in running]
    taken += [(now, now + math.ceil(job.estimate / step) * step, job.tasks) for job in started]
    found: list[Job] = []
    tested: list[str | None] = []
    for job in queue:
        if options.max_user and tested.count(job.user) >= options.max_user:
            continue
        if len(tested) == options.max_test:
            break
        tested.append(job.user)
        seconds = math.ceil(job.estimate / step) * step
        for start in sorted({now, *(end for _, end, _ in taken)}):
            if start >= now + options.window:
                break
            times = {start, *(begin for begin, _, _ in taken if start <= begin < start + seconds)}
            if all(sum(n for begin, end, n in taken if begin <= t < end) + job.tasks <= processors for t in times):
                taken.append((start, start + seconds, job.tasks))
                found += [job] if start == now else []
                break
    return found
