"""Placements and schedules.

A schedule says for each job when it starts and ends and which processors it holds. Whether it is
valid is for :mod:`coalloc.checker` to say.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coalloc.documents.arguments import public
from coalloc.documents.chart import MOST_BARS, MOST_ROWS, ChartBar, in_order, svg
from coalloc.documents.columns import Columns, Many, by_name, column
from coalloc.documents.html import heading, table
from coalloc.documents.text import quoted
from coalloc.documents.values import LEFT_OUT, NONE, SINCE_3, Listed, PositiveSeconds, Text, Value, value
from coalloc.documents.wording import duration_text, plural
from coalloc.instance import Instance
from coalloc.schedule.interruptions import Failure, InterruptedRun
from coalloc.schedule.naming import Occupations, assign_nodes_to
from coalloc.schedule.placement import Placement
from coalloc.system.garbage import no_collection

if TYPE_CHECKING:
    import pandas as pd

    from coalloc.problem import Assignment, Problem

MOST_NAMED = 8
"""Processors of a job that a table names."""


@value(slots=False)
class Schedule(Value):
    """A schedule: one placement per job.

    Iteration yields the placements, ``len(schedule)`` is their number, and ``schedule["J1"]`` is that of a job.

    Parameters
    ----------
    placements : sequence of Placement
        The placements, in any order.
    slot : float or None, default None
        Length of a time slot, s, if starts and ends are whole slots. None: continuous time.
    instance : str, default "instance"
        Name of the instance.
    failures : sequence of coalloc.results.Failure, default ()
        Failures of nodes during the run.
    interrupted : sequence of coalloc.results.InterruptedRun, default ()
        Runs before the last one, the placement: the job started anew then, or it was suspended and resumed.

    See Also
    --------
    coalloc.check : List every rule that a schedule violates.
    coalloc.metrics : Compute the metrics of a schedule.
    coalloc.gantt : Draw a schedule as a Gantt chart.

    Examples
    --------
    >>> from coalloc import Placement, Schedule
    >>> first = Placement("J1", 0.0, 100.0, ["C1/0"])
    >>> second = Placement("J2", 100.0, 160.0, ["C1/0-1"])
    >>> schedule = Schedule([first, second])
    >>> schedule["J2"].start
    100.0
    >>> schedule.to_frame()[["job", "start", "end"]]
      job  start    end
    0  J1    0.0  100.0
    1  J2  100.0  160.0
    """

    placements: Many[Placement]
    slot: PositiveSeconds | None = None
    instance: Text = "instance"
    failures: Listed[Failure] = field(default=NONE, metadata=LEFT_OUT | SINCE_3)
    interrupted: Listed[InterruptedRun] = field(default=NONE, metadata=LEFT_OUT | SINCE_3)

    def __iter__(self) -> Iterator[Placement]:
        return iter(self.placements)

    def __len__(self) -> int:
        return len(self.placements)

    @property
    def runs(self) -> tuple[Placement, ...]:
        """Every run: those that were interrupted, as killed placements, then the placements."""
        return (*(run.placement for run in self.interrupted), *self.placements) if self.interrupted else self.placements

    @cached_property
    def _by_job(self) -> Mapping[str, Placement]:
        return by_name(self.placements, "job")

    def __getitem__(self, job: str) -> Placement:
        """Return the placement of a job by its id; raise ``KeyError`` if there is none."""
        if job not in self._by_job:
            raise KeyError(f"the schedule has no placement of job {job!r}; schedule.placements lists all placements")
        return self._by_job[job]

    def to_frame(self) -> pd.DataFrame:
        """Return the schedule as a table, one row per placement.

        Returns
        -------
        pandas.DataFrame
            Columns ``job``, ``start`` (s), ``end`` (s), ``nodes`` (a sequence of names) and ``outcome``; also ``shape``
            if a moldable job runs in another mode than its first.

        Examples
        --------
        >>> from coalloc import Placement, Schedule
        >>> list(Schedule([Placement("J1", 0.0, 100.0, ["C1/0"])]).to_frame().columns)
        ['job', 'start', 'end', 'nodes', 'outcome']
        """
        import pandas as pd

        columns = ["job", "start", "end", "nodes", "outcome"]
        if any(column(self.placements, "shape")):
            columns.append("shape")
        return pd.DataFrame({name: [*column(self.placements, name)] for name in columns})

    @property
    def _summary(self) -> str:
        """The summary of the value, in half a line."""
        if not self.placements:
            return "no placements"
        first, last = min(column(self.placements, "start")), max(column(self.placements, "end"))
        slot = "" if self.slot is None else f", slot {duration_text(self.slot)}"
        return f"{plural(len(self), 'placement')} from {duration_text(first)} to {duration_text(last)}{slot}"

    def __repr__(self) -> str:
        return f"<Schedule of {quoted(self.instance)}: {self._summary}>"

    def _repr_html_(self) -> str:
        return heading(f"Schedule of {self.instance}", self._summary) + self.html()

    @public
    def html(self, instance: Instance | None = None) -> str:
        """Return the schedule as HTML: a Gantt chart, or a table of the first placements if it is large.

        Parameters
        ----------
        instance : Instance or None, default None
            The instance: the chart then shows all processors and the running jobs. None: only the processors in use.

        Returns
        -------
        str
            A fragment of HTML.

        Examples
        --------
        >>> from coalloc import Placement, Schedule
        >>> "<svg" in Schedule([Placement("J1", 0.0, 100.0, ["C1/0"])]).html()
        True
        """
        columns = ("job", "start (s)", "end (s)", "nodes", "outcome")
        return self._chart(instance) or table(
            columns,
            ((p.job, p.start, p.end, ", ".join(p.nodes.texts[:MOST_NAMED]), p.outcome) for p in self.placements),
        )

    def _chart(self, instance: Instance | None) -> str | None:
        """Return the Gantt chart where it is small enough; processors are not named before that is known."""
        num_rows = instance.platform.num_processors if instance is not None else 0
        if len(self) > MOST_BARS or max([num_rows, *(len(p.nodes) for p in self.placements)]) > MOST_ROWS:
            return None
        bars = [ChartBar(p.job, p.start, p.end, p.nodes, number) for number, p in enumerate(self.runs)]
        rows = in_order(node for p in self.runs for node in p.nodes)
        if instance is not None:
            rows = list(dict.fromkeys([*instance.platform.processor_names, *rows]))
            bars += [ChartBar(run.job.id, run.start, run.end, run.nodes, None) for run in instance.running]
        return svg(rows, bars)

    @staticmethod
    def remedy_for(given: object) -> str:
        """Return a hint for a value that was passed instead of a schedule."""
        if given is None:
            return "a result without a schedule has schedule None"
        if isinstance(getattr(given, "schedule", None), Schedule):
            return "pass its attribute schedule"
        return "coalloc.read_schedule(path) reads a schedule file" if isinstance(given, (str, os.PathLike)) else ""


@no_collection()  # all that is made is kept
def schedule_of(problem: Problem, assignments: Sequence[Assignment]) -> Schedule:
    """Return the schedule, with nodes named, that assignments are; jobs in the order of the instance.

    The problem must be continuous, or rounded up: a schedule on rounded-down times is none.
    """
    chosen = sorted(assignments, key=lambda assignment: assignment.job)
    start, duration = (
        np.array(ticks, dtype=float) for ticks in ([a.start for a in chosen], [a.mode.duration for a in chosen])
    )
    intervals = Occupations(
        [problem.jobs[a.job].id for a in chosen],
        problem.clock.seconds_of(start),
        problem.clock.seconds_of(start + duration),
        np.array([a.mode.allocation for a in chosen], dtype=np.int64).reshape(-1, len(problem.classes)),
    )
    columns: dict[str, Sequence[object]] = {
        "job": intervals.job,
        "start": array("d", intervals.start.tobytes()),
        "end": array("d", intervals.end.tobytes()),
        "nodes": assign_nodes_to(problem.instance, problem.classes, intervals),
    }
    if "shapes" in problem.instance.features:
        columns["shape"] = [problem.allocations.shape_number(a.job, a.mode.allocation) for a in chosen]
    return Schedule(Columns(Placement, columns), slot=problem.slot, instance=problem.instance.name)
