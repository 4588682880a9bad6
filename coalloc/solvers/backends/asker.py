"""Whoever asks a :class:`coalloc.solvers.backends.worker.Worker`, as its child process sees them.

It imports nothing but the standard library: HiGHS and OR-Tools cannot be loaded into one process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from queue import Queue
from threading import Lock, Thread
from typing import Any


class Asker:
    """Reads problems from one descriptor and writes news to another: JSON, one object per line.

    The process ends with its input, whatever it does.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self._problems: Queue[bytes] = Queue()
        self._answers = os.fdopen(answers, "wb")
        self._writing = Lock()
        Thread(target=self._read_all, args=(requests,), daemon=True).start()

    def read(self) -> Any:
        """Return the next problem; wait for it."""
        return json.loads(self._problems.get())

    def write(self, message: Mapping[str, Any]) -> None:
        """Write a message, from any thread."""
        with self._writing:
            self._answers.write(json.dumps(message).encode() + b"\n")
            self._answers.flush()

    def _read_all(self, requests: int) -> None:
        with os.fdopen(requests, "rb") as lines:
            for line in lines:
                self._problems.put(line)
        os._exit(0)
