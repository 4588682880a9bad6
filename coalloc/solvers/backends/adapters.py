"""Adapters: how each MIP solver is reached through Pyomo, and how it takes gap, threads and seed.

A solver has several interfaces in Pyomo, in the process of Python and by files; the names of all of them mean the
solver, and the first interface that works is used. A solver without an adapter is reached by the name that Pyomo knows.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from io import StringIO
from typing import Any

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.opt.base.solvers import UnknownSolver

from coalloc.documents.arguments import picture_of
from coalloc.documents.text import quoted, visible
from coalloc.instance import CoallocError
from coalloc.system.extras import installing, is_installed
from coalloc.system.plugins import Registry


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of Pyomo to a solver, with the names of the solver's options there.

    Parameters
    ----------
    name : str
        The name of the interface in Pyomo.
    gap : str, optional
        The name of the option for the relative optimality gap; None: the solver has none.
    threads : str, optional
        Likewise for the number of threads.
    seed : str, optional
        Likewise for the random seed.
    always : mapping of str to object, default {}
        Options that are set in any case.
    time : str, optional
        The name of the option for the time limit; None: Pyomo passes the limit, in whole seconds.
    is_known : bool, default True
        False: the configuration of Pyomo's newer interfaces says which options there are.

    See Also
    --------
    coalloc.extend.Adapter : A solver with its interfaces.

    Examples
    --------
    >>> from coalloc.extend import Interface
    >>> Interface("glpk", gap="mipgap")
    Interface(name='glpk', gap='mipgap', threads=None, seed=None, always={}, time=None, is_known=True)
    """

    name: str
    gap: str | None = None
    threads: str | None = None
    seed: str | None = None
    always: Mapping[str, Any] = field(default_factory=dict)
    time: str | None = None
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Adapter:
    """A solver that coalloc calls through Pyomo.

    Parameters
    ----------
    name : str
        The name of the solver.
    interfaces : tuple of Interface
        Its interfaces in Pyomo, the best one first.
    aliases : tuple of str, default ()
        Other names of the solver.
    package : str, optional
        The Python package that brings it.
    program : str, optional
        The executable that brings it. A solver needs its package or its program.

    See Also
    --------
    coalloc.solve : Accepts the name of a solver.

    Examples
    --------
    >>> from coalloc.extend import Adapter, Interface
    >>> Adapter("glpk", (Interface("glpk", gap="mipgap"),), program="glpsol").source
    'the program glpsol on the PATH'
    """

    name: str
    interfaces: tuple[Interface, ...]
    aliases: tuple[str, ...] = ()
    package: str | None = None
    program: str | None = None

    @property
    def source(self) -> str:
        """The package to install."""
        ways = []
        if self.package is not None:
            ways.append(f"`pip install {self.package}`")
        if self.program is not None:
            ways.append(f"the program {self.program} on the PATH")
        return " or ".join(ways)

    @property
    def is_installed(self) -> bool:
        """Whether its package or its program is there, whether or not it runs."""
        has_package = self.package is not None and find_spec(self.package) is not None
        return has_package or (self.program is not None and shutil.which(self.program) is not None)


FIELDS = {"gap": "rel_gap", "threads": "threads"}
"""Names of options in the configuration of Pyomo's newer interfaces, whatever the solver."""
START = "warmstart_discrete_vars"
"""The field of that configuration that has a solver start from the values of the variables."""


@dataclass(frozen=True, slots=True)
class Found:
    """A solver that can be used: its name, the interface, and its object in Pyomo."""

    name: str
    interface: Interface
    solver: Any

    def set_option(self, option: str, value: Any) -> bool:
        """Set ``"gap"``, ``"threads"`` or ``"seed"``; return whether the solver takes it."""
        name, config = getattr(self.interface, option), getattr(self.solver, "config", ())
        if name is not None:
            self.solver.options[name] = value
            return True
        if self.interface.is_known or FIELDS.get(option, "") not in config:
            return False
        setattr(config, FIELDS[option], value)
        return True

    @property
    def takes_start(self) -> bool:
        """Whether the solver starts from the values of the variables."""
        if START in getattr(self.solver, "config", ()):
            return True
        return hasattr(self.solver, "warm_start_capable") and bool(self.solver.warm_start_capable())

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``coalloc.solve`` that the solver takes."""
        named = [option for option in ("gap", "threads", "seed") if getattr(self.interface, option) is not None]
        return ("time_limit", *named, *(["start"] if self.takes_start else []))

    @property
    def version(self) -> str:
        """The version as the solver says it; empty where it says none."""
        with quiet():
            try:
                return ".".join(map(str, self.solver.version()))
            except Exception:  # each interface of Pyomo raises what it likes
                return ""


HIGHS = ("highs", "appsi_highs")
"""Names of HiGHS, which is called without Pyomo."""

_SCIP: Mapping[str, Any] = {"gap": "limits/gap", "seed": "randomization/randomseedshift"}
_GUROBI: Mapping[str, Any] = {"gap": "MIPGap", "threads": "Threads", "seed": "Seed"}
_CPLEX: Mapping[str, Any] = {"gap": "mip_tolerances_mipgap", "threads": "threads", "seed": "randomseed"}
_XPRESS: Mapping[str, Any] = {"gap": "miprelstop", "threads": "threads", "seed": "randomseed"}

BUILTIN: tuple[Adapter, ...] = (
    # With its preprocessing CBC 2.10.3 calls solutions of small models optimal that are not, by HiGHS and brute force;
    # without it none (benchmarks/results/rows.md).
    Adapter(
        "cbc",
        (Interface("cbc", "ratio", "threads", "randomCbcSeed", {"preprocess": "off"}),),
        ("appsi_cbc",),
        program="cbc",
    ),
    Adapter(
        "cplex",
        (Interface("cplex_direct", **_CPLEX, time="timelimit"), Interface("cplex", **_CPLEX)),
        ("cplex_persistent", "appsi_cplex"),
        package="cplex",
        program="cplex",
    ),
    Adapter("glpk", (Interface("glpk", "mipgap"),), program="glpsol"),
    Adapter(
        "gurobi",
        (Interface("gurobi_direct", **_GUROBI, time="TimeLimit"), Interface("gurobi", **_GUROBI, time="TimeLimit")),
        ("gurobi_persistent", "gurobi_direct_v2", "gurobi_persistent_v2", "gurobi_direct_minlp", "appsi_gurobi"),
        package="gurobipy",
        program="gurobi_cl",
    ),
    Adapter(
        "scip",
        (Interface("scip_direct", **_SCIP, time="limits/time"), Interface("scip", **_SCIP)),
        ("scip_persistent",),
        package="pyscipopt",
        program="scip",
    ),
    Adapter(
        "xpress",
        (Interface("xpress_direct", **_XPRESS, time="maxtime"), Interface("xpress", **_XPRESS, time="maxtime")),
        ("xpress_persistent",),
        package="xpress",
        program="optimizer",
    ),
)
"""Solvers whose gap, threads and seed are known here."""


def _adopted(found: Any, point: EntryPoint) -> Adapter:
    """Return the adapter of an installed package; raise where it is none."""
    if not isinstance(found, Adapter):
        raise TypeError(f"must be an Adapter, got {picture_of(found)}")
    if found.name != point.name or point.name in _BY_NAME or point.name in HIGHS:
        raise ValueError(f"its name {quoted(found.name)} is taken, or is not that of the entry point")
    return found


ADAPTERS = Registry({adapter.name: adapter for adapter in BUILTIN}, {"coalloc.solvers": _adopted})
"""Every solver with an adapter, by name."""

_BY_NAME = {
    name: adapter
    for adapter in BUILTIN
    for name in (adapter.name, *adapter.aliases, *(interface.name for interface in adapter.interfaces))
}


def _adapter_called(name: str) -> Adapter | None:
    """Return the adapter of a solver, or of one of its interfaces; None where there is none."""
    return _BY_NAME.get(name.lower()) or ADAPTERS.get(name)


def solver_called(name: str) -> str:
    """Return the name of the solver that a name means, which may be that of one of its interfaces."""
    if name.lower() in HIGHS:
        return "highs"
    adapter = _adapter_called(name)
    return adapter.name if adapter is not None else name


def find_solver(name: str) -> Found:
    """Return a solver that can be used; raises :class:`CoallocError` where it cannot, and says why."""
    adapter = _adapter_called(name)
    found = _found(adapter or Adapter(name, (Interface(name, is_known=False),)))
    if not isinstance(found, str):
        return found
    if adapter is None:
        found = f"it is unknown to Pyomo or not installed; available: {', '.join(available_solvers())}"
    raise CoallocError(f"solver {visible(repr(name))} cannot be used: {found}")


def _found(adapter: Adapter) -> Found | str:
    """Return a solver through the first of its interfaces that works, or why none does."""
    reasons = []
    for interface in adapter.interfaces:
        opened = _opened(interface.name)
        if not isinstance(opened, str):
            return Found(adapter.name, interface, opened)
        reasons.append(opened)
    return reasons[0] if adapter.is_installed else f"it is not installed; it needs {adapter.source}"


COMPANIONS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "cp-sat": ("ortools", "ortools", ("time_limit", "work_limit", "threads", "seed", "start")),
    "pumpkin": ("pumpkin_solver", "pumpkin-solver", ("time_limit", "seed")),
}
"""Solvers that the portfolio starts by itself: module, distribution, and the options that they take."""


def list_companions() -> list[ListedSolver]:
    """Return the solvers that ``formulation="auto"`` starts where they are installed; ``solver=`` takes none."""
    return [
        ListedSolver(name, True, metadata.version(distribution), options)
        if is_installed(module)
        else ListedSolver(name, False, reason=f"it is not installed; it needs `{installing(module)}`")
        for name, (module, distribution, options) in COMPANIONS.items()
    ]


def available_solvers() -> list[str]:
    """Return the names that ``solver=`` takes here: HiGHS, and the solvers with an adapter that can be used."""
    return [entry.name for entry in list_solvers() if entry.usable]


@dataclass(frozen=True, slots=True)
class ListedSolver:
    """A solver with an adapter: whether it can be used here, its version, what it takes, and else why not."""

    name: str
    usable: bool
    version: str = ""
    options: tuple[str, ...] = ()
    reason: str = ""


def list_solvers() -> list[ListedSolver]:
    """Return all solvers with an adapter, HiGHS first."""
    highs = ("time_limit", "work_limit", "gap", "threads", "seed", "start")
    listed = [ListedSolver("highs", True, metadata.version("highspy"), highs)]
    for adapter in ADAPTERS.values():
        found = _found(adapter)
        if isinstance(found, str):
            listed.append(ListedSolver(adapter.name, False, reason=found))
        else:
            listed.append(ListedSolver(adapter.name, True, found.version, found.options))
    return listed


def _opened(interface: str) -> Any:
    """Return Pyomo's object of an interface where it can be used, and else what it says, a string."""
    with quiet():
        try:
            solver = pyo.SolverFactory(interface)
            if isinstance(solver, UnknownSolver):
                return f"Pyomo has no interface {interface!r}; a newer one may have it"
            return solver if solver.available(exception_flag=True) else "it is not available"
        except Exception as error:  # each interface of Pyomo raises what it likes
            return one_line(error)


def one_line(error: BaseException) -> str:
    """Return what an exception says in one line, or its type where it says nothing."""
    return visible(" ".join(str(error).split())) or type(error).__name__


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to ourselves what Pyomo logs, the whole log of a solver that fails among it."""
    with LoggingIntercept(StringIO(), "pyomo", logging.WARNING):
        yield
