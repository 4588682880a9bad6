"""Moldable jobs: several shapes, numbers of tasks with run times."""

from __future__ import annotations

from collections.abc import Iterator

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.instance import read
from coalloc.instance.features.feature import Feature, Stated, some_job_has


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for shapes that are too large, or of tasks as one before, and for those of running jobs."""
    processors = read.num_processors(stated.platform)
    for i, job in stated.jobs:
        known = {read.count(job, "tasks")}
        for path, shape in read.shapes(i, job):
            tasks = read.count(shape, "tasks")
            if tasks is not None and processors is not None and tasks > processors:
                sentence = f"must be at most {processors} (all processors of the platform), got {shown(tasks)}"
                yield Fault(f"{path}.tasks", sentence)
            if tasks is not None and tasks in known:
                yield Fault(f"{path}.tasks", f"must differ from the tasks of other shapes, got {shown(tasks)}")
            known.add(tasks)
    for r, run in enumerate(stated.running):
        if read.listed(read.field(run, "job"), "shapes"):
            yield Fault(f"running[{r}].job.shapes", "must not be given: a running job has one shape")


FEATURE = Feature(
    fields=("Job.shapes",),
    is_used=some_job_has("shapes"),
    faults=_faults,
)
