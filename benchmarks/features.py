"""Agreement of ``solve`` with brute force on 2000 random instances that mix the features of an instance.

Each seed is one instance of :mod:`coalloc.testing.features`; it is solved in slots and in continuous time, for two
objectives, by the portfolio with CP-SAT and without, and in slots by each formulation. A solve disagrees where
"optimal" is said of another objective than that of brute force, "infeasible" is said wrongly, a bound is above the
optimum, an objective below it, or the checker refuses the schedule of brute force. Where time ran out, bound and
objective must enclose the optimum. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from agreement import TOLERANCE
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance.features import FEATURES
from coalloc.solvers.backends import cpsat
from coalloc.testing import brute_force_oas, small_feature_instance
from coalloc.testing.brute_force import BruteForceResult, Objective
from coalloc.testing.features import with_features
from coalloc.testing.small import NODE_MODEL_SIZE, SmallSize

NUM_SEEDS, SEEDS_PER_CALL = 2000, 10
PORTFOLIO, WITHOUT_CPSAT = "portfolio", "no CP-SAT"
METHODS = (PORTFOLIO, WITHOUT_CPSAT, "mode", "count", "node")
OBJECTIVES: tuple[Objective, ...] = ("makespan", "total-response-time")
SOLVE_LIMIT, CONTINUOUS_LIMIT = 60.0, 2.0
"""Seconds of a solve in slots, and in continuous time, where a search may go on to its limit."""
LIMIT = 3600.0
"""Seconds after which a process is killed."""


def compared(argument: Mapping[str, Any]) -> Row:
    """Return a row for each solve of some seeds, under ``rows``."""
    first = argument["first"]
    rows = [row for seed in range(first, first + argument["seeds"]) for row in rows_of_seed(seed, argument["feature"])]
    return {"status": "compared", "rows": rows}


def drawn(seed: int, size: SmallSize | None, feature: str) -> tuple[coalloc.Instance, float]:
    """Return the instance of a seed and its slot, s; it says something by a feature, if one is given."""
    instance, slot = small_feature_instance(seed, size)
    if feature and feature not in instance.features:
        instance = with_features(instance, np.random.default_rng([seed, 3]), [feature])
    return instance, slot


def rows_of_seed(seed: int, feature: str = "") -> Iterator[Row]:
    """Yield what each method says of an instance, beside brute force."""
    instance, slot = drawn(seed, None, feature)
    for objective in OBJECTIVES:
        for grid in (slot, None):
            best = brute_force_oas(instance, grid, objective)
            for method in METHODS[:2] if grid is None else METHODS[:4]:
                yield _row(method, instance, grid, objective, best) | {"seed": seed}
    small, slot = drawn(seed, NODE_MODEL_SIZE, feature)
    for objective in OBJECTIVES:
        best = brute_force_oas(small, slot, objective)
        yield _row("node", small, slot, objective, best) | {"seed": seed}


def _row(
    method: str, instance: coalloc.Instance, slot: float | None, objective: Objective, best: BruteForceResult
) -> Row:
    began = time.perf_counter()
    status, fault = verdict(method, instance, slot, objective, best)
    return {
        "method": method,
        "time": "continuous" if slot is None else "slots",
        "objective": objective,
        "features": sorted(instance.features),
        "status": status,
        "seconds": time.perf_counter() - began,
        "disagreement": fault,
    }


def verdict(
    method: str, instance: coalloc.Instance, slot: float | None, objective: Objective, best: BruteForceResult
) -> tuple[str, str]:
    """Return the status that a method gives an instance, and in what it disagrees with brute force."""
    keywords: dict[str, Any] = {"slot": slot, "objective": objective}
    keywords["time_limit"] = CONTINUOUS_LIMIT if slot is None else SOLVE_LIMIT
    if method not in (PORTFOLIO, WITHOUT_CPSAT):
        keywords["formulation"] = method
    has_cpsat = cpsat.is_installed() and method != WITHOUT_CPSAT
    try:
        with mock.patch.object(cpsat, "is_installed", return_value=has_cpsat):
            result = coalloc.solve(instance, **keywords)
    except coalloc.CoallocError as error:
        return "error", f"raised: {error}"
    return result.status.value, disagreement(instance, best, result)


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


def report(rows: Sequence[Row], seeds: int, command: str) -> str:
    """Return the page in Markdown."""
    ran, wrong = {row["seed"] for row in rows}, [row for row in rows if row["disagreement"]]
    pairs = pairs_of(rows)
    missing = [f"`{one}` with `{other}`" for one, other in combinations(FEATURES, 2) if not pairs[one, other]]
    lines = [f"- seed {r['seed']}, {r['method']}, {r['time']}, {r['objective']}: {r['disagreement']}" for r in wrong]
    sections = [
        "# Modelling features compared with brute force",
        f"{code_sentence(('highspy', 'ortools', 'python'))}. Seeds 0 to {seeds - 1}, {len(ran)} of {seeds} compared: "
        f"{len(rows)} solves, {len(wrong)} disagree. Made by `{command}`; the protocol is in "
        "[../README.md](../README.md).",
        f"Formulation `node` has smaller instances of the same seeds. Limits: {SOLVE_LIMIT:g} s in slots, "
        f"{CONTINUOUS_LIMIT:g} s in continuous time.",
        method_table(rows),
        "## Pairs of features",
        "Number of solved instances in which each feature (diagonal) and each pair of features occurs. "
        f"Pairs that do not occur: {', '.join(missing) or 'none'}.",
        pair_table(pairs),
        "## Disagreements",
        "\n".join(lines) if lines else "None.",
    ]
    return "\n\n".join(sections) + "\n"


def method_table(rows: Sequence[Row]) -> str:
    """Return a line for each method and kind of time: how often it proves what, and how often it is wrong."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["time"]), []).append(row)
    heads = ("method", "time", "solves", "optimal", "infeasible", "not proven", "disagree", "seconds, in all")
    lines = []
    for (method, kind), group in groups.items():
        statuses = Counter(row["status"] for row in group)
        proven = statuses["optimal"], statuses["infeasible"]
        wrong, seconds = sum(bool(r["disagreement"]) for r in group), math.fsum(r["seconds"] for r in group)
        lines.append([method, kind, len(group), *proven, len(group) - sum(proven), wrong, seconds])
    return markdown(Table.of(heads, lines))


def pairs_of(rows: Sequence[Row]) -> Counter[tuple[str, str]]:
    """Return in how many instances each pair of features occurs, and each feature, with itself."""
    instances = {(row["seed"], row["method"] == "node"): row["features"] for row in rows}
    found: Counter[tuple[str, str]] = Counter()
    for features in instances.values():
        found.update((one, other) for one in features for other in features)
    return found


def pair_table(pairs: Counter[tuple[str, str]]) -> str:
    """Return the counts of the pairs, a line and a column for each feature."""
    heads = ("feature", *(f"`{feature}`" for feature in FEATURES))
    return markdown(Table.of(heads, [[f"`{one}`", *(pairs[one, other] for other in FEATURES)] for one in FEATURES]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"seeds 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--feature", default="", choices=("", *FEATURES), help="a feature that every instance uses")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "features.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "features.sqlite", help="where seeds are kept")
    options = parser.parse_args(arguments)
    firsts = range(0, options.seeds, SEEDS_PER_CALL)
    calls = [
        Call(compared, {"first": n, "seeds": min(SEEDS_PER_CALL, options.seeds - n), "feature": options.feature}, LIMIT)
        for n in firsts
    ]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = [outcome for outcome in outcomes_of(calls, options.store) if outcome is not None]
    rows = [row for outcome in outcomes for row in outcome.get("rows", ())]
    write_atomically(options.output, report(rows, options.seeds, command_of("features", parser, options)))
    print(f"wrote {options.output}: {len(rows)} solves")
    return 1 if any(row["disagreement"] for row in rows) or any(map(is_failed, outcomes)) else 0


def _line(call: Call, outcome: Outcome) -> str:
    first = call.argument["first"]
    wrong = [row for row in outcome.get("rows", ()) if row["disagreement"]]
    verdict = outcome.get("message") or (f"{len(wrong)} disagree" if wrong else "agrees")
    return f"seeds {first} to {first + call.argument['seeds'] - 1}: {verdict}"


if __name__ == "__main__":
    exit_with(main)
