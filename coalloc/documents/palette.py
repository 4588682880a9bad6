"""Colours of the pictures.

Seven colours of Okabe and Ito (distinct under every common colour vision deficiency), four more of
Paul Tol's "muted" scheme; further jobs get lighter, then darker versions. Grey is left for running jobs.
"""

from __future__ import annotations

import functools

BASE = (
    "#56B4E9",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#DDCC77",
    "#5B4BA8",
    "#999933",
    "#882255",
)
"""Colours in the order in which jobs get them."""

VARIANTS = (("#FFFFFF", 0.0), ("#FFFFFF", 0.5), ("#000000", 0.3))
"""Colours with which each further round of ``BASE`` is mixed, and their shares."""

INK = "#22252B"
PAPER = "#FFFFFF"
MUTED = "#6B7280"
BAND = "#F1F3F6"
GRID = "#D5D9E0"
RUNNING = "#C3C7CE"
OVERLOAD = "#C62828"
LINK = "#7C8DA6"
USER = "#3B3F46"


@functools.cache
def bar_colour(number: int | None) -> str:
    """Return the colour, ``#RRGGBB``, of the job with this number in its instance; they repeat after 33.

    ``None`` stands for a job that runs already.
    """
    if number is None:
        return RUNNING
    other, share = VARIANTS[number // len(BASE) % len(VARIANTS)]
    return mixed(BASE[number % len(BASE)], other, share)


@functools.cache
def text_colour(background: str) -> str:
    """Return ink or paper, whichever has the higher contrast (WCAG 2) on ``background``."""
    light = luminance(background) + 0.05
    return INK if light / (luminance(INK) + 0.05) >= 1.05 / light else PAPER


def mixed(colour: str, other: str, share: float) -> str:
    """Return ``colour`` with this share of ``other`` mixed in, channel by channel."""
    pairs = zip(channels(colour), channels(other), strict=True)
    return "#" + "".join(f"{round(255 * (a + (b - a) * share)):02X}" for a, b in pairs)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, 0 to 1. Source: WCAG 2.2, relative luminance."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def channels(colour: str) -> tuple[float, float, float]:
    """Return red, green and blue of ``#RRGGBB``, 0 to 1."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
