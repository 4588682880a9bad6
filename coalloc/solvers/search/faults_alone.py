"""Schedules that pass constraints which tell searches and models nothing: what they forbid shows in their faults alone.

Methods solve the problem without them, and what they find may be refused. Here lists are changed a little at a time, as
long as that leaves no more faults, and costs no more where it leaves as many. A list is an order of the jobs. Each has
a mode, or is placed where it ends first, and may wait for the end of the job before it: where all do, they run in turn.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from coalloc.problem import Assignment, Mode
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import Generation, book, earliest_start_of, named_orders
from coalloc.rules.tuning import BRIEF
from coalloc.schedule import schedule_of
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.list_annealing import STEPS
from coalloc.solvers.search.plans import FRESH
from coalloc.solvers.traits import Trait

PATIENCE = 10
"""Lists per job without a better one after which the search begins anew."""


@dataclass(frozen=True, slots=True)
class ListPlan:
    """A list: an entry of each tuple per job in order. ``modes`` are None where a job is placed where it ends first."""

    order: tuple[int, ...]
    waits: tuple[bool, ...]
    modes: tuple[Mode | None, ...]


@dataclass(slots=True)
class _Search:
    """The search for one incumbent, with the numbers that it draws by."""

    incumbent: Incumbent
    rng: np.random.Generator
    generation: Generation

    def run(self) -> None:
        """Try lists until one is proved optimal, or enough were tried, or at the deadline of the method.

        The first round is brief: where there is no schedule, the methods that prove it come next.
        """
        incumbent = self.incumbent
        num_jobs = len(incumbent.problem.jobs)
        most = incumbent.limited(STEPS * num_jobs)
        is_limited = incumbent.state.options.work_limit is not None
        plan, least, idle = None, (math.inf, math.inf), 0
        begins, is_brief = self._first(), incumbent.round == 0
        for step in range(most if is_limited else 2**62):
            is_over = time.perf_counter() > incumbent.deadline or (step >= most and (incumbent.accepted or is_brief))
            if is_over or incumbent.state.is_closed:
                return
            if begins or plan is None or idle > PATIENCE * num_jobs:
                tried, least, idle = begins.pop() if begins else self._drawn(), (math.inf, math.inf), 0
            else:
                tried, idle = self._changed(plan), idle + 1
            value = self._value(tried)
            if plan is None or value <= least:
                idle = idle if value == least else 0
                plan, least = tried, value

    def _value(self, plan: ListPlan) -> tuple[float, float]:
        """Return the number of faults of a list and its cost; one without faults is taken."""
        incumbent = self.incumbent
        found = self._placed(plan)
        if not found:
            return math.inf, math.inf
        faults = len(incumbent.state.own_faults(schedule_of(incumbent.problem, found)))
        if not faults:
            incumbent.take(found, METHOD.name)
        return faults, incumbent.criterion.value(found)

    def _placed(self, plan: ListPlan) -> list[Assignment]:
        """Return the schedule of a list; nothing where constraints forbid it."""
        problem, profile, found = self.incumbent.problem, Profile(self.incumbent.problem), list[Assignment]()
        for j, waits, mode in zip(plan.order, plan.waits, plan.modes, strict=True):
            since = found[-1].end if waits and found else -math.inf
            if mode is None:
                assignment = self.generation.earliest_end(profile, j, since=since)
            else:
                start = earliest_start_of(problem, profile, j, mode, since=since)
                assignment = None if math.isinf(start) else Assignment(j, start, mode)
            if assignment is None:
                return []
            book(profile, assignment)
            found.append(assignment)
        return found

    def _first(self) -> list[ListPlan]:
        """Return the lists that are tried first, the last one before the others: of the best order, and one by one."""
        best = sorted(self.incumbent.best, key=lambda a: a.start)
        order = tuple([a.job for a in best]) or tuple(named_orders(self.incumbent.problem)[-1])
        free = (None,) * len(order)
        kept = ListPlan(order, (False,) * len(order), tuple([a.mode for a in best]) or free)
        return [ListPlan(order, (True,) * len(order), free), replace(kept, modes=free), kept]

    def _drawn(self) -> ListPlan:
        """Return a list that is drawn anew."""
        order = tuple(self.rng.permutation(len(self.incumbent.problem.jobs)).tolist())
        waits = tuple((self.rng.random(len(order)) < FRESH).tolist())
        return ListPlan(order, waits, (None,) * len(order))

    def _changed(self, plan: ListPlan) -> ListPlan:
        """Return a list that differs from another in one place: a job goes elsewhere, waits or not, or has a mode."""
        order, waits, modes = list(plan.order), list(plan.waits), list(plan.modes)
        place, what = int(self.rng.integers(len(order))), int(self.rng.integers(3))
        if what == 0:
            waits[place] = not waits[place]
        elif what == 1:
            few = [None, *self.generation.few_modes(order[place])]
            modes[place] = few[int(self.rng.integers(len(few)))]
        else:
            to = int(self.rng.integers(len(order)))
            order.insert(to, order.pop(place))
            waits.insert(to, waits.pop(place))
            modes.insert(to, modes.pop(place))
        return ListPlan(tuple(order), tuple(waits), tuple(modes))


def search_by_faults(incumbent: Incumbent) -> None:
    """Look for schedules that pass where the best was refused; only the faults of constraints say which do."""
    if incumbent.refusing and not incumbent.state.is_closed:
        rng = np.random.default_rng([incumbent.state.options.seed, incumbent.round])
        _Search(incumbent, rng, Generation(incumbent.problem)).run()


METHOD = Method("list repair", search_by_faults, Trait.REFUSED, shares={Trait.NONE: (BRIEF, 0.0, 0.0, BRIEF)})
