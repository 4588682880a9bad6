"""A placement: when a job runs, and on which processors."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from coalloc.documents.values import LEFT_OUT, SINCE_2, Text, Value, value
from coalloc.instance.processor_names import NamesField

Instant = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Outcome = Literal["completed", "killed"]
ShapeNumber = Annotated[int, Field(strict=True, ge=0)]


@value()
class Placement(Value):
    """The placement of one job in a schedule: its time interval and its processors.

    Parameters
    ----------
    job : str
        Id of the job.
    start : float
        Start time, s.
    end : float
        End time, s; processors are held in the half-open interval ``[start, end)``.
    nodes : sequence of str
        Names of the processors, one per task: ``C1/0``, or ``C1/0.3`` for a core of a node with several. Ranges such as
        ``C1/0-127`` and ``C1/0-3.0-7`` are accepted; the field is a sequence of names.
    outcome : {"completed", "killed"}, default "completed"
        ``"killed"``: the job reached its requested walltime, or an outage or advance reservation began on its nodes.
    shape : int, default 0
        Mode in which a moldable job runs: 0 is its own tasks and reference run time, 1 the first of its ``shapes``.

    Examples
    --------
    >>> from coalloc import Placement
    >>> placement = Placement("J1", start=0.0, end=100.0, nodes=["C1/0-2", "C2/0"])
    >>> list(placement.nodes)
    ['C1/0', 'C1/1', 'C1/2', 'C2/0']
    """

    job: Text
    start: Instant
    end: Instant
    nodes: NamesField
    outcome: Outcome = "completed"
    shape: ShapeNumber = field(default=0, metadata=LEFT_OUT | SINCE_2)
