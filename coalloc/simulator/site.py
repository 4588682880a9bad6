"""A site: one machine with a queue, processors, running jobs, and the policy that decides over them.

A run has one site, the whole platform, or several, each with clusters of its own and a router that sends every
job to one of them when it arrives. A site's policy sees nothing but the site: its platform has the site's clusters
only. Names of processors are the same everywhere; their numbers are the site's own.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, compress, count
from operator import ne, or_
from time import perf_counter
from typing import Any, Self

import numpy as np

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job, Platform, PowerStates, RunningJob
from coalloc.instance.job import resources_asked
from coalloc.instance.power import known_power_states
from coalloc.instance.resources import contended_nodes, of_nodes
from coalloc.problem.allocation import Allocation, node_classes, reserved_nodes
from coalloc.problem.execution import Kinds, execution_time, kinds_of
from coalloc.rules.allocation_rules import FIXED_RULES, RuleName, fixed_order
from coalloc.rules.closings import Closing
from coalloc.simulator.clock import Clock
from coalloc.simulator.contention import Contention
from coalloc.simulator.decisions import DecisionError, Start, decisions_of
from coalloc.simulator.gangs import dealt
from coalloc.simulator.node_sharing import NodeSharing
from coalloc.simulator.occupancy import PoolOccupancy, largest_part, occupancy_of, vectors_on
from coalloc.simulator.outlook import Shutting, outlook_of
from coalloc.simulator.policy import (
    Arriving,
    Beginning,
    Ending,
    Leaving,
    Policy,
    Running,
    State,
    View,
    as_described,
    suspends,
)
from coalloc.simulator.pool_run import Filling
from coalloc.simulator.processors import Processors, processors_of
from coalloc.simulator.site_power import SitePower
from coalloc.simulator.usage import Ledger, Use, UserUsage


@dataclass(frozen=True, slots=True)
class Partition:
    """A site of a simulated run: a local policy and the clusters that it manages.

    Parameters
    ----------
    policy : Policy
        The policy of the site.
    clusters : tuple of str, default ()
        Names of its clusters. Empty: the whole platform.
    name : str, default ""
        Name of the site in messages.
    power_management : bool, default False
        Whether the site, a single cluster, is switched on and off according to its power states.

    See Also
    --------
    coalloc.extend.Broker : Assign jobs to sites.

    Examples
    --------
    >>> import coalloc
    >>> from coalloc.extend import policy_named
    >>> coalloc.grid.Partition(policy_named("easy", {}), clusters=("C1",)).clusters
    ('C1',)
    """

    policy: Policy
    clusters: tuple[str, ...] = ()
    name: str = ""
    power_management: bool = False


class Site:
    """A site of a simulated run as a broker sees it: a queue, processors, running jobs and a policy.

    Brokers receive sites and do not create them.

    Attributes
    ----------
    number : int
        Index among the sites.
    name : str
        Name in messages.
    state : State
        The state that its policy sees.
    queue : sequence of Job
        The waiting jobs as their users describe them.
    suspended : sequence of Running
        The suspended jobs.
    largest_job : int
        Maximum number of tasks of a job on the site.
    is_whole : bool
        Whether the site is the whole platform.
    is_due : bool
        Whether an event has occurred since the last scheduling pass.
    num_decisions : int
        Number of scheduling passes so far in which the policy was asked.
    decision_total : float
        Time of the policy in them, s.
    decision_max : float
        Longest time of the policy in one of them, s.
    power : SitePower or None
        Power state of a site with power management.
    num_waiting : int
        Number of waiting jobs.
    has_jobs : bool
        Whether jobs wait or are suspended.
    keeps_memory : bool
        Whether it is known what is free of memory while jobs are suspended: none requires any, or the policy has
        ``suspends``.
    is_up : bool
        Whether jobs can start: the site is not starting up.

    Methods
    -------
    most_tasks(job)
        Return the maximum number of tasks that a job may have on the site.

    See Also
    --------
    coalloc.extend.Broker : The interface of a broker.

    Examples
    --------
    A broker that assigns every job to the first site with enough processors:

    >>> import coalloc
    >>> from coalloc.extend import policy_named
    >>> from coalloc.grid import Partition
    >>> class First:
    ...     scope = "cluster"
    ...
    ...     def partitions(self, platform):
    ...         names = [cluster.name for cluster in platform.clusters]
    ...         return [Partition(policy_named("fcfs", {}), (n,), n) for n in names]
    ...
    ...     def route(self, sites, job):
    ...         return next(site for site in sites if site.most_tasks(job) >= job.tasks)
    >>> jobs = [coalloc.Job(f"J{n}", tasks=n, base_time=60.0) for n in (1, 2)]
    >>> instance = coalloc.example("pas-figure-3.3").replace(jobs=jobs)
    >>> schedule = coalloc.simulate(instance, First()).schedule
    >>> [list(placement.nodes) for placement in schedule]
    [['C1/0'], ['C1/0', 'C1/1']]
    """

    def __init__(
        self,
        number: int,
        partition: Partition,
        platform: Platform,
        clock: Clock,
        *,
        contention: Contention,
        rng: np.random.Generator,
        task_memory: float = 0.0,
        is_choosy: bool = False,
        is_spread: bool = False,
        is_timed: bool = False,
        takers: Sequence[Job] = (),
        is_moldable: bool = False,
        running: Sequence[RunningJob] = (),
        sharing: NodeSharing | None = None,
        past: Callable[[Site], Iterable[Use]] = lambda _: (),
    ) -> None:
        self.number, self.name, self.policy = number, partition.name, partition.policy
        scope = self.policy.scope
        keeps = suspends(self.policy)
        has_limits = any(group.memory is not None for cluster in platform.clusters for group in cluster.nodes)
        self.keeps_memory = keeps or not (task_memory and has_limits)
        task_memory = math.inf if keeps and task_memory else task_memory
        chosen = _chosen(platform, partition)
        is_whole = chosen == list(range(len(platform.clusters)))
        own = platform if is_whole else _part(platform, chosen)
        held = [run for run in running if all(name in own.processor_index for name in run.nodes)]
        resources = resources_asked(takers)
        crowded = contended_nodes(own, [*takers, *(run.job for run in held)], of_nodes(own, resources))
        apart = [*reserved_nodes(own, held, "simulations"), *({node} for node in crowded)]
        classes = node_classes(own, scope, task_memory, apart)
        links = [*chosen, *range(len(platform.clusters), len(platform.links))]
        self.is_whole = is_whole
        self._blocks = () if is_whole else tuple(_blocks(platform, own, chosen))
        vectors = vectors_on(
            own,
            classes,
            scope,
            task_memory,
            is_choosy=is_choosy,
            is_spread=is_spread,
            resources=resources,
            crowded=crowded,
        )
        self._occupancy = occupancy_of(own, classes, scope, vectors)
        self.outlook = outlook_of(own, classes, held, vectors, clock.base)
        self._slowness = [1.0 / node_class.effective_power for node_class in classes]
        self._is_uniform = len(set(self._slowness)) == 1
        self._clock, self._sharing, self._is_timed = clock, sharing, is_timed
        self.power = SitePower(_power_states(own, partition.name)) if partition.power_management else None
        self.queue: View[Job] = View()
        self.suspended: View[Running] = View()
        self._numbers: list[int] = []
        """The jobs of the queue numbered as they arrived, and those that have left it in this pass."""
        self._left: list[int] = []
        self._num_arrived = 0
        self._gangs: dict[str, tuple[tuple[int, Job], ...]] = {}
        """The jobs, with their indices, for which waiting jobs stand."""
        self._waiting: dict[str, tuple[int, int, Job]] = {}
        self.is_due = False
        self.num_decisions, self.decision_total, self.decision_max = 0, 0.0, 0.0
        self._by_estimate: View[Running] = View()
        self._estimated_ends: list[float] = []
        self.largest_job = largest_part(classes, scope)
        self._most_tasks: dict[tuple[object, ...], int] = {}
        self._past, self._ledgers = past, dict[float, Ledger]()
        """Past use of ended jobs, and the ledgers that were asked for by half-life, s."""
        self.state = State(
            queue=self.queue,
            running=self._by_estimate,
            suspended=self.suspended,
            platform=own,
            classes=classes,
            scope=scope,
            rng=rng,
            _clock=clock,
            _occupancy=self._occupancy,
            _loads=partial(_loads_of, contention, links),
            _sharing=sharing,
            _is_timed=is_timed,
            _is_moldable=is_moldable,
            _outlook=self.outlook,
            _usage=self.usage,
            reservations=tuple(run for run in held if run.start > 0.0),
            given=frozenset(run.job.id for run in held),
        )
        self._links = links
        self._shut = 0
        """The processors of closings that have begun."""
        self._listen()

    def _listen(self) -> None:
        """Find out what the policy wants to be told."""
        self._hears_arrivals = self.policy if isinstance(self.policy, Arriving) else None
        self._hears_ends = self.policy if isinstance(self.policy, Ending) else None

    def copied(
        self,
        policy: Policy,
        clock: Clock,
        contention: Contention,
        sharing: NodeSharing | None,
        rng: np.random.Generator,
        *,
        past: Callable[[Site], Iterable[Use]],
    ) -> Self:
        """Return a site of its own in the same state, under a policy, as a part of another run."""
        twin = copy(self)
        twin.policy, twin._clock, twin._sharing = policy, clock, sharing
        twin.queue, twin._by_estimate = View(self.queue), View(self._by_estimate)
        twin.suspended = View(self.suspended)
        twin._numbers, twin._left = self._numbers.copy(), self._left.copy()
        twin._gangs, twin._waiting = self._gangs.copy(), self._waiting.copy()
        twin._estimated_ends, twin._occupancy = self._estimated_ends.copy(), copy(self._occupancy)
        twin.outlook = None if self.outlook is None else self.outlook.copied()
        twin.power = None if self.power is None else self.power.copied()
        twin._past, twin._ledgers = past, {half_life: ledger.copied() for half_life, ledger in self._ledgers.items()}
        twin.state = replace(
            self.state,
            queue=twin.queue,
            running=twin._by_estimate,
            suspended=twin.suspended,
            rng=rng,
            _clock=clock,
            _occupancy=twin._occupancy,
            _loads=partial(_loads_of, contention, self._links),
            _sharing=sharing,
            _outlook=twin.outlook,
            _usage=twin.usage,
        )
        twin._listen()
        return twin

    @property
    def has_jobs(self) -> bool:
        """Whether jobs wait, or are suspended: then its policy decides."""
        return bool(self.queue or self.suspended)

    @property
    def num_waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._waiting)

    def begin(self) -> None:
        """Let the policy begin a run."""
        if isinstance(self.policy, Beginning):
            self.policy.begin(self.state)

    @property
    def is_pool(self) -> bool:
        """Whether all its processors are equal, and every job may be on each of them."""
        return isinstance(self._occupancy, PoolOccupancy)

    def filling(self, rule: RuleName = "first-fit") -> Filling | None:
        """Return the order in which an allocation rule always fills the classes; None where more than that counts."""
        classes, is_pool = self.state.classes, self.is_pool
        in_a_row = chain.from_iterable(node_class.processors for node_class in classes)
        if not is_pool and (
            self.state.given
            or rule not in FIXED_RULES
            or self.state.scope != "platform"
            or self.state.is_restricted
            or any(map(ne, in_a_row, count()))
        ):
            return None
        order = fixed_order(rule if rule in FIXED_RULES else "first-fit", classes)
        capacity = np.array([node_class.capacity for node_class in classes], np.int64)
        first = np.cumsum(capacity) - capacity
        return Filling(first[order], capacity[order], np.array(self._slowness)[order])

    def finish(self, passes: int, seconds: float, longest: float) -> None:
        """Let all jobs have left, after so many passes, which took the policy so long, s."""
        self.num_decisions, self.decision_total, self.decision_max = passes, seconds, longest
        list.clear(self.queue)
        for known in (self._numbers, self._left, self._waiting):
            known.clear()
        for running in [*self._by_estimate]:
            self.end(running)
        self.is_due = False

    @property
    def is_up(self) -> bool:
        """Whether jobs can start: the site is not starting up."""
        return self.power is None or self.power.is_up(self._clock.now)

    def arrive(self, index: int, job: Job) -> None:
        """Put a job, as its user describes it, into the queue."""
        self.is_due = True
        if self.power is not None:
            ready = self.power.assigned(self._clock.now)
            if ready > self._clock.now:
                self._clock.wake(self.number, ready)
        number = self._num_arrived = self._num_arrived + 1
        self._waiting[job.id] = number, index, job
        list.append(self.queue, job)
        self._numbers.append(number)
        if self._hears_arrivals is not None:
            self._hears_arrivals.arrived(self.state, job)

    def arrive_together(self, indices: Sequence[int], jobs: Sequence[Job], whole: Job) -> None:
        """Put a job into the queue that stands for several, as their users describe them."""
        self._gangs[whole.id] = tuple(zip(indices, jobs, strict=True))
        self.arrive(indices[0], whole)

    def withdraw(self, job_id: str) -> None:
        """Take a waiting job off the queue that does not start."""
        number, _, job = self._waiting.pop(job_id)
        place = bisect_left(self._numbers, number)
        list.pop(self.queue, place)
        del self._numbers[place]
        if isinstance(self.policy, Leaving):
            self.policy.left(self.state, job)

    def waits(self, job_id: str) -> bool:
        """Return whether a job waits here."""
        return job_id in self._waiting

    def decide(self) -> list[object]:
        """Return what the policy decides."""
        began = perf_counter()
        answer: Any = self.policy.decide(self.state)
        is_plain = type(answer) is list and len(answer) <= len(self._waiting)  # as most are
        decisions: list[object] = (
            answer
            if is_plain
            else decisions_of(answer, len(self._waiting), len(self._by_estimate) + len(self.suspended))
        )
        seconds = perf_counter() - began
        self.num_decisions += 1
        self.decision_total += seconds
        self.decision_max = max(self.decision_max, seconds)
        return decisions

    def start(self, start: Start) -> tuple[int, Running, float]:
        """Start a waiting job as the policy decided.

        Returns its index, the running job, and its processing slowdown. Raises ``DecisionError`` if the start is not
        possible.
        """
        waiting = self._waiting.get(start.job_id)
        if waiting is None:
            raise DecisionError(f"the policy started job {quoted(str(start.job_id))}, which is not waiting")
        number, index, described = waiting
        if described.shapes:
            described = self._in_shape(described, start)
        if self._sharing is not None:
            start = self._sharing.placed(described, start)
        now = self._clock.now
        cores_on = 0 if self.power is None else self.power.cores_on(now)
        counts, processors, taken = self._occupancy.take(described, start, cores_on)
        slowdown = self._slowness[0] if self._is_uniform else max(compress(self._slowness, counts))
        is_named = self._is_timed and described.times
        seconds = self._named_time(described, counts) if is_named else execution_time(described, slowdown)
        running = Running(described, counts, processors, now, now + seconds, taken)
        fault = self.outlook and self.outlook.fault(taken, now, running.estimated_end, self._by_estimate)
        if fault:
            self._occupancy.release(taken, processors)
            raise DecisionError(f"the policy started job {quoted(described.id)} {fault}")
        del self._waiting[start.job_id]
        self._left.append(number)
        self._hold(running)
        return index, running, slowdown

    def start_together(self, start: Start) -> Iterator[tuple[int, Running, float]]:
        """Start a waiting job, or each of those that it stands for on its part of the processors."""
        gang = self._gangs.pop(start.job_id, ()) if start.job_id in self._waiting else ()
        if not gang:
            yield self.start(start)
            return
        number, _, whole = self._waiting.pop(start.job_id)
        cores_on = 0 if self.power is None else self.power.cores_on(self._clock.now)
        _, processors, taken = self._occupancy.take(whole, start, cores_on)
        self._occupancy.release(taken, processors)
        self._left.append(number)
        parts = dealt(self.state.names(processors), (job for _, job in gang))
        for (index, job), nodes in zip(gang, parts, strict=True):
            self._waiting[job.id] = number, index, job
            yield self.start(Start(job.id, nodes=nodes))
            self._left.pop()  # the queue has the one job

    def _in_shape(self, job: Job, start: Start) -> Job:
        """Return the rigid job that a job runs as on what a start asks for; raises where it has no such shape."""
        asked = len(start.nodes) or sum(start.counts[: len(self.state.classes)])
        shapes = job.in_shapes
        found = next((shape for shape in shapes if shape.tasks == asked), None)
        if found is None:
            known = " or ".join(str(shape.tasks) for shape in shapes)
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {asked} processors, but its shapes have {known} tasks"
            )
        return found

    def kinds(self, job: Job, counts: Allocation) -> Kinds:
        """Return a job by the kinds of its nodes, so many of each class; nothing for one that names no times."""
        return kinds_of(job, (c.group for c in compress(self.state.classes, counts))) if job.times else ()

    def _named_time(self, job: Job, counts: Allocation) -> float:
        """Return the estimated execution time of a job that names times, s."""
        return self.state.allocator("first-fit").time(job, counts)

    def shuttings(self) -> Iterator[Shutting]:
        """Yield the changes that the closings of the site are."""
        members = [processors_of(node_class.processors) for node_class in self.state.classes]
        vectors = self._occupancy.vectors
        pools = [processors_of(p for g in pool for p in self.state.classes[g].processors) for pool in vectors.pools]
        stocks = [reduce(or_, map(members.__getitem__, stock.classes)) for stock in vectors.stocks]
        places = (*members, *(0 for _ in vectors.shared), *stocks, *pools)
        for closing in self.outlook.closings if self.outlook is not None else ():
            own = reduce(or_, compress(places, closing.taken))
            processors = own if self.is_whole else self.on_platform(own)
            yield Shutting(closing.start, False, processors, self.number, closing)
            yield Shutting(closing.end, True, processors, self.number, closing)

    def overstaying(self, closing: Closing) -> list[Running]:
        """Return the jobs that must go when a closing begins.

        These are all on classes that are closed. Of a group of which processors are taken jobs go that have run longer
        than estimated, those first that started last, until there is room.
        """
        num_classes, now = len(self.state.classes), self._clock.now
        gone = [run for run in self._by_estimate if any(compress(run.counts, closing.taken[:num_classes]))]
        others = [run for run in self._by_estimate if run not in gone]
        for p in self.outlook.pools(closing) if self.outlook is not None else ():
            lacking = closing.taken[p] - self.state.room[p] - sum(run.taken[p] for run in gone)
            limit = now + self._clock.tolerance
            for run in sorted(others, key=lambda run: (run.estimated_end > limit, -run.start)):
                if lacking > 0 and run.taken[p]:
                    gone.append(run)
                    others.remove(run)
                    lacking -= run.taken[p]
        return gone

    def shut(self, closing: Closing) -> None:
        """Let a closing begin where nothing runs any more."""
        self._shut |= self._closed(closing)
        self._fail()
        self._occupancy.close(closing.taken)
        if self.outlook is not None:
            self.outlook.begin(closing)

    def reopen(self, closing: Closing) -> None:
        """Let a closing be over."""
        self._occupancy.close(closing.taken, -1)
        self._shut &= ~self._closed(closing)
        self._fail()
        if self.outlook is not None:
            self.outlook.finish(closing)

    def fail(self, processors: Processors) -> None:
        """Let processors of failed nodes, on which nothing runs any more, not be there."""
        self._occupancy.down |= processors
        self._fail()

    def repair(self, processors: Processors) -> None:
        """Let processors of failed nodes be there again."""
        self._occupancy.down &= ~processors
        self._fail()

    def _fail(self) -> None:
        """Let exactly those failed processors not be there that are not shut anyway."""
        failed, before = self._occupancy.down & ~self._shut, self._occupancy.failed
        self._occupancy.fail(failed & ~before)
        self._occupancy.fail(before & ~failed, -1)

    def _closed(self, closing: Closing) -> Processors:
        """Return the processors of the classes that a closing takes."""
        classes = compress(self.state.classes, closing.taken[: len(self.state.classes)])
        return processors_of(p for node_class in classes for p in node_class.processors)

    def occupy(self, job: Job, processors: Processors, end: float) -> Running:
        """Let a job run until ``end`` (s) that runs already, on free processors (numbers of the platform)."""
        own = self.of_platform(processors)
        taken = self._occupancy.occupy(job, own)
        running = Running(as_described(job), taken[: len(self.state.classes)], own, 0.0, end, taken)
        self._hold(running)
        if self.power is not None:
            self.power.runs()
        return running

    def most_tasks(self, job: Job) -> int:
        """Return the maximum number of tasks that a job may have on the site, given its memory demand per task."""
        key: tuple[object, ...] = job.memory, job.eligible, job.requires, job.resources, job.task_resources
        if job.is_spread:
            key = (*key, job.tasks, job.spread_limits)
        if key not in self._most_tasks:
            state, clusters = self.state, self.state.platform.clusters
            rooms = [
                c.room(job.memory or 0.0) if job.may_use(clusters[c.cluster].name, c.group) else 0
                for c in state.classes
            ]
            if job.asks_resources or job.is_spread:
                rooms = list(map(min, rooms, state.usable(job, state.full_room)))
            self._most_tasks[key] = largest_part(state.classes, state.scope, rooms)
        return self._most_tasks[key]

    def leave_queue(self) -> None:
        """Take the jobs that the pass has started off the queue: several at its head at once, others singly."""
        queue, numbers, left, head = self.queue, self._numbers, self._left, 0
        if len(left) > 1:
            left.sort()
            while head < len(left) and numbers[head] == left[head]:
                head += 1
            list.__delitem__(queue, slice(head))
            del numbers[:head], left[:head]
        for number in left:
            place = bisect_left(numbers, number)
            list.pop(queue, place)
            numbers.pop(place)
        left.clear()

    def suspend(self, running: Running) -> None:
        """Free the processors of a job that stops, and keeps all else."""
        self._drop(running)
        self._occupancy.lend(running.processors)
        list.append(self.suspended, running._replace(start=self._clock.now))

    def resume(self, start: Start) -> Running:
        """Let a suspended job go on, on its processors; return it with its new start and estimated end."""
        found = next(run for run in self.suspended if run.job.id == start.job_id)
        if start.counts or start.nodes:
            raise DecisionError(f"the policy gave job {quoted(found.job.id)} processors, but it resumes on its own")
        if found.processors & ~self._occupancy.free:
            raise DecisionError(f"the policy resumed job {quoted(found.job.id)}, whose processors another job holds")
        now = self._clock.now
        list.remove(self.suspended, found)
        self._occupancy.lend(found.processors, -1)
        running = found._replace(start=now, estimated_end=now + found.estimated_end - found.start)
        self._hold(running)
        return running

    def end(self, running: Running) -> None:
        """Free the processors of a job that has ended."""
        self._drop(running)
        self._occupancy.release(running.taken, running.processors)
        if self.power is not None:
            self.power.ended(running.processors, self._clock.now)
        if self._hears_ends is not None:
            self._hears_ends.ended(self.state, running)

    def usage(self, half_life: float) -> UserUsage:
        """Return the usage of each user now; it halves in so many seconds."""
        now, ledger = self._clock.now, self._ledgers.get(half_life)
        if ledger is None:
            held = (Use(run.job.user, sum(run.counts), run.start, math.inf) for run in self._by_estimate)
            ledger = self._ledgers[half_life] = Ledger.opened(half_life, chain(self._past(self), held), now)
        return ledger.at(now)

    def has(self, processors: Processors) -> bool:
        """Return whether processors (numbers of the platform) are all the site's."""
        return self.on_platform(self.of_platform(processors)) == processors

    def on_platform(self, processors: Processors) -> Processors:
        """Return processors of the site by their numbers on the whole platform."""
        if not self._blocks:
            return processors
        return sum(((processors >> here) & members) << there for here, there, members in self._blocks)

    def of_platform(self, processors: Processors) -> Processors:
        """Return those of some processors of the platform that are the site's, by their numbers here."""
        if not self._blocks:
            return processors
        return sum(((processors >> there) & members) << here for here, there, members in self._blocks)

    def _drop(self, running: Running) -> None:
        """Note that a job runs no more."""
        by_estimate, estimated_ends = self._by_estimate, self._estimated_ends
        place = bisect_left(estimated_ends, running.estimated_end)
        while by_estimate[place] is not running:
            place += 1
        list.pop(by_estimate, place)
        del estimated_ends[place]
        for ledger in self._ledgers.values():
            ledger.change(running.job.user, -sum(running.counts), self._clock.now)

    def _hold(self, running: Running) -> None:
        """Note that a job runs."""
        place = bisect_right(self._estimated_ends, running.estimated_end)
        list.insert(self._by_estimate, place, running)
        self._estimated_ends.insert(place, running.estimated_end)
        for ledger in self._ledgers.values():
            ledger.change(running.job.user, sum(running.counts), self._clock.now)


def _loads_of(contention: Contention, links: Sequence[int]) -> tuple[float, ...]:
    """Return the loads of some links, MB/s."""
    return tuple(map(contention.loads.__getitem__, links))


def _power_states(platform: Platform, name: str) -> PowerStates:
    """Return the power states of the only cluster of a site."""
    if len(platform.clusters) != 1:
        raise CoallocError(f"site {quoted(name)} has {len(platform.clusters)} clusters; power management requires one")
    return known_power_states(platform.clusters[0])


Block = tuple[int, int, Processors]
"""The processors of a cluster: number of the first at the site, and on the platform; all, counted from there."""


def _chosen(platform: Platform, partition: Partition) -> list[int]:
    """Return the clusters of a partition by index."""
    index = {cluster.name: c for c, cluster in enumerate(platform.clusters)}
    unknown = [name for name in partition.clusters if name not in index]
    if unknown:
        raise CoallocError(
            f"site {quoted(partition.name)} has unknown cluster {quoted(unknown[0])}; available: "
            f"{', '.join(map(quoted, index))}"
        )
    return [index[name] for name in partition.clusters] or list(index.values())


def _part(platform: Platform, chosen: Collection[int]) -> Platform:
    """Return some clusters of a platform, with their windows."""
    clusters = tuple(platform.clusters[c] for c in chosen)
    names = {cluster.name for cluster in clusters}
    windows = tuple(window for window in platform.unavailable if window.cluster in names)
    return Platform(clusters, platform.switches, unavailable=windows)


def _blocks(platform: Platform, own: Platform, chosen: Collection[int]) -> Iterator[Block]:
    """Yield where the clusters of a site are, at the site and on the platform."""
    firsts = [sum(cluster.num_processors for cluster in platform.clusters[:c]) for c in chosen]
    here = 0
    for cluster, there in zip(own.clusters, firsts, strict=True):
        yield here, there, (1 << cluster.num_processors) - 1
        here += cluster.num_processors
