"""Beam search in a process of its own, in parallel to the portfolio: another seed, on another core.

It says every schedule that is better than its last, and goes on until it is ended
(:mod:`coalloc.solvers.backends.worker`).
"""

from __future__ import annotations

import base64
import math
import pickle
import time
from collections.abc import Sequence
from functools import partial

from coalloc.problem import Problem
from coalloc.solvers.backends.asker import Asker
from coalloc.solvers.backends.worker import LOADING_TIME, Note, Worker, assignments_in, message_of, say_nothing
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import beam_search
from coalloc.solvers.search.beam_search import BY_KNAPSACKS, BeamSearch, has_knapsacks
from coalloc.solvers.search.beam_search import METHOD as BY_PLANS
from coalloc.solvers.search.growth import Growth
from coalloc.solvers.traits import Trait

CORE_SEED = 1_000_000
"""What the seed of each further core is ahead of the last: more than there are attempts."""
UNKNOWN_THERE = (pickle.PicklingError, AttributeError, TypeError)
"""What pickling raises of objects that another process cannot know, such as those of a class within a function."""


def start_worker(
    problem: Problem,
    *,
    lower_bound: float,
    dual_prices: Sequence[float],
    seed: int,
    by_knapsacks: bool = False,
    note: Note = say_nothing,
) -> Worker:
    """Return a process that searches; see :class:`coalloc.solvers.search.beam_search.BeamSearch`.

    Where it may go by knapsacks, searches by these and by plans take turns. Raises an error of :data:`UNKNOWN_THERE`
    where another process cannot know a constraint of the user's own.
    """
    options = {
        "lower_bound": lower_bound,
        "dual_prices": list(dual_prices),
        "seed": seed,
    }
    task = pickle.dumps((problem, options, by_knapsacks))
    worker = Worker(__name__, note)
    worker.tell({"task": base64.b64encode(task).decode()})
    return worker


def main(requests: int, answers: int) -> None:
    """Search the problem that is asked for until whoever asks is gone, and write every better schedule."""
    asker = Asker(requests, answers)
    problem, options, by_knapsacks = pickle.loads(base64.b64decode(asker.read()["task"]))
    ways = {BY_PLANS.name: False, BY_KNAPSACKS.name: True} if by_knapsacks else {BY_PLANS.name: False}
    growth = Growth.priced(problem)
    searches = {name: BeamSearch(growth, **options, by_knapsacks=way) for name, way in ways.items()}
    spent, best = dict.fromkeys(searches, 0.0), math.inf
    while True:
        name, began = min(spent, key=spent.__getitem__), time.perf_counter()
        found = searches[name].round()
        spent[name] += time.perf_counter() - began
        if found is not None and max(a.end for a in found) < best:
            best = max(a.end for a in found)
            asker.write({**message_of(found), "source": name})


def _run(incumbent: Incumbent) -> None:
    """Start a search on every other core; what they find is heard from then on."""
    options = incumbent.state.options
    for core in range(1, options.threads):
        try:
            worker = start_worker(
                incumbent.problem,
                lower_bound=incumbent.proven,
                dual_prices=incumbent.dual_prices,
                seed=CORE_SEED * core + options.seed,
                by_knapsacks=has_knapsacks(incumbent),
                note=partial(incumbent.state.note, METHOD.name),
            )
        except UNKNOWN_THERE:
            return
        incumbent.resources.callback(worker.close)
        incumbent.listeners.append(partial(_hear, incumbent, worker))


def _hear(incumbent: Incumbent, worker: Worker) -> None:
    for message in worker.news():
        incumbent.take(assignments_in(message, incumbent.problem), message["source"])


METHOD = Method(
    "parallel beam search",
    _run,
    beam_search.METHOD.needs | Trait.NO_WORK_LIMIT | Trait.CORES,  # the cores take turns by it
    lambda incumbent: incumbent.state.remaining > LOADING_TIME,
)
