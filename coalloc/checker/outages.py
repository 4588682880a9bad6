"""The rule on outages: unavailable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from coalloc.checker.processor_sets import Groups, Ints, Spans, common, processor_texts
from coalloc.checker.rows import CheckedRows
from coalloc.checker.rule import Case, Rule, Violation, counted, listed, seconds
from coalloc.instance import visible
from coalloc.instance.processor_names import Range
from coalloc.instance.windows import Window


def _outages(case: Case) -> Iterator[Violation]:
    """Yield the processors that jobs hold during outages: of nodes outage by outage, then of groups."""
    rows, instance = case.rows, case.instance
    taking: dict[int, list[Window]] = {}
    for window in instance.platform.unavailable:
        c = rows.groups.cluster_names.index(window.cluster)
        overlapping = np.minimum(rows.end, window.end) - np.maximum(rows.start, window.start) > rows.tolerance
        groups = np.flatnonzero(rows.groups.cluster == c)
        if window.group is not None:
            taking.setdefault(int(groups[window.group]), []).append(window)
            continue
        closed = nodes_of(rows.groups, groups, window.nodes.ranges)
        for row, placement, _ in rows.placed(overlapping):
            shared = common(rows.spans(row), closed)
            if shared:
                where = ", ".join(processor_texts(shared, rows.groups))
                sentence = (
                    f"job {visible(placement.job)} is on {visible(where)} from {seconds(placement.start)} to "
                    f"{seconds(placement.end)}: unavailable from {seconds(window.start)} to {seconds(window.end)}"
                )
                count = sum(stop - first for first, stop in shared)
                begin = max(placement.start, window.start)
                yield Violation("unavailable", (placement.job,), where, begin, count, 0, sentence)
    for group, windows in taking.items():
        yield from _outages_of_group(rows, windows, group)


def nodes_of(groups: Groups, of_cluster: Ints, ranges: Sequence[Range]) -> Spans:
    """Return the processors of the nodes of a cluster that ranges name, of all nodes without ranges."""
    spans = []
    named = [(r.first, r.last + 1) for r in ranges] or [(0, 2**62)]
    for g in of_cluster.tolist():
        base, count = int(groups.node_in_cluster[g]), int(groups.count[g])
        cores, processor = int(groups.cores[g]), int(groups.processor[g])
        for first, stop in named:
            low, high = max(first - base, 0), min(stop - base, count)
            if low < high:
                spans.append((processor + low * cores, processor + high * cores))
    return sorted(spans)


def _outages_of_group(rows: CheckedRows, windows: Sequence[Window], group: int) -> Iterator[Violation]:
    """Yield a violation for each time from which on jobs hold more of a group than outages leave of it."""
    sets, capacity = rows.sets, int(rows.groups.count[group] * rows.groups.cores[group])
    sizes = np.bincount(sets.holder, np.where(sets.group == group, sets.stop - sets.first, 0), len(sets.sizes))
    chosen = np.flatnonzero(sizes[rows.held] > 0)
    instants = np.unique([*rows.start[chosen].tolist(), *(window.start for window in windows)])
    for instant in instants.tolist():
        margin = rows.base.tolerance_at(instant)
        taken = [w for w in windows if w.start <= instant + margin and w.end > instant + 2.0 * margin]
        held = chosen[(rows.start[chosen] <= instant + margin) & (rows.end[chosen] > instant + 2.0 * margin)]
        count, limit = int(sizes[rows.held[held]].sum()), max(0, capacity - sum(w.processors or 0 for w in taken))
        placed = tuple(rows.ids[row] for row in held.tolist() if row >= rows.num_running)
        if taken and placed and count > limit:
            where = f"group {taken[0].group} of {taken[0].cluster}"
            sentence = (
                f"{listed(placed)} and running jobs hold {counted(count, 'processor')} of {visible(where)} at "
                f"{seconds(instant)}: an outage leaves {limit}"
            )
            yield Violation("unavailable", placed, where, instant, count, limit, sentence)


RULES = (
    Rule(
        {
            "unavailable": "no job overlaps an outage of its nodes; where an outage takes a number of processors of a "
            "group, the jobs hold at most the others at any time at which a job of the schedule holds some"
        },
        _outages,
        {"unavailable"},
    ),
)
