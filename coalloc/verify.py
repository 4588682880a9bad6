"""Check a certificate of optimality, with nothing but the standard library of Python 3.11 or newer.

    python verify.py instance.json certificate.json

An instance says which jobs are to run on which clusters; a certificate claims that no schedule of it ends before some
time, says why, and usually holds a schedule that attains that time. This program reads both files, computes everything
anew from the instance, and believes nothing that a certificate says. It prints what is proved, or the first step that
is not. Exit codes: 0 proved; 1 not proved; 2 a file cannot be read.

Numbers of a file are exact decimals here, and every computation is one of whole numbers or fractions. Definitions:
docs/reference-files.md; proofs of the rules, in full: docs/mathematics.md, "Certificates"; an example, and what is left
to believe: docs/trust.md. The file is read from top to bottom:

1. reading: strict JSON of bounded size;
2. instance: platform, links, jobs, modes and times in whole units, which are slots or ticks;
3. schedule: every rule that a schedule keeps;
4. cases: what is assumed of the jobs, and what follows for their times;
5. resources: what jobs take together, and the greatest price of jobs that fit;
6. rules: those that end a case, one function each, with its proof;
7. certificate: what is claimed, and whether all of it is proved.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple

MOST_BYTES = 64_000_000
"""Size of a file, decompressed."""
MOST_DIGITS = 60
"""Characters of a number in a file."""
MOST_QUANTITY = 10**100
"""Quantities of instances are not larger."""
MOST_MODES = 200_000
"""Modes of all jobs."""
MOST_STEPS = 50_000_000
"""Steps of all computations that a certificate asks for, about a minute each ten million."""
MOST_CASES = 100_000
"""Cases of one certificate."""
MOST_DEPTH = 200
"""Cases within cases, and jobs of a search."""
MOST_SEARCHED = 64
"""Jobs of a search."""
LINK_UNITS = 2**44
"""Loads of a link are counted in so many parts of its limit, rounded down."""

RELATIVE_TOLERANCE = Fraction(1, 10**9)
"""A load may exceed a capacity by this share."""
TIME_TOLERANCE, TIME_PRECISION = Fraction(1, 10**9), Fraction(1, 10**12)
"""A duration that exceeds whole slots by this, s, or by this share of itself, takes these slots."""
LEAST_TICK, MOST_TOLERANCE, NEVER = Fraction(1, 2**30), Fraction(1, 10**6), 10**11
"""The finest tick, s; the greatest tolerance of short times, s; an outage that ends later, s, ends never."""
PROOF_TOLERANCE = Fraction(1, 10**6)
"""Share of a makespan in continuous time by which the bound may be below it."""


class BadFileError(Exception):
    """A file is not what it has to be: exit code 2."""


class NotProvedError(Exception):
    """A step of a certificate is not proved: exit code 1."""


# ---------------------------------------------------------------------------------------------------------- 1. reading


def read_document(path: str) -> tuple[Any, str]:
    """Return the content of a JSON file, plain or compressed with gzip, and the SHA-256 of its text."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if raw[:2] == b"\x1f\x8b":
            decompressor = zlib.decompressobj(31)
            raw = decompressor.decompress(raw, MOST_BYTES + 1)
            if not decompressor.eof and len(raw) <= MOST_BYTES:
                raise BadFileError("the compressed file ends too early")
        if len(raw) > MOST_BYTES:
            raise BadFileError(f"the file has more than {MOST_BYTES:,} bytes")
        return parsed(raw.decode("utf-8")), hashlib.sha256(raw.rstrip(b"\n")).hexdigest()
    except BadFileError as error:
        raise BadFileError(f"{path}: {error}") from None
    except OSError as error:
        raise BadFileError(f"{path}: {error.strerror or error}") from None
    except (ValueError, zlib.error) as error:
        raise BadFileError(f"{path}: {error}") from None


def parsed(text: str) -> Any:
    """Return the content of a JSON text, with numbers as exact fractions or whole numbers."""
    try:
        return json.loads(
            text, parse_float=_decimal, parse_int=_whole, parse_constant=_no_number, object_pairs_hook=_unique
        )
    except RecursionError:
        raise BadFileError("not readable as JSON: nested too deeply") from None
    except ValueError as error:
        raise BadFileError(f"not readable as JSON: {error}") from None


def _decimal(text: str) -> Fraction:
    number = Decimal(text) if len(text) <= MOST_DIGITS else Decimal("nan")
    if not number.is_finite() or not -400 < number.adjusted() < 120:
        raise BadFileError(f"the number {text[:MOST_DIGITS]} is out of range")
    return Fraction(number)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise BadFileError(f"the number {text[:MOST_DIGITS]}... is out of range")
    return int(text)


def _no_number(text: str) -> Any:
    raise BadFileError(f"{text} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadFileError("an object has a property twice")
    return members


def _is_number(given: Any) -> bool:
    return isinstance(given, (int, Fraction)) and not isinstance(given, bool)


class Fields:
    """The properties of one JSON object, each taken once: what is left over is unknown, and an error."""

    def __init__(self, content: Any, path: str) -> None:
        if not isinstance(content, dict):
            raise BadFileError(f"{path}: must be an object")
        self._left, self.path = dict(content), path

    def _take(self, name: str, default: Any) -> Any:
        if name not in self._left and default is ...:
            raise BadFileError(f"{self.path}.{name}: is missing")
        return self._left.pop(name, default)

    def ignore(self, *names: str) -> None:
        """Take properties that do not matter here."""
        for name in names:
            self._left.pop(name, None)

    def end(self) -> None:
        """Raise where a property is left over."""
        if self._left:
            raise BadFileError(f"{self.path}: has an unknown property {next(iter(self._left))!r}")

    def number(self, name: str, default: Any = ..., least: Fraction | int | None = 0) -> Any:
        """Return a number, exactly; None where the property is absent or null and that is the default."""
        given = self._take(name, default)
        if given is None and default is None:
            return None
        if not _is_number(given) or abs(given) > MOST_QUANTITY:
            raise BadFileError(f"{self.path}.{name}: must be a number")
        if least is not None and given < least:
            raise BadFileError(f"{self.path}.{name}: must be at least {least}")
        return Fraction(given)

    def whole(self, name: str, default: Any = ..., least: int = 0) -> Any:
        """Return a whole number; None where the property is absent or null and that is the default."""
        given = self._take(name, default)
        if given is None and default is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int) or given < least:
            raise BadFileError(f"{self.path}.{name}: must be a whole number, at least {least}")
        return given

    def text(self, name: str, default: Any = ...) -> Any:
        """Return a text; None where the property is absent or null and that is the default."""
        given = self._take(name, default)
        if not isinstance(given, str) and not (given is None and default is None):
            raise BadFileError(f"{self.path}.{name}: must be text")
        return given

    def items(self, name: str, default: Any = ...) -> list[Any]:
        """Return a list."""
        given = self._take(name, default)
        if not isinstance(given, (list, tuple)):
            raise BadFileError(f"{self.path}.{name}: must be a list")
        return list(given)

    def texts(self, name: str, default: Any = ...) -> tuple[str, ...]:
        """Return a list of texts."""
        given = self.items(name, default)
        if not all(isinstance(part, str) for part in given):
            raise BadFileError(f"{self.path}.{name}: must be a list of texts")
        return tuple(given)

    def wholes(self, name: str) -> list[int]:
        """Return a list of whole numbers, none below 0."""
        given = self.items(name)
        if not all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in given):
            raise BadFileError(f"{self.path}.{name}: must be a list of whole numbers, at least 0")
        return given

    def part(self, name: str, default: Any = ...) -> Fields:
        """Return an object within the object."""
        return Fields(self._take(name, default), f"{self.path}.{name}")

    def parts(self, name: str, default: Any = ...) -> Iterator[Fields]:
        """Yield the objects of a list."""
        for number, content in enumerate(self.items(name, default)):
            yield Fields(content, f"{self.path}.{name}[{number}]")

    def amounts(self, name: str) -> dict[str, Fraction]:
        """Return an object with a number, at least 0, for each name."""
        inside = self.part(name, {})
        return {key: inside.number(key) for key in list(inside._left)}

    def has(self, name: str) -> bool:
        """Return whether a property is there and is neither null nor empty."""
        return bool(self._left.get(name))


# --------------------------------------------------------------------------------------------------------- 2. instance


@dataclass(frozen=True)
class Group:
    """A group of equal nodes of one cluster; ``speed`` is Gamma, ``first`` the number of its first node there."""

    cluster: int
    first: int
    count: int
    cores: int
    speed: Fraction
    availability: Fraction
    memory: Fraction | None
    features: tuple[str, ...]
    resources: Mapping[str, Fraction]

    @property
    def processors(self) -> int:
        """Processors of all its nodes."""
        return self.count * self.cores

    @property
    def nodes(self) -> list[tuple[int, int]]:
        """Its nodes: the cluster and the number there."""
        return [(self.cluster, number) for number in range(self.first, self.first + self.count)]


@dataclass(frozen=True)
class Link:
    """A link of the tree: its bandwidth, MB/s, and the clusters below it, by index."""

    name: str
    bandwidth: Fraction
    clusters: frozenset[int]


@dataclass(frozen=True)
class Shape:
    """One way to run a job: its number of tasks, its reference run time (s), and run times by node feature (s)."""

    tasks: int
    base_time: Fraction
    times: Mapping[str, Fraction]


@dataclass(frozen=True)
class Lag:
    """A job starts at least ``least`` and at most ``most`` seconds after the start or the end of another."""

    after: str
    of_end: bool
    least: Fraction
    most: Fraction | None


@dataclass(frozen=True)
class Job:
    """A job as the instance file states it; times in s, bandwidth in MB/s, memory in MB per task."""

    id: str
    shapes: tuple[Shape, ...]
    share: Fraction
    bandwidth: Fraction
    arrival: Fraction
    deadline: Fraction | None
    after: tuple[str, ...]
    lags: tuple[Lag, ...]
    eligible: tuple[str, ...]
    requires: tuple[str, ...]
    memory: Fraction
    whole: Mapping[str, Fraction]
    each: Mapping[str, Fraction]
    max_clusters: int | None
    min_tasks: int | None


@dataclass(frozen=True)
class Running:
    """A job that is placed already: its processors, and its times, s. One with a start above 0 is a reservation."""

    job: Job
    places: frozenset[Place]
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class Outage:
    """Nodes of a cluster, or some processors of a group, that are away from ``start`` to ``end``, s."""

    cluster: int
    start: Fraction
    end: Fraction
    nodes: frozenset[int] | None
    group: int | None
    processors: int

    def is_of(self, g: int, instance: Instance) -> bool:
        """Return whether it takes processors of a group, by index."""
        first = next(i for i, group in enumerate(instance.groups) if group.cluster == self.cluster)
        return self.group is not None and g == first + self.group


@dataclass(frozen=True)
class Limit:
    """The amounts of some jobs that run at one time sum to the capacity at most."""

    capacity: Fraction
    amounts: Mapping[str, Fraction]


Place = tuple[int, int, int]
"""A processor: cluster, node of it, and core of that."""


@dataclass(frozen=True)
class Instance:
    """An instance file. ``groups`` are those of all clusters, in order; capacities of resources are by place."""

    clusters: tuple[str, ...]
    groups: tuple[Group, ...]
    links: tuple[Link, ...]
    jobs: tuple[Job, ...]
    running: tuple[Running, ...]
    outages: tuple[Outage, ...]
    limits: tuple[Limit, ...]
    of_platform: Mapping[str, Fraction]
    of_clusters: tuple[Mapping[str, Fraction], ...]

    @cached_property
    def number(self) -> dict[str, int]:
        """The index of each job, by id."""
        return {job.id: j for j, job in enumerate(self.jobs)}

    @cached_property
    def origin(self) -> Fraction:
        """The time from which a makespan counts, s: the earliest arrival, or 0 where jobs run already."""
        return Fraction(0) if self.running else min((job.arrival for job in self.jobs), default=Fraction(0))

    def group_of(self, place: Place) -> int:
        """Return the index of the group of a processor; raise where there is no such processor."""
        for g, group in enumerate(self.groups):
            if group.cluster == place[0] and group.first <= place[1] < group.first + group.count:
                if 0 <= place[2] < group.cores:
                    return g
                break
        raise NotProvedError(f"{self.clusters[place[0]]}/{place[1]}.{place[2]} is not a processor of the platform")

    def place_of(self, name: str) -> list[Place]:
        """Return the processors of a name such as ``C1/0``, ``C1/0.3``, or a range: ``C1/0-7.0-3``."""
        cluster, _, numbers = name.rpartition("/")
        node, dot, core = numbers.partition(".")
        try:
            nodes, cores = _range(node), _range(core) if dot else range(1)
            c = self.clusters.index(cluster)
        except ValueError:
            raise NotProvedError(f"{name!r} is not a processor of the platform") from None
        if len(nodes) * len(cores) > sum(group.processors for group in self.groups):
            raise NotProvedError(f"{name!r} are more processors than the platform has")
        places = [(c, n, k) for n in nodes for k in cores]
        if any((self.groups[self.group_of(place)].cores > 1) != bool(dot) for place in places):
            raise NotProvedError(f"{name!r} does not name processors")
        return places


def _range(text: str) -> range:
    first, dash, last = text.partition("-")
    if not (first.isdecimal() and len(text) < 20 and (last.isdecimal() or not dash)):
        raise ValueError
    return range(int(first), int(last if dash else first) + 1)


def instance_of(document: Any) -> Instance:
    """Return an instance from the content of its file; raise where it has a feature that is not covered."""
    given = Fields(document, "instance")
    if given.text("format") != "coalloc-instance" or given.whole("version") not in (1, 2, 3):
        raise BadFileError("instance: must be a coalloc-instance file of version 1, 2 or 3")
    given.ignore("name")
    platform = given.part("platform")
    if given.has("local_users") or platform.has("sharing"):
        raise NotProvedError("not covered: time-shared nodes")
    given.ignore("local_users")
    platform.ignore("sharing")
    clusters, groups, links, of_clusters = _clusters_of(platform)
    instance = Instance(
        clusters=clusters,
        groups=groups,
        links=links,
        jobs=tuple(_job_of(job) for job in given.parts("jobs")),
        running=(),
        outages=(),
        limits=tuple(_limit_of(limit) for limit in given.parts("limits", [])),
        of_platform=platform.amounts("resources"),
        of_clusters=of_clusters,
    )
    instance = replace(
        instance,
        running=tuple(_running_of(run, instance) for run in given.parts("running", [])),
        outages=tuple(_outage_of(window, instance) for window in platform.parts("unavailable", [])),
    )
    platform.end()
    given.end()
    if len({job.id for job in (*instance.jobs, *(run.job for run in instance.running))}) != len(instance.jobs) + len(
        instance.running
    ):
        raise BadFileError("instance.jobs: two jobs have the same id")
    return instance


def _clusters_of(
    platform: Fields,
) -> tuple[tuple[str, ...], tuple[Group, ...], tuple[Link, ...], tuple[Mapping[str, Fraction], ...]]:
    """Return names of clusters, groups, links (of clusters, then of switches) and resources of the clusters."""
    names, groups, links, above, resources = [], [], [], [], []
    for c, cluster in enumerate(platform.parts("clusters")):
        names.append(cluster.text("name"))
        links.append(Link(names[-1], cluster.number("link_bandwidth"), frozenset([c])))
        above.append(cluster.text("switch", None))
        resources.append(cluster.amounts("resources"))
        first = 0
        for nodes in cluster.parts("nodes"):
            groups.append(_group_of(nodes, c, first))
            first += groups[-1].count
        cluster.ignore("efficiency", "power_states")
        cluster.end()
    if len(set(names)) != len(names) or not names:
        raise BadFileError("instance.platform.clusters: names must be unique, and there must be one")
    parents, bandwidths = {}, {}
    for switch in platform.parts("switches", []):
        name = switch.text("name")
        parents[name], bandwidths[name] = switch.text("parent"), switch.number("bandwidth")
        switch.ignore("level")
        switch.end()
    below: dict[str, set[int]] = {name: set() for name in parents}
    for c, above_cluster in enumerate(above):
        passed, switch_name = set[str](), above_cluster
        while switch_name in parents:
            if switch_name in passed:
                raise BadFileError("instance.platform.switches: must be a tree")
            passed.add(switch_name)
            below[switch_name].add(c)
            switch_name = parents[switch_name]
    links += [Link(name, bandwidths[name], frozenset(below[name])) for name in parents]
    return tuple(names), tuple(groups), tuple(links), tuple(resources)


def _group_of(nodes: Fields, cluster: int, first: int) -> Group:
    if nodes.whole("multiprogramming", 1, 1) != 1:
        raise NotProvedError("not covered: time-shared nodes (multiprogramming)")
    nodes.ignore("off_watts", "idle_watts", "static_watts", "core_watts", "clock", "flops_per_cycle")
    availability, power = nodes.number("availability", 1), nodes.number("power")
    if not (power > 0 and 0 < availability <= 1):
        raise BadFileError(f"{nodes.path}: power and availability must be above 0")
    group = Group(
        cluster=cluster,
        first=first,
        count=nodes.whole("count", least=1),
        cores=nodes.whole("cores", 1, 1),
        speed=power * availability,
        availability=availability,
        memory=nodes.number("memory", None),
        features=nodes.texts("features", []),
        resources=nodes.amounts("resources"),
    )
    nodes.end()
    return group


def _job_of(given: Fields) -> Job:
    for feature in ("slices", "level"):
        if given.has(feature):
            raise NotProvedError(f"not covered: {feature} of jobs")
    given.ignore("slices", "level", "estimate", "user", "energy_estimate", "weight", "due_date")
    name, share = given.text("id"), given.number("processing_share", 1)
    first = Shape(given.whole("tasks", least=1), given.number("base_time"), given.amounts("times"))
    others = []
    for shape in given.parts("shapes", []):
        others.append(Shape(shape.whole("tasks", least=1), shape.number("base_time"), shape.amounts("times")))
        shape.end()
    lags = []
    for lag in given.parts("lags", []):
        origin = lag.text("from", "end")
        lags.append(Lag(lag.text("after"), origin == "end", lag.number("min", 0, None), lag.number("max", None, None)))
        if origin not in ("start", "end"):
            raise BadFileError(f"{lag.path}.from: must be start or end")
        lag.end()
    job = Job(
        id=name,
        shapes=(first, *others),
        share=share,
        bandwidth=given.number("task_bandwidth", 0),
        arrival=given.number("arrival", 0),
        deadline=given.number("deadline", None),
        after=given.texts("after", []),
        lags=tuple(lags),
        eligible=given.texts("eligible", []),
        requires=given.texts("requires", []),
        memory=given.number("memory", None) or Fraction(0),
        whole=given.amounts("resources"),
        each=given.amounts("task_resources"),
        max_clusters=given.whole("max_clusters", None, 1),
        min_tasks=given.whole("min_tasks_per_cluster", None, 1),
    )
    given.end()
    if share > 1 or any(time <= 0 for s in job.shapes for time in (s.base_time, *s.times.values())):
        raise BadFileError(f"{given.path}: processing_share must be at most 1, and run times above 0")
    return job


def _running_of(given: Fields, instance: Instance) -> Running:
    job = _job_of(given.part("job"))
    places = frozenset(place for name in given.texts("nodes") for place in instance.place_of(name))
    run = Running(job, places, given.number("start", 0), given.number("end"))
    given.end()
    return run


def _outage_of(given: Fields, instance: Instance) -> Outage:
    name, nodes = given.text("cluster"), given.texts("nodes", [])
    if name not in instance.clusters:
        raise BadFileError(f"{given.path}.cluster: is not a cluster")
    c, named = instance.clusters.index(name), set[int]()
    for text in nodes:
        prefix, _, numbers = text.rpartition("/")
        try:
            span = _range(numbers)
        except ValueError:
            span = range(0)
        if prefix != name or not 0 < len(span) <= sum(group.count for group in instance.groups):
            raise BadFileError(f"{given.path}.nodes: {text!r} does not name nodes of the cluster")
        named |= set(span)
    outage = Outage(
        cluster=c,
        start=given.number("start"),
        end=given.number("end"),
        nodes=frozenset(named) if nodes else None,
        group=given.whole("group", None),
        processors=given.whole("processors", None, 1) or 0,
    )
    given.end()
    return outage


def _limit_of(given: Fields) -> Limit:
    given.ignore("name")
    jobs, amounts = given.texts("jobs"), given.items("amounts", [])
    if amounts and len(amounts) != len(jobs):
        raise BadFileError(f"{given.path}.amounts: must have one amount per job")
    if not all(map(_is_number, amounts)):
        raise BadFileError(f"{given.path}.amounts: must be numbers")
    limit = Limit(given.number("capacity"), dict(zip(jobs, map(Fraction, amounts or [1] * len(jobs)), strict=True)))
    given.end()
    return limit


@dataclass(frozen=True)
class Clock:
    """Times in whole units: slots of ``unit`` seconds, rounded up, or ticks of continuous time, to the nearest.

    ``tolerance`` (s): points in time that differ by no more are equal. A tick is a power of two of seconds, and so
    fine that rounding moves no end of a schedule by more than the tolerance (docs/mathematics.md, "Ticks").
    """

    unit: Fraction
    is_slotted: bool
    tolerance: Fraction

    @classmethod
    def of(cls, instance: Instance, slot: Fraction | None) -> Clock:
        """Return the clock of an instance; ``slot`` is None for continuous time."""
        slowest = min(min(group.speed, group.availability) for group in instance.groups)
        longest = (max(t for s in job.shapes for t in (s.base_time, *s.times.values())) for job in instance.jobs)
        waits = (max(Fraction(0), lag.least) for job in instance.jobs for lag in job.lags)
        last = max(
            (
                *(job.arrival for job in instance.jobs),
                *(run.end for run in instance.running),
                *(outage.end if outage.end <= NEVER else outage.start for outage in instance.outages),
            ),
            default=Fraction(0),
        )
        horizon = max(last - instance.origin, Fraction(0)) + sum(longest) * max(Fraction(1), 1 / slowest) + sum(waits)
        latest = instance.origin + horizon
        tick = max(LEAST_TICK, _power_of_two(latest, up=False) / 2**50, _power_of_two(horizon / 2**50, up=True))
        number = len(instance.jobs) + len(instance.running)
        tolerance = min((number + 1) * tick, max(MOST_TOLERANCE, TIME_PRECISION * latest))
        if slot is not None and not slot > 0:
            raise BadFileError("certificate.problem.slot: must be above 0")
        return cls(tick if slot is None else slot, slot is not None, tolerance)

    def duration(self, seconds: Fraction) -> int:
        """Return a duration in units."""
        return self._units(seconds, Fraction(0))

    def instant(self, seconds: Fraction) -> int:
        """Return a point in time in units."""
        return self._units(seconds, self.tolerance)

    def latest(self, seconds: Fraction) -> int:
        """Return the last unit that is not after a point in time, but for the tolerance."""
        return floor((seconds + max(self.tolerance, TIME_TOLERANCE, TIME_PRECISION * seconds)) / self.unit)

    def _units(self, seconds: Fraction, tolerance: Fraction) -> int:
        if not self.is_slotted:
            return round(seconds / self.unit)
        return max(0, ceil((seconds - max(tolerance, TIME_TOLERANCE, TIME_PRECISION * seconds)) / self.unit))


def _power_of_two(number: Fraction, up: bool) -> Fraction:
    """Return the greatest power of two that is at most a number, or with ``up`` the least that is at least it; or 0."""
    if number <= 0:
        return Fraction(0)
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while 2 * power <= number:
        power *= 2
    return 2 * power if up and power < number else power


@dataclass(frozen=True)
class Mode:
    """One allocation of a job, with ``counts`` tasks in each group: its duration in units, and its loads, MB/s."""

    counts: tuple[int, ...]
    duration: int
    loads: tuple[Fraction, ...]


@dataclass(frozen=True)
class Problem:
    """An instance with the options of a solve: what a schedule is, and in which units times count."""

    instance: Instance
    clock: Clock
    scope: str
    saturation: Fraction

    def execution_time(self, job: Job, shape: Shape, groups: Sequence[int]) -> Fraction:
        """Return how long a job runs on some groups, s: the slowest of them decides, and no link saturates."""

        def on(group: Group) -> Fraction:
            named = next((shape.times[name] for name in group.features if name in shape.times), None)
            if named is not None:
                return named * (job.share / group.availability + 1 - job.share)
            return shape.base_time * (job.share / group.speed + 1 - job.share)

        return max(on(self.instance.groups[g]) for g in groups)

    def link_limit(self, link: Link) -> Fraction:
        """Return the greatest load of a link, MB/s."""
        return link.bandwidth * (1 + self.saturation) * (1 + RELATIVE_TOLERANCE)

    def loads(self, job: Job, by_cluster: Sequence[int]) -> tuple[Fraction, ...]:
        """Return what a job loads each link with, MB/s: each task sends to all others, some beyond the link."""
        tasks = sum(by_cluster)
        inside = [sum(by_cluster[c] for c in link.clusters) for link in self.instance.links]
        return tuple(n * job.bandwidth * (tasks - n) / max(1, tasks - 1) for n in inside)

    def by_cluster(self, counts: Sequence[int]) -> list[int]:
        """Return the tasks in each cluster, of those in each group."""
        held = [0] * len(self.instance.clusters)
        for group, count in zip(self.instance.groups, counts, strict=True):
            held[group.cluster] += count
        return held

    @cached_property
    def modes(self) -> tuple[tuple[Mode, ...], ...]:
        """All modes of each job that it may have alone on the empty platform."""
        self._check_references()
        found, number = [], 0
        for job in self.instance.jobs:
            modes = []
            for shape in job.shapes:
                for counts in self._allocations(job, shape):
                    number += 1
                    if number > MOST_MODES:
                        raise NotProvedError(f"not covered: the jobs have more than {MOST_MODES:,} modes")
                    mode = self._mode(job, shape, counts)
                    modes += [] if mode is None else [mode]
            if not modes:
                raise NotProvedError(f"not covered: job {job.id!r} fits on no part of the platform")
            if any(mode.duration < 1 for mode in modes):
                raise NotProvedError(f"not covered: job {job.id!r} takes no time")
            found.append(tuple(modes))
        return tuple(found)

    def _check_references(self) -> None:
        """Raise where a job refers to a job or a cluster that is not there."""
        known = {*self.instance.number, *(run.job.id for run in self.instance.running)}
        for job in self.instance.jobs:
            others = (*job.after, *(lag.after for lag in job.lags))
            if not known.issuperset(others) or not set(self.instance.clusters).issuperset(job.eligible):
                raise BadFileError(f"instance.jobs: job {job.id!r} refers to a job or a cluster that does not exist")

    def rooms(self, job: Job, group: Group) -> int:
        """Return how many tasks of a job a group may hold, at most."""
        if not set(job.requires) <= set(group.features):
            return 0
        if job.eligible and self.instance.clusters[group.cluster] not in job.eligible:
            return 0
        per_node = group.cores
        if group.memory is not None and job.memory > 0:
            per_node = min(per_node, floor(group.memory * (1 + RELATIVE_TOLERANCE) / job.memory))
        return per_node if self.scope == "node" else per_node * group.count

    def _allocations(self, job: Job, shape: Shape) -> Iterator[tuple[int, ...]]:
        """Yield the ways to distribute the tasks of a job to groups that its scope allows."""
        groups = self.instance.groups
        rooms = [self.rooms(job, group) for group in groups]
        if self.scope == "platform":
            yield from _distributions(shape.tasks, rooms)
            return
        parts = [[g] for g in range(len(groups))]
        if self.scope == "cluster":
            clusters = range(len(self.instance.clusters))
            parts = [[g for g, group in enumerate(groups) if group.cluster == c] for c in clusters]
        for part in parts:
            yield from _distributions(shape.tasks, [room if g in part else 0 for g, room in enumerate(rooms)])

    def _mode(self, job: Job, shape: Shape, counts: tuple[int, ...]) -> Mode | None:
        """Return the mode of an allocation; None where it breaks a rule by itself."""
        held = self.by_cluster(counts)
        used = [number for number in held if number]
        if job.max_clusters is not None and len(used) > job.max_clusters:
            return None
        if job.min_tasks is not None and min(used) < job.min_tasks:
            return None
        loads = self.loads(job, held)
        if any(load > self.link_limit(link) for load, link in zip(loads, self.instance.links, strict=True)):
            return None
        seconds = self.execution_time(job, shape, [g for g, count in enumerate(counts) if count])
        return Mode(counts, self.clock.duration(seconds), loads)

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The distinct durations of each job, in units, the shortest first."""
        return tuple(tuple(sorted({mode.duration for mode in modes})) for modes in self.modes)


def _distributions(tasks: int, rooms: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all ways to put tasks into rooms."""
    if not rooms:
        if tasks == 0:
            yield ()
        return
    beyond = sum(rooms[1:])
    for first in range(max(0, tasks - beyond), min(tasks, rooms[0]) + 1):
        for others in _distributions(tasks - first, rooms[1:]):
            yield (first, *others)


# --------------------------------------------------------------------------------------------------------- 3. schedule


@dataclass(frozen=True)
class Row:
    """A job that holds processors from ``start`` to ``end``, s; ``is_placed`` by the schedule, or running before."""

    job: Job
    start: Fraction
    end: Fraction
    places: frozenset[Place]
    counts: tuple[int, ...]
    is_placed: bool


def latest_end_of(problem: Problem, document: Any) -> int:
    """Return the latest end, in units, of a schedule that keeps every rule; raise at the first rule that it breaks."""
    given = Fields(document, "certificate.schedule")
    if given.text("format") != "coalloc-schedule" or given.whole("version") not in (1, 2):
        raise BadFileError("certificate.schedule: must be a coalloc-schedule of version 1 or 2")
    given.ignore("instance", "slot")
    placements = list(given.parts("placements"))
    given.end()
    names = [placement._left.get("job") for placement in placements]
    if sorted(map(str, names)) != sorted(problem.instance.number):
        raise NotProvedError("schedule: it must place every job once")
    rows, latest = [], 0
    for placement in placements:
        row, end = _row_of(problem, placement)
        rows.append(row)
        latest = max(latest, end)
    rows += [
        Row(run.job, run.start, run.end, run.places, _counts(problem.instance, run.places), False)
        for run in problem.instance.running
    ]
    _check_times(problem, rows)
    _check_processors(problem, rows)
    _check_capacities(problem, rows)
    return latest


def _counts(instance: Instance, places: frozenset[Place]) -> tuple[int, ...]:
    counts = [0] * len(instance.groups)
    for place in places:
        counts[instance.group_of(place)] += 1
    return tuple(counts)


def _row_of(problem: Problem, given: Fields) -> tuple[Row, int]:
    """Return a placement, and its end in units; what concerns its job alone is checked."""
    instance, clock = problem.instance, problem.clock
    job = instance.jobs[instance.number[given.text("job")]]
    start, end = given.number("start", least=None), given.number("end", least=None)
    named = [place for name in given.texts("nodes") for place in instance.place_of(name)]
    shape_number, outcome = given.whole("shape", 0), given.text("outcome", "completed")
    given.end()
    what = f"schedule: job {job.id!r}"
    if outcome != "completed" or shape_number >= len(job.shapes):
        raise NotProvedError(f"{what} must be completed, in a shape that it has")
    shape, places = job.shapes[shape_number], frozenset(named)
    if len(named) != len(places) or len(places) != shape.tasks:
        raise NotProvedError(f"{what} must have {shape.tasks} different processors")
    counts = _counts(instance, places)
    if any(count and not problem.rooms(job, group) for count, group in zip(counts, instance.groups, strict=True)):
        raise NotProvedError(f"{what} is on a node that it may not use")
    clusters, nodes = {place[0] for place in places}, {place[:2] for place in places}
    parts = {"platform": 1, "cluster": len(clusters), "node": len(nodes)}
    if parts[problem.scope] > 1:
        raise NotProvedError(f"{what} is outside of one {problem.scope}")
    mode = problem._mode(job, shape, counts)
    if mode is None:
        raise NotProvedError(f"{what} has an allocation that it may not have")
    first = round(start / clock.unit)
    if clock.is_slotted and abs(start - first * clock.unit) > clock.tolerance:
        raise NotProvedError(f"{what} does not start at a whole slot")
    if abs(end - start - mode.duration * clock.unit) > clock.tolerance:
        raise NotProvedError(f"{what} must last {shown(mode.duration * clock.unit)} s")
    if start < job.arrival - clock.tolerance:
        raise NotProvedError(f"{what} starts before its arrival")
    if job.deadline is not None and end > job.deadline + clock.tolerance:
        raise NotProvedError(f"{what} ends after its deadline")
    return Row(job, start, end, places, counts, True), first + mode.duration


def _check_times(problem: Problem, rows: Sequence[Row]) -> None:
    """Raise where a job starts too early or too late after another one."""
    of, tolerance = {row.job.id: row for row in rows}, problem.clock.tolerance
    for row in (row for row in rows if row.is_placed):
        for name in row.job.after:
            if row.start < of[name].end - tolerance:
                raise NotProvedError(f"schedule: job {row.job.id!r} starts before the end of {name!r}")
        for lag in row.job.lags:
            time = of[lag.after].end if lag.of_end else of[lag.after].start
            is_late = lag.most is not None and row.start > time + lag.most + tolerance
            if row.start < time + lag.least - tolerance or is_late:
                raise NotProvedError(f"schedule: job {row.job.id!r} breaks its lag after {lag.after!r}")


def _check_processors(problem: Problem, rows: Sequence[Row]) -> None:
    """Raise where two jobs hold a processor for longer than the tolerance, or a job one that is away."""
    tolerance = problem.clock.tolerance
    for i, row in enumerate(rows):
        if not row.is_placed:
            break
        for other in rows[i + 1 :]:
            if min(row.end, other.end) - max(row.start, other.start) > tolerance and row.places & other.places:
                raise NotProvedError(f"schedule: jobs {row.job.id!r} and {other.job.id!r} hold a processor at once")
        for outage in problem.instance.outages:
            if outage.group is None and min(row.end, outage.end) - max(row.start, outage.start) > tolerance:
                taken = [p for p in row.places if p[0] == outage.cluster]
                if any(outage.nodes is None or node in outage.nodes for _, node, _ in taken):
                    raise NotProvedError(f"schedule: job {row.job.id!r} is on a node that is away")


def _check_capacities(problem: Problem, rows: Sequence[Row]) -> None:
    """Raise where what jobs take together exceeds a capacity, at a time at which a job of the schedule takes some.

    Sums rise at starts alone, so these are the times that are checked. A job that has ended but for the tolerance
    takes nothing any more.
    """
    instance, tolerance = problem.instance, problem.clock.tolerance
    begins = {row.start for row in rows} | {outage.start for outage in instance.outages}
    for time in sorted(begins):
        active = [row for row in rows if row.start <= time < row.end - tolerance]
        for what, capacity, loads in _loads(problem, time, active):
            taken = any(load and row.is_placed for load, row in zip(loads, active, strict=True))
            if taken and sum(loads) > capacity * (1 + RELATIVE_TOLERANCE):
                raise NotProvedError(f"schedule: more than there is of {what} is taken at {shown(time)} s")


def _loads(problem: Problem, time: Fraction, rows: Sequence[Row]) -> Iterator[tuple[str, Fraction, list[Fraction]]]:
    """Yield what is limited at a time: its name, its capacity, and what each row takes of it."""
    instance, zero = problem.instance, Fraction(0)
    for k, link in enumerate(instance.links):
        loads = [problem.loads(row.job, problem.by_cluster(row.counts))[k] for row in rows]
        yield link.name, link.bandwidth * (1 + problem.saturation), loads
    for limit in instance.limits:
        yield "a limit", limit.capacity, [limit.amounts.get(row.job.id, zero) for row in rows]
    for g, group in enumerate(instance.groups):
        if away := sum(o.processors for o in instance.outages if o.is_of(g, instance) and o.start <= time < o.end):
            yield "a group in an outage", Fraction(group.processors - away), [Fraction(row.counts[g]) for row in rows]
        for node in group.nodes if group.memory is not None else ():
            yield "memory", group.memory or zero, [row.job.memory * _tasks(row, node) for row in rows]
    for name in sorted({name for row in rows for name in (*row.job.whole, *row.job.each)}):
        for capacity, at in _places(instance, name):
            tasks = [_tasks(row, at) for row in rows]
            pairs = [(row.job.whole.get(name, zero), row.job.each.get(name, zero)) for row in rows]
            yield (
                name,
                capacity,
                [whole + each * n if n else zero for (whole, each), n in zip(pairs, tasks, strict=True)],
            )


def _places(instance: Instance, name: str) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Yield the capacities of a resource: of the platform, or of each cluster, or of each node."""
    if name in instance.of_platform:
        yield instance.of_platform[name], ()
    elif any(name in of_cluster for of_cluster in instance.of_clusters):
        for c, of_cluster in enumerate(instance.of_clusters):
            yield of_cluster.get(name, Fraction(0)), (c,)
    else:
        for group in instance.groups:
            for at in group.nodes:
                yield group.resources.get(name, Fraction(0)), at


def _tasks(row: Row, where: tuple[int, ...]) -> int:
    """Return how many processors a row holds in a cluster, or on a node of one."""
    return sum(place[: len(where)] == where for place in row.places)


# ------------------------------------------------------------------------------------------------------------ 4. cases


@dataclass(frozen=True)
class Delay:
    """Job ``late`` starts at least ``least`` units after the end of job ``early``, or after its start."""

    early: int
    late: int
    of_end: bool
    least: int


@dataclass(frozen=True)
class Case:
    """What is assumed of a schedule, to be refuted: it ends by ``limit`` (units), and its jobs keep these ranges.

    ``levels`` are the durations that each job may have, by index, ``earliest`` its first start, ``latest`` its last
    start, ``ends`` its last end, all in units; ``together`` are pairs of jobs that run at one time.
    """

    problem: Problem
    limit: int
    levels: tuple[tuple[int, ...], ...]
    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    ends: tuple[int, ...]
    delays: frozenset[Delay]
    together: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def root(cls, problem: Problem, limit: int) -> Case:
        """Return the case of all schedules that end by a limit."""
        instance, clock = problem.instance, problem.clock
        ended = {run.job.id: run for run in instance.running}
        earliest, ends, delays = [], [], set[Delay]()
        for j, job in enumerate(instance.jobs):
            first = clock.instant(job.arrival)
            lags = [Lag(name, True, Fraction(0), None) for name in job.after]
            for lag in (lag for lag in (*lags, *job.lags) if lag.least >= 0):
                least = clock.instant(lag.least)
                if lag.after in ended:
                    run = ended[lag.after]
                    first = max(first, clock.instant(run.end if lag.of_end else run.start) + least)
                else:
                    delays.add(Delay(instance.number[lag.after], j, lag.of_end, least))
            earliest.append(first)
            ends.append(limit if job.deadline is None else min(limit, clock.latest(job.deadline)))
        levels = tuple(tuple(range(len(of_job))) for of_job in problem.levels)
        return cls(problem, limit, levels, tuple(earliest), tuple(ends), tuple(ends), frozenset(delays)).propagated

    def shortest(self, j: int) -> int:
        """Return the shortest duration that a job may have, units; infinitely long where there is none."""
        return self.problem.levels[j][self.levels[j][0]] if self.levels[j] else MOST_QUANTITY

    def is_before(self, i: int, j: int) -> bool:
        """Return whether one job ends before another starts."""
        return any(d.of_end and d.least >= 0 and (d.early, d.late) == (i, j) for d in self.delays)

    @cached_property
    def propagated(self) -> Case:
        """The case with what follows for the ranges of its jobs.

        *Proof.* A job starts no earlier than its earliest start, and takes its shortest duration at least; so another
        that waits for it starts no earlier than their sum, and by the same sum the job itself has to end early enough
        for the other. Two jobs run at one time only if neither has ended when the other starts, in whole units at
        least one unit before. A duration that does not fit between earliest start and last end is not had. Each step
        keeps all schedules of the case, so one may stop after any of them.
        """
        earliest, latest, ends, case = list(self.earliest), list(self.latest), list(self.ends), self
        for _ in range(len(earliest) + 1):
            for d in self.delays:
                least = d.least + (case.shortest(d.early) if d.of_end else 0)
                earliest[d.late] = max(earliest[d.late], earliest[d.early] + least)
                latest[d.early] = min(latest[d.early], latest[d.late] - least)
                if d.of_end:
                    ends[d.early] = min(ends[d.early], latest[d.late] - d.least)
            for i, j in (*self.together, *((j, i) for i, j in self.together)):
                if case.levels[i]:
                    longest = self.problem.levels[i][case.levels[i][-1]]
                    earliest[i] = max(earliest[i], earliest[j] - longest + 1)
            kept = [
                tuple(n for n in of_job if earliest[j] + self.problem.levels[j][n] <= ends[j])
                for j, of_job in enumerate(case.levels)
            ]
            last = [min(last, ends[j] - case.shortest(j)) for j, last in enumerate(latest)]
            before, case = (
                case,
                replace(self, levels=tuple(kept), earliest=tuple(earliest), latest=tuple(last), ends=tuple(ends)),
            )
            latest = list(case.latest)
            if (before.levels, before.earliest, before.latest, before.ends) == (
                case.levels,
                case.earliest,
                case.latest,
                case.ends,
            ):
                break
        return case

    @property
    def contradiction(self) -> str:
        """Why no schedule is one of the case, as far as the ranges of its jobs say; nothing where they do not."""
        for j, job in enumerate(self.problem.instance.jobs):
            if not self.levels[j] or self.earliest[j] > self.latest[j]:
                return f"job {job.id!r} cannot start early enough"
        return ""


# -------------------------------------------------------------------------------------------------------- 5. resources


class Steps:
    """Counts the steps of all computations, which are limited."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Count steps; raise where there are too many."""
        self.left -= steps
        if self.left < 0:
            raise NotProvedError("the proof takes more steps than are allowed")


class Resources:
    """What jobs take of the processors and of some links, packed into one integer per mode.

    With ``processors="groups"`` there is a capacity for the processors of each group. With ``"speeds"`` there is one
    for all groups at least as fast as each of them: a job that takes a duration takes of these groups at least what is
    least in any of its modes of that duration. Either only drops constraints, so what fits in a schedule fits here.

    An integer has a field of bits per capacity, with a highest bit that is set: what is free. A use is subtracted; what
    does not fit clears the highest bit of a field, and never reaches the next one.
    """

    def __init__(self, problem: Problem, processors: str, links: Sequence[str]) -> None:
        groups = problem.instance.groups
        if processors == "groups":
            parts = [[g] for g in range(len(groups))]
        else:
            speeds = sorted({group.speed for group in groups}, reverse=True)
            parts = [[g for g, group in enumerate(groups) if group.speed >= speed] for speed in speeds]
        self.processors, self.links = processors, tuple(links)
        self._problem, self._parts, self._is_least = problem, parts, processors == "speeds"
        self._links = [k for k, link in enumerate(problem.instance.links) if link.name in links]
        capacities = [sum(groups[g].processors for g in part) for part in parts] + [LINK_UNITS] * len(self._links)
        self._shifts, shift = [], 0
        for capacity in capacities:
            self._shifts.append(shift)
            shift += capacity.bit_length() + 2
        self.guard = self._packed([1 << (capacity.bit_length() + 1) for capacity in capacities])
        self.free = self.guard + self._packed(capacities)
        self.options = [self._options(j) for j in range(len(problem.instance.jobs))]
        self._sets: list[tuple[int, int, int]] | None = None

    def _packed(self, amounts: Sequence[int]) -> int:
        return sum(amount << shift for amount, shift in zip(amounts, self._shifts, strict=True))

    def _amounts(self, counts: Sequence[int], loads: Sequence[Fraction]) -> list[int]:
        """Return what an allocation takes of each capacity; of links in parts of the limit, rounded down."""
        taken = [sum(counts[g] for g in part) for part in self._parts]
        for k in self._links:
            limit = self._problem.link_limit(self._problem.instance.links[k])
            taken.append(floor(loads[k] * LINK_UNITS / limit) if loads[k] else 0)
        return taken

    def _options(self, j: int) -> list[tuple[int, ...]]:
        """Return, for each duration of a job, what it may take then: one use, or the use of each mode."""
        of_levels = []
        for duration in self._problem.levels[j]:
            modes = [mode for mode in self._problem.modes[j] if mode.duration == duration]
            uses = [self._amounts(mode.counts, mode.loads) for mode in modes]
            if self._is_least:
                uses = [[min(column) for column in zip(*uses, strict=True)]]
            of_levels.append(tuple(sorted({self._packed(use) for use in uses})))
        return of_levels

    def of_running(self, run: Running) -> int:
        """Return what a job takes that runs already."""
        counts = _counts(self._problem.instance, run.places)
        return self._packed(self._amounts(counts, self._problem.loads(run.job, self._problem.by_cluster(counts))))

    def greatest(self, prices: Mapping[int, Sequence[int]], steps: Steps) -> int:
        """Return the greatest price of any jobs that fit at one time, each at one duration.

        *Proof.* Without links: after the first jobs the table has, for everything that some of them can leave free, the
        greatest price of those that leave it; the next job is not in the set, or is, in one of its modes, if that fits.
        With links, all sets that fit are listed, and each is looked at.
        """
        if self._links:
            worth = [0]
            for parent, j, n in self._fitting(steps):
                worth.append(worth[parent] + (prices[j][n] if j in prices else 0))
            steps.spend(len(worth))
            return max(worth)
        best = {self.free: 0}
        for j, of_job in prices.items():
            pairs = zip(self.options[j], of_job, strict=True)
            choices = [(use, price) for uses, price in pairs for use in uses if price]
            steps.spend(len(best) * (len(choices) + 1))
            after = dict(best)
            for free, value in best.items():
                for use, price in choices:
                    left = free - use
                    if left & self.guard == self.guard and after.get(left, -1) < value + price:
                        after[left] = value + price
            best = after
        return max(best.values())

    def _fitting(self, steps: Steps) -> list[tuple[int, int, int]]:
        """Return all sets that fit: each as the set that it extends, by number from 1 on, and a job at a duration.

        For a set all that its jobs may leave free is kept, in whatever modes: it fits if there is anything.
        """
        if self._sets is None:
            self._sets, guard = [], self.guard
            left: list[tuple[int, int, set[int]]] = [(0, 0, {self.free})]
            while left:
                number, first, frees = left.pop()
                for j in range(first, len(self.options)):
                    for n, uses in enumerate(self.options[j]):
                        steps.spend(len(frees) * len(uses) + 1)
                        rest = {free - use for free in frees for use in uses if (free - use) & guard == guard}
                        if rest:
                            self._sets.append((number, j, n))
                            left.append((len(self._sets), j + 1, rest))
        return self._sets


class RunningSets:
    """Sets of options that run at one time, each with every choice of their modes that fits, by number.

    A set is known by its members, in order, and its choices: one use per member. A set is followed by another when an
    option starts, in any of its modes that fits beside a choice, and when one ends, which is taken out of the choices.
    A schedule, with its modes, is one of the choices at any time; without any choice nothing is left of it.
    """

    def __init__(self, resources: Resources, options: Sequence[tuple[int, ...]], steps: Steps) -> None:
        self._free, self._guard, self._options, self._steps = resources.free, resources.guard, options, steps
        self._content: list[tuple[tuple[int, ...], frozenset[tuple[int, ...]]]] = []
        self._number: dict[tuple[tuple[int, ...], frozenset[tuple[int, ...]]], int] = {}
        self._after_start: dict[tuple[int, int], int] = {}
        self._after_end: dict[tuple[int, int], int] = {}
        self._fits_always: dict[tuple[int, int], bool] = {}
        self._only: dict[tuple[int, frozenset[int]], tuple[tuple[int, ...], frozenset[tuple[int, ...]]]] = {}

    def add(self, members: tuple[int, ...], choices: frozenset[tuple[int, ...]]) -> int:
        """Return the number of a set; -1 where it has no choice."""
        if not choices:
            return -1
        content = members, choices
        if content not in self._number:
            self._number[content] = len(self._content)
            self._content.append(content)
        return self._number[content]

    def start(self, number: int, option: int) -> int:
        """Return the set after an option has started; -1 where it does not fit."""
        found = self._after_start.get((number, option))
        if found is None:
            members, choices = self._content[number]
            at = sum(member < option for member in members)
            uses = self._options[option]
            self._steps.spend(len(choices) * len(uses))
            extended = [
                (*choice[:at], use, *choice[at:])
                for choice in choices
                for use in uses
                if (self._free - sum(choice) - use) & self._guard == self._guard
            ]
            found = self.add((*members[:at], option, *members[at:]), frozenset(extended))
            self._after_start[number, option] = found
        return found

    def end(self, number: int, option: int) -> int:
        """Return the set after an option has ended."""
        found = self._after_end.get((number, option))
        if found is None:
            found = self.add(*self.only(number, frozenset(self._content[number][0]) - {option}))
            self._after_end[number, option] = found
        return found

    def only(self, number: int, kept: frozenset[int]) -> tuple[tuple[int, ...], frozenset[tuple[int, ...]]]:
        """Return some members of a set, and the choices of their modes."""
        found = self._only.get((number, kept))
        if found is None:
            members, choices = self._content[number]
            places = [i for i, member in enumerate(members) if member in kept]
            self._steps.spend(len(choices))
            reduced = frozenset(tuple(choice[i] for i in places) for choice in choices)
            found = self._only[number, kept] = tuple(members[i] for i in places), reduced
        return found

    def always_fits(self, number: int, option: int) -> bool:
        """Return whether each mode of an option fits beside every choice of a set."""
        found = self._fits_always.get((number, option))
        if found is None:
            _, choices = self._content[number]
            self._steps.spend(len(choices) * len(self._options[option]))
            found = self._fits_always[number, option] = all(
                (self._free - sum(choice) - use) & self._guard == self._guard
                for choice in choices
                for use in self._options[option]
            )
        return found


@dataclass
class Table:
    """Prices per unit of time: of each job, by index, one for each of its durations, the shortest first."""

    resources: Resources
    prices: dict[int, list[int]]
    _greatest: int | None = None

    def greatest(self, steps: Steps) -> int:
        """Return the greatest price of jobs that fit together, at least 1."""
        if self._greatest is None:
            self._greatest = max(1, self.resources.greatest(self.prices, steps))
        return self._greatest

    def greatest_apart(self, pairs: Sequence[tuple[int, int]], steps: Steps) -> int:
        """Return it where no two jobs of a pair are in one set: of each pair one is left out, whichever is worse."""

        def without(out: frozenset[int], left: Sequence[tuple[int, int]]) -> int:
            if not left:
                kept = {j: of_job for j, of_job in self.prices.items() if j not in out}
                return self.resources.greatest(kept, steps)
            if out & set(left[0]):
                return without(out, left[1:])
            return max(without(out | {j}, left[1:]) for j in left[0])

        return max(1, without(frozenset(), pairs))

    def work(self, case: Case, j: int) -> int:
        """Return the least price of all the time that a job takes: of the durations that it may have in a case."""
        return min(case.problem.levels[j][n] * self.prices[j][n] for n in case.levels[j])


# ------------------------------------------------------------------------------------------------------------ 6. rules


@dataclass
class Proof:
    """What the steps of a proof share: the problem, the tables of prices, and what is left to spend."""

    problem: Problem
    steps: Steps
    tables: list[Table] = field(default_factory=list)
    known: dict[tuple[str, tuple[str, ...]], Resources] = field(default_factory=dict)
    cases: int = 0

    def resources(self, given: Fields) -> Resources:
        """Return the resources that a table, or a search, counts."""
        processors, links = given.text("processors"), given.texts("links", [])
        names = [link.name for link in self.problem.instance.links]
        if processors not in ("speeds", "groups") or not set(names).issuperset(links):
            raise BadFileError(f"{given.path}: processors must be speeds or groups, and links names of links")
        key = processors, links
        if key not in self.known:
            self.known[key] = Resources(self.problem, processors, links)
        return self.known[key]

    def add_table(self, given: Fields) -> None:
        """Take a table of prices."""
        resources, prices, inside = self.resources(given), {}, given.part("prices")
        given.end()
        for name in list(inside._left):
            j = self.job(name, inside.path)
            prices[j] = inside.wholes(name)
            if len(prices[j]) != len(self.problem.levels[j]):
                raise NotProvedError(f"{inside.path}: job {name!r} has {len(self.problem.levels[j])} durations")
        self.tables.append(Table(resources, prices))

    def job(self, name: str, path: str) -> int:
        """Return the index of a job."""
        if name not in self.problem.instance.number:
            raise NotProvedError(f"{path}: {name!r} is not a job")
        return self.problem.instance.number[name]

    def table(self, number: int, path: str) -> Table:
        """Return a table by its number."""
        if number >= len(self.tables):
            raise NotProvedError(f"{path}: there is no table {number}")
        return self.tables[number]

    def close(self, case: Case, given: Fields, depth: int = 0) -> None:
        """Check that no schedule is one of a case, by the rule that is stated; raise where that is not shown."""
        self.cases += 1
        if self.cases > MOST_CASES or depth > MOST_DEPTH:
            raise NotProvedError(f"{given.path}: there are too many cases")
        self.steps.spend(100)
        name = given.text("rule")
        if name == "cases":
            self.split(case, given, depth)
        elif name in RULES:
            RULES[name](self, case, given)
        else:
            raise BadFileError(f"{given.path}.rule: must be cases or one of {', '.join(RULES)}")
        given.end()

    def split(self, case: Case, given: Fields, depth: int) -> None:
        """Check the cases into which a case is split.

        *Proof.* A job has one duration, so it is among the first ones or among the others. It starts before a time, or
        at that time or later. Of two jobs one ends before the other starts, or the other way round, or they run at one
        time. So every schedule of the case is one of a case into which it is split.
        """
        split = given.part("split")
        kind, jobs = split.text("kind"), [self.job(name, split.path) for name in split.texts("jobs")]
        at = 0 if kind == "order" else split.whole("at")
        split.end()
        if kind not in ("level", "start", "order") or len(set(jobs)) != len(jobs) or len(jobs) != 1 + (kind == "order"):
            raise BadFileError(f"{split.path}: must be the level or start of one job, or the order of two")
        parts = by_split(case, kind, jobs, at)
        proofs = list(given.parts("cases"))
        if len(proofs) != len(parts):
            raise NotProvedError(f"{given.path}.cases: must be {len(parts)}, in the order of the split")
        for part, proof in zip(parts, proofs, strict=True):
            self.close(part, proof, depth + 1)


def by_split(case: Case, kind: str, jobs: Sequence[int], at: int) -> list[Case]:
    """Return the cases of a split (:meth:`Proof.split`), with what follows in each."""

    def put(values: Sequence[Any], value: Any) -> tuple[Any, ...]:
        return (*values[: jobs[0]], value, *values[jobs[0] + 1 :])

    j = jobs[0]
    if kind == "level":
        levels = [tuple(n for n in case.levels[j] if (n < at) == first) for first in (True, False)]
        parts = [replace(case, levels=put(case.levels, kept)) for kept in levels]
    elif kind == "start":
        parts = [
            replace(case, latest=put(case.latest, min(case.latest[j], at - 1))),
            replace(case, earliest=put(case.earliest, max(case.earliest[j], at))),
        ]
    else:
        orders = [(j, jobs[1]), (jobs[1], j)]
        parts = [replace(case, delays=case.delays | {Delay(early, late, True, 0)}) for early, late in orders]
        parts.append(replace(case, together=case.together | {(j, jobs[1])}))
    return [part.propagated for part in parts]


def by_contradiction(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``infeasible``: a job has no time left, or two that have to run at one time do not fit.

    *Proof.* Ranges hold for every schedule of the case (:attr:`Case.propagated`), and one of them is empty. Or at the
    time at which the two run, they take no more than there is.
    """
    if case.contradiction:
        return
    everything = Resources(case.problem, "groups", [link.name for link in case.problem.instance.links])
    for i, j in case.together:
        uses = [[use for n in case.levels[k] for use in everything.options[k][n]] for k in (i, j)]
        proof.steps.spend(len(uses[0]) * len(uses[1]))
        guard = everything.guard
        if not any((everything.free - a - b) & guard == guard for a in uses[0] for b in uses[1]):
            return
    raise NotProvedError(f"{given.path}: the case is not shown to be impossible")


def by_longest_job(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``longest-job``: a job ends after the limit.

    *Proof.* It starts at its earliest start or later, and takes its shortest duration at least.
    """
    j = proof.job(given.text("job"), given.path)
    if case.levels[j] and case.earliest[j] + case.shortest(j) <= case.limit:
        raise NotProvedError(f"{given.path}: the job may end at {case.earliest[j] + case.shortest(j)}")


def by_chain(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``chain``: jobs, each of which waits for the one before it, end after the limit.

    *Proof.* Each starts no earlier than the one before it, plus that one's shortest duration where it waits for the
    end, plus the least time between them; and no earlier than its earliest start.
    """
    jobs = [proof.job(name, given.path) for name in given.texts("jobs")]
    if not jobs:
        raise BadFileError(f"{given.path}.jobs: must not be empty")
    time = case.earliest[jobs[0]]
    for early, late in pairwise(jobs):
        waits = [
            d.least + (case.shortest(early) if d.of_end else 0)
            for d in case.delays
            if (d.early, d.late) == (early, late)
        ]
        if not waits:
            raise NotProvedError(f"{given.path}: a job of the chain does not wait for the one before it")
        time = max(time + max(waits), case.earliest[late])
    if time + case.shortest(jobs[-1]) <= case.limit:
        raise NotProvedError(f"{given.path}: the chain may end at {time + case.shortest(jobs[-1])}")


def by_prices(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``prices``: what the jobs of a table are worth does not fit between their earliest start and the limit.

    *Proof.* Let a job be worth its price at its duration in each unit of time in which it runs. In a schedule it is
    worth, in all, its duration times that price: no less than the least such product w_j of the durations that it may
    have. All of its jobs run at r or later. At one time no jobs that run are worth more than the greatest price M of
    jobs that fit together. Hence sum w_j <= M (end - r), and the end, a whole number, is at least
    r + ceil(sum w_j / M). Jobs that the table leaves out, or prices at 0, only weaken this: so it holds over any subset
    of the jobs, and over those that arrive at r or later. Pairs that are ``apart`` in the case are in no set.
    """
    table, begin = proof.table(given.whole("table"), given.path), given.whole("from", None)
    apart = []
    for pair in given.items("apart", []):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise BadFileError(f"{given.path}.apart: must be pairs of jobs")
        i, j = (proof.job(name, given.path) for name in pair)
        if not (case.is_before(i, j) or case.is_before(j, i)):
            raise NotProvedError(f"{given.path}.apart: {pair[0]!r} and {pair[1]!r} may run at one time")
        apart.append((i, j))
    if case.contradiction:
        return
    jobs = [j for j, of_job in table.prices.items() if any(of_job)]
    first = min((case.earliest[j] for j in jobs), default=0)
    if begin is not None and begin > first:
        raise NotProvedError(f"{given.path}.from: a job of the table may start at {first}")
    if len(apart) > 12:
        raise NotProvedError(f"{given.path}.apart: at most 12 pairs are supported")
    greatest = table.greatest_apart(apart, proof.steps) if apart else table.greatest(proof.steps)
    begin = first if begin is None else begin
    bound = begin - (-sum(table.work(case, j) for j in jobs) // greatest)
    if bound <= case.limit:
        raise NotProvedError(f"{given.path}: the prices show an end at {bound} or later, not after {case.limit}")


def by_search(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``search``: all left-shifted schedules are enumerated, and each ends after the limit; see :class:`Search`.

    With ``first_half``, a job, only schedules are looked at in which it is in the first half.

    *Proof.* Where all jobs have one earliest start and no other ranges and delays, and nothing runs before, a schedule
    that ends by the limit may be reversed in time. In it or in its reverse the job has its middle no later than half
    way between that start and the limit.
    """
    resources = proof.resources(given)
    tables = [proof.table(number, given.path) for number in given.wholes("tables")]
    name = given.text("first_half", None)
    half = None if name is None else proof.job(name, given.path)
    if case.contradiction:
        return
    if half is not None and not may_reverse(case):
        raise NotProvedError(f"{given.path}.first_half: the schedules of the case cannot be reversed")
    Search(case, resources, tables, proof.steps, half).run(given.path)


def may_reverse(case: Case) -> bool:
    """Return whether a schedule of a case, reversed in time, is one of the case."""
    is_free = not (case.delays or case.together or case.problem.instance.running) and len(set(case.earliest)) <= 1
    latest = [end - case.shortest(j) for j, end in enumerate(case.ends)]
    return is_free and set(case.ends) <= {case.limit} and list(case.latest) == latest


RULES: dict[str, Callable[[Proof, Case, Fields], None]] = {
    "infeasible": by_contradiction,
    "longest-job": by_longest_job,
    "chain": by_chain,
    "prices": by_prices,
    "search": by_search,
}


@dataclass(frozen=True)
class Option:
    """A job at one of its durations: ``level`` is the index of that, ``duration`` is in units."""

    number: int
    job: int
    level: int
    duration: int


class Node(NamedTuple):
    """A node of a search (:class:`Search`).

    ``state`` is the number of its running set, ``waiting`` has the bits of the jobs that wait, ``running`` are (end,
    option). ``left`` and ``rates`` are those of :meth:`Search.worth_of`; ``idle`` is since when each option has been
    idle, or -1.
    """

    time: int
    state: int
    waiting: int
    running: list[tuple[int, int]]
    left: list[int]
    rates: list[int]
    idle: list[int]


class Search:
    """Enumerates schedules in the order of time, and leaves what cannot end by the limit.

    A *node* is a time t, the jobs that were started at t or before, with their starts and durations, and those that
    wait. Its *schedules* are those of the case, with only these resources, that end by the limit, in which exactly the
    former start before t or at t as they did, and the latter at t or later. The search shows of each node, one after
    another, that it has no schedule. At t each option of a waiting job is looked at in turn: first it starts, then it
    does not. Once all are done, time goes on to the next event t': the end of a job that runs, or the earliest start of
    one that waits.

    *Proof* that nothing is missed. Let a schedule of the node start no option at t, but some between t and t', and let
    q be the first of these. From t on nothing ends and no job becomes ready until t', so q was ready at t, and fits
    from t on beside what runs: it may start at t instead, in the same mode. It ends earlier, so the schedule still ends
    by the limit, and every job that waits for q still may start. That is a schedule of the node in which q starts at t,
    of which it was shown before that it has none. So the waiting jobs start at t' or later.

    Which modes the running jobs have is left open: a node has all choices that fit (:class:`RunningSets`), and an
    option starts if one of its modes fits beside one of them; the schedules of the node are those with any of these
    choices.

    Further, an option is *idle since* s if it was ready at s and has always fitted, in each of its modes and beside
    every choice, at every event from s to now. It does not start later while that lasts, and if it would have ended by
    now, the node has no schedule: in either case it may start at s instead, in the same mode, and that node was shown
    to have none. *Equal jobs*, with the same options and ranges and no delays, start in their order: exchange two of
    them. *Prices*: see :func:`by_prices`; at t all that waits is still to be done, and what runs up to its end.
    *Dominance*: node 1 has no schedule, was done with before, is not later than node 2, has the same waiting jobs, and
    what still runs there at the time of node 2 runs in node 2 as well, at the same duration and as long or longer; and
    each choice of node 2 for these jobs is one of node 1. Then node 2 has none either: what follows it fits after node
    1.
    Each of these reasons refers to nodes that are done with, so none rests on itself.
    """

    REMEMBERED = 12
    """Nodes with the same waiting jobs that are remembered."""

    def __init__(
        self, case: Case, resources: Resources, tables: Sequence[Table], steps: Steps, half: int | None = None
    ) -> None:
        problem, jobs = case.problem, range(len(case.levels))
        if len(jobs) > MOST_SEARCHED:
            raise NotProvedError(f"a search has more than {MOST_SEARCHED} jobs")
        self._case, self._limit, self._steps = case, case.limit, steps
        self._order = sorted(jobs, key=lambda j: (-case.shortest(j) * problem.instance.jobs[j].shapes[0].tasks, j))
        pairs = [(j, n) for j in self._order for n in case.levels[j]]
        self.options = [Option(number, j, n, problem.levels[j][n]) for number, (j, n) in enumerate(pairs)]
        uses = [resources.options[j][n] for j, n in pairs]
        self._uses = uses
        running = [run for run in problem.instance.running if run.start <= 0]
        self._sets = RunningSets(resources, [*uses, *((resources.of_running(run),) for run in running)], steps)
        self._running = [(problem.clock.instant(run.end), len(uses) + number) for number, run in enumerate(running)]
        self._last = list(case.latest)
        begin = min(case.earliest, default=0)
        self._latest_of = [case.ends[j] - problem.levels[j][n] for j, n in pairs]
        if half is not None:
            for option in (option for option in self.options if option.job == half):
                middle = (begin + case.limit - option.duration) // 2
                self._latest_of[option.number] = min(middle, self._latest_of[option.number])
            self._last[half] = max(self._latest_of[option.number] for option in self.options if option.job == half)
        self._before = [sum({1 << d.early for d in case.delays if d.late == j and d.of_end}) for j in jobs]
        self._twins = self._twins_of(half)
        self._known: dict[int, list[tuple[int, int, dict[int, int]]]] = {}
        self._most: list[int] = []
        self._work: list[tuple[int, ...]] = [() for _ in jobs]
        self._prices: list[tuple[int, ...]] = [() for _ in self.options]
        self.nodes = 0
        for table in tables:
            self.add_table(table)

    def add_table(self, table: Table) -> None:
        """Bound nodes at the prices of a table as well."""
        self._most.append(table.greatest(self._steps))
        zero = [0] * max(map(len, self._case.problem.levels), default=0)
        levels = self._case.problem.levels
        for j, allowed in enumerate(self._case.levels):
            prices = table.prices.get(j, zero)
            self._work[j] += (min(levels[j][n] * prices[n] for n in allowed),)
        for option in self.options:
            self._prices[option.number] += (table.prices.get(option.job, zero)[option.level],)

    def _twins_of(self, half: int | None) -> list[int]:
        """Return of each job the bits of the jobs before it that are equal to it."""
        case, seen = self._case, dict[Any, int]()
        tied = (
            {half} | {j for d in case.delays for j in (d.early, d.late)} | {j for pair in case.together for j in pair}
        )
        twins = [0] * len(self._order)
        for j in (j for j in self._order if j not in tied):
            options = tuple((option.duration, self._uses[option.number]) for option in self.options if option.job == j)
            key = options, case.earliest[j], case.latest[j], case.ends[j]
            twins[j] = seen.get(key, 0)
            seen[key] = twins[j] | 1 << j
        return twins

    def run(self, path: str) -> None:
        """Go through all nodes; raise where a schedule is found."""
        self._where = path
        waiting = (1 << len(self._work)) - 1
        begin = min(self._case.earliest, default=0)
        state, running = self._sets.add((), frozenset([()])), []
        for end, number in self._running:
            if end > begin:
                state = self._sets.start(state, number)
                running.append((end, number))
                if state < 0:
                    raise NotProvedError(f"{path}: running jobs take more than there is")
        left, rates = self.worth_of(waiting, running)
        self._explore(Node(begin, state, waiting, running, left, rates, [-1] * len(self.options)))

    def worth_of(self, waiting: int, running: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
        """Return, for each table, the worth of all that waits, and of what runs if it ran from 0 on; and a rate.

        The rate is what all that runs is worth in one unit of time.
        """
        jobs = [j for j in range(len(self._work)) if waiting >> j & 1]
        going = [(end, self._prices[number]) for end, number in running if number < len(self.options)]
        left, rates = [], []
        for k in range(len(self._most)):
            left.append(sum(self._work[j][k] for j in jobs) + sum(end * prices[k] for end, prices in going))
            rates.append(sum(prices[k] for _, prices in going))
        return left, rates

    def _is_left(self, time: int, left: Sequence[int], rates: Sequence[int]) -> bool:
        """Return whether at some prices more is left to do than fits from a time to the limit."""
        room = self._limit - time
        return any(a - time * b > room * m for a, b, m in zip(left, rates, self._most, strict=False))

    def _explore(self, node: Node) -> None:
        """Show that a node has no schedule."""
        case, waiting, held = self._case, node.waiting, 0
        for _, number in node.running:
            if number < len(self.options):
                held |= 1 << self.options[number].job
        ready = [
            option
            for option in self.options
            if waiting >> option.job & 1
            and case.earliest[option.job] <= node.time
            and not self._before[option.job] & (waiting | held)
        ]
        usable = [o for o in ready if node.idle[o.number] < 0 and node.time <= self._latest_of[o.number]]
        self._decide(usable, 0, ready, node)

    def _decide(self, usable: list[Option], first: int, ready: list[Option], node: Node) -> None:
        """Start each option that can start at the time of a node, and then none."""
        time, state, waiting, running, left, rates, idle = node
        for number in range(first, len(usable)):
            option = usable[number]
            j = option.job
            if not waiting >> j & 1 or waiting & self._twins[j]:
                continue
            after = self._sets.start(state, option.number)
            if after < 0:
                continue
            end, prices = time + option.duration, self._prices[option.number]
            more = [a + end * p - w for a, p, w in zip(left, prices, self._work[j], strict=False)]
            rate = [b + p for b, p in zip(rates, prices, strict=False)]
            if not self._is_left(time, more, rate):
                started = Node(time, after, waiting ^ 1 << j, [*running, (end, option.number)], more, rate, idle)
                self._decide(usable, number + 1, ready, started)
        self._go_on(ready, node)

    def _go_on(self, ready: list[Option], node: Node) -> None:
        """Go on to the next event, where nothing more starts at the time of a node."""
        time, state, waiting, running, left, rates, _ = node
        self.nodes += 1
        self._steps.spend(20 + len(ready) + len(left))
        if not waiting:
            raise NotProvedError(f"{self._where}: with these resources alone, all jobs may end by {self._limit}")
        later = [e for j, e in enumerate(self._case.earliest) if e > time and waiting >> j & 1]
        if not later and not running:
            return  # nothing that waits is ever ready
        after = min([*later, *(end for end, _ in running)])
        if self._is_left(after, left, rates):
            return
        if any(waiting >> j & 1 and after > last for j, last in enumerate(self._last)):
            return
        since = self._idle_since(ready, node, after)
        if since is None:
            return
        going, held = [], dict[int, int]()
        for end, number in running:
            if end > after:
                going.append((end, number))
                held[number] = end
                continue
            state = self._sets.end(state, number)
            if number < len(self.options):
                prices = self._prices[number]
                left = [a - end * p for a, p in zip(left, prices, strict=False)]
                rates = [b - p for b, p in zip(rates, prices, strict=False)]
        if self._is_dominated(after, state, waiting, held):
            return
        self._explore(Node(after, state, waiting, going, left, rates, since))
        of_set = self._known.setdefault(waiting, [])
        if len(of_set) < self.REMEMBERED and len(self._known) < 500_000:
            of_set.append((after, state, held))

    def _idle_since(self, ready: list[Option], node: Node, after: int) -> list[int] | None:
        """Return since when each option has been idle at the next event; None where one would have ended by then."""
        since = [-1] * len(node.idle)
        for option in ready:
            if node.waiting >> option.job & 1 and self._sets.always_fits(node.state, option.number):
                begin = node.idle[option.number] if node.idle[option.number] >= 0 else node.time
                since[option.number] = begin
                if after - begin >= option.duration and begin <= self._latest_of[option.number]:
                    return None
        return since

    def _is_dominated(self, time: int, state: int, waiting: int, held: dict[int, int]) -> bool:
        """Return whether a node that is done with has no schedule, and so this one has none."""
        for earlier, other, others in self._known.get(waiting, ()):
            lasting = {number: end for number, end in others.items() if end > time}
            if earlier <= time and all(held.get(number, 0) >= end for number, end in lasting.items()):
                kept = frozenset(lasting)
                if self._sets.only(state, kept)[1] <= self._sets.only(other, kept)[1]:
                    return True
        return False


# ------------------------------------------------------------------------------------------------------ 7. certificate


@dataclass(frozen=True)
class Verdict:
    """What a certificate proves: no schedule has its latest end before ``bound``; times in s, bound also in units.

    ``latest`` is the latest end of its schedule, None where it has none. ``is_optimal``: that is later than the bound
    by no more than ``tolerance``.
    """

    problem: Problem
    bound: int
    latest: int | None
    is_same_file: bool

    @property
    def tolerance(self) -> Fraction:
        """What the objective may exceed the bound by, s: nothing in slots."""
        clock = self.problem.clock
        if clock.is_slotted or self.latest is None:
            return Fraction(0)
        makespan = self.latest * clock.unit - self.problem.instance.origin
        return max(PROOF_TOLERANCE * makespan, clock.tolerance)

    @property
    def is_optimal(self) -> bool:
        """Whether the schedule is proved optimal."""
        return self.latest is not None and (self.latest - self.bound) * self.problem.clock.unit <= self.tolerance

    def lines(self) -> list[str]:
        """Return what is proved, in sentences."""
        problem, clock = self.problem, self.problem.clock
        time = f"slots of {shown(clock.unit)} s" if clock.is_slotted else "continuous time"
        rules = f"{time}, strict links, scope {problem.scope}"
        if problem.saturation:
            rules += f", saturation {shown(problem.saturation)}"
        lines = [f"proved: no schedule ends before {shown(self.bound * clock.unit)} s ({rules})"]
        if self.latest is not None:
            end = self.latest * clock.unit
            lines.append(f"proved: the schedule is valid, and ends at {shown(end)} s")
            makespan = shown(end - problem.instance.origin)
            verdict = "proved: it is optimal" if self.is_optimal else "not proved: that it is optimal"
            lines.append(f"{verdict} (makespan {makespan} s, tolerance {shown(self.tolerance)} s)")
        if not self.is_same_file:
            lines.append("note: the instance file is written otherwise than the one of the certificate, or is another")
        return lines


def shown(number: Fraction | int) -> str:
    """Return a number as a text, with 12 digits."""
    return f"{float(number):.12g}"


def verdict_of(instance: Any, certificate: Any, sha256: str = "", most_steps: int = MOST_STEPS) -> Verdict:
    """Return what a certificate proves of an instance, both as parsed files; raise where a step is not proved."""
    given = Fields(certificate, "certificate")
    if given.text("format") != "coalloc-certificate" or given.whole("version") != 1:
        raise BadFileError("certificate: must be a coalloc-certificate file of version 1")
    given.ignore("instance", "provenance")
    is_same_file = given.text("instance_sha256", "") == sha256
    problem = _problem_of(instance_of(instance), given.part("problem"))
    bound, schedule = given.whole("bound"), given._take("schedule", None)
    proof = Proof(problem, Steps(most_steps))
    for table in given.parts("tables", []):
        proof.add_table(table)
    step = given.part("proof")
    given.end()
    latest = None if schedule is None else latest_end_of(problem, schedule)
    if bound > 0:
        proof.close(Case.root(problem, bound - 1), step)
    return Verdict(problem, bound, latest, is_same_file)


def _problem_of(instance: Instance, given: Fields) -> Problem:
    """Return the problem that a certificate is about."""
    for name, covered in (("objective", "makespan"), ("links", "strict")):
        if (value := given.text(name)) != covered:
            raise NotProvedError(f"not covered: {name} {value!r}")
    slot, scope = given.number("slot", None), given.text("scope")
    saturation = given.number("saturation", 0)
    given.end()
    if scope not in ("platform", "cluster", "node"):
        raise BadFileError(f"{given.path}.scope: must be platform, cluster or node")
    return Problem(instance, Clock.of(instance, slot), scope, saturation)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a certificate, print what it proves, and return the exit code."""
    paths = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if len(paths) != 2 or paths[0].startswith("-"):
            raise BadFileError("usage: verify.py INSTANCE CERTIFICATE (files .json or .json.gz)")
        (instance, sha256), (certificate, _) = map(read_document, paths)
        verdict = verdict_of(instance, certificate, sha256)
    except BadFileError as error:
        print(f"verify: {_one_line(error)}", file=sys.stderr)
        return 2
    except NotProvedError as error:
        print(f"not proved: {_one_line(error)}")
        return 1
    print("\n".join(map(_one_line, verdict.lines())))
    return 0 if verdict.latest is None or verdict.is_optimal else 1


def _one_line(text: object) -> str:
    return "".join(character if character.isprintable() else "?" for character in str(text))[:500]


if __name__ == "__main__":
    sys.exit(main())
