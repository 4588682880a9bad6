"""Formats that installed packages read: logs and instances of other programs, for ``coalloc convert --from``.

The formats that coalloc reads have options of their own there: SWF, exports of sacct, workloads of IRMaSim.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from coalloc.documents.arguments import picture_of
from coalloc.instance import Instance, Platform
from coalloc.system.plugins import Registry

Reader = Callable[[str, Platform | None], Instance]
"""Returns the instance of a file, on a platform if the format does not describe one."""


def _adopted(found: Any, _: EntryPoint) -> Reader:
    """Return the reader of an installed package; raise where it is none."""
    if not callable(found):
        raise TypeError(f"must be a function of a path and a platform, got {picture_of(found)}")
    reader: Reader = found
    return reader


READERS: Registry[Reader] = Registry({}, {"coalloc.readers": _adopted})
"""Every such format by name."""
