"""``coalloc study front``: makespan against energy, certified, with policies beside the front."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

import coalloc
from coalloc.allocation import Scope
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instance, slot_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note, say, say_json
from coalloc.cli.studying import Plot, Policies, RunSeed, Table, Threads, TimeLimit, check_outputs, policies_of
from coalloc.cli.tables import plain_rows, write_table

File = Annotated[str, Argument(metavar="FILE", help="Instance file with watts, or example:NAME for a bundled one.")]
Points = Annotated[int, Option(min=2, help="Limits on the makespan, from the least makespan to that of least energy.")]
Slot = Annotated[
    str | None, Option(help='Seconds, or "10%" of the mean base time; needed unless jobs are within nodes.')
]
Within = Annotated[Scope, Option(help="Where the tasks of a job may be.")]

SHOWN = ["label", "makespan_limit", "makespan", "energy", "bound", "gap", "edp", "status"]
"""Columns that are printed."""

EXAMPLES = """
Examples:

coalloc generate pcbe --seed 1 -o pcbe.json && coalloc study front pcbe.json --policy pcbe --plot front.png

coalloc study front pcbe.json --policy "pcbe criterion=edp" --policy node-list --points 40 -o front.csv
"""


def front(
    file: File,
    *,
    policy: Policies = None,
    points: Points = 20,
    slot: Slot = None,
    scope: Within = "node",
    time_limit: TimeLimit = 20.0,
    threads: Threads = 1,
    seed: RunSeed = 0,
    output: Table = None,
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Find the front of makespan and energy, each point proven or with a gap, and where policies are beside it."""
    from coalloc.studies.front import draw

    check_outputs(output, plot, (file,))
    table = coalloc.energy_front(
        read_instance(file),
        policies_of(policy),
        points=points,
        slot=slot_of(slot),
        scope=scope,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    if output is not None:
        write_table(table, output)
    if plot is not None:
        draw(table, plot)
    if json:
        say_json(plain_rows(table))
    else:
        say(table[SHOWN].to_string(index=False, float_format="{:.6g}".format, na_rep="-"))
        say(f"\nno schedule has an EDP below {table.attrs['edp_bound']:.6g} J s")
    return ExitCode.DONE
