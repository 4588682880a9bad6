"""Measurements of ``coalloc simulate`` beyond the metrics of the whole run: a window of arrivals, groups of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from typer import BadParameter, Option

if TYPE_CHECKING:
    import pandas as pd

    from coalloc import Instance
    from coalloc.measures.groups import By
    from coalloc.simulator.result import SimulationResult

MEASURES = "Metrics"
"""Panel of the help page."""

After = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="Also report the metrics of the jobs that arrive at this time or later.",
        rich_help_panel=MEASURES,
    ),
]
Before = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="Also report the metrics of the jobs that arrive before this time.",
        rich_help_panel=MEASURES,
    ),
]
Grouped = Annotated[
    str | None,
    Option(
        "--by",
        metavar="GROUPS",
        help="Also report metrics by group: user, size (number of tasks) or hour (of the week).",
        rich_help_panel=MEASURES,
    ),
]
Epoch = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="With --by hour: Unix time at time 0 of the trace (UnixStartTime in its header).",
        show_default="a Monday at 0:00",
        rich_help_panel=MEASURES,
    ),
]
TimeZone = Annotated[
    str | None,
    Option(
        metavar="ZONE",
        help="With --by hour: time zone, such as Europe/Stockholm.",
        show_default="UTC",
        rich_help_panel=MEASURES,
    ),
]

SHOWN = {
    "jobs": "jobs",
    "processor_seconds": "processor\ntime, s",
    "wait_mean": "mean\nwait, s",
    "wait_p95": "p95 of\nwait, s",
    "response_mean": "mean\nresponse, s",
    "bounded_slowdown_mean": "mean bounded\nslowdown",
}
"""Metrics of groups that are printed, with their headings; a file has all."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measurements of a run besides the whole."""

    after: float | None
    before: float | None
    by: str | None
    epoch: float | None
    time_zone: str | None

    def check(self, has_table: bool) -> None:
        """Raise where options do not go together, before anything runs."""
        from coalloc.measures.groups import By, week_of

        if self.by is None:
            given = {"--table": has_table, "--epoch": self.epoch is not None, "--time-zone": self.time_zone is not None}
            for option in (option for option, is_given in given.items() if is_given):
                raise BadParameter("requires --by", param_hint=option)
            return
        if self.by not in get_args(By):
            raise BadParameter(f"must be one of {', '.join(get_args(By))}, got {self.by!r}", param_hint="--by")
        week_of(self.grouping, self.epoch, self.time_zone)

    def check_window(self, instance: Instance) -> None:
        """Raise where no job arrives in the window, before anything runs."""
        import numpy as np

        from coalloc.measures.metrics import arriving

        arriving(np.array([job.arrival for job in instance.jobs], dtype=np.float64), self.after, self.before)

    @property
    def grouping(self) -> By:
        """The grouping of jobs, once it is checked."""
        return cast("By", self.by)

    def of(self, run: SimulationResult) -> MeasuredRun:
        """Return what is measured of a run."""
        is_trimmed = self.after is not None or self.before is not None
        return MeasuredRun(
            self,
            len(run.schedule),
            run.metrics_of(after=self.after, before=self.before) if is_trimmed else None,
            self._groups(run) if self.by is not None else None,
        )

    def _groups(self, run: SimulationResult) -> pd.DataFrame:
        return run.metrics_by(
            self.grouping, after=self.after, before=self.before, epoch=self.epoch, time_zone=self.time_zone
        )


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Measured metrics of a run of ``num_jobs`` jobs: of a window, and of groups; None where not asked for."""

    measuring: Measuring
    num_jobs: int
    window: Mapping[str, float] | None
    groups: pd.DataFrame | None

    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) lines about the jobs of the window: which they are, and their metrics."""
        from coalloc.simulator.result import distribution_text

        found = self.window
        if found is None:
            return []
        limits = {"at or after": self.measuring.after, "before": self.measuring.before}
        words = " and ".join(f"{word} {limit:.12g} s" for word, limit in limits.items() if limit is not None)
        queue = f"{found['queue_length_mean']:.4g} jobs wait on average"
        return [
            ("interval", f"{found['jobs']:.0f} of {self.num_jobs} jobs, which arrive {words}"),
            ("  wait", distribution_text(found, "wait", "s")),
            ("  response", distribution_text(found, "response", "s")),
            ("  slowdown", f"bounded slowdown: {distribution_text(found, 'bounded_slowdown')}"),
            ("  platform", f"utilization {100 * found['utilization']:.1f} %, {queue}"),
        ]

    def document(self) -> dict[str, Any]:
        """Return what was measured for a JSON document."""
        document: dict[str, Any] = {}
        limits = {"after": self.measuring.after, "before": self.measuring.before}
        if self.window is not None:
            document["window"] = limits | {"metrics": dict(self.window)}
        if self.groups is not None:
            document["groups"] = {"by": self.measuring.by} | limits | {"rows": self.groups.to_dict("records")}
        return document

    def write_groups(self, path: Path) -> None:
        """Write the table of groups."""
        from coalloc.cli.tables import write_table

        if self.groups is not None:
            write_table(self.groups, path)


def groups_text(table: pd.DataFrame) -> str:
    """Return a table of groups for a person: the metrics of :data:`SHOWN`."""
    from coalloc.cli.tables import NOT_KNOWN, text_of, text_table
    from coalloc.documents.wording import number_text

    name = str(table.columns[0])
    columns = {name: itemgetter(name)} | {
        heading: lambda row, metric=metric: text_of(row[metric], number_text) for metric, heading in SHOWN.items()
    }
    groups = table[name].map(str, na_action="ignore").fillna(NOT_KNOWN)
    return text_table(table.assign(**{name: groups}).to_dict("records"), columns)
