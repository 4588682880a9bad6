"""The energy meter: joules of a finished schedule, integrated exactly.

What is drawn is a step function of time, continuous from the right. It is integrated from the origin (the earliest
arrival, or 0 where jobs run already) to the latest end. Two descriptions of a platform can be metered: the watts of
nodes (:mod:`coalloc.node_meter`), and the power states of clusters (:mod:`coalloc.site_meter`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coalloc.display.html import lines_table
from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import has_power_states, require_metered
from coalloc.instance.rounding import time_tolerance
from coalloc.node_meter import NODE_PARTS, node_draw
from coalloc.observed import Holding, placed_jobs
from coalloc.schedule import Schedule
from coalloc.site_meter import SITE_PARTS, SiteDraw, Working, site_draws

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Idle = Literal["always", "from-first-use"]
Part = Literal["node", "cluster", "job"]

SHARED = ("site", "chassis", "board", "startup")
"""Parts of a cluster with power states that belong to none of its cores."""


# ------------------------------------------------------------------------------ what is returned


@dataclass(frozen=True, slots=True)
class NodeEnergy:
    """What one node consumed, J, and for how long it had a busy core, s."""

    dynamic: float
    static: float
    idle: float
    busy: float

    @property
    def total(self) -> float:
        """All of it, J."""
        return self.dynamic + self.static + self.idle


@dataclass(frozen=True, slots=True)
class JobEnergy:
    """What one job consumed, J: by its own cores, and its part of the static watts of its nodes."""

    dynamic: float
    static: float

    @property
    def total(self) -> float:
        """All of it, J."""
        return self.dynamic + self.static


@dataclass(frozen=True, slots=True)
class Energy:
    """What :func:`energy` returns; printing it gives aligned lines.

    ``cluster_parts`` says for each cluster, by name, what it consumed for what, J; where clusters have power states
    ``startups`` counts the start-ups of each. ``nodes`` (by name) and ``jobs`` (by id, with those that run already) say
    who consumed what. The clusters add up to ``total``. Without power states so do the nodes, and so do the jobs
    together with ``idle``, which is the platform's; with them nodes and jobs have what their cores consumed, and all
    else is nobody's.
    ``makespan`` is in s, ``work`` in processor-seconds of the reference node.
    """

    cluster_parts: Mapping[str, Mapping[str, float]]
    startups: Mapping[str, int]
    nodes: Mapping[str, NodeEnergy]
    jobs: Mapping[str, JobEnergy]
    makespan: float
    work: float

    @property
    def clusters(self) -> dict[str, float]:
        """Energy of each cluster, J, by name."""
        return {name: sum(parts.values()) for name, parts in self.cluster_parts.items()}

    @property
    def parts(self) -> dict[str, float]:
        """Energy of the platform by what it was drawn for, J; the parts add up to ``total``."""
        names = next(iter(self.cluster_parts.values()))
        return {name: sum(parts[name] for parts in self.cluster_parts.values()) for name in names}

    @property
    def total(self) -> float:
        """Energy of the platform, J: ``dynamic + static + idle``."""
        return sum(self.parts.values())

    @property
    def dynamic(self) -> float:
        """Energy of busy cores, beyond the static watts of their nodes, J; with power states of working cores."""
        parts = self.parts
        return parts["working"] if "working" in parts else parts["dynamic"]

    @property
    def static(self) -> float:
        """Energy of the static watts of nodes with a busy core, J; with power states of all but the cores."""
        parts = self.parts
        return sum(parts[name] for name in SHARED) if "working" in parts else parts["static"]

    @property
    def idle(self) -> float:
        """Energy of nodes without a busy core, J; with power states of cores that are on without a job."""
        return self.parts["idle"]

    @property
    def edp(self) -> float:
        """Energy times makespan, J s. Source: PCBE, equation (2.5)."""
        return self.total * self.makespan

    @property
    def ed2p(self) -> float:
        """Energy times makespan squared, J s^2."""
        return self.edp * self.makespan

    @property
    def work_per_joule(self) -> float:
        """Work of the completed jobs / energy, in processor-seconds of the reference node per J; 0 without energy."""
        total = self.total
        return self.work / total if total else 0.0

    def to_frame(self, part: Part = "node") -> pd.DataFrame:
        """Return one row per ``"node"``, ``"cluster"`` or ``"job"`` with its total and its parts, J; busy in s."""
        import pandas as pd

        rows: list[tuple[object, ...]]
        if part == "node":
            columns = ["node", "total", "dynamic", "static", "idle", "busy"]
            rows = [(name, n.total, n.dynamic, n.static, n.idle, n.busy) for name, n in self.nodes.items()]
        elif part == "cluster":
            columns = ["cluster", "total", *self.parts]
            rows = [(name, sum(parts.values()), *parts.values()) for name, parts in self.cluster_parts.items()]
        elif part == "job":
            columns = ["job", "total", "dynamic", "static"]
            rows = [(job, j.total, j.dynamic, j.static) for job, j in self.jobs.items()]
        else:
            raise CoallocError(f"part must be one of {', '.join(get_args(Part))}, got {part!r}")
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<Energy: {self.total:.6g} J in {self.makespan:.12g} s, EDP {self.edp:.6g} J s>"

    def _repr_html_(self) -> str:
        return lines_table(self.lines())

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) lines that printing shows."""
        parts = self.parts.items() if self.startups else reversed(self.parts.items())
        startups = [("start-ups", f"{sum(self.startups.values())}")] if self.startups else []
        return [
            ("energy", f"{self.total:.6g} J: " + ", ".join(f"{name} {joules:.6g}" for name, joules in parts)),
            *startups,
            ("makespan", f"{self.makespan:.12g} s"),
            ("EDP", f"{self.edp:.6g} J s, ED2P {self.ed2p:.6g} J s^2"),
            ("work", f"{self.work_per_joule:.6g} processor-seconds of the reference node per J"),
        ]


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """What a platform draws over time: ``watts[p, i]``, W, from ``instants[i]`` to ``instants[i + 1]``, s.

    ``watts`` has shape ``(num_parts, num_instants - 1)``; ``parts`` names them.
    """

    instants: Floats
    watts: Floats
    parts: tuple[str, ...]

    @property
    def total(self) -> Floats:
        """All parts together, W, shape ``(num_instants - 1,)``."""
        return np.asarray(self.watts.sum(axis=0), dtype=np.float64)

    @property
    def joules(self) -> float:
        """Integral of all of it, J."""
        return float(self.total @ np.diff(self.instants))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: start, end (s), each part and total (W)."""
        import pandas as pd

        columns = {"start": self.instants[:-1], "end": self.instants[1:]}
        return pd.DataFrame(columns | dict(zip(self.parts, self.watts, strict=True)) | {"total": self.total})


# ------------------------------------------------------------------------------ metering


@public
def energy(
    instance: Instance,
    schedule: Schedule,
    idle: Idle = "always",
    *,
    power_management: bool = False,
    working: Working = "total",
) -> Energy:
    """Return the energy that a schedule takes, from the earliest arrival (0 where jobs run already) to its last end.

    Nodes with watts: each job gets the dynamic energy of its cores, and at every instant its part of the static watts
    of its nodes, which their busy cores share equally. Idle energy is the platform's. Clusters with power states: the
    parts are site, chassis, board, idle, working and startup.

    Parameters
    ----------
    schedule
        One that passes ``check``, with ``power_management=True`` where that is given here; the figures of another mean
        nothing.
    idle
        Of nodes with watts. ``"always"``: a node without a busy core draws its idle watts, all the time.
        ``"from-first-use"``: it draws nothing before its first job, and never if it has none, as in the published
        tables of PCBE.
    power_management
        Of clusters with power states. Cores, boards, chassis and sites are off at first, go on for jobs and off again
        after their grace periods; False: all is on, from the beginning to the last end.
    working
        Of clusters with power states. ``"total"``: a core with a job draws its working watts; ``"extra"``: its idle
        watts as well, the letter of equation (9).

    Raises
    ------
    CoallocError
        If node groups have no watts, or clusters no power states where others have them or ``power_management`` asks
        for them (each is named); if an option is for the other kind of platform; if the schedule names jobs or
        processors that are not in the instance, occupies time before the origin, or does not wait for a start-up.
    """
    if _has_sites(instance, idle, power_management, working):
        return _energy_of_sites(instance, schedule, power_management, working)
    return _energy_of_nodes(instance, schedule, idle)


@public
def power_curve(
    instance: Instance,
    schedule: Schedule,
    idle: Idle = "always",
    *,
    power_management: bool = False,
    working: Working = "total",
) -> PowerCurve:
    """Return what a platform draws over time; its integral is the energy. Arguments and errors as :func:`energy`."""
    if _has_sites(instance, idle, power_management, working):
        return _curve_of_sites(instance, schedule, power_management, working)
    return _curve_of_nodes(instance, schedule, idle)


def _work(instance: Instance, schedule: Schedule) -> float:
    """Return the work of the completed jobs, processor-seconds of the reference node."""
    jobs = zip(placed_jobs(instance, schedule), schedule.placements, strict=True)
    return sum(job.tasks * job.base_time for job, placement in jobs if placement.outcome == "completed")


def _held(instance: Instance, schedule: Schedule) -> tuple[list[Holding], float, float]:
    """Return who holds what, jobs that run already last, and from when until when it is metered, s."""
    origin, end = instance.origin, max((p.end for p in schedule.placements), default=instance.origin)
    placed = [(p.job, p.start, p.end, p.nodes) for p in schedule.placements]
    _refuse_outside(placed, origin)
    return [*placed, *((run.job.id, run.start, run.end, run.nodes) for run in instance.running)], origin, end


def _refuse_outside(placed: Sequence[Holding], origin: float) -> None:
    """Raise where a job occupies time before the origin, or ends before it starts."""
    earliest = origin - time_tolerance(origin)
    for job, start, end, _ in placed:
        if start < earliest or end < start:
            raise CoallocError(
                f"the schedule places {quoted(job)} from {start:.12g} s to {end:.12g} s, and the meter runs from "
                f"{origin:.12g} s on; `coalloc check` lists all that is wrong with it"
            )


def _has_sites(instance: Instance, idle: Idle, power_management: bool, working: Working) -> bool:
    """Return whether power states are what is metered; raises where they lack, or options are for the other kind."""
    instance.refuse_shared_nodes("the meter")
    require_metered(instance.platform, power_management)
    has_sites = has_power_states(instance.platform)
    if has_sites and idle != "always":
        raise CoallocError(f"idle={idle!r} is for nodes with watts, not for clusters with power_states")
    if not has_sites and working != "total":
        raise CoallocError(f"working={working!r} is for clusters with power_states, not for nodes with watts")
    return has_sites


# ------------------------------------------------------------------------------ nodes with watts


def _energy_of_nodes(instance: Instance, schedule: Schedule, idle: Idle) -> Energy:
    """Return the energy of a platform whose nodes have watts."""
    held, origin, end = _held(instance, schedule)
    draw = node_draw(instance, held, origin, end, idles_always=idle == "always")
    platform = instance.platform
    nodes = [NodeEnergy(*row) for row in zip(*(c.tolist() for c in draw.joules_of_nodes()), strict=True)]
    jobs = [JobEnergy(*row) for row in zip(*(c.tolist() for c in draw.joules_of_jobs()), strict=True)]
    clusters = {cluster.name: dict.fromkeys(NODE_PARTS, 0.0) for cluster in platform.clusters}
    for node, consumed in zip(platform.nodes, nodes, strict=True):
        parts = clusters[platform.clusters[node.cluster].name]
        for part in NODE_PARTS:
            parts[part] += getattr(consumed, part)
    return Energy(
        cluster_parts=clusters,
        startups={},
        nodes={node.name: consumed for node, consumed in zip(platform.nodes, nodes, strict=True)},
        jobs={job: consumed for (job, *_), consumed in zip(held, jobs, strict=True)},
        makespan=end - origin,
        work=_work(instance, schedule),
    )


def _curve_of_nodes(instance: Instance, schedule: Schedule, idle: Idle) -> PowerCurve:
    """Return the power curve of a platform whose nodes have watts."""
    held, origin, end = _held(instance, schedule)
    draw = node_draw(instance, held, origin, end, idles_always=idle == "always")
    instants, index = np.unique(np.concatenate([[origin, end], draw.steps.time]), return_inverse=True)
    changes = np.array([np.bincount(index[2:], change, len(instants)) for change in draw.changes()])
    changes[0, 0] += draw.watts_at_origin().sum()
    return PowerCurve(instants, np.cumsum(changes, axis=1, dtype=np.float64)[:, :-1], NODE_PARTS)


# ------------------------------------------------------------------------------ clusters with power states


def _energy_of_sites(instance: Instance, schedule: Schedule, power_management: bool, working: Working) -> Energy:
    """Return the energy of a platform whose clusters have power states."""
    held, origin, end = _held(instance, schedule)
    draws = site_draws(instance, held, origin, end, power_management)
    platform = instance.platform
    nodes = [
        NodeEnergy(dynamic, 0.0, idle, busy)
        for draw in draws
        for dynamic, idle, busy in zip(*(c.tolist() for c in draw.joules_of_cores(working)), strict=True)
    ]
    joules = np.zeros(len(held))
    for draw in draws:
        joules[draw.work.job] += draw.joules_of_jobs()
    names = [cluster.name for cluster in platform.clusters]
    return Energy(
        cluster_parts={name: draw.joules(working) for name, draw in zip(names, draws, strict=True)},
        startups={name: len(draw.startups) for name, draw in zip(names, draws, strict=True)},
        nodes={node.name: consumed for node, consumed in zip(platform.nodes, nodes, strict=True)},
        jobs={job: JobEnergy(dynamic, 0.0) for (job, *_), dynamic in zip(held, joules.tolist(), strict=True)},
        makespan=end - origin,
        work=_work(instance, schedule),
    )


def _curve_of_sites(instance: Instance, schedule: Schedule, power_management: bool, working: Working) -> PowerCurve:
    """Return the power curve of a platform whose clusters have power states."""
    held, origin, end = _held(instance, schedule)
    draws = site_draws(instance, held, origin, end, power_management)
    times = [np.array([origin, end])]
    times += [time for draw in draws for _, begin, until, _ in draw.changes(working) for time in (begin, until)]
    instants = np.unique(np.concatenate(times))
    watts = np.zeros((len(SITE_PARTS), len(instants) - 1))
    for draw in draws:
        watts += _site_watts(draw, working, instants)
    return PowerCurve(instants, watts, SITE_PARTS)


def _site_watts(draw: SiteDraw, working: Working, instants: Floats) -> Floats:
    """Return what each part of a cluster draws between instants (s), W, shape ``(num_parts, num_instants - 1)``."""
    changes = np.zeros((len(SITE_PARTS), len(instants)))
    for part, begin, end, amounts in draw.changes(working):
        row = changes[SITE_PARTS.index(part)]
        row += np.bincount(np.searchsorted(instants, begin), amounts, len(instants))
        row -= np.bincount(np.searchsorted(instants, end), amounts, len(instants))
    numbers = np.cumsum(changes, axis=1)[:, :-1]  # whole numbers: exact
    watts = draw.watts()
    return np.asarray(numbers * np.array([[watts[part]] for part in SITE_PARTS]), dtype=np.float64)
