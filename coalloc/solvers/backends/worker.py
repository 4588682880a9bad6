"""Child processes that search beside this one: JSON, one object per line, in both directions.

A child ends where its standard input does, so none outlives the process that asks. A schedule travels as the start
and the allocation of every job, by its index; ids do not travel. What a child may do wrong ends no search: a line that
is no message is skipped, a child that fails is not listened to any more, and both are noted.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

from coalloc.documents.storage import reason_of
from coalloc.documents.text import shortened, visible
from coalloc.problem import Assignment, Problem
from coalloc.system.processes import child_command

GRACE = 1.0
"""Seconds after its time limit at which the child is killed."""

LOADING_TIME = 0.5
"""Seconds that a process takes to load: with less time left none is started."""

SHOWN = 200
"""Characters that are shown of what a child wrote."""

Message = Mapping[str, Any]
Note = Callable[[str], None]


def say_nothing(_: str) -> None:
    """Take no note."""


class Worker:
    """A process that runs ``main`` of a module of coalloc; starting it early hides the time it takes to load.

    Use it in a ``with`` block, or :meth:`close` it: it never outlives that. What goes wrong in it is told to ``note``.
    """

    def __init__(self, module: str, note: Note = say_nothing) -> None:
        self._note = note
        self._is_ending = False
        self._lines: Queue[bytes] = Queue()
        self._unsent: Queue[bytes | None] = Queue()
        self._last_words: deque[bytes] = deque(maxlen=1)
        self._child = self._started(module)

    def _started(self, module: str) -> subprocess.Popen[bytes] | None:
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(
                child_command(module), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            self._note(f"its process cannot start: {reason_of(error)}")
            return None
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        Thread(target=_send, args=(self._unsent, child.stdin), daemon=True).start()
        Thread(target=_forward, args=(child.stdout, self._lines.put), daemon=True).start()
        self._stderr_reader = Thread(target=_forward, args=(child.stderr, self._last_words.append), daemon=True)
        self._stderr_reader.start()
        return child

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it does."""
        self._is_ending = True
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        self.end_input()

    @property
    def is_alive(self) -> bool:
        """Whether the process can take a message."""
        return self._child is not None and self._child.poll() is None

    def end_input(self) -> None:
        """Close the standard input of the child once it has read what it was told; that ends it."""
        self._is_ending = True
        self._unsent.put(None)

    def tell(self, message: Message) -> None:
        """Send a message, without waiting until the child reads it; one that died hears nothing."""
        self._unsent.put(json.dumps(message).encode() + b"\n")

    def news(self) -> Iterator[Message]:
        """Yield what the child has said since it was last listened to, without waiting for more."""
        is_gone = not self.is_alive
        with suppress(Empty):
            while True:
                yield from self._message_in(self._lines.get_nowait())
        if is_gone:
            self._note_its_end()

    def messages(self, document: Message, time_limit: float) -> Generator[Message]:
        """Send a problem and yield its news up to the one with a status.

        Left before that, or out of time (s), the process ends.
        """
        deadline = time.perf_counter() + time_limit + GRACE
        has_ended = False
        try:
            self.tell(document)
            while not has_ended and (line := self._next(deadline)) is not None:
                for message in self._message_in(line):
                    has_ended = "status" in message
                    yield message
        finally:
            if not has_ended:
                self.close()

    def _next(self, deadline: float) -> bytes | None:
        """Return the next line; None where the process is gone or its time is up."""
        while time.perf_counter() < deadline:
            is_gone = not self.is_alive
            with suppress(Empty):
                return self._lines.get(timeout=0.05)
            if is_gone:
                self._note_its_end()
                return None
        return None

    def _message_in(self, line: bytes) -> Iterator[Message]:
        """Yield the message that a line is; none where it is something else, which is noted."""
        with suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                yield message
                return
        self._note(f"its process sent an invalid message: {_shown(line)}")

    def _note_its_end(self) -> None:
        """Note, once, how a process ended that nobody has ended here."""
        if self._is_ending or self._child is None:
            return
        self._is_ending = True
        code = self._child.wait()
        if code < 0:
            self._note(f"its process was ended by signal {-code}")
            return
        self._stderr_reader.join(GRACE)
        reason = "".join(f": {_shown(line)}" for line in self._last_words)
        self._note(f"its process ended with exit code {code}{reason}")


def _shown(line: bytes) -> str:
    return shortened(visible(line.decode(errors="replace").strip()), SHOWN)


def _forward(output: IO[bytes], take: Callable[[bytes], object]) -> None:
    with output:
        for line in output:
            take(line)


def _send(unsent: Queue[bytes | None], to: IO[bytes]) -> None:
    """Write what there is to send until there is nothing more; what a child that died did not read is no loss."""
    with suppress(BrokenPipeError), to:
        while (line := unsent.get()) is not None:
            to.write(line)
            to.flush()


def assignments_in(message: Message, problem: Problem) -> list[Assignment]:
    """Return the schedule in a message."""
    return [
        Assignment(j, start, problem.allocations.mode(problem.jobs[j], tuple(counts)))
        for j, (start, counts) in enumerate(zip(message["starts"], message["counts"], strict=True))
    ]


def message_of(assignments: Sequence[Assignment]) -> Message:
    """Return the message that says a schedule of all jobs."""
    in_order = sorted(assignments, key=lambda a: a.job)
    return {
        "starts": [a.start for a in in_order],
        "counts": [list(a.mode.allocation) for a in in_order],
    }
