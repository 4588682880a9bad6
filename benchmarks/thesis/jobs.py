"""The jobs of the experiments as Figures 3.5 and 3.28 of the thesis show its own, compared with the printed numbers.

    python benchmarks/thesis/jobs.py

Draws and reads alone, nothing is scheduled. Without the log of HPC2N the first of the two is made.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from experiment import experiment
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from workloads import TRACES, has_trace

from coalloc import Instance, Job
from coalloc.bench.tables import Table, markdown
from coalloc.documents import palette
from coalloc.documents.storage import write_atomically
from coalloc.measures.intervals import mean_interval
from coalloc.plot.axes import label, new_figure, series_style, title
from coalloc.plot.pictures import write_figure
from coalloc.workloads.communication import MB_PER_GB
from coalloc.workloads.generators.pas import ThesisPas

RESULTS = Path(__file__).resolve().parent / "results"
PAS, MESD = "pas-allocation", "mesd-large"
LINES = ("-", "--", ":")
"""How the slices of HPC2N are told apart where colours do not print."""

Line = tuple[str, str, str, Sequence[float]]
"""What is measured, what the thesis says, the unit, and a value for each seed or slice."""


def instances_of(name: str) -> list[Instance]:
    """Return the instances of an experiment that differ in their jobs: one for each seed, or slice of a trace."""
    workload, seeds = experiment(name).workload, range(1, experiment(name).seeds + 1)
    if workload.kind == "trace":
        return [workload.instance(point, 1) for point in workload.points()]
    return [workload.instance(workload.points()[0], seed) for seed in seeds]


def bisection_bandwidth(job: Job) -> float:
    """Return BSBW in GB/s of a job of two tasks or more. Source: thesis, Table 3.2."""
    return job.task_bandwidth * job.tasks**2 / (4 * (job.tasks - 1)) / MB_PER_GB


def is_power_of_two(tasks: int) -> bool:
    """Tell whether a number of tasks is one."""
    return tasks & (tasks - 1) == 0


# --- numbers ------------------------------------------------------------------------------------------


def pas_lines(instances: Sequence[Instance]) -> Iterator[Line]:
    """Yield what Table 3.2 says of the jobs, and what ours have."""
    yield "mean reference run time", "170", "s", [mean_base_time(one) for one in instances]
    yield "mean time between arrivals", "", "s", [float(gaps(one).mean()) for one in instances]
    yield "tasks of a job, mean", "", "", [mean_tasks(one) for one in instances]
    powers = [share(one, lambda job: is_power_of_two(job.tasks)) for one in instances]
    yield "jobs whose tasks are a power of two", "they prevail", "%", powers


def mesd_lines(instances: Sequence[Instance]) -> Iterator[Line]:
    """Yield what section 3.3.5.2 says of the jobs, and what the slices have."""
    yield "mean reference run time", "15,520", "s", [mean_base_time(one) for one in instances]
    yield "tasks of a job, mean", "9", "", [mean_tasks(one) for one in instances]
    yield "serial jobs", "a notable number", "%", [share(one, lambda job: job.tasks == 1) for one in instances]
    narrow = [share(one, lambda job: job.tasks > 1 and bisection_bandwidth(job) < 0.1) for one in instances]
    parallel = [share(one, lambda job: job.tasks > 1) for one in instances]
    below = [100.0 * some / all_ for some, all_ in zip(narrow, parallel, strict=True)]
    yield "parallel jobs with BSBW below 0.1 GB/s", "a large part", "%", below
    yield "mean time between arrivals", "", "s", [float(gaps(one).mean()) for one in instances]


def mean_base_time(instance: Instance) -> float:
    """Return the mean base time, s."""
    return float(np.mean([job.base_time for job in instance.jobs]))


def mean_tasks(instance: Instance) -> float:
    """Return the mean number of tasks."""
    return float(np.mean([job.tasks for job in instance.jobs]))


def gaps(instance: Instance) -> NDArray[np.float64]:
    """Return the times between arrivals, s."""
    return np.diff(sorted(job.arrival for job in instance.jobs))


def share(instance: Instance, holds: Callable[[Job], bool]) -> float:
    """Return of how many jobs something holds, %."""
    return 100.0 * float(np.mean([holds(job) for job in instance.jobs]))


def table_of(lines: Iterator[Line], unit: str) -> str:
    """Return the numbers as a table in Markdown, with intervals over seeds or slices."""
    found = [(says, said, measured, mean_interval(values)) for says, said, measured, values in lines]
    rows = [
        (f"{says}, {measured}" if measured else says, said, f"{i.mean:.4g}", f"{i.low:.4g} to {i.high:.4g}", i.samples)
        for says, said, measured, i in found
    ]
    return markdown(Table.of(("quantity", "thesis", "here", "95 % interval", unit), rows))


# --- pictures -----------------------------------------------------------------------------------------


def pas_picture(instances: Sequence[Instance]) -> Figure:
    """Figure 3.5: times between arrivals, tasks, base times."""
    figure, (between, sizes, times) = new_figure(7.2, 2.6, columns=3)
    drawn = ThesisPas()
    pooled = np.concatenate([gaps(one) for one in instances])
    steps(between, pooled, "sampled", 0)
    weibull(between, pooled.max(), drawn.interarrival_scale, drawn.interarrival_shape)
    title(between, "Between arrivals")
    label(between, "s", "share of the jobs")
    between.legend(frameon=False, fontsize=7, loc="lower right")
    tasks = np.concatenate([[job.tasks for job in one.jobs] for one in instances])
    histogram(sizes, tasks, np.arange(0.5, 65.5), palette.BASE[5])
    title(sizes, "Tasks")
    label(sizes, "tasks of a job", "share of the jobs, %")
    base_times = np.concatenate([[job.base_time for job in one.jobs] for one in instances])
    steps(times, base_times, "sampled", 0)
    weibull(times, base_times.max(), drawn.base_time_scale, drawn.base_time_shape)
    title(times, "Reference run times")
    label(times, "s", "share of the jobs")
    return figure


def mesd_picture(instances: Sequence[Instance]) -> Figure:
    """Figure 3.28: base times, tasks, BSBW and arrivals."""
    figure, (times, sizes, traffic, arrivals) = new_figure(7.2, 5.0, columns=2, rows=2)
    hours = np.concatenate([[job.base_time / 3600.0 for job in one.jobs] for one in instances])
    histogram(times, hours, np.append(np.arange(0.0, 49.0, 2.0), hours.max()), palette.BASE[5])
    times.set_xlim(0.0, 50.0)
    title(times, "Reference run times")
    label(times, "h, classes of 2; the last has all beyond 48", "share of the jobs, %")
    tasks = np.concatenate([[job.tasks for job in one.jobs] for one in instances])
    histogram(sizes, tasks, np.arange(0.5, 65.5), palette.BASE[5])
    title(sizes, "Tasks")
    label(sizes, "tasks of a job (larger ones not shown)", "share of the jobs, %")
    asked = np.concatenate([[bisection_bandwidth(job) for job in one.jobs if job.tasks > 1] for one in instances])
    histogram(traffic, asked, np.linspace(0.0, 0.13, 14), palette.BASE[5])
    title(traffic, "Communication")
    label(traffic, "BSBW of parallel jobs, GB/s", "share of the parallel jobs, %")
    for number, one in enumerate(instances):
        found = np.sort([job.arrival for job in one.jobs])
        shares = np.arange(1, len(found) + 1) / len(found)
        colour = series_style(number)["color"]
        days = (found - found[0]) / 86400.0
        arrivals.plot(
            days, shares, linestyle=LINES[number % 3], color=colour, linewidth=1.4, label=f"slice {number + 1}"
        )
    title(arrivals, "Arrivals")
    label(arrivals, "days since the first", "share of the jobs")
    arrivals.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def histogram(ax: Axes, values: NDArray[np.float64], edges: NDArray[np.float64], colour: str) -> None:
    """Draw how many percent of the values lie in each class; the last bar is as wide as the others."""
    counts, _ = np.histogram(values, edges)
    ax.bar(edges[:-1], 100.0 * counts / len(values), 0.9 * np.diff(edges)[0], align="edge", color=colour)


def steps(ax: Axes, values: NDArray[np.float64], text: str, number: int) -> None:
    """Draw the distribution function of values."""
    found = np.sort(values)
    shares = np.arange(1, len(found) + 1) / len(found)
    ax.step(found, shares, where="post", color=series_style(number)["color"], linewidth=1.8, label=text)


def weibull(ax: Axes, most: float, scale: float, shape: float) -> None:
    """Draw the distribution function of a Weibull, dashed."""
    places = np.linspace(0.0, most, 200)
    ax.plot(
        places, 1.0 - np.exp(-((places / scale) ** shape)), "--", color=palette.INK, linewidth=1.0, label="Table 3.2"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--traces", type=Path, help=f"folder of the logs (default: that of {TRACES})")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the page and the pictures")
    options = parser.parse_args(arguments)
    if options.traces is not None:
        os.environ[TRACES] = str(options.traces.resolve())
    folder = options.output
    pas = instances_of(PAS)
    parts = [
        "# The jobs of the experiments",
        "",
        "Figures 3.5 and 3.28 of the thesis, made with `python benchmarks/thesis/jobs.py`.",
        "",
        "## PAS: 100 jobs",
        "",
        table_of(pas_lines(pas), "seeds"),
        "",
        "![Times between arrivals, tasks and reference run times](pas-jobs.png)",
    ]
    write_figure(pas_picture(pas), folder / "pas-jobs.png")
    if has_trace():
        mesd = instances_of(MESD)
        text = "![Reference run times, tasks, communication and arrivals](mesd-jobs.png)"
        parts += ["", "## MESD: three slices of HPC2N", "", table_of(mesd_lines(mesd), "slices"), "", text]
        write_figure(mesd_picture(mesd), folder / "mesd-jobs.png")
    write_atomically(folder / "jobs.md", "\n".join(parts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
