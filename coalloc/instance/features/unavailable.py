"""Windows in which nodes are unavailable: maintenance, outages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance import read
from coalloc.instance.features.feature import Condition, Feature, Stated
from coalloc.instance.processor_names import NO_NUMBER, ProcessorNames
from coalloc.instance.windows import Window

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _platform_faults(platform: object) -> Iterator[Fault]:
    """Yield what is wrong with the windows in which parts of a platform are not there."""
    windows, clusters = read.listed(platform, "unavailable"), read.listed(platform, "clusters")
    groups_of = {read.text(cluster, "name"): read.groups(cluster) for cluster in clusters} if windows else {}
    for w, window in enumerate(windows):
        path, name, nodes = f"unavailable[{w}]", read.text(window, "cluster"), read.field(window, "nodes")
        start, end = read.from_zero(window, "start"), read.from_zero(window, "end")
        if start is not None and end is not None and end <= start:
            yield Fault(f"{path}.end", f"must be after its start, {start:.12g}, got {end:.12g}")
        if name is not None and None not in groups_of and name not in groups_of:
            yield Fault(f"{path}.cluster", f"must be a cluster of the platform, got {quoted(name)}")
        number, processors = read.field(window, "group"), read.count(window, "processors")
        if (number is None) != (read.field(window, "processors") is None) or (number is not None and nodes):
            yield Fault(path, "must have either nodes, or group and processors, or none of them")
            continue
        groups = groups_of.get(name)
        if groups is None:
            continue
        if isinstance(number, int) and not 0 <= number < len(groups):
            yield Fault(f"{path}.group", f"must be a group of the cluster, 0 to {len(groups) - 1}, got {number}")
        elif isinstance(number, int) and processors is not None and processors > groups[number][0] * groups[number][1]:
            most = groups[number][0] * groups[number][1]
            yield Fault(f"{path}.processors", f"must be at most {most} (all of the group), got {processors}")
        if isinstance(nodes, (list, tuple, ProcessorNames)):
            yield from _closed_node_faults(f"{path}.nodes", nodes, name or "", sum(count for count, _ in groups))


def _closed_node_faults(path: str, nodes: Sequence[object], cluster: str, num_nodes: int) -> Iterator[Fault]:
    """Yield a fault for every name that is no node of a cluster with so many."""
    for held, place in read.holdings(path, nodes):
        is_node = held.first != NO_NUMBER and held.first_core == NO_NUMBER and held.last < num_nodes
        if not is_node or held.cluster != cluster:
            yield Fault(place, f"must be nodes of cluster {quoted(cluster)}, got {quoted(held.text)}")


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every running job that holds nodes in a window in which they are not there."""
    windows = [
        (w, window)
        for w, window in enumerate(read.listed(stated.platform, "unavailable"))
        if not read.field(window, "processors")
    ]
    for r, run in enumerate(stated.running if windows else ()):
        nodes = read.field(run, "nodes")
        start, end = read.from_zero(run, "start", 0.0) or 0.0, read.from_zero(run, "end") or 0.0
        held = read.holdings("", nodes) if isinstance(nodes, (list, tuple, ProcessorNames)) else []
        for w, window in windows:
            begin, until = read.from_zero(window, "start") or 0.0, read.from_zero(window, "end") or 0.0
            closed = read.field(window, "nodes")
            of_window = [part for part, _ in read.holdings("", closed)] if closed else None
            name = read.text(window, "cluster")
            touches = any(
                part.cluster == name
                and (of_window is None or any(c.first <= part.last and part.first <= c.last for c in of_window))
                for part, _ in held
            )
            if touches and start < until and begin < end:
                sentence = f"must not overlap platform.unavailable[{w}], which starts at {begin:.12g} s"
                yield Fault(f"running[{r}].nodes", sentence)


def _conditions(instance: Instance) -> Iterator[Condition]:
    for window in instance.platform.unavailable:
        what = f"{window.processors} processors of group {window.group}" if window.processors else "nodes"
        times = f"{instant_text(window.start)} to {instant_text(window.end)}"
        sentence = f"{what} of {quoted(window.cluster)} are unavailable from {times}"
        yield Condition(sentence, partial(_without, window))


def _without(window: Window, instance: Instance) -> Instance:
    left = list(instance.platform.unavailable)
    left.remove(window)
    return instance.replace(platform=instance.platform.replace(unavailable=left))


FEATURE = Feature(
    fields=("Platform.unavailable",),
    is_used=lambda instance: bool(instance.platform.unavailable),
    faults=_faults,
    platform_faults=_platform_faults,
    conditions=_conditions,
)
