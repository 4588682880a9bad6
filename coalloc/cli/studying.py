"""What ``coalloc compare`` and the studies share: their options, the policies that they name, and where results go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from coalloc.cli.output import check_writable
from coalloc.cli.pairs import parameters_of

Files = Annotated[list[str], Argument(metavar="FILE ...", help="Instance files, or example:NAME for bundled ones.")]
Policies = Annotated[
    list[str] | None,
    Option(
        "--policy", metavar="POLICY", help='Policy, with its options: "easy allocation=first-fit"; may be repeated.'
    ),
]
TimeLimit = Annotated[float, Option(help="Seconds for each solve and each bound; inf for no limit.")]
Threads = Annotated[int, Option(min=1, help="Threads of the solver.")]
RunSeed = Annotated[int, Option(min=0, help="Seed of solver and policies.")]
Table = Annotated[Path | None, Option("--output", "-o", metavar="CSV", help="Table of all rows.")]
Plot = Annotated[Path | None, Option(metavar="FIGURE", help="Picture: .png, .svg or .pdf.")]


def check_outputs(output: Path | None, plot: Path | None, inputs: Iterable[str]) -> None:
    """Raise where the table or the picture could not be written later."""
    from coalloc.plot.pictures import chart_format

    if plot is not None:
        chart_format(plot)
    check_writable({"--output": output, "--plot": plot}, inputs=inputs)


def policies_of(texts: Iterable[str] | None) -> dict[str, dict[str, Any]]:
    """Return the policies and options that texts name, by text."""
    return {text: _policy_of(text) for text in texts or []}


def _policy_of(text: str) -> dict[str, Any]:
    name, *pairs = text.split() or [""]
    return {"policy": name, **parameters_of(pairs, "--policy")}
