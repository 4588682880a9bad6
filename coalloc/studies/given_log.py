"""The log that a study is given: a trace on a platform, or an instance; and points in time on its clock."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import numpy as np

from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.workloads.logs import Log, read_log
from coalloc.workloads.slurm.sacct_records import Unit
from coalloc.workloads.swf import Broken, chosen_platform


def log_of(
    trace: FilePath | Instance,
    processors: int | None,
    platform: Platform | None,
    *,
    unit: Unit,
    partition: str | None,
    broken: Broken,
) -> Log:
    """Return the log of a trace, or an instance of which no start is known."""
    if not isinstance(trace, Instance):
        return read_log(trace, chosen_platform(processors, platform), unit=unit, partition=partition, broken=broken)
    if processors is not None or platform is not None:
        raise CoallocError("processors and platform require a trace; an instance contains its platform")
    return Log(trace, np.full(len(trace.jobs), np.nan), None, ())


def instant_of(name: str, given: float | str, epoch: float | None) -> float:
    """Return an instant on the clock of the trace, s."""
    if not isinstance(given, str):
        return float(given)
    with suppress(ValueError):
        return float(given)
    try:
        instant = datetime.fromisoformat(given).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise CoallocError(f"{name}: must be a number of seconds or a date (2026-10-01), got {quoted(given)}") from None
    if epoch is None:
        raise CoallocError(
            f"{name}: must be a number of seconds, because the trace has no start date, got {quoted(given)}"
        )
    return instant - epoch
