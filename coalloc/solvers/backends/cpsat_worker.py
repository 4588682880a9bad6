"""CP-SAT in a process of its own: reads problems from standard input, writes news to standard output.

HiGHS and OR-Tools cannot be loaded into one process, so this file imports nothing of coalloc that loads a solver.
Both directions speak JSON, one object per line; ids do not travel. The model has
counts as variables: a job picks a speed level, which fixes its duration, its tasks and the classes it may use,
and a number of tasks on each class; classes, contended links and memories are cumulative resources.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ortools.sat.python import cp_model

from coalloc.solvers.backends.asker import Asker

Write = Callable[[dict[str, Any]], None]


class CpSatModel:
    """The CP-SAT model of a problem document (see ``coalloc.solvers.backends.cpsat.document_of``)."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.model = cp_model.CpModel()
        horizon = document["horizon"]
        self.starts: list[cp_model.IntVar] = []
        self.ends: list[cp_model.IntVar] = []
        self.levels: list[list[cp_model.IntVar]] = []
        self.counts: list[list[cp_model.IntVar]] = []
        self.intervals: list[cp_model.IntervalVar] = []
        self.level_intervals: list[list[cp_model.IntervalVar]] = []
        for job in document["jobs"]:
            self._add_job(job, horizon)
        self._add_classes()
        self._add_prefixes()
        self._add_resources()
        self._add_objective(document["objective"], horizon)
        self._add_rows(document["rows"])
        for budget in document["budgets"]:
            self._add_budget(budget)
        for row in document["cluster_rows"]:
            self._add_cluster_row(**row)
        for one, other in document["equal_pairs"]:
            self.model.add(self.starts[one] <= self.starts[other])
        self._add_hint()

    def _add_job(self, job: dict[str, Any], horizon: int) -> None:
        model = self.model
        durations = [level["duration"] for level in job["levels"]]
        chosen = [model.new_bool_var("") for _ in durations]
        model.add_exactly_one(chosen)
        spans = [[job["release"], horizon]] if job["starts"] is None else job["starts"]
        start = model.new_int_var_from_domain(cp_model.Domain.from_intervals(spans), "")
        end = model.new_int_var(job["release"], max(job["release"], job["latest_end"]), "")
        size = model.new_int_var(min(durations), max(durations), "")
        model.add(size == sum(d * b for d, b in zip(durations, chosen, strict=True)))
        most = max(level["tasks"] for level in job["levels"])
        counts = [model.new_int_var(0, min(most, room), "") for room in job["rooms"]]
        tasks = sum(level["tasks"] * picked for level, picked in zip(job["levels"], chosen, strict=True))
        model.add(sum(counts) == (most if len({level["tasks"] for level in job["levels"]}) == 1 else tasks))
        for level, picked in zip(job["levels"], chosen, strict=True):
            for g, count in enumerate(counts):
                if g not in level["classes"]:
                    model.add(count == 0).only_enforce_if(picked)
            if level["one_of"]:
                model.add(sum(counts[g] for g in level["one_of"]) >= 1).only_enforce_if(picked)
        self._keep_within_a_part(counts)
        if job["spread"] is not None:
            self._spread_as(job["spread"], counts)
        self.starts.append(start)
        self.ends.append(end)
        self.levels.append(chosen)
        self.counts.append(counts)
        self.intervals.append(model.new_interval_var(start, size, end, ""))
        self.level_intervals.append(
            [model.new_optional_interval_var(start, d, end, b, "") for d, b in zip(durations, chosen, strict=True)]
        )

    def _keep_within_a_part(self, counts: list[cp_model.IntVar]) -> None:
        """Keep all tasks of a job within one cluster, or one node, where the scope asks for it."""
        parts = self.document["parts"]
        chosen = [self.model.new_bool_var("") for _ in parts]
        for part, picked in zip(parts, chosen, strict=True):
            self.model.add(sum(n for g, n in enumerate(counts) if g not in part) == 0).only_enforce_if(picked)
        if parts:
            self.model.add_exactly_one(chosen)

    def _spread_as(self, spread: dict[str, Any], counts: list[cp_model.IntVar]) -> None:
        """Let the tasks of a job in each cluster be as it asks."""
        model, cluster_of = self.model, self.document["clusters"]
        clusters = range(max(cluster_of) + 1)
        inside = [sum(n for g, n in enumerate(counts) if cluster_of[g] == c) for c in clusters]
        if spread["listed"] is not None:
            held = [model.new_int_var(0, max(tasks), "") for tasks in zip(*spread["listed"], strict=True)]
            for tasks, count in zip(inside, held, strict=True):
                model.add(tasks == count)
            model.add_allowed_assignments(held, spread["listed"])
            return
        uses = [model.new_bool_var("") for _ in clusters]
        for tasks, used in zip(inside, uses, strict=True):
            model.add(tasks == 0).only_enforce_if(~used)
            model.add(tasks >= spread["min_tasks"]).only_enforce_if(used)
            if spread["slices"] is not None:
                model.add(spread["slices"] * tasks == sum(counts)).only_enforce_if(used)
        if spread["max_clusters"] is not None:
            model.add(sum(uses) <= spread["max_clusters"])
        if spread["slices"] is not None:
            model.add(sum(uses) == spread["slices"])
        if spread["parts"] is not None:
            under = [model.new_bool_var("") for _ in spread["parts"]]
            model.add_exactly_one(under)
            for part, picked in zip(spread["parts"], under, strict=True):
                model.add(sum(used for c, used in enumerate(uses) if c not in part) == 0).only_enforce_if(picked)

    def _add_rows(self, rows: list[dict[str, Any]]) -> None:
        """Add what constraints ask for: jobs that may not overlap, and sums of starts and ends."""
        for row in rows:
            if "jobs" in row:
                self.model.add_no_overlap([self.intervals[j] for j in row["jobs"]])
                continue
            times = {"start": self.starts, "end": self.ends}
            self.model.add(sum(f * times[which][j] for f, which, j in row["terms"]) >= int(row["least"]))

    def _add_budget(self, budget: dict[str, Any]) -> None:
        """Keep the weights of the tasks that all jobs have in each cluster within a limit."""
        model, cluster_of, taken = self.model, self.document["clusters"], []
        for counts, table in zip(self.counts, budget["weights"], strict=True):
            if not table:
                continue
            *held, weight = (model.new_int_var(0, max(column), "") for column in zip(*table, strict=True))
            for c, tasks in enumerate(held):
                model.add(tasks == sum(n for g, n in enumerate(counts) if cluster_of[g] == c))
            model.add_allowed_assignments([*held, weight], table)
            taken.append(weight)
        model.add(sum(taken) <= budget["limit"])

    def _add_cluster_row(self, groups: list[list[int]], is_same: bool) -> None:
        """Give groups of jobs clusters: one group a single one, or each some that no other has."""
        model, cluster_of = self.model, self.document["clusters"]
        given = [[model.new_bool_var("") for _ in range(max(cluster_of) + 1)] for _ in groups]
        for group, of_group in zip(groups, given, strict=True):
            for c, is_given in enumerate(of_group):
                inside = sum(n for j in group for g, n in enumerate(self.counts[j]) if cluster_of[g] == c)
                model.add(inside == 0).only_enforce_if(~is_given)
        for one_of in given if is_same else zip(*given, strict=True):
            model.add_at_most_one(one_of)

    def _add_objective(self, objective: dict[str, Any], horizon: int) -> None:
        """Minimise the sum or the maximum of the costs: the ends, or what the tables say of an end at a level."""
        model, costs, bound, tables = self.model, self.ends, objective["lower_bound"], objective["costs"]
        least, most = 0, horizon
        if tables is not None:
            costs = [self._cost(j, of_job, horizon) for j, of_job in enumerate(tables)]
            least, most = (of_all(of_all(of_all(t) for t in of_job) for of_job in tables) for of_all in (min, max))
        if objective["aggregate"] == "sum":
            if bound is not None:
                model.add(sum(costs) >= bound)
            model.minimize(sum(costs))
            return
        greatest = model.new_int_var(least if bound is None else min(most, max(least, bound)), most, "greatest")
        for cost in costs:
            model.add(cost <= greatest)
        model.minimize(greatest)

    def _cost(self, j: int, tables: list[list[int]], horizon: int) -> cp_model.IntVar:
        """Return what a job costs: its level picks the table, its end the place in it."""
        every = [cost for table in tables for cost in table]
        cost = self.model.new_int_var(min(every), max(every), "")
        first = sum(level * (horizon + 1) * picked for level, picked in enumerate(self.levels[j]))
        self.model.add_element(first + self.ends[j], every, cost)
        return cost

    def _busy(self, key: str, k: int) -> tuple[list[cp_model.IntervalVar], list[int]]:
        intervals, demands = [], []
        for busy in self.document["busy"]:
            demand = busy[key][k]
            if demand and busy["end"] > 0:
                intervals.append(self._interval(busy))
                demands.append(demand)
        return intervals, demands

    def _interval(self, busy: dict[str, Any]) -> cp_model.IntervalVar:
        return self.model.new_fixed_size_interval_var(busy["start"], busy["end"] - busy["start"], "")

    def _add_classes(self) -> None:
        for g, capacity in enumerate(self.document["capacities"]):
            busy, demands = self._busy("allocation", g)
            of_jobs = [counts[g] for counts in self.counts]
            self.model.add_cumulative([*self.intervals, *busy], [*of_jobs, *demands], capacity)

    def _add_prefixes(self) -> None:
        """Add what the class rows imply: the jobs bound to the fastest speeds fit on them together."""
        for prefix in self.document["prefixes"]:
            intervals: list[cp_model.IntervalVar] = []
            demands: list[cp_model.LinearExprT] = []
            for j, job in enumerate(self.document["jobs"]):
                inside = [set(level["classes"]) <= set(prefix) for level in job["levels"]]
                if len({level["tasks"] for level in job["levels"]}) > 1:
                    intervals.append(self.intervals[j])
                    demands.append(self._tasks_at(j, inside))
                    continue
                for level, interval, is_inside in zip(job["levels"], self.level_intervals[j], inside, strict=True):
                    if is_inside:
                        intervals.append(interval)
                        demands.append(level["tasks"])
            capacity = sum(self.document["capacities"][g] for g in prefix)
            for busy in self.document["busy"]:
                held = sum(busy["allocation"][g] for g in prefix)
                if held and busy["end"] > 0:
                    intervals.append(self._interval(busy))
                    demands.append(held)
            self.model.add_cumulative(intervals, demands, capacity)

    def _tasks_at(self, j: int, chosen: list[bool]) -> cp_model.IntVar:
        """Return the tasks of a job of several shapes if it is at one of some levels, 0 else.

        One interval takes them: with optional ones, two of equal length, CP-SAT 9.15 found no solution where one is.
        """
        levels = self.document["jobs"][j]["levels"]
        tasks = [level["tasks"] if is_chosen else 0 for level, is_chosen in zip(levels, chosen, strict=True)]
        taken = self.model.new_int_var(0, max(tasks), "")
        self.model.add(taken == sum(n * picked for n, picked in zip(tasks, self.levels[j], strict=True)))
        return taken

    def _add_resources(self) -> None:
        for k, resource in enumerate(self.document["resources"]):
            intervals, busy_loads = self._busy("loads", k)
            demands: list[cp_model.LinearExprT] = list(busy_loads)
            for j, job in enumerate(self.document["jobs"]):
                table = [load for of_shape in job["loads"][k].values() for load in of_shape]
                if not any(table):
                    continue
                below = self.model.new_int_var(0, len(table) - 1, "")
                inside = sum(self.counts[j][g] for g in resource["classes"])
                self.model.add(below == inside + self._first_of_shape(j, job["loads"][k]))
                load = self.model.new_int_var(0, min(max(table), resource["capacity"]), "")
                self.model.add_element(below, table, load)
                intervals.append(self.intervals[j])
                demands.append(load)
            self.model.add_cumulative(intervals, demands, resource["capacity"])

    def _first_of_shape(self, j: int, tables: dict[str, list[int]]) -> cp_model.LinearExprT:
        """Return where the table of a job's shape begins, of those of all its shapes in a row."""
        first, begins = 0, {}
        for tasks, table in tables.items():
            begins[int(tasks)] = first
            first += len(table)
        levels = zip(self.document["jobs"][j]["levels"], self.levels[j], strict=True)
        return sum(begins[level["tasks"]] * picked for level, picked in levels if begins[level["tasks"]])

    def _add_hint(self) -> None:
        for j, hint in enumerate(self.document["hint"]):
            self.model.add_hint(self.starts[j], hint["start"])
            for count, value in zip(self.counts[j], hint["allocation"], strict=True):
                self.model.add_hint(count, value)
            for level, picked in zip(self.document["jobs"][j]["levels"], self.levels[j], strict=True):
                is_chosen = (level["duration"], level["tasks"]) == (hint["duration"], sum(hint["allocation"]))
                self.model.add_hint(picked, is_chosen)


class WorkerNews(cp_model.CpSolverSolutionCallback):
    """Writes every solution as a line."""

    def __init__(self, model: CpSatModel, write: Write) -> None:
        super().__init__()
        self._model, self._write = model, write

    def on_solution_callback(self) -> None:
        """Write the solution that CP-SAT just found."""
        self._write(
            {
                "objective": round(self.objective_value),
                "bound": self.best_objective_bound,
                "starts": [self.value(start) for start in self._model.starts],
                "counts": [[self.value(count) for count in counts] for counts in self._model.counts],
            }
        )


def main(requests: int, answers: int) -> None:
    """Solve the problems that are asked for, one after another, until whoever asks is gone."""
    asker = Asker(requests, answers)
    while True:
        solve(asker.read(), asker.write)


def solve(document: dict[str, Any], write: Write) -> None:
    """Solve a problem and write what there is to know."""
    began = time.perf_counter()
    model = CpSatModel(document)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.01, document["time_limit"] - (time.perf_counter() - began))
    solver.parameters.num_workers = document["threads"]
    solver.parameters.random_seed = document["seed"]
    # Measured on thesis-oas instances: without these, fine slots are not proved at all.
    solver.parameters.linearization_level = 0
    solver.parameters.use_strong_propagation_in_disjunctive = True
    if document["work_limit"] is not None:
        solver.parameters.max_deterministic_time = document["work_limit"]
    solver.best_bound_callback = lambda bound: write({"bound": bound})
    status = solver.solve(model.model, WorkerNews(model, write))
    write({"status": solver.status_name(status), "bound": solver.best_objective_bound})
