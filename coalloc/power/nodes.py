"""Power of nodes with watts under a finished schedule, exactly.

What a node draws follows from the number of its busy cores (:mod:`coalloc.instance.power`), a step function of time.
Source: PCBE, section 2.2; errata 20 and 21.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Instance
from coalloc.instance.power import known_watts
from coalloc.instance.processor_names import ProcessorNames
from coalloc.schedule.observed import Holding, node_use

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NODE_PARTS = ("idle", "static", "dynamic")
"""Parts of the power of a node: without a busy core; the constant part with one; the part of its busy cores."""


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
class NodeDraw:
    """All that decides what the nodes draw over ``[origin, end)``, s.

    The watts and ``idle_from``, the instant (s) from which idle watts are drawn, have shape ``(num_nodes,)``.
    """

    num_jobs: int
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
        rows, steps, num_jobs = self.rows, self.steps, self.num_jobs
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


def node_draw(
    instance: Instance, holdings: Sequence[Holding], origin: float, end: float, idles_always: bool
) -> NodeDraw:
    """Return what the nodes draw over ``[origin, end)``, s; all have watts.

    A node that has had no job yet draws its idle watts if ``idles_always``, else nothing.
    """
    rows = _rows(instance, holdings, origin, end)
    platform = instance.platform
    watts = np.array([known_watts(platform.group_of(node)) for node in platform.nodes])
    idle_from = np.full(len(watts), origin if idles_always else end)
    np.minimum.at(idle_from, rows.node, rows.start)
    idle_watts, static_watts, core_watts = watts.T
    return NodeDraw(len(holdings), rows, _steps(rows), origin, end, idle_watts, static_watts, core_watts, idle_from)


def _rows(instance: Instance, held: Sequence[Holding], origin: float, end: float) -> Rows:
    """Return a row for each job and node that it uses, within ``[origin, end]``."""
    job, node, cores = _cores_per_node(instance, [nodes for *_, nodes in held])
    starts = np.clip(np.array([start for _, start, _, _ in held], dtype=np.float64), origin, end)
    ends = np.clip(np.array([until for _, _, until, _ in held], dtype=np.float64), origin, end)
    return Rows(job, node, cores, starts[job], ends[job])


def _cores_per_node(instance: Instance, nodes: Sequence[ProcessorNames]) -> tuple[Ints, Ints, Ints]:
    """Return for each list of processors and node that it has the index of the list, that of the node, the cores."""
    use = node_use(instance, nodes)
    key = use.row * len(instance.platform.nodes) + use.node
    if (np.diff(key) > 0).all():  # no node is named in parts
        return use.row, use.node, use.cores
    found, place = np.unique(key, return_inverse=True)
    cores = np.bincount(place, use.cores, len(found)).astype(np.int64)
    return found // len(instance.platform.nodes), found % len(instance.platform.nodes), cores


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
