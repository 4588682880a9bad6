"""CBS (Chunk Big Small): keep 75 % of the tasks of each job in one cluster, then load the links least.

As a hard rule the 75 % could never start jobs larger than a cluster, so it is the first of two objectives.
Link capacities and node powers play no part. Source: thesis 3.1.3.1, read as in errata 11.
"""

from __future__ import annotations

import math

import pyomo.environ as pyo

from coalloc.allocation import tasks_per_cluster
from coalloc.instance import Job
from coalloc.models.package import add_stages, extract, mode_model, total
from coalloc.problem import Mode, Problem

__all__ = ["build", "chunk_shortfall", "extract", "total_link_load"]

CHUNK_SHARE = 0.75
"""Share of a job's tasks that should be in one cluster."""


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; first objective in tasks, second in MB/s."""
    model = mode_model("CBS", problem)
    shortfall = total(model, lambda job, mode: chunk_shortfall(problem, job, mode))
    load = total(model, lambda _, mode: total_link_load(problem, mode))
    add_stages(model, [("chunk-shortfall", shortfall, True), ("link-load", load, False)])
    return model


def chunk_shortfall(problem: Problem, job: Job, mode: Mode) -> int:
    """Return how many tasks the largest part of a job in one cluster lacks to hold 75 % of its tasks."""
    tasks = tasks_per_cluster(mode.allocation, problem.classes, len(problem.instance.platform.clusters))
    return max(0, math.ceil(CHUNK_SHARE * job.tasks) - max(tasks))


def total_link_load(problem: Problem, mode: Mode) -> float:
    """Return the total load of a mode over all links, MB/s."""
    return math.fsum(mode.loads[: problem.num_links])
