"""Published instances of P|size_j|Cmax: the portfolio compared with CP-SAT and Pumpkin, each with the textbook model.

Strip and bin packing problems, read where they are and never copied: a kind of items is a job of as many tasks as it
is wide and as many seconds as it is high, on one cluster of as many nodes as the strip is wide, in slots of 1 s. The
least height at which items have neighbouring processors, where it is known, is never below the optimum. The methods
take turns on each instance; the page says where one contradicts that, or another. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
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
from coalloc.bench.statistics import SHIFT, geometric_mean
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically

SHARED = HERE.parent.parent / "shared" / "data" / "rigid"
KNOWN = "contiguous_optima.csv"
"""File of the least heights that are known with neighbouring processors."""
OURS, CPSAT, PUMPKIN = "portfolio", "CP-SAT", "Pumpkin"
METHODS = (OURS, CPSAT, PUMPKIN)
LIMIT = 10.0
GRACE = 30.0
"""Seconds beyond the time limit after which a sample is killed; loading is part of them."""
COLUMNS = (
    *("family", "instance", "method", "jobs_of_instance", "processors", "status", "time", "objective", "lower_bound"),
    *("limit", "threads", "message", "version", "commit", "code", "highspy", "ortools", "pumpkin-solver", "python"),
)


# --- instances ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Strip:
    """A published instance: its kinds as (tasks, seconds, copies)."""

    family: str
    name: str
    processors: int
    kinds: tuple[tuple[int, int, int], ...]

    @property
    def jobs(self) -> list[tuple[int, int]]:
        """Tasks and seconds of each job."""
        return [(tasks, seconds) for tasks, seconds, copies in self.kinds for _ in range(copies)]

    @property
    def instance(self) -> coalloc.Instance:
        """The jobs on one cluster."""
        cluster = coalloc.Cluster("C1", [coalloc.NodeGroup(self.processors, power=1.0)], link_bandwidth=1.0)
        jobs = [coalloc.Job(f"J{n}", tasks, float(seconds)) for n, (tasks, seconds) in enumerate(self.jobs, 1)]
        return coalloc.Instance(coalloc.Platform([cluster]), jobs, name=self.name)


def read_strip(path: Path) -> Strip:
    """Return the instance of a file: the number of kinds, the width, then width, height and copies of each kind."""
    try:
        number, processors, *rest = map(int, path.read_text(encoding="utf-8").split())
        kinds = tuple(zip(rest[::3], rest[1::3], rest[2::3], strict=True))
    except ValueError as error:
        raise coalloc.CoallocError(f"{path}: no instance of rectangles: {error}") from error
    if len(kinds) != number:
        raise coalloc.CoallocError(f"{path}: says {number} kinds and has {len(kinds)}")
    return Strip(path.parent.name, path.stem, processors, kinds)


def read_strips(folder: Path) -> list[Strip]:
    """Return all instances below a folder, the family and then the name in order."""
    strips = [read_strip(path) for path in sorted(folder.glob("*/*.txt"))]
    if not strips:
        raise coalloc.CoallocError(f"{folder}: there are no instances (FAMILY/NAME.txt)")
    return strips


def drawn_evenly(strips: Sequence[Strip], most: int) -> list[Strip]:
    """Return at most so many instances of each family, evenly spaced in their order."""
    families: dict[str, list[Strip]] = {}
    for strip in strips:
        families.setdefault(strip.family, []).append(strip)
    counts = {family: min(most, len(its)) for family, its in families.items()}
    return [its[i * len(its) // counts[family]] for family, its in families.items() for i in range(counts[family])]


def known_heights(folder: Path) -> dict[str, int]:
    """Return the least height, with neighbouring processors, that is known of instances, by name."""
    path = folder / KNOWN
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["instance"]: int(row["best_contiguous"]) for row in rows if row["best_contiguous"]}


# --- solving, in a process of its own ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve; limit in seconds."""

    family: str
    instance: str
    method: str
    limit: float
    threads: int


def solve(argument: Mapping[str, Any]) -> Row:
    """Return status, time (s), objective and bound (s) of one solve: a sample, with the ``folder`` of instances."""
    sample = Sample(**{name: part for name, part in argument.items() if name != "folder"})
    strip = read_strip(Path(argument["folder"], sample.family, f"{sample.instance}.txt"))
    if sample.method == OURS:
        return solved(strip.instance, sample.limit, sample.threads)
    return solve_by_peer(strip, sample)


def solve_by_peer(strip: Strip, sample: Sample) -> Row:
    """Solve with a peer in a process of its own; its schedule must pass our checker to count."""
    document = {
        "processors": strip.processors,
        "jobs": strip.jobs,
        "time_limit": sample.limit,
        "threads": sample.threads,
    }
    return asked(sys.executable, "rigid_peer.py", document, partial(row_of_peer, strip), sample.method)


def row_of_peer(strip: Strip, answer: Mapping[str, Any]) -> Row:
    """Return what a peer said as a row, its objective recomputed from its starts."""
    objective, message = latest_end(strip, answer["starts"])
    return judged(answer, objective, float(answer["lower_bound"]), message)


def latest_end(strip: Strip, starts: Sequence[int]) -> tuple[float | None, str]:
    """Return the latest end, s, of starts that take no more processors than there are; else None, and why."""
    if not starts:
        return None, "no schedule"
    changes = [(start, tasks) for start, (tasks, _) in zip(starts, strip.jobs, strict=True)]
    changes += [(start + s, -tasks) for start, (tasks, s) in zip(starts, strip.jobs, strict=True)]
    held = 0
    for instant, tasks in sorted(changes):
        held += tasks
        if held > strip.processors:
            return None, f"an invalid schedule: {held} of {strip.processors} processors at {instant} s"
    return float(max(start + s for start, (_, s) in zip(starts, strip.jobs, strict=True))), ""


# --- running and reporting -------------------------------------------------------------------------


def contradictions(rows: Sequence[Row], heights: Mapping[str, int]) -> list[str]:
    """Return a sentence for each result that cannot be, or where ours and that of CP-SAT contradict each other."""
    found = []
    for name in dict.fromkeys(row["instance"] for row in rows):
        of_name = {row["method"]: row for row in rows if row["instance"] == name and not is_failed(row)}
        for method, row in of_name.items():
            bound, value = row["lower_bound"], row["objective"]
            if name in heights and value is not None and is_solved(row) and value > heights[name]:
                found.append(f"{name}: {method} calls {value:g} optimal, {heights[name]} is known")
            if name in heights and bound is not None and bound > heights[name]:
                found.append(f"{name}: the bound {bound:g} of {method} is above {heights[name]}, which is known")
            for other, better in of_name.items():
                if bound is not None and better["objective"] is not None and bound > better["objective"]:
                    found.append(f"{name}: the bound {bound:g} of {method} is above {better['objective']:g} of {other}")
    return found


def shortcomings(rows: Sequence[Row], heights: Mapping[str, int]) -> list[str]:
    """Return a sentence for each result of ours that is above what is known, or whose bound is below CP-SAT's."""
    found = []
    by_method = {(row["instance"], row["method"]): row for row in rows if not is_failed(row)}
    for (name, method), row in by_method.items():
        if method != OURS:
            continue
        value, bound = row["objective"], row["lower_bound"]
        if name in heights and value > heights[name]:
            found.append(f"{name}: {value:g} where {heights[name]} is known")
        cpsat = by_method.get((name, CPSAT))
        if cpsat is not None and cpsat["lower_bound"] > bound:
            found.append(f"{name}: bound {bound:g}, CP-SAT's {cpsat['lower_bound']:g}")
    return found


def summary_table(rows: Sequence[Row]) -> str:
    """Return a line for each family and method: what is proved, and in what time."""
    families = dict.fromkeys(row["family"] for row in rows)
    heads = ["family", "method", "proved/ran", "median, s", f"mean (shifted by {SHIFT:g} s), s", "mean gap"]
    return markdown(Table.of(heads, (line for family in (*families, "all") for line in _summary(rows, family))))


def _summary(rows: Sequence[Row], family: str) -> Iterator[Sequence[Any]]:
    for method in METHODS:
        its = [row for row in rows if row["method"] == method and family in (row["family"], "all")]
        if its:
            times = [row["time"] if is_solved(row) else row["limit"] for row in its]
            gaps = [_gap(row) for row in its]
            proven = f"{sum(map(is_solved, its))}/{len(its)}"
            yield family, method, proven, median(times), geometric_mean(times, SHIFT), f"{sum(gaps) / len(gaps):.2%}"


def _gap(row: Row) -> float:
    """Return the gap as a share of the objective, 1 where there is none."""
    if is_failed(row) or not row["objective"]:
        return 1.0
    return float(1.0 - row["lower_bound"] / row["objective"])


def instance_table(rows: Sequence[Row]) -> str:
    """Return a line for each instance, with what each method found of it."""
    by_method = {(row["instance"], row["method"]): row for row in rows}
    first = {row["instance"]: row for row in rows}
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    heads = ["instance", "jobs", "processors", *methods]
    lines = (
        [
            name,
            row["jobs_of_instance"],
            row["processors"],
            *(_found(by_method.get((name, method))) for method in methods),
        ]
        for name, row in first.items()
    )
    return markdown(Table.of(heads, lines))


def _found(row: Row | None) -> str:
    """Return the optimum and its time, or bound and objective."""
    if row is None:
        return ""
    if is_failed(row):
        return str(row["status"])
    if is_solved(row):
        return f"{row['objective']:g} in {row['time']:.2f} s"
    objective = "?" if row["objective"] is None else f"{row['objective']:g}"
    return f"{row['lower_bound']:g}..{objective}"


def report(
    rows: Sequence[Row], planned: int, heights: Mapping[str, int], asked: argparse.Namespace, command: str
) -> str:
    """Return the page in Markdown."""
    wrong, weak = contradictions(rows, heights), shortcomings(rows, heights)
    beside = "two solves at a time" if asked.jobs > 1 else "one solve at a time"
    sections = [
        "# Published rigid instances",
        f"{code_sentence(('highspy', 'ortools', 'pumpkin-solver', 'python'))}; {asked.limit:g} s and {asked.threads} "
        f"threads per solve (Pumpkin: one), makespan, slots of 1 s; on two cores, {beside}. Samples that ran: "
        f"{len(rows)} of {planned}. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "CP-SAT and Pumpkin get the textbook model: a start per job, one cumulative, the plain area as a bound; for "
        "Pumpkin equal jobs start in their order. What was not proved counts with its limit.",
        summary_table(rows),
        "Contradictions (a bound above what another reaches or what is known): " + ("; ".join(wrong) or "none") + ".",
        "Ours above the contiguous optimum that is known, or a bound below CP-SAT's: "
        + ("; ".join(weak) or "none")
        + ".",
        "## All instances",
        "The optimum with the time of its proof, or bound and best value.",
        instance_table(rows),
    ]
    return "\n\n".join(sections) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the instances (default: %(default)s)")
    parser.add_argument("--families", nargs="+", help="run these alone (default: all)")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="instances of a family, at most (default: all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="run these alone")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per solve (default: %(default)g)")
    parser.add_argument("--threads", type=int, default=2, help="cores of each solve (default 2)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="solves at a time (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--output", type=new_page, default=RESULTS / "rigid", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "rigid.sqlite", help="where samples are kept")
    options = parser.parse_args(arguments)
    drawn = drawn_evenly(read_strips(options.data), options.most)
    strips = {(strip.family, strip.name): strip for strip in drawn}
    samples = [Sample(*key, method, options.limit, options.threads) for key in strips for method in METHODS]
    calls = [call_of(sample, options.data) for sample in samples]
    if not options.report:
        families = options.families or {family for family, _ in strips}
        wanted = [c for c in calls if c.argument["family"] in families and c.argument["method"] in options.methods]
        run_shown(wanted, options.store, options.jobs, _line)
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    rows = [_row(strips[s.family, s.instance], s, outcome) for s, outcome in outcomes if outcome is not None]
    heights = known_heights(options.data)
    page = report(rows, len(samples), heights, options, command_of("rigid", parser, options))
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output}.md and .csv: {len(rows)} of {len(samples)} samples")
    return 1 if contradictions(rows, heights) else 0


def call_of(sample: Sample, folder: Path) -> Call:
    """Return the call that solves a sample; where the instances lie is no part of what is measured."""
    return Call(solve, asdict(sample), sample.limit + GRACE, local={"folder": str(folder)})


def _row(strip: Strip, sample: Sample, outcome: Outcome) -> Row:
    size = {"jobs_of_instance": len(strip.jobs), "processors": strip.processors}
    return code_columns() | size | asdict(sample) | outcome


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    detail = outcome["message"] if is_failed(outcome) else f"{_found(outcome)}, {outcome['time']:.2f} s"
    return f"{sample.instance}, {sample.method}: {outcome['status']}, {detail}"


if __name__ == "__main__":
    exit_with(main)
