"""Policies with one queue of waiting jobs: what they remember of it, and how they copy and forget it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Self

from coalloc.instance import Job
from coalloc.rules.queues import WaitingJobs
from coalloc.simulator.policy import State


@dataclass(slots=True)
class Queued:
    """A policy whose waiting jobs are in an order; ``begin`` of a subclass sets it up for a run."""

    _run: object = field(init=False, default=None)
    _waiting: WaitingJobs = field(init=False)

    def left(self, _: State, __: Job) -> None:
        """Take the queue in anew."""
        self._waiting.clear()

    def copy(self) -> Self:
        """Return a policy of its own with the same order of the queue."""
        twin = copy(self)
        if self._run is not None:
            twin._waiting = self._waiting.copied()
        return twin
