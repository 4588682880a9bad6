"""Beam search in this process, and from the beginning in one on every other core, with another seed.

On one pool of equal processors it goes on by knapsacks and by plans in turn, for neither is always the better one.
"""

from __future__ import annotations

import time
from functools import partial

from coalloc.rules.tuning import MOST, SHORT
from coalloc.solvers.backends.worker import LOADING_TIME, Worker, assignments_in
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import knapsack_growth
from coalloc.solvers.search.beam_search import BeamSearch
from coalloc.solvers.search.beam_worker import UNKNOWN_THERE, start_worker
from coalloc.solvers.search.growth import Growth
from coalloc.solvers.traits import Trait

CORE_SEED = 1_000_000
"""Difference of the seeds of two cores: more than there are attempts."""
ROUNDS = 4
"""Rounds in a portfolio, per job."""


def _run(incumbent: Incumbent) -> None:
    """Start the searches on other cores, or search here."""
    if incumbent.round == 0:
        _begin(incumbent)
    else:
        _search(incumbent)


def _begin(incumbent: Incumbent) -> None:
    """Start a search on every other core; what they find is heard from then on."""
    options = incumbent.state.options
    if incumbent.state.remaining <= LOADING_TIME:
        return
    for core in range(1, options.threads):
        try:
            worker = start_worker(
                incumbent.problem,
                lower_bound=incumbent.proven,
                dual_prices=incumbent.dual_prices,
                seed=CORE_SEED * core + options.seed,
                by_knapsacks=knapsack_growth.accepts(incumbent.problem),
                note=partial(incumbent.state.note, METHOD.name),
            )
        except UNKNOWN_THERE:
            return
        incumbent.resources.callback(worker.close)
        incumbent.listeners.append(partial(_hear, incumbent, worker))


def _hear(incumbent: Incumbent, worker: Worker) -> None:
    for message in worker.news():
        incumbent.take(assignments_in(message, incumbent.problem), METHOD.name)


def _search(incumbent: Incumbent) -> None:
    """Search rounds of its own, and hear in between what other cores have found."""
    has_knapsacks = Trait.MANY in incumbent.traits and knapsack_growth.accepts(incumbent.problem)
    stages = BeamSearch(
        Growth.of(incumbent),
        lower_bound=incumbent.proven,
        dual_prices=incumbent.dual_prices,
        seed=incumbent.state.options.seed + incumbent.attempt,
        deadline=incumbent.deadline,
        by_knapsacks=has_knapsacks and incumbent.round % 2 == 0,
    )
    for _ in range(incumbent.limited(ROUNDS * len(incumbent.problem.jobs) << incumbent.attempt)):
        if incumbent.is_closed or time.perf_counter() > stages.deadline:
            break
        found = stages.round()
        if found is not None:
            incumbent.take(found, METHOD.name)
        incumbent.hear()


METHOD = Method(
    "beam search",
    _run,
    Trait.MAKESPAN | Trait.UNTIED | Trait.PRICES,
    shares={
        Trait.MANY | Trait.NO_WORK_LIMIT | Trait.CORES: (1.0, 0.0, MOST),  # the cores take turns by the clock
        Trait.MANY: (0.0, 0.0, MOST),
        Trait.NONE: (0.0, 0.0, SHORT),
    },
)
