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
    Literal["makespan", "mean-wait", "mean-bounded-slowdown"], Option(help="What bounds and gaps are of.")
]
Exact = Annotated[bool, Option("--exact/--no-exact", help="Solve each instance as well, or only compute bounds.")]
Baseline = Annotated[str | None, Option(help="Policy that the others are paired with.", show_default="the first")]

EXAMPLES = """
Examples:

coalloc compare wl*.json --policy mesd --policy easy --policy "easy allocation=first-fit" --plot compare.png

coalloc compare trace.json --objective mean-wait --policy easy --policy "easy candidates=spt"

coalloc compare trace.json --policy fcfs --policy conservative --no-exact -o compare.csv
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
    """Compare policies with the best certified bound on each instance, and with each other."""
    from coalloc.studies.comparison import draw

    check_outputs(output, plot, files)
    policies = policies_of(policy)
    if not policies:
        raise BadParameter("name at least one policy; coalloc policies lists them", param_hint="--policy")
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
