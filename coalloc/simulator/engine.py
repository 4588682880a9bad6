"""The event simulator: one heap of events, one loop over its instants, a scheduling pass at each.

The order of simultaneous events is that of :mod:`coalloc.simulator.events`, progress over shared links
is that of :mod:`coalloc.simulator.contention`, and no start that a policy asks for is believed
(:mod:`coalloc.simulator.occupancy`). All state of a run is in its :class:`Engine`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from time import perf_counter

import numpy as np

from coalloc.allocation import Allocation, is_coallocated, node_classes, tasks_per_cluster
from coalloc.documents.text import quoted
from coalloc.execution import execution_time, link_loads
from coalloc.instance import CoallocError, Instance, Job
from coalloc.instance.rounding import time_tolerance
from coalloc.simulator.contention import Contention, Flow
from coalloc.simulator.events import EventQueue, Passes
from coalloc.simulator.occupancy import Occupancy, refuse_little_memory, refuse_too_large, starts_of
from coalloc.simulator.policy import Policy, Running, Start, State, View, as_described
from coalloc.simulator.processors import Processors, processors_of

PASSES_PER_REPORT = 1_000
"""Scheduling passes between two reports of progress."""

MAX_KNOWN = 100_000
"""Sets of processors that jobs share where they are equal."""

_ESTIMATED_END = attrgetter("estimated_end")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run is: the clock (s), and how many jobs have ended, run, wait, and are still to come."""

    now: float
    ended: int
    running: int
    waiting: int
    coming: int

    def __str__(self) -> str:
        return (
            f"at {self.now:.12g} s {self.ended} jobs have ended, {self.running} run, "
            f"{self.waiting} wait, {self.coming} are still to come"
        )


class Interrupted(KeyboardInterrupt):
    """A run was interrupted; ``position`` says where it was."""

    def __init__(self, position: Position) -> None:
        self.position = position
        super().__init__(f"interrupted: {position}")


@dataclass(frozen=True, slots=True)
class Run:
    """What happened to each job, by index: its start and end (s), its processors, whether it was killed.

    ``decisions`` counts the passes in which jobs waited; ``decision_total`` and ``decision_max`` are the
    policy's own time in them, s.
    """

    starts: Sequence[float]
    ends: Sequence[float]
    processors: Sequence[Processors]
    killed: frozenset[int]
    decisions: int
    decision_total: float
    decision_max: float


class Engine:
    """One run of an instance under a policy; the options are those of :func:`coalloc.simulate`."""

    def __init__(
        self,
        instance: Instance,
        policy: Policy,
        *,
        passes: Passes = "batch",
        kill: bool = False,
        seed: int = 0,
        report: Callable[[Position], None] | None = None,
    ) -> None:
        classes = node_classes(instance.platform, policy.scope)
        refuse_too_large(instance, classes, policy.scope)
        refuse_little_memory(instance)
        self._jobs = instance.jobs
        self._platform = instance.platform
        self._classes = classes
        self._slowness = [1.0 / node_class.effective_power for node_class in classes]
        self._policy, self._passes, self._kill, self._report = policy, passes, kill, report

        self._events = EventQueue([job.arrival for job in self._jobs], passes)
        self._occupancy = Occupancy(self._platform, classes, policy.scope)
        self._contention = Contention(self._platform.links)
        self._queue: list[Job] = []
        self._waiting: dict[str, tuple[int, Job]] = {}
        self._running: dict[int, Running] = {}
        self._by_estimate: list[Running] = []
        self._ended = 0
        self._decisions, self._decision_total, self._decision_max = 0, 0.0, 0.0

        size = len(self._jobs) + len(instance.running)
        self._starts, self._ends = [math.nan] * size, [math.nan] * size
        self._processors: list[Processors] = [0] * size
        self._known_processors: dict[Processors, Processors] = {}
        self._killed: set[int] = set()
        self._start_running_jobs(instance)
        self._state = State(
            now=0.0,
            queue=View(self._queue),
            running=View(self._by_estimate),
            platform=self._platform,
            classes=classes,
            scope=policy.scope,
            rng=np.random.default_rng(seed),
            _occupancy=self._occupancy,
        )

    @property
    def position(self) -> Position:
        """Where the run is."""
        known = self._ended + len(self._running) + len(self._queue)
        return Position(self._state.now, self._ended, len(self._running), len(self._queue), len(self._starts) - known)

    def run(self) -> Run:
        """Simulate until nothing happens any more.

        Raises
        ------
        CoallocError
            If the policy asks for a start that is not possible, or leaves jobs waiting for ever.
        Interrupted
            At Ctrl-C.
        """
        try:
            self._loop()
        except KeyboardInterrupt:
            raise Interrupted(self.position) from None
        for facts in (self._starts, self._ends, self._processors):
            del facts[len(self._jobs) :]  # in place: a long run is copied nowhere
        return Run(
            self._starts,
            self._ends,
            self._processors,
            frozenset(self._killed),
            self._decisions,
            self._decision_total,
            self._decision_max,
        )

    # -------------------------------------------------------------------------- the loop

    def _loop(self) -> None:
        num_passes = 0
        while self._events:
            for time, is_termination, job in self._events.instant():
                self._state.now = time
                if is_termination:
                    self._terminate(job, time)
                else:
                    self._arrive(job)
            if self._passes == "per-event":
                self._terminate_as_estimated()
            if self._queue:
                self._pass()
            num_passes += 1
            if self._report is not None and num_passes % PASSES_PER_REPORT == 0:
                self._report(self.position)
        if self._queue:
            raise CoallocError(self._stuck())

    def _pass(self) -> None:
        """Let the policy decide, and start what it says."""
        began = perf_counter()
        starts = starts_of(self._policy.decide(self._state))
        seconds = perf_counter() - began
        self._decisions += 1
        self._decision_total += seconds
        self._decision_max = max(self._decision_max, seconds)
        if starts:
            for start in starts:
                self._start(start)
            self._leave_queue(starts)

    def _leave_queue(self, starts: Sequence[Start]) -> None:
        """Take started jobs off the queue: cheaply from its head, by a scan from elsewhere."""
        queue, waiting, num_starts = self._queue, self._waiting, len(starts)
        head = 0
        while head < num_starts and queue[head].id not in waiting:
            head += 1
        del queue[:head]
        if head < num_starts:
            queue[:] = [job for job in queue if job.id in waiting]

    def _stuck(self) -> str:
        """Return why jobs wait though nothing runs and nothing comes."""
        head = self._queue[0]
        return (
            f"the policy leaves waiting jobs for ever ({len(self._queue)}): the platform is empty, nothing more "
            f"arrives, and it does not start {quoted(head.id)} (tasks: {head.tasks}) on "
            f"{self._platform.num_processors} processors"
        )

    # -------------------------------------------------------------------------- events

    def _arrive(self, index: int) -> None:
        job = as_described(self._jobs[index])
        self._waiting[job.id] = (index, job)
        self._queue.append(job)

    def _terminate(self, index: int, now: float) -> None:
        """End a job, unless this is not (or no longer) when it ends."""
        if now != self._ends[index] or index not in self._running:
            return
        running = self._running.pop(index)
        self._ended += 1
        place = bisect_left(self._by_estimate, running.estimated_end, key=_ESTIMATED_END)
        while self._by_estimate[place] is not running:
            place += 1
        del self._by_estimate[place]
        self._occupancy.release(running.counts, running.processors)
        if index in self._contention:
            self._expect_ends(self._contention.remove(index, now), now)

    def _terminate_as_estimated(self) -> None:
        """End the jobs whose estimated end has come, if they do end now."""
        now = self._state.now
        due = [
            index
            for index, running in self._running.items()
            if running.estimated_end <= now and self._ends[index] <= now
        ]
        for index in due:
            self._terminate(index, self._ends[index])

    # -------------------------------------------------------------------------- starts

    def _start(self, start: Start) -> None:
        """Start a waiting job as the policy says, if that is possible."""
        if start.job_id not in self._waiting:
            raise CoallocError(f"the policy started {quoted(str(start.job_id))}, which is not waiting")
        index, described = self._waiting.pop(start.job_id)
        job = self._jobs[index]
        try:
            counts, processors = self._occupancy.take(job, start)
        except CoallocError as error:
            raise CoallocError(f"the policy {error}") from None
        now = self._state.now
        slowdown = max(compress(self._slowness, counts))
        estimated_end = now + execution_time(described, slowdown)
        self._hold(index, Running(described, counts, processors, now, estimated_end))
        loads = self._loads(job, counts)
        if loads is None:
            self._expect_end(index, now + execution_time(job, slowdown))
        else:
            flow = Flow(job, loads, slowdown, since=now)
            self._expect_ends(self._contention.add(index, flow), now)

    def _hold(self, index: int, running: Running) -> None:
        """Note that a job runs."""
        self._starts[index] = running.start
        self._processors[index] = self._known(running.processors)
        self._running[index] = running
        insort(self._by_estimate, running, key=_ESTIMATED_END)

    def _known(self, processors: Processors) -> Processors:
        """Return an equal set that an earlier job had, else the set itself: jobs often share them."""
        known = self._known_processors
        return known.setdefault(processors, processors) if len(known) < MAX_KNOWN else known.get(processors, processors)

    def _loads(self, job: Job, counts: Allocation) -> tuple[float, ...] | None:
        """Return the loads of a job on the links, MB/s; None where it loads none."""
        if job.tasks == 1 or job.task_bandwidth == 0.0:
            return None
        tasks = tasks_per_cluster(counts, self._classes, len(self._platform.clusters))
        return link_loads(job, tasks, self._platform) if is_coallocated(tasks) else None

    def _expect_ends(self, ends: Sequence[tuple[int, float]], now: float) -> None:
        for index, end in ends:
            if math.isinf(end):
                raise CoallocError(
                    f"at {now:.12g} s job {quoted(self._jobs[index].id)} loads a link of no bandwidth: "
                    "it would never end; give the link a bandwidth, or use a policy that respects links"
                )
            self._expect_end(index, end)

    def _expect_end(self, index: int, end: float) -> None:
        """Expect a job to end, at its limit at the latest where jobs are killed."""
        if self._kill:
            limit = self._running[index].estimated_end
            is_late = end > limit + time_tolerance(limit)
            end = limit if is_late else end
            (self._killed.add if is_late else self._killed.discard)(index)
        if end != self._ends[index]:
            self._ends[index] = end
            self._events.expect_end(index, end)

    def _start_running_jobs(self, instance: Instance) -> None:
        """Let the jobs that run already hold their processors and load links until their given ends."""
        for index, run in enumerate(instance.running, start=len(self._jobs)):
            processors = processors_of(self._platform.processor_index[name] for name in run.nodes)
            counts = self._occupancy.occupy(processors)
            self._hold(index, Running(as_described(run.job), counts, processors, 0.0, run.end))
            loads = self._loads(run.job, counts)
            if loads is not None:
                self._contention.add(index, Flow(None, loads, 1.0, since=0.0))
            self._ends[index] = run.end
            self._events.expect_end(index, run.end)
