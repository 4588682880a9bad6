"""Result files, version 1 or 2: what ``solve`` found, with what it takes to judge and repeat it.

A file is of version 2 where its schedule is; version 1 is read for ever.
"""

from __future__ import annotations

import hashlib
import math

from coalloc.documents.arguments import public
from coalloc.documents.kinds import Kind, document_of, read_value, write_value
from coalloc.documents.storage import FILE_LIMIT, FilePath
from coalloc.documents.strict_json import layout
from coalloc.documents.values import Text, Value, value
from coalloc.instance import Instance
from coalloc.instance.files import INSTANCE
from coalloc.schedule import Instant, Schedule
from coalloc.solvers.result import (
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
    """A result as it stands in a file.

    Parameters
    ----------
    status
        What is known: ``optimal`` only with a proof.
    stopped_by
        What ended the search.
    objective
        Value of the schedule, in ``unit``; null: there is none.
    lower_bound
        The lower bound, in ``unit``; null: none is known.
    unit
        Unit of the objective: ``s``, ``tasks``, ``J``, ``J s``, that of a custom objective; ``-``: a ratio.
    gap
        (objective - lower_bound)/objective; null where it is not known, or not finite.
    message
        Why there is no schedule, or what else there is to say.
    instance_sha256
        SHA-256 of the canonical file of the instance, in hexadecimal.
    trace
        A point for each new incumbent or bound.
    timings
        Seconds by stage.
    model_size
        Size of the last model; null: none was needed.
    options
        What was asked for, after defaults.
    versions
        Versions of what was at work, by name.
    schedule
        The best schedule known; null: none.
    levels
        Values of the objectives of a lexicographic model, or of those in order of priority, by name.
    solved_levels
        What is known of each of several objectives in order of priority.
    simulated_objective
        The objective with the ends that shared links really give, in its unit; null where that is not asked.
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
    solved_levels: tuple[SolvedLevel, ...] = ()
    simulated_objective: Instant | None = None


RESULT = Kind("result", ResultDocument, ("status", "objective", "lower_bound", "gap"), versions=(1, 2))


def instance_hash(instance: Instance) -> str:
    """Return the SHA-256 of the canonical file of an instance, in hexadecimal."""
    return hashlib.sha256(layout(document_of(instance, INSTANCE)).encode()).hexdigest()


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
        solved_levels=result.solved_levels,
        simulated_objective=result.simulated_objective,
    )


@public
def write_result(result: SolveResult, path: FilePath) -> None:
    """Write a result as ``.json``, or ``.json.gz`` through gzip: the same bytes for the same result.

    Raises
    ------
    CoallocError
        It cannot be written; a file of that name is then what it was before.
    """
    write_value(result_document(result), path, RESULT)


@public
def read_result(path: FilePath, limit: int = FILE_LIMIT) -> SolveResult:
    """Return the result of a file, without its instance; ``limit`` is its largest size in bytes, decompressed.

    Raises
    ------
    InstanceError
        It cannot be read or is not valid: every fault, with its JSON path.
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
        solved_levels=document.solved_levels,
        simulated_objective=document.simulated_objective,
        versions=document.versions,
        instance_sha256=document.instance_sha256,
    )
