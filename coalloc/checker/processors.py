"""Rules on the processors of a job: task-count, repeated-processor, unknown-processor, scope."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from coalloc.checker.processor_sets import Groups, Ints, Spans, first_and_last_nodes
from coalloc.checker.rows import CheckedRows, tasks_by_cluster
from coalloc.checker.rule import Case, Rule, Violation, counted
from coalloc.instance import visible
from coalloc.instance.processor_names import Range
from coalloc.schedule import Placement


def _processors(case: Case) -> Iterator[Violation]:
    """Yield placements that do not name exactly ``tasks`` distinct processors of the platform."""
    rows = case.rows
    sizes, is_known = rows.sets.sizes[rows.held], rows.sets.is_known[rows.held]
    tasks = rows.column("tasks", math.nan)
    is_repeated = rows.sets.is_repeated[rows.held]
    for row, placement, job in rows.placed((sizes != tasks) | ~is_known | is_repeated):
        count = int(sizes[row])
        if job is not None and count != job.tasks:
            sentence = f"job {visible(job.id)} has {counted(job.tasks, 'task')} but {counted(count, 'processor')}"
            yield Violation("task-count", (job.id,), "", placement.start, count, job.tasks, sentence)
        if is_repeated[row] or not is_known[row]:
            yield from _repeated_processors(placement)
        if not is_known[row]:
            yield from _unknown_processors(placement, rows.groups)


def _repeated_processors(placement: Placement) -> Iterator[Violation]:
    """Yield processors that a placement names more than once, adjacent ones together."""
    for repeated, count in _repeats(placement.nodes.ranges):
        noun = "processor" if repeated.size == 1 else "processors"
        sentence = f"job {visible(placement.job)} has {noun} {visible(repeated.text)} {count} times"
        yield Violation("repeated-processor", (placement.job,), repeated.text, placement.start, count, 1, sentence)


def _repeats(ranges: Iterable[Range]) -> Iterator[tuple[Range, int]]:
    """Yield what lies in several ranges, and in how many, by cluster, cores and nodes."""
    of_cluster: dict[str, list[Range]] = {}
    for r in ranges:
        of_cluster.setdefault(r.cluster, []).append(r)
    for cluster, members in of_cluster.items():
        cuts = sorted({r.first_core for r in members} | {r.last_core + 1 for r in members})
        for core, next_core in pairwise(cuts):
            spans = [(r.first, r.last + 1) for r in members if r.first_core <= core <= r.last_core]
            for first, stop, count in _covered(spans):
                yield Range(cluster, first, stop - 1, core, next_core - 1), count


def _covered(spans: Spans) -> Iterator[tuple[int, int, int]]:
    """Yield the intervals that are in two spans or more, and in how many."""
    changes: Counter[int] = Counter()
    for first, stop in spans:
        changes[first] += 1
        changes[stop] -= 1
    depth = 0
    for place, next_place in pairwise(sorted(place for place, change in changes.items() if change)):
        depth += changes[place]
        if depth > 1:
            yield place, next_place, depth


def _unknown_processors(placement: Placement, groups: Groups) -> Iterator[Violation]:
    """Yield what a placement names that is no processor of the platform, once each."""
    parts = (part for r in placement.nodes.ranges for part in _parts_unknown(r, groups))
    for part in dict.fromkeys(parts):
        verdict = "is not a processor" if part.size == 1 else "are not processors"
        sentence = f"job {visible(placement.job)} is on {visible(part.text)}, which {verdict} of the platform"
        yield Violation("unknown-processor", (placement.job,), part.text, placement.start, 1, 0, sentence)


def _parts_unknown(asked: Range, groups: Groups) -> Iterator[Range]:
    """Yield the parts of a range that are no processors of the platform."""
    if asked.cluster not in groups.cluster_names or asked.first < 0:
        yield asked
        return
    num_nodes = 0
    for g in np.flatnonzero(groups.cluster == groups.cluster_names.index(asked.cluster)).tolist():
        first, num_nodes = num_nodes, num_nodes + int(groups.count[g])
        part = asked._replace(first=max(asked.first, first), last=min(asked.last, num_nodes - 1))
        cores = int(groups.cores[g])
        if part.first > part.last or (cores == 1 and part.first_core < 0):
            continue
        if cores == 1 or part.first_core < 0:
            yield part
        elif part.last_core >= cores:
            yield part._replace(first_core=max(part.first_core, cores))
    if asked.last >= num_nodes:
        yield asked._replace(first=max(asked.first, num_nodes))


def _scopes(case: Case) -> Iterator[Violation]:
    """Yield placements over more clusters, or more nodes, than one."""
    rows, scope = case.rows, case.scope
    if scope == "platform":
        return
    parts = ((tasks_by_cluster(rows) > 0).sum(axis=1) if scope == "cluster" else _num_nodes(rows))[rows.held]
    for row, placement, _ in rows.placed(parts > 1):
        sentence = f"job {visible(placement.job)} runs on {parts[row]} {scope}s, but the scope allows one"
        yield Violation("scope", (placement.job,), "", placement.start, int(parts[row]), 1, sentence)


def _num_nodes(rows: CheckedRows) -> Ints:
    """Return how many nodes each set has processors of."""
    sets = rows.sets
    first, last = first_and_last_nodes(sets, rows.groups)
    goes_on = np.append(False, (np.diff(sets.holder) == 0) & (first[1:] == last[:-1]))[: len(first)]
    return np.bincount(sets.holder, last - first + 1 - goes_on, len(sets.sizes)).astype(np.int64)


RULES = (
    Rule(
        {
            "task-count": "a job has one processor per task of its shape",
            "repeated-processor": "a job has no processor twice",
            "unknown-processor": "every processor belongs to the platform",
        },
        _processors,
    ),
    Rule({"scope": "a job stays within one cluster or one node if the scope requires it"}, _scopes),
)
