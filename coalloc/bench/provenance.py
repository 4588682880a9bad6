"""Which code made a sample, and on which machine.

The code is identified by the versions of the libraries that decide a result, by the last commit that
touched the package, and by a digest of its source files, for a commit knows nothing of edits that are
not committed and an installed package knows no commit.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

import coalloc
from coalloc.versions import versions

PACKAGE = Path(coalloc.__file__).resolve().parent
DECISIVE = ("coalloc", "python", "highspy", "ortools", "pumpkin-solver", "pyomo", "numpy", "scipy")
"""What decides a result, by its name in :func:`coalloc.versions.versions`."""
NOT_DECISIVE = ("bench", "cli", "intervals.py", "plot", "studies", "workloads")
"""Rooms that do not change what comes out for a given instance."""


@functools.cache
def code_versions() -> dict[str, str]:
    """Return what identifies the code that makes a sample; a part of its key."""
    known = versions()
    return {name: known[name] for name in DECISIVE} | {"commit": _commit(), "code": _code_digest()}


def decisive_versions() -> dict[str, str]:
    """Return what decides a result: all but the commit, of which the digest of the source files says as much."""
    return {name: version for name, version in code_versions().items() if name != "commit"}


def code_sentence(libraries: Iterable[str] = ("highspy", "python")) -> str:
    """Return what made a table in words: coalloc's version, commit and digest, then these libraries."""
    known = code_versions()
    others = [f"{name} {known[name]}" for name in libraries]
    return ", ".join([f"coalloc {known['coalloc']} (commit {known['commit']}, code {known['code']})", *others])


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
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in NOT_DECISIVE:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
