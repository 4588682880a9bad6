"""Metamorphic tests: 1,000 triples of instance, transformation and objective, and the relations that must hold.

Each triple is of :mod:`coalloc.testing.metamorphic`: a small instance, in continuous time or in slots, is solved on the
clock 0 and on one that begins up to 1.76e9 s later (Unix time), and there again after a transformation that keeps the
optimum: other orders, other units of time, its own schedule fixed, as deadlines, as a limit, as a warm start, in whole
and in part. Results without a proof are counted and not compared. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sampling import RESULTS, command_of, exit_with, new_page, run_shown

from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically
from coalloc.objectives import OBJECTIVES
from coalloc.testing.metamorphic import SHIFTS, TRANSFORMATIONS, Triple, selected, trial, triple

NUM_TRIPLES, TRIPLES_PER_CALL = 1000, 20
SOLVE_LIMIT = 20.0
"""Seconds of a solve, hundreds of times what nearly all of them take."""
LIMIT = 3600.0
"""Seconds after which a process is killed."""
STRATA = ("transformation", "shift", "objective", "time")


def compared(argument: Mapping[str, Any]) -> Row:
    """Return a row for each triple of some numbers, under ``rows``."""
    return {"status": "compared", "rows": [row_of(triple(number)) for number in argument["numbers"]]}


def row_of(asked: Triple) -> Row:
    """Return what is found of a triple: whether all its solves were proved, and what does not hold."""
    made = trial(asked, SOLVE_LIMIT)
    return {
        "number": asked.number,
        "transformation": asked.transformation,
        "shift": asked.shift,
        "objective": asked.objective,
        "time": asked.time,
        "is_proven": not made.is_open,
        "faults": [[fault.relation, fault.sentence] for fault in made.faults],
    }


def report(rows: Sequence[Row], triples: Sequence[Triple], command: str) -> str:
    """Return the page in Markdown."""
    wrong = [row for row in rows if row["faults"]]
    num_open = sum(not row["is_proven"] for row in rows)
    sections = [
        "# Metamorphic tests",
        f"{code_sentence(('highspy', 'ortools', 'python'))}. {len(rows)} of {len(triples)} triples compared: "
        f"{len(wrong)} contradict a relation, {num_open} have a solve without a proof within {SOLVE_LIMIT:g} s. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        *(stratum_table(rows, stratum) for stratum in STRATA),
        "## Contradictions",
        "\n".join(f"- {sentence(row)}" for row in wrong) if wrong else "None.",
    ]
    return "\n\n".join(sections) + "\n"


def stratum_table(rows: Sequence[Row], stratum: str) -> str:
    """Return a line for each value of a stratum: its triples, how many contradict, and by which relations."""
    groups: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["shift"] if stratum == "shift" else 0.0):
        groups.setdefault(row[stratum], []).append(row)
    relations = sorted({relation for row in rows for relation, _ in row["faults"]})
    lines = []
    for name, group in groups.items():
        broken = Counter(relation for row in group for relation in {relation for relation, _ in row["faults"]})
        num_open, num_wrong = sum(not row["is_proven"] for row in group), sum(bool(row["faults"]) for row in group)
        lines.append([f"{name:g}" if stratum == "shift" else name, len(group), num_open, num_wrong]
                     + [broken[relation] for relation in relations])  # fmt: skip
    return markdown(Table.of((stratum, "triples", "not proved", "contradict", *relations), lines))


def sentence(row: Row) -> str:
    """Return which triple contradicts what, each relation once."""
    first: dict[str, str] = {}
    for relation, text in row["faults"]:
        first.setdefault(relation, text)
    faults = "; ".join(f"{relation}: {text}" for relation, text in first.items())
    return f"{row['number']}, {row['time']}, {row['transformation']}, {row['shift']:g} s, {row['objective']}: {faults}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--triples", type=int, default=NUM_TRIPLES, help=f"triples 0, 1, ... (default {NUM_TRIPLES})")
    parser.add_argument("--numbers", type=int, nargs="+", default=(), help="these triples alone")
    parser.add_argument("--transformation", nargs="+", default=(), choices=TRANSFORMATIONS, help="with one of these")
    parser.add_argument("--shift", type=float, nargs="+", default=(), choices=SHIFTS, help="with one of these clocks")
    parser.add_argument("--objective", nargs="+", default=(), choices=OBJECTIVES, help="with one of these objectives")
    parser.add_argument("--time", nargs="+", default=(), choices=("continuous", "slots"), help="in such time alone")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "metamorphic.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "metamorphic.sqlite", help="where triples are kept")
    options = parser.parse_args(arguments)
    asked = (options.transformation, options.shift, options.objective, options.time)
    triples = selected(options.numbers or range(options.triples), *asked)
    numbers = [one.number for one in triples]
    calls = [
        Call(compared, {"numbers": numbers[first : first + TRIPLES_PER_CALL]}, LIMIT)
        for first in range(0, len(numbers), TRIPLES_PER_CALL)
    ]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = [outcome for outcome in outcomes_of(calls, options.store) if outcome is not None]
    rows = [row for outcome in outcomes for row in outcome.get("rows", ())]
    write_atomically(options.output, report(rows, triples, command_of("metamorphic", parser, options)))
    wrong = sum(bool(row["faults"]) for row in rows)
    print(f"wrote {options.output}: {len(rows)} triples, {wrong} contradict a relation")
    return 1 if wrong or any(map(is_failed, outcomes)) else 0


def _line(call: Call, outcome: Outcome) -> str:
    numbers, wrong = call.argument["numbers"], [row for row in outcome.get("rows", ()) if row["faults"]]
    verdict = outcome.get("message") or (f"{len(wrong)} contradict" if wrong else "all hold")
    lines = [f"triples {numbers[0]} to {numbers[-1]}: {verdict}", *(f"  {sentence(row)}" for row in wrong)]
    return "\n".join(lines)


if __name__ == "__main__":
    exit_with(main)
