"""Pages made from the code, and kept in the repository so that they can be read there: python docs/making/reference.py.

``reference-files.md`` is made from the JSON Schemas, ``reference-cli.md`` from the commands of the shell, and
``methods.md`` from the rows of the portfolio and the features that methods and policies support.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

import coalloc
from coalloc.api.features import support_table
from coalloc.api.schemas import KINDS
from coalloc.cli.app import app
from coalloc.documents.values import LARGEST
from coalloc.solvers.incumbent import OPENING
from coalloc.solvers.method import Method
from coalloc.solvers.portfolio import METHODS
from coalloc.solvers.traits import Trait

DOCS = Path(__file__).parents[1]
MADE = "<!-- Made by `python docs/making/reference.py`: change the docstrings and options that it reads instead. -->"
SUPPORTED = {
    Trait.MAKESPAN: "makespan",
    Trait.OTHER_MAXIMUM: "maximum lateness",
    Trait.SUM: "sums over jobs",
    Trait.UNTIED: "independent jobs without outages",
    Trait.SLOTS: "time slots",
    Trait.DEADLINES: "deadlines",
}
"""Traits that a user knows, in the words of the table of methods."""
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}


def plain(text: str) -> str:
    """Return a text so that it fits into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("``", "`").replace("<", "&lt;")


def kind_of(value: dict[str, Any], objects: dict[str, Any]) -> str:
    """Return the type of a property in words; ``objects`` are those that a schema defines, by name."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if "properties" in objects[name] else kind_of(objects[name], objects)
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(kind_of(option, objects) for option in value["anyOf"]))
    if choices := value.get("enum", [value["const"]] if "const" in value else []):
        return ", ".join(f"`{json.dumps(choice)}`" for choice in choices)
    if value.get("type") == "array":
        return f"list of {kind_of(value.get('items', {}), objects)}"
    limits = [words.format(f"{value[key]:g}") for key, words in LIMITS.items() if value.get(key, LARGEST) != LARGEST]
    return ", ".join([str(value.get("type", "any")).replace("string", "text"), *limits])


def default_of(name: str, value: dict[str, Any], required: list[str]) -> str:
    """Return what a property is where it is left out."""
    if name in required:
        return "**required**"
    return f"`{value['default']}`" if value.get("default") is not None else ""


def properties(schema: dict[str, Any], objects: dict[str, Any]) -> Iterator[str]:
    """Yield the table of the properties of one object."""
    yield from ("| property | type | default | meaning and unit |", "|---|---|---|---|")
    for name, value in schema["properties"].items():
        cells = (
            kind_of(value, objects),
            default_of(name, value, schema.get("required", [])),
            plain(value.get("description", "")),
        )
        yield f"| `{name}` | {' | '.join(cells)} |"


def example() -> str:
    """Return an instance file that shows most of what people begin with."""
    clusters = [
        coalloc.Cluster("C1", [coalloc.NodeGroup(6, power=1.0)], link_bandwidth=125.0),
        coalloc.Cluster("C2", [coalloc.NodeGroup(8, power=0.6, cores=2)], link_bandwidth=50.0),
    ]
    jobs = [
        coalloc.Job("J1", tasks=8, base_time=600.0, processing_share=0.8, task_bandwidth=10.0),
        coalloc.Job("J2", tasks=2, base_time=1800.0, arrival=300.0),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.json"
        coalloc.write_instance(coalloc.Instance(coalloc.Platform(clusters), jobs, name="mine"), path)
        return path.read_text(encoding="utf-8").rstrip()


def files_page() -> str:
    """Return the page on all kinds of files."""
    lines = ["# Files", "", MADE, ""]
    lines += [
        "Instances, platforms, schedules and results are JSON files, optionally compressed with gzip. The tables list",
        "every property with type, limits, default and unit; an unknown property is an error. `coalloc schema KIND`",
        f"prints the JSON Schema of each format. No quantity may exceed {LARGEST:g}. An example with two jobs on two",
        "clusters:",
        "",
        "```json",
        *example().splitlines(),
        "```",
        "",
    ]
    shared: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        schema = coalloc.io.schema(kind)
        shared |= schema.get("$defs", {})
        text = plain(schema.get("description", ""))
        lines += [
            f"## `{kind}` files",
            "",
            *([text, ""] if text else []),
            *properties(schema, schema.get("$defs", {})),
            "",
        ]
    lines += ["## Objects within them", ""]
    for name, schema in sorted(shared.items()):
        if "properties" in schema:
            lines += [f"### {name}", "", plain(schema.get("description", "")), "", *properties(schema, shared), ""]
    return "\n".join(lines).rstrip() + "\n"


def commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yield all commands below one, with their words."""
    children = getattr(command, "commands", {})
    if not children:
        yield words, command
    for name, child in children.items():
        yield from commands(child, f"{words} {name}")


def parameter_row(parameter: Any) -> str:
    """Return the row of an option or argument."""
    is_argument = parameter.opts == [parameter.name]
    names = [parameter.metavar or parameter.name.upper()] if is_argument else parameter.opts + parameter.secondary_opts
    default = parameter.show_default if isinstance(parameter.show_default, str) else ""
    value = parameter.default
    if not default and value is not None and not isinstance(value, bool | list | tuple) and not callable(value):
        default = f"`{plain(str(getattr(value, 'value', value)))}`"
    return f"| {', '.join(f'`{name}`' for name in names)} | {default} | {plain(parameter.help or '')} |"


def cli_page() -> str:
    """Return the page on all commands of the shell."""
    lines = ["# Commands", "", MADE, ""]
    lines += [
        "`coalloc COMMAND --help` prints the same text. Exit codes: 0 success; 1 infeasible, no result, or violations",
        "found; 2 invalid input or usage; 3 internal error. `--debug`, anywhere on the line, prints the traceback.",
        "",
    ]
    for words, command in commands(typer.main.get_command(app), "coalloc"):
        lines += [f"## `{words}`", "", plain((command.help or "").split("\n\n")[0]), ""]
        shown = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
        if shown:
            lines += ["| argument or option | default | meaning |", "|---|---|---|", *map(parameter_row, shown), ""]
    return "\n".join(lines).rstrip() + "\n"


def methods_page() -> str:
    """Return the page on the methods of the portfolio."""
    lines = ["# Methods of the portfolio", "", MADE, ""]
    lines += [
        '`formulation="auto"` runs these methods in rounds, until incumbent and lower bound meet or a limit is',
        "reached: first cheap bounds, schedules and a brief exact search, then with more time, complete methods last.",
        "A method runs only where it supports the instance and the objective. `result.methods` has",
        "for each that ran calls, CPU seconds, incumbents and bounds found, and whether it closed the gap;",
        "`coalloc solve --verbose` prints them. `solve(methods=[...])` restricts the portfolio to some methods, and",
        "`solve(without=[...])` leaves some out (`--method` and `--without`, repeatable). Simple bounds and the first",
        "list schedule always run. A method with `if not` runs only where the named one is left out or does not",
        "support the instance.",
        "",
        "```python",
        "import coalloc",
        "",
        'instance = coalloc.example("thesis-oas-1")',
        'result = coalloc.solve(instance, slot="25%", without=["feasible-set LP", "list annealing"])',
        "for run in result.methods:",
        "    print(run)",
        "```",
        "",
        "Shares of the time that is left, for three rounds and for all later ones, may depend on the problem.",
        "",
        "| method | supports | shares, % | what it does | source |",
        "|---|---|---|---|---|",
        *map(_method_row, METHODS),
        "",
        "Some methods consist of others, one for each kind of problem, which have shares of their own:",
        "",
        "| method | supports | shares, % | what it does | source |",
        "|---|---|---|---|---|",
        *(_method_row(part) for row in METHODS for part in row.parts),
        "",
        "## Feature support",
        "",
        "[Modelling features](modelling-features.md#feature-support) that methods and policies support:",
        "",
        support_table(),
    ]
    return "\n".join(lines) + "\n"


def _method_row(row: Method) -> str:
    """Return the row of a method: its objectives and shares, and the first sentence and the file of its module."""
    module = sys.modules[row.run.__module__]
    does = plain(re.split(r"(?<=\w\w[.)])\s", module.__doc__ or "")[0]).rstrip(".")
    supports = [words for trait, words in SUPPORTED.items() if trait in row.needs]
    others = [f"if not {other}" for other in row.instead_of]
    shares = dict.fromkeys(map(_shares_shown, row.shares.values()))
    path = module.__name__.replace(".", "/") + ".py"
    cells = f"`{row.name}`", "; ".join([*supports, *others]), " or ".join(shares), does
    return f"| {' | '.join(cells)} | [{Path(path).stem}](../{path}) |"


def _shares_shown(shares: Sequence[float]) -> str:
    """Return shares of the first three rounds, and of later ones."""
    return ", ".join(f"{100.0 * shares[min(number, len(shares) - 1)]:g}" for number in range(OPENING + 1))


PAGES = {
    "reference-files.md": files_page,
    "reference-cli.md": cli_page,
    "methods.md": methods_page,
}


def main() -> None:
    """Write the pages."""
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
