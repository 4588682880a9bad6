"""From a Slurm site's files to an instance: the platform, the jobs with their relations, limits and reservations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from coalloc.documents.arguments import public
from coalloc.documents.storage import FilePath
from coalloc.workloads.slurm.conf import read_site
from coalloc.workloads.slurm.limits import read_tables
from coalloc.workloads.slurm.making import Speedup
from coalloc.workloads.slurm.platform import layout_of
from coalloc.workloads.slurm.reservations import read_reservations
from coalloc.workloads.slurm.sacct_records import RecordLine, read_records
from coalloc.workloads.slurm.site_log import LogReading, NamesRule, SiteLog
from coalloc.workloads.slurm.topology import read_topology
from coalloc.workloads.swf import Broken

USED = (
    *("AllocTRES", "NodeList", "NNodes", "Partition", "Account", "QOS", "User", "JobName"),
    *("Constraints", "Licenses", "Reservation", "SubmitLine"),
)
"""Fields of sacct that are read where the export has them, and named where it does not."""


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
    names: NamesRule = "pseudonyms",
    broken: Broken = "error",
    name: str | None = None,
) -> SiteLog:
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
    SiteLog
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
    reading = LogReading(os.fspath(sacct), layout, broken, [], reserved, tables)
    records = _noting_missing(read_records(reading.source, layout.unit, None), reading.missing)
    return reading.log(records, after=after, before=before, speedup=speedup, names=names, name=name or "")


def _noting_missing(records: Iterable[RecordLine], missing: list[str]) -> Iterator[RecordLine]:
    """Yield records, and note the fields of sacct that the first one does not have."""
    is_first = True
    for record in records:
        if is_first and record.fields:
            missing += [name for name in USED if name not in record.fields]
            is_first = False
        yield record
