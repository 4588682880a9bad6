"""Slot-size sensitivity: how coarse time may be cut before schedules get worse, and what is certain about it.

Every instance is solved on several grids. What a grid costs is seen three ways (errata 5): the slotted
makespan, the makespan replayed with real ends, and that of the left-shifted schedule. What is certain is the
band ``slot * OPT_floor <= OPT_continuous <= slot * OPT_ceil`` (docs/mathematics/execution-model.md, "Slotting error"),
its lower edge raised to the bound in continuous time where that is better. Source: thesis, section 3.2.2.1 and
figures 3.14 to 3.17.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from coalloc.api.solving import lower_bound, solve
from coalloc.documents.arguments import Seed, public
from coalloc.documents.errors import InternalError
from coalloc.documents.text import visible
from coalloc.instance import CoallocError, Instance
from coalloc.measures.metrics import metrics
from coalloc.models import formulation_of
from coalloc.models.registry import EstimatesSize
from coalloc.objectives import OBJECTIVES, Criterion
from coalloc.problem import MAX_MODES, Problem, discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.simulator.replaying import replay
from coalloc.solvers.result import SolveResult, SolveStatus
from coalloc.solvers.slotting_bound import rounded_down_makespan
from coalloc.solvers.time_shift import shifted
from coalloc.studies.instances import instances_of
from coalloc.studies.interruption import gathered, uninterrupted

if TYPE_CHECKING:
    import pandas as pd

Fraction = Annotated[float, "a finite number above 0, such as 0.5 for 50 %"]
"""A length of the slot, as a share of the mean base time."""

FRACTIONS = (0.15, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5)
"""Slots of the thesis, as shares of the mean base time."""

TIME_LIMIT = 20.0
"""Seconds for each solve by default."""

TOLERANCE = 1e-9
"""Share of the latest instant by which rounding may disturb an order that is proved."""

COLUMNS = (
    "instance",
    "fraction",
    "slot",
    "status",
    "is_proven",
    "slotted",
    "lower_bound",
    "gap",
    "replayed",
    "compacted",
    "rounded_down_bound",
    "is_rounded_down_proven",
    "continuous",
    "continuous_bound",
    "optimum",
    "band_low",
    "band_high",
    "utilization",
    "wait_mean",
    "execution_mean",
    "response_mean",
    "execution_slowdown",
    "solve_time",
    "rounded_down_time",
    "num_slots",
    "estimated_nonzeros",
    "rows",
    "columns",
    "nonzeros",
)
"""Columns of the table; :func:`slot_study` defines them."""

UNKNOWN: dict[str, Any] = dict.fromkeys(COLUMNS[COLUMNS.index("slotted") :], math.nan)
"""Values of a row where there is no schedule."""


@dataclass(frozen=True, slots=True)
class StudyLimits:
    """Limits of each solve: seconds (None: no limit), threads, a seed; and the formulation of those in slots."""

    time: float | None
    threads: int
    seed: int
    formulation: str


@dataclass(frozen=True, slots=True)
class Continuous:
    """Facts of an instance in continuous time, s: best makespan, bound, and the optimum if it is proved."""

    makespan: float
    bound: float
    optimum: float


@public
def slot_study(
    instances: Instance | Iterable[Instance],
    fractions: Sequence[Fraction] = FRACTIONS,
    *,
    continuous: bool = True,
    formulation: str = "auto",
    time_limit: float | None = TIME_LIMIT,
    threads: int = 1,
    seed: Seed = 0,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Measure how the length of time slots affects schedules, with certified bounds on the continuous optimum.

    Parameters
    ----------
    instances : Instance or iterable of Instance
        One or several instances with distinct names.
    fractions : sequence of float, default (0.15, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5)
        Slot lengths as shares of the mean reference run time of the instance.
    continuous : bool, default True
        Whether each instance is also solved in continuous time; otherwise only a lower bound is computed.
    formulation : str, default "auto"
        Formulation of the slotted solves, as for ``coalloc.solve``.
    time_limit : float or None, default 20.0
        Seconds for each solve: two per row, and one per instance in continuous time. None or ``math.inf``: no limit.
    threads : int, default 1
        Number of CPU cores of each solve.
    seed : int, default 0
        Random seed; the same seed gives the same table unless a time limit is reached.
    progress : callable or None, default None
        Function that receives a line of text per step.

    Returns
    -------
    pandas.DataFrame
        One row per instance and slot length; times in s, nan if unknown:

        - ``instance``, ``fraction``, ``slot``: the slot is ``fraction`` times the mean reference run time;
        - ``status``, ``is_proven``: status of the solve in slots, and whether its objective is proved optimal;
        - ``slotted``, ``lower_bound``, ``gap``: its objective, where ends are whole slots, its bound, and (slotted -
          lower_bound) / slotted;
        - ``replayed``: makespan with every start kept and real ends;
        - ``compacted``: makespan of the left-shifted schedule, with the same processors and order;
        - ``rounded_down_bound``, ``is_rounded_down_proven``: optimum with run times rounded down to slots, or a bound
          on it if it is not proved;
        - ``continuous``, ``continuous_bound``, ``optimum``: best makespan and bound in continuous time, and their
          common value if it is proved;
        - ``band_low``, ``band_high``: the best of the lower bounds, and ``slotted``, which enclose the continuous
          optimum;
        - ``utilization``, ``wait_mean``, ``response_mean``, ``execution_slowdown``: metrics of the replayed schedule;
          ``execution_mean`` is ``response_mean`` - ``wait_mean``;
        - ``solve_time``, ``rounded_down_time``: time of the solve in slots, and for ``rounded_down_bound``;
        - ``num_slots``, ``estimated_nonzeros``: slots of the best list schedule, and about how many nonzeros the model
          has on them;
        - ``rows``, ``columns``, ``nonzeros``: size of the model that HiGHS solved; nan if none was needed.

        In every row ``band_low`` <= ``compacted`` <= ``replayed`` <= ``slotted``.

    Raises
    ------
    CoallocError
        There is nothing to study, or a fraction or an option is not supported.
    InternalError
        Makespans and bounds contradict each other.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.replay : Run a slotted schedule with its real durations.

    Notes
    -----
    Source: thesis, section 3.2.2.1, figures 3.14 to 3.17; errata 5.

    Examples
    --------
    >>> import coalloc
    >>> table = coalloc.slot_study(coalloc.example("pas-figure-3.3"), (0.5, 1.0))
    >>> table[["fraction", "slotted", "replayed", "optimum"]].round(3)
       fraction  slotted  replayed  optimum
    0       0.5    525.0     500.0    455.0
    1       1.0    600.0     500.0    455.0
    """
    import pandas as pd

    given = instances_of(instances)
    _refuse_unusable(given, fractions)
    formulation_of("oas", formulation)
    limits = StudyLimits(time_limit, threads, seed, formulation)
    planned = [_step(instance, fraction) for instance in given for fraction in fractions]
    rows = _rows(given, fractions, continuous, limits, progress or (lambda _: None))
    return gathered(rows, planned, partial(pd.DataFrame, columns=list(COLUMNS)))


def _rows(
    instances: Sequence[Instance],
    fractions: Sequence[float],
    continuous: bool,
    limits: StudyLimits,
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for instance in instances:
        say(f"{instance.name}: continuous time")
        known = _continuous(instance, continuous, limits)
        for fraction in fractions:
            say(_step(instance, fraction))
            yield _row(instance, float(fraction), known, limits)


def _step(instance: Instance, fraction: float) -> str:
    return f"{instance.name}: time slot of {percent(fraction)}"


def _refuse_unusable(instances: Sequence[Instance], fractions: Sequence[float]) -> None:
    """Raise where there is nothing to study, or rows could not be told apart."""
    if not instances or not fractions:
        raise CoallocError("slot_study requires at least one instance and one fraction")
    for fraction in fractions:
        if not (math.isfinite(fraction) and fraction > 0.0):
            raise CoallocError(f"fractions must be finite and above 0, such as 0.5 for 50 %, got {fraction!r}")
    if len(set(fractions)) < len(fractions):
        raise CoallocError("fractions must be distinct")


# ------------------------------------------------------------------------------ one row


def _continuous(instance: Instance, is_solved: bool, limits: StudyLimits) -> Continuous:
    """Return what is known of an instance in continuous time."""
    if not is_solved:
        return Continuous(math.nan, lower_bound(instance, method="best", time_limit=limits.time), math.nan)
    result = _solved(instance, None, limits)
    makespan = _number(result.objective)
    return Continuous(
        makespan, _number(result.lower_bound), makespan if result.status is SolveStatus.OPTIMAL else math.nan
    )


def _solved(instance: Instance, slot: float | None, limits: StudyLimits) -> SolveResult:
    """Return the result of one solve."""
    formulation = "auto" if slot is None else limits.formulation
    return uninterrupted(
        solve(
            instance,
            slot=slot,
            formulation=formulation,
            time_limit=limits.time,
            threads=limits.threads,
            seed=limits.seed,
        )
    )


def _row(instance: Instance, fraction: float, known: Continuous, limits: StudyLimits) -> dict[str, Any]:
    """Return what one grid does to one instance."""
    slot = fraction * (instance.mean_base_time or 1.0)
    solved = _solved(instance, slot, limits)
    row = UNKNOWN | {
        "instance": instance.name,
        "fraction": fraction,
        "slot": slot,
        "status": solved.status.value,
        "is_proven": solved.status is SolveStatus.OPTIMAL,
        "is_rounded_down_proven": False,
        "solve_time": solved.timings["total"],
    }
    if solved.schedule is None:
        return row
    row |= _makespans(instance, solved) | _size(instance, slot, solved, limits.formulation)
    row |= _band(instance, slot, row["slotted"], known, limits)
    _refuse_impossible(instance, row)
    return row


def _makespans(instance: Instance, solved: SolveResult) -> dict[str, Any]:
    """Return the three makespans of a slotted schedule, s, and the metrics of the replayed one."""
    assert solved.schedule is not None
    replayed = metrics(instance, replay(instance, solved.schedule))
    compacted = metrics(instance, replay(instance, solved.schedule, starts="left"))
    return {
        "slotted": _number(solved.objective),
        "lower_bound": _number(solved.lower_bound),
        "gap": _number(solved.gap),
        "replayed": replayed["makespan"],
        "compacted": compacted["makespan"],
        "utilization": replayed["utilization"],
        "wait_mean": replayed["wait_mean"],
        "execution_mean": replayed["response_mean"] - replayed["wait_mean"],
        "response_mean": replayed["response_mean"],
        "execution_slowdown": replayed["execution_slowdown"],
    }


def _size(instance: Instance, slot: float, solved: SolveResult, formulation: str) -> dict[str, float]:
    """Return the slots of the time line, the nonzeros that a model needs on it, and the size of the one that ran."""
    given = shifted(instance, slot, OBJECTIVES["makespan"])
    problem = discretise(given.instance, slot, base=given.base)
    horizon = int(Criterion.of(problem, "makespan").horizon(best_list_schedule(problem)))
    size = solved.model_size
    return {
        "num_slots": horizon,
        "estimated_nonzeros": _nonzeros(problem, formulation, horizon),
        "rows": math.nan if size is None else size.rows,
        "columns": math.nan if size is None else size.columns,
        "nonzeros": math.nan if size is None else size.nonzeros,
    }


def _nonzeros(problem: Problem, formulation: str, horizon: int) -> float:
    """Return roughly how many nonzeros a formulation has; nan where it cannot tell, or only by listing too much."""
    model = formulation_of("oas", formulation)
    can_list = problem.allocations.number <= MAX_MODES
    return model.estimate_nonzeros(problem, horizon) if isinstance(model, EstimatesSize) and can_list else math.nan


def _band(instance: Instance, slot: float, slotted: float, known: Continuous, limits: StudyLimits) -> dict[str, Any]:
    """Return what encloses the optimum in continuous time, s."""
    began = time.perf_counter()
    floor = rounded_down_makespan(instance, slot, time_limit=limits.time, threads=limits.threads, seed=limits.seed)
    return {
        "rounded_down_bound": floor.lower_bound,
        "is_rounded_down_proven": floor.is_proven,
        "rounded_down_time": time.perf_counter() - began,
        "continuous": known.makespan,
        "continuous_bound": known.bound,
        "optimum": known.optimum,
        "band_low": max(floor.lower_bound, known.bound),
        "band_high": slotted,
    }


def _refuse_impossible(instance: Instance, row: dict[str, Any]) -> None:
    """Raise where ``band_low <= compacted <= replayed <= slotted`` fails, or a bound exceeds the best makespan."""
    chain = [("band_low", "compacted"), ("compacted", "replayed"), ("replayed", "slotted"), ("lower_bound", "slotted")]
    if not math.isnan(row["continuous"]):
        chain.append(("band_low", "continuous"))
    slack = TOLERANCE * (abs(instance.origin) + row["slotted"])
    for low, high in chain:
        if not row[low] <= row[high] + slack:
            raise InternalError(
                f"instance {visible(instance.name)}, time slot of {percent(row['fraction'])}: "
                f"{low} = {row[low]:.12g} s exceeds {high} = {row[high]:.12g} s"
            )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def percent(fraction: float) -> str:
    """Return a share as people write it: ``15 %``."""
    return f"{100.0 * fraction:.6g} %"
