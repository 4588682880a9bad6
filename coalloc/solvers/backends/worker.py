"""Child processes that search beside this one: JSON, one object per line, in both directions.

A child ends where its standard input does, so none outlives the process that asks. A schedule travels as the start
and the allocation of every job, by its index; ids do not travel.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

from coalloc.problem import Assignment, Problem

GRACE = 1.0
"""Seconds after its time limit at which the child is killed."""

LOADING_TIME = 0.5
"""Seconds that a process takes to load: with less time left none is started."""

Message = Mapping[str, Any]


class Worker:
    """A Python process that runs with some arguments; starting it early hides the time it takes to load.

    Use it in a ``with`` block, or :meth:`close` it: it never outlives that.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._lines: Queue[str] = Queue()
        self._unsent: Queue[str | None] = Queue()
        Thread(target=_forward, args=(self._child.stdout, self._lines), daemon=True).start()
        Thread(target=_send, args=(self._unsent, self._child.stdin), daemon=True).start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it does."""
        self._child.kill()
        self._child.wait()
        self.end_input()

    @property
    def is_alive(self) -> bool:
        """Whether the process can take a message."""
        return self._child.poll() is None

    def end_input(self) -> None:
        """Close the standard input of the child once it has read what it was told; that ends it."""
        self._unsent.put(None)

    def tell(self, message: Message) -> None:
        """Send a message, without waiting until the child reads it; one that died hears nothing."""
        self._unsent.put(json.dumps(message) + "\n")

    def news(self) -> Iterator[Message]:
        """Yield what the child has said since it was last listened to, without waiting for more."""
        with suppress(Empty):
            while True:
                yield json.loads(self._lines.get_nowait())

    def messages(self, document: Message, time_limit: float) -> Generator[Message]:
        """Send a problem and yield its news up to the one with a status.

        Left before that, or out of time (s), the process ends.
        """
        deadline = time.perf_counter() + time_limit + GRACE
        has_ended = False
        try:
            self.tell(document)
            while not has_ended and (line := self._next(deadline)) is not None:
                message = json.loads(line)
                has_ended = "status" in message
                yield message
        finally:
            if not has_ended:
                self.close()

    def _next(self, deadline: float) -> str | None:
        """Return the next line; None where the process is gone or its time is up."""
        while time.perf_counter() < deadline:
            is_gone = not self.is_alive
            with suppress(Empty):
                return self._lines.get(timeout=0.05)
            if is_gone:
                return None
        return None


def _forward(output: IO[str], lines: Queue[str]) -> None:
    with output:
        for line in output:
            lines.put(line)


def _send(unsent: Queue[str | None], to: IO[str]) -> None:
    """Write what there is to send until there is nothing more; what a child that died did not read is no loss."""
    with suppress(BrokenPipeError), to:
        while (line := unsent.get()) is not None:
            to.write(line)
            to.flush()


def assignments_in(message: Message, problem: Problem) -> list[Assignment]:
    """Return the schedule in a message."""
    return [
        Assignment(j, start, problem.mode(problem.jobs[j], tuple(counts)))
        for j, (start, counts) in enumerate(zip(message["starts"], message["counts"], strict=True))
    ]


def message_of(assignments: Sequence[Assignment]) -> Message:
    """Return the message that says a schedule of all jobs."""
    in_order = sorted(assignments, key=lambda a: a.job)
    return {
        "starts": [a.start for a in in_order],
        "counts": [list(a.mode.allocation) for a in in_order],
    }
