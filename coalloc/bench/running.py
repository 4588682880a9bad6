"""A run of a benchmark: what is asked for and its store lacks, each sample on the disk as it ends.

Samples come from the plan of a specification (:func:`run_plan`), or are calls of a script's own functions
(:func:`run_calls`, :func:`outcomes_of`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from coalloc.bench.lock import held
from coalloc.bench.outcomes import CRASHED, FAILED, SOLVED, Outcome
from coalloc.bench.plan import Plan, Sample
from coalloc.bench.protocol import Message
from coalloc.bench.provenance import code_versions
from coalloc.bench.runnable import Runnable
from coalloc.bench.store import Store
from coalloc.bench.workers import Workers

S = TypeVar("S", bound=Runnable)


@dataclass(slots=True)
class BenchProgress:
    """Progress of a run: samples planned, kept from before, run now; and the state of all samples in the store."""

    planned: int
    kept: int = 0
    ran: int = 0
    solved: int = 0
    failed: int = 0
    is_interrupted: bool = False

    def count(self, status: str) -> None:
        """Count a sample by its status."""
        self.solved += status in SOLVED
        self.failed += status in FAILED

    @property
    def in_store(self) -> int:
        """Number of planned samples that are in the store."""
        return self.kept + self.ran

    def __str__(self) -> str:
        return (
            f"{self.in_store} of {self.planned} samples ({self.kept} from the store, {self.ran} new): "
            f"{self.solved} solved, {self.failed} failed"
        )


Report = Callable[[S, Outcome, BenchProgress], None]


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices on what counts as done: samples of other versions of the code, and statuses that are tried again."""

    reuse_versions: bool = False
    retry: Collection[str] = ()


def run_plan(
    plan: Plan,
    path: Path,
    workers: Callable[[], Workers],
    choices: Choices = Choices(),
    report: Report[Sample] = lambda *_: None,
) -> BenchProgress:
    """Run what the store at ``path`` lacks of a plan; return where it is.

    At Ctrl-C, or SIGTERM, what has ended until then is in the store. ``workers`` is only called where
    something is missing.

    Raises
    ------
    CoallocError
        The store is in use, cannot be written, or is none.
    """
    with held(path), Store(path) as store, _terminable():
        run = _Session(store, workers, report, BenchProgress(len(plan.samples)))
        keys = _keys(plan, store, choices)
        missing = run.missing(plan.samples, keys, choices.retry)
        keys |= {sample.content: sample.key for sample in missing}
        entries = [(keys[sample.content], sample.content, sample.identity) for sample in plan.samples]
        store.plan(plan.spec.name, str(plan.spec.source), plan.spec.text, entries)
        return run.complete(missing)


def run_calls(
    calls: Sequence[S], path: Path, workers: Callable[[], Workers], report: Report[S] = lambda *_: None
) -> BenchProgress:
    """Run those of a script's calls, in their order, that the store at ``path`` lacks; return where it is.

    Calls that ended by themselves without a result (``error``, ``crashed``) are tried again; those that
    were killed at a limit are not. Interrupts and errors: :func:`run_plan`.
    """
    with held(path), Store(path) as store, _terminable():
        run = _Session(store, workers, report, BenchProgress(len(calls)))
        return run.complete(run.missing(calls, {call.content: call.key for call in calls}, CRASHED))


def outcomes_of(calls: Sequence[Runnable], path: Path) -> list[Outcome | None]:
    """Return the outcome of each call, None where the store at ``path`` has none.

    Raises
    ------
    CoallocError
        There is no such store, or the file is none.
    """
    with Store(path, writes=False) as store:
        known = store.outcomes(call.key for call in calls)
    return [known.get(call.key) for call in calls]


def _keys(plan: Plan, store: Store, choices: Choices) -> dict[str, str]:
    """Return the key of each sample by its content: its own, or that of what other versions left."""
    if not choices.reuse_versions:
        return {sample.content: sample.key for sample in plan.samples}
    own = store.statuses({sample.key for sample in plan.samples})
    return {s.content: s.key if s.key in own else store.latest_key(s.content) or s.key for s in plan.samples}


@dataclass(frozen=True, slots=True)
class _Session(Generic[S]):
    """One run: its store, what starts its workers, whom it tells of each sample, and where it is."""

    store: Store
    workers: Callable[[], Workers]
    report: Report[S]
    progress: BenchProgress

    def missing(self, samples: Sequence[S], keys: Mapping[str, str], retry: Collection[str]) -> list[S]:
        """Count what the store has under these keys (by content), and return the samples that are to be run."""
        known = self.store.statuses({*keys.values()})
        missing = []
        for sample in samples:
            status = known.get(keys[sample.content])
            if status is None or status in retry:
                missing.append(sample)
            else:
                self.progress.kept += 1
                self.progress.count(status)
        return missing

    def complete(self, missing: Sequence[S]) -> BenchProgress:
        """Run what is missing, until it is done or interrupted."""
        try:
            if missing:
                self._run(missing)
        except KeyboardInterrupt:
            self.progress.is_interrupted = True
        return self.progress

    def _run(self, missing: Sequence[S]) -> None:
        workers = self.workers()
        with closing(workers), closing(workers.run((sample, sample.task) for sample in missing)) as answers:
            for sample, answer in answers:
                outcome, machine = _parts(answer)
                made_by = {"versions": code_versions(), "machine": machine}
                self.store.add(sample.key, sample.content, sample.identity, outcome, made_by)
                self.progress.ran += 1
                self.progress.count(outcome["status"])
                self.report(sample, outcome, self.progress)


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
