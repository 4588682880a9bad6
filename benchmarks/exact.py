"""How fast optimality is proved: 8 to 1000 jobs, against PyJobShop, the paper's node model and CP-SAT.

Every solve runs in a process of its own, which is killed with its children when it does not end by
itself, and goes to a store, so that an interrupted run resumes (:mod:`coalloc.bench`). The methods take turns on each
(instance, slot), so that whatever else the machine does strikes them alike. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from exact_plan import (
    CPSAT,
    NO_CPSAT,
    NODE,
    OURS,
    PORTFOLIO,
    PYJOBSHOP,
    USUAL_SEEDS,
    WORK_BY_NAME,
    Sample,
    Work,
    samples_of,
)
from exact_report import (
    Line,
    Target,
    contradictions,
    open_table,
    pairs,
    ratio_table,
    speed_table,
    table_by_slot,
)
from formulations import run_formulation
from peers import asked, judged
from sampling import RESULTS, code_columns, command_of, exit_with, hidden, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.statistics import SHIFT
from coalloc.bench.tables import csv_of
from coalloc.documents.storage import write_atomically
from coalloc.instance.files import instance_hash
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.backends.cpsat import solve_cpsat, start_worker
from coalloc.solvers.backends.worker import Worker

LINK_UNITS = 10**9
"""Whole units that PyJobShop counts the capacity of a link in; loads are rounded down, which is in its favour."""
GRACE = 15.0
"""Seconds beyond the time limit after which a sample is killed; the warm-up is part of them."""

COLUMNS = (
    *("work", "instance", "seed", "slot", "criterion", "method"),
    *("status", "stopped_by", "time", "objective", "lower_bound"),
    *("source", "memory", "limit", "threads", "message", "peer"),
    *("version", "commit", "code", "highspy", "ortools", "python", "instance_sha256"),
)


# --- solving, in a process of its own ---------------------------------------------------------------


def solve(argument: Mapping[str, Any]) -> Row:
    """Return status, time (s), objective and bound (s), and trace of one solve: a sample, with ``peer_python``."""
    sample = Sample(**{name: part for name, part in argument.items() if name != "peer_python"})
    if sample.method == PYJOBSHOP:
        return solve_by_pyjobshop(sample, argument["peer_python"])
    if sample.method == NODE:
        return run_formulation(sample.instance, f"{sample.slot}%", "node", sample.limit, sample.threads)
    if sample.method == CPSAT:
        return solve_by_cpsat(sample)
    if sample.method == NO_CPSAT:
        with hidden("ortools"):
            return solve_by_portfolio(sample)
    return solve_by_portfolio(sample)


def solve_by_portfolio(sample: Sample) -> Row:
    """Solve with ``coalloc.solve``; what a process loads at first use is not measured."""
    coalloc.solve(coalloc.generate("thesis-oas", seed=0, jobs=1), slot="50%", threads=sample.threads)
    began = time.perf_counter()
    result = coalloc.solve(
        sample.instance,
        objective=sample.criterion,
        slot=sample.slot_option,
        time_limit=sample.limit,
        threads=sample.threads,
    )
    total = time.perf_counter() - began
    return {
        "status": result.status.value,
        "stopped_by": result.stopped_by,
        "time": total,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "source": result.trace[-1].source if result.trace else "",
        "trace": [(point.time, point.incumbent, point.lower_bound, point.source) for point in result.trace],
        "message": result.message,
    }


def solve_by_cpsat(sample: Sample) -> Row:
    """Solve with CP-SAT alone, from the list schedule and what each job costs alone; loading it is not measured."""
    instance = sample.instance
    criterion = Criterion.of(discretise(instance, slot_seconds(instance, sample.slot_option)), sample.criterion)
    with start_worker() as worker:
        warm_up = discretise(coalloc.generate("thesis-oas", seed=0, jobs=1), slot_seconds(instance, "50%"))
        _run_cpsat(Criterion.of(warm_up, sample.criterion), sample.limit, worker)
        began = time.perf_counter()
        bound, best = _run_cpsat(criterion, sample.limit, worker, sample.threads)
        total = time.perf_counter() - began
    violations = coalloc.check(instance, schedule_of(criterion.problem, best))
    message = f"an invalid schedule: {violations[0].sentence}" if violations else ""
    objective = None if violations else criterion.reported(criterion.value(best))
    row = judged({"time": total}, objective, criterion.reported(bound), message)
    return {**row, "stopped_by": "proof" if row["status"] == "optimal" else "time"}


def _run_cpsat(
    criterion: Criterion, limit: float, worker: Worker, threads: int = 1
) -> tuple[float, Sequence[Assignment]]:
    """Return the best bound, a cost, and the best schedule of CP-SAT."""
    began, least = time.perf_counter(), criterion.objective.of_costs(criterion.alone)
    first = best_list_schedule(criterion.problem)
    bounds, schedules = [least], [first]
    solve_cpsat(
        criterion,
        first,
        lower_bound=least,
        time_limit=limit - (time.perf_counter() - began),
        threads=threads,
        worker=worker,
        on_bound=bounds.append,
        on_schedule=schedules.append,
    )
    return max(bounds), min(schedules, key=criterion.value)


def solve_by_pyjobshop(sample: Sample, peer_python: str) -> Row:
    """Solve with PyJobShop in an interpreter of its own; its schedule must pass our checker to count."""
    instance = sample.instance
    problem = discretise(instance, slot_seconds(instance, sample.slot_option))
    document = document_of(problem) | {"time_limit": sample.limit, "threads": sample.threads, "seed": 0}
    return asked(peer_python, "pyjobshop_peer.py", document, partial(row_of_peer, problem))


def document_of(problem: Problem) -> dict[str, Any]:
    """Return a problem in slots as the peer reads it, in whole numbers: one mode per allocation vector.

    Only links and memories of which there can be too little are resources. Loads are rounded down.
    """
    resources = problem.contended_resources

    def units(load: float, resource: int) -> int:
        return math.floor(load / problem.allocations.limits[resource] * LINK_UNITS) if load else 0

    return {
        "capacities": [*problem.capacities, *(LINK_UNITS for _ in resources)],
        "modes": [
            [
                {"duration": int(c.duration), "demands": [*c.allocation, *(units(c.loads[k], k) for k in resources)]}
                for c in modes
            ]
            for modes in problem.modes
        ],
    }


def row_of_peer(problem: Problem, answer: Mapping[str, Any]) -> Row:
    """Return what the peer said as a row, its objective recomputed from its schedule."""
    lower_bound = problem.clock.seconds(math.ceil(answer["lower_bound"] - 1e-6))
    objective, message = makespan_of(problem, answer["chosen"])
    row = judged(answer, objective, lower_bound, message)
    return {**row, "stopped_by": "proof" if row["status"] == "optimal" else "time", "peer": answer["peer"]}


def makespan_of(problem: Problem, chosen: Sequence[tuple[int, int]]) -> tuple[float | None, str]:
    """Return the makespan, s, of (mode, start) per job; None, and why, where that is no valid schedule."""
    if not chosen:
        return None, "no schedule"
    assignments = [Assignment(j, start, problem.modes[j][mode]) for j, (mode, start) in enumerate(chosen)]
    try:
        violations = coalloc.check(problem.instance, schedule_of(problem, assignments))
    except ValueError as error:  # too few nodes to name
        return None, f"an invalid schedule: {error}"
    if violations:
        return None, f"an invalid schedule: {violations[0].sentence}"
    return problem.clock.seconds(max(assignment.end for assignment in assignments)), ""


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    asked_rows = (text.partition("=") for text in options.rows)
    planned = {
        name: list(samples_of(WORK_BY_NAME[name], int(number or USUAL_SEEDS), options.threads))
        for name, _, number in asked_rows
    }
    samples = [sample for of_work in planned.values() for sample in of_work]
    calls = [call_of(sample, options.peer_python) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    rows = [_row(sample, outcome) for sample, outcome in outcomes if outcome is not None]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    numbers = {name: len(of_work) for name, of_work in planned.items()}
    page = report(rows, numbers, options.threads, command_of("exact", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    pictures = _draw(rows, options.output, [WORK_BY_NAME[name] for name in planned])
    print(f"wrote {options.output}.md, .csv and {len(pictures)} pictures: {len(rows)} of {len(samples)} samples")
    return 1 if contradictions(rows) else 0


def call_of(sample: Sample, peer_python: str) -> Call:
    """Return the call that solves a sample; another Python for the peer is no other sample."""
    return Call(
        solve,
        asdict(sample),
        sample.limit + GRACE,
        given=_identity(sample.work, sample.seed),
        local={"peer_python": peer_python},
    )


def _draw(rows: Sequence[Row], output: Path, works: Sequence[Work]) -> list[Path]:
    from exact_pictures import Panel, draw_progress, draw_solved  # no sample needs matplotlib

    panels = [Panel(work.name, work.title, work.target.worst_gap) for work in works]
    judged_alone = [panel for panel, work in zip(panels, works, strict=True) if work.target != Target()]
    return [
        draw_progress(rows, judged_alone, output.with_name(f"{output.stem}-progress.png")),
        draw_solved(rows, panels, output.with_name(f"{output.stem}-solved.png")),
    ]


def row_asked(text: str) -> str:
    """Return what asks for a row, ``NAME`` or ``NAME=SEEDS``, where there is such a row."""
    name, _, number = text.partition("=")
    if name not in WORK_BY_NAME or (text != name and not number.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no row; the rows: {', '.join(WORK_BY_NAME)}")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--rows",
        nargs="+",
        type=row_asked,
        default=list(WORK_BY_NAME),
        metavar="NAME[=SEEDS]",
        help=f"rows of the table, and the number of their seeds (default: all rows, up to {USUAL_SEEDS} seeds)",
    )
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--threads", type=int, default=2, help="cores of each solve (default 2)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="solves at a time (default 1)")
    parser.add_argument(
        "--peer-python", default=sys.executable, help="a Python that has PyJobShop (default: the one that runs this)"
    )
    parser.add_argument(
        "--output",
        type=new_page,
        default=RESULTS / "exact",
        help="tables and pictures: this name, .md, .csv and -*.png",
    )
    parser.add_argument("--store", type=Path, default=RESULTS / "exact.sqlite", help="where samples are kept")
    return parser


def _row(sample: Sample, outcome: Outcome) -> Row:
    return code_columns() | _identity(sample.work, sample.seed) | asdict(sample) | outcome


@cache
def _identity(work: str, seed: int) -> dict[str, str]:
    instance = WORK_BY_NAME[work].instance(seed)
    return {"instance": instance.name, "instance_sha256": instance_hash(instance)}


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    detail = outcome["message"] if is_failed(outcome) else f"{outcome['time']:.2f} s"
    slot = sample.slot_option or "continuous"
    return f"{sample.work} {sample.seed}, {slot}, {sample.method}: {outcome['status']}, {detail}"


def report(rows: Sequence[Row], planned: Mapping[str, int], threads: int, command: str) -> str:
    """Return the page in Markdown; ``planned`` are samples per work."""
    by_work = {name: [row for row in rows if row["work"] == name] for name in planned}
    wrong = contradictions(rows)
    paragraphs = [
        "# Proving optimality: the speed table",
        f"{code_sentence(('highspy', 'ortools', 'python'))}; {threads} threads per solve, makespan where the title "
        f"says nothing else. Samples that ran: {_shares(by_work, planned)}. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "## Targets",
        "What was not proved counts with its limit. The targets are for the portfolio with CP-SAT; the verdict is also "
        "given for what it does without. From 24 jobs on it does not use it for the makespan: one row says both.",
        speed_table(line for name in planned for line in lines_of(WORK_BY_NAME[name], by_work[name], planned[name])),
        "Contradictions between methods (a bound above an objective that another reaches): "
        + ("; ".join(wrong) if wrong else "none")
        + ".",
        *_comparisons(by_work),
        f"Ratios are geometric means of their time / ours; other means are shifted geometric ones, by {SHIFT:g} s.",
        "## By slot",
        *(_by_slot(WORK_BY_NAME[name], by_work[name]) for name in planned if by_work[name]),
        "## Not proved",
        open_table(row for row in rows if row["method"] in OURS),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _shares(by_work: Mapping[str, Sequence[Row]], planned: Mapping[str, int]) -> str:
    """Return how much of each row ran, in words."""
    return ", ".join(f"{name} {len(by_work[name])} of {planned[name]}" for name in planned)


def lines_of(work: Work, rows: Sequence[Row], planned: int) -> Iterator[Line]:
    """Yield the lines of the speed table for a work: one per method of ours."""
    for method in (method for method in work.methods if method in OURS):
        its = [row for row in rows if row["method"] == method]
        share = planned // len(work.methods)
        compared = () if work.comparison is None else pairs(rows, method, work.comparison.other)
        yield Line(work.title, method, share, its, work.whole_target, work.comparison, compared)


def _comparisons(by_work: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for name, rows in by_work.items():
        comparison = WORK_BY_NAME[name].comparison
        if comparison is not None and rows:
            yield f"## {WORK_BY_NAME[name].title}"
            yield ratio_table(pairs(rows, PORTFOLIO, comparison.other))


def _by_slot(work: Work, rows: Sequence[Row]) -> str:
    return f"### {work.name}: {work.title}, {work.limit:g} s\n\n{table_by_slot(rows)}"


if __name__ == "__main__":
    exit_with(main)
