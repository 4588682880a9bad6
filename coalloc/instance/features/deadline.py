"""Deadlines: a job ends by an instant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.documents.columns import column
from coalloc.documents.wording import instant_text
from coalloc.instance.constraints import TimeBounds
from coalloc.instance.features.feature import Feature, conditions_of

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _declare(instance: Instance) -> Iterator[TimeBounds]:
    return (TimeBounds(job.id, latest_end=job.deadline) for job in instance.jobs if job.deadline is not None)


FEATURE = Feature(
    fields=("Job.deadline",),
    is_used=lambda instance: any(time is not None for time in column(instance.jobs, "deadline")),
    declare=_declare,
    conditions=conditions_of("deadline", lambda job: f"must end by {instant_text(job.deadline or 0.0)}"),
)
