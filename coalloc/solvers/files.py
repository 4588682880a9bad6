"""Result files, version 1 or 2: what ``solve`` found, with what it takes to judge and repeat it.

A file is of version 2 where its schedule is; version 1 is read for ever.
"""

from __future__ import annotations

import math

from coalloc.documents.arguments import public
from coalloc.documents.kinds import FileKind, read_value, write_value
from coalloc.documents.storage import FILE_LIMIT, FilePath
from coalloc.documents.values import Text, Value, value
from coalloc.schedule import Instant, Schedule
from coalloc.solvers.result import (
    MethodRun,
    ModelSize,
    SolvedLevel,
    SolveOptions,
    SolveResult,
    SolveStatus,
    StoppedBy,
    TracePoint,
)


@value(slots=False)
class ResultDocument(Value):
    """The content of a result file.

    Parameters
    ----------
    status : SolveStatus
        ``optimal`` (with a proof), ``feasible``, ``infeasible`` or ``unknown``.
    stopped_by : str
        Why the search ended.
    objective : float or None
        Objective of the schedule, in ``unit``; null: no schedule.
    lower_bound : float or None
        Proved lower bound, in ``unit``; null: none.
    unit : str
        Unit of the objective: ``s``, ``tasks``, ``J``, ``J s``, that of a custom objective, or ``-`` for a ratio.
    gap : float or None
        Relative optimality gap, (objective - lower_bound) / objective; null if it is unknown or infinite.
    message : str
        Why there is no schedule, or other remarks.
    instance_sha256 : str
        SHA-256 of the canonical instance file, in hexadecimal.
    trace : tuple of TracePoint
        One point per new incumbent or lower bound.
    timings : dict of str to float
        Seconds by stage.
    model_size : ModelSize or None
        Size of the last model; null: no model was needed.
    options : SolveOptions
        The options of the solve, with defaults.
    versions : dict of str to str
        Versions of the software, by name.
    schedule : Schedule or None
        The best known schedule; null: none.
    levels : dict of str to float
        Values of the objectives of a lexicographic model, by name.
    methods : tuple of MethodRun, default ()
        One entry per method of the portfolio that ran.
    solved_levels : tuple of SolvedLevel, default ()
        One entry per objective of a lexicographic solve.
    simulated_objective : float or None, default None
        The objective with the ends that saturated links cause, in its unit; null if it was not computed.
    """

    status: SolveStatus
    stopped_by: StoppedBy
    objective: Instant | None
    lower_bound: Instant | None
    unit: Text
    gap: Instant | None
    message: str
    instance_sha256: Text
    trace: tuple[TracePoint, ...]
    timings: dict[str, float]
    model_size: ModelSize | None
    options: SolveOptions
    versions: dict[str, str]
    schedule: Schedule | None
    levels: dict[str, float]
    methods: tuple[MethodRun, ...] = ()
    solved_levels: tuple[SolvedLevel, ...] = ()
    simulated_objective: Instant | None = None


RESULT = FileKind("result", ResultDocument, ("status", "objective", "lower_bound", "gap"), versions=(1, 2))


def result_document(result: SolveResult) -> ResultDocument:
    """Return a result as a file holds it."""
    return ResultDocument(
        status=result.status,
        stopped_by=result.stopped_by,
        objective=result.objective,
        lower_bound=result.lower_bound,
        unit=result.unit,
        gap=result.gap if result.gap is not None and math.isfinite(result.gap) else None,
        message=result.message,
        instance_sha256=result.instance_sha256,
        trace=result.trace,
        timings=dict(result.timings),
        model_size=result.model_size,
        options=result.options,
        versions=dict(result.versions),
        schedule=result.schedule,
        levels=dict(result.levels),
        methods=result.methods,
        solved_levels=result.solved_levels,
        simulated_objective=result.simulated_objective,
    )


@public
def write_result(result: SolveResult, path: FilePath) -> None:
    """Write a result of ``coalloc.solve`` to a JSON file; the same result gives the same bytes.

    Parameters
    ----------
    result : SolveResult
        The result. The file holds the hash of its instance, not the instance.
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard output.

    Raises
    ------
    CoallocError
        The file cannot be written; an existing file is then unchanged.

    See Also
    --------
    coalloc.io.read_result : Read a result from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "result.json"
    ...     coalloc.io.write_result(result, path)
    ...     path.exists()
    True
    """
    write_value(result_document(result), path, RESULT)


@public
def read_result(path: FilePath, limit: int = FILE_LIMIT) -> SolveResult:
    """Read a result of ``coalloc.solve`` from a JSON file, without its instance.

    Parameters
    ----------
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard input.
    limit : int, default 256000000
        Maximum size of the decompressed file, bytes.

    Returns
    -------
    SolveResult
        The result; its ``instance`` is None.

    Raises
    ------
    InstanceError
        The file cannot be read or is not valid. All validation errors are reported together, each with its JSON path.

    See Also
    --------
    coalloc.io.write_result : Write a result to a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "result.json"
    ...     coalloc.io.write_result(result, path)
    ...     coalloc.io.read_result(path) == result
    True
    """
    document = read_value(path, RESULT, limit)
    return SolveResult(
        status=document.status,
        stopped_by=document.stopped_by,
        objective=document.objective,
        lower_bound=document.lower_bound,
        unit=document.unit,
        schedule=document.schedule,
        message=document.message,
        trace=document.trace,
        timings=document.timings,
        model_size=document.model_size,
        options=document.options,
        levels=document.levels,
        methods=document.methods,
        solved_levels=document.solved_levels,
        simulated_objective=document.simulated_objective,
        versions=document.versions,
        _known_sha256=document.instance_sha256,
    )
