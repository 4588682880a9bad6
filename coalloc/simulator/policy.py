"""Policies: what they see, and what they answer.

A policy is any object with a ``scope`` and a method ``decide(state)`` that returns :class:`Start` and
:class:`Wake` objects. It may have methods that tell it what happens (:class:`Beginning`, :class:`Arriving`,
:class:`Ending`). It sees jobs as their users describe them (:func:`as_described`), never a true run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from operator import add, itemgetter, le, sub
from typing import NamedTuple, NoReturn, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.values import NO_SECONDS, copying
from coalloc.instance import CoallocError, Job, Platform, RunningJob, Shape
from coalloc.problem.allocation import Allocation, NodeClass, Scope
from coalloc.rules.allocation_rules import Allocator, RuleName, allocator
from coalloc.rules.capacity_vectors import Order
from coalloc.rules.closings import Closing
from coalloc.rules.node_choice import NodeLoad
from coalloc.rules.queues import QueueRules
from coalloc.rules.reservations import Release
from coalloc.rules.timeline import Timeline
from coalloc.simulator.clock import Clock
from coalloc.simulator.decisions import Preempt, Start, Wake
from coalloc.simulator.node_sharing import NodeSharing
from coalloc.simulator.occupancy import Occupancy
from coalloc.simulator.outlook import Outlook
from coalloc.simulator.processors import Processors, indices_of
from coalloc.simulator.usage import Ledger, UserUsage

ENFORCED = frozenset(
    {"deadline", "after", "eligible", "requires", "times", "shapes", "unavailable", "start", "resources"}
    | {"max_clusters", "min_tasks_per_cluster", "slices", "level", "limits", "lags"}
)
"""The modelling features that a run enforces whatever its policy decides."""

INTERRUPTED = ENFORCED | {"failures"}
"""The same, and failures of nodes: only for policies that list them, because jobs arrive again."""

SUSPENSION = "suspension"
"""Feature that policies list that decide while jobs are suspended; those with ``suspends`` need not."""

Item = TypeVar("Item")


class Running(NamedTuple):
    """A running job as a policy sees it.

    Attributes
    ----------
    job : Job
        The job as its user describes it: its ``base_time`` is the estimate.
    counts : tuple of int
        Number of its processors of each class, shape ``(num_classes,)``.
    processors : int
        The set of its processors, as bits; ``state.names`` returns their names.
    start : float
        Start time, s; of a job that was suspended, when it resumed.
    estimated_end : float
        End time if the estimate is exact and no link saturates, s. A job may run longer.
    taken : tuple of int
        Its part of ``state.room``: processors, then units of memory and resources.

    Examples
    --------
    A policy that records when running jobs are expected to end:

    >>> import coalloc
    >>> from coalloc.extend import Start
    >>> class Recording:
    ...     scope = "platform"
    ...     seen = []
    ...
    ...     def decide(self, state):
    ...         self.seen += [(run.job.id, run.estimated_end) for run in state.running]
    ...         job, rule = state.queue[0], state.allocator("fastest-first")
    ...         counts = rule.choose(job, state.room)
    ...         return [Start(job.id, counts)] if counts else []
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> run = coalloc.simulate(instance, Recording(), passes="per-event")
    >>> Recording.seen[0]
    ('J1', 200.0)
    """

    job: Job
    counts: Allocation
    processors: Processors
    start: float
    estimated_end: float
    taken: Allocation


class StateArrays(NamedTuple):
    """The state of a run as numbers: jobs of the queue in its order, running jobs by estimated end.

    Attributes
    ----------
    now : float
        The clock, s.
    tasks : numpy.ndarray
        Tasks of each waiting job.
    estimates : numpy.ndarray
        Their requested walltimes, s.
    arrivals : numpy.ndarray
        Their arrivals, s.
    running_tasks : numpy.ndarray
        Tasks of each running job.
    running_starts : numpy.ndarray
        Their starts, s.
    estimated_ends : numpy.ndarray
        Their ends by their requested walltimes, s.
    free : numpy.ndarray
        Free processors of each node class.
    free_by_cluster : numpy.ndarray
        Free processors of each cluster.
    """

    now: float
    tasks: NDArray[np.int64]
    estimates: NDArray[np.float64]
    arrivals: NDArray[np.float64]
    running_tasks: NDArray[np.int64]
    running_starts: NDArray[np.float64]
    estimated_ends: NDArray[np.float64]
    free: NDArray[np.int64]
    free_by_cluster: NDArray[np.int64]


class View(list[Item]):
    """A list that others can only read: what makes it changes it through the methods of ``list`` itself."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("lists of the state are read-only; use list(...) to get a copy")

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


@dataclass(slots=True)
class State:
    r"""The state of a simulated run as a policy sees it.

    Attributes
    ----------
    queue : sequence of Job
        The waiting jobs as their users describe them, in order of arrival.
    running : sequence of Running
        The running jobs, by estimated end.
    suspended : sequence of Running
        The suspended jobs, in order of suspension, which is the ``start`` of each.
    platform : Platform
        The platform, or the part of it that belongs to the site.
    classes : sequence of NodeClass
        The classes of interchangeable nodes; with scope ``"node"``, every node is a class.
    scope : {"platform", "cluster", "node"}
        Where the tasks of one job may run.
    rng : numpy.random.Generator
        Random numbers of the run.
    reservations : sequence of RunningJob
        Advance reservations, before and after their start.
    given : set of str
        Ids of the running jobs of the instance, which run until their given ends.
    run : object
        Identity of the run, which the branches of a ``coalloc.Simulation`` share.

    See Also
    --------
    coalloc.Policy : The interface of a policy.

    Notes
    -----
    In each pass (docs/simulation.md#order-of-simultaneous-events) a policy decides which waiting jobs start, and on
    which processors. It knows the clock, the waiting jobs in order of arrival, the running jobs with their processors,
    and the free processors of each node class: all nodes of one cluster with one description. Of a job it knows the
    tasks, the estimate $p'_j$ of the reference run time (requested walltime), the processing share $\sigma_j$ and the
    task bandwidth. It does not know true run times, jobs that have not arrived, and whether a link will be saturated.

    The expected time of a job on an allocation with effective speeds $\Gamma_r$ is

    $$Te_j = p'_j\,(\sigma_j\,SP_j + 1 - \sigma_j), \qquad SP_j = \max_{r \text{ used}} 1/\Gamma_r$$

    as if no link were saturated. The estimated end of a running job is its start plus that. A job that runs longer,
    because the estimate was too low or a link is saturated, is overdue, and may end at any time.

    The engine checks every start. An impossible one is an error, as is a policy that leaves jobs waiting on a platform
    where nothing runs and nothing is to come. No job is moved; only ``easy`` with ``preempt`` stops or suspends jobs.

    Examples
    --------
    A policy that starts the first waiting job whenever enough processors are free:

    >>> import coalloc
    >>> from coalloc.extend import Start
    >>> class OneByOne:
    ...     scope = "platform"
    ...
    ...     def decide(self, state):
    ...         job, rule = state.queue[0], state.allocator("fastest-first")
    ...         counts = rule.choose(job, state.room)
    ...         return [Start(job.id, counts)] if counts else []
    >>> run = coalloc.simulate(coalloc.example("pas-figure-3.3"), OneByOne())
    >>> run.metrics["makespan"]
    555.0
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
    _usage: Callable[[float], UserUsage] = Ledger(math.inf).at
    reservations: Sequence[RunningJob] = ()
    given: frozenset[str] = frozenset()
    suspended: Sequence[Running] = ()
    run: object = field(default_factory=object)
    _allocators: dict[RuleName, Allocator] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Current simulated time, s."""
        return self._clock.now

    @property
    def tolerance(self) -> float:
        """Difference up to which two times are equal, s."""
        return self._clock.tolerance

    @property
    def free(self) -> Allocation:
        """Number of free processors of each class, shape ``(num_classes,)``."""
        return self._occupancy.counts

    @property
    def room(self) -> Allocation:
        """Free processors of each class, then free units of node memory, of resources, and of partly closed groups.

        Allocation rules (``allocator``) choose from it. It equals ``free`` if memory and resources are ample and no
        maintenance window closes some processors of a group.
        """
        return self._occupancy.room

    @property
    def full_room(self) -> Allocation:
        """The room of the empty platform, with everything available."""
        return (*(node_class.capacity for node_class in self.classes), *self._occupancy.vectors.full)

    @property
    def shares_memory(self) -> bool:
        """Whether the cores of a node may compete for memory."""
        return bool(self._occupancy.vectors.shared)

    @property
    def has_stocks(self) -> bool:
        """Whether jobs may compete for resources."""
        return bool(self._occupancy.vectors.stocks)

    @property
    def lacks_memory(self) -> bool:
        """Whether a node may have too little memory for the tasks of the run."""
        return not self._occupancy.vectors.is_ample

    @property
    def is_restricted(self) -> bool:
        """Whether some job cannot use every free processor, because of memory, maintenance windows or eligibility."""
        return not self._occupancy.vectors.leave_all

    @property
    def has_closings(self) -> bool:
        """Whether parts of the platform are unavailable at times: maintenance windows or advance reservations."""
        return self._outlook is not None

    @property
    def has_pools(self) -> bool:
        """Whether maintenance windows close a number of processors of a group, rather than named nodes."""
        return bool(self._occupancy.vectors.pools)

    @property
    def closings(self) -> tuple[Closing, ...]:
        """The maintenance windows and advance reservations that are not over, by start."""
        return () if self._outlook is None else self._outlook.closings

    @property
    def open_until(self) -> tuple[float, ...]:
        """Time until which each class is available, s: ``now`` if it is closed, infinity if it stays open."""
        return (math.inf,) * len(self.classes) if self._outlook is None else self._outlook.open_until(self.now)

    def may_start(self, job: Job, counts: Sequence[int]) -> bool:
        """Return whether these processors of each class are free, and available until the estimated end of the job."""
        taken = self.taken(job, counts)
        is_free = all(map(le, taken, self.room))
        if self._outlook is None or not is_free:
            return is_free
        end = self.now + self.allocator("first-fit").time(job, counts)
        return not self._outlook.fault(taken, self.now, end, self.running)

    def timeline(self, releases: Iterable[Release]) -> Timeline[int]:
        """Return the free room over time: the room now, plus the releases (in order of time), minus the closings."""
        left_of = self._occupancy.without_down
        if self._outlook is not None:
            opened = ((end, left_of(taken)) for end, taken in self._outlook.ends(self.now))
            releases = sorted([*releases, *opened], key=itemgetter(0))
        timeline = Timeline(self.now, self.room, releases, len(self.classes))
        for closing in () if self._outlook is None else self._outlook.coming(self.now):
            timeline.take(*closing._replace(taken=left_of(closing.taken)))
        return timeline

    @property
    def is_timed(self) -> bool:
        """Whether some job has run times by node feature, so that no order of the nodes is the fastest for all jobs."""
        return self._is_timed

    @property
    def is_moldable(self) -> bool:
        """Whether jobs of the queue may be moldable: the number of processors of a start then selects the mode."""
        return self._is_moldable

    @property
    def free_memory(self) -> tuple[float, ...]:
        """Free memory per node of each class, MB, shape ``(num_classes,)``; infinity if memory is ample."""
        return self._occupancy.vectors.megabytes(self._occupancy.room)

    def usable(self, job: Job, room: Sequence[int], order: Order | None = None) -> Sequence[int]:
        """Return the number of tasks of a job that each class can take from a room.

        If a cluster has too little of a resource for all of them, the first classes by ``order`` get it; without an
        order, those that the platform lists first.
        """
        return self._occupancy.vectors.usable(job, room, order)

    def taken(self, job: Job, counts: Sequence[int]) -> Allocation:
        """Return the part of a room that a job takes with these processors of each class."""
        return self._occupancy.vectors.taken(job, counts)

    @property
    def free_processors(self) -> Processors:
        """The set of free processors, as bits."""
        return self._occupancy.free

    @property
    def free_nodes(self) -> tuple[str, ...]:
        """Names of the free processors, in order."""
        return self.names(self._occupancy.free)

    @property
    def failed_nodes(self) -> tuple[str, ...]:
        """Names of the processors of failed nodes, in order; when they are repaired is unknown."""
        return self.names(self._occupancy.failed)

    @property
    def num_failures(self) -> int:
        """Number of times so far at which nodes failed or were repaired."""
        return self._occupancy.num_failures

    @property
    def link_loads(self) -> tuple[float, ...]:
        """Current load of each of ``platform.links``, MB/s; it exceeds the bandwidth of a saturated link."""
        return self._loads()

    @property
    def node_loads(self) -> tuple[NodeLoad, ...]:
        """Current load of each node, in order; of each processor if nodes are dedicated."""
        if self._sharing is not None:
            return self._sharing.loads()
        free, memory, most = set(indices_of(self.free_processors)), self.free_memory, self._occupancy.vectors.limits
        found: dict[int, NodeLoad] = {}
        for g, node_class in enumerate(self.classes):
            for processor in node_class.processors:
                is_free, name = processor in free, self.platform.processor_names[processor]
                left = memory[g] if is_free else 0.0
                found[processor] = NodeLoad(name, int(not is_free), 0, int(is_free), False, left, most[g])
        return tuple(load for _, load in sorted(found.items()))

    def allocator(self, rule: RuleName) -> Allocator:
        """Return an allocation rule by name.

        Parameters
        ----------
        rule : {"fastest-first", "fewest-clusters", "best-processing", "first-fit"}
            The rule (docs/policies.md).

        Returns
        -------
        coalloc.rules.allocation_rules.Allocator
            ``choose(job, room)`` returns the processors of each class, or None if the job does not fit;
            ``time(job, counts)`` is the execution time there if no link saturates, s.
        """
        if rule not in self._allocators:
            vectors = self._occupancy.vectors
            self._allocators[rule] = allocator(rule, self.classes, self.scope, vectors, is_timed=self._is_timed)
        return self._allocators[rule]

    def usage(self, half_life: float = math.inf) -> UserUsage:
        """Return the processor seconds that each user has had until now, for orders with fair share.

        Parameters
        ----------
        half_life : float, default inf
            Time after which a processor second in the past counts half, s.

        Returns
        -------
        mapping of str or None to float
            By user; None has the jobs without a user. Later events do not change it. A user without usage has 0.
        """
        if not isinstance(half_life, Real) or not half_life > 0.0:
            raise CoallocError(f"half_life must be above 0 s, got {half_life!r}")
        return self._usage(half_life)

    def arrays(self) -> StateArrays:
        """Return the state as arrays of numbers, which do not change with it."""
        queue, running, free = self.queue, self.running, np.array(self.free, np.int64)
        clusters = [node_class.cluster for node_class in self.classes]
        return StateArrays(
            self.now,
            *(np.array([job.tasks for job in queue], np.int64), np.array([job.estimate for job in queue], float)),
            np.array([job.arrival for job in queue], float),
            *(np.array([run.job.tasks for run in running], np.int64), np.array([run.start for run in running], float)),
            np.array([run.estimated_end for run in running], float),
            *(free, np.bincount(clusters, free, len(self.platform.clusters)).astype(np.int64)),
        )

    def room_after(self, room: Allocation, decision: Preempt | Start) -> Allocation:
        """Return a room after a running job stops, or a suspended one resumes; the same for all other jobs."""
        stops = isinstance(decision, Preempt)
        jobs = self.running if stops else self.suspended
        taken = next((run.taken for run in jobs if run.job.id == decision.job_id), ())
        if not isinstance(decision, Preempt) or decision.suspend:
            taken = taken[: len(self.classes)]
        freed = (*taken, *(0 for _ in room[len(taken) :]))
        return tuple(map(add if stops else sub, room, freed))

    def counts_of(self, processors: Processors) -> Allocation:
        """Return how many of a set of processors each class has."""
        return self._occupancy.counted(processors)

    def names(self, processors: Processors) -> tuple[str, ...]:
        """Return the names of a set of processors, in order."""
        names = self.platform.processor_names
        return tuple(names[p] for p in indices_of(processors))


@runtime_checkable
class Policy(Protocol):
    """Interface of a scheduling policy: it decides which waiting jobs start now, and where.

    Any object with ``scope`` and ``decide`` is a policy. ``decide`` is called once per scheduling pass while jobs wait.
    Optional methods ``begin(state)``, ``arrived(state, job)``, ``ended(state, running)`` and ``left(state, job)`` are
    called at the start of a run, at arrivals, at ends, and for jobs that leave the queue without a start.
    ``links = "strict"`` declares that the policy keeps links from saturating; ``coalloc.compare`` then uses a tighter
    bound.

    See Also
    --------
    coalloc.simulate : Run an instance under a policy.
    coalloc.extend.State : What a policy sees.
    coalloc.extend.Broker : The interface of a broker with several sites.

    Notes
    -----
    docs/simulation.md and docs/policies.md describe the interface and the built-in policies.

    Examples
    --------
    Last come, first served:

    >>> import coalloc
    >>> from coalloc.extend import Start
    >>> class LastComeFirstServed:
    ...     scope = "platform"
    ...
    ...     def decide(self, state):
    ...         job, rule = state.queue[-1], state.allocator("fastest-first")
    ...         counts = rule.choose(job, state.room)
    ...         return [Start(job.id, counts)] if counts else []
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> run = coalloc.simulate(instance, LastComeFirstServed(), passes="per-event")
    >>> [(placement.job, placement.start) for placement in run.schedule]
    [('J1', 0.0), ('J2', 200.0), ('J3', 0.0)]
    """

    @property
    def scope(self) -> Scope:
        """Places of the tasks of one job: ``"platform"`` (co-allocation), ``"cluster"`` or ``"node"``."""

    def decide(self, state: State) -> Iterable[Start | Wake | Preempt]:
        """Return the jobs to start now, times at which to run another pass, and running jobs to stop.

        Parameters
        ----------
        state : State
            The state of the run.

        Returns
        -------
        iterable of Start or Wake or Preempt
            The decisions; each is validated in this order.
        """


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
class Leaving(Protocol):
    """A policy that is told of each job that leaves the queue without a start: it is cancelled, or changed."""

    def left(self, state: State, job: Job) -> None:
        """Hear of a job that is in ``state.queue`` no more; one that was changed arrives again."""


@runtime_checkable
class StatesRules(Protocol):
    """A policy that states as data what it decides, so that the engine can run it as a whole."""

    @property
    def queue_rules(self) -> QueueRules | None:
        """The rules; None where what is asked of the policy cannot be stated so."""


@runtime_checkable
class Copying(Protocol):
    """A policy that keeps something between passes, and can be copied with it: a run that branches asks for that."""

    def copy(self) -> Policy:
        """Return a policy of its own that decides as this one would from now on; it gets a state of its own."""


@runtime_checkable
class SharesNodes(Protocol):
    """A policy that says whether it knows what to do where nodes are shared: it names nodes, one for each task."""

    @property
    def shares_nodes(self) -> bool:
        """Whether it may run on an instance whose nodes are shared."""


@runtime_checkable
class ListsFeatures(Protocol):
    """A policy that lists the modelling features that it supports; without a list these are :data:`ENFORCED`."""

    @property
    def supported_features(self) -> frozenset[str]:
        """Names of the supported features."""


@runtime_checkable
class SaysWhy(ListsFeatures, Protocol):
    """A policy that says why it does not support the others."""

    @property
    def why_unsupported(self) -> str:
        """The reason, as the end of a message."""


@runtime_checkable
class ChoosesShapes(Protocol):
    """A policy that says whether it chooses shapes: where it does not, jobs come to it in their first alone."""

    @property
    def chooses_shapes(self) -> bool:
        """Whether it starts a job of several shapes in the one that it says by the number of processors."""


@runtime_checkable
class Preempting(Protocol):
    """A policy that says whether it stops running jobs for others."""

    @property
    def preempts(self) -> bool:
        """Whether it does; then instances with some features are refused before work begins."""


@runtime_checkable
class Suspending(Protocol):
    """A policy that says whether it suspends running jobs: what they keep of memory is then counted node by node."""

    @property
    def suspends(self) -> bool:
        """Whether it does; then runs with failures of nodes are refused before work begins."""


def suspends(policy: object) -> bool:
    """Return whether a policy says that it suspends running jobs."""
    return isinstance(policy, Suspending) and policy.suspends


def knows_suspension(policy: object) -> bool:
    """Return whether a policy decides while jobs are suspended: it says that it suspends jobs, or lists the feature."""
    return suspends(policy) or (isinstance(policy, ListsFeatures) and SUSPENSION in policy.supported_features)


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
    "ENFORCED",
    "INTERRUPTED",
    "SUSPENSION",
    "Arriving",
    "Beginning",
    "ChoosesShapes",
    "Copying",
    "Ending",
    "Leaving",
    "ListsFeatures",
    "NeedsMemory",
    "Policy",
    "Preempt",
    "Preempting",
    "Running",
    "SaysWhy",
    "SharesNodes",
    "Start",
    "State",
    "Suspending",
    "Tallies",
    "View",
    "Wake",
    "as_described",
    "knows_suspension",
    "suspends",
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
