"""Workers on a Dask cluster: each of its threads has a server of its own, as a runner on one machine has.

Dask is an optional dependency (``pip install 'coalloc[dask]'``). Its workers send answers back; the
runner alone writes them down. A sample whose worker dies is given to another one by the scheduler.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from coalloc.bench.protocol import Message, Task
from coalloc.bench.workers import BenchWorker
from coalloc.instance import CoallocError
from coalloc.system.extras import require

K = TypeVar("K")

CONNECT_SECONDS = 30
GONE = "--scheduler: the scheduler has stopped; start it and run the same command again to resume"
AHEAD = 2
"""Samples per thread of the cluster that are handed over at a time."""

_SERVERS: dict[str, dict[int, BenchWorker]] = {}
"""In a process of Dask: by the name of a run, the server of each of its threads."""

_ENDED: set[str] = set()
"""In a process of Dask: the runs that are over, whose samples may still come in."""


class ClusterWorkers:
    """All workers of the cluster of a scheduler, ``tcp://host:8786``, also those that join later."""

    def __init__(self, address: str) -> None:
        require("distributed", "--scheduler")
        import distributed

        self._distributed: Any = distributed
        self._name = secrets.token_hex(8)
        self._open: dict[Any, Any] = {}
        try:
            self._client: Any = self._distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise CoallocError(f"--scheduler: there is no Dask scheduler at {address}: {error}") from None

    def run(self, tasks: Iterable[tuple[K, Task]]) -> Generator[tuple[K, Message], None, None]:
        """Yield the answer to each task as it ends."""
        waiting = iter(tasks)
        ended = self._distributed.as_completed()
        try:
            self._hand_over(waiting, ended)
            for future in ended:
                yield self._open.pop(future), self._answer(future)
                self._hand_over(waiting, ended)
        except OSError:  # what distributed raises where a connection is closed
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # it would log tracebacks at its end
            raise CoallocError(GONE) from None

    def close(self) -> None:
        """Take back what is not done, kill what runs, and leave the cluster."""
        with suppress(OSError):
            self._client.cancel(list(self._open))
            self._client.run(end_run, self._name, on_error="ignore")
        with suppress(OSError):
            self._client.close()

    def _hand_over(self, waiting: Iterator[tuple[K, Task]], ended: Any) -> None:
        """Submit tasks until all threads of the cluster have something to do, and something ahead."""
        wanted = AHEAD * max(1, sum(self._client.nthreads().values())) - len(self._open)
        for key, task in islice(waiting, max(0, wanted)):
            text = task.text() if task.text else None
            future = self._client.submit(run_here, self._name, task.request, text, pure=False)
            self._open[future] = key
            ended.add(future)

    def _answer(self, future: Any) -> Message:
        """Return the answer of a task, or that it has killed every worker that tried it.

        An answer that was lost with its worker is waited for: the scheduler gives the task to another one.
        """
        try:
            answer: Message = future.result()
        except CancelledError:
            raise CoallocError(GONE) from None
        except self._distributed.KilledWorker as error:
            return {"status": "crashed", "message": f"lost its worker repeatedly: {error}", "time": None}
        return answer


def run_here(name: str, request: Message, text: str | None) -> Message:
    """Return the answer to a request of a run; called in a process of Dask."""
    if name in _ENDED:
        return {}
    worker = _SERVERS.setdefault(name, {}).setdefault(threading.get_ident(), BenchWorker())
    task = Task(**request, text=None if text is None else lambda: text)
    return worker.run(task)


def end_run(name: str) -> None:
    """Kill the servers that a process of Dask has for a run, and what they run."""
    _ENDED.add(name)
    for worker in _SERVERS.pop(name, {}).values():
        worker.stop()
