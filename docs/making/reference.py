"""Pages made from the code, and kept in the repository so that they can be read there: python docs/making/reference.py.

``reference-files.md`` is made from the JSON Schemas, ``reference-cli.md`` from the commands of the shell, and
``methods.md`` from the rows of the portfolio and the features that methods and policies support. ``policies.md``,
``generators.md``, ``metrics.md``, ``reasons.md`` are the registries and their docstrings: a docstring is Markdown
there, ``docs/PAGE.md#heading`` becomes a link, and examples become blocks of code.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import pkgutil
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

import coalloc
from coalloc.api.features import support_table
from coalloc.api.schemas import KINDS
from coalloc.cli.app import app
from coalloc.documents.values import LARGEST
from coalloc.explanations.reasons import KINDS as REASONS
from coalloc.explanations.reasons import TITLES
from coalloc.heuristics import over_time, plans
from coalloc.heuristics.registry import BUILTIN, ORDERS, Entry
from coalloc.measures import grid, metrics, sharing
from coalloc.measures.groups import GROUPINGS
from coalloc.measures.usage import COLUMNS
from coalloc.rules import allocation_rules, brokering, orders
from coalloc.solvers.incumbent import OPENING
from coalloc.solvers.method import Method
from coalloc.solvers.portfolio import METHODS
from coalloc.solvers.traits import Trait
from coalloc.workloads import communication, examples, generators
from coalloc.workloads.generator import Generator, describe

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


def sections_of(found: Any) -> dict[str, str]:
    """Return the docstring of a module, class or function by section; the text before the first has no name."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.getdoc(found) or "", flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], map(str.strip, parts[::2]), strict=True))


def parameters_of(found: Any) -> dict[str, str]:
    """Return the meanings of the parameters that a docstring describes, by name."""
    entries = re.findall(r"^(\w+).*\n((?:    .*\n?)+)", sections_of(found).get("Parameters", ""), re.MULTILINE)
    return {name: plain(_as_page(text)) for name, text in entries}


def markdown(found: Any, *names: str) -> str:
    """Return some sections of a docstring as Markdown, by default its text, its notes, examples and references."""
    sections = sections_of(found)
    return "\n\n".join(_as_page(sections[name]) for name in names or ("", "Notes", "Examples") if name in sections)


def _as_page(text: str) -> str:
    """Return a text of a docstring as a page has it: with links, and with examples as blocks of code and output."""
    text = re.sub(r"\bdocs/([\w/-]+)\.md(#[\w-]+)?", _link, re.sub(r"(?<!`)``(?!`)", "`", text))
    shown = code = ""
    for part in [*doctest.DocTestParser().parse(text), "\n"]:
        is_example = isinstance(part, doctest.Example)
        code += part.source if is_example else ""
        if code and (part.want if is_example else part):
            shown, code = f"{shown}\n```python\n{_spaced(code)}```\n", ""
        shown += f"\n```text\n{part.want}```\n" if is_example and part.want else "" if is_example else part
    return re.sub(r"\n{3,}", "\n\n", shown).strip()


def _spaced(code: str) -> str:
    """Return code with a blank line around definitions, which examples in docstrings cannot have."""
    return re.sub(r"\n(?=def |class )|(?<=\n)( .*)\n(?=[\w@])", lambda end: f"{end[0]}\n", code)


def _link(found: re.Match[str]) -> str:
    """Return a link to a page or to one of its headings, in its words."""
    page, heading = found[1], found[2] or ""
    words = (heading or page.rpartition("/")[2]).lstrip("#").replace("-", " ")
    return f"[{words}]({page}.md{heading})"


def table(*rows: Sequence[str]) -> str:
    """Return a table; the first row is its head."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *others])


def page_of(title: str, *parts: str) -> str:
    """Return a page of parts, with the note that it is made."""
    return "\n\n".join([f"# {title}", MADE, *(part.strip() for part in parts)]) + "\n"


METRICS_FRONT = """
coalloc measures any schedule, whichever program made it: one number for each metric, the same for groups of jobs and
for an interval, and step functions of time.

```python
import coalloc

run = coalloc.simulate(coalloc.generate("lublin", seed=1, jobs=500, nodes=64), policy="easy")
run.metrics["wait_p95"]  # of the whole run: coalloc.metrics
run.metrics_of(after=7200, before=100_000)  # without warm-up and cool-down
run.metrics_by("size")  # a DataFrame: one row per group
run.series()  # a DataFrame: one row per change
run.series(every=3600)  # means over hours
coalloc.plot.series_plot(run.instance, run.schedule, "run.png")
```

<!-- given:
coalloc generate lublin --seed 1 -p jobs=60 -p nodes=240 -o trace.json
coalloc convert trace.json --to swf -o HPC2N-2002.swf.gz -->
```sh
coalloc simulate HPC2N-2002.swf.gz --processors 240 --series series.csv --every 3600 --series-plot run.png
coalloc simulate HPC2N-2002.swf.gz --processors 240 --after 7200 --by user --table users.csv
coalloc simulate HPC2N-2002.swf.gz --processors 240 --by hour --epoch 1027839845 --time-zone Europe/Stockholm
```

For other schedules: `coalloc.metrics(instance, schedule)`, `coalloc.results.metrics_of`, `coalloc.results.metrics_by`,
`coalloc.results.series`.
"""


def metrics_page() -> str:
    """Return the page on metrics."""
    rows = [(f"`{name}`", metric.of, metric.unit, metric.definition) for name, metric in metrics.METRICS.items()]
    groups = [(f"`{name}`", grouping.definition) for name, grouping in GROUPINGS.items()]
    columns = [(f"`{name}`", column.unit, column.definition) for name, column in COLUMNS.items()]
    of_grids = [(f"`{name}`", metric.unit, metric.definition) for name, metric in grid.GRID_METRICS.items()]
    of_sharing = [(f"`{name}`", unit, definition) for name, (unit, definition) in sharing.SHARING_METRICS.items()]
    results = coalloc.results
    return page_of(
        "Metrics",
        METRICS_FRONT,
        "## Symbols",
        markdown(metrics),
        "## Schedule metrics: wait, slowdown, utilization",
        table(("name", "of", "unit", "definition"), *rows),
        markdown(metrics.percentile, "Notes"),
        markdown(metrics.metrics, "Notes"),
        "## Metrics of an interval",
        "`coalloc.results.metrics_of`: " + markdown(results.metrics_of, ""),
        "## Groups of jobs",
        "`coalloc.results.metrics_by`: " + markdown(results.metrics_by, ""),
        table(("`by`", "group"), *groups),
        "## Time series",
        "`coalloc.results.series`: " + markdown(results.series, "", "Notes"),
        table(("column", "unit", "definition"), *columns),
        "## Tables of jobs and nodes",
        "`run.to_frame()`: " + markdown(results.SimulationResult.to_frame, ""),
        "`run.nodes`: " + markdown(results.SimulationResult.nodes, ""),
        *("## Two-level grids", "`coalloc.grid.grid_metrics`: " + markdown(grid)),
        table(("metric", "unit", "definition"), *of_grids),
        *("## Time-shared nodes", "`coalloc.results.sharing_metrics`: " + markdown(sharing)),
        table(("metric", "unit", "definition"), *of_sharing),
    )


GENERATORS_FRONT = """
`coalloc.generate(name, seed=0, **parameters)` returns an instance, `coalloc generate NAME --seed 1 -p jobs=20` writes
one. The same seed and parameters give the same instance. An unknown generator or parameter, or an invalid value, is one
error that lists the valid ones. [Write an instance generator](howto/create-an-instance.md#write-a-generator) adds one.

*Thesis*, *PCBE* and *Hanzich et al.* are [the sources](citing.md#the-sources); [errata](errata.md) marks what they
leave open or state wrongly. "Assumed" marks values that are not in a source. Parameters that end in `_low` and `_high`
are the limits of a uniform distribution over the jobs.
"""


def generators_page() -> str:
    """Return the page on generators and bundled instances."""
    parts = [GENERATORS_FRONT, markdown(coalloc.generate, "Notes")]
    parts += ["## Bandwidth per task from BSBW", markdown(communication)]
    for module in pkgutil.iter_modules(generators.__path__):
        families = importlib.import_module(f"{generators.__name__}.{module.name}").GENERATORS
        parts.append("## " + ", ".join(f"`{name}`" for name in families))
        for name, family in families.items():
            parts += [markdown(family), _table_of_parameters(name, family)]
    return page_of("Generators and bundled examples", *parts, "## Bundled examples", markdown(examples))


def _table_of_parameters(name: str, family: type[Generator]) -> str:
    """Return the parameters of a generator, only those that it adds or changes if it derives from another."""
    known = () if inspect.isabstract(family.__base__) else describe(name, family.__base__).parameters
    rows = [
        (f"`{p.name}`", _value(p.default), plain(p.meaning))
        for p in describe(name, family).parameters
        if p not in known
    ]
    return table(("parameter", "default", "meaning and unit"), *rows)


POLICIES_FRONT = """
`coalloc.simulate(instance, "easy", queue_order="wfp3")` runs a policy with options. `coalloc.policies()` returns the
names; [custom policies](howto/write-a-policy.md) are accepted wherever a name is. An unknown policy, option or value is
one error that lists the valid ones. In the shell:

<!-- given: coalloc generate lublin --seed 1 -p jobs=30 -p nodes=64 -o workload.json -->
```sh
coalloc simulate workload.json --policy easy --parameter queue_order=wfp3 --parameter candidates=spt
```

Definitions are precise enough to implement a policy again. *Thesis*, *PCBE*, *Hanzich et al.* and *two-level grid* are
[the sources](citing.md#the-sources); "erratum *n*" marks a point that they leave open or state wrongly
([errata](errata.md)).
"""

HEADINGS = {
    "list": "List policies",
    "easy": "EASY backfilling",
    "conservative": "Conservative backfilling",
    "slurm": "Slurm",
    "flux": "Flux",
    "mesd": "MESD",
    "pas": "PAS",
    "oas": "OAS",
    "pcbe": "PCBE",
    "node-list": "Node lists",
    "loras": "LoRaS",
    "grid": "Grid broker",
    "multifactor": "Multifactor priority",
}
"""Headings of the sections on policies and orders, where they are not their names."""


def policies_page() -> str:
    """Return the page on policies, queue orders and allocation rules."""
    rules = [(f"`{name}`", plain(rank.__doc__ or "")) for name, rank in allocation_rules.ALLOCATION_RULES.items()]
    keys = {**orders.FIXED_ORDERS, **orders.TIMED_ORDERS}
    seen = [(f"[`{name}`]({_heading_of(name)})", plain(entry.summary)) for name, entry in ORDERS.builtin.items()]
    return page_of(
        "Policies",
        POLICIES_FRONT,
        table(("policy", "what it does", "options"), *(_policy_row(name, entry) for name, entry in BUILTIN.items())),
        *("## Information available to a policy", markdown(coalloc.extend.State, "Notes")),
        *("## Maintenance windows and reservations", markdown(over_time)),
        *(
            "## Allocation rules",
            markdown(allocation_rules),
            table(("`allocation`", "order in which node classes are filled"), *rules),
        ),
        *("## Queue orders", markdown(orders)),
        table(
            ("`queue_order`", "key"), *((f"`{name}`", plain(key.__doc__ or "")) for name, key in keys.items()), *seen
        ),
        *(part for name, entry in ORDERS.builtin.items() for part in _options_of(name, entry)),
        *_options_of("list", BUILTIN["list"]),
        *(part for name, e in BUILTIN.items() if not e.fixed and name != "list" for part in _options_of(name, e)),
        *("### Strategies of the broker", markdown(brokering), *_strategies()),
        *("## Execution of a plan", markdown(plans)),
        *("## Replaying a schedule", "`coalloc.replay`: " + markdown(coalloc.replay, "")),
        *(f"`starts` is {parameters_of(coalloc.replay)['starts']}", markdown(coalloc.replay, "Notes")),
    )


def _strategies() -> Iterator[str]:
    """Yield what strategies of each level know of the sites, and which site each strategy chooses."""
    yield table(
        ("level", "a strategy knows"), *((str(n), plain(v.__doc__ or "")) for n, v in enumerate(brokering.VIEWS))
    )
    rules = {strategy.rule: strategy.level for strategy in brokering.STRATEGIES.values()}
    yield table(("level", "site"), *((str(level), plain(rule.__doc__ or "")) for rule, level in rules.items()))


def _policy_row(name: str, entry: Entry) -> tuple[str, str, str]:
    """Return the row of a policy: its name, which links to its definition, what it does, and its options."""
    of_same_type = (other for other, known in BUILTIN.items() if known.home == entry.home and not known.fixed)
    options = ", ".join(f"`{option}`" for option in entry.options)
    return f"[`{name}`]({_heading_of(next(of_same_type, name))})", plain(entry.summary), options


def _heading_of(name: str) -> str:
    """Return the link to the section on a policy or an order."""
    return "#" + HEADINGS.get(name, name).lower().replace(" ", "-")


def _options_of(name: str, entry: Entry) -> Iterator[str]:
    """Yield the section on a policy or an order: its definition, and its options with their values."""
    meanings = parameters_of(entry.make)
    yield f"## {HEADINGS.get(name, name)}"
    yield f"**`{name}`.** {markdown(entry.make)}"
    rows = [(f"`{option}`", _values(entry, option), meanings[option]) for option in entry.options]
    yield table(("option", "values, the default first", "meaning"), *rows)


def _values(entry: Entry, option: str) -> str:
    """Return the values of an option, the default first; of queue orders a link to all."""
    default = entry.options[option]
    others = [value for value in entry.choices(option) if value != default]
    if entry.takes_orders(option):
        return f"{_value(default)}, or a [queue order](#queue-orders)"
    return ", ".join(map(_value, (default, *others)))


def _value(value: Any) -> str:
    """Return a value of an option as code; that of a factory is an empty mapping."""
    return f"`{json.dumps(value) if isinstance(value, str) else value}`".replace("<factory>", "{}")


REASONS_FRONT = """
`coalloc.explain` returns these reasons ([explaining results](explaining-results.md)). A reason has an `about`, a `kind`
and, where the table names them, the numbers `amount` and `limit`; `jobs` and `where` say what it is about.
"""


def reasons_page() -> str:
    """Return the page on the reasons that explanations give."""
    parts = []
    for about, title in TITLES.items():
        rows = [(f"`{kind}`", plain(text)) for (subject, kind), text in REASONS.items() if subject == about]
        parts += [f"## {title[0].upper()}{title[1:]}: `{about}`", table(("kind", "meaning"), *rows)]
    return page_of("Reasons", REASONS_FRONT, *parts)


TOLERANCES = (
    "instance.rounding.RELATIVE_TOLERANCE",
    "instance.rounding.TIME_TOLERANCE",
    "instance.rounding.TIME_PRECISION",
    "instance.time_base.LEAST_TICK",
    "instance.time_base.MOST_TICKS",
    "instance.time_base.MOST_TOLERANCE",
    "solvers.backends.highs.INTEGRAL_GAP",
    "solvers.backends.highs.INTEGRALITY",
    "solvers.result.PROOF_TOLERANCE",
    "problem.discretisation.MAX_SLOTS",
    "models.time_slots.LARGEST_LOAD",
    "models.oas_node.LARGEST_BANDWIDTH",
    "solvers.bounds.pricing.MIP_MARGIN",
    "solvers.search.ceilings.SLOT_NOISE",
    "solvers.energy.run.SAME_ENERGY",
)
"""Constants on which proofs rest, below ``coalloc``."""


def constants() -> str:
    """Return the table of the tolerances: the value of each, and its docstring."""
    rows = []
    for name in TOLERANCES:
        module, _, constant = f"coalloc.{name}".rpartition(".")
        found = importlib.import_module(module)
        pattern = rf'^{constant}\b[^=\n]*= [^\n]*\n"""(.*?)"""'
        text = re.search(pattern, inspect.getsource(found), re.MULTILINE | re.DOTALL)
        assert text is not None, f"{name} has no docstring"
        rows.append((f"`coalloc.{name}`", f"{getattr(found, constant):.10g}", plain(_without_roles(text[1]))))
    return table(("constant", "value", "meaning"), *rows)


def packages() -> str:
    """Return the table of the packages, the lowest first, with the first sentence of their docstrings."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(c["layers"] for c in project["tool"]["importlinter"]["contracts"] if c["containers"] == ["coalloc"])
    rows = []
    for name in (name for layer in reversed(layers) for name in sorted(re.findall(r"\w+", layer))):
        found = DOCS.parent / "coalloc" / name
        inner = sorted(path.parent for path in found.glob("*/__init__.py")) if name == "solvers" else []
        paths = [path / "__init__.py" for path in (*inner, found)] if found.is_dir() else [found.with_suffix(".py")]
        for path in paths:
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            shown = path.parent if path.name == "__init__.py" else path
            name_shown = shown.relative_to(DOCS.parent / "coalloc").as_posix() + "/" * shown.is_dir()
            rows.append((f"`{name_shown}`", plain(_without_roles(text.split("\n\n")[0])).rstrip(".")))
    return table(("package", "content"), *rows)


def _without_roles(text: str) -> str:
    """Return a docstring in which names have no roles."""
    return re.sub(r":\w+:`~?([\w.]+)`", r"``\1``", text)


def with_block(name: str, block: str) -> str:
    """Return a page with a block in place of the part of it that is made."""
    text = (DOCS / name).read_text(encoding="utf-8")
    begin, _, rest = text.partition("-->\n")
    return f"{begin}-->\n\n{block}\n\n<!-- End of what is made. -->{rest.partition('<!-- End of what is made. -->')[2]}"


PAGES = {
    "reference-files.md": files_page,
    "reference-cli.md": cli_page,
    "methods.md": methods_page,
    "metrics.md": metrics_page,
    "generators.md": generators_page,
    "policies.md": policies_page,
    "reasons.md": reasons_page,
    "architecture.md": lambda: with_block("architecture.md", packages()),
    "mathematics/tolerances.md": lambda: with_block("mathematics/tolerances.md", constants()),
}


def main() -> None:
    """Write the pages."""
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
