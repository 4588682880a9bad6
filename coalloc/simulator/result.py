"""Results of simulated runs: schedule, metrics, and tables of jobs and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coalloc.documents.html import lines_table
from coalloc.documents.text import quoted
from coalloc.documents.wording import number_text, plural, with_unit
from coalloc.instance import Instance
from coalloc.measures.groups import By, metrics_by
from coalloc.measures.metrics import EXECUTION_TIME, RESPONSE, WAIT, busy_time, metrics_of
from coalloc.measures.observed_sharing import SharedUse, observe_sharing
from coalloc.measures.usage import series
from coalloc.power.meter import Idle
from coalloc.schedule import Schedule
from coalloc.schedule.observed import observe, placed_jobs

if TYPE_CHECKING:
    import pandas as pd


QUANTITIES = {"wait": WAIT, "run": EXECUTION_TIME, "response": RESPONSE}
"""Quantities of each job in the table of jobs, by column."""


def distribution_text(metrics: Mapping[str, float], name: str, unit: str = "") -> str:
    """Return mean, median, high percentiles and maximum of a quantity in words."""
    parts = ("mean", "median", "p95", "p99", "max")
    return ", ".join(f"{part} {with_unit(number_text(metrics[f'{name}_{part}']), unit)}" for part in parts)


def excess_text(metrics: Mapping[str, float]) -> str:
    """Return by how much the mean run time exceeds the mean reference run time, in words."""
    excess = 100 * metrics["execution_slowdown"]
    return f"{abs(excess):.2f} % {'below' if excess < 0.0 else 'above'} the mean reference run time"


@dataclass(frozen=True)
class SimulationResult:
    """The result of ``coalloc.simulate``; printing it shows aligned lines.

    Attributes
    ----------
    instance : Instance
        The simulated instance.
    policy : str
        Name of the policy, or the class of a custom policy.
    options : mapping of str to object
        Options of the policy.
    schedule : Schedule
        The schedule, which has passed ``coalloc.check``.
    metrics : mapping of str to float
        The metrics of ``coalloc.metrics``, then ``decision_time_mean`` and ``decision_time_max`` (s, CPU time of the
        policy per scheduling pass with waiting jobs), then counters of the policy such as ``decisions_unproven``.
    power_management : bool
        Whether sites were switched on and off.

    Examples
    --------
    >>> import coalloc
    >>> run = coalloc.simulate(coalloc.example("pas-figure-3.3"), "easy")
    >>> run.metrics["makespan"]
    455.0
    >>> run.to_frame()[["job", "tasks", "wait"]]
      job  tasks   wait
    0  J1      2    0.0
    1  J2      3  200.0
    2  J3      1    0.0
    """

    instance: Instance
    policy: str
    options: Mapping[str, Any]
    schedule: Schedule
    metrics: Mapping[str, float]
    power_management: bool = False

    def to_frame(self) -> pd.DataFrame:
        """Return one row per job.

        Columns ``job``, ``tasks``, ``arrival`` (``r_j``), ``start`` (``s_j``), ``end`` (``e_j``), ``wait``
        (``f_j - r_j``), ``run`` (``Te_j``) and ``response`` (``e_j - r_j``), in s; ``nodes``, the names of the
        processors held; ``outcome``, ``completed`` or ``killed``; ``shape`` as for a schedule. On time-shared nodes
        also ``stopped`` (s) and ``mean_share``, the mean of the smallest CPU share of its tasks.

        Returns
        -------
        pandas.DataFrame
            The table.
        """
        frame = self.schedule.to_frame()
        jobs = placed_jobs(self.instance, self.schedule)
        frame.insert(1, "tasks", [job.tasks for job in jobs])
        frame.insert(2, "arrival", [job.arrival for job in jobs])
        columns = observe(self.instance, self.schedule).jobs
        for place, (name, quantity) in enumerate(QUANTITIES.items(), start=5):
            frame.insert(place, name, quantity.values(columns))
        if self.instance.shares_nodes:
            run = EXECUTION_TIME.values(columns)
            frame["stopped"] = [job.stopped_time for job in self._shared.jobs]
            frame["mean_share"] = [job.share_seconds for job in self._shared.jobs] / run
        return frame

    @cached_property
    def _shared(self) -> SharedUse:
        """Shares of jobs and users on shared nodes."""
        return observe_sharing(self.instance, self.schedule)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """Table with one row per node.

        Columns ``node``, ``cluster``, ``effective_power``, ``busy`` (time during which at least one of its processors
        is held, s) and ``busy_share`` (of the makespan; 0 where that is 0). On time-shared nodes also the time for
        which local users were active before the last end, s.
        """
        import pandas as pd

        platform = self.instance.platform
        busy = busy_time(self.instance, self.schedule)
        makespan = self.metrics["makespan"]
        frame = pd.DataFrame(
            {
                "node": [node.name for node in platform.nodes],
                "cluster": [platform.clusters[node.cluster].name for node in platform.nodes],
                "effective_power": [platform.group_of(node).effective_power for node in platform.nodes],
                "busy": [busy[node.name] for node in platform.nodes],
                "busy_share": [busy[node.name] / makespan if makespan else 0.0 for node in platform.nodes],
            }
        )
        if self.instance.shares_nodes:
            users = self._shared.users
            frame["user_time"] = [sum(user.time for user in users if user.node == n) for n in range(len(frame))]
        return frame

    def series(self, every: float | None = None, *, idle: Idle = "always") -> pd.DataFrame:
        """Return queue length, processors, links and power over time; see ``coalloc.results.series``.

        Parameters
        ----------
        every : float or None, default None
            Length of the rows, s. None: one row per change.
        idle : {"always", "from-first-use"}, default "always"
            Power of idle nodes, as for ``coalloc.energy``.

        Returns
        -------
        pandas.DataFrame
            One row per step; power management is that of the run.
        """
        return series(self.instance, self.schedule, every, idle=idle, power_management=self.power_management)

    def metrics_of(self, *, after: float | None = None, before: float | None = None) -> dict[str, float]:
        """Return the metrics of the jobs that arrive in an interval; see ``coalloc.results.metrics_of``.

        Parameters
        ----------
        after : float or None, default None
            Begin of the interval, s.
        before : float or None, default None
            End of the interval, s.

        Returns
        -------
        dict of str to float
            Metrics by name.
        """
        return metrics_of(self.instance, self.schedule, after=after, before=before)

    def metrics_by(
        self,
        by: By,
        *,
        after: float | None = None,
        before: float | None = None,
        epoch: float | None = None,
        time_zone: str | None = None,
    ) -> pd.DataFrame:
        """Return the metrics of groups of jobs; see ``coalloc.results.metrics_by``.

        Parameters
        ----------
        by : {"user", "size", "hour"}
            The grouping.
        after : float or None, default None
            Begin of the interval, s.
        before : float or None, default None
            End of the interval, s.
        epoch : float or None, default None
            Unix time of time 0, s, for ``"hour"``.
        time_zone : str or None, default None
            Time zone of the site, for ``"hour"``.

        Returns
        -------
        pandas.DataFrame
            One row per group.
        """
        return metrics_by(
            self.instance, self.schedule, by, after=after, before=before, epoch=epoch, time_zone=time_zone
        )

    def __repr__(self) -> str:
        what = f"{plural(len(self.schedule), 'job')} of {quoted(self.instance.name)} under {quoted(self.policy)}"
        return f"<SimulationResult: {what}, makespan {self.metrics['makespan']:.12g} s>"

    def _repr_html_(self) -> str:
        return lines_table(self.lines()) + self.schedule.html(self.instance)

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) pairs that printing shows."""
        m = self.metrics
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        longest = 1e3 * m["decision_time_max"]
        unproven = f", {m['decisions_unproven']} decisions not proved optimal" if m.get("decisions_unproven") else ""
        lost = f"{m['interruptions']:.0f} interrupted, {number_text(m['lost_processor_seconds'])} processor s lost"
        saturated = f"{100 * m['saturated_share']:.1f} % of the jobs met link saturation"
        return [
            ("policy", f"{self.policy} ({options})" if options else self.policy),
            ("jobs", f"{len(self.schedule)}, {100 * m['coallocated_share']:.1f} % co-allocated"),
            ("makespan", f"{m['makespan']:.12g} s, utilization {100 * m['utilization']:.1f} %"),
            ("wait", distribution_text(m, "wait", "s")),
            ("response", distribution_text(m, "response", "s")),
            ("slowdown", f"bounded slowdown: {distribution_text(m, 'bounded_slowdown')}"),
            *([("runs", lost)] if m["interruptions"] else []),
            ("execution", f"continuous time, shared links; mean run time {excess_text(m)}, {saturated}"),
            ("decision", f"time: mean {1e3 * m['decision_time_mean']:.3g} ms, max {longest:.3g} ms{unproven}"),
        ]
