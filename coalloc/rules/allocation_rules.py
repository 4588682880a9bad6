"""An allocation rule spreads the tasks of one job over free processors.

It ranks the node classes and fills them in that order, each as far as it is free, until all tasks are placed. Of a
class, the free processors with the lowest numbers are taken. Only processors that the job can use count as free. Where
a cluster has too little of a resource for all of them, the classes that the rule ranks first within the cluster receive
it. Rules ignore links. Ties keep the order of the platform. For a job with run times by node feature, the speed of a
class is that of the job there: the reference run time over its time on the class; so it is for MESD and PCBE.

With scope ``cluster`` or ``node`` the rule is applied to each cluster, or node, alone. The job gets the one on which
its slowest processor is fastest; of equal ones the first in the order of the rule.

The sources do not say how the classic policies choose nodes (errata 11 and 12); ``first-fit`` is what Figure 3.33 of
the thesis suggests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Any, Literal

from coalloc.instance import Job
from coalloc.problem.allocation import Allocation, NodeClass, Scope
from coalloc.problem.execution import dedicated_time, execution_time
from coalloc.rules.capacity_vectors import CapacityVectors, Order

Choose = Callable[[Job, Sequence[int]], Allocation | None]
"""A job and free processors per class, shape ``(num_classes,)``: the allocation, None where it does not fit."""
KNOWN_JOBS = 10_000
"""Jobs that name times of which it is remembered what each class is to them."""
Rank = Callable[[Sequence[NodeClass], Sequence[int]], Sequence[Any]]
"""Classes, and what is free on each, to a sort key per class: the least is filled first."""


def first_fit(classes: Sequence[NodeClass], _: Sequence[int]) -> Sequence[int]:
    """Classes in the order of the platform."""
    return range(len(classes))


def fastest_first(classes: Sequence[NodeClass], _: Sequence[int]) -> list[float]:
    """Classes by effective speed, the fastest first."""
    return [-node_class.effective_power for node_class in classes]


def best_processing(classes: Sequence[NodeClass], free: Sequence[int]) -> list[tuple[float, int]]:
    """Classes by effective speed, the fastest first; of equal ones the most free first, as JPR prefers them."""
    return [(-node_class.effective_power, -count) for node_class, count in zip(classes, free, strict=True)]


def fewest_clusters(classes: Sequence[NodeClass], free: Sequence[int]) -> list[tuple[int, int, float]]:
    """Clusters with most free processors first, for large chunks, as CBS prefers; their fastest classes first."""
    room: dict[int, int] = {}
    for node_class, count in zip(classes, free, strict=True):
        room[node_class.cluster] = room.get(node_class.cluster, 0) + count
    return [(-room[c.cluster], c.cluster, -c.effective_power) for c in classes]


RuleName = Literal["fastest-first", "fewest-clusters", "best-processing", "first-fit"]

ALLOCATION_RULES: Mapping[RuleName, Rank] = {
    "fastest-first": fastest_first,
    "fewest-clusters": fewest_clusters,
    "best-processing": best_processing,
    "first-fit": first_fit,
}
"""Rankings of classes, by name of the rule."""
FIXED_RULES: frozenset[RuleName] = frozenset({"fastest-first", "first-fit"})
"""The rules that rank classes whatever is free."""


@dataclass(frozen=True, slots=True)
class Allocator:
    """A rule made for the classes of a platform: where a job may go, and how long it is expected to run there.

    ``choose(job, room)`` returns what the job takes of a room, processors of each class first, or None;
    ``time(job, counts)`` the job's execution time there if no link saturates, and ``least_time(job)`` that on the
    fastest class, s. A room also has memory and resources (:mod:`coalloc.rules.capacity_vectors`).
    """

    choose: Choose
    time: Callable[[Job, Sequence[int]], float]
    least_time: Callable[[Job], float]


def allocator(
    name: RuleName,
    classes: Sequence[NodeClass],
    scope: Scope = "platform",
    vectors: CapacityVectors | None = None,
    *,
    is_timed: bool = False,
) -> Allocator:
    """Return a named rule for these classes and this scope; see :func:`allocation_rule`.

    Where jobs may name times (``is_timed``) each ranks the classes by its own speeds there.
    """
    slowness = [1.0 / node_class.effective_power for node_class in classes]
    fastest = min(slowness)

    def least_time(job: Job) -> float:
        return execution_time(job, fastest)

    def time_anywhere(job: Job, _: Sequence[int]) -> float:
        return execution_time(job, fastest)

    def time(job: Job, counts: Sequence[int]) -> float:
        return execution_time(job, max(compress(slowness, counts)))

    is_uniform = fastest == max(slowness)
    found = Allocator(allocation_rule(name, classes, scope), time_anywhere if is_uniform else time, least_time)
    if is_timed:
        found = _by_named_times(found, name, classes, scope)
    if vectors is not None and not vectors.leave_all:
        order = filling_order(name, classes, is_timed=is_timed)
        found = replace(found, choose=_where_usable(found.choose, vectors, order))
    return found


def filling_order(name: RuleName, classes: Sequence[NodeClass], *, is_timed: bool = False) -> Order:
    """Return in which order a named rule fills these classes: for jobs that name times by their own speeds there."""
    plain = _ranked(name, classes)
    if not is_timed:
        return lambda _, free: plain(free)

    @lru_cache(KNOWN_JOBS)
    def known(job: Job) -> Callable[[Sequence[int]], list[int]]:
        return _ranked(name, classes_seen_by(job, classes))

    return lambda job, free: known(job)(free) if job.times else plain(free)


def _ranked(name: RuleName, classes: Sequence[NodeClass]) -> Callable[[Sequence[int]], list[int]]:
    """Return a function of free processors (per class) to the classes by their rank."""
    rank = ALLOCATION_RULES[name]

    def ranked(free: Sequence[int]) -> list[int]:
        return sorted(range(len(classes)), key=rank(classes, free).__getitem__)

    if name in FIXED_RULES:
        order = fixed_order(name, classes)
        return lambda _: order
    return ranked


def fixed_order(name: RuleName, classes: Sequence[NodeClass]) -> list[int]:
    """Return the classes by their rank, which does not depend on what is free."""
    return sorted(range(len(classes)), key=ALLOCATION_RULES[name](classes, ()).__getitem__)


def _by_named_times(plain: Allocator, name: RuleName, classes: Sequence[NodeClass], scope: Scope) -> Allocator:
    """Return an allocator that goes by the times that jobs name, and is another for jobs that name none."""

    @lru_cache(KNOWN_JOBS)
    def known(job: Job) -> tuple[Choose, Sequence[float]]:
        times = [dedicated_time(job, node_class.group) for node_class in classes]
        return allocation_rule(name, classes_seen_by(job, classes), scope), times

    def choose(job: Job, free: Sequence[int]) -> Allocation | None:
        return known(job)[0](job, free) if job.times else plain.choose(job, free)

    def time(job: Job, counts: Sequence[int]) -> float:
        return max(compress(known(job)[1], counts)) if job.times else plain.time(job, counts)

    def least_time(job: Job) -> float:
        return min(known(job)[1]) if job.times else plain.least_time(job)

    return Allocator(choose, time, least_time)


def classes_seen_by(job: Job, classes: Sequence[NodeClass]) -> tuple[NodeClass, ...]:
    """Return classes as a job that names times sees them: their power is how fast it is there."""
    speeds = [job.base_time / dedicated_time(job, node_class.group) for node_class in classes]
    return tuple(
        NodeClass(c.cluster, c.group.replace(power=speed, availability=1.0), c.processors)
        for c, speed in zip(classes, speeds, strict=True)
    )


def _where_usable(choose: Choose, vectors: CapacityVectors, order: Order) -> Choose:
    """Return a rule that puts tasks only where they may be, and where there is memory for them.

    The rule fills classes in this ``order``.
    """

    def chosen(job: Job, room: Sequence[int]) -> Allocation | None:
        counts = choose(job, vectors.usable(job, room, order))
        return None if counts is None else vectors.taken(job, counts)

    return chosen


def allocation_rule(name: RuleName, classes: Sequence[NodeClass], scope: Scope = "platform") -> Choose:
    """Return a rule for these classes and this scope."""
    if len(classes) == 1:
        return lambda job, free: (job.tasks,) if job.tasks <= free[0] else None

    order = _ranked(name, classes)
    if scope == "platform":
        return lambda job, free: filled(job.tasks, free, order(free)) if job.tasks <= sum(free) else None
    return lambda job, free: _within_one_part(job.tasks, free, order(free), classes, scope)


def filled(tasks: int, free: Sequence[int], order: Sequence[int]) -> Allocation | None:
    """Return the allocation that fills the classes in this order; None where they have too few processors."""
    counts = [0] * len(free)
    rest = tasks
    for g in order:
        counts[g] = min(rest, free[g])
        rest -= counts[g]
        if not rest:
            return tuple(counts)
    return None


def _within_one_part(
    tasks: int, free: Sequence[int], order: Sequence[int], classes: Sequence[NodeClass], scope: Scope
) -> Allocation | None:
    """Return the allocation on the cluster, or node, where the slowest processor used is fastest."""
    parts: dict[int, list[int]] = {}
    for g in order:
        parts.setdefault(g if scope == "node" else classes[g].cluster, []).append(g)
    candidates = (filled(tasks, free, part) for part in parts.values())
    return max((c for c in candidates if c is not None), key=lambda counts: _slowest(counts, classes), default=None)


def _slowest(counts: Sequence[int], classes: Sequence[NodeClass]) -> float:
    """Return the least effective power that an allocation uses."""
    return min(c.effective_power for c, count in zip(classes, counts, strict=True) if count)
