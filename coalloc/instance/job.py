"""Rigid parallel jobs: all tasks start together, keep their processors, and are never preempted.

Source: thesis, section 2.2 (tau_j, Tb_j, sigma_j, PTBW_j).
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, cast

from pydantic import Field

from coalloc.documents.values import (
    LEFT_OUT,
    Count,
    NonNegative,
    PositiveSeconds,
    Seconds,
    Share,
    Text,
    Value,
    value,
)

Weight = Annotated[NonNegative, Field(description="what a second of the job's response counts, without a unit")]
DueDate = Annotated[Seconds | None, Field(description="instant by which the job should have ended, seconds")]


@value()
class Job(Value):
    """A rigid job.

    Parameters
    ----------
    id
        Unique name within an instance; data, never a path.
    tasks
        Processors that it needs all at once (tau).
    base_time
        Run time on dedicated reference nodes, s (Tb).
    processing_share
        Share of the base time that is processing; the rest is communication (sigma).
    task_bandwidth
        Bandwidth that one task asks of the network, MB/s (PTBW).
    arrival
        Release time, s.
    estimate
        The user's estimate of the base time, s; the base time itself where none is given.
    memory
        Memory that one task asks for, MB; nothing where none is given.
    user, energy_estimate
        Optional facts that some policies use (energy in J per task).
    weight
        What a second of its response, or of its tardiness, counts in weighted objectives.
    due_date
        Instant by which it should have ended, s; lateness and tardiness count from there. None: it is never late.
    """

    id: Text
    tasks: Count
    base_time: PositiveSeconds
    processing_share: Share = 1.0
    task_bandwidth: NonNegative = 0.0
    arrival: Seconds = 0.0
    estimate: PositiveSeconds = cast(float, None)
    user: Text | None = None
    memory: NonNegative | None = None
    energy_estimate: NonNegative | None = None
    weight: Weight = field(default=1.0, metadata=LEFT_OUT)
    due_date: DueDate = None

    def __post_init__(self) -> None:
        if self.estimate is None:
            object.__setattr__(self, "estimate", self.base_time)
