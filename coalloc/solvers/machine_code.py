"""Machine code for inner loops: functions that numba compiles once, and keeps between runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function as machine code, kept between runs where there is a place for it."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no directory that numba may write to
        return numba.njit(nogil=True)(function)
