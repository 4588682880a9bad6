"""Small random instances that use the features of :mod:`coalloc.instance.features`, any of them together.

Features are added to an instance of :mod:`coalloc.testing.small`; some make it infeasible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from coalloc.instance import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob, Shape, Switch
from coalloc.instance.constraints import Declaration
from coalloc.instance.features import FEATURES
from coalloc.instance.lags import Lag
from coalloc.instance.limits import Limit
from coalloc.instance.processor_names import ProcessorNames
from coalloc.instance.spread import spread_of
from coalloc.instance.windows import Window
from coalloc.problem.execution import execution_time
from coalloc.testing.constraints import DECLARED, small_declarations
from coalloc.testing.small import AMPLE_BANDWIDTH, SmallSize, small_instance

NODE_FEATURES = ("gpu", "ssd")
"""Features that nodes may have."""
SHARE = 0.35
"""Share of the features that an instance uses."""

MOST_STRETCHED = 2.0
"""Greatest time of a shape, as a multiple of the first: models have slots for it."""

FEATURE_SIZE = SmallSize(max_jobs=4, max_slots=18)
"""Size that brute force still enumerates in a moment whatever the features."""

MIXED = ("limits", "max_clusters", "min_tasks_per_cluster", "slices", "level", "lags", *DECLARED)
"""Features and constraints that tie jobs to each other, or the parts of a job."""

MOST_LAGS = 1.5
"""Mean lags of a job of a larger instance, to each of the others in equal shares."""
LARGEST_MEAN = 60.0
"""Mean reference run time, s, above which lags are longer than those of small instances."""

T = TypeVar("T", NodeGroup, Cluster)

Draw = Callable[[np.random.Generator, Instance], Instance]


def small_feature_instance(
    seed: int, size: SmallSize | None = None, features: Collection[str] | None = None
) -> tuple[Instance, float]:
    """Return an instance that uses some features, and a slot length, s; the same for the same arguments.

    ``features`` are those that it may use, of which about a third are drawn, two at least; None: all that there are. A
    feature may have nothing to say: an instance of one job has no precedence.
    """
    instance, slot = small_instance(seed, size or FEATURE_SIZE)
    rng = np.random.default_rng([seed, 2])
    known = [feature for feature in FEATURES if features is None or feature in features]
    drawn = rng.permutation(len(known))[: max(2, int(rng.binomial(len(known), SHARE)))]
    return with_features(instance, rng, [known[w] for w in drawn]), slot


def small_mixed_instance(
    seed: int, size: SmallSize | None = None
) -> tuple[Instance, float, tuple[str, ...], list[Declaration]]:
    """Return an instance, a slot length (s), two or three of :data:`MIXED` by name, and the constraints among them."""
    instance, slot = small_instance(seed, size or FEATURE_SIZE)
    rng = np.random.default_rng([seed, 4])
    names = tuple(MIXED[w] for w in rng.permutation(len(MIXED))[: int(rng.integers(2, 4))])
    instance = with_features(instance, rng, names)
    declared = [small_declarations(name, rng, instance, slot) for name in names if name in DECLARED]
    return instance, slot, names, [one for of_name in declared for one in of_name]


def with_features(instance: Instance, rng: np.random.Generator, features: Collection[str]) -> Instance:
    """Return an instance that says something by each of these features, in their order in :data:`FEATURES`."""
    for feature in FEATURES:
        if feature in features:
            instance = DRAWS[feature](rng, instance)
    return instance.replace(name=f"{instance.name}-features")


def _with_deadlines(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance half the jobs of which must end by one to eight times what they take alone, after arrival."""
    return instance.replace(
        jobs=[
            job.replace(deadline=round(job.arrival + execution_time(job, 1.0) * float(rng.uniform(1.2, 8.0)), 1))
            if rng.random() < 0.5
            else job
            for job in instance.jobs
        ]
    )


def _with_precedences(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which jobs come after some of those before them in a random order."""
    order = [*rng.permutation(len(instance.jobs)).tolist()]
    after: dict[int, tuple[str, ...]] = {}
    earlier = [run.job.id for run in instance.running]
    for j in order:
        after[j] = tuple(other for other in earlier if rng.random() < 0.35)
        earlier.append(instance.jobs[j].id)
    return instance.replace(jobs=[job.replace(after=after[j]) for j, job in enumerate(instance.jobs)])


def _with_clusters(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which half the jobs may use only some clusters; few of them find too little room there."""
    names = [cluster.name for cluster in instance.platform.clusters]

    def choosing(job: Job) -> Job:
        chosen = [names[c] for c in sorted(rng.permutation(len(names))[: int(rng.integers(1, len(names) + 1))])]
        return _mostly_placeable(rng, instance.platform, job, job.replace(eligible=chosen))

    return instance.replace(jobs=[choosing(job) if rng.random() < 0.5 else job for job in instance.jobs])


def _with_required(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which most nodes have features, and half the jobs require one; few find too little room."""

    def equipped(group: NodeGroup) -> NodeGroup:
        return group.replace(features=[feature for feature in NODE_FEATURES if rng.random() < 0.7])

    clusters = [c.replace(nodes=[equipped(group) for group in c.nodes]) for c in instance.platform.clusters]
    platform = instance.platform.replace(clusters=clusters)
    known = sorted({feature for c in clusters for group in c.nodes for feature in group.features})

    def requiring(job: Job) -> Job:
        wanted = job.replace(requires=[known[int(rng.integers(len(known)))]])
        return _mostly_placeable(rng, platform, job, wanted)

    jobs = [requiring(job) if known and rng.random() < 0.5 else job for job in instance.jobs]
    return instance.replace(platform=platform, jobs=jobs)


def _mostly_placeable(rng: np.random.Generator, platform: Platform, before: Job, after: Job) -> Job:
    """Return a job after a change, mostly as it was before where it finds too few processors then."""
    groups = [(cluster.name, group) for cluster in platform.clusters for group in cluster.nodes]
    room = sum(group.count * group.cores for name, group in groups if after.may_use(name, group))
    return after if room >= after.tasks or rng.random() < 0.05 else before


def _with_windows(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance with one to three windows: of clusters, of nodes, or of some processors of a group."""
    platform = instance.platform

    def window() -> Window:
        cluster = platform.clusters[int(rng.integers(len(platform.clusters)))]
        start = float(rng.choice((0.0, 5.0, 20.0, round(float(rng.uniform(0.0, 60.0)), 1))))
        end = start + float(rng.choice((5.0, 20.0, round(float(rng.uniform(1.0, 50.0)), 1))))
        kind = rng.random()
        if kind < 0.4:
            number = int(rng.integers(len(cluster.nodes)))
            group = cluster.nodes[number]
            taken = int(rng.integers(1, group.count * group.cores + 1))
            return Window(cluster.name, start, end, group=number, processors=taken)
        if kind < 0.8:
            nodes = rng.permutation(cluster.num_nodes)[: int(rng.integers(1, cluster.num_nodes + 1))]
            names = ProcessorNames([f"{cluster.name}/{n}" for n in sorted(nodes.tolist())])
            return Window(cluster.name, start, end, nodes=names)
        return Window(cluster.name, start, end)

    for _ in range(int(rng.integers(1, 4))):
        unavailable = (*instance.platform.unavailable, window())
        instance = _where_possible(instance, platform=platform.replace(unavailable=unavailable))
    return instance


def _with_reservations(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which another job, which communicates, is to run later on some whole nodes."""
    platform = instance.platform
    chosen = [platform.nodes[n] for n in rng.permutation(len(platform.nodes))[: int(rng.integers(1, 3))].tolist()]
    names = platform.processor_names
    held = [names[p] for node in chosen for p in range(node.first_processor, node.first_processor + node.cores)]
    start = round(float(rng.uniform(1.0, 60.0)), 1)
    job = Job("later", len(held), 50.0, task_bandwidth=float(rng.choice((0.0, 2.0))))
    reserved = RunningJob(job, held, start + float(rng.choice((10.0, 25.5))), start)
    return _where_possible(instance, running=(*instance.running, reserved))


def _where_possible(instance: Instance, **changes: Any) -> Instance:
    """Return an instance after changes, as it was where they contradict what it says already."""
    try:
        return instance.replace(**changes)
    except InstanceError:
        return instance


def _with_times(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which most jobs say how long they take on nodes of one kind or the other."""

    def equipped(group: NodeGroup) -> NodeGroup:
        kind = str(rng.choice(("a100", "v100", "")))
        return group.replace(features=[*group.features, *([kind] if kind else [])])

    def timed(job: Job) -> Job:
        kinds = [kind for kind in ("a100", "v100") if rng.random() < 0.8]
        return job.replace(times={kind: round(job.base_time * float(rng.uniform(0.3, 2.0)), 1) for kind in kinds})

    clusters = [c.replace(nodes=[equipped(group) for group in c.nodes]) for c in instance.platform.clusters]
    jobs = [timed(job) if rng.random() < 0.7 else job for job in instance.jobs]
    return instance.replace(platform=instance.platform.replace(clusters=clusters), jobs=jobs)


def _with_shapes(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which half the jobs have one or two other shapes."""
    processors = instance.platform.num_processors

    def moldable(job: Job) -> Job:
        others = [n for n in range(1, min(processors, 2 * job.tasks + 1) + 1) if n != job.tasks]
        chosen = rng.permutation(others)[: int(rng.integers(1, 3))].tolist()
        return job.replace(shapes=[_shape(rng, job, tasks) for tasks in chosen])

    return instance.replace(jobs=[moldable(job) if rng.random() < 0.5 else job for job in instance.jobs])


def _shape(rng: np.random.Generator, job: Job, tasks: int) -> Shape:
    """Return a shape with so many tasks: as much work as the job, or more of it the wider, or less."""
    exponent = float(rng.choice((1.0, 0.7, rng.uniform(0.3, 1.2))))
    factor = min(MOST_STRETCHED, (job.tasks / tasks) ** exponent)
    times = {kind: round(seconds * factor, 1) for kind, seconds in job.times.items()} if rng.random() < 0.7 else {}
    return Shape(tasks, round(job.base_time * factor, 1), times=times)


def _with_resources(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which most jobs take of one or two resources: of the platform, of clusters or of nodes."""
    names = [name for name in ("licences", "watts") if instance.platform.total_of(name) == 0.0]
    for name in names[: int(rng.integers(1, 3))]:
        instance = _with_resource(rng, instance, name)
    return instance


def _with_resource(rng: np.random.Generator, instance: Instance, name: str) -> Instance:
    """Return an instance with one more resource; what a job takes too much of it does not take."""
    unit = float(rng.choice((1.0, 37.5)))
    level = str(rng.choice(("platform", "cluster", "node")))

    def stocked(holder: T, most: int) -> T:
        share = {} if rng.random() < 0.15 else {name: unit * float(rng.integers(1, most + 1))}
        return holder.replace(resources={**holder.resources, **share})

    platform = instance.platform
    if level == "platform":
        platform = platform.replace(resources={**platform.resources, name: unit * float(rng.integers(1, 7))})
    elif level == "cluster":
        platform = platform.replace(clusters=[stocked(cluster, 6) for cluster in platform.clusters])
    else:
        groups = [[stocked(group, 3) for group in cluster.nodes] for cluster in platform.clusters]
        pairs = zip(platform.clusters, groups, strict=True)
        platform = platform.replace(clusters=[cluster.replace(nodes=nodes) for cluster, nodes in pairs])
    instance = instance.replace(platform=platform)
    for j in range(len(instance.jobs)):
        if rng.random() < 0.7:
            instance = _where_possible(instance, jobs=_taking(rng, instance.jobs, j, {name: unit}))
    if rng.random() < 0.5:
        running = [
            run.replace(job=run.job.replace(task_resources={**run.job.task_resources, name: unit}))
            for run in instance.running
        ]
        instance = _where_possible(instance, running=running)
    return instance


def _with_fewer_clusters(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance half the jobs of which use few clusters."""
    return _with_spreads(rng, instance, lambda _: {"max_clusters": int(rng.integers(1, 3))})


def _with_dense_clusters(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance half the jobs of which have several tasks in each cluster that they use."""
    return _with_spreads(rng, instance, lambda job: {"min_tasks_per_cluster": int(rng.integers(1, job.tasks + 1))})


def _with_slices(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance half the jobs of which have one to three equal slices."""
    return _with_spreads(rng, instance, lambda _: {"slices": int(rng.integers(1, 4))})


def _with_levels(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance half the jobs of which must be under one switch, of two if there are none yet."""
    platform = instance.platform
    if platform.switches:
        lower = [{switch.parent for switch in platform.switches}]
        platform = platform.replace(
            switches=[s if s.name in lower[0] else s.replace(level="row") for s in platform.switches]
        )
    else:
        switches = [Switch(name, "root", AMPLE_BANDWIDTH, level="row") for name in ("A", "B")]
        clusters = [c.replace(switch="AB"[int(rng.integers(2))]) for c in platform.clusters]
        platform = platform.replace(switches=switches, clusters=clusters)
    return _with_spreads(rng, instance.replace(platform=platform), lambda _: {"level": {"name": "row"}})


def _with_spreads(rng: np.random.Generator, instance: Instance, drawn: Callable[[Job], Mapping[str, Any]]) -> Instance:
    """Return an instance half the jobs of which restrict their tasks in each cluster, where that is possible."""
    for j, job in enumerate(instance.jobs):
        if rng.random() < 0.5:
            changed = job.replace(**drawn(job))
            spread, rooms = (
                spread_of(changed, instance.platform),
                [c.num_processors for c in instance.platform.clusters],
            )
            is_placeable = spread is None or any(spread.found(changed.tasks, rooms, range(len(rooms))))
            if is_placeable or rng.random() < 0.05:
                jobs = [changed if i == j else other for i, other in enumerate(instance.jobs)]
                instance = _where_possible(instance, jobs=jobs)
    return instance


def _taking(rng: np.random.Generator, jobs: Sequence[Job], j: int, unit: Mapping[str, float]) -> list[Job]:
    """Return jobs of which one takes some units of a resource: as a whole, by each of its tasks, or both."""
    kind = int(rng.integers(3))
    whole = {name: size * float(rng.integers(1, 4)) for name, size in unit.items() if kind != 1}
    per_task = {name: size * float(rng.choice((0.5, 1.0, 1.0, 2.0))) for name, size in unit.items() if kind != 0}
    job = jobs[j]
    taking = job.replace(resources={**job.resources, **whole}, task_resources={**job.task_resources, **per_task})
    return [taking if i == j else other for i, other in enumerate(jobs)]


def _with_limits(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance with one or two limits on some jobs, waiting or running: by number, or by amounts."""
    waiting = [job.id for job in instance.jobs]
    ids = [*waiting, *(run.job.id for run in instance.running)]
    limits = []
    for name in ("anna", "debug")[: int(rng.integers(1, 3))]:
        jobs = [ids[j] for j in sorted(rng.permutation(len(ids))[: int(rng.integers(1, len(ids) + 1))].tolist())]
        if rng.random() < 0.5:
            limits.append(Limit(name, jobs, capacity=float(rng.integers(1, 3))))
            continue
        amounts = [float(rng.choice((0.0, 0.5, 1.0, 2.0, 3.7))) for _ in jobs]
        least = max((amount for job, amount in zip(jobs, amounts, strict=True) if job in waiting), default=0.0)
        limits.append(Limit(name, jobs, least + float(rng.choice((0.0, 0.5, 1.7))), amounts))
    return instance.replace(limits=limits)


def _with_lags(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which some jobs have lags to those before them in a random order, or start with them."""
    order = [instance.jobs[j].id for j in rng.permutation(len(instance.jobs)).tolist()]
    unit = max(1.0, instance.mean_base_time / LARGEST_MEAN)
    earlier = {run.job.id: ("start", "end") if run.start > 0.0 else ("end",) for run in instance.running}
    lags = dict[str, list[Lag]]()
    for name in order:
        for other, times in earlier.items():
            if rng.random() < min(0.3, MOST_LAGS / len(order)):
                lags.setdefault(name, []).append(_lag(rng, other, times, unit))
        earlier[name] = ("start", "end")
    for name, found in lags.items():
        jobs = [job.replace(lags=found) if job.id == name else job for job in instance.jobs]
        instance = _where_possible(instance, jobs=jobs)
    return instance


def _lag(rng: np.random.Generator, other: str, times: Sequence[str], unit: float) -> Lag:
    """Return a lag to another job: the same start, a minimal lag, both, or at most so much later or earlier.

    ``unit`` is what a second of a small instance is here, s.
    """
    kind = rng.random()
    if kind < 0.25 and "start" in times:
        return Lag(other, "start", 0.0, 0.0)
    from_: Literal["start", "end"] = "end" if rng.random() < 0.5 or "start" not in times else "start"
    least = unit * round(float(rng.choice((0.0, 5.0, rng.uniform(0.0, 15.0)))), 1)
    if kind < 0.6:
        return Lag(other, from_, least)
    return Lag(other, from_, least if kind < 0.8 else -least, least + unit * float(rng.choice((5.0, 20.0, 60.0))))


DRAWS: Mapping[str, Draw] = {
    "deadline": _with_deadlines,
    "after": _with_precedences,
    "eligible": _with_clusters,
    "requires": _with_required,
    "times": _with_times,
    "shapes": _with_shapes,
    "unavailable": _with_windows,
    "start": _with_reservations,
    "resources": _with_resources,
    "limits": _with_limits,
    "max_clusters": _with_fewer_clusters,
    "min_tasks_per_cluster": _with_dense_clusters,
    "slices": _with_slices,
    "level": _with_levels,
    "lags": _with_lags,
}
"""Functions that add each feature."""
