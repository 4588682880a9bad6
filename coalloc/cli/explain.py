"""``coalloc explain``: why there is no schedule, what bounds the objective, why jobs waited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import coalloc
from coalloc.cli.check import InstanceFile, Links, Saturation, Scope
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_fixed, read_instance, read_schedule, slot_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note, say, say_json

ScheduleFile = Annotated[
    Path | None, Argument(metavar="SCHEDULE", help="Schedule file, or result file with a schedule.")
]
ObjectiveName = Annotated[
    str, Option("--objective", metavar="NAME", help="Regular objective, such as makespan or mean-wait.")
]
Slot = Annotated[
    str | None,
    Option(
        metavar="SLOT",
        help="Length of a time slot: seconds, or a percentage of the mean reference run time (50%).",
        show_default="continuous time",
    ),
]
MakespanLimit = Annotated[float | None, Option(metavar="SECONDS", help="Maximum makespan.", show_default="none")]
FixedFile = Annotated[
    Path | None,
    Option(
        "--fixed",
        metavar="SCHEDULE",
        help="Fixed assignments: schedule (or result) file with placements to keep.",
    ),
]
Job = Annotated[
    list[str] | None,
    Option(metavar="ID", help="Job whose wait to explain. Repeatable.", show_default="all jobs"),
]
TimeLimit = Annotated[
    float, Option(metavar="SECONDS", help="Time limit: half for bounds, half for the feasibility search.")
]

EXAMPLES = """
Examples:

coalloc explain wl1.json

coalloc explain wl1.json schedule.json --job J7

Exit codes: 0 explained; 1 infeasible, undecided, or the given schedule is invalid; 2 invalid input or usage.
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
    """Explain why an instance is infeasible, or what bounds its objective and why jobs wait."""
    from coalloc.cli.own_classes import objectives_of

    asked = objectives_of(objective)
    given = read_instance(instance)
    options: dict[str, Any] = {"objective": asked, "links": links, "saturation": saturation, "scope": scope}
    options |= {"makespan_limit": makespan_limit, "jobs": tuple(job or ()), "time_limit": time_limit}
    options |= {"fixed": read_fixed(fixed, given)}
    options |= {"slot": slot_of(slot), "schedule": None if schedule is None else read_schedule(schedule)}
    is_sought = makespan_limit is not None or fixed is not None or any(job.deadline is not None for job in given.jobs)
    if is_sought and not quiet:
        note(f"searching for a schedule or a proof of infeasibility, and for bounds: up to {time_limit:g} s")
    explanation = coalloc.explain(given, **options)
    if json:
        say_json(explanation.to_dict())
    else:
        say(str(explanation))
    is_without = any(explanation.of(about) for about in ("infeasible", "undecided", "invalid"))
    return ExitCode.NOTHING if is_without else ExitCode.DONE
