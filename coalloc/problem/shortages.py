"""Why a job finds too little room: of memory, of a resource, or by constraints."""

from __future__ import annotations

from collections.abc import Mapping

from coalloc.documents.text import quoted
from coalloc.documents.wording import plural
from coalloc.instance import Job
from coalloc.problem.allocation import least_tasks
from coalloc.problem.allocations import Allocations


def shortage(allocations: Allocations, job: Job) -> str:
    """Return why memory, resources or constraints leave a job too little room; nothing where they do not."""
    most, tasks = allocations.most_tasks(job), least_tasks(job)
    if most >= tasks:
        return "" if allocations.has_room(job) else _too_dense(allocations, job)
    if short := short_resource(allocations, job):
        resource, enough = short
        within = "" if allocations.scope == "platform" else f" of one {allocations.scope}"
        found = f"the capacity{within} suffices for {enough} of its {tasks} tasks"
        return f"job {quoted(job.id)} requires {quoted(resource)}: {found}"
    if allocations.widest([c.room(job.memory or 0.0) for c in allocations.classes]) >= tasks:
        return f"job {quoted(job.id)} has {tasks} tasks, but the constraints allow {most} processors"
    found = f"the nodes suffice for {most}"
    if allocations.scope != "platform":
        found = f"no {allocations.scope} suffices for more than {most}"
    asked = f"requires {job.memory or 0.0:g} MB of memory per task"
    return f"job {quoted(job.id)} {asked}: {found} of its {tasks} tasks"


def _too_dense(allocations: Allocations, job: Job) -> str:
    """Return that no spread of a job over clusters is as it has to be."""
    asked = spread_words(job)
    within = "" if allocations.scope == "platform" else f" with scope={allocations.scope!r}"
    respected = " and ".join(asked or ["the constraints"]) + within
    return f"job {quoted(job.id)} has {plural(job.tasks, 'task')}, and no clusters have room for them with {respected}"


def spread_words(job: Job) -> list[str]:
    """Return how a job restricts its tasks in each cluster, as a user states it."""
    max_clusters, min_tasks, slices, level = job.spread_limits
    counts = {"max_clusters": max_clusters, "min_tasks_per_cluster": min_tasks, "slices": slices}
    words = [f"{name}={count}" for name, count in counts.items() if count is not None]
    return words if level is None else [*words, f"level {quoted(level)}"]


def short_resource(allocations: Allocations, job: Job) -> tuple[str, int] | None:
    """Return the first resource that is enough for too few tasks of a job where it may be, and for how many."""
    if not job.asks_resources:
        return None
    for name in allocations.instance.resources_asked:
        only = {key: {name: amounts[name]} if name in amounts else {} for key, amounts in _asked(job).items()}
        most = allocations.most_tasks(job.replace(memory=None, **only))
        if most < least_tasks(job) <= allocations.most_tasks(job.replace(memory=None, resources={}, task_resources={})):
            return name, most
    return None


def _asked(job: Job) -> dict[str, Mapping[str, float]]:
    """Return what a job takes of resources, as fields of it."""
    return {"resources": job.resources, "task_resources": job.task_resources}
