"""Pages of the programming interface: one for each public name, from its docstring, and one that lists them by topic.

They are made for the site alone; ``help(coalloc.solve)`` says the same. Pages of subpackages are in folders of their
names. Wherever a page names a public name as code, that becomes a link to its page, and so do pages that a docstring
names.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

import coalloc

FOLDER = "api"
NAME = re.compile(r'(?<!<pre>)(?<!">)<code>coalloc\.((?:\w+\.)?\w+)((?:\([^<]*)?)</code>(?!</a>)')
SUBPACKAGES = [name for name in dir(coalloc) if inspect.ismodule(getattr(coalloc, name))]
PUBLIC = {name: getattr(coalloc, name) for name in coalloc.__all__} | {
    f"{package}.{name}": getattr(getattr(coalloc, package), name)
    for package in SUBPACKAGES
    for name in getattr(coalloc, package).__all__
}
"""Every public name, without ``coalloc.`` before it."""
CLASSES = {name.rpartition(".")[2]: name for name, found in PUBLIC.items() if inspect.isclass(found)}
TOPICS = {
    "Instances and platforms": """
        Instance Platform Cluster NodeGroup Switch SwitchLevel Job Shape RunningJob Window Lag Limit Sharing LocalUser
        PowerStates example examples library results.LibraryEntry generate grid.platform grid.platforms
    """,
    "Solving": """
        solve SolveResult results.SolveStatus results.SolveOptions results.SolvedLevel results.ModelSize
        results.TracePoint lower_bound grid.least_energy Fixed explain results.Explanation results.Reason build_model
        schedule_of_model write_proof
    """,
    "Simulation and policies": """
        simulate Simulation results.SimulationResult policies Policy replay results.Failure results.InterruptedRun
        io.read_failures io.sample_failures
    """,
    "Checking and measuring": """
        Schedule Placement check results.Violation metrics results.metrics_of results.metrics_by results.series energy
        results.Energy results.sharing_metrics grid.grid_metrics
    """,
    "Studies and audits": """
        audit results.Audit studies.what_if results.WhatIf compare slot_study studies.energy_front studies.grid_study
        studies.check_submission results.Submission
    """,
    "Files": """
        read_instance write_instance io.read_platform io.write_platform read_schedule write_schedule io.read_result
        io.write_result io.schema read_swf io.write_swf io.merge_swf results.MergedWeeks read_sacct
        io.read_slurm io.read_flux results.SiteLog read_irmasim
    """,
    "Plots": """
        gantt plot.series_plot plot.power_plot plot.progress_plot
    """,
    "Extending": """
        extend.environment extend.vector_environment
        extend.Start extend.Wake extend.Preempt extend.State extend.Running extend.policy_named extend.ExternalPolicy
        extend.QueueOrder extend.Broker extend.Site grid.Partition extend.RegularObjective extend.PiecewiseLinear
        extend.Constraint extend.TimeBounds extend.AllowedStarts extend.Calendar extend.AllowedNodes extend.MostTasks
        extend.AllowedShapes extend.AllowedSpreads extend.NotTogether extend.TimeRow extend.Cumulative
        extend.SameCluster extend.DifferentClusters extend.Budget extend.NodeClass extend.Formulation extend.Problem
        extend.Generator extend.Adapter extend.Interface
    """,
    "Errors and versions": """
        CoallocError InstanceError UnsupportedFeature results.RelaxedFeatureWarning show_versions
    """,
}
"""The public names in the order of the navigation."""
MOVED = re.findall(
    r"\w+",
    """
    read_platform write_platform read_result write_result write_swf merge_swf schema power_plot progress_plot
    series_plot energy_front grid_study grid_metrics platform platforms Partition SolveStatus TracePoint
    SimulationResult Audit Violation metrics_by metrics_of sharing_metrics series Start Wake Broker
    """,
)
"""Names of subpackages that were at the top level."""


INTERNAL = ("extend.Problem", "extend.Site")
"""Classes whose docstrings list what users need of their members."""
LISTED = "    options: {members: false}\n"
MENTION = re.compile(r"\bdocs/([\w/-]+)\.md\b")
COLLECTION = re.compile(r"<code>[^<]* of [^<]*</code>")
"""A type that is no expression, such as ``sequence of Job``: its classes are linked here, those of others by griffe."""


def place(name: str) -> str:
    """Return the page of a public name, below the folder of all."""
    return f"{name.replace('.', '/')}.md"


def summary(text: str | None) -> str:
    """Return the first sentence of a docstring."""
    return " ".join(inspect.cleandoc(text or "").split("\n\n", 1)[0].split()).replace("``", "`")


def table(names: list[str]) -> str:
    """Return a table of public names with their first sentences."""
    rows = (f"| [`{name}`]({place(name)}) | {summary(PUBLIC[name].__doc__)} |" for name in names)
    return "| name | description |\n|---|---|\n" + "\n".join(rows)


def index() -> str:
    """Return the page that lists all public names."""
    parts = ["# Python API", "All public names, by topic. Anything else that can be imported may change."]
    for topic, names in TOPICS.items():
        parts += [f"## {topic}", table(names.split())]
    moved = [(name.rpartition(".")[2], name) for name in PUBLIC]
    rows = "\n".join(f"| `coalloc.{old}` | `coalloc.{new}` |" for old, new in moved if old in MOVED)
    parts += ["## Moved names", f"| old place | new place |\n|---|---|\n{rows}"]
    return "\n\n".join(parts) + "\n"


def in_navigation(item: Any) -> Any:
    """Return an item of the navigation, that of the page of all names with the pages of the topics below it."""
    if isinstance(item, dict):
        return {title: [in_navigation(child) for child in of] for title, of in item.items()}
    if item != f"{FOLDER}/index.md":
        return item
    topics = [{topic: [f"{FOLDER}/{place(name)}" for name in names.split()]} for topic, names in TOPICS.items()]
    return {"Python API": [item, *topics]}


def on_config(config: Any) -> Any:
    """Add the pages to the navigation."""
    in_topics = [name for names in TOPICS.values() for name in names.split()]
    if sorted(in_topics) != sorted(PUBLIC):
        raise PluginError(f"{__file__}: each public name must have one topic: {sorted({*in_topics} ^ {*PUBLIC})}")
    config.nav = [in_navigation(item) for item in config.nav]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    files.append(File.generated(config, f"{FOLDER}/index.md", content=index()))
    for name in PUBLIC:
        text = f"---\ntitle: {name}\n---\n\n::: coalloc.{name}\n" + LISTED * (name in INTERNAL)
        files.append(File.generated(config, f"{FOLDER}/{place(name)}", content=text))
    return files


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Return a page whose public names in code lead to their pages, and in docstrings classes and pages as well."""

    def link(target: str, text: str) -> str:
        return f'<a href="{get_relative_url(target, page.url)}">{text}</a>'

    def linked(code: re.Match[str]) -> str:
        if code[1] not in PUBLIC or page.file.src_uri == f"{FOLDER}/{place(code[1])}":
            return code[0]
        return link(f"{FOLDER}/{code[1].replace('.', '/')}.html", code[0])

    def with_classes(code: re.Match[str]) -> str:
        return re.sub(r"\w+", lambda word: class_linked(word[0]), code[0])

    def class_linked(word: str) -> str:
        return link(f"{FOLDER}/{CLASSES[word].replace('.', '/')}.html", word) if word in CLASSES else word

    content = NAME.sub(linked, content)
    if not page.file.src_uri.startswith(f"{FOLDER}/"):
        return content
    return COLLECTION.sub(with_classes, MENTION.sub(lambda found: link(f"{found[1]}.html", found[0]), content))
