"""Costs of the energy models: joules of a mode, watts of a node that has a busy core, idle watts.

Energy of a schedule that ends at makespan C (:mod:`coalloc.power.meter`, idle always) is

    sum of the joules of the modes + sum over switched classes of extra watts * busy seconds + idle watts * C

and what the jobs that run already draw (:mod:`coalloc.models.energy_running`).

A class is *switched* where its node has several cores: its static watts, less the idle watts that it does not draw
then, count once while any core is busy. A node of one core is busy exactly while a task is on it, so there the
same watts belong to the task. Equations: (J1) to (J8) of docs/mathematics/energy.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError
from coalloc.instance.power import known_watts, require_watts
from coalloc.problem import Mode, Problem
from coalloc.problem.allocation import Allocation

SIZE = 64.0
"""Size of the last instant in the units of a model, within a factor of the square root of 2."""


@dataclass(frozen=True, slots=True)
class ClassWatts:
    """Watts of a problem's classes: of a task on each, shape ``(num_classes,)``; extra ones of each switched class.

    ``idle`` is what all nodes together draw without a busy core, W; ``tick`` is that of the problem, s.
    """

    task_watts: tuple[float, ...]
    extra_watts: dict[int, float]
    idle: float
    tick: float

    def joules(self, mode: Mode) -> float:
        """Return what a mode takes by itself, J: (J2)."""
        return self.tick * mode.duration * self.watts(mode.allocation)

    def watts(self, allocation: Allocation) -> float:
        """Return what the tasks of an allocation draw beyond idle watts, but for extra watts of their classes, W."""
        return sum(tasks * watts for tasks, watts in zip(allocation, self.task_watts, strict=True))


def costs_of(problem: Problem) -> ClassWatts:
    """Return the costs of a problem whose classes are switched ones.

    Raises :class:`CoallocError` where watts are missing, or where a node of several cores draws less with a busy
    core than without: then least energy would keep nodes busy for nothing.
    """
    platform = problem.instance.platform
    require_watts(platform)
    task_watts, extra = [], {}
    for g, node_class in enumerate(problem.classes):
        idle, static, core = known_watts(node_class.group)
        is_switched = node_class.group.cores > 1
        if is_switched and static < idle:
            raise CoallocError(
                "minimum energy requires static_watts >= idle_watts on nodes with several cores, but cluster "
                f"{quoted(platform.clusters[node_class.cluster].name)} has {static:g} W and {idle:g} W"
            )
        task_watts.append(core if is_switched else core + static - idle)
        if is_switched:
            extra[g] = static - idle
    idle_watts = sum(known_watts(platform.group_of(node))[0] for node in platform.nodes)
    return ClassWatts(tuple(task_watts), extra, idle_watts, problem.clock.seconds(1))


def equal_pairs(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield switched classes (by index) that are equal nodes, each with the one before it.

    A node on which jobs run already is equal to no other. With scope ``node`` it does not matter in which cluster
    a node is.
    """
    last: dict[object, int] = {}
    for g, node_class in enumerate(problem.classes):
        is_free = not any(busy.allocation[g] for busy in problem.busy)
        if is_free and (node_class.group.cores > 1 or problem.scope == "node"):
            key = node_class.group.replace(count=1), -1 if problem.scope == "node" else node_class.cluster
            if key in last:
                yield last[key], g
            last[key] = g


def unit_of(horizon: float) -> float:
    """Return the unit of time of a model, s: a power of 2 that makes times up to ``horizon`` of the size of ``SIZE``.

    Solvers keep rows to an absolute 1e-6. Division by a power of 2 is exact.
    """
    return 2.0 ** round(math.log2(horizon / SIZE)) if horizon > 0.0 else 1.0
