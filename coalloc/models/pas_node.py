"""PAS, node formulation: the model of the thesis, in its own variables, with the errata corrected.

It is the reference that the other is measured against, so nothing else is improved. Variables
``X[j, r]``, ``SP[j]``, ``BW[j, k]``, ``ABW[k]``; the bandwidth (2.6) is quadratic and concave in the tasks
below a link, so ``tasks_below[j, k, i] = 1`` names their number ``i``: exact, no relaxation (errata 2).
Source: thesis 3.1.2, Figure 3.4, (3.3) to (3.8); errata 7.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from coalloc.execution import link_load
from coalloc.models.package import add_communication_slowdown, add_stages
from coalloc.models.time_grid import chosen
from coalloc.problem import Problem
from coalloc.rules.packages import package_schedule
from coalloc.schedule import Schedule


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; the objective is in seconds."""
    model = pyo.ConcreteModel("PAS node")
    model.problem = problem
    _add_placement(model)
    if problem.links != "ignore":
        _add_bandwidth(model)
    if problem.links == "strict":
        _add_saturation_limits(model)
    elif problem.links == "shared":
        _add_shared_links(model)
    # (3.8) and (3.3)
    add_stages(model, [("total-execution-time", pyo.quicksum(_execution_time(model, j) for j in model.J), False)])
    return model


def _execution_time(model: pyo.ConcreteModel, j: int) -> Any:
    job = model.problem.jobs[j]
    communication = model.SC[j] if model.problem.links == "shared" else 1.0
    return job.base_time * (job.processing_share * model.SP[j] + (1.0 - job.processing_share) * communication)


def _add_placement(model: pyo.ConcreteModel) -> None:
    problem: Problem = model.problem
    index = problem.instance.platform.processor_index
    held = {index[name] for run in problem.package.running for name in run.nodes}
    model.class_of = {r: g for g, c in enumerate(problem.classes) for r in c.processors if r not in held}
    model.J = pyo.RangeSet(0, len(problem.jobs) - 1)
    model.R = pyo.Set(initialize=sorted(model.class_of))
    rooms = [problem.rooms(job) for job in problem.jobs]
    usable = [(j, r) for j in model.J for r in model.R if rooms[j][model.class_of[r]]]
    model.X = pyo.Var(usable, domain=pyo.Binary)
    of_job: dict[int, list[Any]] = {j: [] for j in model.J}
    on: dict[int, list[Any]] = {}
    for (j, r), x in model.X.items():
        of_job[j].append(x)
        on.setdefault(r, []).append(x)
    model.SP = pyo.Var(model.J, domain=pyo.NonNegativeReals)
    # (3.5) as in errata 7: every task is placed; (N1) one job on a resource
    model.eq3_5 = pyo.Constraint(model.J, rule=lambda _, j: pyo.quicksum(of_job[j]) == problem.jobs[j].tasks)
    model.one_job = pyo.Constraint(list(on), rule=lambda _, r: pyo.quicksum(on[r]) <= 1)
    # (3.4) the slowest resource used
    model.eq3_4 = pyo.Constraint(
        usable, rule=lambda m, j, r: m.SP[j] >= m.X[j, r] / problem.classes[m.class_of[r]].effective_power
    )
    _add_memories(model)


def _add_memories(model: pyo.ConcreteModel) -> None:
    """Add (M5): the tasks on a node of several cores ask for no more than is left of its memory."""
    problem: Problem = model.problem
    memory_of = {problem.resources[k].classes: k for k in problem.contended_memories}
    on_node: dict[int, list[Any]] = {}
    for (j, r), x in model.X.items():
        k = memory_of.get((model.class_of[r],))
        if k is not None and problem.jobs[j].memory:
            on_node.setdefault(k, []).append(problem.jobs[j].memory / problem.limits[k] * x)
    left = problem.package.limits
    model.memory = pyo.Constraint(
        list(on_node), rule=lambda _, k: pyo.quicksum(on_node[k]) <= left[k] / problem.limits[k]
    )


def _add_bandwidth(model: pyo.ConcreteModel) -> None:
    """Add BW, linked to X by the number of tasks below each link."""
    problem: Problem = model.problem
    below = [problem.resources[k].classes for k in range(problem.num_links)]
    model.K = pyo.RangeSet(0, len(below) - 1)
    model.BW = pyo.Var(model.J, model.K, domain=pyo.NonNegativeReals)
    numbers = {(j, k): problem.tasks_within(problem.jobs[j], k) for j in model.J for k in model.K}
    model.tasks_below = pyo.Var([(j, k, i) for j, k in numbers for i in numbers[j, k]], domain=pyo.Binary)

    def count(m: pyo.ConcreteModel, j: int, k: int) -> Any:
        inside = pyo.quicksum(m.X[j, r] for r in m.R if (j, r) in m.X and m.class_of[r] in below[k])
        return pyo.quicksum(i * m.tasks_below[j, k, i] for i in numbers[j, k]) - inside == 0

    def load(m: pyo.ConcreteModel, j: int, k: int) -> Any:
        job = problem.jobs[j]
        return m.BW[j, k] == pyo.quicksum(link_load(i, job) * m.tasks_below[j, k, i] for i in numbers[j, k])

    model.one_number = pyo.Constraint(
        model.J, model.K, rule=lambda m, j, k: pyo.quicksum(m.tasks_below[j, k, i] for i in numbers[j, k]) == 1
    )
    model.number_below = pyo.Constraint(model.J, model.K, rule=count)
    # (2.6) as a table of the load at each number of tasks; one_number and number_below are (N2) and (N3)
    model.eq2_6 = pyo.Constraint(model.J, model.K, rule=load)


def _add_saturation_limits(model: pyo.ConcreteModel) -> None:
    """Add ABW with (3.6) and (3.7); the tolerance of 3.1.2.3 is in the free bandwidth."""
    free = model.problem.package.limits
    model.ABW = pyo.Var(model.K, domain=pyo.NonNegativeReals)  # (3.7)
    model.eq3_6 = pyo.Constraint(model.K, rule=lambda m, k: m.ABW[k] == free[k] - pyo.quicksum(m.BW[j, k] for j in m.J))


def _add_shared_links(model: pyo.ConcreteModel) -> None:
    """Add SC by (P4), and keep jobs that communicate off links of no bandwidth, where they never end (N4)."""
    problem: Problem = model.problem
    loading: dict[tuple[int, int], list[Any]] = {}
    for (j, k, i), number in model.tasks_below.items():
        if link_load(i, problem.jobs[j]) > 0.0:
            loading.setdefault((j, k), []).append(number)
    is_loaded = {pair: pyo.quicksum(numbers) for pair, numbers in loading.items()}
    add_communication_slowdown(model, {pair: model.BW[pair] for pair in is_loaded}, is_loaded)
    links, jobs = problem.instance.platform.links, problem.jobs
    model.no_bandwidth = pyo.Constraint(
        [(j, k) for j, k in is_loaded if not links[k].bandwidth and jobs[j].processing_share < 1.0],
        rule=lambda _, j, k: is_loaded[j, k] == 0,
    )


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``X``, with SC = 1; nodes of a class are named afresh by colouring."""
    problem: Problem = model.problem
    counts = {j: [0] * len(problem.classes) for j in model.J}
    for j, r in chosen(model.X):
        counts[j][model.class_of[r]] += 1
    return package_schedule(problem, {j: problem.mode(problem.jobs[j], counts[j]) for j in model.J})
