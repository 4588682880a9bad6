"""Pumpkin: lazy clause generation in a child process, for the latest end of jobs with few modes.

It learns a clause from every conflict, which proves what branch and bound has to try: with one mode per job (one
cluster of equal nodes) a dozen of jobs in a fraction of a second. It runs on one thread, beside the other methods where
another core is there. Loads are whole numbers there, rounded down as for CP-SAT: its model is a relaxation and
its bound valid. Only schedules that end before the best known one are asked for: that there is none is a proof.
Source: O. Ohrimenko, P. Stuckey, M. Codish, "Propagation via lazy clause generation", Constraints 14 (2009); cumulative
with explanations, A. Schutt, T. Feydy, P. Stuckey, M. Wallace, "Explaining the cumulative propagator", Constraints 16
(2011). Solver: E. Demirović et al., Pumpkin, Delft University of Technology.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Mode, NotTogetherRow, Problem, SpeedLevel, TimeSumRow, in_other_slots
from coalloc.rules.earliest_starts import moved_left
from coalloc.rules.tuning import BRIEF, HALF
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.worker import LOADING_TIME, Message, Note, Worker, say_nothing
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, Shares
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.traits import Trait
from coalloc.system import extras

LOAD_UNITS = 10**6
"""Whole units that the limit of a link, or a memory, is counted in: sums over all jobs are 32-bit numbers there."""
MAX_MODES = 300
"""Modes of all jobs up to which it is of use: each of several is a task."""
MAX_JOBS = 100
"""Jobs up to which it is of use."""
MAX_HORIZON, MAX_TIME = 10**8, 2**31
"""Slots of a schedule, and to the end of all parked tasks, one after the other: times are 32-bit numbers there."""
INTEGRALITY = 1e-6
"""Excess over a whole number of slots up to which a bound is not rounded up."""
PAUSE = 0.003
"""Seconds between two looks at its news."""


def is_installed() -> bool:
    """Return whether Pumpkin is there, which has no wheel for some machines; nothing is loaded."""
    return extras.is_installed("pumpkin_solver")


def start_worker(note: Note = say_nothing) -> Worker:
    """Return a process that solves one problem after another."""
    return Worker(f"{__name__}_worker", note)


@dataclass(frozen=True, slots=True)
class Question:
    """Is there a schedule whose latest end is ``horizon`` (slots) at most? ``modes`` are those in time, by job."""

    problem: Problem
    lower_bound: int
    horizon: int

    @property
    def modes(self) -> list[list[Mode]]:
        """The modes in which each job can end by the horizon; of those equal in all but processors all are kept."""
        of_jobs = zip(self.problem.releases, self.latest, self.problem.modes, strict=True)
        return [[mode for mode in modes if release + mode.duration <= end] for release, end, modes in of_jobs]

    @property
    def latest(self) -> list[int]:
        """The slot by which each job has ended."""
        return [int(min(self.horizon, end)) for end in self.problem.latest_ends]

    @property
    def is_refuted(self) -> bool:
        """Whether there is none, for some job cannot end by then."""
        return self.lower_bound > self.horizon or not all(self.modes)

    def document(
        self, *, time_limit: float, seed: int, proof: Path | None = None, model: Path | None = None
    ) -> dict[str, Any]:
        """Return the question as the child reads it, in whole numbers; it writes proof and model to files, if asked."""
        problem, modes, latest = self.problem, self.modes, self.latest
        apart = {f"row {r}": row.jobs for r, row in enumerate(problem.rows) if isinstance(row, NotTogetherRow)}
        tied = {j for row in problem.rows for j in row.members}
        contended = problem.contended_resources
        units = {k: LOAD_UNITS / max(problem.allocations.limits[k], cpsat.LEAST_LIMIT) for k in contended}
        loads = {k: math.floor(problem.allocations.limits[k] * units[k]) for k in contended}
        held = {k: cpsat.held_by_running(problem, k, units[k], loads[k]) for k in contended}
        prefixes = problem.speeds.speed_prefixes if any(len(of_job) > 1 for of_job in modes) else ()

        def demands(j: int, mode: Mode) -> dict[str, int]:
            of_classes = {f"class {g}": count for g, count in enumerate(mode.allocation) if count}
            of_rows = {name: 1 for name, jobs in apart.items() if j in jobs}
            return {**of_classes, **of_rows} | {
                f"resource {k}": cpsat.whole_units(mode.loads[k], units[k], loads[k] + 1)
                for k in contended
                if mode.loads[k]
            }

        return {
            "horizon": self.horizon,
            "lower_bound": self.lower_bound,
            "capacities": {
                **{f"class {g}": capacity for g, capacity in enumerate(problem.capacities)},
                **{f"prefix {i}": sum(problem.capacities[g] for g in prefix) for i, prefix in enumerate(prefixes)},
                **{f"resource {k}": loads[k] for k in contended},
                **dict.fromkeys(apart, 1),
            },
            "rows": [
                {"least": math.ceil(row.least - INTEGRALITY), "terms": sorted(row.terms, reverse=True)}
                for row in problem.rows
                if isinstance(row, TimeSumRow)
            ],
            "jobs": [
                {
                    "release": int(problem.releases[j]),
                    "latest": latest[j],
                    "tied": j if j in tied else None,
                    "modes": [{"duration": int(mode.duration), "demands": demands(j, mode)} for mode in modes[j]],
                    "prefixes": {
                        str(int(duration)): _least_demands(levels, prefixes)
                        for duration, levels in groupby(problem.levels[j], attrgetter("duration"))
                    },
                }
                for j in range(len(problem.jobs))
            ],
            "busy": [
                {
                    "start": int(max(0.0, busy.start)),
                    "end": int(min(busy.end, self.horizon)),
                    "demands": {
                        **{f"class {g}": count for g, count in enumerate(busy.allocation) if count},
                        **{f"prefix {i}": sum(busy.allocation[g] for g in prefix) for i, prefix in enumerate(prefixes)},
                        **{f"resource {k}": held[k][b] for k in contended},
                    },
                }
                for b, busy in enumerate((*problem.busy, *problem.blocks))
                if busy.end > 0 and busy.start < self.horizon
            ],
            "time_limit": max(0.01, time_limit),
            "seed": seed,
            "proof": None if proof is None else str(proof),
            "model": None if model is None else str(model),
        }

    def assignments_in(self, message: Message) -> list[Assignment]:
        """Return the schedule in a message."""
        chosen = zip(message["starts"], message["modes"], self.modes, strict=True)
        return [Assignment(j, start, modes[i]) for j, (start, i, modes) in enumerate(chosen)]


def _least_demands(levels: Iterable[SpeedLevel], prefixes: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return what a job takes at least of each prefix of the speeds at levels of one duration, of several shapes."""
    needs = [[level.tasks if set(level.classes) <= set(prefix) else 0 for prefix in prefixes] for level in levels]
    return {f"prefix {i}": least for i, least in enumerate(map(min, zip(*needs, strict=True))) if least}


def status_of(question: Question, *, time_limit: float, proof: Path | None = None, model: Path | None = None) -> str:
    """Return what a process says of a question: INFEASIBLE where there is no such schedule.

    Its proof, and its model as FlatZinc, are written.
    """
    document = question.document(time_limit=time_limit, seed=0, proof=proof, model=model)
    with start_worker() as worker:
        messages = worker.messages(document, time_limit)
        return next((str(message["status"]) for message in messages if "status" in message), "UNKNOWN")


# --- as methods of the portfolio ---------------------------------------------------------------------


class PumpkinRun:
    """A process that looks for a better schedule than the best at its begin, for an incumbent."""

    def __init__(self, incumbent: Incumbent, criterion: Criterion, question: Question) -> None:
        self._context, self._criterion, self._question = incumbent, criterion, question
        self.has_ended = False
        options = incumbent.state.options
        self._worker = start_worker(partial(incumbent.state.note, NAME))
        incumbent.resources.callback(self._worker.close)
        self._worker.tell(question.document(time_limit=incumbent.state.remaining, seed=options.seed))

    def hear(self) -> None:
        """Take what the process has found."""
        for message in self._worker.news():
            if "starts" in message:
                self._take(self._question.assignments_in(message))
            self.has_ended = "status" in message
            if message.get("status") == "OPTIMAL":
                self._context.prove(message["bound"], NAME, self._criterion)
            elif message.get("status") == "INFEASIBLE":
                _refute(self._context, self._criterion, self._question)

    def _take(self, assignments: Sequence[Assignment]) -> None:
        incumbent = self._context
        if self._criterion is incumbent.criterion:
            incumbent.take_if_valid(assignments, NAME)
        else:
            incumbent.take_if_valid(moved_left(incumbent.problem, assignments), NAME)

    def wait(self) -> None:
        """Hear of it until it has ended, the gap is closed, or at the deadline of the method."""
        while not self.has_ended and self._worker.is_alive and not self._context.is_closed:
            self.hear()
            if time.perf_counter() > self._context.deadline:
                return
            time.sleep(PAUSE)
        self.hear()

    @property
    def goes_on(self) -> bool:
        """Whether it may still say something."""
        return self._worker.is_alive and not self.has_ended

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def _asked(incumbent: Incumbent) -> tuple[Criterion, Question] | None:
    """Return what is to be beaten: the best known, in slots; None where it cannot be placed in these slots."""
    problem, criterion = incumbent.problem, incumbent.criterion
    first: Sequence[Assignment] = incumbent.best
    if problem.slot is None:
        slotted = in_other_slots(problem, _slot_of(incumbent) or 1.0, "down")
        criterion = Criterion(slotted, criterion.objective)
        first = moved_left(slotted, incumbent.best)
        if incumbent.best and not first:
            return None
        incumbent.take_if_valid(moved_left(problem, first), NAME)
        if Trait.UNTIED in incumbent.traits:
            # Where no job can start earlier all starts are sums of these times, so some optimum is whole slots.
            incumbent.prove(math.ceil(incumbent.proven / slotted.clock.seconds(1) - INTEGRALITY), NAME, criterion)
    horizon = round(max(a.end for a in first)) - 1 if first else int(criterion.horizon(()))
    return criterion, Question(criterion.problem, round(incumbent.proven_on(criterion)), horizon)


def _slot_of(incumbent: Incumbent) -> float | None:
    """Return the slots, s, that the times of the problem are counted in; None where they cannot be.

    In continuous time they divide all times; where greatest lags tie the jobs, they are as fine as a proof requires.
    """
    problem, slot = incumbent.problem, incumbent.problem.slot
    latest = max((a.end for a in incumbent.best), default=incumbent.criterion.horizon(()))
    counted = latest + math.fsum(mode.duration for of_job in problem.modes for mode in of_job if len(of_job) > 1)
    least = max(latest / MAX_HORIZON, 2.0 * counted / MAX_TIME)
    if slot is not None:
        return slot if least <= 1.0 else None
    if Trait.UNTIED in incumbent.traits:
        return cpsat.common_slot(problem, least)
    fine = latest * PROOF_TOLERANCE / (2.0 * len(problem.jobs))
    return fine if fine >= least else None


def is_awaited(incumbent: Incumbent) -> bool:
    """Return whether the methods that follow wait for it a little at first.

    With a core of its own it is not waited for by the branch and bound of jobs that arrive over time, which is done
    before it as often as not.
    """
    return not _goes_on(incumbent) or incumbent.problem.has_equal_releases


def _goes_on(incumbent: Incumbent) -> bool:
    """Return whether it goes on beside the methods that follow."""
    return Trait.CORES | Trait.FEW in incumbent.traits


def _begin(incumbent: Incumbent) -> None:
    """Start, and wait a little; where there is another core it goes on."""
    run = _started(incumbent)
    if run is None:
        return
    if is_awaited(incumbent):
        run.wait()
    if _goes_on(incumbent):
        incumbent.keep(run)
        incumbent.listeners.append(run.hear)
    else:
        run.close()


def _finish(incumbent: Incumbent) -> None:
    """Wait for what was started, or start anew."""
    run = incumbent.kept(PumpkinRun)
    if run is None:
        run = _started(incumbent)
    if run is not None:
        run.wait()
        run.close()


def _started(incumbent: Incumbent) -> PumpkinRun | None:
    """Return a process at work; None where there is no time to load one, or nothing to ask."""
    if incumbent.state.remaining <= LOADING_TIME:
        return None
    asked = _asked(incumbent)
    if asked is None:
        return None
    criterion, question = asked
    if question.is_refuted:
        _refute(incumbent, criterion, question)
        return None
    return PumpkinRun(incumbent, criterion, question)


def _refute(incumbent: Incumbent, criterion: Criterion, question: Question) -> None:
    """Take it that a question has no answer; without a schedule to be beaten it was whether there is one at all."""
    if incumbent.best:
        incumbent.prove(question.horizon + 1, NAME, criterion)
    else:
        incumbent.exclude()


def is_of_use(incumbent: Incumbent) -> bool:
    """Accept few jobs of one mode each; of a few modes only where CP-SAT is not there, or lags tie them.

    CP-SAT is better at modes, but takes much longer to load; jobs that greatest lags tie no other search proves.
    """
    problem, traits = incumbent.problem, incumbent.traits
    num_jobs, num_modes = len(problem.jobs), problem.allocations.number
    if num_jobs > MAX_JOBS or not is_installed():
        return False
    is_best = Trait.LAGGED in traits or not cpsat.is_installed()
    is_few = num_modes <= MAX_MODES and Trait.FEW in traits and is_best
    return (num_modes == num_jobs or is_few) and _slot_of(incumbent) is not None


def _run(incumbent: Incumbent) -> None:
    """Begin in the first round, and finish in the last one of the opening."""
    if incumbent.round == 0:
        _begin(incumbent)
    else:
        _finish(incumbent)


NAME = "Pumpkin"
NEEDS = Trait.MAKESPAN | Trait.NO_WORK_LIMIT
SHARES: Shares = {
    Trait.UNTIED | Trait.FEW: (BRIEF, 0.0, HALF, 0.0),
    Trait.UNTIED: (BRIEF, 0.0),
    Trait.LAGGED: (0.0, BRIEF, HALF, 0.0),
}
METHOD = Method(NAME, _run, NEEDS, is_of_use, shares=SHARES, stage="solve", proves=Trait.FEW)
