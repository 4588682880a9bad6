"""Rules on the jobs of a schedule: other-instance, missing-job, duplicate-job, unknown-job, shape.

A schedule places each job of the instance once, in one of its modes, and no other job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from coalloc.checker.rule import Case, Rule, Violation, counted, listed
from coalloc.instance import column, visible
from coalloc.schedule import Schedule


def _other_instance(case: Case) -> Iterator[Violation]:
    """Yield a violation if the schedule names another instance, and its jobs differ as well."""
    instance, schedule = case.instance, case.schedule
    if schedule.instance in (instance.name, Schedule(()).instance):
        return
    placed = dict.fromkeys(placement.job for placement in schedule.placements)
    known = {*instance.job_by_id, *(run.job.id for run in instance.running)}
    unknown = [name for name in placed if name not in known]
    missing = [name for name in instance.job_by_id if name not in placed]
    if not unknown and not missing:
        return
    differences = ((unknown, "unknown"), (missing, "not placed"))
    said = [f"{counted(len(names), 'job')} {how} ({listed(names)})" for names, how in differences if names]
    names = f"the schedule belongs to instance {visible(schedule.instance)}, not to {visible(instance.name)}"
    sentence = f"{names}: {', '.join(said)}"
    jobs = (*unknown, *missing)
    yield Violation("other-instance", jobs, "", None, len(jobs), 0, sentence)


def _placed_once(case: Case) -> Iterator[Violation]:
    """Yield jobs that are missing, placed twice, or not to be placed at all."""
    rows, instance = case.rows, case.instance
    placed = column(case.schedule.placements, "job")
    if placed == column(instance.jobs, "id") and not rows.is_unknown.any():
        return
    times = Counter(placed)
    for name in instance.job_by_id:
        if name not in times:
            yield Violation("missing-job", (name,), "", None, 0, 1, f"job {visible(name)} is not placed")
    for name, count in times.items():
        if count > 1:
            sentence = f"job {visible(name)} is placed {count} times"
            yield Violation("duplicate-job", (name,), "", None, count, 1, sentence)
    running = set(rows.ids[: rows.num_running])
    for _, placement, _ in rows.placed(rows.is_unknown):
        name = placement.job
        if name in instance.job_by_id:
            continue  # it has not the shape that is named
        reason = "is already running" if name in running else "is not in the instance"
        sentence = f"job {visible(name)} {reason} and must not be placed"
        yield Violation("unknown-job", (name,), "", placement.start, 1, 0, sentence)


def _shapes(case: Case) -> Iterator[Violation]:
    """Yield placements that name a shape which their job does not have."""
    placements = case.schedule.runs
    for place in [i for i, shape in enumerate(column(placements, "shape")) if shape]:
        placement = placements[place]
        job = case.instance.job_by_id.get(placement.job)
        if job is not None and placement.shape > len(job.shapes):
            name, number = visible(placement.job), placement.shape
            sentence = f"job {name} has shape {number}, but its last shape is {len(job.shapes)}"
            limit = len(job.shapes)
            yield Violation("shape", (placement.job,), "", placement.start, number, limit, sentence)


OTHER_INSTANCE = Rule(
    {
        "other-instance": "a schedule that names another instance places exactly the jobs of this one; otherwise this "
        "is the only violation reported"
    },
    _other_instance,
)
RULES = (
    Rule(
        {
            "missing-job": "every job of the instance is placed",
            "duplicate-job": "no job is placed more than once",
            "unknown-job": "every placement refers to a job to schedule, not to an unknown or running job",
        },
        _placed_once,
    ),
    Rule({"shape": "a placement has a shape of its job"}, _shapes, {"shapes"}, runs_without=True),
)
