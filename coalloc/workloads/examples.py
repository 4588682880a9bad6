"""Instances that come with the package: small, of known origin, and read like any other file.

Where each comes from is on the page ``docs/generators.md``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from coalloc.documents.arguments import public
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import read_instance

SUFFIX = ".json"


def examples() -> tuple[str, ...]:
    """Return the names of the bundled instances.

    Returns
    -------
    tuple of str
        The names, in alphabetical order; docs/generators.md gives their sources.

    See Also
    --------
    coalloc.example : Load a bundled instance.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.examples()[:3]
    ('flux-sched-572', 'gpu-racks', 'mesd-example')
    """
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


@public
def example(name: str) -> Instance:
    """Return a bundled instance.

    Parameters
    ----------
    name : str
        A name of ``coalloc.examples()``.

    Returns
    -------
    Instance
        The instance.

    Raises
    ------
    CoallocError
        The name is unknown; the message lists the names.

    See Also
    --------
    coalloc.examples : List the bundled instances.
    coalloc.generate : Generate an instance from a seed.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.example("thesis-oas-1")
    <Instance 'thesis-oas-1': 8 jobs on 3 clusters with 12 processors>
    """
    with example_file(name) as path:
        return read_instance(path)


def example_file(name: str) -> AbstractContextManager[Path]:
    """Return the file of a bundled instance, which is there as long as the context."""
    if name not in examples():
        raise CoallocError(f"unknown example {shown(name)}; available: {', '.join(examples())}")
    return resources.as_file(_folder() / f"{name}{SUFFIX}")


def _folder() -> Traversable:
    return resources.files("coalloc.workloads") / "bundled"
