"""Strategies of a broker on weeks of a grid: one run each, with every metric, kept so that a study of hours resumes.

Source: the two-level grid study, chapter 6. Which strategy is best, and by how much, is read from the table by
:mod:`coalloc.studies.grid_report`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound
from coalloc.bench.outcomes import Outcome, is_failed
from coalloc.bench.protocol import Task
from coalloc.bench.runnable import Runnable
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers
from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import FilePath
from coalloc.documents.strict_json import layout
from coalloc.documents.text import quoted, visible
from coalloc.heuristics.grid import Local
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import INSTANCE, instance_hash
from coalloc.measures.grid import GRID_METRICS, grid_metrics, refuse_jobs
from coalloc.power.sites import Working
from coalloc.rules.brokering import STRATEGIES
from coalloc.solvers.result import finite_limit, relative_gap
from coalloc.studies.grid_report import coverage
from coalloc.studies.instances import instances_of
from coalloc.studies.interruption import Interrupted
from coalloc.studies.runs import store_at

if TYPE_CHECKING:
    import pandas as pd

TIME_LIMIT = 3600.0
"""Seconds at which a run is killed by default: a week takes seconds."""

MEMORY = 4000.0
"""MB at which a run is killed."""

BOUNDED = ("energy", "makespan")
"""Metrics that have a column of the bound and one of the gap."""

OF_BOUNDS = tuple(f"{name}_{column}" for name in BOUNDED for column in ("bound", "gap"))

COLUMNS = ("week", "strategy", "power_management", "jobs", *GRID_METRICS, "makespan", *OF_BOUNDS)
"""Columns of the table; the docstring of :func:`grid_study` defines them."""

Rows = list[dict[str, Any]]

HELD_TEXTS = 2
"""Texts of weeks that are held at a time; runs come in the order of the weeks."""


@dataclass(frozen=True, slots=True)
class StudiedWeek:
    """A week, and the digest of its content."""

    instance: Instance
    sha256: str

    @property
    def text(self) -> str:
        """The canonical file of the week."""
        return _text_of(self)

    def __hash__(self) -> int:
        return hash(self.sha256)


@functools.lru_cache(HELD_TEXTS)
def _text_of(week: StudiedWeek) -> str:
    return layout(document_of(week.instance, INSTANCE))


@dataclass(frozen=True)
class WeekCall(Runnable):
    """A function of options and a week, as the store knows it."""

    labels = ("week",)

    function: Callable[[Mapping[str, Any], Instance], Outcome]
    week: StudiedWeek
    options: Mapping[str, Any]
    time_limit: float

    @property
    def label(self) -> str:
        """Name of the run where it is missing."""
        always_on = "" if self.options["power_management"] else ", always on"
        return f"{self.week.instance.name}: {self.options.get('strategy', 'bounds')}{always_on}"

    @property
    def identity(self) -> dict[str, Any]:
        """The run as a row of a table names it."""
        limits = {"time_limit": self.time_limit, "memory_limit": MEMORY}
        return {"week": self.week.instance.name, "week_sha256": self.week.sha256, **self.options, **limits}

    @property
    def task(self) -> Task:
        """The call as a worker gets it."""
        function, week = f"{__name__}:{self.function.__name__}", self.week
        return Task(function, self.options, self.time_limit, MEMORY, sha256=week.sha256, text=lambda: week.text)

    def row(self, outcome: Outcome, bounds: Outcome) -> dict[str, Any]:
        """Return the row of the table for a run, with the bounds of its week."""
        week, options = self.week.instance, self.options
        known = {"week": week.name, "strategy": options["strategy"], "power_management": options["power_management"]}
        return {**known, "jobs": len(week.jobs), **_with_gaps(outcome["metrics"], bounds["metrics"])}


def _with_gaps(metrics: Mapping[str, float], bounds: Mapping[str, float]) -> dict[str, float]:
    """Return metrics with the bounds, and with the gaps: which share of a value is above its bound."""
    found = {**metrics, **bounds}
    for name in BOUNDED:
        found[f"{name}_gap"] = relative_gap(found[name], found[f"{name}_bound"]) or 0.0
    return found


def run_strategy(options: Mapping[str, Any], week: Instance) -> Outcome:
    """Return the metrics of a run of the policy ``grid``."""
    asked = {name: options[name] for name in ("strategy", "local", "power_management")}
    run = simulate(week, "grid", seed=options["seed"], **asked)
    metered = {name: options[name] for name in ("power_management", "working")}
    metrics = {**grid_metrics(week, run.schedule, **metered), "makespan": run.metrics["makespan"]}
    return {"status": "done", "metrics": metrics}


def bound_week(options: Mapping[str, Any], week: Instance) -> Outcome:
    """Return lower bounds on what every strategy reaches: on energy, J, and on the makespan, s."""
    metered = {name: options[name] for name in ("power_management", "working")}
    joules = lower_bound(week, "energy", scope="cluster", time_limit=None, **metered)
    seconds = lower_bound(week, method="work", scope="cluster")
    return {"status": "done", "metrics": {"energy_bound": joules, "makespan_bound": seconds}}


@public
def grid_study(
    weeks: Instance | Iterable[Instance],
    strategies: Sequence[str] | None = None,
    *,
    always_on: Sequence[str] | None = None,
    local: Local = "easy",
    working: Working = "total",
    seed: Seed = 0,
    store: FilePath | None = None,
    processes: int = 1,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Run the strategies of a grid broker on several weeks, and tabulate their metrics.

    Parameters
    ----------
    weeks : Instance or iterable of Instance
        Instances with distinct names on one platform whose clusters all have power states.
    strategies : sequence of str or None, default None
        Strategies of the policy ``grid``. None: all.
    always_on : sequence of str or None, default None
        Strategies that also run without power management. None: the one that ranks first by coverage.
    local : {"easy", "fcfs", "conservative"}, default "easy"
        Scheduler of every site.
    working : {"total", "extra"}, default "total"
        Energy model of working cores, as for ``coalloc.energy``.
    seed : int, default 0
        Seed of the policy.
    store : str or PathLike or None, default None
        File that keeps finished runs, so that an interrupted study resumes. None: nothing is kept.
    processes : int, default 1
        Number of worker processes.
    time_limit : float, default 3600.0
        Seconds after which a run is killed. ``math.inf``: no limit.
    progress : callable or None, default None
        Function that receives a line of text per run.

    Returns
    -------
    pandas.DataFrame
        One row per run, with the columns ``week``, ``strategy``, ``power_management``, ``jobs``, the metrics of
        ``coalloc.grid.grid_metrics`` and ``makespan``, from the earliest arrival to the last end (s). For schedules
        with each job on one site, ``energy_bound`` (J, with sites switched as in the run) and ``makespan_bound`` (s, by
        work) are lower bounds; ``energy_gap`` and ``makespan_gap`` are (value - bound)/value, 0 if the value is 0.

    Raises
    ------
    CoallocError
        Before the run: no weeks, weeks on different platforms, an unknown strategy, missing power states, or a job
        larger than every cluster. After the run: a run failed.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.grid.grid_metrics : Metrics of one run.

    Notes
    -----
    Source: the two-level grid study, chapter 6.

    Examples
    --------
    >>> import coalloc
    >>> jobs = [coalloc.Job(f"J{n}", tasks=2**n, base_time=600.0) for n in range(6)]
    >>> week = coalloc.Instance(coalloc.grid.platform("grid2"), jobs, name="week-1")
    >>> table = coalloc.studies.grid_study(week, ["MCT"], always_on=[])
    >>> table[["week", "strategy", "wait_mean"]]
         week strategy  wait_mean
    0  week-1      MCT       20.0
    """
    given = instances_of(weeks)
    names = list(dict.fromkeys(STRATEGIES if strategies is None else strategies))
    options: dict[str, Any] = {"local": local, "working": working, "seed": seed}
    _refuse(given, [*names, *(always_on or ())], options)
    if processes < 1:
        raise CoallocError(f"processes: must be at least 1, got {picture_of(processes)}")
    if not time_limit > 0.0:
        raise CoallocError(f"time_limit: must be above 0 s, got {picture_of(time_limit)}")
    held = [StudiedWeek(instance, instance_hash(instance)) for instance in given]
    with store_at(store) as path:
        study = _Study(held, options, finite_limit(time_limit), path, processes, progress or (lambda _: None))
        rows = study.rows(names, True, [])
        best = [coverage(_table(rows)).index[0]] if always_on is None else list(dict.fromkeys(always_on))
        return _table(study.rows(best, False, rows))


@dataclass(frozen=True, slots=True)
class _Study:
    """State that all runs of a study share: options, store, and how many run at a time."""

    weeks: Sequence[StudiedWeek]
    options: Mapping[str, Any]
    time_limit: float
    path: Path
    processes: int
    say: Callable[[str], None]

    def rows(self, strategies: Sequence[str], power_management: bool, before: Rows) -> Rows:
        """Return the rows of ``before`` and those of strategies on all weeks, after running what is not kept."""
        ways = {"power_management": power_management, **self.options}
        runs = [
            WeekCall(run_strategy, week, {"strategy": name, **ways}, self.time_limit)
            for week in self.weeks
            for name in strategies
        ]
        of_weeks = {name: ways[name] for name in ("power_management", "working")}
        bounds = [WeekCall(bound_week, week, of_weeks, self.time_limit) for week in self.weeks]
        calls = [*bounds, *runs]
        done = run_calls(calls, self.path, lambda: LocalWorkers(self.processes), self._tell)
        ended = list(zip(calls, outcomes_of(calls, self.path), strict=True))
        faults = [_fault(call, outcome) for call, outcome in ended if outcome and is_failed(outcome)]
        if faults:
            raise CoallocError("\n".join(faults))
        bound_of = {call.week: outcome for call, outcome in ended[: len(bounds)]}
        pairs = [(run, outcome, bound_of[run.week]) for run, outcome in ended[len(bounds) :]]
        rows = [*before, *(run.row(outcome, bound) for run, outcome, bound in pairs if outcome and bound)]
        if done.is_interrupted:
            raise Interrupted(_table(rows), [call.label for call, outcome in ended if not outcome])
        return rows

    def _tell(self, call: WeekCall, _: Outcome, state: BenchProgress) -> None:
        self.say(f"{call.label} ({state.in_store} of {state.planned})")


def _table(rows: Rows) -> pd.DataFrame:
    """Return the table of rows, in their order."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"power_management": bool})


def _fault(call: WeekCall, outcome: Outcome) -> str:
    return f"{visible(call.label)}: {outcome['status']}: {outcome.get('message', '')}"


def _refuse(weeks: Sequence[Instance], strategies: Iterable[str], options: Mapping[str, Any]) -> None:
    """Raise where a run would fail, before any begins: each is tried on the platform without jobs."""
    if not weeks:
        raise CoallocError("grid_study requires at least one week")
    first, *others = weeks
    elsewhere = [week for week in others if week.platform != first.platform]
    if elsewhere:
        raise CoallocError(
            "\n".join(
                f"week {quoted(week.name)} must have the platform of week {quoted(first.name)}" for week in elsewhere
            )
        )
    for week in weeks:
        refuse_jobs(week.jobs, week.platform)
    empty = first.replace(jobs=(), running=(), limits=())
    faults: dict[str, None] = {}
    for strategy in strategies:
        try:
            run_strategy({"strategy": strategy, "power_management": True, **options}, empty)
        except CoallocError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    if faults:
        raise CoallocError("\n".join(faults))
