"""Queue, processors, links and power of a schedule as step functions of time, each with its definition.

Symbols are those of :mod:`coalloc.measures.metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coalloc.documents.arguments import public
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import is_metered
from coalloc.instance.rounding import TIME_PRECISION
from coalloc.power.meter import Idle, power_curve
from coalloc.schedule import Schedule
from coalloc.schedule.observed import Floats, Ints, Observed, observe, stepwise

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 10_000_000
"""Most steps of equal length into which the time of a schedule is cut."""


LOAD, SHARE = "load:", "share:"
"""Prefixes of the names of the columns of a link."""


class Kind(NamedTuple):
    """Meaning of a column: its unit and its definition."""

    unit: str
    definition: str


COLUMNS: Mapping[str, Kind] = {
    "start": Kind("s", "Time t from which the row holds: the origin, or a time at which something changes."),
    "end": Kind("s", "The start of the next row; the maximum of e_j in the last."),
    "queue_length": Kind("jobs", "Number of jobs with r_j <= t < f_j, or that wait after a lost run."),
    "waiting_processors": Kind("processors", "Sum of m_j over the jobs that wait at t."),
    "running_jobs": Kind("jobs", "Number of jobs that run at t, also in interrupted runs; running jobs start at 0."),
    "busy_processors": Kind("processors", "Sum of m_j over the jobs that run at t."),
    f"{LOAD}LINK": Kind("MB/s", "Sum of the loads of the jobs that run at t on the link."),
    f"{SHARE}LINK": Kind("-", "load / bandwidth of the link; above 1 it is saturated; infinite without bandwidth."),
    "power": Kind("W", "Electric power of the platform at t; only if nodes have watts or clusters power states."),
}
"""Every column by name; LINK stands for the name of each link, that of its cluster or switch."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Step functions of time: ``columns[name][i]`` holds from ``instants[i]`` to ``instants[i + 1]``, s."""

    instants: Floats
    columns: Mapping[str, Floats]

    @property
    def span(self) -> float:
        """Length of the time, s."""
        return float(self.instants[-1] - self.instants[0])

    @property
    def num_steps(self) -> int:
        """Number of steps."""
        return len(self.instants) - 1

    def averaged(self, every: float) -> Usage:
        """Return the means over steps of ``every`` s, the last of which may be shorter; the integrals stay.

        Raises :class:`CoallocError` where ``every`` is not above 0, or cuts the time into more than 10,000,000.
        """
        return self._over_steps(every, step_means)

    def peaks(self, every: float) -> Usage:
        """Return the maxima over the same steps; raises as :meth:`averaged`."""
        return self._over_steps(every, step_peaks)

    def _over_steps(self, every: float, summed_up: Callable[[Floats, Floats, Floats], Floats]) -> Usage:
        if every <= 0.0:
            raise CoallocError(f"every must be above 0 s, got {every:g}")
        if not self.num_steps:
            return self
        edges = _edges(float(self.instants[0]), float(self.instants[-1]), every)
        values = summed_up(self.instants, np.array(list(self.columns.values())), edges)
        return Usage(edges, dict(zip(self.columns, values, strict=True)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: start, end (s), then the columns."""
        import pandas as pd

        return pd.DataFrame({"start": self.instants[:-1], "end": self.instants[1:]} | dict(self.columns))


@public
def series(
    instance: Instance,
    schedule: Schedule,
    every: float | None = None,
    *,
    idle: Idle = "always",
    power_management: bool = False,
) -> pd.DataFrame:
    """Compute queue length, busy processors, link loads and power over time.

    A row begins where a job arrives, starts or ends, or the power changes, from the origin to the last end; times
    within the time tolerance are one. With ``every`` each row lasts so many seconds, the last perhaps less, and has
    the means over its time, which keep every integral.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of the instance that passes ``coalloc.check``.
    every : float or None, default None
        Length of the rows, s: each holds the means over its interval. None: one row per change.
    idle : {"always", "from-first-use"}, default "always"
        Power of idle nodes, as for ``coalloc.energy``.
    power_management : bool, default False
        Whether clusters with power states are switched on and off, as for ``coalloc.energy``.

    Returns
    -------
    pandas.DataFrame
        ``start`` and ``end`` of each row (s), then the columns that docs/metrics.md defines.

    Raises
    ------
    CoallocError
        ``every`` is not positive or gives more than 10,000,000 rows, or the schedule does not fit the instance.

    See Also
    --------
    coalloc.plot.series_plot : Draw the series.

    Notes
    -----
    The integral of a column is the sum of its values times ``end - start``: that of ``power`` is the energy. Over the
    whole run the mean of ``queue_length`` is the metric ``queue_length_mean``, and that of ``busy_processors`` is
    ``utilization`` times the number of processors. A switch with the name of a cluster gets a prime (``load:S'``).

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.simulate(instance, "fcfs").schedule
    >>> table = coalloc.results.series(instance, schedule)
    >>> table[["start", "end", "queue_length", "busy_processors"]]
       start    end  queue_length  busy_processors
    0    0.0  200.0           2.0              2.0
    1  200.0  360.0           0.0              4.0
    2  360.0  455.0           0.0              3.0
    """
    usage = usage_of(instance, schedule, idle, power_management)
    return (usage if every is None else usage.averaged(every)).to_frame()


def usage_of(instance: Instance, schedule: Schedule, idle: Idle = "always", power_management: bool = False) -> Usage:
    """Return a schedule as step functions of time."""
    observed = observe(instance, schedule)
    jobs, running, again = observed.jobs, observed.running, observed.waiting
    power = None
    if power_management or (is_metered(instance.platform) and not instance.shares_nodes):
        power = power_curve(instance, schedule, idle, power_management=power_management)
    times = [jobs.arrival, jobs.start, jobs.end, running.start, np.minimum(running.end, observed.finish)]
    times += [jobs.first_start, again.start, again.end]
    edges = [observed.begin, observed.finish, *(() if power is None else power.instants)]
    instants, index = instance.time_base.merged(np.concatenate([*times, edges]))
    arrival, start, end, running_start, running_end, first_start, again_start, again_end, _ = np.split(
        index, np.cumsum([len(column) for column in times])
    )
    waits = np.concatenate([arrival, again_start]), np.concatenate([first_start, again_end])
    waiting = np.concatenate([jobs.processors, again.processors])
    runs = np.concatenate([start, running_start]), np.concatenate([end, running_end])
    processors = np.concatenate([jobs.processors, running.processors])
    until = instants[1:]  # a change that was merged into an instant is before the next one
    columns = {
        "queue_length": _number(waits, np.ones(len(waiting)), len(instants)),
        "waiting_processors": _number(waits, waiting, len(instants)),
        "running_jobs": _number(runs, np.ones(len(processors)), len(instants)),
        "busy_processors": _number(runs, processors, len(instants)),
        **_of_links(observed, until),
    }
    if power is not None:
        columns["power"] = power.total[np.searchsorted(power.instants, until, side="left") - 1]
    return Usage(instants, columns)


def step_means(instants: Floats, values: Floats, edges: Floats) -> Floats:
    """Return the means of step functions between edges of the same span; their integrals there stay.

    ``values[k, i]`` holds from ``instants[i]`` to ``instants[i + 1]``. Shape ``(num_functions, num_edges - 1)``.
    """
    refined = np.union1d(instants, edges)
    integrals = _refined(instants, values, refined) * np.diff(refined)
    sums = np.add.reduceat(integrals, np.searchsorted(refined, edges[:-1]), axis=1)
    return np.asarray(sums / np.diff(edges), dtype=np.float64)


def step_peaks(instants: Floats, values: Floats, edges: Floats) -> Floats:
    """Return the maxima of step functions between edges; arguments and shape as of :func:`step_means`."""
    refined = np.union1d(instants, edges)
    first = np.searchsorted(refined, edges[:-1])
    return np.asarray(np.maximum.reduceat(_refined(instants, values, refined), first, axis=1), dtype=np.float64)


def _refined(instants: Floats, values: Floats, refined: Floats) -> Floats:
    """Return the values of step functions in finer steps of the same span."""
    return np.asarray(values[:, np.searchsorted(instants, refined[:-1], side="right") - 1], dtype=np.float64)


def _number(spans: tuple[Ints, Ints], amounts: Floats | Ints, num_instants: int) -> Floats:
    """Return a sum of whole numbers from each instant to the next."""
    return stepwise(spans, amounts.astype(np.float64), num_instants)[:-1]


def _of_links(observed: Observed, until: Floats) -> dict[str, Floats]:
    """Return load (MB/s) and share of each link in the steps that end at these instants."""
    loads = observed.links.before(until)
    shares = observed.links.shares(loads)
    named = zip(observed.links.names, loads, shares, strict=True)
    return {key: values for name, *both in named for key, values in zip((LOAD + name, SHARE + name), both, strict=True)}


def _edges(begin: float, finish: float, every: float) -> Floats:
    """Return where steps of equal length begin and end, s."""
    length = min(every, finish - begin)
    num_steps = (finish - begin) / length * (1.0 - TIME_PRECISION)
    if num_steps > MAX_STEPS:
        raise CoallocError(
            f"every={every:g} s divides {finish - begin:.12g} s into {num_steps:.3g} steps, above the limit of "
            f"{MAX_STEPS}; use longer steps"
        )
    return np.append(begin + length * np.arange(math.ceil(num_steps)), finish)
