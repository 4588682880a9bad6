"""The three OAS formulations side by side: one set of instances, slots from 250 % down to 15 %.

Every sample (instance, slot, formulation) runs in a process of its own with a time limit, and is
killed by its parent a grace later. The formulations take turns within each (slot, instance), so that
whatever else the machine does strikes them alike. It is the model that is run, also where
``coalloc.solve`` would need none. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from sampling import RESULTS, code_columns, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.statistics import SHIFT, geometric_mean
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance.files import instance_hash
from coalloc.models import formulation_of
from coalloc.problem import Problem
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.bounds.simple import simple_bound

SLOTS = (250, 150, 100, 50, 25, 15)
"""Slot lengths, % of the mean base time of the instance."""
FORMULATIONS = ("mode", "count", "node")
FEW, FULL = 5, 20
"""Numbers of instances: seeds 1, 2, ..."""
GRACE = 15.0
"""Seconds beyond the time limit after which a sample is killed; the warm-up is part of them."""
AGREEMENT = 1e-6
"""Relative difference up to which two proved optima agree."""
TARGET_RATIO, PROVEN_FROM = 20.0, 50
"""The mode model is to be so many times faster than node, and to prove all at this slot and coarser."""

COLUMNS = (
    *("instance", "slot", "formulation", "status", "stopped_by", "time", "objective", "lower_bound"),
    *("known", "build", "columns", "nonzeros", "limit", "message"),
    *("version", "commit", "code", "highspy", "python", "instance_sha256"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve: seed of the instance, slot in %, formulation, and limit in seconds."""

    seed: int
    slot: int
    formulation: str
    limit: float

    @property
    def instance(self) -> coalloc.Instance:
        """The instance that is solved."""
        return coalloc.generate("paper-oas", seed=self.seed)


def solve(argument: Mapping[str, Any]) -> Row:
    """Build one model and run it, for a sample given as a dictionary; see :func:`run_formulation`."""
    sample = Sample(**argument)
    return run_formulation(sample.instance, f"{sample.slot}%", sample.formulation, sample.limit)


def run_formulation(instance: coalloc.Instance, slot: str, formulation: str, limit: float, threads: int = 1) -> Row:
    """Build one model and run it to its own proof; return status, times (s), objective and bound (s), and the size."""
    _warm_up(formulation, threads)
    began = time.perf_counter()
    model = coalloc.build_model(instance, formulation=formulation, slot=slot)
    build = time.perf_counter() - began
    limits = SolverLimits(time=limit - build, gap=0.0, threads=threads)
    solution = solve_model(model, limits, integral=True, start=True)
    total = time.perf_counter() - began
    objective = None if solution.objective is None else _makespan(instance, formulation, model, solution.objective)
    lower_bound = model.problem.clock.seconds(solution.lower_bound)
    is_proven = objective is not None and objective <= lower_bound * (1.0 + AGREEMENT)
    return {
        "status": "optimal" if is_proven else "unknown" if objective is None else "feasible",
        "stopped_by": "proof" if is_proven else solution.stopped_by,
        "time": total,
        "build": build,
        "objective": objective,
        "lower_bound": lower_bound,
        "columns": solution.size.columns,
        "nonzeros": solution.size.nonzeros,
        "known": _is_known(model.problem),
    }


def _warm_up(formulation: str, threads: int) -> None:
    """Build and run a model of one job, so that what a process loads at first use is not measured."""
    single = coalloc.generate("paper-oas", seed=0, jobs=1)
    model = coalloc.build_model(single, formulation=formulation, slot="50%")
    solve_model(model, SolverLimits(threads=threads), integral=True)


def _makespan(instance: coalloc.Instance, formulation: str, model: pyo.ConcreteModel, claimed: float) -> float:
    """Return the makespan of what a model found, s; raise where that is not valid, or longer than ``claimed`` slots.

    It may be shorter: ends and SP of the node model are free above.
    """
    schedule = formulation_of("oas", formulation).extract(model)
    violations = coalloc.check(instance, schedule)
    makespan = max(placement.end for placement in schedule)
    limit = model.problem.clock.seconds(claimed)
    if violations or makespan > limit * (1.0 + AGREEMENT):
        raise coalloc.CoallocError(f"a schedule of {makespan:g} s for {limit:g} s; violations: {violations[:3]}")
    return makespan


def _is_known(problem: Problem) -> bool:
    """Return whether a list schedule meets the simple bound, so that ``coalloc.solve`` would build no model."""
    latest = max(assignment.end for assignment in best_list_schedule(problem))
    return latest <= simple_bound(problem)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    samples = [
        Sample(seed, slot, formulation, options.limit)
        for slot in options.slots
        for seed in range(1, (FULL if options.full else FEW) + 1)
        for formulation in FORMULATIONS
        if formulation in options.only
    ]
    calls = [Call(solve, asdict(s), options.limit + GRACE, given=_identity(s.instance)) for s in samples]
    run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    rows = [_row(sample, outcome) for sample, outcome in outcomes if outcome is not None]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(
        options.output.with_suffix(".md"),
        report(rows, len(samples), options.limit, command_of("formulations", parser, options)),
    )
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(rows)} of {len(samples)} samples")
    return 1 if disagreements(rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--full", action="store_true", help=f"{FULL} instances instead of {FEW}")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds per solve, building included (default 30)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="samples at a time (default 1)")
    parser.add_argument("--only", nargs="+", default=FORMULATIONS, choices=FORMULATIONS, help="these formulations")
    parser.add_argument("--slots", nargs="+", type=int, default=SLOTS, choices=SLOTS, help="these slots, in %%")
    parser.add_argument("--output", type=new_page, default=RESULTS / "formulations", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "formulations.sqlite", help="where samples are kept")
    return parser


def _identity(instance: coalloc.Instance) -> dict[str, str]:
    return {"instance": instance.name, "instance_sha256": instance_hash(instance)}


def _row(sample: Sample, outcome: Outcome) -> Row:
    return code_columns() | _identity(sample.instance) | asdict(sample) | outcome


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    detail = outcome["message"] if is_failed(outcome) else f"{outcome['time']:.2f} s"
    return f"paper-oas-{sample.seed} at {sample.slot} %, {sample.formulation}: {outcome['status']}, {detail}"


# --- the report -----------------------------------------------------------------------------------


def is_solved(row: Row) -> bool:
    """Return whether a sample ended with a proof."""
    return bool(row["status"] == "optimal")


def disagreements(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each (slot, instance) whose bounds and objectives cannot all be true."""
    sentences = []
    for group in _grouped(rows).values():
        best = min((row["objective"] for row in group if row.get("objective") is not None), default=math.inf)
        for row in group:
            claimed = row["lower_bound"] if row.get("lower_bound") is not None else -math.inf
            if claimed > best * (1.0 + AGREEMENT):
                where = f"{row['instance']} at {row['slot']} %"
                sentences.append(
                    f"{where}: {row['formulation']} says {claimed:.9g} s at least, {best:.9g} s is reached"
                )
    return sentences


def _grouped(rows: Iterable[Row]) -> dict[tuple[int, str], list[Row]]:
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["slot"], row["instance"]), []).append(row)
    return groups


def ratios(rows: Iterable[Row]) -> list[float]:
    """Return time of node / time of mode, where both proved."""
    found = []
    for group in _grouped(rows).values():
        by = {row["formulation"]: row for row in group if is_solved(row)}
        if {"node", "mode"} <= by.keys():
            found.append(by["node"]["time"] / by["mode"]["time"])
    return found


def report(rows: Sequence[Row], planned: int, limit: float, command: str) -> str:
    """Return the page in Markdown."""
    paragraphs = [
        "# Formulations of OAS side by side",
        f"{code_sentence()}. `paper-oas` (6 nodes, 8 jobs), makespan, {limit:g} s per solve, one thread; "
        f"{len(rows)} of {planned} samples ran. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "## Summary",
        f"Per formulation: optima proved / samples, and the shifted geometric mean of the times (s; shift {SHIFT:g} s; "
        f"what was not proved counts {limit:g} s). Ratio: geometric mean of time of node / time of mode, "
        "over what both proved (in brackets: how many); then the same over the open ones alone: those for which the "
        "list schedule, from which all start, does not meet the simple bound already.",
        _summary(rows, limit),
        *_verdict(rows),
        "## Samples",
        _samples(rows),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _summary(rows: Sequence[Row], limit: float) -> str:
    columns = ["slot", *(f"{f}: {what}" for f in FORMULATIONS for what in ("proved", "time")), "ratio", "ratio, open"]
    lines = [
        _summary_line(f"{slot} %", [row for row in rows if row["slot"] == slot], limit)
        for slot in dict.fromkeys(row["slot"] for row in rows)
    ]
    return markdown(Table.of(columns, [*lines, _summary_line("all", rows, limit)]))


def _summary_line(name: str, rows: Sequence[Row], limit: float) -> list[Any]:
    line: list[Any] = [name]
    for formulation in FORMULATIONS:
        ran = [row for row in rows if row["formulation"] == formulation]
        times = [min(row["time"], limit) if is_solved(row) else limit for row in ran]
        line += [f"{sum(map(is_solved, ran))}/{len(ran)}", geometric_mean(times, SHIFT)]
    return [*line, _ratio(rows), _ratio([row for row in rows if not row.get("known")])]


def _ratio(rows: Sequence[Row]) -> str:
    found = ratios(rows)
    mean = geometric_mean(found)
    return "-" if mean is None else f"{mean:.1f} ({len(found)})"


def _verdict(rows: Sequence[Row]) -> list[str]:
    """Return paragraphs: whether the targets are met, and whether all formulations agree."""
    mean = geometric_mean(ratios(rows))
    coarse = [row for row in rows if row["formulation"] == "mode" and row["slot"] >= PROVEN_FROM]
    proven = sum(map(is_solved, coarse))
    faster = "nothing to compare" if mean is None else f"{mean:.1f} times, {_met(mean >= TARGET_RATIO)}"
    wrong = disagreements(rows)
    return [
        f"Target: mode at least {TARGET_RATIO:g} times faster than node: {faster}.",
        f"Target: mode proves every instance at {PROVEN_FROM} % and coarser: {proven} of {len(coarse)}, "
        f"{_met(proven == len(coarse))}.",
        "Disagreements: " + ("; ".join(wrong) if wrong else f"none (relative tolerance {AGREEMENT:g})") + ".",
    ]


def _met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def _samples(rows: Sequence[Row]) -> str:
    names = ("slot", "instance", "formulation", "status", "stopped_by", "time", "objective", "lower_bound", "nonzeros")
    heads = ("slot, %", "instance", "formulation", "status", "stopped by", "time, s", "objective, s", "bound, s")
    lines = [[row.get(name) for name in names] for row in rows]
    return markdown(Table.of((*heads, "nonzeros"), lines))


if __name__ == "__main__":
    exit_with(main)
