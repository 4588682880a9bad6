"""The instances of a study: one or several, which its table tells apart by their names."""

from __future__ import annotations

from collections.abc import Iterable

from coalloc.documents.arguments import require
from coalloc.documents.text import visible
from coalloc.instance import CoallocError, Instance


def instances_of(instances: Instance | Iterable[Instance]) -> list[Instance]:
    """Return the instances of a study; raises :class:`CoallocError` where two have one name, or one is none."""
    if not isinstance(instances, Iterable) or isinstance(instances, str):
        require("instance", Instance, instances)
    given = [instances] if isinstance(instances, Instance) else list(instances)
    for instance in given:
        require("instance", Instance, instance)
    names = [instance.name for instance in given]
    repeated = sorted({visible(name) for name in names if names.count(name) > 1})
    if repeated:
        raise CoallocError(
            f"instances must have distinct names, got {', '.join(repeated)} more than once; use "
            "instance.replace(name=...)"
        )
    return given
