"""From a trace in the Standard Workload Format to an instance, with an account of every change.

The rules for one job are in :mod:`coalloc.workloads.swf_rules`. Traces know nothing of communication:
on demand it is drawn (``docs/swf.md``).
"""

from __future__ import annotations

import logging
import os
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coalloc.documents.arguments import Seed, public
from coalloc.documents.columns import Columns
from coalloc.documents.errors import ArgumentError
from coalloc.documents.sentences import shown
from coalloc.documents.storage import FilePath
from coalloc.documents.text import visible
from coalloc.documents.values import NonNegative, Share, Text, Value, value
from coalloc.instance import Cluster, CoallocError, Fault, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.workloads.communication import BSBW_RANGE, SHARE_RANGE, bearable_task_bandwidth, draw_bsbw, draw_shares
from coalloc.workloads.generator import order_faults
from coalloc.workloads.swf_records import MAX_FAULTS, SwfRecord, read_records
from coalloc.workloads.swf_rules import FATES, INVALID, Invalid, Oversize, RecordChange, SwfJob, apply_rules, counted

LOGGER = logging.getLogger(__name__)

Broken = Literal["error", "drop"]
Communication = Literal["none", "seeded"]


@value(error=ArgumentError)
class SwfOptions(Value):
    """Options of reading a trace.

    Parameters
    ----------
    slice
        ``"100:108"``: the jobs at positions 100 to 107 among those that are kept, counted from 0.
        Either bound may be left out.
    shift
        Shift arrivals so that the earliest is 0; None: for slices only.
    invalid
        ``"drop"`` jobs without run time or processors or submitted before 0, or make each a job of
        ``"one-second"``, on the processors it names (else one) and submitted at 0 at the earliest.
    oversize
        ``"drop"`` jobs with more processors than the platform has, or ``"clip"`` them to all it has.
    broken
        ``"error"``, or ``"drop"`` lines that are not 18 numbers.
    communication
        ``"none"``: all jobs only process. ``"seeded"``: processing share and BSBW (GB/s) are uniform
        in their ranges; the task bandwidth follows by Table 3.2 of the thesis, capped so that each
        job alone fits the links. A job draws the same whatever slice or platform is asked for.
    seed
        Seed of what is drawn.
    name
        Name of the instance; None: that of the file, and the slice.
    """

    slice: Text | None = None
    shift: Annotated[bool, Field(strict=True)] | None = None
    invalid: Invalid = "drop"
    oversize: Oversize = "drop"
    broken: Broken = "error"
    communication: Communication = "none"
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    name: Text | None = None
    share_low: Share = SHARE_RANGE[0]
    share_high: Share = SHARE_RANGE[1]
    bsbw_low: NonNegative = BSBW_RANGE[0]
    bsbw_high: NonNegative = BSBW_RANGE[1]

    def __post_init__(self) -> None:
        faults = order_faults(
            ("share_low", self.share_low, "share_high", self.share_high),
            ("bsbw_low", self.bsbw_low, "bsbw_high", self.bsbw_high),
        )
        if self.slice is not None and not re.fullmatch(r"[0-9]{0,15}:[0-9]{0,15}", self.slice):
            faults.append(Fault("slice", f"must be a range such as '100:108', got {shown(self.slice)}"))
        elif self.stop is not None and self.stop <= self.start:
            faults.append(Fault("slice", f"must contain at least one job, got {shown(self.slice)}"))
        if faults:
            raise InstanceError(faults)

    @property
    def start(self) -> int:
        """Position of the first job of the slice."""
        return int((self.slice or ":").partition(":")[0] or 0)

    @property
    def stop(self) -> int | None:
        """Position behind the last job of the slice; None: the end of the trace."""
        last = (self.slice or ":").partition(":")[2]
        return int(last) if last else None

    @property
    def shifts(self) -> bool:
        """Whether arrivals are shifted to begin at 0."""
        return self.slice is not None if self.shift is None else self.shift


MEMBERSHIPS = ("group", "queue", "partition")
"""Fields of a trace that say to what a job belongs."""


@dataclass(frozen=True, slots=True)
class SwfReport:
    """Report on a trace that was read.

    ``num_records`` were read (up to the end of the slice) and ``num_jobs`` are in the instance.
    ``changes`` counts the jobs dropped on the way, and what was changed on those in the instance;
    ``broken`` are the first of ``num_broken`` lines that were left out. ``waits`` of the jobs of the instance are as
    they stand in the trace, s: -1 where it does not say one; ``memberships`` are their numbers of group, queue and
    partition, by that name, as they stand there; ``records`` are their lines, where they are kept.
    """

    source: str
    options: SwfOptions
    num_records: int
    num_jobs: int
    changes: Mapping[RecordChange, int]
    broken: tuple[Fault, ...]
    num_broken: int
    waits: Sequence[float]
    memberships: Mapping[str, Sequence[int]]
    records: Sequence[SwfRecord] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for the whole, one for each kind of change, and one for each broken line named."""
        whole = f"{counted(self.num_records, 'job')} read, {self.num_jobs} in the instance"
        counts = [(self.changes.get(change, 0), change) for change in RecordChange]
        changes = [f"{counted(count, 'job')} {self._said(change)}" for count, change in counts if count]
        lines = [f"{counted(self.num_broken, 'malformed line')} skipped"] if self.num_broken else []
        return (whole, *changes, *lines, *(str(fault) for fault in self.broken))

    def _said(self, change: RecordChange) -> str:
        if change in INVALID:
            return f"{FATES[self.options.invalid]}: {change}"
        if change is RecordChange.TOO_LARGE:
            return f"{FATES[self.options.oversize]}: {change}"
        return f"changed: {change}"

    def __str__(self) -> str:
        return "\n".join(f"{visible(self.source)}: {sentence}" for sentence in self.sentences)


def with_remedy(faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults of broken lines; the last says how to leave such lines out."""
    *others, last = faults
    return [*others, Fault(last.path, f'{last.sentence} (broken="drop" or --broken drop skips malformed lines)')]


def no_jobs() -> dict[str, Any]:
    """Return the columns of a trace without jobs, to which jobs are appended."""
    times = {name: array("d") for name in ("base_time", "processing_share", "task_bandwidth", "arrival", "estimate")}
    return {"id": [], "tasks": array("q"), **times, "user": []}


@dataclass(slots=True)
class _Reading:
    """A trace while it is read: what has been seen, and the jobs kept so far."""

    source: str
    platform: Platform
    options: SwfOptions
    rng: np.random.Generator
    keeps_records: bool = False
    records: list[SwfRecord] = field(default_factory=list)
    jobs: dict[str, Any] = field(default_factory=no_jobs)
    users: dict[int, str] = field(default_factory=dict)
    waits: array[float] = field(default_factory=lambda: array("d"))
    memberships: dict[str, array[int]] = field(default_factory=lambda: {name: array("q") for name in MEMBERSHIPS})
    changes: Counter[RecordChange] = field(default_factory=Counter)
    broken: list[Fault] = field(default_factory=list)
    num_broken: int = 0
    num_records: int = 0
    position: int = 0

    def read(self) -> None:
        """Read up to the end of the slice; raise for broken lines, or a trace that ends before it."""
        for item in read_records(self.source):
            if isinstance(item, Fault):
                self.note_broken(item)
            else:
                self.add(item)
            if self.position == self.options.stop:
                break
        if self.broken and self.options.broken == "error":
            raise InstanceError(with_remedy(self.broken), self.source)
        if self.options.slice is not None and (not self.waits or self.position < (self.options.stop or 0)):
            sentence = f"must be within the {self.position} valid jobs of the trace, got {shown(self.options.slice)}"
            raise InstanceError([Fault("slice", sentence)], self.source)

    def note_broken(self, fault: Fault) -> None:
        """Count a broken line, and remember the first few."""
        self.num_broken += 1
        if len(self.broken) < MAX_FAULTS:
            self.broken.append(fault)
        elif self.options.broken == "error":
            more = Fault("", f"more than {MAX_FAULTS} lines are malformed")
            raise InstanceError(with_remedy([*self.broken, more]), self.source)

    def add(self, record: SwfRecord) -> None:
        """Add the job of a record if it is valid and in the slice."""
        self.num_records += 1
        share, bsbw = self.draw_communication()
        job, changes = apply_rules(record, self.platform.num_processors, self.options.invalid, self.options.oversize)
        if job is None:
            self.changes.update(changes)
            return
        if self.position >= self.options.start:
            self.changes.update(changes)
            for column, content in zip(self.jobs.values(), self.fields_of(record, job, share, bsbw), strict=True):
                column.append(content)
            self.waits.append(record.wait)
            for name, numbers in self.memberships.items():
                numbers.append(getattr(record, name))
            if self.keeps_records:
                self.records.append(record)
        self.position += 1

    def draw_communication(self) -> tuple[float, float]:
        """Draw for every record, whatever becomes of it, so that no job's draw depends on another's fate."""
        if self.options.communication == "none":
            return 1.0, 0.0
        (share,) = draw_shares(self.rng, self.options.share_low, self.options.share_high, 1)
        (bsbw,) = draw_bsbw(self.rng, self.options.bsbw_low, self.options.bsbw_high, 1)
        return share, bsbw

    def fields_of(self, record: SwfRecord, job: SwfJob, share: float, bsbw: float) -> tuple[object, ...]:
        """Return what the columns take of a job: the rules keep all that its fields ask for."""
        return (
            str(record.number),
            job.processors,
            job.run,
            share,
            bearable_task_bandwidth(bsbw, job.processors, self.platform) if bsbw else 0.0,
            job.submit,
            job.estimate,
            self.users.setdefault(record.user, str(record.user)) if record.user >= 0 else None,
        )

    def instance(self) -> Instance:
        arrivals = self.jobs["arrival"]
        earliest = min(arrivals, default=0.0) if self.options.shifts else 0.0
        shifted = array("d", (arrival - earliest for arrival in arrivals)) if earliest else arrivals
        jobs = Columns(Job, self.jobs | {"arrival": shifted})
        return Instance(self.platform, jobs, name=self.options.name or self.default_name())

    def default_name(self) -> str:
        stem = Path(self.source).name.removesuffix(".gz").removesuffix(".swf") or "trace"
        return stem if self.options.slice is None else f"{stem}-{self.options.slice.replace(':', '-')}"

    def report(self) -> SwfReport:
        return SwfReport(
            self.source,
            self.options,
            self.num_records,
            len(self.waits),
            dict(self.changes),
            tuple(self.broken),
            self.num_broken,
            self.waits,
            self.memberships,
            self.records,
        )


def read_swf_with_report(
    path: FilePath, platform: Platform, options: SwfOptions | None = None, *, keeps_records: bool = False
) -> tuple[Instance, SwfReport]:
    """Return the instance of a trace on a platform, and the account of what was changed.

    ``keeps_records``: the account has the line of each job, for a trace that is written again.

    Raises
    ------
    InstanceError
        If the file cannot be read or is not SWF, if lines are broken (``trace.swf: line 17: must have
        18 numbers, got 5``; see ``SwfOptions.broken``), or if the trace ends before the slice does.
    """
    options = options or SwfOptions()
    reading = _Reading(os.fspath(path), platform, options, np.random.default_rng(options.seed), keeps_records)
    reading.read()
    return reading.instance(), reading.report()


@public
def read_swf(
    path: FilePath,
    processors: int | None = None,
    *,
    platform: Platform | None = None,
    slice: str | None = None,
    shift: bool | None = None,
    invalid: Invalid = "drop",
    oversize: Oversize = "drop",
    broken: Broken = "error",
    communication: Communication = "none",
    seed: Seed = 0,
    name: str | None = None,
) -> Instance:
    """Read a workload trace in the Standard Workload Format (SWF).

    The logger ``coalloc.workloads.swf`` warns with the numbers of dropped and modified jobs;
    ``coalloc.workloads.swf.read_swf_with_report`` returns them.

    Parameters
    ----------
    path : str or PathLike
        The trace, plain (``.swf``) or compressed with gzip.
    processors : int or None, default None
        Number of identical processors of speed 1. Give either ``processors`` or ``platform``.
    platform : Platform or None, default None
        The platform.
    slice : str or None, default None
        Range of the valid jobs, such as ``"100:108"``, counted from 0. None: all.
    shift : bool or None, default None
        Whether arrivals are shifted so that the first job arrives at 0. None: only with a slice.
    invalid : {"drop", "one-second"}, default "drop"
        Jobs without run time or processors: drop them, or replace each by a job of one second.
    oversize : {"drop", "clip"}, default "drop"
        Jobs with more processors than the platform has: drop them, or reduce them to all processors.
    broken : {"error", "drop"}, default "error"
        Lines without 18 numbers: raise an error, or drop them.
    communication : {"none", "seeded"}, default "none"
        ``"seeded"``: processing shares and task bandwidths (MB/s) are sampled from the seed.
    seed : int, default 0
        Random seed of ``communication``.
    name : str or None, default None
        Name of the instance. None: name of the file, and the slice.

    Returns
    -------
    Instance
        The instance; the id of a job is its number.

    Raises
    ------
    InstanceError
        The file cannot be read, is not SWF, has unreadable lines, or ends before the slice does.

    See Also
    --------
    coalloc.io.write_swf : Write a trace.
    coalloc.read_sacct : Read an accounting export of Slurm.

    Notes
    -----
    docs/swf.md describes the rules.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trace.swf"
    ...     coalloc.io.write_swf(coalloc.example("flux-sched-572"), path)
    ...     coalloc.read_swf(path, processors=4)
    <Instance 'trace': 17 jobs on 1 cluster with 4 processors>
    """
    options = SwfOptions(slice, shift, invalid, oversize, broken, communication, seed, name)
    instance, report = read_swf_with_report(path, chosen_platform(processors, platform), options)
    for sentence in report.sentences[1:]:
        LOGGER.warning("%s: %s", visible(report.source), sentence)
    return instance


def chosen_platform(processors: int | None, platform: Platform | None) -> Platform:
    """Return the platform, or one pool of so many processors; ``CoallocError`` unless exactly one is given."""
    if platform is not None and processors is None:
        return platform
    if platform is not None or processors is None:
        raise CoallocError("give either processors= or platform=")
    return pool(processors)


def pool(processors: int) -> Platform:
    """Return one cluster, named ``pool``, of so many nodes of power 1; its link is never used."""
    return Platform((Cluster("pool", (NodeGroup(processors, power=1.0),), link_bandwidth=0.0),))
