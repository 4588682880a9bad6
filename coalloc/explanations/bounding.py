"""Limits on the objective of an instance: the capacities that move the optimum or its bound, each computed anew."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text, number_text, with_unit
from coalloc.explanations.reasons import Reason, named
from coalloc.instance import Cluster, Instance
from coalloc.instance.resources import with_more
from coalloc.objectives import Criterion
from coalloc.problem import Problem
from coalloc.solvers.bounds.area import area
from coalloc.solvers.bounds.simple import (
    earliest_ends,
    fastest_durations,
    least_works,
    packing,
    resource_packing,
    simple_bound,
)
from coalloc.solvers.bounds.work import work
from coalloc.solvers.named_bounds import cost_bound
from coalloc.solvers.result import PROOF_TOLERANCE

SAME = PROOF_TOLERANCE
"""Relative difference below which two bounds are one: column generation ends before its last digits are right."""

INTEGRALITY = 1e-9
"""Relative excess over a whole number of slots up to which a bound is not rounded up."""


class Bounded(NamedTuple):
    """The bound of an instance, as it is reported, and whether the time limit cut it short."""

    value: float
    is_cut: bool


BoundOf = Callable[[Instance], Bounded]
Change = tuple[str, str, str, Instance]
"""(kind, where, words, instance) of an instance with more of a capacity."""
OptimumOf = Callable[[Instance], float | None]
"""The proved optimum of an instance, as it is reported; None where the time did not suffice for a proof."""


def why_bound(criterion: Criterion, bound: float) -> Reason:
    """Return what bounds the objective: the simplest of the bounds that reach the best one, ``bound``, a cost."""
    return _of_latest_end(criterion, bound) if criterion.objective.is_latest_end else _of_costs(criterion, bound)


def _reaches(criterion: Criterion, found: float, bound: float) -> bool:
    """Return whether a cost is the bound but for last digits, as they are reported: costs may be ends in Unix time."""
    value = criterion.reported(bound)
    return criterion.reported(found) >= value - SAME * max(1.0, abs(value))


def _of_latest_end(criterion: Criterion, bound: float) -> Reason:
    problem = criterion.problem
    ends = earliest_ends(problem)
    if _reaches(criterion, max(ends), bound):
        return _longest_job(criterion, ends.index(max(ends)))
    plain = _area(criterion)
    if plain is not None and _reaches(criterion, plain[0], bound):
        return plain[1]
    seconds = criterion.reported(bound)
    least = _at_least(seconds)
    others: list[tuple[str, Callable[[Problem], float], str]] = [
        ("packing", packing, "some jobs are too wide to run in parallel"),
        ("work", work, "the parts of the platform that can hold the jobs are busy until then"),
        ("memory", simple_bound, "the memory of the nodes is in use until then"),
        ("speeds", area, "the node classes, at their speeds, are busy until then"),
    ]
    for kind, method, words in others:
        if kind == "memory" and not any(job.memory for job in problem.jobs):
            continue
        if _reaches(criterion, method(problem), bound):
            return Reason("bound", kind, (), "", seconds, None, f"{least}: {words}")
    for name in problem.instance.resources_asked:
        if _reaches(criterion, resource_packing(problem, name), bound):
            words = f"the capacity of {quoted(name)} is in use until then"
            return Reason("bound", "resource", (), name, seconds, None, f"{least}: {words}")
    words = "the sets of jobs that fit in parallel, on processors and links, cannot overlap, so their durations add up"
    return Reason("bound", "sets", (), "", seconds, None, f"{least}: {words}")


def _at_least(seconds: float) -> str:
    return f"the objective is at least {number_text(seconds)} s"


def _longest_job(criterion: Criterion, j: int) -> Reason:
    problem = criterion.problem
    job, seconds = problem.jobs[j], criterion.reported(earliest_ends(problem)[j])
    release, takes = problem.clock.seconds_of(problem.releases[j]), problem.clock.seconds(fastest_durations(problem)[j])
    sentence = (
        f"{_at_least(seconds)}: job {quoted(job.id)} starts at {instant_text(release)} or later and takes "
        f"{number_text(takes)} s on the fastest processors that can hold it"
    )
    return Reason("bound", "longest-job", (job.id,), "", seconds, None, sentence)


def _area(criterion: Criterion) -> tuple[float, Reason] | None:
    """Return the ticks by which the processors have done all jobs from some release on, and that as a reason.

    Nothing where jobs run already: they have a part of the processors.
    """
    problem = criterion.problem
    if problem.busy:
        return None
    processors = sum(problem.capacities)
    works = least_works(problem)
    totals = {
        release: math.fsum(w for w, r in zip(works, problem.releases, strict=True) if r >= release)
        for release in set(problem.releases)
    }
    release, total = max(totals.items(), key=lambda item: item[0] + item[1] / processors)
    ticks = release + total / processors
    ticks = ticks if problem.slot is None else math.ceil(ticks - INTEGRALITY * max(1.0, ticks))
    jobs = tuple(job.id for job, r in zip(problem.jobs, problem.releases, strict=True) if r >= release)
    seconds, of_jobs = criterion.reported(ticks), problem.clock.seconds(total)
    sentence = (
        f"{_at_least(seconds)}: {named(jobs)} require at least {number_text(of_jobs)} processor-seconds after "
        f"{instant_text(problem.clock.seconds_of(release))}, on {processors} processors"
    )
    return ticks, Reason("bound", "area", jobs, "", of_jobs, processors, sentence)


def _of_costs(criterion: Criterion, bound: float) -> Reason:
    value = criterion.reported(bound)
    shown = with_unit(number_text(value), criterion.objective.unit)
    if _reaches(criterion, criterion.objective.of_costs(criterion.alone), bound):
        kind, words = "alone", "each job alone, started at its arrival on the fastest processors that can hold it"
    else:
        kind, words = "squashed-area", "all jobs on one machine as fast as all processors together, shortest job first"
    return Reason("bound", kind, (), "", value, None, f"the objective is at least {shown}: {words}")


def bound_of(criterion_of: Callable[[Instance], Criterion], time_limit: float) -> BoundOf:
    """Return what bounds an instance, in the unit that is reported."""

    def bound(instance: Instance) -> Bounded:
        began, criterion = time.perf_counter(), criterion_of(instance)
        value = criterion.reported(cost_bound(criterion, "feasible-set", time_limit))
        return Bounded(value, time.perf_counter() - began >= time_limit)

    return bound


def changes(instance: Instance) -> Iterator[Change]:
    """Yield each change of a capacity: a link, a cluster, a resource, the releases."""
    platform = instance.platform
    for cluster in platform.clusters:
        wider = cluster.replace(link_bandwidth=2.0 * cluster.link_bandwidth)
        words = (
            f"with a bandwidth of {wider.link_bandwidth:g} instead of {cluster.link_bandwidth:g} MB/s on the link of"
        )
        yield "link", cluster.name, f"{words} {quoted(cluster.name)}", _with_cluster(instance, cluster, wider)
    for switch in platform.switches:
        switches = tuple(s.replace(bandwidth=2.0 * s.bandwidth) if s is switch else s for s in platform.switches)
        words = f"with a bandwidth of {2.0 * switch.bandwidth:g} instead of {switch.bandwidth:g} MB/s on the link of"
        changed = instance.replace(platform=platform.replace(switches=switches))
        yield "link", switch.name, f"{words} {quoted(switch.name)}", changed
    for cluster in platform.clusters:
        for group in dict.fromkeys(group.replace(count=1) for group in cluster.nodes):
            # At the end, so that the nodes of running jobs keep their names.
            larger = cluster.replace(nodes=(*cluster.nodes, group))
            words = f"with one more node of speed {group.power:g} in {quoted(cluster.name)}"
            yield "cluster", cluster.name, words, _with_cluster(instance, cluster, larger)
    for name in instance.resources_asked:
        words = f"with twice the capacity of {quoted(name)}"
        yield "resource", name, words, instance.replace(platform=with_more(platform, name, 2.0))
    for limit in instance.limits:
        doubled = [one.replace(capacity=2.0 * one.capacity) if one is limit else one for one in instance.limits]
        words = f"with twice the capacity of the limit {quoted(limit.name)}"
        yield "limit", limit.name, words, instance.replace(limits=doubled)
    first = min((job.arrival for job in instance.jobs), default=0.0)
    if any(job.arrival > first for job in instance.jobs):
        jobs = tuple(job.replace(arrival=first) for job in instance.jobs)
        yield "releases", "", f"with all arrivals at {instant_text(first)}", instance.replace(jobs=jobs)


def _with_cluster(instance: Instance, old: Cluster, new: Cluster) -> Instance:
    clusters = tuple(new if cluster is old else cluster for cluster in instance.platform.clusters)
    return instance.replace(platform=instance.platform.replace(clusters=clusters))


def what_moves(instance: Instance, bound: BoundOf, optimum: OptimumOf, unit: str) -> list[Reason]:
    """Return each change that moves the optimum or the bound, the largest effect first; one reason where none does.

    Where the optimum of the instance and that of the changed one are both proved, the optimum is compared, else the
    bound.
    """
    before, best = bound(instance).value, optimum(instance)
    found, cut, num_open = list[Reason](), list[str](), 0
    for change in changes(instance):
        _, _, words, changed = change
        best_after = None if best is None else optimum(changed)
        if best is not None and best_after is not None:
            found += _moved("optimum", change, best, best_after, unit)
            continue
        num_open += 1
        after, is_cut = bound(changed)
        moved = _moved("capacity", change, before, after, unit)
        if moved and is_cut:  # it may be less for want of time alone
            cut.append(words)
        else:
            found += moved
    if not found and not cut:
        asked = {"resource": instance.resources_asked, "limit": instance.limits}
        resources = "".join(f" twice the capacity of a {kind}," for kind, given in asked.items() if given)
        sentence = (
            f"none of these changes reduces it: twice the bandwidth of a link, one more node in a cluster,{resources} "
            "earlier arrivals"
        )
        least = before if best is None else best
        return [Reason("capacity" if num_open else "optimum", "nothing", (), "", least, least, sentence)]
    found.sort(key=lambda reason: float(f"{reason.amount:.6g}"))  # those that are one stay in their order
    if cut:
        sentence = f"the time limit interrupted the bound {'; '.join(cut)}: the effect is unknown"
        found.append(Reason("capacity", "cut", (), "", None, before, sentence))
    return found


def _moved(
    about: Literal["optimum", "capacity"], change: Change, before: float, after: float, unit: str
) -> list[Reason]:
    """Return the effect of a change on the optimum or the bound as a reason; none where it has no effect."""
    if before - after <= SAME * max(1.0, abs(before)):
        return []
    kind, where, words, _ = change
    value = "optimum" if about == "optimum" else "bound"
    less = with_unit(number_text(before - after), unit)
    sentence = f"{words} the {value} is {with_unit(number_text(after), unit)}, lower by {less}"
    return [Reason(about, kind, (), where, after, before, sentence)]
