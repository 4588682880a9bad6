"""A simulator that looks at every second: nodes that fail, jobs that start anew, and list policies and EASY over them.

It follows docs/simulation.md and docs/policies.md, and shares no code with the simulator. All times are whole seconds;
nodes are dedicated, and no job loads a link.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coalloc import Instance, Job
from coalloc.results import Failure


@dataclass
class Run:
    """A job on processors: since when, for how long by the clock, and until when by its estimate."""

    job: Job
    held: list[int]
    start: int
    end: float
    expected: float
    stopped: int = 0


class EverySecond:
    """The runs of an instance: ``done`` by job (start, end, processors, outcome), ``interrupted`` in order."""

    def __init__(
        self, instance: Instance, policy: str, failures: Sequence[Failure], *, requeue: bool = True, kill: bool = False
    ) -> None:
        platform = instance.platform
        self.policy, self.requeue, self.kill = policy, requeue, kill
        self.names = platform.processor_names
        self.node = [name.split(".")[0] for name in self.names]
        groups = [(g, c) for c in platform.clusters for g in c.nodes]
        self.speed = [g.power for g, _ in groups for _ in range(g.count * g.cores)]
        self.kind = [k for k, (g, _) in enumerate(groups) for _ in range(g.count * g.cores)]
        """The class of each processor: a group of nodes of one cluster."""
        self.down = [
            {s for f in failures if name in f.nodes for s in range(int(f.start), int(f.end))} for name in self.node
        ]
        self.coming = sorted(instance.jobs, key=lambda job: job.arrival)
        self.queue: list[Job] = []
        self.running: list[Run] = []
        self.suspended: list[Run] = []
        """Suspended jobs, in order of suspension; their ends are as if they had gone on since ``stopped``."""
        self.done: dict[str, tuple[float, float, list[str], str]] = {}
        self.interrupted: list[tuple[str, float, float, list[str]]] = []
        self.again: list[Job] = []
        """Jobs that were stopped in this pass, and join the queue for another."""
        self.now = 0

    # ---------------------------------------------------------------------- processors

    def free(self) -> list[int]:
        busy = {p for run in self.running for p in run.held}
        return [p for p in range(len(self.names)) if p not in busy and self.now not in self.down[p]]

    def lent(self, weight: float = -math.inf) -> set[int]:
        """Return the processors of suspended jobs of at least a weight."""
        return {p for run in self.suspended if run.job.weight >= weight for p in run.held}

    def chosen(self, job: Job, free: Sequence[int]) -> list[int] | None:
        """Return the fastest processors, of equal ones the first; of a class those of no suspended job first."""
        found = sorted(free, key=lambda p: (-self.speed[p], p))[: job.tasks]
        if len(found) < job.tasks:
            return None
        counts, lent, held = Counter(self.kind[p] for p in found), self.lent(), list[int]()
        for kind, count in counts.items():
            held += sorted((p for p in free if self.kind[p] == kind), key=lambda p: (p in lent, p))[:count]
        return held

    def seconds(self, job: Job, held: Sequence[int], base: float) -> float:
        return base / min(self.speed[p] for p in held)

    def start(self, job: Job, held: list[int]) -> None:
        length, limit = self.seconds(job, held, job.base_time), self.seconds(job, held, job.estimate)
        end = self.now + (min(length, limit) if self.kill else length)
        self.running.append(Run(job, held, self.now, end, self.now + limit))
        self.queue.remove(job)

    # ---------------------------------------------------------------------- policies

    def decide(self) -> None:
        if self.preempts:
            self.queue.sort(key=lambda job: -job.weight)
        for job in list(self.queue):
            self.resume(job.weight)
            held = self.chosen(job, self.allowed(job))
            if held is None and self.preempts:
                held = self.preempt(job)
            if held is None:
                break
            self.start(job, held)
        self.resume(-math.inf)
        if not self.queue or self.policy == "fcfs":
            return
        if self.policy == "fpfs":
            for job in self.queue[1:]:
                held = self.chosen(job, self.free())
                if held is not None:
                    self.start(job, held)
            return
        self.backfill()

    @property
    def preempts(self) -> bool:
        """Whether jobs of larger weight stop others."""
        return self.policy in ("requeue", "suspend")

    def allowed(self, job: Job, stopped: Sequence[Run] = ()) -> list[int]:
        """Return the processors that a job may use, were some runs stopped: none of suspended jobs of its weight."""
        lent = self.lent(job.weight)
        return [p for p in [*self.free(), *(p for run in stopped for p in run.held)] if p not in lent]

    def resume(self, weight: float) -> None:
        """Resume suspended jobs of at least a weight whose processors are free, and of no suspended one of more."""
        for run in sorted(self.suspended, key=lambda run: -run.job.weight):
            larger = {p for other in self.suspended if other.job.weight > run.job.weight for p in other.held}
            if run.job.weight >= weight and run.stopped < self.now and set(run.held) <= set(self.free()) - larger:
                self.suspended.remove(run)
                gap = self.now - run.stopped
                run.start, run.end, run.expected = self.now, run.end + gap, run.expected + gap
                self.running.append(run)

    def preempt(self, job: Job) -> list[int] | None:
        """Stop jobs of smaller weight for one, and return its processors; stop none where it does not fit then."""
        smaller = [run for run in self.running if run.job.weight < job.weight and run.start < self.now]
        by_estimate = sorted(smaller, key=lambda run: run.expected)
        stopped: list[Run] = []
        for run in sorted(by_estimate, key=lambda run: (run.job.weight, -run.start)):
            stopped.append(run)
            if len(self.allowed(job, stopped)) >= job.tasks:
                break
        else:
            return None
        for run in list(stopped):
            if len(self.allowed(job, [other for other in stopped if other is not run])) >= job.tasks:
                stopped.remove(run)
        for run in stopped:
            self.running.remove(run)
            self.interrupted.append((run.job.id, run.start, self.now, [self.names[p] for p in sorted(run.held)]))
            if self.policy == "suspend":
                run.stopped = self.now
                self.suspended.append(run)
            else:
                self.again.append(run.job)
        return self.chosen(job, self.allowed(job))

    def backfill(self) -> None:
        """Start jobs behind the head that are over when it can start, or leave it as many of each class as it takes.

        A number of each class is all that counts: which processors are free then is not known.
        """
        speed = dict(zip(self.kind, self.speed, strict=True))
        head, kinds = self.queue[0], sorted(speed, key=lambda kind: (-speed[kind], kind))

        def count(held: Sequence[int]) -> list[int]:
            return [sum(self.kind[p] == kind for p in held) for kind in kinds]

        def fill(tasks: int, room: Sequence[int]) -> list[int] | None:
            taken = []
            for left in room:
                taken.append(min(left, tasks))
                tasks -= taken[-1]
            return None if tasks else taken

        lent = self.lent(head.weight)
        room, shadow, extra = count([p for p in self.free() if p not in self.lent()]), math.inf, None
        there = count(self.allowed(head))
        # Suspended jobs end one after another, behind all others.
        behind = max([self.now, *(run.expected for run in self.running)])
        behind += sum(max(0, run.expected - run.stopped) for run in self.suspended)
        ends = {max(run.expected, self.now) for run in self.running} | ({behind} if self.suspended else set())
        for at in sorted(ends):
            for run in self.running:
                if max(run.expected, self.now) == at:
                    there = [a + b for a, b in zip(there, count([p for p in run.held if p not in lent]), strict=True)]
            if self.suspended and at == behind:
                there = [a + b for a, b in zip(there, count(lent), strict=True)]
            if (taken := fill(head.tasks, there)) is not None:
                shadow, extra = at, [a - b for a, b in zip(there, taken, strict=True)]
                break
        extra = there if extra is None else extra
        for job in self.queue[1:]:
            taken = fill(job.tasks, room)
            if taken is None:
                continue
            slowest = min(speed[kind] for kind, number in zip(kinds, taken, strict=True) if number)
            is_over = self.now + job.estimate / slowest <= shadow
            if not is_over and any(a > b for a, b in zip(taken, extra, strict=True)):
                taken = fill(job.tasks, [min(a, b) for a, b in zip(room, extra, strict=True)])
                if taken is None:
                    continue
            held: list[int] = []
            for kind, number in zip(kinds, taken, strict=True):
                held += [p for p in self.free() if self.kind[p] == kind and p not in self.lent()][:number]
            self.start(job, held)
            room = [a - b for a, b in zip(room, taken, strict=True)]
            if not is_over:
                extra = [a - b for a, b in zip(extra, taken, strict=True)]

    # ---------------------------------------------------------------------- time

    def passes(self) -> None:
        """Decide, and again while jobs have been stopped that wait now."""
        while self.queue or self.suspended:
            self.decide()
            if not self.again:
                return
            self.queue += self.again
            self.again = []

    def finish(self, run: Run, outcome: str) -> None:
        self.running.remove(run)
        self.done[run.job.id] = run.start, self.now, [self.names[p] for p in sorted(run.held)], outcome

    def simulate(self) -> EverySecond:
        """Go on second by second; there is a pass where a job ends or arrives, or nodes fail or are repaired."""
        last = max(max(seconds, default=0) for seconds in self.down)
        while self.coming or self.queue or self.running or self.suspended:
            has_changed = any((self.now in down) != (self.now - 1 in down) for down in self.down)
            for run in [run for run in self.running if run.end <= self.now]:
                is_done = not self.kill or run.job.base_time <= run.job.estimate
                self.finish(run, "completed" if is_done else "killed")
                has_changed = True
            again = []
            for run in [run for run in self.running if any(self.now in self.down[p] for p in run.held)]:
                if self.requeue:
                    self.running.remove(run)
                    held = [self.names[p] for p in sorted(run.held)]
                    self.interrupted.append((run.job.id, run.start, self.now, held))
                    again.append(run.job)
                else:
                    self.finish(run, "killed")
            self.queue += again
            while self.coming and self.coming[0].arrival <= self.now:
                self.queue.append(self.coming.pop(0))
                has_changed = True
            if has_changed:
                self.passes()
            self.now += 1
            assert self.now < last + 100_000
        return self
