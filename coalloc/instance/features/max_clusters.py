"""The largest number of clusters that a job uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.display.wording import plural
from coalloc.documents.text import quoted
from coalloc.instance.columns import column
from coalloc.instance.features.feature import Condition, Feature, of_job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        if job.max_clusters is not None:
            sentence = f"job {quoted(job.id)} uses at most {plural(job.max_clusters, 'cluster')}"
            yield Condition(sentence, of_job(job, lambda j: j.replace(max_clusters=None)))


FEATURE = Feature(
    fields=("Job.max_clusters",),
    is_used=lambda instance: any(column(instance.jobs, "max_clusters")),
    conditions=_conditions,
)
