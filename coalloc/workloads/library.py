"""Instances that come with the package: small, of known origin, and read like any other file.

Where each comes from is on the page ``docs/generators.md``.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from coalloc.documents.arguments import public
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import read_instance

SUFFIX = ".json"


def examples() -> tuple[str, ...]:
    """Return the names of the bundled instances, sorted."""
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


@public
def example(name: str) -> Instance:
    """Return a bundled instance by name; where each comes from is on the page ``docs/generators.md``.

    Raises
    ------
    CoallocError
        There is none of this name; the message lists those that there are (:func:`examples`).
    """
    if name not in examples():
        raise CoallocError(f"there is no example {shown(name)}; there are {', '.join(examples())}")
    with resources.as_file(_folder() / f"{name}{SUFFIX}") as path:
        return read_instance(path)


def _folder() -> Traversable:
    return resources.files("coalloc.workloads") / "bundled"
