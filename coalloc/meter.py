"""The energy meter: joules of a finished schedule, integrated exactly.

What a node draws is a step function of time, continuous from the right: :mod:`coalloc.instance.power` says
how it follows from the number of busy cores. It is integrated from the origin (the earliest arrival, or 0
where jobs run already) to the latest end. Source: PCBE, section 2.2; errata 20 and 21.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coalloc.display.html import lines_table
from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import known_watts, require_watts
from coalloc.instance.rounding import time_tolerance
from coalloc.observed import ROWS_AT_ONCE, placed_jobs, processor_indices
from coalloc.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Idle = Literal["always", "from-first-use"]
Part = Literal["node", "cluster", "job"]

PARTS = ("idle", "static", "dynamic")
"""What a node draws: without a busy core; with one, whatever it does; for its busy cores."""

Holding = tuple[str, float, float, Sequence[str]]
"""A job by id, its start and end in s, and the names of the processors that it holds."""


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

    ``nodes`` (by name) and ``jobs`` (by id, with those that run already) say who consumed what; ``clusters``
    has joules by name. The nodes add up to ``total``, so do the clusters, and so do the jobs together with
    ``idle``, which is the platform's. ``makespan`` is in s, ``work`` in processor-seconds of the reference node.
    """

    nodes: Mapping[str, NodeEnergy]
    clusters: Mapping[str, float]
    jobs: Mapping[str, JobEnergy]
    makespan: float
    work: float

    @property
    def total(self) -> float:
        """Energy of the platform, J."""
        return self.dynamic + self.static + self.idle

    @property
    def dynamic(self) -> float:
        """Energy of busy cores, beyond the static watts of their nodes, J."""
        return sum(node.dynamic for node in self.nodes.values())

    @property
    def static(self) -> float:
        """Energy of the static watts of nodes with a busy core, J."""
        return sum(node.static for node in self.nodes.values())

    @property
    def idle(self) -> float:
        """Energy of nodes without a busy core, J."""
        return sum(node.idle for node in self.nodes.values())

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
            columns, rows = ["cluster", "total"], list(self.clusters.items())
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
        parts = f"dynamic {self.dynamic:.6g}, static {self.static:.6g}, idle {self.idle:.6g}"
        return [
            ("energy", f"{self.total:.6g} J: {parts}"),
            ("makespan", f"{self.makespan:.12g} s"),
            ("EDP", f"{self.edp:.6g} J s, ED2P {self.ed2p:.6g} J s^2"),
            ("work", f"{self.work_per_joule:.6g} processor-seconds of the reference node per J"),
        ]


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """What a platform draws over time: ``watts[p, i]``, W, from ``instants[i]`` to ``instants[i + 1]``, s.

    ``watts`` has shape ``(3, num_instants - 1)``: the parts are those of :data:`PARTS`.
    """

    instants: Floats
    watts: Floats

    @property
    def total(self) -> Floats:
        """All parts together, W, shape ``(num_instants - 1,)``."""
        return np.asarray(self.watts.sum(axis=0), dtype=np.float64)

    @property
    def joules(self) -> float:
        """Integral of all of it, J."""
        return float(self.total @ np.diff(self.instants))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: start, end (s), idle, static, dynamic and total (W)."""
        import pandas as pd

        columns = {"start": self.instants[:-1], "end": self.instants[1:]}
        return pd.DataFrame(columns | dict(zip(PARTS, self.watts, strict=True)) | {"total": self.total})


# ------------------------------------------------------------------------------ metering


@public
def energy(instance: Instance, schedule: Schedule, idle: Idle = "always") -> Energy:
    """Return the energy that a schedule takes, from the earliest arrival (0 where jobs run already) to its last end.

    Each job gets the dynamic energy of its cores, and at every instant its part of the static watts of
    its nodes, which their busy cores share equally. Idle energy is the platform's.

    Parameters
    ----------
    schedule
        One that passes ``check``; the figures of another mean nothing.
    idle
        ``"always"``: a node without a busy core draws its idle watts, all the time. ``"from-first-use"``: it
        draws nothing before its first job, and never if it has none, as in the published tables of PCBE.

    Raises
    ------
    CoallocError
        If node groups have no watts (each is named); if the schedule names jobs or processors that are not
        in the instance, or occupies time before the origin.
    """
    draw = draw_of(instance, schedule, idle)
    platform = instance.platform
    nodes = [NodeEnergy(*row) for row in zip(*(c.tolist() for c in draw.joules_of_nodes()), strict=True)]
    jobs = [JobEnergy(*row) for row in zip(*(c.tolist() for c in draw.joules_of_jobs()), strict=True)]
    clusters = dict.fromkeys((cluster.name for cluster in platform.clusters), 0.0)
    for node, consumed in zip(platform.nodes, nodes, strict=True):
        clusters[platform.clusters[node.cluster].name] += consumed.total
    return Energy(
        nodes={node.name: consumed for node, consumed in zip(platform.nodes, nodes, strict=True)},
        clusters=clusters,
        jobs=dict(zip(draw.ids, jobs, strict=True)),
        makespan=draw.end - draw.origin,
        work=_work(instance, schedule),
    )


@public
def power_curve(instance: Instance, schedule: Schedule, idle: Idle = "always") -> PowerCurve:
    """Return what a platform draws over time; its integral is the energy. Arguments and errors as :func:`energy`."""
    draw = draw_of(instance, schedule, idle)
    instants, index = np.unique(np.concatenate([[draw.origin, draw.end], draw.steps.time]), return_inverse=True)
    changes = np.array([_summed(index[2:], change, len(instants)) for change in draw.changes()])
    changes[0, 0] += draw.watts_at_origin().sum()
    return PowerCurve(instants, np.cumsum(changes, axis=1, dtype=np.float64)[:, :-1])


def _work(instance: Instance, schedule: Schedule) -> float:
    """Return the work of the completed jobs, processor-seconds of the reference node."""
    jobs = zip(placed_jobs(instance, schedule), schedule.placements, strict=True)
    return sum(job.tasks * job.base_time for job, placement in jobs if placement.outcome == "completed")


# ------------------------------------------------------------------------------ what nodes draw


@dataclass(frozen=True, slots=True)
class Rows:
    """One row per job and node that it uses: indices of both, the busy cores, from when and until when, s."""

    job: Ints
    node: Ints
    cores: Ints
    start: Floats
    end: Floats

    @property
    def core_seconds(self) -> Floats:
        """Busy cores times seconds of each row."""
        return self.cores * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Steps:
    """The starts and ends of rows, by node and time.

    At step k, ``time[k]`` s, ``node[k]`` has ``busy[k]`` busy cores, and that for ``length[k]`` s, until its
    next step. Row i starts at step ``start[i]`` and ends at step ``end[i]``.
    """

    node: Ints
    time: Floats
    busy: Ints
    length: Floats
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Draw:
    """All that decides what the nodes draw over ``[origin, end)``, s.

    ``ids`` are those of the jobs; the watts and ``idle_from``, the instant (s) from which idle watts are drawn,
    have shape ``(num_nodes,)``.
    """

    ids: Sequence[str]
    rows: Rows
    steps: Steps
    origin: float
    end: float
    idle_watts: Floats
    static_watts: Floats
    core_watts: Floats
    idle_from: Floats

    def joules_of_nodes(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return dynamic, static and idle joules and the busy seconds of each node, shape ``(num_nodes,)`` each."""
        rows, steps, num_nodes = self.rows, self.steps, len(self.idle_watts)
        core_seconds = _summed(rows.node, rows.core_seconds, num_nodes)
        busy = _summed(steps.node, np.where(steps.busy > 0, steps.length, 0.0), num_nodes)
        idle = np.maximum(0.0, self.end - self.idle_from - busy)
        return core_seconds * self.core_watts, busy * self.static_watts, idle * self.idle_watts, busy

    def joules_of_jobs(self) -> tuple[Floats, Floats]:
        """Return dynamic and static joules of each job, shape ``(num_jobs,)`` each."""
        rows, steps, num_jobs = self.rows, self.steps, len(self.ids)
        shares = np.divide(steps.length, steps.busy, out=np.zeros(len(steps.length)), where=steps.busy > 0)
        until = np.cumsum(np.append(0.0, shares), dtype=np.longdouble)  # differences of it must keep their digits
        per_core = (until[steps.end] - until[steps.start]).astype(np.float64)
        dynamic = rows.core_seconds * self.core_watts[rows.node]
        static = rows.cores * per_core * self.static_watts[rows.node]
        return _summed(rows.job, dynamic, num_jobs), _summed(rows.job, static, num_jobs)

    def changes(self) -> Floats:
        """Return by how much each step changes the parts of what its node draws, W, shape ``(3, num_steps)``."""
        node, busy = self.steps.node, self.steps.busy
        is_busy = busy > 0
        idle = np.where(is_busy, 0.0, self.idle_watts[node])
        after = np.array([idle, is_busy * self.static_watts[node], busy * self.core_watts[node]])
        before = np.roll(after, 1, axis=1)
        is_first = np.append(True, node[1:] != node[:-1])[: len(node)]
        before[:, is_first] = 0.0
        before[0, is_first] = self.watts_at_origin()[node[is_first]]
        return np.asarray(after - before, dtype=np.float64)

    def watts_at_origin(self) -> Floats:
        """Return what each node draws at the origin before anything starts, W, shape ``(num_nodes,)``."""
        return np.where(self.idle_from <= self.origin, self.idle_watts, 0.0)


def draw_of(instance: Instance, schedule: Schedule, idle: Idle) -> Draw:
    """Return what the nodes draw under a schedule; raises as :func:`energy` does."""
    instance.refuse_shared_nodes("the meter")
    require_watts(instance.platform)
    origin, end = instance.origin, max((p.end for p in schedule.placements), default=instance.origin)
    placed = [(p.job, p.start, p.end, p.nodes) for p in schedule.placements]
    _refuse_outside(placed, origin)
    held = [*placed, *((run.job.id, 0.0, run.end, run.nodes) for run in instance.running)]
    rows = _rows(instance, held, origin, end)
    platform = instance.platform
    watts = np.array([known_watts(platform.group_of(node)) for node in platform.nodes])
    idle_from = np.full(len(watts), origin if idle == "always" else end)
    np.minimum.at(idle_from, rows.node, rows.start)
    idle_watts, static_watts, core_watts = watts.T
    ids = [job for job, *_ in held]
    return Draw(ids, rows, _steps(rows), origin, end, idle_watts, static_watts, core_watts, idle_from)


def _refuse_outside(placed: Sequence[Holding], origin: float) -> None:
    """Raise where a job occupies time before the origin, or ends before it starts."""
    earliest = origin - time_tolerance(origin)
    for job, start, end, _ in placed:
        if start < earliest or end < start:
            raise CoallocError(
                f"the schedule places {quoted(job)} from {start:.12g} s to {end:.12g} s, and the meter runs from "
                f"{origin:.12g} s on; `coalloc check` lists all that is wrong with it"
            )


def _rows(instance: Instance, held: Sequence[Holding], origin: float, end: float) -> Rows:
    """Return a row for each job and node that it uses, within ``[origin, end]``."""
    job, node, cores = _cores_per_node(instance, [nodes for *_, nodes in held])
    starts = np.clip(np.array([start for _, start, _, _ in held], dtype=np.float64), origin, end)
    ends = np.clip(np.array([until for _, _, until, _ in held], dtype=np.float64), origin, end)
    return Rows(job, node, cores, starts[job], ends[job])


def _cores_per_node(instance: Instance, nodes: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Ints]:
    """Return for each list of processors and node that it has the index of the list, that of the node, the cores."""
    of_processor = np.array(instance.platform.processor_node, dtype=np.int64)
    num_nodes = len(instance.platform.nodes)
    keys, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first in range(0, len(nodes), ROWS_AT_ONCE):
        names = nodes[first : first + ROWS_AT_ONCE]
        processors = np.array(processor_indices(instance, itertools.chain.from_iterable(names)), dtype=np.int64)
        row = first + np.repeat(np.arange(len(names)), [len(row) for row in names])
        found, cores = np.unique(row * num_nodes + of_processor[processors], return_counts=True)
        keys.append(found)
        counts.append(cores)
    key = np.concatenate(keys)
    return key // num_nodes, key % num_nodes, np.concatenate(counts)


def _summed(place: Ints, amounts: Floats, size: int) -> Floats:
    """Return the sum of the amounts at each place, shape ``(size,)``."""
    return np.asarray(np.bincount(place, amounts, size), dtype=np.float64)


def _steps(rows: Rows) -> Steps:
    """Return the steps of busy cores that rows make."""
    node, time = np.tile(rows.node, 2), np.concatenate([rows.start, rows.end])
    order = np.lexsort((time, node))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    node, time = node[order], time[order]
    busy = np.cumsum(np.concatenate([rows.cores, -rows.cores])[order])  # the steps of each node add up to 0
    is_last = np.append(node[1:] != node[:-1], True)[: len(node)]
    length = np.where(is_last, 0.0, np.append(time[1:], 0.0)[: len(time)] - time)
    start, end = np.split(position, 2)
    return Steps(node, time, busy, length, start, end)
