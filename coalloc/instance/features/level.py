"""Levels of switches: a job stays under one switch of a level, or would rather."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coalloc.documents.columns import column
from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.features.feature import Condition, Feature, Stated, of_job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every level that no switch has."""
    switches = read.listed(stated.platform, "switches")
    levels = [level for switch in switches if (level := read.text(switch, "level")) is not None]
    for i, job in stated.jobs:
        name = read.text(read.field(job, "level"), "name")
        if name is not None and name not in levels:
            sentence = f"must be the level of a switch of the platform, got {quoted(name)}"
            yield Fault(f"jobs[{i}].level.name", sentence)


def _platform_faults(platform: object) -> Iterator[Fault]:
    """Yield a fault for every switch of the level of a switch above it."""
    switches = read.listed(platform, "switches")
    above = {read.text(switch, "name"): switch for switch in switches}
    for i, switch in enumerate(switches):
        level, upper, passed = read.text(switch, "level"), above.get(read.text(switch, "parent")), {i}
        while level is not None and upper is not None and id(upper) not in passed:
            if read.text(upper, "level") == level:
                sentence = f"must differ from the level of switch {quoted(read.text(upper, 'name') or '')} above it"
                yield Fault(f"switches[{i}].level", f"{sentence}, got {quoted(level)}")
                break
            passed.add(id(upper))
            upper = above.get(read.text(upper, "parent"))


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        if job.level is not None and job.level.required:
            sentence = f"job {quoted(job.id)} stays under one switch of level {quoted(job.level.name)}"
            yield Condition(sentence, of_job(job, lambda j: j.replace(level=None)))


FEATURE = Feature(
    fields=("Job.level", "Switch.level", "SwitchLevel.name", "SwitchLevel.required"),
    is_used=lambda instance: any(level is not None and level.required for level in column(instance.jobs, "level")),
    faults=_faults,
    platform_faults=_platform_faults,
    conditions=_conditions,
)
