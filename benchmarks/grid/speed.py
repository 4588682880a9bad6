"""Seconds and memory of merging traces, jobs per second under each strategy of a broker, and seconds of metering them.

    python benchmarks/grid/speed.py benchmarks/grid/grid1.toml -o benchmarks/grid/results/speed.md

Processor seconds are those of the process, whatever else runs on the machine; of several runs the least counts.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from page import show

import coalloc
from coalloc import Instance
from coalloc.bench.provenance import code_sentence
from coalloc.rules.brokering import STRATEGIES
from coalloc.workloads.weeks.spec import WEEK

REPEATS = 3


def processor_seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least processor time of a call, s."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def merged(spec: Path, folder: Path) -> str:
    """Merge the traces in a process of its own; return the row that says what that took."""
    command = [
        sys.executable,
        "-P",
        "-c",
        "from coalloc.cli import main; main()",
        "merge",
        str(spec),
        "-o",
        str(folder),
        "-q",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * 1024 / 1e6
    return f"| `coalloc merge {spec.name}` | {used.ru_utime + used.ru_stime:.1f} s, {peak:.0f} MB at most |"


def strategy_rows(week: Instance) -> Iterator[str]:
    """Yield a row per strategy: jobs per processor second, sites switched off and on."""
    for name, strategy in STRATEGIES.items():
        seconds = processor_seconds(
            lambda name=name: coalloc.simulate(week, "grid", strategy=name, power_management=True)
        )
        yield f"| {strategy.level} | `{name}` | {len(week.jobs) / seconds:,.0f} |"


def joined(weeks: Sequence[Instance]) -> Instance:
    """Return one instance of all weeks, one after the other."""
    jobs = [
        job.replace(id=f"{number}-{job.id}", arrival=job.arrival + number * WEEK)
        for number, week in enumerate(weeks)
        for job in week.jobs
    ]
    return weeks[0].replace(jobs=jobs)


def meter_row(weeks: Sequence[Instance]) -> str:
    """Return how long it takes to meter all weeks in one."""
    instance = joined(weeks)
    schedule = coalloc.simulate(instance, "grid", strategy="MaxAR_v", power_management=True).schedule
    seconds = processor_seconds(lambda: coalloc.energy(instance, schedule, power_management=True))
    return f"| metering {len(schedule):,} placements of `MaxAR_v` | {seconds:.2f} s |"


def page(spec: Path, number: int) -> Iterator[str]:
    """Yield the lines of the results."""
    with tempfile.TemporaryDirectory() as folder:
        yield "# Speed on weeks of a grid"
        yield ""
        yield f"Made with {code_sentence(['python', 'numpy'])}, on a machine shared with other work."
        yield ""
        yield "| what | processor time |\n|---|---|"
        yield merged(spec, Path(folder))
        weeks = [coalloc.read_instance(path) for path in sorted(Path(folder).glob("week-*.json.gz"))]
        yield meter_row(weeks)
        week = weeks[number - 1]
        yield ""
        yield f"Jobs per processor second on {week.name} ({len(week.jobs)} jobs), with power management:"
        yield ""
        yield "| level | strategy | jobs/s |\n|---|---|---:|"
        yield from strategy_rows(week)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("spec", type=Path, help="specification of a merge")
    parser.add_argument(
        "--week", type=int, default=26, help="week on which the strategies run (default 26, the busiest)"
    )
    parser.add_argument("-o", "--output", type=Path, help="page to write as well")
    options = parser.parse_args(arguments)
    show(page(options.spec, options.week), options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
