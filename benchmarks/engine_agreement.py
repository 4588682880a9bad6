"""The compiled engine and the simulator against the slow references of the tests, on random cases.

A timeline does 60 random operations next to one of plain lists, to the last bit. The lists are those of small instances
with several features or constraints, of each scope, in slots rounded up and down and in continuous time: serial
generation in Python makes the same schedule of a list, for each kind of cost, and of what annealing makes of it. Where
jobs are not tied, parallel generation by random plans does so as well. Simulations with node failures or preemption are
those of a program that looks at every second. Tests compare a few of each by the same functions, which raise
``AssertionError``. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sampling import RESULTS, command_of, exit_with, new_page, run_shown

from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the references are in its tests

from tests.rules.test_timeline_engine import NUM_OPERATIONS
from tests.rules.test_timeline_engine import Case as TimelineCase
from tests.simulator import test_failing as failing
from tests.simulator import test_preemption as preempting
from tests.solvers.search import test_growth as parallel
from tests.solvers.search import test_list_annealing as serial

TIMELINES, LIST_SEEDS, RUN_SEEDS = 100_000, 5_000, 1_000
BLOCKS = {"timeline": 500, "serial generation": 50, "parallel generation": 50, "failures": 100, "preemption": 100}
"""Seeds per call, by what is compared."""
LISTS = 20
"""Lists of each problem, of which a seed has up to three."""
PLANS = 24
"""Partial schedules that go on by a plan, of each problem."""
FAILING, PREEMPTING = ("fcfs", "fpfs", "easy"), ("requeue", "suspend")
"""Policies of the runs with failures, and modes of preemption of EASY."""
LIMIT = 3600.0
"""Seconds after which a process is killed."""


def compared(argument: Mapping[str, Any]) -> Row:
    """Return the number of cases of some seeds, and a line for each seed with a difference."""
    count, seeds = CASES[argument["kind"]], range(argument["first"], argument["first"] + argument["seeds"])
    number, differences = 0, []
    for seed in seeds:
        try:
            number += count(seed)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            differences.append(f"seed {seed}: {type(error).__name__} in {where.name}: {error}".splitlines()[0])
    return {"status": "compared", "cases": number, "differences": differences}


def timelines(seed: int) -> int:
    """Compare one timeline."""
    TimelineCase(seed).run()
    return 1


def lists(seed: int) -> int:
    """Compare serial generation of random lists; return how many."""
    problems = list(serial.restricted(seed))
    for problem in problems:
        serial.assert_schedules_equal(problem, seed, LISTS)
    return LISTS * len(problems)


def plans(seed: int) -> int:
    """Compare parallel generation by random plans, in problems that it takes; return how many partial schedules."""
    problems = [p for p in serial.restricted(seed) if not p.couples and p.has_monotone_capacity]
    for problem in problems:
        parallel.assert_equal(problem, before=math.inf)
    return PLANS * len(problems)


def failures(seed: int) -> int:
    """Compare runs with failures of nodes; return how many."""
    for policy in FAILING:
        failing.test_runs_are_those_of_a_simulator_that_looks_at_every_second(seed, policy)
    return len(FAILING)


def preemptions(seed: int) -> int:
    """Compare runs in which jobs start anew, and are suspended, for others; return how many."""
    for preempt in PREEMPTING:
        preempting.test_runs_are_those_of_a_simulator_that_looks_at_every_second(seed, preempt)
    return len(PREEMPTING)


CASES: Mapping[str, Callable[[int], int]] = {
    "timeline": timelines,
    "serial generation": lists,
    "parallel generation": plans,
    "failures": failures,
    "preemption": preemptions,
}


def planned(options: argparse.Namespace) -> Iterator[Call]:
    """Yield the blocks of seeds."""
    totals = (options.timelines, *(options.list_seeds,) * 2, *(options.run_seeds,) * 2)
    for (kind, size), total in zip(BLOCKS.items(), totals, strict=True):
        for first in range(0, total, size):
            yield Call(compared, {"kind": kind, "first": first, "seeds": min(size, total - first)}, LIMIT)


def report(calls: Sequence[tuple[Call, Outcome]], command: str) -> str:
    """Return the page in Markdown."""
    lines = []
    for kind in CASES:
        rows = [(call, outcome) for call, outcome in calls if call.argument["kind"] == kind]
        seeds = sum(call.argument["seeds"] for call, outcome in rows if not is_failed(outcome))
        cases, failed = sum(outcome.get("cases", 0) for _, outcome in rows), sum(is_failed(o) for _, o in rows)
        lines.append([kind, seeds, cases, sum(len(outcome.get("differences", ())) for _, outcome in rows), failed])
    heads = ("compared", "seeds", "cases", "seeds with a difference", "blocks that crashed")
    found = [f"- {call.argument['kind']}, {line}" for call, outcome in calls for line in outcome.get("differences", ())]
    sections = [
        "# The engine and the simulator against their references",
        f"{code_sentence(('python',))}. A case is a timeline with {NUM_OPERATIONS} operations, a list, a partial "
        f"schedule or a simulation. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        markdown(Table.of(heads, lines)),
        "## Differences",
        "\n".join(found) if found else "None.",
    ]
    return "\n\n".join(sections) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--timelines", type=int, default=TIMELINES, help=f"timelines (default {TIMELINES})")
    parser.add_argument(
        "--list-seeds",
        type=int,
        default=LIST_SEEDS,
        help=f"seeds of instances with up to {3 * LISTS} lists (default {LIST_SEEDS})",
    )
    parser.add_argument("--run-seeds", type=int, default=RUN_SEEDS, help=f"seeds of simulations (default {RUN_SEEDS})")
    parser.add_argument("--report", action="store_true", help="run nothing, write the page of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "engine-agreement.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "engine-agreement.sqlite", help="where blocks are kept")
    options = parser.parse_args(arguments)
    calls = list(planned(options))
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    ran = [(call, out) for call, out in zip(calls, outcomes_of(calls, options.store), strict=True) if out is not None]
    write_atomically(options.output, report(ran, command_of("engine_agreement", parser, options)))
    print(f"wrote {options.output}: {sum(outcome.get('cases', 0) for _, outcome in ran)} cases")
    return 1 if any(is_failed(outcome) or outcome["differences"] for _, outcome in ran) else 0


def _line(call: Call, outcome: Outcome) -> str:
    first, differences = call.argument["first"], outcome.get("differences", ())
    verdict = outcome.get("message") or (f"{len(differences)} differ" if differences else "equal")
    return f"{call.argument['kind']}, seeds {first} to {first + call.argument['seeds'] - 1}: {verdict}"


if __name__ == "__main__":
    exit_with(main)
