"""What OAS takes to replay a week of HPC2N, and what its window, slot and limit of work cost in quality.

Each sample is one run: jobs of the log on one pool of 240 nodes, or with drawn communication on four clusters of 60;
over time, or as a backlog in which all are there at 0. Quality is relative to proved bounds on the same jobs without
their traffic, which hold for policies that let links saturate as well. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampling import RESULTS, command_of, exit_with, new_page, run_shown
from simulator import SHARED
from simulator_process import TRACES

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

TRACE, PROCESSORS = TRACES["HPC2N"]
CLUSTERS = coalloc.Platform(
    [coalloc.Cluster(f"C{c}", [coalloc.NodeGroup(60, power=1.0 - 0.1 * c)], link_bandwidth=125.0) for c in range(4)]
)
LIMIT = 7200.0
"""Seconds after which a sample is killed."""


@dataclass(frozen=True, slots=True)
class Case:
    """Jobs of the log, ``part`` of it by number, where they run, and whether they are all there at 0."""

    title: str
    part: str
    is_pool: bool = True
    is_backlog: bool = False


CASES: Mapping[str, Case] = {
    "week": Case("A week at load 0.82, one pool", "6089:7447"),
    "clusters": Case("300 jobs of it with drawn communication, four clusters with links", "6089:6389", is_pool=False),
    "backlog": Case("The same 300 jobs, all there at 0, one pool", "6089:6389", is_backlog=True),
}
"""The week is the 16th from the first arrival of the log."""
METHODS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("easy", {}),
    ("conservative", {}),
    ("mesd", {}),
    ("oas", {}),
    ("oas", {"window": 20}),
    ("oas", {"window": None}),
    ("oas", {"work_limit": 500}),
    ("oas", {"slot": "50%"}),
)
BOUNDS = ("makespan_bound", "response_bound")
COLUMNS = (
    *("case", "policy", "options", "status", "jobs", "cpu", "decision_max"),
    *("makespan", "makespan_bound", "response_mean", "response_bound", "wait_mean", "slowdown_mean", "message"),
)


# --- samples --------------------------------------------------------------------------------------


def instance_of(case: Case, folder: str) -> coalloc.Instance:
    """Return the jobs of a case on their platform."""
    logging.disable(logging.WARNING)
    where: dict[str, Any] = {"processors": PROCESSORS} if case.is_pool else {"platform": CLUSTERS}
    communication = "none" if case.is_pool else "seeded"
    instance = coalloc.read_swf(Path(folder, TRACE), slice=case.part, communication=communication, **where)
    jobs = [job.replace(arrival=0.0) for job in instance.jobs] if case.is_backlog else instance.jobs
    return instance.replace(jobs=tuple(jobs))


def measure(argument: Mapping[str, Any]) -> Row:
    """Return what a run took, and what came of it."""
    instance = instance_of(CASES[argument["case"]], argument["folder"])
    began = time.process_time()
    run = coalloc.simulate(instance, argument["policy"], **argument["options"])
    cpu = time.process_time() - began
    return {
        "status": "measured",
        "jobs": len(instance.jobs),
        "cpu": cpu,
        "decision_max": run.metrics["decision_time_max"],
        "makespan": run.metrics["makespan"],
        "response_mean": run.metrics["response_mean"],
        "wait_mean": run.metrics["wait_mean"],
        "slowdown_mean": run.metrics["bounded_slowdown_mean"],
    }


def bounds_of(argument: Mapping[str, Any]) -> Row:
    """Return the bounds on the jobs of a case without their traffic: makespan and mean response time, s."""
    instance = instance_of(CASES[argument["case"]], argument["folder"])
    quiet = instance.replace(jobs=tuple(job.replace(task_bandwidth=0.0) for job in instance.jobs))
    return {
        "status": "measured",
        "makespan_bound": coalloc.lower_bound(quiet, "makespan", "best"),
        "response_bound": coalloc.lower_bound(quiet, "total-response-time", "area") / len(instance.jobs),
    }


def call_of(function: Callable[[Mapping[str, Any]], Row], argument: Mapping[str, Any], folder: Path) -> Call:
    """Return the call of a sample; where the trace lies is no part of what is measured."""
    case = CASES[argument["case"]]
    return Call(function, argument, LIMIT, given={"part": case.part}, local={"folder": str(folder)})


# --- the report -----------------------------------------------------------------------------------


def label(policy: str, options: Mapping[str, Any]) -> str:
    """Return a policy with its options."""
    return " ".join([policy, *(f"{name}={value}" for name, value in options.items())])


def table_of(rows: Sequence[Row]) -> str:
    """Return a line per run: what it took, and its quality compared with the bounds."""
    heads = ["policy", "CPU, s", "jobs/s", "longest decision, s", "mean response / bound", "makespan / bound"]
    heads += ["mean wait, s", "mean bounded slowdown"]
    return markdown(Table.of(heads, (_line_of(row) for row in rows)))


def _line_of(row: Row) -> Iterator[Any]:
    yield label(row["policy"], row["options"])
    if row["status"] != "measured":
        yield from (row["status"], *[None] * 6)
        return
    yield f"{row['cpu']:.1f}"
    yield f"{row['jobs'] / row['cpu']:,.0f}"
    yield f"{row['decision_max']:.2f}"
    yield f"{row['response_mean'] / row['response_bound']:.3f}"
    yield f"{row['makespan'] / row['makespan_bound']:.4f}"
    yield f"{row['wait_mean']:,.0f}"
    yield f"{row['slowdown_mean']:.1f}"


def report(rows: Sequence[Row], command: str) -> str:
    """Return the page of results."""
    sections = [
        "# OAS over time",
        f"{code_sentence(('python',))}. Command: `{command}`; the protocol is in [../README.md](../README.md). "
        "The first line of OAS has the defaults, each of the others one option else. CPU seconds are of the whole "
        "simulation with its check and metrics; the longest decision is by the clock, on a machine with other work.",
        f"{len(rows)} of {len(CASES) * len(METHODS)} runs have been made.",
    ]
    for name, case in CASES.items():
        found = [row for row in rows if row["case"] == name]
        if found:
            sections += [f"## {case.title}", f"Jobs {case.part} of the log.", table_of(found)]
    return "\n\n".join(sections) + "\n"


# --- the command line -----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, default=SHARED, help="folder of the traces (default: %(default)s)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="which to run")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="samples at a time")
    parser.add_argument("--report", action="store_true", help="run nothing, show what the store has")
    parser.add_argument("--output", type=new_page, default=RESULTS / "oas-window", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "oas-window.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    if not Path(options.traces, TRACE).exists():
        raise coalloc.CoallocError(f"there is no {TRACE} in {options.traces}")
    bounds = {case: call_of(bounds_of, {"case": case}, options.traces) for case in CASES}
    arguments_of = [
        {"case": case, "policy": policy, "options": dict(given)} for case in CASES for policy, given in METHODS
    ]
    runs = [call_of(measure, argument, options.traces) for argument in arguments_of]
    if not options.report:
        calls = [call for call in (*bounds.values(), *runs) if call.argument["case"] in options.cases]
        run_shown(calls, options.store, options.jobs, _line)
    bound_of = dict(zip(bounds, outcomes_of([*bounds.values()], options.store), strict=True))
    outcomes = zip(runs, outcomes_of(runs, options.store), strict=True)
    rows = [
        {**call.argument, **outcome, **{name: bound[name] for name in BOUNDS}}
        for call, outcome in outcomes
        if outcome is not None and (bound := bound_of[call.argument["case"]]) is not None
    ]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(options.output.with_suffix(".md"), report(rows, command_of("oas_window", parser, options)))
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(rows)} of {len(runs)} runs")
    return 0


def _line(call: Call, outcome: Outcome) -> str:
    case, policy = call.argument["case"], call.argument.get("policy")
    asked = f"{case}: {label(policy, call.argument['options']) if policy else 'bounds'}"
    return f"{asked}: {outcome.get('message') or outcome['status']}"


if __name__ == "__main__":
    exit_with(main)
