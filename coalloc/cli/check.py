"""``coalloc check``: is a schedule valid, and if not, which rules does it break where."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instance, read_schedule
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note, say, say_fields, say_json
from coalloc.cli.pairs import share

if TYPE_CHECKING:
    from coalloc import Instance, Schedule
    from coalloc.checker import Violation

InstanceFile = Annotated[
    str, Argument(metavar="INSTANCE", help="Instance file, or example:NAME for a bundled instance.")
]
ScheduleFile = Annotated[Path, Argument(metavar="SCHEDULE", help="Schedule file, or result file with a schedule.")]
Links = Annotated[
    str,
    Option(
        metavar="RULE",
        help="strict: link capacities are hard constraints. shared: saturated links slow jobs down. "
        "ignore: links are not checked.",
    ),
]
Saturation = Annotated[
    float, Option(parser=share, metavar="SHARE", help="Tolerated load above the bandwidth of a link: 5% or 0.05.")
]
Scope = Annotated[
    str,
    Option(
        metavar="SCOPE",
        help="Where the tasks of one job may run. platform: on several clusters (co-allocation); "
        "cluster: on one cluster; node: on one node.",
    ),
]
PowerManagement = Annotated[
    bool, Option("--power-management", help="Idle clusters are switched off; a job must wait for their startup.")
]
Deadlines = Annotated[
    str,
    Option(
        metavar="RULE",
        help="enforce: a missed deadline is a violation. report: a missed deadline is only counted in the metrics.",
    ),
]


EXAMPLES = """
Examples:

coalloc check wl1.json schedule.json

coalloc check wl1.json result.json --links shared --json

Exit codes: 0 valid; 1 violations found; 2 invalid input or usage.
"""


def check(
    instance: InstanceFile,
    schedule: ScheduleFile,
    *,
    links: Links = "strict",
    saturation: Saturation = 0.0,
    scope: Scope = "platform",
    power_management: PowerManagement = False,
    deadlines: Deadlines = "enforce",
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Check a schedule against its instance and list all violations."""
    given, placed = read_instance(instance), read_schedule(schedule)
    # The checker names the options that there are.
    options: dict[str, Any] = {"links": links, "saturation": saturation, "scope": scope}
    options |= {"power_management": power_management, "deadlines": deadlines}
    violations = coalloc.check(given, placed, **options)
    if not quiet and not any(violation.rule == "other-instance" for violation in violations):
        _note_other_name(given, placed)
    if json:
        say_json([asdict(violation) for violation in violations])
    elif violations:
        _show_violations(violations)
    else:
        _show_metrics(given, placed)
    return ExitCode.NOTHING if violations else ExitCode.DONE


def _note_other_name(instance: Instance, schedule: Schedule) -> None:
    """Say where a schedule names another instance; names are no identities, so that breaks no rule."""
    from coalloc.documents.text import quoted

    if schedule.instance not in (instance.name, coalloc.Schedule(()).instance):
        names = f"{quoted(schedule.instance)}, not {quoted(instance.name)}"
        note(f"coalloc: warning: the schedule names another instance, {names}")


def _show_violations(violations: list[Violation]) -> None:
    """Print a line per violation, and how many there are."""
    from coalloc.documents.text import visible
    from coalloc.documents.wording import plural

    for violation in violations:
        say(visible(str(violation)))
    rules = len({violation.rule for violation in violations})
    say(f"invalid: {plural(len(violations), 'violation')} of {plural(rules, 'rule')}")


def _show_metrics(instance: Instance, schedule: Schedule) -> None:
    """Print that the schedule is valid, and its most important metrics."""
    from coalloc.documents.wording import number_text, plural
    from coalloc.simulator.result import excess_text

    values = coalloc.metrics(instance, schedule)
    say(f"valid: {plural(len(schedule), 'placement')}, makespan {values['makespan']:.10g} s")
    fields = {
        "mean wait": f"{number_text(values['wait_mean'])} s",
        "mean response time": f"{number_text(values['response_mean'])} s",
        "mean run time": excess_text(values),
        "utilization": f"{100 * values['utilization']:.1f} %",
        "co-allocated jobs": f"{100 * values['coallocated_share']:.1f} %",
        "peak link load": f"{100 * values['peak_link_share']:.1f} % of the bandwidth",
    }
    say_fields(fields.items(), width=max(map(len, fields)))
