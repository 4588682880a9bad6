"""What a policy is, what it sees, and what it answers.

A policy is any object with a ``scope`` and a method ``decide(state)`` that returns :class:`Start` and
:class:`Wake` objects. It may have methods that tell it what happens (:class:`Beginning`, :class:`Arriving`,
:class:`Ending`). It sees jobs as their users describe them (:func:`as_described`), never a true run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import le
from typing import NamedTuple, NoReturn, Protocol, TypeVar, runtime_checkable

import numpy as np

from coalloc.allocation import Allocation, NodeClass, Scope
from coalloc.documents.values import NO_SECONDS, copying
from coalloc.instance import Job, Platform, RunningJob, Shape
from coalloc.rules.allocation_rules import Allocator, RuleName, allocator
from coalloc.rules.availability import Availability
from coalloc.rules.closings import Closing
from coalloc.rules.memories import Order
from coalloc.rules.node_choice import NodeLoad
from coalloc.rules.reservations import Release
from coalloc.simulator.clock import Clock
from coalloc.simulator.decisions import Start, Wake
from coalloc.simulator.node_sharing import NodeSharing
from coalloc.simulator.occupancy import Occupancy
from coalloc.simulator.outlook import Outlook
from coalloc.simulator.processors import Processors, indices_of

Item = TypeVar("Item")


class Running(NamedTuple):
    """A job that runs: on ``counts`` processors of each class, which are ``processors``, since ``start`` (s).

    ``estimated_end`` (s) is its end if the estimate holds and no link saturates. A job may well run
    longer: then it is expected to end at any moment. ``taken`` is what it takes of a room: ``counts``, and memory.
    """

    job: Job
    counts: Allocation
    processors: Processors
    start: float
    estimated_end: float
    taken: Allocation


class View(list[Item]):
    """A list that others can only read: what makes it changes it through the methods of ``list`` itself."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a list of the state can be read alone: list(...) makes one that you can change")

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


@dataclass(slots=True)
class State:
    """What a policy sees at an instant.

    Parameters
    ----------
    queue
        The waiting jobs as their users describe them, in order of arrival.
    running
        The running jobs, by estimated end.
    platform, classes, scope
        Where all this runs, and where the tasks of one job may be; with scope ``node`` each node is a class.
    rng
        The run's random numbers, for policies that draw.
    reservations
        The jobs that hold processors from an instant to come on, and those that do so now.
    """

    queue: Sequence[Job]
    running: Sequence[Running]
    platform: Platform
    classes: Sequence[NodeClass]
    scope: Scope
    rng: np.random.Generator
    _clock: Clock
    _occupancy: Occupancy
    _loads: Callable[[], tuple[float, ...]]
    _sharing: NodeSharing | None = None
    _is_timed: bool = False
    _is_moldable: bool = False
    _outlook: Outlook | None = None
    reservations: Sequence[RunningJob] = ()
    _allocators: dict[RuleName, Allocator] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """The clock, s."""
        return self._clock.now

    @property
    def tolerance(self) -> float:
        """How far apart equal times may be now, s."""
        return self._clock.tolerance

    @property
    def free(self) -> Allocation:
        """Free processors of each class, shape ``(num_classes,)``."""
        return self._occupancy.counts

    @property
    def room(self) -> Allocation:
        """Free processors of each class, then units of memory of nodes, of stocks, then processors of groups.

        What an allocation rule chooses from (:meth:`allocator`), and what jobs take of it, is :attr:`free` where there
        is always memory enough, and no window takes a number of processors (:mod:`coalloc.rules.memories`).
        """
        return self._occupancy.room

    @property
    def full_room(self) -> Allocation:
        """The room where nothing runs, and everything is there."""
        return (*(node_class.capacity for node_class in self.classes), *self._occupancy.memories.full)

    @property
    def shares_memory(self) -> bool:
        """Whether the cores of a node may share too little memory."""
        return bool(self._occupancy.memories.shared)

    @property
    def has_stocks(self) -> bool:
        """Whether jobs take of resources of which several together may take too much."""
        return bool(self._occupancy.memories.stocks)

    @property
    def lacks_memory(self) -> bool:
        """Whether some node may have too little memory for the tasks of the run."""
        return not self._occupancy.memories.is_ample

    @property
    def is_restricted(self) -> bool:
        """Whether some job cannot use every free processor, for memory or windows, or because it may not."""
        return not self._occupancy.memories.leave_all

    @property
    def has_closings(self) -> bool:
        """Whether parts of the platform are at times not there: windows, or jobs that are to start later."""
        return self._outlook is not None

    @property
    def has_pools(self) -> bool:
        """Whether windows take a number of processors of groups, if only of those that running jobs hold."""
        return bool(self._occupancy.memories.pools)

    @property
    def closings(self) -> tuple[Closing, ...]:
        """When what is not there: windows and reservations that are not over, by start."""
        return () if self._outlook is None else self._outlook.closings

    @property
    def open_until(self) -> tuple[float, ...]:
        """From when on each class is not there, s: ``now`` if it is not there now, infinity if it stays there."""
        return (math.inf,) * len(self.classes) if self._outlook is None else self._outlook.open_until(self.now)

    def may_start(self, job: Job, counts: Sequence[int]) -> bool:
        """Return whether so many processors of each class are free, and there until the job ends by its estimate."""
        taken = self.taken(job, counts)
        is_free = all(map(le, taken, self.room))
        if self._outlook is None or not is_free:
            return is_free
        end = self.now + self.allocator("first-fit").time(job, counts)
        return not self._outlook.fault(taken, self.now, end, self.running)

    def available(self, releases: Iterable[Release]) -> Availability:
        """Return what is free over time: the room now, what is released (in order of time), less closings."""
        if self._outlook is None:
            return Availability(self.now, self.room, releases, len(self.classes))
        return self._outlook.available(self.now, self.room, releases)

    @property
    def is_timed(self) -> bool:
        """Whether some job names run times by features of nodes: then not all jobs are fastest on the same nodes."""
        return self._is_timed

    @property
    def is_moldable(self) -> bool:
        """Whether some job of the queue may have several shapes: a start says by its number of processors in which."""
        return self._is_moldable

    @property
    def free_memory(self) -> tuple[float, ...]:
        """Memory left on a node of each class, MB, shape ``(num_classes,)``; inf where there is always enough."""
        return self._occupancy.memories.megabytes(self._occupancy.room)

    def usable(self, job: Job, room: Sequence[int], order: Order | None = None) -> Sequence[int]:
        """Return how many tasks of a job each class can take of a room.

        Where a cluster has too little of a resource for all of them, the first classes by ``order`` get it; without
        one the first that the platform lists.
        """
        return self._occupancy.memories.usable(job, room, order)

    def taken(self, job: Job, counts: Sequence[int]) -> Allocation:
        """Return what a job takes of a room on so many processors of each class."""
        return self._occupancy.memories.taken(job, counts)

    @property
    def free_processors(self) -> Processors:
        """The free processors of the platform."""
        return self._occupancy.free

    @property
    def free_nodes(self) -> tuple[str, ...]:
        """Names of the free processors, in order: a node, or a core of a node with several."""
        return self.names(self._occupancy.free)

    @property
    def link_loads(self) -> tuple[float, ...]:
        """What running jobs put on each of ``platform.links`` now, MB/s; more than it carries where it is saturated."""
        return self._loads()

    @property
    def node_loads(self) -> tuple[NodeLoad, ...]:
        """What is on each node of the platform, in order; where nodes are dedicated, on each processor."""
        if self._sharing is not None:
            return self._sharing.loads()
        free, memory, most = set(indices_of(self.free_processors)), self.free_memory, self._occupancy.memories.limits
        found: dict[int, NodeLoad] = {}
        for g, node_class in enumerate(self.classes):
            for processor in node_class.processors:
                is_free, name = processor in free, self.platform.processor_names[processor]
                left = memory[g] if is_free else 0.0
                found[processor] = NodeLoad(name, int(not is_free), 0, int(is_free), False, left, most[g])
        return tuple(load for _, load in sorted(found.items()))

    def allocator(self, rule: RuleName) -> Allocator:
        """Return an allocation rule by name (:data:`coalloc.rules.allocation_rules.ALLOCATION_RULES`)."""
        if rule not in self._allocators:
            memories = self._occupancy.memories
            self._allocators[rule] = allocator(rule, self.classes, self.scope, memories, is_timed=self._is_timed)
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
    One that keeps something between passes forgets it in ``begin`` (docs/simulation.md).
    """

    @property
    def scope(self) -> Scope:
        """Where the tasks of one job may be."""

    def decide(self, state: State) -> Iterable[Start | Wake]:
        """Return the jobs to start now, each validated in this order, and instants at which to ask again."""


@runtime_checkable
class Beginning(Protocol):
    """A policy that is told when a run begins, before anything happens: one object may then serve many runs."""

    def begin(self, state: State) -> None:
        """Forget what was before."""


@runtime_checkable
class Arriving(Protocol):
    """A policy that is told of each job that arrives."""

    def arrived(self, state: State, job: Job) -> None:
        """Hear of a job that is the last of ``state.queue`` now."""


@runtime_checkable
class Ending(Protocol):
    """A policy that is told of each job that ends, or is killed."""

    def ended(self, state: State, running: Running) -> None:
        """Hear of a job whose processors are free now."""


@runtime_checkable
class SharesNodes(Protocol):
    """A policy that says whether it knows what to do where nodes are shared: it names nodes, one for each task."""

    @property
    def shares_nodes(self) -> bool:
        """Whether it may run on an instance whose nodes are shared."""


@runtime_checkable
class IsIgnorant(Protocol):
    """A policy that does not know all words that an instance may use (:mod:`coalloc.instance.words`)."""

    @property
    def unknown_words(self) -> frozenset[str]:
        """Those that it does not know."""


@runtime_checkable
class SaysWhy(IsIgnorant, Protocol):
    """A policy that says why it does not know them."""

    @property
    def why_unknown(self) -> str:
        """The reason, as the end of a message."""


@runtime_checkable
class ChoosesShapes(Protocol):
    """A policy that says whether it chooses shapes: where it does not, jobs come to it in their first alone."""

    @property
    def chooses_shapes(self) -> bool:
        """Whether it starts a job of several shapes in the one that it says by the number of processors."""


@runtime_checkable
class NeedsMemory(Protocol):
    """A policy that decides by memory: it says which option asks for that of all nodes and jobs, nothing if none."""

    @property
    def needs_memory(self) -> str:
        """The option, as messages show it."""


@runtime_checkable
class Tallies(Protocol):
    """A policy that counts something during its run, such as decisions without a proof: metrics of the run."""

    def tally(self) -> Mapping[str, int]:
        """Return the numbers by the names of their metrics."""


__all__ = [
    "Arriving",
    "Beginning",
    "ChoosesShapes",
    "Ending",
    "IsIgnorant",
    "NeedsMemory",
    "Policy",
    "Running",
    "SaysWhy",
    "SharesNodes",
    "Start",
    "State",
    "Tallies",
    "View",
    "Wake",
    "as_described",
]

_described = copying(Job, base_time="estimate")


def as_described(job: Job) -> Job:
    """Return a job as its user describes it: its base time is the estimate; times that it names are off as much."""
    if job.shapes:
        shapes = [_described_shape(shape) for shape in job.shapes]
        return as_described(job.replace(shapes=())).replace(shapes=shapes)
    if job.base_time == job.estimate:
        return job
    return _described(job) if job.times is NO_SECONDS or not job.times else _with_estimated_times(job)


def _described_shape(shape: Shape) -> Shape:
    factor = shape.estimate / shape.base_time
    times = {feature: seconds * factor for feature, seconds in shape.times.items()}
    return shape.replace(base_time=shape.estimate, times=times)


def _with_estimated_times(job: Job) -> Job:
    factor = job.estimate / job.base_time
    times = {feature: seconds * factor for feature, seconds in job.times.items()}
    return job.replace(base_time=job.estimate, times=times)
