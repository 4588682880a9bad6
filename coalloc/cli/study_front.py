"""``coalloc study front``: makespan against energy, certified, with policies beside the front."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import coalloc
from coalloc.allocation import Scope
from coalloc.cli.compare import policy_of
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instance, slot_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import check_writable, note, say, say_json
from coalloc.cli.tables import plain_rows, written_table

File = Annotated[str, Argument(metavar="FILE", help="Instance file with watts, or example:NAME for a bundled one.")]
Policies = Annotated[
    list[str] | None,
    Option("--policy", metavar="POLICY", help='Policy, with its options: "pcbe criterion=edp"; may be repeated.'),
]
Points = Annotated[int, Option(min=2, help="Limits on the makespan, from the least makespan to that of least energy.")]
Slot = Annotated[
    str | None, Option(help='Seconds, or "10%" of the mean base time; needed unless jobs are within nodes.')
]
Within = Annotated[Scope, Option(help="Where the tasks of a job may be.")]
TimeLimit = Annotated[float, Option(help="Seconds for each point.")]
Threads = Annotated[int, Option(min=1, help="Threads of the solver.")]
RunSeed = Annotated[int, Option(min=0, help="Seed of solver and policies.")]
Table = Annotated[Path | None, Option("--output", "-o", metavar="CSV", help="Table of all rows.")]
Plot = Annotated[Path | None, Option(metavar="FIGURE", help="Picture: .png, .svg or .pdf.")]

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
    from coalloc.plot.pictures import chart_format
    from coalloc.studies.front import draw

    if plot is not None:
        chart_format(plot)
    check_writable({"--output": output, "--plot": plot}, inputs=(file,))
    study = partial(
        coalloc.energy_front,
        read_instance(file),
        {text: policy_of(text) for text in policy or []},
        points=points,
        slot=slot_of(slot),
        scope=scope,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    if plot is not None:
        draw(table, plot)
    if json:
        say_json(plain_rows(table))
    else:
        say(table[SHOWN].to_string(index=False, float_format="{:.6g}".format, na_rep="-"))
        say(f"\nno schedule has an EDP below {table.attrs['edp_bound']:.6g} J s")
    return ExitCode.DONE
