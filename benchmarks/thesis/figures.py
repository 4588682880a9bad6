"""The figures of the thesis, drawn from our runs: means, with 95 % intervals over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from claims import CLASSICS, PAS, SHARES_SAID, excess, saving, slot_makespans, slot_metric
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measures import OAS, OAS_LEFT, OPTIMUM, SLOWDOWN_EDGES
from results_table import Results, picked, solve_column

from coalloc.documents import palette
from coalloc.measures.intervals import ConfidenceInterval, mean_interval
from coalloc.plot.axes import label, new_figure, series_style, title

ALL_OAS = (OPTIMUM, OAS_LEFT, OAS)
FIRST_FIT = tuple(f"{name}, first-fit" for name in CLASSICS)
COLOURS: Mapping[str, str] = {
    OPTIMUM: palette.RUNNING,
    OAS_LEFT: palette.MUTED,
    OAS: palette.INK,
    "MESD": palette.BASE[6],
    **{name: palette.BASE[i] for i, name in enumerate(("PAS", "CBS", "JPR"))},
    **{
        f"{prefix}{name}{suffix}": colour
        for name, colour in zip(CLASSICS, (*palette.BASE[:4], palette.BASE[5], palette.BASE[7]), strict=True)
        for prefix, suffix in (("", ""), ("PAS-", ""), ("", ", first-fit"))
    },
}
"""Colour of each strategy; the same order of the queue has the same colour everywhere."""
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++", "||||", "oooo")
"""What tells bars side by side apart where colours do not print, in their order."""


# --- what all share -----------------------------------------------------------------------------------


Quantity = tuple[str, float, str]
"""A metric, the factor to the unit in which it is drawn, and what its axis says."""


def bars(ax: Axes, results: Results, quantity: Quantity, strategies: Sequence[str]) -> None:
    """Draw a bar per strategy in a group per value of the first column of the grid, with intervals."""
    by = results.point[0]
    groups = list(results.runs[by].unique())
    width = 0.84 / len(strategies)
    for number, strategy in enumerate(strategies):
        found = [interval_at(results, quantity, strategy, {by: group}) for group in groups]
        places = np.arange(len(groups)) + (number - (len(strategies) - 1) / 2) * width
        means = [interval.mean for interval in found]
        ax.bar(places, means, 0.92 * width, color=COLOURS[strategy], label=strategy, **hatched(number))
        whiskers(ax, places, found)
    ax.set_xticks(range(len(groups)), [group_name(by, group) for group in groups])
    ax.grid(visible=False, axis="x")
    label(ax, "", quantity[2])


def hatched(number: int) -> dict[str, Any]:
    """Return the hatch of the bar with this number in its group, in white lines as thin as its outline."""
    return {"hatch": HATCHES[number % len(HATCHES)], "edgecolor": palette.PAPER, "linewidth": 0.4}


def interval_at(results: Results, quantity: Quantity, strategy: str, where: dict[str, object]) -> ConfidenceInterval:
    """Return the interval of a quantity over the runs at a point."""
    rows = picked(results.runs, {**where, "strategy": strategy})
    return mean_interval([quantity[1] * value for value in rows[quantity[0]]])


def whiskers(ax: Axes, places: Iterable[float], found: Iterable[ConfidenceInterval], colour: str = palette.INK) -> None:
    """Draw the intervals as thin lines."""
    for place, interval in zip(places, found, strict=True):
        ax.plot([place, place], [interval.low, interval.high], color=colour, linewidth=0.9, alpha=0.8)


def stacked(ax: Axes, results: Results, strategies: Sequence[str], factor: float) -> None:
    """Draw mean waits on mean execution times, one bar per strategy, in a group per value of the first column."""
    by = results.point[0]
    groups = list(results.runs[by].unique())
    gap = len(strategies) + 1
    places = np.array([g * gap + i for g in range(len(groups)) for i in range(len(strategies))], dtype=float)
    cells = [picked(results.runs, {by: group, "strategy": name}) for group in groups for name in strategies]
    execution = np.array([factor * cell["execution_mean"].mean() for cell in cells])
    wait = np.array([factor * cell["wait_mean"].mean() for cell in cells])
    ax.bar(places, execution, 0.85, color=palette.BASE[5], label="execution")
    ax.bar(places, wait, 0.85, bottom=execution, color=palette.BASE[1], label="wait")
    responses = [mean_interval([factor * value for value in cell["response_mean"]]) for cell in cells]
    whiskers(ax, places, responses)
    names = [short(name) for _ in groups for name in strategies]
    ax.set_xticks(places, names, rotation=90, fontsize=7)
    for g, group in enumerate(groups):
        middle = g * gap + (len(strategies) - 1) / 2
        ax.text(middle, 1.0, group_name(by, group), transform=ax.get_xaxis_transform(), ha="center", fontsize=8)
    ax.grid(visible=False, axis="x")


def short(name: str) -> str:
    """Return the name of a strategy as it fits below a bar."""
    return {OPTIMUM: "OAS, cont.", OAS_LEFT: "OAS, left"}.get(name, name).replace(", first-fit", " (ff)")


def group_name(by: str, group: object) -> str:
    """Return the name of a group of bars."""
    return f"H = {group} %" if by == "heterogeneity" else f"jobs {group}" if by == "slice" else str(group)


def key(figure: Figure, ax: Axes, columns: int) -> None:
    """Put the key of one panel below all."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


# --- PAS -----------------------------------------------------------------------------------------------


def pas_allocation(results: Results) -> Figure:
    """Figures 3.6 to 3.9: makespan, response and co-allocation over BSBW, a column per heterogeneity."""
    panels = (
        ("makespan", 1e-3, "makespan, 1000 s"),
        ("response_mean", 1.0, "mean response, s"),
        ("coallocated_share", 100.0, "co-allocated jobs, %"),
        ("above_bound", 100.0, "makespan above bound, %"),
    )
    figure, axes = new_figure(10.0, 11.0, columns=3, rows=len(panels))
    for column, heterogeneity in enumerate(results.runs["heterogeneity"].unique()):
        for row, quantity in enumerate(panels):
            ax = axes[3 * row + column]
            over_traffic(ax, results, quantity, heterogeneity)
            title(ax, group_name("heterogeneity", heterogeneity) if row == 0 else "")
            label(ax, "BSBW, GB/s" if row == len(panels) - 1 else "", quantity[2] if column == 0 else "")
    for row in range(len(panels)):
        same_scale(axes[3 * row : 3 * row + 3])
    key(figure, axes[0], 3)
    return figure


def over_traffic(ax: Axes, results: Results, quantity: Quantity, heterogeneity: object) -> None:
    """Draw a quantity of every strategy over BSBW, with intervals, strategies a little beside each other."""
    loads = sorted(results.runs["bsbw"].unique())
    for number, strategy in enumerate(results.strategies):
        where = [{"heterogeneity": heterogeneity, "bsbw": load} for load in loads]
        found = [interval_at(results, quantity, strategy, at) for at in where]
        places = [load + 0.012 * (number - 1) for load in loads]
        look = series_style(number) | {"color": COLOURS[strategy]}
        ax.plot(places, [interval.mean for interval in found], label=strategy, linewidth=1.4, **look)
        whiskers(ax, places, found, COLOURS[strategy])
    ax.set_xticks(loads)


def pas_links(results: Results) -> Figure:
    """How much later JPR responds than PAS over links of several bandwidths, a column per heterogeneity."""
    response = results.wide("response_mean")
    heterogeneities = list(response.index.unique("heterogeneity"))
    figure, axes = new_figure(7.2, 3.2, columns=len(heterogeneities))
    for ax, heterogeneity in zip(axes, heterogeneities, strict=True):
        for number, (asked, text) in enumerate(SHARES_SAID.items()):
            here = response.xs((heterogeneity, asked), level=("heterogeneity", "shares"), drop_level=False)
            later = 100.0 * excess(here, "JPR", "PAS").unstack("link_bandwidth").droplevel(["bsbw"])
            found = [mean_interval(later[link].tolist()) for link in later.columns]
            places = later.columns / 1000.0 + 0.008 * number
            look = series_style(number)
            ax.plot(places, [i.mean for i in found], linewidth=1.4, linestyle=("-", "--")[number], label=text, **look)
            whiskers(ax, places, found, look["color"])
        ax.axhline(0.0, color=palette.INK, linewidth=0.8)
        ax.set_xticks([link / 1000.0 for link in response.index.unique("link_bandwidth")])
        title(ax, group_name("heterogeneity", heterogeneity))
        label(ax, "bandwidth of the links, GB/s", "response JPR over PAS, %" if ax is axes[0] else "")
    same_scale(axes)
    key(figure, axes[0], 2)
    return figure


def same_scale(axes: Sequence[Axes], from_zero: bool = False) -> None:
    """Give panels side by side the same scale."""
    low = 0.0 if from_zero else min(ax.get_ylim()[0] for ax in axes)
    high = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)


def pas_selection(results: Results) -> Figure:
    """Figures 3.10 and 3.11: response with its parts, makespan, and the distance to the bound, by selection."""
    figure, axes = new_figure(10.0, 9.0, rows=3)
    stacked(axes[0], results, PAS, 1.0)
    label(axes[0], "", "mean response, s")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    head_room(axes[0])
    bars(axes[1], results, ("makespan", 1e-3, "makespan, 1000 s"), PAS)
    bars(axes[2], results, ("above_bound", 100.0, "makespan above bound, %"), PAS)
    key(figure, axes[1], 6)
    return figure


def head_room(ax: Axes, share: float = 0.12) -> None:
    """Leave room for the names of the groups above the bars."""
    ax.set_ylim(0.0, ax.get_ylim()[1] * (1.0 + share))
    for text in ax.texts:
        text.set_verticalalignment("top")


# --- OAS and MESD on eight jobs ---------------------------------------------------------------------------

WORKLOAD_PANELS = (
    ("makespan", 1e-6, "makespan, 10$^6$ s"),
    ("utilization", 100.0, "utilization, %"),
    ("execution_slowdown", 100.0, "execution slowdown, %"),
    ("above_bound", 100.0, "makespan above what is proven, %"),
)


def oas_workloads(results: Results) -> Figure:
    """Figures 3.18 to 3.21: OAS against PAS at the left, against the classics at the right."""
    figure, axes = new_figure(13.0, 14.0, columns=2, rows=len(WORKLOAD_PANELS) + 1)
    sides = ((*ALL_OAS, *PAS), "PAS"), ((*ALL_OAS, *CLASSICS), "the classics")
    for column, (strategies, text) in enumerate(sides):
        workload_panels(axes[column::2], results, strategies)
        title(axes[column], f"OAS and {text}")
    for row in range(len(WORKLOAD_PANELS) + 1):
        same_scale(axes[2 * row : 2 * row + 2], from_zero=True)
    key(figure, axes[1], 7)
    return figure


def workload_panels(axes: Sequence[Axes], results: Results, strategies: Sequence[str]) -> None:
    """Draw the panels of these strategies, one below the other, response last."""
    for ax, quantity in zip(axes, WORKLOAD_PANELS, strict=False):
        bars(ax, results, quantity, strategies)
    stacked(axes[-1], results, strategies, 1e-6)
    label(axes[-1], "", "mean response, 10$^6$ s")
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left", ncols=2, bbox_to_anchor=(0.0, 0.93))
    head_room(axes[-1], 0.3)


def oas_slots(results: Results) -> Figure:
    """Figures 3.14 to 3.17: what slots of OAS cost, from 15 to 250 % of the mean base time."""
    figure, (quality, usage, parts, slowdown) = new_figure(11.0, 7.5, columns=2, rows=2)
    makespans_over_slots(quality, results)
    title(quality, "Makespan (Figure 3.14)")
    kept = results.slots[results.slots["starts"] == "keep"]
    for ax, metric, text in ((usage, "utilization", "utilization, %"), (slowdown, "execution_slowdown", "slowdown, %")):
        line_over_slots(ax, results, 100.0 * slot_metric(kept, results, metric), "", 1)
        label(ax, "slot, % of the mean base time", text)
    title(usage, "Utilization, starts kept (Figure 3.15)")
    title(slowdown, "Execution slowdown (Figure 3.17)")
    for number, metric in enumerate(("response_mean", "wait_mean", "execution_mean")):
        line_over_slots(parts, results, 1e-6 * slot_metric(kept, results, metric), metric.removesuffix("_mean"), number)
    title(parts, "Response and its parts, starts kept (Figure 3.16)")
    label(parts, "slot, % of the mean base time", "mean, 10$^6$ s")
    parts.set_ylim(bottom=0.0)
    parts.legend(frameon=False, fontsize=8, ncols=3)
    return figure


def makespans_over_slots(ax: Axes, results: Results) -> None:
    """Draw how far makespans of OAS are above what is proven in continuous time, by slot."""
    optimum = results.runs[results.runs["strategy"] == OPTIMUM].set_index([*results.point, "seed"])["bound"]
    lines = (("slotted", "as slotted"), ("keep", "starts kept, real ends"), ("left", "starts moved left"))
    for number, (column, text) in enumerate(lines):
        above = 100.0 * (slot_makespans(results, column).div(optimum, axis=0) - 1.0)
        line_over_slots(ax, results, above, text, number)
    label(ax, "slot, % of the mean base time", "above what is proven, %")
    ax.legend(frameon=False, fontsize=8)


def line_over_slots(ax: Axes, results: Results, wide: pd.DataFrame, text: str, number: int) -> None:
    """Draw the mean of each column, with its interval over the seeds."""
    found = [mean_interval(results.by_unit(wide[slot])) for slot in wide.columns]
    look = series_style(number)
    ax.plot(wide.columns, [interval.mean for interval in found], linewidth=1.4, label=text, **look)
    for slot, interval in zip(wide.columns, found, strict=True):
        ax.plot([slot, slot], [interval.low, interval.high], color=look["color"], linewidth=0.9)
    ax.set_xticks([15, 50, 100, 150, 200, 250])


def oas_spread(results: Results) -> Figure:
    """What the optimum saves by the spread of base times, beside what the thesis has (dashed)."""
    makespan = results.wide("makespan")
    spreads = list(makespan.index.unique("base_times"))
    figure, axes = new_figure(7.2, 3.2, columns=2)
    for ax, names, said, text in ((axes[0], PAS, 21.0, "the six PAS"), (axes[1], CLASSICS, 30.0, "the six classics")):
        saved = 100.0 * saving(makespan, OPTIMUM, names)
        found = [mean_interval(results.by_unit(saved.xs(name, level="base_times"))) for name in spreads]
        ax.bar(range(len(spreads)), [i.mean for i in found], 0.6, color=palette.BASE[0])
        whiskers(ax, range(len(spreads)), found)
        ax.axhline(said, color=palette.OVERLOAD, linewidth=1.2, linestyle="--")
        ax.text(len(spreads) - 0.55, said, f"thesis: {said:g} %", ha="right", va="bottom", fontsize=8)
        ax.set_xticks(range(len(spreads)), spreads)
        ax.grid(visible=False, axis="x")
        title(ax, f"Optimum against {text}")
        label(ax, "spread of base times", "makespan saved, %" if ax is axes[0] else "")
    same_scale(axes, from_zero=True)
    for ax in axes:
        ax.set_ylim(0.0, 35.0)
    return figure


def paper_oas(results: Results) -> Figure:
    """The paper's Figure 4, and by how much each is above what is proven."""
    figure, axes = new_figure(9.0, 6.4, rows=2)
    for ax, quantity in zip(axes, (WORKLOAD_PANELS[0], WORKLOAD_PANELS[3]), strict=True):
        bars(ax, results, quantity, (*ALL_OAS, *CLASSICS))
    key(figure, axes[0], 5)
    return figure


def slots_and_time(results: Results) -> Figure:
    """Makespan of OAS by slot, and what the solves take: the paper's Figure 3, the thesis's Figure 3.14."""
    figure, (quality, effort) = new_figure(7.2, 3.4, columns=2)
    makespans_over_slots(quality, results)
    title(quality, "Makespan")
    kept = results.slots[results.slots["starts"] == "keep"]
    solve = 1000.0 * slot_metric(kept, results, solve_column(results.slots))
    line_over_slots(effort, results, solve, "mean", 0)
    median = solve.median()
    effort.plot(median.index, median, linestyle="--", label="median", **series_style(1))
    effort.set_ylim(bottom=0.0)
    title(effort, "Solve")
    label(effort, "slot, % of the mean base time", "processor time, ms")
    effort.legend(frameon=False, fontsize=8)
    return figure


def mesd_oas(results: Results) -> Figure:
    """Figures 3.24 to 3.27: MESD beside OAS and the classics."""
    figure, axes = new_figure(10.0, 14.0, rows=len(WORKLOAD_PANELS) + 1)
    workload_panels(axes, results, (*ALL_OAS, "MESD", *CLASSICS))
    key(figure, axes[0], 8)
    return figure


# --- MESD on 240 nodes -------------------------------------------------------------------------------------


def mesd_large(results: Results) -> Figure:
    """Figures 3.29 to 3.31: makespan, slowdown and response, a column per allocation rule of the classics."""
    panels = (
        ("makespan", 1e-6, "makespan, 10$^6$ s"),
        ("execution_slowdown_mean", 100.0, "mean execution slowdown, %"),
        ("coallocated_share", 100.0, "co-allocated jobs, %"),
        ("saturated_share", 100.0, "jobs that met a saturated link, %"),
        ("response_above_bound", 100.0, "mean response above bound, %"),
    )
    figure, axes = new_figure(13.0, 16.0, columns=2, rows=len(panels) + 1)
    for column, (names, rule) in enumerate(((CLASSICS, "fastest-first"), (FIRST_FIT, "first-fit"))):
        strategies = ("MESD", *names)
        for row, quantity in enumerate(panels):
            bars(axes[2 * row + column], results, quantity, strategies)
        last = axes[2 * len(panels) + column]
        stacked(last, results, strategies, 1e-3)
        label(last, "", "mean response, 1000 s")
        head_room(last)
        title(axes[column], f"Classics with {rule}")
    for row in range(len(panels) + 1):
        same_scale(axes[2 * row : 2 * row + 2])
    axes[2 * len(panels)].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.92))
    key(figure, axes[0], 7)
    return figure


def mesd_nodes(results: Results) -> Figure:
    """Figures 3.32 and 3.33: slowdowns of the longest jobs, and how long each node worked, MESD beside BJF."""
    figure, (histogram, nodes) = new_figure(12.0, 4.2, columns=2)
    detailed = results.runs[results.runs["busy"].notna()] if "busy" in results.runs else results.runs[:0]
    colours = {"MESD": COLOURS["MESD"], "BJF": palette.BASE[5], "BJF, first-fit": palette.BASE[2]}
    edges = np.array(SLOWDOWN_EDGES)
    for number, (strategy, colour) in enumerate(colours.items()):
        rows = detailed[detailed["strategy"] == strategy]
        if not len(rows):
            continue
        counts = np.mean(rows["slowdowns"].tolist(), axis=0)
        places = 100.0 * (edges[:-1] + 0.1 * (0.2 + 0.3 * number))
        histogram.bar(places, counts, 2.8, color=colour, label=strategy, align="edge", **hatched(number))
        hours = np.mean(rows["busy"].tolist(), axis=0) / 3600.0
        style = ("-", "--", ":")[number]
        nodes.plot(np.arange(1, len(hours) + 1), hours, style, color=colour, linewidth=1.2, label=strategy)
    title(histogram, "The 5,000 jobs of longest base time (Figure 3.32)")
    label(histogram, "execution slowdown, % (outer classes: and beyond)", "jobs, mean of the runs")
    title(nodes, "Time that each node worked (Figure 3.33)")
    label(nodes, "nodes, the slowest first", "hours, mean of the runs")
    for border in (60.5, 120.5, 180.5):
        nodes.axvline(border, color=palette.MUTED, linewidth=0.7, linestyle="--")
    nodes.set_ylim(bottom=0.0, top=nodes.get_ylim()[1] * 1.12)
    for middle, power in zip((30, 90, 150, 210), ("1.0", "1.0", "1.5", "2.0"), strict=True):
        nodes.text(middle, nodes.get_ylim()[1] * 0.98, f"power {power}", ha="center", va="top", fontsize=8)
    key(figure, histogram, 3)
    return figure


FIGURES: Mapping[str, Mapping[str, Callable[[Results], Figure]]] = {
    "pas-allocation": {"": pas_allocation},
    "pas-links": {"": pas_links},
    "pas-selection": {"": pas_selection},
    "oas-workloads": {"": oas_workloads, "-slots": oas_slots},
    "oas-spread": {"": oas_spread},
    "paper-oas": {"": paper_oas, "-slots": slots_and_time},
    "mesd-oas": {"": mesd_oas},
    "mesd-large": {"": mesd_large, "-nodes": mesd_nodes},
    "mesd-estimates": {"": mesd_large},
}
"""What each experiment draws, by what is added to the name of its file."""
OF_LISTS = (mesd_nodes,)
"""Those that need the columns of lists, which the tables of runs lack."""
