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

from coalloc.problem import Problem
from coalloc.solvers.backends.asker import Asker
from coalloc.solvers.backends.worker import Note, Worker, message_of, say_nothing
from coalloc.solvers.search.beam_search import BeamSearch
from coalloc.solvers.search.growth import Growth

UNKNOWN_THERE = (pickle.PicklingError, AttributeError, TypeError)
"""Errors of pickling objects that another process cannot know, such as those of a class within a function."""


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
    growth = Growth.priced(problem)
    ways = (False, True) if by_knapsacks else (False,)
    searches = [BeamSearch(growth, **options, by_knapsacks=way) for way in ways]
    spent, best = [0.0] * len(searches), math.inf
    while True:
        number, began = min(range(len(spent)), key=spent.__getitem__), time.perf_counter()
        found = searches[number].round()
        spent[number] += time.perf_counter() - began
        if found is not None and max(a.end for a in found) < best:
            best = max(a.end for a in found)
            asker.write(message_of(found))
