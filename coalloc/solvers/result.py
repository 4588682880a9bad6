"""Results of a solver: status, bounds, trace. Source of the statuses: design of the public result."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from coalloc.documents.errors import ArgumentError
from coalloc.documents.html import lines_table
from coalloc.documents.text import visible
from coalloc.documents.values import Count, NonNegative, PositiveSeconds, Share, Text, Value, value
from coalloc.documents.wording import plural, quantity_text
from coalloc.instance import Instance
from coalloc.instance.files import instance_hash
from coalloc.problem import Links
from coalloc.problem.allocation import Scope
from coalloc.schedule import Schedule
from coalloc.solvers.certificate import Certificate

Model = Literal["oas", "pas", "cbs", "jpr"]
StoppedBy = Literal["proof", "gap", "time", "work", "interrupt", "failure"]
RunModel = Callable[..., "ModelSolution"]
"""Runs a Pyomo model: the signature of :func:`coalloc.solvers.backends.highs.solve_model`."""

NO_TIME_LIMIT = 1e9
"""Seconds that stand for no limit: thirty years, a number that every solver takes and shares divide."""


def finite_limit(time_limit: float) -> float:
    """Return a time limit, s, as a number that JSON and every solver take: no limit becomes :data:`NO_TIME_LIMIT`."""
    return min(time_limit, NO_TIME_LIMIT)


PROOF_TOLERANCE = 1e-6
"""Relative gap up to which an objective in seconds counts as proved."""


class SolveStatus(StrEnum):
    """Status of a solve: ``"optimal"``, ``"feasible"``, ``"infeasible"`` or ``"unknown"``.

    Members are strings: ``result.status == "optimal"``.

    Examples
    --------
    >>> from coalloc.results import SolveStatus
    >>> SolveStatus.OPTIMAL == "optimal"
    True
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TracePoint:
    """Incumbent and lower bound at one time of a solve.

    Parameters
    ----------
    time : float
        Seconds since the solve began.
    incumbent : float or None
        Objective of the best known schedule, in the unit of the objective. None: no schedule is known.
    lower_bound : float or None
        Best proved lower bound, in the unit of the objective. None: no bound is known.
    source : str
        Method that found the incumbent or bound. After a colon: the outcome of a method that found none.

    Examples
    --------
    >>> import coalloc
    >>> points = []
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> result = coalloc.solve(instance, slot=50.0, progress=points.append)
    >>> points[-1].incumbent
    500.0
    """

    time: float
    incumbent: float | None
    lower_bound: float | None
    source: str

    def __str__(self) -> str:
        return self.line()

    def line(self, unit: str = "") -> str:
        """Return the point as an aligned line; ``unit`` is that of the objective."""
        incumbent, bound, gap = self.numbers(unit)
        return f"{self.time:8.2f} s  incumbent {incumbent:>12}  bound {bound:>12}  gap {gap:>8}  {self.source}"

    def numbers(self, unit: str = "") -> tuple[str, str, str]:
        """Return incumbent, lower bound and gap as texts, a dash for an unknown number."""
        known = (self.incumbent, self.lower_bound)
        incumbent, bound = ("-" if number is None else quantity_text(number, unit) for number in known)
        gap = relative_gap(*known)
        return incumbent, bound, "-" if gap is None else f"{100 * gap:.2f} %"

    def is_news_after(self, other: TracePoint | None) -> bool:
        """Return whether a number has changed by more than 0.1 % since ``other``, or the gap has closed."""
        if other is None or self.incumbent == self.lower_bound:
            return True
        pairs = ((self.incumbent, other.incumbent), (self.lower_bound, other.lower_bound))
        return any(new is not None and (old is None or abs(new - old) > NEWS * abs(old)) for new, old in pairs)


Progress = Callable[[TracePoint], None]


@dataclass
class News:
    """Prints the points of a trace that are news, a line each; ``unit`` is that of the objective."""

    say: Callable[[str], None]
    unit: str = ""
    last: TracePoint | None = None

    def __call__(self, point: TracePoint) -> None:
        """Hear of a point."""
        if point.is_news_after(self.last):
            self.last = point
            self.say(point.line(self.unit))


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Size of a model before the presolve of the solver.

    Parameters
    ----------
    rows : int
        Number of constraints.
    columns : int
        Number of variables.
    nonzeros : int
        Number of nonzero coefficients.
    integers : int
        Number of integer variables.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(
    ...     coalloc.example("thesis-oas-1"), slot="50%", formulation="mode"
    ... )
    >>> result.model_size
    ModelSize(rows=614, columns=1666, nonzeros=25346, integers=1458)
    """

    rows: int
    columns: int
    nonzeros: int
    integers: int


@dataclass(frozen=True, slots=True)
class ModelSolution:
    """Outcome of the run of one model; objective and bound in the model's own unit.

    The values of the model's variables are those of the best solution, where there is one.
    """

    status: SolveStatus
    stopped_by: StoppedBy
    objective: float | None
    lower_bound: float
    size: ModelSize


NEWS = 0.001
"""Share by which an incumbent or a bound must change for a line of its own while a solve runs."""

SHORTEST_SHOWN = 0.005
"""Seconds of a stage that are shown as more than nothing."""


def relative_gap(objective: float | None, lower_bound: float | None) -> float | None:
    """Return (objective - lower bound)/objective, 0 for 0 against 0, None where either is unknown."""
    if objective is None or lower_bound is None or not math.isfinite(lower_bound):
        return None
    if objective == lower_bound:
        return 0.0
    return (objective - lower_bound) / abs(objective) if objective else math.inf


@value(error=ArgumentError)
class SolveOptions(Value):
    """Options of a solve, with defaults; the names are those of the keywords of ``coalloc.solve``.

    Parameters
    ----------
    model : str, default "oas"
        The model.
    formulation : str, default "auto"
        The formulation.
    objective : str, default "makespan"
        The objective.
    slot : float or None, default None
        Length of a time slot, s; None: continuous time.
    links : str, default "strict"
        Whether links may saturate.
    saturation : float, default 0.0
        Tolerated share of the load of a link above its bandwidth.
    scope : str, default "platform"
        Where the tasks of one job may run.
    makespan_limit : float or None, default None
        Latest makespan, s; None: no limit.
    time_limit : float or None, default 60.0
        Wall-clock limit, s; None: no limit.
    work_limit : int or None, default None
        Limit on branch-and-bound nodes; None: no limit.
    gap : float, default 0.0
        Relative optimality gap at which the solve stops.
    solver : str, default "highs"
        The MIP solver.
    threads : int, default 1
        Number of CPU cores.
    seed : int, default 0
        Random seed.
    methods : tuple of str, default ()
        Methods of the portfolio that may run; empty: all.
    without : tuple of str, default ()
        Methods of the portfolio that are left out.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pcbe-8"), gap=0.05)
    >>> result.options.gap, result.options.time_limit
    (0.05, 60.0)
    """

    model: Model = "oas"
    formulation: Text = "auto"
    objective: Text = "makespan"
    slot: PositiveSeconds | None = None
    links: Links = "strict"
    saturation: NonNegative = 0.0
    scope: Scope = "platform"
    makespan_limit: PositiveSeconds | None = None
    time_limit: PositiveSeconds | None = 60.0
    work_limit: Count | None = None
    gap: Share = 0.0
    solver: Text = "highs"
    threads: Count = 1
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    methods: tuple[Text, ...] = ()
    without: tuple[Text, ...] = ()

    @property
    def seconds(self) -> float:
        """The time limit as methods take it, s."""
        return NO_TIME_LIMIT if self.time_limit is None else self.time_limit


@dataclass(frozen=True, slots=True)
class MethodRun:
    """Time and findings of a method of the portfolio, in all its calls of one solve.

    Parameters
    ----------
    name : str
        Name of the method, as in ``TracePoint.source``.
    calls : int, default 0
        Number of calls.
    cpu : float, default 0.0
        Processor time of this process, s; without that of processes that it starts.
    wall : float, default 0.0
        Wall-clock time, s.
    incumbents : int, default 0
        Number of times that it found a better schedule, also while another method ran.
    bounds : int, default 0
        Number of times that it raised the lower bound, also while another method ran.
    closed : bool, default False
        Whether it ended the solve: by a proof, within the requested gap, or as infeasible.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> [
    ...     (run.name, run.calls, run.incumbents, run.bounds, run.closed)
    ...     for run in result.methods
    ... ]
    [('longest job and packing', 1, 0, 1, False), ('list schedule', 1, 1, 0, True)]
    """

    name: str
    calls: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    incumbents: int = 0
    bounds: int = 0
    closed: bool = False

    def __str__(self) -> str:
        """Return it as an aligned line."""
        counts = ((self.calls, "call"), (self.incumbents, "incumbent"), (self.bounds, "bound"))
        calls, incumbents, bounds = (f"{plural(count, noun):<15}" for count, noun in counts)
        line = f"{self.name:<40} {calls}{self.cpu:6.2f} s CPU  {incumbents}{bounds}{'closed' * self.closed}"
        return line.rstrip()


def summed(runs: Iterable[MethodRun]) -> tuple[MethodRun, ...]:
    """Return what each method took and found in all of its runs, in the order of the first."""
    by_name: dict[str, MethodRun] = {}
    for run in runs:
        known = by_name.get(run.name)
        by_name[run.name] = run if known is None else _both(known, run)
    return tuple(by_name.values())


def _both(one: MethodRun, other: MethodRun) -> MethodRun:
    return MethodRun(
        one.name,
        one.calls + other.calls,
        one.cpu + other.cpu,
        one.wall + other.wall,
        one.incumbents + other.incumbents,
        one.bounds + other.bounds,
        one.closed or other.closed,
    )


@dataclass(frozen=True, slots=True)
class SolvedLevel:
    """One objective of a lexicographic solve, given the values of the objectives before it.

    Parameters
    ----------
    objective : str
        Name of the objective.
    status : SolveStatus
        Status of this level.
    value : float or None
        Value in the best known schedule of the level; None: there is none.
    lower_bound : float or None
        Lower bound given the values of the objectives before it; None: nothing is known.
    unit : str, default "s"
        Unit of both numbers; ``-``: a ratio.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(
    ...     coalloc.example("pcbe-8"), objective=("makespan", "total-response-time")
    ... )
    >>> [
    ...     (level.objective, level.status.value, round(level.value, 3))
    ...     for level in result.solved_levels
    ... ]
    [('makespan', 'optimal', 5.882), ('total-response-time', 'optimal', 17.552)]
    """

    objective: str
    status: SolveStatus
    value: float | None
    lower_bound: float | None
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class SolveResult:
    """The result of ``coalloc.solve``; printing it shows six aligned lines.

    Attributes
    ----------
    status : SolveStatus
        ``"optimal"`` (with a proof), ``"feasible"``, ``"infeasible"`` or ``"unknown"``.
    stopped_by : str
        Why the search ended: ``"proof"``, ``"gap"``, ``"time"``, ``"work"``, ``"interrupt"`` or ``"failure"``.
    objective : float or None
        Objective of ``schedule``, recomputed from it, in ``unit``. None: no schedule is known.
    lower_bound : float or None
        Proved lower bound, in ``unit``. None: nothing is known.
    schedule : Schedule or None
        The best known schedule (incumbent); it has passed ``coalloc.check``.
    message : str
        Why there is no schedule, or how a solver failed; empty otherwise.
    trace : tuple of TracePoint
        One point per new incumbent or lower bound.
    timings : mapping of str to float
        Seconds by stage: bound, search, build, solve, check, other; ``total`` is their sum.
    model_size : coalloc.solvers.result.ModelSize or None
        Rows, columns, nonzeros and integers of the last MILP. None: no model was needed.
    options : coalloc.solvers.result.SolveOptions
        The options of the call, with defaults.
    unit : str
        Unit of objective and lower bound: ``s``, ``J``, ``J s``, ``tasks``, or ``-`` for a ratio.
    methods : tuple of coalloc.solvers.result.MethodRun
        One entry per method of the portfolio that ran: calls, seconds, incumbents and bounds found.
    levels : mapping of str to float
        Values of the objectives of a lexicographic model, by name.
    solved_levels : tuple of coalloc.solvers.result.SolvedLevel
        One entry per objective of a lexicographic solve; ``objective``, ``lower_bound`` and ``trace`` are those of the
        last, and ``"optimal"`` means that all are proved optimal.
    simulated_objective : float or None
        For package models: the objective with the ends that saturated links really cause, in ``unit``.
    versions : mapping of str to str
        Versions of coalloc and of the libraries, by name.
    instance : Instance or None
        The instance; result files do not hold it.
    instance_sha256 : str
        SHA-256 of the instance file.

    See Also
    --------
    coalloc.io.write_result : Write a result to a file.
    coalloc.plot.progress_plot : Draw incumbent and lower bound over time.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> print(result.status, result.objective, result.unit, result.gap)
    optimal 500.0 s 0.0
    >>> [placement.job for placement in result.schedule]
    ['J1', 'J2', 'J3']
    >>> result.options.slot
    50.0
    """

    status: SolveStatus
    stopped_by: StoppedBy
    objective: float | None
    lower_bound: float | None
    schedule: Schedule | None
    message: str
    trace: tuple[TracePoint, ...]
    timings: Mapping[str, float]
    model_size: ModelSize | None
    options: SolveOptions
    unit: str = "s"
    methods: tuple[MethodRun, ...] = ()
    levels: Mapping[str, float] = field(default_factory=dict)
    solved_levels: tuple[SolvedLevel, ...] = ()
    simulated_objective: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    instance: Instance | None = field(default=None, compare=False)
    _known_sha256: str = field(default="", repr=False, compare=False)

    @property
    def instance_sha256(self) -> str:
        """SHA-256 of the instance file: as a result file has it, or calculated when it is requested."""
        return self._known_sha256 if self.instance is None else instance_hash(self.instance)

    @property
    def gap(self) -> float | None:
        """Relative optimality gap: (objective - lower bound) / objective; None if either is unknown."""
        return relative_gap(self.objective, self.lower_bound)

    def certificate(self, time_limit: float | None = 60.0) -> Certificate:
        """Return a certificate that the schedule is optimal: a new proof, which ``coalloc-verify`` has accepted.

        Parameters
        ----------
        time_limit : float or None, default 60.0
            Seconds for the proof; None: no limit.

        Returns
        -------
        Certificate
            It is false where there is none; ``reason`` then says why.

        Examples
        --------
        >>> import coalloc
        >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
        >>> print(result.certificate())
        proved: no schedule has a makespan below 500 s (slots of 50 s, strict links, scope platform)
        proved: the schedule is valid, and its makespan is 500 s
        proved: it is optimal (tolerance 5e-10 s)
        """
        certify = importlib.import_module("coalloc.certificates").certify  # above this package: it calls solvers
        found: Certificate = certify(self, time_limit)
        return found

    @property
    def _summary(self) -> str:
        """The summary of the result, in half a line."""
        if self.schedule is None and self.message:
            return f"{self.status.value}, {visible(self.message)}"
        gap = "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"
        known = f"{self.options.objective} {self._shown(self.objective)}, bound {self._shown(self._bound_shown)}"
        return f"{self.status.value}, {known}, gap {gap}"

    def __repr__(self) -> str:
        return f"<SolveResult: {self._summary}>"

    def _repr_html_(self) -> str:
        return lines_table(self.lines()) + ("" if self.schedule is None else self.schedule.html(self.instance))

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """Return the six (name, text) pairs that printing shows."""
        status = f"{self.status.value} (stopped by {self.stopped_by})"
        return [
            ("status", f"{status}: {self.message}" if self.message else status),
            ("objective", f"{self._shown(self.objective)} ({self.options.objective})"),
            ("bound", self._shown(self._bound_shown)),
            ("gap", "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"),
            ("time", _times(self.timings)),
            ("model", f"{self.options.model}/{self.options.formulation}, {self._rules}; {self._shape}"),
        ]

    @property
    def _bound_shown(self) -> float | None:
        """The lower bound, without what the tolerance of a proof leaves below the objective."""
        return self.objective if self.status is SolveStatus.OPTIMAL else self.lower_bound

    def _shown(self, number: float | None) -> str:
        """Return an objective or a bound with its unit."""
        return "unknown" if number is None else quantity_text(number, visible(self.unit))

    @property
    def _rules(self) -> str:
        """The rules of time and links for which the objective and the bound hold."""
        slot = self.options.slot
        time = "continuous time" if slot is None else f"time slots of {slot:.6g} s"
        return f"{time}, {self.options.links} links"

    @property
    def _shape(self) -> str:
        """The size of the model, or why there is none."""
        size, solver = self.model_size, self.options.solver
        if size is not None:
            counted = f", {size.nonzeros} nonzeros" if size.nonzeros else ""  # not all solvers count them
            return f"{size.rows} rows, {size.columns} columns{counted}"
        if self.timings.get("build", 0.0) > 0.0:
            return "model not solved to optimality"
        return "no model needed" if solver == "highs" else f"no model needed; {visible(solver)} did not run"


def _times(timings: Mapping[str, float]) -> str:
    """Return the total, and the stages that sum up to it, the longest first, but for those too short to be shown."""
    stages = {stage: seconds for stage, seconds in timings.items() if stage != "total" and seconds >= SHORTEST_SHOWN}
    longest = sorted(stages, key=lambda stage: -stages[stage])
    parts = ", ".join(f"{stage} {stages[stage]:.2f} s" for stage in longest)
    return f"{timings.get('total', 0.0):.2f} s" + (f" ({parts})" if parts else "")
