"""``simulate``: an instance over time, under a policy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from coalloc.documents.arguments import Seed, public
from coalloc.heuristics.registry import policy_named
from coalloc.instance import CoallocError, Instance
from coalloc.simulator.clock import Passes
from coalloc.simulator.engine import Position
from coalloc.simulator.policy import Policy
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.routing import RUNNABLE, Broker
from coalloc.simulator.simulation import simulated

ReportPosition = Callable[[Position], None]


@public
def simulate(
    instance: Instance,
    policy: str | Policy | Broker,
    *,
    passes: Passes = "batch",
    kill: bool = False,
    seed: Seed = 0,
    progress: bool | ReportPosition = False,
    **policy_options: Any,
) -> SimulationResult:
    """Run an instance under a policy; return the schedule, which has passed the checker, and its metrics.

    Jobs arrive at their arrivals and run for their base times, slowed down by their processors and by
    the links they share; the policy knows their estimates only.

    Parameters
    ----------
    policy
        A name of :func:`coalloc.policies`, or an object of your own with ``scope`` and
        ``decide(state) -> Iterable[Start | Wake]``; methods ``begin(state)``, ``arrived(state, job)`` and
        ``ended(state, running)`` are called where it has them. Or a broker of your own, with ``scope``,
        ``partitions(platform)`` and ``route(sites, job)``: it says which sites there are, each with a policy, and to
        which a job goes when it arrives.
    passes
        ``"batch"``: all terminations of an instant, all its arrivals, its wake-ups, then one scheduling pass.
        ``"per-event"``: arrivals before terminations, a pass after every event, and a job whose
        estimated end has come counts as finished if it does end now.
    kill
        Kill jobs at their limit: the time that the estimate takes on the allocation if no link
        saturates, fixed at the start.
    seed
        Of the random numbers that a policy may draw (``state.rng``).
    progress
        ``True`` prints where the run is on standard error; a function gets a
        :class:`coalloc.simulator.engine.Position`.
    policy_options
        Options of the policy, if it is given by name: ``allocation="first-fit"``, ...

    Raises
    ------
    CoallocError
        If the policy or an option is unknown, if the policy asks for a start that is not possible, or
        if it leaves jobs waiting for ever; the latter say where the run was.
    KeyboardInterrupt
        At Ctrl-C; its message says where the run was.
    """
    if seed < 0:
        raise CoallocError(f"seed: must be a whole number from 0 on, got {seed}")
    chosen: Policy | Broker
    if isinstance(policy, str):
        chosen, name = policy_named(policy, policy_options), policy
    elif policy_options:
        raise CoallocError(f"options are for policies by name, got {', '.join(policy_options)} with an object")
    elif isinstance(policy, type):
        raise CoallocError(f"policy must be an object, got the type {policy.__name__}: give {policy.__name__}(...)")
    elif not isinstance(policy, (Policy, Broker)):
        raise CoallocError(f"policy must be a name, or have {RUNNABLE}, got {policy!r}")
    else:
        chosen, name = policy, type(policy).__name__
    return simulated(
        instance,
        chosen,
        name=name,
        options=policy_options,
        passes=passes,
        kill=kill,
        seed=seed,
        report=progress if callable(progress) else _print_position if progress else None,
    )


def _print_position(position: Position) -> None:
    """Print where a run is as one line on standard error."""
    print(position, file=sys.stderr)
