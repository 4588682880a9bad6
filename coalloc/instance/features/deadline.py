"""Deadlines: a job ends by an instant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.display.wording import instant_text
from coalloc.documents.text import quoted
from coalloc.instance.columns import column
from coalloc.instance.constraints import TimeBounds
from coalloc.instance.features.feature import Condition, Feature, of_job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _declare(instance: Instance) -> Iterator[TimeBounds]:
    return (TimeBounds(job.id, latest_end=job.deadline) for job in instance.jobs if job.deadline is not None)


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        if job.deadline is not None:
            sentence = f"job {quoted(job.id)} must end by {instant_text(job.deadline)}"
            yield Condition(sentence, of_job(job, lambda j: j.replace(deadline=None)))


FEATURE = Feature(
    fields=("Job.deadline",),
    is_used=lambda instance: any(time is not None for time in column(instance.jobs, "deadline")),
    declare=_declare,
    conditions=_conditions,
)
