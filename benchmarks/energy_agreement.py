"""Least energy, EDP and fronts of small instances against brute force, with limits that strike at every stage.

Each seed of :func:`coalloc.testing.small.small_metered_instance` is solved for energy and for EDP in some scope,
in slots or in continuous time, in one of two with a limit on the makespan, within 0.01 to 1 s. What
counts as a disagreement is said in agreement.py; besides, a time limit is to hold. Fronts, within nodes and in
continuous time: a point that is said to be on the front is one of brute force's, and a front that is called complete
has them all. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from agreement import COLUMNS, Case, by_solve, judged, rows_of, verdict_on, verdicts
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import csv_of
from coalloc.documents.storage import write_atomically
from coalloc.problem.allocation import Scope
from coalloc.testing.brute_force_energy import brute_force_energy, brute_force_front
from coalloc.testing.small import small_metered_instance

NUM_SEEDS, NUM_FRONTS = 1000, 200
SHORTEST, LONGEST = 0.01, 1.0
"""Time limits of the solves, s; their logarithms are spread evenly."""
POINT_LIMIT = 5.0
"""Seconds for each point of a front."""
TOLERANCE = 2e-5
"""Share by which a point may differ from that of brute force: the step between two limits and its proofs."""
LATE = 1.0
"""Seconds beyond its time limit in which a solve is not late, and 10 % more.

A solve that got no more CPU seconds than its limit waited for others on a busy machine, and is not late either.
"""
PORTION = 10
"""Seeds that share a process."""
GRACE = 600.0
"""Seconds that the process of a portion of seeds has."""

Kind = Literal["solve", "front"]


@dataclass(frozen=True, slots=True)
class Seeds:
    """What is compared, and on which seeds: from one to before another, in one process, which loads libraries once."""

    kind: Kind
    begin: int
    end: int


def cases(seed: int) -> Iterator[Case]:
    """Yield what is solved on a seed."""
    drawn, slot = small_metered_instance(seed)
    rng = np.random.default_rng([seed, 4])
    scope: Scope = ("node", "node", "cluster", "platform")[int(rng.integers(4))]
    instance = fitting(drawn, scope)
    chosen = slot if rng.random() < 0.5 else None
    limit = None
    if rng.random() < 0.5:
        try:
            shortest = coalloc.lower_bound(instance, method="longest-job")
        except coalloc.CoallocError:  # a job fits nowhere
            shortest = 1.0
        limit = float(shortest * rng.uniform(0.9, 3.0))
    for objective in ("energy", "edp"):
        keywords = {
            "objective": objective,
            "scope": scope,
            "slot": chosen,
            "makespan_limit": limit,
            "time_limit": float(np.exp(rng.uniform(math.log(SHORTEST), math.log(LONGEST)))),
            "threads": int(rng.integers(1, 3)),
        }
        optimum = brute_force_energy(instance, chosen, objective, scope, limit)
        times = "continuous" if chosen is None else "slots"
        yield Case(f"{scope}, {times}" + ("" if limit is None else ", limit"), instance, optimum, keywords, by_solve)


def fitting(instance: coalloc.Instance, scope: Scope) -> coalloc.Instance:
    """Return an instance whose jobs have no more tasks than the largest node, or cluster, has cores."""
    clusters = instance.platform.clusters
    if scope == "node":
        most = max(group.cores for cluster in clusters for group in cluster.nodes)
    else:
        cores = [sum(group.count * group.cores for group in cluster.nodes) for cluster in clusters]
        most = max(cores) if scope == "cluster" else sum(cores)
    return instance.replace(jobs=[job.replace(tasks=min(job.tasks, most)) for job in instance.jobs])


def solves(seed: int) -> list[Row]:
    """Return the rows of the solves of a seed."""
    rows = []
    for case in cases(seed):
        began = time.process_time()
        row = {**case.names, "seed": seed, **judged(case, case.keywords["time_limit"])}
        is_late = time.process_time() - began > case.keywords["time_limit"]
        found = [row["disagreement"]] if row["disagreement"] else []
        if is_late and row.get("time", 0.0) > LATE + 1.1 * case.keywords["time_limit"]:
            found.append(f"took {row['time']:.2f} s of {case.keywords['time_limit']:.3f} s")
        rows.append({**row, "disagreement": "; ".join(found)})
    return rows


def front(seed: int) -> list[Row]:
    """Return the row of the front of a seed: found are its points, the optimum is how many brute force has."""
    instance = fitting(small_metered_instance(seed)[0], "node")
    expected = brute_force_front(instance, None, "node")
    names = {"family": "front, node, continuous", "formulation": "auto", "objective": "makespan, energy"}
    try:
        table = coalloc.studies.energy_front(instance, time_limit=POINT_LIMIT)
    except coalloc.CoallocError as error:
        fits = "" if not expected else f"crashed: {error}"
        return [{**names, "seed": seed, "status": "infeasible", "disagreement": fits}]
    points = list(table.loc[table["on_front"] & (table["gap"] == 0.0), ["makespan", "energy"]].itertuples(index=False))
    complete = table.attrs["complete"]
    wrong = [f"{tuple(point)} is no point of the front" for point in points if not _is_among(tuple(point), expected)]
    if complete:
        missing = [point for point in expected if not _is_among(point, [tuple(point) for point in points])]
        wrong += [f"{point} is missing in a front that is called complete" for point in missing]
    status = "optimal" if complete else "feasible"
    counts = {"optimum": float(len(expected)), "found": float(len(points))}
    return [{**names, "seed": seed, "status": status, **counts, "disagreement": "; ".join(wrong)}]


def _is_among(point: Sequence[float], points: Sequence[Sequence[float]]) -> bool:
    """Return whether a point is one of these, up to the tolerance in both coordinates."""
    return any(all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(point, p, strict=True)) for p in points)


def compare(argument: Mapping[str, Any]) -> Row:
    """Return the rows of seeds, given as a dictionary, under ``rows``; what is loaded at first use is loaded before."""
    sample = Seeds(**argument)
    coalloc.solve(fitting(small_metered_instance(1)[0], "node"), objective="energy", scope="node", time_limit=1.0)
    of_seed = solves if sample.kind == "solve" else front
    return {"status": "compared", "rows": [row for seed in range(sample.begin, sample.end) for row in of_seed(seed)]}


def planned(kind: Kind, number: int) -> Iterator[Seeds]:
    """Yield so many seeds in the portions in which they run."""
    for begin in range(0, number, PORTION):
        yield Seeds(kind, begin, min(begin + PORTION, number))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    samples = [*planned("front", options.fronts), *planned("solve", options.seeds)]
    calls = [Call(compare, asdict(sample), GRACE) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    ran = [(sample, outcome) for sample, outcome in outcomes if outcome is not None]
    rows = [row for sample, outcome in ran for row in rows_of(outcome, sample.kind, sample.begin)]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, [sample for sample, _ in ran], command_of("energy_agreement", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(ran)} of {len(samples)} portions of seeds")
    return 1 if any(row["disagreement"] for row in rows) else 0


def report(rows: Sequence[Row], ran: Sequence[Seeds], command: str) -> str:
    """Return the page in Markdown."""
    num_fronts = sum(sample.end - sample.begin for sample in ran if sample.kind == "front")
    num_seeds = sum(sample.end - sample.begin for sample in ran if sample.kind == "solve")
    paragraphs = [
        "# Energy against brute force",
        f"{code_sentence()}. {num_seeds} instances, each solved for energy and for EDP, within "
        f"{SHORTEST:g} to {LONGEST:g} s; {num_fronts} fronts, {POINT_LIMIT:g} s for each point. Made by `{command}`; "
        "the protocol is in [../README.md](../README.md).",
        "Worst difference: the largest of |found - optimum| / max(1, optimum) over what was called optimal. A front is "
        "called optimal where it says that it is complete.",
        *verdicts(rows),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _line(call: Call, outcome: Outcome) -> str:
    sample = Seeds(**call.argument)
    verdict = verdict_on(rows_of(outcome, sample.kind, sample.begin))
    return f"{sample.kind} {sample.begin} to {sample.end - 1}: {verdict}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"instances 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--fronts", type=int, default=NUM_FRONTS, help=f"fronts of 0, 1, ... (default {NUM_FRONTS})")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="seeds at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "energy-agreement", help="tables: this name")
    parser.add_argument("--store", type=Path, default=RESULTS / "energy-agreement.sqlite", help="where seeds are kept")
    return parser


if __name__ == "__main__":
    exit_with(main)
