"""The earliest start that the running jobs, by their estimates, leave to one that does not fit now.

Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2.2 (shadow time and extra nodes).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import add, itemgetter, sub
from typing import NamedTuple

from coalloc.allocation import Allocation
from coalloc.instance import Job
from coalloc.rules.allocation_rules import Choose

Release = tuple[float, Allocation]
"""When processors become free (s), and how many of each class."""


class Reservation(NamedTuple):
    """A start (s) kept for a job, and the ``extra`` processors per class that are free then besides its own."""

    start: float
    extra: Allocation


def reservation(job: Job, free: Sequence[int], releases: Iterable[Release], choose: Choose) -> Reservation:
    """Return the reservation of a job.

    ``free`` are the processors per class (or the room, :mod:`coalloc.rules.memories`) before the ``releases``, which
    are in order of time. A job that fits nowhere even once all have ended has its start at infinity, and takes nothing
    from the others.
    """
    available, room = tuple(free), sum(free)
    for instant, released in groupby(releases, itemgetter(0)):
        for _, counts in released:
            available = tuple(map(add, available, counts))
            room += sum(counts)
        if room >= job.tasks:  # a room with memory adds up to more, never to less
            chosen = choose(job, available)
            if chosen is not None:
                return Reservation(instant, tuple(map(sub, available, chosen)))
    return Reservation(math.inf, available)
