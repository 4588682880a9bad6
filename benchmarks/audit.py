"""Mean bounded slowdown of EASY and EASY++ on four logs compared with a bound, and audits of logs as they ran.

EASY++ tries the shortest of the jobs that may pass first (SJBF). The published values are those of E. Gaussier et al.,
"Improving backfilling by using machine learning to predict running times", SC 2015, as rerun in jad-darrous/predictsim.
Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sampling import RESULTS, command_of, exit_with, new_page, run_shown, say
from simulator import SHARED

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.studies.audit import WEEK
from coalloc.studies.audit_policies import AGING, SHORTEST_FIRST, Policy, spelled
from coalloc.studies.audit_report import Audit
from coalloc.studies.audit_samples import bounds, policy_starts
from coalloc.studies.audit_windows import History, WindowSample, window_of
from coalloc.studies.audit_words import amount, percent
from coalloc.studies.given_log import log_of

LOGS: Mapping[str, tuple[str, int]] = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", 1152),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", 240),
}
"""File and processors of each log."""

SLOWDOWNS = ("KTH-SP2", "CTC-SP2", "SDSC-SP2", "SDSC-BLUE")
"""Logs of the published table."""

WAYS: Mapping[str, tuple[str, bool]] = {
    "EASY, estimates": ("queue", False),
    "EASY++, estimates": ("spt", False),
    "EASY, run times": ("queue", True),
    "EASY++, run times": ("spt", True),
}
"""The order in which jobs may pass, and whether the policy knows run times."""

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "EASY, estimates": {"KTH-SP2": 92.58, "CTC-SP2": 49.57, "SDSC-SP2": 87.87},
    "EASY++, run times": {"KTH-SP2": 49.85, "CTC-SP2": 17.57, "SDSC-SP2": 56.84, "SDSC-BLUE": 13.18},
}

LIMIT = 7200.0
"""Seconds after which a sample is killed."""

BOUND_TIME = 600.0
"""Seconds that the bounds of a whole log get."""

COLUMNS = ("log", "way", "status", "jobs", "slowdown", "wait", "cpu", "message")


# --- slowdowns ------------------------------------------------------------------------------------


def instance_of(log: str, folder: str) -> coalloc.Instance:
    """Return the jobs of a log on its pool."""
    logging.disable(logging.WARNING)
    file, processors = LOGS[log]
    return coalloc.read_swf(Path(folder, file), processors)


def simulated(argument: Mapping[str, Any]) -> Row:
    """Return what a policy makes of a log."""
    instance = instance_of(argument["log"], argument["folder"])
    candidates, knows_run_times = WAYS[argument["way"]]
    if knows_run_times:
        instance = instance.replace(jobs=[job.replace(estimate=job.base_time) for job in instance.jobs])
    began = time.process_time()
    run = coalloc.simulate(instance, "easy", candidates=candidates)
    return {
        "status": "measured",
        "jobs": len(instance.jobs),
        "slowdown": run.metrics["bounded_slowdown_mean"],
        "wait": run.metrics["wait_mean"],
        "cpu": time.process_time() - began,
    }


def bounded(argument: Mapping[str, Any]) -> Row:
    """Return the bounds on all schedules of a log."""
    instance = instance_of(argument["log"], argument["folder"])
    began = time.process_time()
    low = bounds(WindowSample(instance, np.zeros(len(instance.jobs)), np.zeros(0)), BOUND_TIME)
    return {
        "status": "measured",
        "jobs": len(instance.jobs),
        "slowdown": low["bounded_slowdown"],
        "wait": low["wait"],
        "cpu": time.process_time() - began,
    }


def calls_of(folder: Path, logs: Sequence[str]) -> list[Call]:
    """Return the samples: every way on every log, and the bounds."""
    local = {"folder": str(folder)}
    runs = [Call(simulated, {"log": log, "way": way}, LIMIT, local=local) for log in logs for way in WAYS]
    return [*(Call(bounded, {"log": log, "way": "bound"}, LIMIT, local=local) for log in logs), *runs]


def table_of_slowdowns(rows: Sequence[Row], measure: str) -> str:
    """Return a line per log: what each way makes of it, what is published, and the bound."""
    known = {(row["log"], row["way"]): row.get(measure) for row in rows}
    heads = ["log", *(f"{way}{' (published)' if way in PUBLISHED and measure == 'slowdown' else ''}" for way in WAYS)]
    lines = []
    for log in dict.fromkeys(row["log"] for row in rows):
        cells = [_cell(known.get((log, way)), PUBLISHED.get(way, {}).get(log) if measure == "slowdown" else None)
                 for way in WAYS]  # fmt: skip
        lines.append([log, *cells, _cell(known.get((log, "bound")), None)])
    return markdown(Table.of([*heads, "no schedule is below"], lines))


def _cell(found: float | None, published: float | None) -> str:
    """Return a value, and the published one behind it."""
    shown = "-" if found is None else f"{found:,.2f}"
    return shown if published is None else f"{shown} ({published:.2f})"


# --- audits ---------------------------------------------------------------------------------------


def audited(log: str, options: argparse.Namespace) -> Sequence[Any]:
    """Return the cells of the audit of a log as it ran; what is kept is not run again."""
    file, processors = LOGS[log]
    path, end = Path(options.traces, file), options.weeks and options.weeks * WEEK
    found = coalloc.audit(
        path,
        processors=processors,
        before=end,
        time_limit=options.time_limit,
        store=RESULTS / f"audit-{log}.sqlite",
        processes=options.jobs,
        progress=say,
    )
    named, gain, whole = found.trials.named, found.trials.gain, found.whole
    if named is None:
        raise CoallocError(f"{log}: no policy is named")
    label, rival = best_rival(path, processors, end, found)
    chosen = float(named.waits[found.trials.jobs.chosen_on].mean())
    return (
        log,
        f"{whole['jobs']:,}",
        len(found.windows),
        amount(whole["wait_as_it_was"]),
        named.label,
        f"{named.waits.mean():,.2f}",
        f"{repeated(found):,.2f}",
        percent(1.0 - chosen / found.trials.audited.waits[found.trials.jobs.chosen_on].mean()),
        f"{percent(gain.mean)} ({percent(gain.low)} to {percent(gain.high)})",
        f"{label}: {100.0 * (rival / chosen - 1.0):+.1f} %",
        amount(whole["wait_best"]),
        amount(whole["wait_bound"]),
    )


def repeated(found: Audit) -> float:
    """Return the mean wait that the printed command of an audit finds under the named policy, s."""
    command = [sys.executable, "-m", *shlex.split(found.command), "--json"]
    document = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    if "metrics" in document:
        return float(document["metrics"]["wait_mean"])
    policies = {row["policy"]: row for row in document["policies"]}
    return float(policies[found.answers[0].policy]["wait_mean"])


def rivals(named: Policy) -> dict[str, Policy]:
    """Return built-in policies that know no more than a named one, and that audits do not try."""
    own = {"queue_order": named.get("queue_order", "fcfs")}
    orders: list[Policy] = [
        *({"policy": "easy", "queue_order": order, "candidates": "sjf"} for order in (*SHORTEST_FIRST, *AGING)),
        *({"policy": "slurm", **more} for more in ({}, own, {"queue_order": "multifactor"})),
        *({"policy": "flux", "queue_policy": kind, "queue_depth": 256, **own} for kind in ("easy", "hybrid")),
        {"policy": "fpfs"},
    ]
    return {spelled(policy): policy for policy in orders}


def best_rival(path: Path, processors: int, end: float | None, found: Audit) -> tuple[str, float]:
    """Return the best of the policies that the audit does not try, and its mean wait on the odd intervals, s."""
    log = log_of(path, processors, None, unit="cpus", partition=None, broken="error")
    history = History(log.instance, log.starts).known
    window = window_of(history, float(history.arrivals.min()), found.whole["end"] if end is None else end)
    if window is None or found.trials.named is None or found.trials.named.policy is None:
        raise CoallocError(f"{path}: nothing to compare")
    sample, waits = window.sample, {}
    tried = {trial.label for trial in found.trials.policies}
    for label, policy in rivals(found.trials.named.policy).items():
        if label in tried:
            continue
        of_jobs = sample.waited + policy_starts(sample, policy, knows_run_times=False) - sample.jobs.release
        waits[label] = float(of_jobs[found.trials.jobs.chosen_on].mean())
        say(f"{path.name}: {label}: {waits[label]:.2f} s on the odd intervals")
    best = min(waits, key=waits.__getitem__)
    return best, waits[best]


def table_of_audits(lines: Sequence[Sequence[Any]]) -> str:
    """Return a line per audit."""
    heads = ("log", "jobs", "weeks", "mean wait", "named policy", "its mean wait, s", "by the command, s")
    gains = ("avoided, odd weeks", "avoided, even weeks (95 %)", "best policy not tried, odd weeks")
    return markdown(Table.of([*heads, *gains, "best known", "bound"], lines))


# --- the report -----------------------------------------------------------------------------------


def report(rows: Sequence[Row], audits: Sequence[Sequence[Any]], command: str) -> str:
    """Return the page of results."""
    sections = [
        "# Audits",
        f"{code_sentence(('python',))}. Command: `{command}`; the protocol is in [../README.md](../README.md).",
    ]
    if rows:
        sections += ["## Mean bounded slowdown", table_of_slowdowns(rows, "slowdown")]
        sections += ["## Mean wait, s", table_of_slowdowns(rows, "wait")]
    if audits:
        sections += ["## Logs as they ran", table_of_audits(audits)]
    return "\n\n".join(sections) + "\n"


# --- the command line -----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, default=SHARED, help="folder of the logs (default: %(default)s)")
    parser.add_argument("--logs", nargs="*", choices=SLOWDOWNS, default=list(SLOWDOWNS), help="logs of the table")
    parser.add_argument("--audits", nargs="*", choices=list(LOGS), default=[], help="logs that are audited as well")
    parser.add_argument("--weeks", type=int, help="first weeks of each log that are audited (default: all)")
    parser.add_argument("--time-limit", type=float, default=3.0, help="seconds for each window of an audit")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time")
    parser.add_argument("--report", action="store_true", help="run nothing, show what the store has")
    parser.add_argument("--output", type=new_page, default=RESULTS / "audit", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "audit.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    calls = calls_of(options.traces, options.logs)
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    found = zip(calls, outcomes_of(calls, options.store), strict=True)
    rows = [{**call.argument, **outcome} for call, outcome in found if outcome is not None]
    audits = [audited(log, options) for log in options.audits]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(options.output.with_suffix(".md"), report(rows, audits, command_of("audit", parser, options)))
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(rows)} of {len(calls)} samples")
    return 0


def _line(call: Call, outcome: Outcome) -> str:
    asked = f"{call.argument['log']}, {call.argument['way']}"
    return f"{asked}: {outcome.get('message') or outcome['status']}"


if __name__ == "__main__":
    exit_with(main)
