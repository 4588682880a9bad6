"""Rerun an experiment of the thesis: its table, its figure and what becomes of its claims.

    python benchmarks/thesis/run.py pas-allocation

A run that was interrupted goes on where it was. README.md in this folder says what came out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiment import NAMES, experiment, rows_of, run
from thesis_report import write, write_again
from workloads import TRACES

from coalloc.instance import CoallocError

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments named, write their tables and figures; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.traces is not None:
        os.environ[TRACES] = str(options.traces.resolve())
    for name in options.experiments or NAMES:
        try:
            wanted = experiment(name, options.full, options.seeds)
            if options.again:
                print(*(f"wrote {path}" for path in write_again(wanted, options.output)), sep="\n")
                continue
            if not options.report and not run(wanted, options.store, options.jobs):
                print("interrupted; run again to go on", file=sys.stderr)
                return 130
            rows = rows_of(wanted, options.store)
        except CoallocError as error:
            print(error, file=sys.stderr)
            return 2
        for path in write(wanted, rows, options.output):
            print(f"wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)} (default: all)")
    parser.add_argument("--full", action="store_true", help="all points and seeds of the specification: takes hours")
    parser.add_argument("--seeds", type=int, help="seeds 1, 2, ... instead of those of the specification")
    parser.add_argument("--traces", type=Path, help=f"folder of the logs (default: that of {TRACES})")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time, each in a process (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write what the store has")
    parser.add_argument("--again", action="store_true", help="run nothing, write pages and figures from the CSV files")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of tables and figures")
    parser.add_argument("--store", type=Path, default=RESULTS / "thesis.sqlite", help="where samples are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
