"""Units of time in which a model of seconds is solved, so that a solver's tolerances mean what they should.

They are absolute: about 1e-6 in a row. Of 1e9 s no solution is as precise, and feasible ones are refused; of 1e-3 s
it is a share of 0.1 %. A unit is a power of two, so that times change back to the same digits. Models whose rows
count slots have no need of it.
"""

from __future__ import annotations

import math

from coalloc.instance import Instance
from coalloc.schedule import Schedule

LARGEST_MEAN = 1024.0
"""Units that the mean base time is below, and of which it is at least half."""


def time_unit(instance: Instance) -> float:
    """Return the unit of time that fits an instance, s."""
    return math.ldexp(1.0, math.frexp(instance.mean_base_time / LARGEST_MEAN)[1]) if instance.jobs else 1.0


def in_units(instance: Instance, unit: float) -> Instance:
    """Return an instance with all times in units of so many seconds."""
    jobs = (
        job.replace(base_time=job.base_time / unit, arrival=job.arrival / unit, estimate=job.estimate / unit)
        for job in instance.jobs
    )
    running = (run.replace(end=run.end / unit) for run in instance.running)
    return instance.replace(jobs=tuple(jobs), running=tuple(running))


def in_seconds(schedule: Schedule, unit: float) -> Schedule:
    """Return a schedule without slots, whose times are in units, with times in seconds."""
    placements = (p.replace(start=p.start * unit, end=p.end * unit) for p in schedule)
    return schedule.replace(placements=tuple(placements))
