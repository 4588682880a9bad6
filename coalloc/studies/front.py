"""Makespan against energy: the Pareto front, certified, with heuristics beside it.

The front is scanned by limits on the makespan, from the least makespan to that of least energy. A limit gives a
schedule and a proven bound: no schedule that ends within it takes less. So a schedule with a makespan above
one limit, and up to the next, takes at least the bound of the next: the certified lower envelope. Its EDP
is at least the lower limit times that bound. Source: errata 23; the epsilon-constraint method is that of
Y. Y. Haimes, L. S. Lasdon and D. A. Wismer, IEEE Transactions on Systems, Man, and Cybernetics 1 (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.allocation import Scope
from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.instance import CoallocError, Instance
from coalloc.instance.errors import InternalError
from coalloc.meter import energy
from coalloc.simulator.policy import Policy
from coalloc.solvers.result import SolveResult, relative_gap
from coalloc.studies.comparison import BOUND_TOLERANCE, contestants_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from coalloc.instance.storage import FilePath

EXACT = "exact"
"""Label of the rows of the front."""

POINTS = 20
"""Limits on the makespan, by default."""

LIMIT_MARGIN = 1e-6
"""Share by which the first limit exceeds the least makespan, so that rounding does not exclude it."""

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

SCOPES: tuple[Scope, ...] = ("node", "cluster", "platform")
"""From narrow to wide."""


def energy_front(
    instance: Instance,
    policies: Iterable[str | Policy] | Mapping[str, Mapping[str, Any]] = (),
    *,
    points: int = POINTS,
    slot: float | str | None = None,
    scope: Scope = "node",
    time_limit: float = 20.0,
    threads: int = 1,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Return the front of makespan and energy, and where policies are beside it.

    Parameters
    ----------
    policies
        As for :func:`coalloc.compare`; each within ``scope``.
    points
        Limits on the makespan, evenly spaced from the least makespan to that of least energy.
    slot, scope
        As for :func:`coalloc.solve`. The bounds of a slotted front do not hold for policies, which know no
        slots: these get the bound of :func:`coalloc.lower_bound`.
    time_limit
        Seconds for each point.
    progress
        Gets a line for each step.

    Returns
    -------
    pandas.DataFrame
        A row per limit, with label ``"exact"``, then one per policy. ``makespan`` and ``makespan_limit`` in s,
        ``energy`` in J as metered, ``edp`` in J s. ``bound``: no schedule within the limit (policies: with that
        makespan) takes less; ``gap`` = (energy - bound)/energy. ``edp_bound`` holds for all makespans above the
        limit before; the least of the rows, also in ``attrs["edp_bound"]``, for all schedules.
        ``on_front``: no row is better in one and as good in the other.

    Raises
    ------
    CoallocError
        If watts are missing, a policy is unknown or places jobs more widely than ``scope``, or
        ``points`` is below 2.
    InternalError
        If a policy beats a bound.
    """
    import pandas as pd

    if points < 2:
        raise CoallocError(f"points must be at least 2, got {points!r}")
    say = progress or (lambda _: None)
    contestants = contestants_of(policies) if policies else []
    made = [(contestant.label, contestant.make()) for contestant in contestants]
    for label, policy in made:
        _refuse_wider(instance, label, policy, scope)
    options: dict[str, Any] = {"slot": slot, "scope": scope, "threads": threads, "seed": seed, "time_limit": time_limit}
    rows = _certified(list(_exact_rows(instance, points, options, say)))
    edp_bound = min((row["edp_bound"] for row in rows), default=math.nan)
    envelope = [(row["makespan_limit"], row["bound"]) for row in rows]
    for label, policy in made:
        say(f"{instance.name}: {label}")
        rows.append(_policy_row(instance, label, policy, envelope if slot is None else None, seed))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["on_front"] = _undominated(table)
    table.attrs["edp_bound"] = edp_bound
    return table


def _refuse_wider(instance: Instance, label: str, policy: Policy, scope: Scope) -> None:
    """Raise where the bounds of a scope would not hold for a policy."""
    if SCOPES.index(policy.scope) > SCOPES.index(scope):
        raise CoallocError(f"policy {label!r} places jobs within scope {policy.scope!r}: give the front that scope")
    may_saturate = getattr(policy, "links", "shared") != "strict" and any(job.task_bandwidth for job in instance.jobs)
    if scope != "node" and may_saturate:
        raise CoallocError(f"policy {label!r} may saturate links, and the front does not: compare jobs without traffic")


def _exact_rows(
    instance: Instance, points: int, options: dict[str, Any], say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the front by rising limit, without what bounds say; the last has none."""
    say(f"{instance.name}: least makespan")
    shortest = solve(instance, objective="makespan", **options)
    say(f"{instance.name}: least energy")
    frugal = solve(instance, objective="energy", **options)
    if shortest.schedule is None or frugal.schedule is None or shortest.objective is None:
        raise CoallocError(f"no front of instance {instance.name!r}: {shortest.message or frugal.message}")
    first = shortest.objective * (1.0 + LIMIT_MARGIN)
    last = max(first, energy(instance, frugal.schedule).makespan)
    below, start = shortest.lower_bound or 0.0, shortest.schedule
    for number, limit in enumerate(np.linspace(first, last, points)[:-1].tolist(), start=1):
        say(f"{instance.name}: point {number} of {points}, within {limit:g} s")
        found = solve(instance, objective="energy", makespan_limit=limit, start=start, **options)
        start = found.schedule or start
        yield _exact_row(instance, found, limit, below)
        below = limit
    yield _exact_row(instance, frugal, math.inf, below)


def _exact_row(instance: Instance, found: SolveResult, limit: float, below: float) -> dict[str, Any]:
    """Return the row of a limit (s); ``edp_bound`` is yet the limit before it, or the least makespan."""
    known = found.schedule is not None and found.objective is not None
    metered = energy(instance, found.schedule) if found.schedule is not None else None
    return {
        "instance": instance.name,
        "label": EXACT,
        "makespan_limit": limit,
        "makespan": metered.makespan if metered is not None else math.nan,
        "energy": found.objective if known else math.nan,
        "bound": found.lower_bound or 0.0,
        "edp": metered.edp if metered is not None else math.nan,
        "edp_bound": below,
        "status": found.status.value,
    }


def _certified(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the front with what bounds say: one within a wider limit also holds within a narrower one."""
    bounds = np.maximum.accumulate([row["bound"] for row in reversed(rows)])[::-1].tolist()
    return [
        {**row, "bound": bound, "gap": _gap(row["energy"], bound), "edp_bound": row["edp_bound"] * bound}
        for row, bound in zip(rows, bounds, strict=True)
    ]


def _gap(joules: float, bound: float) -> float:
    gap = None if math.isnan(joules) else relative_gap(joules, bound)
    return math.nan if gap is None else max(0.0, gap)


def _policy_row(
    instance: Instance, label: str, policy: Policy, envelope: list[tuple[float, float]] | None, seed: int
) -> dict[str, Any]:
    """Return the row of a policy; without an envelope its bound is that of the linear programme."""
    run = simulate(instance, policy, seed=seed)
    metered = energy(instance, run.schedule)
    if envelope is None:
        bound = lower_bound(instance, objective="energy")
    else:
        bound = next(least for limit, least in envelope if metered.makespan <= limit)
    if bound > metered.total * (1.0 + BOUND_TOLERANCE) + BOUND_TOLERANCE:
        raise InternalError(f"policy {label!r} takes {metered.total:.12g} J, less than the bound {bound:.12g} J")
    return {
        "instance": instance.name,
        "label": label,
        "makespan_limit": math.nan,
        "makespan": metered.makespan,
        "energy": metered.total,
        "bound": bound,
        "gap": relative_gap(metered.total, bound),
        "edp": metered.edp,
        "edp_bound": metered.makespan * bound,
        "status": "policy",
    }


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
