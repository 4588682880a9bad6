"""``coalloc study front``: makespan against energy, certified, with policies beside the front."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

import coalloc
from coalloc.allocation import Scope
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instance, slot_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note
from coalloc.cli.studying import (
    Plot,
    Policies,
    RunSeed,
    Table,
    Threads,
    TimeLimit,
    blaming,
    check_outputs,
    policies_of,
    with_own,
)
from coalloc.cli.tables import show_table, written_table
from coalloc.display.wording import plural

if TYPE_CHECKING:
    import pandas as pd

File = Annotated[
    str, Argument(metavar="FILE", help="Instance file with node watts, or example:NAME for a bundled instance.")
]
Points = Annotated[
    int | None,
    Option(
        min=2,
        metavar="N",
        help="Maximum number of points of the Pareto front.",
        show_default="all points",
    ),
]
Slot = Annotated[
    str | None,
    Option(
        metavar="SLOT",
        help="Length of a time slot: seconds, or a percentage of the mean reference run time (10%). "
        "Required unless --scope is node.",
        show_default="continuous time",
    ),
]
Within = Annotated[
    Scope,
    Option(
        metavar="SCOPE",
        help="Where the tasks of one job may run: platform (co-allocation), cluster or node.",
    ),
]

NAMED = 5
"""Strips that are named, at most."""

EXAMPLES = """
Examples:

coalloc study front example:pcbe-8 --policy pcbe --plot front.png

coalloc study front pcbe.json --policy "pcbe criterion=edp" --points 10 -o f.csv
"""


def front(
    file: File,
    *,
    policy: Policies = None,
    points: Points = None,
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
    """Compute the Pareto front of makespan and energy, and compare policies with it."""
    from coalloc.studies.front import draw

    check_outputs(output, plot, (file,))
    policies = policies_of(policy)
    study = partial(
        coalloc.studies.energy_front,
        read_instance(file),
        with_own(policies),
        points=points,
        slot=slot_of(slot),
        scope=scope,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    with blaming(policies):
        table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    return show_table(table, plot, json, draw, words=lambda table: f"{_shown(table)}\n\n{_conclusion(table)}")


def _shown(table: pd.DataFrame) -> str:
    """Return the rows that say something new, as aligned text."""
    from coalloc.studies.front import summary

    rows = summary(table)
    width = rows["label"].str.len().max()
    rows["gap"] = [f"{gap:.2%}" if gap == 0.0 or gap >= 5e-5 else "<0.01%" for gap in rows["gap"]]
    rows["on_front"] = rows["on_front"].map({True: "yes", False: "no"})
    rows["label"] = rows["label"].str.ljust(width)
    rows = rows.rename(columns={"label": "label".ljust(width)})
    return rows.to_string(index=False, float_format="{:.6g}".format, na_rep="-")


def _conclusion(table: pd.DataFrame) -> str:
    """Return whether the front is complete or what of it is open, and what is known of the least EDP."""
    from coalloc.studies.front import EXACT

    front = table[table["label"] == EXACT]
    whose = "schedule" if table.attrs["slot"] is None else "schedule in slots"
    bound = f"no {whose} has an EDP below {table.attrs['edp_bound']:.6g} J s"
    best = table.sort_values("edp").iloc[0]
    return f"{_completeness(table, front)}; {bound}, and {best['label']} has one of {best['edp']:.6g} J s"


def _completeness(table: pd.DataFrame, front: pd.DataFrame) -> str:
    """Return how many points are proven, and between which makespans there may be others."""
    from coalloc.studies.front import is_shortest

    if table.attrs["complete"]:
        return f"the front is complete, with {plural(len(front), 'point')}"
    strips = table.attrs["open"]
    named = [f"{low:.6g} to {high:.6g}" if math.isfinite(high) else f"{low:.6g} on" for low, high in strips[:NAMED]]
    more = [f"and {len(strips) - NAMED} more strips"] if len(strips) > NAMED else []
    text = f"{(front['gap'] == 0.0).sum()} of {len(front)} points of the front are proven"
    text = f"{text}; open are makespans, s, from {', '.join([*named, *more])}"
    least, shortest = table.attrs["least_makespan"], front["makespan"].min()
    return text if is_shortest(shortest, least) else f"{text}; the least makespan, {least:.6g} s or more, is not proven"
