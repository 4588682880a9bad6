"""``simulate``: an instance over time, under a policy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from coalloc.api.stepping import ReportPosition, Simulation
from coalloc.documents.arguments import Seed, public
from coalloc.instance import Instance
from coalloc.schedule import Failure
from coalloc.simulator.clock import Passes
from coalloc.simulator.engine import Position
from coalloc.simulator.policy import Policy
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.routing import Broker


@public
def simulate(
    instance: Instance,
    policy: str | Policy | Broker,
    *,
    failures: Sequence[Failure] = (),
    requeue: bool = True,
    passes: Passes = "batch",
    kill: bool = False,
    seed: Seed = 0,
    progress: bool | ReportPosition = False,
    **policy_options: Any,
) -> SimulationResult:
    """Simulate an instance under a scheduling policy, and return its schedule and metrics.

    Jobs arrive over time and run for their reference run times, slowed down by their processors and by the links that
    they share. The policy sees requested walltimes, never true run times.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    policy : str or Policy or Broker
        A name of ``coalloc.policies()``, a custom ``coalloc.Policy``, or a custom ``coalloc.extend.Broker``, which
        assigns every job to a site when it arrives.
    failures : sequence of coalloc.results.Failure, default ()
        Failures of nodes, which no policy knows in advance (docs/simulation.md).
    requeue : bool, default True
        Whether a job whose node fails joins the queue again, and starts anew; otherwise it is killed.
    passes : {"batch", "per-event"}, default "batch"
        ``"batch"``: one scheduling pass after all ends, arrivals and wake-ups of a point in time. ``"per-event"``: a
        pass after every event, arrivals before ends; a job whose estimated end has come counts as finished if it ends
        now.
    kill : bool, default False
        Kill a job at its requested walltime: the time that its estimate takes on its allocation if no link saturates.
    seed : int, default 0
        Seed of the random numbers of a policy (``state.rng``).
    progress : bool or callable, default False
        True prints the progress to standard error; a function receives ``coalloc.simulator.engine.Position`` objects.
    **policy_options
        Options of a policy given by name, such as ``allocation="first-fit"`` (docs/policies.md).

    Returns
    -------
    SimulationResult
        The schedule, which has passed ``coalloc.check``, its metrics and tables.

    Raises
    ------
    CoallocError
        The policy or an option is unknown, the policy requests a start that is not possible, or it leaves jobs in the
        queue forever.
    KeyboardInterrupt
        At Ctrl-C; the message gives the simulated time and the number of finished jobs.

    See Also
    --------
    coalloc.Simulation : Simulate step by step.
    coalloc.policies : List the names of the policies.
    coalloc.compare : Compare policies with each other and with lower bounds.
    coalloc.replay : Run a given schedule with its real durations.

    Notes
    -----
    The order of events and the rules of every policy are in docs/simulation.md and docs/policies.md.

    Examples
    --------
    EASY backfilling on a synthetic workload:

    >>> import coalloc
    >>> instance = coalloc.generate("lublin", seed=1, jobs=50, nodes=64)
    >>> easy, fcfs = (coalloc.simulate(instance, name) for name in ("easy", "fcfs"))
    >>> len(easy.schedule)
    50
    >>> easy.metrics["wait_mean"] <= fcfs.metrics["wait_mean"]
    True

    Options of a policy are keywords:

    >>> instance = coalloc.example("pas-figure-3.3")
    >>> run = coalloc.simulate(instance, "easy", allocation="fewest-clusters")
    >>> list(run.schedule["J1"].nodes)
    ['C1/0', 'C1/1']
    """
    simulation = Simulation(
        instance,
        policy,
        failures=failures,
        requeue=requeue,
        passes=passes,
        kill=kill,
        seed=seed,
        progress=progress if callable(progress) else _print_position if progress else None,
        **policy_options,
    )
    simulation.run()
    return simulation.result()


def _print_position(position: Position) -> None:
    """Print where a run is as one line on standard error."""
    print(position, file=sys.stderr)
