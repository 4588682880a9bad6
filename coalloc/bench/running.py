"""A run of a benchmark: what its plan asks for and its store lacks, each sample on the disk as it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coalloc.bench.lock import held
from coalloc.bench.outcomes import Outcome, is_failed, is_solved
from coalloc.bench.plan import Plan, Sample
from coalloc.bench.protocol import Message, Task
from coalloc.bench.provenance import code_versions
from coalloc.bench.store import Store
from coalloc.bench.workers import Workers


@dataclass(slots=True)
class Progress:
    """Where a run is: samples planned, kept from before, run now; and the state of all that are in the store."""

    planned: int
    kept: int = 0
    ran: int = 0
    solved: int = 0
    failed: int = 0
    is_interrupted: bool = False

    def count(self, outcome: Outcome) -> None:
        """Count the outcome of a sample."""
        self.solved += is_solved(outcome)
        self.failed += is_failed(outcome)

    @property
    def in_store(self) -> int:
        """Number of planned samples that are in the store."""
        return self.kept + self.ran

    def __str__(self) -> str:
        return (
            f"{self.in_store} of {self.planned} samples ({self.kept} from before, {self.ran} run now): "
            f"{self.solved} solved, {self.failed} failed"
        )


Report = Callable[[Sample, Outcome, Progress], None]


@dataclass(frozen=True, slots=True)
class Choices:
    """What counts as done: samples of other versions of the code, and failures unless they are to be tried again."""

    reuse_versions: bool = False
    retry_failed: bool = False


def run_plan(
    plan: Plan,
    path: Path,
    workers: Callable[[], Workers],
    choices: Choices = Choices(),
    report: Report = lambda *_: None,
) -> Progress:
    """Run what the store at ``path`` lacks of a plan; return where it is.

    At Ctrl-C, or SIGTERM, what has ended until then is in the store. ``workers`` is only called where
    something is missing.

    Raises
    ------
    CoallocError
        The store is in use, cannot be written, or is none.
    """
    with held(path), Store(path) as store, _terminable():
        progress, missing = _missing(plan, keys := _keys(plan, store, choices), store, choices)
        keys |= {sample.content: key for key, sample in missing}
        entries = [(keys[sample.content], sample.content, sample.identity) for sample in plan.samples]
        store.plan(plan.spec.name, str(plan.spec.source), plan.spec.text, entries)
        try:
            if missing:
                _run_missing(missing, store, workers(), progress, report)
        except KeyboardInterrupt:
            progress.is_interrupted = True
        return progress


def _keys(plan: Plan, store: Store, choices: Choices) -> dict[str, str]:
    """Return the key of each sample by its content: its own, or that of what other versions left."""
    if not choices.reuse_versions:
        return {sample.content: sample.key for sample in plan.samples}
    own = store.outcomes(sample.key for sample in plan.samples)
    return {s.content: s.key if s.key in own else store.latest_key(s.content) or s.key for s in plan.samples}


def _missing(
    plan: Plan, keys: dict[str, str], store: Store, choices: Choices
) -> tuple[Progress, list[tuple[str, Sample]]]:
    """Return where a run stands before it begins, and the samples that it has to run with their keys."""
    known = store.outcomes(keys.values())
    progress, missing = Progress(len(plan.samples)), []
    for sample in plan.samples:
        outcome = known.get(keys[sample.content])
        if outcome is None or (choices.retry_failed and is_failed(outcome)):
            missing.append((sample.key, sample))
        else:
            progress.kept += 1
            progress.count(outcome)
    return progress, missing


def _run_missing(
    missing: Sequence[tuple[str, Sample]], store: Store, workers: Workers, progress: Progress, report: Report
) -> None:
    samples = dict(missing)
    tasks = ((key, task_of(sample)) for key, sample in missing)
    with closing(workers), closing(workers.run(tasks)) as answers:
        for key, answer in answers:
            sample, outcome, machine = samples[key], *_parts(answer)
            made_by = {"versions": code_versions(), "machine": machine}
            store.add(key, sample.content, sample.identity, outcome, made_by)
            progress.ran += 1
            progress.count(outcome)
            report(sample, outcome, progress)


def task_of(sample: Sample) -> Task:
    """Return a sample as a worker gets it."""
    return Task(
        function="coalloc.bench.methods:run_method",
        argument={"method": sample.method, "options": dict(sample.options), "seed": sample.seed},
        time=sample.limits.time,
        memory=sample.limits.memory,
        sha256=sample.given.sha256,
        text=lambda: sample.given.text,
    )


def _parts(answer: Message) -> tuple[Outcome, dict[str, Any]]:
    """Return the outcome in an answer, and the machine that gave it."""
    outcome = dict(answer)
    machine: dict[str, Any] = outcome.pop("machine", {})
    return outcome, machine


@contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM, which batch systems send, an interrupt while the block runs; the main thread alone can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
