"""What tests of policies share: small platforms, runs as plain dictionaries, instances with estimates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import discretise
from coalloc.simulator.result import SimulationResult
from coalloc.solvers.feasibility import why_infeasible
from tests.strategies import instances


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


def starts(instance: Instance, policy: Any, **options: Any) -> dict[str, float]:
    """Return the start of each job, s, rounded to microseconds."""
    run = coalloc.simulate(instance, policy, **options)
    return {placement.job: round(placement.start, 6) for placement in run.schedule}


def nodes(run: SimulationResult) -> dict[str, set[str]]:
    """Return the nodes of each job."""
    return {placement.job: set(placement.nodes) for placement in run.schedule}


@st.composite
def estimated_instances(draw: st.DrawFn, **sizes: Any) -> Instance:
    """Draw an instance whose users estimate well, too high or too low."""
    instance = draw(instances(**sizes))
    factors = st.sampled_from((1.0, 1.0, 0.5, 3.0))
    jobs = tuple(job.replace(estimate=job.base_time * draw(factors)) for job in instance.jobs)
    return instance.replace(jobs=jobs)


def endable(instance: Instance) -> Instance:
    """Return an instance in which every job ends: without traffic where a link carries nothing."""
    is_open = all(link.bandwidth > 0.0 for link in instance.platform.links)
    return instance if is_open else without_traffic(instance)


def without_traffic(instance: Instance) -> Instance:
    """Return an instance whose jobs load no link."""
    quiet: tuple[Job, ...] = tuple(job.replace(task_bandwidth=0.0) for job in instance.jobs)
    return instance.replace(jobs=quiet)


def placeable(instance: Instance) -> Instance:
    """Return an instance in which no job saturates a link on every allocation: without traffic where one does."""
    return without_traffic(instance) if why_infeasible(discretise(instance, None)) else instance
