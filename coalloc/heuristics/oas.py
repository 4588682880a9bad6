"""OAS (Ordering and Allocation Strategy) over time: a rolling horizon over the head of the queue."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import sub
from typing import ClassVar, Self

from coalloc.documents.values import Count
from coalloc.heuristics.over_time import Admission
from coalloc.heuristics.plans import Planned, due, without
from coalloc.heuristics.snapshots import bandwidth_left, snapshot
from coalloc.instance import CoallocError, Job, RunningJob
from coalloc.problem import Assignment, Links, Problem, discretise, slot_seconds
from coalloc.problem.allocation import Scope, allocation_of
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import processors_of
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.solvers.effort import Effort
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.search.list_annealing import improve


@dataclass(slots=True)
class Oas:
    """Ordering and allocation: reschedule the head of the queue at every event to minimise the makespan.

    OAS is a rolling horizon: the first jobs of the queue are planned with the least makespan, with strict links.

    - Planning takes place in a pass with news: a job came into the window, ended at another time than estimated, or is
      overdue. It does not where every job of the window has more tasks than processors are free: none could start.
    - The window is the first ``window`` waiting jobs; jobs that come into it as others start are planned in the same
      pass. They have their estimates and arrival 0 in the plan; running jobs end at their estimated ends, overdue ones
      in 1 s.
    - A plan is the best list schedule of the orders ``fcfs``, ``sjf``, ``bjf``, ``spt``, ``lpt`` and ``largest-area``,
      each job where it ends first, improved by simulated annealing. Its jobs start as their plan is executed.

    Annealing of ``work_limit`` / (jobs in the window) lists ends early where the makespan meets the bound of longest
    job and packing. No clock and no exact solver: the same seed gives the same run. On small instances this reaches the
    optimum that ``coalloc.solve`` proves, without a guarantee.

    No reservation outlives its plan: a job may be delayed for as long as others arrive that fit better. A run passes
    ``check(instance, schedule)`` with strict links: a job that would saturate a link waits. A job that saturates a link
    wherever it runs is an error as soon as it would be planned. Source: thesis, section 3.2; errata 5.

    Parameters
    ----------
    window
        How many jobs of the queue are planned at once, in order of arrival; None: all.
    slot
        Length of the slots of plans, to which durations and rests are rounded up: seconds, or a percentage of the mean
        estimate of the queue such as ``"50%"``; None: continuous time.
    work_limit
        Jobs that the simulated annealing of a decision places at most.

    Examples
    --------
    *Example.* Two processors; A has one until 30 s. B (2 processors, 10 s) and C (1 processor, 30 s) arrive at 5 s, D
    (1 processor, 5 s) at 30 s. If B is before C, the last job ends at 30 + 10 + 30 = 70 s; otherwise at 5 + 30 + 10 =
    45 s. So C starts at 5 s, and B is planned for 35 s. OAS plans again at 30 s: D fits next to C, and B still starts
    at 35 s. ``easy`` keeps B first.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> nodes = NodeGroup(2, power=1.0)
    >>> platform = Platform([Cluster("C1", [nodes], link_bandwidth=1.0)])
    >>> jobs = [
    ...     Job("A", 1, 30.0),
    ...     Job("B", 2, 10.0, arrival=5.0),
    ...     Job("C", 1, 30.0, arrival=5.0),
    ...     Job("D", 1, 5.0, arrival=30.0),
    ... ]
    >>> for policy in ("oas", "easy"):
    ...     run = coalloc.simulate(Instance(platform, jobs), policy)
    ...     print(policy, {found.job: found.start for found in run.schedule})
    oas {'A': 0.0, 'B': 35.0, 'C': 5.0, 'D': 30.0}
    easy {'A': 0.0, 'B': 30.0, 'C': 40.0, 'D': 40.0}
    """

    window: Count | None = 50
    slot: float | str | None = None
    work_limit: Count = 5_000
    scope: ClassVar[Scope] = "platform"
    links: ClassVar[Links] = "strict"
    _plan: list[Planned] = field(init=False, default_factory=list)
    _is_stale: bool = field(init=False, default=False)
    """Whether running jobs end otherwise than the plan was made for."""
    _expected: dict[str, float] = field(init=False, default_factory=dict)
    """The estimated end (s) of each job that ran after the last decision."""

    def begin(self, _: State) -> None:
        """Forget the plan of an earlier run."""
        self._plan, self._is_stale, self._expected = [], False, {}

    def left(self, _: State, job: Job) -> None:
        """Plan anew without a job that leaves the queue."""
        self._plan = [planned for planned in self._plan if planned.job_id != job.id]
        self._is_stale = True

    def copy(self) -> Self:
        """Return a policy of its own with the same plan."""
        return copy(self)

    def decide(self, state: State) -> Sequence[Start]:
        """Return the jobs of the plan that can start, once it is made anew where there is news."""
        self._is_stale = self._is_stale or self._has_surprise(state)
        begun = self._begun(state)
        self._expected = {r.job.id: r.estimated_end for r in state.running}
        self._expected |= {planned.job_id: state.now + planned.duration for planned in begun}
        return [planned.start(state) for planned in begun]

    def _begun(self, state: State) -> list[Planned]:
        """Return the jobs that start now, and take them out of the plan.

        Where some do, others come into the window, which may start as well.
        """
        begun: list[Planned] = []
        admission, jobs = Admission(state), {job.id: job for job in state.queue} if state.has_closings else {}

        def admits(planned: Planned) -> bool:
            return not jobs or admission.admits(jobs[planned.job_id], planned.processors, planned.duration)

        waiting, free = list(state.queue), state.free_processors
        left = (*bandwidth_left(state), *state.room[len(state.classes) :])
        while any(job.tasks <= free.bit_count() for job in waiting[: self.window]):
            if self._is_stale or self._has_newcomer(waiting):
                self._plan, self._is_stale = self._planned(state, waiting[: self.window], begun), False
            starting = list(due(self._plan, free, left, admits))
            if not starting:
                break
            begun += starting
            self._plan = without(self._plan, starting)
            for planned in starting:
                free &= ~planned.processors
                left = tuple(map(sub, left, planned.loads))
            ids = {planned.job_id for planned in starting}
            waiting = [job for job in waiting if job.id not in ids]
            if not self._has_newcomer(waiting):
                break
        return begun

    def _has_newcomer(self, waiting: Sequence[Job]) -> bool:
        """Return whether a job of the window is in no plan."""
        known = {planned.job_id for planned in self._plan}
        return any(job.id not in known for job in waiting[: self.window])

    def _has_surprise(self, state: State) -> bool:
        """Return whether a job has ended at another time than estimated, or should have ended."""
        running = {r.job.id for r in state.running}
        ended = (end for job, end in self._expected.items() if job not in running)
        margin = state.tolerance
        return any(abs(end - state.now) > margin for end in ended) or any(
            r.estimated_end < state.now - margin for r in state.running
        )

    def _planned(self, state: State, jobs: Sequence[Job], begun: Sequence[Planned]) -> list[Planned]:
        """Return a plan of some jobs, beside those that run and those that begin now."""
        problem = self._problem(state, jobs, begun)
        bound = simple_bound(problem)
        best = improve(
            problem,
            best_list_schedule(problem, bound),
            Effort(iterations=self.work_limit // len(problem.jobs), seed=int(state.rng.integers(2**32)), target=bound),
        )
        return _plan_of(state, problem, best)

    def _problem(self, state: State, jobs: Sequence[Job], begun: Sequence[Planned]) -> Problem:
        """Return what is to be planned; raises :class:`CoallocError` where a job can never start."""
        instance = snapshot(state, jobs)
        job_of = {job.id: job for job in state.queue} if begun else {}
        beginning = (RunningJob(job_of[p.job_id], state.names(p.processors), p.duration) for p in begun)
        instance = instance.replace(running=(*instance.running, *beginning))
        problem = discretise(instance, slot_seconds(instance, self.slot))
        reasons = why_infeasible(problem)
        if reasons:
            raise CoallocError("\n".join(reasons))
        return problem


def _plan_of(state: State, problem: Problem, assignments: Sequence[Assignment]) -> list[Planned]:
    """Return a schedule as a plan, in the order of planned starts."""
    schedule = schedule_of(problem, assignments)
    index = problem.instance.platform.processor_index
    plan = []
    for a in sorted(assignments, key=lambda a: (a.start, a.job)):
        job = problem.jobs[a.job]
        held = [index[name] for name in schedule[job.id].nodes]
        taken = state.taken(job, allocation_of(held, state.classes))
        loads = (*a.mode.loads[: problem.allocations.num_links], *taken[len(state.classes) :])
        plan.append(Planned(job.id, processors_of(held), a.mode.execution_time, loads))
    return plan
