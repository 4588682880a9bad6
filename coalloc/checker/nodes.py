"""Rules on the tasks of a node: distinct-nodes, multiprogramming, memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from coalloc.checker.node_use import full_nodes, node_use
from coalloc.checker.rule import Case, Rule, Violation, listed
from coalloc.checker.shared_nodes import Row
from coalloc.checker.totals import excesses
from coalloc.instance import visible
from coalloc.instance.rounding import capacity_limit
from coalloc.instance.time_base import TimeBase


def _shared_places(case: Case) -> Iterator[Violation]:
    """Yield each time-shared node with two tasks of a job, and each with too many tasks at a time."""
    if not case.instance.shares_nodes:
        return
    platform, rows = case.instance.platform, case.shared_rows
    names = [node.name for node in platform.nodes]
    for row in rows:
        for node in sorted({n for n in row.nodes if row.nodes.count(n) > 1}):
            count = row.nodes.count(node)
            sentence = f"job {visible(row.id)} has {count} tasks on node {visible(names[node])}, but one is allowed"
            yield Violation("distinct-nodes", (row.id,), names[node], row.start, count, 1, sentence)
    most = [platform.group_of(node).multiprogramming for node in platform.nodes]
    yield from _crowds(rows, names, most, case.instance.time_base)


def _crowds(rows: Sequence[Row], names: Sequence[str], most: Sequence[int], base: TimeBase) -> Iterator[Violation]:
    """Yield each node that has more tasks than permitted, at the time at which it has most."""
    instants, index = base.merged([*(row.start for row in rows), *(row.end for row in rows)])
    times = instants.tolist()
    spans: list[list[tuple[int, int, int]]] = [[] for _ in names]
    for row, (begin, finish) in enumerate(zip(index[: len(rows)].tolist(), index[len(rows) :].tolist(), strict=True)):
        for node in rows[row].nodes if begin < finish else ():
            spans[node].append((begin, finish, row))
    for node, on_node in enumerate(spans):
        changes = Counter(begin for begin, _, _ in on_node)
        changes.subtract(finish for _, finish, _ in on_node)
        edges = sorted(changes)
        counts = list(accumulate(changes[edge] for edge in edges))
        count = max(counts, default=0)
        if count > most[node]:
            edge = edges[counts.index(count)]
            jobs = tuple(rows[row].id for begin, finish, row in on_node if begin <= edge < finish)
            sentence = (
                f"node {visible(names[node])} has {count} tasks at {times[edge]:.12g} s, but {most[node]} are allowed"
            )
            yield Violation("multiprogramming", jobs, names[node], times[edge], count, most[node], sentence)


def _memory(case: Case) -> Iterator[Violation]:
    """Yield each time at which the tasks on a node require more than its memory, with the peak.

    Memory is that of nodes (MB per node); a job requires its memory (MB per task) once for each task on the node.
    """
    if case.instance.shares_nodes:
        yield from _too_large_tasks(case)
        return
    rows = case.rows.with_suspensions
    memory = [group.memory for cluster in case.instance.platform.clusters for group in cluster.nodes]
    limits = np.array([math.inf if limit is None else capacity_limit(limit) for limit in memory])
    asked = rows.column("memory", 0.0, lambda amount: amount or 0.0)
    # A node has at most a task per core, unless two rows hold a processor at once, or a suspended job its memory.
    most = (
        math.inf if case.has_found("overlap") or rows is not case.rows else rows.groups.cores * asked.max(initial=0.0)
    )
    is_tight = np.isfinite(limits) & ~(most <= limits)
    if not is_tight.any():
        return
    use = node_use(rows, (rows.begin < rows.finish) & (asked > 0.0), is_tight)
    for name, g, load in full_nodes(rows, use, asked[use.row] * use.tasks, limits[use.group]):
        limit = memory[g] or 0.0
        for excess in excesses(rows, load, float(limits[g])):
            sentence = (
                f"tasks on node {visible(name)} require up to {excess.peak:.12g} MB of memory {excess.period}, "
                f"but it has {limit:.12g} MB; jobs then: {listed(excess.jobs)}"
            )
            yield Violation("memory", excess.jobs, name, excess.start, excess.peak, limit, sentence)


def _too_large_tasks(case: Case) -> Iterator[Violation]:
    """Yield each task that requires more memory than its time-shared node can ever provide."""
    platform, paging = case.instance.platform, case.instance.sharing.paging
    for row in case.shared_rows:
        for number in dict.fromkeys(row.nodes):
            node = platform.nodes[number]
            memory = platform.group_of(node).memory
            if memory is not None and row.memory > capacity_limit(memory, paging):
                limit = memory * (1.0 + paging)
                sentence = (
                    f"a task of job {visible(row.id)} requires {row.memory:.12g} MB on node {visible(node.name)}, "
                    f"which never provides more than {limit:.12g} MB"
                )
                yield Violation("memory", (row.id,), node.name, row.start, row.memory, limit, sentence)


RULES = (
    Rule(
        {
            "distinct-nodes": "on time-shared nodes no two tasks of a job are on one node",
            "multiprogramming": "no time-shared node has more tasks at any time than its multiprogramming",
        },
        _shared_places,
    ),
    Rule(
        {
            "memory": "the tasks on a node require together at most its memory at any time at which a job of the "
            "schedule requires some there, suspended jobs included; nodes without memory are not limited; on "
            "time-shared nodes with paging a task requires at most what its node can ever provide"
        },
        _memory,
    ),
)
