"""The least number of tasks of a job in each cluster that it uses."""

from __future__ import annotations

from collections.abc import Iterator

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.instance import read
from coalloc.instance.features.feature import Feature, Stated, conditions_of, some_job_has


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every job that has fewer tasks in every shape."""
    for i, job in stated.jobs:
        least, tasks = read.count(job, "min_tasks_per_cluster"), read.tasks_in_shapes(i, job)
        if tasks and least is not None and least > max(tasks):
            sentence = f"must be at most the tasks ({shown(max(tasks))}), got {shown(least)}"
            yield Fault(f"jobs[{i}].min_tasks_per_cluster", sentence)


FEATURE = Feature(
    fields=("Job.min_tasks_per_cluster",),
    is_used=some_job_has("min_tasks_per_cluster"),
    faults=_faults,
    conditions=conditions_of(
        "min_tasks_per_cluster",
        lambda job: f"has at least {job.min_tasks_per_cluster} tasks in each cluster that it uses",
    ),
)
