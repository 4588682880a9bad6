"""Specification of a merge: traces with their sites, the platform, and how many weeks; a TOML file or a mapping.

The key ``speeds`` says what the power of a processor means. Source: Aragón Ayala (2012), section 5.1.1;
errata 28: as published it is the speed of the whole machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field

from coalloc.documents.sentences import faults_of, shown
from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.documents.toml import load_toml
from coalloc.documents.values import Listed, Text, Value, value
from coalloc.instance import Cluster, Fault, InstanceError, Platform
from coalloc.instance.files import read_platform
from coalloc.workloads.grids import Speeds, platforms
from coalloc.workloads.grids import platform as shipped_platform
from coalloc.workloads.swf_records import read_header

Whole = Annotated[int, Field(strict=True)]

DAY = 86_400
WEEK = 7 * DAY
"""Seconds."""

MAX_WEEKS = 10_000
"""Longest span of a trace: 192 years."""

LATEST = 100_000_000_000
"""Latest Unix time at which a trace may begin, s: in the year 5138."""

WARMUP_DAYS = 7.0
"""Days that are left out at the beginning of each trace; the source says that it leaves some out, not how many."""

START, TIME_ZONE = "UnixStartTime", "TimeZone"
"""Names in the header of a trace."""

RANGES = {START: range(LATEST + 1), TIME_ZONE: range(-DAY, DAY + 1)}
"""Allowed ranges of values."""


@value()
class TraceSpec(Value):
    """A trace and the site that it is of.

    Parameters
    ----------
    swf
        Its file, relative to the folder of the specification.
    site
        Name of a cluster of the platform.
    partitions
        Jobs of these partitions (field 16) alone; None: all jobs.
    time_zone
        Seconds east of Greenwich, as in the header; None: what the header says.
    start
        Unix time of the trace's 0, s; None: what the header says.
    """

    swf: Text
    site: Text
    partitions: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = None
    time_zone: Annotated[int, Field(strict=True, ge=-DAY, le=DAY)] | None = None
    start: Annotated[int, Field(strict=True, ge=0, le=LATEST)] | None = None


@value()
class MergeSpec(Value):
    """The keys of a specification.

    Parameters
    ----------
    platform
        A platform that comes with the package, by name; or a platform file (or instance file), relative to the folder
        of the specification.
    traces
        At least one, each of another site; in this order users are numbered and simultaneous jobs arrive.
    weeks
        How many weeks to cut; None: as many as every trace has.
    warmup_days
        Days after the first valid job of each trace that are left out.
    speeds
        ``"origin"``: run times and estimates are multiplied by the power of a processor of the site that the job was
        logged on, so that it runs at home as logged. ``"site"`` and ``"processor"``: they stay as logged. Of a platform
        that comes with the package it says what the powers are; those of a file are as they stand there.
    name
        What the weeks are called; None: the name of the specification.
    """

    platform: Text
    traces: Annotated[Listed[TraceSpec], Field(min_length=1)]
    weeks: Annotated[int, Field(strict=True, ge=1, le=MAX_WEEKS)] | None = None
    warmup_days: Annotated[float, Field(strict=True, ge=0, le=7 * MAX_WEEKS)] = WARMUP_DAYS
    speeds: Speeds = "site"
    name: Text | None = None


@dataclass(frozen=True, slots=True)
class WeekTrace:
    """A trace that is there: ``start`` is the Unix time of its 0, s; its run times are multiplied by ``factor``."""

    spec: TraceSpec
    path: Path
    start: int
    time_zone: int
    factor: float


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A specification of which all is known but the jobs; ``source`` is its path as given, if it has one."""

    spec: MergeSpec
    source: str | None
    name: str
    platform: Platform
    traces: tuple[WeekTrace, ...]

    @property
    def time_zone(self) -> int:
        """Time zone of the broker, seconds east of Greenwich: the least of all traces."""
        return min(trace.time_zone for trace in self.traces)

    @property
    def largest_site(self) -> int:
        """Processors of the largest cluster."""
        return max(cluster.num_processors for cluster in self.platform.clusters)


def planned(spec: FilePath | Mapping[str, Any], speeds: Speeds | None = None) -> MergePlan:
    """Return what a specification asks for; paths of a mapping are relative to the working directory.

    ``speeds`` stands for those of the specification.

    Raises
    ------
    InstanceError
        With every fault: keys, files that cannot be read, sites that the platform does not have, headers that do not
        say when and where a trace began.
    """
    instead = {} if speeds is None else {"speeds": speeds}
    if isinstance(spec, Mapping):
        return _plan(_validated({**spec, **instead}, None), None, Path())
    document, _ = load_toml(spec)
    source = os.fspath(spec)
    return _plan(_validated({**document, **instead}, source), source, Path(source).resolve().parent)


def _validated(document: dict[str, Any], source: str | None) -> MergeSpec:
    try:
        return pydantic.TypeAdapter(MergeSpec).validate_python(document)
    except pydantic.ValidationError as error:
        raise InstanceError(faults_of(error, MergeSpec), source) from None


def _plan(spec: MergeSpec, source: str | None, folder: Path) -> MergePlan:
    faults: list[Fault] = []
    platform = _platform(spec, folder, faults)
    sites = {cluster.name: cluster for cluster in platform.clusters} if platform else {}
    traces = []
    for number, trace in enumerate(spec.traces):
        where = f"traces[{number}]"
        found = list(_site_faults(trace, sites, spec)) if platform else []
        if trace.site in [other.site for other in spec.traces[:number]]:
            found.append(Fault("site", f"must differ for each trace, got {quoted(trace.site)} again"))
        header = _header(trace, folder, found)
        start = _fact(START, "start", trace.start, header, found)
        time_zone = _fact(TIME_ZONE, "time_zone", trace.time_zone, header, found)
        if not found and platform:
            factor = _power(sites[trace.site]) if spec.speeds == "origin" else 1.0
            traces.append(WeekTrace(trace, folder / trace.swf, start, time_zone, factor))
        faults += [fault.under(where) for fault in found]
    if faults or platform is None:
        raise InstanceError(faults, source)
    name = spec.name or (Path(source).name.removesuffix(".toml") if source else "weeks")
    return MergePlan(spec, source, name, platform, tuple(traces))


def _platform(spec: MergeSpec, folder: Path, faults: list[Fault]) -> Platform | None:
    """Return the platform that a specification names, or add to ``faults`` why there is none."""
    if spec.platform in platforms():
        return shipped_platform(spec.platform, spec.speeds)
    try:
        return read_platform(folder / spec.platform)
    except InstanceError as error:
        faults += [Fault("platform", f"{quoted(spec.platform)}: {fault}") for fault in error.faults]
        return None


def _site_faults(trace: TraceSpec, sites: Mapping[str, Cluster], spec: MergeSpec) -> Iterator[Fault]:
    """Yield what is wrong with the site of a trace."""
    if trace.site not in sites:
        yield Fault("site", f"must be a cluster of the platform ({', '.join(sites)}), got {shown(trace.site)}")
    elif spec.speeds == "origin" and len({group.effective_power for group in sites[trace.site].nodes}) > 1:
        yield Fault("site", f"must have nodes of one speed with speeds='origin', but {quoted(trace.site)} has several")


def _power(cluster: Cluster) -> float:
    return cluster.nodes[0].effective_power


def _header(trace: TraceSpec, folder: Path, faults: list[Fault]) -> dict[str, str] | None:
    """Return the header of a trace, or add to ``faults`` why it cannot be read."""
    try:
        return read_header(folder / trace.swf)
    except InstanceError as error:
        faults += [Fault("swf", f"{quoted(trace.swf)}: {fault}") for fault in error.faults]
        return None


def _fact(name: str, key: str, given: int | None, header: Mapping[str, str] | None, faults: list[Fault]) -> int:
    """Return a number that the specification gives, else the header; a fault where neither does."""
    if given is not None or header is None:  # without a header there is a fault already
        return given or 0
    text = header.get(name, "")
    if re.fullmatch(r"[+-]?[0-9]{1,15}", text) and int(text) in RANGES[name]:
        return int(text)
    said = f"has {shown(text)} as" if name in header else "has no"
    faults.append(Fault(key, f"is missing: the header of the trace {said} {name}"))
    return 0
