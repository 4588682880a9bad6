"""A solve that another thread stops: KeyboardInterrupt is raised in it, as Ctrl-C does in the main thread alone.

So all that heeds Ctrl-C heeds this, wherever the solve is, and it returns what is known. Such an exception is lost
where it happens to reach a callback of the garbage collector, a destructor, or a bare ``except:`` (Pyomo has dozens):
it is raised again until a handler of the solvers has said that it was :func:`noticed`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from coalloc.engine import LONGEST_CALL
from coalloc.instance import CoallocError

T = TypeVar("T")
AGAIN = 5.0
"""Seconds after which an exception that was not noticed is raised again: ending child processes takes less."""

_ends: dict[int, Callable[[], None]] = {}
"""For each thread that may be stopped, what is called once it need not be stopped any more."""


def noticed() -> None:
    """Say that this thread has caught its KeyboardInterrupt and will end; without a word it is raised again."""
    end = _ends.get(threading.get_ident())
    if end is not None:
        end()


def cancellable(event: threading.Event | None, work: Callable[[], T]) -> T:
    """Return what a function of this thread returns, in which KeyboardInterrupt is raised once an event is set.

    Raises :class:`CoallocError` where that leaves nothing to return.
    """
    if event is None:
        return work()
    thread, lock, is_over = threading.get_ident(), threading.Lock(), threading.Event()
    found: list[T] = []

    def watch() -> None:
        while not is_over.is_set() and not event.wait(LONGEST_CALL):
            pass
        while not is_over.is_set():
            with lock:
                if not is_over.is_set():
                    _raise_in(thread, KeyboardInterrupt)
            is_over.wait(AGAIN)

    def end() -> None:
        with lock:
            is_over.set()
        _raise_in(thread, None)  # what is on its way would come too late

    _ends[thread] = end
    try:
        threading.Thread(target=watch, daemon=True).start()
        found.append(work())
        end()
    except KeyboardInterrupt:
        end()
        if not found and not event.is_set():
            raise
    finally:
        is_over.set()
        del _ends[thread]
    if not found:
        raise CoallocError("the solve was cancelled before it had a result")
    return found[0]


def _raise_in(thread: int, raised: type[BaseException] | None) -> None:
    """Raise an exception in a thread as soon as it runs Python code; None takes back one that it has not come to."""
    what = ctypes.py_object(raised) if raised is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
