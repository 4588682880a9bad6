"""The figures of README.md and docs/concepts.md, made with coalloc itself: python docs/making/figures.py.

Each function returns one figure; numbers in the text of the page are those that it draws.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.extend import Start

IMAGES = Path(__file__).parents[1] / "images"
DAY = 86400.0
BLUE, ORANGE, GREEN, INK = "#0072B2", "#D55E00", "#009E73", "#22252B"


def two_clusters(bandwidth: float) -> Platform:
    """Return two clusters of four reference nodes."""
    return Platform([Cluster(name, [NodeGroup(4, power=1.0)], bandwidth) for name in ("C1", "C2")])


def coallocation() -> Figure:
    """Three jobs of 3, 3 and 2 tasks: within clusters the last one waits, over both it does not."""
    jobs = [Job("A", 3, 50.0), Job("B", 3, 50.0), Job("C", 2, 50.0)]
    instance = Instance(two_clusters(125.0), jobs)
    figure = Figure(figsize=(8.0, 3.1), layout="constrained")
    for ax, scope, allowed in zip(figure.subplots(1, 2), ("cluster", "platform"), ("one cluster", "all"), strict=True):
        coalloc.gantt(instance, coalloc.solve(instance, scope=scope).schedule, ax=ax)
        ax.set_title("", loc="left")  # beside the makespan there is no room
        ax.set(xlim=(0.0, 102.0), xlabel=f"a job may use {allowed}: time, s")
    return figure


def coallocation_readme() -> Figure:
    """The example of README.md: with one of five jobs on both clusters the makespan is 9 h; with none it is 12 h."""
    fast = Cluster("fast", [NodeGroup(4, power=1.0)], link_bandwidth=250.0)
    slow = Cluster("slow", [NodeGroup(4, power=0.5)], link_bandwidth=125.0)
    work = {"ocean": (3, 6), "crash": (3, 3), "genome": (2, 3), "fluid": (4, 3), "render": (2, 1)}
    jobs = [Job(name, tasks=n, base_time=3600.0 * h, task_bandwidth=115.0) for name, (n, h) in work.items()]
    instance = Instance(Platform([fast, slow]), jobs, name="Five jobs on two clusters")
    result = coalloc.solve(instance)
    assert (result.status, result.objective) == ("optimal", 9 * 3600.0), result
    assert coalloc.solve(instance, scope="cluster").objective == 12 * 3600.0
    return coalloc.gantt(instance, result.schedule)


class AsGiven:
    """Start each job at once on one node of each cluster."""

    scope = "platform"

    def decide(self, state):
        """Return all waiting jobs."""
        return [Start(job.id, (1, 1)) for job in state.queue]


def saturation() -> Figure:
    """Two jobs over links of 5 MB/s, each of which asks for 10: what the link carries, and how far the jobs are."""
    jobs = [
        Job("A", 2, 100.0, processing_share=0.5, task_bandwidth=10.0),
        Job("B", 2, 100.0, processing_share=0.5, task_bandwidth=10.0, arrival=75.0),
    ]
    run = coalloc.simulate(Instance(two_clusters(5.0), jobs), AsGiven())
    ends = [placement.end for placement in run.schedule]
    assert ends == [200.0, 275.0], ends  # worked out on the page
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.step([0, 75, 200, 275], [10, 20, 10, 10], where="post", color=INK, label="demand")
    above.axhline(5.0, color=ORANGE, linestyle="--", label="bandwidth")
    above.set(ylabel="link, MB/s", ylim=(0, 22))
    below.plot([0, 75, 200], [0, 0.5, 1], color=BLUE, label="A")
    below.plot([75, 200, 275], [0, 0.5, 1], color=GREEN, linestyle="--", label="B")
    below.set(xlabel="time, s", ylabel="share of the job completed", xlim=(0, 280), ylim=(0, 1.05))
    for ax in (above, below):
        ax.legend(loc="upper left" if ax is below else "upper right", frameon=False)
    return figure


def slot_error() -> Figure:
    """The optimum on grids of seven slot lengths, left-shifted, and the optimum in continuous time."""
    instance = coalloc.example("thesis-oas-1")
    table = coalloc.slot_study([instance], time_limit=20.0)
    best = coalloc.solve(instance).objective
    percent = [100 * fraction for fraction in table["fraction"]]
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    ax = figure.subplots()
    low, high = table["band_low"] / DAY, table["band_high"] / DAY
    ax.fill_between(percent, low, high, color=BLUE, alpha=0.15, label="certified band")
    ax.plot(percent, table["slotted"] / DAY, "o-", color=BLUE, label="slotted")
    ax.plot(percent, table["replayed"] / DAY, "s--", color=ORANGE, label="replayed: real ends")
    ax.plot(percent, table["compacted"] / DAY, "^:", color=GREEN, label="left-shifted")
    ax.axhline(best / DAY, color=INK, linewidth=0.8, label="optimum in continuous time")
    ax.set(xlabel="slot length, % of the mean reference run time", ylabel="makespan, d", ylim=(0, None))
    ax.legend(frameon=False, loc="lower right")
    return figure


def counting() -> Figure:
    """Five jobs on a class of four nodes: how many nodes are in use, and who gets which."""
    spans = [("A", 2, 0.0, 30.0), ("B", 1, 0.0, 50.0), ("C", 1, 10.0, 40.0), ("D", 2, 30.0, 60.0), ("E", 1, 40.0, 70.0)]
    jobs = [Job(name, tasks, end - start, arrival=start) for name, tasks, start, end in spans]
    instance = Instance(Platform([Cluster("C1", [NodeGroup(4, power=1.0)], 125.0)]), jobs)
    schedule = coalloc.simulate(instance, "fcfs").schedule
    assert [(p.job, len(p.nodes), p.start, p.end) for p in schedule] == spans
    figure = Figure(figsize=(8.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    instants = sorted({time for _, _, *span in spans for time in span})
    used = [sum(tasks for _, tasks, start, end in spans if start <= t < end) for t in instants]
    left.step(instants, used, where="post", color=BLUE)
    left.fill_between(instants, used, step="post", color=BLUE, alpha=0.2)
    left.axhline(4, color=ORANGE, linestyle="--", label="4 nodes")
    left.set(xlabel="how many: time, s", ylabel="nodes in use", ylim=(0, 5))
    left.legend(frameon=False, loc="lower left")
    coalloc.gantt(instance, schedule, ax=right)
    right.set_title("", loc="left")
    right.set_xlabel("who gets which: time, s")
    return figure


FIGURES = {
    "coallocation-readme": coallocation_readme,
    "coallocation": coallocation,
    "saturation": saturation,
    "slot-error": slot_error,
    "counting": counting,
}


def main() -> None:
    """Write all figures."""
    with mpl.rc_context({"font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False}):
        for name, draw in FIGURES.items():
            # The picture of README.md is shown large: screens with two pixels for each of a page need more of them.
            dpi = 200 if name == "coallocation-readme" else 130
            draw().savefig(IMAGES / f"{name}.png", dpi=dpi, metadata={"Software": None})


if __name__ == "__main__":
    main()
