"""Platform and workload files of IRMaSim, the simulator of the PCBE experiments, read strictly.

The reference node has the slowest clock of the platform and does one operation per cycle, for that is what
PCBE takes the users' ``req_time`` to mean; so a job's estimate is its ``req_time``, a node's power is
``clock / slowest clock * operations per cycle``, and a job runs on it for exactly
``ceil(req_ops / ipc) / (clock * operations per cycle)``. Source: PCBE, sections 3.2.2 and 4.2; errata 19, 20.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import Field

from coalloc.documents.arguments import public
from coalloc.documents.kinds import Document, load_document
from coalloc.documents.sentences import faults_of, json_path
from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.documents.values import (
    Count,
    NonNegative,
    Positive,
    PositiveSeconds,
    Seconds,
    Share,
    Text,
    Value,
    value,
)
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.instance.read import duplicate_faults

V = TypeVar("V")

GIGA = 1e9
"""Clocks are in GHz, ``req_ops`` in operations."""

Unused = Annotated[Any, Field(description="known, and not used")]


def _as_text(id: object) -> object:
    """Return an id that is a whole number as a text."""
    return str(id) if isinstance(id, int) and not isinstance(id, bool) else id


Id = Annotated[Text, pydantic.BeforeValidator(_as_text)]


# ------------------------------------------------------------------------------ what the files hold


@value()
class ProcessorType(Value):
    """A processor: cores, GHz, and watts; ``min_power`` is the share of ``static_power`` drawn when idle.

    The others are of the model of memory contention, which is off in all published runs, or descriptive.
    """

    cores: Count
    clock_rate: Positive
    static_power: NonNegative
    dynamic_power: NonNegative
    min_power: Share
    dpflops_per_cycle: Positive = 1.0
    id: Unused = None
    type: Unused = None
    uarch: Unused = None
    llc_size: Unused = None
    power: Unused = None
    b: Unused = None
    c: Unused = None
    da: Unused = None
    db: Unused = None
    dc: Unused = None
    dd: Unused = None


@value()
class ProcessorsOfNode(Value):
    """Name of a processor in a node; ``number`` and ``count`` say how many."""

    type: Text
    number: Count = 1
    count: Count = 1


@value()
class NodeType(Value):
    """A node: its processor."""

    processors: Annotated[tuple[ProcessorsOfNode, ...], Field(min_length=1)]
    id: Unused = None
    memory: Unused = None


@value()
class NodesOfCluster(Value):
    """So many nodes of a type."""

    type: Text
    number: Count = 1


@value()
class ClusterDescription(Value):
    """A cluster: its nodes."""

    id: Text
    nodes: Annotated[tuple[NodesOfCluster, ...], Field(min_length=1)]
    local_links: Unused = None


@value()
class PlatformDescription(Value):
    """A platform: its clusters."""

    clusters: Annotated[tuple[ClusterDescription, ...], Field(min_length=1)]
    id: Unused = None
    model_name: Unused = None
    global_links: Unused = None


@value()
class PlatformFile(Value):
    """A platform file: one platform by name, and the types of nodes and processors that it has."""

    platform: Annotated[dict[str, PlatformDescription], Field(min_length=1)]
    node: dict[str, NodeType]
    processor: dict[str, ProcessorType]
    network: Unused = None


@value()
class TaskProfile(Value):
    """Operations of each task of a job (``req_ops``), and the requests of its user: seconds and joules."""

    req_ops: Positive
    ipc: Positive
    req_time: PositiveSeconds
    req_energy: NonNegative | None = None
    mem: Unused = None
    mem_vol: Unused = None


@value()
class ProfiledJob(Value):
    """A job whose profile is named."""

    id: Id
    subtime: Seconds
    profile: Text
    res: Count | None = None
    ntasks: Count | None = None
    ntasks_per_node: Count | None = None
    nodes: Count = 1


@value()
class PlainJob(Value):
    """A job that carries what a profile would say."""

    id: Id
    subtime: Seconds
    req_ops: Positive
    ipc: Positive
    req_time: PositiveSeconds
    req_energy: NonNegative | None = None
    mem: Unused = None
    mem_vol: Unused = None
    res: Count | None = None
    ntasks: Count | None = None
    ntasks_per_node: Count | None = None
    nodes: Count = 1


@value()
class WorkloadFile(Value):
    """A workload file whose jobs name profiles."""

    jobs: tuple[ProfiledJob, ...]
    profiles: dict[str, TaskProfile]


@value()
class PlainWorkloadFile(Value):
    """A workload file whose jobs carry everything themselves."""

    jobs: tuple[PlainJob, ...]


Row = tuple[ProfiledJob | PlainJob, TaskProfile | PlainJob]
"""A job, and what holds its operations: its profile, or the job itself."""


# ------------------------------------------------------------------------------ reading


@public
def read_irmasim(platform_path: FilePath, workload_path: FilePath, name: str | None = None) -> Instance:
    """Read an instance from the platform file and the workload file of the simulator IRMaSim.

    Keys of the contention model, of memory and of links are not used: links have no bandwidth, and no job loads them.

    Parameters
    ----------
    platform_path : str or PathLike
        The platform, JSON.
    workload_path : str or PathLike
        The workload, JSON.
    name : str or None, default None
        Name of the instance. None: folder and name of the workload file.

    Returns
    -------
    Instance
        The instance.

    Raises
    ------
    InstanceError
        A file cannot be read or is not valid. All validation errors are reported together, each with its JSON path.

    See Also
    --------
    coalloc.read_swf : Read a trace in the Standard Workload Format.

    Notes
    -----
    The reference node has the slowest clock and does one operation per cycle.

    - ``clock_rate``, ``dpflops_per_cycle``: ``clock`` (GHz) and ``flops_per_cycle``; ``power`` is clock / slowest clock
      times operations per cycle.
    - ``static_power``, ``dynamic_power``: ``static_watts`` and ``core_watts``. ``min_power`` is a share: ``idle_watts``
      is ``min_power`` times ``static_power``.
    - ``res`` or ``ntasks``: ``tasks``.
    - ``req_ops``, ``ipc``: ``base_time`` is ceil(req_ops / ipc) / slowest clock, since every task does all operations.
    - ``req_time``: ``estimate``, as a time at the slowest clock with one operation per cycle.
    - ``req_energy``: ``energy_estimate``, J per task. ``subtime``: ``arrival``, less that of the first job.

    Jobs on several nodes and nodes with several processors are errors, because their watts would be ambiguous. Source:
    PCBE, sections 3.2.2 and 4.2; errata 19 and 20.

    Examples
    --------
    A job of 6e9 operations per task, on cores of 2 GHz:

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> clusters = [{"id": "C1", "nodes": [{"type": "n", "number": 2}]}]
    >>> watts = {"static_power": 10.0, "dynamic_power": 5.0, "min_power": 1.0}
    >>> platform = {
    ...     "platform": {"machine": {"clusters": clusters}},
    ...     "node": {"n": {"processors": [{"type": "p"}]}},
    ...     "processor": {"p": {"cores": 4, "clock_rate": 2.0, **watts}},
    ... }
    >>> work = {"req_ops": 6e9, "ipc": 1, "req_time": 4.0}
    >>> job = {"id": "J1", "subtime": 0.0, "ntasks": 4, **work}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / name for name in ("platform.json", "workload.json")]
    ...     for path, document in zip(paths, (platform, {"jobs": [job]})):
    ...         _ = path.write_text(json.dumps(document))
    ...     coalloc.read_irmasim(*paths).jobs[0].base_time
    3.0
    """
    platform, slowest = _platform(platform_path)
    source = os.fspath(workload_path)
    try:
        return Instance(platform, _jobs(workload_path, platform, slowest), name=name or _name(source))
    except InstanceError as error:
        raise error if error.source else InstanceError(error.faults, source) from None


def _name(path: str) -> str:
    """Return ``folder-file`` of a path, without extensions."""
    folder, file = os.path.split(os.path.abspath(path))
    return "-".join(part for part in (os.path.basename(folder), file.split(".")[0]) if part) or "workload"


def _valid(path: FilePath, document: Document, faults: list[Fault], owner: type[V]) -> V:
    """Return a document as a value of this class, or raise all its faults."""
    try:
        made = pydantic.TypeAdapter(owner).validate_python(document)
    except pydantic.ValidationError as error:
        faults = faults + faults_of(error, owner)
    if faults:
        raise InstanceError(dict.fromkeys(faults), os.fspath(path))
    return made


def _raise(path: FilePath, faults: Iterator[Fault]) -> None:
    """Raise the faults of a file, if there are any."""
    found = tuple(faults)
    if found:
        raise InstanceError(found, os.fspath(path))


# ------------------------------------------------------------------------------ the platform


def _platform(path: FilePath) -> tuple[Platform, float]:
    """Return the platform of a file, and the clock of its reference node in GHz."""
    document, faults = load_document(path)
    file = _valid(path, document, faults, PlatformFile)
    _raise(path, _platform_faults(file))
    (description,) = file.platform.values()
    slowest = min(_processor(file, nodes).clock_rate for cluster in description.clusters for nodes in cluster.nodes)
    try:
        return Platform(tuple(_cluster(file, cluster, slowest) for cluster in description.clusters)), slowest
    except InstanceError as error:
        raise InstanceError(error.faults, os.fspath(path)) from None


def _platform_faults(file: PlatformFile) -> Iterator[Fault]:
    """Yield what is wrong between the parts of a platform file."""
    if len(file.platform) > 1:
        yield Fault("platform", f"must contain one platform, got {len(file.platform)}")
    for name, description in file.platform.items():
        yield from _cluster_faults(file, name, description.clusters)
    for name, node in file.node.items():
        yield from _node_faults(file, name, node)


def _cluster_faults(file: PlatformFile, platform: str, clusters: Sequence[ClusterDescription]) -> Iterator[Fault]:
    """Yield what is wrong with the clusters of a platform: ids that repeat, nodes that are not described."""
    path = ("platform", platform, "clusters")
    yield from duplicate_faults([cluster.id for cluster in clusters], lambda c: json_path((*path, c, "id")), "id")
    for c, cluster in enumerate(clusters):
        for n, nodes in enumerate(cluster.nodes):
            if nodes.type not in file.node:
                fault = f"must be a key of node, got {quoted(nodes.type)}"
                yield Fault(json_path((*path, c, "nodes", n, "type")), fault)


def _node_faults(file: PlatformFile, name: str, node: NodeType) -> Iterator[Fault]:
    """Yield what is wrong with the processors of a type of nodes."""
    if len(node.processors) > 1:
        yield Fault(json_path(("node", name, "processors")), f"must list one processor, got {len(node.processors)}")
    for p, processors in enumerate(node.processors):
        path = ("node", name, "processors", p)
        for key in ("number", "count"):
            number = getattr(processors, key)
            if number != 1:
                yield Fault(
                    json_path((*path, key)),
                    f"must be 1, got {number}; describe several processors of a node as one, with all their cores "
                    "and watts",
                )
        if processors.type not in file.processor:
            yield Fault(json_path((*path, "type")), f"must be a key of processor, got {quoted(processors.type)}")


def _processor(file: PlatformFile, nodes: NodesOfCluster) -> ProcessorType:
    """Return the processor that nodes have."""
    return file.processor[file.node[nodes.type].processors[0].type]


def _cluster(file: PlatformFile, cluster: ClusterDescription, slowest: float) -> Cluster:
    """Return a cluster; ``slowest`` is the clock of the reference node, GHz."""
    groups = tuple(_node_group(_processor(file, nodes), nodes.number, slowest) for nodes in cluster.nodes)
    return Cluster(cluster.id, groups, link_bandwidth=0.0)


def _node_group(processor: ProcessorType, number: int, slowest: float) -> NodeGroup:
    """Return so many nodes with this processor."""
    return NodeGroup(
        number,
        power=processor.clock_rate / slowest * processor.dpflops_per_cycle,
        cores=processor.cores,
        idle_watts=processor.min_power * processor.static_power,
        static_watts=processor.static_power,
        core_watts=processor.dynamic_power,
        clock=processor.clock_rate,
        flops_per_cycle=processor.dpflops_per_cycle,
    )


# ------------------------------------------------------------------------------ the jobs


def _jobs(path: FilePath, platform: Platform, slowest: float) -> tuple[Job, ...]:
    """Return the jobs of a workload file, the first of which arrives at 0."""
    document, faults = load_document(path)
    if "profiles" in document:
        file = _valid(path, document, faults, WorkloadFile)
        _raise(path, _profile_faults(file))
        rows = [(job, file.profiles[job.profile]) for job in file.jobs]
        return _made(path, rows, platform, slowest)
    plain = _valid(path, document, faults, PlainWorkloadFile)
    return _made(path, [(job, job) for job in plain.jobs], platform, slowest)


def _profile_faults(file: WorkloadFile) -> Iterator[Fault]:
    """Yield a fault for each job whose profile there is not."""
    for i, job in enumerate(file.jobs):
        if job.profile not in file.profiles:
            yield Fault(f"jobs[{i}].profile", f"must be a key of profiles, got {quoted(job.profile)}")


def _made(
    path: FilePath,
    rows: Sequence[tuple[ProfiledJob | PlainJob, TaskProfile | PlainJob]],
    platform: Platform,
    slowest: float,
) -> tuple[Job, ...]:
    """Return jobs from their descriptions and profiles."""
    largest = max(node.cores for node in platform.nodes)
    _raise(path, (fault for i, (job, _) in enumerate(rows) for fault in _job_faults(i, job, largest)))
    first = min((job.subtime for job, _ in rows), default=0.0)
    return tuple(
        Job(
            job.id,
            tasks=_tasks(job),
            base_time=math.ceil(profile.req_ops / profile.ipc) / (slowest * GIGA),
            arrival=float(job.subtime - first),
            estimate=float(profile.req_time),
            energy_estimate=profile.req_energy,
        )
        for job, profile in rows
    )


def _tasks(job: ProfiledJob | PlainJob) -> int:
    """Return the tasks of a job, under whichever key they are; 0 where under none."""
    return job.ntasks or job.res or 0


def _job_faults(index: int, job: ProfiledJob | PlainJob, largest: int) -> Iterator[Fault]:
    """Yield what is wrong between the keys of a job; ``largest`` is the number of cores of the largest node."""
    tasks = _tasks(job)
    if tasks == 0:
        yield Fault(f"jobs[{index}].ntasks", "is missing (or res)")
    elif None not in (job.res, job.ntasks) and job.res != job.ntasks:
        yield Fault(f"jobs[{index}].res", f"must equal ntasks, {job.ntasks}, got {job.res}")
    if job.nodes != 1:
        yield Fault(f"jobs[{index}].nodes", f"must be 1, got {job.nodes}: IRMaSim jobs run on one node")
    elif job.ntasks_per_node not in (None, tasks):
        path = f"jobs[{index}].ntasks_per_node"
        yield Fault(path, f"must be {tasks}, all tasks, got {job.ntasks_per_node}: IRMaSim jobs run on one node")
    if tasks > largest:
        yield Fault(f"jobs[{index}]", f"has {tasks} tasks, but the largest node has {largest} cores")
