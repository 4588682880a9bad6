"""From traces of sites to weeks of a grid: filtered, put onto the clock of one broker, merged and cut at Mondays.

Source: Aragón Ayala (2012), section 5.1.1; :func:`merge_swf` says what is decided where the source leaves it open.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coalloc.documents.arguments import public
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import FilePath, compressed, write_together
from coalloc.documents.strict_json import layout
from coalloc.documents.text import quoted, visible
from coalloc.documents.values import unchecked
from coalloc.documents.wording import plural
from coalloc.instance import CoallocError, Fault, Instance, InstanceError, Job
from coalloc.instance.files import INSTANCE
from coalloc.workloads.grids import Speeds
from coalloc.workloads.swf import Broken, with_remedy
from coalloc.workloads.swf_records import MAX_FAULTS, SwfRecord, read_records
from coalloc.workloads.swf_writing import swf_text
from coalloc.workloads.weeks.account import MergeAccount, TraceAccount, WeekAccount
from coalloc.workloads.weeks.filters import WeekDrop, dropped_by
from coalloc.workloads.weeks.spec import DAY, MAX_WEEKS, WEEK, MergePlan, WeekTrace, planned

MONDAY = 4 * DAY
"""Unix time of a Monday 0:00: 5 January 1970."""

LONGEST = MAX_WEEKS * WEEK
"""Most that a job may request, s: sums stay finite."""

_checked_job = unchecked(Job)
"""A job of what the filters let pass: they keep all that the fields of a job ask for."""


class LoggedJob(NamedTuple):
    """Kept part of a valid record; times in s."""

    number: int
    submit: float
    tasks: int
    run: float
    request: float
    user: int


@dataclass(frozen=True, slots=True)
class TraceLog:
    """Content of a trace: its valid jobs in the order of the file, and how many records were dropped by each rule.

    ``monday`` is when its first week begins, s on its own clock; ``whole_weeks`` is how many it has from there.
    """

    trace: WeekTrace
    jobs: Sequence[LoggedJob]
    records: int
    num_broken: int
    dropped: Counter[WeekDrop]
    monday: float
    whole_weeks: int


@dataclass(frozen=True, slots=True)
class MergedWeeks:
    r"""The result of ``coalloc.io.merge_swf``: weekly instances, and a report of every job of the traces.

    Attributes
    ----------
    weeks : tuple of Instance
        The weeks; the time 0 of each is its Monday 0:00.
    account : MergeAccount
        Report of dropped and modified jobs, as ``markdown`` and ``json``.

    Examples
    --------
    One site, with a job every twelve hours for a month:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> job = "{} {} -1 600 4 -1 -1 4 900 -1 1 1 1 -1 1 1 -1 -1"
    >>> jobs = [job.format(n, 43_200 * n) for n in range(1, 60)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "kth.swf"
    ...     _ = path.write_text("\n".join(jobs))
    ...     trace = {"swf": str(path), "site": "KTH", "start": 345_600, "time_zone": 0}
    ...     merged = coalloc.io.merge_swf(
    ...         {"platform": "grid1", "name": "month", "traces": [trace]}
    ...     )
    >>> sorted(merged.files())
    ['account.json', 'account.md', 'week-01.json.gz', 'week-02.json.gz']
    """

    weeks: tuple[Instance, ...]
    account: MergeAccount

    def files(self, swf: bool = False) -> dict[str, bytes]:
        """Return the files by name: one instance per week, with ``swf`` also one trace per week, and the report.

        Parameters
        ----------
        swf : bool, default False
            Whether to include traces.

        Returns
        -------
        dict of str to bytes
            Contents by name: ``week-01.json.gz``, ..., ``account.json`` and ``account.md``.
        """
        files = {}
        for number, week in enumerate(self.weeks, start=1):
            stem = f"week-{number:02d}"
            files[f"{stem}.json.gz"] = compressed((layout(document_of(week, INSTANCE)) + "\n").encode())
            if swf:
                files[f"{stem}.swf.gz"] = compressed(swf_text(week)[0].encode())
        return files | {"account.json": self.account.json.encode(), "account.md": self.account.markdown.encode()}

    def write(self, folder: FilePath, swf: bool = False, others: Mapping[str, bytes] | None = None) -> None:
        """Write the files into a folder.

        Parameters
        ----------
        folder : str or PathLike
            The folder.
        swf : bool, default False
            Whether to write traces as well.
        others : mapping of str to bytes or None, default None
            Further files, by name.

        Raises
        ------
        CoallocError
            The files cannot be written, or the folder holds other weeks.
        """
        files = {**self.files(swf), **(others or {})}
        foreign = sorted({path.name for path in Path(folder).glob("week-*")} - files.keys())
        if foreign:
            whose = f"{foreign[0]}, which is not one of the weeks to write"
            raise CoallocError(f"{visible(os.fspath(folder))}: contains {visible(whose)}; choose another folder")
        write_together(folder, files)


@public
def merge_swf(
    spec: FilePath | Mapping[str, Any], *, speeds: Speeds | None = None, broken: Broken = "error"
) -> MergedWeeks:
    r"""Merge traces of several sites into weekly instances of a grid, with a report of every job.

    Parameters
    ----------
    spec : str or PathLike or mapping
        A TOML file, or a mapping with its keys (docs/grid.md): the platform and the trace of each site.
    speeds : {"site", "processor", "origin"} or None, default None
        Speeds of the sites, instead of those in the specification.
    broken : {"error", "drop"}, default "error"
        Unreadable lines of a trace: raise an error, or drop and count them.

    Returns
    -------
    coalloc.workloads.weeks.merging.MergedWeeks
        ``weeks``, instances with job ids such as ``KTH-17`` and arrivals in s from Monday 0:00, and ``account``, the
        report as ``markdown`` and ``json``. ``write(folder)`` writes all files.

    Raises
    ------
    InstanceError
        The specification or a trace is not valid. All validation errors are reported together, each with its path.

    See Also
    --------
    coalloc.studies.grid_study : Run strategies of a broker on the weeks.

    Notes
    -----
    Source: the two-level grid study, section 5.1.1; errata 33 and 40.

    A job is dropped by the first of these filters that applies, with the field of the trace; a *valid* job passes a to
    i. Another partition (16) than those named; a: a job number (1) of 0 or less; b: a submit time (2) below 0; c: a run
    time (4), d: allocated processors (5), e: a requested time (9), f: a user (12) of 0 or less; g, h, i: status (11) 0
    (failed), 4 (failed in its last part), 5 (cancelled); more processors than every site has; an arrival before the
    first Monday, or after the last week.

    A time is Unix time + the time zone of the broker, the least of all traces, without daylight saving. Each trace
    begins at the first Monday 0:00 at or after its first valid job + the warm-up; all these Mondays become time 0. A
    trace covers the days up to that of its last valid job, so its last whole week ends with its last Sunday.

    Tasks are the allocated processors, and the estimate is the requested time, which also limits the run time. Users
    are numbered from 1, trace by trace. Jobs that arrive together are in the order of the traces, then of the file.

    The report has for each trace the records, what each filter dropped, cut run times, jobs, users, the first Monday
    and its whole weeks; for each week jobs, users, work = sum of tasks times reference run time, and offered load =
    work / (604,800 s times the sum of m_i v_i), with m_i processors of speed v_i at site i; for each day the work of
    the jobs that arrive on it, by months of 30 days from time 0.

    Examples
    --------
    One site, with a job every twelve hours for a month:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> job = "{} {} -1 600 4 -1 -1 4 900 -1 1 1 1 -1 1 1 -1 -1"
    >>> jobs = [job.format(n, 43_200 * n) for n in range(1, 60)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "kth.swf"
    ...     _ = path.write_text("\n".join(jobs))
    ...     trace = {"swf": str(path), "site": "KTH", "start": 345_600, "time_zone": 0}
    ...     spec = {"platform": "grid1", "name": "month", "traces": [trace]}
    ...     merged = coalloc.io.merge_swf(spec)
    >>> [len(week.jobs) for week in merged.weeks]
    [14, 14]
    """
    plan = planned(spec, speeds)
    logs = _logs(plan, broken)
    merging = _Merging(plan, _num_weeks(plan, logs))
    traces = [merging.add(log) for log in logs]
    weeks = merging.instances()
    return MergedWeeks(weeks, _account(plan, traces, weeks))


# ------------------------------------------------------------------------------ reading


def _logs(plan: MergePlan, broken: Broken) -> list[TraceLog]:
    """Return what the traces hold, or raise the faults of all of them."""
    readings = [_Reading(trace, plan, broken) for trace in plan.traces]
    for reading in readings:
        reading.read()
    faults = [fault.under(f"traces[{number}]") for number, reading in enumerate(readings) for fault in reading.faults]
    if faults:
        raise InstanceError(faults, plan.source)
    return [reading.log() for reading in readings]


@dataclass(slots=True)
class _Reading:
    """A trace while it is read; ``first`` and ``last`` are when its first and last valid job arrive, s."""

    trace: WeekTrace
    plan: MergePlan
    broken: Broken
    jobs: list[LoggedJob] = field(default_factory=list)
    dropped: Counter[WeekDrop] = field(default_factory=Counter)
    partitions: set[int] = field(default_factory=set)
    records: int = 0
    num_broken: int = 0
    first: float = math.inf
    last: float = -math.inf
    faults: list[Fault] = field(default_factory=list)

    def read(self) -> None:
        """Read all of it, and note what is wrong with it."""
        name, unreadable = quoted(self.trace.spec.swf), list[Fault]()
        try:
            for item in read_records(self.trace.path, unnumbered=True):
                if isinstance(item, SwfRecord):
                    self.add(item)
                else:
                    self.num_broken += 1
                    if len(unreadable) < MAX_FAULTS:
                        unreadable.append(Fault("swf", f"{name}: {item}"))
            if unreadable and self.broken == "error":
                self.faults = [*with_remedy(unreadable), *self.faults]
        except InstanceError as error:
            self.faults = [Fault("swf", f"{name}: {fault}") for fault in error.faults]
        self.faults = self.faults or self.missing()

    def add(self, record: SwfRecord) -> None:
        """Count a record, and keep its job if it is valid."""
        self.records += 1
        self.partitions.add(record.partition)
        drop = self.drop_of(record)
        if drop is not None:
            self.dropped[drop] += 1
            return
        processors, request = record.allocated_processors, record.requested_time
        if request > LONGEST and len(self.faults) < MAX_FAULTS:
            where = f"{quoted(self.trace.spec.swf)}: job {record.number}"
            self.faults.append(Fault("swf", f"{where} must request at most {LONGEST} s, got {request:g} s"))
        self.jobs.append(LoggedJob(record.number, record.submit, processors, record.run, request, record.user))

    def drop_of(self, record: SwfRecord) -> WeekDrop | None:
        """Return why a record is in no week, whenever it came; None where it may be in one."""
        wanted = self.trace.spec.partitions
        drop = WeekDrop.PARTITION if wanted is not None and record.partition not in wanted else dropped_by(record)
        if drop is not None:
            return drop
        self.first, self.last = min(self.first, record.submit), max(self.last, record.submit)
        return WeekDrop.TOO_LARGE if record.allocated_processors > self.plan.largest_site else None

    def missing(self) -> list[Fault]:
        """Return what the trace should hold and does not."""
        faults = [
            Fault(f"partitions[{place}]", f"must be the partition of a job of the trace, got {partition}")
            for place, partition in enumerate(self.trace.spec.partitions or ())
            if partition not in self.partitions
        ]
        name = quoted(self.trace.spec.swf)
        if not faults and not self.jobs:
            faults.append(Fault("swf", f"{name}: no job passes the filters and fits on a site"))
        if self.last > MAX_WEEKS * WEEK:
            faults.append(
                Fault("swf", f"{name}: must span at most {MAX_WEEKS} weeks, got an arrival at {self.last:g} s")
            )
        return faults

    def log(self) -> TraceLog:
        """Return what was read."""
        offset = self.trace.start + self.plan.time_zone - MONDAY
        monday = math.ceil((self.first + self.plan.spec.warmup_days * DAY + offset) / WEEK) * WEEK - offset
        # A trace covers the day of its last valid job: its last whole week ends with its last Sunday.
        covered = (math.floor((self.last + offset) / DAY) + 1) * DAY - offset
        whole_weeks = max(0, int((covered - monday) // WEEK))
        return TraceLog(self.trace, self.jobs, self.records, self.num_broken, self.dropped, monday, whole_weeks)


def _num_weeks(plan: MergePlan, logs: Sequence[TraceLog]) -> int:
    """Return how many weeks there are to cut; raises where a trace has fewer."""
    wanted = plan.spec.weeks or max(1, min(log.whole_weeks for log in logs))
    faults = []
    for number, log in enumerate(logs):
        if log.whole_weeks < wanted:
            sentence = f"must have {plural(wanted, 'whole week')} from {_date(log, plan)} on, got {log.whole_weeks}"
            faults.append(Fault(f"traces[{number}]", sentence))
    if faults:
        raise InstanceError(faults, plan.source)
    return wanted


def _date(log: TraceLog, plan: MergePlan) -> str:
    """Return the first Monday of a trace on the clock of the broker (``1996-10-07``)."""
    return datetime.fromtimestamp(log.monday + log.trace.start + plan.time_zone, UTC).date().isoformat()


# ------------------------------------------------------------------------------ merging


class _Merging:
    """Weeks while the traces are merged into them, one after the other."""

    def __init__(self, plan: MergePlan, num_weeks: int) -> None:
        self._plan = plan
        self._weeks: list[list[Job]] = [[] for _ in range(num_weeks)]
        self._num_users = 0

    def add(self, log: TraceLog) -> TraceAccount:
        """Add the jobs of a trace that are in the weeks, and return its account."""
        trace, end = log.trace, len(self._weeks) * WEEK
        dropped = Counter(log.dropped)
        users: dict[int, str] = {}
        jobs = cut = 0
        for job in log.jobs:
            since = job.submit - log.monday
            if not 0 <= since < end:
                dropped[WeekDrop.BEFORE if since < 0 else WeekDrop.AFTER] += 1
                continue
            user = users.setdefault(job.user, str(self._num_users + len(users) + 1))
            week, arrival = divmod(since, WEEK)
            self._weeks[int(week)].append(_job(job, trace, arrival, user))
            jobs += 1
            cut += job.run > job.request
        self._num_users += len(users)
        return TraceAccount(
            site=trace.spec.site,
            swf=trace.spec.swf,
            start=trace.start,
            time_zone=trace.time_zone,
            first_monday=_date(log, self._plan),
            whole_weeks=log.whole_weeks,
            records=log.records,
            broken=log.num_broken,
            dropped={drop: dropped[drop] for drop in WeekDrop},
            cut=cut,
            jobs=jobs,
            users=len(users),
        )

    def instances(self) -> tuple[Instance, ...]:
        """Return the weeks; jobs that arrive together are in the order of the traces, and there of the file."""
        name, platform = self._plan.name, self._plan.platform
        return tuple(
            Instance(platform, sorted(jobs, key=lambda job: job.arrival), name=f"{name}-week-{number:02d}")
            for number, jobs in enumerate(self._weeks, start=1)
        )


def _job(job: LoggedJob, trace: WeekTrace, arrival: float, user: str) -> Job:
    """Return a job of a week; its run time is cut to its request."""
    make = _checked_job if trace.factor == 1.0 else Job  # times that are multiplied need to be looked at
    return make(
        f"{trace.spec.site}-{job.number}",
        job.tasks,
        min(job.run, job.request) * trace.factor,
        1.0,
        0.0,
        arrival,
        job.request * trace.factor,
        user,
        None,
        None,
        1.0,
        None,
    )


# ------------------------------------------------------------------------------ the account


def _account(plan: MergePlan, traces: Sequence[TraceAccount], weeks: Sequence[Instance]) -> MergeAccount:
    capacity = WEEK * plan.platform.total_power
    return MergeAccount(
        name=plan.name,
        platform=plan.spec.platform,
        sites=len(plan.platform.clusters),
        without_trace=tuple(
            cluster.name for cluster in plan.platform.clusters if cluster.name not in {trace.site for trace in traces}
        ),
        processors=plan.platform.num_processors,
        speeds=plan.spec.speeds,
        warmup_days=plan.spec.warmup_days,
        time_zone=plan.time_zone,
        jobs=sum(trace.jobs for trace in traces),
        users=sum(trace.users for trace in traces),
        traces=tuple(traces),
        weeks=tuple(_week_account(week, capacity) for week in weeks),
        work_by_day=tuple(work for week in weeks for work in _work_by_day(week)),
    )


def _week_account(week: Instance, capacity: float) -> WeekAccount:
    work = math.fsum(job.tasks * job.base_time for job in week.jobs)
    return WeekAccount(week.name, len(week.jobs), len({job.user for job in week.jobs}), work, work / capacity)


def _work_by_day(week: Instance) -> list[float]:
    """Return the work of the jobs that arrive on each day of a week, processor s."""
    works: list[list[float]] = [[] for _ in range(WEEK // DAY)]
    for job in week.jobs:
        works[int(job.arrival // DAY)].append(job.tasks * job.base_time)
    return [math.fsum(parts) for parts in works]
