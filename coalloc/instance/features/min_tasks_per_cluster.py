"""The least number of tasks of a job in each cluster that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.columns import column
from coalloc.instance.features.feature import Condition, Feature, Stated, of_job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every job that has fewer tasks in every shape."""
    for i, job in stated.jobs:
        least, tasks = read.count(job, "min_tasks_per_cluster"), read.tasks_in_shapes(i, job)
        if tasks and least is not None and least > max(tasks):
            sentence = f"must be at most the tasks ({shown(max(tasks))}), got {shown(least)}"
            yield Fault(f"jobs[{i}].min_tasks_per_cluster", sentence)


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        if job.min_tasks_per_cluster is not None:
            sentence = (
                f"job {quoted(job.id)} has at least {job.min_tasks_per_cluster} tasks in each cluster that it uses"
            )
            yield Condition(sentence, of_job(job, lambda j: j.replace(min_tasks_per_cluster=None)))


FEATURE = Feature(
    fields=("Job.min_tasks_per_cluster",),
    is_used=lambda instance: any(column(instance.jobs, "min_tasks_per_cluster")),
    faults=_faults,
    conditions=_conditions,
)
