"""From a Slurm site's files to an instance: the platform, the jobs with their relations, limits and reservations.

Whatever the instance cannot express, and whatever is dropped or changed, is counted in a report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from coalloc.documents.arguments import public
from coalloc.documents.storage import FilePath
from coalloc.documents.text import visible
from coalloc.documents.wording import plural
from coalloc.instance import CoallocError, Fault, Instance, InstanceError
from coalloc.schedule import Schedule
from coalloc.system.garbage import no_collection
from coalloc.workloads.slurm.conf import read_site
from coalloc.workloads.slurm.demands import Demands
from coalloc.workloads.slurm.limits import LimitTables, read_tables
from coalloc.workloads.slurm.making import MOLDABLE, WAITED, Making, Speedup
from coalloc.workloads.slurm.platform import layout_of
from coalloc.workloads.slurm.reservations import read_reservations
from coalloc.workloads.slurm.runs import Collecting, Left, Told
from coalloc.workloads.slurm.sacct import Arrival, in_order
from coalloc.workloads.slurm.sacct_records import RecordDrop, read_records
from coalloc.workloads.slurm.topology import read_topology
from coalloc.workloads.slurm.values import LineError, instant
from coalloc.workloads.swf import Broken, with_remedy
from coalloc.workloads.swf_records import MAX_FAULTS
from coalloc.workloads.swf_rules import RecordChange, counted

USED = (
    *("AllocTRES", "NodeList", "NNodes", "Partition", "Account", "QOS", "User", "JobName"),
    *("Constraints", "Licenses", "Reservation", "SubmitLine"),
)
"""Fields of sacct that are read where the export has them, and named where it does not."""


@dataclass(frozen=True, slots=True)
class SlurmReport:
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
class SlurmLog:
    r"""A log of a Slurm site: the instance, the schedule that was recorded, and a report.

    Attributes
    ----------
    instance : Instance
        The platform and the jobs of the site.
    report : coalloc.workloads.slurm.site.SlurmReport
        What was dropped, changed or not expressed; ``str(report)`` has one line for each.

    See Also
    --------
    coalloc.io.read_slurm : Read the files of a Slurm site.

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
    report: SlurmReport
    _places: Callable[[], Schedule] = field(repr=False, compare=False)

    @cached_property
    def schedule(self) -> Schedule:
        """The recorded schedule: jobs at the times and on the nodes of the log, as far as it names nodes with CPUs."""
        return self._places()


@public
def read_slurm(
    sacct: FilePath,
    slurm_conf: FilePath,
    *,
    topology: FilePath | None = None,
    gres: FilePath | None = None,
    nodes: FilePath | None = None,
    reservations: FilePath | None = None,
    assoc: Sequence[FilePath] = (),
    unit: Literal["auto", "cpus", "nodes"] = "auto",
    after: str | None = None,
    before: str | None = None,
    speedup: Speedup = "linear",
    names: Literal["pseudonyms", "keep"] = "pseudonyms",
    broken: Broken = "error",
    name: str | None = None,
) -> SlurmLog:
    r"""Read the machine and the log of a Slurm site from its own files.

    Parameters
    ----------
    sacct : str or PathLike
        The accounting export (``sacct --parsable2``), plain or compressed with gzip, as all other files.
    slurm_conf : str or PathLike
        The configuration, with the files that it includes.
    topology : str, PathLike or None, default None
        ``topology.conf``, or ``topology.yaml`` by its suffix. None: one cluster.
    gres : str, PathLike or None, default None
        ``gres.conf``, for the types of generic resources.
    nodes : str, PathLike or None, default None
        Output of ``scontrol show node -o``: what nodes have, and which are down since when.
    reservations : str, PathLike or None, default None
        Output of ``scontrol show reservation -o``.
    assoc : sequence of str or PathLike, default ()
        Outputs of ``sacctmgr --parsable2 show assoc``, ``sacctmgr --parsable2 show qos`` or ``sshare --parsable2``.
    unit : {"auto", "cpus", "nodes"}, default "auto"
        Whether a processor is a CPU or a node. ``"auto"``: a node where the site schedules whole nodes only.
    after : str or None, default None
        Start of the period, ``2026-10-01`` or ``2026-10-01T12:00:00``: jobs that run then are ``running`` jobs. None:
        the first arrival.
    before : str or None, default None
        End of the period: jobs that arrive then or later are dropped. None: all jobs.
    speedup : {"linear", "none"}, default "linear"
        Jobs with a range of nodes (``--nodes=2-4``). ``"linear"``: other numbers of nodes are alternative modes, with a
        run time inversely proportional to them. ``"none"``: the recorded number is the only one.
    names : {"pseudonyms", "keep"}, default "pseudonyms"
        Names of users, accounts and reservations: number them, or keep them.
    broken : {"error", "drop"}, default "error"
        Unreadable lines of the export: raise an error, or drop them.
    name : str or None, default None
        Name of the instance. None: the name of the file.

    Returns
    -------
    SlurmLog
        The instance, the recorded schedule and a report.

    Raises
    ------
    InstanceError
        A file cannot be read, or has malformed lines; each error has its line.

    See Also
    --------
    coalloc.read_sacct : Read the jobs of an accounting export onto a given platform.

    Notes
    -----
    The instance expresses Slurm's concepts as follows:

    - CPUs of a node, less those of ``CoreSpecCount`` and ``CpuSpecList``: ``cores``. Processors are nodes with
      ``SelectType=select/linear``, or if all partitions are ``OverSubscribe=EXCLUSIVE``.
    - ``RealMemory`` less ``MemSpecLimit``, if ``SelectTypeParameters`` has memory: ``memory`` of nodes and tasks.
    - ``Gres``, with types of ``gres.conf``: ``resources`` of nodes, ``gres/gpu`` and ``gres/gpu:a100``, which jobs take
      in proportion to their tasks. ``Licenses``: ``resources`` of the platform, ``license/NAME``.
    - Leaf switches and blocks: clusters. Switches above and larger block sizes: switches with a ``level``,
      ``switch level 2`` and ``block size 16``.
    - Partition: feature ``partition:NAME`` of its nodes, which its jobs require.
    - ``--constraint`` with ``&`` and ``|``: features that a job requires; ``constraint:EXPRESSION`` for alternatives.
    - ``--exclusive``: the resource ``node``, of which the job takes all on its nodes.
    - ``--dependency`` with ``afterok``, ``afterany``, ``afternotok``, ``aftercorr`` or ``singleton``: ``after``; with
      ``after:ID+MINUTES``: a time lag from the start.
    - Components of a heterogeneous job, ``9+0`` and ``9+1``: time lags of 0, so that they start together.
    - Array with throttle ``%4``: the limit ``array ID``. Requeued job: several runs, ``7 run 1`` and ``7``.
    - Job that had not ended: run time until the end of the log.
    - Time limit: ``estimate``; ``MaxTime`` of the partition if it is ``UNLIMITED``.
    - ``GrpJobs``, ``GrpTRES``, ``MaxJobs``, ``MaxJobsPU``, ``MaxTRESPU``, ``MaxJobsPA``, ``MaxTRESPA``: ``limits``;
      accounts include their child accounts.
    - Reservation with flag ``MAINT``, and node that is down since a known time: maintenance window, after the jobs that
      a drained node ends. Other reservation: advance reservation; jobs that ran in it are dropped.

    The report counts what is not expressed: priority tiers and factors, fair shares, preemption, oversubscription,
    ``--switches``, ``--segment``, ``--contiguous``, ``--nodelist``, ``--exclude``, constraints on a number of nodes,
    alternatives of dependencies (``?``), limits on minutes and on submitted jobs. A relation that the log contradicts
    is left out. The recorded schedule has the first free CPUs of each node, because accounting does not name them. The
    formats follow the manual of Slurm of November 2026.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> conf = "NodeName=n[1-2] CPUs=4\nPartitionName=batch Nodes=ALL\n"
    >>> export = '''JobID|Partition|State|Submit|Start|End|NCPUS|NodeList
    ... 7|batch|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T01:01:00|8|n[1-2]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("october.txt", "slurm.conf")]
    ...     _ = paths[0].write_text(export), paths[1].write_text(conf)
    ...     log = coalloc.io.read_slurm(*paths)
    >>> log.instance
    <Instance 'october': 1 job on 1 cluster with 8 processors>
    >>> log.schedule["7"].start
    60.0
    """
    optional = [None if path is None else os.fspath(path) for path in (gres, nodes)]
    site = read_site(os.fspath(slurm_conf), *optional)
    network = None if topology is None else read_topology(os.fspath(topology))
    whole = unit == "nodes" or (unit == "auto" and site.schedules_nodes)
    layout = layout_of(site, network, "nodes" if whole else "cpus")
    tables = read_tables([os.fspath(path) for path in assoc])
    reserved = [] if reservations is None else read_reservations(os.fspath(reservations), layout)
    period = _period(after, before)
    reading = _Reading(os.fspath(sacct), broken, Collecting(Demands(layout), frozenset(r.name for r in reserved)))
    with no_collection():
        reading.read()
        making = Making(reading.collecting, *period, speedup, names == "pseudonyms")
        instance = making.instance(name or Path(reading.source).name.partition(".")[0] or "slurm", tables, reserved)
    return SlurmLog(instance, _report(reading, making, instance, tables), partial(making.schedule, instance))


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


@dataclass(slots=True)
class _Reading:
    """The accounting export while it is read."""

    source: str
    broken_lines: Broken
    collecting: Collecting
    broken: list[Fault] = field(default_factory=list)
    num_broken: int = 0
    missing: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Read all; raise where lines are broken and may not be."""
        is_first = True
        for line in read_records(self.source, self.collecting.demands.layout.unit, None):
            found = line.found
            if is_first and line.fields:
                self.missing, is_first = [name for name in USED if name not in line.fields], False
            if not isinstance(found, Fault):
                try:
                    self.collecting.add(found, line.fields)
                    continue
                except LineError as error:
                    found = Fault(f"line {line.number}", str(error))
            self.num_broken += 1
            if len(self.broken) < MAX_FAULTS:
                self.broken.append(found)
        if self.broken and self.broken_lines == "error":
            raise InstanceError(with_remedy(self.broken), self.source)
        self.collecting.finish()


def _report(reading: _Reading, making: Making, instance: Instance, tables: LimitTables) -> SlurmReport:
    """Return what became of a site's files."""
    collecting, layout = reading.collecting, making.layout
    unexpressed = layout.site.notes + tables.notes + collecting.unmet + making.notes
    processors = f"{instance.platform.num_processors} {'CPUs' if layout.unit == 'cpus' else 'whole nodes'}"
    num_running = len(making.running) - collecting.dropped[Left.UNPLACED]
    limits = f", {plural(len(instance.limits), 'limit')}" if instance.limits else ""
    return SlurmReport(
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
