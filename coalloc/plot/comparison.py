"""The picture of a comparison: gaps to the bound, performance profile, and differences to a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import plural, shortened
from coalloc.plot.axes import RAW, key, label, page_figure, series_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.24
"""Height of the row of a policy, inches."""


MOST_SHOWN = 30
"""Characters of a policy's name with its options that fit beside, or below, a panel."""

NARROWEST, STEP, WIDEST = 1.4, 1.1, 6.0
"""Width of the line of the last policy, points, by how much each before it is wider, and of the first at most."""

MOST_MARKS = 6
"""Marks on a line."""

SMALLEST = 0.1
"""Least end of the axis of gaps, %: what is proved within a millionth is not spread over the whole width."""


def draw_comparison(
    table: pd.DataFrame, profile: pd.DataFrame, differences: pd.DataFrame, baseline: str, value: str = "makespan"
) -> Figure:
    """Draw what :func:`coalloc.compare` found.

    ``profile`` and ``differences`` are those of :mod:`coalloc.studies.comparison`, ``value`` is what they are of. A
    policy has the same colour and mark in all three panels.
    """
    labels = list(dict.fromkeys(table["policy"]))
    heights = [max(1.6, 0.8 + ROW * len(labels)), max(2.4, 0.6 + 0.14 * len(labels))]
    figure = page_figure(sum(heights), rows=(2, 1), ratios=heights)
    gaps, paired, shares = figure.axes
    _draw_gaps(gaps, table, labels, value)
    _draw_differences(paired, differences, labels, baseline, value)
    paired.tick_params(labelleft=False)  # the rows are those of the gaps
    _draw_profile(shares, profile, labels, value)
    count = table["instance"].nunique()
    figure.suptitle(plural(count, "instance"), fontsize=8, color=palette.MUTED, x=0.995, ha="right")
    return figure


def _draw_gaps(ax: Axes, table: pd.DataFrame, labels: list[str], value: str) -> None:
    """Draw a box of the gaps for each policy, and each gap as a dot."""
    title(ax, "Gap to the bound")
    for row, name in enumerate(labels):
        gaps = 100.0 * table.loc[table["policy"] == name, "gap"].dropna().to_numpy()
        if not len(gaps):
            continue
        ax.boxplot(
            [gaps],
            positions=[row],
            orientation="horizontal",
            widths=0.55,
            showfliers=False,
            medianprops={"color": palette.INK},
            boxprops={"color": palette.MUTED},
            whiskerprops={"color": palette.MUTED},
            capprops={"color": palette.MUTED},
        )
        spread = np.linspace(-0.16, 0.16, len(gaps)) if len(gaps) > 1 else np.zeros(1)
        ax.plot(gaps, row + spread, linestyle="none", alpha=0.75, **series_style(row))
    _name_rows(ax, labels)
    label(ax, f"({value} - bound)\n/ {value}, %")
    low, high = ax.get_xlim()
    ax.set_xlim(min(0.0, low, -SMALLEST / 20.0), max(high, SMALLEST))


def _draw_profile(ax: Axes, profile: pd.DataFrame, labels: list[str], value: str) -> None:
    """Draw the share of instances within each factor of the best.

    Of policies that coincide all are visible: each line is narrower than those below it, and marks alternate.
    """
    title(ax, "Performance profile: share of instances within a factor of the best")
    factors = profile.index.to_numpy()
    every = max(len(labels), len(factors) // MOST_MARKS)
    widths = np.linspace(min(WIDEST, NARROWEST + STEP * (len(labels) - 1)), NARROWEST, len(labels))
    for number, (name, width) in enumerate(zip(labels, widths.tolist(), strict=True)):
        look = {"linewidth": width, "markersize": 7.5, "markeredgecolor": palette.PAPER}
        style = series_style(number) | look | {"markevery": (number * every // len(labels), every)}
        ax.step(
            factors,
            100.0 * profile[name].to_numpy(),
            where="post",
            label=shortened(name, MOST_SHOWN),
            **style,
        )
    label(ax, f"factor of the best {value} on the instance", "share of instances, %")
    ax.set_ylim(-3.0, 103.0)
    key(ax)


def _draw_differences(ax: Axes, differences: pd.DataFrame, labels: list[str], baseline: str, value: str) -> None:
    """Draw the mean difference of each policy to the baseline, with its interval."""
    title(ax, "Mean difference, 95 % interval")
    ax.axvline(0.0, color=palette.MUTED, linewidth=1.0)
    for found in differences.itertuples():
        row = labels.index(str(found.policy))
        mean, low, high = (100.0 * np.asarray([found.mean, found.low, found.high], dtype=float)).tolist()
        ax.plot([low, high], [row, row], color=palette.MUTED, linewidth=1.6, marker="|", markersize=6.0)
        ax.plot([mean], [row], **series_style(row))
    ax.plot([0.0], [labels.index(baseline)], **series_style(labels.index(baseline)))
    _name_rows(ax, labels)
    # In two lines, for the panel is narrow and the axis at its left has a label as well.
    than = f"{value} above that of\n{shortened(baseline, MOST_SHOWN)}, %"
    ax.set_xlabel(than, fontsize=8, color=palette.INK, **RAW)


def _name_rows(ax: Axes, labels: list[str]) -> None:
    """Name the policies at the left, the first on top."""
    ax.set_yticks(range(len(labels)))
    ax.set_yticklabels([shortened(name, MOST_SHOWN) for name in labels], **RAW)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
