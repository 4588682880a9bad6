"""One runner per store: a lock that the system takes back when its holder dies, however it dies."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coalloc.documents.text import visible
from coalloc.instance import CoallocError

SUFFIX = ".lock"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of a file (a neighbour with its name and ``.lock``) while the block runs.

    Raises
    ------
    CoallocError
        Another process holds it, and the message says which; or there can be no lock here.
    """
    from filelock import FileLock, Timeout

    neighbour = path.with_name(path.name + SUFFIX)
    lock = FileLock(neighbour, blocking=False, fallback_to_soft=False)
    try:
        neighbour.touch()  # refused in a folder that is not there: the lock would make one
    except OSError as error:
        raise CoallocError(f"{visible(str(neighbour))}: cannot be written: {error.strerror}") from None
    try:
        lock.acquire()
    except Timeout:
        advice = "wait until it ends or use another --store"
        raise CoallocError(f"{visible(str(path))}: is in use by {_holder(neighbour)}; {advice}") from None
    except OSError as error:  # some network file systems have no locks
        raise CoallocError(f"{visible(str(neighbour))}: cannot be locked: {error.strerror}") from None
    try:
        neighbour.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        neighbour.unlink(missing_ok=True)  # while it is held: whoever has it open already tries anew
        lock.release()


def _holder(neighbour: Path) -> str:
    """Return what a holder has written of itself."""
    try:
        return visible(neighbour.read_text(errors="replace")) or "another process"
    except OSError:
        return "another process"  # that has just ended
