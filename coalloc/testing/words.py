"""Small random instances that use the words of :mod:`coalloc.instance.words`, any of them together.

What an instance of :mod:`coalloc.testing.small` says is kept; words are added to it, some of which make it infeasible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from coalloc.execution import execution_time
from coalloc.instance import Instance, Job, NodeGroup, Platform
from coalloc.instance.words import WORDS
from coalloc.testing.small import SmallSize, small_instance

FEATURES = ("gpu", "ssd")
"""What nodes may have."""
SHARE = 0.35
"""Share of the words that an instance uses."""

WORD_SIZE = SmallSize(max_jobs=4, max_slots=18)
"""What brute force still enumerates in a moment whatever the words."""

Draw = Callable[[np.random.Generator, Instance], Instance]


def small_word_instance(
    seed: int, size: SmallSize | None = None, words: Collection[str] | None = None
) -> tuple[Instance, float]:
    """Return an instance that uses some words, and a slot length, s; the same for the same arguments.

    ``words`` are those that it may use, of which about a third are drawn, two at least; None: all that there are. A
    word may have nothing to say: an instance of one job has no precedence.
    """
    instance, slot = small_instance(seed, size or WORD_SIZE)
    rng = np.random.default_rng([seed, 2])
    known = [word for word in WORDS if words is None or word in words]
    drawn = rng.permutation(len(known))[: max(2, int(rng.binomial(len(known), SHARE)))]
    return with_words(instance, rng, [known[w] for w in drawn]), slot


def with_words(instance: Instance, rng: np.random.Generator, words: Collection[str]) -> Instance:
    """Return an instance that says something by each of these words, in their order in :data:`WORDS`."""
    for word in WORDS:
        if word in words:
            instance = DRAWS[word](rng, instance)
    return instance.replace(name=f"{instance.name}-words")


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


def _with_features(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return an instance in which most nodes have features, and half the jobs require one; few find too little room."""

    def equipped(group: NodeGroup) -> NodeGroup:
        return group.replace(features=[feature for feature in FEATURES if rng.random() < 0.7])

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


DRAWS: Mapping[str, Draw] = {
    "deadline": _with_deadlines,
    "after": _with_precedences,
    "eligible": _with_clusters,
    "requires": _with_features,
}
"""What adds each word."""
