"""``coalloc study front``: makespan against energy, certified, with policies beside the front."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

import coalloc
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
from coalloc.cli.tables import show_table, text_of, text_table, written_table
from coalloc.documents.wording import plural
from coalloc.problem.allocation import Scope

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
"""Unsolved intervals that are named, at most."""

SMALLEST_GAP = 5e-5
"""Gap, other than 0, from which on two digits show it."""

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
    policies = with_own(policies_of(policy))
    study = partial(
        coalloc.studies.energy_front,
        read_instance(file),
        policies,
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
    from coalloc.documents.wording import percent_text
    from coalloc.studies.front import summary

    def gap_text(gap: float) -> str:
        return percent_text(gap) if gap == 0.0 or gap >= SMALLEST_GAP else f"<{percent_text(2 * SMALLEST_GAP)}"

    six = "{:.6g}".format
    return text_table(
        summary(table).itertuples(),
        {
            "schedule": lambda row: str(row.label),
            "makespan\nlimit (s)": lambda row: text_of(row.makespan_limit, six),
            "makespan\n(s)": lambda row: text_of(row.makespan, six),
            "energy\n(J)": lambda row: text_of(row.energy, six),
            "bound\n(J)": lambda row: text_of(row.lower_bound, six),
            "gap": lambda row: text_of(row.gap, gap_text),
            "EDP\n(J s)": lambda row: text_of(row.edp, six),
            "unsolved\nfrom (s)": lambda row: text_of(row.open_from, six),
            "Pareto\npoint": lambda row: "yes" if row.on_front else "no",
            "status": lambda row: str(row.status),
        },
    )


def _conclusion(table: pd.DataFrame) -> str:
    """Return whether the Pareto front is complete or which parts are unsolved, and what is known of the least EDP."""
    from coalloc.studies.front import EXACT

    front = table[table["label"] == EXACT]
    whose = "" if table.attrs["slot"] is None else " with these time slots"
    best = table.sort_values("edp").iloc[0]
    bound = f"The minimum EDP{whose} is at least {table.attrs['edp_bound']:.6g} J s"
    return f"{_completeness(table, front)}\n{bound}; the best known is {best['edp']:.6g} J s ({best['label']})."


def _completeness(table: pd.DataFrame, front: pd.DataFrame) -> str:
    """Return how many points are proved, and between which makespans there may be others."""
    from coalloc.studies.front import is_shortest

    if table.attrs["complete"]:
        return f"The Pareto front is complete: {plural(len(front), 'point')}."
    strips = table.attrs["open"]
    named = [
        f"{low:.6g} to {high:.6g}" if math.isfinite(high) else f"{low:.6g} or more" for low, high in strips[:NAMED]
    ]
    more = [f"and {len(strips) - NAMED} more intervals"] if len(strips) > NAMED else []
    text = f"{(front['gap'] == 0.0).sum()} of {plural(len(front), 'point')} of the Pareto front are proved."
    text = f"{text} Unsolved makespans (s): {', '.join([*named, *more])}."
    least, shortest = table.attrs["least_makespan"], front["makespan"].min()
    if is_shortest(shortest, least):
        return text
    return f"{text} The minimum makespan is not proved; it is at least {least:.6g} s."
