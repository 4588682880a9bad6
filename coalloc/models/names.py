"""Names of jobs, processors and links in the node models, and the parameters that they show of them.

Figure 3.4 of the thesis (PAS) and Figure 3.13 (OAS) list the same parameters of platform and jobs first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyomo.environ as pyo

from coalloc.instance import Job
from coalloc.problem import Problem


def job_names(problem: Problem) -> list[str]:
    """Return the names of the jobs, in their order."""
    return [job.id for job in problem.jobs]


def link_names(problem: Problem) -> list[str]:
    """Return the names of the links, in their order; a switch may be called like a cluster."""
    return list(unique(resource.name for resource in problem.resources[: problem.allocations.num_links]))


def part_names(problem: Problem) -> list[str]:
    """Return the names of the parts of the platform that the scope keeps a job within: clusters, or nodes."""
    platform = problem.instance.platform
    if problem.scope == "cluster":
        return [cluster.name for cluster in platform.clusters]
    return [
        platform.nodes[platform.processor_node[problem.classes[g].processors[0]]].name
        for (g,) in problem.allocations.parts
    ]


def unique(names: Iterable[str]) -> Iterable[str]:
    """Yield the names; one that was there before gets a number."""
    used: set[str] = set()
    for name in names:
        candidate, number = name, 1
        while candidate in used:
            number += 1
            candidate = f"{name}_{number}"
        used.add(candidate)
        yield candidate


def processors_by_name(problem: Problem) -> dict[str, int]:
    """Return the class, by index, of each processor by its name, in the order of the platform."""
    names = problem.instance.platform.processor_names
    class_of = {p: g for g, node_class in enumerate(problem.classes) for p in node_class.processors}
    return {names[p]: class_of[p] for p in sorted(class_of)}


def add_platform_parameters(model: pyo.ConcreteModel) -> None:
    """Add the processors of ``model.class_of`` and the links, with effective powers and bandwidths."""
    problem: Problem = model.problem
    powers = {r: problem.classes[g].effective_power for r, g in model.class_of.items()}
    bandwidths = (link.bandwidth for link in problem.instance.platform.links)
    model.R = pyo.Set(initialize=list(model.class_of), doc="processors")
    model.K = pyo.Set(initialize=link_names(problem), doc="links between clusters")
    model.Gamma = pyo.Param(model.R, initialize=powers, doc="effective power of processor r")
    model.MBW = pyo.Param(
        model.K, initialize=dict(zip(model.K, bandwidths, strict=True)), doc="bandwidth of link k, MB/s"
    )


def add_job_parameters(model: pyo.ConcreteModel, jobs: Mapping[str, Job]) -> None:
    """Add the jobs by their names, with what they ask for."""
    model.J = pyo.Set(initialize=list(jobs), doc="jobs")
    model.tau = pyo.Param(model.J, initialize={j: job.tasks for j, job in jobs.items()}, doc="tasks of job j")
    model.Tb = pyo.Param(model.J, initialize={j: job.base_time for j, job in jobs.items()}, doc="base time of job j, s")
    model.PTBW = pyo.Param(
        model.J,
        initialize={j: job.task_bandwidth for j, job in jobs.items()},
        doc="bandwidth that a task of job j asks for, MB/s",
    )
    model.sigma = pyo.Param(
        model.J,
        initialize={j: job.processing_share for j, job in jobs.items()},
        doc="share of the base time of job j that is processing",
    )
