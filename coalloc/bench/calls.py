"""Calls of functions that are not coalloc's: what a script measures where no specification can say it.

A script names functions of its own and arguments that JSON can hold; :mod:`coalloc.bench.running` runs the calls
as it runs the samples of a specification: each in a process of its own, killed at its limits, kept in a store.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from coalloc.bench.outcomes import Row
from coalloc.bench.protocol import Task
from coalloc.bench.runnable import Runnable

MEMORY = 16_000.0
"""MB at which a call is killed by default: what a machine has, not what a method may take."""


@dataclass(frozen=True)
class Call(Runnable):
    """A call of a function of a script; what it returns is the outcome.

    Parameters
    ----------
    function
        Called with ``argument`` and ``local`` as one dictionary. It stands at the top of a module, which the
        process of the call imports by name from its folder, so that its neighbours can be imported as well. The
        script itself has no part in the digests, coalloc's code has.
    argument
        What JSON can hold.
    time, memory
        Seconds and MB (of all its processes together) at which it is killed.
    given
        What decides the outcome besides, such as the digest of an instance that the function makes.
    local
        What is known of this machine alone, such as where a file lies: no part of the digests.
    """

    function: Callable[[dict[str, Any]], Row]
    argument: Mapping[str, Any]
    time: float
    memory: float = MEMORY
    given: Mapping[str, Any] = field(default_factory=dict)
    local: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """The function called, its arguments and its limits."""
        return {
            "function": _place_of(self.function)[0],
            "argument": dict(self.argument),
            "given": dict(self.given),
            "time_limit": self.time,
            "memory_limit": self.memory,
        }

    @property
    def task(self) -> Task:
        """The call as a worker gets it."""
        name, folder = _place_of(self.function)
        return Task(name, {**self.argument, **self.local}, self.time, self.memory, folder=folder)


@cache
def _place_of(function: Callable[[dict[str, Any]], Row]) -> tuple[str, str]:
    """Return ``module:name`` of a function, and the folder of the module."""
    source = Path(inspect.getfile(function)).resolve()
    return f"{source.stem}:{function.__name__}", str(source.parent)
