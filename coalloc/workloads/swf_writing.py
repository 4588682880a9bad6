"""From an instance, and what became of it, to a trace in the Standard Workload Format.

The format holds when a job came, waited and ran, on how many processors and for whom. What it does not
hold is left out, counted and said, as the reader says what it changes. Source: version 2.2 of the format
(Parallel Workloads Archive), which permits fractions of a second in the time fields.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata

from coalloc.documents.arguments import public
from coalloc.documents.columns import column
from coalloc.documents.storage import FilePath, compressed, write_atomically
from coalloc.documents.text import quoted, shortened, visible
from coalloc.instance import CoallocError, Instance, Job
from coalloc.schedule import Placement, Schedule
from coalloc.workloads.swf_records import LARGEST_WHOLE, SwfRecord
from coalloc.workloads.swf_rules import counted

LOGGER = logging.getLogger(__name__)

UNKNOWN = -1
"""Value that the format has where a fact is not known."""

STATUS = {"completed": 1, "killed": 0}
"""Job status (field 11) by outcome: a job killed at its limit has failed (0); cancelled (5) is what users do."""

DIFFERENCE_DIGITS = 6
"""Waits and run times are differences of instants: microseconds, so that 0.3 - 0.1 is 0.2."""

WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
"""Texts that are read back as they are when they are written as a number."""


class Loss(StrEnum):
    """Why a job in the trace is not as it is in the instance, or is not there."""

    IDS = "renumbered from 1 by arrival, because not all ids are integers"
    USERS = "with users renumbered from 1 by first job, because not all users are integers"
    ORDER = "reordered by arrival"
    COMMUNICATION = "without processing share and task bandwidth"
    OPTIONAL = "without memory, energy estimate, weight or due date"
    NODES = "without node names"
    UNSCHEDULED = "not in the schedule; wait and run time are unknown"
    RUNNING = "skipped: already running, which SWF cannot represent"
    OVERRUN = "with a run time above the requested time; some programs truncate it"
    FRACTIONS = "with fractions of a second, which some programs cannot read"


@dataclass(frozen=True, slots=True)
class SwfWriteReport:
    """Losses of an instance in a trace: the number of jobs by kind of loss."""

    num_jobs: int
    losses: Mapping[Loss, int]

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for the whole, and one for each kind of loss."""
        losses = [(self.losses.get(loss, 0), loss) for loss in Loss]
        return (f"{counted(self.num_jobs, 'job')} written", *(f"{counted(n, 'job')} {loss}" for n, loss in losses if n))


@public
def write_swf(instance: Instance, path: FilePath, schedule: Schedule | None = None) -> None:
    """Write the jobs of an instance, and optionally a schedule, as a trace in the Standard Workload Format.

    Without a schedule, the run time is the reference run time and the wait is unknown. With one, the wait is start
    minus arrival, the run time is end minus start, and the status is 1 for completed and 0 for killed jobs. The logger
    ``coalloc.workloads.swf_writing`` warns about information that the format cannot hold;
    ``coalloc.workloads.swf_writing.write_swf_with_report`` returns it.

    Parameters
    ----------
    instance : Instance
        The jobs.
    path : str or PathLike
        A ``.swf`` or ``.swf.gz`` file. It is written completely or not at all.
    schedule : Schedule or None, default None
        A schedule of the instance.

    Raises
    ------
    CoallocError
        The schedule has unknown jobs or starts before an arrival, or the file cannot be written.

    See Also
    --------
    coalloc.read_swf : Read a trace.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trace.swf"
    ...     coalloc.io.write_swf(coalloc.example("flux-sched-572"), path)
    ...     path.read_text().splitlines()[-1].split()[:5]
    ['17', '0', '-1', '20', '3']
    """
    report = write_swf_with_report(instance, path, schedule)
    for sentence in report.sentences[1:]:
        LOGGER.warning("%s: %s", visible(os.fspath(path)), sentence)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts of a log on the jobs of an instance beyond the instance: a record by job id, and when its clock began.

    ``header`` are the lines of the header that hold for the jobs that are written as well, by name.
    """

    records: Mapping[str, SwfRecord]
    header: Mapping[str, str]


def write_swf_with_report(
    instance: Instance, path: FilePath, schedule: Schedule | None = None, known: Known | None = None
) -> SwfWriteReport:
    """Write a trace as :func:`write_swf` does, and return what it does not hold."""
    text, report = swf_text(instance, schedule, known)
    content = text.encode()
    write_atomically(path, compressed(content) if os.fspath(path).endswith(".gz") else content)
    return report


def swf_text(
    instance: Instance, schedule: Schedule | None = None, known: Known | None = None
) -> tuple[str, SwfWriteReport]:
    """Return the trace as a text, and what it does not hold; ``known``: of what log, and how, the jobs have run."""
    if schedule is not None:
        _check_jobs(instance, schedule)
    order = sorted(range(len(instance.jobs)), key=column(instance.jobs, "arrival").__getitem__)
    losses = Counter(loss for job in instance.jobs for loss in _job_losses(job))
    losses[Loss.RUNNING] = len(instance.running)
    losses[Loss.ORDER] = sum(written != given for written, given in enumerate(order))
    jobs = [instance.jobs[place] for place in order]
    records = []
    written = _records(jobs, schedule, losses) if known is None else _kept(jobs, known, losses)
    for record in written:
        losses.update(_record_losses(record))
        records.append(_line(record))
    report = SwfWriteReport(len(jobs), +losses)
    return "\n".join([*_header(instance, report, known), *records, ""]), report


def _check_jobs(instance: Instance, schedule: Schedule) -> None:
    """Raise where a schedule is not one of this instance."""
    known = {job.id: job.arrival for job in instance.jobs} | {run.job.id: 0.0 for run in instance.running}
    for placement in schedule:
        if placement.job not in known:
            raise CoallocError(f"the schedule places job {quoted(placement.job)}, which is not in the instance")
        wait = round(placement.start - known[placement.job], DIFFERENCE_DIGITS)
        if wait < 0.0 or placement.end < placement.start:
            sentence = f"the schedule starts job {quoted(placement.job)} before its arrival or ends it before its start"
            raise CoallocError(f"{sentence}; `coalloc check` lists all violations")


def _job_losses(job: Job) -> Iterator[Loss]:
    """Yield what the format has no place for."""
    if job.processing_share != 1.0 or job.task_bandwidth != 0.0:
        yield Loss.COMMUNICATION
    optional = (job.memory, job.energy_estimate, job.due_date)
    if job.weight != 1.0 or any(fact is not None for fact in optional):
        yield Loss.OPTIONAL


def _record_losses(record: SwfRecord) -> Iterator[Loss]:
    """Yield what a reader may make of a record."""
    if record.run > record.requested_time:
        yield Loss.OVERRUN
    if any(time % 1.0 for time in (record.submit, record.wait, record.run, record.requested_time)):
        yield Loss.FRACTIONS


def _records(jobs: Sequence[Job], schedule: Schedule | None, losses: Counter[Loss]) -> Iterator[SwfRecord]:
    """Yield the records of jobs, and count what their names and their placements lose."""
    placements = None if schedule is None else {placement.job: placement for placement in schedule}
    number_of = _numbering([job.id for job in jobs], Loss.IDS, losses)
    user_of = _numbering([job.user for job in jobs if job.user is not None], Loss.USERS, losses)
    for job in jobs:
        record = _record(job, number_of(job.id), UNKNOWN if job.user is None else user_of(job.user))
        if placements is None:
            yield record
        elif job.id in placements:
            losses[Loss.NODES] += 1
            yield _placed(record, job, placements[job.id])
        else:
            losses[Loss.UNSCHEDULED] += 1
            yield record._replace(run=UNKNOWN, allocated_processors=UNKNOWN)


def _kept(jobs: Sequence[Job], known: Known, losses: Counter[Loss]) -> Iterator[SwfRecord]:
    """Yield the records of jobs as their log has them, but for what reading it has changed."""
    made = list(_records(jobs, None, losses))
    numbers = {record.number for record in made}
    for job, record in zip(jobs, made, strict=True):
        was = known.records[job.id]
        follows = was.preceding_job in numbers
        yield SwfRecord._make(new if old == UNKNOWN else old for old, new in zip(was, record, strict=True))._replace(
            number=record.number,
            submit=record.submit,
            run=record.run,
            allocated_processors=record.allocated_processors,
            requested_time=record.requested_time,
            preceding_job=was.preceding_job if follows else UNKNOWN,
            think_time=was.think_time if follows else UNKNOWN,
        )


def _numbering(names: Sequence[str], loss: Loss, losses: Counter[Loss]) -> Callable[[str], int]:
    """Return how names become numbers: as they are, or in the order of the first job of each."""
    if all(WHOLE.fullmatch(name) for name in names):
        return int
    losses[loss] += len(names)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names), start=1)}
    return numbers.__getitem__


def _record(job: Job, number: int, user: int) -> SwfRecord:
    """Return the record of a job that has not run yet: its run time is the base time."""
    return SwfRecord(
        number=number,
        submit=job.arrival,
        wait=UNKNOWN,
        run=job.base_time,
        allocated_processors=job.tasks,
        cpu_time=UNKNOWN,
        memory=UNKNOWN,
        requested_processors=job.tasks,
        requested_time=job.estimate,
        requested_memory=UNKNOWN,
        status=UNKNOWN,
        user=user,
        group=UNKNOWN,
        executable=UNKNOWN,
        queue=UNKNOWN,
        partition=UNKNOWN,
        preceding_job=UNKNOWN,
        think_time=UNKNOWN,
    )


def _placed(record: SwfRecord, job: Job, placement: Placement) -> SwfRecord:
    """Return the record of a job that has run."""
    return record._replace(
        wait=abs(round(placement.start - job.arrival, DIFFERENCE_DIGITS)),  # abs: no -0.0
        run=round(placement.end - placement.start, DIFFERENCE_DIGITS),
        allocated_processors=len(placement.nodes),
        status=STATUS[placement.outcome],
    )


def _line(record: SwfRecord) -> str:
    return " ".join(map(_number, record))


def _number(number: float) -> str:
    """Return a number so that it is read back exactly, a whole one without a point."""
    return str(int(number)) if abs(number) <= LARGEST_WHOLE and number == int(number) else repr(number)


def _header(instance: Instance, report: SwfWriteReport, known: Known | None) -> Iterable[str]:
    """Return the header comments; names are data, and stay on their line."""
    of_log = {"UnixStartTime": "0"} | ({} if known is None else dict(known.header))
    platform = instance.platform
    clusters = ", ".join(str(cluster.num_processors) for cluster in platform.clusters)
    yield "; Version: 2.2"
    yield f"; Computer: clusters of {shortened(clusters, 1000)} processors"
    yield f"; Conversion: coalloc {metadata.version('coalloc')}"
    yield f"; MaxJobs: {report.num_jobs}"
    yield f"; MaxRecords: {report.num_jobs}"
    yield "; Preemption: No"
    yield from (f"; {name}: {shortened(visible(text), 1000)}" for name, text in of_log.items())
    yield f"; MaxNodes: {sum(cluster.num_nodes for cluster in platform.clusters)}"
    yield f"; MaxProcs: {platform.num_processors}"
    yield f"; Note: instance {shortened(visible(instance.name), 1000)}"
    yield from (f"; Note: {sentence}" for sentence in report.sentences[1:])
