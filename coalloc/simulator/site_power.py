"""The power of a site while jobs come and go: when it is on, and which of its cores are.

At the beginning all is off. A job assigned to a site that is off starts it up, and nothing starts there before it is
up. A core goes off when it has had no job for its grace, a site when that and its own grace have passed since its last
job; while one waits it stays on. What switches at an instant has switched at that instant: a job that arrives when the
site goes off finds it off. Source: the two-level grid study, section 3.1; errata 27.
"""

from __future__ import annotations

import math
from collections import deque
from copy import copy
from typing import Self

from coalloc.instance import PowerStates
from coalloc.simulator.processors import Processors


class SitePower:
    """Whether a site is off, starts up or is on, and which of its cores are on.

    Times are in s and never go back. ``num_jobs`` is the number of jobs that wait or run.
    """

    def __init__(self, states: PowerStates) -> None:
        self._states = states
        self.num_jobs = 0
        self._ready, self._off = -math.inf, -math.inf
        self._cooling: deque[tuple[float, Processors]] = deque()

    def copied(self) -> Self:
        """Return the power of a site as something of its own."""
        twin = copy(self)
        twin._cooling = self._cooling.copy()
        return twin

    def runs(self) -> None:
        """Let a job run that runs already at the first instant: the site is on from then."""
        self.num_jobs += 1

    def is_off(self, now: float) -> bool:
        """Return whether the site is off, and does not start up."""
        return not self.num_jobs and now >= self._off

    def earliest_start(self, now: float) -> float:
        """Return when a job that is assigned now can start at the earliest, if its processors are free, s."""
        return now + self._states.startup_time if self.is_off(now) else max(now, self._ready)

    def assigned(self, now: float) -> float:
        """Let a job wait at the site, which starts up where it is off; return when jobs can start, s."""
        self._ready = self.earliest_start(now)
        self.num_jobs += 1
        return self._ready

    def is_up(self, now: float) -> bool:
        """Return whether jobs can start that have been assigned."""
        return now >= self._ready

    def ended(self, processors: Processors, now: float) -> None:
        """Let a job end that held these processors."""
        self.num_jobs -= 1
        core_off = now + self._states.core_grace
        self._off = core_off + self._states.site_grace
        self._cooling.append((core_off, processors))

    def cores_on(self, now: float) -> Processors:
        """Return the cores that are on without a job; those that work since then may be among them."""
        cooling, cores = self._cooling, 0
        while cooling and cooling[0][0] <= now:
            cooling.popleft()
        for _, processors in cooling:
            cores |= processors
        return cores
