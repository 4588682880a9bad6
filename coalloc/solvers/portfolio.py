"""The portfolio behind ``formulation="auto"``: a table of methods, tried in rounds until the gap is closed.

Each round goes through the table from the top. The first one is for cheap bounds and schedules, and a brief exact
search, which is mostly all that few jobs need. In the second one branch and bound refutes what is near the bound, and
dual prices raise it; in the third one searches lower the incumbent, and complete methods start from the best of both.
Further rounds go on with what draws at random. The row of a method says which traits of a problem it needs, and its
share of the time in each round; its file holds the constants that tune it alone, :mod:`coalloc.rules.tuning` those that
methods share. A new one is a file, and a row here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from coalloc.documents.text import nearest, quoted
from coalloc.instance import CoallocError
from coalloc.rules.tuning import LEAST_TIME
from coalloc.solvers import list_schedules, model_run
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.backends.failing import SolverFailedError
from coalloc.solvers.bounds import dual_prices, feasible_set, once, simple
from coalloc.solvers.incumbent import OPENING, Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.search import (
    beams,
    branch_and_bound,
    faults_alone,
    late_starts,
    latest_ends,
    list_annealing,
    with_cpsat,
)
from coalloc.solvers.special import bin_packing, unrelated_machines

METHODS: tuple[Method, ...] = (
    simple.METHOD,
    unrelated_machines.METHOD,
    list_schedules.METHOD,
    latest_ends.METHOD,
    faults_alone.METHOD,
    once.METHOD,
    feasible_set.METHOD,
    bin_packing.METHOD,
    branch_and_bound.METHOD,
    late_starts.METHOD,
    pumpkin.METHOD,
    dual_prices.METHOD,
    beams.METHOD,
    list_annealing.METHOD,
    with_cpsat.METHOD,
    model_run.METHOD,
)
"""In the order in which they run in each round."""

ALWAYS = (simple.METHOD.name, list_schedules.METHOD.name)
"""Methods that no option leaves out: all others begin with their bound and their schedule."""

TIME_LEFT = 1.0
"""Seconds of the time limit that a method may leave because its next step would not fit into them."""
SEARCHED_ON = "the instance is too large for the complete methods; only bounds and searches ran"


def refuse_unknown(options: SolveOptions) -> None:
    """Raise where a name of ``methods`` or ``without`` is none of the portfolio, or of one that always runs."""
    names = list(dict.fromkeys(method.name for method in METHODS))
    for option, given in (("methods", options.methods), ("without", options.without)):
        for name in given:
            if name not in names:
                raise CoallocError(f"unknown method {quoted(name)} in {option}{nearest(name, names)}")
    for name in options.without:
        if name in ALWAYS:
            raise CoallocError(f"method {quoted(name)} always runs; without cannot leave it out")


def refuse_methods(options: SolveOptions, given: str) -> None:
    """Raise where methods of the portfolio are named, though something that has no portfolio is given."""
    if options.methods or options.without:
        raise CoallocError(f"methods and without require model 'oas' and formulation 'auto', not {given}")


def rows_for(options: SolveOptions) -> list[Method]:
    """Return the rows of the methods that options ask for, in the order in which they run."""
    asked = {*ALWAYS, *(options.methods or (method.name for method in METHODS))} - {*options.without}
    return [method for method in METHODS if method.name in asked]


def close(incumbent: Incumbent) -> None:
    """Close the gap as far as the limits allow; everything found goes to the incumbent."""
    rows = rows_for(incumbent.state.options)
    with incumbent.resources:
        for _ in range(OPENING):
            _run_round(incumbent, rows)
        if not incumbent.is_closed and len(rows) == len(METHODS) and not _is_completed(incumbent):
            incumbent.state.add_to_message(SEARCHED_ON)
        while _may_go_on(incumbent) and _run_round(incumbent, rows):
            pass
    if not incumbent.is_closed:
        tell_limit(incumbent)


def _run_round(incumbent: Incumbent, rows: Sequence[Method]) -> int:
    """Run the methods that accept what is open in this round; return how many."""
    number = 0 if incumbent.is_closed else sum(_run(method, incumbent, rows) for method in rows)
    incumbent.round += 1
    return number


def _is_completed(incumbent: Incumbent) -> bool:
    """Return whether some complete method accepts what is open."""
    traits = incumbent.traits
    return any(
        method.proves is not None and method.proves in traits and method.accepts(incumbent) for method in METHODS
    )


def tell_limit(incumbent: Incumbent) -> None:
    """Say which limit has ended the search."""
    incumbent.state.stopped_by = "time" if incumbent.state.remaining < TIME_LEFT else "work"


def _run(method: Method, incumbent: Incumbent, rows: Sequence[Method]) -> bool:
    """Run a method on what is open, if it accepts it; return whether. Out of time only until a schedule is known."""
    state = incumbent.state
    if incumbent.is_closed or (incumbent.best and state.remaining <= 0.0):
        return False
    share = method.share(incumbent)
    if not share or _is_replaced(method, incumbent, rows):
        return False
    timing = nullcontext() if method.stage is None else state.timed(method.stage)
    with state.recorded(method.name, {row.name for row in rows}):
        try:
            with timing, incumbent.within(share):
                method.run(incumbent)
        except SolverFailedError as failure:
            state.add_to_message(str(failure))
        incumbent.hear()
    return True


def _is_replaced(method: Method, incumbent: Incumbent, rows: Sequence[Method]) -> bool:
    """Return whether one of the rows that a method stands in for accepts what is open."""
    return any(row.accepts(incumbent) for row in rows if row.name in method.instead_of)


def _may_go_on(incumbent: Incumbent) -> bool:
    """Return whether there is something left to do, and only the clock ends it."""
    state = incumbent.state
    return state.options.work_limit is None and not incumbent.is_closed and state.remaining > LEAST_TIME
