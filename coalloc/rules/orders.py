"""A queue order sorts waiting jobs by a key: the job with the least is first, and ties stay in order of arrival.

A job arrives for the scheduler at its arrival, or when the last of its predecessors has ended, if that is later.
``fcfs`` means this everywhere. Waits and the other keys count from the arrival of the job; F1 to F4 count seconds from
0 of the clock. ``estimate`` is the estimate of the reference run time (requested walltime), s.

The keys of ``wfp3`` and ``unicef`` change while jobs wait: the queue is sorted at every pass. So is one with a custom
key, a function of the job, as its user describes it, and the clock in seconds. It is accepted wherever the name of an
order is:

>>> import coalloc
>>> def expansion(job, now):
...     # Largest (wait + estimate) / estimate first
...     return -(now - job.arrival) / job.estimate
>>> instance = coalloc.generate("lublin", seed=1, jobs=200)
>>> run = coalloc.simulate(
...     instance, "easy", queue_order=expansion, candidates="spt"
... )

An order that sees usage of users, running jobs and the queue is an object (docs/howto/write-a-policy.md).

Sources: thesis, section 3.1.3.3, errata 12. WFP3 and UNICEF: Tang, Lan, Desai and Buettner, Fault-aware, utility-based
job scheduling on Blue Gene/P systems, IEEE Cluster 2009. F1 to F4: Carastan-Santos and de Camargo, Obtaining dynamic
scheduling policies with simulation and machine learning, SC 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal, Protocol, runtime_checkable

from coalloc.documents.text import shortened, visible
from coalloc.instance import CoallocError, Job

OrderName = Literal["fcfs", "sjf", "bjf", "spt", "lpt", "largest-area", "wfp3", "unicef", "f1", "f2", "f3", "f4"]

KeyOfJob = Callable[[Job], Any]
"""A job to a sort key: anything that compares."""
Key = Callable[[Job, float], Any]
"""A job and the clock (s) to a sort key."""


class Moment(Protocol):
    """State at a decision that orders of a queue read."""

    @property
    def now(self) -> float:
        """The clock, s."""

    @property
    def queue(self) -> Sequence[Job]:
        """The waiting jobs in order of arrival."""


@runtime_checkable
class QueueOrder(Protocol):
    """Interface of a queue order that sees the state of the run.

    An object with ``key`` and ``changes_every`` is accepted wherever the name of a queue order is: ``queue_order`` and
    ``candidates`` of the policies. It keeps no state of the run itself, so that a simulation can branch.

    See Also
    --------
    coalloc.extend.State : What it sees: clock, queue, running jobs, and the usage of each user.
    coalloc.simulate : Run an instance under a policy.

    Notes
    -----
    docs/howto/write-a-policy.md and docs/policies.md describe it.

    Examples
    --------
    Fair share: the user with the least recent usage first, as it is every five minutes.

    >>> import coalloc
    >>> class LeastUsage:
    ...     changes_every = 300.0
    ...
    ...     def key(self, state):
    ...         usage = state.usage(half_life=86_400.0)
    ...         return lambda job: usage[job.user]
    >>> platform = coalloc.Platform(
    ...     [coalloc.Cluster("C1", [coalloc.NodeGroup(1, power=1.0)], 100.0)]
    ... )
    >>> jobs = [
    ...     coalloc.Job(name, 1, 600.0, user=name[0]) for name in ("a1", "a2", "b1")
    ... ]
    >>> run = coalloc.simulate(
    ...     coalloc.Instance(platform, jobs), "easy", queue_order=LeastUsage()
    ... )
    >>> [(placement.job, placement.start) for placement in run.schedule]
    [('a1', 0.0), ('a2', 1200.0), ('b1', 600.0)]
    """

    @property
    def changes_every(self) -> float:
        """Period of its keys, s: they change at its multiples. 0: at every decision; infinity: never."""

    def key(self, state: Any) -> KeyOfJob:
        """Return the sort key of each job until the keys change next: the least is first.

        Parameters
        ----------
        state : State
            The state of the run when the keys change.

        Returns
        -------
        callable
            A function of a job, also of one that arrives later; keys of different jobs compare.
        """


Order = OrderName | Key | QueueOrder
"""A named order, a custom key, or an order that sees the state."""


def sjf(job: Job) -> float:
    """``tasks``: smallest job first; in other texts "shortest job first" is ``spt``."""
    return job.tasks


def bjf(job: Job) -> float:
    """``-tasks``: biggest job first."""
    return -job.tasks


def spt(job: Job) -> float:
    """``estimate``: shortest processing time first."""
    return job.estimate


def lpt(job: Job) -> float:
    """``-estimate``: longest processing time first."""
    return -job.estimate


def largest_area(job: Job) -> float:
    """``-tasks * estimate``."""
    return -job.tasks * job.estimate


ORDERS: Mapping[str, KeyOfJob] = {
    "fcfs": lambda job: job.arrival,
    "sjf": sjf,
    "bjf": bjf,
    "spt": spt,
    "lpt": lpt,
    "largest-area": largest_area,
}
"""Sort keys that list schedules of jobs in any order begin with, by name of the order."""


def wfp3(job: Job, now: float) -> float:
    """``-(wait / estimate)**3 * tasks``."""
    return -(((now - job.arrival) / job.estimate) ** 3) * job.tasks


def unicef(job: Job, now: float) -> float:
    """``-wait / (log2(max(2, tasks)) * estimate)``: as published, but one task counts as two."""
    return -(now - job.arrival) / (math.log2(max(2, job.tasks)) * job.estimate)


def f1(job: Job) -> float:
    """``log10(estimate) * tasks + 870 * log10(max(1, arrival))``."""
    return math.log10(job.estimate) * job.tasks + 870.0 * _log_arrival(job)


def f2(job: Job) -> float:
    """``sqrt(estimate) * tasks + 25600 * log10(max(1, arrival))``."""
    return math.sqrt(job.estimate) * job.tasks + 25_600.0 * _log_arrival(job)


def f3(job: Job) -> float:
    """``estimate * tasks + 6860000 * log10(max(1, arrival))``."""
    return job.estimate * job.tasks + 6_860_000.0 * _log_arrival(job)


def f4(job: Job) -> float:
    """``estimate * sqrt(tasks) + 530000 * log10(max(1, arrival))``."""
    return job.estimate * math.sqrt(job.tasks) + 530_000.0 * _log_arrival(job)


def _log_arrival(job: Job) -> float:
    """Return log10 of the arrival (s) since the clock's 0, 0 in its first second."""
    return math.log10(max(1.0, job.arrival))


def as_queued(_: Job) -> int:
    """Order of arrival for the scheduler."""
    return 0


FIXED_ORDERS: Mapping[str, KeyOfJob] = {**ORDERS, "fcfs": as_queued, "f1": f1, "f2": f2, "f3": f3, "f4": f4}
"""Sort keys of a queue that never change while a job waits, by name of the order."""
TIMED_ORDERS: Mapping[str, Key] = {"wfp3": wfp3, "unicef": unicef}
"""Sort keys that change with the clock, by name of the order."""


@dataclass(frozen=True, slots=True)
class ByWeight:
    """Jobs of larger weight first, those of equal weight in another order."""

    order: Order

    @property
    def changes_every(self) -> float:
        """Period of the changes of the keys of the other order, s."""
        return _period(self.order)

    def key(self, state: Moment) -> KeyOfJob:
        """Return the sort key of jobs now."""
        key = _maker(self.order)(state)
        return lambda job: (-job.weight, key(job))


def is_fixed(order: Order) -> bool:
    """Return whether the order of two jobs never changes while they wait."""
    return _period(order) == math.inf


def ordered(jobs: Iterable[Job], key: KeyOfJob) -> list[Job]:
    """Return the jobs, given as they are in the queue, in the order of their keys.

    Raises :class:`CoallocError` where the keys of a custom order do not compare, or are nan.
    """
    jobs = list(jobs)
    return [jobs[place] for place in places_in_order([*map(key, jobs)])]


def places_in_order(keys: Sequence[Any]) -> list[int]:
    """Return the places of keys from the least on, equal ones as they are."""
    with comparing(keys):
        return sorted(range(len(keys)), key=keys.__getitem__)


@contextmanager
def comparing(keys: Iterable[Any]) -> Iterator[None]:
    """Raise :class:`CoallocError` where keys do not compare in the block, or are nan, which has no place in order."""
    try:
        if any(key != key for key in keys):  # noqa: PLR0124 - nan alone is unlike itself
            raise CoallocError("the keys of an order must be comparable with each other, got nan")
        yield
    except (TypeError, ValueError) as error:
        raise CoallocError(f"the keys of an order must be comparable with each other: {error}") from None


class Keys:
    """The keys of an order in a run, which are what they were until they change.

    With a period these are the keys of the first decision at or after each of its multiples. ``next_change`` (s) says
    from when on they are other ones; it has passed where they change at every decision.
    """

    def __init__(self, order: Order) -> None:
        self._made, self._period = _maker(order), _period(order)
        self.next_change = -math.inf
        self.of: KeyOfJob = as_queued
        """Returns the key of a job."""

    def change(self, moment: Moment) -> bool:
        """Change the keys to those of a decision if it is time; return whether it was."""
        if moment.now < self.next_change:
            return False
        self.of, period = self._made(moment), self._period
        if period > 0.0:
            self.next_change = math.inf if period == math.inf else (moment.now // period + 1.0) * period
        return True

    def at(self, moment: Moment) -> KeyOfJob:
        """Return the keys at a decision."""
        self.change(moment)
        return self.of


def _maker(order: Order) -> Callable[[Moment], KeyOfJob]:
    """Return what makes the sort key of jobs at a decision."""
    if isinstance(order, QueueOrder):
        return partial(_seen_by, order)
    if isinstance(order, str) and order in FIXED_ORDERS:
        fixed = FIXED_ORDERS[order]
        return lambda _: fixed
    timed = TIMED_ORDERS[order] if isinstance(order, str) else order
    return partial(_at_time, timed)


def _at_time(timed: Key, moment: Moment) -> KeyOfJob:
    """Return the key of each job at the time of a decision."""
    now = moment.now
    return lambda job: timed(job, now)


def _seen_by(order: QueueOrder, moment: Moment) -> KeyOfJob:
    """Return the key of each job by an order that sees a decision."""
    made = order.key(moment)
    if not callable(made):
        raise CoallocError(f"key(state) of {_shown(order)} must return a function of a job, got {made!r}")
    return made


def _period(order: Order) -> float:
    """Return how often the keys of an order change, s."""
    if isinstance(order, QueueOrder):
        period: object = order.changes_every
        if not isinstance(period, Real) or not float(period) >= 0.0:
            raise CoallocError(
                f"changes_every of {_shown(order)} must be a period in seconds, 0 for every decision, or infinity, "
                f"got {period!r}"
            )
        return float(period)
    return math.inf if isinstance(order, str) and order in FIXED_ORDERS else 0.0


def _shown(order: object) -> str:
    """Return an order as a message shows it."""
    return f"queue order {visible(shortened(type(order).__name__))}"
