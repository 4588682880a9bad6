"""From the jobs and resources of a Flux instance to an instance: the platform and the jobs."""

from __future__ import annotations

import os
from typing import Literal

from coalloc.documents.arguments import public
from coalloc.documents.storage import FilePath
from coalloc.workloads.flux.jobs import missing_keys, read_listing, records
from coalloc.workloads.flux.resources import GPU, read_resources
from coalloc.workloads.slurm.platform import layout_of
from coalloc.workloads.slurm.site_log import LogReading, NamesRule, SiteLog
from coalloc.workloads.swf import Broken


@public
def read_flux(
    jobs: FilePath,
    resources: FilePath,
    *,
    config: FilePath | None = None,
    unit: Literal["auto", "cpus", "nodes"] = "auto",
    after: str | None = None,
    before: str | None = None,
    names: NamesRule = "pseudonyms",
    broken: Broken = "error",
    name: str | None = None,
) -> SiteLog:
    r"""Read the jobs and the resources of a Flux instance.

    Parameters
    ----------
    jobs : str or PathLike
        Output of ``flux jobs -A -a --count=0 --json``, plain or compressed with gzip.
    resources : str or PathLike
        A resource set, R (output of ``flux resource R``), or a resource graph in the JSON Graph Format.
    config : str, PathLike or None, default None
        The configuration in TOML, for ``[queues]``, ``[policy]`` and ``match-policy``. None: the queue ``batch`` is the
        nodes with the property ``batch``.
    unit : {"auto", "cpus", "nodes"}, default "auto"
        Whether a processor is a core or a node. ``"auto"``: a node with match policy ``lonodex`` or ``hinodex``.
    after : str or None, default None
        Start of the period in UTC, ``2026-10-01`` or ``2026-10-01T12:00:00``: jobs that run then are ``running`` jobs.
        None: the first arrival.
    before : str or None, default None
        End of the period in UTC: jobs that arrive then or later are dropped. None: all jobs.
    names : {"pseudonyms", "keep"}, default "pseudonyms"
        Names of users: number them, or keep them.
    broken : {"error", "drop"}, default "error"
        Unreadable jobs of the listing: raise an error, or drop them.
    name : str or None, default None
        Name of the instance. None: the name of the file.

    Returns
    -------
    SiteLog
        The instance, the recorded schedule and a report.

    Raises
    ------
    InstanceError
        A file cannot be read, or has malformed parts; each error has its JSON path.

    See Also
    --------
    coalloc.io.read_slurm : Read the machine and the log of a Slurm site.

    Notes
    -----
    The instance expresses Flux's concepts as follows:

    - Cores and GPUs of a node: ``cores``, and the resource ``gpu``. Memory of a graph: ``memory``.
    - Vertices of a graph that contain nodes, such as racks: clusters. Those that contain racks: switches, with their
      type as ``level``.
    - Property: feature of nodes. Queue: feature ``partition:NAME`` of the nodes that have the properties it requires.
    - Job: ``ncores`` tasks, or ``nnodes`` with whole nodes, from ``t_run`` to ``t_cleanup``. It arrives at ``t_sched``,
      when its dependencies have ended; without it, at ``t_submit``.
    - ``duration``: ``estimate``; the limit of the queue where it is 0.
    - Job that had not ended: run time until the end of the log.

    The listing does not state GPUs and memory of jobs, nor dependencies of jobs that have started; the report says so.
    It also counts urgencies, jobs inside of jobs, and other types of resources, which are not expressed. The recorded
    schedule has the first free cores of each node. Formats: RFC 4, 20, 21, 22, 23, 29 and 43 of Flux, flux-core 0.88
    and flux-sched 0.54.

    Examples
    --------
    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> node = {"rank": "0-1", "children": {"core": "0-3"}}
    >>> resources = {
    ...     "version": 1,
    ...     "execution": {"R_lite": [node], "nodelist": ["n[1-2]"]},
    ... }
    >>> times = {"t_submit": 1000.0, "t_run": 1060.0, "t_cleanup": 1360.0}
    >>> job = {
    ...     "id": 7,
    ...     "state": "INACTIVE",
    ...     **times,
    ...     "ncores": 8,
    ...     "nodelist": "n[1-2]",
    ...     "duration": 600.0,
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("jobs.json", "R.json")]
    ...     for path, document in zip(paths, ({"jobs": [job]}, resources)):
    ...         _ = path.write_text(json.dumps(document))
    ...     log = coalloc.io.read_flux(*paths)
    >>> log.instance
    <Instance 'jobs': 1 job on 1 cluster with 8 processors>
    >>> log.schedule["7"].start
    60.0
    """
    found = read_resources(os.fspath(resources), None if config is None else os.fspath(config))
    whole = unit == "nodes" or (unit == "auto" and found.schedules_nodes)
    layout = layout_of(found.site, found.topology, "nodes" if whole else "cpus")
    listing = read_listing(os.fspath(jobs))
    missing = missing_keys(listing)
    if any(node.gres for node in found.site.nodes.values()):
        missing.append(f"{GPU}s of jobs")
    reading = LogReading(os.fspath(jobs), layout, broken, missing)
    found_records = records(listing, layout.unit, found.site.notes, nodes=found.site.nodes)
    return reading.log(found_records, after=after, before=before, speedup="none", names=names, name=name or "")
