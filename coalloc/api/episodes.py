"""Runs of an instance in which the caller chooses the next job, and what is seen at each choice, as one array.

A choice is a time at which a job of the window, the first jobs of the queue, fits. A run on equal processors of nothing
but jobs is in the engine (``pool_run_choose``). All others go from pass to pass; the rules are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.api.stepping import BY_HAND, placed_start
from coalloc.documents.columns import column
from coalloc.heuristics.over_time import Filling
from coalloc.instance import CoallocError, Instance, Job
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.problem.allocation import NodeClass, Scope
from coalloc.problem.execution import execution_time
from coalloc.simulator.decisions import Start
from coalloc.simulator.engine import Engine, PolicyError
from coalloc.simulator.policy import Running, State
from coalloc.simulator.pool_run import PoolRun
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.simulation import engine_for, result_of
from coalloc.simulator.site import Site

Floats = NDArray[np.float64]
Mask = NDArray[np.uint8]

Reward = Literal["wait_mean", "bounded_slowdown_mean", "utilization"]
"""The metric that the rewards of a run sum to; the first two are negated."""

WAITING, WAITED, SLOWDOWNS = 1, 2, 3
"""Places of numbers: how many jobs wait, seconds that started jobs have waited, bounded slowdowns of ended jobs."""
FREE = 4
"""Place of the free processors of the first class; behind those of all classes are jobs, then running jobs."""
OF_JOB = 3
"""Numbers of a waiting job: its tasks, its estimate on the fastest nodes and its wait, s."""


def size_of_seen(window: int, num_classes: int) -> int:
    """Return how many numbers are seen at a choice; ``pool_run.h`` describes them for one class."""
    return FREE + num_classes + (OF_JOB + 1 + num_classes) * window


class Episode(Protocol):
    """A run of an instance from choice to choice."""

    @property
    def classes(self) -> Sequence[NodeClass]:
        """The node classes."""

    def begun(self) -> Episode:
        """Return another run of the instance, before its first choice."""

    def choose(self, choice: int, is_possible: Mask, seen: Floats) -> bool:
        """Start a job of the window or wait, and write what is seen at the next choice; return whether there is one."""

    def finished(self) -> Engine:
        """Return a run that is over."""


def episode_of(instance: Instance, scope: Scope) -> Episode:
    """Return a run of an instance; raises where that is not supported."""
    engine = _engine(instance, scope)
    pool = engine.pool_by_hand()
    return SteppedEpisode(instance, engine, scope) if pool is None else PoolEpisode(instance, engine, pool, scope)


def _engine(instance: Instance, scope: Scope) -> Engine:
    return engine_for(instance, Chosen(scope), name=BY_HAND)


@dataclass(slots=True)
class Chosen:
    """The policy where the caller chooses: it adds the bounded slowdowns of ended jobs up.

    Jobs that ran from the beginning do not count; ``others`` are their ids.
    """

    scope: Scope
    others: frozenset[str] = frozenset()
    starts: tuple[Start, ...] = ()
    slowdowns: float = 0.0

    def decide(self, _: State) -> list[Start]:
        """Start what was chosen."""
        return [*self.starts]

    def ended(self, state: State, running: Running) -> None:
        """Add the bounded slowdown of a job that has ended."""
        if running.job.id in self.others:
            return
        run = max(state.now - running.start, BOUNDED_SLOWDOWN_THRESHOLD)
        self.slowdowns += max(1.0, (state.now - running.job.arrival) / run)


class PoolEpisode:
    """A run in the engine."""

    def __init__(self, instance: Instance, engine: Engine, pool: PoolRun, scope: Scope) -> None:
        self._instance, self._pool, self._scope = instance, pool, scope
        self.classes = engine.sites[0].state.classes

    def begun(self) -> PoolEpisode:
        """Return another run of the instance, before its first choice."""
        twin = copy(self)
        twin._pool = self._pool.begun()
        return twin

    def choose(self, choice: int, is_possible: Mask, seen: Floats) -> bool:
        """Start a job of the window or wait, and write what is seen at the next choice; return whether there is one."""
        return self._pool.choose(choice, is_possible, seen)

    def finished(self) -> Engine:
        """Return the run, which is over."""
        engine = _engine(self._instance, self._scope)
        engine.take_over(self._pool.facts())
        return engine


class SteppedEpisode:
    """A run from pass to pass; ``beginning`` is the run before it begins."""

    def __init__(self, instance: Instance, beginning: Engine, scope: Scope) -> None:
        self._instance, self._beginning, self._scope = instance, beginning, scope
        state = beginning.sites[0].state
        self.classes = state.classes
        self._site: Site | None
        self._policy, self._engine, self._site, self._waited = Chosen(scope), beginning, None, 0.0
        self._fits_anywhere = scope == "platform" and not (state.is_restricted or state.has_closings)

    def begun(self) -> SteppedEpisode:
        """Return another run of the instance, before its first choice."""
        twin, others = copy(self), frozenset(run.job.id for run in self._instance.running)
        twin._policy = Chosen(self._scope, others)
        twin._engine = self._beginning.copied(lambda _: twin._policy)
        twin._waited, twin._site = 0.0, twin._engine.next_pass()
        return twin

    def finished(self) -> Engine:
        """Return the run, which is over."""
        return self._engine

    def choose(self, choice: int, is_possible: Mask, seen: Floats) -> bool:
        """Start a job of the window or wait, and write what is seen at the next choice; return whether there is one."""
        site, window = self._site, len(is_possible) - 1
        if choice >= 0 and site is not None:
            fitting = self._fitting(site.state, window)
            if not self._engine.can_go_on and choice not in fitting:
                choice = fitting[0]
            if choice in fitting:
                self._start(site.state.queue[choice])
            else:
                self._wait(window)
        fitting = []
        while self._site is not None and not (fitting := self._fitting(self._site.state, window)):
            self._site = self._engine.next_pass()
        self._show(fitting, is_possible, seen)
        return self._site is not None

    def _wait(self, window: int) -> None:
        """Go on to the next pass, or stay where all that came were jobs that wait for others: then one has to start."""
        try:
            self._site = self._engine.next_pass()
        except PolicyError:
            if not self._fitting(self._engine.sites[0].state, window):
                raise

    def _fitting(self, state: State, window: int) -> list[int]:
        """Return the places of the jobs of the window that fit now."""
        free = sum(state.free)
        places = [place for place, job in enumerate(state.queue[:window]) if job.tasks <= free]
        if self._fits_anywhere:
            return places
        return [place for place in places if self._placed(state, state.queue[place]) is not None]

    def _placed(self, state: State, job: Job) -> Start | None:
        """Return the start of a job now; None where it does not fit."""
        filling = Filling(state, state.allocator("fastest-first")) if state.has_closings else None
        return placed_start(state, job, state.room, filling)

    def _start(self, job: Job) -> None:
        """Start a waiting job that fits."""
        assert self._site is not None
        start = self._placed(self._site.state, job)
        assert start is not None
        self._policy.starts = (start,)
        self._engine.decide(self._site)
        self._waited += self._engine.now - job.arrival

    def _show(self, fitting: list[int], is_possible: Mask, seen: Floats) -> None:
        """Write what is seen now."""
        state, num_classes, window = self._engine.sites[0].state, len(self.classes), len(is_possible) - 1
        self._settle()
        now, queue = state.now, state.queue[:window]
        running = state.running[:window]
        seen[:] = 0.0
        seen[: FREE + num_classes] = (now, len(state.queue), self._waited, self._policy.slowdowns, *state.free)
        begin, middle = FREE + num_classes, FREE + num_classes + OF_JOB * window
        jobs, runs = seen[begin:middle].reshape(window, OF_JOB), seen[middle:].reshape(window, 1 + num_classes)
        slowdown = 1.0 / max(of.effective_power for of in self.classes)
        waiting = [(job.tasks, execution_time(job, slowdown), now - job.arrival) for job in queue]
        jobs[: len(queue)] = np.array(waiting).reshape(-1, OF_JOB)
        rows = [(max(0.0, run.estimated_end - now), *run.counts) for run in running]
        runs[: len(rows)] = np.array(rows).reshape(-1, 1 + num_classes)
        is_possible[:] = 0
        is_possible[fitting] = 1
        is_possible[window] = self._engine.can_go_on

    def _settle(self) -> None:
        """Correct the sums at the end by what has become of each job: of those that start together each has waited."""
        if not self._engine.is_over:
            return
        run, jobs = self._engine.facts(range(len(self._instance.jobs))), self._instance.jobs
        arrivals, starts, ends = np.asarray(column(jobs, "arrival")), np.asarray(run.starts), np.asarray(run.ends)
        self._waited = float((starts - arrivals).sum())
        seconds = np.maximum(ends - starts, BOUNDED_SLOWDOWN_THRESHOLD)
        self._policy.slowdowns = float(np.maximum(1.0, (ends - arrivals) / seconds).sum())


class Episodes:
    """Runs of instances of one platform, each prepared once, when it is first asked for."""

    def __init__(self, instances: Sequence[Instance], scope: Scope) -> None:
        self.instances, self.scope = instances, scope
        self._prepared: dict[int, Episode] = {}
        self.num_classes = len(self[0].classes)

    def __getitem__(self, number: int) -> Episode:
        if number not in self._prepared:
            made = episode_of(self.instances[number], self.scope)
            if len(made.classes) != len(self._prepared.get(0, made).classes):
                raise CoallocError(f"instance {number} has another number of node classes than the first")
            self._prepared[number] = made
        return self._prepared[number]


class Course:
    """Runs of instances, one after the other, and the rewards on the way, which sum to a metric."""

    def __init__(self, episodes: Episodes, reward: Reward) -> None:
        self._episodes, self.reward = episodes, reward
        self.number, self.is_over, self._paid, self._num_jobs = 0, True, 0.0, 0

    def begin(self, number: int, is_possible: Mask, seen: Floats) -> None:
        """Begin a run of an instance, by its number, and write what is seen at the first choice."""
        self._episode, self.number = self._episodes[number].begun(), number
        self._paid, self._num_jobs = 0.0, len(self._episodes.instances[number].jobs)
        self.is_over = not self._episode.choose(-1, is_possible, seen)

    def go_on(self, choice: int, is_possible: Mask, seen: Floats) -> float:
        """Start a job of the window or wait, write what is seen at the next choice, and return the reward."""
        self.is_over = not self._episode.choose(choice, is_possible, seen)
        if self.reward == "utilization":
            value = self.result().metrics["utilization"] if self.is_over else 0.0
        else:
            value = -seen.item(WAITED if self.reward == "wait_mean" else SLOWDOWNS) / self._num_jobs
        reward, self._paid = value - self._paid, value
        return reward

    @property
    def metric(self) -> float:
        """The metric of the run, which is over."""
        return self._paid if self.reward == "utilization" else -self._paid

    def result(self) -> SimulationResult:
        """Return the checked schedule of the run, and its metrics."""
        if not self.is_over or not self._num_jobs:
            raise CoallocError("the episode is not over")
        instance = self._episodes.instances[self.number]
        run = self._episode.finished().facts(range(len(instance.jobs)))
        return result_of(instance, run, Chosen(self._episodes.scope), BY_HAND, {}, is_managed=False)
