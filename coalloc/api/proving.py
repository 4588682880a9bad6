"""``write_proof``: the proof that a schedule is optimal, as a file."""

from __future__ import annotations

import os
from pathlib import Path

from coalloc.documents.arguments import public
from coalloc.instance import CoallocError
from coalloc.objectives import OBJECTIVES
from coalloc.objectives.completion import Makespan
from coalloc.problem import MAX_MODES, discretise
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.result import SolveResult
from coalloc.solvers.time_shift import shifted


@public
def write_proof(result: SolveResult, path: str | os.PathLike[str], *, time_limit: float = 60.0) -> None:
    """Write a proof that no schedule of an instance ends a slot sooner than the one of a result.

    Pumpkin, a solver by lazy clause generation, is asked for such a schedule, in its model of the modes
    (docs/mathematics.md, "Clause learning"), and writes every step by which it finds that there is none, in the format
    DRCP: a line ``c UNSAT`` ends it.

    Parameters
    ----------
    result
        Of :func:`solve` with model oas, objective makespan, a slot, and no constraints of the user's own; the proof
        does not start from its bound.
    path
        The file; nothing is there unless the proof is complete.
    time_limit
        Seconds for the proof.

    Raises
    ------
    CoallocError
        The result is of another kind, no proof was found in time, or there is a better schedule, or one job alone takes
        as long, so that there is nothing to prove.
    """
    options, instance = result.options, result.instance
    is_of_kind = options.model == "oas" and options.objective == Makespan.name and options.slot is not None
    if not is_of_kind or instance is None or result.objective is None or options.slot is None:
        raise CoallocError("a proof is of the makespan of a schedule of model 'oas' in slots")
    given = shifted(instance, options.slot, OBJECTIVES[Makespan.name])
    problem = discretise(
        given.instance, options.slot, saturation=options.saturation, scope=options.scope, base=given.base
    )
    if problem.num_allocations > MAX_MODES:
        raise CoallocError("a proof is for jobs of few modes")
    latest = round((result.objective + given.instance.origin) / options.slot)
    question = pumpkin.Question(problem, 0, latest - 1)
    if latest > pumpkin.MAX_HORIZON or question.is_refuted:
        raise CoallocError("there is no proof to write: a job alone takes as long, or times are too many slots")
    written = Path(path).with_name(f"{Path(path).name}.part")
    try:
        status = pumpkin.status_of(question, time_limit=time_limit, proof=written.absolute())
        if status != "INFEASIBLE":
            raise CoallocError(
                "there is a schedule that ends sooner" if status == "OPTIMAL" else f"no proof within {time_limit:g} s"
            )
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
