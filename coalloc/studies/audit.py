"""How far a schedule of the past was from the best: bounds and schedules for a period and for its windows.

Every window is a sample of the benchmark harness, in a process of its own, and so is the period as a whole. What the
answers mean is in ``docs/audit.md``; how they are read from the samples in :mod:`coalloc.studies.audit_report`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from coalloc.api.simulating import simulate
from coalloc.bench.cluster import ClusterWorkers
from coalloc.bench.outcomes import Outcome, is_failed
from coalloc.bench.protocol import Task, digest
from coalloc.bench.runnable import Runnable
from coalloc.bench.running import Progress, outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers, Workers
from coalloc.display.wording import duration_text
from coalloc.documents.arguments import Seed, picture_of, public, require
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import FilePath
from coalloc.documents.strict_json import layout
from coalloc.documents.text import quoted, visible
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.instance.files import INSTANCE
from coalloc.schedule import Schedule
from coalloc.solvers.result import NO_TIME_LIMIT, finite_limit
from coalloc.studies.audit_report import Audit, Row, best_starts, instant_text, row_of, table_of
from coalloc.studies.audit_samples import measure_window
from coalloc.studies.audit_windows import History, Window, cut, refuse_unequal, window_of
from coalloc.studies.comparison import contestants_of
from coalloc.studies.interruption import Interrupted
from coalloc.workloads.logs import Log, read_log
from coalloc.workloads.slurm.sacct_records import Unit
from coalloc.workloads.swf import Broken, chosen_platform
from coalloc.workloads.swf_rules import counted

WEEK = 7 * 86_400.0
"""Length of a window by default, s."""

TIME_LIMIT = 5.0
"""Seconds that bounds and searches of a window get by default."""

WHOLE_TIMES = 20.0
"""How many times as long the bounds of the whole period get."""

KILLED_AFTER = 20.0
"""Times of all that a sample should take after which it is killed."""

SLOWEST = 1_800.0
"""Seconds that simulations of a sample may take beside that."""

MEMORY = 8_000.0
"""MB at which a sample is killed."""

MOST_WINDOWS = 100_000

AS_IT_RAN = "logged schedule"
WHOLE = "the whole period"

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "easy": {"policy": "easy"},
    "easy candidates=spt": {"policy": "easy", "candidates": "spt"},
    "easy queue_order=spt": {"policy": "easy", "queue_order": "spt"},
}
"""Policies whose schedules are compared with the bounds by default; names and options as in the shell."""


@dataclass(frozen=True)
class _Call(Runnable):
    """A window as the store knows it, and how it is asked for."""

    labels = ("window",)

    window: Window
    label: str
    options: Mapping[str, Any]
    is_whole: bool

    @cached_property
    def text(self) -> str:
        """The canonical file of its instance."""
        return layout(document_of(self.window.sample.instance, INSTANCE))

    @cached_property
    def sha256(self) -> str:
        """Digest of that file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def argument(self) -> dict[str, Any]:
        """What the worker gets beside the instance."""
        sample = self.window.sample
        return {**self.options, "waited": sample.waited.tolist(), "remaining": sample.remaining.tolist()}

    @property
    def killed_after(self) -> float:
        """Seconds after which the sample is killed."""
        return SLOWEST + KILLED_AFTER * float(self.options["time_limit"])

    @property
    def identity(self) -> dict[str, Any]:
        """What is run."""
        limits = {"killed_after": self.killed_after, "memory_limit": MEMORY}
        return {"window": self.label, "sha256": self.sha256, "state": digest(self.argument), **self.options, **limits}

    @property
    def task(self) -> Task:
        """The call as a worker gets it."""
        name = f"{measure_window.__module__}:{measure_window.__name__}"
        return Task(name, self.argument, self.killed_after, MEMORY, sha256=self.sha256, text=lambda: self.text)


@public
def audit(
    trace: FilePath | Instance,
    schedule: Schedule | None = None,
    *,
    processors: int | None = None,
    platform: Platform | None = None,
    unit: Unit = "cpus",
    partition: str | None = None,
    broken: Broken = "error",
    policy: str | Mapping[str, Any] | None = None,
    after: float | str | None = None,
    before: float | str | None = None,
    window: float = WEEK,
    policies: Mapping[str, Mapping[str, Any]] = POLICIES,
    time_limit: float = TIME_LIMIT,
    seed: Seed = 0,
    store: FilePath | None = None,
    processes: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Measure how much of the waiting in a past schedule was avoidable, with proof.

    The period is audited as a whole and cut into intervals. For each, lower bounds, the best known schedules and the
    schedules of policies show how much better any schedule, and any policy, could have been.

    Parameters
    ----------
    trace : str or PathLike or Instance
        A trace in the Standard Workload Format, an export of Slurm's ``sacct``, or an instance.
    schedule : Schedule or None, default None
        How an instance was run.
    processors : int or None, default None
        For a trace: number of identical processors of the platform.
    platform : Platform or None, default None
        For a trace, instead of ``processors``: a platform of identical processors of speed 1.
    unit : {"cpus", "nodes"}, default "cpus"
        For ``sacct``: whether a processor is a CPU or a node.
    partition : str or None, default None
        For ``sacct``: only jobs of this partition. None: all.
    broken : {"error", "drop"}, default "error"
        Whether unreadable lines of a trace are an error or dropped.
    policy : str or mapping or None, default None
        Audit the schedule of this policy instead of the log's: a name, or ``{"policy": name, option: value}``.
    after : float or str or None, default None
        Begin of the period: s on the clock of the trace, or a date such as ``"2026-10-01"`` in the local time of the
        site. None: the first arrival.
    before : float or str or None, default None
        End of the period. None: the last arrival.
    window : float, default 604800.0
        Length of the intervals, s (7 days).
    policies : mapping of str to mapping, default EASY and two variants
        Policies by label, ``{"policy": name, option: value}``, that run with requested walltimes and with true run
        times.
    time_limit : float, default 5.0
        Seconds for bounds and searches of an interval; the whole period gets 20 times as many if it has several.
        ``math.inf``: no limit.
    seed : int, default 0
        Seed of the searches.
    store : str or PathLike or None, default None
        File that keeps finished intervals, so that an interrupted audit resumes. None: nothing is kept.
    processes : int or None, default None
        Number of worker processes. None: one per CPU core.
    scheduler : str or None, default None
        Address of a Dask scheduler that runs the intervals instead.
    progress : callable or None, default None
        Function that receives a line of text per interval.

    Returns
    -------
    Audit
        ``table``, ``answers``, ``shares`` and ``headline``; ``draw`` and ``write_page`` make figures and pages.

    Raises
    ------
    CoallocError
        Before the run: the trace cannot be read, the period has no jobs, run times depend on the processors, or a
        policy is unknown. After the run: an interval failed.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.compare : Compare policies on whole instances.

    Notes
    -----
    docs/audit.md explains the questions, the bounds and the columns.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("flux-sched-572")
    >>> found = coalloc.audit(instance, policy="easy", processes=1, time_limit=0.5)
    >>> found.answers[0].as_it_was >= found.answers[0].best.low
    True
    """
    for label, given in policies.items():
        require(f"policies[{label!r}]", Mapping, given)
    labels = {contestant.label: policies[contestant.label] for contestant in contestants_of(policies)}
    if processes is not None and processes < 1:
        raise CoallocError(f"processes: must be at least 1, got {picture_of(processes)}")
    if not time_limit > 0.0:
        raise CoallocError(f"time_limit: must be above 0 s, got {picture_of(time_limit)}")
    named = _named(policy)
    log = _log(trace, processors, platform, unit=unit, partition=partition, broken=broken)
    refuse_unequal(log.instance)
    history, account = _history(log, schedule, named)
    if not len(history.arrivals):
        raise CoallocError(": ".join(filter(None, ("there are no jobs to audit", "; ".join(account)))))
    begin, end = _period(history, log.epoch, after, before)
    if not window > 0.0 or (end - begin) / window > MOST_WINDOWS:
        raise CoallocError(f"window: must be above 0 s and give at most {MOST_WINDOWS} intervals, got {window:g} s")
    options = {"policies": labels, "time_limit": finite_limit(time_limit), "seed": seed}
    study = _Study(history, log.epoch, options, progress or (lambda _: None))
    calls = study.calls(begin, end, window)
    with _place(store) as path:
        rows, starts = study.answers(calls, path, _workers(processes, scheduler))
    label = AS_IT_RAN if named is None else str(named[0])
    about = (log.instance.name, label, history.num_processors, log.epoch, tuple(account))
    held = starts if len(starts) > 1 else [*starts, *starts]
    return Audit(*about, rows[0], tuple(study.windows(rows)), tuple(held))


@dataclass(frozen=True)
class _Study:
    """What all windows share: their history, the clock, what is asked, and who hears of each."""

    history: History
    epoch: float | None
    options: Mapping[str, Any]
    say: Callable[[str], None] = field(compare=False)

    def calls(self, begin: float, end: float, length: float) -> list[_Call]:
        """Return the whole period, then its windows; of a period that is one window the period alone."""
        whole = window_of(self.history, begin, end)
        if whole is None:
            raise CoallocError(f"no job waits or arrives in the period; {_arrivals_text(self.history, self.epoch)}")
        if end - begin <= length:
            return [_Call(whole, WHOLE, self.options, is_whole=True)]
        longer = {**self.options, "time_limit": finite_limit(WHOLE_TIMES * self.options["time_limit"])}
        parts = cut(self.history, begin, end, length)
        windows = [_Call(part, self._label(part), self.options, is_whole=False) for part in parts]
        return [_Call(whole, WHOLE, longer, is_whole=True), *windows]

    def answers(
        self, calls: Sequence[_Call], path: Path, workers: Callable[[], Workers]
    ) -> tuple[list[Row], list[dict[str, float]]]:
        """Return the row and the best starts (s) of each call, after running what is not kept."""
        kept = outcomes_of(calls, path) if path.exists() else [None] * len(calls)
        self._announce([call for call, outcome in zip(calls, kept, strict=True) if not outcome])
        done = run_calls(calls, path, workers, self._tell)
        ended = list(zip(calls, outcomes_of(calls, path), strict=True))
        faults = [
            f"{visible(call.label)}: {outcome['status']}: {outcome.get('message', '')}"
            for call, outcome in ended
            if outcome and is_failed(outcome)
        ]
        if faults:
            raise CoallocError("\n".join(faults))
        rows = [row_of(call.window, call.label, outcome, call.is_whole) for call, outcome in ended if outcome]
        if done.is_interrupted:
            raise Interrupted(table_of(rows), [call.label for call, outcome in ended if not outcome])
        pairs = zip(ended, rows, strict=True)
        return rows, [best_starts(call.window, outcome or {}, row) for (call, outcome), row in pairs]

    def windows(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of the windows: the period itself where it is the only one."""
        whole, *windows = rows
        return windows or [{**whole, "window": instant_text(whole["begin"], self.epoch), "kind": "window"}]

    def _label(self, window: Window) -> str:
        return instant_text(window.begin, self.epoch)

    def _announce(self, calls: Sequence[_Call]) -> None:
        """Say how long what has to be run may take."""
        limits = {call.is_whole: call.options["time_limit"] for call in calls}
        if NO_TIME_LIMIT in limits.values():
            return
        num_windows = sum(not call.is_whole for call in calls)
        whole = [f"{duration_text(limits[True])} for {WHOLE}"] if True in limits else []
        parts = [
            *whole,
            *(
                [f"{duration_text(limits[False])} for each of {counted(num_windows, 'interval')}"]
                if num_windows
                else []
            ),
        ]
        if parts:
            self.say(f"bounds and searches take up to {', '.join(parts)}")

    def _tell(self, call: _Call, _: Outcome, state: Progress) -> None:
        self.say(f"{call.label} ({state.in_store} of {state.planned})")


def _named(policy: str | Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any]] | None:
    """Return the label and the options of a policy; its name and its options are checked."""
    if policy is None:
        return None
    options = {"policy": policy} if isinstance(policy, str) else dict(policy)
    label = " ".join([str(options.get("policy")), *(f"{k}={v}" for k, v in options.items() if k != "policy")])
    contestants_of({label: options})
    return label, options


def _log(
    trace: FilePath | Instance,
    processors: int | None,
    platform: Platform | None,
    *,
    unit: Unit,
    partition: str | None,
    broken: Broken,
) -> Log:
    """Return the log of a trace, or an instance of which no start is known."""
    if not isinstance(trace, Instance):
        return read_log(trace, chosen_platform(processors, platform), unit=unit, partition=partition, broken=broken)
    if processors is not None or platform is not None:
        raise CoallocError("processors and platform require a trace; an instance contains its platform")
    return Log(trace, np.full(len(trace.jobs), np.nan), None, ())


def _history(
    log: Log, schedule: Schedule | None, policy: tuple[str, Mapping[str, Any]] | None
) -> tuple[History, list[str]]:
    """Return when each job started: in the log, in a schedule, or under a policy; and what was dropped and changed."""
    account = list(log.account)
    if schedule is not None and policy is not None:
        raise CoallocError("give either a schedule or a policy")
    if policy is not None:
        options = {name: option for name, option in policy[1].items() if name != "policy"}
        schedule = simulate(log.instance, policy[1]["policy"], **options).schedule
    starts = log.starts if schedule is None else _starts(log.instance, schedule)
    history = History(log.instance, starts)
    num_unknown = int(np.isnan(starts).sum())
    if num_unknown and num_unknown == len(starts):
        raise CoallocError(
            f"{quoted(log.instance.name)} does not contain the starts of its jobs; give a policy to simulate "
            '(policy="easy" or --policy easy) or a schedule (schedule=...)'
        )
    if num_unknown:
        account.append(f"{counted(num_unknown, 'job')} skipped: start unknown")
        history = history.known
    return history, account


def _starts(instance: Instance, schedule: Schedule) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the start of each job in a schedule, s; nan where it is not placed."""
    placed = {placement.job: placement.start for placement in schedule}
    return np.array([placed.get(job.id, np.nan) for job in instance.jobs], dtype=np.float64)


def _period(
    history: History, epoch: float | None, after: float | str | None, before: float | str | None
) -> tuple[float, float]:
    """Return the period, s."""
    begin = float(history.arrivals.min()) if after is None else _instant("after", after, epoch)
    end = float(history.arrivals.max()) + 1.0 if before is None else _instant("before", before, epoch)
    if not begin < end:
        low, high = instant_text(begin, epoch), instant_text(end, epoch)
        raise CoallocError(
            f"the period must begin before it ends, got {low} to {high}; {_arrivals_text(history, epoch)}"
        )
    return begin, end


def _instant(name: str, given: float | str, epoch: float | None) -> float:
    """Return an instant on the clock of the trace, s."""
    if not isinstance(given, str):
        return float(given)
    with suppress(ValueError):
        return float(given)
    try:
        instant = datetime.fromisoformat(given).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise CoallocError(f"{name}: must be a number of seconds or a date (2026-10-01), got {quoted(given)}") from None
    if epoch is None:
        raise CoallocError(
            f"{name}: must be a number of seconds, because the trace has no start date, got {quoted(given)}"
        )
    return instant - epoch


def _arrivals_text(history: History, epoch: float | None) -> str:
    low, high = (instant_text(float(bound), epoch) for bound in (history.arrivals.min(), history.arrivals.max()))
    return f"arrivals are from {low} to {high}"


def _workers(processes: int | None, scheduler: str | None) -> Callable[[], Workers]:
    """Return what starts the workers: on this machine, or those of a Dask cluster."""
    number = processes or os.cpu_count() or 1
    return lambda: LocalWorkers(number) if scheduler is None else ClusterWorkers(scheduler)


@contextmanager
def _place(store: FilePath | None) -> Iterator[Path]:
    """Name the file in which windows are kept: one that vanishes where none is asked for."""
    if store is not None:
        yield Path(store)
        return
    with tempfile.TemporaryDirectory(prefix="coalloc-") as folder:
        yield Path(folder, "audit.sqlite")
