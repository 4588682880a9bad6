"""Ctrl-C during a run: it stops the run, also where something that a policy calls takes it for itself.

A solver that is interrupted returns what it has found. A policy that decides by it would go on with another
decision than without the interrupt, and the run with it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that interrupt, where something in Python answers to them."""


class Interrupts:
    """Whether interrupts ``have_come``, whoever has caught them."""

    def __init__(self) -> None:
        self.have_come = False

    def noting(self, handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], Any]:
        """Return a handler that notes a signal before it does what another one does."""

        def note(number: int, frame: FrameType | None) -> Any:
            self.have_come = True
            return handler(number, frame)

        return note


@contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Note the interrupts that come while the block runs; the main thread alone gets any."""
    interrupts = Interrupts()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    try:
        for number, handler in before.items():
            signal.signal(number, interrupts.noting(handler))
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
