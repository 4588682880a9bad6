"""``coalloc explain``: why there is no schedule, what bounds the objective, why jobs waited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import coalloc
from coalloc.cli.check import Links, Saturation, Scope
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_fixed, read_instance, read_schedule, slot_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note, say, say_json

InstanceFile = Annotated[str, Argument(metavar="INSTANCE", help="Instance file, or example:NAME for a bundled one.")]
ScheduleFile = Annotated[
    Path | None, Argument(metavar="[SCHEDULE]", help="Schedule file, or result file with a schedule.")
]
ObjectiveName = Annotated[str, Option("--objective", help="A regular objective, as of coalloc solve.")]
Slot = Annotated[str | None, Option(help='Length of a slot: seconds, or "50%" of the mean base time.')]
MakespanLimit = Annotated[float | None, Option(help="Seconds within which the schedule must end.")]
FixedFile = Annotated[
    Path | None, Option("--fixed", metavar="SCHEDULE", help="Placements of some jobs that are kept as they are.")
]
Job = Annotated[
    list[str] | None, Option(help="Job of the schedule whose wait is explained; again for more. All without it.")
]
TimeLimit = Annotated[float, Option(help="Seconds: half for bounds, half for schedules and proofs.")]

EXAMPLES = """
Examples:

coalloc explain wl1.json

coalloc explain wl1.json schedule.json --job J7

Exit code: 0 explained, 1 there is no schedule, or whether there is one was not decided, or the one given is not valid,
2 bad input.
"""


def explain(
    instance: InstanceFile,
    schedule: ScheduleFile = None,
    *,
    objective: ObjectiveName = "makespan",
    slot: Slot = None,
    links: Links = "strict",
    saturation: Saturation = 0.0,
    scope: Scope = "platform",
    makespan_limit: MakespanLimit = None,
    fixed: FixedFile = None,
    job: Job = None,
    time_limit: TimeLimit = 60.0,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Explain why an instance has no schedule; else what bounds its objective, and why jobs waited."""
    given = read_instance(instance)
    options: dict[str, Any] = {"objective": objective, "links": links, "saturation": saturation, "scope": scope}
    options |= {"makespan_limit": makespan_limit, "jobs": tuple(job or ()), "time_limit": time_limit}
    options |= {"fixed": read_fixed(fixed, given)}
    options |= {"slot": slot_of(slot), "schedule": None if schedule is None else read_schedule(schedule)}
    is_sought = makespan_limit is not None or fixed is not None or any(job.deadline is not None for job in given.jobs)
    if is_sought and not quiet:
        note(f"a schedule or a proof that there is none, and bounds: up to {time_limit:g} s")
    explanation = coalloc.explain(given, **options)
    if json:
        say_json(explanation.to_dict())
    else:
        say(str(explanation))
    is_without = any(explanation.of(about) for about in ("infeasible", "undecided", "invalid"))
    return ExitCode.NOTHING if is_without else ExitCode.DONE
