"""``coalloc library``: named instances with the best known schedules, and checks of what others found."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Json, Output, Quiet
from coalloc.cli.output import check_writable, note, say, say_json
from coalloc.cli.shell import Command
from coalloc.cli.tables import Columns, text_table

if TYPE_CHECKING:
    from coalloc.studies.submissions import Submission
    from coalloc.workloads.library import LibraryEntry

app = typer.Typer(name="library", help="Benchmark library: named instances with best known schedules and bounds.")

Family = Annotated[str | None, Argument(metavar="FAMILY", help="Family to list.", show_default="list the families")]
Name = Annotated[str, Argument(metavar="NAME", help="Instance of the library, such as links-07.")]
BestSchedule = Annotated[
    Path | None, Option("--schedule", metavar="FILE", help="Schedule file to write: the best known schedule.")
]
CertificateFile = Annotated[
    Path | None, Option("--certificate", metavar="FILE", help="Certificate file to write: .json or .json.gz.")
]
Submitted = Annotated[
    list[Path], Argument(metavar="FILE...", help="Schedule files, result files or certificate files.")
]

LIST_EXAMPLES = """
Examples:

coalloc library list

coalloc library list links
"""
SHOW_EXAMPLES = """
Examples:

coalloc library show links-07 --schedule best.json --certificate proof.json.gz

coalloc library show links-07 -o links-07.json

All commands that read an instance accept library:NAME in place of its file.
"""
CHECK_EXAMPLES = """
Examples:

coalloc solve library:thesis-01 --slot 100500 -o schedule.json

coalloc library check schedule.json

Exit codes: 0 all valid; 1 a submission is invalid; 2 a file cannot be read.
"""


@app.command("list", epilog=LIST_EXAMPLES, cls=Command)
def list_(family: Family = None, as_json: Json = False, _: Quiet = False) -> ExitCode:
    """List the families with their state, or the instances of one."""
    library = coalloc.library()
    if family is None:
        rows = [_state(name, title) for name, title in library.titles.items()]
    else:
        rows = [_row(entry) for entry in library.of_family(family)]
    if as_json:
        say_json(rows)
    else:
        say(text_table([[*map(_text, row, row.values())] for row in rows], _columns_of(rows[0])))
    return ExitCode.DONE


@app.command(epilog=SHOW_EXAMPLES, cls=Command)
def show(
    name: Name,
    *,
    output: Output = None,
    schedule: BestSchedule = None,
    certificate: CertificateFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Show what is known of an instance; write the instance, the best schedule or the certificate."""
    entry = coalloc.library()[name]
    check_writable({"--output": output, "--schedule": schedule, "--certificate": certificate})
    if certificate is not None:
        if entry.certificate is None:
            raise BadParameter(f"there is no certificate of {name}", param_hint="--certificate")
        from coalloc.solvers.certificate import Certificate

        Certificate(entry.certificate).write(certificate)
    if schedule is not None:
        coalloc.write_schedule(entry.schedule, schedule)
    if output is not None:
        write_or_say_instance(entry.instance, output, quiet)
    known = _row(entry) | {"slot": entry.slot, "found_by": entry.found_by, "command": entry.command}
    if as_json:
        say_json(known)
    else:
        say("\n".join(f"{key:<16} {_text(key, value)}" for key, value in known.items()))
    return ExitCode.DONE


@app.command(epilog=CHECK_EXAMPLES, cls=Command)
def check(files: Submitted, as_json: Json = False, _: Quiet = False) -> ExitCode:
    """Check submissions and compare them with the best known schedules."""
    found: dict[str, Submission] = {}
    unread: list[coalloc.InstanceError] = []
    for file in map(str, files):
        try:
            found[file] = coalloc.studies.check_submission(file)
        except coalloc.InstanceError as error:
            unread.append(error)
    if as_json:
        from dataclasses import asdict

        say_json([{"file": file} | asdict(one) for file, one in found.items()])
    for file, one in {} if as_json else found.items():
        values = "" if one.value is None else f": {one.value:.10g}, best known {one.best:.10g}"
        certified = ", certificate accepted" if one.is_certified else ""
        say(f"{file}: {one.name or 'unknown instance'}: {one.verdict}{values}{certified}")
        for reason in one.reasons:
            note(f"{file}: {reason}")
    for fault in unread:
        note(str(fault))
    if unread:
        return ExitCode.BAD_INPUT
    return ExitCode.NOTHING if any(one.verdict == "invalid" for one in found.values()) else ExitCode.DONE


def _columns_of(row: dict[str, Any]) -> Columns:
    """Return the columns of a table whose rows are lists of texts in the order of one row."""
    return {key: itemgetter(number) for number, key in enumerate(row)}


def _state(name: str, title: str) -> dict[str, Any]:
    """Return the state of a family."""
    entries = coalloc.library().of_family(name)
    return {
        "family": name,
        "instances": len(entries),
        "optimal": sum(entry.status == "optimal" for entry in entries),
        "certified": sum(entry.is_certified for entry in entries),
        "largest_gap": max(entry.gap for entry in entries),
        "description": title,
    }


def _row(entry: LibraryEntry) -> dict[str, Any]:
    """Return what is known of an instance."""
    return {
        "name": entry.name,
        "objective": entry.objective,
        "value": entry.value,
        "lower_bound": entry.lower_bound,
        "gap": entry.gap,
        "status": entry.status,
        "certified": entry.is_certified,
        "found_on": entry.found_on,
    }


def _text(key: str, value: Any) -> str:
    """Return a cell; gaps are shares."""
    if key in ("gap", "largest_gap"):
        return f"{value:.2%}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else "-" if value is None else str(value)
