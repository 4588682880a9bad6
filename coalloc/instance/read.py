"""Fields of values, or of documents as they were parsed with whatever faults: what can be read, None for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from coalloc.documents.columns import Columns
from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance.processor_names import ProcessorNames, Range

E = TypeVar("E")

Group = tuple[int, int]
"""Nodes of a group, and processors of each."""

Clusters = dict[str, list[list[Group]]]
"""Groups of nodes of each cluster by its name; of several clusters where a name stands twice."""


def field(holder: object, key: str) -> Any:
    """Return a field of a value or of a parsed object, ``None`` where there is none."""
    return holder.get(key) if isinstance(holder, dict) else getattr(holder, key, None)


def listed(holder: object, key: str) -> Sequence[Any]:
    """Return a field that is a list, an empty one where it is not."""
    found = field(holder, key)
    return found if isinstance(found, (list, tuple, Columns)) else ()


def each(field_of: Callable[[object, str], E | None], holders: Sequence[object], key: str) -> list[E | None]:
    """Return a field of several; in columns it is as it must be."""
    if isinstance(holders, Columns):
        return [*holders.column(key)]
    return [field_of(holder, key) for holder in holders]


def text(holder: object, key: str) -> str | None:
    """Return a field that is a text and not empty."""
    found = field(holder, key)
    return found if isinstance(found, str) and found else None


def number(holder: object, key: str, default: float | None = None) -> float | None:
    """Return a field that is a number above 0, ``default`` where the field is absent."""
    found = field(holder, key)
    if found is None and not (isinstance(holder, dict) and key in holder):
        return default
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) and found > 0 else None


def count(holder: object, key: str, default: int | None = None) -> int | None:
    """Return a field that is a whole number from 1 on, ``default`` where the field is absent."""
    found = field(holder, key)
    if found is None and not (isinstance(holder, dict) and key in holder):
        return default
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 1 else None


def from_zero(holder: object, key: str, default: float | None = None) -> float | None:
    """Return a field that is a number from 0 on, ``default`` where the field is absent."""
    return 0.0 if field(holder, key) == 0 else number(holder, key, default)


def amounts(holder: object, key: str) -> Mapping[str, float]:
    """Return the amounts from 0 on of a field of amounts by name, as far as they can be read."""
    found = field(holder, key)
    if not isinstance(found, Mapping) or not found:
        return {}
    numbers = ((n, a) for n, a in found.items() if isinstance(a, (int, float)) and not isinstance(a, bool))
    return {name: amount for name, amount in numbers if isinstance(name, str) and 0.0 <= amount < math.inf}


def clusters(platform: object) -> Clusters | None:
    """Return the groups of nodes of each cluster by its name, ``None`` where some cannot be read."""
    found: Clusters = {}
    for cluster in listed(platform, "clusters"):
        name, of_cluster = text(cluster, "name"), groups(cluster)
        if name is None or of_cluster is None:
            return None
        found.setdefault(name, []).append(of_cluster)
    return found or None


def num_processors(platform: object) -> int | None:
    """Return the number of processors, ``None`` where some counts cannot be read."""
    per_cluster = [groups(cluster) for cluster in listed(platform, "clusters")]
    counted = [nodes * processors for of_cluster in per_cluster for nodes, processors in of_cluster or []]
    return sum(counted) if per_cluster and None not in per_cluster else None


def groups(cluster: object) -> list[Group] | None:
    """Return the groups of a cluster, ``None`` where some cannot be read."""
    found: list[Group] = []
    for group in listed(cluster, "nodes"):
        nodes, cores = count(group, "count"), count(group, "cores", default=1)
        places = count(group, "multiprogramming", default=1)
        if nodes is None or cores is None or places is None:
            return None
        found.append((nodes, cores * places))
    return found or None


def node_groups(platform: object) -> Iterator[tuple[str, object]]:
    """Yield the path and the description of every node group."""
    for c, cluster in enumerate(listed(platform, "clusters")):
        for g, group in enumerate(listed(cluster, "nodes")):
            yield f"clusters[{c}].nodes[{g}]", group


def duplicate_faults(names: Sequence[str | None], path_of: Callable[[int], str], what: str) -> list[Fault]:
    """Return a fault for every name that stands before; ``path_of`` its index. ``None`` repeats nothing."""
    if len(set(names)) == len(names):
        return []
    first: dict[str, int] = {}
    return [
        Fault(path_of(i), f"must not repeat the {what} {quoted(name)} of {path_of(first[name])}")
        for i, name in enumerate(names)
        if name is not None and first.setdefault(name, i) != i
    ]


def holdings(path: str, nodes: Sequence[object]) -> list[tuple[Range, str]]:
    """Return the processors of a list, as far as they can be read, with their paths.

    The paths of a value and of a document are the same: where ranges are held, that of the list.
    """
    if isinstance(nodes, ProcessorNames):
        ranges, places = nodes.ranges, list(range(len(nodes.ranges)))
    else:
        texts = [(i, name) for i, name in enumerate(nodes) if isinstance(name, str) and name]
        ranges, places = ProcessorNames([name for _, name in texts]).ranges, [i for i, _ in texts]
    if any(held.size > 1 for held in ranges):
        return [(held, path) for held in ranges]
    return [(held, f"{path}[{i}]") for held, i in zip(ranges, places, strict=True)]


def shapes(i: int, job: object) -> Iterator[tuple[str, object]]:
    """Yield the path of each shape of a job but its first, and the shape."""
    for s, shape in enumerate(listed(job, "shapes")):
        yield f"jobs[{i}].shapes[{s}]", shape


def tasks_in_shapes(i: int, job: object) -> list[int]:
    """Return the numbers of tasks of a job in its shapes, as far as they can be read."""
    sizes = [count(shape, "tasks") for _, shape in (("", job), *shapes(i, job))]
    return [size for size in sizes if size is not None]
