"""Seconds and memory that reading a trace takes, and seconds of writing it again.

Each trace is read in a process of its own. Memory is the resident set: what the jobs add to the loaded library when
reading is done, and the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import coalloc
from coalloc.workloads.swf_writing import write_swf_with_report

PROCESSORS = 100_000
"""Large enough for every job of every trace."""


def resident_bytes() -> int:
    """Return the memory of this process now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measure(trace: str) -> dict[str, float]:
    """Read and write one trace in this process."""
    logging.disable(logging.WARNING)
    _ = coalloc.read_swf  # loads the library
    before = resident_bytes()
    began = time.process_time()
    instance = coalloc.read_swf(trace, processors=PROCESSORS)
    read = time.process_time()
    after = resident_bytes()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.swf")
        wrote = time.process_time()
        write_swf_with_report(instance, copy)
        written = time.process_time()
        again = coalloc.read_swf(copy, processors=PROCESSORS, name=instance.name)
    return {
        "jobs": len(instance.jobs),
        "read": read - began,
        "write": written - wrote,
        "bytes": (after - before) / len(instance.jobs),
        "peak": peak / 1e6,
        "same": sorted(again.jobs, key=lambda job: job.id) == sorted(instance.jobs, key=lambda job: job.id),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("traces", nargs="+", help=".swf or .swf.gz")
    parser.add_argument("--here", action="store_true", help="one trace, in this process, as JSON")
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(measure(options.traces[0])))
        return 0
    print("| trace | jobs | read, s (CPU) | write, s (CPU) | bytes per job | peak, MB | read back the same |")
    print("|---|---|---|---|---|---|---|")
    for trace in options.traces:
        command = [sys.executable, __file__, "--here", trace]
        got = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        times = f"{got['read']:.1f} | {got['write']:.1f}"
        same = "yes" if got["same"] else "no"
        row = f"{got['jobs']:,} | {times} | {got['bytes']:.0f} | {got['peak']:.0f} | {same}"
        print(f"| {Path(trace).name} | {row} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
