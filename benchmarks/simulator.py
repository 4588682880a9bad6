"""How fast the simulator replays traces, in how much memory, and compared with AccaSim where it is installed.

Every sample is a process that has loaded nothing but what it needs. A replay reads a trace; simulates
it (engine with all starts validated, nodes named, metrics), which is what the targets are about; and
checks the schedule. Each of the three phases has its CPU and wall seconds and the peak resident memory
up to its end. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from sampling import HERE, RESULTS, code_columns, command_of, exit_with, new_page, run_shown
from simulator_process import AT_ONCE, LARGE, LIMIT, LUBLIN, POOL, PROGRAMS, THREE_CLUSTERS, TRACES, Sample

from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

MAIN = "HPC2N"
SHARED = HERE.parent.parent / "shared" / "data" / "swf"
NUM_HPC2N = 202_871
LUBLIN_JOBS = 20_000
MESD_JOBS, MESD_QUEUE = 50_000, 200
CONSERVATIVE_JOBS = 20_000
OVERLOAD = 1.2
PAS_JOBS = 60
LARGE_JOBS = 10_000
QUEUES = (1_000, 2_000)
"""Jobs that wait at once for conservative backfilling."""
GRACE = 60.0
"""Seconds beyond the limit of AccaSim after which a sample is killed."""

COLUMNS = (
    *("kind", "trace", "policy", "num_jobs", "offered_load", "run", "status", "jobs"),
    *("engine_cpu", "engine_wall", "engine_peak"),
    *("read_cpu", "read_wall", "read_peak", "simulate_cpu", "simulate_wall", "simulate_peak"),
    *("check_cpu", "check_wall", "check_peak", "rate", "wait_mean", "same_starts", "peer_wait_mean"),
    *("decisions", "decision_median", "decision_max", "load", "message", "version", "commit", "code", "python"),
)


def measure(argument: Mapping[str, Any]) -> Row:
    """Return what was measured of a sample, given as a dictionary, in an interpreter of its own."""
    command = [sys.executable, str(HERE / "simulator_process.py"), json.dumps(dict(argument))]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        return {"status": "crashed", "message": f"exit code {ran.returncode}: {last}"}
    row: Row = json.loads(ran.stdout)
    return row


# --- which samples --------------------------------------------------------------------------------


def samples(folder: Path, runs: int, peer: str, peer_jobs: int) -> Iterator[Sample]:
    """Yield all samples, those that are compared with each other in turns."""
    make = partial(Sample, folder=str(folder))
    main = MAIN if Path(folder, TRACES[MAIN][0]).exists() else LUBLIN
    whole = 0 if main == MAIN else LUBLIN_JOBS
    for run in range(1, runs + 1):
        for policy in ("easy", "fcfs"):
            yield make("replay", main, policy, whole, run)
            if peer:
                yield make("replay", main, policy, peer_jobs, run)
                yield make("accasim", main, policy, peer_jobs, run, peer=peer)
        yield from (make(kind, main, "easy", whole, run) for kind in PROGRAMS)
        yield make("replay", main, "conservative", CONSERVATIVE_JOBS, run)
        yield make("replay", main, "easy", whole, run, offered_load=OVERLOAD)
        if main == MAIN:
            yield make("replay", main, "conservative", 0, run)
            yield from (make("replay", main, "easy", NUM_HPC2N // parts, run) for parts in (4, 2))
            others = [name for name in TRACES if name != MAIN and Path(folder, TRACES[name][0]).exists()]
            yield from (make("replay", name, policy, 0, run) for name in others for policy in ("easy", "fcfs"))
            yield from (make(kind, name, "easy", 0, run) for name in others for kind in PROGRAMS)
            yield make("replay", main, "mesd", MESD_JOBS, run, offered_load=OVERLOAD)
            yield make("first-decisions", main, "mesd", MESD_QUEUE, run)
        yield from (make("replay", name, "easy", LARGE_JOBS, run) for name in (LARGE, POOL, THREE_CLUSTERS))
        yield from (make("replay", AT_ONCE, "conservative", size, run) for size in QUEUES)
        yield make("all-decisions", "thesis-pas", "pas", PAS_JOBS, run)


def call_of(sample: Sample) -> Call:
    """Return the call that measures a sample; where traces and the peer lie is no part of what is measured."""
    argument = asdict(sample)
    local = {name: argument.pop(name) for name in ("folder", "peer")}
    return Call(measure, argument, LIMIT + GRACE, local=local)


# --- the report -----------------------------------------------------------------------------------

Group = tuple[str, str, str, int, float]


def grouped(rows: Iterable[Row]) -> dict[Group, list[Row]]:
    """Return the rows of each question, its runs together."""
    groups: dict[Group, list[Row]] = {}
    for row in rows:
        question = row["kind"], row["trace"], row["policy"], row["num_jobs"], row["offered_load"]
        groups.setdefault(question, []).append(row)
    return groups


def best_and_median(rows: Sequence[Row], name: str, digits: int = 2) -> str:
    """Return ``best (median)`` of a column in which less is better."""
    values = [row[name] for row in rows]
    return f"{min(values):.{digits}f} ({statistics.median(values):.{digits}f})"


def report(rows: Sequence[Row], command: str, note: str) -> str:
    """Return the page of results."""
    groups = grouped(rows)
    measured = {group: [r for r in found if r["status"] == "measured"] for group, found in groups.items()}
    measured = {group: found for group, found in measured.items() if found}
    loads = [row["load"] for row in rows if "load" in row]
    sections = [
        "# Speed of the simulator",
        f"{code_sentence(['python'])}. "
        f"Command: `{command}`. One-minute load before the samples: {min(loads):.1f} to {max(loads):.1f} "
        f"(median {statistics.median(loads):.1f}); times on a machine with other work are "
        "too long, CPU times less so. The protocol is in [../README.md](../README.md).",
        *([note] if note else []),
        "Times are seconds, best of the runs (median); memory is the peak resident set up to the end of the phase, "
        "MB = 10^6 bytes. Simulating is the engine with every start validated, nodes named, and all metrics. "
        "Where a load is given, arrivals are pulled together until the trace offers it.",
        "## Targets",
        "\n".join(f"- {verdict}" for verdict in verdicts(measured)),
        "## Replays",
        replay_table(measured),
        "## Other programs of EASY",
        program_table(measured),
        PROGRAMS_SAID,
        "## Compared with AccaSim",
        *peer_section(measured),
        pyss_sentence(),
        "## What was not measured",
        "\n".join(f"- {line}" for line in unmeasured(rows)) or "Nothing.",
    ]
    return "\n\n".join(sections) + "\n"


def replay_table(measured: Mapping[Group, Sequence[Row]]) -> str:
    """Return one line per trace and policy."""
    heads = ["trace", "load", "policy", "jobs", "engine, CPU", "jobs/s, CPU"]
    heads += ["simulate, CPU", "wall", "jobs/s, CPU", "wall", "MB"]
    heads += ["read, CPU", "MB", "check, CPU", "MB", "mean wait, s", "runs"]
    lines = []
    for (kind, trace, policy, _, load), rows in measured.items():
        if kind != "replay":
            continue
        jobs = rows[0]["jobs"]
        rates = [f"{jobs / min(row[name] for row in rows):,.0f}" for name in ("simulate_cpu", "simulate_wall")]
        engine = [best_and_median(rows, "engine_cpu"), f"{engine_rate(rows):,.0f}"]
        simulated = [*engine, best_and_median(rows, "simulate_cpu"), best_and_median(rows, "simulate_wall"), *rates]
        read_and_check = [
            text
            for phase in ("read", "check")
            for text in (best_and_median(rows, f"{phase}_cpu"), best_and_median(rows, f"{phase}_peak", 0))
        ]
        peak = best_and_median(rows, "simulate_peak", 0)
        wait = f"{rows[0]['wait_mean']:.1f}"
        lines.append(
            [
                trace,
                f"{load:g}" if load else "",
                policy,
                f"{jobs:,}",
                *simulated,
                peak,
                *read_and_check,
                wait,
                len(rows),
            ]
        )
    return markdown(Table.of(heads, lines))


def program_table(measured: Mapping[Group, Sequence[Row]]) -> str:
    """Return one line per trace and program that shares no code with coalloc."""
    heads = ["trace", "program", "jobs", "its CPU", "coalloc, engine CPU", "ratio", "its jobs/s", "coalloc, jobs/s"]
    heads += ["its MB", "coalloc, MB", "same starts"]
    lines = []
    for (kind, trace, policy, num_jobs, load), theirs in measured.items():
        ours = measured.get(("replay", trace, policy, num_jobs, load))
        if kind not in PROGRAMS or not ours:
            continue
        theirs_cpu, ours_cpu = (min(row["engine_cpu"] for row in rows) for rows in (theirs, ours))
        rates = [f"{engine_rate(rows):,.0f}" for rows in (theirs, ours)]
        memory = [f"{min(row['engine_peak'] for row in rows):.0f}" for rows in (theirs, ours)]
        times = [f"{theirs_cpu:.2f}", f"{ours_cpu:.2f}", f"{theirs_cpu / ours_cpu:.1f}"]
        same = f"{100 * theirs[0]['same_starts']:.2f} %"
        lines.append([trace, PROGRAMS[kind], f"{theirs[0]['jobs']:,}", *times, *rates, *memory, same])
    return markdown(Table.of(heads, lines))


PROGRAMS_SAID = """`bare_easy` is one loop over lists, `simpy_easy` a SimPy program in which jobs are processes. Neither
validates starts, names nodes or computes metrics. All read the trace with coalloc, whose memory is in all columns."""


def peer_section(measured: Mapping[Group, Sequence[Row]]) -> list[str]:
    """Return the comparison with AccaSim on the same jobs, and what the two do differently."""
    heads = ["trace", "policy", "jobs", "AccaSim, CPU", "coalloc, CPU", "ratio", "AccaSim, wall", "coalloc, wall"]
    heads += ["ratio", "AccaSim, MB", "coalloc, MB", "same starts", "mean wait, AccaSim", "mean wait, coalloc"]
    lines = []
    for (kind, trace, policy, num_jobs, load), theirs in measured.items():
        ours = measured.get(("replay", trace, policy, num_jobs, load))
        if kind != "accasim" or not ours:
            continue
        times: list[str] = []
        for name in ("cpu", "wall"):
            # AccaSim reads its trace while it simulates: reading counts for coalloc too
            their_time = min(row[f"simulate_{name}"] for row in theirs)
            our_time = min(row[f"read_{name}"] + row[f"simulate_{name}"] for row in ours)
            times += [f"{their_time:.2f}", f"{our_time:.2f}", f"{their_time / our_time:.1f}"]
        memory = [f"{min(row['simulate_peak'] for row in rows):.0f}" for rows in (theirs, ours)]
        same = [f"{100 * theirs[0]['same_starts']:.1f} %"]
        waits = [f"{theirs[0][name]:.1f}" for name in ("peer_wait_mean", "wait_mean")]
        lines.append([trace, policy, f"{theirs[0]['jobs']:,}", *times, *memory, *same, *waits])
    if not lines:
        return ["AccaSim was not run (`--accasim-python`)."]
    return [markdown(Table.of(heads, lines)), PEERS]


PEERS = """Both get the same file of jobs. The times of both include reading it: AccaSim reads as it goes and
forgets jobs that have ended, so that it needs less memory, and has no schedule in the end. coalloc names nodes,
computes metrics and keeps all placements; AccaSim places jobs on named nodes (of one core each), and writes no files
here. Under FCFS the two answer the same question, and every start is to be the same. Their EASY is another policy:
AccaSim 1.1.3 computes the reservation of a blocked job once, and does not try that job again before the reserved
instant although processors may become free earlier; and it starts any job behind it that fits, since it passes no
reserved nodes to its allocator. Times under EASY therefore compare two policies on the same jobs."""


def pyss_sentence() -> str:
    """Return why pyss is not among the peers here."""
    has_python = (
        bool(shutil.which("python2.7"))
        and not subprocess.run(["python2.7", "-V"], capture_output=True, check=False).returncode
    )
    return (
        "pyss, the Python Scheduler Simulator, cannot be installed: it is not on the package index (`pyss` there is "
        f"another project) and needs Python 2.7, which is {'' if has_python else 'not '}at hand. It is not compared."
    )


def verdicts(measured: Mapping[Group, Sequence[Row]]) -> Iterator[str]:
    """Yield a sentence per target."""
    if easy := measured.get(("replay", MAIN, "easy", 0, 0.0)):
        yield from easy_verdicts(measured, easy)
    if conservative := measured.get(("replay", MAIN, "conservative", CONSERVATIVE_JOBS, 0.0)):
        rate = engine_rate(conservative)
        yield (
            f"Conservative backfilling on {CONSERVATIVE_JOBS:,} jobs: {rate:,.0f} jobs per CPU second in the engine, "
            f"target 20,000: {met(20_000 / rate)}."
        )
    for policy, load in (("conservative", 0.0), ("easy", OVERLOAD)):
        if rows := measured.get(("replay", MAIN, policy, 0, load)):
            seconds = min(row["engine_cpu"] for row in rows)
            at_load = f" at load {load:g}" if load else ""
            yield f"`{policy}` on all of {MAIN}{at_load}: {seconds:.1f} s of CPU, target 60 s: {met(seconds / 60)}."
    if large := measured.get(("replay", LARGE, "easy", LARGE_JOBS, 0.0)):
        seconds = min(row["simulate_cpu"] + row["check_cpu"] for row in large)
        peak = min(row["check_peak"] for row in large)
        yield (
            f"EASY on {LARGE_JOBS:,} jobs and 100,000 nodes, with names, metrics and check: {seconds:.1f} s of CPU, "
            f"target 5 s: {met(seconds / 5)}; {peak:.0f} MB, target 500 MB: {met(peak / 500)}."
        )
    if mesd := measured.get(("replay", MAIN, "mesd", MESD_JOBS, OVERLOAD)):
        rate = engine_rate(mesd)
        yield (
            f"MESD on {MESD_JOBS:,} jobs at load {OVERLOAD:g}, 4 clusters of 60: {rate:,.0f} jobs per CPU second, "
            f"target 10,000: {met(10_000 / rate)}."
        )
    if mesd := measured.get(("first-decisions", MAIN, "mesd", MESD_QUEUE, 0.0)):
        median, longest = _milliseconds(mesd)
        yield (
            f"One MESD decision on {MESD_QUEUE} waiting jobs: median {median:.1f} ms, longest {longest:.1f} ms, "
            f"target 10 ms: {met(longest / 10)}."
        )
    if pas := measured.get(("all-decisions", "thesis-pas", "pas", PAS_JOBS, 0.0)):
        median, longest = _milliseconds(pas)
        yield f"A PAS decision: median {median:.1f} ms (longest {longest:.0f} ms), target 50 ms: {met(median / 50)}."


def easy_verdicts(measured: Mapping[Group, Sequence[Row]], easy: Sequence[Row]) -> Iterator[str]:
    """Yield what EASY on the whole trace is held against: a bare loop, and what comes after the engine."""
    rate = engine_rate(easy)
    beside = ""
    if bare := measured.get(("bare", MAIN, "easy", 0, 0.0)):
        same = "the same starts" if bare[0]["same_starts"] == 1.0 else f"{100 * bare[0]['same_starts']:.2f} % alike"
        beside = f" (a loop with nothing around it: {engine_rate(bare):,.0f}, {same})"
    yield (
        f"EASY on all of {MAIN}, engine alone: {rate:,.0f} jobs per CPU second{beside}, target 100,000: "
        f"{met(100_000 / rate)}."
    )
    rate = max(row["jobs"] / (row["simulate_cpu"] + row["check_cpu"]) for row in easy)
    yield f"With names, metrics and check: {rate:,.0f} jobs per CPU second, target 60,000: {met(60_000 / rate)}."
    peak = min(row["simulate_peak"] for row in easy)
    yield f"Memory of it, reading included, final check aside: {peak:.0f} MB, target 150 MB: {met(peak / 150)}."
    yield growth(measured, easy)


def engine_rate(rows: Iterable[Row]) -> float:
    """Return jobs per CPU second of the engine, of the best run."""
    return max(row["jobs"] / row["engine_cpu"] for row in rows)


def growth(measured: Mapping[Group, Sequence[Row]], whole: Sequence[Row]) -> str:
    """Return how the peak grows with the number of jobs: bytes per job from 25 to 50 to 100 %."""
    parts = [measured.get(("replay", MAIN, "easy", NUM_HPC2N // parts, 0.0)) for parts in (4, 2)]
    peaks = [(rows[0]["jobs"], min(row["simulate_peak"] for row in rows)) for rows in [*parts, whole] if rows]
    slopes = [1e6 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(peaks)]
    said = ", ".join(f"{peak:.0f} MB for {jobs:,} jobs" for jobs, peak in peaks)
    return f"Memory linear in jobs: {said}; " + ", then ".join(f"{slope:.0f}" for slope in slopes) + " bytes per job."


def _milliseconds(rows: Sequence[Row]) -> tuple[float, float]:
    """Return median and longest decision of the best run, ms."""
    best = min(rows, key=lambda row: row["decision_max"])
    return 1e3 * best["decision_median"], 1e3 * best["decision_max"]


def met(ratio: float) -> str:
    """Return whether a target is met; ``ratio`` is 1 where it just is, above where it is missed."""
    return "reached" if ratio <= 1.0 else f"**missed** by {100 * (ratio - 1):.0f} %"


def unmeasured(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence per question that was skipped, killed or crashed."""
    for (kind, trace, policy, *_), found in grouped(r for r in rows if r["status"] != "measured").items():
        yield f"{policy} on {trace} ({kind}): {found[0]['status']}, {found[0].get('message', '')}"


# --- the command line -----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, default=SHARED, help="folder of the traces (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="processes per question")
    parser.add_argument("--accasim-python", default="", help="an interpreter (< 3.10) that has accasim 1.1.3")
    parser.add_argument("--accasim-jobs", type=int, default=20_000, help="so many of the first jobs are compared")
    parser.add_argument("--output", type=new_page, default=RESULTS / "simulator", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "simulator.sqlite", help="where samples are kept")
    parser.add_argument("--note", default="", help="a sentence for the page of results")
    options = parser.parse_args(arguments)
    if not Path(options.traces, TRACES[MAIN][0]).exists():
        print(f"no traces in {options.traces}: skipped, a synthetic trace ({LUBLIN}) instead", file=sys.stderr)
    asked = list(samples(options.traces, options.runs, options.accasim_python, options.accasim_jobs))
    calls = [call_of(sample) for sample in asked]
    if not run_shown(calls, options.store, 1, _line):
        return 0
    outcomes = zip(asked, outcomes_of(calls, options.store), strict=True)
    rows = [asdict(sample) | (outcome or {}) | code_columns() for sample, outcome in outcomes]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, command_of("simulator", parser, options), options.note)
    write_atomically(options.output.with_suffix(".md"), page)
    print(page)
    return 0


def _line(call: Call, outcome: Outcome) -> str:
    asked = ", ".join(str(call.argument[name]) for name in ("kind", "trace", "policy", "num_jobs"))
    detail = outcome.get("message") or f"{outcome.get('rate', 0.0):,.0f} jobs/s"
    return f"{asked}, run {call.argument['run']}: {outcome['status']}, {detail}"


if __name__ == "__main__":
    exit_with(main)
