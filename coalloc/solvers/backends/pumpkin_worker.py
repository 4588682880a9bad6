"""Pumpkin in a process of its own: reads problems from standard input, writes news to standard output.

A panic of Pumpkin ends the process that it is in, so this file is run as a script, and imports nothing of coalloc.
Both directions speak JSON, one object per line; ids do not travel. A job has a start, and, where it has several modes,
a task for each of them that is at that start or *parked*: after the horizon, where it meets no other task. So
cumulatives without optional tasks say what modes take. A task for each duration, on all the classes that allow it,
is implied by them, and prunes most.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from itertools import combinations, pairwise
from queue import Queue
from typing import Any, NamedTuple

import pumpkin_solver
from pumpkin_solver import Comparator, Predicate, constraints
from pumpkin_solver.optimisation import OptimisationResult, Optimiser


class Task(NamedTuple):
    """A variable start, a duration, and what is taken meanwhile of each resource, by name."""

    start: Any
    duration: int
    demands: dict[str, int]


class Model:
    """The model of a problem document (see ``coalloc.solvers.backends.pumpkin.document_of``).

    ``starts`` and ``chosen`` are variables of the jobs: when one starts, and for each mode whether it is the job's.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        proof = {} if document["proof"] is None else {"proof": document["proof"]}
        self.model = pumpkin_solver.Model(seed=document["seed"], **proof)
        self.horizon: int = document["horizon"]
        self.last_end = self.model.new_integer_variable(document["lower_bound"], self.horizon, "makespan")
        self.starts: list[Any] = []
        self.chosen: list[list[Any]] = []
        self._tasks: list[Task] = []
        self._parked_at = self.horizon
        for number, job in enumerate(document["jobs"]):
            self._add_job(job, number)
        for busy in document["busy"]:
            start = self.model.new_integer_variable(busy["start"], busy["start"])
            self._tasks.append(Task(start, busy["end"] - busy["start"], busy["demands"]))
        self._add_resources(document["capacities"])
        self._order_equal_jobs(document["jobs"])

    def _add(self, constraint: Any, *arguments: Any, premise: Any = None) -> None:
        made = constraint(*arguments, self.model.new_constraint_tag())
        if premise is None:
            self.model.add_constraint(made)
        else:
            self.model.add_implication(made, premise)

    def _is(self, variable: Any, comparator: Any, number: int) -> Any:
        """Return the truth value that says how a variable compares with a number."""
        return self.model.predicate_as_boolean(Predicate(variable, comparator, number), self.model.new_constraint_tag())

    def _add_job(self, job: dict[str, Any], number: int) -> None:
        modes = job["modes"]
        durations = sorted({mode["duration"] for mode in modes})
        start = self.model.new_integer_variable(job["release"], self.horizon - durations[0], f"start{number}")
        self.starts.append(start)
        self.chosen.append([])
        if len(modes) == 1:
            self._add(constraints.BinaryLessThanEqual, start.offset(durations[0]), self.last_end)
            self._tasks.append(Task(start, durations[0], modes[0]["demands"]))
            return
        parts: dict[int, list[Any]] = defaultdict(list)
        for mode in modes:
            picked = self.model.new_boolean_variable()
            self.chosen[-1].append(picked)
            parts[mode["duration"]].append(picked)
            self._park(start, mode["duration"], mode["demands"], picked)
        self._add_exactly_one(self.chosen[-1])
        for duration in durations:
            of_duration = parts[duration]
            picked = of_duration[0]
            if len(of_duration) > 1:
                picked = self.model.new_boolean_variable()
                self._add(constraints.Clause, [picked.negate(), *of_duration])
                for mode in of_duration:
                    self._add(constraints.Clause, [mode.negate(), picked])
            self._add(constraints.BinaryLessThanEqual, start.offset(duration), self.last_end, premise=picked)
            if demands := job["prefixes"].get(str(duration)):
                self._park(start, duration, demands, picked)

    def _park(self, start: Any, duration: int, demands: dict[str, int], picked: Any) -> None:
        """Add a task that is at ``start`` if ``picked``, and parked otherwise."""
        task = self.model.new_integer_variable(self.model.lower_bound(start), self._parked_at)
        is_late = self._is(task, Comparator.GreaterThanOrEqual, self.horizon - duration + 1)
        is_parked = self._is(task, Comparator.GreaterThanOrEqual, self._parked_at)
        self._add(constraints.BinaryEquals, task, start, premise=picked)
        self._add(constraints.Clause, [picked, is_parked])
        self._add(constraints.Clause, [picked.negate(), is_late.negate()])
        self._add(constraints.Clause, [is_late.negate(), is_parked])
        self._tasks.append(Task(task, duration, demands))
        self._parked_at += duration

    def _add_exactly_one(self, chosen: list[Any]) -> None:
        self._add(constraints.Clause, chosen)
        for one, other in combinations(chosen, 2):
            self._add(constraints.Clause, [one.negate(), other.negate()])

    def _add_resources(self, capacities: dict[str, int]) -> None:
        for name, capacity in capacities.items():
            tasks = [task for task in self._tasks if task.demands.get(name) and task.duration]
            if tasks:  # Pumpkin panics at a cumulative of nothing
                starts, durations = [task.start for task in tasks], [task.duration for task in tasks]
                demands = [task.demands[name] for task in tasks]
                self._add(constraints.Cumulative, starts, durations, demands, capacity)

    def _order_equal_jobs(self, jobs: list[dict[str, Any]]) -> None:
        """Let jobs that no solution can tell apart start in their order."""
        equal: dict[str, list[int]] = defaultdict(list)
        for j, job in enumerate(jobs):
            equal[json.dumps(job, sort_keys=True)].append(j)
        for numbers in equal.values():
            for one, other in pairwise(numbers):
                self._add(constraints.BinaryLessThanEqual, self.starts[one], self.starts[other])

    def message_of(self, solution: Any) -> dict[str, Any]:
        """Return the message that says a solution."""
        starts = [solution.int_value(start) for start in self.starts]
        modes = [next((i for i, m in enumerate(chosen) if solution.bool_value(m)), 0) for chosen in self.chosen]
        return {"starts": starts, "modes": modes}


_writing = threading.Lock()


def write(message: dict[str, Any]) -> None:
    """Write one line."""
    with _writing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Solve the problems on standard input, one after another, until whoever asks is gone."""
    problems: Queue[str] = Queue()
    threading.Thread(target=read_into, args=(problems,), daemon=True).start()
    while True:
        solve(json.loads(problems.get()))


def read_into(problems: Queue[str]) -> None:
    """Queue the lines of standard input; at its end the process ends, whatever it does."""
    for line in sys.stdin:
        problems.put(line)
    os._exit(0)


def solve(document: dict[str, Any]) -> None:
    """Solve a problem and write what there is to know; its proof, if it has one, is complete before the status."""
    write(_status_of(document))


def _status_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the last message on a problem, once its model is gone: that closes the file of its proof."""
    model = Model(document)
    found = model.model.optimise(
        model.last_end,
        optimiser=Optimiser.LinearSatUnsat,
        timeout=document["time_limit"],
        on_solution=lambda solution: write(model.message_of(solution)),
    )
    if isinstance(found, OptimisationResult.Optimal):
        return {"status": "OPTIMAL", "bound": found._0.int_value(model.last_end)}
    return {"status": "INFEASIBLE" if isinstance(found, OptimisationResult.Unsatisfiable) else "UNKNOWN"}


if __name__ == "__main__":
    main()
