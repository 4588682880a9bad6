"""``coalloc compare``: policies against certified bounds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from typer import BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instances
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note
from coalloc.cli.studying import (
    Files,
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

if TYPE_CHECKING:
    import pandas as pd

Objective = Annotated[
    Literal["makespan", "mean-wait", "mean-bounded-slowdown"],
    Option(metavar="NAME", help="Objective to compare: makespan, mean-wait or mean-bounded-slowdown."),
]
Exact = Annotated[
    bool, Option("--exact/--no-exact", help="Solve each instance for a schedule and a bound, or compute bounds only.")
]
Baseline = Annotated[
    str | None,
    Option(metavar="POLICY", help="Policy for the paired comparison.", show_default="the first policy"),
]

EXAMPLES = """
Examples:

coalloc compare wl*.json --policy mesd --policy easy --plot compare.png

coalloc compare t.json --objective mean-wait --policy "easy candidates=spt"

coalloc compare t.json --policy fcfs --policy easy --no-exact -o compare.csv
"""


def compare(
    files: Files,
    *,
    policy: Policies = None,
    objective: Objective = "makespan",
    exact: Exact = True,
    time_limit: TimeLimit = 20.0,
    baseline: Baseline = None,
    threads: Threads = 1,
    seed: RunSeed = 0,
    output: Table = None,
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Compare policies with a certified lower bound on each instance, and with each other."""
    from coalloc.studies.comparison import draw

    check_outputs(output, plot, files)
    policies = policies_of(policy)
    if not policies:
        raise BadParameter("give at least one policy; coalloc policies lists them", param_hint="--policy")
    if baseline is not None and baseline not in policies:
        raise BadParameter(f"must be one of the policies given, got {baseline!r}", param_hint="--baseline")
    instances = read_instances(files)
    study = partial(
        coalloc.compare,
        instances,
        with_own(policies),
        objective=objective,
        exact=exact,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    base = baseline or next(iter(policies))
    with blaming(policies):
        table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    return show_table(
        table,
        plot,
        json,
        draw=lambda table, path: draw(table, base, path),
        words=partial(_words, baseline=base, seed=seed),
    )


def _words(table: pd.DataFrame, baseline: str, seed: int) -> str:
    """Return a row per policy, and the policies paired with the baseline."""
    from coalloc.studies.comparison import paired_differences, summary, without_proven_gaps

    shown = summary(without_proven_gaps(table), seed)
    policies = shown.to_string(index=False, float_format="{:.4g}".format, na_rep="-")
    pairs = paired_differences(table, baseline, seed)
    differences = pairs.to_string(index=False, float_format="{:+.2%}".format, na_rep="-")
    return f"{policies}\n\n{table['objective'].iloc[0]} against {baseline}, mean and 95 % interval\n{differences}"
