"""The energy meter: joules of a finished schedule, integrated exactly.

What is drawn is a step function of time, continuous from the right. It is integrated from the origin (the earliest
arrival, or 0 where jobs run already) to the latest end. Two descriptions of a platform can be metered: the watts of
nodes (:mod:`coalloc.power.nodes`), and the power states of clusters (:mod:`coalloc.power.sites`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.arguments import public
from coalloc.documents.html import lines_table
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import has_power_states, require_metered
from coalloc.instance.rounding import time_tolerance
from coalloc.power.nodes import NODE_PARTS, node_draw
from coalloc.power.sites import SITE_PARTS, SiteDraw, Working, site_draws
from coalloc.schedule import Schedule
from coalloc.schedule.observed import Holding, placed_jobs

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
    """Energy of one node, and its busy time.

    Attributes
    ----------
    dynamic : float
        Energy of its busy cores, J.
    static : float
        Static energy while a core is busy, J.
    idle : float
        Energy without a busy core, J.
    busy : float
        Time with a busy core, s.
    """

    dynamic: float
    static: float
    idle: float
    busy: float

    @property
    def total(self) -> float:
        """Energy of the node, J."""
        return self.dynamic + self.static + self.idle


@dataclass(frozen=True, slots=True)
class JobEnergy:
    """Energy of one job.

    Attributes
    ----------
    dynamic : float
        Energy of its cores, J.
    static : float
        Its share of the static energy of its nodes, J.
    """

    dynamic: float
    static: float

    @property
    def total(self) -> float:
        """Energy of the job, J."""
        return self.dynamic + self.static


@dataclass(frozen=True, slots=True)
class Energy:
    """The result of ``coalloc.energy``; printing it shows aligned lines.

    The clusters add up to ``total``. Without power states, so do the nodes, and so do the jobs together with ``idle``.
    With power states, nodes and jobs have the energy of their cores only.

    Attributes
    ----------
    cluster_parts : mapping of str to mapping of str to float
        Energy of each cluster by part, J.
    startups : mapping of str to int
        Number of start-ups of each cluster with power states.
    nodes : mapping of str to NodeEnergy
        Energy of each node, by name.
    jobs : mapping of str to JobEnergy
        Energy of each job, by id, running jobs included.
    makespan : float
        Duration of the schedule, s.
    work : float
        Work of the completed jobs, processor-seconds of the reference node.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> consumed = coalloc.energy(instance, coalloc.simulate(instance, "pcbe").schedule)
    >>> {part: round(joules, 2) for part, joules in consumed.parts.items()}
    {'idle': 1.99, 'static': 44.78, 'dynamic': 139.23}
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
        """Energy of the platform by part, J; the parts add up to ``total``."""
        names = next(iter(self.cluster_parts.values()))
        return {name: sum(parts[name] for parts in self.cluster_parts.values()) for name in names}

    @property
    def total(self) -> float:
        """Energy of the platform, J: the sum of ``dynamic``, ``static`` and ``idle``."""
        return sum(self.parts.values())

    @property
    def dynamic(self) -> float:
        """Energy of busy cores beyond the static power of their nodes, J; with power states, of working cores."""
        parts = self.parts
        return parts["working"] if "working" in parts else parts["dynamic"]

    @property
    def static(self) -> float:
        """Static energy of nodes with a busy core, J; with power states, of everything but the cores."""
        parts = self.parts
        return sum(parts[name] for name in SHARED) if "working" in parts else parts["static"]

    @property
    def idle(self) -> float:
        """Energy of nodes without a busy core, J; with power states, of cores that are on without a job."""
        return self.parts["idle"]

    @property
    def edp(self) -> float:
        """Energy-delay product: energy times makespan, J s. Source: PCBE, equation (2.5)."""
        return self.total * self.makespan

    @property
    def ed2p(self) -> float:
        """Energy times the square of the makespan, J s^2."""
        return self.edp * self.makespan

    @property
    def work_per_joule(self) -> float:
        """Work per energy, processor-seconds of the reference node per J; 0 without energy."""
        total = self.total
        return self.work / total if total else 0.0

    def to_frame(self, part: Part = "node") -> pd.DataFrame:
        """Return the energy as a table.

        Parameters
        ----------
        part : {"node", "cluster", "job"}, default "node"
            What a row stands for.

        Returns
        -------
        pandas.DataFrame
            One row per node, cluster or job: total and parts (J), and the busy time of nodes (s).
        """
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
        """Return the (name, text) pairs that printing shows."""
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
    """Power of a platform over time: ``watts[p, i]``, W, from ``instants[i]`` to ``instants[i + 1]``, s.

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
    """Compute the energy of a schedule, from the earliest arrival (or 0 if jobs are running) to its last end.

    Nodes with watts: a job gets the dynamic energy of its cores and its share of the static power of its nodes, which
    their busy cores share equally. Idle energy belongs to the platform. Clusters with power states: the parts are site,
    chassis, board, idle, working and startup.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs; node groups have watts, or clusters have power states.
    schedule : Schedule
        A schedule that passes ``coalloc.check`` (with the same ``power_management``).
    idle : {"always", "from-first-use"}, default "always"
        Nodes with watts. ``"always"``: idle nodes draw their idle power all the time. ``"from-first-use"``: only from
        their first job on, as in the published tables of PCBE.
    power_management : bool, default False
        Clusters with power states. True: cores, boards, chassis and sites are off at first, switch on for jobs and off
        after their grace periods. False: everything is on until the last end.
    working : {"total", "extra"}, default "total"
        Clusters with power states. ``"total"``: a core with a job draws its working power. ``"extra"``: it draws its
        idle power as well, as equation (9) of the source reads.

    Returns
    -------
    coalloc.power.meter.Energy
        ``total`` (J), ``edp`` (J s), ``parts``, and the energy by ``nodes``, ``clusters`` and ``jobs``; ``to_frame``
        returns a table.

    Raises
    ------
    CoallocError
        Watts or power states are missing, an option is for the other kind of platform, or the schedule does not fit the
        instance, starts before the origin or does not wait for a start-up.

    See Also
    --------
    coalloc.plot.power_plot : Draw the power over time.

    Notes
    -----
    docs/energy.md and docs/grid.md define both energy models. Source: PCBE, section 2; the two-level grid study,
    section 3.1.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> consumed = coalloc.energy(instance, coalloc.simulate(instance, "pcbe").schedule)
    >>> round(consumed.total, 2)
    185.99
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
    placed = [(p.job, p.start, p.end, p.nodes) for p in schedule.runs]
    _refuse_outside(placed, origin)
    return [*placed, *((run.job.id, run.start, run.end, run.nodes) for run in instance.running)], origin, end


def _by_job(held: Sequence[Holding], consumed: Sequence[JobEnergy]) -> dict[str, JobEnergy]:
    """Return the energy of each job, by id; that of its interrupted runs is part of it."""
    found: dict[str, JobEnergy] = {}
    for (job, *_), energy in zip(held, consumed, strict=True):
        before = found.get(job)
        found[job] = JobEnergy(before.dynamic + energy.dynamic, before.static + energy.static) if before else energy
    return found


def _refuse_outside(placed: Sequence[Holding], origin: float) -> None:
    """Raise where a job occupies time before the origin, or ends before it starts."""
    earliest = origin - time_tolerance(origin)
    for job, start, end, _ in placed:
        if start < earliest or end < start:
            raise CoallocError(
                f"the schedule places job {quoted(job)} from {start:.12g} s to {end:.12g} s, but the energy model "
                "starts "
                f"at {origin:.12g} s; `coalloc check` lists all violations"
            )


def _has_sites(instance: Instance, idle: Idle, power_management: bool, working: Working) -> bool:
    """Return whether power states are what is metered; raises where they lack, or options are for the other kind."""
    instance.refuse_shared_nodes("the energy model")
    require_metered(instance.platform, power_management)
    has_sites = has_power_states(instance.platform)
    if has_sites and idle != "always":
        raise CoallocError(f"idle={idle!r} requires nodes with watts, but the clusters have power_states")
    if not has_sites and working != "total":
        raise CoallocError(f"working={working!r} requires clusters with power_states, but the nodes have watts")
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
        jobs=_by_job(held, jobs),
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
        jobs=_by_job(held, [JobEnergy(dynamic, 0.0) for dynamic in joules.tolist()]),
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
