"""The figures of the pages of docs/features, made with coalloc itself: python docs/making/feature_figures.py.

Each function returns one figure of the instance of its section: left without the feature, right with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import coalloc
from coalloc import Cluster, Fixed, Instance, Job, NodeGroup, Platform, RunningJob, Schedule, Shape, Window

IMAGES = Path(__file__).parents[1] / "images"
INK = "#22252B"
STEPS, MOST_TICKS = (50, 100, 200, 300), 7

Case = tuple[str, Instance, Schedule]
"""What is said below a chart, and what is drawn in it."""


def side_by_side(left: Case, right: Case, last: float, height: float = 2.6) -> Figure:
    """Return two charts over the same time, until ``last`` (s)."""
    figure = Figure(figsize=(8.0, height), layout="constrained")
    for ax, (words, instance, schedule) in zip(figure.subplots(1, 2), (left, right), strict=True):
        coalloc.gantt(instance, schedule, ax=ax, unit="s")
        ax.set_title("", loc="left")
        step = next(step for step in STEPS if last / step <= MOST_TICKS)
        ax.set(xlim=(0.0, last), xlabel=f"{words}: time, s", xticks=range(0, int(last) + 1, step))
        ax.tick_params(axis="x", which="minor", length=0)
        ax.grid(visible=False, which="minor", axis="x")
    return figure


def solved(instance: Instance, **options: Any) -> Schedule:
    """Return an optimal schedule."""
    result = coalloc.solve(instance, **options)
    assert result.status == "optimal", result.status
    return result.schedule


def two_nodes(*jobs: Job, windows: tuple[Window, ...] = (), running: tuple[RunningJob, ...] = ()) -> Instance:
    """Return jobs on a cluster of two equal nodes."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 125.0)], unavailable=windows)
    return Instance(platform, jobs, running=running)


def mark(ax: Axes, seconds: float, words: str) -> None:
    """Mark a time of a chart."""
    ax.axvline(seconds, color=INK, linestyle="--", linewidth=1.5)
    ax.annotate(words, (seconds, 1.0), (3, -3), xycoords=("data", "axes fraction"), textcoords="offset points",
                va="top", fontsize=9, color=INK)  # fmt: skip


def deadline() -> Figure:
    """The report has to end by 180 s: it comes before the long job."""
    long, report = Job("long", 2, 600.0), Job("report", 1, 120.0)
    free, due = two_nodes(long, report), two_nodes(long, report.replace(deadline=180.0))
    run = coalloc.simulate(free, policy="fcfs").schedule
    figure = side_by_side(("FCFS", free, run), ("deadline at 180 s", due, solved(due)), 740.0)
    mark(figure.axes[1], 180.0, "deadline")
    return figure


def after() -> Figure:
    """Solve comes after mesh, and plot after solve."""
    jobs = [Job("mesh", 1, 100.0), Job("solve", 2, 300.0), Job("plot", 1, 50.0)]
    free = two_nodes(*jobs)
    bound = two_nodes(jobs[0], jobs[1].replace(after=["mesh"]), jobs[2].replace(after=["solve"]))
    return side_by_side(("no precedence", free, solved(free)), ("with precedence", bound, solved(bound)), 470.0)


def requires() -> Figure:
    """Two jobs may use the one node with a GPU alone."""
    groups = [NodeGroup(4, power=1.0), NodeGroup(1, power=1.0, features=["gpu"])]
    platform = Platform([Cluster("C1", groups, link_bandwidth=125.0)])
    jobs = [Job("train", 1, 600.0), Job("infer", 1, 100.0), Job("cpu", 3, 600.0)]
    free = Instance(platform, jobs)
    bound = Instance(platform, [*(job.replace(requires=["gpu"]) for job in jobs[:2]), jobs[2]])
    return side_by_side(
        ("any node", free, solved(free)), ("train and infer require a GPU (C1/4)", bound, solved(bound)), 720.0
    )


def times() -> Figure:
    """By reference run time both jobs are alike; by their times each has a node that suits it."""
    groups = [NodeGroup(1, power=1.0, features=["a100"]), NodeGroup(1, power=1.0, features=["v100"])]
    platform = Platform([Cluster("C1", groups, link_bandwidth=125.0)])
    jobs = [Job("resnet", 1, 300.0), Job("lstm", 1, 300.0)]
    named = [{"a100": 120.0, "v100": 310.0}, {"a100": 200.0, "v100": 220.0}]
    free = Instance(platform, jobs)
    timed = Instance(platform, [job.replace(times=of_job) for job, of_job in zip(jobs, named, strict=True)])
    return side_by_side(
        ("reference run time", free, solved(free)), ("run times per GPU type", timed, solved(timed)), 320.0, 2.2
    )


def shapes() -> Figure:
    """As rigid jobs, and in the best of their modes."""
    platform = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)])
    jobs = [
        Job("cfd", 2, 100.0, shapes=[Shape(4, 60.0), Shape(1, 180.0)]),
        Job("render", 3, 90.0, shapes=[Shape(1, 200.0)]),
    ]
    rigid = Instance(platform, [job.replace(shapes=()) for job in jobs])
    free = Instance(platform, jobs)
    return side_by_side(("rigid", rigid, solved(rigid)), ("moldable: cfd uses 4 tasks", free, solved(free)), 200.0)


def resources() -> Figure:
    """Four jobs, two of which need the only license, under power caps: who runs when, and what is taken."""
    gpus = NodeGroup(2, power=1.0, cores=4, resources={"gpus": 2})
    clusters = [
        Cluster("C1", [gpus], 125.0, resources={"watts": 500}),
        Cluster("C2", [NodeGroup(4, power=1.0)], 125.0, resources={"watts": 300}),
    ]
    jobs = [
        Job("train", 2, 300.0, task_resources={"gpus": 1, "watts": 150}),
        Job("infer", 2, 200.0, task_resources={"gpus": 1, "watts": 100}),
        Job("mesh", 2, 100.0, resources={"licenses": 1}, task_resources={"watts": 50}),
        Job("flow", 4, 100.0, resources={"licenses": 1}, task_resources={"watts": 50}),
    ]
    instance = Instance(Platform(clusters, resources={"licenses": 1}), jobs)
    return coalloc.gantt(instance, solved(instance), title="Four jobs, a license, and two power caps")


def unavailable() -> Figure:
    """Two nodes are not there from 300 s to 900 s: no job overlaps that."""
    window = Window("C1", start=300.0, end=900.0, nodes=["C1/0-1"])
    clusters = [Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)]
    jobs = [Job("wide", 4, 400.0), Job("narrow", 2, 500.0), Job("short", 2, 250.0)]
    free = Instance(Platform(clusters), jobs)
    closed = Instance(Platform(clusters, unavailable=[window]), jobs)
    return side_by_side(
        ("no window", free, solved(free, slot=50.0)), ("maintenance window", closed, solved(closed, slot=50.0)), 1350.0
    )


def start() -> Figure:
    """A running job that starts at 300 s: what would run into it waits, or is short enough."""
    jobs = [Job("long", 1, 320.0), Job("short", 1, 290.0)]
    demo = RunningJob(Job("demo", 2, 60.0), ["C1/0", "C1/1"], end=360.0, start=300.0)
    free, reserved = two_nodes(*jobs), two_nodes(*jobs, running=(demo,))
    return side_by_side(
        ("no reservation", free, solved(free, slot=10.0)),
        ("advance reservation", reserved, solved(reserved, slot=10.0)),
        720.0,
    )


def fixed() -> Figure:
    """The optimum, and the best schedule with demo and test fixed."""
    clusters = [Cluster(name, [NodeGroup(2, power=1.0)], link_bandwidth=125.0) for name in ("C1", "C2")]
    jobs = [Job("demo", 2, 60.0), Job("batch", 3, 100.0), Job("test", 1, 50.0)]
    instance = Instance(Platform(clusters), jobs)
    kept = [Fixed("demo", start=120.0, nodes=["C2/0-1"]), Fixed("test", within=["C1"])]
    return side_by_side(
        ("optimum", instance, solved(instance, slot=10.0)),
        ("demo fixed at 120 s on C2", instance, solved(instance, slot=10.0, fixed=kept)),
        200.0,
    )


FIGURES: Mapping[str, Callable[[], Figure]] = {
    "feature-deadline": deadline,
    "feature-precedence": after,
    "feature-eligibility": requires,
    "feature-run-times": times,
    "feature-moldable": shapes,
    "feature-licenses": resources,
    "feature-maintenance": unavailable,
    "feature-reservation": start,
    "feature-fixed": fixed,
}


def main() -> None:
    """Write all figures."""
    with mpl.rc_context({"font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False}):
        for name, draw in FIGURES.items():
            draw().savefig(IMAGES / f"{name}.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
