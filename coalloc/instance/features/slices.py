"""Slices: equal parts of the tasks of a job, each in a cluster of its own."""

from __future__ import annotations

from collections.abc import Iterator

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.instance import read
from coalloc.instance.features.feature import Feature, Stated, conditions_of, some_job_has


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


FEATURE = Feature(
    fields=("Job.slices",),
    is_used=some_job_has("slices"),
    faults=_faults,
    conditions=conditions_of("slices", lambda job: f"has {job.slices} equal slices in different clusters"),
)
