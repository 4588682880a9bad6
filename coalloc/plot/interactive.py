"""The interactive picture: one self-contained HTML page, with plotly.

The page holds all it needs, the script of plotly compressed (2 MB instead of 5); its content security policy forbids
every request. Ids are escaped for plotly, which reads a part of HTML in texts. Colours of text and paper follow the
reader's light or dark scheme.
"""

from __future__ import annotations

import base64
import functools
import html
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.pages import rendered
from coalloc.documents.storage import compressed
from coalloc.documents.wording import duration_text, plural, share_text, shortened
from coalloc.plot.layout import (
    OVERLOADED,
    USER_SHARE,
    Band,
    Bar,
    Layout,
    LinkCurve,
    Piece,
    Presence,
    StoppedPart,
    connectors,
    is_hatched,
    is_joined,
    most_loaded,
    numbered_nodes,
    strips_title,
)

ABOVE_CHART, STRIP, STRIP_GAP, STRIPS_TITLE, FOOTER = 64, 44, 14, 32, 48
"""Heights of the parts of the picture, pixels: above the chart are the toolbar and, below it, the makespan."""

NOTES_MARGIN = 12
"""Left of the names of clusters and links, pixels."""

ABOVE = -0.015
"""Height at which arrivals are ticked, as a share of all rows; negative: above the first."""

CONNECTOR_INSET = 0.004
"""From the start of a job to the line that joins its pieces, as a share of the time axis; or a multiple of it."""

MOST_STRIPS = 12
MOST_LABELLED = 3000
MOST_NAMED = 12
"""Pieces of a job whose nodes are named when the pointer is over it; the rest is counted."""

NO_JOB = -1
"""Number that stands for no job where a rectangle is of none."""

HIGHLIGHT = """
const gantt = document.getElementById('gantt');
const show = job => gantt.querySelectorAll('.barlayer .trace').forEach(trace => {
  const jobs = trace.__data__[0].trace.customdata;
  trace.querySelectorAll('.point').forEach(bar => {
    bar.style.opacity = job === undefined || job < 0 || jobs[bar.__data__.i] === job ? 1 : 0.25;
  });
});
gantt.on('plotly_hover', event => show(event.points[0].customdata));
gantt.on('plotly_unhover', () => show(undefined));
"""
"""While the pointer is over a job, all other jobs fade: its pieces on other clusters stand out."""


CONFIG: dict[str, Any] = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    "toImageButtonOptions": {"filename": "gantt"},
}
"""Only buttons that work on this page, without any server."""


def page(layout: Layout) -> str:
    """Return the HTML page with the picture of a layout; the same layout gives the same page."""
    # No text of the figure ends the script that it stands in.
    figure = json.dumps({**draw(layout), "config": CONFIG}, allow_nan=False).replace("<", "\\u003c")
    texts = {"title": layout.title, "name": shortened(layout.title, 60), "caption": caption(layout)}
    return rendered("gantt.html", **texts, plotly=packed_script(), figure=figure, highlight=HIGHLIGHT)


@functools.cache
def packed_script() -> str:
    """Return the script of plotly, compressed, in base 64."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(compressed(get_plotlyjs().encode())).decode()


def draw(layout: Layout) -> dict[str, Any]:
    """Return the picture of a layout as plotly's ``data`` and ``layout``.

    Plain values, not plotly's figure, whose validation takes minutes for ten thousand jobs.
    """
    curves = most_loaded(layout.curves, MOST_STRIPS)
    traces = [*rectangles(layout)]
    traces += [presences(layout)] if layout.presences else []
    traces += [stopped(layout)] if layout.stopped else []
    traces += connector_traces(layout) if is_joined(layout) else []
    traces += [arrivals(layout)] if layout.arrivals else []
    for i, curve in enumerate(curves):
        traces += [trace | {"type": "scatter", "yaxis": f"y{i + 2}"} for trace in link_traces(layout, curve)]
    return {"data": traces, "layout": arrangement(layout, curves)}


def arrangement(layout: Layout, curves: tuple[LinkCurve, ...]) -> dict[str, Any]:
    """Return plotly's ``layout``: sizes, axes, shapes and texts."""
    chart = float(np.interp(layout.rows, [2, 6, 16, 64, 300], [110, 220, 380, 640, 1000]))
    strips = STRIPS_TITLE + len(curves) * (STRIP + STRIP_GAP) if curves else 0
    return {
        "height": ABOVE_CHART + chart + strips + FOOTER,
        "margin": {"l": left_margin(layout, curves), "r": 24, "t": ABOVE_CHART, "b": FOOTER},
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "font": {"size": 12}},
        "showlegend": False,
        "uniformtext": {"minsize": 10, "mode": "hide"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": OVERLOAD_TEXT},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "shapes": [*band_shapes(layout), *time_shapes(layout), *capacity_shapes(curves)],
        "annotations": [makespan_note(layout), *map(band_note, layout.bands), *strip_notes(layout, curves)],
        "xaxis": time_axis(layout, len(curves)),
        "yaxis": node_axis(layout, chart, strips),
    } | {f"yaxis{i + 2}": link_axis(len(curves) - 1 - i, curve, chart + strips) for i, curve in enumerate(curves)}


def safe(text: str, limit: int = 60) -> str:
    """Return a text from data for plotly: unprintable characters, markup and mathematics escaped, not too long."""
    return html.escape(shortened(text, limit), quote=False).replace("$", "&#36;")


def rectangles(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the traces of all pieces of all jobs, one for each colour and hatch that occur.

    (plotly ignores the colour of a hatch where a trace has several colours.)
    """
    hatched = is_hatched(layout)
    groups: dict[tuple[str, str], list[int]] = {}
    for i, bar in enumerate(layout.bars):
        groups.setdefault((palette.bar_colour(bar.number), hatch(bar) if hatched else ""), []).append(i)
    labelled = sum(len(bar.pieces) for bar in layout.bars) <= MOST_LABELLED
    for (colour, shape), members in groups.items():
        pattern = {"shape": shape, **PATTERN} if shape else {"shape": ""}
        marker = {"color": colour, "pattern": pattern}
        yield bar_trace(layout, members, labelled) | {
            "marker": marker | {"line": outlines(layout, members)},
            "insidetextfont": {"color": palette.text_colour(colour)},
        }


def bar_trace(layout: Layout, members: Sequence[int], labelled: bool) -> dict[str, Any]:
    """Return the trace of some bars, without colours; ``customdata`` tells which pieces belong together."""
    pieces = [(i, layout.bars[i], piece) for i in members for piece in layout.bars[i].pieces]
    seconds = layout.unit.seconds
    hover = {i: hover_text(layout, layout.bars[i]) for i in members}
    return {
        "type": "bar",
        "orientation": "h",
        "base": [bar.start / seconds for _, bar, _ in pieces],
        "x": [(bar.end - bar.start) / seconds for _, bar, _ in pieces],
        "y": [(piece.top + piece.bottom) / 2 for _, _, piece in pieces],
        "width": [piece.bottom - piece.top for _, _, piece in pieces],
        "text": [safe(bar.job.id, 24) if labelled else "" for _, bar, _ in pieces],
        "textposition": "inside" if labelled else "none",
        "insidetextanchor": "middle",
        "textangle": 0,
        "customdata": [i for i, _, _ in pieces],
        "hovertext": [hover[i] for i, _, _ in pieces],
        "hoverinfo": "text",
    }


def outlines(layout: Layout, members: Sequence[int]) -> dict[str, Any]:
    """Return the outlines of some bars, piece by piece: thin, and red where a job was killed."""
    killed = [layout.bars[i].killed for i in members for _ in layout.bars[i].pieces]
    return {"color": [palette.OVERLOAD if each else palette.PAPER for each in killed], "width": 0.7}


def presences(layout: Layout) -> dict[str, Any]:
    """Return the trace of local users: a mark above the rows of the node of each, as long as he is active there."""
    hover = [
        f"{safe(each.profile)} user on {safe(each.node, 32)}<br>{span_text(layout, each)}" for each in layout.presences
    ]
    boxes = span_trace(
        layout, layout.presences, [(each.top, each.top + USER_SHARE) for each in layout.presences], hover
    )
    return boxes | {"marker": {"color": palette.USER}}


def stopped(layout: Layout) -> dict[str, Any]:
    """Return the trace of the tasks that stood still, crossed out."""
    number = [layout.num_given + each.placement for each in layout.stopped]
    hover = [
        f"<b>{safe(bar.job.id)}</b><br>stopped on {safe(each.node, 32)}<br>{span_text(layout, each)}"
        for bar, each in zip([layout.bars[i] for i in number], layout.stopped, strict=True)
    ]
    pattern = {"shape": "x", "fillmode": "overlay", "fgcolor": palette.INK, "fgopacity": 0.8, "size": 6}
    boxes = span_trace(layout, layout.stopped, [(each.top, each.bottom) for each in layout.stopped], hover)
    boxes |= {"customdata": number}
    return boxes | {"marker": {"color": "rgba(255,255,255,0.6)", "pattern": pattern, "line": {"width": 0}}}


def span_text(layout: Layout, span: Presence | StoppedPart) -> str:
    """Return from when until when something lasts, in the unit of the time axis."""
    unit = layout.unit
    return f"from {span.start / unit.seconds:.5g} to {span.end / unit.seconds:.5g} {unit.symbol}"


def span_trace(
    layout: Layout,
    spans: Sequence[Presence | StoppedPart],
    rows: Sequence[tuple[float, float]],
    hover: Sequence[str],
) -> dict[str, Any]:
    """Return the trace of rectangles of no job, each between two rows, without colours."""
    seconds = layout.unit.seconds
    return {
        "type": "bar",
        "orientation": "h",
        "base": [span.start / seconds for span in spans],
        "x": [(span.end - span.start) / seconds for span in spans],
        "y": [(top + bottom) / 2 for top, bottom in rows],
        "width": [bottom - top for top, bottom in rows],
        "customdata": [NO_JOB] * len(spans),
        "hovertext": list(hover),
        "hoverinfo": "text",
    }


PATTERN: dict[str, Any] = {
    "fillmode": "overlay",
    "fgcolor": palette.INK,
    "fgopacity": 0.22,
    "size": 9,
    "solidity": 0.15,
}


def hatch(bar: Bar) -> str:
    """Return plotly's name of the hatch of a bar: one for what is not of the schedule, one for the co-allocated."""
    if bar.given:
        return "\\"
    return "/" if bar.is_coallocated else ""


def hover_text(layout: Layout, bar: Bar) -> str:
    """Return what is said about a job when the pointer is over it."""
    return "<br>".join(
        [f"<b>{safe(bar.job.id)}</b>", *times(layout, bar), allocation_text(layout, bar), nodes_text(bar)]
    )


def times(layout: Layout, bar: Bar) -> Iterator[str]:
    """Yield the lines about a job's times; of a job that runs already only the end is known."""
    unit = layout.unit
    if bar.given:
        since = "" if bar.given == "running" else f" from {bar.start / unit.seconds:.5g} {unit.symbol}"
        yield f"{bar.given}{since} until {bar.end / unit.seconds:.5g} {unit.symbol}"
        return
    duration = bar.end - bar.start
    yield f"start {bar.start / unit.seconds:.5g} {unit.symbol}, end {bar.end / unit.seconds:.5g} {unit.symbol}"
    wait = duration_text(bar.start - bar.job.arrival, layout.given_unit)
    yield f"duration {duration_text(duration, layout.given_unit)}, wait {wait}"
    slowdown = duration / bar.job.base_time - 1.0
    yield f"execution slowdown {slowdown:.4g} ((duration - reference run time) / reference run time)"
    if bar.killed:
        yield "killed"


def allocation_text(layout: Layout, bar: Bar) -> str:
    """Return the tasks of a job and how many each cluster has: ``4 tasks: 3 on C1, 1 on C2``."""
    used = [(count, band.name) for count, band in zip(bar.tasks, layout.bands, strict=True) if count]
    return f"{plural(bar.job.tasks, 'task')}: " + ", ".join(f"{count} on {safe(name, 24)}" for count, name in used)


def nodes_text(bar: Bar) -> str:
    """Return the nodes of a job, adjacent ones as a range: ``nodes C1/0 to C1/2, C2/1``."""
    named = [piece_text(piece) for piece in bar.pieces[:MOST_NAMED]]
    more = len(bar.pieces) - len(named)
    return "nodes " + ", ".join(named) + (f" and {plural(more, 'more range')}" if more else "")


def piece_text(piece: Piece) -> str:
    """Return the processors of a piece: its only one, or the first and the last."""
    first, last = safe(piece.first, 32), safe(piece.last, 32)
    return first if piece.first == piece.last else f"{first} to {last}"


def connector_traces(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the trace of the lines that join the pieces of each job that is co-allocated, and that of their ends."""
    joined = list(connectors(layout, CONNECTOR_INSET * (layout.end - layout.start)))
    trace = {"type": "scatter", "hoverinfo": "skip"}
    marker = {"size": 5, "color": palette.INK, "line": {"color": palette.PAPER, "width": 1}}
    for mode, look, rows in (
        ("lines", {"line": {"color": palette.INK, "width": 1.3}}, [line.parts for line in joined]),
        ("markers", {"marker": marker}, [(line.ends,) for line in joined]),
    ):
        x = [line.time / layout.unit.seconds for line, pairs in zip(joined, rows, strict=True) for _ in pairs]
        y = [pair for pairs in rows for pair in pairs]
        yield (
            trace
            | look
            | {
                "mode": mode,
                "x": [place for time in x for place in (time, time, None)],
                "y": [place for pair in y for place in (*pair, None)],
            }
        )


def arrivals(layout: Layout) -> dict[str, Any]:
    """Return the trace of the ticks above the chart, one for each arrival."""
    return {
        "type": "scatter",
        "x": [instant / layout.unit.seconds for instant in layout.arrivals],
        "y": [ABOVE * layout.rows] * len(layout.arrivals),
        "mode": "markers",
        "marker": {"symbol": "triangle-down", "size": 7, "color": "#808080"},
        "hovertext": [
            f"arrival {instant / layout.unit.seconds:.5g} {layout.unit.symbol}" for instant in layout.arrivals
        ],
        "hoverinfo": "text",
    }


def link_traces(layout: Layout, curve: LinkCurve) -> Iterator[dict[str, Any]]:
    """Yield the traces of a link's load: steps, and in red what is above its capacity."""
    shares = np.minimum([*curve.shares, 0.0], curve.shown)
    steps: dict[str, Any] = {
        "x": [instant / layout.unit.seconds for instant in curve.edges],
        "mode": "lines",
        "line": {"shape": "hv", "width": 0},
    }
    hover = [share_text(share) for share in (*curve.shares, 0.0)]
    load = {"y": shares.tolist(), "fill": "tozeroy", "fillcolor": palette.LINK}
    yield steps | load | {"hovertext": hover, "hoverinfo": "text"}
    if curve.peak > OVERLOADED:
        yield steps | {"y": [1.0] * len(curve.edges), "hoverinfo": "skip"}
        above = {"y": np.maximum(shares, 1.0).tolist(), "fill": "tonexty", "fillcolor": palette.OVERLOAD}
        yield steps | above | {"hoverinfo": "skip"}


def band_shapes(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the shading of the clusters, and a line between nodes while these are few."""
    across = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    for band in layout.bands:
        yield across | {"type": "rect", "y0": band.top, "y1": band.bottom, "fillcolor": SHADE, "line": {"width": 0}}
        if layout.rows <= 100:
            for node in band.nodes[1:]:
                yield across | {"type": "line", "y0": node.top, "y1": node.top, "line": {"color": RULE, "width": 1}}


SHADE, RULE = "rgba(128,128,128,0.10)", "rgba(128,128,128,0.25)"


def time_shapes(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the bounds of the slots and the end of the schedule, over the height of the chart."""
    upright = {"type": "line", "yref": "y", "y0": 0, "y1": layout.rows}
    for instant in layout.slot_lines:
        x = instant / layout.unit.seconds
        yield upright | {"x0": x, "x1": x, "layer": "below", "line": {"color": RULE, "width": 1, "dash": "dot"}}
    if layout.makespan is not None:
        x = layout.last_end / layout.unit.seconds
        yield upright | {"x0": x, "x1": x, "line": {"color": "#808080", "width": 1.5, "dash": "dash"}}


def capacity_shapes(curves: tuple[LinkCurve, ...]) -> Iterator[dict[str, Any]]:
    """Yield the shading of the strips, and the line at 100 % of each link's capacity."""
    across = {"xref": "paper", "x0": 0, "x1": 1}
    for i, curve in enumerate(curves):
        ground = {
            "type": "rect",
            "y0": 0,
            "y1": curve.shown,
            "fillcolor": SHADE,
            "line": {"width": 0},
            "layer": "below",
        }
        yield across | ground | {"yref": f"y{i + 2}"}
        line = {"color": palette.OVERLOAD, "width": 1, "dash": "dash"}
        yield across | {"type": "line", "yref": f"y{i + 2}", "y0": 1, "y1": 1, "line": line}


def note(text: str, **place: Any) -> dict[str, Any]:
    """Return an annotation: a text at a place, without arrow."""
    return {"text": text, "showarrow": False, "font": {"size": 12}, "align": "left"} | place


def caption(layout: Layout) -> str:
    """Return what is shown, and the key to the marks that occur; the page has it as text, which wraps on a phone."""
    key = ["hatched: co-allocated"] if layout.num_coallocated and is_hatched(layout) else []
    key += ["red outline: killed"] if any(bar.killed for bar in layout.bars) else []
    key += [f"grey: {layout.given}"] if layout.given else []
    key += ["dark mark: local user"] if layout.presences else []
    key += ["crossed: stopped"] if layout.stopped else []
    return "; ".join([layout.summary, *key])


def makespan_note(layout: Layout) -> dict[str, Any]:
    """Return the makespan, above the end of the schedule."""
    if layout.makespan is None:
        return note("no placements", xref="paper", yref="paper", x=0.5, y=0.5)
    text = f"<b>makespan {duration_text(layout.makespan, layout.given_unit)}</b>"
    late = layout.last_end > (layout.start + layout.end) / 2
    place = {"x": layout.last_end / layout.unit.seconds, "xanchor": "right" if late else "left", "xref": "x"}
    return note(text, **place, yref="paper", y=1, yanchor="bottom", yshift=12)


def band_note(band: Band) -> dict[str, Any]:
    """Return the name of a cluster, its size and powers, beside its band."""
    text = "<br>".join([f"<b>{safe(band.name, 24)}</b>", *band.detail.split(", ", 1)])
    if len(band.nodes) == 1:
        text = f"<b>{safe(band.name, 24)}</b>"
    return note(text, xref="paper", x=0, xanchor="right", xshift=-40, y=(band.top + band.bottom) / 2, align="right")


def strip_notes(layout: Layout, curves: tuple[LinkCurve, ...]) -> Iterator[dict[str, Any]]:
    """Yield the title of the strips, and the name and peak of each link beside its strip."""
    left = {"xref": "paper", "x": 0}
    if not curves:
        yield note("No link is loaded.", **left, xanchor="left", yref="paper", y=0, yanchor="top", yshift=-26)
        return
    more = len(layout.curves) - len(curves)
    title = strips_title(layout.curves)
    title += f" (the {MOST_STRIPS} most loaded of {len(layout.curves)})" if more else ""
    aside = NOTES_MARGIN - left_margin(layout, curves)  # a phone has no room for it above the strips alone
    yield note(
        f"<b>{title}</b>", **left, xanchor="left", xshift=aside, yref="y2 domain", y=1, yanchor="bottom", yshift=3
    )
    for i, curve in enumerate(curves):
        name, peak, capacity = strip_lines(curve)
        if curve.peak > OVERLOADED:
            peak = f'<span style="color:{OVERLOAD_TEXT}">{peak}</span>'
        text = f"<b>{safe(name, 24)}</b><br>{peak}<br>{capacity}"
        yield note(text, **left, xanchor="right", xshift=-40, yref=f"y{i + 2} domain", y=0.5, align="right")


def strip_lines(curve: LinkCurve) -> tuple[str, str, str]:
    """Return the lines beside a strip: the name of the link, its peak, and the capacity that the peak is a share of."""
    return shortened(curve.name, 24), f"peak {share_text(curve.peak)}", f"of {curve.capacity_text}"


OVERLOAD_TEXT = "#E05252"
"""A red that is read on light and on dark paper."""


def left_margin(layout: Layout, curves: tuple[LinkCurve, ...]) -> int:
    """Return the room for the names of clusters and links, pixels."""
    rows = [(shortened(band.name, 24), *band.detail.split(", ", 1)) for band in layout.bands]
    rows += map(strip_lines, curves)
    return 40 + NOTES_MARGIN + max(max(8 * len(name), *(7 * len(line) for line in lines)) for name, *lines in rows)


def time_axis(layout: Layout, strips: int) -> dict[str, Any]:
    """Return the time axis, shared by the chart and the strips."""
    start, end = layout.start / layout.unit.seconds, layout.end / layout.unit.seconds
    return {
        "title": {"text": f"time ({layout.unit.symbol})", "font": {"size": 12}, "standoff": 4},
        "range": [start, end + 0.012 * (end - start)],
        "anchor": f"y{strips + 1}" if strips else "y",
        "gridcolor": RULE,
        "zeroline": False,
        "showgrid": not layout.slot_lines,
    }


def node_axis(layout: Layout, chart: float, strips: float) -> dict[str, Any]:
    """Return the axis of the nodes, downwards, each with its number while there is room."""
    numbered = numbered_nodes(layout, 12 * layout.rows / chart)
    return {
        "range": [layout.rows, 2 * ABOVE * layout.rows if layout.arrivals else 0],
        "domain": [strips / (chart + strips), 1],
        "tickvals": [(node.top + node.bottom) / 2 for node in numbered],
        "ticktext": [str(node.number) for node in numbered],
        "tickfont": {"size": 10},
        "showgrid": False,
        "zeroline": False,
    }


def link_axis(below: int, curve: LinkCurve, height: float) -> dict[str, Any]:
    """Return the axis of a link's strip, with so many strips below it, on a plot of so many pixels."""
    bottom = below * (STRIP + STRIP_GAP)
    return {
        "range": [0, curve.shown],
        "domain": [bottom / height, (bottom + STRIP) / height],
        "tickvals": [0, 1],
        "ticktext": ["0", "100 %"],
        "tickfont": {"size": 9},
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
