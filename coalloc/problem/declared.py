"""Declarations of the constraints of a problem, by job and by kind, as everything but the checker reads them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, column
from coalloc.instance.calendar import Calendar
from coalloc.instance.constraints import (
    AllowedNodes,
    AllowedShapes,
    AllowedSpreads,
    AllowedStarts,
    Budget,
    Constraint,
    Cumulative,
    Declaration,
    DifferentClusters,
    MostTasks,
    NotTogether,
    OfOneJob,
    SameCluster,
    Tasks,
    TimeBounds,
    TimeRow,
    name_of,
)
from coalloc.instance.features import UnsupportedFeature
from coalloc.problem.allowed_slots import MOST_SLOTS


@dataclass(slots=True)
class OfJob:
    """Declarations on one job; times in s."""

    earliest_start: float = -math.inf
    latest_start: float = math.inf
    latest_end: float = math.inf
    calendar: Calendar | None = None
    nodes: tuple[Collection[int], ...] = ()
    most_tasks: tuple[MostTasks, ...] = ()
    shapes: tuple[Collection[int], ...] = ()
    allowed: tuple[Callable[[Tasks], bool], ...] = ()
    is_in_one_cluster: bool = False

    def take(self, declared: Declaration) -> None:
        """Add a declaration about the job."""
        match declared:
            case TimeBounds():
                self.earliest_start = max(self.earliest_start, declared.earliest_start)
                self.latest_start = min(self.latest_start, declared.latest_start)
                self.latest_end = min(self.latest_end, declared.latest_end)
            case AllowedStarts():
                known, self.calendar = self.calendar, declared.calendar
                if known is not None:
                    self.calendar = _common(known, declared)
            case AllowedNodes():
                self.nodes += (declared.nodes,)
            case MostTasks():
                self.most_tasks += (declared,)
            case AllowedShapes():
                self.shapes += (declared.tasks,)
            case AllowedSpreads():
                self.allowed += (declared.allows,)

    def most_on(self, node: int) -> float:
        """Return how many tasks it may have on the nodes that are told apart with a node, by index."""
        if not all(node in nodes for nodes in self.nodes):
            return 0
        return min((limit.most for limit in self.most_tasks if node in limit.nodes), default=math.inf)


_NOTHING = OfJob()


def _common(known: Calendar, declared: AllowedStarts) -> Calendar:
    """Return the calendar of the starts that the calendar of a job and another one allow."""
    name = quoted(declared.job)
    try:
        common = known.both(declared.calendar, MOST_SLOTS)
    except OverflowError:
        periods = f"{known.period:g} s and {declared.calendar.period:g} s"
        why = f"the periods, {periods}, have no common multiple within {MOST_SLOTS:,} of the shorter one"
        raise UnsupportedFeature("a solve or a bound", [f"AllowedStarts of job {name}"], why) from None
    if common is None:
        raise CoallocError(f"the instance has no schedule: no start of job {name} is allowed by all of its calendars")
    return common


@dataclass(frozen=True, slots=True)
class Declared:
    """Declarations of the jobs of an instance; those of several jobs with the names of their constraints.

    ``jobs`` are all by id, ``by_id`` has those of which something is declared alone.
    """

    jobs: frozenset[str]
    by_id: dict[str, OfJob]
    rows: tuple[tuple[str, NotTogether | TimeRow], ...]
    clusters: tuple[tuple[str, SameCluster | DifferentClusters], ...]
    budgets: tuple[tuple[str, Budget], ...]
    is_complete: bool
    """Whether no constraint forbids more by its faults."""
    asking: frozenset[str]
    """Predicates to evaluate on every allocation: the names of constraints, with those of declarations."""

    def of(self, job: str) -> OfJob:
        """Return what is declared of a job alone, by id."""
        return self.by_id.get(job, _NOTHING)

    @property
    def restricts_spreads(self) -> bool:
        """Whether some numbers of tasks in the clusters are excluded."""
        return any(of_job.allowed or of_job.is_in_one_cluster for of_job in self.by_id.values())

    @property
    def counts_tasks(self) -> bool:
        """Whether the tasks of some job on some nodes are limited."""
        return any(of_job.most_tasks for of_job in self.by_id.values())

    @property
    def is_searched(self) -> bool:
        """Whether the exact search keeps to all of it."""
        return not (self.budgets or self.clusters) and all(is_searched(row) for _, row in self.rows)

    @property
    def only_precedes(self) -> bool:
        """Whether nothing is declared but of single jobs, of which none has a calendar, and what ends before what."""
        are_precedences = all(isinstance(row, TimeRow) and row.is_precedence for _, row in self.rows)
        has_calendars = any(of_job.calendar for of_job in self.by_id.values())
        return are_precedences and not (has_calendars or self.budgets or self.clusters)

    def tells_apart(self) -> dict[str, Hashable]:
        """Return a key for each job of which more is declared than earliest starts, latest ends, nodes and shapes.

        What faults alone forbid may be about any job.
        """
        if not self.is_complete:
            return {job: job for job in self.jobs}
        keys: dict[str, Hashable] = {
            job: (of_job.latest_start, of_job.calendar, tuple(map(id, of_job.allowed)))
            for job, of_job in self.by_id.items()
            if of_job.latest_start < math.inf or of_job.calendar or of_job.allowed
        }
        return keys | {job: job for _, row in (*self.rows, *self.clusters) for job in row.jobs}


def is_searched(declared: Declaration) -> bool:
    """Return whether the exact search keeps to a declaration: of single jobs, and that one waits for others."""
    match declared:
        case Budget() | SameCluster() | DifferentClusters():
            return False
        case TimeRow():
            return declared.is_wait
        case _:
            return True


def searched_part(constraints: Iterable[Constraint], instance: Instance) -> list[Constraint]:
    """Return what the exact search keeps to of constraints: whole ones, else those of their declarations."""
    kept = list[Constraint]()
    for constraint in constraints:
        declared = [*normal(constraint.declare(instance))]
        kept += [constraint] if all(map(is_searched, declared)) else [one for one in declared if is_searched(one)]
    return kept


def declared_by(constraints: Iterable[Constraint], instance: Instance, *, is_rounded_down: bool) -> Declared:
    """Return what constraints declare of the jobs of an instance; rounded down, what still holds then.

    What names other jobs is left out, for an instance may be a part of the one that a constraint is of; so is what is
    cumulative, which resources of the instance say.
    """
    names, given = frozenset(column(instance.jobs, "id")), tuple(constraints)
    by_id: defaultdict[str, OfJob] = defaultdict(OfJob)
    rows, budgets, asking = list[tuple[str, NotTogether | TimeRow]](), list[tuple[str, Budget]](), set[str]()
    clusters = list[tuple[str, SameCluster | DifferentClusters]]()
    for constraint in given:
        for one in normal(constraint.declare(instance)):
            if isinstance(one, Cumulative) or not names.issuperset(one.jobs):
                continue
            if is_rounded_down and not one.holds_rounded_down:
                continue
            if isinstance(one, (AllowedSpreads, Budget)):
                asking.add(f"{type(one).__name__} of {name_of(constraint)}")
            if isinstance(one, OfOneJob):
                by_id[one.job].take(one)
            elif isinstance(one, (NotTogether, TimeRow)):
                rows.append((name_of(constraint), one))
            elif isinstance(one, Budget):
                budgets.append((name_of(constraint), one))
            else:
                clusters.append((name_of(constraint), one))
                for job in one.jobs if isinstance(one, SameCluster) else ():
                    by_id[job].is_in_one_cluster = True
    is_complete = all(constraint.is_declared for constraint in given)
    return Declared(names, dict(by_id), tuple(rows), tuple(clusters), tuple(budgets), is_complete, frozenset(asking))


def normal(declarations: Iterable[Declaration]) -> Iterator[Declaration]:
    """Yield declarations, rows with one time as bounds of times where they are."""
    for one in declarations:
        match one:
            case TimeRow(terms=((1, "start", job),), least=least):
                yield TimeBounds(job, earliest_start=least)
            case TimeRow(terms=((-1, "start", job),), least=least):
                yield TimeBounds(job, latest_start=-least)
            case TimeRow(terms=((-1, "end", job),), least=least):
                yield TimeBounds(job, latest_end=-least)
            case _:
                yield one


def told_apart(constraints: Iterable[Constraint], instance: Instance) -> list[Collection[int]]:
    """Return the sets of nodes, by index, that constraints tell apart from all others."""
    sets = {
        frozenset(one.nodes)
        for constraint in constraints
        for one in constraint.declare(instance)
        if isinstance(one, (AllowedNodes, MostTasks))
    }
    return sorted(sets, key=sorted)


def ties(constraint: Constraint, instance: Instance) -> bool:
    """Return whether a constraint ties jobs to each other, or to a calendar."""
    alone = (TimeBounds, AllowedNodes, MostTasks, AllowedShapes, AllowedSpreads)
    return not all(isinstance(one, alone) for one in constraint.declare(instance))
