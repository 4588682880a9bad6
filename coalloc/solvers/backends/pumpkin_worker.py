"""Pumpkin in a process of its own: reads problems from standard input, writes news to standard output.

A panic of Pumpkin ends the process that it is in.
Both directions speak JSON, one object per line; ids do not travel. A job has a start, and, where it has several modes,
a task for each of them that is at that start or *parked*: after the horizon, where it meets no other task. So
cumulatives without optional tasks say what modes take. A task for each duration, on all the classes that allow it,
is implied by them, and prunes most.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pumpkin_solver
from pumpkin_solver import Comparator, Predicate, constraints
from pumpkin_solver.optimisation import OptimisationResult, Optimiser

from coalloc.solvers.backends.asker import Asker

Write = Callable[[dict[str, Any]], None]

CUMULATIVE = (
    "predicate pumpkin_cumulative(array [int] of var int: starts, array [int] of int: durations, "
    "array [int] of int: demands, int: capacity);"
)
"""The one constraint that is not of FlatZinc itself."""


class Truth(NamedTuple):
    """A truth value of a model: its name in the file of the model, what Pumpkin calls it, and whether it is negated."""

    name: str
    handle: Any
    is_negated: bool = False

    def negate(self) -> Truth:
        """Return the opposite."""
        return Truth(self.name, self.handle.negate(), not self.is_negated)


class Whole(NamedTuple):
    """A whole number of a model: its name in the file of the model, and what Pumpkin calls it."""

    name: str
    handle: Any


class IntervalTask(NamedTuple):
    """A variable start, a duration, and what is taken meanwhile of each resource, by name."""

    start: Whole
    duration: int
    demands: dict[str, int]


class FlatZinc:
    """Model posted to Pumpkin, every variable by name, and each constraint also as a line of FlatZinc with its tag.

    The steps of a proof name these variables and tags. The constraints are called as Pumpkin reads them.
    """

    def __init__(self, **options: Any) -> None:
        self.model = pumpkin_solver.Model(**options)
        self._variables: list[str] = []
        self._constraints: list[str] = []

    def whole(self, lower: int, upper: int, name: str) -> Whole:
        """Return a new whole number between two bounds."""
        self._variables.append(f"var {lower}..{upper}: {name};")
        return Whole(name, self.model.new_integer_variable(lower, upper, name))

    def truth(self, name: str) -> Truth:
        """Return a new truth value."""
        self._variables.append(f"var bool: {name};")
        return Truth(name, self.model.new_boolean_variable(name))

    def is_at_least(self, number: Whole, bound: int, name: str) -> Truth:
        """Return a new truth value: whether a number is at least a bound."""
        self._variables.append(f"var bool: {name};")
        tag = self._tag(f"int_le_reif({bound}, {number.name}, {name})")
        predicate = Predicate(number.handle, Comparator.GreaterThanOrEqual, bound)
        return Truth(name, self.model.predicate_as_boolean(predicate, tag, name))

    def add_order(self, one: Whole, gap: int, other: Whole, premise: Truth | None = None) -> None:
        """Let a number be followed by another, so much later at least; where there is a premise, if that is true."""
        terms = f"[1, -1], [{one.name}, {other.name}], {-gap}"
        line = f"int_lin_le({terms})" if premise is None else f"int_lin_le_imp({terms}, {premise.name})"
        made = constraints.BinaryLessThanEqual(one.handle.offset(gap), other.handle, self._tag(line))
        if premise is None:
            self.model.add_constraint(made)
        else:
            self.model.add_implication(made, premise.handle)

    def add_equality(self, one: Whole, other: Whole, premise: Truth) -> None:
        """Let two numbers be equal if a premise is true."""
        tag = self._tag(f"int_eq_imp({one.name}, {other.name}, {premise.name})")
        self.model.add_implication(constraints.BinaryEquals(one.handle, other.handle, tag), premise.handle)

    def add_clause(self, *truths: Truth) -> None:
        """Let one of some truth values be true."""
        true, false = ([t.name for t in truths if t.is_negated == negated] for negated in (False, True))
        tag = self._tag(f"bool_clause([{', '.join(true)}], [{', '.join(false)}])")
        self.model.add_constraint(constraints.Clause([truth.handle for truth in truths], tag))

    def add_cumulative(self, tasks: Sequence[IntervalTask], resource: str, capacity: int) -> None:
        """Let tasks at no instant take more of a resource than there is."""
        starts, durations = [task.start for task in tasks], [task.duration for task in tasks]
        demands = [task.demands[resource] for task in tasks]
        names = ", ".join(start.name for start in starts)
        tag = self._tag(f"pumpkin_cumulative([{names}], {durations}, {demands}, {capacity})")
        handles = [start.handle for start in starts]
        self.model.add_constraint(constraints.Cumulative(handles, durations, demands, capacity, tag))

    def text(self, minimised: Whole) -> str:
        """Return all of it as FlatZinc."""
        lines = [CUMULATIVE, *self._variables, *self._constraints, f"solve minimize {minimised.name};"]
        return "\n".join(lines) + "\n"

    def _tag(self, line: str) -> Any:
        """Return the tag of a constraint that a line says: Pumpkin counts them from 1."""
        self._constraints.append(f"constraint {line} :: constraint_tag({len(self._constraints) + 1});")
        return self.model.new_constraint_tag()


class PumpkinModel:
    """The model of a problem document (see ``coalloc.solvers.backends.pumpkin.document_of``).

    ``starts`` and ``chosen`` are variables of the jobs: when one starts, and for each mode whether it is the job's.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        proof = {} if document["proof"] is None else {"proof": document["proof"]}
        self._posted = FlatZinc(seed=document["seed"], **proof)
        self.model = self._posted.model
        self.horizon: int = document["horizon"]
        self.last_end = self._posted.whole(document["lower_bound"], self.horizon, "makespan")
        self.starts: list[Whole] = []
        self.chosen: list[list[Truth]] = []
        self._durations: list[list[tuple[int, Truth | None]]] = []
        """Of each job its durations, each with whether it is the job's: None where there is no other."""
        self._ends: dict[int, Whole] = {}
        self._tasks: list[IntervalTask] = []
        self._parked_at = self.horizon
        for number, job in enumerate(document["jobs"]):
            self._add_job(job, number)
        for number, busy in enumerate(document["busy"]):
            start = self._posted.whole(busy["start"], busy["start"], f"busy{number}")
            self._tasks.append(IntervalTask(start, busy["end"] - busy["start"], busy["demands"]))
        self._add_resources(document["capacities"])
        self._order_equal_jobs(document["jobs"])
        for number, row in enumerate(document["rows"]):
            self._add_row(row["terms"], row["least"], number)

    @property
    def text(self) -> str:
        """The model as FlatZinc."""
        return self._posted.text(self.last_end)

    def _add_job(self, job: dict[str, Any], number: int) -> None:
        modes, posted = job["modes"], self._posted
        durations = sorted({mode["duration"] for mode in modes})
        start = posted.whole(job["release"], job["latest"] - durations[0], f"start{number}")
        is_early = job["latest"] < self.horizon
        latest = posted.whole(job["latest"], job["latest"], f"latest{number}") if is_early else None
        self.starts.append(start)
        self.chosen.append([])
        self._durations.append([])
        if len(modes) == 1:
            posted.add_order(start, durations[0], self.last_end)
            self._durations[-1].append((durations[0], None))
            self._tasks.append(IntervalTask(start, durations[0], modes[0]["demands"]))
            return
        parts: dict[int, list[Truth]] = defaultdict(list)
        for i, mode in enumerate(modes):
            picked = posted.truth(f"mode{number}_{i}")
            self.chosen[-1].append(picked)
            parts[mode["duration"]].append(picked)
            self._park(start, job["release"], mode["duration"], mode["demands"], picked)
        self._add_exactly_one(self.chosen[-1])
        for duration in durations:
            of_duration = parts[duration]
            picked = of_duration[0]
            if len(of_duration) > 1:
                picked = posted.truth(f"duration{number}_{duration}")
                posted.add_clause(picked.negate(), *of_duration)
                for mode in of_duration:
                    posted.add_clause(mode.negate(), picked)
            posted.add_order(start, duration, self.last_end, premise=picked)
            if latest is not None:
                posted.add_order(start, duration, latest, premise=picked)
            self._durations[-1].append((duration, picked))
            if demands := job["prefixes"].get(str(duration)):
                self._park(start, job["release"], duration, demands, picked)

    def _park(self, start: Whole, release: int, duration: int, demands: dict[str, int], picked: Truth) -> None:
        """Add a task that is at ``start`` if ``picked``, and parked otherwise."""
        posted, number = self._posted, len(self._tasks)
        task = posted.whole(release, self._parked_at, f"task{number}")
        is_late = posted.is_at_least(task, self.horizon - duration + 1, f"late{number}")
        is_parked = posted.is_at_least(task, self._parked_at, f"parked{number}")
        posted.add_equality(task, start, picked)
        posted.add_clause(picked, is_parked)
        posted.add_clause(picked.negate(), is_late.negate())
        posted.add_clause(is_late.negate(), is_parked)
        self._tasks.append(IntervalTask(task, duration, demands))
        self._parked_at += duration

    def _add_exactly_one(self, chosen: list[Truth]) -> None:
        self._posted.add_clause(*chosen)
        for one, other in combinations(chosen, 2):
            self._posted.add_clause(one.negate(), other.negate())

    def _add_resources(self, capacities: dict[str, int]) -> None:
        for name, capacity in capacities.items():
            tasks = [task for task in self._tasks if task.demands.get(name) and task.duration]
            if tasks:  # Pumpkin panics at a cumulative of nothing
                self._posted.add_cumulative(tasks, name, capacity)

    def _add_row(self, terms: list[tuple[int, str, int]], least: int, number: int) -> None:
        """Let the times of a row, the one that is added first, add up to so much at least."""
        times = [self._time(which, j) for _, which, j in terms]
        if len(times) == 2:
            self._posted.add_order(times[1], least, times[0])
        elif terms[0][0] < 0:
            self._posted.add_order(times[0], 0, self._posted.whole(-least, -least, f"row{number}"))
        else:
            self._posted.add_order(self._posted.whole(least, least, f"row{number}"), 0, times[0])

    def _time(self, which: str, j: int) -> Whole:
        """Return the start of a job, or its end."""
        start = self.starts[j]
        if which == "start":
            return start
        if j not in self._ends:
            self._ends[j] = self._posted.whole(0, self.horizon, f"end{j}")
            for duration, picked in self._durations[j]:
                self._posted.add_order(start, duration, self._ends[j], premise=picked)
                self._posted.add_order(self._ends[j], -duration, start, premise=picked)
        return self._ends[j]

    def _order_equal_jobs(self, jobs: list[dict[str, Any]]) -> None:
        """Let jobs that no solution can tell apart start in their order."""
        equal: dict[str, list[int]] = defaultdict(list)
        for j, job in enumerate(jobs):
            equal[json.dumps(job, sort_keys=True)].append(j)
        for numbers in equal.values():
            for one, other in pairwise(numbers):
                self._posted.add_order(self.starts[one], 0, self.starts[other])

    def message_of(self, solution: Any) -> dict[str, Any]:
        """Return the message that says a solution."""
        starts = [solution.int_value(start.handle) for start in self.starts]
        modes = [next((i for i, m in enumerate(c) if solution.bool_value(m.handle)), 0) for c in self.chosen]
        return {"starts": starts, "modes": modes}


def main(requests: int, answers: int) -> None:
    """Solve the problems that are asked for, one after another, until whoever asks is gone."""
    asker = Asker(requests, answers)
    while True:
        solve(asker.read(), asker.write)


def solve(document: dict[str, Any], write: Write) -> None:
    """Solve a problem and write what there is to know; its proof, if it has one, is complete before the status."""
    write(_status_of(document, write))


def _status_of(document: dict[str, Any], write: Write) -> dict[str, Any]:
    """Return the last message on a problem, once its model is gone: that closes the file of its proof."""
    model = PumpkinModel(document)
    if document["model"] is not None:
        Path(document["model"]).write_text(model.text, encoding="utf-8")
    found = model.model.optimise(
        model.last_end.handle,
        optimiser=Optimiser.LinearSatUnsat,
        timeout=document["time_limit"],
        on_solution=lambda solution: write(model.message_of(solution)),
    )
    if isinstance(found, OptimisationResult.Optimal):
        return {"status": "OPTIMAL", "bound": found._0.int_value(model.last_end.handle)}
    return {"status": "INFEASIBLE" if isinstance(found, OptimisationResult.Unsatisfiable) else "UNKNOWN"}
