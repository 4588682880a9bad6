"""Features of nodes: a job uses nodes that have all it requires."""

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
    """Yield a fault for every feature that a job requires and no node has."""
    asking = [(i, job) for i, job in stated.jobs if read.listed(job, "requires")]
    if not asking or not read.listed(stated.platform, "clusters"):
        return
    known = [name for _, group in read.node_groups(stated.platform) for name in read.listed(group, "features")]
    for i, job in asking:
        for n, name in enumerate(read.listed(job, "requires")):
            if isinstance(name, str) and name and name not in known:
                sentence = f"must be a feature of some node of the platform, got {quoted(name)}"
                yield Fault(f"jobs[{i}].requires[{n}]", sentence)


def _declare(instance: Instance) -> Iterator[AllowedNodes]:
    """Yield the nodes of each job that requires something; jobs that say the same have the same set."""
    platform, known = instance.platform, dict[tuple[str, ...], frozenset[int]]()
    features = [[set(group.features) for group in cluster.nodes] for cluster in platform.clusters]
    for job in instance.jobs:
        if job.requires:
            if job.requires not in known:
                nodes, asked = enumerate(platform.nodes), set(job.requires)
                known[job.requires] = frozenset(n for n, node in nodes if asked <= features[node.cluster][node.group])
            yield AllowedNodes(job.id, known[job.requires])


FEATURE = Feature(
    fields=("Job.requires", "NodeGroup.features"),
    is_used=some_job_has("requires"),
    faults=_faults,
    declare=_declare,
    conditions=conditions_of("requires", lambda job: f"requires {' and '.join(map(quoted, job.requires))}", ()),
)
