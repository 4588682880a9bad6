"""Eligible clusters: a job uses some clusters only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.constraints import AllowedNodes
from coalloc.instance.features.feature import Feature, Stated, conditions_of, some_job_has

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every cluster that a job may use and the platform does not have."""
    known = [read.text(cluster, "name") for cluster in read.listed(stated.platform, "clusters")]
    if not known or None in known:
        return
    for i, job in stated.jobs:
        for n, name in enumerate(read.listed(job, "eligible")):
            if isinstance(name, str) and name and name not in known:
                yield Fault(f"jobs[{i}].eligible[{n}]", f"must be a cluster of the platform, got {quoted(name)}")


def _declare(instance: Instance) -> Iterator[AllowedNodes]:
    """Yield the nodes of each job that may not use all; jobs that say the same have the same set."""
    names = [cluster.name for cluster in instance.platform.clusters]
    known = dict[tuple[str, ...], frozenset[int]]()
    for job in instance.jobs:
        if job.eligible:
            if job.eligible not in known:
                nodes = enumerate(instance.platform.nodes)
                known[job.eligible] = frozenset(n for n, node in nodes if names[node.cluster] in job.eligible)
            yield AllowedNodes(job.id, known[job.eligible])


FEATURE = Feature(
    fields=("Job.eligible",),
    is_used=some_job_has("eligible"),
    faults=_faults,
    declare=_declare,
    conditions=conditions_of("eligible", lambda job: f"may only use {' or '.join(map(quoted, job.eligible))}", ()),
)
