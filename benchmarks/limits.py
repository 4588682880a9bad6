"""Whether time limits hold: the portfolio with 0.1 to 60 s on 8 to 100,000 jobs, in slots and in continuous time.

Each solve runs in a process of its own that has loaded everything before the clock starts. A limit holds if the solve
takes no more than a tenth, or 0.3 s, beyond it, and 50 microseconds per job, on a machine without other work; with
other work the time of the processor says more, which the harness measures from the start of the process. Protocol:
benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sampling import RESULTS, code_columns, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

SIZES = ((8, 12), (20, 12), (50, 240), (200, 240), (500, 1998), (1000, 999), (5000, 240))
"""Jobs and nodes of instances of ``three clusters``."""
LARGE = (
    ("one cluster", 1_000, 1_000, "makespan"),
    ("one cluster", 20_000, 1_000, "makespan"),
    ("one cluster", 100_000, 1_000, "makespan"),
    ("one cluster", 5_000, 1_000, "total-response-time"),
    ("three clusters", 5_000, 999, "makespan"),
    ("three clusters", 20_000, 999, "makespan"),
    ("three clusters", 20_000, 999, "total-response-time"),
    ("three clusters", 100_000, 999, "makespan"),
    ("arrivals", 1_000, 1_000, "makespan"),
    ("arrivals", 20_000, 1_000, "total-response-time"),
    ("features", 1_000, 1_000, "makespan"),
    ("features", 5_000, 1_000, "makespan"),
)
"""Family, jobs, nodes and objective of further instances, solved in continuous time."""
SLOTS = ("5%", None)
OBJECTIVES = ("makespan", "total-response-time")
LIMITS = (0.1, 1.0, 5.0, 60.0)
"""Seconds."""
SHARE, SECONDS, PER_JOB = 0.1, 0.3, 5e-5
"""A limit holds within this share of it or so many seconds, whichever is more, and so many seconds per job."""
GRACE = 120.0
"""Seconds beyond its limit after which a solve is killed."""
COLUMNS = (
    *("family", "jobs", "nodes", "slot", "objective", "limit", "threads", "status", "time", "cpu", "memory", "gap"),
    "message",
    *("version", "commit", "code", "highspy", "ortools", "pumpkin-solver", "python"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve; limit in seconds."""

    jobs: int
    nodes: int
    slot: str | None
    objective: str
    limit: float
    threads: int
    family: str = "three clusters"

    @property
    def instance(self) -> coalloc.Instance:
        """The instance that is solved."""
        return FAMILIES[self.family](self.jobs, self.nodes)


def three_clusters(jobs: int, nodes: int) -> coalloc.Instance:
    """Return jobs of the thesis that all arrive at once, on three clusters."""
    return coalloc.generate("thesis-oas", seed=1, jobs=jobs, nodes=nodes // 3)


def one_cluster(jobs: int, nodes: int, interarrival_mean: float = 0.0) -> coalloc.Instance:
    """Return such jobs on one cluster."""
    given = {"clusters": 1, "nodes": nodes, "interarrival_mean": interarrival_mean}
    return coalloc.generate("thesis-oas", seed=1, jobs=jobs, **given)


def arrivals(jobs: int, nodes: int) -> coalloc.Instance:
    """Return jobs that arrive one by one on one cluster, about as fast as it completes them."""
    first = one_cluster(jobs, nodes)
    work = sum(job.tasks * job.base_time for job in first.jobs)
    return one_cluster(jobs, nodes, work / jobs / nodes)


def features(jobs: int, nodes: int) -> coalloc.Instance:
    """Return jobs on one cluster of which every second follows the one before, and every third takes a license."""
    first = one_cluster(jobs, nodes)
    pairs = zip(["", *(job.id for job in first.jobs)], first.jobs, strict=False)
    changed = [
        job.replace(after=[before] if j % 2 else [], resources={} if j % 3 else {"license": 1})
        for j, (before, job) in enumerate(pairs)
    ]
    return first.replace(jobs=changed, platform=first.platform.replace(resources={"license": 4}))


FAMILIES: dict[str, Callable[[int, int], coalloc.Instance]] = {
    "three clusters": three_clusters,
    "one cluster": one_cluster,
    "arrivals": arrivals,
    "features": features,
}


def solve(argument: Mapping[str, Any]) -> Row:
    """Return the time of one solve by the clock, s, and its gap."""
    sample = Sample(**argument)
    coalloc.solve(coalloc.generate("thesis-oas", seed=0, jobs=1), slot="50%", threads=sample.threads)
    instance = sample.instance
    began = time.perf_counter()
    result = coalloc.solve(
        instance, slot=sample.slot, objective=sample.objective, time_limit=sample.limit, threads=sample.threads
    )
    return {
        "status": result.status.value,
        "time": time.perf_counter() - began,
        "gap": result.gap,
        "message": result.message,
    }


def holds(row: Row) -> bool:
    """Return whether the limit of a sample held."""
    beyond = max(SHARE * row["limit"], SECONDS) + PER_JOB * row["jobs"]
    return not is_failed(row) and row["time"] <= row["limit"] + beyond


def table(rows: Sequence[Row]) -> str:
    """Return a line for each instance and slot: for each limit what a solve took, and the gap it left."""
    limits = list(dict.fromkeys(row["limit"] for row in rows))
    heads = ["family", "jobs", "nodes", "objective", "slot", *(f"{limit:g} s" for limit in limits)]
    cases: dict[tuple[Any, ...], dict[float, Row]] = {}
    for row in rows:
        case = row["family"], row["jobs"], row["nodes"], row["objective"], row["slot"] or "continuous"
        cases.setdefault(case, {})[row["limit"]] = row
    lines = ([*case, *(_entry(of_case.get(limit)) for limit in limits)] for case, of_case in cases.items())
    return markdown(Table.of(heads, lines))


def _entry(row: Row | None) -> str:
    if row is None:
        return ""
    if is_failed(row):
        return f"**{row['status']}**"
    taken = f"{row['time']:.2f} s ({row['cpu']:.2f}; {row['memory']:.0f} MB)"
    gap = "no bound" if row["gap"] is None else f"{row['gap']:.2%}"
    return f"{taken if holds(row) else f'**{taken}**'}, {gap}"


def report(rows: Sequence[Row], planned: int, command: str) -> str:
    """Return the page in Markdown."""
    held = sum(map(holds, rows))
    sections = [
        "# Time limits",
        f"{code_sentence(('highspy', 'ortools', 'pumpkin-solver', 'python'))}; seed 1 of `thesis-oas`. Samples that "
        f"ran: {len(rows)} of {planned}. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "Seconds by the clock (of the processor, with about a second of loading; peak memory), and the gap. "
        f"{held} of {len(rows)} limits hold within {SHARE:.0%} or {SECONDS:g} s, and {PER_JOB * 1e6:g} microseconds "
        "per job; others are bold.",
        table(rows),
    ]
    return "\n\n".join(sections) + "\n"


def samples_of(threads: int, limits: Sequence[float]) -> Iterator[Sample]:
    """Yield the samples in the order in which they run, the short limits first."""
    for limit in limits:
        for objective in OBJECTIVES:
            for jobs, nodes in SIZES:
                for slot in SLOTS:
                    yield Sample(jobs, nodes, slot, objective, limit, threads)
        for family, jobs, nodes, objective in LARGE:
            yield Sample(jobs, nodes, None, objective, limit, threads, family)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--limits", type=float, nargs="+", default=LIMITS, help="seconds (default: all)")
    parser.add_argument("--threads", type=int, default=2, help="cores of each solve (default 2)")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of what is in the store")
    parser.add_argument("--output", type=new_page, default=RESULTS / "limits", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "limits.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    samples = list(samples_of(options.threads, options.limits))
    calls = [Call(solve, asdict(sample), sample.limit + GRACE) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, 1, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    rows = [code_columns() | asdict(sample) | outcome for sample, outcome in outcomes if outcome is not None]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, len(samples), command_of("limits", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output}.md and .csv: {len(rows)} of {len(samples)} samples")
    return 0


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    taken = outcome["message"] if is_failed(outcome) else f"{outcome['time']:.2f} s"
    size, slot = f"{sample.family}, {sample.jobs} x {sample.nodes}", sample.slot or "continuous"
    return f"{size}, {sample.objective}, {slot}, {sample.limit:g} s: {outcome['status']}, {taken}"


if __name__ == "__main__":
    exit_with(main)
