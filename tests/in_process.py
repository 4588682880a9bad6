"""Workers that are this process: to start others takes longer than all that most tests ask of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Generator, Iterable
from typing import Any

from coalloc.bench.protocol import Message, Task
from coalloc.bench.provenance import machine
from coalloc.documents.kinds import value_of
from coalloc.documents.strict_json import parse
from coalloc.instance.files import INSTANCE


class InProcess:
    """Runs each task when its answer is asked for, however many workers are wanted."""

    def __init__(self, number: int = 1) -> None:
        """Start nothing."""

    def run(self, tasks: Iterable[tuple[Any, Task]]) -> Generator[tuple[Any, Message], None, None]:
        """Yield the answers in order."""
        for key, task in tasks:
            module, _, name = task.function.partition(":")
            texts = [] if task.text is None else [task.text().encode()]
            given = [value_of(document, INSTANCE, faults) for document, faults in map(parse, texts)]
            answer = getattr(importlib.import_module(module), name)(task.argument, *given)
            measured = {"status": "done", "time": 0.0, "cpu": 0.0, "memory": 0.0}
            yield key, {**measured, **json.loads(json.dumps(answer)), "machine": machine()}

    def close(self) -> None:
        """There is nothing to end."""
