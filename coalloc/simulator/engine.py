"""The event simulator: it goes from scheduling pass to scheduling pass, and its state is one object that can be copied.

What happens at an instant, and in which order, says :mod:`coalloc.simulator.clock`; a :class:`Site` has queue,
processors, running jobs and policy; :mod:`coalloc.simulator.progress` says how fast jobs advance. No start that a
policy asks for is believed (:mod:`coalloc.simulator.occupancy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import Literal

import numpy as np

from coalloc.documents.columns import Columns, column, some_has
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, RunningJob, as_resources
from coalloc.instance.spread import SPREADING
from coalloc.problem.execution import execution_slowdown
from coalloc.rules.queues import QueueRules
from coalloc.schedule import Cause, Failure
from coalloc.simulator.clock import Change, Clock, Passes
from coalloc.simulator.contention import Contention
from coalloc.simulator.decisions import DecisionError, Preempt, Start, wake_time
from coalloc.simulator.failing import Failing, failing_changes
from coalloc.simulator.gangs import Gang
from coalloc.simulator.interruption import Interrupts, noted_interrupts
from coalloc.simulator.node_sharing import refuse_unshared, sharing_of, user_changes
from coalloc.simulator.occupancy import refuse_too_large, refuse_unplaceable
from coalloc.simulator.outlook import Reserved, Shutting
from coalloc.simulator.policy import Policy, Running, StatesRules, as_described, knows_suspension
from coalloc.simulator.pool_run import ALL, PoolFacts, PoolRun
from coalloc.simulator.processors import Processors, processors_of
from coalloc.simulator.progress import Ends, Progress, SlowdownSource
from coalloc.simulator.readiness import Event, Readiness
from coalloc.simulator.record import Record
from coalloc.simulator.routing import CopiesSites, HearsBeginning, HearsEnds, HearsStarts, Router
from coalloc.simulator.site import Partition, Site
from coalloc.simulator.usage import Use

PASSES_PER_REPORT = 1_000
"""Instants between two reports of progress."""

MAX_IDLE_INSTANTS = 1_000_000
"""Instants in a row at which jobs wait, and nothing runs, arrives or starts, after which a run is given up."""

MAX_KNOWN = 100_000
"""Sets of processors that are remembered, so that jobs share equal ones."""

Stage = Literal["coming", "waiting", "running", "suspended", "ended"]
"""Stage of a job."""

PLACED = frozenset({"eligible", "requires", "resources"}) | SPREADING
"""Features, besides memory, that restrict where the tasks of a job run."""


COPIED = (
    *("_present", "_shapes", "_running", "_ends", "_reserved_jobs", "_reserved", "_homes", "_killed", "_others"),
    *("_held_back", "_arrived", "_paused"),
)
"""Attributes of an engine about jobs, which it copies when it is copied."""


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a run: the clock (s), and how many jobs have ended, run, wait, and are still to come."""

    now: float
    ended: int
    running: int
    waiting: int
    coming: int

    def __str__(self) -> str:
        return (
            f"time {self.now:.12g} s: {self.ended} jobs ended, {self.running} running, "
            f"{self.waiting} waiting, {self.coming} not yet arrived"
        )


class Interrupted(KeyboardInterrupt):
    """A run was interrupted; ``position`` says where it was, ``policy`` whose ``decide`` was at work, if one was."""

    def __init__(self, position: Position, policy: str = "") -> None:
        self.position, self.policy = position, policy
        super().__init__(f"interrupted{f' in decide() of policy {policy}' if policy else ''} at {position}")


class PolicyError(CoallocError):
    """A policy, or a router, asked for what is not possible; ``position`` says where the run was."""

    def __init__(self, sentence: str, position: Position) -> None:
        self.position = position
        super().__init__(f"{sentence} ({position})")


@dataclass(frozen=True, slots=True)
class Run:
    """Course of each job, by index: its start and end (s), its processors, whether it was killed.

    ``shapes`` are the numbers of the shapes that jobs of several have taken. ``interrupted`` are the runs before, in
    order of their ends: job, start and end (s), processors, cause.
    ``decisions`` counts the passes in which jobs waited; ``decision_total`` and ``decision_max`` are the
    policy's own time in them, s.
    """

    starts: Sequence[float]
    ends: Sequence[float]
    processors: Sequence[Processors]
    killed: frozenset[int]
    shapes: Mapping[int, int]
    interrupted: Sequence[tuple[int, float, float, Processors, Cause]]
    decisions: int
    decision_total: float
    decision_max: float


class Engine:
    """One run of an instance on one site or several.

    Parameters
    ----------
    partitions
        What the sites are made of. No two have a cluster in common.
    router
        Sends the jobs that arrive to sites; not needed where there is one.
    sources
        What slows jobs down while they run, beside links that saturate.
    changes
        What happens from outside, in order of time; the sources know what it means.
    failures, requeue
        Failures of nodes, and whether jobs that run on them join the queue again; else they are killed.
    passes, kill, seed
        As in :func:`coalloc.simulate`.
    report
        Gets the position every ``PASSES_PER_REPORT`` instants.
    """

    def __init__(
        self,
        instance: Instance,
        partitions: Sequence[Partition],
        *,
        router: Router | None = None,
        sources: Sequence[SlowdownSource] = (),
        changes: Iterable[Change] = (),
        failures: Sequence[Failure] = (),
        requeue: bool = True,
        passes: Passes = "batch",
        kill: bool = False,
        seed: int = 0,
        report: Callable[[Position], None] | None = None,
    ) -> None:
        if router is None and len(partitions) > 1:
            raise CoallocError(f"a simulation with {len(partitions)} sites requires a router")
        self._instance = instance = as_resources(instance)
        self._jobs = instance.jobs
        self._killed, self._present = set[int](), dict[int, Job]()
        """The jobs from arrival to end; those of several shapes, once they have started, in the one they run in.

        Where jobs are ``_seen`` in columns they are as their users describe them."""
        self._shapes, self._others = dict[int, int](), dict[int, Job]()
        """The shapes that jobs have taken, and the jobs that were submitted or changed during the run."""
        self._is_moldable = "shapes" in instance.features
        self._is_per_event, self._kill, self._report = passes == "per-event", kill, report
        self._sharing = sharing_of(instance)
        if self._sharing is not None:
            refuse_unshared(len(partitions), passes, kill)
            sources = [*sources, self._sharing]
            changes = merge(changes, user_changes(instance), key=lambda change: change.time)
        self._failures, self._requeue = failures, requeue
        changes = self._with_unavailable(changes, instance)
        self._clock = Clock(column(self._jobs, "arrival"), passes, changes, instance.time_base)
        self._contention = Contention(instance.platform)
        self._is_plain = not sources and "times" not in instance.features
        """Whether nothing but links slows jobs of one time down."""
        sources = [self._contention, *sources] if self._contention.is_possible else [*sources]
        self._progress = Progress(sources)
        self._is_steady = self._is_plain and not sources
        """Whether a job takes as long as its processors say, whatever happens meanwhile."""
        self._base_times = column(self._jobs, "base_time")
        self._seen = _seen_columns(self._jobs, is_steady=self._is_steady)
        self._sites = self._made(partitions, instance, np.random.default_rng(seed))
        self._take_router(router)
        self._readiness = Readiness.of(instance)
        self._refuse_large(instance)

        self._running: dict[int, Running] = {}
        self._ends, self._homes = dict[int, float](), dict[int, int]()
        """Expected end of each running job, and of each reserved one, s; and the site of each job, by number, where
        there are several: from its arrival to its end."""
        self._reserved_jobs: dict[int, tuple[Job, Processors]] = {}
        self._paused, self._reserved = dict[int, float](), set[int]()
        """The running jobs that start later and have not ended; how long each suspended job would still have run (s);
        and which of the former have begun."""
        self._held_back, self._arrived = set[int](), set[int]()
        """Jobs that have arrived and wait for others, and those of gangs that wait for the others of it at most."""
        self._num_jobs = self._next_index = len(self._jobs) + len(instance.running)
        self._ended, self._idle_instants, self._num_instants = 0, 0, 0
        self._is_open, self._is_disturbed = False, changes != ()
        """Whether something has happened at an instant whose end has not been seen to; and whether more has a say than
        jobs and policies: changes, also of jobs, and decisions of others."""
        self._interrupts = Interrupts()
        self._pool: PoolRun | None = None
        """The whole run in the engine, while it is one."""
        # What has happened to jobs that have ended; and in runs that failures or policies have interrupted.
        self._record, self._failed, self._preempted, self._suspended = (Record() for _ in range(4))
        self._known_processors = dict[Processors, Processors]()
        self._start_running_jobs(instance)
        self._listen()

    def _listen(self) -> None:
        """Handle what the clock lets happen."""
        self._handle = self._clock.handlers(
            {
                "end": self._end,
                "leaving": self._change,
                "coming": self._change,
                "arrival": self._arrive_if_ready if self._readiness else self._arrive,
                "wake": self._wake,
            }
        )

    @property
    def sites(self) -> Sequence[Site]:
        """The sites of the run."""
        return self._sites

    def copied(self, policy: Callable[[Policy], Policy], *, is_trial: bool = False) -> Engine:
        """Return an engine of its own that goes on from here; ``policy`` copies those of the sites.

        A trial has no router. Raises :class:`CoallocError` where the broker of the sites cannot be copied.
        """
        twin = copy(self)
        twin._clock, twin._contention = self._clock.copied(), self._contention.copied()
        twin._sharing = None if self._sharing is None else self._sharing.copied()
        twins: dict[object, SlowdownSource | None] = {self._contention: twin._contention, self._sharing: twin._sharing}
        twin._progress = self._progress.copied([twins.get(s) or s.copied() for s in self._progress.sources])
        rng = deepcopy(self._sites[0].state.rng)
        shared = twin._clock, twin._contention, twin._sharing, rng
        twin._sites = [site.copied(policy(site.policy), *shared, past=twin._past) for site in self._sites]
        twin._interrupts = Interrupts()
        for name in COPIED:
            setattr(twin, name, getattr(self, name).copy())
        twin._readiness = None if self._readiness is None else self._readiness.copied()
        for name in ("_record", "_failed", "_preempted", "_suspended"):
            setattr(twin, name, getattr(self, name).copied())
        if is_trial:
            twin._take_router(None)
        elif self._router is not None:
            if not isinstance(self._router, CopiesSites):
                raise CoallocError(f"the broker {type(self._router).__name__} cannot branch: it has no copy(sites)")
            twin._take_router(self._router.copy(twin._sites))
        twin._listen()
        return twin

    def _take_router(self, router: Router | None) -> None:
        """Let a router send jobs to the sites, and be told of them."""
        self._router = router
        self._hears_starts = router if isinstance(router, HearsStarts) else None
        self._hears_ends = router if isinstance(router, HearsEnds) else None

    def _refuse_large(self, instance: Instance) -> None:
        """Raise for jobs that find too little room, alone or where they start together."""
        part = self._sites[0].policy.scope if len(self._sites) == 1 else "site"
        narrowest = [min(j.in_shapes, key=lambda s: s.tasks) for j in self._jobs] if self._is_moldable else self._jobs
        refuse_too_large(narrowest, max(site.largest_job for site in self._sites), part)
        if self._sharing is None and (instance.largest_task_memory or PLACED & instance.features):
            refuse_unplaceable(narrowest, lambda job: max(site.most_tasks(job) for site in self._sites), part)
        gangs = dict.fromkeys(self._readiness.gang_of.values() if self._readiness is not None else ())
        whole = [gang.merged([self._jobs[j] for j in gang.members]) for gang in gangs]
        refuse_too_large(whole, max(site.largest_job for site in self._sites), part)
        refuse_unplaceable(whole, lambda job: max(site.most_tasks(job) for site in self._sites), part)

    @property
    def position(self) -> Position:
        """Position of the run."""
        waiting = sum(site.num_waiting for site in self._sites) + len(self._paused)
        now, ended, running = self._clock.now, self._ended, len(self._running)
        if self._pool is not None:
            now, ended, running, waiting, _ = self._pool.position
        return Position(now, ended, running, waiting, self._num_jobs - ended - running - waiting)

    def run(self) -> Run:
        """Simulate until all jobs have ended.

        Raises
        ------
        CoallocError
            If a policy asks for a start that is not possible, or leaves jobs waiting for ever.
        Exception
            What the code of a policy raises, with a note that says where the run was.
        Interrupted
            At Ctrl-C.
        """
        with self.watched():
            self.begin()
            if not self.run_in_pool():
                self.go_on()
        return self.facts(range(len(self._jobs)))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Stop at Ctrl-C whoever catches it, and say where the run was when something is raised."""
        try:
            with noted_interrupts() as self._interrupts:
                yield
        except KeyboardInterrupt as interrupt:
            raise interrupt if isinstance(interrupt, Interrupted) else Interrupted(self.position) from None
        except PolicyError:
            raise
        except Exception as error:
            error.add_note(str(self.position))
            raise

    def go_on(self, until: float = math.inf) -> None:
        """Let the policies decide at all passes up to a time, s."""
        while (site := self.next_pass(until)) is not None:
            self.decide(site)

    def run_in_pool(self) -> bool:
        """Run it to its end in the engine, where it is a run of :class:`PoolRun`; return whether it is."""
        rules = self._pool_rules()
        if rules is None:
            return False
        self._pool = run = self._pool_run(rules)
        next_report = ALL if self._report is None else PASSES_PER_REPORT
        while run.go(next_report):
            if self._interrupts.have_come:
                raise KeyboardInterrupt
            if self._report is not None and run.position.instants == next_report:
                self._report(self.position)
                next_report += PASSES_PER_REPORT
        facts, self._pool = run.facts(), None
        del run  # and its memory, before processors are named
        self.take_over(facts)
        return True

    def pool_by_hand(self) -> PoolRun | None:
        """Return a run in the engine whose starts the caller chooses, where the whole run is possible there."""
        return self._pool_run(None) if self._follows_from_jobs and self._sites[0].is_pool else None

    def _pool_run(self, rules: QueueRules | None) -> PoolRun:
        """Return the run of the only site in the engine."""
        (site,) = self._sites
        classes = site.filling(rules.allocation) if rules is not None else site.filling()
        assert classes is not None
        are = {"is_per_event": self._is_per_event, "are_killed": self._kill}
        return PoolRun(self._instance, classes, rules, site.state, **are)

    def take_over(self, facts: PoolFacts) -> None:
        """Be where a run in the engine is that is over."""
        self._ended = self._num_jobs
        self._killed = set(facts.killed.tolist())
        for known in (self._present, self._running, self._ends, self._homes):
            known.clear()
        self._clock.finish(facts.now)
        self._sites[0].finish(facts.passes, facts.pass_seconds, facts.longest_pass)
        self._record = Record.of_all(facts.starts, facts.ends, facts.processors())

    @property
    def _follows_from_jobs(self) -> bool:
        """Whether the whole run follows from its jobs and what is decided, and has not begun."""
        site = self._sites[0]
        has_more = self._failures or self._router or self._readiness or self._is_moldable or site.power or site.outlook
        is_new = not self._is_disturbed and not site.num_decisions
        loads_links = self._contention.is_possible and some_has(self._jobs, "task_bandwidth")
        return site.is_whole and self._is_plain and is_new and not (has_more or loads_links)

    def _pool_rules(self) -> QueueRules | None:
        """Return the rules by which the whole run follows from its jobs; None where more matters, or it has begun."""
        policy = self._sites[0].policy
        if not self._follows_from_jobs:
            return None
        is_own = "queue_rules" in vars(type(policy))  # what inherits them may decide otherwise
        rules = policy.queue_rules if is_own and isinstance(policy, StatesRules) else None
        if not isinstance(rules, QueueRules):  # a policy of a user may mean something else by it
            return None
        return None if self._sites[0].filling(rules.allocation) is None else rules

    def facts(self, jobs: Sequence[int]) -> Run:
        """Return what has happened to some jobs, all of which have ended, in their order."""
        starts, ends, processors = self._record.of(jobs)
        place = (
            {index: place for place, index in enumerate(jobs)}
            if self._killed or self._shapes or self._interrupted
            else {}
        )
        return Run(
            starts,
            ends,
            processors,
            frozenset(place[index] for index in self._killed if index in place),
            {place[index]: shape for index, shape in self._shapes.items()},
            [(place[run[0]], *run[1:]) for run in self._interrupted],
            sum(site.num_decisions for site in self._sites),
            sum(site.decision_total for site in self._sites),
            max(site.decision_max for site in self._sites),
        )

    @property
    def _interrupted(self) -> list[tuple[int, float, float, Processors, Cause]]:
        """The runs that were interrupted, in order of their ends, then of their starts."""
        causes: dict[Cause, Record] = {"failure": self._failed, "preemption": self._preempted}
        causes["suspension"] = self._suspended
        return sorted(((*run, cause) for cause, record in causes.items() for run in record), key=itemgetter(2, 1, 0))

    def _made(self, partitions: Sequence[Partition], instance: Instance, rng: np.random.Generator) -> list[Site]:
        """Return the sites of the run; raises where they share a cluster."""
        sites = [
            Site(
                number,
                partition,
                instance.platform,
                self._clock,
                contention=self._contention,
                rng=rng,
                task_memory=0.0 if self._sharing else instance.largest_task_memory,
                is_choosy=bool({"eligible", "requires"} & instance.features),
                is_spread=bool(SPREADING & instance.features),
                is_timed="times" in instance.features,
                takers=instance.jobs if instance.resources_asked else (),
                is_moldable=self._is_moldable,
                running=instance.running,
                sharing=self._sharing,
                past=self._past,
            )
            for number, partition in enumerate(partitions)
        ]
        taken: dict[str, Site] = {}
        for site in sites:
            for cluster in site.state.platform.clusters:
                other = taken.setdefault(cluster.name, site)
                if other is not site:
                    raise CoallocError(
                        f"cluster {quoted(cluster.name)} must be in one site, got {quoted(other.name)} and "
                        f"{quoted(site.name)}"
                    )
        return sites

    # -------------------------------------------------------------------------- from pass to pass

    def begin(self) -> None:
        """Let policies and router begin a run."""
        for site in self._sites:
            site.begin()
        if isinstance(self._router, HearsBeginning):
            self._router.begin(self._sites)

    def next_pass(self, until: float = math.inf) -> Site | None:
        """Go on to the next scheduling pass, and return its site.

        Returns None where all jobs have ended, or there is no pass up to a time (s), to which the clock goes.
        """
        clock, sites, running, handle = self._clock, self._sites, self._running, self._handle
        is_followed, is_bounded = self._report is not None or self._sharing is not None, until < math.inf
        while True:
            for site in sites:
                if site.is_due:
                    site.is_due = False
                    if site.has_jobs and (site.power is None or site.is_up):
                        self._is_open = True
                        return site
            if is_followed and self._is_open:
                self._end_instant()
            if not running and not self._reserved_jobs:
                if self._ended == self._num_jobs:
                    return None
                self._refuse_idleness()
            if is_bounded and clock.next_time() > until:
                clock.now = max(clock.now, until)
                return None
            if not clock.advance(handle):
                if self._ended < self._num_jobs:
                    raise self.stuck()
                return None
            self._is_open = True
            if self._is_per_event:
                self._end_as_estimated()

    def _end_instant(self) -> None:
        """Let shared nodes settle after all that has happened at an instant, and report where the run is."""
        self._is_open = False
        if self._sharing is not None:
            self._expect(self._progress.updated(self._sharing.settle(), self._clock.now))
        self._num_instants += 1
        if self._report is not None and self._num_instants % PASSES_PER_REPORT == 0:
            self._report(self.position)

    def decide(self, site: Site) -> None:
        """Let the policy of a site decide, and do what it says."""
        try:
            try:
                decisions = site.decide()
                if self._interrupts.have_come:  # whoever has caught them
                    raise KeyboardInterrupt
            except KeyboardInterrupt:
                raise Interrupted(self.position, type(site.policy).__name__) from None
            self._do(site, decisions)
        except DecisionError as error:
            raise self._fault(site, str(error)) from None

    def carry_out(self, site: Site, decisions: Sequence[object]) -> None:
        """Do what somebody else than its policy decided for a site, or raise and do nothing."""
        self._is_disturbed = True
        try:
            if len(decisions) > 1 or not self._is_steady or self._readiness is not None:
                trial = self.copied(lambda policy: policy, is_trial=True)
                trial._do(trial.sites[site.number], decisions)
            self._do(site, decisions)
        except DecisionError as error:
            raise self._fault(site, str(error)) from None

    def _do(self, site: Site, decisions: Iterable[object]) -> None:
        """Do what was decided for a site."""
        num_starts, num_wakes = 0, 0
        for decision in decisions:
            if isinstance(decision, Start):
                self._start(site, decision)
                num_starts += 1
            elif isinstance(decision, Preempt):
                self._preempt(site, decision)
            else:
                self._clock.wake(site.number, wake_time(decision, self._clock.now))
                num_wakes += 1
        num_waiting = len(site.queue)  # those that start now are still in it
        if num_wakes > num_waiting:
            raise DecisionError(
                f"decide(state) may return at most {num_waiting} coalloc.extend.Wake, one per waiting job, got more"
            )
        if num_starts:
            self._idle_instants = 0
            site.leave_queue()

    def _preempt(self, site: Site, decision: Preempt) -> None:
        """Suspend a running job, or let it join the queue again, as a policy says, unless it ends at this instant."""
        found = (i for i, run in self._running.items() if run.job.id == decision.job_id and self._home(i) is site)
        index, first = next(found, None), len(self._jobs)
        name = quoted(str(decision.job_id))
        if index is None:
            raise DecisionError(f"the policy preempted job {name}, which is not running")
        if first <= index < first + len(self._instance.running):
            raise DecisionError(f"the policy preempted job {name}, which runs until its given end")
        if self._running[index].start >= self._clock.now:
            raise DecisionError(f"the policy preempted job {name}, which has started at this very time")
        if self._sharing is not None or "lags" in self._instance.features:
            raise DecisionError("time-shared nodes and lags do not support preemption")
        if self._ends[index] <= self._clock.now + self._clock.tolerance:
            self._finish(index, site)
        elif decision.suspend:
            self._suspend(index, site)
        else:
            self._requeued(index, site, self._preempted)
            self._arrive(index)

    def _suspend(self, index: int, site: Site) -> None:
        """Let a job stand still, and record its run."""
        if self._failures or site.outlook or site.power:
            raise DecisionError("node failures, windows, reservations and power states do not support suspension")
        if not knows_suspension(site.policy):
            raise DecisionError("a policy that suspends jobs must list 'suspension' in its supported_features")
        if not site.keeps_memory:
            raise DecisionError("a policy that suspends jobs must have suspends = True where jobs require memory")
        now, running = self._clock.now, self._running.pop(index)
        self._note(self._suspended, index, site, running, now)
        self._paused[index] = self._ends.pop(index) - now
        self._clock.expect_end(index, math.inf, now, now)
        self._expect(self._progress.pause(index, now))
        site.suspend(running)

    def _resume(self, site: Site, start: Start, index: int) -> None:
        """Let a suspended job go on: its end moves by the time that it stood still."""
        now, running = self._clock.now, site.resume(start)
        self._running[index], left = running, self._paused.pop(index)
        if self._progress.is_paused(index):
            self._expect(self._progress.resume(index, site.on_platform(running.processors), now))
        else:
            self._ends[index] = now + left
            self._clock.expect_end(index, now + left, now, running.job.arrival)

    def _refuse_idleness(self) -> None:
        """Raise where a policy puts jobs off, again and again, though nothing runs."""
        self._idle_instants += 1
        if self._idle_instants <= MAX_IDLE_INSTANTS:
            return
        site = next((site for site in self._sites if site.has_jobs), None)
        if site is not None:
            raise self._fault(
                site,
                f"the policy never starts the waiting jobs ({site.num_waiting}): no job has run, arrived or started "
                f"in {MAX_IDLE_INSTANTS:,} consecutive scheduling passes",
            )

    def _past(self, site: Site) -> Iterator[Use]:
        """Yield what jobs of a site have used that have ended."""
        first = len(self._jobs)
        for index, start, end, processors in chain(self._record, self._failed, self._preempted, self._suspended):
            if site.has(processors):
                known = self._others.get(index)
                if known is None:
                    known = self._jobs[index] if index < first else self._instance.running[index - first].job
                yield Use(known.user, processors.bit_count(), start, end)

    # -------------------------------------------------------------------------- jobs that come, change and go

    @property
    def now(self) -> float:
        """The clock, s."""
        return self._clock.now

    @property
    def is_over(self) -> bool:
        """Whether all jobs have ended."""
        return self._ended == self._num_jobs

    @property
    def can_go_on(self) -> bool:
        """Whether something is still to happen."""
        return self._clock.next_time() < math.inf or any(site.is_due for site in self._sites)

    def submit(self, job: Job) -> int:
        """Take in a job that arrives now or later; return its index."""
        self._is_disturbed = True
        self._refuse_unable(job)
        index, self._next_index = self._next_index, self._next_index + 1
        self._num_jobs += 1
        self._others[index] = job
        self._arrange(index, job)
        return index

    def change(self, index: int, job: Job) -> None:
        """Let a job be another that has not started: one that waits joins the queue again."""
        self._is_disturbed = True
        self._refuse_tied(index)
        self._refuse_unable(job)
        self._remove(index)
        self._others[index] = job
        self._arrange(index, job)

    def cancel(self, index: int) -> bool:
        """Kill a job if it runs, else let it never have been; return whether it ran."""
        self._is_disturbed = True
        if index in self._running:
            site = self._home(index)
            self._stop(site, index)
            site.is_due = True
            return True
        self._refuse_tied(index)
        self._remove(index)
        self._num_jobs -= 1
        return False

    def stage(self, index: int) -> Stage:
        """Return how far a job is."""
        if index in self._running:
            return "running"
        if index in self._paused:
            return "suspended"
        if index in self._present:
            return "waiting"
        return "ended" if self._record.has(index) else "coming"

    def _arrange(self, index: int, job: Job) -> None:
        """Let a job arrive when it says, or now."""
        if job.arrival <= self._clock.now:
            self._arrive(index)
        else:
            self._clock.expect_arrival(index, job.arrival)

    def _remove(self, index: int) -> None:
        """Take a job off the queue, or let it not arrive."""
        if self.stage(index) == "waiting":
            self._home(index).withdraw(self._present.pop(index).id)
        else:
            self._clock.forget_arrival(index)

    def _refuse_unable(self, job: Job) -> None:
        """Raise for a job that could never start."""
        part = self._sites[0].policy.scope if len(self._sites) == 1 else "site"
        narrowest = [min(job.in_shapes, key=lambda shape: shape.tasks)]
        refuse_too_large(narrowest, max(site.largest_job for site in self._sites), part)
        if self._sharing is None:
            refuse_unplaceable(narrowest, lambda job: max(site.most_tasks(job) for site in self._sites), part)

    def _refuse_tied(self, index: int) -> None:
        """Raise for a job that has not started and waits for others, or others for it, or that a broker has placed.

        One that was interrupted has to start again as it is.
        """
        ready = self._readiness
        tied = ready is not None and (index in ready.waits or index in ready.gang_of or ready.is_awaited(index))
        if any(index == interrupted for interrupted, *_ in self._interrupted):
            raise CoallocError("the job cannot be changed or cancelled while it waits to start again")
        if tied or (self._router is not None and self.stage(index) == "waiting"):
            why = "it waits for other jobs, or others for it" if tied else "a broker has assigned it to a site"
            raise CoallocError(f"the job cannot be changed or cancelled before it starts: {why}")

    # -------------------------------------------------------------------------- what happens

    def _arrive_if_ready(self, index: int) -> None:
        """Let a job arrive at a site, unless it waits for others or for a lag; the last of a gang brings the gang."""
        assert self._readiness is not None
        self._idle_instants = 0
        if self._readiness.waits.get(index):
            self._held_back.add(index)
            return
        ready, gang = self._readiness.ready.get(index, 0.0), self._readiness.gang_of.get(index)
        if ready > self._clock.now:
            self._clock.expect_arrival(index, ready)
        elif gang is None:
            self._arrive(index)
        else:
            self._arrived.add(index)
            if self._arrived.issuperset(gang.members):
                self._arrive_together(gang)

    def _arrive(self, index: int) -> None:
        """Let a job arrive at a site."""
        self._idle_instants = 0
        job, site = self._described(index), self._sites[0]
        if self._router is not None:
            site = self._routed(job, self._router)
            self._homes[index] = site.number
        site.arrive(index, job)

    def _arrive_together(self, gang: Gang) -> None:
        """Let the jobs of a gang arrive at a site as one."""
        members = list(map(self._described, gang.members))
        whole, site = gang.merged(members), self._sites[0]
        if self._router is not None:
            site = self._routed(whole, self._router)
            self._homes |= dict.fromkeys(gang.members, site.number)
        site.arrive_together(gang.members, members, whole)

    def _described(self, index: int) -> Job:
        """Return a job that arrives, as its user describes it."""
        if self._seen is not None and index not in self._others:
            seen = self._present[index] = self._seen[index]
            return seen
        job = self._present[index] = self._others.get(index) or self._jobs[index]
        return as_described(job)

    def _base_time(self, index: int, job: Job) -> float:
        """Return the true reference run time of a job, s; ``job`` may be as its user describes it."""
        return job.base_time if self._seen is None or index in self._others else self._base_times[index]

    def _routed(self, job: Job, router: Router) -> Site:
        """Return the site to which the router sends a job."""
        site = router.route(self._sites, job)
        if site not in self._sites:
            raise PolicyError(f"the router sent job {quoted(job.id)} to an unknown site", self.position)
        if job.tasks > site.most_tasks(job):
            memory = f", {job.memory:g} MB each" if job.tasks <= site.largest_job else ""
            raise PolicyError(
                f"the router sent job {quoted(job.id)} ({job.tasks} tasks{memory}) to site {quoted(site.name)}, "
                f"which has room for {site.most_tasks(job)} tasks",
                self.position,
            )
        return site

    def _end(self, index: int) -> None:
        """End a job; one that counts as finished already only has its pass."""
        site = self._sites[self._homes.get(index, 0)]
        site.is_due = True
        if index in self._running:
            self._finish(index, site)
        elif index in self._reserved:
            self._reserved.remove(index)
            del self._reserved_jobs[index], self._ends[index]
            self._ended += 1
            if index in self._progress.members:
                self._expect(self._progress.end(index, self._clock.now))
            self._let_follow(index, "end")

    def _home(self, index: int) -> Site:
        """Return the site of a job that is there."""
        return self._sites[self._homes.get(index, 0)]

    def _finish(self, index: int, site: Site) -> None:
        self._present.pop(index, None)
        self._ended += 1
        self._release(index, site, self._record)
        if self._readiness is not None:
            self._let_follow(index, "end")

    def _release(self, index: int, site: Site, record: Record) -> None:
        """Free what a job holds, and record its run."""
        running = self._running.pop(index)
        self._note(record, index, site, running, self._ends.pop(index))
        if index in self._progress.members:
            self._expect(self._progress.end(index, self._clock.now))
        site.end(running)
        if self._hears_ends is not None:
            self._hears_ends.ended(site, running)

    def _note(self, record: Record, index: int, site: Site, running: Running, end: float) -> None:
        """Record a run until ``end`` (s)."""
        processors = running.processors if site.is_whole else site.on_platform(running.processors)
        if len(self._known_processors) > MAX_KNOWN:
            self._known_processors.clear()
        record.add(index, running.start, end, self._known_processors.setdefault(processors, processors))

    def _let_follow(self, index: int, event: Event) -> None:
        """Let the jobs arrive that have waited for a job alone; after a start, which others follow, in a later pass."""
        if self._readiness is None:
            return
        for follower in self._readiness.happened(index, event, self._clock.now):
            if follower in self._held_back:
                self._held_back.remove(follower)
                if event == "start":
                    self._clock.expect_arrival(follower, self._clock.now)
                else:
                    self._arrive_if_ready(follower)

    def _end_as_estimated(self) -> None:
        """End the jobs whose estimated end has come, if they do end now."""
        now = self._clock.now
        due = [
            index
            for index, running in self._running.items()
            if running.estimated_end <= now and self._ends[index] <= now
        ]
        for index in due:
            self._finish(index, self._home(index))

    def _change(self, change: Change) -> None:
        """Let something happen outside; who has processors there may decide anew."""
        if isinstance(change, Shutting):
            self._shut_or_reopen(self._sites[change.site], change)
        elif isinstance(change, Reserved):
            self._begin_reserved(change)
        elif isinstance(change, Failing):
            self._fail_or_repair(change)
        self._expect(self._progress.change(change, self._clock.now))
        for site in self._sites:
            site.is_due |= bool(site.of_platform(change.processors))

    def _shut_or_reopen(self, site: Site, change: Shutting) -> None:
        """Let a part of a site not be there from now on, and kill what still runs there; or let it be there again."""
        if change.is_leaving:
            site.reopen(change.closing)
            return
        gone = site.overstaying(change.closing)
        for index in [index for index, running in self._running.items() if running in gone]:
            self._stop(site, index)
        site.shut(change.closing)

    def _fail_or_repair(self, change: Failing) -> None:
        """Let nodes fail, with the jobs that run there, or be there again."""
        stopped = list[int]()
        for site in self._sites:
            own = site.of_platform(change.processors)
            if change.is_leaving:
                site.repair(own)
                continue
            running = [i for i, run in self._running.items() if run.processors & own and self._home(i) is site]
            stopped += [index for index in running if self._interrupt(site, index)]
            site.fail(own)
        for index in stopped:
            self._arrive(index)

    def _interrupt(self, site: Site, index: int) -> bool:
        """Stop a job, unless it ends by itself at this instant; return whether it has to join the queue again."""
        now = self._clock.now
        if not self._requeue or self._ends[index] <= now + self._clock.tolerance:
            self._stop(site, index)
            return False
        self._requeued(index, site, self._failed)
        return True

    def _requeued(self, index: int, site: Site, record: Record) -> None:
        """Let a job run no more that has to arrive again; record its run."""
        now = self._clock.now
        self._ends[index] = now
        self._killed.discard(index)
        self._shapes.pop(index, None)
        self._clock.expect_end(index, math.inf, now, now)
        self._release(index, site, record)

    def _begin_reserved(self, change: Reserved) -> None:
        """Let a running job that starts later load its links from now on."""
        self._reserved.add(change.index)
        affected = self._progress.hold(change.index, *self._reserved_jobs[change.index])
        self._expect(self._progress.updated(affected or (), self._clock.now))
        self._let_follow(change.index, "start")

    def _stop(self, site: Site, index: int) -> None:
        """Kill a job, unless it ends by itself at this instant."""
        now = self._clock.now
        if self._ends[index] > now + self._clock.tolerance:
            self._killed.add(index)
            self._ends[index] = now
            self._clock.expect_end(index, math.inf, now, now)
        self._finish(index, site)

    def _wake(self, number: int) -> None:
        self._sites[number].is_due = True

    # -------------------------------------------------------------------------- starts and ends

    def _start(self, site: Site, start: Start) -> None:
        """Start a job, or a gang, as a policy says, or resume a suspended job, if that is possible."""
        for index in self._paused:
            if self._present[index].id == start.job_id and self._home(index) is site:
                self._resume(site, start, index)
                return
        if self._readiness is None:
            self._begin_job(site, *site.start(start))
            return
        for index, running, slowdown in site.start_together(start):
            self._begin_job(site, index, running, slowdown)
            self._let_follow(index, "start")

    def _begin_job(self, site: Site, index: int, running: Running, slowdown: float) -> None:
        """Let a job run that holds its processors."""
        self._running[index] = running
        job = self._present[index]
        if job.shapes:
            job = self._take_shape(index, running)
        if self._is_steady:
            seconds = self._base_time(index, job) * execution_slowdown(job, slowdown)
            self._expect_end(index, running, running.start + seconds)
        else:
            kinds = site.kinds(job, running.counts) if job.times else ()
            processors = site.on_platform(running.processors)
            self._expect(self._progress.begin(index, job, processors, slowdown, running.start, kinds=kinds))
        if self._hears_starts is not None:
            self._hears_starts.started(site, running)

    def _take_shape(self, index: int, running: Running) -> Job:
        """Note the shape in which a job has started, and return the rigid job that it is from now on."""
        shapes = self._present[index].in_shapes
        number = next(n for n, shape in enumerate(shapes) if shape.tasks == running.job.tasks)
        self._shapes[index], self._present[index] = number, shapes[number]
        return shapes[number]

    def _expect(self, ends: Ends) -> None:
        """Expect jobs to end; refuse one that never would."""
        for index, end in ends:
            if end == math.inf and self._contention.stops(index, self._present[index]):
                raise self._fault(
                    self._home(index),
                    f"job {quoted(self._present[index].id)} uses a link without bandwidth and would never end; "
                    "give the link a bandwidth or use a policy that respects link capacities",
                )
            self._expect_end(index, self._running[index], end)

    def _expect_end(self, index: int, running: Running, end: float) -> None:
        """Expect a job that runs to end at ``end`` (s), at its limit at the latest where jobs are killed."""
        expected = self._limited(index, end, running.estimated_end) if self._kill else end
        self._ends[index] = expected
        self._clock.expect_end(index, expected, running.start, running.job.arrival)

    def _limited(self, index: int, end: float, limit: float) -> float:
        """Return when a job ends that is killed at its limit (s), and note whether it is."""
        is_late = end > limit + self._clock.base.tolerance_at(limit)
        (self._killed.add if is_late else self._killed.discard)(index)
        return max(limit, self._clock.now) if is_late else end

    def _with_unavailable(self, changes: Iterable[Change], instance: Instance) -> Iterable[Change]:
        """Return changes with those of what is unavailable: windows, reservations and failures."""
        if {"unavailable", "start"} & instance.features:
            changes = merge(changes, self._closing_changes(instance), key=lambda change: change.time)
        if self._failures:
            failing = failing_changes(instance, self._failures)
            changes = merge(changes, failing, key=lambda change: change.time)
        return changes

    def _closing_changes(self, instance: Instance) -> Iterator[Change]:
        """Yield when what is not there, and when running jobs begin that start later, in order of time."""
        changes: list[Change] = [shutting for site in self._sites for shutting in site.shuttings()]
        for index, run in enumerate(instance.running, start=len(self._jobs)):
            if run.start > 0.0:
                changes.append(Reserved(run.start, False, self._reserved_jobs[index][1], index))
        yield from sorted(changes, key=lambda change: (change.time, not change.is_leaving))

    def _start_running_jobs(self, instance: Instance) -> None:
        """Let the jobs that run already hold their processors and load links until their given ends.

        Those that start later are expected to end; that their processors are not there for others is a closing.
        """
        for index, run in sorted(enumerate(instance.running, start=len(self._jobs)), key=lambda entry: -entry[1].end):
            processors = processors_of(instance.platform.processor_index[name] for name in run.nodes)
            site = next((site for site in self._sites if site.has(processors)), None)
            if site is None:
                raise CoallocError(f"running job {quoted(run.job.id)} must be within one site")
            if run.start > 0.0:
                self._reserve(index, run, site, processors)
                continue
            self._homes[index], self._running[index] = site.number, site.occupy(run.job, processors, run.end)
            self._ends[index] = run.end
            self._progress.hold(index, run.job, processors)
            self._clock.expect_end(index, run.end, 0.0, run.job.arrival)

    def _reserve(self, index: int, run: RunningJob, site: Site, processors: Processors) -> None:
        """Note a running job that starts later."""
        self._homes[index], self._reserved_jobs[index] = site.number, (run.job, processors)
        self._ends[index] = run.end
        self._clock.expect_end(index, run.end, run.start, run.job.arrival)

    # -------------------------------------------------------------------------- faults

    def _fault(self, site: Site, sentence: str) -> PolicyError:
        """Return an error about the policy of a site."""
        of_site = f"site {quoted(site.name)}: " if len(self._sites) > 1 else ""
        return PolicyError(of_site + sentence, self.position)

    def stuck(self) -> PolicyError:
        """Return why jobs run or wait though nothing comes any more."""
        site = next((site for site in self._sites if site.has_jobs), None)
        if self._running or site is None:
            index, running = next(iter(self._running.items()))
            return self._fault(self._home(index), f"job {quoted(running.job.id)} runs without progress and never ends")
        if not site.queue:
            name = quoted(site.suspended[0].job.id)
            return self._fault(site, f"the policy never resumes the suspended job {name}, and nothing else will happen")
        head = site.state.queue[0]
        return self._fault(
            site,
            f"the policy never starts the waiting jobs ({site.num_waiting}): the platform is empty, no job will "
            f"arrive, and it does not start job {quoted(head.id)} ({head.tasks} tasks) on "
            f"{site.state.platform.num_processors} processors",
        )


def _seen_columns(jobs: Sequence[Job], *, is_steady: bool) -> Columns[Job] | None:
    """Return jobs in columns as their users describe them; None where they are few, or say more than one time."""
    if not (is_steady and isinstance(jobs, Columns)) or "shapes" in jobs.names:
        return None
    of = {name: jobs.column(name) for name in jobs.names}
    return Columns(Job, {**of, "base_time": jobs.column("estimate")})
