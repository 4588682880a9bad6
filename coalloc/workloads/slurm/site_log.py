"""The log of a site, from the records of its jobs: the instance, the recorded schedule, and a report.

Whatever the instance cannot express, and whatever is dropped or changed, is counted in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from coalloc.documents.text import visible
from coalloc.documents.wording import plural
from coalloc.instance import CoallocError, Fault, Instance, InstanceError
from coalloc.schedule import Schedule
from coalloc.system.garbage import no_collection
from coalloc.workloads.slurm.demands import Demands
from coalloc.workloads.slurm.limits import LimitTables
from coalloc.workloads.slurm.making import MOLDABLE, WAITED, Making, Speedup
from coalloc.workloads.slurm.platform import SiteLayout
from coalloc.workloads.slurm.reservations import SlurmReservation
from coalloc.workloads.slurm.runs import Collecting, Left, Told
from coalloc.workloads.slurm.sacct import Arrival, in_order
from coalloc.workloads.slurm.sacct_records import RecordDrop, RecordLine
from coalloc.workloads.slurm.values import LineError, instant
from coalloc.workloads.swf import Broken, with_remedy
from coalloc.workloads.swf_records import MAX_FAULTS
from coalloc.workloads.swf_rules import RecordChange, counted

NamesRule = Literal["pseudonyms", "keep"]
"""Names of users, accounts and reservations: numbered, or as they are."""


@dataclass(frozen=True, slots=True)
class SiteReport:
    """Report on the files of a site that were read.

    ``dropped`` counts records by reason, ``changed`` jobs of the instance, ``unexpressed`` what the instance does not
    state; ``missing`` are fields that the export does not have; ``broken`` the first of ``num_broken`` malformed lines.
    ``epoch`` is the clock's 0 in s since 1970 on the clock of the site.
    """

    source: str
    size: str
    num_records: int
    num_jobs: int
    num_running: int
    num_reservations: int
    dropped: Mapping[str, int]
    changed: Mapping[str, int]
    unexpressed: Mapping[str, int]
    missing: Sequence[str]
    broken: Sequence[Fault]
    num_broken: int
    epoch: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for the whole, one for each kind of change, and one for each broken line named."""
        whole = f"{counted(self.num_records, 'record')} read, {self.num_jobs} in the instance"
        running = f", {self.num_running} running at its beginning" if self.num_running else ""
        reserved = f", {plural(self.num_reservations, 'advance reservation')}" if self.num_reservations else ""
        dropped = [f"{counted(count, 'record')} dropped: {reason}" for reason, count in self.dropped.items()]
        changed = [f"{counted(count, 'job')} changed: {reason}" for reason, count in self.changed.items()]
        others = [f"not expressed: {what} ({count})" for what, count in self.unexpressed.items()]
        missing = [f"not in the export: {', '.join(self.missing)}"] if self.missing else []
        lines = [f"{counted(self.num_broken, 'malformed line')} skipped"] if self.num_broken else []
        broken = (str(fault) for fault in self.broken)
        return (whole + running + reserved, self.size, *dropped, *changed, *others, *missing, *lines, *broken)

    def __str__(self) -> str:
        return "\n".join(f"{visible(self.source)}: {sentence}" for sentence in self.sentences)


@dataclass(frozen=True)
class SiteLog:
    r"""A log of a site: the instance, the schedule that was recorded, and a report.

    Attributes
    ----------
    instance : Instance
        The platform and the jobs of the site.
    report : coalloc.workloads.slurm.site_log.SiteReport
        What was dropped, changed or not expressed; ``str(report)`` has one line for each.

    See Also
    --------
    coalloc.io.read_slurm : Read the files of a Slurm site.
    coalloc.io.read_flux : Read the jobs and resources of a Flux instance.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> conf = "NodeName=n1 CPUs=4"
    >>> export = "JobID|Submit|Start|End|NCPUS|NodeList"
    >>> times = "2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T01:01:00"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("october.txt", "slurm.conf")]
    ...     _ = paths[0].write_text("\n".join([export, f"7|{times}|4|n1"]))
    ...     _ = paths[1].write_text(conf)
    ...     log = coalloc.io.read_slurm(*paths)
    >>> coalloc.check(log.instance, log.schedule)
    []
    >>> log.report.sentences[0]
    '1 record read, 1 in the instance'
    """

    instance: Instance
    report: SiteReport
    _places: Callable[[], Schedule] = field(repr=False, compare=False)

    @cached_property
    def schedule(self) -> Schedule:
        """The recorded schedule: jobs at the times and on the nodes of the log, as far as it names nodes with CPUs."""
        return self._places()


@dataclass(slots=True)
class LogReading:
    """The records of a site while they are read; ``missing`` are fields that they do not have."""

    source: str
    layout: SiteLayout
    broken_lines: Broken
    missing: list[str] = field(default_factory=list)
    reserved: Sequence[SlurmReservation] = ()
    tables: LimitTables = field(default_factory=LimitTables)
    collecting: Collecting = field(init=False)
    broken: list[Fault] = field(default_factory=list)
    num_broken: int = 0

    def __post_init__(self) -> None:
        self.collecting = Collecting(Demands(self.layout), frozenset(r.name for r in self.reserved))

    def log(
        self,
        records: Iterable[RecordLine],
        *,
        after: str | None,
        before: str | None,
        speedup: Speedup,
        names: NamesRule,
        name: str,
    ) -> SiteLog:
        """Return the log that the records make.

        Raises
        ------
        InstanceError
            Records are malformed, and may not be.
        """
        period = _period(after, before)
        with no_collection():
            self._read(records)
            making = Making(self.collecting, *period, speedup, names == "pseudonyms")
            instance = making.instance(
                name or Path(self.source).name.partition(".")[0] or "log", self.tables, self.reserved
            )
        return SiteLog(instance, _report(self, making, instance), partial(making.schedule, instance))

    def _read(self, records: Iterable[RecordLine]) -> None:
        """Read all; raise where records are broken and may not be."""
        for record in records:
            found = record.found
            if not isinstance(found, Fault):
                try:
                    self.collecting.add(found, record.fields)
                    continue
                except LineError as error:
                    found = Fault(record.place, str(error))
            self.num_broken += 1
            if len(self.broken) < MAX_FAULTS:
                self.broken.append(found)
        if self.broken and self.broken_lines == "error":
            raise InstanceError(with_remedy(self.broken), self.source)
        self.collecting.finish()


def _period(after: str | None, before: str | None) -> tuple[float | None, float | None]:
    """Return the ends of the period, since 1970, in s."""
    begin, end = _time("after", after), _time("before", before)
    if begin is not None and end is not None and begin >= end:
        raise CoallocError(f"the period must begin before it ends, got after {after} and before {before}")
    return begin, end


def _time(option: str, text: str | None) -> float | None:
    """Return an end of the period, since 1970, in s."""
    try:
        return None if text is None else instant(option, text)
    except LineError as error:
        raise CoallocError(str(error)) from None


def _report(reading: LogReading, making: Making, instance: Instance) -> SiteReport:
    """Return what became of a site's files."""
    collecting, layout = reading.collecting, making.layout
    unexpressed = layout.site.notes + reading.tables.notes + collecting.unmet + making.notes
    processors = f"{instance.platform.num_processors} {'CPUs' if layout.unit == 'cpus' else 'whole nodes'}"
    num_running = len(making.running) - collecting.dropped[Left.UNPLACED]
    limits = f", {plural(len(instance.limits), 'limit')}" if instance.limits else ""
    return SiteReport(
        reading.source,
        f"{plural(len(layout.places), 'node')} with {processors} in {plural(len(layout.names), 'cluster')}{limits}",
        collecting.num_records,
        len(instance.jobs),
        num_running,
        len(instance.running) - num_running,
        in_order(collecting.dropped, (*RecordDrop, *RecordChange, *Left)),
        in_order(collecting.changed, (*Arrival, *RecordChange, *Told, WAITED, MOLDABLE)),
        {what: number for what, number in sorted(unexpressed.items()) if number},
        reading.missing,
        reading.broken,
        reading.num_broken,
        making.epoch,
    )
