"""Least watts while a core is busy, and the watts that flow in any case: the rates of the energy relaxation.

Nodes with watts: (L4), (L5). Clusters with power states: (L6) to (L8). Equations and why they hold:
docs/mathematics/energy-bounds.md, "Energy relaxation".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coalloc.instance import Cluster
from coalloc.instance.power import known_power_states, known_watts, require_power_states, require_watts
from coalloc.instance.power_states import PowerStates
from coalloc.power.sites import Working
from coalloc.problem import Problem
from coalloc.problem.allocation import NodeClass


@dataclass(frozen=True, slots=True)
class Rates:
    """Least draws of a platform, W: ``task``, shape ``(num_classes,)``, by a busy core; ``idle`` all the time."""

    task: tuple[float, ...]
    idle: float


# ------------------------------------------------------------------------------ nodes with watts


def node_rates(problem: Problem) -> Rates:
    """Return the rates of a platform whose nodes have watts; raises where some have not."""
    require_watts(problem.instance.platform)
    idle = sum(c.capacity // c.group.cores * idle_watts(c) for c in problem.classes)
    return Rates(tuple(task_watts(c) for c in problem.classes), idle)


def idle_watts(node_class: NodeClass) -> float:
    """Return (L5): what a node draws at least, W."""
    idle, static, core = known_watts(node_class.group)
    return min(idle, static + core)


def task_watts(node_class: NodeClass) -> float:
    """Return (L4): what a busy core adds at least to a node's least draw, W."""
    _, static, core = known_watts(node_class.group)
    extra = static - idle_watts(node_class)
    return core + (extra / node_class.group.cores if extra >= 0.0 else extra)


# ------------------------------------------------------------------------------ clusters with power states


def switched_rates(problem: Problem, working: Working) -> Rates:
    """Return the rates of clusters that switch off what is not needed; raises where one has no power states."""
    of_cluster = [
        _working_watts(states, working) + shared_watts(states, cluster.num_processors)
        for cluster, states in _sites(problem)
    ]
    return Rates(tuple(of_cluster[c.cluster] for c in problem.classes), 0.0)


def always_on_rates(problem: Problem, working: Working) -> Rates:
    """Return the rates of clusters of which everything is on all the time; raises where one has no power states."""
    extra, idle = [], 0.0
    for cluster, states in _sites(problem):
        busy = _working_watts(states, working)
        saved = max(0.0, states.core_idle_watts - busy)  # (L8): work may be what a core draws least for
        extra.append(busy - states.core_idle_watts + saved)
        idle += states.idle_draw(cluster.num_processors) - cluster.num_processors * saved
    return Rates(tuple(extra[c.cluster] for c in problem.classes), idle)


def shared_watts(states: PowerStates, processors: int) -> float:
    """Return (L7): what a busy core has at least of the watts of its board, its chassis and its site of so many, W."""
    return (
        states.board_watts / min(states.cores, processors)
        + states.chassis_watts / min(states.boards * states.cores, processors)
        + states.site_watts / processors
    )


def _working_watts(states: PowerStates, working: Working) -> float:
    """Return what a core draws while it works, W."""
    return states.core_working_watts + (states.core_idle_watts if working == "extra" else 0.0)


def _sites(problem: Problem) -> Iterator[tuple[Cluster, PowerStates]]:
    platform = problem.instance.platform
    require_power_states(platform)
    return ((cluster, known_power_states(cluster)) for cluster in platform.clusters)
