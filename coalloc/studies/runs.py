"""Runs of studies: functions of an instance, each in a process of its own, kept in a store so that a study resumes."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from coalloc.bench.cluster import ClusterWorkers
from coalloc.bench.outcomes import KILLED, Outcome, is_failed
from coalloc.bench.protocol import Task, digest
from coalloc.bench.runnable import Runnable
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers, Workers
from coalloc.documents.arguments import picture_of
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import FilePath
from coalloc.documents.strict_json import layout
from coalloc.documents.text import visible
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import INSTANCE

MEMORY = 8_000.0
"""MB at which a call is killed."""

HELD_TEXTS = 4
"""Texts of instances that are held at a time."""


@dataclass(frozen=True, eq=False)
class RunPart:
    """An instance as a store and workers know it, and what a worker needs to know of it beside."""

    instance: Instance
    state: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The canonical file of the instance."""
        return _text_of(self)

    @cached_property
    def sha256(self) -> str:
        """Digest of that file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@functools.lru_cache(HELD_TEXTS)
def _text_of(part: RunPart) -> str:
    return layout(document_of(part.instance, INSTANCE))


@dataclass(frozen=True, eq=False)
class StudyCall(Runnable):
    """A function of options and an instance; ``label`` is what readers call it."""

    labels = ("label",)

    part: RunPart
    label: str
    function: Callable[..., Outcome]
    options: Mapping[str, Any]
    killed_after: float

    @property
    def identity(self) -> dict[str, Any]:
        """The run as a row of a table names it."""
        limits = {"killed_after": self.killed_after, "memory_limit": MEMORY}
        function, state = self.function.__name__, digest(self.part.state)
        return {
            "label": self.label,
            "function": function,
            "sha256": self.part.sha256,
            "state": state,
            **self.options,
            **limits,
        }

    @property
    def task(self) -> Task:
        """The call as a worker gets it."""
        name = f"{self.function.__module__}:{self.function.__name__}"
        argument = {**self.options, **self.part.state}
        return Task(name, argument, self.killed_after, MEMORY, sha256=self.part.sha256, text=lambda: self.part.text)


C = TypeVar("C", bound=StudyCall)


def kept(calls: Sequence[C], path: Path) -> list[C]:
    """Return the calls whose outcome the store at ``path`` has."""
    if not path.exists():
        return []
    return [call for call, outcome in zip(calls, outcomes_of(calls, path), strict=True) if outcome]


def ended(
    calls: Sequence[C],
    path: Path,
    workers: Callable[[], Workers],
    say: Callable[[str], None],
    may_be_killed: Collection[Callable[..., Outcome]] = (),
) -> dict[C, Outcome]:
    """Return the outcome of each call that has ended, after running what the store at ``path`` lacks.

    Raises
    ------
    CoallocError
        Calls have failed: a line for each. Those of the functions ``may_be_killed`` may reach their limits.
    """

    def tell(call: C, _: Outcome, state: BenchProgress) -> None:
        say(f"{call.label} ({state.in_store} of {state.planned})")

    run_calls(calls, path, workers, tell)
    outcomes = {call: found for call, found in zip(calls, outcomes_of(calls, path), strict=True) if found}
    faults = [
        f"{visible(call.label)}: {outcome['status']}: {outcome.get('message', '')}"
        for call, outcome in outcomes.items()
        if is_failed(outcome) and not (call.function in may_be_killed and outcome["status"] in KILLED)
    ]
    if faults:
        raise CoallocError("\n".join(faults))
    return outcomes


def workers_of(processes: int | None, scheduler: str | None) -> Callable[[], Workers]:
    """Return what starts the workers: on this machine, or those of the Dask cluster of a scheduler."""
    if processes is not None and processes < 1:
        raise CoallocError(f"processes: must be at least 1, got {picture_of(processes)}")
    number = processes or os.cpu_count() or 1
    return lambda: LocalWorkers(number) if scheduler is None else ClusterWorkers(scheduler)


@contextmanager
def store_at(store: FilePath | None) -> Iterator[Path]:
    """Name the file in which outcomes are kept: one that vanishes where none is asked for."""
    if store is not None:
        yield Path(store)
        return
    with tempfile.TemporaryDirectory(prefix="coalloc-") as folder:
        yield Path(folder, "study.sqlite")
