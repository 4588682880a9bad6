"""Slices: equal parts of the tasks of a job, each in a cluster of its own."""

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
    """Yield a fault for slices that no shape of a job divides into, or that are more than the clusters."""
    num_clusters = len(read.listed(stated.platform, "clusters"))
    for i, job in stated.jobs:
        slices, most, tasks = read.count(job, "slices"), read.count(job, "max_clusters"), read.tasks_in_shapes(i, job)
        if slices is None:
            continue
        if tasks and all(size % slices for size in tasks):
            yield Fault(f"jobs[{i}].slices", f"must divide the tasks ({shown(tasks[0])}), got {shown(slices)}")
        if 0 < num_clusters < slices:
            sentence = f"must be at most {num_clusters} (the clusters of the platform), got {shown(slices)}"
            yield Fault(f"jobs[{i}].slices", sentence)
        if most is not None and slices > most:
            yield Fault(f"jobs[{i}].slices", f"must be at most max_clusters ({shown(most)}), got {shown(slices)}")


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        if job.slices is not None:
            sentence = f"job {quoted(job.id)} has {job.slices} equal slices in different clusters"
            yield Condition(sentence, of_job(job, lambda j: j.replace(slices=None)))


FEATURE = Feature(
    fields=("Job.slices",),
    is_used=lambda instance: any(column(instance.jobs, "slices")),
    faults=_faults,
    conditions=_conditions,
)
