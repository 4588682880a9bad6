"""Instances made from files of other formats, for ``coalloc convert``."""

from __future__ import annotations

from typing import cast, get_args

from coalloc.documents.storage import FilePath
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.workloads.slurm.sacct import NOTHING_KNOWN, SacctOptions, SacctReport, read_sacct_with_report
from coalloc.workloads.swf import Broken, Communication, SwfOptions, SwfReport, read_swf_with_report
from coalloc.workloads.swf_records import read_header
from coalloc.workloads.swf_rules import Invalid, Oversize
from coalloc.workloads.swf_writing import DIFFERENCE_DIGITS, Known


def convert_swf(
    path: FilePath,
    slice: str | None,
    platform: Platform,
    seed: int = 0,
    *,
    invalid: Invalid = "drop",
    oversize: Oversize = "drop",
    broken: Broken = "error",
    communication: Communication = "seeded",
    name: str | None = None,
    keeps_records: bool = False,
) -> tuple[Instance, SwfReport]:
    """Return consecutive jobs of an SWF trace as an instance on a platform, and what was changed.

    Unlike :func:`coalloc.workloads.swf.read_swf`, communication is drawn by default, since the
    platform usually has links to load. Parameters are those of ``SwfOptions``; raises ``InstanceError``.
    """
    options = SwfOptions(
        slice=slice,
        invalid=invalid,
        oversize=oversize,
        broken=broken,
        communication=communication,
        seed=seed,
        name=name,
    )
    return read_swf_with_report(path, platform, options, keeps_records=keeps_records)


def known_of_swf(path: FilePath, instance: Instance, report: SwfReport) -> Known:
    """Return what a trace says of the jobs of its instance, for which the account has kept their records."""
    ids = [job.id for job in instance.jobs]
    began = _unix_start(path, report.records[0].submit - instance.jobs[0].arrival if ids else 0.0)
    return Known(dict(zip(ids, report.records, strict=True)), began)


def _unix_start(path: FilePath, shift: float) -> dict[str, str]:
    """Return when the clock of a trace begins that begins so many seconds later, and in which time zone."""
    header = read_header(path)
    found = {name: text for name, text in header.items() if name in ("TimeZone", "TimeZoneString")}
    try:
        began = float(header["UnixStartTime"].split()[0]) + max(0.0, shift)
    except (KeyError, ValueError, IndexError):
        return found
    return {"UnixStartTime": f"{began:.15g}", **found}


def known_of_sacct(instance: Instance, report: SacctReport) -> Known:
    """Return what an export of Slurm says of the jobs of its instance: when they started."""
    records = {
        job.id: NOTHING_KNOWN._replace(wait=round(start - job.arrival, DIFFERENCE_DIGITS))
        for job, start in zip(instance.jobs, report.starts, strict=True)
    }
    return Known(records, {"UnixStartTime": f"{report.epoch:.15g}"})


def convert_sacct(
    path: FilePath, platform: Platform, *, oversize: str = "drop", broken: str = "error", name: str | None = None
) -> tuple[Instance, SacctReport]:
    """Return the jobs of an accounting export of Slurm as an instance on a platform, and what was dropped and changed.

    Parameters are those of ``SacctOptions``; raises ``CoallocError`` where one is none, and ``InstanceError``.
    """
    for option, given, known in (("oversize", oversize, Oversize), ("broken", broken, Broken)):
        if given not in get_args(known):
            raise CoallocError(f"{option} must be one of {', '.join(get_args(known))}, got {given!r}")
    options = SacctOptions(oversize=cast(Oversize, oversize), broken=cast(Broken, broken), name=name)
    return read_sacct_with_report(path, platform, options)
