"""CP-SAT beside HiGHS: a child process solves a problem in slots and reports bounds and schedules.

It needs the extra ``coalloc[cpsat]``. Loads of links and memories are whole numbers there, rounded down against a
capacity rounded down as well, so its model is a relaxation and its bound valid; a schedule that
only the rounding lets through is refused by the exact model here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coalloc.problem import Assignment, Problem
from coalloc.solvers.backends.worker import Worker, assignments_in

LOAD_UNITS = 10**9
"""Whole units that the limit of a link, or a memory, is counted in."""
LEAST_LIMIT = 1e-280
"""MB/s, or MB, below which a capacity counts as this much in its units, so that a unit is a finite number."""
INTEGRALITY = 1e-6
"""How far above a whole number of slots a bound may be before it is rounded up."""

OnBound = Callable[[float], None]
OnSchedule = Callable[[list[Assignment]], None]


def is_installed() -> bool:
    """Return whether the extra ``cpsat`` is there; nothing is loaded."""
    return find_spec("ortools") is not None


def start_worker() -> Worker:
    """Return a process that solves one problem after another."""
    return Worker([str(Path(__file__).with_name("cpsat_worker.py"))])


def solve_cpsat(
    problem: Problem,
    start: Sequence[Assignment],
    *,
    objective: str,
    horizon: int,
    lower_bound: int,
    time_limit: float,
    threads: int = 1,
    seed: int = 0,
    work_limit: float | None = None,
    worker: Worker | None = None,
    on_bound: OnBound = lambda _: None,
    on_schedule: OnSchedule = lambda _: None,
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Run CP-SAT on a problem in slots, until it is done, its time is up or ``is_done`` says so.

    Every bound (slots) and schedule goes to the callbacks as it comes. ``lower_bound`` (slots) is not
    to be proven again. ``work_limit`` is in CP-SAT's deterministic seconds. A ``worker`` that was started
    before is left running where CP-SAT came to its end, and ended otherwise; without one a new one is used.
    """
    document = document_of(problem, start, objective=objective, horizon=horizon, lower_bound=lower_bound)
    document |= {"time_limit": time_limit, "threads": threads, "seed": seed, "work_limit": work_limit}
    with (
        nullcontext(worker) if worker is not None else start_worker() as running,
        closing(running.messages(document, time_limit)) as messages,
    ):
        for message in messages:
            if "starts" in message:
                on_schedule(assignments_in(message, problem))
            if math.isfinite(message.get("bound", math.inf)):
                on_bound(math.ceil(message["bound"] - INTEGRALITY))
            if is_done():
                return


def document_of(
    problem: Problem, start: Sequence[Assignment], *, objective: str, horizon: int, lower_bound: int
) -> dict[str, Any]:
    """Return what the child needs to know, in whole numbers."""
    resources = problem.contended_resources
    units = {k: LOAD_UNITS / max(problem.limits[k], LEAST_LIMIT) for k in resources}
    capacities = {k: math.floor(problem.limits[k] * units[k]) for k in resources}
    held = {k: _held(problem, k, units[k], capacities[k]) for k in resources}
    hint = sorted(start, key=lambda a: a.job)
    return {
        "objective": objective,
        "horizon": horizon,
        "lower_bound": lower_bound,
        "capacities": list(problem.capacities),
        "prefixes": _prefixes(problem),
        "resources": [{"capacity": capacities[k], "classes": problem.resources[k].classes} for k in resources],
        "jobs": [
            {
                "tasks": job.tasks,
                "rooms": problem.rooms(job),
                "release": int(problem.releases[j]),
                "levels": [{"duration": int(lv.duration), "classes": list(lv.classes)} for lv in problem.levels[j]],
                "loads": [
                    [
                        _whole(problem.resources[k].load(n, job), units[k], capacities[k] + 1)
                        for n in range(job.tasks + 1)
                    ]
                    for k in resources
                ],
            }
            for j, job in enumerate(problem.jobs)
        ],
        "busy": [
            {
                "end": int(busy.end),
                "allocation": list(busy.allocation),
                "loads": [held[k][b] for k in resources],
            }
            for b, busy in enumerate(problem.busy)
        ],
        "hint": [
            {
                "start": int(a.start),
                "duration": int(a.mode.duration),
                "allocation": list(a.mode.allocation),
            }
            for a in hint
        ],
    }


def _whole(load: float, unit: float, most: int) -> int:
    """Return a load in whole units, at most ``most``: what exceeds the limit needs no larger number."""
    return math.floor(min(load * unit, most))


def _held(problem: Problem, k: int, unit: float, capacity: int) -> list[int]:
    """Return what each running job takes of a resource, in units.

    All run from 0 on. Together they take the capacity at most: what they overload has nothing free until
    enough of them end, and that is no fault of the jobs to schedule.
    """
    held, left = [0] * len(problem.busy), capacity
    for b in sorted(range(len(held)), key=lambda b: -problem.busy[b].end):
        held[b] = _whole(problem.busy[b].loads[k], unit, left)
        left -= held[b]
    return held


def _prefixes(problem: Problem) -> list[list[int]]:
    """Return for each speed the classes that are at least as fast."""
    speeds = sorted({c.effective_power for c in problem.classes}, reverse=True)
    return [[g for g, c in enumerate(problem.classes) if c.effective_power >= speed] for speed in speeds]
