"""Chronological generation: jobs start in the order of a list, each as soon as it fits, none before the one before it.

Where jobs keep their modes, a schedule in which nothing can start earlier is that of its jobs in the order of their
starts. A list may also name a job before others that arrive sooner: these then wait for it, to share a node with it,
which no generation that places each job at its earliest can say and which may save energy. What is free is needed at
one instant only, for what runs then ends sooner or later and nothing starts before it any more. Source of the
argument: A. Sprecher, R. Kolisch, A. Drexl, "Semi-active, active, and non-delay schedules for the
resource-constrained project scheduling problem", European Journal of Operational Research 80 (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from coalloc.problem import Mode, Problem
from coalloc.rules.profile import SUBTRACTION_NOISE

Needs = tuple[tuple[int, float], ...]
"""Requirements of a run: processors of classes (by index), loads of resources (the number of classes plus their index).
"""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job (by index) in a mode, as it is placed: its release and duration in ticks."""

    job: int
    mode: Mode
    release: float
    duration: float
    needs: Needs


@dataclass(frozen=True, slots=True)
class InitialState:
    """State before any job of a list starts: free capacity, and (end, needs) of running jobs, in ticks."""

    free: tuple[float, ...]
    running: tuple[tuple[float, Needs], ...]

    @classmethod
    def of(cls, problem: Problem) -> InitialState:
        """Return the start of a problem; of what running jobs take too much nothing is left."""
        limits = (problem.allocations.limits[k] for k in range(len(problem.resources)))
        free = [float(n) for n in problem.capacities]
        free += [limit + SUBTRACTION_NOISE * max(1.0, limit) for limit in limits]
        running = tuple(
            (busy.end, needs_of(problem, busy.allocation, busy.loads)) for busy in problem.busy if busy.end > 0
        )
        for _, needs in running:
            for i, amount in needs:
                free[i] -= amount
        return cls(tuple(free), running)


def needs_of(problem: Problem, allocation: Sequence[int], loads: Sequence[float]) -> Needs:
    """Return what an allocation with its loads takes of what there may be too little of."""
    classes = [(g, tasks) for g, tasks in enumerate(allocation) if tasks]
    return (*classes, *((len(problem.classes) + k, loads[k]) for k in problem.contended_resources if loads[k] > 0.0))


def starts_of(start: InitialState, jobs: Sequence[ListedJob]) -> list[float]:
    """Return the start of each job of a list, ticks; each fits when nothing else runs."""
    free, running = list(start.free), list(start.running)
    heapify(running)
    now, starts = 0.0, []
    for choice in jobs:
        now = max(now, choice.release)
        while running and running[0][0] <= now:
            for i, amount in heappop(running)[1]:
                free[i] += amount
        for i, amount in choice.needs:
            while free[i] < amount and running:
                now, ended = heappop(running)
                for k, given in ended:
                    free[k] += given
        starts.append(now)
        for i, amount in choice.needs:
            free[i] -= amount
        heappush(running, (now + choice.duration, choice.needs))
    return starts
