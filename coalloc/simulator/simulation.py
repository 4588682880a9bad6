"""From an instance and a policy to a checked schedule and its metrics: one run of the engine."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.documents.values import unchecked
from coalloc.instance import Instance
from coalloc.measures import metrics
from coalloc.schedule import Placement, Schedule
from coalloc.simulator.clock import Passes
from coalloc.simulator.engine import Engine, Position, Run
from coalloc.simulator.node_sharing import refuse_missing_memory
from coalloc.simulator.policy import NeedsMemory, Policy, SharesNodes, Tallies
from coalloc.simulator.processors import Processors, indices_of
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.site import Partition

MAX_REMEMBERED = 100_000
"""Sets of processors whose names are shared between jobs."""


def simulated(
    instance: Instance,
    policy: Policy,
    *,
    name: str,
    options: Mapping[str, Any],
    passes: Passes = "batch",
    kill: bool = False,
    seed: int = 0,
    report: Callable[[Position], None] | None = None,
) -> SimulationResult:
    """Return the run of an instance under a policy; see :func:`coalloc.simulate`."""
    if not (isinstance(policy, SharesNodes) and policy.shares_nodes):
        instance.refuse_shared_nodes(f"policy {name!r}")
    if isinstance(policy, NeedsMemory) and policy.needs_memory:
        refuse_missing_memory(instance, f"{policy.needs_memory} of policy {name!r}")
    run = Engine(instance, [Partition(policy)], passes=passes, kill=kill, seed=seed, report=report).run()
    schedule = schedule_of_run(instance, run)
    violations = check(instance, schedule, links="shared", scope=policy.scope)
    if violations:
        raise InternalError(f"the simulated schedule does not pass the checker: {violations[0]}")
    decisions = {
        "decision_time_mean": run.decision_total / run.decisions if run.decisions else 0.0,
        "decision_time_max": run.decision_max,
    }
    if isinstance(policy, Tallies):
        decisions |= policy.tally()
    return SimulationResult(instance, name, dict(options), schedule, metrics(instance, schedule) | decisions)


def schedule_of_run(instance: Instance, run: Run) -> Schedule:
    """Return the schedule of a run, jobs in the order of the instance."""
    names = _Names(instance)
    placement = unchecked(Placement)
    rows = zip(instance.jobs, run.starts, run.ends, run.processors, strict=True)
    with _no_collection():
        placements = tuple(
            placement(job.id, start, end, names[processors], "killed" if index in run.killed else "completed")
            for index, (job, start, end, processors) in enumerate(rows)
        )
    return Schedule(placements, instance=instance.name)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from visiting, again and again, objects that are made and all kept."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Names(dict[Processors, tuple[str, ...]]):
    """Names of sets of processors; jobs on the same processors share one tuple."""

    def __init__(self, instance: Instance) -> None:
        super().__init__()
        self._names = instance.platform.processor_names

    def __missing__(self, processors: Processors) -> tuple[str, ...]:
        names = tuple([self._names[p] for p in indices_of(processors)])
        if len(self) < MAX_REMEMBERED:
            self[processors] = names
        return names
