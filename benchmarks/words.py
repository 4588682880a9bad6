"""Agreement of ``solve`` with brute force on random instances that mix the words of an instance.

Each seed is one instance of :mod:`coalloc.testing.words`; it is solved in slots and in continuous time, for two
objectives, by the portfolio with CP-SAT and without, and by each formulation. A solve disagrees where "optimal" is said
of another objective than that of brute force, "infeasible" is said wrongly, a bound is above the optimum, an objective
below it, or the checker refuses the schedule of brute force. Where time ran out, bound and objective must enclose the
optimum.

    python benchmarks/words.py --seeds 0 200 --methods portfolio mode count node "no CP-SAT"
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import coalloc
from coalloc.solvers.backends import cpsat
from coalloc.testing import brute_force_oas, small_word_instance
from coalloc.testing.brute_force import BruteForceResult, Objective
from coalloc.testing.small import NODE_MODEL_SIZE
from coalloc.testing.words import with_words

METHODS = ("portfolio", "no CP-SAT", "mode", "count", "node")
OBJECTIVES: tuple[Objective, ...] = ("makespan", "total-response-time")
CONTINUOUS_LIMIT = 1.0
"""Seconds in continuous time, where the search may go on to its limit; what is compared holds whenever it stops."""
TOLERANCE = 1e-6


def cases(method: str, seed: int, word: str) -> Iterator[tuple[coalloc.Instance, float | None, Objective]]:
    """Yield instance, slot (s) and objective of all solves of a seed; every instance says something by a word."""
    instance, slot = small_word_instance(seed, NODE_MODEL_SIZE if method == "node" else None)
    if word and word not in instance.words:
        instance = with_words(instance, np.random.default_rng([seed, 3]), [word])
    for objective in OBJECTIVES:
        yield instance, slot, objective
        if method in ("portfolio", "no CP-SAT"):
            yield instance, None, objective


def disagreement(instance: coalloc.Instance, best: BruteForceResult, result: coalloc.SolveResult) -> str:
    """Return in what a result disagrees with brute force, nothing where it agrees."""
    optimum, status = best.objective, result.status.value
    if math.isinf(optimum):
        return "" if result.schedule is None else f"{status} where brute force finds no schedule"
    margin = TOLERANCE * max(1.0, abs(optimum))
    faults = {
        "infeasible where brute force finds a schedule": status == "infeasible",
        f"optimal at {result.objective}, not {optimum}": status == "optimal"
        and abs((result.objective or 0.0) - optimum) > margin,
        f"objective {result.objective} below the optimum {optimum}": result.objective is not None
        and result.objective < optimum - margin,
        f"bound {result.lower_bound} above the optimum {optimum}": result.lower_bound is not None
        and result.lower_bound > optimum + margin,
        "the checker refuses the schedule of brute force": best.schedule is not None
        and bool(coalloc.check(instance, best.schedule)),
    }
    return "; ".join(fault for fault, is_so in faults.items() if is_so)


def run(method: str, seeds: range, limit: float, word: str) -> tuple[Counter[str], int]:
    """Solve all seeds by a method; return how often each status came, and how many solves disagree."""
    statuses: Counter[str] = Counter()
    wrong = 0
    is_installed = cpsat.is_installed
    for seed in seeds:
        for instance, slot, objective in cases(method, seed, word):
            best = brute_force_oas(instance, slot, objective)
            options: dict[str, Any] = {"slot": slot, "objective": objective}
            options["time_limit"] = CONTINUOUS_LIMIT if slot is None else limit
            if method in ("mode", "count", "node"):
                options["formulation"] = method
            if method == "no CP-SAT":
                cpsat.is_installed = lambda: False
            try:
                result = coalloc.solve(instance, **options)
                fault = disagreement(instance, best, result)
                statuses[f"{result.status.value}{'' if slot else ', continuous'}"] += 1
            except coalloc.CoallocError as error:
                fault = f"crashed: {error}"
            finally:
                cpsat.is_installed = is_installed
            if fault:
                wrong += 1
                print(f"{method}, seed {seed}, {objective}, slot {slot}, {sorted(instance.words)}: {fault}", flush=True)
    return statuses, wrong


def main() -> int:
    """Run what is asked for; return 1 where something disagrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 50), metavar=("FIRST", "STOP"))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a solve in slots")
    parser.add_argument("--word", default="", help="a word that every instance uses")
    asked = parser.parse_args()
    total = 0
    for method in asked.methods:
        statuses, wrong = run(method, range(*asked.seeds), asked.limit, asked.word)
        total += wrong
        print(f"{method}: {dict(sorted(statuses.items()))}, {wrong} disagreements", flush=True)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
