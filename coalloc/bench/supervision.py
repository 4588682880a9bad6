"""A call in a process of its own, which is killed with all its children at a limit of time or of memory.

The process is forked from one that has loaded the library already, which takes milliseconds. Memory
is the resident set of the process and its descendants together: a limit on the address space would
strike solvers that reserve more than they use.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, NoReturn

import psutil

from coalloc.bench.protocol import CHUNK, Message, encoded
from coalloc.instance import CoallocError

LOOK_EVERY = 0.05
"""Seconds between two looks at a process; children are looked for every tenth time."""
FAREWELL = 5.0
"""Seconds that a process has to end after it has answered."""
MEGABYTE = 1e6
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of ``ru_maxrss``."""


class RunnerGoneError(Exception):
    """Whoever asked for the call does not listen any more."""


@dataclass(slots=True)
class Lifeline:
    """A pipe that nobody writes to: it ends when the process that watches over the calls does, however it ends."""

    reader: int
    writer: int

    @classmethod
    def new(cls) -> Lifeline:
        """Return a new pipe."""
        return cls(*os.pipe())

    def bind(self) -> None:
        """Let this process and its group, which it heads, be killed at the end of the pipe.

        Linux does that by itself, whatever the process is busy with; elsewhere a thread has to come round to it.
        """
        os.close(self.writer)
        if sys.platform == "linux":
            fcntl.fcntl(self.reader, fcntl.F_SETOWN, -os.getpid())
            fcntl.fcntl(self.reader, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(self.reader, fcntl.F_SETFL, fcntl.fcntl(self.reader, fcntl.F_GETFL) | os.O_ASYNC)
        Thread(target=_die_with, args=(self.reader,), daemon=True).start()


def supervised(call: Callable[[], Any], limits: tuple[float, float], lifeline: Lifeline, asker: int) -> Message:
    """Return what ``call`` returned, run in a forked process within (seconds, MB), and what it took.

    The message has a ``status`` of :mod:`coalloc.bench.outcomes`, ``time``, ``cpu`` (s) and ``memory``
    (MB, the peak); ``lost`` is true where something else than us has killed the process.
    ``asker`` is a descriptor that ends with whoever waits for the answer.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(call, writer, lifeline)
    os.close(writer)
    try:
        return _Watch(child, reader, asker, *limits).answer()
    finally:
        os.close(reader)


# --- in the child ---------------------------------------------------------------------------------


def _be_child(call: Callable[[], Any], writer: int, lifeline: Lifeline) -> NoReturn:
    """Call, write the answer, and end without whatever the parent would do at its end."""
    try:
        _settle(lifeline)
        _write_all(writer, encoded(_answer(call)))
    finally:
        os._exit(0)


def _settle(lifeline: Lifeline) -> None:
    """Become the head of a group of processes that dies with the parent, and be silent."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    lifeline.bind()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _die_with(reader: int) -> None:
    os.read(reader, 1)
    os.killpg(0, signal.SIGKILL)


def _answer(call: Callable[[], Any]) -> Message:
    """Return what came of the call and what it took."""
    began, began_cpu = time.perf_counter(), _cpu_seconds()
    try:
        answer = {"status": "done", **call()}
    except BaseException as error:  # whatever it is, it is the outcome of the sample
        name = "" if isinstance(error, CoallocError) else f"{type(error).__name__}: "
        answer = {"status": "error", "message": f"{name}{error}"}
    return {"time": time.perf_counter() - began, **answer, "cpu": _cpu_seconds() - began_cpu}


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


# --- in the parent --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Watch:
    """The watch over one child, within limits of ``seconds`` and ``megabytes``."""

    child: int
    reader: int
    asker: int
    seconds: float
    megabytes: float
    began: float = field(default_factory=time.monotonic)
    peak: float = 0.0
    looks: int = 0
    family: list[psutil.Process] = field(default_factory=list)
    ending: tuple[int, resource.struct_rusage] | None = None
    content: bytearray = field(default_factory=bytearray)

    def answer(self) -> Message:
        """Return the answer of the child, or why there is none."""
        try:
            verdict = self._listen()
            wait_status = self._bury(patient=not verdict)
        except BaseException:
            self._bury(patient=False)
            raise
        elapsed = {"time": time.monotonic() - self.began, "cpu": None}
        found = elapsed | (verdict or self._excess() or self._read(wait_status))
        return found | {"memory": self.peak}

    def _listen(self) -> Message:
        """Read until the child has ended, and return nothing; or return the limit that it broke."""
        while True:
            ready, _, _ = select.select([self.reader, self.asker], [], [], LOOK_EVERY)
            if self.reader in ready:
                chunk = os.read(self.reader, CHUNK)
                if not chunk:
                    return {}
                self.content += chunk
            elif self.asker in ready:
                raise RunnerGoneError
            elif self._has_ended():
                return {}
            if verdict := self._broken_limit():
                return verdict

    def _has_ended(self) -> bool:
        self._wait(os.WNOHANG)
        return self.ending is not None

    def _wait(self, flags: int) -> None:
        """Take note of how the child ended, if it has."""
        if self.ending is None:
            found, wait_status, usage = os.wait4(self.child, flags)
            self.ending = (wait_status, usage) if found else None

    def _broken_limit(self) -> Message:
        """Return the limit that the child has broken, if any; what answers at once is not looked at."""
        elapsed = time.monotonic() - self.began
        if elapsed < LOOK_EVERY:
            return {}
        if elapsed > self.seconds:
            return {"status": "timeout", "message": f"did not end within {self.seconds:g} s"}
        self.peak = max(self.peak, self._resident())
        return self._excess()

    def _excess(self) -> Message:
        """Return that the child took too much memory, if it did; also where it was too quick to be caught at that."""
        if self.peak <= self.megabytes:
            return {}
        return {"status": "memory", "message": f"used more than {self.megabytes:g} MB"}

    def _resident(self) -> float:
        """Return the resident memory of the child and its descendants, MB."""
        if self.looks % 10 == 0:
            self._find_family()
        self.looks += 1
        return sum(map(_resident, self.family))

    def _find_family(self) -> None:
        with suppress(psutil.Error):
            head = psutil.Process(self.child)
            self.family = [head, *head.children(recursive=True)]

    def _bury(self, patient: bool) -> int:
        """See the child dead, and its group; return its wait status."""
        deadline = time.monotonic() + (FAREWELL if patient else 0.0)
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(0.0005)
        if not patient:
            self._find_family()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child, signal.SIGKILL)
        for process in self.family:
            with suppress(psutil.Error):
                process.kill()
        self._wait(0)
        assert self.ending is not None
        wait_status, usage = self.ending
        self.peak = max(self.peak, usage.ru_maxrss * MAXRSS_UNIT / MEGABYTE)
        return wait_status

    def _read(self, wait_status: int) -> Message:
        """Return the answer, or how the child ended without one."""
        try:
            found: Message = json.loads(self.content)
            return found
        except ValueError:
            pass
        if not os.WIFSIGNALED(wait_status):
            code = os.waitstatus_to_exitcode(wait_status)
            return {"status": "crashed", "message": f"the process ended with exit code {code}"}
        number = os.WTERMSIG(wait_status)
        is_lost = number in (signal.SIGKILL, signal.SIGTERM)
        return {"status": "crashed", "message": f"the process was ended by {_name(number)}", "lost": is_lost}


def _resident(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / MEGABYTE
    except psutil.Error:
        return 0.0


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
