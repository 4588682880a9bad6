"""Published instances of R||Cmax: the portfolio, the assignment MIP on HiGHS and PyJobShop with CP-SAT, side by side.

70 instances of 100 to 1000 jobs on 10 to 50 unrelated machines, read where they are and never copied: a machine is a
node with a feature of its own, and a job names its time on each. The methods take turns on each instance, with the same
limit and threads; the page says where one contradicts another, and where ours proves less, bounds worse or schedules
worse than a peer. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from peers import asked, judged, solved
from sampling import HERE, RESULTS, code_columns, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed, is_solved
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

SHARED = HERE.parent.parent / "shared" / "data" / "unrelated"
OURS, MIP, PEER = "portfolio", "HiGHS MIP", "PyJobShop"
PEERS = {MIP: "unrelated_mip.py", PEER: "unrelated_peer.py"}
"""The script of each peer, which runs in a process of its own."""
METHODS = (OURS, *PEERS)
LIMIT = 10.0
GRACE = 60.0
"""Seconds beyond the time limit after which a sample is killed; loading is part of them, and what a peer overruns."""
COLUMNS = (
    *("instance", "jobs_of_instance", "machines", "method", "status", "time", "objective", "lower_bound"),
    *("limit", "threads", "message", "peer", "version", "commit", "code", "highspy", "python"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve; limit in seconds."""

    instance: str
    method: str
    limit: float
    threads: int


def read_times(path: Path) -> list[list[int]]:
    """Return the time of each job, in s, on each machine: the numbers of jobs and machines, then a row for each job."""
    try:
        num_jobs, num_machines, *rest = map(int, path.read_text(encoding="utf-8").split())
    except ValueError as error:
        raise coalloc.CoallocError(f"{path}: no instance of unrelated machines: {error}") from error
    if len(rest) != num_jobs * num_machines:
        raise coalloc.CoallocError(f"{path}: says {num_jobs} times {num_machines} times and has {len(rest)}")
    return [rest[first : first + num_machines] for first in range(0, len(rest), num_machines)]


def instance_of(times: Sequence[Sequence[int]]) -> coalloc.Instance:
    """Return the jobs on one cluster, a node for each machine."""
    names = [f"m{machine}" for machine in range(len(times[0]))]
    groups = [coalloc.NodeGroup(1, power=1.0, features=[name]) for name in names]
    platform = coalloc.Platform([coalloc.Cluster("C1", groups, link_bandwidth=1.0)])
    jobs = [
        coalloc.Job(f"J{n}", 1, float(max(row)), times=dict(zip(names, map(float, row), strict=True)))
        for n, row in enumerate(times, 1)
    ]
    return coalloc.Instance(platform, jobs)


# --- solving, in a process of its own ---------------------------------------------------------------


def solve(argument: Mapping[str, Any]) -> Row:
    """Return status, time (s), objective and bound (s) of one solve: a sample, with ``folder`` and ``peer_python``."""
    sample = Sample(**{name: part for name, part in argument.items() if name not in ("folder", "peer_python")})
    times = read_times(Path(argument["folder"], f"{sample.instance}.txt"))
    if sample.method == OURS:
        return solved(instance_of(times), sample.limit, sample.threads)
    return by_peer(times, sample, argument["peer_python"] if sample.method == PEER else sys.executable)


def by_peer(times: Sequence[Sequence[int]], sample: Sample, peer_python: str) -> Row:
    """Solve with a peer in a process of its own, on the Python that has it."""
    document = {"times": times, "time_limit": sample.limit, "threads": sample.threads}
    return asked(peer_python, PEERS[sample.method], document, partial(row_of_peer, times))


def row_of_peer(times: Sequence[Sequence[int]], answer: Mapping[str, Any]) -> Row:
    """Return what the peer said as a row, its objective recomputed from its assignment."""
    objective = None
    if len(answer["machines"]) == len(times):
        loads = [0] * len(times[0])
        for row, machine in zip(times, answer["machines"], strict=True):
            loads[machine] += row[machine]
        objective = float(max(loads))
    message = "" if objective is not None else "no schedule"
    return {**judged(answer, objective, float(answer["lower_bound"]), message), "peer": answer["peer"]}


# --- running and reporting -------------------------------------------------------------------------


def contradictions(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each bound that is above what another method reaches."""
    good = [row for row in rows if not is_failed(row)]
    return [
        f"{one['instance']}: the bound {one['lower_bound']:g} of {one['method']} is above {other['objective']:g} of "
        f"{other['method']}"
        for one in good
        for other in good
        if one["instance"] == other["instance"]
        and None not in (one["lower_bound"], other["objective"])
        and one["lower_bound"] > other["objective"]
    ]


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each instance that a peer alone proves, bounds better or has a better schedule of."""
    of = {(row["instance"], row["method"]): row for row in rows if not is_failed(row)}
    found = []
    for (name, method), peer in of.items():
        ours = of.get((name, OURS))
        if method == OURS or ours is None:
            continue
        if is_solved(peer) and not is_solved(ours):
            found.append(f"{name}: proved by {method} alone")
        if peer["lower_bound"] > ours["lower_bound"]:
            found.append(f"{name}: bound {ours['lower_bound']:g}, {peer['lower_bound']:g} of {method}")
        if _objective(peer) < _objective(ours):
            found.append(f"{name}: schedule {_objective(ours):g}, {_objective(peer):g} of {method}")
    return found


def _objective(row: Row) -> float:
    """Return the objective, infinity where there is no schedule."""
    return inf if row["objective"] is None else float(row["objective"])


def summary_table(rows: Sequence[Row]) -> str:
    """Return a line for each size and method: what is proved, and in what time."""
    sizes = dict.fromkeys((row["jobs_of_instance"], row["machines"]) for row in rows)
    heads = ["jobs", "machines", "method", "proved/ran", "median, s", "mean gap"]
    lines = [[*size, *line] for size in sorted(sizes) for line in _summary(rows, size)]
    return markdown(Table.of(heads, [*lines, *(["all", "", *line] for line in _summary(rows, None))]))


def _summary(rows: Sequence[Row], size: tuple[int, int] | None) -> Iterator[Sequence[Any]]:
    for method in METHODS:
        its = [row for row in rows if row["method"] == method]
        its = [row for row in its if size is None or (row["jobs_of_instance"], row["machines"]) == size]
        if its:
            seconds = median(row["time"] if is_solved(row) else row["limit"] for row in its)
            gap = sum(map(_gap, its)) / len(its)
            yield method, f"{sum(map(is_solved, its))}/{len(its)}", seconds, f"{gap:.2%}"


def _gap(row: Row) -> float:
    """Return the gap as a share of the objective, 1 where there is none."""
    if is_failed(row) or not row["objective"]:
        return 1.0
    return float(1.0 - row["lower_bound"] / row["objective"])


def instance_table(rows: Sequence[Row]) -> str:
    """Return a line for each instance, with what each method found of it."""
    of = {(row["instance"], row["method"]): row for row in rows}
    heads = ["instance", "jobs", "machines", *METHODS]
    first = {row["instance"]: row for row in rows}
    lines = [
        [name, row["jobs_of_instance"], row["machines"], *(_found(of.get((name, method))) for method in METHODS)]
        for name, row in first.items()
    ]
    return markdown(Table.of(heads, lines))


def _found(row: Row | None) -> str:
    """Return the optimum and its time, or bound and objective."""
    if row is None:
        return ""
    if is_failed(row):
        return str(row["status"])
    if is_solved(row):
        return f"{row['objective']:g} in {row['time']:.2f} s"
    return f"{row['lower_bound']:g}..{'?' if row['objective'] is None else format(row['objective'], 'g')}"


def report(rows: Sequence[Row], planned: int, asked: argparse.Namespace, command: str) -> str:
    """Return the page in Markdown."""
    peers = dict.fromkeys(row["peer"] for row in rows if row.get("peer"))
    sections = [
        "# Unrelated machines compared with the assignment MIP and PyJobShop",
        f"{code_sentence(('highspy', 'python'))}; {'; '.join(peers) or 'no peer'}; {asked.limit:g} s and "
        f"{asked.threads} threads per solve, makespan, slots of 1 s. Samples that ran: "
        f"{len(rows)} of {planned}. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "The MIP on HiGHS: least $C$, each job on one machine, no load above $C$. A task of PyJobShop has a mode on "
        "each machine. What was not proved counts with its limit, and without a "
        "schedule the gap counts as 100 %.",
        summary_table(rows),
        "Contradictions (a bound above what another reaches): " + ("; ".join(contradictions(rows)) or "none") + ".",
        "Proved, bounded or scheduled better by a peer: " + ("; ".join(shortcomings(rows)) or "none") + ".",
        "## All instances",
        "The optimum with the time of its proof, or bound and best value.",
        instance_table(rows),
    ]
    return "\n\n".join(sections) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the instances (default: %(default)s)")
    parser.add_argument("--instances", nargs="+", help="run these alone (default: all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="run these alone")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per solve (default: %(default)g)")
    parser.add_argument("--threads", type=int, default=2, help="cores of each solve (default 2)")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has PyJobShop")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--output", type=new_page, default=RESULTS / "unrelated", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "unrelated.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    names = sorted((path.stem for path in options.data.glob("*.txt")), key=int)
    if not names:
        raise coalloc.CoallocError(f"{options.data}: there are no instances (NUMBER.txt)")
    samples = [Sample(name, method, options.limit, options.threads) for name in names for method in METHODS]
    local = {"folder": str(options.data), "peer_python": options.peer_python}
    calls = [Call(solve, asdict(sample), sample.limit + GRACE, local=local) for sample in samples]
    if not options.report:
        chosen = options.instances or names
        wanted = [c for c in calls if c.argument["instance"] in chosen and c.argument["method"] in options.methods]
        run_shown(wanted, options.store, 1, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    rows = [_row(options.data, sample, outcome) for sample, outcome in outcomes if outcome is not None]
    page = report(rows, len(samples), options, command_of("unrelated", parser, options))
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output}.md and .csv: {len(rows)} of {len(samples)} samples")
    return 1 if contradictions(rows) else 0


def _row(folder: Path, sample: Sample, outcome: Outcome) -> Row:
    times = read_times(folder / f"{sample.instance}.txt")
    return code_columns() | {"jobs_of_instance": len(times), "machines": len(times[0])} | asdict(sample) | outcome


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    detail = outcome["message"] if is_failed(outcome) else f"{_found(outcome)}, {outcome['time']:.2f} s"
    return f"{sample.instance}, {sample.method}: {outcome['status']}, {detail}"


if __name__ == "__main__":
    exit_with(main)
