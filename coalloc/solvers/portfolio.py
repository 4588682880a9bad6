"""The portfolio behind ``formulation="auto"``: a table of methods, tried from the top until the gap is closed.

Cheap bounds and schedules come first. Few jobs are then searched exactly, in slots and in continuous time alike, and
mostly that is all. Else branching raises the bound and searches lower the incumbent, and a complete method is started
from the best of both. What time is left goes to more attempts of the methods that draw at random. The row of a method
says which traits of a problem it needs, and its file holds the constants that tune it; a new one is a file, and a row
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from coalloc.documents.text import nearest, quoted
from coalloc.instance import CoallocError
from coalloc.solvers import list_schedules, model_run
from coalloc.solvers.backends import cpsat, pumpkin
from coalloc.solvers.backends.failing import SolverFailedError
from coalloc.solvers.bounds import (
    due_dates,
    feasible_set,
    job_prices,
    mean_busy_time,
    position_assignment,
    prices,
    processor_patterns,
    simple,
)
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.search import (
    beam_search,
    beam_worker,
    branch_and_bound_of_maxima,
    cost_tree,
    cpsat_beside,
    deadlines,
    faults_alone,
    latest_ends,
    list_annealing,
    pool_tree,
    set_tree,
)
from coalloc.solvers.special import bin_packing, unrelated_machines

METHODS: tuple[Method, ...] = (
    simple.METHOD,
    unrelated_machines.METHOD,
    list_schedules.METHOD,
    latest_ends.METHOD,
    faults_alone.METHOD,
    position_assignment.METHOD,
    feasible_set.METHOD,
    due_dates.METHOD,
    bin_packing.METHOD,
    processor_patterns.METHOD,
    set_tree.FIRST,
    set_tree.EARLY,
    pumpkin.BEGUN,
    deadlines.METHOD,
    branch_and_bound_of_maxima.METHOD,
    mean_busy_time.METHOD,
    cost_tree.FIRST,
    list_annealing.BRIEF,
    cost_tree.METHOD,
    prices.METHOD,
    job_prices.METHOD,
    beam_worker.METHOD,
    cpsat_beside.EARLY,
    pool_tree.METHOD,
    feasible_set.BRIEF_BRANCHING,
    set_tree.METHOD,
    cpsat_beside.METHOD,
    set_tree.METHOD,
    feasible_set.BRANCHING,
    cpsat.LOADING,
    set_tree.METHOD,
    set_tree.FURTHER,
    set_tree.OVER_TIME,
    beam_search.BY_KNAPSACKS,
    list_annealing.METHOD,
    beam_search.METHOD,
    list_annealing.AFTER_BEAMS,
    beam_search.SHORT,
    pumpkin.METHOD,
    cpsat.METHOD,
    cpsat.IN_SLOTS,
    model_run.METHOD,
    model_run.IN_SLOTS,
)
"""In the order in which they run."""

ALWAYS = (simple.METHOD.name, list_schedules.METHOD.name)
"""Methods that no option leaves out: all others begin with their bound and their schedule."""

TIME_LEFT = 1.0
"""Seconds of the time limit that a method may leave because its next step would not fit into them."""
LAST = 0.1
"""Seconds of the time limit that further attempts leave: what they would find in them is little."""
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
    """Close the gap as far as the limits allow; everything found goes to the context."""
    rows = rows_for(incumbent.state.options)
    with incumbent.resources:
        for method in rows:
            _run(method, incumbent, rows)
        if not incumbent.is_closed and len(rows) == len(METHODS) and not _is_completed(incumbent):
            incumbent.state.add_to_message(SEARCHED_ON)
        while _may_go_on(incumbent):
            incumbent.attempt += 1
            have_run = [_run(method, incumbent, rows) for method in rows if method.repeats]
            if not any(have_run):
                break
    if not incumbent.is_closed:
        tell_limit(incumbent)


def _is_completed(incumbent: Incumbent) -> bool:
    """Return whether some complete method accepts what is open."""
    return any(method.is_complete and method.accepts(incumbent) for method in METHODS)


def tell_limit(incumbent: Incumbent) -> None:
    """Say which limit has ended the search."""
    incumbent.state.stopped_by = "time" if incumbent.state.remaining < TIME_LEFT else "work"


def _run(method: Method, incumbent: Incumbent, rows: Sequence[Method]) -> bool:
    """Run a method on what is open, if it accepts it; return whether. Out of time only until a schedule is known."""
    state = incumbent.state
    if incumbent.is_closed or (incumbent.best and state.remaining <= 0.0) or not _accepts(method, incumbent, rows):
        return False
    timing = nullcontext() if method.stage is None else state.timed(method.stage)
    with state.recorded(method.name, {row.name for row in rows}):
        try:
            with timing, incumbent.within(method.share):
                method.run(incumbent)
        except SolverFailedError as failure:
            state.add_to_message(str(failure))
        incumbent.hear()
    return True


def _accepts(method: Method, incumbent: Incumbent, rows: Sequence[Method]) -> bool:
    """Return whether a method accepts what is open, and none of the rows that it stands in for does."""
    better = [row for row in rows if row.name in method.instead_of]
    return method.accepts(incumbent) and not any(row.accepts(incumbent) for row in better)


def _may_go_on(incumbent: Incumbent) -> bool:
    """Return whether there is something left to do, and only the clock ends it."""
    state = incumbent.state
    return state.options.work_limit is None and not incumbent.is_closed and state.remaining > LAST
