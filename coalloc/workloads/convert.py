"""Instances made from files of other formats, for ``coalloc convert``."""

from __future__ import annotations

from typing import cast, get_args

from coalloc.documents.storage import FilePath
from coalloc.instance import CoallocError, Instance, Platform
from coalloc.workloads.sacct import SacctOptions, SacctReport, read_sacct_with_report
from coalloc.workloads.swf import Broken, Communication, SwfOptions, SwfReport, read_swf_with_report
from coalloc.workloads.swf_rules import Invalid, Oversize


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
    return read_swf_with_report(path, platform, options)


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
