"""Report of a what-if study: waits of each scenario beside the log as it is, in words, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.errors import InternalError
from coalloc.documents.pages import rendered
from coalloc.documents.wording import plural
from coalloc.measures.intervals import LEAST_SAMPLES, ConfidenceInterval, statistic_interval
from coalloc.studies.audit_model import ROUGH
from coalloc.studies.audit_policies import STATISTICS, blocks_of, spelled
from coalloc.studies.audit_rows import TOLERANCE
from coalloc.studies.audit_windows import Floats, Ints, bounded_slowdowns
from coalloc.studies.audit_words import amount, date_text, percent
from coalloc.studies.report import Report
from coalloc.studies.whatif_scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEASURES = ("wait", "response", "bounded_slowdown")
"""Measures that are compared job by job, as means over the jobs."""

RECORDED, BASE, CHANGE = "recorded", "base", "change"
"""Kinds of rows."""

AS_IT_IS, AS_IT_RAN = "the log as it is", "the recorded schedule"
"""Names of the rows that are no changes."""

HEADS = ("scenario", "mean wait", "bound", "99 %", "bounded slowdown", "utilization", "difference", "95 % interval")
"""Of the table of scenarios on the screen and the page; the difference is that of the mean wait."""

FOLDED = 30
"""Lines of the table of intervals above which the page folds it."""


@dataclass(frozen=True)
class Counted:
    """The jobs that count: their places in the log, arrivals (s), and the number of the interval of each, from 0.

    The first interval begins at ``begin``, s, and each is ``window`` s long.
    """

    rows: Ints
    arrivals: Floats
    begin: float
    window: float
    interval: Ints


@dataclass(frozen=True, eq=False)
class ScenarioRun:
    """A scenario as it was simulated: starts and ends of all jobs, s, and a bound on the mean wait of those that count.

    ``scenario`` is None for the schedule of the log, which has no bound: its machine may have been another.
    """

    name: str
    scenario: Scenario | None
    starts: Floats
    ends: Floats
    utilization: float
    bound: float

    def measured(self, of_jobs: Counted) -> dict[str, Floats]:
        """Return each measure of the jobs that count."""
        waits = self.starts[of_jobs.rows] - of_jobs.arrivals
        runs = self.ends[of_jobs.rows] - self.starts[of_jobs.rows]
        return {"wait": waits, "response": waits + runs, "bounded_slowdown": bounded_slowdowns(waits, runs)}


@dataclass(frozen=True)
class WhatIf(Report):
    """The result of ``what_if``; printing it shows aligned lines.

    Attributes
    ----------
    name : str
        Name of the log.
    epoch : float or None
        Unix time of time 0, s; None if it is unknown.
    account : tuple of str
        Report of dropped and modified jobs.
    of_jobs : Counted
        The jobs that count.
    recorded : numpy.ndarray
        Start of each job in the log, s; nan where it is unknown.
    runs : tuple of Run
        The scenarios, the log as it is first.
    unfinished : tuple of str
        Names of the scenarios that were given up at the time limit.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("flux-sched-572")
    >>> changes = {"change": [{"name": "first come", "policy": "fcfs"}]}
    >>> found = coalloc.studies.what_if(instance, changes, processes=1, time_limit=0.5)
    >>> found.table[["kind", "policy", "wait_mean"]].round(1)
         kind policy  wait_mean
    0    base   easy       49.4
    1  change   fcfs       49.4
    """

    name: str
    epoch: float | None
    account: tuple[str, ...]
    of_jobs: Counted = field(repr=False)
    recorded: Floats = field(repr=False)
    runs: tuple[ScenarioRun, ...] = field(repr=False)
    unfinished: tuple[str, ...]

    @property
    def base(self) -> ScenarioRun:
        """The log as it is."""
        return self.runs[0]

    @cached_property
    def _all(self) -> tuple[ScenarioRun, ...]:
        """The schedule of the log, where it is known, and the scenarios."""
        if np.isnan(self.recorded[self.of_jobs.rows]).any() or self.base.scenario is None:
            return self.runs
        lengths = np.array([job.base_time for job in self.base.scenario.instance.jobs], dtype=np.float64)
        recorded = ScenarioRun(AS_IT_RAN, None, self.recorded, self.recorded + lengths, math.nan, math.nan)
        return (recorded, *self.runs)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table with one row per scenario; times in s.

        - ``scenario``, ``kind``, ``policy``: name; ``"recorded"``, ``"base"`` (the log as it is) or ``"change"``; the
          policy that was simulated.
        - ``jobs``: number of jobs that count.
        - ``wait_mean``, ``wait_median``, ``wait_p90``, ``wait_p99``, ``wait_max``, ``response_mean``,
          ``bounded_slowdown_mean``, ``utilization``: metrics of these jobs.
        - ``wait_bound``: no schedule of these jobs on this machine has a smaller mean wait (proved).
        - ``..._difference``, ``..._low``, ``..._high``: mean difference from the log as it is, and its 95 % confidence
          interval.
        - ``intervals``: number of intervals that have jobs.
        - ``notes``: what a change left as it was.
        """
        return table_of(self._all, self.of_jobs)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Table with one row per scenario and interval that has jobs: means of each measure."""
        import pandas as pd

        begins, block = np.unique(self.of_jobs.interval, return_inverse=True)
        number = np.bincount(block)
        dates = [date_text(self.of_jobs.begin + begin * self.of_jobs.window, self.epoch) for begin in begins.tolist()]
        rows = []
        for run in self._all:
            means = {name: np.bincount(block, of_job) / number for name, of_job in run.measured(self.of_jobs).items()}
            for place, date in enumerate(dates):
                found = {f"{name}_mean": float(mean[place]) for name, mean in means.items()}
                rows.append({"scenario": run.name, "interval": date, "jobs": int(number[place]), **found})
        return pd.DataFrame(rows)

    @property
    def document(self) -> dict[str, Any]:
        """The what-if as a JSON document."""
        return {
            "log": self.name,
            "epoch": self.epoch,
            "account": list(self.account),
            "scenarios": self.table.to_dict("records"),
            "intervals": self.intervals.to_dict("records"),
            "unfinished": list(self.unfinished),
        }

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [{str(name): cell for name, cell in row.items()} for row in self.table.to_dict("records")]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The texts of the table of scenarios as the page shows it."""
        return [_cells_of(row) for row in self._rows]

    @property
    def _rows_of(self) -> dict[str, dict[str, Any]]:
        """The first row of each kind."""
        return {row["kind"]: row for row in reversed(self._rows)}

    @property
    def headline(self) -> str:
        """The result in one paragraph."""
        return " ".join(self.sentences)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The result in at most five sentences."""
        rows = self._rows_of
        base, changes = rows[BASE], [row for row in self._rows if row["kind"] == CHANGE]
        number = plural(len(self.of_jobs.rows), "job")
        first = f"Simulated with {base['policy']}, {number} wait {amount(base['wait_mean'])} on average"
        if RECORDED in rows:
            recorded = rows[RECORDED]["wait_mean"]
            first += f"; in the log they waited {amount(recorded)}"
            if abs(base["wait_mean"] - recorded) > ROUGH[0] * recorded:
                first += ", so the simulation is a poor model of the site"
        bound = "No bound on the mean wait above 0 s was proved in the time given."
        if base["wait_bound"]:
            bound = f"No schedule of the log as it is has a mean wait below {amount(base['wait_bound'])} (proved)."
        best = min(changes, key=lambda row: float(row["wait_mean"]), default=base)
        if not best["wait_mean"] < base["wait_mean"]:
            return (f"{first}.", "No change makes jobs wait less on average.", bound)
        least = f"{amount(best['wait_mean'])}, a difference of {signed(best['wait_difference'])}{_interval_of(best)}"
        less = f'The mean wait is shortest with "{best["scenario"]}": {least}'
        tails = " instead of ".join(amount(row["wait_p99"]) for row in (best, base))
        tail = f"The 99th percentile of the waits is then {tails}."
        return (f"{first}.", f"{less}.", tail, self._certainty(changes), bound)

    def _certainty(self, changes: Sequence[Mapping[str, Any]]) -> str:
        """Return of how many changes the effect is certain."""
        samples = int(changes[0]["intervals"])
        if samples == 1:
            return "The log has one interval: how certain the differences are is unknown."
        if samples < LEAST_SAMPLES:
            return f"{samples} intervals are too few for confidence intervals."
        unclear = sum(not (row["wait_high"] < 0.0 or row["wait_low"] > 0.0) for row in changes)
        if not unclear:
            return "No confidence interval of a difference includes 0."
        changes_in_all = plural(len(changes), "change")
        return f"Of {changes_in_all}, {unclear} may make no difference: the confidence interval includes 0."

    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) pairs that printing shows."""
        found = [("log", f"{self.name}: {plural(len(self.of_jobs.rows), 'job')}")]
        found += [("", sentence) for sentence in self.sentences]
        found += [("given up at the time limit", name) for name in self.unfinished]
        return found

    def __repr__(self) -> str:
        return f"<WhatIf of {self.name!r}: {plural(len(self.runs), 'scenario')}>"

    def _figure(self) -> Figure:
        from coalloc.plot.whatif import draw_what_if

        return draw_what_if(self.table)

    @property
    def page(self) -> str:
        """The what-if as one self-contained HTML page with the figure, without scripts."""
        intervals = self.intervals
        return rendered(
            "whatif.html",
            title=f"What if: {self.name}",
            found=self,
            picture=self._picture,
            heads=HEADS,
            lines=[*zip(self.table["kind"], self.cells, strict=True)],
            notes=[(run.name, note) for run in self.runs if run.scenario is not None for note in run.scenario.notes],
            interval_heads=("interval", "jobs", *intervals["scenario"].unique()),
            interval_lines=[("", line) for line in _interval_lines(intervals)],
            base=AS_IT_IS,
            policy=self._rows_of[BASE]["policy"],
            folded=FOLDED,
            palette=palette,
        )


COLUMNS = (
    "scenario",
    "kind",
    "policy",
    "jobs",
    *(f"wait_{name}" for name in STATISTICS),
    "response_mean",
    "bounded_slowdown_mean",
    "utilization",
    "wait_bound",
    *(f"{name}_{part}" for name in MEASURES for part in ("difference", "low", "high")),
    "intervals",
    "notes",
)
"""Columns of the table; ``WhatIf.table`` defines them."""


def table_of(runs: Sequence[ScenarioRun], of_jobs: Counted) -> pd.DataFrame:
    """Return the table of some scenarios; differences are from the log as it is."""
    import pandas as pd

    base = next((run for run in runs if run.name == AS_IT_IS), None)
    before = None if base is None else base.measured(of_jobs)
    rows = [_row(run, of_jobs, before, is_base=run is base) for run in runs]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(run: ScenarioRun, of_jobs: Counted, before: Mapping[str, Floats] | None, *, is_base: bool) -> dict[str, Any]:
    """Return the row of a scenario; ``before`` are the measures of the log as it is."""
    measured = run.measured(of_jobs)
    kind = RECORDED if run.scenario is None else BASE if is_base else CHANGE
    row: dict[str, Any] = {
        "scenario": run.name,
        "kind": kind,
        "policy": "" if run.scenario is None else spelled(run.scenario.policy),
        "jobs": len(of_jobs.rows),
        "utilization": run.utilization,
        "wait_bound": _bound(run, float(measured["wait"].mean())),
        "notes": "" if run.scenario is None else "; ".join(run.scenario.notes),
        **{f"wait_{name}": float(statistic(measured["wait"])) for name, statistic in STATISTICS.items()},
    }
    for name in MEASURES:
        row[f"{name}_mean"] = float(measured[name].mean())
        if before is not None and not is_base:
            found = _difference(measured[name] - before[name], of_jobs.interval)
            row |= {f"{name}_difference": found.mean, f"{name}_low": found.low, f"{name}_high": found.high}
            row["intervals"] = found.samples
    return row


def _bound(run: ScenarioRun, wait: float) -> float:
    """Return the bound on the mean wait; raise where the simulation is below it: then one of the two is wrong."""
    if run.bound > wait * (1.0 + TOLERANCE) + TOLERANCE:
        raise InternalError(
            f"{run.name}: the bound {run.bound:.12g} exceeds the mean wait {wait:.12g} of its simulation"
        )
    return float(np.minimum(run.bound, wait))


def _difference(of_jobs: Floats, intervals: Ints) -> ConfidenceInterval:
    """Return the mean of differences of jobs, with its 95 % interval over the intervals in which they arrive."""
    blocks, number = blocks_of(intervals)
    sums = np.stack([np.bincount(blocks, of_jobs), np.bincount(blocks)], axis=1).astype(np.float64)
    return statistic_interval(sums, _mean_of_sums)._replace(samples=number)


def _mean_of_sums(sums: Floats) -> Floats:
    """Return the mean of what sums and numbers, in the last axis, are over the axis before it."""
    total, number = np.moveaxis(sums.sum(axis=-2), -1, 0)
    return np.asarray(total / number)


def signed(seconds: float) -> str:
    """Return a difference of times in words, with its sign."""
    text = amount(abs(seconds))
    return text if text == amount(0.0) else f"{'-' if seconds < 0.0 else '+'}{text}"


def _interval_of(row: Mapping[str, Any]) -> str:
    """Return the confidence interval of a difference in brackets, nothing where there is none."""
    if math.isnan(row["wait_low"]):
        return ""
    return f" (95 % confidence interval {signed(row['wait_low'])} to {signed(row['wait_high'])})"


def _cells_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a scenario, as :data:`HEADS` name them; a dash where something is not known."""
    has_interval = not _is_unknown(row["wait_low"])
    return (
        str(row["scenario"]),
        amount(row["wait_mean"]),
        "-" if _is_unknown(row["wait_bound"]) else amount(row["wait_bound"]),
        amount(row["wait_p99"]),
        f"{row['bounded_slowdown_mean']:.4g}",
        "-" if _is_unknown(row["utilization"]) else percent(row["utilization"]),
        "" if _is_unknown(row["wait_difference"]) else signed(row["wait_difference"]),
        f"{signed(row['wait_low'])} to {signed(row['wait_high'])}" if has_interval else "",
    )


def _is_unknown(number: float | None) -> bool:
    return number is None or math.isnan(number)


def _interval_lines(intervals: pd.DataFrame) -> Iterable[tuple[str, ...]]:
    """Return the cells of each interval: the mean wait in each scenario."""
    names = intervals["scenario"].unique()
    for (date, number), group in intervals.groupby(["interval", "jobs"], sort=False):
        means = dict(zip(group["scenario"], group["wait_mean"].tolist(), strict=True))
        yield (str(date), str(number), *(amount(means[name]) for name in names))
