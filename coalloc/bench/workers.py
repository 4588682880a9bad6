"""Workers on this machine: each a :mod:`coalloc.bench.server` that is started again when it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from coalloc.bench.protocol import Message, Task, read_message, write_message
from coalloc.bench.provenance import code_versions
from coalloc.bench.server import ONE_THREAD
from coalloc.instance import CoallocError
from coalloc.system.processes import child_command

ATTEMPTS = 2
"""Number of starts of a sample whose process something else has killed."""
FAREWELL = 2.0
"""Seconds that a server has to end what it runs, also what has left the group of its sample."""

SERVER = "coalloc.bench.server"

K = TypeVar("K")


class Workers(Protocol):
    """Whatever runs tasks, here or elsewhere."""

    def run(self, tasks: Iterable[tuple[K, Task]]) -> Generator[tuple[K, Message], None, None]:
        """Yield the answer to each task as it ends, in any order."""

    def close(self) -> None:
        """End whatever runs still."""


class BenchWorker:
    """One server and the pipes to it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipes: tuple[int, ...] = ()
        self._held: str | None = None
        self._machine: Mapping[str, Any] = {}
        self._is_stopped = False

    def run(self, task: Task) -> Message:
        """Return the answer to a task; one whose process is killed by something else is started once more."""
        answer: Message = {}
        for _ in range(ATTEMPTS):
            answer = self._attempt(task)
            if not answer.pop("lost", False) or self._is_stopped:
                break
        return answer | {"machine": dict(self._machine)}

    def stop(self) -> None:
        """End the server; its sample dies with it, and whatever that has started."""
        self._is_stopped = True
        self._kill()

    def _attempt(self, task: Task) -> Message:
        try:
            if self._process is None:
                self._start()
            return self._ask(task)
        except (EOFError, BrokenPipeError):
            self._kill()
            return {"status": "crashed", "message": "the worker was lost", "lost": True, "time": None}

    def _ask(self, task: Task) -> Message:
        text = task.text().encode() if task.text and task.sha256 != self._held else b""
        answers, requests = self._pipes
        write_message(requests, task.request | {"size": len(text)}, text)
        self._held = task.sha256 if task.text else self._held
        return read_message(answers)

    def _start(self) -> None:
        """Start a server in a session of its own, where Ctrl-C does not reach it."""
        environment = dict.fromkeys(ONE_THREAD, "1") | os.environ
        self._process = subprocess.Popen(
            child_command(SERVER),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        pipes = self._process.stdout, self._process.stdin
        self._pipes = tuple(pipe.fileno() for pipe in pipes if pipe is not None)
        self._held = None
        greeting = self._greeting()
        refuse_other_versions(greeting)
        self._machine = greeting["machine"]

    def _greeting(self) -> Message:
        """Return what the server says first; one that fails by itself would fail always."""
        try:
            return read_message(self._pipes[0])
        except EOFError:
            if self._process is not None and self._process.wait() > 0:
                raise CoallocError("a worker cannot start; see its standard error for the reason") from None
            raise

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(FAREWELL)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def refuse_other_versions(greeting: Message) -> None:
    """Raise where a worker runs other code than we do: its samples would have wrong keys."""
    own, other = code_versions(), greeting["versions"]
    differing = [f"{name} {other.get(name)} (here {own[name]})" for name in own if other.get(name) != own[name]]
    if differing:
        host = greeting["machine"]["host"]
        raise CoallocError(
            f"the worker on {host} has other versions: {', '.join(differing)}; install the same versions there"
        )


class LocalWorkers:
    """So many workers on this machine, each with one sample at a time."""

    def __init__(self, number: int) -> None:
        self._workers = [BenchWorker() for _ in range(number)]
        self._idle: SimpleQueue[BenchWorker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def run(self, tasks: Iterable[tuple[K, Task]]) -> Generator[tuple[K, Message], None, None]:
        """Yield the answer to each task as it ends."""
        pool = ThreadPoolExecutor(len(self._workers))
        try:
            futures = {pool.submit(self._run, task): key for key, task in tasks}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            self.close()
            pool.shutdown()

    def close(self) -> None:
        """Kill all workers, and what they run."""
        for worker in self._workers:
            worker.stop()

    def _run(self, task: Task) -> Message:
        worker = self._idle.get()
        try:
            return worker.run(task)
        finally:
            self._idle.put(worker)
