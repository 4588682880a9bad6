"""OAS (Ordering and Allocation Strategy) over time: a rolling horizon over the head of the queue.

Whenever something new is known (a job arrived, ended at another time than estimated, or should have ended) and a job
could start, the first jobs of the queue are planned, from now on and beside the running jobs until their estimated
ends, so that the last of them ends first. Jobs start as planned (:mod:`coalloc.heuristics.plans`), no link saturates,
and memory suffices.

A plan is the best list schedule, improved by simulated annealing within a budget of work: runs repeat, unlike
those of a solver that a clock stops. Source: thesis, section 3.2; errata 5.
"""

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
    """OAS as a policy.

    ``window`` is how many jobs of the queue are planned, in order of arrival; None plans the whole queue.
    ``slot`` is that of the plans: seconds, a share of the mean estimate of these jobs such as ``"50%"``,
    or None for continuous time. ``work_limit`` is the number of jobs that the simulated annealing of a decision
    may place.
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
