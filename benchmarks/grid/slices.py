"""How far the strategies of a broker are from the least makespan, on slices of weeks that the exact engine solves.

    python benchmarks/grid/slices.py grid1/week-26.json.gz -o benchmarks/grid/results/slices.md

Jobs stay within one site, and all sites are on. Each slice is run as it arrived, and as if all of it arrived at once:
then jobs wait.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from page import show

import coalloc
from coalloc import Instance
from coalloc.bench.provenance import code_sentence
from coalloc.rules.brokering import STRATEGIES

SIZES = (20, 30, 40)
"""Jobs of the slices of a week, which are spread over it evenly."""
TIME_LIMIT = 60.0
"""Seconds after which a slice is given up."""
EQUAL = 1e-6
"""Share by which a makespan may be above the optimum and still be it."""


def slice_of(week: Instance, first: int, size: int, at_once: bool) -> Instance:
    """Return jobs of a week from the job of this index on, on a clock that begins with them."""
    jobs = week.jobs[first : first + size]
    begin = jobs[0].arrival
    return week.replace(jobs=[job.replace(arrival=0.0 if at_once else job.arrival - begin) for job in jobs])


def row(week: Instance, first: int, size: int, at_once: bool) -> str:
    """Return the row of a slice: optimum, bound by work, and the makespans of the strategies over the optimum."""
    jobs = slice_of(week, first, size, at_once)
    solved = coalloc.solve(jobs, scope="cluster", time_limit=TIME_LIMIT)
    known = solved.lower_bound or 0.0
    by_work = coalloc.lower_bound(jobs, method="work", scope="cluster")
    ratios = [coalloc.simulate(jobs, "grid", strategy=name).metrics["makespan"] / known for name in STRATEGIES]
    attained = sum(ratio <= 1.0 + EQUAL for ratio in ratios)
    cells = [
        f"{first + 1} to {first + size}",
        "at once" if at_once else "as logged",
        solved.status.value,
        f"{known:.6g}",
        f"{by_work / known:.4f}",
        f"{attained} of {len(ratios)}",
        *(f"{value:.3g}" for value in (min(ratios), statistics.median(ratios), max(ratios))),
    ]
    return f"| {' | '.join(cells)} |"


def page(weeks: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of the results."""
    yield "# Slices of weeks, solved exactly"
    yield ""
    yield f"Made with {code_sentence()}. Scope `cluster`, all sites on, no start-ups. Makespans in s; of the strategies"
    yield "over the proved lower bound, which is the optimum where the status is `optimal`: at best, median, at worst."
    for path in weeks:
        week = coalloc.read_instance(path)
        yield ""
        yield f"## {path.parent.name}, {week.name}"
        yield ""
        yield "| jobs | arrivals | status | makespan | work bound over it | attained by | best | median | worst |"
        yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
        for k, size in enumerate(SIZES):
            first = k * (len(week.jobs) - size) // len(SIZES)
            for at_once in (False, True):
                yield row(week, first, size, at_once)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("weeks", type=Path, nargs="+", help="weeks as of coalloc merge")
    parser.add_argument("-o", "--output", type=Path, help="page to write as well")
    options = parser.parse_args(arguments)
    show(page(options.weeks), options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
