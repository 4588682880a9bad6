"""Queue orders: each is a key function of a few lines over jobs; the least key is first, ties keep the queue as it is.

A queue has its jobs in the order in which they arrive for the scheduler: a job that comes after others arrives once
they have ended. That is ``fcfs``, whatever the arrivals that jobs state.

Sources: thesis, section 3.1.3.3, errata 12 (``sjf`` means fewest tasks there, shortest time is ``spt``). WFP3 and
UNICEF: Tang, Lan, Desai and Buettner, Fault-aware, utility-based job scheduling on Blue Gene/P systems, IEEE
Cluster 2009. F1 to F4: Carastan-Santos and de Camargo, Obtaining dynamic scheduling policies with simulation and
machine learning, SC 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeGuard

from coalloc.instance import CoallocError, Job

OrderName = Literal["fcfs", "sjf", "bjf", "spt", "lpt", "largest-area", "wfp3", "unicef", "f1", "f2", "f3", "f4"]

Key = Callable[[Job, float], Any]
"""A job and the clock (s) to a sort key: anything that compares."""
Order = OrderName | Key
"""A named order, or a key of one's own."""

ORDERS: Mapping[str, Callable[[Job], Any]] = {
    "fcfs": lambda job: job.arrival,
    "sjf": lambda job: job.tasks,
    "bjf": lambda job: -job.tasks,
    "spt": lambda job: job.estimate,
    "lpt": lambda job: -job.estimate,
    "largest-area": lambda job: -job.tasks * job.estimate,
}
"""Sort keys that list schedules of jobs in any order begin with, by name of the order."""


def wfp3(job: Job, now: float) -> float:
    """WFP3: minus ``(wait / estimate)**3 * tasks``. Long waits count more for short jobs, and for large ones."""
    return -(((now - job.arrival) / job.estimate) ** 3) * job.tasks


def unicef(job: Job, now: float) -> float:
    """UNICEF: minus ``wait / (log2(tasks) * estimate)``. Small and short jobs are fast; one task counts as two."""
    return -(now - job.arrival) / (math.log2(max(2, job.tasks)) * job.estimate)


def f1(job: Job) -> float:
    """F1: ``log10(estimate) * tasks + 870 * log10(arrival)``."""
    return math.log10(job.estimate) * job.tasks + 870.0 * _log_arrival(job)


def f2(job: Job) -> float:
    """F2: ``sqrt(estimate) * tasks + 25600 * log10(arrival)``."""
    return math.sqrt(job.estimate) * job.tasks + 25_600.0 * _log_arrival(job)


def f3(job: Job) -> float:
    """F3: ``estimate * tasks + 6860000 * log10(arrival)``."""
    return job.estimate * job.tasks + 6_860_000.0 * _log_arrival(job)


def f4(job: Job) -> float:
    """F4: ``estimate * sqrt(tasks) + 530000 * log10(arrival)``."""
    return job.estimate * math.sqrt(job.tasks) + 530_000.0 * _log_arrival(job)


def _log_arrival(job: Job) -> float:
    """Return log10 of the arrival (s) since the clock's 0, 0 in its first second."""
    return math.log10(max(1.0, job.arrival))


def as_queued(_: Job) -> int:
    """FCFS: the queue as it is."""
    return 0


FIXED_ORDERS: Mapping[str, Callable[[Job], Any]] = {**ORDERS, "fcfs": as_queued, "f1": f1, "f2": f2, "f3": f3, "f4": f4}
"""Sort keys of a queue that never change while a job waits, by name of the order."""
TIMED_ORDERS: Mapping[str, Key] = {"wfp3": wfp3, "unicef": unicef}
"""Sort keys that change with the clock, by name of the order."""


def is_fixed(order: Order) -> TypeGuard[OrderName]:
    """Return whether the order of two jobs never changes while they wait."""
    return isinstance(order, str) and order in FIXED_ORDERS


def key_at(order: Order, now: float) -> Callable[[Job], Any]:
    """Return the sort key of an order at an instant, s."""
    if isinstance(order, str) and order in FIXED_ORDERS:
        return FIXED_ORDERS[order]
    timed = TIMED_ORDERS[order] if isinstance(order, str) else order
    return lambda job: timed(job, now)


def ordered_at(jobs: Iterable[Job], order: Order, now: float) -> list[Job]:
    """Return the jobs, given as they are in the queue, in an order at an instant (s).

    Raises :class:`CoallocError` where the keys of an order of the user's own do not compare.
    """
    jobs, key = list(jobs), key_at(order, now)
    keys = [key(job) for job in jobs]
    try:
        return [jobs[i] for i in sorted(range(len(jobs)), key=keys.__getitem__)]
    except TypeError as error:
        raise CoallocError(f"the keys of an order must be comparable with each other: {error}") from None
