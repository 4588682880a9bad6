"""Makespan against energy: the Pareto front, certified, with heuristics beside it.

The front is walked from the schedule of least energy to the shortest, by limits on the makespan. A limit gives a
schedule and a proved bound: no schedule that ends within it takes less. So the next point of the front is shorter
than that schedule, and the next limit is just below its makespan; where that takes no more energy, the point before
was none, and the shortest schedule of that energy is asked for. A schedule with a makespan above
one limit, and up to the next, takes at least the bound of the next: the certified lower envelope. Its EDP
is at least the lower limit times that bound. Source: errata 23; the epsilon-constraint method is that of
Y. Y. Haimes, L. S. Lasdon and D. A. Wismer, IEEE Transactions on Systems, Man, and Cybernetics 1 (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.errors import InternalError
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import require_watts
from coalloc.problem import Slot
from coalloc.problem.allocation import Scope
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import Broker
from coalloc.solvers.energy.run import SAME_ENERGY, Point
from coalloc.solvers.energy.solving import shortest_of
from coalloc.solvers.result import PROOF_TOLERANCE, SolveResult, SolveStatus, relative_gap
from coalloc.studies.comparison import BOUND_TOLERANCE, contestants_of
from coalloc.studies.interruption import gathered, uninterrupted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from coalloc.documents.storage import FilePath

EXACT = "exact"
"""Label of the rows of the front."""

POINTS = 20
"""Parts of the front, at least as long as which are the steps where a solve is not proved."""

MAX_POINTS = 10_000
"""Most limits that are worth a solve each."""

LIMIT_MARGIN = 1e-6
"""Share by which a limit exceeds the makespan that it stands for, so that rounding does not exclude it."""

STEP = 1e-5
"""Share by which a limit is below the makespan of the point before: more than a solver's tolerances add up to."""

COLUMNS = (
    "instance",
    "label",
    "makespan_limit",
    "makespan",
    "energy",
    "lower_bound",
    "gap",
    "edp",
    "edp_bound",
    "open_from",
    "on_front",
    "status",
)
"""Columns of the table; :func:`energy_front` defines them."""

SUMMARY = (
    "label",
    "makespan_limit",
    "makespan",
    "energy",
    "lower_bound",
    "gap",
    "edp",
    "open_from",
    "on_front",
    "status",
)
"""Columns of :func:`summary`."""

Row = dict[str, Any]
"""A row of the table, by column."""

SCOPES: tuple[Scope, ...] = ("node", "cluster", "platform")
"""From narrow to wide."""


@dataclass(frozen=True, slots=True)
class Step:
    """A limit on the makespan, s, no schedule within which takes less than the bound, J; the status of its solve."""

    limit: float
    bound: float
    status: SolveStatus


@public
def energy_front(
    instance: Instance,
    policies: Iterable[str | Policy | Broker] | Mapping[str, str | Policy | Broker | Mapping[str, Any]] = (),
    *,
    points: int | None = None,
    slot: Slot = None,
    scope: Scope = "node",
    time_limit: float | None = 20.0,
    threads: int = 1,
    seed: Seed = 0,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compute the Pareto front of makespan and energy, and the position of policies relative to it.

    Parameters
    ----------
    instance : Instance
        An instance whose node groups have watts.
    policies : iterable or mapping, default ()
        Policies, as for ``coalloc.compare``, each within ``scope``.
    points : int or None, default None
        Maximum number of points, 2 to 10,000. None: all, or 20 evenly spaced limits on the makespan if a solve is not
        proved optimal. A front with more points is solved at evenly spaced limits first, then in the widest gaps
        between points, with at most two solves per point. In continuous time, the makespans of policies are limits as
        well.
    slot : float or str or None, default None
        Length of a time slot, as for ``coalloc.solve``. Policies know no slots: they are compared with the bound of
        ``coalloc.lower_bound``.
    scope : {"platform", "cluster", "node"}, default "node"
        Where the tasks of one job may run.
    time_limit : float or None, default 20.0
        Seconds for each point. None or ``math.inf``: no limit.
    threads : int, default 1
        Number of CPU cores of each solve.
    seed : int, default 0
        Seed of solves and runs.
    progress : callable or None, default None
        Function that receives a line of text per step.

    Returns
    -------
    pandas.DataFrame
        One row per point, labelled ``"exact"``, then one per policy:

        - ``makespan_limit``: largest limit of the point, s; infinite for the last point, nan for a policy;
        - ``makespan``, ``energy``, ``edp``: of the schedule, s, J and J s;
        - ``lower_bound``: bound on the energy within the limit, J; for a policy, within its makespan;
        - ``gap``: (energy - lower_bound) / energy; 0 if the point is proved;
        - ``edp_bound``: bound on the EDP of makespans above the limit of the previous row, J s; for a policy, makespan
          times bound;
        - ``open_from``: other points may lie between this makespan and that of the row, s; nan if there are none;
        - ``on_front``: no row is better in makespan or energy and as good in the other;
        - ``status``: of the solve, or ``"policy"``.

        ``attrs`` holds ``open`` (pairs of makespans between which further points may lie, s), ``complete`` (there are
        none), ``least_makespan`` (no schedule is shorter, s), ``edp_bound`` (no schedule has a lower EDP, J s) and
        ``slot``.

    Raises
    ------
    CoallocError
        Watts are missing, there are no jobs, a policy is unknown or wider than ``scope``, or ``points`` is out of
        range.
    InternalError
        A policy beats a bound.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.energy : Compute the energy of one schedule.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> front = coalloc.studies.energy_front(instance, ["pcbe"], points=2)
    >>> front[["label", "makespan", "energy"]].round(2)
       label  makespan  energy
    0  exact      5.88  206.13
    1  exact     10.00  185.99
    2  exact     18.00  159.47
    3   pcbe     10.00  185.99
    """
    if points is not None and not 2 <= points <= MAX_POINTS:
        raise CoallocError(f"points: must be from 2 to {MAX_POINTS}, got {picture_of(points)}")
    _refuse_instance(instance)
    say = progress or (lambda _: None)
    contestants = contestants_of(policies)
    made = [(contestant.label, contestant.make()) for contestant in contestants]
    for label, policy in made:
        _refuse_wider(instance, label, policy, scope)
    options: dict[str, Any] = {"slot": slot, "scope": scope, "threads": threads, "seed": seed, "time_limit": time_limit}
    runs = []
    for label, policy in made:
        say(f"{instance.name}: {label}")
        runs.append((label, Point.of(instance, simulate(instance, policy, seed=seed).schedule)))
    front = _Front(instance, options, runs, say)
    begun: list[str] = []
    return gathered(front.solved(points, begun), begun, front.table)


class _Front:
    """A front while it is found: its ends, the runs of policies beside it, and the schedules that solves start from."""

    def __init__(
        self,
        instance: Instance,
        options: Mapping[str, Any],
        runs: Sequence[tuple[str, Point]],
        say: Callable[[str], None],
    ) -> None:
        self._instance, self._options, self._runs, self._say = instance, options, runs, say
        self._is_slotted = options["slot"] is not None
        self._between = [] if self._is_slotted else [run for _, run in runs]
        say(f"{instance.name}: minimum makespan")
        shortest = uninterrupted(solve(instance, objective="makespan", **options))
        say(f"{instance.name}: minimum energy")
        start = _best(self._between, math.inf).schedule if self._between else None
        frugal = uninterrupted(solve(instance, objective="energy", start=start, **options))
        if shortest.schedule is None or frugal.schedule is None:
            raise CoallocError(
                f"instance {shown(instance.name)} has no Pareto front: {shortest.message or frugal.message}"
            )
        ends = (shortest.schedule, frugal.schedule)
        self._known = [*self._between, *(Point.of(instance, schedule) for schedule in ends)]
        self._least_makespan = shortest.lower_bound or 0.0
        self._solve_options = frugal.options
        self._frugal = Step(math.inf, frugal.lower_bound or 0.0, frugal.status)

    def solved(self, points: int | None, begun: list[str]) -> Iterator[Step]:
        """Yield the limits that are solved for, each with what is proved of it; name each solve in ``begun``.

        Each solve starts from the best known schedule.
        """
        begun.append(f"{self._instance.name}: minimum energy")
        steps = [self._frugal]
        yield self._frugal
        for step in self._walked(points, begun):
            steps.append(step)
            yield step
        if points is not None:
            yield from self._refined(points, steps, begun)

    def _walked(self, points: int | None, begun: list[str]) -> Iterator[Step]:
        """Yield limits from the widest down to the least makespan, evenly spaced where they are few."""
        step, left = self._frugal, math.inf if points is None else points - 1
        is_closed = self._is_proven(step)
        while (limit := self._next_limit(step, left, is_closed)) is not None:
            left -= not any(limit == _as_limit(run) for run in self._between)
            found = self._below(step, limit, begun)
            if found is None:
                return
            after, is_closed = found
            if after is not step:
                step = after
                yield step

    def _refined(self, points: int, steps: list[Step], begun: list[str]) -> Iterator[Step]:
        """Yield limits just below the points above the widest open strips, while the front has fewer than ``points``.

        Each adds a point, or shows that a strip has none; so as many solves as there are points are enough.
        """
        for _ in range(points):
            rows = self._rows_of(steps)
            strips = [row for row in rows if row["gap"] == 0.0 and not math.isnan(row["open_from"])]
            if len(rows) >= points or not strips:
                return
            widest = max(strips, key=lambda row: row["makespan"] - row["open_from"])
            limit = widest["makespan"] * (1.0 - STEP)
            above = min((step for step in steps if step.limit > limit), key=lambda step: step.limit)
            found = self._below(above, limit, begun)
            if found is None:
                return
            if found[0] is not above:
                steps.append(found[0])
                yield found[0]

    def _below(self, step: Step, limit: float, begun: list[str]) -> tuple[Step, bool] | None:
        """Return the step at a limit, s, below that of another, and whether nothing is left to find at its end.

        Where the least energy is that of the other step, that step is returned, its schedule as short as is found.
        None: no schedule is that short.
        """
        found = self._solved(limit, begun)
        if found.schedule is None:
            return None
        if self._is_proven(step) and _is_same_energy(self._best(limit).joules, self._best(step.limit).joules):
            return step, self._shorten(step.limit)
        after = Step(limit, max(step.bound, found.lower_bound or 0.0), found.status)
        return after, self._is_proven(after)

    def _solved(self, limit: float, begun: list[str]) -> SolveResult:
        """Return what is found within a limit, s; keep its schedule, or that there is none."""
        begun.append(f"{self._instance.name}: minimum energy within {limit:g} s")
        self._say(begun[-1])
        start = self._best(limit).schedule if min(point.makespan for point in self._known) <= limit else None
        found = solve(self._instance, objective="energy", makespan_limit=limit, start=start, **self._options)
        if found.schedule is not None:
            self._known.append(Point.of(self._instance, found.schedule))
        if uninterrupted(found).status is SolveStatus.INFEASIBLE:
            self._least_makespan = max(self._least_makespan, limit)
        return found

    def _shorten(self, limit: float) -> bool:
        """Find the shortest schedule with the least energy known within a limit, s; return whether it is proved."""
        best = self._best(limit)
        self._say(f"{self._instance.name}: minimum makespan with {best.joules:g} J")
        schedule, bound = shortest_of(self._instance, self._solve_options, best.schedule)
        self._known.append(Point.of(self._instance, schedule))
        return is_shortest(self._best(limit).makespan, bound)

    def _best(self, limit: float) -> Point:
        return _best(self._known, limit)

    def _is_proven(self, step: Step) -> bool:
        return _gap(self._best(step.limit).joules, step.bound) == 0.0

    def _next_limit(self, step: Step, left: float, is_closed: bool) -> float | None:
        """Return the limit after a step, s, with so many left; None where there is none, or nothing more to be found.

        It is just below the makespan found. Where the step is not closed (its energy proved, and the makespan as the
        least with that energy), or where limits are few, it is further below, so that these are enough.
        """
        makespan = self._best(step.limit).makespan
        below = makespan * (1.0 - STEP)
        if left < 1 or is_shortest(makespan, self._least_makespan):
            return None
        shortest = min(self._known, key=lambda point: point.makespan)
        width = (makespan - shortest.makespan) / left
        if not is_closed:
            width = max(width, (self._best(math.inf).makespan - shortest.makespan) / POINTS)
        spaced = min(below, makespan - width)
        is_longer = makespan > _as_limit(shortest)
        floor = _as_limit(shortest) if is_longer else self._least_makespan * (1.0 + LIMIT_MARGIN)
        spaced = max(spaced, min(below, floor))
        return max([spaced, *(limit for limit in map(_as_limit, self._between) if spaced < limit <= below)])

    def _rows_of(self, steps: Iterable[Step]) -> list[Row]:
        ascending = sorted(steps, key=lambda step: step.limit)
        return _rows_of(self._instance, self._known, ascending, self._least_makespan)

    def table(self, steps: Sequence[Step]) -> pd.DataFrame:
        """Return the table of the steps and of the runs."""
        import pandas as pd

        rows = self._rows_of(steps)
        attrs = {
            "edp_bound": min(row["edp_bound"] for row in rows),
            "slot": self._options["slot"],
            "least_makespan": self._least_makespan,
            "open": [_open_strip(row) for row in rows if not math.isnan(row["open_from"])],
        }
        envelope = [(row["makespan_limit"], row["lower_bound"]) for row in rows] if not self._is_slotted else None
        rows += [_policy_row(self._instance, label, run, envelope) for label, run in self._runs]
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        table["on_front"] = _undominated(table)
        table.attrs |= attrs | {"complete": not attrs["open"]}
        return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of :func:`energy_front` that say most."""
    return table[list(SUMMARY)]


def _refuse_instance(instance: Instance) -> None:
    """Raise where there is no front, before anything is solved."""
    require_watts(instance.platform)
    if not instance.jobs:
        raise CoallocError(f"instance {shown(instance.name)} has no Pareto front: it has no jobs")


def _refuse_wider(instance: Instance, label: str, policy: Policy | Broker, scope: Scope) -> None:
    """Raise where the bounds of a scope would not hold for a policy."""
    if SCOPES.index(policy.scope) > SCOPES.index(scope):
        raise CoallocError(f"policy {label!r} has scope {policy.scope!r}; use that scope for the Pareto front")
    may_saturate = getattr(policy, "links", "shared") != "strict" and any(job.task_bandwidth for job in instance.jobs)
    if scope != "node" and may_saturate:
        raise CoallocError(
            f"policy {label!r} may saturate links, which the Pareto front does not; use jobs without communication"
        )


def is_shortest(makespan: float, bound: float) -> bool:
    """Return whether a bound leaves no room below a makespan, s, for another point of the front."""
    return bound >= makespan * (1.0 - STEP) * (1.0 - BOUND_TOLERANCE)


def _as_limit(point: Point) -> float:
    """Return the limit, s, that stands for the makespan of a point."""
    return point.makespan * (1.0 + LIMIT_MARGIN)


def _is_same_energy(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME_ENERGY, abs_tol=0.0)


def _best(known: Iterable[Point], limit: float) -> Point:
    """Return the point of least energy among those within a limit, s; of equal ones the shortest."""
    within = [point for point in known if point.makespan <= limit * (1.0 + BOUND_TOLERANCE)]
    least = min(point.joules for point in within)
    equal = (point for point in within if _is_same_energy(point.joules, least))
    return min(equal, key=lambda point: point.makespan)


def _rows_of(instance: Instance, known: Sequence[Point], steps: Sequence[Step], least_makespan: float) -> list[Row]:
    """Return a row per step that says something new, limits ascending: a proved point, or a bound, is there once.

    Of the limits within which a point takes least, the largest stays: up to there, to wait saves nothing.
    """
    rows: list[Row] = [
        {
            "instance": instance.name,
            "label": EXACT,
            "makespan_limit": step.limit,
            **_measures(_best(known, step.limit), step.bound),
            "status": step.status.value,
        }
        for step in steps
    ]
    kept = [row for row, after in zip(rows, [*rows[1:], None], strict=True) if not _is_same(row, after)]
    below = [least_makespan, *(row["makespan_limit"] for row in kept[:-1])]
    return [
        {**row, "edp_bound": low * row["lower_bound"], "open_from": _open_from(row, low)}
        for row, low in zip(kept, below, strict=True)
    ]


def _is_same(row: Row, after: Row | None) -> bool:
    """Return whether two rows are the same point of the front, proved in both or with the same bound."""
    if after is None or not (row["lower_bound"] == after["lower_bound"] or row["gap"] == after["gap"] == 0.0):
        return False
    return all(math.isclose(row[name], after[name], rel_tol=LIMIT_MARGIN) for name in ("makespan", "energy"))


def _open_from(row: Row, low: float) -> float:
    """Return the limit below a row, s, where between the two there may be other points of the front; else nan."""
    return math.nan if row["gap"] == 0.0 and is_shortest(row["makespan"], low) else low


def _open_strip(row: Row) -> tuple[float, float]:
    """Return the makespans, s, between which other points of the front may be: those that end a row's open strip."""
    return row["open_from"], row["makespan"] if row["gap"] == 0.0 else row["makespan_limit"]


def _measures(point: Point, bound: float) -> dict[str, float]:
    """Return the columns that say how good a point is against a bound on its energy, J."""
    return {
        "makespan": point.makespan,
        "energy": point.joules,
        "lower_bound": bound,
        "gap": _gap(point.joules, bound),
        "edp": point.joules * point.makespan,
    }


def _policy_row(
    instance: Instance, label: str, run: Point, envelope: list[tuple[float, float]] | None
) -> dict[str, Any]:
    """Return the row of a policy; without an envelope its bound is that of the linear programme."""
    if envelope is None:
        bound = lower_bound(instance, objective="energy")
    else:
        bound = next(least for limit, least in envelope if run.makespan <= limit)
    if bound > run.joules * (1.0 + BOUND_TOLERANCE) + BOUND_TOLERANCE:
        raise InternalError(f"the bound {bound:.12g} J exceeds the energy {run.joules:.12g} J of policy {label!r}")
    return {
        "instance": instance.name,
        "label": label,
        "makespan_limit": math.nan,
        **_measures(run, bound),
        "edp_bound": run.makespan * bound,
        "open_from": math.nan,
        "status": "policy",
    }


def _gap(joules: float, bound: float) -> float:
    """Return (energy - lower_bound)/energy; 0 up to what counts as a proof."""
    gap = relative_gap(joules, bound)
    return gap if gap is not None and gap > PROOF_TOLERANCE else 0.0


def _undominated(table: pd.DataFrame) -> list[bool]:
    """Return for each row whether no other is better in makespan or energy and as good in the other."""
    pairs = table[["makespan", "energy"]].to_numpy(dtype=float)
    flags = []
    for own in pairs:
        tolerance = LIMIT_MARGIN * np.abs(own)
        no_worse = (pairs <= own + tolerance).all(axis=1)
        better = (pairs < own - tolerance).any(axis=1)
        flags.append(bool(not np.isnan(own).any() and not (no_worse & better).any()))
    return flags


def draw(table: pd.DataFrame, path: FilePath | None = None) -> Figure:
    """Draw a table of :func:`energy_front`: front, certified lower envelope, and policies as points.

    ``path`` is where to write it as well: ``.png``, ``.svg`` or ``.pdf``.
    """
    from coalloc.plot.front import draw_front
    from coalloc.plot.pictures import write_figure

    figure = draw_front(table, EXACT)
    if path is not None:
        write_figure(figure, path)
    return figure
