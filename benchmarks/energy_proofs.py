"""How far least energy and EDP are proved on instances like those of PCBE, from 8 jobs on 2 nodes to 100 on 8.

``generate("pcbe", jobs=..., nodes=...)``, jobs within nodes, in continuous time and in slots of 0.5 s, for energy and
for EDP. Bounds and objectives on one instance must not contradict each other. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.statistics import SHIFT, geometric_mean
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

SIZES = ((8, 2), (10, 2), (20, 6), (50, 8), (100, 8))
"""Jobs and nodes."""
TARGETS = {
    ("energy", 8): 0.0,
    ("energy", 10): 0.0,
    ("energy", 20): 1.0,
    ("energy", 50): 1.0,
    ("energy", 100): 2.0,
    ("edp", 8): 0.0,
    ("edp", 10): 2.0,
    ("edp", 20): 5.0,
    ("edp", 50): 5.0,
    ("edp", 100): 8.0,
}
"""Gap, per cent, that is aimed at; 0 is a proof."""
SLOTS = (None, 0.5)
"""Continuous time, and slots, s."""
GRACE = 60.0
"""Seconds that a process has beyond the limit of its solve."""
LATE = 1.0
"""Seconds beyond its limit in which a solve is not late, and 10 % more."""
TOLERANCE = 1e-6
COLUMNS = (
    *("jobs", "nodes", "seed", "objective", "slot", "status", "found", "lower_bound", "gap", "makespan"),
    *("time", "cpu", "disagreement"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve; ``slot`` and ``limit`` in s."""

    jobs: int
    nodes: int
    seed: int
    objective: str
    slot: float | None
    limit: float
    threads: int


def solved(argument: Mapping[str, Any]) -> Row:
    """Return what a sample comes to; libraries are loaded before the clock starts."""
    sample = Sample(**argument)
    options = {"objective": sample.objective, "scope": "node", "slot": sample.slot, "threads": sample.threads}
    coalloc.solve(coalloc.generate("pcbe", seed=1, jobs=2), time_limit=5.0, **options)
    instance = coalloc.generate("pcbe", seed=sample.seed, jobs=sample.jobs, nodes=sample.nodes)
    result = coalloc.solve(instance, time_limit=sample.limit, **options)
    broken = [str(fault) for fault in coalloc.check(instance, result.schedule, scope="node")]
    return {
        "status": result.status.value,
        "found": result.objective,
        "lower_bound": result.lower_bound,
        "gap": None if result.gap is None else 100.0 * result.gap,
        "makespan": coalloc.energy(instance, result.schedule).makespan,
        "time": result.timings["total"],
        "disagreement": "; ".join(broken),
    }


def planned(options: argparse.Namespace) -> Iterator[Sample]:
    """Yield the samples in the order in which they run."""
    for seed in range(1, options.seeds + 1):
        for jobs, nodes in SIZES:
            for objective in ("energy", "edp"):
                for slot in SLOTS:
                    yield Sample(jobs, nodes, seed, objective, slot, options.limit, options.threads)


def rows_of(samples: Sequence[Sample], outcomes: Sequence[Outcome | None]) -> list[Row]:
    """Return a row per sample that ran, with what contradicts what."""
    pairs = [(s, outcome) for s, outcome in zip(samples, outcomes, strict=True) if outcome is not None]
    rows: list[dict[str, Any]] = [{**asdict(s), **outcome} for s, outcome in pairs]
    best: dict[tuple[Any, ...], float] = {}
    for row in rows:
        key = row["jobs"], row["nodes"], row["seed"], row["objective"]
        if row.get("found") is not None:
            best[key] = min(row["found"], best.get(key, row["found"]))
    for row in rows:
        least = best.get((row["jobs"], row["nodes"], row["seed"], row["objective"]))
        bound = row.get("lower_bound")
        wrong = [row.get("disagreement") or row.get("message", "")]
        if row["slot"] is None and least is not None and bound is not None and bound > least * (1.0 + TOLERANCE):
            wrong.append(f"the bound {bound:.9g} is above {least:.9g}, which is reached")
        if row.get("time") is not None and row["time"] > LATE + 1.1 * row["limit"]:
            wrong.append(f"took {row['time']:.1f} s")
        row["disagreement"] = "; ".join(text for text in wrong if text)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1, 2, ... of each size (default 5)")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds per solve (default 30)")
    parser.add_argument("--threads", type=int, default=2, help="threads of a solve (default 2)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="solves at a time (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--note", default="", help="a sentence on the machine for the page")
    parser.add_argument("--output", type=new_page, default=RESULTS / "energy", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "energy.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    samples = list(planned(options))
    calls = [Call(solved, asdict(sample), options.limit + GRACE) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    rows = rows_of(samples, outcomes_of(calls, options.store))
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, len(samples), options, command_of("energy_proofs", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(rows)} of {len(samples)}")
    return 1 if any(row["disagreement"] for row in rows) else 0


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    gap = outcome.get("gap")
    shown = "-" if gap is None else f"{gap:.3f} %"
    name = f"{sample.jobs} x {sample.nodes}, seed {sample.seed}, {sample.objective}, slot {sample.slot or '-'}"
    return f"{name}: {outcome['status']}, gap {shown}, {outcome.get('time') or 0.0:.1f} s {outcome.get('message', '')}"


def report(rows: Sequence[Row], num_samples: int, options: argparse.Namespace, command: str) -> str:
    """Return the page in Markdown."""
    wrong = [
        f"- {row['jobs']} x {row['nodes']}, seed {row['seed']}, {row['objective']}, slot {row['slot'] or '-'}: "
        f"{row['disagreement']}"
        for row in rows
        if row["disagreement"]
    ]
    paragraphs = [
        "# Least energy and EDP on instances like those of PCBE",
        f"{code_sentence(('highspy', 'scipy', 'python'))}; {options.threads} threads, {options.limit:g} s per solve, "
        f"seeds 1 to {options.seeds}: {len(rows)} of {num_samples} solves ran. {options.note} Made by `{command}`; the "
        "protocol is in [../README.md](../README.md).",
        "Gaps are (objective - bound)/objective, per cent; a gap of 0 is aimed at where the target is a proof. Times "
        f"are shifted geometric means (shift {SHIFT:g} s), and the longest; CPU is the mean of what a sample got of "
        "the machine's processors, with what is loaded before the clock starts.",
        markdown(_table(rows)),
        "## Disagreements",
        "\n".join(wrong) if wrong else "None.",
    ]
    return "\n\n".join(paragraphs) + "\n"


def _table(rows: Sequence[Row]) -> Table:
    heads = (
        *("jobs", "nodes", "objective", "slot, s", "solves", "proved", "mean gap, %", "largest gap, %", "target, %"),
        *("time, s", "longest, s", "CPU, s"),
    )
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["jobs"], row["nodes"], row["objective"], row["slot"] or "-"), []).append(row)
    return Table.of(heads, [_figures(key, group) for key, group in groups.items()])


def _figures(key: tuple[Any, ...], group: Sequence[Row]) -> list[Any]:
    gaps = [0.0 if row["status"] == "optimal" else row["gap"] for row in group if row.get("gap") is not None]
    times = [row["time"] for row in group if row.get("time") is not None]
    cpu = [row["cpu"] for row in group if row.get("cpu") is not None]
    return [
        *key,
        len(group),
        sum(row["status"] == "optimal" for row in group),
        sum(gaps) / len(gaps) if gaps else None,
        max(gaps, default=None),
        TARGETS[key[2], key[0]],
        geometric_mean(times, SHIFT),
        max(times, default=None),
        sum(cpu) / len(cpu) if cpu else None,
    ]


if __name__ == "__main__":
    exit_with(main)
