"""The listing of jobs of Flux, ``flux jobs -A -a --count=0 --json``, as records of accounting.

Source: RFC 43 (job attributes) and RFC 21 (states) of Flux, and the manual page flux-jobs(1) of flux-core 0.88.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from coalloc.documents.kinds import load_document
from coalloc.documents.sentences import faults_of
from coalloc.documents.storage import opened
from coalloc.documents.text import quoted
from coalloc.documents.values import Count, Seconds, Text, Value, value
from coalloc.instance import Fault, InstanceError
from coalloc.workloads.slurm.sacct_records import RecordDrop, RecordLine, SacctRecord, Unit
from coalloc.workloads.slurm.values import FieldError, LineError, hosts

LIMIT = 2_000_000_000
"""Largest listing that is read, in bytes after decompression: 2 GB."""

USED = ("t_sched", "ncores", "nnodes", "nodelist", "duration", "queue", "bank", "username")
"""Keys that are read where a listing has them, and named where no job has them."""

USUAL_URGENCY = 16

ELSEWHERE = "jobs on nodes that the resources do not have, left out of the recorded schedule"

State = Literal["NEW", "DEPEND", "PRIORITY", "SCHED", "RUN", "CLEANUP", "INACTIVE"]


@value()
class FluxJob(Value):
    """The attributes of a job that are read; times are in s since 1970, and not stated where they have not come."""

    id: Annotated[int, Field(strict=True, ge=0)]
    t_submit: Seconds
    state: State
    t_sched: Seconds | None = None
    t_run: Seconds | None = None
    t_cleanup: Seconds | None = None
    t_inactive: Seconds | None = None
    runtime: Seconds = 0.0
    duration: Seconds = 0.0
    ncores: Count | None = None
    ntasks: Count | None = None
    nnodes: Count | None = None
    nodelist: Text | None = None
    queue: Text | None = None
    bank: Text | None = None
    username: Text | None = None
    userid: Annotated[int, Field(strict=True)] | None = None
    name: str = ""
    urgency: Annotated[int, Field(strict=True)] = USUAL_URGENCY


KEYS = frozenset(FluxJob.__dataclass_fields__)


HEAD = 65_536
"""Bytes of a file that tell a listing."""


def is_listing(path: str) -> bool:
    """Return whether a file begins with jobs of Flux."""
    try:
        with opened(path) as stream:
            first = stream.read(HEAD)
    except (OSError, EOFError, ValueError, zlib.error):
        return False
    return first.lstrip().startswith(b"{") and b'"t_submit"' in first


def read_listing(path: str) -> Sequence[object]:
    """Return the jobs of a listing, which are not yet read; one that was asked for by its id stands alone.

    Raises
    ------
    InstanceError
        The file cannot be read, is no JSON, or no listing.
    """
    document, faults = load_document(path, LIMIT)
    jobs = document.get("jobs", [document] if "id" in document else None)
    if not faults and not isinstance(jobs, list):
        faults = [Fault("jobs", "must be the list of jobs that flux jobs --json prints")]
    if faults or not isinstance(jobs, list):
        raise InstanceError(faults, path)
    return jobs


def missing_keys(jobs: Sequence[object]) -> list[str]:
    """Return the keys that no job has."""
    there = {key for job in jobs if isinstance(job, dict) for key in job}
    return [key for key in USED if key not in there]


def records(
    jobs: Sequence[object],
    unit: Unit,
    notes: Counter[str],
    *,
    queue: str | None = None,
    nodes: Container[str] | None = None,
) -> Iterator[RecordLine]:
    """Yield the record of each job, of a ``queue`` if one is given; ``notes`` counts what records do not state.

    ``nodes`` are those of the machine, if it is known.
    """
    ids = set[int]()
    for number, job in enumerate(jobs):
        place = f"jobs[{number}]"
        try:
            read = _read(job, notes, nodes)
            if read.id in ids:
                raise LineError(f"id must be unique, but {read.id} stands twice")
            ids.add(read.id)
            is_other = queue is not None and read.queue != queue
            yield RecordLine(place, RecordDrop.PARTITION if is_other else _record(read, unit), _fields(read))
        except LineError as error:
            yield RecordLine(place, Fault(place, str(error)), {})


def _read(job: object, notes: Counter[str], nodes: Container[str] | None) -> FluxJob:
    """Return a job with the attributes that are read."""
    if not isinstance(job, dict):
        raise LineError(f"must be the object of a job, got {quoted(str(job))}")
    given: dict[str, Any] = {key: job[key] for key in job.keys() & KEYS if job[key] != ""}
    try:
        read = pydantic.TypeAdapter(FluxJob).validate_python(given)
    except pydantic.ValidationError as error:
        raise LineError("; ".join(f"{fault.path} {fault.sentence}" for fault in faults_of(error, FluxJob))) from None
    if not read.name.isprintable():
        raise FieldError("name", "without control or format characters", read.name)
    names = hosts("nodelist", read.nodelist or "")
    inside = job.get("jobs", [])
    if not isinstance(inside, list):
        raise FieldError("jobs", "a list of jobs", str(inside))
    notes[ELSEWHERE] += nodes is not None and not all(name in nodes for name in names)
    notes["urgencies other than 16, which are for a queue order"] += read.urgency != USUAL_URGENCY
    notes["jobs inside of jobs (flux jobs --recursive), left out"] += len(inside)
    return read


def _record(job: FluxJob, unit: Unit) -> SacctRecord | RecordDrop:
    """Return the run of a job; a job without a run has never started."""
    if job.t_run is None and job.state != "RUN":
        return RecordDrop.NEVER_STARTED
    if job.t_run is None:
        raise LineError("t_run must be known for a job of state RUN")
    end = job.t_inactive if job.t_cleanup is None else job.t_cleanup
    if end is None and job.state == "INACTIVE":
        raise LineError("t_cleanup must be known for a job of state INACTIVE")
    processors, tasks = (job.ncores, job.ntasks) if unit == "cpus" else (job.nnodes, None)
    return SacctRecord(
        str(job.id),
        job.t_submit,
        job.t_submit if job.t_sched is None else job.t_sched,
        job.t_run,
        None if end is None else end - job.t_run,
        processors or 0,
        tasks or 0,
        job.duration or None,
        None,
        _user(job),
    )


def _user(job: FluxJob) -> str | None:
    return job.username or (None if job.userid is None else str(job.userid))


def _fields(job: FluxJob) -> Mapping[str, str]:
    """Return a job in the words of accounting."""
    return {
        "JobID": str(job.id),
        "JobName": job.name,
        "User": _user(job) or "",
        "Account": job.bank or "",
        "Partition": job.queue or "",
        "NNodes": str(job.nnodes or ""),
        "NodeList": job.nodelist or "",
        "ElapsedRaw": str(int(job.runtime)),
    }
