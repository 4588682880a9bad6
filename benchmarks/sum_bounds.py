"""Lower bounds on sums compared with brute force, on 2000 small instances: no bound may be above an optimum.

The instances are seeds 0 to 1999 of :mod:`coalloc.testing.small`, up to 3 jobs with weights and due dates, and with
arrivals and running jobs where the family has them: odd seeds in slots, even ones in continuous time. Every fifth
follows with jobs of one task that are all there at once, for which positions are, and on equal processors, for which
prices of jobs are. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agreement import TOLERANCE
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically
from coalloc.objectives import OBJECTIVES, Criterion, RegularObjective
from coalloc.problem import discretise
from coalloc.solvers.bounds import prices
from coalloc.solvers.bounds.position_assignment import positions, safe_cost
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import NODE_MODEL_SIZE, small_instance, with_due_dates

NUM_SEEDS, SEEDS_PER_CALL = 2000, 50
VARIED_EVERY = 5
"""Of so many seeds one follows with jobs of one task, and on equal processors."""
SUMS = tuple(o.name for o in OBJECTIVES.values() if isinstance(o, RegularObjective) and o.aggregate == "sum")
WITHOUT_DUE_DATES = tuple(name for name in SUMS if name != "weighted-tardiness")
LIMIT = 3600.0
"""Seconds after which a process is killed."""


def bounded(argument: Mapping[str, Any]) -> Row:
    """Return a row for each bound on each objective of some seeds, under ``rows``."""
    first = argument["first"]
    rows = [row for seed in range(first, first + argument["seeds"]) for row in rows_of_seed(seed)]
    return {"status": "compared", "rows": rows}


def rows_of_seed(seed: int) -> Iterator[Row]:
    """Yield what each bound says of each sum, compared with the optimum."""
    instance, slot = small_instance(seed, NODE_MODEL_SIZE)
    slot = slot if seed % 2 else None
    yield from _rows("weights, due dates", with_due_dates(instance, seed), slot, seed)
    if seed % VARIED_EVERY == 0:
        yield from _rows("one task, at once", of_one_task(instance), slot, seed)
        equal = on_equal_processors(instance)
        yield from _rows("equal processors", with_due_dates(equal, seed), slot, seed)


def of_one_task(instance: coalloc.Instance) -> coalloc.Instance:
    """Return an instance with its jobs on one processor each, all there at once, without others."""
    return instance.replace(jobs=[job.replace(tasks=1, arrival=0.0) for job in instance.jobs], running=())


def on_equal_processors(instance: coalloc.Instance) -> coalloc.Instance:
    """Return an instance on one cluster of as many processors, none of which are held, the job of most tasks twice."""
    group = coalloc.NodeGroup(instance.platform.num_processors, 1.0)
    widest = max(instance.jobs, key=lambda job: job.tasks)
    jobs = [*instance.jobs[:2], widest.replace(id="again")]
    platform = coalloc.Platform((coalloc.Cluster("C1", (group,), 1000.0),))
    return instance.replace(platform=platform, jobs=jobs, running=())


def _rows(family: str, instance: coalloc.Instance, slot: float | None, seed: int) -> Iterator[Row]:
    for objective in SUMS if any(job.due_date is not None for job in instance.jobs) else WITHOUT_DUE_DATES:
        optimum = brute_force_oas(instance, slot, objective).objective
        for name, found, seconds in bounds_of(instance, slot, objective):
            wrong = found > optimum + TOLERANCE * max(1.0, abs(optimum))
            yield {
                "family": family,
                "seed": seed,
                "objective": objective,
                "slot": "continuous" if slot is None else "slots",
                "bound by": name,
                "optimum": optimum,
                "lower_bound": found,
                "time": seconds,
                "disagreement": f"the bound {found:.9g} is above the optimum {optimum:.9g}" if wrong else "",
            }


def bounds_of(instance: coalloc.Instance, slot: float | None, objective: str) -> Iterator[tuple[str, float, float]]:
    """Yield the name, the value and the seconds of each bound; ``positions`` where it accepts the problem."""
    criterion = Criterion.of(discretise(instance, slot), objective)
    at_positions = positions(criterion)
    if at_positions is not None:
        yield "positions", criterion.reported(safe_cost(criterion, at_positions)), 0.0
    began = time.perf_counter()
    yield "prices", criterion.reported(prices.sum_bound(criterion)), time.perf_counter() - began
    began = time.perf_counter()
    yield "best", coalloc.lower_bound(instance, objective, method="best", slot=slot), time.perf_counter() - began


def report(rows: Sequence[Row], seeds: int, command: str) -> str:
    """Return the page in Markdown."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["family"], row["objective"], row["bound by"]), []).append(row)
    heads = (
        "family",
        "objective",
        "bound by",
        "bounds",
        "equal to the optimum",
        "mean share of it",
        "above it",
        "time, s",
    )
    table = Table.of(heads, [[*name, *_figures(group)] for name, group in groups.items()])
    wrong = [f"- seed {r['seed']}, {r['objective']}, {r['bound by']}: {r['disagreement']}"
             for r in rows if r["disagreement"]]  # fmt: skip
    sections = [
        "# Bounds on sums compared with brute force",
        f"{code_sentence(('python',))}. Seeds 0 to {seeds - 1}, {len({row['seed'] for row in rows})} of them compared: "
        f"{len(rows)} bounds, {len(wrong)} above their optimum. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "Mean share: of bound / optimum, where the optimum is above 0. Equal: within 1e-6.",
        markdown(table),
        "## Above the optimum",
        "\n".join(wrong) if wrong else "None.",
    ]
    return "\n\n".join(sections) + "\n"


def _figures(group: Sequence[Row]) -> list[Any]:
    """Return how many bounds, how many are the optimum, their mean share of it, how many are above, and seconds."""
    pairs = [(row["lower_bound"], row["optimum"]) for row in group]
    num_equal = sum(low >= best - TOLERANCE * max(1.0, abs(best)) for low, best in pairs)
    shares = [low / best for low, best in pairs if best > TOLERANCE]
    mean = sum(shares) / len(shares) if shares else None
    return [len(group), num_equal, mean, sum(bool(r["disagreement"]) for r in group), sum(r["time"] for r in group)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"seeds 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "sum-bounds.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "sum-bounds.sqlite", help="where seeds are kept")
    options = parser.parse_args(arguments)
    firsts = range(0, options.seeds, SEEDS_PER_CALL)
    calls = [
        Call(bounded, {"first": first, "seeds": min(SEEDS_PER_CALL, options.seeds - first)}, LIMIT) for first in firsts
    ]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = [outcome for outcome in outcomes_of(calls, options.store) if outcome is not None]
    rows = [row for outcome in outcomes for row in outcome.get("rows", ())]
    page = report(rows, options.seeds, command_of("sum_bounds", parser, options))
    write_atomically(options.output, page)
    print(f"wrote {options.output}: {len(rows)} bounds")
    return 1 if any(row["disagreement"] for row in rows) or any(map(is_failed, outcomes)) else 0


def _line(call: Call, outcome: Outcome) -> str:
    first = call.argument["first"]
    wrong = [row for row in outcome.get("rows", ()) if row["disagreement"]]
    verdict = outcome.get("message") or (f"{len(wrong)} above the optimum" if wrong else "agrees")
    return f"seeds {first} to {first + call.argument['seeds'] - 1}: {verdict}"


if __name__ == "__main__":
    exit_with(main)
