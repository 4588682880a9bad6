"""Why jobs of a schedule waited: what was in the way at each instant between their arrival and their start.

It is read from the schedule alone: what the others hold at an instant, and whether the job, in some allocation, would
have fitted beside them at that instant, and for as long as it takes. The rule of a policy is not known; where
nothing held the job back, the sentence states only which job of the queue had not started, or which start with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text, number_text, plural
from coalloc.explanations.reasons import Reason, named
from coalloc.instance import Job
from coalloc.instance.rounding import slots_up, time_tolerance
from coalloc.problem import Problem
from coalloc.problem.allocation import Allocation, allocation_of
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import fillings, room_for
from coalloc.rules.spreading import Spreading
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.feasibility import mildest_load


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Obstacle to a job at a time, s; fields as of a :class:`Reason`."""

    kind: str
    where: str
    amount: float | None
    limit: float | None
    others: tuple[str, ...] = ()


def why_waits(problem: Problem, schedule: Schedule, jobs: Sequence[str] = ()) -> Iterator[Reason]:
    """Yield the reasons for which jobs waited, in order of time: all jobs, or those that are named.

    Of a named one that did not wait that is said. The problem is in continuous time, its jobs and those of the schedule
    are the same, and the schedule is valid.
    """
    waiting = _Waiting(problem, schedule)
    for job in jobs or [job.id for job in problem.jobs]:
        found = list(waiting.reasons(job))
        yield from found or ([_prompt(schedule[job])] if jobs else [])


def _prompt(placement: Placement) -> Reason:
    """Return that a job starts as soon as it has arrived."""
    at = instant_text(placement.start)
    sentence = f"job {quoted(placement.job)} does not wait: it starts at its arrival at {at}"
    return Reason("wait", "arrival", (placement.job,), "", None, None, sentence, placement.start, placement.start)


class _Waiting:
    """A schedule as a profile, out of which one job after the other is taken to see where else it would have fitted."""

    def __init__(self, problem: Problem, schedule: Schedule) -> None:
        self._problem, self._schedule = problem, schedule
        self._number = {job.id: j for j, job in enumerate(problem.jobs)}
        self._ends = {run.job.id: run.end for run in problem.instance.running} | {p.job: p.end for p in schedule}
        self._profile, self._spreading = Profile(problem), Spreading(problem)
        index = problem.instance.platform.processor_index
        self._starts = {run.job.id: run.start for run in problem.instance.running} | {p.job: p.start for p in schedule}
        self._held = {p.job: allocation_of((index[name] for name in p.nodes), problem.classes) for p in schedule}
        self._queued = [self._queueing(j) for j in range(len(problem.jobs))]
        for placement in schedule:
            self._book(placement, 1)

    def _book(self, placement: Placement, sign: int) -> None:
        """Book a placement, or with sign -1 take it out again."""
        held = self._held[placement.job]
        loads = self._problem.allocations.loads(self._problem.jobs[self._number[placement.job]], held)
        book = self._profile.take if sign > 0 else self._profile.give_back
        book(placement.start, placement.end, self._profile.vector(held, loads))

    def _arrival(self, j: int) -> float:
        """Return when a job begins to wait, s: in a schedule of slots with the next slot."""
        arrival, slot = self._problem.jobs[j].arrival, self._schedule.slot
        return arrival if slot is None else slot * slots_up(arrival, slot)

    def _queueing(self, j: int) -> float:
        """Return when a job is queued, s: it has arrived, all that it comes after has ended, and its lags are over."""
        before = (self._ends[other] for other in self._problem.jobs[j].after)
        return max([self._arrival(j), *before, *(time for time, _ in self._lags(j))])

    def _lags(self, j: int) -> list[tuple[float, str]]:
        """Return before when lags do not let a job start, s, each with the other job.

        These are its minimal lags, and the maximal lags of others that count from it, which start where they do.
        """
        job = self._problem.jobs[j]
        starts, ends = self._starts, self._ends
        found = [((starts if lag.from_ == "start" else ends)[lag.after] + lag.min, lag.after) for lag in job.lags]
        duration = ends[job.id] - starts[job.id]
        for other in self._problem.jobs:
            for lag in other.lags:
                if lag.after == job.id and lag.max is not None:
                    found.append((starts[other.id] - lag.max - duration * (lag.from_ == "end"), other.id))
        return found

    def reasons(self, job: str) -> Iterator[Reason]:
        """Yield a reason for each stretch of time in which the same was in the way of a job."""
        placement, arrival = self._schedule[job], self._arrival(self._number[job])
        if placement.start <= arrival + time_tolerance(placement.start):
            return
        self._book(placement, -1)
        stretches: list[tuple[float, float, Obstacle]] = []
        for step in self._steps(self._number[job], arrival, placement.start):
            obstacle = self._obstacle(placement, *step)
            merged = _merged(stretches[-1][2], obstacle) if stretches else None
            if merged is None:
                stretches.append((*step, obstacle))
            else:
                stretches.append((stretches.pop()[0], step[1], merged))
        self._book(placement, 1)
        for since, until, obstacle in stretches:
            words = self._words(placement, obstacle)
            sentence = f"job {quoted(job)} waits from {instant_text(since)} to {instant_text(until)}: {words}"
            yield Reason(
                "wait",
                obstacle.kind,
                (job, *obstacle.others),
                obstacle.where,
                obstacle.amount,
                obstacle.limit,
                sentence,
                since,
                until,
            )

    def _steps(self, j: int, arrival: float, start: float) -> Iterator[tuple[float, float]]:
        """Yield the steps of the profile from the arrival to the start; none that rounding alone makes."""
        over = [time for time, _ in self._lags(j) if arrival < time < start]
        changes = sorted({arrival, *(t for t in self._profile.changes(arrival) if t < start), *over})
        since = arrival
        for _, until in pairwise([*changes, start]):
            if until - since > time_tolerance(until):
                yield since, until
                since = until

    def _obstacle(self, placement: Placement, since: float, until: float) -> Obstacle:
        """Return what is in the way of a job during a step."""
        problem, j = self._problem, self._number[placement.job]
        job = problem.jobs[j]
        before = [other for other in job.after if self._ends[other] > since + time_tolerance(since)]
        if before:
            last = max(before, key=self._ends.__getitem__)
            return Obstacle("precedence", last, None, self._ends[last], (last,))
        if lags := [found for found in self._lags(j) if found[0] > since + time_tolerance(since)]:
            time, other = max(lags)
            return Obstacle("lag", other, None, time, (other,))
        lacking = self._lacking(j, *self._free(since, until))
        if lacking is not None:
            return Obstacle("window", "", None, None) if self._is_kept_back(j, since, until) else lacking
        if any(self._fits(j, since, level) for level in range(len(problem.levels[j]))):
            return self._unhindered(placement, since)
        return self._reserved(j, since, until)

    def _unhindered(self, placement: Placement, since: float) -> Obstacle:
        """Return what is observed of a job that fits to its end: the first of the queue, or the jobs it starts with."""
        later = since + time_tolerance(since)
        own = self._number[placement.job]
        waiting = [self._number[p.job] for p in self._schedule if p.start > later]
        first = min((j for j in waiting if self._queued[j] <= later), key=lambda j: (self._queued[j], j), default=own)
        if (self._queued[first], first) < (self._queued[own], own):
            return Obstacle("queue", "", None, None, (self._problem.jobs[first].id,))
        together = tuple(p.job for p in self._schedule if p.start == placement.start and p.job != placement.job)
        return Obstacle("together" if together else "alone", "", None, None, together)

    def _lacking(self, j: int, free: Allocation, left: Sequence[float]) -> Obstacle | None:
        """Return of what too little is free for a job; None where there is enough."""
        problem, job = self._problem, self._problem.jobs[j]
        free = tuple(self._spreading.within_pools(free, left))
        most = problem.allocations.widest(list(map(min, free, problem.allocations.rooms(job))))
        if most < job.tasks:
            return Obstacle("processors", "", job.tasks, most)
        if self._holds(j, free, left):
            return None
        if resource := self._short_resource(job, free, left):
            return Obstacle("resource", resource, None, None)
        if problem.allocations.widest(room_for(problem, job, free, left)) < job.tasks:
            return Obstacle("memory", "", job.tasks, None)
        mildest = mildest_load(problem, j, free, left)
        if mildest is None:
            return Obstacle("link", "", None, None)
        return Obstacle("link", problem.instance.platform.links[mildest[0]].name, *mildest[1:])

    def _short_resource(self, job: Job, free: Allocation, left: Sequence[float]) -> str:
        """Return the first resource of which too little is left for a job, as far as it goes alone; or nothing."""
        problem = self._problem
        for name in problem.instance.resources_asked if job.asks_resources else ():
            others = {k for k, stock in problem.allocations.stocks if stock.resource != name}
            alone = [math.inf if k in others else amount for k, amount in enumerate(left)]
            if problem.allocations.widest(room_for(problem, job, free, alone)) < job.tasks:
                return name
        return ""

    def _is_kept_back(self, j: int, since: float, until: float) -> bool:
        """Return whether a job would have enough during a step but for windows, and running jobs that start later."""
        blocks = [block for block in self._problem.blocks if block.start < until and since < block.end]
        free, left = self._free(since, until)
        for block in blocks:
            free = tuple(count + taken for count, taken in zip(free, block.allocation, strict=True))
            left = [amount + taken for amount, taken in zip(left, block.loads, strict=True)]
        return bool(blocks) and self._lacking(j, free, left) is None

    def _free(self, since: float, until: float) -> tuple[Allocation, list[float]]:
        """Return the processors per class, and what of each resource, that are free at every instant of a time."""
        free, num_classes = self._profile.free(since, until), len(self._problem.classes)
        left = list(self._problem.allocations.limits)
        for k, amount in zip(self._profile.contended, free[num_classes:], strict=True):
            left[k] = amount
        return tuple(max(0, round(count)) for count in free[:num_classes]), left

    def _holds(self, j: int, free: Sequence[int], left: Sequence[float]) -> bool:
        """Return whether a job fits on what is free, within the scope."""
        if self._problem.scope == "platform":
            room = [int(room) for room in room_for(self._problem, self._problem.jobs[j], free, left)]
            return self._spreading.fits(j, room, left)
        return any(True for _ in fillings(self._problem, self._problem.jobs[j], free, left))

    def _duration(self, j: int, level: int) -> float:
        seconds, slot = self._problem.levels[j][level].duration, self._schedule.slot
        return seconds if slot is None else slot * slots_up(seconds, slot)

    def _fits(self, j: int, since: float, level: int, until: float = math.inf) -> bool:
        """Return whether a job fits at a speed level from an instant on, to its end or to ``until``."""
        free, left = self._free(since, min(until, since + self._duration(j, level)))
        allowed = self._problem.levels[j][level].classes
        return self._holds(j, [count if g in allowed else 0 for g, count in enumerate(free)], left)

    def _reserved(self, j: int, since: float, until: float) -> Obstacle:
        """Return which jobs start too soon for a job that fits at an instant, at the fastest level that does."""
        job, levels = self._problem.jobs[j].id, range(len(self._problem.levels[j]))
        level = next(level for level in levels if self._fits(j, since, level, until))
        placed = [(p.start, p.job) for p in self._schedule if p.start > since and p.job != job]
        starts = [*placed, *((block.start, "") for block in self._problem.blocks if block.start > since)]
        spans = pairwise([*sorted({start for start, _ in starts}), math.inf])
        first = next(start for start, after in spans if not self._fits(j, since, level, after))
        others = tuple(other for start, other in starts if start == first and other)
        kind = "reservation" if others else "window"
        return Obstacle(kind, "", self._duration(j, level), first - since, others)

    def _words(self, placement: Placement, obstacle: Obstacle) -> str:
        job = self._problem.jobs[self._number[placement.job]]
        others, amount, limit = named(obstacle.others), obstacle.amount or 0.0, obstacle.limit or 0.0
        within = "" if self._problem.scope == "platform" else f" in one {self._problem.scope}"
        start = "starts" if len(obstacle.others) == 1 else "start"
        link = (
            f"it puts at least {amount:g} MB/s on the link of {quoted(obstacle.where)}, which has {limit:g} MB/s free"
            if obstacle.where
            else "it saturates a link"
        )
        free = (
            f"at most {plural(int(limit), 'processor')} {'is' if limit == 1 else 'are'} free"
            if limit
            else "no processor is free"
        )
        takes, after = f"it fits, but takes {number_text(amount)} s, and", f"{number_text(limit)} s"
        kept_back = "an outage or a reservation"
        words = {
            "precedence": f"its predecessor {others} ends at {instant_text(limit)}",
            "lag": f"its lag from or to {others} does not let it start before {instant_text(limit)}",
            "processors": f"it has {plural(job.tasks, 'task')}, but {free} for it{within}",
            "memory": f"enough processors are free, but not {job.memory or 0.0:g} MB of memory for each of its tasks",
            "resource": f"enough processors are free, but too little of {quoted(obstacle.where)}",
            "link": f"enough processors are free, but on them {link}",
            "reservation": f"{takes} {others} {start} after {after} on resources that it would still hold",
            "window": f"{takes} {kept_back} begins after {after}"
            if obstacle.amount is not None
            else f"it would fit without {kept_back}",
            "queue": f"it could have started; {others}, queued earlier, had not",
            "together": f"it could have started, and no job queued earlier was waiting; {others} {start} with it",
            "alone": "it could have started, and no job queued earlier was waiting",
        }
        return words[obstacle.kind]


def _merged(one: Obstacle, other: Obstacle) -> Obstacle | None:
    """Return what is in the way during two stretches of time, the numbers those of the first; None where it differs."""
    if (one.kind, one.where, one.others) != (other.kind, other.where, other.others):
        return None
    if (one.amount is None) != (other.amount is None):
        return None
    if one.kind == "processors":
        return replace(one, limit=max(one.limit or 0.0, other.limit or 0.0))
    return one
