"""Jobs that start together in a simulation: the policy sees one job, whose processors the engine deals out.

A gang has all tasks of its members and takes as long as the longest. So policies need not know of it, and its members
start in one pass or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.instance import Instance, Job
from coalloc.instance.features import UnsupportedFeature
from coalloc.instance.job import resources_asked

UNEQUAL = (
    "jobs {} start together, so they must have the same eligible and requires, and no shapes, times, max_clusters, "
    "min_tasks_per_cluster, slices or level"
)
"""Why a gang is not supported."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Jobs that start together, by index, in the order of the instance, and the id of the job that stands for them."""

    members: tuple[int, ...]
    name: str

    def merged(self, jobs: Sequence[Job]) -> Job:
        """Return one job in place of the members."""
        # On every node it takes at least as long as each: slope and constant of the time are the greatest of any.
        processing = max(job.base_time * job.processing_share for job in jobs)
        communication = max(job.base_time * (1.0 - job.processing_share) for job in jobs)
        users, memories = {job.user for job in jobs}, [job.memory for job in jobs if job.memory is not None]
        names = resources_asked(jobs)
        return jobs[0].replace(
            id=self.name,
            tasks=sum(job.tasks for job in jobs),
            base_time=processing + communication,
            estimate=processing + communication,
            processing_share=min(1.0, processing / (processing + communication)),
            task_bandwidth=max(job.task_bandwidth for job in jobs),
            arrival=max(job.arrival for job in jobs),
            user=users.pop() if len(users) == 1 else None,
            memory=max(memories, default=None),
            energy_estimate=None,
            weight=sum(job.weight for job in jobs),
            due_date=min((job.due_date for job in jobs if job.due_date is not None), default=None),
            deadline=min((job.deadline for job in jobs if job.deadline is not None), default=None),
            resources={name: sum(job.resources.get(name, 0.0) for job in jobs) for name in names},
            task_resources={name: max(job.task_resources.get(name, 0.0) for job in jobs) for name in names},
            after=(),
            lags=(),
        )


def gangs_of(instance: Instance) -> list[Gang]:
    """Return the jobs that lags make start together; raise where no job stands for them."""
    number = {job.id: j for j, job in enumerate(instance.jobs)}
    leader = list(range(len(instance.jobs)))

    def first(j: int) -> int:
        while leader[j] != j:
            j = leader[j]
        return j

    for j, job in enumerate(instance.jobs):
        for lag in job.lags:
            if lag.is_same_start and lag.after in number:
                one, other = sorted((first(j), first(number[lag.after])))
                leader[other] = one
    members: dict[int, list[int]] = {}
    for j in range(len(instance.jobs)):
        members.setdefault(first(j), []).append(j)
    found = [
        Gang(tuple(of), _name([instance.jobs[j].id for j in of], number)) for of in members.values() if len(of) > 1
    ]
    for gang in found:
        _refuse_unequal([instance.jobs[j] for j in gang.members])
    return found


def _name(ids: Sequence[str], known: Collection[str]) -> str:
    """Return an id that shows those of the members, and is none that is known."""
    name = "+".join(ids)
    while name in known:
        name += "'"
    return name


def _refuse_unequal(jobs: Sequence[Job]) -> None:
    """Raise where jobs that start together may not be on the same nodes, or take times that no one job has."""
    if len({(job.eligible, job.requires) for job in jobs}) > 1 or any(
        job.shapes or job.times or job.is_spread for job in jobs
    ):
        raise UnsupportedFeature("a simulation", ["lags"], UNEQUAL.format(", ".join(quoted(job.id) for job in jobs)))


def dealt(names: Sequence[str], jobs: Iterable[Job]) -> Iterator[tuple[str, ...]]:
    """Yield the processors of each member: of those that the gang was given, in order."""
    begin = 0
    for job in jobs:
        yield tuple(names[begin : begin + job.tasks])
        begin += job.tasks
