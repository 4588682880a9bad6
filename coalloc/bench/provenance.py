"""Provenance of a sample: the code and the machine that made it.

The code is identified by the versions of the libraries that decide a result, by the last commit that
touched the package, and by a digest of its source files, for a commit knows nothing of edits that are
not committed and an installed package knows no commit. What a public function does hangs on the source files that it
can reach alone: an edit of any other leaves its samples as they are.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import coalloc
from coalloc.system.versions import versions

PACKAGE = Path(coalloc.__file__).resolve().parent
DECISIVE = ("coalloc", "python", "highspy", "ortools", "pumpkin-solver", "pyomo", "numpy", "scipy")
"""Versions that decide a result, by their names in :func:`coalloc.system.versions.versions`."""
NOT_DECISIVE = ("bench", "cli", "intervals.py", "plot", "studies", "workloads")
"""Rooms that do not change what comes out for a given instance."""


@functools.cache
def code_versions() -> dict[str, str]:
    """Return what identifies the code that makes a sample."""
    known = versions()
    return {name: known[name] for name in DECISIVE} | {"commit": _commit(), "code": _code_digest()}


def decisive_versions() -> dict[str, str]:
    """Return what decides a result: all but the commit, of which the digest of the source files says as much."""
    return {name: version for name, version in code_versions().items() if name != "commit"}


@functools.cache
def versions_for(modules: tuple[str, ...]) -> dict[str, str]:
    """Return what decides what these modules do: the libraries, and a digest of all source files that they reach."""
    known = versions()
    digest = _digest_of(path for module in reached(modules) for path in (*_files_of(module), *_compiled_for(module)))
    return {name: known[name] for name in DECISIVE} | {"code": digest}


@functools.cache
def reached(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Return the modules of coalloc that these import or name, directly or not, wherever in a file; of packages all."""
    found, left = set[str](), list(modules)
    while left:
        name = left.pop()
        if name in found or not _files_of(name):
            continue
        found.add(name)
        left += [name.rpartition(".")[0], *_named_by(name)]
    return tuple(sorted(found))


def _named_by(module: str) -> set[str]:
    """Return what a module may import: the names in its import statements, and texts that may be names of modules."""
    names = set[str]()
    for path in _files_of(module):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return {name for name in names if all(map(str.isidentifier, name.split(".")))}


def _files_of(module: str) -> list[Path]:
    """Return the source files of a module: none where there is no such module of coalloc."""
    head, *parts = module.split(".")
    place = PACKAGE.joinpath(*parts)
    files = [place / "__init__.py", place.with_suffix(".py")] if parts else [place / "__init__.py"]
    return [path for path in files if head == "coalloc" and path.is_file()]


def _compiled_for(module: str) -> list[Path]:
    """Return the source files in C of a package."""
    _, *parts = module.split(".")
    return sorted(PACKAGE.joinpath(*parts, "src").glob("*.[ch]"))


def code_sentence(libraries: Iterable[str] = ("highspy", "python")) -> str:
    """Return what made a table, and when and where: coalloc's version, commit and digest, libraries, day, machine."""
    known, where = code_versions(), machine()
    others = [f"{name} {known[name]}" for name in libraries]
    made = [f"coalloc {known['coalloc']} (commit {known['commit']}, code {known['code']})", *others]
    return ", ".join([*made, str(date.today()), where["system"], f"{where['processors']} processors"])


def machine() -> dict[str, str]:
    """Return where a sample runs; not a part of its key."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }


def _commit() -> str:
    """Return the last commit that touched the package, ``"none"`` where it is in no repository."""
    command = ["git", "-C", str(PACKAGE), "log", "-1", "--format=%h", "--", "."]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "none"
    return done.stdout.strip() or "none"


def _code_digest() -> str:
    """Return a digest of the source files that decide a result."""
    files = sorted(path for pattern in ("*.py", "*.[ch]") for path in PACKAGE.rglob(pattern))
    return _digest_of(path for path in files if path.relative_to(PACKAGE).parts[0] not in NOT_DECISIVE)


def _digest_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
