"""Check a certificate of optimality, with nothing but the standard library of Python 3.11 or newer.

    python verify.py instance.json certificate.json

An instance says which jobs are to run on which clusters; a certificate claims that no schedule of it has an objective
below some bound, says why, and usually holds a schedule that attains it; or it claims that there is none. This program
reads both files, computes everything anew from the instance, and believes nothing that a certificate says. It prints
what is proved, or the first step that is not. Exit codes: 0 proved; 1 not proved; 2 a file cannot be read.

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
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
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
PROOF_TOLERANCE, WRITING_TOLERANCE = Fraction(1, 10**6), Fraction(1, 10**12)
"""Share of an objective by which the bound may be below it: in continuous time; in slots, for the digits of a file."""
SLOWDOWN_THRESHOLD = Fraction(10)
"""Shorter run times count as this in a bounded slowdown, s."""
FOREVER, IMPOSSIBLE, FINEST_COST = 10**30, 10**4000, 2**100
"""A time after all others, in units; a cost of what cannot be; units of cost that are 1 of the objective, at most."""
OBJECTIVES = (
    "makespan",
    "maximum-lateness",
    "total-response-time",
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
    "weighted-tardiness",
)
"""The objectives that are covered."""


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

    def names(self) -> list[str]:
        """Return the names of all properties."""
        return list(self._left)

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
    due_date: Fraction | None
    weight: Fraction
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
Ramp = tuple[Fraction, Fraction, Fraction]
"""A cost by the start: a floor, a slope and an offset. It is ``max(floor, slope * start + offset)``."""


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
    given.ignore("slices", "level", "estimate", "user", "energy_estimate")
    name, share = given.text("id"), given.number("processing_share", 1)
    first = Shape(given.whole("tasks", least=1), given.number("base_time"), given.amounts("times"))
    others = []
    for shape in given.parts("shapes", []):
        shape.ignore("estimate")
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
        due_date=given.number("due_date", None),
        weight=given.number("weight", 1),
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
        slowest = min(speed for group in instance.groups for speed in (group.speed, group.availability))
        longest = [max(t for s in job.shapes for t in (s.base_time, *s.times.values())) for job in instance.jobs]
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
    objective: str = "makespan"

    @property
    def is_sum(self) -> bool:
        """Whether the objective sums what jobs cost; else it is the greatest difference of an end and a time."""
        return self.objective not in ("makespan", "maximum-lateness")

    def shown(self, value: Fraction, digits: int = 12) -> str:
        """Return a value of the objective as a text, with its unit."""
        return shown(value, digits) + (" s" if self.objective != "mean-bounded-slowdown" else "")

    def due(self, job: Job) -> Fraction | None:
        """Return the time that is subtracted from the end of a job, s; None where it does not count, or in sums."""
        return {"makespan": self.instance.origin, "maximum-lateness": job.due_date}.get(self.objective)

    def _ramp(self, job: Job, duration: int) -> Ramp:
        """Return what a job costs in a sum by its start, in units: the reported objective is the sum of the costs."""
        unit, weight, length = self.clock.unit, job.weight, duration * self.clock.unit
        response, mean = length - job.arrival, Fraction(1, len(self.instance.jobs))
        if self.objective == "total-response-time":
            return response, unit, response
        if self.objective == "total-weighted-response-time":
            return weight * response, weight * unit, weight * response
        if self.objective == "mean-wait":
            return -job.arrival * mean, mean * unit, -job.arrival * mean
        if self.objective == "mean-bounded-slowdown":
            share = mean / max(length, SLOWDOWN_THRESHOLD)
            return mean, share * unit, share * response
        if self.objective == "weighted-tardiness" and job.due_date is not None:
            return Fraction(0), weight * unit, weight * (length - job.due_date)
        return Fraction(0), Fraction(0), Fraction(0)

    @cached_property
    def exact_ramps(self) -> list[list[Ramp]]:
        """The ramp of each job at each of its durations."""
        return [
            [self._ramp(job, duration) for duration in levels]
            for job, levels in zip(self.instance.jobs, self.levels, strict=True)
        ]

    @cached_property
    def cost_scale(self) -> int:
        """How many units of cost are 1 of the objective: so many that costs are whole, or more than files state."""
        scale = lcm(*(part.denominator for of_job in self.exact_ramps for ramp in of_job for part in ramp))
        return min(scale, FINEST_COST)

    @cached_property
    def ramps(self) -> list[list[tuple[int, ...]]]:
        """The ramps in units of cost, rounded down: so no cost is above the exact one."""
        return [[tuple(floor(part * self.cost_scale) for part in ramp) for ramp in of] for of in self.exact_ramps]

    def cost(self, j: int, n: int, start: int) -> int:
        """Return what a job costs in a sum at one of its durations from a start on: both never fall with the start."""
        least, slope, offset = self.ramps[j][n]
        return max(least, slope * start + offset)

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


def objective_of(problem: Problem, document: Any) -> Fraction:
    """Return the objective of a schedule that keeps every rule; raise at the first rule that it breaks."""
    given = Fields(document, "certificate.schedule")
    if given.text("format") != "coalloc-schedule" or given.whole("version") not in (1, 2):
        raise BadFileError("certificate.schedule: must be a coalloc-schedule of version 1 or 2")
    given.ignore("instance", "slot")
    placements = list(given.parts("placements"))
    given.end()
    names = [placement._left.get("job") for placement in placements]
    if sorted(map(str, names)) != sorted(problem.instance.number):
        raise NotProvedError("schedule: it must place every job once")
    rows, values = [], list[Fraction]()
    for placement in placements:
        row, start, duration = _row_of(problem, placement)
        rows.append(row)
        j, due = problem.instance.number[row.job.id], problem.due(row.job)
        if problem.is_sum:
            least, slope, offset = problem.exact_ramps[j][problem.levels[j].index(duration)]
            values.append(max(least, slope * start + offset))
        elif due is not None:
            values.append((start + duration) * problem.clock.unit - due)
    if not values:
        raise NotProvedError(f"not covered: no job counts for objective {problem.objective!r}")
    rows += [
        Row(run.job, run.start, run.end, run.places, _counts(problem.instance, run.places), False)
        for run in problem.instance.running
    ]
    _check_times(problem, rows)
    _check_processors(problem, rows)
    _check_capacities(problem, rows)
    return sum(values, Fraction(0)) if problem.is_sum else max(values)


def _counts(instance: Instance, places: frozenset[Place]) -> tuple[int, ...]:
    counts = [0] * len(instance.groups)
    for place in places:
        counts[instance.group_of(place)] += 1
    return tuple(counts)


def _row_of(problem: Problem, given: Fields) -> tuple[Row, int, int]:
    """Return a placement, its start and its duration in units; what concerns its job alone is checked."""
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
    return Row(job, start, end, places, counts, True), first, mode.duration


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

    Sums rise at starts alone, so these are the times that are checked. What has ended but for the tolerance, jobs
    and outages, takes nothing any more.
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
    instance, zero, soon = problem.instance, Fraction(0), time + problem.clock.tolerance
    for k, link in enumerate(instance.links):
        loads = [problem.loads(row.job, problem.by_cluster(row.counts))[k] for row in rows]
        yield link.name, link.bandwidth * (1 + problem.saturation), loads
    for limit in instance.limits:
        yield "a limit", limit.capacity, [limit.amounts.get(row.job.id, zero) for row in rows]
    for g, group in enumerate(instance.groups):
        if away := sum(
            o.processors for o in instance.outages if o.is_of(g, instance) and o.start <= time and soon < o.end
        ):
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


class Delay(NamedTuple):
    """Job ``late`` starts at least ``least`` units after the end of job ``early``, or after its start."""

    early: int
    late: int
    of_end: bool
    least: int


@dataclass(frozen=True)
class Case:
    """What is assumed of a schedule, to be refuted: it costs ``budget`` at most, and its jobs keep these ranges.

    ``levels`` are the durations that each job may have, by index, ``earliest`` its first start, ``latest`` its last
    start and ``ends`` its last end, in units.
    """

    problem: Problem
    budget: int
    levels: tuple[tuple[int, ...], ...]
    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    ends: tuple[int, ...]
    delays: frozenset[Delay]

    @classmethod
    def root(cls, problem: Problem, bound: Fraction | None) -> Case:
        """Return the case of all schedules whose objective is below a bound; of all schedules where that is None."""
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
            due = problem.due(job)
            last = [FOREVER if job.deadline is None else clock.latest(job.deadline)]
            last += [] if bound is None or due is None else [ceil((bound + due) / clock.unit) - 1]
            ends.append(min(last))
        budget = 0 if bound is None or not problem.is_sum else ceil(bound * problem.cost_scale) - 1
        levels = tuple(tuple(range(len(of_job))) for of_job in problem.levels)
        return cls(problem, budget, levels, tuple(earliest), tuple(ends), tuple(ends), frozenset(delays)).propagated

    def last(self, j: int, n: int) -> int:
        """Return the last start of a job at one of its durations."""
        return min(self.latest[j], self.ends[j] - self.problem.levels[j][n])

    def shortest(self, j: int) -> int:
        """Return the shortest duration that a job may have, units; for ever where there is none."""
        return self.problem.levels[j][self.levels[j][0]] if self.levels[j] else FOREVER

    @cached_property
    def propagated(self) -> Case:
        """The case with what follows for the ranges of its jobs.

        *Proof.* A job starts no earlier than its earliest start, and takes its shortest duration at least; so another
        that waits for it starts no earlier than their sum, and by the same sum the job itself has to end early enough
        for the other. A duration that does not fit between earliest start and last end is not had. Each step keeps all
        schedules of the case, so one may stop after any of them.
        """
        case = self
        for _ in range(len(self.levels) + 1):
            before, earliest, latest, ends = case, list(case.earliest), list(case.latest), list(case.ends)
            for d in self.delays:
                least = d.least + (case.shortest(d.early) if d.of_end else 0)
                earliest[d.late] = max(earliest[d.late], earliest[d.early] + least)
                latest[d.early] = min(latest[d.early], latest[d.late] - least)
                if d.of_end:
                    ends[d.early] = min(ends[d.early], latest[d.late] - d.least)
            latest = [min(last, ends[j] - case.shortest(j)) for j, last in enumerate(latest)]
            levels = tuple(
                tuple(n for n in of_job if earliest[j] + self.problem.levels[j][n] <= ends[j])
                for j, of_job in enumerate(case.levels)
            )
            case = replace(case, levels=levels, earliest=tuple(earliest), latest=tuple(latest), ends=tuple(ends))
            if case == before:
                break
        return case

    @property
    def is_empty(self) -> bool:
        """Whether some job has no duration or no start left, so that no schedule is one of the case."""
        return any(not self.levels[j] or self.earliest[j] > self.latest[j] for j in range(len(self.levels)))

    def split(self, kind: str, j: int, at: int) -> tuple[Case, Case]:
        """Return the case in which a job has one of its first ``at`` durations, or starts before ``at``; and the other.

        *Proof* that they cover the case: a job has one duration, so it is among the first ones or among the others; it
        starts before a time, or at that time or later.
        """

        def put(values: Sequence[Any], value: Any) -> tuple[Any, ...]:
            return (*values[:j], value, *values[j + 1 :])

        if kind == "level":
            levels = [tuple(n for n in self.levels[j] if (n < at) == first) for first in (True, False)]
            first, second = (replace(self, levels=put(self.levels, kept)) for kept in levels)
        else:
            first = replace(self, latest=put(self.latest, min(self.latest[j], at - 1)))
            second = replace(self, earliest=put(self.earliest, max(self.earliest[j], at)))
        return first.propagated, second.propagated


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
        self.problem, self._parts, self._is_least = problem, parts, processors == "speeds"
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
            limit = self.problem.link_limit(self.problem.instance.links[k])
            taken.append(floor(loads[k] * LINK_UNITS / limit) if loads[k] else 0)
        return taken

    def _options(self, j: int) -> list[tuple[int, ...]]:
        """Return, for each duration of a job, what it may take then: one use, or the use of each mode."""
        of_levels = []
        for duration in self.problem.levels[j]:
            modes = [mode for mode in self.problem.modes[j] if mode.duration == duration]
            uses = [self._amounts(mode.counts, mode.loads) for mode in modes]
            if self._is_least:
                uses = [[min(column) for column in zip(*uses, strict=True)]]
            of_levels.append(tuple(sorted({self._packed(use) for use in uses})))
        return of_levels

    def of_running(self, run: Running) -> int:
        """Return what a job takes that runs already."""
        counts = _counts(self.problem.instance, run.places)
        return self._packed(self._amounts(counts, self.problem.loads(run.job, self.problem.by_cluster(counts))))

    def greatest(self, prices: Mapping[int, Sequence[int]], steps: Steps) -> int:
        """Return the greatest price of any jobs that fit at one time, each at one duration.

        *Proof.* Without links: after the first jobs the table has, for everything that some of them can leave free, the
        greatest price of those that leave it; the next job is not in the set, or is, in one of its modes, if that fits.
        With links, all sets that fit are listed, and each is looked at.
        """
        if self._links:
            worth = [0]
            for parent, j, n in self.fitting(steps):
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

    def fitting(self, steps: Steps) -> list[tuple[int, int, int]]:
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


Piece = tuple[int, int, Mapping[int, Sequence[int]]]
"""From a time, to a time: what a job, by index, is worth per unit of time at each of its durations, shortest first."""


class Table:
    """Prices of jobs in some pieces of time, weighed against costs (:func:`by_prices`).

    *Proof* of the inequality. In a piece of time let a job be worth its price there, at its duration, in each unit of
    time in which it runs. No jobs that run at one time are worth more than the greatest price of jobs that fit together
    in that piece. So what all jobs are worth after a time t is at most the *room*: the sum over the pieces of that
    greatest price times what of the piece is after t. A waiting job that starts at S, at t or later, brings its cost,
    ``weight`` times, and what it is worth: both depend on S and the duration alone, so they sum to no less than the
    *least* over what S and the duration may be. What runs already has a known cost and worth. Hence

        weight * costs so far + worth of what runs + sum of the least of what waits <= weight * budget + room

    in every schedule of a case, and where that is wrong there is none. Jobs without prices and pieces that leave time
    out only weaken it. With one piece and weight 0 this is the classical bound: no more work than fits by the end.

    The least is found among few starts: between any two of the starts at which a piece begins or ends for the start or
    the end of the job, or at which its cost begins to rise, cost and worth are linear in S.
    """

    def __init__(self, resources: Resources, weight: int, pieces: Sequence[Piece], steps: Steps) -> None:
        self.resources, self.weight, self.pieces = resources, weight, pieces
        self._greatest = [resources.greatest(prices, steps) for *_, prices in pieces]
        self._steps = steps
        self._rates = [
            [[(a, b, prices[j][n]) for a, b, prices in pieces if j in prices] for n in range(len(levels))]
            for j, levels in enumerate(resources.problem.levels)
        ]

    def room(self, time: int) -> int:
        """Return the greatest worth of all that runs after a time."""
        return sum(
            most * max(0, end - max(begin, time))
            for most, (begin, end, _) in zip(self._greatest, self.pieces, strict=True)
        )

    def worth(self, j: int, n: int, begin: int, end: int) -> int:
        """Return what a job at a duration is worth from a time to a time."""
        worth = 0
        for first, last, price in self._rates[j][n]:
            if first < end and begin < last:
                worth += price * ((last if last < end else end) - (first if first > begin else begin))
        return worth

    def starts(self, case: Case, j: int, n: int) -> tuple[list[int], list[int]]:
        """Return the starts that matter for a job at a duration, and the least of each of them and all later ones."""
        duration, first, last = case.problem.levels[j][n], case.earliest[j], case.last(j, n)
        floor_, slope, offset = case.problem.ramps[j][n]
        times = {first, last}
        for begin, end, _ in self._rates[j][n]:
            times |= {begin, end, begin - duration, end - duration}
        if slope:
            times |= {(floor_ - offset) // slope, -((offset - floor_) // slope)}
        starts = sorted(time for time in times if first <= time <= last)
        self._steps.spend(len(starts) * len(self.pieces))
        least = [self.value(case, j, n, start) for start in starts]
        for i in range(len(least) - 2, -1, -1):
            least[i] = min(least[i], least[i + 1])
        return starts, least

    def value(self, case: Case, j: int, n: int, start: int) -> int:
        """Return what a job brings with a start and a duration: its weighted cost, and what it is worth."""
        duration = case.problem.levels[j][n]
        return self.weight * case.problem.cost(j, n, start) + self.worth(j, n, start, start + duration)


class Bound:
    """A table in a case: whether what is left at a time is more than fits."""

    def __init__(self, table: Table, case: Case) -> None:
        self.table, self._case = table, case
        self._most = table.weight * case.budget
        self._starts = [[(n, *table.starts(case, j, n)) for n in of_job] for j, of_job in enumerate(case.levels)]
        self._sums: dict[int, tuple[int, int]] = {}
        self._rooms: dict[int, int] = {}

    def is_exceeded(self, time: int, waiting: int, cost: int, running: Iterable[tuple[int, int, int]]) -> bool:
        """Return whether the inequality of :class:`Table` is wrong at a time.

        ``waiting`` has the bits of the jobs that wait; ``running`` are end, job and duration of those that run.
        """
        if time not in self._rooms:
            self._rooms[time] = self.table.room(time)
        total = self.table.weight * cost - self._rooms[time] - self._most
        for end, j, n in running:
            total += self.table.worth(j, n, time, end)
        return total + self._least_of(waiting, time) > 0

    def _least_of(self, waiting: int, time: int) -> int:
        """Return the sum of the least of jobs that wait; it is kept for all times up to which it stays the same."""
        jobs = [j for j in range(len(self._starts)) if waiting >> j & 1]
        if waiting not in self._sums:
            pairs = [self._least(j, 0) for j in jobs]
            self._sums[waiting] = sum(least for least, _ in pairs), min((last for _, last in pairs), default=FOREVER)
        known, until = self._sums[waiting]
        return known if time <= until else sum(self._least(j, time)[0] for j in jobs)

    def _least(self, j: int, time: int) -> tuple[int, int]:
        """Return the least of a job that starts at a time or later, and up to which time that stays the same."""
        best, until = IMPOSSIBLE, FOREVER
        for n, starts, least in self._starts[j]:
            if not starts or time > starts[-1]:
                continue
            i = bisect_left(starts, time)
            value = least[i]
            if i and starts[i] > time:
                value = min(value, self.table.value(self._case, j, n, time))
            last = starts[max(k for k in range(i, len(least)) if least[k] == least[i])] if value == least[i] else time
            if value < best or (value == best and last > until):
                best, until = value, last
        return best, until


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
        resources, weight, pieces = self.resources(given), given.whole("weight", 0), []
        for piece in given.parts("pieces", []):
            prices, of_jobs = {}, piece.part("prices")
            for name in of_jobs.names():
                j = self.job(name, of_jobs.path)
                prices[j] = of_jobs.wholes(name)
                if len(prices[j]) != len(self.problem.levels[j]):
                    raise NotProvedError(f"{of_jobs.path}: job {name!r} has {len(self.problem.levels[j])} durations")
            pieces.append((piece.whole("from"), piece.whole("to"), prices))
            piece.end()
        given.end()
        self.tables.append(Table(resources, weight, pieces, self.steps))

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
            kind, j, at = given.text("split"), self.job(given.text("job"), given.path), given.whole("at")
            proofs = list(given.parts("cases"))
            if kind not in ("level", "start") or len(proofs) != 2:
                raise BadFileError(f"{given.path}: must split by level or start, into two cases")
            for part, proof in zip(case.split(kind, j, at), proofs, strict=True):
                self.close(part, proof, depth + 1)
        elif name in RULES:
            RULES[name](self, case, given)
        else:
            raise BadFileError(f"{given.path}.rule: must be cases or one of {', '.join(RULES)}")
        given.end()


def by_contradiction(_: Proof, case: Case, given: Fields) -> None:
    """Rule ``infeasible``: a job has no time left.

    *Proof.* Ranges hold for every schedule of the case (:attr:`Case.propagated`), and one of them is empty.
    """
    if not case.is_empty:
        raise NotProvedError(f"{given.path}: the case is not shown to be impossible")


def by_prices(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``prices``: what the jobs of a table are worth, and cost, is more than room and budget (:class:`Table`)."""
    table = proof.table(given.whole("table"), given.path)
    everything = (1 << len(case.levels)) - 1
    if not case.is_empty and not Bound(table, case).is_exceeded(0, everything, 0, ()):
        raise NotProvedError(f"{given.path}: at these prices all jobs may fit")


def by_search(proof: Proof, case: Case, given: Fields) -> None:
    """Rule ``search``: all left-shifted schedules are enumerated, and none is one of the case; see :class:`Search`.

    With ``first_half``, a job, only schedules are looked at in which it is in the first half.

    *Proof.* Where all jobs have one earliest start and one last end, and no costs, other ranges or delays, and nothing
    runs before, a schedule may be reversed in time. In it or in its reverse the job has its middle no later than half
    way between that start and that end.
    """
    resources = proof.resources(given)
    tables = [proof.table(number, given.path) for number in given.wholes("tables")]
    name = given.text("first_half", None)
    half = None if name is None else proof.job(name, given.path)
    if case.is_empty:
        return
    if half is not None and not may_reverse(case):
        raise NotProvedError(f"{given.path}.first_half: the schedules of the case cannot be reversed")
    Search(case, resources, tables, proof.steps, half).run(given.path)


def may_reverse(case: Case) -> bool:
    """Return whether a schedule of a case, reversed in time, is one of the case."""
    is_free = not (case.problem.is_sum or case.delays or case.problem.instance.running)
    latest = [end - case.shortest(j) for j, end in enumerate(case.ends)]
    return is_free and len(set(case.earliest)) == len(set(case.ends)) == 1 and list(case.latest) == latest


RULES: dict[str, Callable[[Proof, Case, Fields], None]] = {
    "infeasible": by_contradiction,
    "prices": by_prices,
    "search": by_search,
}


class Option(NamedTuple):
    """A job at one of its durations: ``level`` is the index of that, ``duration`` is in units."""

    number: int
    job: int
    level: int
    duration: int


class Node(NamedTuple):
    """A node of a search (:class:`Search`).

    ``state`` is the number of its running set, ``waiting`` has the bits of the jobs that wait, ``running`` are (end,
    option), ``cost`` is what all that was started costs; ``idle`` is since when each option has been idle, or -1.
    """

    time: int
    state: int
    waiting: int
    running: tuple[tuple[int, int], ...]
    cost: int
    idle: list[int]


class Search:
    """Enumerates schedules in the order of time, and leaves what cannot be a schedule of the case.

    A *node* is a time t, the jobs that were started at t or before, with their starts and durations, and those that
    wait. Its *schedules* are those of the case, with only these resources and without minimum times between jobs, in
    which exactly the former start before t or at t as they did, and the latter at t or later. The search shows of each
    node, one after another, that it has no schedule. At t each option of a waiting job is looked at in turn: first it
    starts, then it does not. Once all are done, time goes on to the next event t': the end of a job that runs, or the
    earliest start of one that waits.

    *Proof* that nothing is missed. Let a schedule of the node start no option at t, but some between t and t', and let
    q be the first of these. From t on nothing ends and no job becomes ready until t', so q was ready at t, and fits
    from t on beside what runs: it may start at t instead, in the same mode. It ends earlier and costs no more, and
    every job that waits for q still may start. That is a schedule of the node in which q starts at t, of which it was
    shown before that it has none. So the waiting jobs start at t' or later.

    Which modes the running jobs have is left open: a node has all choices that fit (:class:`RunningSets`), and an
    option starts if one of its modes fits beside one of them; the schedules of the node are those with any of these
    choices.

    Further, an option is *idle since* s if it was ready at s and has always fitted, in each of its modes and beside
    every choice, at every event from s to now. It does not start later while that lasts, and if it would have ended by
    now, the node has no schedule: in either case it may start at s instead, in the same mode, and that node was shown
    to have none. *Equal jobs*, with the same options, costs and ranges and no delays, start in their order: exchange
    two of them. *Prices*: see :class:`Table`. *Dominance*: node 1 has no schedule, was done with before, is not later
    than node 2 and costs no more, has the same waiting jobs, and what still runs there at the time of node 2 runs in
    node 2 as well, at the same duration and as long or longer; and each choice of node 2 for these jobs is one of node
    1. Then node 2 has none either: what follows it fits after node 1, and costs the same.
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
        self._case, self._steps, self.nodes = case, steps, 0
        order = sorted(jobs, key=lambda j: (-case.shortest(j) * problem.instance.jobs[j].shapes[0].tasks, j))
        pairs = [(j, n) for j in order for n in case.levels[j]]
        self.options = [Option(number, j, n, problem.levels[j][n]) for number, (j, n) in enumerate(pairs)]
        self._uses = [resources.options[j][n] for j, n in pairs]
        running = [run for run in problem.instance.running if run.start <= 0]
        held = [(resources.of_running(run),) for run in running]
        self._sets = RunningSets(resources, [*self._uses, *held], steps)
        self._running = [(problem.clock.instant(run.end), len(pairs) + number) for number, run in enumerate(running)]
        self._latest_of = [case.last(j, n) for j, n in pairs]
        for option in (option for option in self.options if option.job == half):
            middle = (case.earliest[option.job] + case.ends[option.job] - option.duration) // 2
            self._latest_of[option.number] = min(middle, self._latest_of[option.number])
        self._last = [max(self._latest_of[option.number] for option in self.options if option.job == j) for j in jobs]
        self._before = [sum({1 << d.early for d in case.delays if d.late == j and d.of_end}) for j in jobs]
        self._twins = self._twins_of(order, half)
        self._known: dict[int, list[tuple[int, int, int, dict[int, int]]]] = {}
        self.bounds: list[Bound] = []
        costs_alone = [Table(resources, 1, [], steps)] if problem.is_sum else []
        for table in (*costs_alone, *tables):
            self.add_table(table)

    def add_table(self, table: Table) -> None:
        """Bound nodes at the prices of a table as well."""
        self.bounds.append(Bound(table, self._case))

    def _twins_of(self, order: Sequence[int], half: int | None) -> list[int]:
        """Return of each job the bits of the jobs before it that are equal to it."""
        case, seen = self._case, dict[Any, int]()
        tied = {half} | {j for d in case.delays for j in (d.early, d.late)}
        twins = [0] * len(order)
        for j in (j for j in order if j not in tied):
            options = tuple((option.duration, self._uses[option.number]) for option in self.options if option.job == j)
            costs = tuple(case.problem.ramps[j][n] for n in case.levels[j])
            key = options, costs, case.earliest[j], case.latest[j], case.ends[j]
            twins[j] = seen.get(key, 0)
            seen[key] = twins[j] | 1 << j
        return twins

    def run(self, path: str) -> None:
        """Go through all nodes; raise where a schedule is found."""
        self._where = path
        begin, running = min(self._case.earliest, default=0), list[tuple[int, int]]()
        state = self._sets.add((), frozenset([()]))
        for end, number in self._running:
            if end > begin:
                state = self._sets.start(state, number)
                running.append((end, number))
                if state < 0:
                    raise NotProvedError(f"{path}: running jobs take more than there is")
        waiting = (1 << len(self._last)) - 1
        self._explore(Node(begin, state, waiting, tuple(running), 0, [-1] * len(self.options)))

    def is_left(self, node: Node) -> bool:
        """Return whether at some prices more is left to do than fits."""
        running = self.running_of(node)
        return any(bound.is_exceeded(node.time, node.waiting, node.cost, running) for bound in self.bounds)

    def running_of(self, node: Node) -> list[tuple[int, int, int]]:
        """Return what was started and runs at a node: end, job and duration (:meth:`Bound.is_exceeded`)."""
        options = self.options
        return [(end, options[k].job, options[k].level) for end, k in node.running if k < len(options)]

    def _explore(self, node: Node) -> None:
        """Show that a node has no schedule."""
        case, free = self._case, len(self.options)
        held = node.waiting | sum(1 << self.options[number].job for _, number in node.running if number < free)
        ready = [
            option
            for option in self.options
            if node.waiting >> option.job & 1
            and case.earliest[option.job] <= node.time
            and not self._before[option.job] & held
        ]
        usable = [o for o in ready if node.idle[o.number] < 0 and node.time <= self._latest_of[o.number]]
        self._decide(usable, 0, ready, node)

    def _decide(self, usable: list[Option], first: int, ready: list[Option], node: Node) -> None:
        """Start each option that can start at the time of a node, and then none."""
        for number in range(first, len(usable)):
            option = usable[number]
            j = option.job
            if not node.waiting >> j & 1 or node.waiting & self._twins[j]:
                continue
            after = self._sets.start(node.state, option.number)
            if after < 0:
                continue
            running = (*node.running, (node.time + option.duration, option.number))
            cost = node.cost + self._case.problem.cost(j, option.level, node.time)
            started = Node(node.time, after, node.waiting ^ 1 << j, running, cost, node.idle)
            if not self.is_left(started):
                self._decide(usable, number + 1, ready, started)
        self._go_on(ready, node)

    def _go_on(self, ready: list[Option], node: Node) -> None:
        """Go on to the next event, where nothing more starts at the time of a node."""
        time, state, waiting, running, cost, _ = node
        self.nodes += 1
        self._steps.spend(20 + len(ready) + len(self.bounds))
        if not waiting:
            raise NotProvedError(f"{self._where}: with these resources alone there may be a schedule")
        later = [e for j, e in enumerate(self._case.earliest) if e > time and waiting >> j & 1]
        if not later and not running:
            return  # nothing that waits is ever ready
        after = min([*later, *(end for end, _ in running)])
        if any(waiting >> j & 1 and after > last for j, last in enumerate(self._last)):
            return
        since = self._idle_since(ready, node, after)
        if since is None:
            return
        going = tuple((end, number) for end, number in running if end > after)
        for end, number in running:
            if end <= after:
                state = self._sets.end(state, number)
        child = Node(after, state, waiting, going, cost, since)
        held = {number: end for end, number in going}
        if self.is_left(child) or self._is_dominated(child, held):
            return
        self._explore(child)
        of_set = self._known.setdefault(waiting, [])
        if len(of_set) < self.REMEMBERED and len(self._known) < 500_000:
            of_set.append((after, cost, state, held))

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

    def _is_dominated(self, node: Node, held: dict[int, int]) -> bool:
        """Return whether a node that is done with has no schedule, and so this one has none."""
        for time, cost, state, others in self._known.get(node.waiting, ()):
            if time > node.time or cost > node.cost:
                continue
            lasting = {number: end for number, end in others.items() if end > node.time}
            if all(held.get(number, 0) >= end for number, end in lasting.items()):
                kept = frozenset(lasting)
                if self._sets.only(node.state, kept)[1] <= self._sets.only(state, kept)[1]:
                    return True
        return False


# ------------------------------------------------------------------------------------------------------ 7. certificate


@dataclass(frozen=True)
class Verdict:
    """What a certificate proves: no schedule has an objective below ``bound``; there is none where that is None.

    ``objective`` is that of its schedule, None where it has none.
    """

    problem: Problem
    bound: Fraction | None
    objective: Fraction | None
    is_same_file: bool

    @property
    def tolerance(self) -> Fraction:
        """What the objective may exceed the bound by: in continuous time no less than the tolerance of times."""
        size, clock = abs(self.objective or Fraction(0)), self.problem.clock
        return WRITING_TOLERANCE * size if clock.is_slotted else max(PROOF_TOLERANCE * size, clock.tolerance)

    @property
    def is_optimal(self) -> bool:
        """Whether the schedule is proved optimal."""
        if self.objective is None or self.bound is None:
            return False
        return self.objective - self.bound <= self.tolerance

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to prove: there is no schedule, or the one of the certificate is optimal, if any."""
        return self.objective is None or self.is_optimal

    def lines(self) -> list[str]:
        """Return what is proved, in sentences."""
        problem, clock = self.problem, self.problem.clock
        time = f"slots of {shown(clock.unit)} s" if clock.is_slotted else "continuous time"
        rules = f"{time}, strict links, scope {problem.scope}"
        if problem.saturation:
            rules += f", saturation {shown(problem.saturation)}"
        if self.bound is None:
            lines = [f"proved: there is no schedule ({rules})"]
        else:
            lines = [f"proved: no schedule has a {problem.objective} below {problem.shown(self.bound)} ({rules})"]
        if self.objective is not None:
            reached = problem.shown(self.objective)
            lines.append(f"proved: the schedule is valid, and its {problem.objective} is {reached}")
            verdict = "proved: it is optimal" if self.is_optimal else "not proved: that it is optimal"
            lines.append(f"{verdict} (tolerance {problem.shown(self.tolerance, 3)})")
        if not self.is_same_file:
            lines.append("note: the instance file is written otherwise than the one of the certificate, or is another")
        return lines


def shown(number: Fraction | int, digits: int = 12) -> str:
    """Return a number as a text, with so many digits."""
    return f"{float(number):.{digits}g}"


def verdict_of(instance: Any, certificate: Any, sha256: str = "", most_steps: int = MOST_STEPS) -> Verdict:
    """Return what a certificate proves of an instance, both as parsed files; raise where a step is not proved."""
    given = Fields(certificate, "certificate")
    if given.text("format") != "coalloc-certificate" or given.whole("version") != 1:
        raise BadFileError("certificate: must be a coalloc-certificate file of version 1")
    given.ignore("instance", "provenance")
    is_same_file = given.text("instance_sha256", "") == sha256
    problem = _problem_of(instance_of(instance), given.part("problem"))
    bound = given.number("bound", None, least=None)
    schedule = given._take("schedule", None)
    proof = Proof(problem, Steps(most_steps))
    for table in given.parts("tables", []):
        proof.add_table(table)
    step = given.part("proof")
    given.end()
    objective = None if schedule is None else objective_of(problem, schedule)
    proof.close(Case.root(problem, bound), step)
    return Verdict(problem, bound, objective, is_same_file)


def _problem_of(instance: Instance, given: Fields) -> Problem:
    """Return the problem that a certificate is about."""
    objective, links = given.text("objective"), given.text("links")
    if objective not in OBJECTIVES or links != "strict":
        raise NotProvedError(f"not covered: objective {objective!r} with links {links!r}")
    slot, scope = given.number("slot", None), given.text("scope")
    saturation = given.number("saturation", 0)
    given.end()
    if scope not in ("platform", "cluster", "node"):
        raise BadFileError(f"{given.path}.scope: must be platform, cluster or node")
    return Problem(instance, Clock.of(instance, slot), scope, saturation, objective)


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
    return 0 if verdict.is_complete else 1


def _one_line(text: object) -> str:
    return "".join(character if character.isprintable() else "?" for character in str(text))[:500]


if __name__ == "__main__":
    sys.exit(main())
