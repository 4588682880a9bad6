"""Metrics of groups of jobs: by user, by size, by the hour of the week in which they arrive.

A :class:`Grouping` says which group each job is in; what is measured of a group is what
:data:`coalloc.measures.metrics.JOB_METRICS` measures of all jobs. Only groups that have jobs are listed.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from coalloc.documents.arguments import public
from coalloc.documents.text import natural_order, quoted
from coalloc.instance import CoallocError, Instance
from coalloc.measures.metrics import arriving, job_metrics
from coalloc.schedule import Schedule
from coalloc.schedule.observed import Ints, Jobs, observe, placed_jobs

if TYPE_CHECKING:
    import pandas as pd

By = Literal["user", "size", "hour"]

SIZE_CLASSES = (1, 4, 16, 64)
"""Largest number of tasks of each class of sizes but the last, which has no limit: powers of 4."""

MONDAY = 4 * 86_400.0
"""The Unix time of a Monday at 0:00 in UTC, s: the clock's 0 unless another is given."""

LAST_EPOCH = 4e9
"""Latest Unix time of the clock's 0, s: in 2096, which leaves 160 years of arrivals to calendars."""

DAYS, HOURS = 7, 24
"""Of a week, of a day."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Group of each job: ``of_job`` indexes ``names``, which are in the order of reports."""

    names: Sequence[Hashable]
    of_job: Ints

    def taken(self, rows: Ints) -> Labels:
        """Return the labels of some jobs."""
        return Labels(self.names, self.of_job[rows])


@dataclass(frozen=True, slots=True)
class Week:
    """Time of the week: the Unix time (s) of the clock's 0, and the zone whose hours count."""

    epoch: float = MONDAY
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to group jobs: its definition, and the function that labels jobs."""

    definition: str
    labels: Callable[[Jobs, Sequence[str | None], Week], Labels]


@public
def metrics_by(
    instance: Instance,
    schedule: Schedule,
    by: By,
    *,
    after: float | None = None,
    before: float | None = None,
    epoch: float | None = None,
    time_zone: str | None = None,
) -> pd.DataFrame:
    """Compute the metrics of groups of jobs: by user, by job size or by hour of the week.

    Each group that has jobs is a row, with the metrics of jobs as columns. Numbers of jobs, processor-seconds,
    execution and response times add up to those of all jobs.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of the instance.
    by : {"user", "size", "hour"}
        ``"user"``: owner of the job. ``"size"``: class of the number of tasks (1, 2-4, 5-16, 17-64, 65+). ``"hour"``:
        hour of the week of the arrival, 0 (Monday 0:00) to 167.
    after : float or None, default None
        Only jobs with ``arrival >= after``, s. None: no limit.
    before : float or None, default None
        Only jobs with ``arrival < before``, s. None: no limit.
    epoch : float or None, default None
        For ``"hour"``: Unix time of time 0, s, as in the header of a trace (``UnixStartTime``) whose arrivals are not
        shifted. None: a Monday 0:00 UTC.
    time_zone : str or None, default None
        For ``"hour"``: time zone of the site, such as ``"Europe/Stockholm"``, with its summer time. None: UTC.

    Returns
    -------
    pandas.DataFrame
        One row per group that has jobs: a column named like the grouping, then the metrics of jobs.

    Raises
    ------
    CoallocError
        No job arrives in the interval, the time zone is unknown, or the schedule does not fit the instance.

    See Also
    --------
    coalloc.metrics : Metrics of all jobs.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.simulate(instance, "fcfs").schedule
    >>> table = coalloc.results.metrics_by(instance, schedule, "size")
    >>> table[["size", "jobs", "wait_mean"]]
      size  jobs  wait_mean
    0    1     1      200.0
    1  2-4     2      100.0
    """
    import pandas as pd

    week = week_of(by, epoch, time_zone)
    observed = observe(instance, schedule)
    rows = arriving(observed.jobs.arrival, after, before)
    placed = placed_jobs(instance, schedule)
    jobs, users = observed.jobs.taken(rows), [placed[row].user for row in rows.tolist()]
    labels = GROUPINGS[by].labels(jobs, users, week)
    groups, index = np.unique(labels.of_job, return_inverse=True)
    first = np.searchsorted(np.sort(index), np.arange(len(groups)))
    names = [labels.names[group] for group in groups.tolist()]
    metrics = job_metrics(jobs.taken(np.argsort(index, kind="stable"), first))
    return pd.DataFrame({by: names} | metrics).astype({"jobs": int})


def week_of(by: By, epoch: float | None, time_zone: str | None) -> Week:
    """Return the week of the clock; raises where no hours are asked for, or there is no such zone."""
    if by != "hour" and (epoch is not None or time_zone is not None):
        given = "epoch" if epoch is not None else "time_zone"
        raise CoallocError(f"{given} requires by='hour', got by={by!r}")
    if epoch is not None and not 0.0 <= epoch <= LAST_EPOCH:
        raise CoallocError(f"epoch must be a Unix time from 0 to {LAST_EPOCH:g} s, got {epoch:g}")
    week = Week(MONDAY if epoch is None else epoch, "UTC" if time_zone is None else time_zone)
    try:
        zoneinfo.ZoneInfo(week.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise CoallocError(f"unknown time zone {quoted(week.time_zone)}; use a name such as Europe/Stockholm") from None
    return week


# ------------------------------------------------------------------------------ the groupings


def _by_user(_: Jobs, users: Sequence[str | None], __: Week) -> Labels:
    return name_labels(users)


def name_labels(of_jobs: Sequence[str | None]) -> Labels:
    """Return the labels of jobs that have names, in natural order; those without one are the last."""
    known = sorted({name for name in of_jobs if name is not None}, key=lambda name: (natural_order(name), name))
    names: list[str | None] = [*known, None]
    index = {name: number for number, name in enumerate(names)}
    return Labels(names, np.fromiter((index[name] for name in of_jobs), np.int64, len(of_jobs)))


def _by_size(jobs: Jobs, _: Sequence[str | None], __: Week) -> Labels:
    return size_labels(jobs.processors)


def size_labels(processors: Ints) -> Labels:
    """Return the class of sizes that each number of processors is in."""
    return Labels(_size_names(), np.searchsorted(SIZE_CLASSES, processors).astype(np.int64))


def _size_names() -> list[str]:
    """Return the names of the classes of sizes: ``1``, ``2-4``, ..., ``65+``."""
    smallest = [1, *(largest + 1 for largest in SIZE_CLASSES)]
    names = [str(low) if low == high else f"{low}-{high}" for low, high in zip(smallest, SIZE_CLASSES, strict=False)]
    return [*names, f"{smallest[-1]}+"]


def _by_hour(jobs: Jobs, _: Sequence[str | None], week: Week) -> Labels:
    import pandas as pd

    try:
        local = pd.to_datetime(week.epoch + jobs.arrival, unit="s", utc=True).tz_convert(week.time_zone)
    except (pd.errors.OutOfBoundsDatetime, OverflowError):
        raise CoallocError(f"epoch {week.epoch:g} s puts arrivals outside the calendar") from None
    return Labels(range(DAYS * HOURS), (HOURS * local.day_of_week + local.hour).to_numpy(dtype=np.int64))


GROUPINGS: Mapping[By, Grouping] = {
    "user": Grouping("The user u_j of the job; missing for jobs without user.", _by_user),
    "size": Grouping(f"The size class of m_j: {', '.join(_size_names())}.", _by_size),
    "hour": Grouping(
        "The hour of the week, 0 (Monday 0:00 to 1:00) to 167, at epoch + r_j in the time zone.", _by_hour
    ),
}
"""The ways to group jobs, by the name of their column."""
