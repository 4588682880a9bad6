"""Words of an audit for points in time, durations and shares."""

from __future__ import annotations

from datetime import UTC, datetime


def date_text(instant: float, epoch: float | None) -> str:
    """Return an instant as a date on the clock of the site, or in s where that is not known."""
    if epoch is None:
        return f"{instant:.12g} s"
    return f"{datetime.fromtimestamp(epoch + instant, UTC):%Y-%m-%d %H:%M}"


def amount(seconds: float) -> str:
    """Return a time in its own unit with three digits, from milliseconds on: logs count whole seconds."""
    seconds = round(seconds, 3)
    unit, length = next(
        ((symbol, length) for symbol, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)) if seconds >= length),
        ("s", 1.0),
    )
    return f"{seconds / length:.3g} {unit}"


def percent(share: float) -> str:
    """Return a share in percent; a part of one is not said to be none, or all."""
    if 0.0 < share < 0.001 or 0.999 < share < 1.0:
        return f"{100.0 * share:.2f} %"
    return f"{100.0 * share:.3g} %"
