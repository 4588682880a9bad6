"""Versions in use: of coalloc, of Python, and of the libraries that decide a result."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

LIBRARIES = (
    *("highspy", "pyomo", "numpy", "scipy", "networkx", "pydantic", "pandas", "typer"),
    *("pumpkin-solver", "matplotlib", "plotly", "ortools", "dask", "gymnasium"),  # optional
)


def versions() -> dict[str, str]:
    """Return the version of each package by name; ``"not installed"`` where it is not."""
    return {
        "coalloc": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in LIBRARIES},
    }


@cache  # no package changes while a process runs, and to read its metadata takes a millisecond
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


__version__ = _version("coalloc")


def show_versions() -> None:
    """Print the versions of coalloc, Python and the libraries, for a bug report.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.show_versions()  # doctest: +ELLIPSIS
    coalloc        ...
    python         ...
    """
    for name, version in versions().items():
        print(f"{name:<14} {version}")
