"""CP-SAT next to HiGHS: a child process solves a problem in slots and reports bounds and schedules.

It needs the extra ``coalloc[cpsat]``. Loads of links and memories are whole numbers there, rounded down against a
capacity rounded down as well, so its model is a relaxation and its bound valid; a schedule that
only the rounding lets through is refused by the exact model here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from coalloc.instance import Job
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, in_other_slots
from coalloc.problem.budgets import BudgetRow
from coalloc.rules.earliest_starts import moved_left
from coalloc.rules.tuning import ENTRIES
from coalloc.solvers.backends.worker import LOADING_TIME, Message, Note, Worker, assignments_in, say_nothing
from coalloc.solvers.effort import OnSchedule
from coalloc.solvers.incumbent import Incumbent
from coalloc.system import extras

LOAD_UNITS = 10**9
"""Whole units that the limit of a link, or a memory, is counted in."""
COST_UNITS = 10**9
"""Whole units that the greatest cost of a job is counted in, where costs are not whole numbers."""
LEAST_LIMIT = 1e-280
"""MB/s, or MB, below which a limit counts as this much in its units, so that a unit is a finite number."""
INTEGRALITY = 1e-6
"""Excess over a whole number of slots up to which a bound is not rounded up."""

WORK_UNIT = 0.01
"""CP-SAT's deterministic seconds per unit of ``work_limit``."""
SLOTS = (1e4, 2e7)
"""Slots per makespan, one after the other, for continuous time; the last are finer than the gap of a proof."""
UNITS = (3600.0, 60.0, 1.0, 0.5, 0.1, 0.01, 0.001)
"""Slots, s, that are tried whether they divide all times of an instance."""

OnBound = Callable[[float], None]


def is_installed() -> bool:
    """Return whether the extra ``cpsat`` is there; nothing is loaded."""
    return extras.is_installed("ortools")


def start_worker(note: Note = say_nothing) -> Worker:
    """Return a process that solves one problem after another."""
    return Worker(f"{__name__}_worker", note)


def solve_cpsat(
    criterion: Criterion,
    start: Sequence[Assignment],
    *,
    lower_bound: float,
    time_limit: float,
    threads: int = 1,
    seed: int = 0,
    work_limit: float | None = None,
    worker: Worker | None = None,
    on_bound: OnBound = lambda _: None,
    on_schedule: OnSchedule = lambda _: None,
    on_infeasible: Callable[[], None] = lambda: None,
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Run CP-SAT on a problem in slots, until it is done, its time is up or ``is_done`` says so.

    Every bound (a cost) and schedule goes to the callbacks as it comes. ``lower_bound`` (a cost) is not
    to be proved again. ``time_limit`` (s) begins with the call, ``work_limit`` is in CP-SAT's deterministic seconds.
    A ``worker`` that was started before is left running where CP-SAT came to its end, and ended otherwise; without one
    a new one is used.
    """
    deadline = time.perf_counter() + time_limit
    problem, unit = criterion.problem, cost_unit(criterion, start)
    document = document_of(criterion, start, lower_bound=lower_bound)
    time_limit = deadline - time.perf_counter()
    document |= {"time_limit": time_limit, "threads": threads, "seed": seed, "work_limit": work_limit}
    with (
        nullcontext(worker) if worker is not None else start_worker() as running,
        closing(running.messages(document, time_limit)) as messages,
    ):
        for message in messages:
            _hear(message, problem, unit, on_bound, on_schedule)
            if message.get("status") == "INFEASIBLE":
                on_infeasible()
            if is_done():
                return


def cost_unit(criterion: Criterion, start: Sequence[Assignment]) -> float:
    """Return what a whole unit of cost is there: 1 where costs are whole numbers, else a share of the greatest."""
    if criterion.is_integral:
        return 1.0
    horizon = criterion.horizon(start)
    greatest = max(
        (
            abs(criterion.cost(j, horizon - level.duration, horizon))
            for j, levels in enumerate(criterion.problem.levels)
            for level in levels
        ),
        default=0.0,
    )
    return max(greatest, abs(criterion.value(start)), *map(abs, criterion.alone)) / COST_UNITS or 1.0


def _cost_tables(criterion: Criterion, unit: float, horizon: int) -> list[list[list[int]]]:
    """Return what each job costs, in units rounded down, at each level by its end, from slot 0 to the horizon."""
    problem = criterion.problem
    return [
        [
            [math.floor(criterion.cost(j, end - level.duration, end) / unit) for end in range(horizon + 1)]
            for level in problem.levels[j]
        ]
        for j in range(len(problem.jobs))
    ]


def document_of(criterion: Criterion, start: Sequence[Assignment], *, lower_bound: float) -> dict[str, Any]:
    """Return what the child needs to know, in whole numbers."""
    problem, horizon = criterion.problem, int(criterion.horizon(start))
    unit = cost_unit(criterion, start)
    resources = problem.contended_resources
    units = {k: LOAD_UNITS / max(problem.allocations.limits[k], LEAST_LIMIT) for k in resources}
    capacities = {k: math.floor(problem.allocations.limits[k] * units[k]) for k in resources}
    held = {k: held_by_running(problem, k, units[k], capacities[k]) for k in resources}
    hint = criterion.in_order(start)
    return {
        "objective": {
            "aggregate": criterion.objective.aggregate,
            "costs": None if criterion.is_integral else _cost_tables(criterion, unit, horizon),
            "lower_bound": max(-COST_UNITS, math.floor(lower_bound / unit)) if math.isfinite(lower_bound) else None,
        },
        "horizon": horizon,
        "capacities": list(problem.capacities),
        "prefixes": problem.speeds.speed_prefixes,
        "clusters": [node_class.cluster for node_class in problem.classes],
        "resources": [{"capacity": capacities[k], "classes": problem.resources[k].classes} for k in resources],
        "jobs": [
            {
                "rooms": problem.allocations.rooms(job),
                "spread": _spread_document(problem, job),
                "release": int(problem.releases[j]),
                "latest_end": int(min(horizon, problem.latest_ends[j])),
                "starts": list(problem.allowed_slots[j].spans(int(problem.releases[j]), horizon))
                if j in problem.calendars
                else None,
                "levels": [
                    {
                        "duration": int(lv.duration),
                        "tasks": lv.tasks,
                        "classes": list(lv.classes),
                        "one_of": problem.speeds.slowest_classes(j, i) if j in criterion.end_lags else (),
                    }
                    for i, lv in enumerate(problem.levels[j])
                ],
                "loads": [
                    {
                        shape.tasks: [
                            whole_units(problem.resources[k].load(n, shape), units[k], capacities[k] + 1)
                            for n in range(shape.tasks + 1)
                        ]
                        for shape in problem.allocations.shapes(job)
                    }
                    for k in resources
                ],
            }
            for j, job in enumerate(problem.jobs)
        ],
        "busy": [
            {
                "start": int(max(0.0, busy.start)),
                "end": int(busy.end),
                "allocation": list(busy.allocation),
                "loads": [held[k][b] for k in resources],
            }
            for b, busy in enumerate((*problem.busy, *problem.blocks))
        ],
        "parts": problem.allocations.parts,
        "equal_pairs": criterion.equal_pairs,
        "rows": [asdict(row) for row in problem.rows],
        "cluster_rows": [{"groups": row.groups, "is_same": row.is_same} for row in problem.cluster_rows.rows],
        "budgets": [_budget_document(row) for row in problem.budgets],
        "hint": [
            {
                "start": int(a.start),
                "duration": int(a.mode.duration),
                "allocation": list(a.mode.allocation),
            }
            for a in hint
        ],
    }


def _spread_document(problem: Problem, job: Job) -> dict[str, Any] | None:
    """Return what a job asks of its tasks in each cluster, all its shapes alike; the spreads where constraints say."""
    spreads = [
        (shape, spread)
        for shape in problem.allocations.shapes(job)
        if (spread := problem.allocations.spread(shape)) is not None
    ]
    if not spreads:
        return None
    _, spread = spreads[0]
    listed = [
        tasks for shape, _ in spreads for tasks in problem.allocations.spreads(shape, problem.allocations.rooms(shape))
    ]
    return {
        "max_clusters": spread.max_clusters,
        "min_tasks": spread.min_tasks,
        "slices": spread.slices,
        "parts": None if spread.parts is None else [sorted(part) for part in spread.parts],
        "listed": None if spread.allows is None else listed,
    }


def _budget_document(row: BudgetRow) -> dict[str, Any]:
    """Return a budget in whole units, rounded down: so it only relaxes where weights are no whole numbers."""
    unit = 1.0 if row.is_whole and row.largest <= LOAD_UNITS else LOAD_UNITS / row.largest
    most = len(row.excess) * math.ceil(row.largest * unit)
    tables = [
        [(*tasks, math.floor(weight * unit)) for tasks, weight in of_job.items()] if any(of_job.values()) else []
        for of_job in row.excess
    ]
    return {"limit": math.floor(min(row.room * unit, most)), "weights": tables}


def whole_units(load: float, unit: float, most: int) -> int:
    """Return a load in whole units, at most ``most``: what exceeds the limit needs no larger number."""
    return math.floor(min(load * unit, most))


def held_by_running(problem: Problem, k: int, unit: float, capacity: int) -> list[int]:
    """Return what each running job takes of a resource, in units.

    All run from 0 on. Together they take the capacity at most: what they overload has nothing free until
    enough of them end, and that is no fault of the jobs to schedule. Then come blocks, which take at most what all that
    they overlap leave: less than they do perhaps, which only relaxes.
    """
    held, left = [0] * len(problem.busy), capacity
    for b in sorted(range(len(held)), key=lambda b: -problem.busy[b].end):
        held[b] = whole_units(problem.busy[b].loads[k], unit, left)
        left -= held[b]
    everything = [*problem.busy, *problem.blocks]
    for b in range(len(held), len(everything)):
        block = everything[b]
        beside = (i for i in range(b) if everything[i].start < block.end and block.start < everything[i].end)
        held.append(whole_units(block.loads[k], unit, capacity - min(capacity, sum(held[i] for i in beside))))
    return held


def _hear(message: Message, problem: Problem, unit: float, on_bound: OnBound, on_schedule: OnSchedule) -> None:
    """Tell the callbacks what a message holds: a schedule, a bound (a cost; ``unit`` of it is one there), or both."""
    if "starts" in message:
        on_schedule(assignments_in(message, problem))
    if math.isfinite(message.get("bound", math.inf)):
        on_bound(unit * math.ceil(message["bound"] - INTEGRALITY))


# --- as methods of the portfolio ---------------------------------------------------------------------


NAME = "CP-SAT"


def accepts(incumbent: Incumbent) -> bool:
    """Return whether it is installed and for the problem: in slots, or in seconds where costs are ends."""
    if not is_installed():
        return False
    if incumbent.problem.slot is not None:
        return _may_list_costs(incumbent.criterion, incumbent.best)
    return bool(incumbent.best) and incumbent.criterion.objective.counts_ends  # others need a table of finest slots


def _may_list_costs(criterion: Criterion, start: Sequence[Assignment]) -> bool:
    num_levels = sum(len(levels) for levels in criterion.problem.levels)
    return criterion.is_integral or num_levels * (criterion.horizon(start) + 1) <= ENTRIES


def load(incumbent: Incumbent) -> None:
    """Start the process early, where another core is there for it: it loads beside the search."""
    _living_worker(incumbent)


@dataclass(frozen=True, slots=True)
class Beside:
    """CP-SAT on the cores that other methods leave: its process, and the cost of a unit of what it says."""

    worker: Worker
    unit: float

    def tell(self, incumbent: Incumbent) -> None:
        """Tell an incumbent what was found since."""
        for message in self.worker.news():
            _hear(
                message,
                incumbent.problem,
                self.unit,
                on_bound=lambda cost: incumbent.prove(cost, NAME),
                on_schedule=lambda found: incumbent.take_if_valid(found, NAME),
            )


def begin_beside(incumbent: Incumbent) -> None:
    """Let CP-SAT solve the problem on all cores but one; what it finds is heard from then on."""
    options, criterion = incumbent.state.options, incumbent.criterion
    beside = Beside(start_worker(_noted_in(incumbent)), cost_unit(criterion, incumbent.best))
    incumbent.keep(beside)
    incumbent.resources.callback(beside.worker.close)
    document = document_of(criterion, incumbent.best, lower_bound=_known(incumbent, criterion))
    limits = {"time_limit": incumbent.state.remaining, "work_limit": None}
    beside.worker.tell(document | limits | {"threads": options.threads - 1, "seed": options.seed})
    incumbent.listeners.append(lambda: beside.tell(incumbent))


def solve_here(incumbent: Incumbent) -> None:
    """Solve the problem between what is proved and what is known; what runs beside others goes on there."""
    beside = incumbent.kept(Beside)
    if beside is not None and beside.worker.is_alive:
        return
    if incumbent.problem.slot is None:
        _solve_in_slots(incumbent)
    else:
        _solve_slots(incumbent)


def _solve_slots(incumbent: Incumbent) -> None:
    """Solve the problem itself."""

    def take(assignments: list[Assignment]) -> None:
        incumbent.take_if_valid(assignments, NAME)

    _run(incumbent, incumbent.criterion, incumbent.best, take, incumbent.state.remaining)


def _solve_in_slots(incumbent: Incumbent) -> None:
    """Solve in ever finer slots, rounded down (or once, where all times of the instance are whole slots).

    The optimum of each is a bound, and its order of starts, moved left with real durations, a schedule
    (docs/mathematics/execution-model.md, "Slotting error").
    """
    problem = incumbent.problem

    def take(assignments: list[Assignment]) -> None:
        incumbent.take_if_valid(moved_left(problem, assignments), NAME)

    lengths = _lengths(incumbent)
    for left, slot in zip(range(len(lengths), 0, -1), lengths, strict=True):
        down = in_other_slots(problem, slot, "down")
        first = moved_left(down, incumbent.best)
        _run(incumbent, Criterion(down, incumbent.criterion.objective), first, take, incumbent.state.remaining / left)
        if incumbent.is_closed or incumbent.state.remaining <= 0.0:
            return


def _lengths(incumbent: Incumbent) -> list[float]:
    """Return ever finer slots, s; one alone where every time is a whole number of it."""
    latest = max(a.end for a in incumbent.best)
    common = common_slot(incumbent.problem, latest / SLOTS[-1])
    return [latest / slots for slots in SLOTS] if common is None else [common]


def common_slot(problem: Problem, least: float, others: Iterable[float] = ()) -> float | None:
    """Return a slot, s, of ``least`` or more that every time of a problem is a whole number of; None if none is.

    So are ``others``, s.
    """
    times = [*others, *problem.releases, *(busy.end for busy in (*problem.busy, *problem.blocks))]
    times += [block.start for block in problem.blocks]
    times += [level.duration for levels in problem.levels for level in levels]
    for unit in UNITS:
        if unit >= least and all(abs(t - unit * round(t / unit)) <= problem.base.tolerance for t in times):
            return unit
    return None


def _run(
    incumbent: Incumbent, criterion: Criterion, first: Sequence[Assignment], take: OnSchedule, time_limit: float
) -> None:
    """Run CP-SAT on the problem of a criterion: that of the incumbent, or the same in other slots."""
    options, worker = incumbent.state.options, _living_worker(incumbent)
    if worker is None:
        return
    solve_cpsat(
        criterion,
        first,
        lower_bound=_known(incumbent, criterion),
        time_limit=time_limit,
        threads=options.threads,
        seed=options.seed,
        work_limit=None if options.work_limit is None else options.work_limit * WORK_UNIT,
        worker=worker,
        on_bound=lambda cost: incumbent.prove(cost, NAME, criterion),
        on_schedule=take,
        on_infeasible=incumbent.exclude,
        is_done=lambda: incumbent.is_closed,
    )


def _known(incumbent: Incumbent, criterion: Criterion) -> float:
    """Return a cost that need not be proved again: of a sum in other slots nothing.

    A sum may be less in slots rounded down than what is proved of it: asked for that much, schedules that follow from
    better ones would be left out.
    """
    is_own = criterion is incumbent.criterion or not criterion.is_sum
    return incumbent.proven_on(criterion) if is_own else -math.inf


def _living_worker(incumbent: Incumbent) -> Worker | None:
    """Return the process of the call, started if need be; None where there is no time left to load one."""
    worker = incumbent.kept(Worker)
    if worker is not None and worker.is_alive:
        return worker
    if incumbent.state.remaining <= LOADING_TIME:
        return None
    worker = start_worker(_noted_in(incumbent))
    incumbent.keep(worker)
    incumbent.resources.callback(worker.close)
    return worker


def _noted_in(incumbent: Incumbent) -> Note:
    return partial(incumbent.state.note, NAME)
