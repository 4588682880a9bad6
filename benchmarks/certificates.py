"""Certificates: how many proofs ``verify.py`` accepts in time, and a fuzz of what it accepts compared with brute force.

A sample is a solve that proves its status and a certificate of it, checked. The two are measured in CPU seconds of one
process, after a first solve that loads what is loaded late; a certificate is in time if it took at most a second, or
ten times its solve. Each set has seeds of its own, from 7001 on. The fuzz certifies small random instances, whose
optimum brute force knows, and mutates each certificate several times: whatever is accepted may claim no more than that.
Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rigid import SHARED, read_strips
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc import verify
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import write_atomically
from coalloc.documents.strict_json import layout
from coalloc.instance.files import INSTANCE
from coalloc.testing import small_feature_instance
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance

FIRST_SEED = 7001
SLOTS = ("250%", "200%", "150%", "100%", "50%", "25%", "15%", "5%", "1%")
SUMS = ("total-response-time", "total-weighted-response-time", "mean-wait", "mean-bounded-slowdown")
LATE = ("weighted-tardiness", "maximum-lateness")
LEAST_LIMIT, FACTOR = 1.0, 10.0
"""CPU seconds that a certificate may always take; how many times what its solve took."""
SOLVE_LIMIT = 30.0
"""Seconds of a solve; what it does not prove is not counted."""
PATIENCE = 15.0
"""Wall-clock seconds that a certificate has for each CPU second that it may take: a machine may be busy."""
LIMIT = 3600.0
"""Seconds after which a process is killed."""
FUZZ_SEEDS, SEEDS_PER_CALL, MUTANTS = 2000, 20, 7
TOLERANCE = 1e-6

Problem = tuple[coalloc.Instance, dict[str, Any]]
"""An instance and the keywords of its solve."""


# --- sets ------------------------------------------------------------------------------------------


def small_makespans(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs in nine slots and in continuous time."""
    for slot in (*SLOTS, None):
        yield jobs_of(8, seed), {"slot": slot}


def middle_makespans(seed: int) -> Iterator[Problem]:
    """Yield 12 jobs in slots of 15 % and in continuous time."""
    for slot in ("15%", None):
        yield jobs_of(12, seed), {"slot": slot}


def large_makespans(seed: int) -> Iterator[Problem]:
    """Yield 20 jobs in slots of 15 %."""
    yield jobs_of(20, seed), {"slot": "15%"}


def sums(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs with each objective that is no makespan."""
    rng, instance = random.Random(seed), jobs_of(8, seed)
    jobs = [replace(j, due_date=rng.uniform(5e5, 4e6), weight=float(rng.randint(1, 4))) for j in instance.jobs]
    instance = instance.replace(jobs=jobs)
    for objective in (*SUMS, *LATE):
        yield instance, {"slot": "50%", "objective": objective}


def arrivals(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs that arrive one after another."""
    yield from _in_both_times(coalloc.generate("thesis-oas", seed=seed, jobs=8, interarrival_mean=2e5))


def links(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs on links as wide as what a job of the median asks."""
    instance = jobs_of(8, seed)
    asked = median(job.tasks * job.task_bandwidth / 2 for job in instance.jobs)
    clusters = [replace(cluster, link_bandwidth=asked) for cluster in instance.platform.clusters]
    yield from _in_both_times(instance.replace(platform=instance.platform.replace(clusters=clusters)))


def running(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs next to one that holds two nodes of the first cluster."""
    instance, end = jobs_of(8, seed), random.Random(seed).uniform(1e5, 2e6)
    name = instance.platform.clusters[0].name
    held = coalloc.RunningJob(coalloc.Job("R", 2, 1e7), [f"{name}/0", f"{name}/1"], end)
    yield from _in_both_times(instance.replace(running=[held]))


def outages(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs and two nodes that are away for a while."""
    instance, start = jobs_of(8, seed), random.Random(seed).uniform(0, 1e6)
    name = instance.platform.clusters[0].name
    away = coalloc.Window(name, start, start + 5e5, nodes=[f"{name}/0", f"{name}/1"])
    yield from _in_both_times(instance.replace(platform=instance.platform.replace(unavailable=[away])))


def precedence(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs of which most wait for one before them."""
    rng, instance = random.Random(seed), jobs_of(8, seed)
    ids = [job.id for job in instance.jobs]
    jobs = [replace(j, after=(rng.choice(ids[:n]),) if n > 2 else ()) for n, j in enumerate(instance.jobs)]
    yield from _in_both_times(instance.replace(jobs=jobs))


def deadlines(seed: int) -> Iterator[Problem]:
    """Yield 8 jobs of which half have to end early."""
    rng, instance = random.Random(seed), jobs_of(8, seed)
    latest = coalloc.solve(instance, slot="100%").objective or 1.0
    ends = [instance.origin + latest * rng.uniform(0.6, 1.1) if rng.random() < 0.5 else None for _ in instance.jobs]
    jobs = [replace(job, deadline=end) for job, end in zip(instance.jobs, ends, strict=True)]
    yield from _in_both_times(instance.replace(jobs=jobs))


def infeasible(seed: int) -> Iterator[Problem]:
    """Yield 4 jobs that all have to end a thousandth earlier than they can."""
    instance, slot = jobs_of(4, seed), ("25%", None)[seed % 2]
    optimum = (coalloc.solve(instance, slot=slot).objective or 1.0) + instance.origin
    jobs = [replace(job, deadline=0.999 * optimum) for job in instance.jobs]
    yield instance.replace(jobs=jobs), {"slot": slot}


def published(seed: int) -> Iterator[Problem]:
    """Yield a published instance of one cluster (benchmarks/rigid.py): the seeds number them, evenly."""
    strips = [strip for strip in read_strips(SHARED) if strip.jobs]
    yield strips[(seed - FIRST_SEED) * 37 % len(strips)].instance, {"slot": 1.0}


def jobs_of(number: int, seed: int) -> coalloc.Instance:
    """Return so many jobs on 12 nodes."""
    return coalloc.generate("thesis-oas", seed=seed, jobs=number)


def _in_both_times(instance: coalloc.Instance) -> Iterator[Problem]:
    for slot in ("50%", None):
        yield instance, {"slot": slot}


@dataclass(frozen=True)
class Set:
    """A set of samples: how many seeds, and the share of them that is to be certified in time."""

    make: Callable[[int], Iterator[Problem]]
    seeds: int
    target: float


SETS = {
    "8 jobs, nine slots and continuous": Set(small_makespans, 100, 1.0),
    "12 jobs, 15 % and continuous": Set(middle_makespans, 20, 0.95),
    "20 jobs, 15 %": Set(large_makespans, 20, 0.75),
    "arrivals": Set(arrivals, 20, 0.9),
    "links": Set(links, 20, 0.9),
    "running jobs": Set(running, 20, 0.9),
    "outages": Set(outages, 20, 0.9),
    "precedence": Set(precedence, 20, 0.9),
    "deadlines": Set(deadlines, 20, 0.9),
    "sums and lateness": Set(sums, 20, 0.9),
    "published, one cluster": Set(published, 40, 0.7),
    "infeasible": Set(infeasible, 200, 0.95),
}


# --- samples, in a process of their own --------------------------------------------------------------


def certified(argument: Mapping[str, Any]) -> Row:
    """Return a row for each problem of a set with a seed, under ``rows``."""
    coalloc.solve(jobs_of(3, 1), slot="50%").certificate()
    problems = SETS[argument["set"]].make(argument["seed"])
    rows = [row_of(instance, options) | dict(argument) for instance, options in problems]
    return {"status": "certified", "rows": rows}


def row_of(instance: coalloc.Instance, options: Mapping[str, Any]) -> Row:
    """Return how long a solve and its certificate took, in CPU seconds, and whether there is one."""
    began = time.process_time()
    result = coalloc.solve(instance, time_limit=SOLVE_LIMIT, **options)
    solved = time.process_time()
    allowed = max(LEAST_LIMIT, FACTOR * (solved - began))
    is_proved = result.status.value in ("optimal", "infeasible")
    certificate = result.certificate(PATIENCE * allowed) if is_proved else None
    taken = time.process_time() - solved
    return {
        "instance": instance.name,
        "slot": options["slot"] or "continuous",
        "objective": options.get("objective", "makespan"),
        "status": result.status.value,
        "solve": solved - began,
        "certificate": taken,
        "bytes": len(layout(dict(certificate.document))) if certificate else 0,
        "is_certified": bool(certificate) and taken <= allowed,
        "reason": "" if not is_proved else certificate.reason or ("" if taken <= allowed else "too late"),
    }


# --- fuzz ------------------------------------------------------------------------------------------


def fuzzed(argument: Mapping[str, Any]) -> Row:
    """Return a row for each certificate of some seeds, under ``rows``."""
    first = argument["first"]
    rows = [row for seed in range(first, first + argument["seeds"]) if (row := fuzzed_row(seed)) is not None]
    return {"status": "compared", "rows": rows}


def fuzzed_row(seed: int) -> Row | None:
    """Return what the checker accepts of a certificate and its mutants, compared with brute force; None without one."""
    instance, slot = small_feature_instance(seed) if seed % 2 else small_instance(seed, SmallSize(max_jobs=4))
    objective = ("makespan", *SUMS, "makespan")[seed % 6]
    length = slot if seed % 3 else None
    result = coalloc.solve(instance, slot=length, objective=objective, time_limit=SOLVE_LIMIT)
    certificate = result.certificate() if result.status.value in ("optimal", "infeasible") else None
    row = {"seed": seed, "certified": bool(certificate), "mutants": 0, "accepted": 0, "above": []}
    if not certificate:
        return row
    best = brute_force_oas(instance, length, objective)
    least = best.objective if best.feasible else float("inf")
    stated, rng = verify.parsed(layout(document_of(instance, INSTANCE))), random.Random(seed)
    for number in range(MUTANTS + 1):
        document = json.loads(layout(dict(certificate.document)))
        if number:
            mutate(document, rng)
        try:
            verdict = verify.verdict_of(stated, verify.parsed(json.dumps(document)))
        except (verify.NotProvedError, verify.BadFileError):
            verdict = None
        claimed = None if verdict is None else float("inf") if verdict.bound is None else float(verdict.bound)
        row["mutants"] += bool(number)
        row["accepted"] += claimed is not None and bool(number)
        if claimed is not None and claimed > least + 1e-3 + TOLERANCE * abs(least):
            row["above"].append(f"seed {seed}, mutant {number}: {claimed:.9g} is above {least:.9g}")
    return row


def mutate(document: dict[str, Any], rng: random.Random) -> None:
    """Change a bound, and a price, a rule, a slot or a time of a certificate."""
    bound = document["bound"]
    raised = [None] if bound is None else [bound, bound + 1, bound + 1 + abs(bound) // 50]
    document["bound"] = rng.choice([*raised, *raised, None, 1.0])
    kind = rng.randrange(5)
    pieces = [piece for table in document["tables"] for piece in table["pieces"]]
    if kind == 0 and pieces:
        piece = rng.choice(pieces)
        name = rng.choice(list(piece["prices"]))
        piece["prices"][name] = [price * rng.choice([0, 1, 3]) for price in piece["prices"][name]]
    elif kind == 1 and pieces:
        piece = rng.choice(pieces)
        piece[rng.choice(["from", "to"])] = rng.choice([0, piece["from"] // 2, piece["to"] * 2])
    elif kind == 2:
        search = {"rule": "search", "processors": rng.choice(["speeds", "groups"]), "tables": []}
        split = {"rule": "cases", "job": "J1", "at": rng.randrange(5)}
        two = [rng.choice([search, {"rule": "infeasible"}]) for _ in range(2)]
        steps = [split | {"split": "level", "cases": two}, split | {"split": "half", "cases": two[:1]}]
        document["proof"] = rng.choice([*two, *steps])
    elif kind == 3 and document["problem"]["slot"]:
        document["problem"]["saturation"] = 0.0
        document["tables"] = document["tables"][::-1]
    elif document["schedule"]:
        document["schedule"]["placements"][0]["start"] *= rng.choice([1, 0.5])


# --- page ------------------------------------------------------------------------------------------


def report(rows: Sequence[Row], fuzz: Sequence[Row], command: str) -> str:
    """Return the page in Markdown; a set of which not all seeds ran says so by its number of seeds."""
    heads = ("set", "seeds", "solves", "proved", "in time", "share", "asked", "solve, s", "certificate, s", "bytes")
    of_set = {name: [row for row in rows if row["set"] == name] for name in SETS}
    lines = [[name, *_figures(SETS[name], some)] for name, some in of_set.items() if some]
    table = Table.of(heads, lines)
    misses: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["reason"]:
            key = row["set"], row["reason"]
            misses[key] = misses.get(key, 0) + 1
    above = [line for row in fuzz for line in row["above"]]
    sections = [
        "# Certificates",
        f"{code_sentence(('python',))}. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "Times are medians, in CPU seconds, of what is certified. A certificate is in time if making and checking it "
        f"took at most {LEAST_LIMIT:g} s, or {FACTOR:g} times its solve; a solve has {SOLVE_LIMIT:g} s. Seeds: those "
        f"that ran, from {FIRST_SEED} on, of all of the set.",
        markdown(table),
        "## Without a certificate in time",
        "\n".join(f"- {name}: {count} of them: {reason}" for (name, reason), count in misses.items()) or "None.",
        "## Fuzz",
        f"{len(fuzz)} small instances, {sum(row['certified'] for row in fuzz)} with a certificate; of "
        f"{sum(row['mutants'] for row in fuzz)} mutants {sum(row['accepted'] for row in fuzz)} are accepted. "
        f"{len(above)} claim more than brute force allows.",
        *(["\n".join(f"- {line}" for line in above)] if above else []),
    ]
    return "\n\n".join(sections) + "\n"


def _figures(of: Set, rows: Sequence[Row]) -> list[Any]:
    """Return seeds, solves, proved, certified, their share and what is asked, and medians of seconds and bytes."""
    proved = [row for row in rows if row["status"] in ("optimal", "infeasible")]
    good = [row for row in proved if row["is_certified"]]
    share = f"{len(good) / len(proved):.0%}" if proved else "-"
    medians = [median(row[name] for row in good) if good else None for name in ("solve", "certificate", "bytes")]
    seeds = f"{len({row['seed'] for row in rows})} of {of.seeds}"
    return [seeds, len(rows), len(proved), len(good), share, f"{of.target:.0%}", *medians]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="*", choices=[*SETS], help="sets to run (default: all)")
    parser.add_argument("--seeds", type=int, help="seeds of each set, at most (default: as many as the set has)")
    parser.add_argument("--fuzz", type=int, default=FUZZ_SEEDS, help=f"seeds of the fuzz (default {FUZZ_SEEDS})")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "certificates.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "certificates.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    samples = [
        Call(certified, {"set": name, "seed": FIRST_SEED + number}, LIMIT)
        for name in (SETS if options.sets is None else options.sets)
        for number in range(min(SETS[name].seeds, options.seeds or SETS[name].seeds))
    ]
    blocks = [
        Call(fuzzed, {"first": first, "seeds": min(SEEDS_PER_CALL, options.fuzz - first)}, LIMIT)
        for first in range(0, options.fuzz, SEEDS_PER_CALL)
    ]
    if not options.report:
        run_shown([*samples, *blocks], options.store, options.jobs, _line)
    found = [[outcome for outcome in outcomes_of(calls, options.store) if outcome] for calls in (samples, blocks)]
    rows, fuzz = ([row for outcome in outcomes for row in outcome.get("rows", ())] for outcomes in found)
    write_atomically(options.output, report(rows, fuzz, command_of("certificates", parser, options)))
    print(f"wrote {options.output}: {len(rows)} samples, {len(fuzz)} instances of the fuzz")
    is_wrong = any(row["above"] for row in fuzz) or any(is_failed(outcome) for some in found for outcome in some)
    return 1 if is_wrong else 0


def _line(call: Call, outcome: Outcome) -> str:
    rows = outcome.get("rows", ())
    if outcome.get("message"):
        return f"{dict(call.argument)}: {outcome['message']}"
    good = sum(row.get("is_certified", row.get("certified", False)) for row in rows)
    return f"{dict(call.argument)}: {good} of {len(rows)} certified"


if __name__ == "__main__":
    exit_with(main)
