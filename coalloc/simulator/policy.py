"""What a policy is, what it sees, and what it answers.

A policy is any object with a ``scope`` and a method ``decide(state) -> Iterable[Start]``. It sees jobs
as their users describe them (:func:`as_described`), never a true run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import numpy as np

from coalloc.allocation import Allocation, NodeClass, Scope
from coalloc.documents.values import unchecked
from coalloc.instance import Job, Platform
from coalloc.rules.allocation_rules import Allocator, RuleName, allocator
from coalloc.simulator.occupancy import Occupancy, Start
from coalloc.simulator.processors import Processors, indices_of

Item_co = TypeVar("Item_co", covariant=True)


class Running(NamedTuple):
    """A job that runs: on ``counts`` processors of each class, which are ``processors``, since ``start`` (s).

    ``estimated_end`` (s) is its end if the estimate holds and no link saturates. A job may well run
    longer: then it is expected to end at any moment.
    """

    job: Job
    counts: Allocation
    processors: Processors
    start: float
    estimated_end: float


class View(Sequence[Item_co]):
    """A list of the engine's that others can read."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Item_co]) -> None:
        self._items = items

    @overload
    def __getitem__(self, index: int) -> Item_co: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item_co]: ...

    def __getitem__(self, index: int | slice) -> Item_co | list[Item_co]:
        return self._items[index]

    def __iter__(self) -> Iterator[Item_co]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


@dataclass(slots=True)
class State:
    """What a policy sees at an instant.

    Parameters
    ----------
    now
        The clock, s.
    queue
        The waiting jobs as their users describe them, in order of arrival.
    running
        The running jobs, by estimated end.
    platform, classes, scope
        Where all this runs, and where the tasks of one job may be; with scope ``node`` each node is a class.
    rng
        The run's random numbers, for policies that draw.
    """

    now: float
    queue: Sequence[Job]
    running: Sequence[Running]
    platform: Platform
    classes: Sequence[NodeClass]
    scope: Scope
    rng: np.random.Generator
    _occupancy: Occupancy
    _allocators: dict[RuleName, Allocator] = field(default_factory=dict)

    @property
    def free(self) -> Allocation:
        """Free processors of each class, shape ``(num_classes,)``."""
        return self._occupancy.counts

    @property
    def free_processors(self) -> Processors:
        """The free processors of the platform."""
        return self._occupancy.free

    def allocator(self, rule: RuleName) -> Allocator:
        """Return an allocation rule by name (:data:`coalloc.rules.allocation_rules.ALLOCATION_RULES`)."""
        if rule not in self._allocators:
            self._allocators[rule] = allocator(rule, self.classes, self.scope)
        return self._allocators[rule]

    def names(self, processors: Processors) -> tuple[str, ...]:
        """Return the names of a set of processors, in order."""
        names = self.platform.processor_names
        return tuple(names[p] for p in indices_of(processors))


@runtime_checkable
class Policy(Protocol):
    """What decides which jobs start now, and where.

    ``scope`` is where the tasks of one job may be: ``"platform"`` (co-allocation), ``"cluster"`` or
    ``"node"``. ``decide`` is called once per scheduling pass, whenever jobs wait. A policy that keeps links
    from saturating may say so with ``links = "strict"``: comparisons then hold it against a better bound.
    """

    @property
    def scope(self) -> Scope:
        """Where the tasks of one job may be."""

    def decide(self, state: State) -> Iterable[Start]:
        """Return the jobs to start now; the engine validates each, in this order."""


@runtime_checkable
class Tallies(Protocol):
    """A policy that counts something during its run, such as decisions without a proof: metrics of the run."""

    def tally(self) -> Mapping[str, int]:
        """Return the numbers by the names of their metrics."""


__all__ = ["Policy", "Running", "Start", "State", "Tallies", "View", "as_described"]

_FIELDS = tuple(f.name for f in fields(Job))
_BASE_TIME = _FIELDS.index("base_time")
_values = attrgetter(*_FIELDS)
_job = unchecked(Job)


def as_described(job: Job) -> Job:
    """Return a job as its user describes it: its base time is the estimate."""
    if job.base_time == job.estimate:
        return job
    values = list(_values(job))
    values[_BASE_TIME] = job.estimate
    return _job(*values)
