"""``coalloc reproduce``: the figures and tables of the source texts, run again from a clone."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import OUTPUT, Quiet
from coalloc.cli.output import make_folder, note, say
from coalloc.cli.tables import text_table

if TYPE_CHECKING:
    from coalloc.studies.reproduction import Outcome

Source = Annotated[
    str, Argument(metavar="SOURCE", help="Source text: thesis, oas-paper, pcbe, cisne, grid, or all of them.")
]
Figure = Annotated[
    str | None,
    Option(
        metavar="N",
        help="Run only the parts that answer this figure or table of the source: 3.18, or 'Table 3.7'.",
        show_default="run all parts",
    ),
]
IsQuick = Annotated[
    bool, Option("--quick", help="Run few seeds, and leave out parts that take long: some minutes in all.")
]
Data = Annotated[
    Path | None,
    Option(
        "--data",
        exists=True,
        file_okay=False,
        metavar="DIR",
        help="Folder of the inputs that are not part of coalloc; its subfolders are searched as well.",
        show_default="run the parts without inputs",
    ),
]
Folder = Annotated[
    Path, Option("--output", "-o", metavar="DIR", help="Folder of pages, tables and figures.", rich_help_panel=OUTPUT)
]
Jobs = Annotated[
    int | None,
    Option("--jobs", "-j", min=1, metavar="N", help="Number of samples to run in parallel.", show_default="all cores"),
]

EXAMPLES = """
Examples:

coalloc reproduce all --quick --data logs

coalloc reproduce thesis --figure 3.18

To resume an interrupted run, run the same command again.

Exit codes: 0 done; 1 a part failed, or its ranks disagree with the committed run; 2 an input differs from its SHA-256.
"""


def reproduce(
    source: Source = "all",
    *,
    figure: Figure = None,
    quick: IsQuick = False,
    data: Data = None,
    output: Folder = Path("reproduction"),
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Run the experiments of the source texts again, and compare them with the committed results.

    Nothing is downloaded. A part whose inputs are missing is listed, and the others run.
    """
    from coalloc.studies import reproduction

    clone = reproduction.clone_folder()
    known, every_part = reproduction.read_list(clone)
    parts = reproduction.chosen(every_part, source, figure)
    inputs = {name: reproduction.looked_for(known[name], data) for part in parts for name in part.inputs}
    make_folder("--output", output)
    place = reproduction.Place(clone, output.resolve(), inputs, jobs)
    outcomes = []
    try:
        for part in parts:
            outcomes.append(place.run(part, quick))
            if not quiet:
                note(f"{part.source} {part.name}: {outcomes[-1].state}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; run the same command again to resume") from None
    for path in place.write_pages(outcomes):
        say(f"wrote {path}")
    columns = {head: itemgetter(number) for number, head in enumerate(reproduction.HEADS)}
    say(text_table(reproduction.lines_of(outcomes), columns))
    return _code(outcomes, [one.name for one in inputs.values() if one.state == "changed"])


def _code(outcomes: Iterable[Outcome], changed: Iterable[str]) -> ExitCode:
    """Print a line for each error and disagreement, and return the exit code."""
    code = ExitCode.DONE
    for one in outcomes:
        if one.state == "failed" or one.disagrees:
            reason = f"failed: {one.message}" if one.state == "failed" else "ranks disagree with the committed run"
            note(f"coalloc: {one.part.source} {one.part.name}: {reason}")
            code = ExitCode.NOTHING
    for name in changed:
        note(f"coalloc: {name}: its SHA-256 is not that of benchmarks/sources.toml")
        code = ExitCode.BAD_INPUT
    return code
