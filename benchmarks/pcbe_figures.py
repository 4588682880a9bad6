"""The figures of chapter 5 of PCBE: bars of the tests and of the large experiment, and dots by slice.

Bars and dots are values with the published energy model; a dash across a bar: with idle power from the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pcbe_values import METERS, NAMES, QUANTITIES, Value

from coalloc.documents.palette import BASE, GRID, INK

SKY, AMBER, GREEN, PINK, _, BLUE, RED, *_ = BASE
COLOURS = {
    "0 0": SKY,
    "0 1": GREEN,
    "1 0": BLUE,
    "1 1": PINK,
    "heuristic 1 1": AMBER,
    "heuristic 2 1": RED,
    "heuristic 2 2": GREEN,
    "heuristic 2 6": PINK,
    "energy 1 0": BLUE,
    "edp 1 0": SKY,
}
HATCHES = {
    "0 1": "//",
    "1 0": "..",
    "1 1": "xx",
    "heuristic 1 1": "||",
    "heuristic 2 1": "--",
    "heuristic 2 2": "//",
    "heuristic 2 6": "xx",
    "energy 1 0": "..",
}
"""Of bars, so that they differ in grey; the rest are plain."""
MARKERS = {"energy 1 0": "o", "edp 1 0": "x", "heuristic 1 1": "_", "heuristic 2 1": "|", "heuristic 2 2": "^"}
"""Of dots, which lie on each other where policies do the same; the rest are squares."""
QUANTITY_NAMES = {"edp": "EDP"}
RESOLUTION = 110
PUBLISHED, CORRECTED = METERS
DASH = f"{CORRECTED}: idle power from the start"


def draw_tests(title: str, tests: Mapping[str, Mapping[str, Value] | None], quantity: str, path: Path) -> Path:
    """Draw Figure 5.1 or 5.2: a group of bars for each test, a bar for each policy."""
    figure = Figure((8.4, 3.6), layout="constrained")
    axes = figure.subplots()
    columns = list(next(values for values in tests.values() if values))
    width = 0.8 / len(columns)
    for k, column in enumerate(columns):
        for i, values in enumerate(tests.values()):
            if values:
                place = i + (k - 0.5 * (len(columns) - 1)) * width, width
                _bar(axes, place, values[column], quantity, column)
    for i, values in enumerate(tests.values()):
        if not values:
            axes.text(i, 0.0, "no files", ha="center", va="bottom", color=INK, fontsize=8)
    axes.set_xticks(range(len(tests)), list(tests))
    axes.set_xlim(-0.6, len(tests) - 0.4)
    _finish(figure, [axes], title, columns, quantity)
    return _save(figure, path)


def draw_policies(title: str, values: Mapping[str, Value], path: Path) -> Path:
    """Draw Figure 5.3, 5.5, 5.7 or 5.8: energy, EDP and makespan of each policy."""
    figure = Figure((9.6, 3.4), layout="constrained")
    sheet = list(figure.subplots(1, 3))
    for axes, quantity in zip(sheet, QUANTITIES, strict=True):
        for i, (column, value) in enumerate(values.items()):
            _bar(axes, (i, 0.8), value, quantity, column)
        axes.set_xticks([])
    _finish(figure, sheet, title, list(values), *QUANTITIES)
    return _save(figure, path)


def draw_slices(title: str, slices: Mapping[int, Mapping[str, Value]], quantity: str, path: Path) -> Path:
    """Draw Figure 5.9, 5.10 or 5.11: a dot for each policy and slice, with both energy models where they differ."""
    meters = [PUBLISHED] if quantity == "makespan" else list(METERS)
    figure = Figure((9.6, 3.6 if len(meters) == 1 else 5.6), layout="constrained")
    sheet = list(figure.subplots(len(meters), 1, sharex=True, squeeze=False)[:, 0])
    columns = list(next(iter(slices.values())))
    for axes, meter in zip(sheet, meters, strict=True):
        for column in columns:
            heights = [values[column].of(quantity, meter) for values in slices.values()]
            marker = MARKERS.get(column, "s")
            hollow = {} if marker in "x_|" else {"markerfacecolor": "none"}
            axes.plot(list(slices), heights, marker, ms=8, color=COLOURS[column], label=NAMES.get(column), **hollow)
        axes.set_title("" if len(meters) == 1 else f"{meter} energy model (idle {METERS[meter]})", fontsize=9)
        axes.set_ylim(0.0, 1.08 * axes.dataLim.y1)
    sheet[-1].set_xlabel("slice")
    sheet[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    handles = [
        axes.plot([], [], MARKERS.get(column, "s"), color=COLOURS[column], markerfacecolor="none", label=NAMES[column])[
            0
        ]
        for column in columns
    ]
    _dress(figure, sheet, title, [quantity] * len(sheet))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return _save(figure, path)


def _bar(axes: Axes, place: tuple[float, float], value: Value, quantity: str, column: str) -> None:
    """Draw the bar of a value at (x, width), and a dash at what it is with idle power from the start."""
    x, width = place
    axes.bar(x, value.of(quantity, PUBLISHED), 0.9 * width, **_look(column))
    if quantity != "makespan":
        corrected = value.of(quantity, CORRECTED)
        axes.hlines(corrected, x - 0.45 * width, x + 0.45 * width, color=INK, lw=1.4)


def _look(column: str) -> dict[str, Any]:
    """Return how the bars of a policy look."""
    return {"color": COLOURS[column], "hatch": HATCHES.get(column), "edgecolor": "white", "linewidth": 0.0}


def _finish(figure: Figure, sheet: Sequence[Axes], title: str, columns: Sequence[str], *quantities: str) -> None:
    """Give axes their names, and the figure its key."""
    _dress(figure, sheet, title, quantities)
    handles = [sheet[0].bar(0, 0, **_look(column), label=NAMES[column]) for column in columns]
    dash = sheet[0].plot([], [], color=INK, lw=1.4, label=DASH)
    figure.legend(handles=[*handles, *dash], loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def _dress(figure: Figure, sheet: Sequence[Axes], title: str, quantities: Sequence[str]) -> None:
    figure.suptitle(title, fontsize=10)
    for axes, quantity in zip(sheet, quantities, strict=True):
        axes.set_ylabel(f"{QUANTITY_NAMES.get(quantity, quantity)}, {QUANTITIES[quantity]}", fontsize=9)
        axes.grid(axis="y", color=GRID, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=RESOLUTION)
    return path
