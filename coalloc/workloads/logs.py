"""A log: the jobs of a trace and when each of them started, whatever the format of the file is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.storage import FilePath
from coalloc.instance import Instance, Platform
from coalloc.measures.groups import Labels, name_labels
from coalloc.workloads.flux.jobs import is_listing, read_listing, records
from coalloc.workloads.slurm.sacct import SacctOptions, log_of_records
from coalloc.workloads.slurm.sacct_records import Unit, is_sacct, read_records
from coalloc.workloads.swf import Broken, SwfOptions, read_swf_with_report
from coalloc.workloads.swf_records import read_header

Format = Literal["swf", "sacct", "flux"]


@dataclass(frozen=True)
class Log:
    """An instance as it was run.

    ``starts`` are in s on the clock of the instance, nan where the trace does not say one. ``epoch`` is its 0 in s
    since 1970 on the clock of the site, None where that is not known. ``account`` says what was dropped and changed.
    ``memberships`` say to what each job belongs, where the trace has such: group, queue and partition by number, or
    account, partition and QOS by name; None: unknown.
    """

    instance: Instance
    starts: NDArray[np.float64]
    epoch: float | None
    account: Sequence[str]
    memberships: Mapping[str, Labels] = field(default_factory=dict)


def format_of(path: FilePath) -> Format:
    """Return the format of a trace, which its beginning tells: SWF where it is neither of sacct nor of Flux."""
    return "sacct" if is_sacct(os.fspath(path)) else "flux" if is_listing(os.fspath(path)) else "swf"


def read_log(
    path: FilePath,
    platform: Platform,
    *,
    unit: Unit = "cpus",
    partition: str | None = None,
    broken: Broken = "error",
) -> Log:
    """Return the log in a trace: SWF, or of ``sacct`` or Flux, of which ``unit`` and ``partition`` are options.

    ``broken``: lines that cannot be read are an ``"error"``, or ``"drop"``.

    Raises
    ------
    InstanceError
        The file cannot be read, or is none of them; each fault has its line.
    """
    kind, notes = format_of(path), Counter[str]()
    if kind != "swf":
        lines = (
            read_records(os.fspath(path), unit, partition)
            if kind == "sacct"
            else records(read_listing(os.fspath(path)), unit, notes, queue=partition)
        )
        instance, account = log_of_records(lines, path, platform, SacctOptions(unit, partition, broken=broken))
        names = {name: name_labels(of_jobs) for name, of_jobs in account.memberships.items() if any(of_jobs)}
        others = [f"not expressed: {what} ({number})" for what, number in notes.items() if number]
        starts = np.array(account.starts, dtype=np.float64)
        return Log(instance, starts, account.epoch, (*account.sentences, *others), names)
    instance, report = read_swf_with_report(path, platform, SwfOptions(broken=broken))
    waits = np.array(report.waits, dtype=np.float64)
    arrivals = np.array([job.arrival for job in instance.jobs], dtype=np.float64)
    memberships = {
        name: _numbered(numbers) for name, numbers in report.memberships.items() if max(numbers, default=-1) >= 0
    }
    starts = np.where(waits >= 0.0, arrivals + waits, np.nan)
    return Log(instance, starts, _epoch(path), report.sentences, memberships)


def _numbered(numbers: Sequence[int]) -> Labels:
    """Return the labels of jobs that have numbers from 0 on."""
    different, of_job = np.unique(np.array(numbers, dtype=np.int64), return_inverse=True)
    return Labels([str(number) if number >= 0 else None for number in different.tolist()], of_job.astype(np.int64))


def _epoch(path: FilePath) -> float | None:
    """Return the clock's 0 of an SWF trace on the clock of its site, if the comments say it."""
    header = read_header(path)
    try:
        return float(header["UnixStartTime"].split()[0]) + float((header.get("TimeZone") or "0").split()[0])
    except (KeyError, ValueError, IndexError):
        return None
