r"""MESD and OAS plan processors and an order: both are kept, and jobs start as soon as they can.

Real ends may differ from planned ones. A plan is a list in the order of planned starts (MESD: in which jobs were
chosen). At every pass the list is visited once. A job $j$ starts if all its processors are free and none is planned for
an earlier job of the list that has not started. OAS also requires, for every link $k$ that $j$ loads,

$$\sum_{i \text{ running}} BW_{ik} + \sum_{i \text{ before } j,\ \text{not started}} BW_{ik} + BW_{jk} \le MBW_k$$

So a planned job may start earlier than planned, never at the cost of one before it. If all jobs end as planned or
earlier, none starts later than planned. *Proof.* At its planned start $s_j$ all jobs before it have started (by
induction). Those that still run also run at $s_j$ in the plan, and a later job that started early has left capacity on
the links for all that were before it and had not started. ∎ Source: thesis, section 3.3.1; errata 5 and 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from operator import sub
from typing import NamedTuple, Self

from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import Processors, indices_of


class Planned(NamedTuple):
    """A job of a plan: where it will run, how long (s, by its estimate), what it takes of links and memories."""

    job_id: str
    processors: Processors
    duration: float
    loads: Sequence[float] = ()

    def start(self, state: State) -> Start:
        """Return the decision to start it now."""
        return Start(self.job_id, nodes=state.names(self.processors))


Admits = Callable[[Planned], bool]
"""Whether a job may start now that could: it may be that its nodes are soon not there."""


def always(_: Planned) -> bool:
    """Return that a job that could start may."""
    return True


def due(
    plan: Sequence[Planned], free: Processors, left: Sequence[float] = (), admits: Admits = always
) -> Iterator[Planned]:
    """Yield the jobs of a plan, which is in the order of planned starts, that can start now.

    ``left`` is what the running jobs leave of each link and memory; plans without loads ignore both. ``admits`` says
    whether a job that could start may.
    """
    left = tuple(left)
    for planned in plan:
        if not free:
            return
        is_carried = all(load <= room or not load for load, room in zip(planned.loads, left, strict=False))
        if not planned.processors & ~free and is_carried and admits(planned):
            yield planned
        free &= ~planned.processors
        if planned.loads:
            left = tuple(map(sub, left, planned.loads))


def without(plan: Sequence[Planned], started: Sequence[Planned]) -> list[Planned]:
    """Return what is left of a plan."""
    ids = {planned.job_id for planned in started}
    return [planned for planned in plan if planned.job_id not in ids]


class Turns:
    """A plan whose jobs take turns on their processors, whatever they load: :func:`due` for plans of many jobs.

    At every question only the processors are looked at that have become free since the last.
    """

    def __init__(self, plan: Iterable[Planned] = ()) -> None:
        self._plan = tuple(plan)
        self._num_waiting = len(self._plan)
        self._missing = [planned.processors.bit_count() for planned in self._plan]
        """Number of processors that each job waits for: they are not free, or another has its turn."""
        self._given: Processors = 0
        """The free processors that were offered to whose turn it is."""
        self._held_back: set[int] = set()
        """Jobs that wait for none of their processors, and may not start yet."""
        self._turns: dict[int, list[int]] = {}
        for place in reversed(range(len(self._plan))):
            for processor in indices_of(self._plan[place].processors):
                self._turns.setdefault(processor, []).append(place)

    def without(self, job_id: str) -> Turns:
        """Return the plan of the jobs that have not started, but for one."""
        waiting = {place for turns in self._turns.values() for place in turns}
        plan = enumerate(self._plan)
        return Turns(planned for place, planned in plan if place in waiting and planned.job_id != job_id)

    def copied(self) -> Self:
        """Return a plan of its own that is as far."""
        twin = copy(self)
        twin._missing, twin._held_back = self._missing.copy(), self._held_back.copy()
        twin._turns = {processor: turns.copy() for processor, turns in self._turns.items()}
        return twin

    def __bool__(self) -> bool:
        """Return whether some job has not started."""
        return self._num_waiting > 0

    def due(self, free: Processors, admits: Admits = always) -> list[Planned]:
        """Return the jobs that start now on free processors, as ``admits`` lets them, in the order of the plan."""
        self._offer(self._given & ~free, 1)
        offered = self._offer(free & ~self._given, -1)
        ready = sorted(place for place in {*offered, *self._held_back} if not self._missing[place])
        due = [place for place in ready if admits(self._plan[place])]
        self._held_back = {*ready}.difference(due)
        self._given = free
        for place in due:
            processors = self._plan[place].processors
            self._given &= ~processors
            for processor in indices_of(processors):
                self._turns[processor].pop()
        self._num_waiting -= len(due)
        return [self._plan[place] for place in due]

    def _offer(self, processors: Processors, change: int) -> list[int]:
        """Return whose turn it is on each of some processors, for which the job waits again (1) or no more (-1)."""
        offered = [turns[-1] for processor in indices_of(processors) if (turns := self._turns.get(processor))]
        for place in offered:
            self._missing[place] += change
        return offered
