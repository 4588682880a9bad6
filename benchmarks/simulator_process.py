"""One sample of simulator.py, in a process that loads nothing else: memory is measured from its start.

The sample comes as JSON in the only argument; what was measured goes to standard output as JSON.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import coalloc
from coalloc.checker import check
from coalloc.heuristics.registry import policy_named
from coalloc.measures.metrics import metrics
from coalloc.problem.allocation import node_classes
from coalloc.schedule import Schedule
from coalloc.simulator.engine import Engine, Run
from coalloc.simulator.policy import Policy, Start, State, Wake
from coalloc.simulator.simulation import schedule_of_run
from coalloc.simulator.site import Partition

TRACES: Mapping[str, tuple[str, int]] = {
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", 240),
    "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
}
"""File and processors of each trace."""
LUBLIN = "lublin"
"""The synthetic trace that stands in where there are no others, and its processors."""
LUBLIN_PROCESSORS = 256
LARGE = "large-platform"
POOL, THREE_CLUSTERS, AT_ONCE = "pool", "three-clusters", "at-once"
MADE_UP: Mapping[str, tuple[int, ...]] = {
    LARGE: (100_000,),
    POOL: (999,),
    THREE_CLUSTERS: (333, 333, 333),
    AT_ONCE: (512,),
}
"""Processors of each cluster of made-up traces. Jobs have one to all of them; those of ``AT_ONCE`` arrive at 0 s."""
CLUSTERS, CLUSTER_SIZE = 4, 60
MESD_QUEUES = 20
PROGRAMS: Mapping[str, str] = {"bare": "bare_easy", "simpy": "simpy_easy"}
"""Modules of other programs of EASY, by kind."""
LIMIT = 900.0
"""Seconds that AccaSim gets."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: what is measured, on the first ``num_jobs`` of which trace, under which policy."""

    kind: str
    trace: str
    policy: str
    num_jobs: int
    run: int
    folder: str
    peer: str = ""
    offered_load: float = 0.0
    """The load to which arrivals are pulled together, 0 for those of the trace."""


def measure(sample: Sample) -> Row:
    """Measure one sample in this process; times in s, memory in MB, rate in jobs per CPU second."""
    logging.disable(logging.WARNING)
    load = os.getloadavg()[0]
    if sample.policy not in coalloc.policies():
        return {"status": "skipped", "message": f"there is no policy {sample.policy!r} yet"}
    return {"status": "measured", "load": load, **MEASURES[sample.kind](sample)}


class Phases:
    """CPU and wall seconds of phases, and the peak memory up to their ends."""

    def __init__(self) -> None:
        self.row: dict[str, float] = {}

    def run(self, phase: str, function: Callable[[], Any]) -> Any:
        """Return what the function returns."""
        wall, cpu = time.perf_counter(), time.process_time()
        value = function()
        self.row[f"{phase}_cpu"] = time.process_time() - cpu
        self.row[f"{phase}_wall"] = time.perf_counter() - wall
        self.row[f"{phase}_peak"] = peak_memory()
        return value


def peak_memory() -> float:
    """Return the peak resident memory of this process, MB (Linux; ``ru_maxrss`` begins with that of the parent)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def replay(sample: Sample) -> Row:
    """Read, simulate, check."""
    phases, policy = Phases(), policy_named(sample.policy, {})
    instance = phases.run("read", lambda: read(sample))
    run = phases.run("engine", Engine(instance, [Partition(policy)]).run)
    schedule, values = phases.run("measure", lambda: measured(instance, run))
    for clock in ("cpu", "wall"):
        phases.row[f"simulate_{clock}"] = phases.row[f"engine_{clock}"] + phases.row.pop(f"measure_{clock}")
    phases.row["simulate_peak"] = phases.row.pop("measure_peak")
    violations = phases.run("check", lambda: check(instance, schedule, links="shared", scope=policy.scope))
    num_jobs = len(instance.jobs)
    return {
        **phases.row,
        "status": "invalid" if violations else "measured",
        "jobs": num_jobs,
        "rate": num_jobs / phases.row["simulate_cpu"],
        "wait_mean": values["wait_mean"],
    }


def simulate(instance: coalloc.Instance, policy: Policy) -> tuple[Schedule, Mapping[str, float]]:
    """Return the schedule and its metrics, as ``coalloc.simulate`` does before it checks them."""
    return measured(instance, Engine(instance, [Partition(policy)]).run())


def measured(instance: coalloc.Instance, run: Run) -> tuple[Schedule, Mapping[str, float]]:
    """Return the schedule of a run, its nodes named, and its metrics."""
    schedule = schedule_of_run(instance, run)
    return schedule, metrics(instance, schedule)


def bare(sample: Sample) -> Row:
    """Time a program with nothing around it, and compare its starts with those of the engine."""
    phases, instance = Phases(), read(sample)
    jobs = [(job.arrival, job.base_time, job.tasks, job.estimate) for job in instance.jobs]
    program = importlib.import_module(PROGRAMS[sample.kind]).easy
    starts = phases.run("engine", lambda: program(jobs, instance.platform.num_processors))
    ours = Engine(instance, [Partition(policy_named(sample.policy, {}))]).run().starts
    same = sum(a == b for a, b in zip(starts, ours, strict=True)) / len(jobs)
    return {**phases.row, "jobs": len(jobs), "rate": len(jobs) / phases.row["engine_cpu"], "same_starts": same}


def made_up(name: str, num_jobs: int, load: float = 0.9) -> coalloc.Instance:
    """Return made-up jobs: tasks and run times (a minute to a day) by powers, estimates up to three times."""
    sizes, rng = MADE_UP[name], np.random.default_rng(1)
    tasks = np.exp(rng.uniform(0.0, np.log(sum(sizes)), num_jobs)).astype(int)
    run_times = np.exp(rng.uniform(np.log(60.0), np.log(86_400.0), num_jobs))
    estimates = run_times * rng.uniform(1.0, 3.0, num_jobs)
    arrivals = np.cumsum(rng.exponential(1.0, num_jobs))
    arrivals *= 0.0 if name == AT_ONCE else (tasks * run_times).sum() / sum(sizes) / load / arrivals[-1]
    columns = zip(tasks.tolist(), run_times.tolist(), arrivals.tolist(), estimates.tolist(), strict=True)
    jobs = [
        coalloc.Job(f"J{n}", size, base_time, arrival=arrival, estimate=estimate)
        for n, (size, base_time, arrival, estimate) in enumerate(columns)
    ]
    clusters = [
        coalloc.Cluster(f"C{c}", [coalloc.NodeGroup(size, power=1.0)], link_bandwidth=0.0)
        for c, size in enumerate(sizes, start=1)
    ]
    return coalloc.Instance(coalloc.Platform(clusters), jobs, name=name)


def read(sample: Sample, first: int = 0) -> coalloc.Instance:
    """Return jobs ``first`` to ``first + num_jobs`` of the trace, on one pool or (MESD) on four clusters."""
    instance = _as_in_the_trace(sample, first)
    return at_load(instance, sample.offered_load) if sample.offered_load else instance


def at_load(instance: coalloc.Instance, load: float) -> coalloc.Instance:
    """Return an instance with its arrivals pulled together until it offers a load."""
    first, last = instance.jobs[0].arrival, instance.jobs[-1].arrival
    work = sum(job.tasks * job.base_time for job in instance.jobs)
    factor = work / (
        load * (last - first) * sum(c.capacity * c.effective_power for c in node_classes(instance.platform))
    )
    return instance.replace(jobs=[job.replace(arrival=first + factor * (job.arrival - first)) for job in instance.jobs])


def _as_in_the_trace(sample: Sample, first: int) -> coalloc.Instance:
    if sample.trace == LUBLIN:
        return coalloc.generate("lublin", seed=1, jobs=sample.num_jobs, nodes=LUBLIN_PROCESSORS, clusters=1)
    if sample.trace in MADE_UP:
        return made_up(sample.trace, sample.num_jobs)
    file, processors = TRACES[sample.trace]
    part = f"{first}:{first + sample.num_jobs}" if sample.num_jobs else None
    path = Path(sample.folder, file)
    if sample.policy == "mesd":
        return coalloc.read_swf(path, platform=four_clusters(), slice=part)
    return coalloc.read_swf(path, processors=processors, slice=part)


def four_clusters() -> coalloc.Platform:
    """Return clusters of 60 nodes of powers 1.0, 0.9, 0.8 and 0.7."""
    return coalloc.Platform(
        tuple(
            coalloc.Cluster(f"C{c}", (coalloc.NodeGroup(CLUSTER_SIZE, power=1.0 - 0.1 * c),), link_bandwidth=1000.0)
            for c in range(CLUSTERS)
        )
    )


class Timed:
    """A policy whose decisions are timed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.scope = policy.scope
        self.seconds: list[float] = []

    def decide(self, state: State) -> list[Start | Wake]:
        """Return what the policy decides."""
        began = time.process_time()
        decisions = list(self._policy.decide(state))
        self.seconds.append(time.process_time() - began)
        return decisions


def first_decisions(sample: Sample) -> Row:
    """Time the first decision on each of several queues of ``num_jobs`` jobs, all there at time 0."""
    seconds = []
    for queue in range(MESD_QUEUES):
        instance = read(sample, first=queue * sample.num_jobs)
        jobs = tuple(job.replace(arrival=0.0) for job in instance.jobs)
        gc.collect()  # what reading has left to collect is no part of a decision
        seconds.append(timed_decisions(instance.replace(jobs=jobs), sample.policy)[0])
    return _decisions(seconds, sample.num_jobs)


def all_decisions(sample: Sample) -> Row:
    """Time every decision of a run over the workload of the thesis, 64 nodes."""
    instance = coalloc.generate("thesis-pas", seed=1, jobs=sample.num_jobs)
    return _decisions(timed_decisions(instance, sample.policy), sample.num_jobs)


def timed_decisions(instance: coalloc.Instance, policy: str) -> list[float]:
    """Return the CPU seconds of every decision of a run."""
    timed = Timed(policy_named(policy, {}))
    Engine(instance, [Partition(timed)]).run()
    return timed.seconds


def _decisions(seconds: Sequence[float], num_jobs: int) -> Row:
    return {
        "jobs": num_jobs,
        "decisions": len(seconds),
        "decision_median": statistics.median(seconds),
        "decision_max": max(seconds),
    }


def accasim(sample: Sample) -> Row:
    """Run AccaSim on the jobs as coalloc writes them, then compare its starts with those of coalloc."""
    instance = read(sample)
    with tempfile.TemporaryDirectory() as folder:
        trace, starts = Path(folder, "trace.swf"), Path(folder, "starts.txt")
        coalloc.io.write_swf(instance, trace)
        processors = str(instance.platform.num_processors)
        command = [
            sample.peer,
            str(Path(__file__).with_name("accasim_run.py")),
            str(trace),
            processors,
            sample.policy,
            str(LIMIT),
        ]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ran = subprocess.run([*command, str(starts)], capture_output=True, text=True, check=False, env=environment)
        if ran.returncode:
            return {"status": "crashed", "message": ran.stderr.strip().splitlines()[-1]}
        peer = json.loads(ran.stdout.splitlines()[-1])
        started = {job: float(start) for job, start in (line.split() for line in starts.read_text().splitlines())}
    schedule, values = simulate(instance, policy_named(sample.policy, {}))
    both = [(started[p.job], p.start) for p in schedule if p.job in started]
    return {
        "jobs": peer["jobs"],
        "simulate_cpu": peer["cpu"],
        "simulate_wall": peer["wall"],
        "simulate_peak": peer["peak"],
        "rate": peer["jobs"] / peer["cpu"],
        "same_starts": sum(theirs == ours for theirs, ours in both) / len(both),
        "peer_wait_mean": statistics.fmean(started[j.id] - j.arrival for j in instance.jobs if j.id in started),
        "wait_mean": values["wait_mean"],
    }


MEASURES: Mapping[str, Callable[[Sample], Row]] = {
    "replay": replay,
    "bare": bare,
    "simpy": bare,
    "accasim": accasim,
    "first-decisions": first_decisions,
    "all-decisions": all_decisions,
}


if __name__ == "__main__":
    print(json.dumps(measure(Sample(**json.loads(sys.argv[1])))))
