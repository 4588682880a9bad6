"""Keywords of the public functions: one error names all that are unknown, and lists those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from coalloc.instance import CoallocError


def refuse_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Raise one error that names every unknown keyword and lists those that there are."""
    unknown, known = list(unknown), list(known)
    if not unknown:
        return
    near = [match for name in unknown for match in difflib.get_close_matches(name, known, 1)]
    hint = f" (did you mean {', '.join(near)}?)" if near else ""
    raise CoallocError(f"unknown keyword {', '.join(unknown)}{hint}; there are {', '.join(known)}")
