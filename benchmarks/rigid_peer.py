"""CP-SAT, or Pumpkin, as a peer: jobs of one cluster on standard input, what it finds on standard output, both JSON.

The textbook model: a start for each job, one cumulative, the latest end minimised between the plain bounds (area,
longest job) and all jobs in turn. It runs by itself, without coalloc.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
"""``processors``, ``jobs`` as (tasks, slots), ``time_limit`` in seconds, ``threads``."""


def bounds_of(document: Document) -> tuple[int, int]:
    """Return the plain lower bound on the latest end, and one within which every order fits, in slots."""
    area = sum(tasks * slots for tasks, slots in document["jobs"])
    longest = max(slots for _, slots in document["jobs"])
    return max(longest, -(-area // document["processors"])), sum(slots for _, slots in document["jobs"])


def by_cpsat(document: Document) -> dict[str, Any]:
    """Return status, bound and starts as CP-SAT has them after its time."""
    from ortools.sat.python import cp_model

    least, most = bounds_of(document)
    model = cp_model.CpModel()
    starts = [model.new_int_var(0, most - slots, "") for _, slots in document["jobs"]]
    intervals = [
        model.new_fixed_size_interval_var(start, slots, "")
        for start, (_, slots) in zip(starts, document["jobs"], strict=True)
    ]
    model.add_cumulative(intervals, [tasks for tasks, _ in document["jobs"]], document["processors"])
    last_end = model.new_int_var(least, most, "")
    for start, (_, slots) in zip(starts, document["jobs"], strict=True):
        model.add(start + slots <= last_end)
    model.minimize(last_end)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = document["time_limit"]
    solver.parameters.num_workers = document["threads"]
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "lower_bound": round(solver.best_objective_bound),
        "starts": [solver.value(start) for start in starts] if found else [],
    }


def by_pumpkin(document: Document) -> dict[str, Any]:
    """Return status, bound and starts as Pumpkin has them after its time; equal jobs start in their order."""
    from pumpkin_solver import Model, constraints
    from pumpkin_solver.optimisation import OptimisationResult

    least, most = bounds_of(document)
    model = Model(seed=0)
    tag = model.new_constraint_tag
    starts = [model.new_integer_variable(0, most - slots) for _, slots in document["jobs"]]
    last_end = model.new_integer_variable(least, most)
    for start, (_, slots) in zip(starts, document["jobs"], strict=True):
        model.add_constraint(constraints.BinaryLessThanEqual(start.offset(slots), last_end, tag()))
    tasks, slots = zip(*document["jobs"], strict=True)
    model.add_constraint(constraints.Cumulative(starts, slots, tasks, document["processors"], tag()))
    before: dict[tuple[int, int], Any] = {}
    for start, job in zip(starts, map(tuple, document["jobs"]), strict=True):
        if job in before:
            model.add_constraint(constraints.BinaryLessThanEqual(before[job], start, tag()))
        before[job] = start
    found: list[list[int]] = []
    result = model.optimise(
        last_end,
        timeout=document["time_limit"],
        on_solution=lambda solution: found.append([solution.int_value(start) for start in starts]),
    )
    best = found[-1] if found else []
    ends = [start + job[1] for start, job in zip(best, document["jobs"], strict=False)]
    return {"lower_bound": max(ends) if isinstance(result, OptimisationResult.Optimal) else least, "starts": best}


PEERS: Mapping[str, Callable[[Document], dict[str, Any]]] = {"CP-SAT": by_cpsat, "Pumpkin": by_pumpkin}


def main(arguments: Sequence[str]) -> None:
    """Answer for the peer that is named; the time is that of building and solving, once its library is loaded."""
    document = json.load(sys.stdin)
    PEERS[arguments[0]]({"processors": 1, "jobs": [(1, 1)], "time_limit": 1.0, "threads": 1})
    began = time.perf_counter()
    answer = PEERS[arguments[0]](document)
    json.dump({**answer, "time": time.perf_counter() - began}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
