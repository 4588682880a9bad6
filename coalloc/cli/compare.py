"""``coalloc compare``: policies against certified bounds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instance
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import check_writable, note, say, say_json
from coalloc.cli.pairs import parameters_of
from coalloc.cli.tables import plain_rows, written_table

Files = Annotated[list[str], Argument(metavar="FILE ...", help="Instance files, or example:NAME for bundled ones.")]
Policies = Annotated[
    list[str] | None,
    Option(
        "--policy", metavar="POLICY", help='Policy, with its options: "easy allocation=first-fit"; may be repeated.'
    ),
]
Exact = Annotated[bool, Option("--exact/--no-exact", help="Solve each instance as well, or only compute bounds.")]
TimeLimit = Annotated[float, Option(help="Seconds for each solve and each bound.")]
Baseline = Annotated[str | None, Option(help="Policy that the others are paired with.", show_default="the first")]
Threads = Annotated[int, Option(min=1, help="Threads of the solver.")]
RunSeed = Annotated[int, Option(min=0, help="Seed of solver and policies.")]
Table = Annotated[Path | None, Option("--output", "-o", metavar="CSV", help="Table of all rows.")]
Plot = Annotated[Path | None, Option(metavar="FIGURE", help="Picture: .png, .svg or .pdf.")]

EXAMPLES = """
Examples:

coalloc compare wl*.json --policy mesd --policy easy --policy "easy allocation=first-fit" --plot compare.png

coalloc compare trace.json --policy fcfs --policy conservative --no-exact -o compare.csv
"""


def compare(
    files: Files,
    *,
    policy: Policies = None,
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
    from coalloc.plot.pictures import chart_format
    from coalloc.studies.comparison import draw, paired_differences, summary

    if plot is not None:
        chart_format(plot)
    check_writable({"--output": output, "--plot": plot}, inputs=files)
    policies = {text: policy_of(text) for text in policy or []}
    if not policies:
        raise BadParameter("name at least one policy; coalloc policies lists them", param_hint="--policy")
    if baseline is not None and baseline not in policies:
        raise BadParameter(f"must be one of the policies given, got {baseline!r}", param_hint="--baseline")
    instances = [read_instance(file) for file in files]
    study = partial(
        coalloc.compare,
        instances,
        policies,
        exact=exact,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    base = baseline or next(iter(policies))
    if plot is not None:
        draw(table, base, plot)
    if json:
        say_json(plain_rows(table))
    else:
        say(summary(table, seed).to_string(index=False, float_format="{:.4g}".format, na_rep="-"))
        say(f"\nmakespan against {base}, mean and 95 % interval")
        say(paired_differences(table, base, seed).to_string(index=False, float_format="{:+.2%}".format, na_rep="-"))
    return ExitCode.DONE


def policy_of(text: str) -> dict[str, Any]:
    """Return the policy and the options that a text names."""
    name, *pairs = text.split()
    return {"policy": name, **parameters_of(pairs, "--policy")}
