"""EASY as a SimPy program: jobs are processes, one event wakes the scheduler, and no code is shared with coalloc.

One pool of equal processors, one pass per instant after all its ends and arrivals, no checks, no names, no metrics.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import simpy

PASS = 2
"""Priority of a pass: behind the events of its instant, whose priorities are 0 and 1."""


@dataclass(slots=True)
class Task:
    """A job: its index, run time (s), processors, estimate (s), and from its start on when it should end (s)."""

    index: int
    seconds: float
    size: int
    estimate: float
    due: float = math.inf


class Cluster:
    """Equal processors with a queue, under EASY backfilling."""

    def __init__(self, env: simpy.Environment, processors: int, num_jobs: int) -> None:
        self.env, self.free = env, processors
        self.queue: list[Task] = []
        self.running: dict[int, Task] = {}
        self.starts = [math.nan] * num_jobs
        self._is_due = False

    def arrive(self, task: Task) -> None:
        """Put a job into the queue."""
        self.queue.append(task)
        self.request_pass()

    def request_pass(self) -> None:
        """Let one pass follow all that happens now."""
        if not self._is_due:
            self._is_due = True
            event = self.env.event()
            event._ok, event._value = True, None
            event.callbacks.append(lambda _: self.schedule())
            self.env.schedule(event, priority=PASS)

    def execute(self, task: Task) -> Generator[simpy.Event, None, None]:
        """Run a job on processors that it holds."""
        yield self.env.timeout(task.seconds)
        del self.running[task.index]
        self.free += task.size
        self.request_pass()

    def start(self, task: Task) -> None:
        """Start a job that fits."""
        task.due = self.env.now + task.estimate
        self.starts[task.index] = self.env.now
        self.free -= task.size
        self.running[task.index] = task
        self.env.process(self.execute(task))

    def schedule(self) -> None:
        """Start jobs from the head of the queue, then those behind it that do not delay the head."""
        self._is_due = False
        while self.queue and self.queue[0].size <= self.free:
            self.start(self.queue.pop(0))
        if len(self.queue) > 1 and self.free:
            self.backfill()

    def backfill(self) -> None:
        """Start jobs that end before the head can start, or that leave it enough processors."""
        shadow, extra = self.reservation(self.queue[0].size)
        left = self.queue[:1]
        for task in self.queue[1:]:
            ends_before = self.env.now + task.estimate <= shadow
            if task.size <= self.free and (ends_before or task.size <= extra):
                extra -= 0 if ends_before else task.size
                self.start(task)
            else:
                left.append(task)
        self.queue = left

    def reservation(self, size: int) -> tuple[float, int]:
        """Return when so many processors are free by the estimates (s), and how many more are then."""
        room, now = self.free, self.env.now
        for end, group in groupby(sorted(self.running.values(), key=attrgetter("due")), lambda t: max(now, t.due)):
            room += sum(task.size for task in group)
            if room >= size:
                return end, room - size
        return math.inf, 0


def easy(jobs: Sequence[tuple[float, float, int, float]], processors: int) -> list[float]:
    """Return the start of each job (s) of arrival (s), run time (s), processors and estimate (s); by arrival."""
    env = simpy.Environment()
    cluster = Cluster(env, processors, len(jobs))

    def source() -> Generator[simpy.Event, None, None]:
        for index, (arrival, seconds, size, estimate) in enumerate(jobs):
            if arrival > env.now:
                yield env.timeout(arrival - env.now)
            cluster.arrive(Task(index, seconds, size, estimate))

    env.process(source())
    env.run()
    return cluster.starts
