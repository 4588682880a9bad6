"""Rules on the clusters and nodes of a job: eligibility, spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from coalloc.checker.processor_sets import processor_texts
from coalloc.checker.rule import Case, Rule, Violation
from coalloc.instance import Job, Platform, visible


def _eligibility(case: Case) -> Iterator[Violation]:
    """Yield jobs that are on processors of a cluster, or without a feature, that they may not use."""
    rows, instance = case.rows, case.instance
    features = [frozenset(group.features) for cluster in instance.platform.clusters for group in cluster.nodes]
    names = rows.groups.cluster_names
    for row, placement, job in rows.known(lambda job: job.eligible or job.requires):
        allowed, required = set(job.eligible or names), set(job.requires)
        wrong = [
            (first, stop)
            for first, stop, g in rows.parts(row)
            if names[rows.groups.cluster[g]] not in allowed or not required <= features[g]
        ]
        if wrong:
            where = ", ".join(processor_texts(wrong, rows.groups))
            sentence = f"job {visible(placement.job)} is on {visible(where)}, which it may not use"
            count = sum(stop - first for first, stop in wrong)
            yield Violation("eligibility", (placement.job,), where, placement.start, count, 0, sentence)


def _spreads(case: Case) -> Iterator[Violation]:
    """Yield jobs whose numbers of tasks in the clusters are not those required."""
    rows, platform = case.rows, case.instance.platform
    names = rows.groups.cluster_names
    for row, placement, job in rows.known(
        lambda job: job.max_clusters or job.min_tasks_per_cluster or job.slices or job.level
    ):
        held = Counter[str]()
        for first, stop, g in rows.parts(row):
            held[names[rows.groups.cluster[g]]] += stop - first
        where = ", ".join(held)
        for sentence, amount, limit in _spread_faults(job, held, platform):
            told = f"job {visible(placement.job)} {sentence}"
            yield Violation("spread", (placement.job,), where, placement.start, amount, limit, told)


def _spread_faults(job: Job, held: Mapping[str, int], platform: Platform) -> Iterator[tuple[str, float, float]]:
    """Yield what is wrong with the tasks of a job in each cluster, by name: a sentence, an amount and its limit."""
    fewest, most = min(held.values(), default=0), max(held.values(), default=0)
    if job.max_clusters is not None and len(held) > job.max_clusters:
        yield f"uses {len(held)} clusters, at most {job.max_clusters} are allowed", len(held), job.max_clusters
    least = job.min_tasks_per_cluster
    if least is not None and fewest < least:
        yield f"has {fewest} tasks in a cluster, at least {least} are required", fewest, least
    if job.slices is not None and (len(held) != job.slices or fewest != most):
        tasks = " + ".join(map(str, held.values()))
        yield f"has {tasks} tasks in {len(held)} clusters, not {job.slices} equal slices", len(held), job.slices
    if job.level is not None and job.level.required:
        above = [_switches_above(name, job.level.name, platform) for name in held]
        found = set.union(*above) if above else set()
        if len(found) != 1 or not all(above):
            level = visible(job.level.name)
            yield f"is not under one switch of the level {level}", len(found), 1


def _switches_above(cluster: str, level: str, platform: Platform) -> set[str]:
    """Return the switches of a level above a cluster: one or none."""
    parents = {switch.name: switch.parent for switch in platform.switches}
    levels = {switch.name: switch.level for switch in platform.switches}
    above: str | None = next(c.switch for c in platform.clusters if c.name == cluster)
    found = set()
    while above in parents:
        if levels[above] == level:
            found.add(above)
        above = parents[above]
    return found


RULES = (
    Rule(
        {
            "eligibility": "a job is only on clusters that it may use and on nodes that have all features that it "
            "requires"
        },
        _eligibility,
        {"eligible", "requires"},
    ),
    Rule(
        {
            "spread": "a job uses at most max_clusters clusters, has at least min_tasks_per_cluster tasks in each of "
            "them, has as many tasks in each of exactly slices clusters, and is under one switch of the level that it "
            "requires"
        },
        _spreads,
        {"max_clusters", "min_tasks_per_cluster", "slices", "level"},
        on_shared_nodes=False,
    ),
)
