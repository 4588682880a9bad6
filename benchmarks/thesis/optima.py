"""Certificates of the optima that the verdicts on OAS rest on: each is solved again, proved again and checked.

    python benchmarks/thesis/optima.py                          # all experiments that have optima
    python benchmarks/thesis/optima.py paper-oas --folder DIR   # writes the certificates, each with its instance

What the measures ``exact`` and ``slots`` of an experiment solve is solved once more. Where that is optimal, a
certificate is made, which ``coalloc/verify.py`` accepts or not, and the optimum is compared with the one in the table
of the experiment (CSV). ``coalloc-verify INSTANCE CERTIFICATE`` checks what ``--folder`` writes without coalloc.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from experiment import Experiment, experiment
from measures import OAS, OPTIMUM, is_proven, without_traffic
from workloads import Workload

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.tables import Table, markdown
from coalloc.bench.workers import LocalWorkers
from coalloc.documents.storage import write_atomically
from coalloc.documents.strict_json import layout
from coalloc.instance import CoallocError, Instance

RESULTS = Path(__file__).resolve().parent / "results"
WITH_OPTIMA = ("oas-workloads", "oas-spread", "paper-oas")
"""The experiments that solve; mesd-oas has the instances of oas-workloads."""
STRICT, SATURATED = "continuous time, strict links", "continuous time, links that may saturate"
LIMIT = 3600.0
"""Seconds after which a sample is killed."""
TOLERANCE = 1e-6
"""Relative difference up to which two optima are the same: what a solve in continuous time proves."""


# --- solving ---------------------------------------------------------------------------------------


def solves(instance: Instance, options: Mapping[str, Any]) -> Iterator[tuple[str, Instance, str | None]]:
    """Yield what an experiment solves of an instance: a name, the instance solved, and the slot."""
    yield STRICT, instance, None
    yield SATURATED, without_traffic(instance), None
    for percentage in options["percentages"]:
        yield slots_of(percentage), instance, f"{percentage:g}%"


def slots_of(percentage: float) -> str:
    """Return the name of solves in slots of so many percent of the mean base time."""
    return f"slots of {percentage:g} %"


def certified(argument: Mapping[str, Any]) -> Row:
    """Return a row for each solve of an instance, under ``rows``."""
    instance = Workload(**argument["workload"]).instance(argument["point"], argument["seed"])
    rows = [
        {**argument["point"], "seed": argument["seed"], "solve": name, **row_of(one, slot, argument["time_limit"])}
        for name, one, slot in solves(instance, argument)
    ]
    return {"status": "certified", "rows": rows}


def row_of(instance: Instance, slot: str | None, time_limit: float) -> Row:
    """Return the optimum of an instance, if it is proved, and its certificate or why there is none."""
    result = coalloc.solve(instance, slot=slot, time_limit=time_limit)
    if not is_proven(result):
        return {"is_proven": False}
    began = time.process_time()
    certificate = result.certificate(time_limit)
    return {
        "is_proven": True,
        "optimum": result.objective,
        "certificate": None if certificate.document is None else layout(dict(certificate.document)),
        "reason": certificate.reason,
        "cpu": time.process_time() - began,
    }


def calls_of(wanted: Experiment, time_limit: float) -> list[Call]:
    """Return a call for each instance of an experiment."""
    asked = {
        "workload": asdict(wanted.workload),
        "percentages": wanted.measures.get("slots", {}).get("percentages", []),
        "time_limit": time_limit,
    }
    return [
        Call(certified, asked | {"point": point, "seed": seed}, LIMIT)
        for point in wanted.workload.points()
        for seed in range(1, wanted.seeds + 1)
    ]


# --- reporting -------------------------------------------------------------------------------------


def known_optima(table: Path, point: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """Return the optima of the table of an experiment, by point, seed and solve."""
    runs, known = pd.read_csv(table), dict[tuple[Any, ...], float]()
    for row in runs.to_dict("records"):
        key = *(row[name] for name in point), row["seed"]
        if row["strategy"] == OAS and row["is_proven"] is True:
            known[*key, slots_of(row["slot"])] = row["slotted_makespan"]
        elif row["strategy"] in (OPTIMUM, "FCFS") and row["is_optimum"]:
            known[*key, STRICT if row["strategy"] == OPTIMUM else SATURATED] = row["bound"]
    return known


def table_of(wanted: Experiment, rows: Sequence[Row]) -> str:
    """Return a line per kind of solve: how many are optimal and certified, and how many of these are in the table."""
    point = list(wanted.workload.grid)
    known, lines = known_optima(RESULTS / f"{wanted.name}.csv", point), []
    for solve in dict.fromkeys(row["solve"] for row in rows):
        group = [row for row in rows if row["solve"] == solve]
        proved = [row for row in group if row["is_proven"]]
        good = [row for row in proved if row["certificate"]]
        same = [row for row in good if is_known(row, known, point)]
        reasons = Counter(row["reason"] for row in proved if not row["certificate"])
        others = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
        lines.append([solve, len(group), len(proved), len(good), len(same), others])
    heads = ("solve", "instances", "optimal", "certified", "as in the table", "others")
    return markdown(Table.of(heads, lines))


def is_known(row: Row, known: Mapping[tuple[Any, ...], float], point: Sequence[str]) -> bool:
    """Return whether the table of the experiment has the same optimum."""
    value = known.get((*(row[name] for name in point), row["seed"], row["solve"]))
    return value is not None and abs(value - row["optimum"]) <= TOLERANCE * value


def write_certificates(wanted: Experiment, calls: Sequence[Call], rows: Sequence[Row], folder: Path) -> None:
    """Write each certificate into a folder, with the instance that it is of."""
    found = {(*(row[name] for name in wanted.workload.grid), row["seed"], row["solve"]): row for row in rows}
    folder.mkdir(parents=True, exist_ok=True)
    for argument in (call.argument for call in calls):
        instance = wanted.workload.instance(argument["point"], argument["seed"])
        for solve, one, _ in solves(instance, argument):
            row = found.get((*argument["point"].values(), argument["seed"], solve), {})
            if row.get("certificate"):
                words = (wanted.name, *argument["point"].values(), argument["seed"], solve)
                stem = "-".join(str(word) for word in words).replace(" ", "_").replace(",", "").replace("_%", "")
                coalloc.write_instance(one, folder / f"{stem}.instance.json")
                write_atomically(folder / f"{stem}.certificate.json", row["certificate"] + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Certify the optima of the experiments named, write the page; return the exit code."""
    options = _parser().parse_args(arguments)
    command = ["python benchmarks/thesis/optima.py", *options.experiments]
    command += [] if options.seeds is None else [f"--seeds {options.seeds}"]
    parts = [
        "# The optima behind the verdicts, certified",
        f"{code_sentence(('python',))}. Made by `{' '.join(command)}`.",
        "What the experiments solve is solved again. *Certified*: `coalloc-verify` accepts a "
        "[certificate](../../../docs/trust.md) of the optimum. *As in the table*: certified, and the optimum is that "
        f"of the table of the experiment, to {TOLERANCE:g} of it. {options.limit:g} s per solve and per certificate.",
    ]
    for name in options.experiments or WITH_OPTIMA:
        wanted = experiment(name, seeds=options.seeds)
        calls = calls_of(wanted, options.limit)
        if not options.report:
            run_calls(calls, options.store, partial(LocalWorkers, options.jobs), _show)
        outcomes = [outcome for outcome in outcomes_of(calls, options.store) if outcome is not None]
        rows = [row for outcome in outcomes for row in outcome.get("rows", ())]
        if rows:
            says = f"{len(outcomes)} of {len(calls)} instances ran; [the table]({name}.md) of the experiment."
            parts += [f"## {wanted.title}", says, table_of(wanted, rows)]
        if options.folder is not None:
            write_certificates(wanted, calls, rows, options.folder)
    write_atomically(options.output, "\n\n".join(parts) + "\n")
    return 0


def _show(call: Call, outcome: Outcome, progress: BenchProgress) -> None:
    rows = outcome.get("rows", ())
    good = sum(bool(row.get("certificate")) for row in rows)
    said = outcome.get("message") or f"{good} of {len(rows)} certified"
    print(f"{progress}: {call.argument['point']} {call.argument['seed']}: {said}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"{', '.join(WITH_OPTIMA)} (default: all)")
    parser.add_argument("--seeds", type=int, help="seeds 1, 2, ... instead of those of the specification")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solve and per certificate (default 60)")
    parser.add_argument("--jobs", type=int, default=1, help="instances at a time (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write what the store has")
    parser.add_argument("--folder", type=Path, help="folder to write the certificates to, with their instances")
    parser.add_argument("--output", type=Path, default=RESULTS / "optima.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "optima.sqlite", help="where samples are kept")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CoallocError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
