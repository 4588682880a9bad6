"""Runs of an audit: the period, its intervals and the policies, each as a sample in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coalloc.bench.outcomes import Outcome, is_failed
from coalloc.bench.workers import Workers
from coalloc.documents.wording import duration_text
from coalloc.instance import CoallocError
from coalloc.solvers.result import NO_TIME_LIMIT, finite_limit
from coalloc.studies.audit_policies import AS_IT_WAS, Policy, PolicyTrial, Population, Trials
from coalloc.studies.audit_rows import Row, best_starts, row_of, table_of
from coalloc.studies.audit_samples import measure_arrivals, measure_window, simulated_starts
from coalloc.studies.audit_windows import AuditWindow, Floats, History, Ints, arriving, cut, window_of
from coalloc.studies.audit_words import date_text
from coalloc.studies.interruption import Interrupted
from coalloc.studies.runs import RunPart, StudyCall, ended, kept
from coalloc.studies.site_runs import of_any_policy, restricted, simulated_run
from coalloc.workloads.swf_rules import counted

WHOLE_TIMES = 20.0
"""Factor of the time of the bounds of the whole period."""

KILLED_AFTER = 20.0
"""Times of all that a sample should take after which it is killed."""

SLOWEST = 1_800.0
"""Seconds that simulations of a sample may take beside that."""

WHOLE = "the whole period"

POLICY_RUNS = (simulated_starts, simulated_run)
"""What simulates a policy over the whole period."""


class Simulated(NamedTuple):
    """Starts of the jobs under a policy, on the clock of their window, and their run times, s."""

    starts: Floats
    lengths: Floats


@dataclass(frozen=True, eq=False)
class WindowCall(StudyCall):
    """A function that is asked about a window."""

    window: AuditWindow
    is_whole: bool = True


@dataclass(frozen=True)
class AuditFindings:
    """Findings of the calls: the rows, the best starts of each (s), and the policies over the whole period."""

    window: AuditWindow
    rows: Sequence[Row]
    starts: Sequence[Mapping[str, float]]
    trials: Trials


@dataclass(frozen=True)
class Study:
    """State that all calls share: the history, the clock, work on windows, the policies, and the receiver of calls.

    ``options`` are those of :func:`measure_window`; ``tried`` are the policies over the whole period by label, each of
    which has ``policy_limit`` seconds; ``refine`` returns policies to try next; ``model`` is the label of the one that
    models the site.
    """

    history: History
    epoch: float | None
    options: Mapping[str, Any]
    tried: Mapping[str, Policy]
    policy_limit: float
    refine: Callable[[Trials], Mapping[str, Policy]]
    model: str | None
    say: Callable[[str], None] = field(compare=False)

    def findings(
        self, begin: float, end: float, length: float, path: Path, workers: Callable[[], Workers]
    ) -> AuditFindings:
        """Return what is found of the period and its intervals, after running what the store at ``path`` lacks."""
        whole = self._window(self.history, begin, end)
        if whole is None:
            raise CoallocError(f"no job waits or arrives in the period; {arrivals_text(self.history, self.epoch)}")
        of_windows, of_policies = self._window_calls(whole, length), self._policy_calls(whole, self.tried)
        outcomes = self._run([of_windows[0], *of_policies, *of_windows[1:]], path, workers)
        if all(call in outcomes for call in (*of_windows, *of_policies)):
            more = self._policy_calls(whole, self.refine(self._trials(whole, length, of_policies, outcomes)))
            of_policies += more
            outcomes |= self._run(more, path, workers) if more else {}
        simulated = self._simulated(whole, of_policies, outcomes)
        rows = [
            self._row(call, outcomes[call], self._of_window(whole, call, simulated))
            for call in of_windows
            if call in outcomes
        ]
        missing = [call.label for call in (*of_windows, *of_policies) if call not in outcomes]
        if missing:
            raise Interrupted(table_of(rows), missing)
        starts = [
            best_starts(call.window, outcomes[call], row, self._of_window(whole, call, simulated))
            for call, row in zip(of_windows, rows, strict=True)
        ]
        return AuditFindings(whole, rows, starts, self._trials(whole, length, of_policies, outcomes))

    def _window_calls(self, whole: AuditWindow, length: float) -> list[WindowCall]:
        """Return the whole period, then its windows; of a period that is one window the period alone."""
        begin, end = whole.begin, whole.end
        if end - begin <= length:
            return [self._window_call(whole, WHOLE, self.options, is_whole=True)]
        longer = {**self.options, "time_limit": finite_limit(WHOLE_TIMES * self.options["time_limit"])}
        return [
            self._window_call(whole, WHOLE, longer, is_whole=True),
            *(
                self._window_call(part, date_text(part.begin, self.epoch), self.options, is_whole=False)
                for part in cut(self.history, begin, end, length, self._window)
            ),
        ]

    def _window_call(
        self, window: AuditWindow, label: str, options: Mapping[str, Any], *, is_whole: bool
    ) -> WindowCall:
        limit = SLOWEST + KILLED_AFTER * float(options["time_limit"])
        return WindowCall(_part(window), label, measure_window, options, limit, window, is_whole)

    def _policy_calls(self, whole: AuditWindow, tried: Mapping[str, Policy]) -> list[WindowCall]:
        part = _part(whole)
        return [
            WindowCall(part, label, simulated_starts, {"policy": policy}, self.policy_limit, whole)
            for label, policy in tried.items()
        ]

    def _run(
        self, calls: Sequence[WindowCall], path: Path, workers: Callable[[], Workers]
    ) -> dict[WindowCall, Outcome]:
        """Return the outcome of each call that has ended."""
        known = {*kept(calls, path)}
        self._announce([call for call in calls if call not in known])
        return ended(calls, path, workers, self.say, may_be_killed=POLICY_RUNS)

    def _row(self, call: WindowCall, outcome: Outcome, simulated: Mapping[str, Simulated]) -> Row:
        window = call.window
        measured = {label: window.sample.measured(*run) for label, run in simulated.items()}
        found = [
            *outcome.get("schedules", ()),
            *({"label": label, "is_online": True, **values} for label, values in measured.items()),
        ]
        if not found and not window.is_possible:
            raise CoallocError("no schedule of the period is known: no policy was simulated, and the log is infeasible")
        return row_of(window, call.label, {**outcome, "schedules": found}, call.is_whole)

    @staticmethod
    def _window(history: History, begin: float, end: float) -> AuditWindow | None:
        """Return the part of the history from ``begin`` to ``end``, s."""
        return window_of(history, begin, end)

    def _of_window(
        self, whole: AuditWindow, call: WindowCall, simulated: Mapping[str, Simulated]
    ) -> Mapping[str, Simulated]:
        """Return the simulations of the period that are schedules of a window."""
        return simulated if call.window is whole else {}

    def _simulated(
        self, whole: AuditWindow, calls: Sequence[WindowCall], outcomes: Mapping[WindowCall, Outcome]
    ) -> dict[str, Simulated]:
        """Return the runs under each policy that has ended."""
        done = [call for call in calls if call in outcomes and not is_failed(outcomes[call])]
        return {call.label: Simulated(np.array(outcomes[call]["starts"]), whole.sample.jobs.run) for call in done}

    def _trials(
        self, whole: AuditWindow, length: float, calls: Sequence[WindowCall], outcomes: Mapping[WindowCall, Outcome]
    ) -> Trials:
        def waits(starts: Floats) -> Floats:
            return whole.sample.waited + starts - whole.sample.jobs.release

        simulated = self._simulated(whole, calls, outcomes)
        tried = {
            call.label: PolicyTrial(call.label, call.options["policy"], waits(run.starts), run.lengths)
            for call in calls
            if (run := simulated.get(call.label)) is not None
        }
        if self.model is not None and self.model not in tried:
            raise CoallocError(f"as_ran: {self.model} took longer than the policy limit; give it more time")
        return Trials(
            Population.of(whole, length, self.history.memberships),
            PolicyTrial(AS_IT_WAS, None, waits(whole.starts)),
            tuple(tried.values()),
            tuple(call.label for call in calls if call.label not in tried),
            None if self.model is None else tried[self.model],
        )

    def _announce(self, calls: Sequence[WindowCall]) -> None:
        """Say how long what has to be run may take."""
        asked = [call for call in calls if call.function not in POLICY_RUNS]
        limits = {call.is_whole: call.options["time_limit"] for call in asked}
        num_windows, num_policies = sum(not call.is_whole for call in asked), len(calls) - len(asked)
        if num_policies:
            limit = duration_text(self.policy_limit)
            self.say(f"{counted(num_policies, 'policy run')} over the whole period, each for at most {limit}")
        if not limits or NO_TIME_LIMIT in limits.values():
            return
        parts = [f"{duration_text(limits[True])} for {WHOLE}"] if True in limits else []
        if num_windows:
            parts.append(f"{duration_text(limits[False])} for each of {counted(num_windows, 'interval')}")
        self.say(f"bounds and searches take up to {', '.join(parts)}")


@dataclass(frozen=True)
class SiteStudy(Study):
    """A study of jobs that more restricts than their processors, such as limits and partitions.

    A cut cannot say what is left of all that. So each policy runs from the first job of the history on, a job counts in
    the interval in which it arrives, and a bound is of the jobs of an interval alone.
    """

    @staticmethod
    def _window(history: History, begin: float, end: float) -> AuditWindow | None:
        return arriving(history, begin, end)

    def _window_call(
        self, window: AuditWindow, label: str, options: Mapping[str, Any], *, is_whole: bool
    ) -> WindowCall:
        part = RunPart(of_any_policy(restricted(self.history.instance, window.rows)))
        given = {"time_limit": options["time_limit"], "begin": window.begin}
        limit = SLOWEST + KILLED_AFTER * float(options["time_limit"])
        return WindowCall(part, label, measure_arrivals, given, limit, window, is_whole)

    def _policy_calls(self, whole: AuditWindow, tried: Mapping[str, Policy]) -> list[WindowCall]:
        part = RunPart(restricted(self.history.instance, self._before(whole)))
        return [
            WindowCall(part, label, simulated_run, {"policy": dict(policy)}, self.policy_limit, whole)
            for label, policy in tried.items()
        ]

    def _before(self, whole: AuditWindow) -> Ints:
        """Return the places of the jobs that arrive before the end of the period."""
        return np.flatnonzero(self.history.arrivals < whole.end)

    def _simulated(
        self, whole: AuditWindow, calls: Sequence[WindowCall], outcomes: Mapping[WindowCall, Outcome]
    ) -> dict[str, Simulated]:
        place = np.searchsorted(self._before(whole), whole.rows)
        found = {}
        for call in calls:
            if call in outcomes and not is_failed(outcomes[call]):
                starts, ends = (np.array(outcomes[call][edge])[place] for edge in ("starts", "ends"))
                found[call.label] = Simulated(starts - whole.begin, ends - starts)
        return found

    def _of_window(
        self, whole: AuditWindow, call: WindowCall, simulated: Mapping[str, Simulated]
    ) -> Mapping[str, Simulated]:
        place = np.searchsorted(whole.rows, call.window.rows)
        shift = call.window.begin - whole.begin
        return {label: Simulated(run.starts[place] - shift, run.lengths[place]) for label, run in simulated.items()}


def _part(window: AuditWindow) -> RunPart:
    """Return a window as workers know it."""
    sample = window.sample
    state = {"waited": sample.waited.tolist(), "remaining": sample.remaining.tolist(), "clock": sample.clock}
    return RunPart(sample.instance, state)


def arrivals_text(history: History, epoch: float | None) -> str:
    """Return when jobs arrive, in words."""
    low, high = (date_text(float(bound), epoch) for bound in (history.arrivals.min(), history.arrivals.max()))
    return f"arrivals are from {low} to {high}"
