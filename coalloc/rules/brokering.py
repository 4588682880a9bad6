"""Strategies of a broker: each of the 31 sends a job to a site, and sees no more than its level of information.

A strategy receives a view of its level; access to more is an error. The levels correct the source (erratum 25).

In every formula A_i are the n_i jobs that were assigned to site i and have not finished, *with* the new job j counted
as if it were there (erratum 26); m_i are the processors of site i; p' is the estimate of a job, not divided by a speed.
f_i is 1, v_i (``_v``), eff_i (``_eff``) or v_i eff_i (``_veff``): v_i is the speed of site i relative to the slowest
site, eff_i its ``efficiency`` (MFLOPS/W) relative to the least efficient one. Strategies with ``eff`` need the
efficiency of every cluster, ``LBal_E`` the watts of a busy core (``core_watts``, or ``core_working_watts`` of its power
states). Sites that are too small for j are no candidates. Costs within 1e-9 of the least, relative, are equal; of equal
sites the one that is listed first is chosen.

Planned times are those of a *plan* of the site (erratum 36). Running jobs end at their estimated ends, overdue ones
now. Waiting jobs start in order of the queue, each at the earliest time at which it fits until its estimated end; with
``local="fcfs"``, not before the job ahead. j comes last. Plans count processors and ignore memory. Their times are on
the clock of the instance, as in the source: divided by f_i they depend ever less on waiting as time goes on, so
``MCT_eff`` and the ``MST`` with a factor tend to one site. Source: two-level grid, section 4.1 and Table 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

TIE = 1e-9
"""Costs are equal that differ by no larger share of the least."""

Factor = Literal["1", "v", "eff", "veff"]
"""Factor by which a strategy prefers sites: nothing, speed, efficiency, or their product."""

Waits = tuple[float, float, float, float]
"""Sums of waits, s: each by itself, times tasks (size), times estimate (time), times both (work)."""


class Prospect(NamedTuple):
    """Prospect of a site: its plan if the new job goes there.

    ``start`` is the planned start of the job and ``last_end`` the last planned end of A_i, both on the clock of the
    instance, s. ``waits`` are sums over A_i.
    """

    start: float
    last_end: float
    waits: Waits


@dataclass(slots=True)
class SpeedView:
    """The sites that are large enough for the job (``admissible``), speeds and efficiencies of all, random numbers.

    ``factors`` has one number per site for each factor that the platform knows; ``rng`` is the run's.
    """

    admissible: Sequence[int]
    factors: Mapping[Factor, Sequence[float]]
    rng: np.random.Generator


@dataclass(slots=True)
class CountView(SpeedView):
    """Also for each site processors, those that no job holds, and assigned jobs, all without the new job."""

    sizes: Sequence[int]
    free: Sequence[int]
    num_jobs: Sequence[int]


@dataclass(slots=True)
class SizeView(CountView):
    """Also the ``tasks`` of the new job, and those of the assigned jobs of each site without it."""

    tasks: int
    assigned_tasks: Sequence[int]


@dataclass(slots=True)
class EstimateView(SizeView):
    """Also the ``estimate`` of the new job (s), and for each site the sums over its assigned jobs without it.

    ``assigned_estimates`` (s), ``assigned_work`` (tasks times estimate, s), and ``working_watts`` of a busy processor.
    """

    estimate: float
    assigned_estimates: Sequence[float]
    assigned_work: Sequence[float]
    working_watts: Sequence[float]


@dataclass(slots=True)
class PlanView(EstimateView):
    """Also the plan of each admissible site with the new job (``prospects``), in the order of ``admissible``."""

    prospects: Sequence[Prospect]


VIEWS: tuple[type[SpeedView], ...] = (SpeedView, CountView, SizeView, EstimateView, PlanView)
"""Information that a strategy of each level sees."""


def first_least(sites: Sequence[int], costs: Sequence[float]) -> int:
    """Return the first site whose cost is the least, or as good as equal to it."""
    least = min(costs)
    limit = least + TIE * abs(least)
    return next(site for site, cost in zip(sites, costs, strict=True) if cost <= limit)


# ------------------------------------------------------------------------------ level 0


def at_random(view: SpeedView, _: Factor) -> int:
    """``Random``: every admissible site with the same probability."""
    return view.admissible[int(view.rng.integers(len(view.admissible)))]


# ------------------------------------------------------------------------------ level 1


def most_available(view: CountView, factor: Factor) -> int:
    """``MaxAR_f``: max avail_i f_i/m_i.

    avail_i are the processors of site i that no job holds, switched off or not; j takes none of them.
    """
    f, free, sizes = view.factors[factor], view.free, view.sizes
    return first_least(view.admissible, [-free[i] * f[i] / sizes[i] for i in view.admissible])


def fewest_jobs(view: CountView, factor: Factor) -> int:
    """``MLp``, ``MLp_f``: min n_i/(f_i m_i)."""
    f, num_jobs, sizes = view.factors[factor], view.num_jobs, view.sizes
    return first_least(view.admissible, [(num_jobs[i] + 1) / (f[i] * sizes[i]) for i in view.admissible])


# ------------------------------------------------------------------------------ level 2


def least_parallel_load(view: SizeView, factor: Factor) -> int:
    """``MPL``, ``MPL_f``: min sum over A_i of tasks_k/(f_i m_i)."""
    f, assigned, sizes, tasks = view.factors[factor], view.assigned_tasks, view.sizes, view.tasks
    return first_least(view.admissible, [(assigned[i] + tasks) / (f[i] * sizes[i]) for i in view.admissible])


def balanced_size(view: SizeView, _: Factor) -> int:
    """``LBal_S``: min over q of the standard deviation, over all sites i, of x_i^q.

    x_i^q = (sum over jobs k of i without j of tasks_k + [i = q] tasks_j)/m_i.
    """
    return _balanced(view, view.assigned_tasks, [view.tasks] * len(view.sizes))


# ------------------------------------------------------------------------------ level 3


def least_lower_bound(view: EstimateView, factor: Factor) -> int:
    """``MLB``, ``MLB_f``: min sum over A_i of tasks_k p'_k/(f_i m_i)."""
    f, assigned, sizes, work = view.factors[factor], view.assigned_work, view.sizes, view.tasks * view.estimate
    return first_least(view.admissible, [(assigned[i] + work) / (f[i] * sizes[i]) for i in view.admissible])


def balanced_time(view: EstimateView, _: Factor) -> int:
    """``LBal_T``: min over q of the standard deviation, over all sites i, of x_i^q.

    x_i^q = (sum over jobs k of i without j of p'_k + [i = q] p'_j)/m_i.
    """
    return _balanced(view, view.assigned_estimates, [view.estimate] * len(view.sizes))


def balanced_work(view: EstimateView, _: Factor) -> int:
    """``LBal_W``: min over q of the standard deviation, over all sites i, of x_i^q.

    x_i^q = (sum over jobs k of i without j of tasks_k p'_k + [i = q] tasks_j p'_j)/m_i.
    """
    return _balanced(view, view.assigned_work, [view.tasks * view.estimate] * len(view.sizes))


def balanced_energy(view: EstimateView, _: Factor) -> int:
    """``LBal_E``: min over q of the standard deviation, over all sites i, of x_i^q.

    x_i^q = (sum over jobs k of i without j of e_ki + [i = q] e_ji)/m_i, where e_ki = tasks_k p'_k/v_i times the watts
    of a busy processor of i. Source: the energy of a job is not defined there; errata 26.
    """
    watts = [watts / v for watts, v in zip(view.working_watts, view.factors["v"], strict=True)]
    work = view.tasks * view.estimate
    assigned = [watt * held for watt, held in zip(watts, view.assigned_work, strict=True)]
    return _balanced(view, assigned, [watt * work for watt in watts])


def _balanced(view: CountView, assigned: Sequence[float], added: Sequence[float]) -> int:
    """Return the site that has to take the new job so that the loads per processor of all sites deviate least."""
    loads = [load / size for load, size in zip(assigned, view.sizes, strict=True)]
    costs = []
    for q in view.admissible:
        before = loads[q]
        loads[q] = (assigned[q] + added[q]) / view.sizes[q]
        costs.append(_deviation(loads))
        loads[q] = before
    return first_least(view.admissible, costs)


def _deviation(loads: Sequence[float]) -> float:
    """Return the standard deviation of a population."""
    return math.dist(loads, [sum(loads) / len(loads)] * len(loads)) / math.sqrt(len(loads))


# ------------------------------------------------------------------------------ level 4


def earliest_completion(view: PlanView, factor: Factor) -> int:
    """``MCT``, ``MCT_eff``: min C_i/f_i, where C_i is the last planned end of A_i."""
    return _least_prospect(view, factor, lambda prospect, _: prospect.last_end)


def earliest_start(view: PlanView, factor: Factor) -> int:
    """``MST``, ``MST_f``: min s_ji/f_i, where s_ji is the planned start of j at site i."""
    return _least_prospect(view, factor, lambda prospect, _: prospect.start)


def shortest_wait(view: PlanView, factor: Factor) -> int:
    """``MWT``, ``MWT_eff``: min sum over A_i of w_k/(n_i f_i).

    w_k is the wait of a job, start - arrival: known of those that run, planned of the others.
    """
    return _least_prospect(view, factor, lambda prospect, count: prospect.waits[0] / count)


def shortest_wait_by_size(view: PlanView, factor: Factor) -> int:
    """``MWWT_S``: min sum over A_i of w_k tasks_k/n_i, w_k as for ``MWT``."""
    return _least_prospect(view, factor, lambda prospect, count: prospect.waits[1] / count)


def shortest_wait_by_time(view: PlanView, factor: Factor) -> int:
    """``MWWT_T``: min sum over A_i of w_k p'_k/n_i, w_k as for ``MWT``."""
    return _least_prospect(view, factor, lambda prospect, count: prospect.waits[2] / count)


def shortest_wait_by_work(view: PlanView, factor: Factor) -> int:
    """``MWWT_W``: min sum over A_i of w_k tasks_k p'_k/n_i, w_k as for ``MWT``."""
    return _least_prospect(view, factor, lambda prospect, count: prospect.waits[3] / count)


def _least_prospect(view: PlanView, factor: Factor, cost: Callable[[Prospect, int], float]) -> int:
    """Return the site whose prospect, with so many jobs there, costs least over its factor."""
    f, num_jobs = view.factors[factor], view.num_jobs
    costs = [
        cost(prospect, num_jobs[i] + 1) / f[i] for i, prospect in zip(view.admissible, view.prospects, strict=True)
    ]
    return first_least(view.admissible, costs)


# ------------------------------------------------------------------------------ all of them


class Strategy(NamedTuple):
    """A strategy: its level of information, its rule, and what that prefers sites by."""

    level: int
    rule: Callable[[Any, Factor], int]
    factor: Factor = "1"

    def choose(self, view: SpeedView) -> int:
        """Return the number of the site to which the job of a view goes, which is one of the strategy's level."""
        return self.rule(view, self.factor)


StrategyName = Literal[
    "Random",
    "MaxAR_v", "MaxAR_eff", "MaxAR_veff",
    "MLp", "MLp_v", "MLp_eff", "MLp_veff",
    "MPL", "MPL_v", "MPL_eff", "MPL_veff",
    "LBal_S",
    "MLB", "MLB_v", "MLB_eff", "MLB_veff",
    "LBal_T", "LBal_W", "LBal_E",
    "MCT", "MCT_eff", "MWT", "MWT_eff", "MWWT_S", "MWWT_T", "MWWT_W",
    "MST", "MST_v", "MST_eff", "MST_veff",
]  # fmt: skip


STRATEGIES: Mapping[StrategyName, Strategy] = {
    "Random": Strategy(0, at_random),
    "MaxAR_v": Strategy(1, most_available, "v"),
    "MaxAR_eff": Strategy(1, most_available, "eff"),
    "MaxAR_veff": Strategy(1, most_available, "veff"),
    "MLp": Strategy(1, fewest_jobs),
    "MLp_v": Strategy(1, fewest_jobs, "v"),
    "MLp_eff": Strategy(1, fewest_jobs, "eff"),
    "MLp_veff": Strategy(1, fewest_jobs, "veff"),
    "MPL": Strategy(2, least_parallel_load),
    "MPL_v": Strategy(2, least_parallel_load, "v"),
    "MPL_eff": Strategy(2, least_parallel_load, "eff"),
    "MPL_veff": Strategy(2, least_parallel_load, "veff"),
    "LBal_S": Strategy(2, balanced_size),
    "MLB": Strategy(3, least_lower_bound),
    "MLB_v": Strategy(3, least_lower_bound, "v"),
    "MLB_eff": Strategy(3, least_lower_bound, "eff"),
    "MLB_veff": Strategy(3, least_lower_bound, "veff"),
    "LBal_T": Strategy(3, balanced_time),
    "LBal_W": Strategy(3, balanced_work),
    "LBal_E": Strategy(3, balanced_energy),
    "MCT": Strategy(4, earliest_completion),
    "MCT_eff": Strategy(4, earliest_completion, "eff"),
    "MWT": Strategy(4, shortest_wait),
    "MWT_eff": Strategy(4, shortest_wait, "eff"),
    "MWWT_S": Strategy(4, shortest_wait_by_size),
    "MWWT_T": Strategy(4, shortest_wait_by_time),
    "MWWT_W": Strategy(4, shortest_wait_by_work),
    "MST": Strategy(4, earliest_start),
    "MST_v": Strategy(4, earliest_start, "v"),
    "MST_eff": Strategy(4, earliest_start, "eff"),
    "MST_veff": Strategy(4, earliest_start, "veff"),
}
"""Every strategy by name."""


def factors_of(speeds: Sequence[float], efficiencies: Sequence[float] | None) -> dict[Factor, tuple[float, ...]]:
    """Return what sites are preferred by, relative to the slowest and to the least efficient one.

    Without ``efficiencies`` nothing is known that needs them.
    """
    relative = _relative(speeds)
    factors: dict[Factor, tuple[float, ...]] = {"1": (1.0,) * len(relative), "v": relative}
    if efficiencies is not None:
        factors["eff"] = _relative(efficiencies)
        factors["veff"] = tuple(v * eff for v, eff in zip(relative, factors["eff"], strict=True))
    return factors


def _relative(amounts: Iterable[float]) -> tuple[float, ...]:
    """Return amounts as multiples of the least."""
    amounts = tuple(amounts)
    return tuple(amount / min(amounts) for amount in amounts)
