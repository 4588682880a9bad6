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
from coalloc.cli.tables import interval_note, interval_text, show_table, text_of, text_table, written_table

if TYPE_CHECKING:
    import pandas as pd

Objective = Annotated[
    Literal["makespan", "mean-wait", "mean-bounded-slowdown"],
    Option(metavar="NAME", help="Objective to compare: makespan, mean-wait or mean-bounded-slowdown."),
]
Exact = Annotated[
    bool, Option("--exact/--no-exact", help="Solve each instance for a schedule and a bound, or compute bounds only.")
]
Certify = Annotated[
    bool, Option("--certify", help="Certify each optimum and check the certificate: column certified of the table.")
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
    certify: Certify = False,
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
    policies = with_own(policies_of(policy))
    if not policies:
        raise BadParameter("give at least one policy; coalloc policies lists them", param_hint="--policy")
    if baseline is not None and baseline not in policies:
        raise BadParameter(f"must be one of the policies given, got {baseline!r}", param_hint="--baseline")
    instances = read_instances(files)
    study = partial(
        coalloc.compare,
        instances,
        policies,
        objective=objective,
        exact=exact,
        certify=certify,
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
    from coalloc.documents.wording import percent_text, unit_for
    from coalloc.studies.comparison import paired_differences, summary, without_proven_gaps

    found, pairs = summary(without_proven_gaps(table), seed), paired_differences(table, baseline, seed)
    unit = unit_for(found["wait_mean"].max())
    name, signed = table["objective"].iloc[0], partial(percent_text, sign="+")
    policies = text_table(
        found.itertuples(),
        {
            "policy": lambda row: str(row.policy),
            "instances": lambda row: str(row.instances),
            "mean gap": lambda row: text_of(row.gap_mean, percent_text),
            "95 % interval": lambda row: interval_text(row.gap_low, row.gap_high, percent_text),
            "worst gap": lambda row: text_of(row.gap_max, percent_text),
            "proved\noptima": lambda row: str(row.proven),
            "mean ratio\nto optimum": lambda row: text_of(row.ratio_mean),
            f"mean\nwait ({unit.symbol})": lambda row: text_of(row.wait_mean / unit.seconds),
            "co-allocated\njobs": lambda row: text_of(row.coallocated_share, percent_text),
            "decision\ntime (ms)": lambda row: text_of(1e3 * row.decision_time_mean, "{:.3g}".format),
        },
    )
    differences = text_table(
        pairs.itertuples(),
        {
            "policy": lambda row: str(row.policy),
            "mean": lambda row: text_of(row.mean, signed),
            "95 % interval": lambda row: interval_text(row.low, row.high, signed),
            "instances": lambda row: str(row.instances),
        },
    )
    parts = [f"Gaps of the {name} to the lower bound:\n{policies}"]
    if len(pairs):
        parts.append(f"Change of the {name} compared with {baseline}:\n{differences}")
    of_instance = table.dropna(subset="certified").groupby("instance")["certified"]
    if certified := list(of_instance.any()):
        parts.append(f"Optima with a certificate that coalloc verify accepts: {sum(certified)} of {len(certified)}.")
    return "\n\n".join([*parts, *interval_note([*found["gap_low"], *pairs["low"]], "instances")])
