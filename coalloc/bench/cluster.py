"""Workers on a Dask cluster: each of its threads has a server of its own, as a runner on one machine has.

Dask is an optional dependency (``pip install 'coalloc[dask]'``). Its workers send answers back; the
runner alone writes them down. A sample whose worker dies is given to another one by the scheduler.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from coalloc.bench.protocol import Message, Task
from coalloc.bench.workers import Worker
from coalloc.instance import CoallocError

K = TypeVar("K")

CONNECT_SECONDS = 30
AHEAD = 2
"""Samples per thread of the cluster that are handed over at a time."""

_SERVERS: dict[int, Worker] = {}
"""In a process of Dask: the server of each of its threads."""


class ClusterWorkers:
    """All workers of the cluster of a scheduler, ``tcp://host:8786``, also those that join later."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise CoallocError("--scheduler needs Dask: pip install 'coalloc[dask]'") from None
        self._distributed: Any = distributed
        try:
            self._client: Any = self._distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise CoallocError(f"--scheduler: there is no Dask scheduler at {address}: {error}") from None

    def run(self, tasks: Iterable[tuple[K, Task]]) -> Generator[tuple[K, Message], None, None]:
        """Yield the answer to each task as it ends."""
        waiting = iter(tasks)
        keys: dict[Any, K] = {}
        ended = self._distributed.as_completed()
        self._hand_over(waiting, keys, ended)
        for future in ended:
            yield keys.pop(future), self._answer(future)
            self._hand_over(waiting, keys, ended)

    def close(self) -> None:
        """Take back what is not done, kill what runs, and leave the cluster."""
        try:
            self._client.run(stop_servers, on_error="ignore")
        finally:
            self._client.close()

    def _hand_over(self, waiting: Iterator[tuple[K, Task]], keys: dict[Any, K], ended: Any) -> None:
        """Submit tasks until all threads of the cluster have something to do, and something ahead."""
        wanted = AHEAD * max(1, sum(self._client.nthreads().values())) - len(keys)
        for key, task in islice(waiting, max(0, wanted)):
            text = task.text() if task.text else None
            future = self._client.submit(run_here, task.request, text, pure=False)
            keys[future] = key
            ended.add(future)

    def _answer(self, future: Any) -> Message:
        """Return the answer of a task, or that it has killed every worker that tried it."""
        if future.status in ("cancelled", "lost"):
            raise CoallocError("--scheduler: the scheduler is gone; run the same command again to go on")
        try:
            answer: Message = future.result()
        except self._distributed.KilledWorker as error:
            return {"status": "crashed", "message": f"lost its worker again and again: {error}", "time": None}
        return answer


def run_here(request: Message, text: str | None) -> Message:
    """Return the answer to a request; called in a process of Dask."""
    worker = _SERVERS.setdefault(threading.get_ident(), Worker())
    task = Task(**request, text=None if text is None else lambda: text)
    return worker.run(task)


def stop_servers() -> None:
    """Kill the servers of a process of Dask and what they run; those asked next start anew."""
    while _SERVERS:
        _SERVERS.popitem()[1].stop()
