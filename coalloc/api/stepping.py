"""``Simulation``: an instance over time, step by step: somebody else decides, or a policy, or both in turn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from coalloc.documents.arguments import Seed, public, require
from coalloc.documents.text import quoted
from coalloc.heuristics.classics import less
from coalloc.heuristics.over_time import Filling, ShapeFilling
from coalloc.heuristics.registry import policy_named
from coalloc.heuristics.snapshots import snapshot
from coalloc.instance import CoallocError, Instance, Job, UnsupportedFeature, as_resources
from coalloc.problem.allocation import Allocation, Scope
from coalloc.schedule import Failure
from coalloc.simulator.clock import Passes
from coalloc.simulator.decisions import Preempt, Start, Wake, shown
from coalloc.simulator.engine import PolicyError, Position
from coalloc.simulator.policy import INTERRUPTED, SUSPENSION, ChoosesShapes, Copying, Policy, State, knows_suspension
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.routing import RUNNABLE, Broker
from coalloc.simulator.simulation import engine_for, refuse_policy, result_of
from coalloc.simulator.site import Site

ReportPosition = Callable[[Position], None]
Decision = str | Start | Wake | Preempt | Iterable[str | Start | Wake | Preempt]
"""Jobs that start now, by their ids or as starts, and times of further passes."""

BY_HAND = "by hand"
"""Name of what decides where no policy does."""

UNEXPECTED = "no job of the instance uses it, and the run was made for its jobs"
"""Why a job that is submitted may not use a feature."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """The policy of a run for which somebody else decides: it waits."""

    scope: Scope
    shares_nodes: bool = True
    chooses_shapes: bool = True
    supported_features: frozenset[str] = INTERRUPTED | {SUSPENSION}

    def decide(self, _: State) -> list[Start | Wake]:
        """Start nothing."""
        return []


class Simulation:
    """A simulation that goes on step by step, can branch, and accepts jobs while it runs.

    It stands at a decision point: a time at which jobs wait, and something has happened. ``step`` carries out a
    decision and goes on to the next one; ``start`` carries it out and stays. ``coalloc.simulate`` is a loop over it.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    policy : str or Policy or Broker or None, default None
        What decides where ``step`` is not given a decision, and in ``run``. None: the caller decides.
    scope : {"platform", "cluster", "node"} or None, default None
        Where the tasks of one job may run. None: the scope of the policy; ``"platform"`` without a policy.
    failures : sequence of coalloc.results.Failure, default ()
        Failures of nodes.
    requeue : bool, default True
        Whether a job whose node fails joins the queue again; otherwise it is killed.
    passes : {"batch", "per-event"}, default "batch"
        As for ``coalloc.simulate``.
    kill : bool, default False
        Kill a job at its requested walltime.
    seed : int, default 0
        Seed of ``state.rng``.
    progress : callable or None, default None
        A function that receives ``coalloc.simulator.engine.Position`` objects.
    **policy_options
        Options of a policy given by name.

    Raises
    ------
    CoallocError
        The policy or an option is unknown, or the policy does not support the instance.

    See Also
    --------
    coalloc.simulate : Run an instance under a policy to its end.
    coalloc.extend.State : What is known at a decision point.

    Notes
    -----
    docs/howto/step-a-simulation.md shows rollouts, and jobs that are submitted, changed and cancelled.

    Examples
    --------
    The longest jobs that fit start first:

    >>> import coalloc
    >>> simulation = coalloc.Simulation(coalloc.example("pas-figure-3.3"))
    >>> while not simulation.finished:
    ...     state = simulation.state
    ...     for job in sorted(state.queue, key=lambda job: -job.estimate):
    ...         if job.tasks <= sum(state.free):
    ...             state = simulation.start(job.id)
    ...     state = simulation.step()
    >>> simulation.result().metrics["makespan"]
    455.0
    """

    @public
    def __init__(
        self,
        instance: Instance,
        policy: str | Policy | Broker | None = None,
        *,
        scope: Scope | None = None,
        failures: Sequence[Failure] = (),
        requeue: bool = True,
        passes: Passes = "batch",
        kill: bool = False,
        seed: Seed = 0,
        progress: ReportPosition | None = None,
        **policy_options: Any,
    ) -> None:
        if seed < 0:
            raise CoallocError(f"seed: must be an integer of at least 0, got {seed}")
        decider = ByHand(scope or "platform") if policy is None else policy
        options = policy_options if policy is None or scope is None else {**policy_options, "scope": scope}
        self._given, self._options = instance, options
        self._policy, self._name = chosen_policy(decider, options)
        self._rules: dict[str, Any] = {"passes": passes, "kill": kill, "seed": seed, "report": progress}
        self._rules |= {"failures": failures, "requeue": requeue}
        self.reset()

    def reset(self) -> State:
        """Begin anew, without the jobs that were submitted, and go on to the first decision point.

        Returns
        -------
        State
            The state there.
        """
        self._engine = engine_for(self._given, self._policy, name=self._name, **self._rules)
        self._numbers: dict[str, int] | None = None
        self._became: dict[int, Job | None] = {}
        self._is_broken, self._site = False, None
        with self._watched():
            self._engine.begin()
            self._site = self._engine.next_pass()
        return self.state

    # -------------------------------------------------------------------------- what is

    @property
    def state(self) -> State:
        """The known state: of the site that decides, where there are several. It is a live view of the simulation."""
        return (self._site or self._engine.sites[0]).state

    @property
    def now(self) -> float:
        """The clock, s."""
        return self._engine.now

    @property
    def finished(self) -> bool:
        """Whether all jobs have ended."""
        return self._engine.is_over

    @property
    def instance(self) -> Instance:
        """The instance as it is by now: with the jobs that were submitted or changed, without those cancelled."""
        if not self._became:
            return self._given
        return self._given.replace(jobs=[job for _, job in self._jobs()])

    def snapshot(self) -> Instance:
        """Return what is known now as an instance whose time 0 is now, for ``coalloc.solve`` or a simulation.

        Returns
        -------
        Instance
            The waiting jobs with their requested walltimes as run times, and the running jobs until their estimated
            ends. Failed nodes are held by a job ``failed nodes`` for a second: when they are repaired is unknown.
        """
        return snapshot(self.state, self.state.queue)

    # -------------------------------------------------------------------------- decisions

    def step(self, decision: Decision | None = None) -> State:
        """Carry out a decision now, and go on to the next decision point.

        Parameters
        ----------
        decision : str or Start or Wake or Preempt or iterable of them, default None
            Jobs that start or resume now, by id, in this order. ``coalloc.extend.Start`` says where a job starts; an id
            leaves that to the rule ``"fastest-first"``. Empty: wait. None: the policy decides; without one, wait.

        Returns
        -------
        State
            The state at the next decision point, or at the end.

        Raises
        ------
        CoallocError
            The decision is not possible, or nothing would ever happen again. The state is as before.
        """
        self._refuse_broken()
        site = self._site
        if site is None and self.finished:
            raise CoallocError("the simulation has finished; submit jobs or call reset()")
        if decision is None and self._decides:
            with self._watched():
                if site is not None:
                    self._engine.decide(site)
                self._site = self._engine.next_pass()
            return self.state
        site = self._carry_out(decision)
        if site.has_jobs and not self._engine.can_go_on:
            raise self._engine.stuck()
        with self._watched():
            self._site = self._next_after(site)
        return self.state

    def _next_after(self, site: Site) -> Site | None:
        """Return which site decides next: the same one, where all that still came are jobs that wait for its queue."""
        try:
            return self._engine.next_pass()
        except PolicyError:
            if not site.has_jobs:
                raise
            return site

    def start(self, decision: Decision) -> State:
        """Carry out a decision now, and stay at this decision point.

        Parameters
        ----------
        decision : str or Start or Wake or Preempt or iterable of them
            As for ``step``.

        Returns
        -------
        State
            The state now.

        Raises
        ------
        CoallocError
            The decision is not possible. The state is as before.
        """
        self._refuse_broken()
        self._carry_out(decision)
        return self.state

    @public
    def run(self, until: float = math.inf) -> State:
        """Let the policy decide up to a time, or to the end.

        Parameters
        ----------
        until : float, default inf
            The time, s: all that happens up to it has happened then, and the clock is there.

        Returns
        -------
        State
            The state then.

        Raises
        ------
        CoallocError
            There is no policy, or it requests a start that is not possible.
        KeyboardInterrupt
            At Ctrl-C.
        """
        self._refuse_broken()
        if not self._decides:
            raise CoallocError("run requires a policy: Simulation(instance, policy) or branch(policy)")
        with self._watched():
            if until == math.inf and self._engine.run_in_pool():
                self._site = None
            elif self._site is not None and self.now <= until:
                self._engine.decide(self._site)
                self._site = None
            self._engine.go_on(until)
        return self.state

    @public
    def branch(self, policy: str | Policy | None = None, **policy_options: Any) -> Simulation:
        """Return an independent simulation that goes on from here.

        Parameters
        ----------
        policy : str or Policy or None, default None
            What decides in the branch from now on. None: a copy of the policy of this simulation.
        **policy_options
            Options of a policy given by name.

        Returns
        -------
        Simulation
            The branch; neither changes the other. True run times are the same in both.

        Raises
        ------
        CoallocError
            The policy keeps a state and has no ``copy()``, or the new one does not support the instance.
        """
        self._refuse_broken()
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__
        twin._became = self._became.copy()
        twin._numbers = None if self._numbers is None else self._numbers.copy()
        if policy is None:
            twin._engine = self._engine.copied(_copied)
            if not isinstance(self._policy, Broker):
                twin._policy = twin._engine.sites[0].policy
        else:
            chosen, twin._name = chosen_policy(policy, policy_options)
            taking_over = self._refuse_other(chosen, twin._name)
            twin._policy, twin._options = taking_over, policy_options
            twin._engine = self._engine.copied(lambda _: taking_over)
            twin._engine.begin()
        twin._site = None if self._site is None else twin._engine.sites[self._site.number]
        return twin

    # -------------------------------------------------------------------------- jobs that come, change and go

    def submit(self, job: Job) -> None:
        """Add a job that arrives now, or later.

        Parameters
        ----------
        job : Job
            The job. An id that is new, an arrival that is not before ``now``.

        Raises
        ------
        CoallocError
            The id is known, the arrival has passed, the job can never start, or it uses a modelling feature, such as
            ``after`` or ``resources``, that is not supported for a submitted job.
        """
        self._refuse_broken()
        require("job", Job, job)
        if job.id in self._number_of():
            raise CoallocError(f"submit: job id {quoted(job.id)} is in use")
        if job.arrival < self.now:
            raise CoallocError(
                f"submit: job {quoted(job.id)} arrives at {job.arrival:.12g} s, before the clock ({self.now:.12g} s)"
            )
        index = self._engine.submit(self._admitted(job, "submit"))
        self._number_of()[job.id] = index
        self._became[index] = job
        self._settle()

    def cancel(self, job_id: str) -> None:
        """Cancel a job: one that runs is killed, another leaves the instance.

        Parameters
        ----------
        job_id : str
            Its id.

        Raises
        ------
        CoallocError
            No such job, it has ended, or other jobs wait for it.
        """
        index = self._known(job_id, "cancel")
        if self._engine.stage(index) == "ended":
            raise CoallocError(f"cancel: job {quoted(job_id)} has ended")
        if not self._engine.cancel(index):
            self._became[index] = None
            del self._number_of()[job_id]
        self._settle()

    def change(self, job_id: str, **changes: Any) -> None:
        """Change a job that has not started; one that waits joins the queue again, behind the others.

        Parameters
        ----------
        job_id : str
            Its id.
        **changes
            Fields of ``coalloc.Job`` and their new content; ``arrival`` only of a job that has not arrived.

        Raises
        ------
        CoallocError
            No such job, it has started, other jobs wait for it, or it could never start as changed.
        """
        index = self._known(job_id, "change")
        stage, before = self._engine.stage(index), self._became.get(index) or self._given.job_by_id[job_id]
        if stage in ("running", "ended"):
            raise CoallocError(f"change: job {quoted(job_id)} has started")
        job = before.replace(**changes)
        if job.id != job_id or (job.arrival != before.arrival and (stage == "waiting" or job.arrival < self.now)):
            raise CoallocError(f"change: job {quoted(job_id)} keeps its id, and an arrival that has passed")
        self._engine.change(index, self._admitted(job, "change"))
        self._became[index] = job
        self._settle()

    def result(self) -> SimulationResult:
        """Return the schedule, checked against the instance as it is by now, and its metrics.

        Returns
        -------
        SimulationResult
            As from ``coalloc.simulate``.

        Raises
        ------
        CoallocError
            Some jobs have not ended.
        """
        if not self.finished:
            raise CoallocError(f"the simulation has not finished: {self._engine.position}")
        instance, sites = self.instance, self._engine.sites
        run = self._engine.facts([index for index, _ in self._jobs()] if self._became else range(len(instance.jobs)))
        is_managed = all(site.power is not None for site in sites)
        return result_of(
            instance,
            run,
            self._policy,
            self._name,
            self._options,
            failures=self._rules["failures"],
            is_managed=is_managed,
        )

    # -------------------------------------------------------------------------- what the methods share

    @property
    def _decides(self) -> bool:
        """Whether a policy decides."""
        return not isinstance(self._policy, ByHand)

    def _jobs(self) -> Iterator[tuple[int, Job]]:
        """Yield the jobs by now, with their indices in the engine."""
        for index, given in enumerate(self._given.jobs):
            job = self._became.get(index, given)
            if job is not None:
                yield index, job
        for index, job in sorted(self._became.items()):
            if job is not None and index >= len(self._given.jobs):
                yield index, job

    def _number_of(self) -> dict[str, int]:
        """Return the indices of the jobs by id."""
        if self._numbers is None:
            names = [job.id for job in self._given.jobs] + [run.job.id for run in self._given.running]
            self._numbers = {name: index for index, name in enumerate(names)}
        return self._numbers

    def _known(self, job_id: str, method: str) -> int:
        """Return the index of a job that is not cancelled."""
        self._refuse_broken()
        require("job_id", str, job_id)
        index = self._number_of().get(job_id)
        first = len(self._given.jobs)
        if index is None or first <= index < first + len(self._given.running):
            raise CoallocError(f"{method}: the simulation has no job {quoted(job_id)} of its own")
        return index

    def _admitted(self, job: Job, method: str) -> Job:
        """Return a job as the engine takes it; raises for one for which the run was not made."""
        alone = self._given.replace(jobs=[job.replace(after=(), lags=())], running=())
        lowered = as_resources(alone)
        unexpected = alone.features - self._given.features - {"deadline"}
        unexpected |= {name for name in ("after", "lags") if getattr(job, name)}
        if lowered.resources_asked:
            unexpected |= {"resources"}
        if unexpected:
            raise UnsupportedFeature(f"{method} of a simulation", sorted(unexpected), UNEXPECTED)
        if (job.memory or 0.0) > self._given.largest_task_memory:
            raise CoallocError(
                f"{method}: job {quoted(job.id)} requires {job.memory:g} MB of memory per task, more than any job of "
                "the instance"
            )
        chooses = isinstance(self._policy, ChoosesShapes) and self._policy.chooses_shapes
        return lowered.jobs[0] if chooses else lowered.jobs[0].in_shapes[0]

    def _settle(self) -> None:
        """Go on from a change of jobs: a decision point where nobody waits is none, and the pass of now is to come."""
        site = self._site
        if site is not None:
            site.is_due = False
            if not site.has_jobs:
                with self._watched():
                    self._site = self._engine.next_pass()

    def _carry_out(self, decision: Decision | None) -> Site:
        """Do what the caller decides at a site; return the site."""
        asked, sites = _listed(decision), self._engine.sites
        site = self._site or next((site for site in sites if site.waits(_job_of(asked))), sites[0])
        self._engine.carry_out(site, self._starts(site, asked))
        return site

    def _starts(self, site: Site, asked: Sequence[str | Start | Wake | Preempt]) -> list[object]:
        """Return a decision for a site with all its starts placed; raises where a job does not fit now."""
        decisions: list[object] = []
        state, room, filling = site.state, site.state.room, None
        if state.has_closings or state.is_moldable:
            make = ShapeFilling if state.is_moldable else Filling
            filling = make(state, state.allocator("fastest-first"))
        queue = {job.id: job for job in state.queue} if asked else {}
        for part in asked:
            start = Start(part) if isinstance(part, str) else part
            job = queue.get(start.job_id) if isinstance(start, Start) else None
            if isinstance(start, Start) and job is not None and not (start.counts or start.nodes or self._is_shared):
                placed = placed_start(state, job, room, filling)
                if placed is None:
                    raise PolicyError(
                        f"job {quoted(job.id)} ({job.tasks} tasks) does not fit: {sum(state.free)} processors are free "
                        "before this decision",
                        self._engine.position,
                    )
                start, room = placed, less(room, placed.counts)
            elif isinstance(start, (Preempt, Start)):
                room = state.room_after(room, start)
            decisions.append(start)
        return decisions

    @property
    def _is_shared(self) -> bool:
        """Whether jobs share nodes: then a start must name nodes."""
        return self._given.shares_nodes

    def _refuse_other(self, policy: Policy | Broker, name: str) -> Policy:
        """Return a policy that takes over; raise where it cannot."""
        if isinstance(policy, Broker) or len(self._engine.sites) > 1:
            raise CoallocError("branch: a broker cannot take over a simulation, nor a policy one of several sites")
        if policy.scope != self.state.scope:
            raise CoallocError(
                f"branch: policy {name!r} has scope {policy.scope!r}, but the simulation has {self.state.scope!r}"
            )
        refuse_policy(self._given, policy, name, has_failures=bool(self._rules["failures"]))
        if self.state.suspended and not knows_suspension(policy):
            raise UnsupportedFeature(f"branch to policy {name!r}", [SUSPENSION], of="run")
        return policy

    def _refuse_broken(self) -> None:
        """Raise after an error in the middle of an event or of a policy."""
        if self._is_broken:
            raise CoallocError("the simulation stopped with an error or an interrupt; call reset()")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Note that the state is not to be relied on after what is raised in the block."""
        try:
            with self._engine.watched():
                yield
        except BaseException:
            self._is_broken = True
            raise


def chosen_policy(policy: str | Policy | Broker, options: Mapping[str, Any]) -> tuple[Policy | Broker, str]:
    """Return a policy and its name."""
    if isinstance(policy, str):
        return policy_named(policy, options), policy
    if isinstance(policy, ByHand) and not options:
        return policy, BY_HAND
    if options:
        raise CoallocError(f"policy options require a policy name, got {', '.join(options)} with a policy object")
    if isinstance(policy, type):
        raise CoallocError(f"policy must be an object, got the type {policy.__name__}; use {policy.__name__}(...)")
    if not isinstance(policy, (Policy, Broker)):
        raise CoallocError(f"policy must be a name or have {RUNNABLE}, got {policy!r}")
    return policy, type(policy).__name__


def _copied(policy: Policy) -> Policy:
    """Return a copy of a policy, itself where it keeps nothing; raises where that is not known."""
    if isinstance(policy, Copying):
        return policy.copy()
    is_frozen = dataclasses.is_dataclass(policy) and policy.__dataclass_params__.frozen
    if is_frozen or not (hasattr(type(policy), "__slots__") or vars(policy)):
        return policy
    raise CoallocError(
        f"policy {type(policy).__name__} cannot branch: it keeps a state, so it must have a method copy() that returns "
        "a policy of its own"
    )


def _listed(decision: Decision | None) -> list[str | Start | Wake | Preempt]:
    """Return the parts of a decision."""
    if decision is None:
        return []
    if isinstance(decision, (str, Start, Wake, Preempt)):
        return [decision]
    if not isinstance(decision, Iterable):
        raise CoallocError(f"decision must be job ids or coalloc.extend.Start objects, got {shown(decision)}")
    return list(decision)


def _job_of(asked: list[str | Start | Wake | Preempt]) -> str:
    """Return the first job of a decision, nothing where there is none."""
    for part in asked:
        if isinstance(part, (str, Start)):
            return part if isinstance(part, str) else str(part.job_id)
    return ""


def placed_start(state: State, job: Job, room: Allocation, filling: Filling | None) -> Start | None:
    """Return the start of a job where the fastest processors are free; None where it does not fit."""
    if filling is not None:
        return filling.start(job)
    counts = state.allocator("fastest-first").choose(job, room)
    return None if counts is None else Start(job.id, counts)
