"""Makespan against energy: the Pareto front, certified, with heuristics beside it.

The front is scanned by limits on the makespan, from the least makespan to that of least energy. A limit gives a
schedule and a proven bound: no schedule that ends within it takes less. So a schedule with a makespan above
one limit, and up to the next, takes at least the bound of the next: the certified lower envelope. Its EDP
is at least the lower limit times that bound. Source: errata 23; the epsilon-constraint method is that of
Y. Y. Haimes, L. S. Lasdon and D. A. Wismer, IEEE Transactions on Systems, Man, and Cybernetics 1 (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.allocation import Scope
from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.errors import InternalError
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance
from coalloc.instance.power import require_watts
from coalloc.problem import Slot
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import Broker
from coalloc.solvers.energy_run import Point
from coalloc.solvers.result import SolveResult, relative_gap
from coalloc.studies.comparison import BOUND_TOLERANCE, contestants_of
from coalloc.studies.interruption import gathered, uninterrupted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from coalloc.documents.storage import FilePath

EXACT = "exact"
"""Label of the rows of the front."""

POINTS = 20
"""Evenly spaced limits on the makespan, by default."""

MAX_POINTS = 10_000
"""Most limits that are worth a solve each."""

LIMIT_MARGIN = 1e-6
"""Share by which a limit exceeds the makespan that it stands for, so that rounding does not exclude it."""

COLUMNS = (
    "instance",
    "label",
    "makespan_limit",
    "makespan",
    "energy",
    "bound",
    "gap",
    "edp",
    "edp_bound",
    "on_front",
    "status",
)
"""Columns of the table; docs/studies.md defines them."""

SUMMARY = ("label", "makespan_limit", "makespan", "energy", "bound", "gap", "edp", "on_front", "status")
"""Columns of :func:`summary`."""

SCOPES: tuple[Scope, ...] = ("node", "cluster", "platform")
"""From narrow to wide."""


@public
def energy_front(
    instance: Instance,
    policies: Iterable[str | Policy | Broker] | Mapping[str, Mapping[str, Any]] = (),
    *,
    points: int = POINTS,
    slot: Slot = None,
    scope: Scope = "node",
    time_limit: float | None = 20.0,
    threads: int = 1,
    seed: Seed = 0,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Return the front of makespan and energy, and where policies are beside it.

    Parameters
    ----------
    policies
        As for :func:`coalloc.compare`; each within ``scope``.
    points
        Limits on the makespan, evenly spaced from the least makespan to that of least energy. In continuous time
        the makespans of policies in between are limits too, so that each policy meets a schedule as short.
    slot, scope
        As for :func:`coalloc.solve`. The bounds of a slotted front do not hold for policies, which know no
        slots: these get the bound of :func:`coalloc.lower_bound`.
    time_limit, threads
        Seconds for each point (``None`` or ``math.inf``: no limit), and cores of each solve.
    seed
        Of solves and runs.
    progress
        Gets a line for each step.

    Returns
    -------
    pandas.DataFrame
        A row per limit, with label ``"exact"``, then one per policy. ``makespan`` and ``makespan_limit`` in s,
        ``energy`` in J as metered, ``edp`` in J s. ``bound``: no schedule within the limit (policies: with that
        makespan) takes less; ``gap`` = (energy - bound)/energy. ``edp_bound`` holds for all makespans above the
        limit before; the least of the rows, also in ``attrs["edp_bound"]``, for all schedules (on the grid
        ``attrs["slot"]``, where that is not None).
        ``on_front``: no row is better in one and as good in the other.

    Raises
    ------
    CoallocError
        If watts are missing, there are no jobs, a policy is unknown or places jobs more
        widely than ``scope``, or ``points`` is not 2 to :data:`MAX_POINTS`.
    InternalError
        If a policy beats a bound.
    Interrupted
        At Ctrl-C between the first limit and the last, with the rows that are known
        (:mod:`coalloc.studies.interruption`). They bound all schedules, only less tightly.
    """
    if not 2 <= points <= MAX_POINTS:
        raise CoallocError(f"points: must be 2 to {MAX_POINTS}, got {picture_of(points)}")
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
    limits = front.limits(points)
    planned = [f"{instance.name}: point {number} of {len(limits) + 1}" for number in range(1, len(limits) + 1)]
    return gathered(front.solved(limits, planned, say), planned, partial(front.table, limits))


class _Front:
    """A front while it is found: its ends, the runs of policies beside it, and the schedules that solves start from."""

    def __init__(
        self,
        instance: Instance,
        options: Mapping[str, Any],
        runs: Sequence[tuple[str, Point]],
        say: Callable[[str], None],
    ) -> None:
        self._instance, self._options, self._runs = instance, options, runs
        self._on_grid = options["slot"] is not None
        self._between = [] if self._on_grid else [run for _, run in runs]
        say(f"{instance.name}: least makespan")
        shortest = uninterrupted(solve(instance, objective="makespan", **options))
        say(f"{instance.name}: least energy")
        start = _best(self._between, math.inf).schedule if self._between else None
        self._frugal = uninterrupted(solve(instance, objective="energy", start=start, **options))
        if shortest.schedule is None or self._frugal.schedule is None:
            raise CoallocError(
                f"no front of instance {shown(instance.name)}: {shortest.message or self._frugal.message}"
            )
        self._shortest = Point.of(instance, shortest.schedule)
        self._known = [*self._between, self._shortest, Point.of(instance, self._frugal.schedule)]
        self._least_makespan = shortest.lower_bound or 0.0

    def limits(self, points: int) -> list[float]:
        """Return the limits from the least makespan on and before that of least energy, s."""
        return _limits(self._shortest.makespan, _best(self._known, math.inf).makespan, self._between, points)

    def solved(
        self, limits: Sequence[float], names: Sequence[str], say: Callable[[str], None]
    ) -> Iterator[SolveResult]:
        """Yield the least energy within each limit; each solve starts from the best that is known."""
        for limit, name in zip(limits, names, strict=True):
            say(f"{name}, within {limit:g} s")
            start = _best(self._known, limit).schedule
            found = solve(self._instance, objective="energy", makespan_limit=limit, start=start, **self._options)
            if found.schedule is not None:
                self._known.append(Point.of(self._instance, found.schedule))
            yield uninterrupted(found)

    def table(self, limits: Sequence[float], solved: Sequence[SolveResult]) -> pd.DataFrame:
        """Return the table of as many limits as are solved, of the front's end, and of the runs."""
        import pandas as pd

        rows = _rows_of(
            self._instance,
            self._known,
            [*limits[: len(solved)], math.inf],
            [*solved, self._frugal],
            self._least_makespan,
        )
        edp_bound = min(row["edp_bound"] for row in rows)
        envelope = [(row["makespan_limit"], row["bound"]) for row in rows] if not self._on_grid else None
        rows += [_policy_row(self._instance, label, run, envelope) for label, run in self._runs]
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        table["on_front"] = _undominated(table)
        table.attrs |= {"edp_bound": edp_bound, "slot": self._options["slot"]}
        return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of :func:`energy_front` that say something new: a proven point is there once.

    Of the limits within which it is proven to take least, the largest stays: up to there, to wait saves nothing.
    """
    rows = table.to_dict("records")
    kept = [not _is_same(row, after) for row, after in zip(rows, [*rows[1:], None], strict=True)]
    return table.loc[kept, list(SUMMARY)]


def _is_same(row: Mapping[Any, Any], after: Mapping[Any, Any] | None) -> bool:
    """Return whether two rows are the same point of the front, proven in both."""
    if after is None or {row["label"], after["label"]} != {EXACT} or row["gap"] != 0.0 or after["gap"] != 0.0:
        return False
    return all(math.isclose(row[name], after[name], rel_tol=LIMIT_MARGIN) for name in ("makespan", "energy"))


def _refuse_instance(instance: Instance) -> None:
    """Raise where there is no front, before anything is solved."""
    require_watts(instance.platform)
    if not instance.jobs:
        raise CoallocError(f"no front of instance {shown(instance.name)}: it has no jobs")


def _refuse_wider(instance: Instance, label: str, policy: Policy | Broker, scope: Scope) -> None:
    """Raise where the bounds of a scope would not hold for a policy."""
    if SCOPES.index(policy.scope) > SCOPES.index(scope):
        raise CoallocError(f"policy {label!r} places jobs within scope {policy.scope!r}: give the front that scope")
    may_saturate = getattr(policy, "links", "shared") != "strict" and any(job.task_bandwidth for job in instance.jobs)
    if scope != "node" and may_saturate:
        raise CoallocError(f"policy {label!r} may saturate links, and the front does not: compare jobs without traffic")


def _limits(shortest: float, frugal: float, runs: Iterable[Point], points: int) -> list[float]:
    """Return the limits from one makespan on and before the other, s: evenly spaced, and those of runs in between.

    Those closer than the margin count once: there is but one if nothing is to be traded.
    """
    first = shortest * (1.0 + LIMIT_MARGIN)
    others = (run.makespan * (1.0 + LIMIT_MARGIN) for run in runs)
    even = np.linspace(first, max(first, frugal), points)[:-1].tolist()
    limits = [first]
    for limit in sorted(even + [limit for limit in others if first < limit < frugal]):
        if limit > limits[-1] * (1.0 + LIMIT_MARGIN):
            limits.append(limit)
    return limits


def _best(known: Iterable[Point], limit: float) -> Point:
    """Return the point of least energy among those within a limit, s; of equal ones the shortest."""
    within = [point for point in known if point.makespan <= limit * (1.0 + BOUND_TOLERANCE)]
    least = min(point.joules for point in within) * (1.0 + BOUND_TOLERANCE)
    return min((point for point in within if point.joules <= least), key=lambda point: point.makespan)


def _rows_of(
    instance: Instance, known: list[Point], limits: list[float], solved: list[SolveResult], least_makespan: float
) -> list[dict[str, Any]]:
    """Return a row per limit. What is proven within a limit is true within every smaller one."""
    proven = [found.lower_bound if found.lower_bound is not None else 0.0 for found in solved]
    bounds = np.maximum.accumulate(proven[::-1])[::-1].tolist()
    below = [least_makespan, *limits[:-1]]
    rows = zip(limits, bounds, below, solved, strict=True)
    return [
        {
            "instance": instance.name,
            "label": EXACT,
            "makespan_limit": limit,
            **_measures(_best(known, limit), bound),
            "edp_bound": low * bound,
            "status": found.status.value,
        }
        for limit, bound, low, found in rows
    ]


def _measures(point: Point, bound: float) -> dict[str, float]:
    """Return the columns that say how good a point is against a bound on its energy, J."""
    return {
        "makespan": point.makespan,
        "energy": point.joules,
        "bound": bound,
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
        raise InternalError(f"policy {label!r} takes {run.joules:.12g} J, less than the bound {bound:.12g} J")
    return {
        "instance": instance.name,
        "label": label,
        "makespan_limit": math.nan,
        **_measures(run, bound),
        "edp_bound": run.makespan * bound,
        "status": "policy",
    }


def _gap(joules: float, bound: float) -> float:
    """Return (energy - bound)/energy; what is only rounding is 0."""
    gap = relative_gap(joules, bound)
    return gap if gap is not None and gap > BOUND_TOLERANCE else 0.0


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
