"""Check a certificate of optimality, with nothing but the standard library of Python 3.11 or newer.

    python verify.py instance.json certificate.json

An instance says which jobs are to run on which clusters; a certificate claims that no schedule of it has an objective
below some bound, says why, and usually holds a schedule that attains it; or it claims that there is none. This program
reads both files, computes everything anew from the instance, and believes nothing that a certificate says. It prints
what is proved, or the first step that is not. Exit codes: 0 proved; 1 not proved; 2 a file cannot be read.

Numbers of a file are exact decimals here, and every computation is one of whole numbers or fractions. Definitions:
docs/reference-files.md; the rules: docs/mathematics/certificates.md; an example, and what is left to believe:
docs/trust.md. The file is read from top to bottom:

1. reading: strict JSON of bounded size, and the fields of each object;
2. problem: platform, links, jobs, modes and times in whole units, which are slots or ticks;
3. schedule: every rule that a schedule keeps;
4. cases: what is assumed of the jobs, and what follows for their times;
5. resources: what jobs take together, and the greatest price of jobs that fit;
6. rules: what ends a case, by ranges, cases, prices or a search;
7. certificate: what is claimed, and whether all of it is proved.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from math import ceil, floor, lcm
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

MOST_BYTES, MOST_DIGITS, MOST_QUANTITY = 64_000_000, 60, 10**100
"""Size of a file, decompressed; characters of a number in a file; the greatest quantity of an instance."""
MOST_PROCESSORS, MOST_MODES = 1_000_000, 200_000
"""Processors of one name, such as ``C1/0-7``; modes of all jobs."""
MOST_STEPS = 50_000_000
"""Steps of all computations that a certificate asks for, about a minute each ten million."""
MOST_CASES, MOST_DEPTH, MOST_SEARCHED = 100_000, 200, 64
"""Cases of one certificate; cases within cases; jobs of a search."""
LINK_UNITS = 2**44
"""Loads of a link are counted in so many parts of its limit, rounded down."""

RELATIVE_TOLERANCE = Fraction(1, 10**9)
"""A load may exceed a capacity by this share."""
TIME_TOLERANCE, TIME_PRECISION = Fraction(1, 10**9), Fraction(1, 10**12)
"""A duration that exceeds whole slots by this, s, or by this share of itself, takes these slots."""
LEAST_TICK, MOST_TICK, NEVER = Fraction(1, 2**30), Fraction(1, 2**16), 10**11
"""The finest and the coarsest tick, s; an outage that ends later, s, ends never."""
PROOF_TOLERANCE, WRITING_TOLERANCE = Fraction(1, 10**6), Fraction(1, 10**12)
"""Share of an objective by which the bound may be below it: in continuous time; in slots, for the digits of a file."""
SLOWDOWN_THRESHOLD = Fraction(10)
"""Shorter run times count as this in a bounded slowdown, s."""
FOREVER, IMPOSSIBLE, FINEST_COST = 10**2000, 10**4000, 2**100
"""A time after all that a file can state, in units; a cost above all of these; units of cost that are 1, at most."""
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
    except (BadFileError, OSError, ValueError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise BadFileError(f"{path}: {reason or error}") from None


def parsed(text: str) -> Any:
    """Return the content of a JSON text, with numbers as exact fractions or whole numbers."""
    try:
        return json.loads(
            text, parse_float=_decimal, parse_int=_whole, parse_constant=_decimal, object_pairs_hook=_unique
        )
    except RecursionError:
        raise BadFileError("not readable as JSON: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        raise BadFileError(f"not readable as JSON: {error}") from None


def _decimal(text: str) -> Fraction:
    number = Decimal(text) if len(text) <= MOST_DIGITS else Decimal("nan")
    if not number.is_finite() or not -400 < number.adjusted() < 120:
        raise BadFileError(f"the number {text[:MOST_DIGITS]} is out of range")
    return Fraction(number)


def _whole(text: str) -> int:
    return int(_decimal(text))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadFileError("an object has a property twice")
    return members


Kind = Callable[[Any, str], Any]
"""Takes a part of a file and its path there, and returns what it states; raises where it is of another kind."""


def kind(is_one: Callable[[Any], bool], what: str, then: Callable[[Any], Any] = lambda given: given) -> Kind:
    """Return the kind of all that passes a test."""

    def read(given: Any, path: str) -> Any:
        if not is_one(given):
            raise BadFileError(f"{path}: must be {what}")
        return then(given)

    return read


def whole(least: int = 0) -> Kind:
    """Return the kind of whole numbers."""
    return kind(lambda given: type(given) is int and given >= least, f"a whole number, at least {least}")


def number(least: int = 0, most: int = MOST_QUANTITY, *, beyond: bool = False) -> Kind:
    """Return the kind of numbers in a range, without its least one if they are to be ``beyond`` it."""
    return kind(
        lambda given: type(given) in (int, Fraction) and least <= given <= most and not (beyond and given == least),
        f"a number {'above' if beyond else 'from'} {least}" + (f" to {most}" if most < MOST_QUANTITY else ""),
        Fraction,
    )


def one_of(*allowed: str | int) -> Kind:
    """Return the kind of some texts or whole numbers."""
    return kind(lambda given: type(given) in (str, int) and given in allowed, " or ".join(map(str, allowed)))


ANYTHING = kind(lambda _: True, "anything")
TEXT = kind(lambda given: isinstance(given, str), "text")
LIST = kind(lambda given: isinstance(given, list), "a list")
OBJECT = kind(lambda given: isinstance(given, dict), "an object")


def list_of(one: Kind) -> Kind:
    """Return the kind of lists of a kind."""
    return lambda given, path: [one(part, f"{path}[{i}]") for i, part in enumerate(LIST(given, path))]


def by_name(one: Kind) -> Kind:
    """Return the kind of objects in which each name has something of a kind."""
    return lambda given, path: {name: one(part, f"{path}.{name}") for name, part in OBJECT(given, path).items()}


def uncovered(nothing: Any) -> Kind:
    """Return the kind of a field of a feature that is not covered: it may only say that the feature is not used."""

    def read(given: Any, path: str) -> None:
        if type(given) is not type(nothing) or given != nothing:
            raise NotProvedError(f"not covered: {path}")

    return read


def optional(names: str, kind_of_each: Kind, default: Any) -> dict[str, tuple[Kind, Any]]:
    """Return fields that may be absent, for :func:`record`; null as well where the default is None."""
    return dict.fromkeys(names.split(), (kind_of_each, default))


def record(**fields: Kind | tuple[Kind, Any]) -> Kind:
    """Return the kind of objects with some fields and no others: each has a kind, and a default if it is optional.

    ``from_`` stands for the field ``from``, which is no name in Python.
    """
    kinds = {
        name.rstrip("_"): (name, field if isinstance(field, tuple) else (field,)) for name, field in fields.items()
    }

    def read(given: Any, path: str) -> SimpleNamespace:
        if unknown := OBJECT(given, path).keys() - kinds.keys():
            raise BadFileError(f"{path}: has an unknown property {min(unknown)!r}")
        found = SimpleNamespace()
        for key, (name, (of_field, *default)) in kinds.items():
            if key in given and not (given[key] is None and default == [None]):
                setattr(found, name, of_field(given[key], f"{path}.{key}"))
            elif default:
                setattr(found, name, default[0])
            else:
                raise BadFileError(f"{path}.{key}: is missing")
        return found

    return read


# ---------------------------------------------------------------------------------------------------------- 2. problem

ABOVE_ZERO = number(beyond=True)
ANY_NUMBER = number(-MOST_QUANTITY)
AMOUNTS = by_name(number())
SHAPE: dict[str, Any] = {
    "tasks": whole(1),
    "base_time": ABOVE_ZERO,
    **optional("times", by_name(ABOVE_ZERO), {}),
    **optional("estimate", ANYTHING, None),
}
LAG = record(
    after=TEXT,
    **optional("from_", one_of("start", "end"), "end"),
    **optional("min", ANY_NUMBER, Fraction(0)),
    **optional("max", ANY_NUMBER, None),
)
LEVEL = record(name=TEXT, **optional("required", kind(lambda given: isinstance(given, bool), "true or false"), True))
JOB = record(
    id=TEXT,
    **SHAPE,
    **optional("shapes", list_of(record(**SHAPE)), []),
    **optional("processing_share", number(0, 1), Fraction(1)),
    **optional("weight", number(), Fraction(1)),
    **optional("task_bandwidth arrival", number(), Fraction(0)),
    **optional("deadline due_date memory", number(), None),
    **optional("after eligible requires", list_of(TEXT), []),
    **optional("lags", list_of(LAG), []),
    **optional("resources task_resources", AMOUNTS, {}),
    **optional("max_clusters min_tasks_per_cluster slices", whole(1), None),
    **optional("level", LEVEL, None),
    **optional("user energy_estimate", ANYTHING, None),
)
GROUP = record(
    count=whole(1),
    power=ABOVE_ZERO,
    **optional("availability", number(0, 1, beyond=True), Fraction(1)),
    **optional("cores", whole(1), 1),
    **optional("memory", number(), None),
    **optional("features", list_of(TEXT), []),
    **optional("resources", AMOUNTS, {}),
    **optional("multiprogramming", uncovered(1), 1),
    **optional("off_watts idle_watts static_watts core_watts clock flops_per_cycle", ANYTHING, None),
)
CLUSTER = record(
    name=TEXT,
    nodes=list_of(GROUP),
    link_bandwidth=number(),
    **optional("switch", TEXT, None),
    **optional("resources", AMOUNTS, {}),
    **optional("efficiency power_states", ANYTHING, None),
)
SWITCH = record(name=TEXT, parent=TEXT, bandwidth=number(), **optional("level", TEXT, None))
OUTAGE = record(
    cluster=TEXT,
    start=number(),
    end=number(),
    **optional("nodes", list_of(TEXT), []),
    **optional("group", whole(), None),
    **optional("processors", whole(1), None),
)
PLATFORM = record(
    clusters=list_of(CLUSTER),
    **optional("switches", list_of(SWITCH), []),
    **optional("unavailable", list_of(OUTAGE), []),
    **optional("resources", AMOUNTS, {}),
    **optional("sharing", uncovered(None), None),
)
RUNNING = record(job=JOB, nodes=list_of(TEXT), end=number(), **optional("start", number(), Fraction(0)))
LIMIT = record(
    jobs=list_of(TEXT),
    capacity=number(),
    **optional("amounts", list_of(number()), []),
    **optional("name", ANYTHING, None),
)
INSTANCE = record(
    format=one_of("coalloc-instance"),
    version=one_of(1, 2, 3),
    platform=PLATFORM,
    jobs=list_of(JOB),
    **optional("running", list_of(RUNNING), []),
    **optional("limits", list_of(LIMIT), []),
    **optional("local_users", uncovered([]), []),
    **optional("name", ANYTHING, None),
)
"""The instance file. What each field means, in which unit: docs/reference-files.md."""
OPTIONS = record(
    objective=TEXT,
    links=TEXT,
    scope=one_of("platform", "cluster", "node"),
    **optional("slot", ABOVE_ZERO, None),
    **optional("saturation", number(), Fraction(0)),
)

Place = tuple[int, int, int]
"""A processor: its group, by index; its node, by number in the cluster; and the core of that."""
Ramp = tuple[Fraction, Fraction, Fraction]
"""A cost by the start: a floor, a slope and an offset. It is ``max(floor, slope * start + offset)``."""


class Link(NamedTuple):
    """A link of the tree: its bandwidth, MB/s, and the clusters below it, by index."""

    name: str
    bandwidth: Fraction
    clusters: frozenset[int]


class Mode(NamedTuple):
    """One allocation of a job, with ``counts`` tasks in each group: its duration in units, and its loads, MB/s."""

    counts: tuple[int, ...]
    duration: int
    loads: tuple[Fraction, ...]


class Clock:
    """Times in whole units: slots of ``unit`` seconds, rounded up, or ticks of continuous time, to the nearest.

    ``tolerance`` (s): points in time that differ by no more are equal. A tick is a power of two of seconds, and so
    fine that rounding moves no end of a schedule by more than the tolerance (docs/mathematics/tolerances.md, "Ticks").
    """

    def __init__(self, problem: Problem, slot: Fraction | None) -> None:
        jobs, running, zero = problem.jobs, problem.running, Fraction(0)
        slowest = min(speed for group in problem.groups for speed in (group.speed, group.availability))
        longest = [max(t for s in job.shapes for t in (s.base_time, *s.times.values())) for job in jobs]
        waits = sum(max(zero, lag.min) for job in jobs for lag in job.lags)
        outages = [outage.end if outage.end <= NEVER else outage.start for outage in problem.outages]
        last = max([*(job.arrival for job in jobs), *(run.end for run in running), *outages], default=zero)
        horizon = max(last - problem.origin, zero) + sum(longest) * max(Fraction(1), 1 / slowest) + waits
        latest = problem.origin + horizon
        tick = LEAST_TICK
        while latest >= tick * 2**51 or horizon > tick * 2**50:
            tick *= 2
        if slot is None and tick > MOST_TICK:
            raise NotProvedError("not covered: continuous time with times so late")
        self.is_slotted, self.unit = slot is not None, tick if slot is None else slot
        self.tolerance: Fraction = (len(jobs) + len(running) + 1) * tick
        if slot is not None and slot < 10 * max(self.tolerance, TIME_TOLERANCE, TIME_PRECISION * latest):
            raise NotProvedError("not covered: slots so short for times so late")

    def duration(self, seconds: Fraction) -> int:
        """Return a duration in units."""
        return self._units(seconds, Fraction(0))

    def instant(self, seconds: Fraction) -> int:
        """Return a point in time in units."""
        return self._units(seconds, self.tolerance)

    def latest(self, seconds: Fraction) -> int:
        """Return the last unit that is not after a point in time, but for the tolerance."""
        return floor((seconds + max(self.tolerance, TIME_TOLERANCE, TIME_PRECISION * seconds)) / self.unit)

    def at_most(self, seconds: Fraction) -> int:
        """Return the most units between two starts that are so far apart, but for the tolerance, each rounded."""
        units = (seconds + 4 * max(self.tolerance, TIME_TOLERANCE, TIME_PRECISION * abs(seconds))) / self.unit
        return floor(units) if self.is_slotted else ceil(units) + 1

    def _units(self, seconds: Fraction, tolerance: Fraction) -> int:
        if not self.is_slotted:
            return round(seconds / self.unit)
        return max(0, ceil((seconds - max(tolerance, TIME_TOLERANCE, TIME_PRECISION * seconds)) / self.unit))


class Problem:
    """An instance with the options of a solve: what a schedule is, and in which units times count.

    Its parts are those of the file (:data:`INSTANCE`); ``groups`` are the groups of nodes of all clusters, in order.
    Each has ``cluster``, the index of that, ``first``, the number of its first node there, and ``speed``, Gamma.
    """

    def __init__(self, instance: Any, options: Any) -> None:
        given, chosen = INSTANCE(instance, "instance"), OPTIONS(options, "certificate.problem")
        if chosen.objective not in OBJECTIVES or chosen.links != "strict":
            raise NotProvedError(f"not covered: objective {chosen.objective!r} with links {chosen.links!r}")
        self.objective: str = chosen.objective
        self.scope: str = chosen.scope
        self.saturation: Fraction = chosen.saturation
        self.platform, self.clusters, self.outages = given.platform, given.platform.clusters, given.platform.unavailable
        self.jobs, self.running, self.limits = given.jobs, given.running, given.limits
        self.groups = [group for cluster in self.clusters for group in cluster.nodes]
        for c, cluster in enumerate(self.clusters):
            first = 0
            for group in cluster.nodes:
                group.cluster, group.first, group.speed = c, first, group.power * group.availability
                group.processors = group.count * group.cores
                first += group.count
        for job in (*self.jobs, *(run.job for run in self.running)):
            job.shapes = [SimpleNamespace(tasks=job.tasks, base_time=job.base_time, times=job.times), *job.shapes]
            afters = [SimpleNamespace(after=name, from_="end", min=Fraction(0), max=None) for name in job.after]
            job.lags = [*job.lags, *afters]
            if len({shape.tasks for shape in job.shapes}) < len(job.shapes):
                raise BadFileError(f"instance: the shapes of job {job.id!r} must have different numbers of tasks")
        self._check_names()
        self.number = {job.id: j for j, job in enumerate(self.jobs)}
        self.links = self._links()
        for run in self.running:
            run.places = frozenset(place for name in run.nodes for place in self.processors(name))
        # A makespan counts from the earliest arrival, or from 0 where jobs run already.
        self.origin = Fraction(0) if self.running else min((job.arrival for job in self.jobs), default=Fraction(0))
        self.clock = Clock(self, chosen.slot)

    def _check_names(self) -> None:
        """Raise where names are not unique, or something refers to what is not there."""
        names, ids = [cluster.name for cluster in self.clusters], [job.id for job in self.jobs]
        ids += [run.job.id for run in self.running]
        above = [*names, *(switch.name for switch in self.platform.switches)]
        if len(set(above)) != len(above) or not self.groups or len(set(ids)) != len(ids):
            raise BadFileError("instance: names of clusters, switches and jobs must be unique, and there must be nodes")
        places = ([self.platform], self.clusters, self.groups)
        levels = [{name for place in level for name in place.resources} for level in places]
        if len(set().union(*levels)) < sum(map(len, levels)):
            raise BadFileError("instance.platform: a resource must be of the platform, of its clusters or of its nodes")
        for job in self.jobs:
            if not {lag.after for lag in job.lags} <= set(ids) or not set(job.eligible) <= set(names):
                raise BadFileError(f"instance.jobs: job {job.id!r} refers to a job or a cluster that does not exist")
        for outage in self.outages:
            parts = [name.rpartition("/") for name in outage.nodes]
            outage.spans = [_span(numbers) for _, _, numbers in parts]
            named = {name for name, _, _ in parts} | {outage.cluster}
            groups = [g for g, group in enumerate(self.groups) if names[group.cluster] == outage.cluster]
            outage.groups = groups if outage.group is None else groups[outage.group :][:1]
            is_of_group = outage.group is not None
            if named != {outage.cluster} or not outage.groups or not all(outage.spans):
                raise BadFileError("instance.platform.unavailable: must name a cluster, and nodes or a group of it")
            if (outage.processors is not None) != is_of_group or (is_of_group and outage.spans):
                raise BadFileError("instance.platform.unavailable: must have nodes, or a group and its processors")
        for limit in self.limits:
            if limit.amounts and len(limit.amounts) != len(limit.jobs):
                raise BadFileError("instance.limits: amounts must be one per job")
            if len(set(limit.jobs)) != len(limit.jobs) or not set(limit.jobs) <= set(ids):
                raise BadFileError("instance.limits: must name each job once, and only jobs that exist")
            limit.of = dict(zip(limit.jobs, limit.amounts or [Fraction(1)] * len(limit.jobs), strict=True))

    def _links(self) -> list[Link]:
        """Return the links of the clusters, then of the switches."""
        switches = {switch.name: switch for switch in self.platform.switches}
        for cluster in self.clusters:
            cluster.above, name = [], cluster.switch
            while name in switches:
                if switches[name] in cluster.above:
                    raise BadFileError("instance.platform.switches: must be a tree")
                cluster.above.append(switches[name])
                name = switches[name].parent
        own = [Link(one.name, one.link_bandwidth, frozenset([c])) for c, one in enumerate(self.clusters)]
        below = {name: [c for c, one in enumerate(self.clusters) if switches[name] in one.above] for name in switches}
        return own + [Link(name, switches[name].bandwidth, frozenset(inside)) for name, inside in below.items()]

    def processors(self, name: str) -> list[Place]:
        """Return the processors of a name such as ``C1/0``, ``C1/0.3``, or a range: ``C1/0-7.0-3``."""
        cluster, _, numbers = name.rpartition("/")
        node, dot, core = numbers.partition(".")
        nodes, cores = _span(node), _span(core) if dot else range(1)
        found: list[Place] = []
        if len(nodes) * len(cores) <= MOST_PROCESSORS:
            for g, group in enumerate(self.groups):
                if self.clusters[group.cluster].name == cluster and (group.cores > 1) == bool(dot):
                    inside = range(max(nodes.start, group.first), min(nodes.stop, group.first + group.count))
                    found += [(g, n, k) for n in inside for k in cores if k < group.cores]
        if not found or len(found) != len(nodes) * len(cores):
            raise NotProvedError(f"{name!r} is not a processor of the platform")
        return found

    def counts(self, places: Iterable[Place]) -> tuple[int, ...]:
        """Return how many processors of each group are among some."""
        held = Counter(g for g, _, _ in places)
        return tuple(held[g] for g in range(len(self.groups)))

    @property
    def is_sum(self) -> bool:
        """Whether the objective sums what jobs cost; else it is the greatest difference of an end and a time."""
        return self.objective not in ("makespan", "maximum-lateness")

    def shown(self, value: Fraction, digits: int = 12) -> str:
        """Return a value of the objective as a text, with its unit."""
        return shown(value, digits) + (" s" if self.objective != "mean-bounded-slowdown" else "")

    def due(self, job: Any) -> Fraction | None:
        """Return the time that is subtracted from the end of a job, s; None where it does not count, or in sums."""
        return {"makespan": self.origin, "maximum-lateness": job.due_date}.get(self.objective)

    def ramp(self, job: Any, duration: int) -> Ramp:
        """Return what a job costs in a sum by its start, in units: the reported objective is the sum of the costs."""
        objective, length, mean = self.objective, duration * self.clock.unit, Fraction(1, len(self.jobs))
        rate = {  # per second that the job starts later
            "total-response-time": Fraction(1),
            "total-weighted-response-time": job.weight,
            "mean-wait": mean,
            "mean-bounded-slowdown": mean / max(length, SLOWDOWN_THRESHOLD),
            "weighted-tardiness": job.weight if job.due_date is not None else Fraction(0),
        }.get(objective, Fraction(0))
        free = {"mean-wait": job.arrival, "weighted-tardiness": (job.due_date or 0) - length}
        offset = -rate * free.get(objective, job.arrival - length)  # at that start the job costs nothing
        least = {"mean-bounded-slowdown": mean, "weighted-tardiness": Fraction(0)}.get(objective, offset)
        return least, rate * self.clock.unit, offset

    @cached_property
    def exact_ramps(self) -> list[list[Ramp]]:
        """The ramp of each job at each of its durations."""
        return [[self.ramp(job, n) for n in levels] for job, levels in zip(self.jobs, self.levels, strict=True)]

    @cached_property
    def cost_scale(self) -> int:
        """Units of cost that are 1 of the objective: so many that costs are whole, or more than files state."""
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

    def execution_time(self, job: Any, shape: Any, groups: Sequence[int]) -> Fraction:
        """Return how long a job runs on some groups, s: the slowest of them decides, and no link saturates."""

        def on(group: Any) -> Fraction:
            share = job.processing_share
            named = [shape.times[name] for name in group.features if name in shape.times]
            seconds, speed = (named[0], group.availability) if named else (shape.base_time, group.speed)
            return Fraction(seconds * (share / speed + 1 - share))

        return max(on(self.groups[g]) for g in groups)

    def link_limit(self, link: Link) -> Fraction:
        """Return the greatest load of a link, MB/s."""
        return link.bandwidth * (1 + self.saturation) * (1 + RELATIVE_TOLERANCE)

    def loads(self, job: Any, counts: Sequence[int]) -> tuple[Fraction, ...]:
        """Return what a job loads each link with, MB/s: each task sends to all others, some beyond the link."""
        tasks, held = sum(counts), self.by_cluster(counts)
        inside = [sum(held[c] for c in link.clusters) for link in self.links]
        return tuple(n * Fraction(job.task_bandwidth) * (tasks - n) / max(1, tasks - 1) for n in inside)

    def by_cluster(self, counts: Sequence[int]) -> list[int]:
        """Return the tasks in each cluster, of those in each group."""
        held = [0] * len(self.clusters)
        for group, count in zip(self.groups, counts, strict=True):
            held[group.cluster] += count
        return held

    @cached_property
    def modes(self) -> list[list[Mode]]:
        """All modes of each job that it may have alone on the empty platform."""
        found: list[list[Mode]] = [[] for _ in self.jobs]
        each = ((j, job, s) for j, job in enumerate(self.jobs) for s in job.shapes)
        allocations = ((j, job, shape, counts) for j, job, shape in each for counts in self._allocations(job, shape))
        for number, (j, job, shape, counts) in enumerate(allocations):
            mode = self.mode(job, shape, counts)
            if number >= MOST_MODES or (mode is not None and mode.duration < 1):
                raise NotProvedError(f"not covered: job {job.id!r} takes no time, or the jobs have too many modes")
            found[j].extend([] if mode is None else [mode])
        return found

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The distinct durations of each job, in units, the shortest first."""
        return tuple(tuple(sorted({mode.duration for mode in modes})) for modes in self.modes)

    def rooms(self, job: Any, group: Any) -> int:
        """Return how many tasks of a job a group may hold, at most."""
        if not set(job.requires) <= set(group.features):
            return 0
        if job.eligible and self.clusters[group.cluster].name not in job.eligible:
            return 0
        per_node = int(group.cores)
        if group.memory is not None and job.memory:
            per_node = min(per_node, floor(group.memory * (1 + RELATIVE_TOLERANCE) / job.memory))
        return per_node if self.scope == "node" else per_node * int(group.count)

    def _allocations(self, job: Any, shape: Any) -> Iterator[tuple[int, ...]]:
        """Yield the ways to distribute the tasks of a job to groups that its scope allows."""
        rooms = [self.rooms(job, group) for group in self.groups]
        number = range(len(rooms))
        part_of = {"platform": [0] * len(rooms), "cluster": [group.cluster for group in self.groups], "node": number}
        for part in sorted(set(part_of[self.scope])):
            inside = [room if part_of[self.scope][g] == part else 0 for g, room in enumerate(rooms)]
            yield from _distributions(shape.tasks, inside)

    def mode(self, job: Any, shape: Any, counts: tuple[int, ...]) -> Mode | None:
        """Return the mode of an allocation; None where it breaks a rule by itself."""
        if not self._may_spread(job, {c: tasks for c, tasks in enumerate(self.by_cluster(counts)) if tasks}):
            return None
        loads = self.loads(job, counts)
        if any(load > self.link_limit(link) for load, link in zip(loads, self.links, strict=True)):
            return None
        seconds = self.execution_time(job, shape, [g for g, count in enumerate(counts) if count])
        return Mode(counts, self.clock.duration(seconds), loads)

    def _may_spread(self, job: Any, used: Mapping[int, int]) -> bool:
        """Return whether a job may have so many tasks in each cluster that it uses."""
        if len(used) > (job.max_clusters or len(used)) or min(used.values()) < (job.min_tasks_per_cluster or 1):
            return False
        if job.slices and (len(used) != job.slices or len(set(used.values())) > 1):
            return False
        if job.level is None or not job.level.required:
            return True
        above = [{switch.name for switch in self.clusters[c].above if switch.level == job.level.name} for c in used]
        return bool(set.intersection(*above))


def _span(text: str) -> range:
    """Return the numbers of a text such as ``3`` or ``0-7``; none where it is something else."""
    first, dash, last = text.partition("-")
    if not (first.isdecimal() and (last.isdecimal() or not dash) and len(text) < 32):
        return range(0)
    numbers = range(int(first), int(last if dash else first) + 1)
    return numbers if numbers.stop < MOST_STEPS else range(0)


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

PLACEMENT = record(
    job=TEXT,
    start=ANY_NUMBER,
    end=ANY_NUMBER,
    nodes=list_of(TEXT),
    **optional("shape", whole(), 0),
    **optional("outcome", TEXT, "completed"),
)
SCHEDULE = record(
    format=one_of("coalloc-schedule"),
    version=one_of(1, 2),
    placements=list_of(PLACEMENT),
    **optional("instance slot", ANYTHING, None),
)


class Capacity(NamedTuple):
    """Something of which all jobs together take at most ``most`` at any time: ``what`` it is, and where."""

    what: str
    where: tuple[int, ...]
    most: Fraction


def objective_of(problem: Problem, document: Any) -> Fraction:
    """Return the objective of a schedule that keeps every rule; raise at the first rule that it breaks."""
    placements = SCHEDULE(document, "certificate.schedule").placements
    if sorted(placement.job for placement in placements) != sorted(problem.number):
        raise NotProvedError("schedule: it must place every job once")
    values, clock = list[Fraction](), problem.clock
    for row in placements:
        row.job = problem.jobs[problem.number[row.job]]
        _check_placement(problem, row)
        due = problem.due(row.job)
        if problem.is_sum:
            least, slope, offset = problem.ramp(row.job, row.last - row.first)
            values.append(max(least, slope * row.first + offset))
        elif due is not None:
            values.append(row.last * clock.unit - due)
    if not values:
        raise NotProvedError(f"not covered: no job counts for objective {problem.objective!r}")
    for fixed in (*problem.running, *problem.outages):
        fixed.first, fixed.last = floor((fixed.start + clock.tolerance) / clock.unit), clock.instant(fixed.end)
    _check_lags(problem, placements)
    _check_capacities(problem, placements)
    return sum(values, Fraction(0)) if problem.is_sum else max(values)


def _check_placement(problem: Problem, row: Any) -> None:
    """Note the processors of a placement, and from which unit to which it lasts; raise where it is wrong by itself."""
    job, clock, where = row.job, problem.clock, [place for name in row.nodes for place in problem.processors(name)]
    row.places = frozenset(where)

    def require(holds: bool, rule: str) -> None:
        if not holds:
            raise NotProvedError(f"schedule: job {job.id!r} {rule}")

    require(row.outcome == "completed" and row.shape < len(job.shapes), "must be completed, in a shape that it has")
    shape, counts = job.shapes[row.shape], problem.counts(row.places)
    require(len(where) == len(row.places) == shape.tasks, f"must have {shape.tasks} different processors")
    used = [group for group, count in zip(problem.groups, counts, strict=True) if count]
    fits = all(count <= problem.rooms(job, group) for group, count in zip(problem.groups, counts, strict=True))
    require(fits, "is on a node that it may not use, or that has too little memory")
    clusters, nodes = {group.cluster for group in used}, {(g, node) for g, node, _ in row.places}
    parts = {"platform": 1, "cluster": len(clusters), "node": len(nodes)}
    require(parts[problem.scope] == 1, f"is outside of one {problem.scope}")
    mode = problem.mode(job, shape, counts)
    if mode is None or mode.duration < 1:
        raise NotProvedError(f"schedule: job {job.id!r} has an allocation that it may not have")
    row.first, length = round(row.start / clock.unit), mode.duration * clock.unit
    row.last = row.first + mode.duration
    is_whole = abs(row.start - row.first * clock.unit) <= clock.tolerance
    require(is_whole or not clock.is_slotted, "does not start at a whole slot")
    require(abs(row.end - row.start - length) <= clock.tolerance, f"must last {shown(length)} s")
    require(row.first >= clock.instant(job.arrival), "starts before its arrival")
    require(job.deadline is None or row.last <= clock.latest(job.deadline), "ends after its deadline")


def _uses(problem: Problem, row: Any) -> dict[Capacity, Fraction]:
    """Return what a job takes on its processors."""
    uses, groups, job = defaultdict[Capacity, Fraction](Fraction), problem.groups, row.job
    for g, node, core in row.places:
        uses[Capacity("a processor", (g, node, core), Fraction(1))] += 1
        uses[Capacity("a group of nodes", (g,), Fraction(groups[g].processors))] += 1
        if groups[g].memory is not None:
            uses[Capacity("memory", (g, node), groups[g].memory)] += job.memory or 0
    for k, load in enumerate(problem.loads(job, problem.counts(row.places))):
        uses[Capacity("a link", (k,), problem.links[k].bandwidth * (1 + problem.saturation))] += load
    for i, limit in enumerate(problem.limits):
        uses[Capacity("a limit", (i,), limit.capacity)] += limit.of.get(job.id, 0)
    for name in job.resources | job.task_resources:
        for capacity, tasks in Counter(_resource(problem, name, place) for place in row.places).items():
            uses[capacity] += job.resources.get(name, 0) + job.task_resources.get(name, 0) * tasks
    return uses


def _resource(problem: Problem, name: str, place: Place) -> Capacity:
    """Return the resource that a task takes on a processor: that of the platform, of its cluster, or of its node."""
    g, node, _ = place
    group = problem.groups[g]
    if name in problem.platform.resources:
        return Capacity(name, (), problem.platform.resources[name])
    if any(name in cluster.resources for cluster in problem.clusters):
        return Capacity(name, (group.cluster,), problem.clusters[group.cluster].resources.get(name, Fraction(0)))
    return Capacity(name, (g, node), group.resources.get(name, Fraction(0)))


def _check_lags(problem: Problem, placements: Sequence[Any]) -> None:
    """Raise where a job starts too early or too late after another one."""
    of, ended = {row.job.id: row for row in placements}, {run.job.id: run for run in problem.running}
    clock = problem.clock
    for row, lag in ((one, lag) for one in placements for lag in one.job.lags):
        if lag.after in ended:
            time = ended[lag.after].end if lag.from_ == "end" else ended[lag.after].start
            first, last = clock.instant(time + lag.min), clock.latest(time + (lag.max or 0))
        else:
            time = of[lag.after].last if lag.from_ == "end" else of[lag.after].first
            first = time + (clock.instant(lag.min) if lag.min >= 0 else -clock.at_most(-lag.min))
            last = time + clock.at_most(lag.max or Fraction(0))
        if row.first < first or (lag.max is not None and row.first > last):
            raise NotProvedError(f"schedule: job {row.job.id!r} breaks its lag after {lag.after!r}")


def _check_capacities(problem: Problem, placements: Sequence[Any]) -> None:
    """Raise where jobs take more than there is, at a time at which a job of the schedule takes some of it.

    Sums rise at starts alone, so these are the times that are checked.
    """
    rows = [*placements, *problem.running]
    uses = [_uses(problem, row) for row in rows]
    for time in sorted({one.first for one in (*rows, *problem.outages)}):
        taken, watched = defaultdict[Capacity, Fraction](Fraction), list[Capacity]()
        for i in (i for i, row in enumerate(rows) if row.first <= time < row.last):
            for capacity, amount in uses[i].items():
                taken[capacity] += amount
                watched += [capacity] if amount and i < len(placements) else []
        outages = [one for one in problem.outages if one.first <= time < one.last]
        for capacity in watched:
            away = sum(_away(outage, capacity) for outage in outages)
            if taken[capacity] + away > capacity.most * (1 + RELATIVE_TOLERANCE):
                at = shown(time * problem.clock.unit)
                raise NotProvedError(f"schedule: more than there is of {capacity.what} is taken at {at} s")


def _away(outage: Any, capacity: Capacity) -> int:
    """Return what an outage takes of a capacity: each processor of its nodes, or some of a group."""
    if capacity.what == "a group of nodes" and outage.group is not None and capacity.where[0] in outage.groups:
        return int(outage.processors or 0)
    if capacity.what == "a processor" and outage.group is None and capacity.where[0] in outage.groups:
        return int(not outage.spans or any(capacity.where[1] in span for span in outage.spans))
    return 0


# ------------------------------------------------------------------------------------------------------------ 4. cases


class Delay(NamedTuple):
    """Job ``late`` starts at least ``least`` units after the end of job ``early``, or after its start.

    A greatest lag is one of least below 0 between starts: if k starts at most m after the start of j, then j starts at
    least -m after the start of k; after the end of j that is m and the longest duration of j.
    """

    early: int
    late: int
    of_end: bool
    least: int


@dataclass(frozen=True)
class Case:
    """Assumptions on a schedule, to be refuted: it costs ``budget`` at most, and its jobs keep these ranges.

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
        clock, ended = problem.clock, {run.job.id: run for run in problem.running}
        earliest, ends, delays = [], [], set[Delay]()
        for j, job in enumerate(problem.jobs):
            first, due = clock.instant(job.arrival), problem.due(job)
            for lag in (lag for lag in job.lags if lag.min >= 0):
                least, of_end = clock.instant(lag.min), lag.from_ == "end"
                if lag.after in ended:
                    run = ended[lag.after]
                    first = max(first, clock.instant((run.end if of_end else run.start) + lag.min))
                else:
                    delays.add(Delay(problem.number[lag.after], j, of_end, least))
            greatest = [(lag, clock.at_most(lag.max)) for lag in job.lags if lag.max is not None]
            for lag, most in (pair for pair in greatest if pair[0].after not in ended):
                early = problem.number[lag.after]
                longest = max(problem.levels[early], default=0) if lag.from_ == "end" else 0
                delays.add(Delay(j, early, False, -most - longest))
            earliest.append(first)
            last = [FOREVER if job.deadline is None else clock.latest(job.deadline)]
            last += [] if bound is None or due is None else [ceil((bound + due) / clock.unit) - 1]
            ends.append(min(last))
        budget = IMPOSSIBLE if bound is None else ceil(bound * problem.cost_scale) - 1 if problem.is_sum else 0
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

    def split(self, kind: str, j: int, at: int) -> list[Case]:
        """Return cases that cover the case: those of some durations of a job, or of a first half.

        *Proof*. ``level``: a job has one duration, so it is among the first ``at`` or among the others. ``half``: where
        all jobs have one earliest start and one last end, and no costs, other ranges or delays, and nothing runs
        before, a schedule may be reversed in time; in it or in its reverse the middle of the job is no later than half
        way between that start and that end.
        """
        if kind == "level":
            parts = [[n for n in self.levels[j] if (n < at) == first] for first in (True, False)]
            cases = [replace(self, levels=_put(self.levels, j, tuple(kept))) for kept in parts]
        elif self.may_reverse:
            middle = (self.earliest[j] + self.ends[j] - self.shortest(j)) // 2
            cases = [replace(self, latest=_put(self.latest, j, min(self.latest[j], middle)))]
        else:
            raise NotProvedError("the schedules of the case cannot be reversed")
        return [case.propagated for case in cases]

    @property
    def may_reverse(self) -> bool:
        """Whether a schedule of the case, reversed in time, is one of the case."""
        is_free = not (self.problem.is_sum or self.delays or self.problem.running)
        latest = tuple(end - self.shortest(j) for j, end in enumerate(self.ends))
        return is_free and len(set(self.earliest)) == len(set(self.ends)) == 1 and self.latest == latest


def _put(values: Sequence[Any], j: int, value: Any) -> tuple[Any, ...]:
    return (*values[:j], value, *values[j + 1 :])


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
    """Requirements of jobs of the processors and of some links, packed into one integer per mode.

    With ``processors="groups"`` there is a capacity for the processors of each group. With ``"speeds"`` there is one
    for all groups at least as fast as each of them: a job that takes a duration takes of these groups at least what is
    least in any of its modes of that duration. Either only drops constraints, so what fits in a schedule fits here.

    An integer has a field of bits per capacity, with a highest bit that is set: what is free. A use is subtracted; what
    does not fit clears the highest bit of a field, and never reaches the next one.
    """

    def __init__(self, problem: Problem, processors: str, links: Sequence[str]) -> None:
        groups = problem.groups
        if processors == "groups":
            parts = [[g] for g in range(len(groups))]
        else:
            speeds = sorted({group.speed for group in groups}, reverse=True)
            parts = [[g for g, group in enumerate(groups) if group.speed >= speed] for speed in speeds]
        self.processors, self.links = processors, tuple(links)
        self.problem, self._parts, self._is_least = problem, parts, processors == "speeds"
        self._links = [k for k, link in enumerate(problem.links) if link.name in links]
        capacities = [sum(groups[g].processors for g in part) for part in parts] + [LINK_UNITS] * len(self._links)
        self._shifts, shift = [], 0
        for capacity in capacities:
            self._shifts.append(shift)
            shift += capacity.bit_length() + 2
        self.guard = self._packed([1 << (capacity.bit_length() + 1) for capacity in capacities])
        self.free = self.guard + self._packed(capacities)
        self.options = [self._options(j) for j in range(len(problem.jobs))]
        self._sets: list[tuple[int, int, int]] | None = None

    def _packed(self, amounts: Sequence[int]) -> int:
        return sum(amount << shift for amount, shift in zip(amounts, self._shifts, strict=True))

    def _amounts(self, counts: Sequence[int], loads: Sequence[Fraction]) -> list[int]:
        """Return what an allocation takes of each capacity: of links parts of the limit, rounded down, at most all."""
        taken = [sum(counts[g] for g in part) for part in self._parts]
        for k in self._links:
            limit = self.problem.link_limit(self.problem.links[k])
            share = min(Fraction(1), loads[k] / limit) if limit else Fraction(loads[k] > 0)
            taken.append(floor(share * LINK_UNITS))
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

    def of_running(self, run: Any) -> int:
        """Return what a job takes that runs already."""
        counts = self.problem.counts(run.places)
        return self._packed(self._amounts(counts, self.problem.loads(run.job, counts)))

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
                            steps.spend(10)  # it is kept, so that steps limit the memory as well
                            self._sets.append((number, j, n))
                            left.append((len(self._sets), j + 1, rest))
        return self._sets


Choice = frozenset[tuple[int, int]]
"""Options that run at one time, by number, each with one of its uses."""
State = frozenset[Choice]
"""All choices of the uses of some options."""


class RunningSets:
    """Options that run at one time: every choice of their uses that fits together.

    When an option starts, each choice is extended by each of its uses that fits; when one ends, it is taken out of the
    choices. A schedule, with its modes, is one of the choices at any time; without any choice nothing is left of it.
    """

    def __init__(self, resources: Resources, options: Sequence[tuple[int, ...]], steps: Steps) -> None:
        self._resources, self._options, self._steps = resources, options, steps
        self._known: dict[State, State] = {}
        self.empty = frozenset([Choice()])
        self.start, self.only, self.always_fits = cache(self._start), cache(self._only), cache(self._always_fits)

    def _fitting(self, choices: State, option: int) -> list[tuple[Choice, int, bool]]:
        """Return each choice with each use of another option, and whether they fit together."""
        uses, free, guard = self._options[option], self._resources.free, self._resources.guard
        self._steps.spend(len(choices) * len(uses))
        left = [(choice, free - sum(taken for _, taken in choice)) for choice in choices]
        return [(choice, use, (rest - use) & guard == guard) for choice, rest in left for use in uses]

    def _kept(self, choices: Iterable[Choice]) -> State:
        """Return choices as a set; equal ones are the same object, so that they are found fast."""
        found = frozenset(choices)
        return self._known.setdefault(found, found)

    def _start(self, choices: State, option: int) -> State:
        """Return the choices after an option has started; none where it does not fit."""
        return self._kept(choice | {(option, use)} for choice, use, fits in self._fitting(choices, option) if fits)

    def _only(self, choices: State, kept: frozenset[int]) -> State:
        """Return the choices for some of the options alone."""
        self._steps.spend(len(choices))
        return self._kept(frozenset(pair for pair in choice if pair[0] in kept) for choice in choices)

    def _always_fits(self, choices: State, option: int) -> bool:
        """Return whether each use of an option fits beside every choice."""
        return all(fits for _, _, fits in self._fitting(choices, option))


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

    def __init__(self, table: Table, case: Case, steps: Steps) -> None:
        self.table, self._case = table, case
        self._most, self._steps = table.weight * case.budget, steps
        self._starts = [[(n, *table.starts(case, j, n)) for n in of_job] for j, of_job in enumerate(case.levels)]
        self._times = sorted({time for of_job in self._starts for _, starts, _ in of_job for time in starts})
        self._least, self._sum, self._step = cache(self._least_of), cache(self._sum_of), cache(self._step_of)
        self._room = cache(table.room)

    def is_exceeded(self, time: int, waiting: int, cost: int, running: Iterable[tuple[int, int, int]]) -> bool:
        """Return whether the inequality of :class:`Table` is wrong at a time.

        ``waiting`` has the bits of the jobs that wait; ``running`` are end, job and duration of those that run.
        """
        worth, total = self.table.worth, self.table.weight * cost
        for end, j, n in running:
            total += worth(j, n, time, end)
        return total > self._most + self._room(time) - self._sum(self._step(time), waiting)

    def _step_of(self, time: int) -> int:
        """Return a time at which each job has the same least, one of few where that is possible.

        The least never falls with the time: where it is the same at two times, it is so at all between them.
        """
        i = bisect_left(self._times, time)
        if i == len(self._times):
            return time
        after, first = self._times[i], self._times[i - 1] + 1 if i else time
        is_flat = all(self._least(j, first) == self._least(j, after) for j in range(len(self._starts)))
        return after if is_flat else time

    def _sum_of(self, time: int, waiting: int) -> int:
        """Return the sum of the least of the jobs that wait; it is kept, so that steps limit the memory as well."""
        self._steps.spend(10)
        return sum(self._least(j, time) for j in range(len(self._starts)) if waiting >> j & 1)

    def _least_of(self, j: int, time: int) -> int:
        """Return the least of a job that starts at a time or later."""
        self._steps.spend(10)
        best = IMPOSSIBLE
        for n, starts, least in self._starts[j]:
            if starts and time <= starts[-1]:
                i = bisect_left(starts, time)
                best = min(best, least[i])
                if i and starts[i] > time:
                    best = min(best, self.table.value(self._case, j, n, time))
        return best


# ------------------------------------------------------------------------------------------------------------ 6. rules


RESOURCES: dict[str, Any] = {"processors": one_of("speeds", "groups"), **optional("links", list_of(TEXT), [])}
PIECE = record(from_=whole(), to=whole(), prices=by_name(list_of(whole())))
TABLE = record(**RESOURCES, **optional("weight", whole(), 0), **optional("pieces", list_of(PIECE), []))


class Proof:
    """State that the steps of a proof share: the problem, the tables of prices, and what is left to spend."""

    def __init__(self, problem: Problem, steps: Steps, tables: Sequence[Any]) -> None:
        self.problem, self.steps, self.cases = problem, steps, 0
        self._resources: dict[tuple[str, ...], Resources] = {}
        self._tables = [self._table(given) for given in tables]

    def resources(self, given: Any) -> Resources:
        """Return the resources that a table, or a search, counts."""
        if not {link.name for link in self.problem.links}.issuperset(given.links):
            raise BadFileError(f"certificate: there are no such links: {given.links}")
        key = given.processors, *given.links
        if key not in self._resources:
            self._resources[key] = Resources(self.problem, given.processors, given.links)
        return self._resources[key]

    def _table(self, given: Any) -> Table:
        """Return a table of prices."""
        pieces = []
        for piece in given.pieces:
            prices = {self.job(name): of_job for name, of_job in piece.prices.items()}
            if any(len(of_job) != len(self.problem.levels[j]) for j, of_job in prices.items()):
                raise NotProvedError("certificate.tables: each job must have one price per duration")
            pieces.append((piece.from_, piece.to, prices))
        return Table(self.resources(given), given.weight, pieces, self.steps)

    def job(self, name: str) -> int:
        """Return the index of a job."""
        if name not in self.problem.number:
            raise NotProvedError(f"certificate: {name!r} is not a job")
        return self.problem.number[name]

    def table(self, number: int, path: str) -> Table:
        """Return a table by its number."""
        if number >= len(self._tables):
            raise NotProvedError(f"{path}: there is no table {number}")
        return self._tables[number]

    def close(self, case: Case, given: Any, path: str, depth: int = 0) -> None:
        """Check that no schedule is one of a case, by the rule that is stated; raise where that is not shown.

        *Proof*, where the case is empty: its ranges hold for all of its schedules (:attr:`Case.propagated`), and a job
        has none left.
        """
        self.cases += 1
        self.steps.spend(100)
        if self.cases > MOST_CASES or depth > MOST_DEPTH:
            raise NotProvedError(f"{path}: there are too many cases")
        name = one_of(*RULES)(OBJECT(given, path).get("rule"), f"{path}.rule")
        step = RULES[name](given, path)
        if case.is_empty:
            return
        if name == "infeasible":
            raise NotProvedError(f"{path}: the case is not shown to be impossible")
        if name == "cases":
            self._by_cases(case, step, path, depth)
        elif name == "prices":
            self._by_prices(case, step, path)
        else:
            tables = [self.table(number, path) for number in step.tables]
            Search(case, self.resources(step), tables, self.steps).run(path)

    def _by_cases(self, case: Case, step: Any, path: str, depth: int) -> None:
        """Close each of some cases, of which a schedule of this one is in one (:meth:`Case.split`)."""
        parts = case.split(step.split, self.job(step.job), step.at)
        if len(parts) != len(step.cases):
            raise BadFileError(f"{path}: must have {len(parts)} cases")
        for i, (part, given) in enumerate(zip(parts, step.cases, strict=True)):
            self.close(part, given, f"{path}.cases[{i}]", depth + 1)

    def _by_prices(self, case: Case, step: Any, path: str) -> None:
        """Close a case in which the jobs of a table are worth, and cost, more than room and budget (:class:`Table`)."""
        everything = (1 << len(case.levels)) - 1
        if not Bound(self.table(step.table, path), case, self.steps).is_exceeded(0, everything, 0, ()):
            raise NotProvedError(f"{path}: at these prices all jobs may fit")


RULES: dict[str, Kind] = {
    "cases": record(rule=TEXT, split=one_of("level", "half"), job=TEXT, cases=LIST, **optional("at", whole(), 0)),
    "infeasible": record(rule=TEXT),
    "prices": record(rule=TEXT, table=whole()),
    "search": record(rule=TEXT, **RESOURCES, tables=list_of(whole())),
}


class Option(NamedTuple):
    """A job at one of its durations: ``level`` is the index of that, ``duration`` is in units."""

    number: int
    job: int
    level: int
    duration: int


class Node(NamedTuple):
    """A node of a search (:class:`Search`).

    ``state`` are the choices of what runs, ``waiting`` has the bits of the jobs that wait, ``running`` are (end,
    option), ``cost`` is what all that was started costs; ``idle`` is since when each option has been idle, or -1.
    """

    time: int
    state: State
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
    every choice, at every event from s to now. It does not start later while that lasts, for it may start at s instead,
    in the same mode, and that node was shown to have none. If it would have ended by now, and its job costs no less at
    any duration from now on, the node has no schedule: the job may have it from s on instead, in any of its modes.
    *Equal jobs*, with the same options, costs and ranges and no delays, start in their order: exchange two of them.
    *Prices*: see :class:`Table`. *Dominance*: node 1 has no schedule, was done with before, is not later than node 2
    and costs no more, has the same waiting jobs, and what still runs there at the time of node 2 runs in node 2 as
    well, at the same duration and as long or longer; and each choice of node 2 for these jobs is one of node 1. Then
    node 2 has none either: what follows it fits after node 1, and costs the same.
    Each of these reasons refers to nodes that are done with, so none rests on itself.
    """

    REMEMBERED = 12
    """Nodes with the same waiting jobs that are remembered."""

    def __init__(self, case: Case, resources: Resources, tables: Sequence[Table], steps: Steps) -> None:
        problem, jobs = case.problem, range(len(case.levels))
        if len(jobs) > MOST_SEARCHED:
            raise NotProvedError(f"a search has more than {MOST_SEARCHED} jobs")
        self._case, self._steps, self.nodes, self._costs = case, steps, 0, problem.is_sum
        order = sorted(jobs, key=lambda j: (-case.shortest(j) * problem.jobs[j].shapes[0].tasks, j))
        pairs = [(j, n) for j in order for n in case.levels[j]]
        self.options = [Option(number, j, n, problem.levels[j][n]) for number, (j, n) in enumerate(pairs)]
        self._uses = [resources.options[j][n] for j, n in pairs]
        running = [run for run in problem.running if run.start <= 0]
        held = [(resources.of_running(run),) for run in running]
        self._sets = RunningSets(resources, [*self._uses, *held], steps)
        self._running = [(problem.clock.instant(run.end), len(pairs) + number) for number, run in enumerate(running)]
        self._latest_of = [case.last(j, n) for j, n in pairs]
        self._last = [max(self._latest_of[option.number] for option in self.options if option.job == j) for j in jobs]
        self._arrived, self._last_of = max(self._case.earliest, default=0), cache(self._last_start)
        self._before = [sum({1 << d.early for d in case.delays if d.late == j and d.of_end}) for j in jobs]
        self._twins = self._twins_of(order)
        self._known: dict[int, list[tuple[int, int, State, dict[int, int]]]] = {}
        self.bounds: list[Bound] = []
        costs_alone = [Table(resources, 1, [], steps)] if problem.is_sum else []
        for table in (*costs_alone, *tables):
            self.add_table(table)

    def add_table(self, table: Table) -> None:
        """Bound nodes at the prices of a table as well."""
        self.bounds.append(Bound(table, self._case, self._steps))

    def _twins_of(self, order: Sequence[int]) -> list[int]:
        """Return of each job the bits of the jobs before it that are equal to it."""
        case, seen = self._case, dict[Any, int]()
        tied = {j for d in case.delays for j in (d.early, d.late)}
        twins = [0] * len(order)
        for j in (j for j in order if j not in tied):
            options = tuple((option.duration, self._uses[option.number]) for option in self.options if option.job == j)
            costs = tuple(case.problem.ramps[j][n] for n in case.levels[j])
            key = options, costs, case.earliest[j], case.latest[j], case.ends[j]
            twins[j] = seen.get(key, 0)
            seen[key] = twins[j] | 1 << j
        return twins

    def _last_start(self, waiting: int) -> int:
        """Return the last time by which some of the jobs that wait have to start."""
        return min(last for j, last in enumerate(self._last) if waiting >> j & 1)

    def run(self, path: str) -> None:
        """Go through all nodes; raise where a schedule is found."""
        self._where = path
        begin, running = min(self._case.earliest, default=0), list[tuple[int, int]]()
        state = self._sets.empty
        for end, number in self._running:
            if end > begin:
                state = self._sets.start(state, number)
                running.append((end, number))
                if not state:
                    raise NotProvedError(f"{path}: running jobs take more than there is")
        waiting = (1 << len(self._last)) - 1
        try:
            self._explore(Node(begin, state, waiting, tuple(running), 0, [-1] * len(self.options)))
        except RecursionError:
            raise NotProvedError(f"{path}: the search is too deep") from None

    def is_left(self, time: int, waiting: int, cost: int, running: Sequence[tuple[int, int]]) -> bool:
        """Return whether at some prices more is left to do than fits; the arguments are parts of a :class:`Node`."""
        going = self.started(running)
        return any(bound.is_exceeded(time, waiting, cost, going) for bound in self.bounds)

    def started(self, running: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """Return what was started of what runs: end, job and duration (:meth:`Bound.is_exceeded`)."""
        options, free = self.options, len(self.options)
        return [(end, options[k].job, options[k].level) for end, k in running if k < free]

    def _explore(self, node: Node) -> None:
        """Show that a node has no schedule."""
        time, _, waiting, running, _, idle = node
        held = waiting | sum(1 << j for _, j, _ in self.started(running))
        earliest, before = self._case.earliest, self._before
        jobs = [waiting >> j & 1 and first <= time and not before[j] & held for j, first in enumerate(earliest)]
        ready = [option for option in self.options if jobs[option.job]]
        usable = [option for option in ready if idle[option.number] < 0 and time <= self._latest_of[option.number]]
        self._decide(usable, 0, ready, node)

    def _decide(self, usable: list[Option], first: int, ready: list[Option], node: Node) -> None:
        """Start each option that can start at the time of a node, and then none."""
        time, state, waiting, running, cost, idle = node
        for position in range(first, len(usable)):
            number, j, level, duration = usable[position]
            if not waiting >> j & 1 or waiting & self._twins[j]:
                continue
            after = self._sets.start(state, number)
            if not after:
                continue
            begun, left, spent = (*running, (time + duration, number)), waiting ^ 1 << j, cost
            if self._costs:
                spent += self._case.problem.cost(j, level, time)
                if self.is_left(time, left, spent, begun):
                    continue
            self._decide(usable, position + 1, ready, Node(time, after, left, begun, spent, idle))
        self._go_on(ready, node)

    def _go_on(self, ready: list[Option], node: Node) -> None:
        """Go on to the next event, where nothing more starts at the time of a node."""
        time, state, waiting, running, cost, _ = node
        self.nodes += 1
        self._steps.spend(20 + len(ready) + len(self.bounds))
        if not waiting:
            raise NotProvedError(f"{self._where}: with these resources alone there may be a schedule")
        events = [end for end, _ in running]
        if time < self._arrived:
            events += [e for j, e in enumerate(self._case.earliest) if e > time and waiting >> j & 1]
        if not events:
            return  # nothing that waits is ever ready
        after = min(events)
        if after > self._last_of(waiting):
            return
        going = tuple((end, number) for end, number in running if end > after)
        if self.is_left(after, waiting, cost, going):
            return
        since = self._idle_since(ready, node, after)
        if since is None:
            return
        held = {number: end for end, number in going}
        if len(going) < len(running):
            state = self._sets.only(state, frozenset(held))
        child = Node(after, state, waiting, going, cost, since)
        if self._is_dominated(child, held):
            return
        self._explore(child)
        of_set = self._known.setdefault(waiting, [])
        if len(of_set) < self.REMEMBERED and len(self._known) < 500_000:
            of_set.append((after, cost, state, held))

    def _idle_since(self, ready: list[Option], node: Node, after: int) -> list[int] | None:
        """Return since when each option has been idle at the next event; None where one should have run by then."""
        since, cost = [-1] * len(node.idle), self._case.problem.cost
        for option in ready:
            number, j, level, duration = option
            if node.waiting >> j & 1 and self._sets.always_fits(node.state, number):
                begin = node.idle[number] if node.idle[number] >= 0 else node.time
                since[number] = begin
                had_time = after - begin >= duration and begin <= self._latest_of[number]
                if had_time and cost(j, level, begin) <= min(cost(j, n, after) for n in self._case.levels[j]):
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
                if self._sets.only(node.state, kept) <= self._sets.only(state, kept):
                    return True
        return False


# ------------------------------------------------------------------------------------------------------ 7. certificate


@dataclass(frozen=True)
class Verdict:
    """Claim that a certificate proves: no schedule has an objective below ``bound``; there is none where that is None.

    ``objective`` is that of its schedule, None where it has none.
    """

    problem: Problem
    bound: Fraction | None
    objective: Fraction | None
    is_same_file: bool

    @property
    def tolerance(self) -> Fraction:
        """Allowed excess of the objective over the bound: in continuous time no less than what rounding adds to it."""
        size = abs(self.objective or Fraction(0))
        if self.problem.clock.is_slotted:
            return WRITING_TOLERANCE * size
        return max(PROOF_TOLERANCE * size, self.rounding)

    @property
    def rounding(self) -> Fraction:
        """The most that rounding times to ticks may add to an objective."""
        problem, units, bound = self.problem, Fraction(1), self.bound or Fraction(0)
        if problem.is_sum:
            rates = [max((slope for _, slope, _ in of_job), default=Fraction(0)) for of_job in problem.exact_ramps]
            units = sum(rates, Fraction(0)) / problem.clock.unit
        most = problem.clock.tolerance * units
        is_ratio = problem.objective == "mean-bounded-slowdown"
        return max(most, PROOF_TOLERANCE * max(bound, -bound)) if is_ratio else most

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
            rules += "" if clock.is_slotted else f", to {problem.shown(self.rounding, 3)}"
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
    return f"{float(number):.{digits}g}" if -(10**300) < number < 10**300 else "more than 1e+300"


CERTIFICATE = record(
    format=one_of("coalloc-certificate"),
    version=one_of(1),
    problem=ANYTHING,
    proof=ANYTHING,
    **optional("bound", ANY_NUMBER, None),
    **optional("tables", list_of(TABLE), []),
    **optional("schedule", OBJECT, None),
    **optional("instance_sha256", TEXT, ""),
    **optional("instance provenance", ANYTHING, None),
)


def verdict_of(instance: Any, certificate: Any, sha256: str = "", most_steps: int = MOST_STEPS) -> Verdict:
    """Return what a certificate proves of an instance, both as parsed files; raise where a step is not proved."""
    given = CERTIFICATE(certificate, "certificate")
    problem = Problem(instance, given.problem)
    objective = None if given.schedule is None else objective_of(problem, given.schedule)
    proof = Proof(problem, Steps(most_steps), given.tables)
    proof.close(Case.root(problem, given.bound), given.proof, "certificate.proof")
    return Verdict(problem, given.bound, objective, given.instance_sha256 == sha256)


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
    except (NotProvedError, RecursionError) as error:
        print(f"not proved: {_one_line(error)}")
        return 1
    print("\n".join(map(_one_line, verdict.lines())))
    return 0 if verdict.is_complete else 1


def _one_line(text: object) -> str:
    return "".join(character if character.isprintable() else "?" for character in str(text))[:500]


if __name__ == "__main__":
    sys.exit(main())
