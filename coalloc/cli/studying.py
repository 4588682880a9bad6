"""Parts that ``coalloc compare`` and the studies share: options, named policies, and files of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

from coalloc.cli.output import check_writable
from coalloc.cli.pairs import parameters_of

if TYPE_CHECKING:
    from coalloc.simulator.policy import Policy
    from coalloc.simulator.routing import Broker

Files = Annotated[list[str], Argument(metavar="FILE", help="Instance files, or example:NAME for bundled instances.")]
Policies = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="POLICY",
        help='Policy with its options: "easy allocation=first-fit". Repeatable. Custom policies: module:Class.',
    ),
]
TimeLimit = Annotated[float, Option(metavar="SECONDS", help="Time limit of each solve and each bound; inf for none.")]
Threads = Annotated[int, Option(min=1, metavar="N", help="Number of CPU cores.")]
RunSeed = Annotated[int, Option(min=0, metavar="N", help="Random seed.")]
Table = Annotated[Path | None, Option("--output", "-o", metavar="CSV", help="Table to write, with all results.")]
Plot = Annotated[Path | None, Option(metavar="FIGURE", help="Plot to draw: .png, .svg or .pdf.")]


def check_outputs(output: Path | None, plot: Path | None, inputs: Iterable[str]) -> None:
    """Raise where the table or the picture could not be written later."""
    from coalloc.plot.pictures import chart_format

    if plot is not None:
        chart_format(plot)
    check_writable({"--output": output, "--plot": plot}, inputs=inputs)


def policies_of(texts: Iterable[str] | None, option: str = "--policy") -> dict[str, dict[str, Any]]:
    """Return the policies and options that texts name, by text; ``option`` is where they stand."""
    return {text: _policy_of(text, option) for text in texts or []}


def _policy_of(text: str, option: str) -> dict[str, Any]:
    from coalloc.heuristics.registry import POLICIES

    name, *pairs = text.split() or [""]
    if "," in name and set(name.split(",")) <= set(POLICIES):
        repeated = " ".join(f"{option} {one}" for one in name.split(","))
        raise BadParameter(f"must be one policy, got {name!r}; for several use {repeated}", param_hint=option)
    return {"policy": name, **parameters_of(pairs, option)}


def with_own(policies: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any] | Policy | Broker]:
    """Return the policies with those of the user's own, or with orders of these, made from ``module:Class``."""
    from coalloc.cli.own_classes import SEPARATOR, own_policy, with_own_orders
    from coalloc.heuristics.registry import policy_named

    made = dict[str, Any](policies)
    for text, given in policies.items():
        options = {name: option for name, option in given.items() if name != "policy"}
        with_orders = with_own_orders(options)
        if SEPARATOR in given["policy"]:
            made[text] = own_policy(given["policy"], options)
        elif with_orders != options:
            made[text] = policy_named(given["policy"], with_orders)
    return made


@contextmanager
def blaming(policies: Mapping[str, Mapping[str, Any] | Policy | Broker]) -> Iterator[None]:
    """Raise what the code of policies of the user's own, or of plugins, raises in the block as errors of theirs."""
    from coalloc.cli.own_classes import faults_of
    from coalloc.heuristics.registry import POLICIES

    with ExitStack() as stack:
        for text, given in policies.items():
            if not isinstance(given, Mapping):
                stack.enter_context(faults_of(text.split()[0], type(given)))
            elif given["policy"] in POLICIES:
                stack.enter_context(faults_of(given["policy"], POLICIES[given["policy"]].make))
        yield
