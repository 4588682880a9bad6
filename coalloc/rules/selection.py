"""Selection of the jobs of an ordered queue that form a package: those whose tasks fit the free processors by count.

Source: thesis, section 3.1.1, equation (3.2) and Algorithm 1; errata 8.
"""

from __future__ import annotations

from collections.abc import Iterable

from coalloc.instance import Job


def selected(queue: Iterable[Job], free: int, skip: bool = False) -> list[Job]:
    """Return the jobs that fit ``free`` processors together, up to the first that does not (or without it)."""
    package = []
    for job in queue:
        if job.tasks <= free:
            package.append(job)
            free -= job.tasks
        elif not skip:
            break
    return package
