"""Heuristics against proofs: every policy on every instance, beside the best certified bound.

A policy that keeps links from saturating is compared with the bound of OAS; one that may saturate them
with the bound of the instance without traffic, where SC is 1: a bound on any schedule, since saturation
only lengthens jobs. Runs with killed jobs do less work, so no bound holds for them. A bound above what
a policy reached is a fault of ours and raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound, solve
from coalloc.documents.arguments import Seed, public, require
from coalloc.documents.errors import InternalError
from coalloc.heuristics.registry import policy_named
from coalloc.instance import CoallocError, Instance
from coalloc.measures.intervals import mean_interval
from coalloc.measures.sharing import least_makespan
from coalloc.simulator.clock import Passes
from coalloc.simulator.policy import Policy
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.routing import RUNNABLE, Broker
from coalloc.solvers.result import PROOF_TOLERANCE, SolveResult, SolveStatus
from coalloc.studies.instances import instances_of
from coalloc.studies.interruption import gathered, uninterrupted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from coalloc.documents.storage import FilePath

EXACT = "oas (exact)"
"""Label of the row of each instance that says what ``solve`` found."""

TIME_LIMIT = 20.0
"""Seconds for each solve, and for each bound, by default."""

BOUND_TOLERANCE = 1e-9
"""Share by which rounding may lift a bound above a value that meets it."""

TIE = PROOF_TOLERANCE
"""Makespans that differ by a smaller share are equally good: ``optimal`` says no more."""

VALUES: Mapping[str, str] = {
    "makespan": "makespan",
    "mean-wait": "wait_mean",
    "mean-bounded-slowdown": "bounded_slowdown_mean",
}
"""The objectives that policies are compared by, and the columns that say what each is worth."""

Compared = Literal["makespan", "mean-wait", "mean-bounded-slowdown"]

COLUMNS = (
    "instance",
    "policy",
    "objective",
    "makespan",
    "lower_bound",
    "bound_source",
    "gap",
    "optimum",
    "certified",
    "ratio",
    "wait_mean",
    "response_mean",
    "bounded_slowdown_mean",
    "execution_slowdown",
    "utilization",
    "coallocated_share",
    "saturated_share",
    "decision_time_mean",
    "decision_time_max",
)
"""Columns of the table; :func:`compare` defines them."""

LARGEST_FACTOR = 20.0
"""Upper end of the axis of a performance profile."""

WORDS = {"makespan": "makespan", "wait_mean": "mean wait", "bounded_slowdown_mean": "mean bounded slowdown"}
"""Words of pictures for the value of a row."""

MEASURED = COLUMNS[COLUMNS.index("wait_mean") :]
"""Columns that are metrics of the run."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Proved facts of an instance: a lower bound and its origin, and the optimum if it is proved.

    ``certified`` is whether ``coalloc/verify.py`` has accepted a certificate of the optimum; None where none was asked.
    """

    bound: float
    source: str
    optimum: float = math.nan
    certified: bool | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Parameters of each solve: the objective, seconds (None: no limit), threads and a seed; and what is certified."""

    objective: Compared
    time: float | None
    threads: int
    seed: int
    certify: bool


@dataclass(frozen=True, slots=True)
class Contestant:
    """A policy with a label; ``make`` returns a new one for every run."""

    label: str
    make: Callable[[], Policy | Broker]


@public
def compare(
    instances: Instance | Iterable[Instance],
    policies: Iterable[str | Policy | Broker] | Mapping[str, str | Policy | Broker | Mapping[str, Any]],
    *,
    objective: Compared = "makespan",
    exact: bool = True,
    certify: bool = False,
    time_limit: float | None = TIME_LIMIT,
    passes: Passes = "batch",
    kill: bool = False,
    seed: Seed = 0,
    threads: int = 1,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compare scheduling policies with each other, with lower bounds and with the optimum.

    Parameters
    ----------
    instances : Instance or iterable of Instance
        One or several instances with distinct names.
    policies : iterable or mapping
        Names or policy objects, or a mapping from labels to names, objects or ``{"policy": name, option: value}``.
    objective : {"makespan", "mean-wait", "mean-bounded-slowdown"}, default "makespan"
        Objective of the bounds, gaps and optima.
    exact : bool, default True
        Whether ``coalloc.solve`` runs on each instance; otherwise only lower bounds are computed.
    certify : bool, default False
        Whether each optimum is certified, for the column ``certified``; requires ``exact``. A certificate has
        ``time_limit`` seconds, too.
    time_limit : float or None, default 20.0
        Seconds for each solve and each bound. None or ``math.inf``: no limit.
    passes : {"batch", "per-event"}, default "batch"
        Scheduling passes, as for ``coalloc.simulate``.
    kill : bool, default False
        Kill jobs at their requested walltimes.
    seed : int, default 0
        Seed of runs and solves.
    threads : int, default 1
        Number of CPU cores of each solve.
    progress : callable or None, default None
        Function that receives a line of text per step.

    Returns
    -------
    pandas.DataFrame
        One row per instance and policy, and one for the exact solve, ``oas (exact)``:

        - ``objective``: that of the bound; the value of a row is ``makespan``, ``wait_mean`` or
          ``bounded_slowdown_mean``;
        - ``lower_bound``: a bound for the schedules that the policy may return (Notes);
        - ``bound_source``: ``"oas"``, ``"oas without links"`` (the instance without traffic),
          ``"bounds without links"`` (``coalloc.lower_bound`` there), or ``"none: jobs were killed"``;
        - ``gap``, ``ratio``: (value - lower_bound) / value; value / optimum;
        - ``optimum``: optimum of the problem of the bound if it is proved, otherwise nan;
        - ``certified``: with ``certify``, whether a certificate of the optimum is accepted;
        - others: metrics of the run; ``decision_time_mean`` and ``decision_time_max`` of the exact row are the time of
          the solve.

    Raises
    ------
    CoallocError
        A policy or option is unknown, there is nothing to compare, or no bound on the objective holds for the policies.
    InternalError
        A bound exceeds the value of a policy.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.simulate : Run one policy.
    coalloc.studies.energy_front : Compare policies with the Pareto front of makespan and energy.

    Notes
    -----
    A policy that keeps links from saturating has the bound of ``coalloc.solve``. Any other policy has that of the
    instance without traffic, since saturation only lengthens jobs. A run with killed jobs has none, because they do
    less work. The bounded slowdown of jobs that communicate has none, because a saturated link makes a wait look
    shorter.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> table = coalloc.compare(instance, ["fcfs", "easy"], exact=False)
    >>> table[["policy", "makespan", "lower_bound"]].round(3)
      policy  makespan  lower_bound
    0   fcfs     455.0        455.0
    1   easy     455.0        455.0
    """
    import pandas as pd

    contestants = contestants_of(policies)
    given = instances_of(instances)
    if not given or not contestants:
        raise CoallocError("compare requires at least one instance and one policy")
    if certify and not exact:
        raise CoallocError("certify requires exact: without a solve there is no optimum to certify")
    _refuse_unbounded(given, objective)
    labels = [*([EXACT] if exact else []), *(contestant.label for contestant in contestants)]
    planned = [f"{instance.name}: {label}" for instance in given for label in labels]
    asked = Asked(objective, time_limit, threads, seed, certify)
    run = partial(simulate, passes=passes, kill=kill, seed=seed)
    rows = _rows(given, contestants, exact, asked, run, say=progress or (lambda _: None))
    return gathered(rows, planned, partial(pd.DataFrame, columns=list(COLUMNS)))


def _rows(
    instances: Sequence[Instance],
    contestants: Sequence[Contestant],
    exact: bool,
    asked: Asked,
    run: Callable[[Instance, Policy | Broker], SimulationResult],
    *,
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table; after Ctrl-C in a solve those of its instance, beside what was proved by then."""
    for instance in instances:
        say(f"{instance.name}: bounds")
        strict, shared, solved = _references(instance, exact, asked)
        if solved is not None:
            yield _exact_row(instance, solved, strict, asked.objective)
        for contestant in contestants:
            say(f"{instance.name}: {contestant.label}")
            policy = contestant.make()
            reference = strict if getattr(policy, "links", "shared") == "strict" else shared
            yield _row(contestant.label, run(instance, policy), reference, asked.objective)
        if solved is not None and solved.stopped_by == "interrupt":
            raise KeyboardInterrupt


def contestants_of(
    policies: Iterable[str | Policy | Broker] | Mapping[str, str | Policy | Broker | Mapping[str, Any]],
) -> list[Contestant]:
    """Return the policies with their labels; all names and options are checked before anything runs."""
    if isinstance(policies, str):
        policies = [policies]
    if isinstance(policies, Mapping):
        found = [_contestant(label, given) for label, given in policies.items()]
    else:
        found = [_contestant(_label_of(policy), policy) for policy in policies]
    labels = [contestant.label for contestant in found]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        twice = ", ".join(repeated)
        raise CoallocError(
            f"policies must have distinct labels, got {twice} more than once; use a mapping {{label: policy}}"
        )
    return found


def _label_of(policy: object) -> str:
    """Return what a policy that has no label is called: its name, or its type where it is the user's own."""
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, (Policy, Broker)):
        raise CoallocError(f"policy must be a name or have {RUNNABLE}, got {policy!r}")
    return type(policy).__name__


def _contestant(label: str, given: object) -> Contestant:
    """Return a policy by its name, by its name and options, or as the object that it is, which serves every run."""
    require("label", str, label)
    if isinstance(given, str):
        return _named(label, {"policy": given})
    if isinstance(given, Mapping):
        return _named(label, given)
    if not isinstance(given, (Policy, Broker)):
        raise CoallocError(
            f"policies[{label!r}]: must be a name, a mapping with its options or have {RUNNABLE}, got {given!r}"
        )
    return Contestant(label, lambda: given)


def _named(label: str, given: Mapping[str, Any]) -> Contestant:
    """Return a policy of the registry."""
    options = dict(given)
    name = options.pop("policy", label)
    require(f"policies[{label!r}]['policy']", str, name)
    policy_named(name, options)
    return Contestant(label, lambda: policy_named(name, options))


def _references(instance: Instance, exact: bool, asked: Asked) -> tuple[Reference, Reference, SolveResult | None]:
    """Return what is proved with strict links, and whatever links do; and how the exact solve ended."""
    if instance.shares_nodes and not exact:
        least = Reference(least_makespan(instance), "CPU for parallel tasks")
        return least, least, None
    quiet = instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])
    quiet_bound = lower_bound(quiet, asked.objective, method="best", time_limit=asked.time)
    if not exact:
        shared = Reference(quiet_bound, "bounds without links")
        return shared, shared, None
    solved = _solved(instance, asked)
    strict, shared = _reference(solved, "oas", asked), Reference(quiet_bound, "bounds without links")
    if solved.stopped_by != "interrupt":
        free = _reference(uninterrupted(_solved(quiet, asked)), "oas without links", asked)
        best = max(free, shared, key=lambda reference: reference.bound)
        shared = replace(free, bound=best.bound, source=best.source)
    if shared.bound > strict.bound:
        strict = replace(strict, bound=shared.bound, source=shared.source)
    return strict, shared, solved


def _solved(instance: Instance, asked: Asked) -> SolveResult:
    return solve(instance, objective=asked.objective, time_limit=asked.time, threads=asked.threads, seed=asked.seed)


def _reference(result: SolveResult, source: str, asked: Asked) -> Reference:
    """Return what a solve has proved."""
    bound = -math.inf if result.lower_bound is None else result.lower_bound
    if result.status is not SolveStatus.OPTIMAL or result.objective is None:
        return Reference(bound, source, certified=False if asked.certify else None)
    return Reference(bound, source, result.objective, bool(result.certificate(asked.time)) if asked.certify else None)


def _refuse_unbounded(instances: Sequence[Instance], objective: Compared) -> None:
    """Raise where no bound on an objective holds for policies that let links saturate, or share nodes.

    A job that a saturated link slows down has run for longer, and its bounded slowdown is less.
    """
    for instance in instances:
        if objective != "makespan" and instance.shares_nodes:
            raise CoallocError(
                f"instance {instance.name!r} has time-shared nodes, for which only objective 'makespan' has a bound"
            )
        if objective == "mean-bounded-slowdown" and any(job.task_bandwidth for job in instance.jobs):
            raise CoallocError(
                f"instance {instance.name!r} has communication, with which the bounded slowdown has no bound"
            )


def _row(label: str, run: SimulationResult, reference: Reference, objective: Compared) -> dict[str, Any]:
    """Return the row of a run."""
    value = run.metrics[VALUES[objective]]
    is_whole = all(placement.outcome == "completed" for placement in run.schedule)
    known = reference if is_whole else Reference(math.nan, "none: jobs were killed")
    _refuse_impossible(run.instance, f"{WORDS[VALUES[objective]]} {value:.12g}", value, known, label)
    return {
        "instance": run.instance.name,
        "policy": label,
        "objective": objective,
        "makespan": run.metrics["makespan"],
        **_against(value, known),
        **{name: run.metrics[name] for name in MEASURED},
    }


def _exact_row(instance: Instance, solved: SolveResult, reference: Reference, objective: Compared) -> dict[str, Any]:
    """Return the row of what ``solve`` found."""
    value = math.nan if solved.objective is None else solved.objective
    row = {"instance": instance.name, "policy": EXACT, "objective": objective, **_against(value, reference)}
    if solved.schedule is not None:
        from coalloc.measures.metrics import metrics

        found = metrics(instance, solved.schedule)
        row |= {name: found[name] for name in ("makespan", *MEASURED) if name in found}
    return row | {"decision_time_mean": solved.timings["total"], "decision_time_max": solved.timings["total"]}


def _against(value: float, reference: Reference) -> dict[str, Any]:
    """Return what a row is worth beside what is proved."""
    bound = max(0.0, reference.bound) if not math.isnan(reference.bound) else math.nan
    return {
        "lower_bound": bound,
        "bound_source": reference.source,
        "gap": (value - bound) / value if value else 0.0,
        "optimum": reference.optimum,
        "certified": reference.certified,
        "ratio": value / reference.optimum if reference.optimum else math.nan,
    }


def _refuse_impossible(instance: Instance, words: str, value: float, reference: Reference, label: str) -> None:
    """Raise where a policy beats a bound: then one of the two is wrong."""
    if reference.bound > value + BOUND_TOLERANCE * max(1.0, value):
        raise InternalError(
            f"instance {instance.name!r}: the bound {reference.bound:.12g} ({reference.source}) exceeds the {words} "
            f"of policy {label!r}"
        )


# ------------------------------------------------------------------------------ reading the table


def value_column(table: pd.DataFrame) -> str:
    """Return the column that says what each row is worth by the objective of a table."""
    return VALUES[str(table["objective"].iloc[0])]


def without_proven_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which whatever is as good as a proved optimum has no gap, for showing.

    An optimum is proved to a tolerance (:data:`TIE`), and the share that is left of it says nothing of a policy.
    """
    is_best = table[value_column(table)] <= (1.0 + TIE) * table["optimum"]
    return table.assign(gap=table["gap"].mask(is_best, 0.0))


def performance_profile(table: pd.DataFrame, points: Sequence[float]) -> pd.DataFrame:
    """Return for each policy the share of instances on which it is within each factor of the best row there.

    Source: E. D. Dolan and J. J. Moré, Benchmarking optimization software with performance profiles,
    Mathematical Programming 91, 2002. Shape ``(num_points, num_policies)``, indexed by the factors.
    """
    import pandas as pd

    pivoted = table.pivot(index="instance", columns="policy", values=value_column(table))[list(_labels(table))]
    best = pivoted.min(axis=1)
    factors = pivoted.div(best, axis=0).mask(pivoted.eq(best, axis=0), 1.0)  # the best is, even where it is 0
    return pd.DataFrame(
        {label: [float((factors[label] <= (1.0 + TIE) * point).mean()) for point in points] for label in factors},
        index=pd.Index(points, name="factor"),
    )


def paired_differences(table: pd.DataFrame, baseline: str, seed: int = 0) -> pd.DataFrame:
    """Return how much worse each policy is than a baseline on the same instances, with 95 % intervals.

    One row per policy: ``mean``, ``low`` and ``high`` of (value - baseline's)/baseline's by the objective, and the
    number of ``instances``, without those on which the baseline is 0. Raises :class:`CoallocError` where the table has
    no such baseline.
    """
    import pandas as pd

    pivoted = table.pivot(index="instance", columns="policy", values=value_column(table))
    if baseline not in pivoted:
        raise CoallocError(f"the table has no policy {baseline!r}; its policies: {', '.join(_labels(table))}")
    rows = []
    for label in _labels(table):
        if label != baseline:
            differences = (pivoted[label] / pivoted[baseline].replace(0.0, math.nan) - 1.0).dropna()
            interval = mean_interval(differences.tolist(), seed)
            rows.append([label, interval.mean, interval.low, interval.high, interval.samples])
    return pd.DataFrame(rows, columns=["policy", "mean", "low", "high", "instances"])


def summary(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return a row per policy: mean gap with its 95 % interval, worst gap, mean ratio where optima are proved."""
    import pandas as pd

    rows = []
    for label in _labels(table):
        part = table[table["policy"] == label]
        gap = mean_interval(part["gap"].dropna().tolist(), seed)
        ratios = part["ratio"].dropna()
        rows.append(
            {
                "policy": label,
                "instances": len(part),
                "gap_mean": gap.mean,
                "gap_low": gap.low,
                "gap_high": gap.high,
                "gap_max": part["gap"].max(),
                "proven": len(ratios),
                "ratio_mean": ratios.mean(),
                "wait_mean": part["wait_mean"].mean(),
                "coallocated_share": part["coallocated_share"].mean(),
                "decision_time_mean": part["decision_time_mean"].mean(),
            }
        )
    return pd.DataFrame(rows)


def _labels(table: pd.DataFrame) -> Iterator[str]:
    """Yield the policies of a table in the order of their first rows."""
    yield from dict.fromkeys(table["policy"])


def draw(table: pd.DataFrame, baseline: str | None = None, path: FilePath | None = None) -> Figure:
    """Draw a table of :func:`compare`: gaps, performance profile, and differences to a baseline (the first policy).

    ``path`` is where to write it as well: ``.png``, ``.svg`` or ``.pdf``.
    """
    from coalloc.plot.comparison import draw_comparison
    from coalloc.plot.pictures import write_figure

    labels = [label for label in _labels(table) if label != EXACT]
    base = baseline or labels[0]
    value = value_column(table)
    worst = table[value] / table.groupby("instance")[value].transform("min").replace(0.0, math.nan)
    points = np.linspace(1.0, max(1.05, min(LARGEST_FACTOR, float(worst.max()) * 1.02)), 200)
    profile, differences = performance_profile(table, points.tolist()), paired_differences(table, base)
    figure = draw_comparison(table, profile, differences, base, WORDS[value])
    if path is not None:
        write_figure(figure, path)
    return figure
