"""One runner per store: a lock that the system takes back when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
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
        Another process holds it; the message says which.
    """
    neighbour = path.with_name(path.name + SUFFIX)
    descriptor = _locked(path, neighbour)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        neighbour.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path, neighbour: Path) -> int:
    """Return the descriptor of a locked file that has the name still when the lock is had."""
    while True:
        descriptor = _opened(neighbour)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(neighbour) and os.path.samestat(os.fstat(descriptor), os.stat(neighbour)):
                return descriptor
            os.close(descriptor)  # its holder has ended and removed it meanwhile
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode(errors="replace") or "another process"
            os.close(descriptor)
            name = visible(str(path))
            advice = "wait until it has ended, or take another --store"
            raise CoallocError(f"{name}: is in use by {visible(holder)}; {advice}") from None
        except OSError as error:  # some network file systems have no locks
            os.close(descriptor)
            raise CoallocError(f"{visible(str(neighbour))}: cannot be locked: {error.strerror}") from None


def _opened(neighbour: Path) -> int:
    try:
        return os.open(neighbour, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CoallocError(f"{visible(str(neighbour))}: cannot be written: {error.strerror}") from None
