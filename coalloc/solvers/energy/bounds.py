"""A lower bound on the energy, and on the EDP, of every schedule.

At the scale of traces, and of clusters with power states, it is that of one linear programme; of fewer jobs on nodes
with watts it is the least over all makespans (:mod:`coalloc.solvers.energy.bound_by_makespan`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from coalloc.instance import CoallocError, Instance
from coalloc.instance.constraints import (
    AllowedNodes,
    AllowedShapes,
    Constraint,
    Declaration,
    MostTasks,
    TimeBounds,
    name_of,
)
from coalloc.instance.features import FEATURES
from coalloc.instance.power import has_power_states
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.instance.time_base import TimeBase
from coalloc.models.energy_rates import Rates, always_on_rates, node_rates, switched_rates
from coalloc.models.energy_relaxation import build
from coalloc.power.sites import Working
from coalloc.problem import Problem, discretise
from coalloc.problem.allocation import Scope
from coalloc.problem.declared import normal
from coalloc.problem.fixed import Fixings
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.solvers.energy.bound_by_makespan import MAX_PLACES, EnergyByMakespan, MakespanSpan, span_bound, spans
from coalloc.solvers.result import SolveStatus

SUPPORTED = frozenset({"eligible", "requires"})
"""The features that energy and EDP support: where a job may be, which is as where it finds memory."""
BOUNDED = SUPPORTED | {"times", "shapes"}
"""The features that the bound knows; what it reads of the others is room on nodes, first starts and least makespans."""
WHY_UNSUPPORTED = (
    "energy methods support only rigid jobs with one reference run time, without precedence, that use processors, "
    "links "
    "and memory on permanently available nodes"
)
"""Why not."""


def energy_bound(
    instance: Instance,
    objective: str = "energy",
    makespan_limit: float | None = None,
    time_limit: float = 60.0,
    *,
    scope: Scope = "platform",
    constraints: Sequence[Constraint] = (),
    base: TimeBase | None = None,
    power_management: bool | None = None,
    working: Working = "total",
) -> float:
    """Return a lower bound on ``"energy"`` (J) or ``"edp"`` (J s), whatever the links and what :func:`relaxed` names.

    Raises :class:`CoallocError` where watts are missing, or where no schedule keeps ``makespan_limit`` (s).
    """
    deadline = time.perf_counter() + time_limit
    problem = discretise(instance, None, scope=scope, constraints=constraints, base=base)
    rates = _rates(problem, power_management, working)
    joules, makespan = _relaxed(problem, rates, makespan_limit, time_limit)
    if math.isinf(joules):
        raise CoallocError(
            f"no schedule ends within makespan_limit={makespan_limit:g} s: {_why(makespan, makespan_limit)}"
        )
    known = joules if objective == "energy" else joules * makespan
    may_be_late = not all(one.is_declared for one in constraints)
    is_large = len(problem.jobs) * len(problem.classes) > MAX_PLACES
    if has_power_states(instance.platform) or not problem.jobs or is_large or may_be_late:
        return known
    return max(known, _over_makespans(problem, 0 if objective == "energy" else 1, makespan_limit, deadline))


def relaxed(instance: Instance, constraints: Iterable[Constraint]) -> list[str]:
    """Return what the bound leaves out, in full or in part: features that an instance uses, and constraints."""
    features = [repr(name) for name in FEATURES if name in instance.features and name not in BOUNDED]
    left = [one for one in constraints if not (one.is_declared and all(map(_is_read, normal(one.declare(instance)))))]
    return features + ["fixed" if isinstance(one, Fixings) else f"constraint {name_of(one)}" for one in left]


def _is_read(declared: Declaration) -> bool:
    """Return whether the bound reads all of a declaration."""
    if isinstance(declared, TimeBounds):
        return math.isinf(declared.latest_start) and math.isinf(declared.latest_end)
    return isinstance(declared, (AllowedNodes, MostTasks, AllowedShapes))


def _over_makespans(problem: Problem, delay: int, makespan_limit: float | None, deadline: float) -> float:
    """Return the least bound over all makespans that an optimal schedule can have; 0 where there is none."""
    relaxation = EnergyByMakespan(problem)
    longest = problem.horizon_in_turn - problem.instance.origin
    first = MakespanSpan(0.0, relaxation.least, longest if makespan_limit is None else min(makespan_limit, longest))
    found = spans([span_bound(relaxation, delay)], first, deadline, lambda _: False)
    return found[0].bound if found else 0.0


def _why(makespan: float, limit: float | None) -> str:
    is_long = limit is not None and makespan > limit
    return f"the minimum is at least {makespan:g} s" if is_long else "the nodes have too few cores"


def _rates(problem: Problem, power_management: bool | None, working: Working) -> Rates:
    """Return the rates of nodes, or of clusters: switched off where that is not said, for then they draw least."""
    if has_power_states(problem.instance.platform) or power_management:
        rates = always_on_rates if power_management is False else switched_rates
        return rates(problem, working)
    if working != "total":
        raise CoallocError(f"working={working!r} requires clusters with power_states, but the nodes have watts")
    return node_rates(problem)


def relaxed_energy(instance: Instance, makespan_limit: float | None, time_limit: float) -> tuple[float, float]:
    """Return lower bounds on the energy of nodes and on the makespan (s), whatever the scope.

    The energy, J, is infinite where no schedule keeps the limit.
    """
    problem = discretise(instance, None)
    return _relaxed(problem, node_rates(problem), makespan_limit, time_limit)


def _relaxed(problem: Problem, rates: Rates, makespan_limit: float | None, time_limit: float) -> tuple[float, float]:
    """Return the bounds of :func:`relaxed_energy` at given rates and within the scope of the problem."""
    if not problem.jobs:
        return 0.0, 0.0
    least = max(0.0, simple_bound(problem) - problem.instance.origin) * (1.0 - RELATIVE_TOLERANCE)
    if makespan_limit is not None and least > makespan_limit:
        return math.inf, least
    most = None if makespan_limit is None else makespan_limit * (1.0 + RELATIVE_TOLERANCE)
    model = build(problem, rates, least_makespan=least, makespan_limit=most)
    solution = solve_model(model, SolverLimits(time=time_limit), integral=False)
    if solution.status is SolveStatus.INFEASIBLE:
        return math.inf, least
    return solution.lower_bound * (1.0 - 1e-7) if math.isfinite(solution.lower_bound) else 0.0, least
