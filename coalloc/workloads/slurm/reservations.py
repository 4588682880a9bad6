"""Unavailable nodes of a Slurm site: reservations (``scontrol show reservation -o``) and outages.

A maintenance reservation (flag MAINT) and a node that is down are maintenance windows; another reservation is an
advance reservation. Source: the manual page scontrol of Slurm, and its guide to reservations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from coalloc.instance import Job, RunningJob, Window
from coalloc.workloads.slurm.lines import Faults, record_lines
from coalloc.workloads.slurm.platform import NodePlace, SiteLayout, span, spans
from coalloc.workloads.slurm.values import FieldError, LineError, amount, hosts, instant

RECURRING = ("HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY")


class SlurmReservation(NamedTuple):
    """A reservation: its nodes from start to end (since 1970, in s), for maintenance or for jobs, and licenses."""

    name: str
    start: float
    end: float
    nodes: tuple[str, ...]
    is_maintenance: bool
    licenses: tuple[tuple[str, float], ...]


def read_reservations(source: str, layout: SiteLayout) -> list[SlurmReservation]:
    """Return the reservations of a file, in the order of their starts.

    Raises
    ------
    InstanceError
        The file cannot be read, or has lines with errors.
    """
    faults, notes, found = Faults(), layout.site.notes, list[SlurmReservation]()
    for line in record_lines(source, "ReservationName", "scontrol show reservation -o", faults):
        with faults.at(source, line.number):
            start, end = (instant(key, line.text(key.lower())) for key in ("StartTime", "EndTime"))
            if start is None or end is None or end <= start:
                raise LineError("EndTime must be after StartTime")
            flags = line.text("flags").upper()
            nodes = hosts("Nodes", line.text("nodes").replace("(null)", ""))
            unknown = next((name for name in nodes if name not in layout.places), None)
            if unknown is not None:
                raise FieldError("Nodes", "nodes of slurm.conf", unknown)
            if any(flag in flags for flag in RECURRING):
                notes["recurring reservations, of which the file has one time only"] += 1
            notes["reservations of single cores, taken as whole nodes"] += _has_cores_only(
                line.text("corecnt"), nodes, layout
            )
            licenses = tuple(_licenses(line.text("licenses").replace("(null)", ""), layout))
            found.append(SlurmReservation(line.text("reservationname"), start, end, nodes, "MAINT" in flags, licenses))
    faults.raise_all()
    return sorted(found, key=lambda reservation: reservation.start)


def _has_cores_only(cores: str, nodes: Sequence[str], layout: SiteLayout) -> bool:
    """Return whether a reservation has fewer cores than its nodes have CPUs, be it with two threads per core."""
    return cores.isdecimal() and 2 * int(cores) < sum(layout.kinds[layout.places[n].group].node.cpus for n in nodes)


def _licenses(text: str, layout: SiteLayout) -> Iterator[tuple[str, float]]:
    for entry in filter(None, text.split(",")):
        name, _, number = entry.partition(":")
        if f"license/{name}" in layout.site.licenses:
            yield f"license/{name}", amount("Licenses", number or "1")


@dataclass(slots=True)
class Blocking:
    """Blocks of nodes on the clock of the instance: no two may hold one at a time, and running jobs come first."""

    layout: SiteLayout
    epoch: float
    held: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    running: list[RunningJob] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def hold(self, names: Iterable[str], start: float, end: float) -> None:
        """Hold nodes."""
        for name in names:
            self.held.setdefault(name, []).append((start, end))

    def close(self, since: Iterable[tuple[str, float]], end: float) -> None:
        """Add windows in which nodes are not available, each since a time of its own, or since its running jobs end."""
        by_start: dict[float, list[str]] = {}
        for name, start in since:
            begin = max(
                [
                    start - self.epoch,
                    0.0,
                    *(until for _, until in self.held.get(name, ()) if start - self.epoch < until),
                ]
            )
            if begin < end - self.epoch:
                by_start.setdefault(begin, []).append(name)
        for start, names in sorted(by_start.items()):
            self.hold(names, start, end - self.epoch)
            for cluster, ranges in self.layout.ranges(names):
                self.windows.append(Window(cluster, start, end - self.epoch, nodes=ranges))

    def reserve(self, reservation: SlurmReservation, id: str) -> None:
        """Add an advance reservation of the nodes that nothing else holds then."""
        start, end = max(0.0, reservation.start - self.epoch), reservation.end - self.epoch
        free = [
            name
            for name in reservation.nodes
            if not any(begin < end and start < until for begin, until in self.held.get(name, ()))
        ]
        self.notes["nodes of reservations that something else holds, left out"] += len(reservation.nodes) - len(free)
        if end <= 0.0 or not free:
            self.notes["reservations without nodes in the period, left out"] += 1
            return
        self.hold(free, start, end)
        places = [self.layout.places[name] for name in free]
        job = Job(id, sum(p.processors for p in places), end - start, resources=dict(reservation.licenses))
        self.running.append(RunningJob(job, list(whole_nodes(self.layout, places)), end, start))


def whole_nodes(layout: SiteLayout, places: Iterable[NodePlace]) -> Iterator[str]:
    """Yield all processors of nodes as ranges of names."""
    for (cluster, processors), same in groupby(sorted(places), key=attrgetter("cluster", "processors")):
        cores = "" if processors == 1 else f".{span(0, processors - 1)}"
        for first, last in spans(place.number for place in same):
            yield f"{layout.names[cluster]}/{span(first, last)}{cores}"
