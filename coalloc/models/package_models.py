"""Parts that the package models share: all jobs start together, each in one mode, beside running jobs.

A mode is an allocation vector of one job. Its execution time, link loads and tasks per
class are constants, so the mode models PAS, CBS and JPR differ in their objectives only:
``y[j, p] = 1`` when job ``j`` takes mode ``p``, equations (P1) to (P4) and (M4) of docs/mathematics/packages.md.
Source: thesis 3.1.2 (PAS) and 3.1.3.1 (CBS, JPR), errata 7 and 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyomo.environ as pyo

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance import CoallocError, Job
from coalloc.models.time_slots import chosen
from coalloc.problem import Mode, Problem
from coalloc.problem.execution import link_load
from coalloc.rules.package_modes import fits_processors, package_limits, package_schedule
from coalloc.schedule import Schedule

LINK_ROW_LIMIT = 1e4
"""Right-hand side to which the row of a link, or a memory, is scaled: a tolerance of 1e-6 is then 1e-10 of it."""

Cost = Callable[[Job, Mode], float]
"""Cost that a job in a mode adds to an objective."""


class Stage(NamedTuple):
    """One objective of a lexicographic model, to be minimised; ``is_integral`` where it takes whole numbers only."""

    name: str
    objective: Any
    is_integral: bool = False


def add_stages(model: pyo.ConcreteModel, stages: Sequence[tuple[str, Any, bool]]) -> None:
    """Give a model its objectives (name, expression, whether integral), first the most important.

    ``model.stages`` lists them; only the first is active.
    """
    model.stages = []
    for number, (name, expression, is_integral) in enumerate(stages):
        objective = pyo.Objective(expr=expression, doc=f"minimise: {name}")
        model.add_component(name.replace("-", "_"), objective)
        if number:
            objective.deactivate()
        model.stages.append(Stage(name, objective, is_integral))


def package_modes(problem: Problem, j: int) -> list[Mode]:
    """Return the modes that job ``j`` can take if it starts alone.

    Raises :class:`CoallocError` where there is none.
    """
    limits = package_limits(problem, j)
    fitting = [
        mode
        for mode in problem.modes[j]
        if fits_processors(problem, mode.allocation)
        and all(load <= limit for load, limit in zip(mode.loads, limits, strict=True))
    ]
    if not fitting:
        raise CoallocError(
            f"job {quoted(problem.jobs[j].id)} fits on no free processors at {instant_text(problem.package.start)}"
        )
    return fitting


def mode_model(name: str, problem: Problem) -> pyo.ConcreteModel:
    """Return a model without objective: every job in one mode, within what is free."""
    model = pyo.ConcreteModel(name)
    model.problem = problem
    model.modes = [package_modes(problem, j) for j in range(len(problem.jobs))]
    model.J = pyo.RangeSet(0, len(problem.jobs) - 1, doc="jobs")
    model.y = pyo.Var(
        [(j, p) for j, choices in enumerate(model.modes) for p in range(len(choices))],
        domain=pyo.Binary,
        doc="1 where job j takes mode p",
    )
    model.one_mode = pyo.Constraint(
        model.J,
        rule=lambda m, j: pyo.quicksum(m.y[j, p] for p in range(len(m.modes[j]))) == 1,
        doc="(P1), thesis (3.5): every job takes one mode (erratum 7)",
    )
    model.processors = pyo.Constraint(
        range(len(problem.classes)), rule=_processors, doc="(P2): no more tasks on class g than processors are free"
    )
    model.memory = pyo.Constraint(
        _contended(model, range(problem.allocations.num_links, len(problem.resources))),
        rule=_within,
        doc="(M4): tasks on a node ask for no more than is free of its memory",
    )
    return model


def _processors(model: pyo.ConcreteModel, g: int) -> Any:
    free = model.problem.package.processors[g]
    terms = [(c.allocation[g], y) for _, c, y in choices(model) if c.allocation[g]]
    return pyo.quicksum(tasks * y for tasks, y in terms) <= free if terms else pyo.Constraint.Skip


def choices(model: pyo.ConcreteModel) -> Iterator[tuple[int, Mode, Any]]:
    """Yield (job, mode, variable) of every variable of a mode model."""
    for (j, p), y in model.y.items():
        yield j, model.modes[j][p], y


def total(model: pyo.ConcreteModel, cost: Cost) -> Any:
    """Return the expression of the total cost."""
    return pyo.quicksum(cost(model.problem.jobs[j], mode) * y for j, mode, y in choices(model))


def set_start(model: pyo.ConcreteModel, modes: Sequence[Mode]) -> None:
    """Give ``y`` the values of a package, one mode for each job."""
    for j, mode, y in choices(model):
        y.set_value(int(mode.allocation == modes[j].allocation))


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``y``, with SC = 1."""
    return package_schedule(model.problem, {j: model.modes[j][p] for j, p in chosen(model.y)})


def add_saturation_limits(model: pyo.ConcreteModel) -> None:
    """Add (P3) to a mode model: no link saturates; (3.6), (3.7). Links that cannot saturate have no row."""
    model.saturation = pyo.Constraint(
        _contended(model, range(model.problem.allocations.num_links)),
        rule=_within,
        doc="(P3), thesis (3.6), (3.7): no link saturates",
    )


def _contended(model: pyo.ConcreteModel, resources: Iterable[int]) -> list[int]:
    """Return those of the resources of which there would be too little if every job took as much as it can."""
    free = model.problem.package.limits
    most = {k: sum(max((c.loads[k] for c in of_job), default=0.0) for of_job in model.modes) for k in resources}
    return [k for k, load in most.items() if load > free[k] > 0.0]


def _within(model: pyo.ConcreteModel, k: int) -> Any:
    limit = model.problem.package.limits[k]
    load = ((LINK_ROW_LIMIT / limit * c.loads[k], y) for _, c, y in choices(model) if c.loads[k])
    return pyo.quicksum(coefficient * y for coefficient, y in load) <= LINK_ROW_LIMIT


def add_communication_slowdown(
    model: pyo.ConcreteModel, loads: Mapping[tuple[Any, Any], Any], is_loaded: Mapping[tuple[Any, Any], Any]
) -> None:
    """Add ``SC[j]`` where links may saturate: (P4) ``SC_j >= load_k/MBW_k - M_jk (1 - u_jk)``, ``SC_j >= 1``.

    ``loads`` (MB/s) and ``is_loaded`` (u, 1 when job ``j`` loads link ``k``) are expressions by (job, link) of the
    pairs that occur, as the model calls them: by name where it has ``K``, else by index. ``load_k`` is their sum with
    what runs already. ``M_jk`` is the least that is valid.
    Source: thesis (2.7) to (2.9) for the jobs that overlap throughout; errata 3.
    """
    problem: Problem = model.problem
    links = problem.instance.platform.links
    number = {name: j for j, name in enumerate(model.J)}
    index = {name: k for k, name in enumerate(range(len(links)) if model.component("K") is None else model.K)}
    on_link: dict[Any, list[Any]] = {k: [] for k in index}
    for (_, k), load in loads.items():
        on_link[k].append(load)
    model.SC = pyo.Var(model.J, bounds=(1.0, None), doc="communication slowdown of job j, thesis (2.8), (2.9)")
    slowed = [
        (j, k)
        for j, k in is_loaded
        if problem.jobs[number[j]].processing_share < 1.0 and links[index[k]].bandwidth > 0.0
    ]

    def row(m: pyo.ConcreteModel, j: Any, k: Any) -> Any:
        bandwidth = links[index[k]].bandwidth
        big_m = max(0.0, largest_load(problem, index[k], number[j]) / bandwidth - 1.0)
        saturation = (problem.package.busy_loads[index[k]] + pyo.quicksum(on_link[k])) / bandwidth
        return m.SC[j] >= saturation - big_m * (1 - is_loaded[j, k])

    model.slowdown = pyo.Constraint(
        slowed, rule=row, doc="(P4), thesis (2.7) to (2.9): a saturated link slows down the jobs that load it"
    )


def largest_load(problem: Problem, link: int, idle: int) -> float:
    """Return the largest load of a link, MB/s, when job ``idle`` does not load it; 0 where it must.

    A dynamic programme over the tasks below the link, with the processors below and above it as limits.
    """
    package = problem.package
    below = sum(package.processors[g] for g in problem.resources[link].classes)
    above = sum(package.processors) - below
    most = {0: package.busy_loads[link]}
    for j, job in enumerate(problem.jobs):
        numbers = (0, job.tasks) if j == idle else range(job.tasks + 1)
        extended: dict[int, float] = {}
        for inside, load in most.items():
            for number in numbers:
                if inside + number <= below:
                    more = load + link_load(number, job)
                    extended[inside + number] = max(more, extended.get(inside + number, 0.0))
        most = extended
    tasks = sum(job.tasks for job in problem.jobs)
    return max((load for inside, load in most.items() if tasks - inside <= above), default=0.0)
