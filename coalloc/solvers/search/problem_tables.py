"""A problem as arrays: what the engine makes schedules of, by parallel and by serial generation alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import Handle, engine
from coalloc.problem import Problem
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
    def of(cls, generation: Generation, efficiencies: Sequence[Sequence[float]]) -> Tables:
        """Hand a problem over to the engine."""
        problem = generation.problem
        sets = {classes: number for number, classes in enumerate(sorted(problem.speeds.class_sets))}
        in_order = ((j, shape.tasks) for j, job in enumerate(problem.jobs) for shape in problem.allocations.shapes(job))
        shapes = {key: number for number, key in enumerate(in_order)}
        members = _members(problem, efficiencies, sets, shapes)
        fillings, orders = _fillings(generation, list(sets))
        place_first, place_class, _, closing, _ = fillings
        offsets, entries = _loads(problem)
        memory_class, *memories = _memories(problem)
        inside, *platform = _platform(problem, list(sets))
        arrivals = np.unique(np.array(problem.releases, dtype=float))
        sizes = (
            len(problem.jobs),
            len(problem.classes),
            len(members.job_of),
            len(shapes),
            len(sets),
            len(orders),
            len(place_first) - 1,
            len(place_class),
            len(closing),
            len(problem.contended_resources),
            len(memory_class),
            len(problem.contended_links),
            len(entries),
            len(problem.busy) + len(problem.blocks),
            len(arrivals),
        )
        least_tasks = np.array([min(level.tasks for level in levels) for levels in problem.levels])
        handle: Handle = engine().problem_new(
            *sizes,
            np.array(problem.releases, dtype=float),
            least_tasks,
            arrivals,
            *members,
            orders,
            *fillings,
            offsets,
            entries,
            memory_class,
            *memories,
            inside,
            *platform,
        )
        restrict_spreads(handle, problem)
        return cls(handle, members)


def _members(
    problem: Problem,
    efficiencies: Sequence[Sequence[float]],
    sets: dict[tuple[int, ...], int],
    shapes: dict[tuple[int, int], int],
) -> Members:
    """Return the members of a problem, from the efficiencies of the levels of each job."""
    ranked = [
        (j, efficiency, number, levels[number])
        for j, (of_job, levels) in enumerate(zip(efficiencies, problem.levels, strict=True))
        for efficiency, number in sorted(((e, n) for n, e in enumerate(of_job)), key=lambda pair: (-pair[0], pair[1]))
    ]
    return Members(
        np.cumsum([0, *map(len, problem.levels)]),
        np.array([j for j, _, _, _ in ranked]),
        np.array([efficiency for _, efficiency, _, _ in ranked], dtype=float),
        np.array([level.duration for _, _, _, level in ranked], dtype=float),
        np.array([number for _, _, number, _ in ranked]),
        np.array([level.tasks for _, _, _, level in ranked]),
        np.array([sets[level.classes] for _, _, _, level in ranked]),
        np.array([shapes[j, level.tasks] for j, _, _, level in ranked]),
    )


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


def _loads(problem: Problem) -> tuple[Ints, Floats]:
    """Return where the loads of each shape on each contended resource begin, and all of them: equal ones once."""
    shapes = [shape for job in problem.jobs for shape in problem.allocations.shapes(job)]
    tables = [[problem.allocations.load_table(shape, k) for k in problem.contended_resources] for shape in shapes]
    different = {id(table): table for of_shape in tables for table in of_shape}
    firsts = dict(zip(different, np.cumsum([0, *map(len, different.values())]).tolist(), strict=False))
    offsets = np.array([[firsts[id(table)] for table in of_shape] for of_shape in tables], dtype=np.int64)
    return offsets.reshape(len(shapes), len(problem.contended_resources)), np.array(
        list(chain.from_iterable(different.values())), dtype=float
    )


def _memories(problem: Problem) -> tuple[Any, ...]:
    """Return the class of each contended memory, MB of a task of each shape, and rooms.

    Those are how many tasks of each shape a class takes by what constraints say.
    """
    return (
        np.array([problem.resources[k].classes[0] for k in problem.contended_memories], dtype=np.int64),
        np.array([shape.memory or 0.0 for job in problem.jobs for shape in problem.allocations.shapes(job)]),
        np.array(
            [
                problem.allocations.rooms(job) if problem.allocations.is_counted(job) else problem.capacities
                for job in problem.jobs
                for _ in problem.allocations.shapes(job)
            ],
            dtype=np.int64,
        ),
    )


def _platform(problem: Problem, sets: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    """Return the classes of each set, ticks of each shape by its slowest class, limits, what is held, capacities.

    What is held, by jobs that run already and in windows, are processors, loads, starts and ends.
    """
    num_classes, held = len(problem.classes), (*problem.busy, *problem.blocks)
    return (
        np.array([[g in classes for g in range(num_classes)] for classes in sets], dtype=np.uint8),
        np.array(
            [
                problem.allocations.class_ticks(shape)
                for job in problem.jobs
                for shape in problem.allocations.shapes(job)
            ],
            dtype=float,
        ),
        np.array([problem.allocations.limits[k] for k in problem.contended_resources], dtype=float),
        np.array([busy.allocation for busy in held], dtype=np.int64).reshape(-1, num_classes),
        np.array([[busy.loads[k] for k in problem.contended_resources] for busy in held], dtype=float).reshape(
            len(held), len(problem.contended_resources)
        ),
        np.array([busy.start for busy in held], dtype=float),
        np.array([busy.end for busy in held], dtype=float),
        np.array(problem.capacities, dtype=np.int64),
    )
