"""From the accounting export of Slurm to an instance, with an account of every record that is dropped or changed.

What a record says is in :mod:`coalloc.workloads.slurm.sacct_records`; processors and times are ruled as for traces in
the Standard Workload Format (:mod:`coalloc.workloads.swf_rules`).
"""

from __future__ import annotations

import functools
import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from coalloc.documents.arguments import public
from coalloc.documents.columns import Columns
from coalloc.documents.storage import FilePath
from coalloc.documents.text import visible
from coalloc.instance import Fault, Instance, InstanceError, Job, Platform
from coalloc.system.garbage import no_collection
from coalloc.workloads.slurm.sacct_records import RecordDrop, RecordLine, SacctRecord, Unit, read_records
from coalloc.workloads.slurm.values import UNKNOWN
from coalloc.workloads.swf import Broken, chosen_platform, no_jobs, with_remedy
from coalloc.workloads.swf_records import MAX_FAULTS, SwfRecord
from coalloc.workloads.swf_rules import Oversize, RecordChange, SwfJob, apply_rules, counted

LOGGER = logging.getLogger(__name__)

MEMBERSHIPS = ("Account", "Partition", "QOS")
"""Fields of an export that say to what a job belongs."""

Memberships = tuple[str | None, ...]

NOTHING_KNOWN = SwfRecord(0, 0.0, *[-1] * 16)


class Arrival(StrEnum):
    """Why a job does not arrive when it was submitted."""

    ELIGIBLE = "arrival set to the eligible time, which is later than the submission"
    MOVED = "arrival set to the start, which is earlier than the submission or the eligible time"


@dataclass(frozen=True, slots=True)
class SacctOptions:
    """Options of reading an export.

    Parameters
    ----------
    unit
        A processor of the platform is one of Slurm's ``"cpus"``, or one of its ``"nodes"``.
    partition
        The jobs of this partition alone; None: all.
    oversize
        ``"drop"`` jobs with more processors than the platform has, or ``"clip"`` them to all it has.
    broken
        ``"error"``, or ``"drop"`` lines that cannot be read.
    name
        Name of the instance; None: that of the file.
    """

    unit: Unit = "cpus"
    partition: str | None = None
    oversize: Oversize = "drop"
    broken: Broken = "error"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SacctReport:
    """Report on an export that was read.

    ``dropped`` counts records by reason, ``changed`` jobs of the instance; ``broken`` are the first of ``num_broken``
    lines that were left out. ``epoch`` is the clock's 0 in s since 1970 on the clock of the export; ``starts`` are when
    the jobs of the instance started, s.
    """

    source: str
    num_records: int
    num_jobs: int
    dropped: Mapping[str, int]
    changed: Mapping[str, int]
    broken: Sequence[Fault]
    num_broken: int
    epoch: float
    starts: Sequence[float]
    memberships: Mapping[str, Sequence[str | None]]

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for the whole, one for each kind of change, and one for each broken line named."""
        whole = f"{counted(self.num_records, 'record')} read, {self.num_jobs} in the instance"
        dropped = [f"{counted(count, 'record')} dropped: {reason}" for reason, count in self.dropped.items()]
        changed = [f"{counted(count, 'job')} changed: {reason}" for reason, count in self.changed.items()]
        lines = [f"{counted(self.num_broken, 'malformed line')} skipped"] if self.num_broken else []
        return (whole, *dropped, *changed, *lines, *(str(fault) for fault in self.broken))

    def __str__(self) -> str:
        return "\n".join(f"{visible(self.source)}: {sentence}" for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class _Ruled:
    """A record and the job that the rules make of it."""

    record: SacctRecord
    job: SwfJob
    arrival: float
    memberships: Memberships


@dataclass(slots=True)
class _Reading:
    """An export while it is read: the last run of each job, and what was dropped."""

    source: str
    platform: Platform
    options: SacctOptions
    records: dict[str, tuple[SacctRecord, Memberships]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    broken: list[Fault] = field(default_factory=list)
    num_broken: int = 0
    num_records: int = 0

    def read(self, records: Iterable[RecordLine]) -> None:
        """Read all; raise where lines are broken and may not be."""
        for line in records:
            found = line.found
            if isinstance(found, Fault):
                self.note_broken(found)
                continue
            self.num_records += 1
            if isinstance(found, RecordDrop):
                self.dropped[found] += 1
            elif found.run is None:
                self.dropped[RecordDrop.STILL_RUNNING] += 1
            else:
                self.add(found, _memberships(line.fields))
        if self.broken and self.options.broken == "error":
            raise InstanceError(with_remedy(self.broken), self.source)

    def note_broken(self, fault: Fault) -> None:
        """Count a broken line, and remember the first few."""
        self.num_broken += 1
        if len(self.broken) < MAX_FAULTS:
            self.broken.append(fault)

    def add(self, record: SacctRecord, memberships: Memberships) -> None:
        """Keep the last run of a job."""
        before = self.records.get(record.id)
        if before is not None:
            self.dropped[RecordDrop.REQUEUED] += 1
        if before is None or record.start >= before[0].start:
            self.records[record.id] = record, memberships

    def ruled(self) -> list[_Ruled]:
        """Return the jobs in the order of their arrivals."""
        jobs = [ruled for found in self.records.values() if (ruled := self._ruled(*found))]
        return sorted(jobs, key=lambda ruled: ruled.arrival)

    def _ruled(self, record: SacctRecord, memberships: Memberships) -> _Ruled | None:
        """Return the job of a record, None where it is dropped."""
        job, changes = apply_rules(
            as_swf(record), self.platform.num_processors, invalid="drop", oversize=self.options.oversize
        )
        if job is None:
            self.dropped.update(changes)
            return None
        asked = max(record.submit, record.eligible)
        self.changed.update(changes)
        self.changed.update([Arrival.ELIGIBLE] if record.submit < asked <= record.start else [])
        self.changed.update([Arrival.MOVED] if asked > record.start else [])
        return _Ruled(record, job, min(asked, record.start), memberships)


@functools.cache
def _known(name: str) -> str | None:
    """Return a name, the same object for all jobs that have it; None where there is none."""
    return None if name in UNKNOWN else name


def _memberships(fields: Mapping[str, str]) -> Memberships:
    """Return to what the job of a record belongs."""
    return tuple(_known(fields.get(name, "")) for name in MEMBERSHIPS)


def as_swf(record: SacctRecord) -> SwfRecord:
    """Return what the rules look at."""
    limit = -1.0 if record.limit is None else record.limit
    run, unknown = record.run or 0.0, NOTHING_KNOWN[9:]
    return SwfRecord(0, record.submit, -1, run, record.allocated, -1, -1, record.requested, limit, *unknown)


def read_sacct_with_report(
    path: FilePath, platform: Platform, options: SacctOptions = SacctOptions()
) -> tuple[Instance, SacctReport]:
    """Return the instance of an export on a platform, and the account of what was dropped and changed.

    Raises
    ------
    InstanceError
        The file cannot be read, is none, lacks fields, or has lines that are broken (see ``SacctOptions.broken``).
    """
    return log_of_records(read_records(os.fspath(path), options.unit, options.partition), path, platform, options)


def log_of_records(
    records: Iterable[RecordLine], path: FilePath, platform: Platform, options: SacctOptions
) -> tuple[Instance, SacctReport]:
    """Return the instance of the records in a file on a platform, and the account of what was dropped and changed."""
    reading = _Reading(os.fspath(path), platform, options)
    with no_collection():
        reading.read(records)
    jobs, columns = reading.ruled(), no_jobs() | {"memory": []}
    epoch = min((ruled.arrival for ruled in jobs), default=0.0)
    for ruled in jobs:
        job = _job(ruled, epoch, platform)
        for name, column in columns.items():
            column.append(getattr(job, name))
    instance = Instance(
        platform,
        Columns(Job, columns),
        name=options.name or Path(reading.source).name.partition(".")[0] or "trace",
    )
    report = SacctReport(
        reading.source,
        reading.num_records,
        len(jobs),
        in_order(reading.dropped, (*RecordDrop, *RecordChange)),
        in_order(reading.changed, (*Arrival, *RecordChange)),
        reading.broken,
        reading.num_broken,
        epoch,
        tuple(ruled.record.start - epoch for ruled in jobs),
        {name.lower(): [ruled.memberships[place] for ruled in jobs] for place, name in enumerate(MEMBERSHIPS)},
    )
    return instance, report


def _job(ruled: _Ruled, epoch: float, platform: Platform) -> Job:
    """Return the job of the instance."""
    has_memory = any(group.memory is not None for cluster in platform.clusters for group in cluster.nodes)
    return Job(
        ruled.record.id,
        tasks=ruled.job.processors,
        base_time=ruled.job.run,
        arrival=ruled.arrival - epoch,
        estimate=ruled.job.estimate,
        user=ruled.record.user,
        memory=ruled.record.memory if has_memory else None,
    )


def in_order(counts: Mapping[str, int], order: Sequence[str]) -> dict[str, int]:
    """Return the counts that there are, in an order."""
    return {reason: counts[reason] for reason in order if counts.get(reason)}


@public
def read_sacct(
    path: FilePath,
    processors: int | None = None,
    *,
    platform: Platform | None = None,
    unit: Unit = "cpus",
    partition: str | None = None,
    oversize: Oversize = "drop",
    broken: Broken = "error",
    name: str | None = None,
) -> Instance:
    """Read a workload from an accounting export of Slurm (``sacct --parsable2``).

    Job steps, jobs that never started or had not ended, and earlier runs of requeued jobs are dropped. Every task of a
    job array is a job. The logger ``coalloc.workloads.slurm.sacct`` warns with the numbers of dropped and modified
    jobs; ``coalloc.workloads.slurm.sacct.read_sacct_with_report`` returns them.

    Parameters
    ----------
    path : str or PathLike
        The export, plain or compressed with gzip.
    processors : int or None, default None
        Number of identical processors of speed 1. Give either ``processors`` or ``platform``.
    platform : Platform or None, default None
        The platform; memory demands are read if its nodes have memory.
    unit : {"cpus", "nodes"}, default "cpus"
        Whether a processor is a CPU or a node.
    partition : str or None, default None
        Only jobs of this partition. None: all.
    oversize : {"drop", "clip"}, default "drop"
        Jobs with more processors than the platform has: drop them, or reduce them to all processors.
    broken : {"error", "drop"}, default "error"
        Unreadable lines: raise an error, or drop them.
    name : str or None, default None
        Name of the instance. None: the name of the file.

    Returns
    -------
    Instance
        The instance.

    Raises
    ------
    InstanceError
        The file cannot be read, is not such an export, or has missing fields or unreadable lines.

    See Also
    --------
    coalloc.read_swf : Read a trace in the Standard Workload Format.
    coalloc.audit : Measure how much of the waiting in a log was avoidable.

    Notes
    -----
    docs/swf.md describes the export and the rules.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> export = '''JobID|User|State|Submit|Start|End|Timelimit|NCPUS
    ... 7|ann|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T01:01:00|1-00:00:00|4
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "october.txt"
    ...     _ = path.write_text(export)
    ...     job = coalloc.read_sacct(path, processors=8).jobs[0]
    >>> job.tasks, job.base_time, job.estimate
    (4, 3600.0, 86400.0)
    """
    options = SacctOptions(unit, partition, oversize, broken, name)
    instance, report = read_sacct_with_report(path, chosen_platform(processors, platform), options)
    for sentence in report.sentences[1:]:
        LOGGER.warning("%s: %s", visible(report.source), sentence)
    return instance
