"""Rerun the experiment of Hanzich et al. (CISNE): tables, figures and what becomes of its claims.

    python benchmarks/cisne/run.py --jobs 2

A run that was interrupted goes on where it was. README.md in this folder says what came out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sharing_experiment import experiment, rows_of, run
from sharing_report import write, write_again

from coalloc.instance import CoallocError

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies named, write their tables and figures; return the exit code."""
    options = _parser().parse_args(arguments)
    wanted = experiment(options.seeds)
    names = options.studies or list(wanted.studies)
    unknown = [name for name in names if name not in wanted.studies]
    if unknown:
        print(f"there is no study {unknown[0]!r}; there are {', '.join(wanted.studies)}", file=sys.stderr)
        return 2
    try:
        if not (options.report or options.again) and not run(wanted, names, options.store, options.jobs):
            print("interrupted; run again to go on", file=sys.stderr)
            return 130
        for name in names:
            if options.again:
                print(*(f"wrote {path}" for path in write_again(wanted, name, options.output)), sep="\n")
                continue
            for path in write(wanted, name, rows_of(wanted, name, options.store), options.output):
                print(f"wrote {path}")
    except CoallocError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies of cisne.toml (default: all)")
    parser.add_argument("--seeds", type=int, help="seeds 0, 1, ... instead of those of the specification")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time, each in a process (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write what the store has")
    parser.add_argument("--again", action="store_true", help="run nothing, write pages and figures from the CSV files")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of tables and figures")
    parser.add_argument("--store", type=Path, default=RESULTS / "cisne.sqlite", help="where samples are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
