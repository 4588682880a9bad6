"""Failures of nodes as changes from outside: nodes go, with all that runs there, and come back when they are repaired.

No policy knows of a failure or a repair before it happens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.instance.features import UnsupportedFeature, refuse_unsupported
from coalloc.schedule import Failure
from coalloc.simulator.processors import Processors

FAILURES = "failures"
"""Feature that policies list that support failures of nodes."""

WITH_FAILURES = frozenset(
    {"deadline", "after", "eligible", "requires", "times", "shapes", "unavailable", "start", "resources", "limits"}
    | {"max_clusters", "min_tasks_per_cluster", "slices", "level"}
)
"""The features that runs with failures support: jobs that start together would have to be interrupted together."""

Span = tuple[float, float]
"""From when until when, s."""


@dataclass(frozen=True, slots=True)
class Failing:
    """Nodes fail at a time (s), or are repaired (``is_leaving``); ``processors`` of the platform are on them."""

    time: float
    is_leaving: bool
    processors: Processors


def refuse_failures(instance: Instance, supported: Collection[str], method: str) -> None:
    """Raise where a run with failures is not supported, by a method that lists what it supports or for an instance."""
    if FAILURES not in supported:
        raise UnsupportedFeature(method, [FAILURES], of="run")
    instance.refuse_shared_nodes("simulations with failures")
    refuse_unsupported(instance, "simulate with failures", WITH_FAILURES)


def failing_changes(instance: Instance, failures: Iterable[Failure]) -> list[Failing]:
    """Return when nodes fail and are repaired, in order of time; repairs come first.

    What fails again before it is repaired is repaired once, at the end. A failure within the time tolerance lasts a
    little longer: the repair would be simultaneous, and come first. Raises :class:`CoallocError` with a line for each
    failure of unknown nodes, or of nodes that hold a running job or an advance reservation at that time.
    """
    platform, base = instance.platform, instance.time_base
    down = _down(platform, failures)
    _refuse_held(instance, down)
    changes: dict[tuple[float, bool], Processors] = defaultdict(int)
    for node, spans in down.items():
        first, cores = platform.nodes[node].first_processor, platform.nodes[node].cores
        processors = ((1 << cores) - 1) << first
        for start, end in _merged((start, max(end, start + 2.0 * base.tolerance_at(start))) for start, end in spans):
            changes[start, False] |= processors
            changes[end, True] |= processors
    order = sorted(changes, key=lambda key: (key[0], not key[1]))
    return [Failing(time, is_leaving, changes[time, is_leaving]) for time, is_leaving in order]


def _down(platform: Platform, failures: Iterable[Failure]) -> dict[int, list[Span]]:
    """Return when nodes, by index, have failed; raises for unknown ones."""
    number = {node.name: n for n, node in enumerate(platform.nodes)}
    down, lines = dict[int, list[Span]](), list[str]()
    for f, failure in enumerate(failures):
        unknown = next((name for name in failure.nodes if name not in number), None)
        if unknown is not None:
            first = quoted(platform.nodes[0].name)
            lines.append(f"failures[{f}].nodes: must be nodes of the platform, such as {first}, got {quoted(unknown)}")
            continue
        for name in failure.nodes:
            down.setdefault(number[name], []).append((failure.start, failure.end))
    if lines:
        raise CoallocError("\n".join(lines))
    return down


def _refuse_held(instance: Instance, down: Mapping[int, Sequence[Span]]) -> None:
    """Raise for failures of nodes that hold a running job or an advance reservation: these have given ends."""
    platform, lines = instance.platform, list[str]()
    for run in instance.running:
        nodes = sorted({platform.processor_node[platform.processor_index[name]] for name in run.nodes})
        for node in nodes:
            span = next((s for s in down.get(node, ()) if s[0] < run.end and run.start < s[1]), None)
            if span is not None:
                lines.append(
                    f"failures: {quoted(platform.nodes[node].name)} must not fail at {span[0]:.12g} s, it holds "
                    f"running job {quoted(run.job.id)} from {run.start:.12g} s to {run.end:.12g} s"
                )
    if lines:
        raise CoallocError("\n".join(lines))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return the times that spans cover, in order, none of which touch."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
