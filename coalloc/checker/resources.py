"""Rules on capacities that jobs share: resources, limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coalloc.checker.node_use import full_nodes, node_use
from coalloc.checker.processor_sets import Floats, Ints
from coalloc.checker.rows import CheckedRows, tasks_by_cluster
from coalloc.checker.rule import Case, Rule, Violation, listed
from coalloc.checker.totals import excesses
from coalloc.instance import Platform, visible
from coalloc.instance.rounding import capacity_limit


def _resources(case: Case) -> Iterator[Violation]:
    """Yield each time at which jobs take more of a resource than the platform, a cluster or a node has, with the peak.

    A job takes its amount as a whole once in each place in which it has tasks, and that of each task where it is.
    """
    rows, platform = case.rows.with_suspensions, case.instance.platform
    tasks = tasks_by_cluster(rows)[rows.held]
    known = [job for job in rows.jobs[rows.num_running :] if job is not None]
    for name in sorted({name for job in known for name in (*job.resources, *job.task_resources)}):
        whole, each = _amounts(rows, name)
        of_clusters = [cluster.resources.get(name) for cluster in platform.clusters]
        if name in platform.resources:
            found = [("the platform", platform.resources[name], _taken(whole, each, tasks.sum(axis=1)))]
        elif any(capacity is not None for capacity in of_clusters):
            columns = zip(platform.clusters, of_clusters, tasks.T, strict=True)
            found = [(cluster.name, capacity or 0.0, _taken(whole, each, t)) for cluster, capacity, t in columns]
        else:
            found = list(_taken_on_nodes(rows, platform, name, whole, each))
        for place, capacity, load in found:
            for excess in excesses(rows, load, capacity_limit(capacity)):
                sentence = (
                    f"jobs require up to {excess.peak:.12g} {visible(name)} of {visible(place)} {excess.period}, "
                    f"but the capacity is {capacity:.12g}; jobs then: {listed(excess.jobs)}"
                )
                where = "" if name in platform.resources else place
                yield Violation("resources", excess.jobs, where, excess.start, excess.peak, capacity, sentence)


def _limits(case: Case) -> Iterator[Violation]:
    """Yield each time at which the jobs of a limit take more than its capacity, with the peak."""
    rows = case.rows.with_suspensions
    for limit in case.instance.limits:
        amounts = dict(zip(limit.jobs, limit.amounts or [1.0] * len(limit.jobs), strict=True))
        load = np.array([amounts.get(name, 0.0) for name in rows.ids], dtype=np.float64)
        for excess in excesses(rows, load, capacity_limit(limit.capacity)):
            sentence = (
                f"jobs of limit {visible(limit.name)} take up to {excess.peak:.12g} {excess.period}, "
                f"but its capacity is {limit.capacity:.12g}; jobs then: {listed(excess.jobs)}"
            )
            yield Violation("limit", excess.jobs, limit.name, excess.start, excess.peak, limit.capacity, sentence)


def _amounts(rows: CheckedRows, name: str) -> tuple[Floats, Floats]:
    """Return what the job of each row takes of a resource as a whole, and what each of its tasks takes."""
    whole = rows.column("resources", 0.0, lambda amounts: amounts.get(name, 0.0))
    return whole, rows.column("task_resources", 0.0, lambda amounts: amounts.get(name, 0.0))


def _taken(whole: Floats, each: Floats, tasks: Ints) -> Floats:
    """Return what rows take in a place in which they have so many tasks."""
    return np.where(tasks > 0, whole + each * tasks, 0.0)


def _taken_on_nodes(
    rows: CheckedRows, platform: Platform, name: str, whole: Floats, each: Floats
) -> Iterator[tuple[str, float, Floats]]:
    """Yield the name of each node of which more may be taken than it has of a resource, what it has, and the rows'."""
    capacities = [group.resources.get(name, 0.0) for cluster in platform.clusters for group in cluster.nodes]
    limits = np.array([capacity_limit(capacity) for capacity in capacities])
    use = node_use(rows, (rows.begin < rows.finish) & (whole + each > 0.0), np.ones(len(limits), dtype=bool))
    amounts = _taken(whole[use.row], each[use.row], use.tasks)
    for node, g, load in full_nodes(rows, use, amounts, limits[use.group]):
        yield node, capacities[g], load


RULES = (
    Rule(
        {
            "resources": "the jobs require together at most the capacity of a resource of the platform, a cluster or a "
            "node at any time at which a job of the schedule requires some there; a part without the resource has "
            "capacity 0"
        },
        _resources,
        {"resources"},
        on_shared_nodes=False,
    ),
    Rule(
        {
            "limit": "the amounts of the jobs of a limit that run sum to at most its capacity at any time at which a "
            "job of the schedule has an amount"
        },
        _limits,
        {"limits"},
        on_shared_nodes=False,
    ),
)
