"""PAS, node formulation: the model of the thesis, in its own variables, with the errata corrected.

It is the reference that the other is measured against, so nothing else is improved. Jobs, processors and links have
their names, as in ``X["J1", "C1/0"]``, and each component says what it is (``doc``). The bandwidth (2.6) is quadratic
and concave in the tasks below a link, so ``tasks_below[j, k, i] = 1`` names their number ``i``: exact, no relaxation
(errata 2).
Source: thesis 3.1.2, Figure 3.4, (3.3) to (3.8); errata 7.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from coalloc.models.names import add_job_parameters, add_platform_parameters, job_names, processors_by_name
from coalloc.models.package_models import add_communication_slowdown, add_stages
from coalloc.models.time_slots import chosen
from coalloc.problem import Problem
from coalloc.problem.execution import link_load
from coalloc.rules.package_modes import package_schedule
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


def _execution_time(model: pyo.ConcreteModel, j: str) -> Any:
    communication = model.SC[j] if model.problem.links == "shared" else 1.0
    return model.Tb[j] * (model.sigma[j] * model.SP[j] + (1.0 - model.sigma[j]) * communication)


def _add_placement(model: pyo.ConcreteModel) -> None:
    problem: Problem = model.problem
    held = {name for run in problem.package.running for name in run.nodes}
    model.class_of = {r: g for r, g in processors_by_name(problem).items() if r not in held}
    add_platform_parameters(model)
    add_job_parameters(model, dict(zip(job_names(problem), problem.jobs, strict=True)))
    rooms = {j: problem.allocations.rooms(job) for j, job in zip(model.J, problem.jobs, strict=True)}
    model.X = pyo.Var(
        [(j, r) for j in model.J for r in model.R if rooms[j][model.class_of[r]]],
        domain=pyo.Binary,
        doc="1 where job j is on processor r",
    )
    of_job: dict[str, list[Any]] = {j: [] for j in model.J}
    on: dict[str, list[Any]] = {}
    for (j, r), x in model.X.items():
        of_job[j].append(x)
        on.setdefault(r, []).append(x)
    model.SP = pyo.Var(model.J, domain=pyo.NonNegativeReals, doc="processing slowdown of job j")
    model.eq3_5 = pyo.Constraint(
        model.J,
        rule=lambda m, j: pyo.quicksum(of_job[j]) == m.tau[j],
        doc="(3.5): every task of a job is placed, one row per job (erratum 7)",
    )
    model.one_job = pyo.Constraint(
        list(on), rule=lambda _, r: pyo.quicksum(on[r]) <= 1, doc="(N1), ours: one job on a processor (erratum 7)"
    )
    model.eq3_4 = pyo.Constraint(
        model.X.index_set(),
        rule=lambda m, j, r: m.SP[j] >= m.X[j, r] / m.Gamma[r],
        doc="(3.4): the slowest processor of a job slows it down",
    )
    _add_memories(model)


def _add_memories(model: pyo.ConcreteModel) -> None:
    """Add (M5): the tasks on a node of several cores ask for no more than is left of its memory."""
    problem: Problem = model.problem
    memory = {j: job.memory or 0.0 for j, job in zip(model.J, problem.jobs, strict=True)}
    node_of = {problem.resources[k].classes: problem.resources[k].name for k in problem.contended_memories}
    limit = {problem.resources[k].name: problem.allocations.limits[k] for k in problem.contended_memories}
    left = {problem.resources[k].name: problem.package.limits[k] for k in problem.contended_memories}
    on_node: dict[str, list[Any]] = {}
    for (j, r), x in model.X.items():
        node = node_of.get((model.class_of[r],))
        if node is not None and memory[j]:
            on_node.setdefault(node, []).append(memory[j] / limit[node] * x)
    model.memory = pyo.Constraint(
        list(on_node),
        rule=lambda _, node: pyo.quicksum(on_node[node]) <= left[node] / limit[node],
        doc="(M5), ours: tasks on a node ask for no more than is free of its memory",
    )


def _add_bandwidth(model: pyo.ConcreteModel) -> None:
    """Add BW, linked to X by the number of tasks below each link."""
    problem: Problem = model.problem
    jobs = dict(zip(model.J, problem.jobs, strict=True))
    below = {name: problem.resources[k].classes for k, name in enumerate(model.K)}
    model.BW = pyo.Var(model.J, model.K, domain=pyo.NonNegativeReals, doc="load of job j on link k, MB/s")
    numbers = {(j, name): problem.allocations.tasks_within(jobs[j], k) for j in jobs for k, name in enumerate(model.K)}
    model.tasks_below = pyo.Var(
        [(j, k, i) for j, k in numbers for i in numbers[j, k]],
        domain=pyo.Binary,
        doc="1 where job j has i tasks below link k (ours: erratum 2)",
    )

    def count(m: pyo.ConcreteModel, j: str, k: str) -> Any:
        inside = pyo.quicksum(m.X[j, r] for r in m.R if (j, r) in m.X and m.class_of[r] in below[k])
        return pyo.quicksum(i * m.tasks_below[j, k, i] for i in numbers[j, k]) - inside == 0

    def load(m: pyo.ConcreteModel, j: str, k: str) -> Any:
        return m.BW[j, k] == pyo.quicksum(link_load(i, jobs[j]) * m.tasks_below[j, k, i] for i in numbers[j, k])

    model.one_number = pyo.Constraint(
        model.J,
        model.K,
        rule=lambda m, j, k: pyo.quicksum(m.tasks_below[j, k, i] for i in numbers[j, k]) == 1,
        doc="(N2), ours: one number of tasks below a link",
    )
    model.number_below = pyo.Constraint(
        model.J, model.K, rule=count, doc="(N3), ours: which is that of the tasks on processors below it"
    )
    model.eq2_6 = pyo.Constraint(
        model.J,
        model.K,
        rule=load,
        doc="(2.6): the load of a job on a link, a table of it at each number of tasks below",
    )


def _add_saturation_limits(model: pyo.ConcreteModel) -> None:
    """Add ABW with (3.6) and (3.7); the tolerance of 3.1.2.3 is in the free bandwidth."""
    free = dict(zip(model.K, model.problem.package.limits, strict=False))
    model.ABW = pyo.Var(
        model.K, domain=pyo.NonNegativeReals, doc="(3.7): what is left of link k, MB/s: no link saturates"
    )
    model.eq3_6 = pyo.Constraint(
        model.K,
        rule=lambda m, k: m.ABW[k] == free[k] - pyo.quicksum(m.BW[j, k] for j in m.J),
        doc="(3.6): what the jobs leave of a link, one row per link (erratum 3)",
    )


def _add_shared_links(model: pyo.ConcreteModel) -> None:
    """Add SC by (P4), and keep jobs that communicate off links of no bandwidth, where they never end (N4)."""
    problem: Problem = model.problem
    jobs = dict(zip(model.J, problem.jobs, strict=True))
    loading: dict[tuple[str, str], list[Any]] = {}
    for (j, k, i), number in model.tasks_below.items():
        if link_load(i, jobs[j]) > 0.0:
            loading.setdefault((j, k), []).append(number)
    is_loaded = {pair: pyo.quicksum(numbers) for pair, numbers in loading.items()}
    add_communication_slowdown(model, {pair: model.BW[pair] for pair in is_loaded}, is_loaded)
    model.no_bandwidth = pyo.Constraint(
        [(j, k) for j, k in is_loaded if not model.MBW[k] and jobs[j].processing_share < 1.0],
        rule=lambda _, j, k: is_loaded[j, k] == 0,
        doc="(N4), ours: a job that communicates stays off links of no bandwidth",
    )


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``X``, with SC = 1; nodes of a class are named afresh by colouring."""
    problem: Problem = model.problem
    counts = {j: [0] * len(problem.classes) for j in model.J}
    for j, r in chosen(model.X):
        counts[j][model.class_of[r]] += 1
    modes = (problem.allocations.mode(job, counts[j]) for j, job in zip(model.J, problem.jobs, strict=True))
    return package_schedule(problem, dict(enumerate(modes)))
