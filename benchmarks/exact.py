"""How fast optimality is proven: the portfolio on 8 to 1000 jobs, beside PyJobShop, the paper's node model and CP-SAT.

Every solve runs in a process of its own, which is killed with its children when it does not end by
itself, and goes to a store, so that an interrupted run resumes (:mod:`coalloc.bench`). The methods take turns on each
(instance, slot), so that whatever else the machine does strikes them alike. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
from exact_report import (
    Comparison,
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
from sampling import RESULTS, code_columns, command_of, exit_with, hidden, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.statistics import SHIFT
from coalloc.bench.tables import csv_of
from coalloc.documents.storage import write_atomically
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, discretise, slot_seconds
from coalloc.result_files import instance_hash
from coalloc.rules.serial_generation import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.backends.cpsat import solve_cpsat, start_worker
from coalloc.solvers.backends.worker import Worker

SLOTS = (250, 200, 150, 100, 50, 25, 15, 5, 1)
"""Slot lengths, % of the mean base time of the instance."""
PORTFOLIO, NO_CPSAT, PYJOBSHOP, NODE = "portfolio", "portfolio, no CP-SAT", "PyJobShop", "node model"
CPSAT = "CP-SAT, count model"
OURS = (PORTFOLIO, NO_CPSAT)
MAKESPAN, RESPONSES = "makespan", "total-response-time"
LINK_UNITS = 10**9
"""Whole units that PyJobShop counts the capacity of a link in; loads are rounded down, which is in its favour."""
GRACE = 15.0
"""Seconds beyond the time limit after which a sample is killed; the warm-up is part of them."""
OVERRUN, LEAST_OVERRUN = 0.1, 1.0
"""A time limit holds within this share of it, at least these seconds."""
PEER_SEED, PEER_INSTANCES, PEER_SLOTS = 0, 10, SLOTS[1::2]
"""What draws the instances for other methods, their number (of 100), and the slots for PyJobShop."""
NODE_SLOTS = (250, 100)
"""Slots for the node model, which proves nothing at fine ones."""
ALL_INSTANCES = 100
QUICK, DEFAULT, FULL = "quick", "default", "full"

COLUMNS = (
    *("work", "instance", "seed", "slot", "criterion", "method"),
    *("status", "stopped_by", "time", "objective", "lower_bound"),
    *("source", "memory", "limit", "threads", "message", "peer"),
    *("version", "commit", "code", "highspy", "ortools", "python", "instance_sha256"),
)


NUMBERS = ("seed", "slot", "time", "objective", "lower_bound", "memory", "limit", "threads")
"""Columns that are no text."""


SEEDS = {QUICK: range(1, 6), DEFAULT: range(1, 11), FULL: range(1, 11)}
THESIS_SEEDS = {QUICK: range(1001, 1006), DEFAULT: range(1001, 1021), FULL: range(1001, 1021)}
UNSEEN_SEEDS = {QUICK: range(1011, 1016), DEFAULT: range(1011, 1031), FULL: range(1011, 1031)}
"""For sums of 12 jobs: limits of their search were chosen by seeds before these."""
EIGHT_JOBS_SEEDS = THESIS_SEEDS | {FULL: range(1001, 1001 + ALL_INSTANCES)}
LARGE_SEEDS = SEEDS | {QUICK: range(1, 3)}
HUGE_SEEDS = {QUICK: range(1, 2), DEFAULT: range(1, 4), FULL: range(1, 4)}
SUMS_SEEDS = {QUICK: range(1001, 1003), DEFAULT: range(1001, 1011), FULL: range(1001, 1011)}
BESIDE_CPSAT_SEEDS = {QUICK: range(1001, 1002), DEFAULT: range(1001, 1006), FULL: range(1001, 1006)}
DRAWN = random.Random(PEER_SEED).sample(range(1, ALL_INSTANCES + 1), PEER_INSTANCES)
PEER_SEEDS = {QUICK: DRAWN[:2], DEFAULT: DRAWN, FULL: DRAWN}
"""Seeds of the instances by size of the run: usual; of 12 and 20 jobs, of 8, of 200, of 1000; of sums, of sums beside
CP-SAT; beside other methods.

Nothing was ever tuned on the thesis's instances from 1001 on."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the speed table: instances (a generator and its parameters), slots, limit (s), methods and target.

    ``criterion`` is the objective that is least: ``objective`` is its value in the tables.
    """

    name: str
    title: str
    slots: tuple[int | None, ...]
    limit: float
    target: Target
    parameters: Mapping[str, Any] = field(default_factory=dict)
    generator: str = "thesis-oas"
    methods: tuple[str, ...] = OURS
    seeds: Mapping[str, Sequence[int]] = field(default_factory=lambda: SEEDS)
    comparison: Comparison | None = None
    criterion: str = MAKESPAN

    def instance(self, seed: int) -> coalloc.Instance:
        """Return the instance of a seed."""
        return coalloc.generate(self.generator, seed=seed, **self.parameters)

    @property
    def whole_target(self) -> Target:
        """The target, and that the time limit holds."""
        return replace(self.target, overrun=max(LEAST_OVERRUN, OVERRUN * self.limit))


BESIDE_NODE = Comparison(NODE, 200.0, where_proven=True)
CLOSE = Target(share_proven=0.5, worst_gap=0.01)


def sums_beside_cpsat(jobs: int) -> Work:
    """Return the work that solves sums of so many jobs with the portfolio and with CP-SAT alone."""
    return Work(
        f"sums-cpsat-{jobs}",
        f"{jobs} jobs, 12 nodes, sum of response times, beside CP-SAT",
        (100, 15),
        20.0,
        Target(),
        {"jobs": jobs},
        methods=(PORTFOLIO, CPSAT),
        seeds=BESIDE_CPSAT_SEEDS,
        comparison=Comparison(CPSAT, never_weaker=True, never_fewer=True),
        criterion=RESPONSES,
    )


WORKS = (
    Work(
        "slots",
        "8 jobs, 12 nodes, nine slots",
        SLOTS,
        60.0,
        Target(share_proven=1.0, percentile95=0.3),
        seeds=EIGHT_JOBS_SEEDS,
    ),
    Work(
        "continuous",
        "8 jobs, 12 nodes, continuous",
        (None,),
        60.0,
        Target(share_proven=1.0, percentile95=0.3),
        seeds=EIGHT_JOBS_SEEDS,
    ),
    Work("jobs-12", "12 jobs, 12 nodes, 15 %", (15,), 60.0, Target(share_proven=1.0), {"jobs": 12}, seeds=THESIS_SEEDS),
    Work(
        "jobs-20", "20 jobs, 12 nodes, 15 %", (15,), 60.0, Target(share_proven=0.95), {"jobs": 20}, seeds=THESIS_SEEDS
    ),
    Work(
        "powers",
        "20 jobs, 12 nodes, six powers, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "clusters": 6, "nodes": 2},
    ),
    Work("tiny", "20 jobs, 12 nodes, 1 or 2 tasks, 5 %", (5,), 60.0, CLOSE, {"jobs": 20, "max_tasks": 2}),
    Work(
        "tree",
        "20 jobs, 12 nodes, two levels of switches, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "clusters": 4, "nodes": 3, "switch_bandwidth": 60.0},
    ),
    Work(
        "links",
        "10 jobs, 12 nodes, links that bind, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 10, "max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0},
    ),
    Work(
        "arrivals",
        "10 jobs, 12 nodes, arrivals, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 10, "interarrival_mean": 2e5},
    ),
    Work(
        "jobs-50",
        "50 jobs, 64 nodes, 5 %",
        (5,),
        60.0,
        Target(worst_gap=0.01),
        {"jobs": 50, "interarrival_scale": 0.0},
        generator="thesis-pas",
        methods=(PORTFOLIO,),
    ),
    Work(
        "jobs-200",
        "200 jobs, 240 nodes, 5 % and continuous",
        (5, None),
        120.0,
        Target(worst_gap=0.01),
        {"jobs": 200, "nodes": 80},
        methods=(PORTFOLIO,),
        seeds=LARGE_SEEDS,
    ),
    Work(
        "jobs-1000",
        "1000 jobs, 999 nodes, 5 %",
        (5,),
        120.0,
        Target(worst_gap=0.02),
        {"jobs": 1000, "nodes": 333},
        methods=(PORTFOLIO,),
        seeds=HUGE_SEEDS,
    ),
    Work(
        "sums-8",
        "8 jobs, 12 nodes, sum of response times, nine slots and continuous",
        (*SLOTS, None),
        60.0,
        Target(share_proven=1.0, median=0.2),
        seeds=SUMS_SEEDS,
        criterion=RESPONSES,
    ),
    Work(
        "sums-12",
        "12 jobs, 12 nodes, sum of response times, 15 %",
        (15,),
        60.0,
        Target(share_proven=1.0),
        {"jobs": 12},
        seeds=UNSEEN_SEEDS,
        criterion=RESPONSES,
    ),
    *map(sums_beside_cpsat, (8, 12, 20, 30)),
    Work(
        "pyjobshop",
        "8 jobs, 12 nodes, beside PyJobShop",
        PEER_SLOTS,
        30.0,
        Target(),
        methods=(PORTFOLIO, PYJOBSHOP),
        seeds=PEER_SEEDS,
        comparison=Comparison(PYJOBSHOP, 10.0, never_weaker=True),
    ),
    Work(
        "node",
        "8 jobs, 12 nodes, beside node model",
        NODE_SLOTS,
        180.0,
        Target(),
        methods=(PORTFOLIO, NODE),
        seeds=PEER_SEEDS,
        comparison=BESIDE_NODE,
    ),
    Work(
        "node-6",
        "8 jobs, 6 nodes, beside node model",
        NODE_SLOTS,
        180.0,
        Target(),
        generator="paper-oas",
        methods=(PORTFOLIO, NODE),
        seeds=PEER_SEEDS,
        comparison=BESIDE_NODE,
    ),
)
WORK_BY_NAME = {work.name: work for work in WORKS}


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve: work and seed name the instance; slot in % (None: continuous time), limit in seconds.

    ``criterion`` is the objective, by name.
    """

    work: str
    seed: int
    slot: int | None
    method: str
    limit: float
    threads: int
    criterion: str = MAKESPAN

    @property
    def instance(self) -> coalloc.Instance:
        """The instance that is solved."""
        return WORK_BY_NAME[self.work].instance(self.seed)

    @property
    def slot_option(self) -> str | None:
        """The slot as ``coalloc.solve`` takes it."""
        return None if self.slot is None else f"{self.slot}%"


def samples_of(work: Work, size: str, threads: int) -> Iterator[Sample]:
    """Yield the samples of a work in the order in which they run."""
    for seed in work.seeds[size]:
        for slot in work.slots:
            for method in work.methods:
                yield Sample(work.name, seed, slot, method, work.limit, threads, work.criterion)


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
        return math.floor(load / problem.limits[resource] * LINK_UNITS) if load else 0

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
    lower_bound = problem.seconds(math.ceil(answer["lower_bound"] - 1e-6))
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
    return problem.seconds(max(assignment.end for assignment in assignments)), ""


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL if options.full else DEFAULT
    output = options.output or RESULTS / ("exact-quick" if options.quick else "exact")
    samples = [sample for work in WORKS for sample in samples_of(work, size, options.threads)]
    calls = [call_of(sample, options.peer_python) for sample in samples]
    if not options.report:
        wanted = [call for call in calls if call.argument["work"] in options.rows]
        run_shown(wanted, options.store, options.jobs, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    today = [_row(sample, outcome) for sample, outcome in outcomes if outcome is not None]
    rows = with_earlier(today, rows_of_table(output.with_suffix(".csv")), samples)
    write_atomically(output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    planned = Counter(sample.work for sample in samples)
    page = report(rows, planned, size, options.threads, command_of("exact", parser, options))
    write_atomically(output.with_suffix(".md"), page)
    pictures = _draw(rows, output) if len(rows) == len(today) else []  # tables have no traces
    print(f"wrote {output}.md, .csv and {len(pictures)} pictures: {len(rows)} of {len(samples)} samples")
    return 1 if contradictions(rows) else 0


def with_earlier(today: Sequence[Row], earlier: Sequence[Row], planned: Iterable[Sample]) -> list[Row]:
    """Return the rows of today; of a work of which more samples ran earlier, those: each row says whose code it is."""
    places = {_key(asdict(sample)): place for place, sample in enumerate(planned)}
    still_planned = [row for row in earlier if _key(row) in places]
    ran, ran_earlier = (Counter(row["work"] for row in rows) for rows in (today, still_planned))
    rows = [row for row in today if ran[row["work"]] >= ran_earlier[row["work"]]]
    rows += [row for row in still_planned if ran[row["work"]] < ran_earlier[row["work"]]]
    return sorted(rows, key=lambda row: places[_key(row)])


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in Sample.__slots__)


def rows_of_table(path: Path) -> list[Row]:
    """Return the rows of a table that was written before; none where there is none."""
    if not path.exists():
        return []
    table = pd.read_csv(path, dtype={name: str for name in COLUMNS if name not in NUMBERS} | {"slot": "Int64"})
    if "criterion" not in table:  # an older table, when all rows were of the makespan
        table["criterion"] = MAKESPAN
    table = table.astype(object).where(table.notna(), None)
    return [dict(zip(table.columns, line, strict=True)) for line in table.itertuples(index=False)]


def call_of(sample: Sample, peer_python: str) -> Call:
    """Return the call that solves a sample; another Python for the peer is no other sample."""
    return Call(
        solve,
        asdict(sample),
        sample.limit + GRACE,
        given=_identity(sample.work, sample.seed),
        local={"peer_python": peer_python},
    )


def _draw(rows: Sequence[Row], output: Path) -> list[Path]:
    from exact_pictures import Panel, draw_progress, draw_solved  # no sample needs matplotlib

    panels = [Panel(work.name, work.title, work.target.worst_gap) for work in WORKS]
    alone = [panel for panel in panels if WORK_BY_NAME[panel.work].comparison is None]
    return [
        draw_progress(rows, alone, output.with_name(f"{output.name}-progress.png")),
        draw_solved(rows, panels, output.with_name(f"{output.name}-solved.png")),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help=f"all {ALL_INSTANCES} instances of the first two rows")
    size.add_argument("--quick", action="store_true", help="few instances of each row; writes exact-quick.*")
    names = tuple(WORK_BY_NAME)
    parser.add_argument("--rows", nargs="+", default=names, choices=names, help="run these rows of the table alone")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--threads", type=int, default=2, help="cores of each solve (default 2)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="solves at a time (default 1)")
    parser.add_argument(
        "--peer-python", default=sys.executable, help="a Python that has PyJobShop (default: the one that runs this)"
    )
    parser.add_argument("--output", type=Path, help="tables and pictures: this name, .md, .csv and -*.png")
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


def report(rows: Sequence[Row], planned: Mapping[str, int], size: str, threads: int, command: str) -> str:
    """Return the page in Markdown; ``planned`` are samples per work."""
    by_work = {name: [row for row in rows if row["work"] == name] for name in planned}
    wrong = contradictions(rows)
    paragraphs = [
        "# Proving optimality: the speed table",
        f"{codes_of(rows)}; {threads} threads per solve, makespan where the title says nothing else. "
        f"The {size} run; samples that ran: {_shares(by_work, planned)}. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "## Targets",
        "What was not proven counts with its limit. The targets are for the portfolio with CP-SAT; the verdict is also "
        "given for what it does without. From 24 jobs on it does not use it for the makespan: one row says both.",
        speed_table(line for name in planned for line in lines_of(WORK_BY_NAME[name], by_work[name], planned[name])),
        "Contradictions between methods (a bound above an objective that another reaches): "
        + ("; ".join(wrong) if wrong else "none")
        + ".",
        *_comparisons(by_work),
        f"Ratios are geometric means of their time / ours; other means are shifted geometric ones, by {SHIFT:g} s.",
        "## By slot",
        *(_by_slot(WORK_BY_NAME[name], by_work[name]) for name in planned if by_work[name]),
        "## Not proven",
        open_table(row for row in rows if row["method"] in OURS),
    ]
    return "\n\n".join(paragraphs) + "\n"


def codes_of(rows: Sequence[Row]) -> str:
    """Return which code made the rows, in words; with several, which works each."""
    names = ("version", "commit", "code", "highspy", "ortools", "python")
    works: dict[tuple[str, ...], dict[str, None]] = {}
    for row in rows:
        works.setdefault(tuple(row[name] for name in names), {})[row["work"]] = None
    sentences = {
        f"coalloc {version} (commit {commit}, code {code}), highspy {highspy}, ortools {ortools}, python {python}": its
        for (version, commit, code, highspy, ortools, python), its in works.items()
    }
    if len(sentences) <= 1:
        return next(iter(sentences), code_sentence(("highspy", "ortools", "python")))
    return "; ".join(f"{', '.join(its)}: {sentence}" for sentence, its in sentences.items())


def _shares(by_work: Mapping[str, Sequence[Row]], planned: Mapping[str, int]) -> str:
    """Return how much of each row ran, in words."""
    return ", ".join(f"{name} {len(by_work[name])} of {planned[name]}" for name in planned)


def lines_of(work: Work, rows: Sequence[Row], planned: int) -> Iterator[Line]:
    """Yield the lines of the speed table for a work: one per method of ours."""
    compared = () if work.comparison is None else pairs(rows, PORTFOLIO, work.comparison.other)
    for method in (method for method in work.methods if method in OURS):
        its = [row for row in rows if row["method"] == method]
        share = planned // len(work.methods)
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
