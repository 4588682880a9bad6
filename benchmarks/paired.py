"""What a change makes slower: fixed workloads on two checkouts, in turns, in CPU seconds.

The base is checked out and built in a folder that is removed at the end. Each checkout has one process, in which every
workload runs once in each round; the order alternates, so that other load on the machine strikes both alike. The
instances of a round are drawn with its number as seed. The first round loads libraries, and does not count; five more
run in any case, so that there are intervals.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from checker import example as greedy_schedule

import coalloc
from coalloc.bench.statistics import mean_ratio
from coalloc.measures.intervals import LEAST_SAMPLES, ConfidenceInterval

ROOT = Path(__file__).resolve().parents[1]
MINUTES = 10.0
NOISE = 0.02
"""Two builds of the same code differ by as much."""
LIMIT = 30.0
"""Seconds for one solve. Nothing should come near it: CPU seconds say little of a search that is cut off."""

Workload = Callable[[int], Callable[[], object]]
"""Makes what a seed stands for, and returns what is measured."""


def many(solve_one: Callable[[int], object], number: int, seed: int) -> Callable[[], object]:
    """Return what solves a number of instances, none of which another seed has."""
    return lambda: [solve_one(seed * number + k) for k in range(number)]


def solves(jobs: int, number: int, **options: Any) -> Workload:
    """Return solves of the instances of the thesis."""

    def one(seed: int) -> object:
        return coalloc.solve(coalloc.generate("thesis-oas", seed=seed, jobs=jobs), time_limit=LIMIT, **options)

    return functools.partial(many, one, number)


def one_cluster(seed: int) -> object:
    """Solve 16 jobs on ten identical processors."""
    rng = np.random.default_rng(seed)
    platform = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(10, power=1.0)], link_bandwidth=125.0)])
    sizes = zip(rng.integers(1, 8, 16).tolist(), rng.integers(10, 100, 16).tolist(), strict=True)
    jobs = [coalloc.Job(f"J{j}", tasks, float(seconds)) for j, (tasks, seconds) in enumerate(sizes)]
    return coalloc.solve(coalloc.Instance(platform, jobs), time_limit=LIMIT)


def least_energy(seed: int) -> object:
    """Solve for the least energy on two nodes."""
    instance = coalloc.generate("pcbe", seed=seed, jobs=5)
    return coalloc.solve(instance, objective="energy", scope="node", time_limit=LIMIT)


def large_list(seed: int) -> Callable[[], object]:
    """Return the list schedules of 500 jobs."""
    instance = coalloc.generate("thesis-oas", seed=seed, jobs=500, nodes=166)
    return lambda: coalloc.solve(instance, slot="5%", methods=["list schedule"], time_limit=LIMIT)


def simulation(policy: str, jobs: int) -> Workload:
    """Return runs of a policy on a synthetic log."""

    def make(seed: int) -> Callable[[], object]:
        instance = coalloc.generate("lublin", seed=seed, jobs=jobs)
        return lambda: coalloc.simulate(instance, policy)

    return make


def checking(_: int) -> Callable[[], object]:
    """Return the check of 10,000 placements."""
    instance, schedule = greedy_schedule(10_000, 1e6)
    return lambda: coalloc.check(instance, schedule)


def reading(seed: int) -> Callable[[], object]:
    """Return the reading of an instance of 5,000 jobs from its file."""
    path = Path(tempfile.gettempdir(), f"coalloc-paired-{os.getpid()}.json")
    coalloc.write_instance(coalloc.generate("lublin", seed=seed, jobs=5_000), path)

    def read() -> None:
        coalloc.read_instance(path)
        path.unlink()

    return read


def start_up(_: int) -> Callable[[], object]:
    """Return a start of the shell that solves an example."""
    command = [sys.executable, "-m", "coalloc", "solve", "example:pas-figure-3.3", "--slot", "50", "-q"]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


WORKLOADS: Mapping[str, Workload] = {
    "8 jobs, slots": solves(8, 8, slot="15%"),
    "8 jobs, continuous time": solves(8, 8),
    "12 jobs, slots": solves(12, 8, slot="15%"),
    "20 jobs, slots": solves(20, 2, slot="15%"),
    "8 jobs, total response time": solves(8, 8, slot="15%", objective="total-response-time"),
    "16 jobs on one cluster": functools.partial(many, one_cluster, 1),
    "least energy, 5 jobs": functools.partial(many, least_energy, 1),
    "list of 500 jobs": large_list,
    "EASY, 3,000 jobs": simulation("easy", 3_000),
    "conservative, 1,500 jobs": simulation("conservative", 1_500),
    "MESD, 2,000 jobs": simulation("mesd", 2_000),
    "check of 10,000 placements": checking,
    "file of 5,000 jobs": reading,
    "start of the shell": start_up,
}


# ------------------------------------------------------------------------------ processes


def serve() -> None:
    """Measure each workload that a line of the standard input names, with its seed."""
    print(Path(coalloc.__file__).parents[1], flush=True)
    for line in sys.stdin:
        name, seed = json.loads(line)
        call = WORKLOADS[name](seed)
        began = cpu_seconds()
        call()
        print(json.dumps(cpu_seconds() - began), flush=True)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, and of its processes that have ended."""
    return time.process_time() + sum(os.times()[2:4])


@contextmanager
def process(checkout: Path) -> Iterator[Callable[[str, int], float]]:
    """Yield what measures a workload with a seed in a process that runs a checkout."""
    command = [sys.executable, __file__, "--serve"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        into, answers = worker.stdin, worker.stdout
        loaded = answers.readline().strip()
        if loaded != str(checkout):
            raise SystemExit(f"{checkout} is not what its process imports: {loaded or 'nothing'}")

        def measure(name: str, seed: int) -> float:
            into.write(json.dumps([name, seed]) + "\n")
            into.flush()
            answer = answers.readline()
            if not answer:
                raise SystemExit(f"{name} failed in {checkout}")
            return float(answer)

        yield measure
        into.close()


@contextmanager
def checked_out(base: str) -> Iterator[Path]:
    """Yield a checkout of a commit, with the engine built."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "base"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", folder, base], check=True, cwd=ROOT)
        try:
            subprocess.run([sys.executable, "hatch_build.py"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
            yield folder
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], check=True, cwd=ROOT)


# ------------------------------------------------------------------------------ figures


def measure_in_turns(base: Path, names: Sequence[str], minutes: float) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds before and after, of each workload in each round until the time is up."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with process(base) as before, process(ROOT) as after:
        until, seed = time.monotonic() + 60.0 * minutes, 0
        while seed <= LEAST_SAMPLES or time.monotonic() < until:
            for name in names:
                runs = [before, after]
                if seed % 2:
                    runs.reverse()
                pair = [measure(name, seed) for measure in runs]
                if seed % 2:
                    pair.reverse()
                if seed:
                    found[name].append((pair[0], pair[1]))
            seed += 1
    return found


def verdict(ratios: Mapping[str, ConfidenceInterval]) -> tuple[list[str], list[str]]:
    """Return what got slower, and what faster, by more than the noise in the whole interval."""
    slower = [f"{name} ({r.mean:.2f})" for name, r in ratios.items() if r.low > 1.0 + NOISE]
    faster = [f"{name} ({r.mean:.2f})" for name, r in ratios.items() if r.high < 1.0 / (1.0 + NOISE)]
    return slower, faster


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("base", help="commit to compare with, such as main")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"default {MINUTES:g}")
    parser.add_argument("--only", default="", help="only the workloads whose name contains this")
    options = parser.parse_args(arguments)
    names = [name for name in WORKLOADS if options.only in name]
    with checked_out(options.base) as base:
        found = measure_in_turns(base, names, options.minutes)
    print(f"{'CPU seconds of one round':<30} {'before':>8} {'after':>8} {'ratio':>6}  95 % interval")
    ratios: dict[str, ConfidenceInterval] = {}
    for name, pairs in found.items():
        interval = mean_ratio([after / before for before, after in pairs], np.random.default_rng(0))
        assert interval is not None
        ratios[name] = interval
        before, after = np.mean(pairs, axis=0)
        bounds = f"{interval.low:.3f} to {interval.high:.3f}"
        print(f"{name:<30} {before:8.3f} {after:8.3f} {interval.mean:6.3f}  {bounds}, {interval.samples} rounds")
    slower, faster = verdict(ratios)
    print(f"faster: {', '.join(faster) or 'nothing'}; slower: {', '.join(slower) or 'nothing'}")
    return 1 if slower else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
