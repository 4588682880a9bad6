"""One formulation, built, started from a known schedule, run, and its news reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coalloc.documents.errors import InternalError
from coalloc.instance import CoallocError
from coalloc.models import Formulation
from coalloc.models.registry import EstimatesSize, TakesStart
from coalloc.problem import Assignment, Problem
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.call import Search
from coalloc.solvers.objectives import in_seconds, quick_bound, safe_horizon
from coalloc.solvers.result import ModelSolution, Progress, SolveStatus, TracePoint

if TYPE_CHECKING:
    import pyomo.environ as pyo

RunModel = Callable[..., ModelSolution]
"""Runs a Pyomo model: the signature of :func:`coalloc.solvers.backends.highs.solve_model`."""

MAX_NONZEROS = 5_000_000
"""Nonzeros beyond which a model is not built."""
BUILT_PER_SECOND = 100_000
"""Nonzeros that are built and handed over in a second, on a slow machine."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How to run formulations of OAS within one call of ``solve``."""

    search: Search
    run_model: RunModel

    @property
    def objective(self) -> str:
        """Name of the objective."""
        return self.search.options.objective

    def size(self, problem: Problem, formulation: Formulation, first: Sequence[Assignment]) -> int:
        """Return roughly how many nonzeros the model will have; 0 where the formulation cannot tell.

        Slots before the first arrival have none, but what is free in them is kept as well.
        """
        if not isinstance(formulation, EstimatesSize):
            return 0
        horizon = safe_horizon(problem, first, self.objective)
        return max(formulation.estimate_nonzeros(problem, horizon), grid_cells(problem, horizon))

    def build(
        self, problem: Problem, formulation: Formulation, first: Sequence[Assignment], lower_bound: int | None = None
    ) -> pyo.ConcreteModel:
        """Build a model that ``first`` is a solution of, and set it to it; the bound is in slots."""
        horizon = safe_horizon(problem, first, self.objective)
        self._refuse_large(problem, self.size(problem, formulation, first), horizon)
        if lower_bound is None:
            lower_bound = int(quick_bound(problem, self.objective))
        known = lower_bound if self.objective == "makespan" else 0
        model = formulation.build(problem, horizon=horizon, objective=self.objective, lower_bound=known)
        if isinstance(formulation, TakesStart):
            formulation.set_start(model, first)
        return model

    def run(
        self,
        problem: Problem,
        formulation: Formulation,
        first: Sequence[Assignment],
        *,
        time_limit: float,
        lower_bound: int | None = None,
    ) -> tuple[Schedule | None, float | None]:
        """Solve a formulation; return its best schedule (rounded up only) and its bound in slots.

        Nothing is built where that alone would take longer than the time limit, s.
        """
        search = self.search
        nonzeros = self.size(problem, formulation, first)
        if nonzeros <= MAX_NONZEROS and nonzeros / BUILT_PER_SECOND > time_limit:
            search.stopped_by = "time"
            search.message = f"the model, of about {nonzeros:,} nonzeros, takes longer to build than the time limit"
            return None, None
        began = search.elapsed
        with search.timed("build"):
            model = self.build(problem, formulation, first, lower_bound)
        left = time_limit - (search.elapsed - began)
        if left <= 0.0:
            search.stopped_by = "time"
            return None, None
        limits = SolverLimits(
            time=left,
            work=search.options.work_limit,
            gap=search.options.gap * _gap_scale(problem, quick_bound(problem, self.objective), self.objective),
            threads=search.options.threads,
            seed=search.options.seed,
        )
        starts = isinstance(formulation, TakesStart)
        with search.timed("solve"):
            solution = self.run_model(model, limits, integral=True, start=starts, progress=reporter(search, problem))
        search.size, search.stopped_by = solution.size, solution.stopped_by
        if solution.status is SolveStatus.INFEASIBLE:
            raise InternalError("the model has no solution, though a list schedule is one")
        is_schedule = solution.objective is not None and problem.rounding == "up"
        return formulation.extract(model) if is_schedule else None, solution.lower_bound

    def _refuse_large(self, problem: Problem, nonzeros: int, horizon: int) -> None:
        if nonzeros > MAX_NONZEROS:
            half = 0.5 * problem.instance.mean_base_time
            remedy = 'did you mean slot="50%"?' if problem.seconds(1) < half else "or fewer jobs"
            raise CoallocError(
                f"the model would have about {nonzeros:.2g} nonzeros in {horizon:,} slots, more than {MAX_NONZEROS:,}: "
                f"slot={problem.slot:g} means {problem.slot:g} s; take a coarser slot ({remedy}), or formulation='auto'"
            )


def grid_cells(problem: Problem, horizon: int) -> int:
    """Return how many numbers say what is free in each slot; arrivals in Unix time make them more than a model's."""
    return horizon * (len(problem.classes) + len(problem.resources))


def _gap_scale(problem: Problem, bound: float, objective: str) -> float:
    """Return by what a relative gap shrinks on a model's objective, which counts from time 0.

    (C - L)/(C - origin) <= gap wherever (C - L)/C <= gap * (L - origin)/L, for C >= L.
    """
    return in_seconds(problem, bound, objective) / problem.seconds(bound) if bound else 0.0


def reporter(search: Search, problem: Problem) -> Progress:
    """Return what turns a solver's news, in ticks, into points of the trace.

    The news of a grid is the truth on that grid; where the call is about continuous time, it is an
    incumbent only where rounded up and a bound only where rounded down.
    """
    takes_incumbents = problem.rounding == "up"
    takes_bounds = search.options.slot is not None or problem.rounding == "down"

    def report(point: TracePoint) -> None:
        incumbent, bound = (
            None if ticks is None or not takes else in_seconds(problem, ticks, search.options.objective)
            for ticks, takes in ((point.incumbent, takes_incumbents), (point.lower_bound, takes_bounds))
        )
        search.record(point.source, incumbent, bound)

    return report
