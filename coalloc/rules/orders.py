"""Queue orders: each is a key function over jobs; ties keep the order of arrival.

Source: thesis, section 3.1.3.3; errata 12 (``sjf`` means fewest tasks there, shortest time is ``spt``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from coalloc.instance import Job

ORDERS: Mapping[str, Callable[[Job], Any]] = {
    "fcfs": lambda job: job.arrival,
    "sjf": lambda job: job.tasks,
    "bjf": lambda job: -job.tasks,
    "spt": lambda job: job.estimate,
    "lpt": lambda job: -job.estimate,
    "largest-area": lambda job: -job.tasks * job.estimate,
}
"""Sort key by name of the order."""


def ordered(jobs: Iterable[Job], order: str) -> list[Job]:
    """Return the jobs in a named order."""
    return sorted(jobs, key=ORDERS[order])
