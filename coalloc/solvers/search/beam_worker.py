"""Beam search in a process of its own, beside the portfolio: another seed, on another core.

It says every schedule that is better than its last, and goes on until it is ended
(:mod:`coalloc.solvers.backends.worker`).
"""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
import sys
import threading
from collections.abc import Sequence

from coalloc.problem import Problem
from coalloc.solvers.backends.worker import Worker, message_of
from coalloc.solvers.search.beam_search import BeamSearch

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from coalloc.solvers.search.beam_worker import main; main()"
)
"""What the process runs: it finds the same modules as this one, and none in the working directory (``-P``)."""


def start_worker(problem: Problem, *, lower_bound: float, dual_prices: Sequence[float], seed: int) -> Worker:
    """Return a process that samples in stages; see :class:`coalloc.solvers.search.beam_search.BeamSearch`."""
    worker = Worker(["-P", "-c", PROGRAM, json.dumps(sys.path)])
    task = pickle.dumps((problem, {"lower_bound": lower_bound, "dual_prices": list(dual_prices), "seed": seed}))
    worker.tell({"task": base64.b64encode(task).decode()})
    return worker


def main() -> None:
    """Sample the problem on standard input until whoever asks is gone, and say every better schedule."""
    problem, options = pickle.loads(base64.b64decode(json.loads(sys.stdin.readline())["task"]))
    threading.Thread(target=_end_with_input, daemon=True).start()
    stages, best = BeamSearch(problem, **options), math.inf
    while True:
        found = stages.round()
        if found is not None and max(a.end for a in found) < best:
            best = max(a.end for a in found)
            sys.stdout.write(json.dumps(message_of(found)) + "\n")
            sys.stdout.flush()


def _end_with_input() -> None:
    """End the process, whatever it does, with its standard input."""
    sys.stdin.read()
    os._exit(0)
