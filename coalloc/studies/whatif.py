"""What-if studies: a log simulated as it is and with changes of machine, policy, jobs and limits, job by job.

The file of the changes is in :mod:`coalloc.studies.whatif_plan`, the kinds of changes in
:mod:`coalloc.studies.whatif_changes`, and how the answers are read in :mod:`coalloc.studies.whatif_report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from coalloc.bench.outcomes import Outcome, is_failed
from coalloc.bench.workers import Workers
from coalloc.documents.arguments import picture_of, public
from coalloc.documents.storage import FilePath
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.solvers.result import finite_limit
from coalloc.studies.audit import POLICY_LIMIT, WEEK
from coalloc.studies.given_log import instant_of, log_of
from coalloc.studies.interruption import Interrupted
from coalloc.studies.runs import RunPart, StudyCall, ended, kept, store_at, workers_of
from coalloc.studies.site_runs import bounded, of_any_policy, refuse_unbounded, restricted, simulated_run, unrestricted
from coalloc.studies.whatif_plan import combinations_of, read_plan, scenarios_of
from coalloc.studies.whatif_report import AS_IT_IS, Counted, ScenarioRun, WhatIf, table_of
from coalloc.studies.whatif_scenario import Scenario
from coalloc.workloads.logs import Log
from coalloc.workloads.slurm.sacct_records import Unit
from coalloc.workloads.swf import Broken
from coalloc.workloads.swf_rules import counted

TIME_LIMIT = 10.0
"""Seconds that the bound of a scenario gets by default."""

SLOWEST = 1_800.0
"""Seconds that a bound may take beside its time limit before it is killed."""

OVERDUE = 20.0
"""Times of its time limit after which a bound is killed."""


@public
def what_if(
    trace: FilePath | Instance,
    changes: FilePath | Mapping[str, Any],
    *,
    processors: int | None = None,
    platform: Platform | None = None,
    unit: Unit = "cpus",
    partition: str | None = None,
    broken: Broken = "error",
    after: float | str | None = None,
    before: float | str | None = None,
    window: float = WEEK,
    crossed: bool = False,
    time_limit: float = TIME_LIMIT,
    policy_limit: float = POLICY_LIMIT,
    store: FilePath | None = None,
    processes: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> WhatIf:
    """Simulate a log as it is and with changes, and compare the waits of its jobs.

    Each change is compared with the simulation of the log as it is, so that errors of the simulator are in both.

    Parameters
    ----------
    trace : str or PathLike or Instance
        A trace in the Standard Workload Format, an export of Slurm's ``sacct``, a listing of Flux
        (``flux jobs -A -a --count=0 --json``), or an instance.
    changes : str or PathLike or mapping
        The changes: a TOML file, or what such a file holds (docs/howto/what-if.md).
    processors : int or None, default None
        For a trace: number of identical processors of the platform.
    platform : Platform or None, default None
        For a trace, instead of ``processors``: a platform.
    unit : {"cpus", "nodes"}, default "cpus"
        For ``sacct`` and Flux: whether a processor is a CPU or a node.
    partition : str or None, default None
        For ``sacct`` and Flux: only jobs of this partition or queue. None: all.
    broken : {"error", "drop"}, default "error"
        Whether unreadable lines of a trace are an error or dropped.
    after : float or str or None, default None
        Jobs that arrive before are simulated, but not counted: s on the clock of the trace, or a date such as
        ``"2026-10-01"`` in the local time of the site. None: all are counted.
    before : float or str or None, default None
        Jobs that arrive then or later are left out. None: none.
    window : float, default 604800.0
        Length of the intervals over which confidence intervals are computed, s (7 days).
    crossed : bool, default False
        Whether changes of different kinds are also combined; otherwise each is made alone.
    time_limit : float, default 10.0
        Seconds for the lower bound of each scenario. ``math.inf``: no limit.
    policy_limit : float, default 300.0
        Seconds after which the simulation of a scenario is given up.
    store : str or PathLike or None, default None
        File that keeps finished scenarios, so that an interrupted what-if resumes. None: nothing is kept.
    processes : int or None, default None
        Number of worker processes. None: one per CPU core.
    scheduler : str or None, default None
        Address of a Dask scheduler that runs the scenarios instead.
    progress : callable or None, default None
        Function that receives a line of text per scenario.

    Returns
    -------
    WhatIf
        ``table``, ``intervals`` and ``headline``; ``draw`` and ``write_page`` make figures and pages.

    Raises
    ------
    CoallocError
        Before the run: the log or the changes cannot be read, or a change does not fit the log; all errors are reported
        together. After the run: a scenario failed.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.audit : Measure how much of the waiting in a log was avoidable.

    Notes
    -----
    docs/howto/what-if.md explains the changes.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("flux-sched-572")
    >>> changes = {"change": [{"name": "twice the nodes", "nodes": {"by": "+100 %"}}]}
    >>> found = coalloc.studies.what_if(instance, changes, processes=1, time_limit=0.5)
    >>> found.table[["scenario", "wait_mean"]].round(1)
               scenario  wait_mean
    0  the log as it is       49.4
    1   twice the nodes       20.0
    """
    for name, limit in (("time_limit", time_limit), ("policy_limit", policy_limit), ("window", window)):
        if not limit > 0.0:
            raise CoallocError(f"{name}: must be above 0 s, got {picture_of(limit)}")
    workers = workers_of(processes, scheduler)
    plan = read_plan(changes)
    log = log_of(trace, processors, platform, unit=unit, partition=partition, broken=broken)
    log, of_jobs, account = _counted(log, after, before, window)
    base = Scenario.of(log, plan.policy)
    combinations = combinations_of(plan.change, crossed)
    made = scenarios_of(base, combinations, None if isinstance(changes, Mapping) else os.fspath(changes))
    names = [AS_IT_IS, *(found.name for found in combinations)]
    scenarios = dict(zip(names, [base, *made], strict=True))
    refuse_unbounded(base.instance, "what-if")
    study = _Study(
        scenarios, of_jobs, finite_limit(time_limit), finite_limit(policy_limit), progress or (lambda _: None)
    )
    with store_at(store) as path:
        runs, unfinished = study.runs(path, workers)
    return WhatIf(log.instance.name, log.epoch, tuple(account), of_jobs, log.starts, tuple(runs), tuple(unfinished))


def _counted(
    log: Log, after: float | str | None, before: float | str | None, window: float
) -> tuple[Log, Counted, list[str]]:
    """Return the log up to the end of the period, which of its jobs count and in which interval, and the account."""
    jobs = log.instance.jobs
    arrivals = np.array([job.arrival for job in jobs], dtype=np.float64)
    begin = float(arrivals.min(initial=np.inf)) if after is None else instant_of("after", after, log.epoch)
    end = np.inf if before is None else instant_of("before", before, log.epoch)
    kept = np.flatnonzero(arrivals < end)
    if len(kept) < len(jobs):
        instance = restricted(log.instance, kept)
        groups = {name: labels.taken(kept) for name, labels in log.memberships.items()}
        log = Log(instance, log.starts[kept], log.epoch, log.account, groups)
    arrivals = arrivals[kept]
    rows = np.flatnonzero(arrivals >= begin)
    if not len(rows):
        raise CoallocError("no job arrives in the period")
    account = list(log.account)
    if len(rows) < len(kept):
        account.append(f"{counted(len(kept) - len(rows), 'job')} before the period: simulated, but not counted")
    numbers = ((arrivals[rows] - begin) // window).astype(np.int64)
    return log, Counted(rows, arrivals[rows], begin, window, numbers), account


@dataclass(frozen=True)
class _Study:
    """The scenarios by name, the log as it is first, which jobs count, the limits in s, and who hears of each run."""

    scenarios: Mapping[str, Scenario]
    of_jobs: Counted
    time_limit: float
    policy_limit: float
    say: Callable[[str], None]

    def runs(self, path: Path, workers: Callable[[], Workers]) -> tuple[list[ScenarioRun], list[str]]:
        """Return the runs, and the names of those given up at the limit, after running what the store lacks."""
        simulations, bounds = self._simulations(), self._bounds()
        calls = _different([*simulations.values(), *chain.from_iterable(bounds.values())])
        left = len(calls) - len(kept(calls, path))
        if left:
            number = counted(len(self.scenarios), "scenario")
            self.say(f"{number}: {left} of {len(calls)} simulations and bounds to run")
        outcomes = ended(calls, path, workers, self.say, may_be_killed=[simulated_run])
        found = {call.content: outcome for call, outcome in outcomes.items()}
        over = {name: found[call.content] for name, call in simulations.items() if call.content in found}
        runs = [
            self._run(name, outcome, [found[call.content] for call in bounds[name]])
            for name, outcome in over.items()
            if not is_failed(outcome) and all(call.content in found for call in bounds[name])
        ]
        unfinished = [name for name, outcome in over.items() if is_failed(outcome)]
        missing = [name for name in self.scenarios if name not in {*unfinished, *(one.name for one in runs)}]
        if AS_IT_IS in unfinished:
            raise CoallocError(
                "the simulation of the log as it is took longer than the policy limit; give it more time"
            )
        if missing:
            raise Interrupted(table_of(runs, self.of_jobs), missing)
        return runs, unfinished

    def _run(self, name: str, simulation: Outcome, bounds: Sequence[Outcome]) -> ScenarioRun:
        starts, ends = (np.array(simulation[edge], dtype=np.float64) for edge in ("starts", "ends"))
        bound = max(outcome["bound"] for outcome in bounds)
        return ScenarioRun(name, self.scenarios[name], starts, ends, simulation["utilization"], bound)

    def _simulations(self) -> dict[str, StudyCall]:
        parts: dict[int, RunPart] = {}
        return {
            name: StudyCall(
                parts.setdefault(id(scenario.instance), RunPart(scenario.instance)),
                name,
                simulated_run,
                {"policy": dict(scenario.policy)},
                self.policy_limit,
            )
            for name, scenario in self.scenarios.items()
        }

    def _bounds(self) -> dict[str, list[StudyCall]]:
        """Return what bounds the jobs that count in each scenario, also without what only restricts them."""
        limit = SLOWEST + OVERDUE * self.time_limit
        options = {"time_limit": self.time_limit}
        found: dict[str, list[StudyCall]] = {}
        for name, scenario in self.scenarios.items():
            own = of_any_policy(restricted(scenario.instance, self.of_jobs.rows))
            parts = [RunPart(instance) for instance in (own, unrestricted(own)) if instance is not None]
            found[name] = [StudyCall(part, f"bound of {name}", bounded, options, limit) for part in parts]
        return found


def _different(calls: Sequence[StudyCall]) -> list[StudyCall]:
    """Return one call of each content."""
    return [*{call.content: call for call in reversed(calls)}.values()][::-1]
