"""Stand-ins for the logs of DAS2, which are not available: jobs of another machine at its five sites.

Site *i* of the five gets, in week *w*, week *w* + 7 *i* of a log (modulo its weeks), without jobs that are larger than
the site. Nothing else is changed. Three logs of unlike machines show whether a verdict depends on them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from scenarios import Scenario

import coalloc
from coalloc import Instance, Job

STAND_INS = {
    "no jobs at DAS2": "",
    "jobs of SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "jobs of SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln.swf.gz",
    "jobs of SDSC-DS": "SDSC-DS-2004-2.1-cln.swf.gz",
}
"""Logs by what is said of them."""
APART = 7
"""Weeks between the parts of the log that two sites get in the same week."""
HOST = "LANL"
"""The largest site, which takes the log while its weeks are cut: no job is dropped for its size."""


def with_stand_in(weeks: Sequence[Instance], scenario: Scenario, traces: Path, name: str) -> list[Instance]:
    """Return the weeks with the jobs of a stand-in at the five sites of DAS2."""
    if not STAND_INS[name]:
        return list(weeks)
    given = stand_in(scenario, traces.resolve() / STAND_INS[name])
    return [
        week.replace(jobs=sorted([*week.jobs, *jobs_of(week, given, number)], key=lambda job: job.arrival))
        for number, week in enumerate(weeks)
    ]


@functools.cache
def stand_in(scenario: Scenario, log: Path) -> tuple[Instance, ...]:
    """Return all weeks of a log on the platform of a scenario."""
    trace = {"site": HOST, "swf": str(log)}
    return coalloc.io.merge_swf(
        {"platform": scenario.grid, "name": "stand-in", "speeds": scenario.speeds, "traces": [trace]}
    ).weeks


def jobs_of(week: Instance, given: Sequence[Instance], number: int) -> Iterator[Job]:
    """Yield the jobs of all five sites in a week."""
    sites = [cluster for cluster in week.platform.clusters if cluster.name.startswith("DAS2")]
    for place, site in enumerate(sites):
        for job in given[(number + APART * place) % len(given)].jobs:
            if job.tasks <= site.num_processors:
                yield job.replace(id=f"{site.name}-{job.id}", user=f"{site.name}-{job.user}")
