"""``write_proof``: the proof that a schedule is optimal, as a file."""

from __future__ import annotations

import os
from pathlib import Path

from coalloc.documents.arguments import public
from coalloc.documents.text import quoted, visible
from coalloc.documents.wording import instant_text
from coalloc.instance import CoallocError
from coalloc.objectives import OBJECTIVES
from coalloc.objectives.completion import Makespan
from coalloc.problem import MAX_MODES, discretise
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.result import SolveResult
from coalloc.solvers.time_shift import shifted
from coalloc.system.extras import require

MODEL = ".fzn"
"""Ending of the file of the model."""


@public
def write_proof(result: SolveResult, path: str | os.PathLike[str], *, time_limit: float = 60.0) -> None:
    """Write a machine-checkable proof that no schedule ends a slot earlier than that of a result.

    The solver Pumpkin (lazy clause generation) refutes an earlier end in its model of the modes and logs every step in
    the format DRCP; the line ``c UNSAT`` ends the proof. The model is written next to the proof, as FlatZinc: the steps
    refer to its variables and to its constraints (``constraint_tag``).

    Parameters
    ----------
    result : SolveResult
        A result of ``coalloc.solve`` with model oas, objective makespan, a slot and no custom constraints.
    path : str or PathLike
        The proof file, such as ``proof.drcp``. The model has the same name with the suffix ``.fzn``. Both are written
        only if the proof is complete.
    time_limit : float, default 60.0
        Seconds for the proof.

    Raises
    ------
    CoallocError
        The result is of another kind, no proof was found in time, a better schedule exists, or a single job takes that
        long, so that there is nothing to prove.

    See Also
    --------
    coalloc.solve : Solve an instance.

    Notes
    -----
    The model is described in docs/mathematics/searches.md, "Clause learning: Pumpkin".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coalloc.write_proof(result, Path(folder) / "proof.drcp")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['proof.drcp', 'proof.fzn']
    """
    require("pumpkin_solver", "write_proof")
    options, instance = result.options, result.instance
    is_of_kind = options.model == "oas" and options.objective == Makespan.name and options.slot is not None
    if not is_of_kind or instance is None or result.objective is None or options.slot is None:
        raise CoallocError("write_proof requires a result of model 'oas' with objective 'makespan' and time slots")
    given = shifted(instance, options.slot, OBJECTIVES[Makespan.name])
    problem = discretise(
        given.instance, options.slot, saturation=options.saturation, scope=options.scope, base=given.base
    )
    if problem.allocations.number > MAX_MODES:
        raise CoallocError(f"write_proof supports at most {MAX_MODES:,} allocation vectors of the jobs")
    latest = round((result.objective + given.instance.origin) / options.slot)
    question = pumpkin.Question(problem, 0, latest - 1)
    if latest > pumpkin.MAX_HORIZON or question.is_refuted:
        raise CoallocError("no proof is written: a single job takes as long, or the horizon has too many time slots")
    proof = Path(path)
    model = proof.with_suffix(MODEL)
    if proof == model:
        raise CoallocError(f"{visible(str(path))}: must not end in {MODEL}, the ending of the model file")
    parts = [file.with_name(f"{file.name}.part").absolute() for file in (proof, model)]
    try:
        status = pumpkin.status_of(question, time_limit=time_limit, proof=parts[0], model=parts[1])
        if status != "INFEASIBLE":
            raise CoallocError(
                "no proof exists: a schedule with a smaller makespan exists"
                if status == "OPTIMAL"
                else f"no proof was found within {time_limit:g} s"
            )
        parts[1].write_text(_legend(question) + parts[1].read_text(encoding="utf-8"), encoding="utf-8")
        for part, file in zip(parts, (proof, model), strict=True):
            part.replace(file)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _legend(question: pumpkin.Question) -> str:
    """Return comments of FlatZinc that say which job and which processors the numbers in names stand for."""
    problem = question.problem
    clusters = [cluster.name for cluster in problem.instance.platform.clusters]
    places = [f"{visible(clusters[c.cluster])} (speed {c.effective_power:g})" for c in problem.classes]
    slots = (
        f"{question.horizon} time slots of {problem.clock.seconds(1):g} s from time {instant_text(problem.base.shift)}"
    )
    lines = [f"% No schedule ends within {slots}."]
    for j, (job, modes) in enumerate(zip(problem.jobs, question.modes, strict=True)):
        lines.append(f"% start{j}: the slot in which job {quoted(job.id)} starts")
        for i, mode in enumerate(modes if len(modes) > 1 else ()):
            tasks = [f"{count} on {place}" for count, place in zip(mode.allocation, places, strict=True) if count]
            lines.append(f"% mode{j}_{i}: tasks {', '.join(tasks)}; duration {mode.duration} slots")
    return "\n".join(lines) + "\n"
