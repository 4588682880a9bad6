"""MESD from its definitions, by sorting nodes and comparing times: which jobs start when, and where.

Slow on purpose, and without the package's rules. It goes through a finished schedule time by time, and says at each
which jobs have to start, given all that started before and when that really ended: so links, estimates that are wrong
and kills need not be simulated a second time. Source: thesis, section 3.3, Algorithms 2 and 3; errata 14 to 18.

Besides links jobs may have ``eligible`` clusters and ``after``. On a single class of nodes there may be, too, windows
of all nodes, and a resource of the platform.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from coalloc import Instance, Job, Schedule

SAME = 1e-9
"""Times are one that differ by no more, s; so are slowdowns."""

Names = frozenset[str]


def decisions(instance: Instance, schedule: Schedule) -> Iterator[tuple[float, dict[str, Names], dict[str, Names]]]:
    """Yield each time at which something happens, the jobs that MESD starts then, and those that the schedule does."""
    mesd = Mesd(instance)
    held = [(0.0, run.end, run.end, frozenset(run.nodes), run.job) for run in instance.running]
    for job in instance.jobs:
        placement, names = schedule[job.id], frozenset(schedule[job.id].nodes)
        expected = placement.start + mesd.seconds(job, names, job.estimate)
        held.append((placement.start, placement.end, expected, names, job))
    arrivals = {job.id: max([job.arrival, *(schedule[k].end for k in job.after)]) for job in instance.jobs}
    edges = [time for window in instance.platform.unavailable for time in (window.start, window.end)]
    last = -math.inf
    for now in sorted([*arrivals.values(), *edges, *(end for _, end, *_ in held)]):
        if now <= last + SAME:
            continue
        last = now
        running = [row for row in held if row[0] < now - SAME and row[1] > now + SAME]
        running += [row for row in held[: len(instance.running)] if row[0] == now < row[1]]
        waiting = [row[4] for row in held[len(instance.running) :] if row[0] >= now - SAME]
        queue = sorted((k for k in waiting if arrivals[k.id] <= now + SAME), key=lambda k: arrivals[k.id])
        starts = mesd.decide(now, queue, [(max(now, end), names, job) for _, _, end, names, job in running])
        there = {row[4].id: row[3] for row in held[len(instance.running) :] if abs(row[0] - now) <= SAME}
        yield now, dict(starts), there


class Mesd:
    """The batch that is planned, and what was free when a lone job did not fit."""

    def __init__(self, instance: Instance) -> None:
        platform = instance.platform
        self.windows = platform.unavailable
        self.limits = platform.resources
        groups = [platform.group_of(platform.nodes[n]) for n in platform.processor_node]
        named = dict(zip(platform.processor_names, groups, strict=True))
        self.power = {name: group.effective_power for name, group in named.items()}
        self.cluster = {name: name.partition("/")[0] for name in named}
        self.alike = {name: (self.cluster[name], repr(group.replace(count=1))) for name, group in named.items()}
        kinds = list(self.alike.values())
        self.order = sorted(named, key=lambda name: (-self.power[name], kinds.index(self.alike[name])))
        self.pending: list[tuple[Job, Names]] = []
        self.seen: tuple[set[str], dict[str, float]] | None = None

    def seconds(self, job: Job, names: Names, base: float) -> float:
        slowest = min(self.power[name] for name in names)
        return base * (job.processing_share / slowest + 1.0 - job.processing_share)

    def decide(self, now: float, queue: list[Job], running: list[tuple[float, Names, Job]]) -> list[tuple[str, Names]]:
        """Return which jobs start now and where: those of the batch that can, then those of the next one."""
        started: list[tuple[Job, Names]] = []
        ends = list(running)
        while True:
            free = set(self.order).difference(*(names for _, names, _ in ends)) if self.is_there(now, 0.0) else set()
            left = {name: has - sum(k.amount(name, k.tasks) for *_, k in ends) for name, has in self.limits.items()}
            if not self.pending:
                rest = [job for job in queue if job.id not in {one.id for one, _ in started}]
                if not rest or not self.may_plan(now, rest, free, left):
                    break
                self.pending = self.planned(now, rest, free, left, ends)
            claimed: set[str] = set()
            due = []
            for job, names in self.pending:
                is_due = names <= free and not names & claimed and self.fits(now, job, names, left)
                claimed |= names
                if is_due:
                    due.append((job, names))
                    left = {name: has - job.amount(name, job.tasks) for name, has in left.items()}
            started += due
            ends += [(now + self.seconds(job, names, job.estimate), names, job) for job, names in due]
            self.pending = [one for one in self.pending if one not in due]
            if self.pending:
                break
        return [(job.id, names) for job, names in started]

    def may_plan(self, now: float, queue: list[Job], free: set[str], left: dict[str, float]) -> bool:
        """Return whether a batch may be planned: a lone job that does not fit only with others, once more is free."""
        before, self.seen = self.seen, (free, left)
        if before is not None and free <= before[0] and all(has <= before[1][name] for name, has in left.items()):
            return False
        if len(queue) == 1:
            names = self.allocated(queue[0], free)
            if names is None or not self.fits(now, queue[0], names, left):
                return False
        self.seen = None
        return True

    def planned(self, now: float, queue: list[Job], free: set[str], left: dict[str, float], ends) -> list:
        """Return the plan of a batch: Algorithm 2."""
        rest, free, left, ends, plan = list(queue), set(free), dict(left), list(ends), []
        while rest:
            choices = []
            for job in rest:
                names = self.allocated(job, free)
                if names is not None and self.fits(now, job, names, left):
                    best = self.allocated(job, set(self.order), second_step=False)
                    gap = self.seconds(job, names, job.estimate) - self.seconds(job, best, job.estimate)
                    choices.append((gap, job, names))
            if choices:
                least = min(gap for gap, _, _ in choices)
                _, job, names = next(choice for choice in choices if choice[0] <= least + SAME)
                plan.append((job, names))
                rest.remove(job)
                free -= names
                left = {name: has - job.amount(name, job.tasks) for name, has in left.items()}
                ends.append((now + self.seconds(job, names, job.estimate), names, job))
                continue
            # Nothing fits: on to the next end, or to the end of a window.
            now = min([*(end for end, _, _ in ends), *(w.end for w in self.windows if w.end > now + SAME)])
            ended = [one for one in ends if one[0] <= now + SAME]
            ends = [one for one in ends if one[0] > now + SAME]
            left = {name: has + sum(job.amount(name, job.tasks) for *_, job in ended) for name, has in left.items()}
            free = set(self.order).difference(*(names for _, names, _ in ends)) if self.is_there(now, 0.0) else set()
        return plan

    def fits(self, now: float, job: Job, names: Names, left: dict[str, float]) -> bool:
        """Return whether all nodes are there until the job ends by its estimate, and enough is left of resources."""
        enough = all(job.amount(name, job.tasks) <= has + SAME for name, has in left.items())
        return enough and self.is_there(now, self.seconds(job, names, job.estimate))

    def is_there(self, now: float, seconds: float) -> bool:
        begun = [w for w in self.windows if w.start <= now + SAME < w.end]
        to_come = [w for w in self.windows if now + SAME < w.start < now + seconds - SAME]
        return not begun and not to_come

    def allocated(self, job: Job, free: set[str], *, second_step: bool = True) -> Names | None:
        """Return the nodes of a job: the fastest, then some of the slowest cluster used; of those alike the lowest."""
        usable = [n for n in self.order if n in free and (not job.eligible or self.cluster[n] in job.eligible)]
        used = usable[: job.tasks]
        if len(used) < job.tasks:
            return None
        last = used[-1]
        for name in [name for name in used if second_step and self.cluster[name] != self.cluster[last]]:
            others = [n for n in usable if n not in used and self.cluster[n] == self.cluster[last]]
            better = [n for n in others if self.power[n] >= self.power[last]]
            if better:
                used[used.index(name)] = better[0]
        kinds = [self.alike[name] for name in used]
        return frozenset(n for k in set(kinds) for n in [n for n in usable if self.alike[n] == k][: kinds.count(k)])
