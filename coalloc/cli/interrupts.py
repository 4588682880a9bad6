"""SIGINT (Ctrl-C) and SIGTERM: the first stops a command, which keeps what is known; the next ones do not undo that.

Batch systems, and people, send a second one within milliseconds. Whatever is being written then is finished.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
WRITING = r"coalloc: the results are being written; Ctrl-\ (SIGQUIT) ends at once and discards them"


class _Interrupts:
    """Whether a signal has come, and whether one would be too late to stop anything."""

    def __init__(self) -> None:
        self.have_come = self.are_late = False

    def heed(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a handler
        """Raise KeyboardInterrupt at the first signal, and say what the next ones change."""
        if self.have_come or self.are_late:
            os.write(2, f"{WRITING}\n".encode())  # standard error itself: a print may be under way
            return
        self.have_come = True
        raise KeyboardInterrupt


_interrupts = _Interrupts()


def heed_signals() -> None:
    """Let both signals interrupt the command once, unless who started it has them ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupts.heed)


def ignore_signals() -> None:
    """Let none of them change the exit code of a command that is over: Python itself heeds none while it ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def finishing() -> Iterator[None]:
    """Finish a block, such as the writing of results, where :func:`heed_signals` has been called."""
    before, _interrupts.are_late = _interrupts.are_late, True
    try:
        yield
    finally:
        _interrupts.are_late = before
