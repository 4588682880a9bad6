"""The portfolio behind ``formulation="auto"``: cheap bounds and schedules first, complete methods for the rest.

1. Longest job and packing, then the feasible-set bound by LP. Few jobs are then searched exactly, over events, in slots
   and in continuous time alike, and mostly that is all. Else branching on the levels of jobs raises the bound, and
   after the list schedule come parallel ones by the prices of the area bound, where there are many jobs in stages by
   those of the feasible sets (and that on every core), simulated annealing, large neighbourhoods.
2. Where a gap is left, a complete method is started from the best of both: CP-SAT where the extra is
   installed (its process loads beside the search where there is more than one thread), else the
   mode or the count model. It looks only between bound and incumbent. Without the extra, what
   time is left when no model fits, or it has come to its end, goes to more of the search.
3. Continuous time has no slots to be complete on. There CP-SAT works on ever finer grids, rounded
   down (or on one that all times of the instance lie on): the optimum of each is a bound, and its
   order of starts, moved left with real durations, a schedule (docs/mathematics.md, "Slotting
   error"). Without CP-SAT a coarse grid does the same, once rounded up and once down.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from coalloc.allocation import allocation_of
from coalloc.checker import check
from coalloc.instance.rounding import time_tolerance
from coalloc.models import Formulation, formulation_of
from coalloc.problem import MAX_MODES, Assignment, Mode, Problem, Rounding, discretise
from coalloc.rules.serial_generation import best_list_schedule, start_in_order
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.worker import Worker, assignments_in
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.bounds.level_branching import MAX_NODES
from coalloc.solvers.call import Search
from coalloc.solvers.model_run import MAX_NONZEROS, ModelRun
from coalloc.solvers.objectives import in_seconds, objective_of, safe_horizon, ticks_of
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search import beam_worker
from coalloc.solvers.search.annealing import improve
from coalloc.solvers.search.beam_search import BeamSearch
from coalloc.solvers.search.branch_and_bound import BranchAndBound, may_search
from coalloc.solvers.search.large_neighbourhoods import explore
from coalloc.solvers.search.sampling import sample

BRANCHING_NODES = 60_000
"""Nodes of the branch and bound over extension alternatives."""
EVENT_SHARE = 0.25
"""Share of the remaining time after which that search stops."""
SAMPLES = 45
"""Plans that are sampled, times the number of jobs to the power of 3/2."""
SAMPLE_SHARE = 0.25
"""Share of the remaining time after which sampling stops."""
STAGED_JOBS = range(24, 501)
"""Numbers of jobs at which schedules are sampled in stages and nothing is complete: of fewer jobs complete methods do
more, and for more it is slow."""
STAGED_ROUNDS = 4
"""Rounds of that, per job."""
HELPER_SEED = 1_000_000
"""What the seed of each further core is ahead of the last: more than there are attempts."""
SHORT_SAMPLE_SHARE, STAGED_SHARE = 0.05, 0.75
"""Shares of the remaining time after which sampling stops, and then beam search, where it is used."""
SEARCH_ITERATIONS = 15
"""Iterations of simulated annealing, times the number of jobs squared: the fewer jobs, the more complete methods do."""
ROUNDS = 1
"""Large neighbourhoods that are searched, per job."""
BOUND_SHARE = 0.2
"""Share of the time limit after which the feasible-set bound stops."""
BRANCHING_SHARE = 0.1
"""Share of the remaining time after which branching on its levels stops."""
SEARCH_SHARE = 0.4
"""Share of the remaining time after which the simulated annealing stops."""
EXPLORE_SHARE = 0.2
"""Share of the remaining time after which the search of large neighbourhoods stops."""
GRIDS = (1e4, 2e7)
"""Slots per makespan of the grids for continuous time; the last is finer than the gap of a proof."""
UNITS = (3600.0, 60.0, 1.0, 0.5, 0.1, 0.01, 0.001)
"""Slots, s, that are tried for a grid that all times of an instance lie on."""
COARSE_GRID = 0.25
"""Slot of the one grid that the MIP models get for continuous time, as a share of the mean base time."""
TIME_LEFT = 1.0
"""Seconds of the time limit that a stage may leave because its next step would not fit into them."""
LAST = 0.1
"""Seconds of the time limit that searching on leaves: what it would find in them is little."""
SEARCHED_ON = "no complete method fits this size; searched on without one"
WORK_UNIT = 0.01
"""CP-SAT's deterministic seconds per unit of ``work_limit``."""


class Portfolio:
    """One call of ``solve`` on OAS; everything found goes to ``search``."""

    def __init__(self, search: Search, problem: Problem, runner: ModelRun) -> None:
        self.search = search
        self.problem = problem
        self.runner = runner
        self.objective = search.options.objective
        self.best: list[Assignment] = []
        self._quick: float = 0.0
        self._dual_prices = [0.0] * len(problem.jobs)
        self._worker: Worker | None = None
        self._helpers: list[Worker] = []

    def solve(self, first: Sequence[Assignment], quick: float) -> None:
        """Close the gap as far as the limits allow, from a schedule that was offered and the quick bound (ticks)."""
        self.best, self._quick = list(first), quick
        self._bound(quick, self.problem, "longest job and packing")
        try:
            self._solve()
        finally:
            for worker in (self._worker, *self._helpers):
                if worker is not None:
                    worker.close()

    def _solve(self) -> None:
        if self.search.is_closed:
            return
        self._raise_bound()
        if not self.search.is_closed:
            if self.search.options.threads > 1 and self._may_use_cpsat:
                self._worker = cpsat.start_worker()  # it loads beside the search
            self._improve()
        if not self.search.is_closed:
            self._close()
        if not self.search.is_closed and not self._may_use_cpsat:
            self._persist()
        if not self.search.is_closed:
            self.search.stopped_by = "time" if self.search.remaining < TIME_LEFT else "work"

    def _close(self) -> None:
        """Run a complete method, unless there are so many jobs that none adds to beam search."""
        if self._is_staged:
            self.search.message = SEARCHED_ON
        elif self.problem.slot is None:
            self._close_continuous()
        else:
            self._close_slotted()

    def _persist(self) -> None:
        """Go on searching while there is time: no complete method fits, or it has come to its end."""
        attempt = 0
        while self.search.options.work_limit is None and not self.search.is_closed and self.search.remaining > LAST:
            attempt += 1
            self._improve(attempt)

    def _bound(self, ticks: float, problem: Problem, source: str) -> None:
        self.search.raise_bound(in_seconds(problem, ticks, self.objective), source)

    def _take(self, assignments: Sequence[Assignment], source: str) -> None:
        """Take assignments of the problem if they are better than the best and pass the checker."""
        if ticks_of(assignments, self.objective) >= ticks_of(self.best, self.objective):
            return
        schedule = schedule_of(self.problem, assignments)
        if check(self.search.instance, schedule, saturation=self.search.options.saturation):
            return  # CP-SAT's rounded loads let it through
        self.best = list(assignments)
        self.search.offer(schedule, objective_of(self.search.instance, schedule, self.objective), source)

    def _raise_bound(self) -> None:
        if self.objective != "makespan":
            return
        sets = FeasibleSets(self.problem, [self.best], self._quick)
        with self.search.timed("bound"):
            sets.bound(
                time_limit=BOUND_SHARE * self.search.remaining,
                target=self._target(),
                on_bound=lambda ticks: self._bound(ticks, self.problem, "feasible sets"),
            )
        self._dual_prices = sets.dual_prices
        if not self.search.is_closed:
            self._start_helpers()
            self._search_events()
        if not self.search.is_closed:
            with self.search.timed("bound"):
                sets.branch(
                    max_nodes=self._limited(MAX_NODES),
                    time_limit=BRANCHING_SHARE * self.search.remaining,
                    target=self._target(),
                    on_bound=lambda ticks: self._bound(ticks, self.problem, "feasible sets, level by level"),
                )

    def _search_events(self) -> None:
        """Search exhaustively where jobs and modes are few, as far as a number of nodes goes."""
        if not may_search(self.problem):
            return
        search = BranchAndBound(
            self.problem,
            self._dual_prices,
            best=ticks_of(self.best, self.objective),
            target=self._goal,
            on_schedule=self._is_taken,
        )
        with self.search.timed("search"):
            is_complete = search.run(self._limited(BRANCHING_NODES), self._instant(EVENT_SHARE))
        if is_complete:
            self._bound(search.proven, self.problem, "branch and bound")

    def _is_taken(self, assignments: list[Assignment]) -> bool:
        """Take a schedule of the search over events; return whether that was possible."""
        self._take(assignments, "branch and bound")
        return ticks_of(self.best, self.objective) <= ticks_of(assignments, self.objective)

    def _target(self) -> float:
        """Return the bound, ticks, that proves the best schedule."""
        best = ticks_of(self.best, self.objective)
        return best if self.problem.slot is not None else best * (1.0 - PROOF_TOLERANCE)

    def _improve(self, attempt: int = 0) -> None:
        """Sample, anneal and search large neighbourhoods; later attempts draw otherwise and take longer."""
        steps = (
            [self._anneal, self._explore]
            if self.objective != "makespan"
            else [self._sample, self._sample_in_stages, self._anneal, self._explore]
        )
        for step in steps:
            if not self.search.is_closed:
                with self.search.timed("search"):
                    step(attempt)
                self._hear()

    def _sample(self, attempt: int) -> None:
        sample(
            self.problem,
            self.best,
            lower_bound=self._proven_ticks(self.problem),
            samples=self._limited(int(SAMPLES * len(self.problem.jobs) ** 1.5) << attempt),
            seed=self.search.options.seed + attempt,
            target=self._goal,
            deadline=self._instant(SHORT_SAMPLE_SHARE if self._is_staged else SAMPLE_SHARE),
            on_schedule=lambda assignments: self._take(assignments, "sampling"),
        )

    def _sample_in_stages(self, attempt: int) -> None:
        if not self._is_staged:
            return
        stages = BeamSearch(
            self.problem,
            lower_bound=self._proven_ticks(self.problem),
            dual_prices=self._dual_prices,
            seed=self.search.options.seed + attempt,
            deadline=self._instant(STAGED_SHARE),
        )
        for _ in range(self._limited(STAGED_ROUNDS * len(self.problem.jobs) << attempt)):
            if self.search.is_closed or time.perf_counter() > stages.deadline:
                break
            found = stages.round()
            if found is not None:
                self._take(found, "beam search")
            self._hear()

    def _start_helpers(self) -> None:
        """Sample in stages on the other cores, too, where only the clock ends the search: they take turns by it."""
        options = self.search.options
        if not self._is_staged or options.work_limit is not None:
            return
        for core in range(1, options.threads):
            helper = beam_worker.start_worker(
                self.problem,
                lower_bound=self._proven_ticks(self.problem),
                dual_prices=self._dual_prices,
                seed=HELPER_SEED * core + options.seed,
            )
            self._helpers.append(helper)

    def _hear(self) -> None:
        """Take what the helpers have found."""
        for helper in self._helpers:
            for message in helper.news():
                self._take(assignments_in(message, self.problem), "beam search")

    def _anneal(self, attempt: int) -> None:
        improve(
            self.problem,
            self.best,
            objective=self.objective,
            iterations=self._limited(SEARCH_ITERATIONS * len(self.problem.jobs) ** 2 << attempt),
            seed=self.search.options.seed + attempt,
            target=self._goal,
            deadline=self._instant(SEARCH_SHARE),
            on_schedule=lambda assignments: self._take(assignments, "simulated annealing"),
        )

    def _explore(self, attempt: int) -> None:
        explore(
            self.problem,
            self.best,
            objective=self.objective,
            rounds=self._limited(ROUNDS * len(self.problem.jobs) << attempt),
            seed=self.search.options.seed + attempt,
            target=self._goal,
            deadline=self._instant(EXPLORE_SHARE),
            on_schedule=lambda assignments: self._take(assignments, "large neighbourhoods"),
        )

    @property
    def _is_staged(self) -> bool:
        """Whether schedules are sampled in stages: the bound then gives dual_prices to go by."""
        return self.objective == "makespan" and len(self.problem.jobs) in STAGED_JOBS

    @property
    def _may_use_cpsat(self) -> bool:
        return cpsat.is_installed() and not self._is_staged

    @property
    def _goal(self) -> float:
        """The objective, ticks, that the bound would prove optimal."""
        return self._proven_ticks(self.problem) * (1.0 + PROOF_TOLERANCE)

    def _instant(self, share: float) -> float:
        """Return the instant, of ``time.perf_counter()``, at which a share of the remaining time will be over."""
        return time.perf_counter() + share * self.search.remaining

    def _limited(self, steps: int) -> int:
        """Return a number of steps, no more than the work limit allows."""
        work = self.search.options.work_limit
        return steps if work is None else min(work, steps)

    def _proven_ticks(self, problem: Problem) -> float:
        """Return the best bound known, on the clock of a problem, in its ticks."""
        known = self.search.lower_bound or 0.0
        offset = problem.instance.origin if self.objective == "makespan" else sum(j.arrival for j in problem.jobs)
        seconds = known + offset
        if problem.slot is None:
            return seconds
        slots = seconds / problem.slot
        return round(slots) if abs(slots - round(slots)) < 1e-6 else math.floor(slots)

    def _close_slotted(self) -> None:
        if cpsat.is_installed():
            self._run_cpsat(self.problem, self.best, self.search.remaining)
            return
        schedule, bound = self._run_model(self.problem, self.best, self.search.remaining)
        if schedule is not None:
            self._take(assignments_of(self.problem, schedule), "model")
        if bound is not None:
            self._bound(bound, self.problem, "model")
        self._heed_interrupt()

    def _close_continuous(self) -> None:
        if cpsat.is_installed():
            grids = self._grids()
            for left, slot in zip(range(len(grids), 0, -1), grids, strict=True):
                down = self._grid(slot, "down")
                first = start_in_order(down, on_grid(down, self.best))
                self._run_cpsat(down, first, self.search.remaining / left)
                if self.search.is_closed:
                    return
            return
        slot = COARSE_GRID * self.search.instance.mean_base_time
        up, down = self._grid(slot, "up"), self._grid(slot, "down")
        schedule, _ = self._run_model(up, start_in_order(up, on_grid(up, self.best)), self.search.remaining / 2)
        if schedule is not None:
            self._take_moved_left(assignments_of(up, schedule), "model, moved left")
        self._heed_interrupt()
        if not self.search.is_closed:
            _, bound = self._run_model(down, best_list_schedule(down), self.search.remaining)
            if bound is not None:
                self._bound(bound, down, "model, rounded down")
            self._heed_interrupt()

    def _heed_interrupt(self) -> None:
        """Raise KeyboardInterrupt where Ctrl-C has stopped the last model, now that what it found is taken."""
        if self.search.stopped_by == "interrupt":
            raise KeyboardInterrupt

    def _grids(self) -> list[float]:
        """Return slots of ever finer grids, s; one alone where every time is a whole number of it."""
        latest = ticks_of(self.best, "makespan")
        finest = latest / GRIDS[-1]
        times = [*self.problem.releases, *(busy.end for busy in self.problem.busy)]
        times += [level.duration for levels in self.problem.levels for level in levels]
        for unit in UNITS:
            if unit >= finest and all(abs(t - unit * round(t / unit)) <= time_tolerance(t) for t in times):
                return [unit]
        return [latest / slots for slots in GRIDS]

    def _grid(self, slot: float, rounding: Rounding) -> Problem:
        return discretise(self.search.instance, slot, rounding, saturation=self.search.options.saturation)

    def _take_moved_left(self, assignments: Sequence[Assignment], source: str) -> None:
        self._take(start_in_order(self.problem, on_grid(self.problem, assignments)), source)

    def _run_cpsat(self, problem: Problem, first: Sequence[Assignment], time_limit: float) -> None:
        """Run CP-SAT on the problem itself, or on it rounded down to a grid."""
        options, search = self.search.options, self.search
        take = self._take if problem is self.problem else self._take_moved_left
        with search.timed("solve"):
            cpsat.solve_cpsat(
                problem,
                first,
                objective=self.objective,
                horizon=safe_horizon(problem, first, self.objective),
                lower_bound=int(self._proven_ticks(problem)) if self.objective == "makespan" else 0,
                time_limit=time_limit,
                threads=options.threads,
                seed=options.seed,
                work_limit=None if options.work_limit is None else options.work_limit * WORK_UNIT,
                worker=self._living_worker(),
                on_bound=lambda ticks: self._bound(ticks, problem, "CP-SAT"),
                on_schedule=lambda assignments: take(assignments, "CP-SAT"),
                is_done=lambda: search.is_closed,
            )

    def _living_worker(self) -> Worker:
        if self._worker is None or not self._worker.is_alive:
            self._worker = cpsat.start_worker()
        return self._worker

    def _run_model(
        self, problem: Problem, first: Sequence[Assignment], time_limit: float
    ) -> tuple[Schedule | None, float | None]:
        """Run the mode model, or the count model where that would be too large, or nothing."""
        formulation = self._formulation(problem, first)
        if formulation is None:
            self.search.message = SEARCHED_ON
            return None, None
        known = int(self._proven_ticks(problem)) if problem is self.problem else None
        return self.runner.run(problem, formulation, first, time_limit=time_limit, lower_bound=known)

    def _formulation(self, problem: Problem, first: Sequence[Assignment]) -> Formulation | None:
        count = formulation_of("oas", "count")
        if sum(problem.count_allocations(job) for job in problem.jobs) <= MAX_MODES:
            mode = formulation_of("oas", "mode")
            if self.runner.size(problem, mode, first) <= MAX_NONZEROS:
                return mode
        return count if self.runner.size(problem, count, first) <= MAX_NONZEROS else None


def assignments_of(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return a schedule as assignments in the order of their starts, on the clock of the problem."""
    processors = problem.instance.platform.processor_index
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    assignments = []
    for placement in sorted(schedule, key=lambda p: p.start):
        j = number[placement.job]
        allocation = allocation_of((processors[name] for name in placement.nodes), problem.classes)
        start = problem.ticks(placement.start)
        assignments.append(Assignment(j, start, problem.mode(problem.jobs[j], allocation)))
    return assignments


def on_grid(problem: Problem, assignments: Sequence[Assignment]) -> list[tuple[int, Mode]]:
    """Return (job, mode with this problem's duration) in the order of starts."""
    in_order = sorted(assignments, key=lambda a: a.start)
    return [(a.job, problem.mode(problem.jobs[a.job], a.mode.allocation)) for a in in_order]
