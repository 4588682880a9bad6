"""Messages between runner and worker: lines of JSON over pipes, a request, then its answer.

A request may be followed by the text of an instance, in bytes that its line announces. The worker
holds the last instance, so that a text is sent once for all samples of an instance.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coalloc.documents.strict_json import plain

CHUNK = 1 << 16
_SORTED = json.JSONEncoder(sort_keys=True)
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A call for a process of its own.

    Parameters
    ----------
    function
        ``"package.module:name"``; called with ``argument``, and with the instance where there is one.
    argument
        What JSON can hold.
    time, memory
        Seconds and MB at which the process is killed.
    sha256, text
        Digest of an instance, and what returns its canonical file.
    folder
        Where ``module`` is looked for first; a script names its own.
    """

    function: str
    argument: Mapping[str, Any]
    time: float
    memory: float
    sha256: str | None = None
    text: Callable[[], str] | None = None
    folder: str | None = None

    @property
    def request(self) -> Message:
        """The request to a worker, without its text."""
        return {
            "function": self.function,
            "argument": dict(self.argument),
            "time": self.time,
            "memory": self.memory,
            "sha256": self.sha256,
            "folder": self.folder,
        }


def digest(part: object) -> str:
    """Return what identifies something that JSON can hold, whatever the order of its keys."""
    return hashlib.sha256(_SORTED.encode(part).encode()).hexdigest()[:32]


def encoded(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line; numbers that JSON does not know are null."""
    return json.dumps(plain(message), allow_nan=False).encode() + b"\n"


def read_exactly(descriptor: int, size: int) -> bytes:
    """Return so many bytes; raise EOFError where the other side is gone."""
    content = bytearray()
    while len(content) < size:
        chunk = os.read(descriptor, min(CHUNK, size - len(content)))
        if not chunk:
            raise EOFError
        content += chunk
    return bytes(content)


def read_message(descriptor: int) -> Message:
    """Return the next message: its size in eight bytes, then its line."""
    size = int.from_bytes(read_exactly(descriptor, 8), "big")
    message: Message = json.loads(read_exactly(descriptor, size))
    return message


def write_message(descriptor: int, message: Mapping[str, Any], attached: bytes = b"") -> None:
    """Write a message, and what is attached to it."""
    line = encoded(message)
    left = memoryview(len(line).to_bytes(8, "big") + line + attached)
    while left:
        left = left[os.write(descriptor, left) :]
