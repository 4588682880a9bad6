"""Run times by features of nodes: unrelated machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coalloc.documents.columns import column, some_has
from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.features.feature import Feature, Stated


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every job that names two features of one group of nodes: which time it takes is not said."""
    timed = [
        (path, times)
        for i, job in stated.jobs
        for path, shape in ((f"jobs[{i}]", job), *read.shapes(i, job))
        if isinstance(times := read.field(shape, "times"), Mapping) and times
    ]
    if not timed:
        return
    groups = [(path, read.listed(group, "features")) for path, group in read.node_groups(stated.platform)]
    for place, times in timed:
        for path, features in groups:
            named = [feature for feature in features if isinstance(feature, str) and feature in times]
            if len(named) > 1:
                listed = " and ".join(map(quoted, named[:2]))
                yield Fault(f"{place}.times", f"must name one feature of each group, got {listed} of platform.{path}")


FEATURE = Feature(
    fields=("Job.times", "Shape.times"),
    is_used=lambda instance: (
        some_has(instance.jobs, "times")
        or any(shape.times for shapes in column(instance.jobs, "shapes") for shape in shapes)
    ),
    faults=_faults,
)
