"""From an instance and a policy to an engine, and from its run to a checked schedule and its metrics."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from coalloc.checker import check
from coalloc.documents.columns import Columns, column
from coalloc.documents.errors import InternalError
from coalloc.instance import CoallocError, Instance, InstanceError
from coalloc.instance.features import UnsupportedFeature, refuse_unsupported
from coalloc.instance.numbering import names_of
from coalloc.instance.processor_names import ProcessorNames, ProcessorSets
from coalloc.measures.metrics import metrics
from coalloc.schedule import Failure, InterruptedRun, Placement, Schedule
from coalloc.simulator.clock import Passes
from coalloc.simulator.engine import Engine, Position, Run
from coalloc.simulator.failing import FAILURES, WITH_FAILURES, refuse_failures
from coalloc.simulator.node_sharing import refuse_missing_memory
from coalloc.simulator.occupancy import UnplaceableError
from coalloc.simulator.policy import (
    ENFORCED,
    ChoosesShapes,
    ListsFeatures,
    NeedsMemory,
    Policy,
    Preempting,
    SaysWhy,
    SharesNodes,
    Tallies,
    suspends,
)
from coalloc.simulator.pool_run import HeldProcessors
from coalloc.simulator.processors import Processors, intervals_of
from coalloc.simulator.result import SimulationResult
from coalloc.simulator.routing import Broker
from coalloc.simulator.site import Partition

ON_SHARED_NODES = frozenset({"deadline", "after", "eligible", "requires", "shapes", "unavailable", "start"})
"""The features that runs on time-shared nodes support: a node has one speed there, and tasks share its memory alone."""

WITH_PREEMPTION = WITH_FAILURES - {"unavailable", "start", "shapes"}
"""The features that policies which stop jobs for others support."""

CHOOSING = 'easy or mesd with shapes="ends-first" (--parameter shapes=ends-first)'
"""Parties that choose among the shapes of a job, in the words of a remedy."""

SETS_AT_ONCE = 2_000
"""Sets of processors that are named in one go, so that memory stays small."""


def engine_for(
    instance: Instance,
    policy: Policy | Broker,
    *,
    name: str,
    failures: Sequence[Failure] = (),
    requeue: bool = True,
    passes: Passes = "batch",
    kill: bool = False,
    seed: int = 0,
    report: Callable[[Position], None] | None = None,
) -> Engine:
    """Return what runs an instance under a policy or a broker; raises where that is not supported."""
    refuse_policy(instance, policy, name, has_failures=bool(failures))
    router = policy if isinstance(policy, Broker) else None
    parts = policy.partitions(instance.platform) if isinstance(policy, Broker) else [Partition(policy)]
    for part in parts:
        _refuse_preemption(instance, part.policy, part.name or name, has_failures=bool(failures))
    chooses = isinstance(policy, ChoosesShapes) and policy.chooses_shapes
    with nullcontext() if chooses else _blaming_first_shapes(instance, name):
        seen = instance if chooses else _in_first_shapes(instance)
        return Engine(
            seen,
            parts,
            router=router,
            failures=failures,
            requeue=requeue,
            passes=passes,
            kill=kill,
            seed=seed,
            report=report,
        )


def refuse_policy(instance: Instance, policy: Policy | Broker, name: str, *, has_failures: bool = False) -> None:
    """Raise where a policy does not support what an instance has, or failures of nodes."""
    if not (isinstance(policy, SharesNodes) and policy.shares_nodes):
        instance.refuse_shared_nodes(f"policy {name!r}")
    supported = policy.supported_features if isinstance(policy, ListsFeatures) else ENFORCED
    why = policy.why_unsupported if isinstance(policy, SaysWhy) else ""
    refuse_unsupported(instance, f"simulate with policy {name!r}", supported, why)
    if instance.shares_nodes:
        refuse_unsupported(instance, "simulate with time-shared nodes", ON_SHARED_NODES)
    _refuse_preemption(instance, policy, name, has_failures=has_failures)
    if has_failures:
        refuse_failures(instance, supported, f"simulate with policy {name!r}")
    if isinstance(policy, NeedsMemory) and policy.needs_memory:
        refuse_missing_memory(instance, f"{policy.needs_memory} of policy {name!r}")


def _refuse_preemption(instance: Instance, policy: Policy | Broker, name: str, *, has_failures: bool) -> None:
    """Raise where a policy stops running jobs, and an instance or failures do not go with that."""
    if isinstance(policy, Preempting) and policy.preempts:
        refuse_unsupported(instance, f"simulate with preemption by policy {name!r}", WITH_PREEMPTION)
    if has_failures and suspends(policy):
        raise UnsupportedFeature(f"simulate with suspension by policy {name!r}", [FAILURES], of="run")


def result_of(
    instance: Instance,
    run: Run,
    policy: Policy | Broker,
    name: str,
    options: Mapping[str, Any],
    *,
    failures: Sequence[Failure] = (),
    is_managed: bool,
) -> SimulationResult:
    """Return a run of an instance, checked and measured; ``is_managed``: its sites were switched on and off."""
    schedule = schedule_of_run(instance, run, failures)
    violations = check(
        instance, schedule, links="shared", scope=policy.scope, power_management=is_managed, deadlines="report"
    )
    if violations:
        raise InternalError(f"the simulated schedule does not pass the checker: {violations[0]}")
    decisions = {
        "decision_time_mean": run.decision_total / run.decisions if run.decisions else 0.0,
        "decision_time_max": run.decision_max,
    }
    if isinstance(policy, Tallies):
        decisions |= policy.tally()
    measured = metrics(instance, schedule) | decisions
    return SimulationResult(instance, name, dict(options), schedule, measured, is_managed)


@contextmanager
def _blaming_first_shapes(instance: Instance, name: str) -> Iterator[None]:
    """Raise what refuses jobs that have narrower shapes with how they may run in those."""
    try:
        yield
    except (InstanceError, UnplaceableError) as error:
        if not any(shape.tasks < job.tasks for job in instance.jobs for shape in job.shapes):
            raise
        raise CoallocError(
            f"{error}; policy {name!r} uses the first shape of a job; to use others: {CHOOSING}"
        ) from None


def _in_first_shapes(instance: Instance) -> Instance:
    """Return an instance whose jobs run in their first shapes alone: for policies that choose none."""
    if "shapes" not in instance.features:
        return instance
    return instance.replace(jobs=[job.in_shapes[0] for job in instance.jobs])


def schedule_of_run(instance: Instance, run: Run, failures: Sequence[Failure] = ()) -> Schedule:
    """Return the schedule of a run, jobs in the order of the instance, with the failures before its end."""
    jobs = range(len(instance.jobs))
    columns: dict[str, Sequence[object]] = {
        "job": column(instance.jobs, "id"),
        "start": array("d", run.starts),
        "end": array("d", run.ends),
        "nodes": _names(instance, run.processors),
    }
    if run.killed:
        columns["outcome"] = ["killed" if index in run.killed else "completed" for index in jobs]
    if run.shapes:
        columns["shape"] = [run.shapes.get(index, 0) for index in jobs]
    if not (failures or run.interrupted):
        return Schedule(Columns(Placement, columns), instance=instance.name)
    last = max(run.ends, default=0.0)
    happened = [failure for failure in failures if failure.start <= last]
    interrupted = tuple(_interrupted_runs(instance, run))
    return Schedule(Columns(Placement, columns), instance=instance.name, failures=happened, interrupted=interrupted)


def _interrupted_runs(instance: Instance, run: Run) -> Iterator[InterruptedRun]:
    """Yield the runs that were interrupted, in the order of their ends."""
    held = _names(instance, [processors for *_, processors, _ in run.interrupted])
    for (index, start, end, processors, cause), nodes in zip(run.interrupted, held, strict=True):
        job, tasks = instance.jobs[index], processors.bit_count()
        number = next(n for n, shape in enumerate(job.in_shapes) if shape.tasks == tasks)
        yield InterruptedRun(job.id, start, end, nodes, cause, number)


def _names(instance: Instance, held: Sequence[Processors]) -> ProcessorSets:
    """Return the names of the processors that jobs have held; jobs on the same ones share them."""
    numbering = instance.platform.numbering
    if isinstance(held, HeldProcessors):
        which = held.which.astype(np.int64)
        number = int(which.max(initial=-1)) + 1
        return ProcessorSets.of_ranges(names_of(numbering, number, held.intervals).ranges, number, which)
    sets = list(dict.fromkeys(held))
    names: dict[Processors, ProcessorNames] = {}
    for begin in range(0, len(sets), SETS_AT_ONCE):
        some = sets[begin : begin + SETS_AT_ONCE]
        intervals = intervals_of(some, instance.platform.num_processors)
        names |= zip(some, names_of(numbering, len(some), intervals), strict=True)
    return ProcessorSets.of([names[processors] for processors in held])
