"""The figures of Hanzich et al. (CISNE), drawn from our runs, and one for each parameter that was varied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sharing_claims import PROFILES, SLIGHTLY_PERCEPTIBLE
from sharing_results import VALUATIONS, Results, value_intervals

from coalloc.documents import palette
from coalloc.measures.intervals import ConfidenceInterval, mean_interval
from coalloc.measures.sharing import KAPPA, LATENCY_OF_USER
from coalloc.plot.axes import label, new_figure, series_style, title

MIX_COLOURS = (palette.BASE[0], palette.BASE[1], palette.BASE[2])
"""Of SJF-JFirst, FCFS-FFit, SNPF-BFit."""

LOADS = {"net": "communication", "mixed": "mixed", "cpu": "computation"}

PANELS = (
    ("turnaround_mean", 1e-3, "mean turnaround, 1000 s"),
    ("dedicated_slowdown_mean", 1.0, "mean slowdown"),
    ("user_cpu_mean", 100.0, "CPU kept for users, %"),
    ("gap", 100.0, "makespan above bound, %"),
)
"""What is drawn of each sweep in addition to the relative V: metric, factor to its unit, name of the axis."""

MODULE_NAMES = {
    "contract": "contract",
    "cooperation": "cooperation",
    "coscheduling": "coscheduling",
    "all": "all three",
}


# --- what all share -----------------------------------------------------------------------------------


def grouped_bars(
    ax: Axes, groups: Sequence[str], series: Mapping[str, Sequence[ConfidenceInterval]], colours: Sequence[str]
) -> None:
    """Draw a bar per series in each group, with intervals."""
    width = 0.84 / len(series)
    for number, (name, found) in enumerate(series.items()):
        places = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        ax.bar(places, [interval.mean for interval in found], 0.92 * width, color=colours[number], label=name)
        whiskers(ax, places, found)
    ax.set_xticks(range(len(groups)), groups)
    ax.grid(visible=False, axis="x")


def whiskers(ax: Axes, places: Sequence[float], found: Sequence[ConfidenceInterval], colour: str = palette.INK) -> None:
    """Draw the intervals as thin lines."""
    for place, interval in zip(places, found, strict=True):
        ax.plot([place, place], [interval.low, interval.high], color=colour, linewidth=0.9, alpha=0.8)


def key(figure: Figure, ax: Axes, columns: int) -> None:
    """Put the key of one panel below all."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def same_scale(axes: Sequence[Axes]) -> None:
    """Give panels side by side the same scale."""
    low, high = min(ax.get_ylim()[0] for ax in axes), max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)


# --- the figures of the source --------------------------------------------------------------------------


def stability_by_scenario(results: Results) -> Figure:
    """Figure 7.a: V of the mixes in each scenario, as printed and relative, a column per load."""
    loads, scenarios = results.study.grid["load"], results.study.grid["scenario"]
    figure, axes = new_figure(9.5, 5.6, columns=len(loads), rows=2)
    for row, (text, valuation) in enumerate(VALUATIONS.items()):
        for column, load in enumerate(loads):
            ax = axes[row * len(loads) + column]
            cells = [value_intervals(results, (place, column), valuation) for place in range(len(scenarios))]
            series = {mix: [cell[number] for cell in cells] for number, mix in enumerate(results.mixes)}
            grouped_bars(ax, [f"scenario {number}" for number in scenarios], series, MIX_COLOURS)
            title(ax, f"Load: {LOADS[load]}" if row == 0 else "")
            label(ax, "", {"V": "V as printed", "relative V": "V, terms over their mean"}[text] if column == 0 else "")
        same_scale(axes[row * len(loads) : (row + 1) * len(loads)])
    for ax in axes[len(loads) :]:
        ax.axhline(14.0, color=palette.MUTED, linewidth=0.9, linestyle="--")
    key(figure, axes[0], len(results.mixes))
    return figure


def latency_of_users(results: Results) -> Figure:
    """Figure 8: latency of XWindows and Internet users in scenario 3, mean and largest, and what bounds it."""
    figure, axes = new_figure(8.5, 4.0, columns=len(PROFILES))
    loads = results.study.grid["load"]
    bound = LATENCY_OF_USER + KAPPA * 0.5
    for ax, (profile, name) in zip(axes, PROFILES.items(), strict=True):
        frames = [results.at({"scenario": 3, "load": load}) for load in loads]
        column = f"latency_mean_{profile}"
        series = {
            mix: [mean_interval(frame[frame["mix"] == mix][column].dropna().tolist()) for frame in frames]
            for mix in results.mixes
        }
        grouped_bars(ax, [LOADS[load] for load in loads], series, MIX_COLOURS)
        largest = max(frame[f"latency_max_{profile}"].max() for frame in frames)
        limits = ((SLIGHTLY_PERCEPTIBLE, "slightly perceptible: 32 us", "-"), (bound, "14 + 18 L, L = 0.5", "--"))
        for height, text, line in limits:
            ax.axhline(height, color=palette.OVERLOAD if line == "-" else palette.INK, linewidth=1.0, linestyle=line)
            ax.text(-0.45, height + 0.3, text, fontsize=7.5, va="bottom")
        ax.set_ylim(LATENCY_OF_USER, 35.0)
        title(ax, f"{name} users: largest of any run {largest:.1f} us")
        label(ax, "load", "mean latency in scenario 3, us; 14: a user alone" if ax is axes[0] else "")
    key(figure, axes[0], len(results.mixes))
    return figure


# --- what was varied --------------------------------------------------------------------------------------


def modules(results: Results) -> Figure:
    """What switching modules of CSC off changes, a column per scenario: means over mixes, a bar per load."""
    grid = results.study.grid
    panels = (
        ("turnaround_mean", "change of mean turnaround, %"),
        ("dedicated_slowdown_mean", "change of mean slowdown, %"),
        ("user_cpu_mean", "change of CPU kept, points"),
    )
    figure, axes = new_figure(9.5, 8.0, columns=len(grid["scenario"]), rows=len(panels))
    for row, (metric, text) in enumerate(panels):
        values = results.array([metric])[..., 0]
        base = values[:, :, :, :1]
        changes = 100.0 * (values - base if metric == "user_cpu_mean" else values / base - 1.0).mean(axis=-1)
        for column, scenario in enumerate(grid["scenario"]):
            ax = axes[row * len(grid["scenario"]) + column]
            series = {
                LOADS[load]: [mean_interval(changes[:, column, place, off].tolist()) for off in range(1, 5)]
                for place, load in enumerate(grid["load"])
            }
            grouped_bars(ax, [MODULE_NAMES[off] for off in grid["off"][1:]], series, palette.BASE[5:8])
            ax.axhline(0.0, color=palette.INK, linewidth=0.8)
            title(ax, f"Scenario {scenario}" if row == 0 else "")
            label(ax, "switched off" if row == len(panels) - 1 else "", text if column == 0 else "")
        same_scale(axes[row * len(grid["scenario"]) : (row + 1) * len(grid["scenario"])])
    key(figure, axes[0], 3)
    return figure


def sweep(results: Results) -> Figure:
    """Relative V and metrics of every mix over what the study varies, a column for each other point of its grid."""
    *others, swept = results.study.grid
    named = [key for key in results.varied if key in others]
    columns = list(results.runs[named].drop_duplicates().to_dict("records")) if named else [{}]
    figure, axes = new_figure(max(5.0, 3.3 * len(columns)), 10.5, columns=len(columns), rows=len(PANELS) + 1)
    values = results.study.grid[swept]
    for column, point in enumerate(columns):
        places = [where for at, where in results.points() if all(at[name] == point[name] for name in named)]
        cells = [value_intervals(results, where, VALUATIONS["relative V"]) for where in places]
        over(axes[column], values, {mix: [cell[n] for cell in cells] for n, mix in enumerate(results.mixes)})
        title(axes[column], ", ".join(f"{name} {point[name]}" for name in named))
        label(axes[column], "", "V, terms over their mean" if column == 0 else "")
        for row, (metric, factor, text) in enumerate(PANELS, start=1):
            ax = axes[row * len(columns) + column]
            frames = [results.at({**point, swept: value}) for value in values]
            lines = {
                mix: [mean_interval((factor * frame[frame["mix"] == mix][metric]).tolist()) for frame in frames]
                for mix in results.mixes
            }
            over(ax, values, lines)
            label(ax, swept.replace("_", " ") if row == len(PANELS) else "", text if column == 0 else "")
    for row in range(len(PANELS) + 1):
        same_scale(axes[row * len(columns) : (row + 1) * len(columns)])
    key(figure, axes[0], len(results.mixes))
    return figure


def over(ax: Axes, values: Sequence[float], lines: Mapping[str, Sequence[ConfidenceInterval]]) -> None:
    """Draw a line per mix over the values, evenly spaced, with intervals, mixes a little next to each other."""
    for number, (mix, found) in enumerate(lines.items()):
        places = [place + 0.08 * (number - 1) for place in range(len(values))]
        look = series_style(number) | {"color": MIX_COLOURS[number]}
        ax.plot(places, [interval.mean for interval in found], label=mix, linewidth=1.4, **look)
        whiskers(ax, places, found, MIX_COLOURS[number])
    ax.set_xticks(range(len(values)), [f"{value:g}" for value in values])


FIGURES: Mapping[str, Mapping[str, Callable[[Results], Figure]]] = {
    "scenarios": {"": stability_by_scenario, "-latency": latency_of_users},
    "modules": {"": modules},
}
"""What each study draws, by what is added to the name of its file; the others draw a :func:`sweep`."""
