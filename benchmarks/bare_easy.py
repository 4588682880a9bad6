"""EASY with nothing around it: what one loop over lists of numbers takes for the same starts.

One pool of equal processors, one pass per instant, no checks, no names, no metrics. Simulators are measured
against it: what they take longer is the price of what they do besides.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Sequence

BareJob = tuple[float, float, int, float]
"""Arrival (s), run time (s), processors, estimate (s)."""


def easy(jobs: Sequence[BareJob], processors: int) -> list[float]:
    """Return the start of each job, s; jobs are in order of arrival."""
    free, coming = processors, 0
    queue: list[int] = []
    ends: list[tuple[float, int, float]] = []  # real end, job, estimated end
    running: list[tuple[float, int, int]] = []  # estimated end, job, processors
    starts = [math.nan] * len(jobs)
    while coming < len(jobs) or ends:
        now = min(ends[0][0] if ends else math.inf, jobs[coming][0] if coming < len(jobs) else math.inf)
        while ends and ends[0][0] <= now:
            _, job, estimated = heapq.heappop(ends)
            free += jobs[job][2]
            del running[bisect_left(running, (estimated, job, 0))]
        while coming < len(jobs) and jobs[coming][0] <= now:
            queue.append(coming)
            coming += 1
        shadow, extra, kept = math.nan, 0, []  # no reservation yet
        for place, job in enumerate(queue):
            _, seconds, tasks, estimate = jobs[job]
            if not kept and tasks > free:
                kept.append(job)
                if not free or place + 1 == len(queue):
                    kept += queue[place + 1 :]
                    break
                shadow, extra = _reservation(running, free, tasks, now)
            elif not kept or (tasks <= free and (now + estimate <= shadow or tasks <= extra)):
                if kept and now + estimate > shadow:
                    extra -= tasks
                free -= tasks
                starts[job] = now
                heapq.heappush(ends, (now + seconds, job, now + estimate))
                insort(running, (now + estimate, job, tasks))
            else:
                kept.append(job)
        queue = kept
    return starts


def _reservation(running: Sequence[tuple[float, int, int]], free: int, tasks: int, now: float) -> tuple[float, int]:
    """Return when so many processors are free by the estimates, s, and how many more are then."""
    shadow = math.inf
    for estimated, _, held in running:
        end = max(estimated, now)
        if end > shadow:
            break
        free += held
        if free >= tasks:
            shadow = end
    return shadow, free - tasks
