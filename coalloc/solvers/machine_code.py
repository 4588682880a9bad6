"""Machine code for inner loops: functions that numba compiles once, and keeps between runs.

What it keeps of a function is not made anew when one in another file that it calls changes: whoever changes one
deletes the ``*.nbi`` beside it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba

from coalloc.solvers.cancelling import unstopped

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What interrupts, where something in Python answers to it."""
MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd number by which what is remembered is multiplied for its place in a memory (Fibonacci hashing, D. Knuth)."""


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function as machine code, kept between runs where there is a place for it."""
    return _compiled(function)


def uncounted(function: Callable[..., Any]) -> Any:
    """Return a function that makes no arrays as machine code that counts no references to those it is given.

    Whoever calls it holds them. Where small functions pass many arrays on, counting takes most of the time: searches
    are two to ten times as fast without. (``_nrt`` is no public option of numba; versions 0.61 to 0.68 have it.)
    """
    return _compiled(function, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Return a part of functions that make no arrays, as machine code that is put wherever it is called.

    Only other machine code calls it: it can do without what Python would need.
    """
    return _compiled(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        made: Any = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no directory that numba may write to
        made = numba.njit(nogil=True, **options)(function)
    made.compile = uninterrupted()(made.compile)  # an interrupt in the middle is lost, and leaves half of the code
    return made


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM where Python heeds it, and a cancellation wait until the block is done."""
    with unstopped():
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are handled elsewhere
            return
        heeded = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
        caught: list[int] = []
        for number in heeded:
            signal.signal(number, lambda sent, _: caught.append(sent))
        try:
            yield
        finally:
            for number, handler in heeded.items():
                signal.signal(number, handler)
            if caught:
                signal.raise_signal(caught[0])
