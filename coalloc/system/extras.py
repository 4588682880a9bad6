"""Optional libraries: what ``pip`` installs them with, and what is said where one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from coalloc.documents.errors import CoallocError

SOURCES: Mapping[str, str] = {
    "distributed": "coalloc[dask]",
    "gymnasium": "coalloc[rl]",
    "matplotlib": "coalloc[plot]",
    "ortools": "coalloc[cpsat]",
    "plotly": "coalloc[plot]",
    "pumpkin_solver": "pumpkin-solver",  # comes with coalloc where it has a wheel
}
"""Packages to install for a library, by its name as a module."""


class MissingLibrary(CoallocError):  # noqa: N818 - what it is, not that it is an error
    """An optional library is not installed; the message says how to install it."""


def is_installed(library: str) -> bool:
    """Return whether an optional library is there; nothing is loaded."""
    return find_spec(library) is not None


def installing(library: str) -> str:
    """Return the command that installs an optional library."""
    return f"pip install '{SOURCES[library]}'"


def require(library: str, purpose: str) -> None:
    """Raise :class:`MissingLibrary` where a library that ``purpose`` needs is not there."""
    if not is_installed(library):
        name = library.replace("_", "-")
        raise MissingLibrary(f"{purpose} needs {name}: {installing(library)}")
