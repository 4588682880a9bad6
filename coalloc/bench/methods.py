"""The public functions of coalloc that a sample runs, with their keywords and the results that are kept.

A function judges its keywords itself: :func:`faults_of_options` calls it with an instance that has a
platform and no jobs, which it refuses for the same reasons as any other, and otherwise answers at once.
"""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import coalloc
from coalloc.bench.outcomes import Outcome
from coalloc.bench.provenance import versions_for
from coalloc.documents.errors import FaultsError
from coalloc.documents.sentences import shown
from coalloc.heuristics.registry import POLICIES
from coalloc.instance import CoallocError, Fault, Instance
from coalloc.objectives import OBJECTIVES
from coalloc.solvers.backends.adapters import ADAPTERS
from coalloc.system.plugins import Registry

Options = Mapping[str, Any]
RESERVED = ("instance", "start", "progress", "seed")
"""Keywords that no specification sets; seeds have a key of their own."""

TYPES: Mapping[str, tuple[type, str]] = {
    "formulation": (str, "a string"),
    "policy": (str, "a string"),
    "kill": (bool, "true or false"),
}
"""Types that the functions leave open, or do not check."""


REGISTRIES: tuple[Registry[Any], ...] = (POLICIES, OBJECTIVES, ADAPTERS)
"""Registries of the plugins that options of a method may name."""


@dataclass(frozen=True, slots=True)
class BenchMethod:
    """A public function: how it is called, what is kept of its answer, and whether it draws from a seed.

    ``modules`` are those that it hangs on, with all that these import.
    """

    call: Callable[..., Any]
    keep: Callable[[Any], Outcome]
    modules: tuple[str, ...]
    takes_seed: bool = True

    def versions(self, options: Options) -> dict[str, str]:
        """Return what decides what it returns: the libraries, its source files, and the plugins that options name."""
        texts = [given for given in options.values() if isinstance(given, str)]
        owners = {owner for text in texts for registry in REGISTRIES if (owner := registry.owner(text))}
        return versions_for(self.modules) | ({"plugins": ", ".join(sorted(owners))} if owners else {})

    def run(self, instance: Instance, options: Options, seed: int | None) -> Any:
        """Return the answer of one call."""
        seeded = {} if seed is None else {"seed": seed}
        return self.call(instance, **options, **seeded)

    @property
    def time_limit(self) -> float | None:
        """Seconds after which the function stops by itself unless told otherwise; None: it has no such limit."""
        parameter = inspect.signature(self.call).parameters.get("time_limit")
        return None if parameter is None else float(parameter.default)


def _kept_of_result(result: coalloc.SolveResult) -> Outcome:
    """Keep status, objective, bound, times and size of a solve."""
    size = result.model_size
    return {
        "status": result.status.value,
        "stopped_by": result.stopped_by,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "message": result.message,
        "build": result.timings.get("build"),
        "rows": size and size.rows,
        "columns": size and size.columns,
        "nonzeros": size and size.nonzeros,
    }


def _kept_of_run(run: coalloc.results.SimulationResult) -> Outcome:
    """Keep the metrics of a simulated run; its makespan is its objective."""
    return {"status": "done", "objective": run.metrics["makespan"], "metrics": dict(run.metrics)}


def _kept_of_bound(bound: float) -> Outcome:
    return {"status": "done", "lower_bound": bound}


OF_POLICIES = tuple(sorted({entry.module for entry in POLICIES.builtin.values()}))
"""The modules of the policies, which are imported by name."""

METHODS: Mapping[str, BenchMethod] = {
    "solve": BenchMethod(coalloc.solve, _kept_of_result, ("coalloc.api.solving",)),
    "simulate": BenchMethod(coalloc.simulate, _kept_of_run, ("coalloc.api.simulating", *OF_POLICIES)),
    "lower_bound": BenchMethod(coalloc.lower_bound, _kept_of_bound, ("coalloc.api.solving",), takes_seed=False),
}
"""Every method by name."""


def run_method(argument: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return the outcome of the method, options and seed that ``argument`` names.

    It is called ``warmup`` times, and then ``repeat`` times with a watch: ``times`` has the seconds of each of these
    calls, ``time`` their median. What comes out is that of the last. With ``certify`` its result is certified after
    that, within the time limit of a solve: ``certified`` is whether ``coalloc/verify.py`` accepts a certificate.
    """
    method, options, times = METHODS[argument["method"]], argument["options"], list[float]()
    answer: Any = None
    for number in range(argument["warmup"] + argument["repeat"]):
        began = time.perf_counter()
        answer = method.run(instance, options, argument["seed"])
        if number >= argument["warmup"]:
            times.append(time.perf_counter() - began)
    outcome = {**method.keep(answer), "time": statistics.median(times), "times": times}
    if argument.get("certify"):
        outcome["certified"] = bool(answer.certificate(options.get("time_limit", method.time_limit)))
    return outcome


def faults_of_options(name: str, options: Options, instance: Instance) -> list[Fault]:
    """Return what a method refuses of its options on the platform of an instance, with the path of each."""
    own = {option: _own_fault(option, given) for option, given in options.items()}
    faults = [fault for fault in own.values() if fault is not None]
    empty = instance.replace(jobs=(), running=(), limits=())
    try:
        METHODS[name].run(empty, {key: given for key, given in options.items() if own[key] is None}, None)
    except FaultsError as error:
        faults += error.faults
    except CoallocError as error:
        faults += (Fault("", line) for line in str(error).splitlines())
    except TypeError as error:  # Python's own word on a keyword that is missing
        faults.append(Fault("", str(error)))
    return faults


def _own_fault(option: str, given: object) -> Fault | None:
    """Return what is wrong with an option before its method is asked."""
    if option in RESERVED:
        return Fault(option, "is not an option of a specification; for seeds use the key seeds of the method")
    wanted, words = TYPES.get(option, (object, ""))
    return None if isinstance(given, wanted) else Fault(option, f"must be {words}, got {shown(given)}")
