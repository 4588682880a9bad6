"""What a sample runs: a public function of coalloc with its keywords, and which of what comes out is kept.

A function judges its keywords itself: :func:`faults_of_options` calls it with an instance that has a
platform and no jobs, which it refuses for the same reasons as any other, and otherwise answers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import coalloc
from coalloc.bench.outcomes import Outcome
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Fault, Instance, InstanceError

Options = Mapping[str, Any]
RESERVED = ("instance", "start", "progress", "seed")
"""Keywords that no specification sets; seeds have a key of their own."""

TYPES: Mapping[str, tuple[type, str]] = {
    "formulation": (str, "a text"),
    "policy": (str, "a text"),
    "kill": (bool, "true or false"),
}
"""Types that the functions leave open, or do not check."""


@dataclass(frozen=True, slots=True)
class Method:
    """A public function: how it is called, whether it draws from a seed, and what is kept of its answer."""

    call: Callable[..., Any]
    keep: Callable[[Any], Outcome]
    takes_seed: bool = True

    def run(self, instance: Instance, options: Options, seed: int | None) -> Outcome:
        """Return what is kept of one call."""
        seeded = {} if seed is None else {"seed": seed}
        return self.keep(self.call(instance, **options, **seeded))

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


def _kept_of_run(run: coalloc.SimulationResult) -> Outcome:
    """Keep the metrics of a simulated run; its makespan is its objective."""
    return {"status": "done", "objective": run.metrics["makespan"], "metrics": dict(run.metrics)}


def _kept_of_bound(bound: float) -> Outcome:
    return {"status": "done", "lower_bound": bound}


METHODS: Mapping[str, Method] = {
    "solve": Method(coalloc.solve, _kept_of_result),
    "simulate": Method(coalloc.simulate, _kept_of_run),
    "lower_bound": Method(coalloc.lower_bound, _kept_of_bound, takes_seed=False),
}
"""Every method by name."""


def run_method(argument: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return the outcome of the method, options and seed that ``argument`` names."""
    return METHODS[argument["method"]].run(instance, argument["options"], argument["seed"])


def faults_of_options(name: str, options: Options, instance: Instance) -> list[Fault]:
    """Return what a method refuses of its options on the platform of an instance, with the path of each."""
    own = {option: _own_fault(option, given) for option, given in options.items()}
    faults = [fault for fault in own.values() if fault is not None]
    empty = instance.replace(jobs=(), running=())
    try:
        METHODS[name].run(empty, {key: given for key, given in options.items() if own[key] is None}, None)
    except InstanceError as error:
        faults += error.faults
    except CoallocError as error:
        faults += (Fault("", line) for line in str(error).splitlines())
    except TypeError as error:  # Python's own word on a keyword that is missing
        faults.append(Fault("", str(error)))
    return faults


def _own_fault(option: str, given: object) -> Fault | None:
    """Return what is wrong with an option before its method is asked."""
    if option in RESERVED:
        return Fault(option, "is not an option of a specification; seeds have the key seeds of the method")
    wanted, words = TYPES.get(option, (object, ""))
    return None if isinstance(given, wanted) else Fault(option, f"must be {words}, got {shown(given)}")
