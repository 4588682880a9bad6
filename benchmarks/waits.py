"""How far from the best the waits of windows of four traces are known: schedules and bounds of 200 and 1000 jobs.

The windows are consecutive jobs from one that a seed draws, on the otherwise empty platform. The gap is that of the
sum of response times, of which waits are the part that a scheduler decides; the mean wait stands next to it. Longer
windows have their bound alone. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from audit import LOGS, instance_of
from sampling import RESULTS, command_of, exit_with, new_page, run_shown
from simulator import SHARED

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

FOUR = ("KTH-SP2", "CTC-SP2", "SDSC-SP2", "HPC2N")
"""Logs of the table."""
SIZES = (200, 1000)
LONG = 10_000
"""Jobs from which on a window has its bound alone."""
SEEDS = (1, 2)
OBJECTIVE = "total-response-time"
GRACE = 600.0
"""Seconds beyond its limit after which a sample is killed."""
COLUMNS = (
    *("log", "seed", "jobs", "first", "limit", "status", "response", "bound", "gap", "wait", "wait_bound"),
    *("time", "cpu", "memory", "message"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A window of a log; ``limit`` in s."""

    log: str
    seed: int
    jobs: int
    limit: float


def window_of(sample: Sample, folder: str) -> tuple[coalloc.Instance, int]:
    """Return the jobs of a window, and the number of the first of them in the log."""
    whole = instance_of(sample.log, folder)
    most = max(0, len(whole.jobs) - sample.jobs)
    first = int(np.random.default_rng([sample.seed, sample.jobs]).random() * most)
    return whole.replace(jobs=whole.jobs[first : first + sample.jobs]), first


def measured(argument: Mapping[str, Any]) -> Row:
    """Return the gap of a window, or its bound alone where it is long."""
    sample = Sample(**{name: argument[name] for name in Sample.__slots__})
    instance, first = window_of(sample, argument["folder"])
    began, cpu = time.perf_counter(), time.process_time()
    objective = None
    if sample.jobs < LONG:
        result = coalloc.solve(instance, objective=OBJECTIVE, time_limit=sample.limit)
        objective, bound = result.objective, result.lower_bound or 0.0
    else:
        bound = coalloc.lower_bound(instance, OBJECTIVE, time_limit=sample.limit)
    alone = sum(job.base_time for job in instance.jobs)
    num_jobs = len(instance.jobs)
    return {
        "status": "measured",
        "first": first,
        "response": objective,
        "bound": bound,
        "gap": None if not objective else (objective - bound) / objective,
        "wait": None if objective is None else (objective - alone) / num_jobs,
        "wait_bound": (bound - alone) / num_jobs,
        "time": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    }


def report(rows: Sequence[Row], planned: int, command: str) -> str:
    """Return the page in Markdown."""
    heads = ["log", "seed", "jobs", "from", "gap", "mean wait, s", "no less than, s", "time, s", "CPU, s", "MB"]
    lines = []
    for row in rows:
        if is_failed(row):
            lines.append([row["log"], row["seed"], row["jobs"], "", f"**{row['status']}**", *[""] * 5])
            continue
        gap = "" if row["gap"] is None else f"{row['gap']:.1%}"
        wait = "" if row["wait"] is None else f"{row['wait']:,.0f}"
        seconds = (f"{row['time']:.0f}", f"{row['cpu']:.0f}", f"{row['memory']:.0f}")
        lines.append(
            [row["log"], row["seed"], row["jobs"], row["first"], gap, wait, f"{row['wait_bound']:,.0f}", *seconds]
        )
    sections = [
        "# Waits of windows of traces",
        f"{code_sentence(('python',))}. Samples that ran: {len(rows)} of {planned}. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "The gap is (sum of responses - its bound) / sum of responses. Where the CPU is far less than the time, the "
        "machine had other work, and searches and bounds had only so much.",
        markdown(Table.of(heads, lines)),
    ]
    return "\n\n".join(sections) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, default=SHARED, help="folder of the logs (default: %(default)s)")
    parser.add_argument("--logs", nargs="*", choices=list(LOGS), default=list(FOUR), help="logs of the windows")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="jobs of a window")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(SEEDS), help="seeds that draw windows")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each window")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time")
    parser.add_argument("--report", action="store_true", help="run nothing, show what the store has")
    parser.add_argument("--output", type=new_page, default=RESULTS / "waits", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "waits.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    local = {"folder": str(options.traces)}
    samples = [
        Sample(log, seed, size, options.limit)
        for size in options.sizes
        for seed in options.seeds
        for log in options.logs
    ]
    calls = [Call(measured, asdict(sample), sample.limit + GRACE, local=local) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(calls, outcomes_of(calls, options.store), strict=True)
    rows = [{**call.argument, **outcome} for call, outcome in outcomes if outcome is not None]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, len(samples), command_of("waits", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output}.md and .csv: {len(rows)} of {len(samples)} samples")
    return 0


def _line(call: Call, outcome: Outcome) -> str:
    asked = f"{call.argument['log']}, {call.argument['jobs']} jobs, seed {call.argument['seed']}"
    return f"{asked}: {outcome.get('message') or outcome['status']}"


if __name__ == "__main__":
    exit_with(main)
