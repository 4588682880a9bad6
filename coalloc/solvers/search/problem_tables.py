"""A problem as arrays: what the engine makes schedules of, by parallel and by serial generation alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import Handle, engine
from coalloc.instance.numbering import places_within
from coalloc.problem import Problem
from coalloc.problem.resources import LinkBandwidth, NodeMemory
from coalloc.rules.serial_sgs import FILLING_RULES, Generation
from coalloc.solvers.search.constraint_tables import restrict_spreads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Members(NamedTuple):
    """The levels of all jobs, those of a job together, as arrays: which each job has first (one more at the end).

    By member: its job, its efficiency, ticks, number among the levels of the job, tasks, set of classes, and shape.
    """

    first: Ints
    job_of: Ints
    efficiency: Floats
    ticks: Floats
    level_of: Ints
    tasks: Ints
    set_of: Ints
    shape_of: Ints


@dataclass(frozen=True, slots=True)
class Tables:
    """A problem in the engine (``problem.h``), and its members: the levels of a job, the most efficient one first."""

    handle: Handle
    members: Members

    @classmethod
    def of(cls, generation: Generation, efficiencies: Sequence[Sequence[float]] | None = None) -> Tables:
        """Hand a problem over to the engine; unless efficiencies say otherwise, faster levels are more efficient."""
        problem = generation.problem
        members, sets = _members(problem, efficiencies), problem.speeds.class_sets
        fillings, orders = _fillings(generation, sets)
        place_first, place_class, _, closing, _ = fillings
        loads, (memory_class, *memories) = _loads(problem), _memories(problem)
        inside, *platform = _platform(problem, sets)
        arrivals = np.unique(np.array(problem.releases, dtype=float))
        sizes = (
            len(problem.jobs),
            len(problem.classes),
            len(members.job_of),
            len(problem.allocations.rigid_jobs),
            len(sets),
            len(FILLING_RULES),
            len(place_first) - 1,
            len(place_class),
            len(closing),
            len(problem.contended_resources),
            len(memory_class),
            len(problem.contended_links),
            len(problem.busy) + len(problem.blocks),
            len(arrivals),
        )
        firsts = members.first[:-1]
        handle: Handle = engine().problem_new(
            *sizes,
            np.array(problem.releases, dtype=float),
            np.minimum.reduceat(members.tasks, firsts) if len(firsts) else np.empty(0, np.int64),
            arrivals,
            *members,
            orders,
            *fillings,
            *loads,
            memory_class,
            *memories,
            inside,
            *platform,
        )
        restrict_spreads(handle, problem)
        return cls(handle, members)


def _members(problem: Problem, efficiencies: Sequence[Sequence[float]] | None) -> Members:
    """Return the members of a problem, from the efficiencies of the levels of each job."""
    first, job_of, ticks, tasks, set_of = problem.speeds.columns
    number = places_within(np.diff(first))
    given = None if efficiencies is None else chain.from_iterable(efficiencies)
    efficiency = -number.astype(float) if given is None else np.fromiter(given, float, len(number))
    ranked = np.lexsort((number, -efficiency, job_of))
    return Members(
        first,
        job_of,
        efficiency[ranked],
        ticks[ranked],
        number[ranked],
        tasks[ranked],
        set_of[ranked],
        _shapes_of(problem, job_of, tasks[ranked]),
    )


def _shapes_of(problem: Problem, job_of: Ints, tasks: Ints) -> Ints:
    """Return the shape of each member: all are numbered job by job."""
    if not problem.allocations.is_moldable:
        return job_of.copy()
    in_order = ((j, shape.tasks) for j, job in enumerate(problem.jobs) for shape in problem.allocations.shapes(job))
    shapes = {key: number for number, key in enumerate(in_order)}
    return np.array([shapes[key] for key in zip(job_of.tolist(), tasks.tolist(), strict=True)], dtype=np.int64)


def _fillings(generation: Generation, sets: Sequence[tuple[int, ...]]) -> tuple[tuple[Any, ...], Ints]:
    """Return the places and closings of all orders, the classes of what is shared, and the first order.

    The orders of a rule and a set end where those of the next set begin.
    """
    problem = generation.problem
    memories = problem.contended_memories
    shared = {i: problem.resources[k].classes for i, k in enumerate(problem.contended_resources) if k not in memories}
    orders: list[Sequence[int]] = []
    first = np.zeros((len(FILLING_RULES), len(sets) + 1), dtype=np.int64)
    for rule in range(len(FILLING_RULES)):
        for number, classes in enumerate(sets):
            first[rule, number] = len(orders)
            orders += generation.orders(rule, classes)
        first[rule, -1] = len(orders)
    closing = [closed for order in orders for closed in _closed(order, shared)]
    below = np.array(
        [[g in problem.resources[k].classes for g in range(len(problem.classes))] for k in problem.contended_resources],
        dtype=np.uint8,
    ).reshape(-1, len(problem.classes))
    fillings = (
        np.cumsum([0, *map(len, orders)]),
        np.array(list(chain.from_iterable(orders)), dtype=np.int64),
        np.cumsum([0, *map(len, closing)]),
        np.array(list(chain.from_iterable(closing)), dtype=np.int64),
        below,
    )
    return fillings, first


def _closed(order: Sequence[int], shared: Mapping[int, tuple[int, ...]]) -> list[list[int]]:
    """Return for each place of an order the resources, by place among the contended, whose last class is there."""
    closed: list[list[int]] = [[] for _ in order]
    for k, below in shared.items():
        places = [i for i, g in enumerate(order) if g in below]
        if places:
            closed[places[-1]].append(k)
    return closed


def _loads(problem: Problem) -> tuple[Ints, Floats, Floats]:
    """Return the tasks of each shape, and what it asks of each contended resource for being there, and for each task.

    Of a link that is its bandwidth for each task.
    """
    shapes, asked = problem.allocations.rigid_jobs, [problem.resources[k] for k in problem.contended_resources]
    part, task_part = (np.zeros((len(shapes), len(asked))) for _ in range(2))
    for i, resource in enumerate(asked):
        match resource:
            case LinkBandwidth():
                task_part[:, i] = [shape.task_bandwidth for shape in shapes]
            case NodeMemory():
                task_part[:, i] = [shape.memory or 0.0 for shape in shapes]
            case _:
                parts = np.array([resource.parts(shape) for shape in shapes], dtype=float).reshape(-1, 2)
                part[:, i], task_part[:, i] = parts.T
    return np.array([shape.tasks for shape in shapes], dtype=np.int64), part, task_part


def _memories(problem: Problem) -> tuple[Any, ...]:
    """Return the class of each contended memory, MB of a task of each shape, and rooms.

    Those are how many tasks of each shape a class takes by what constraints say.
    """
    allocations = problem.allocations
    rooms = np.tile(np.array(problem.capacities, dtype=np.int64), (len(allocations.rigid_jobs), 1))
    counted = (job for job in problem.jobs for _ in allocations.shapes(job))
    for row, job in enumerate(counted if problem.declared.counts_tasks else ()):
        if allocations.is_counted(job):
            rooms[row] = allocations.rooms(job)
    return (
        np.array([problem.resources[k].classes[0] for k in problem.contended_memories], dtype=np.int64),
        np.array([shape.memory or 0.0 for shape in allocations.rigid_jobs], dtype=float),
        rooms,
    )


def _platform(problem: Problem, sets: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    """Return the classes of each set, ticks of each shape by its slowest class, limits, what is held, capacities.

    What is held, by jobs that run already and in windows, are processors, loads, starts and ends.
    """
    num_classes, held = len(problem.classes), (*problem.busy, *problem.blocks)
    return (
        np.array([[g in classes for g in range(num_classes)] for classes in sets], dtype=np.uint8),
        problem.allocations.ticks_table,
        np.array([problem.allocations.limits[k] for k in problem.contended_resources], dtype=float),
        np.array([busy.allocation for busy in held], dtype=np.int64).reshape(-1, num_classes),
        np.array([[busy.loads[k] for k in problem.contended_resources] for busy in held], dtype=float).reshape(
            len(held), len(problem.contended_resources)
        ),
        np.array([busy.start for busy in held], dtype=float),
        np.array([busy.end for busy in held], dtype=float),
        np.array(problem.capacities, dtype=np.int64),
    )
