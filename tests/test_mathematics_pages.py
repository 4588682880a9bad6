"""The pages of docs/mathematics describe the code: names, constants, equation numbers, components, lengths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Window
from coalloc.extend import SameCluster
from coalloc.instance import RunningJob
from coalloc.models import energy_relaxation
from coalloc.models.energy_rates import node_rates
from coalloc.problem import discretise
from coalloc.testing.constraints import TimeLag

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "mathematics").glob("*.md"))}
ALL_PAGES = "\n".join(PAGES.values())
ENGINE = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "coalloc" / "engine" / "src").glob("*.[ch]")}
MOST_WORDS = {"README.md": 600}
"""Words of a page, at most, where that is not 3,000."""
OUR_NUMBERS = r"\(([ATCKPNMJBLRSDGFQUVW]\d+)\)"
"""Equation numbers that are ours; (E) numbers are of the execution model, others of the sources."""
MATHS = re.compile(r"```math\n.*?\n```", re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
INLINE_MATHS = re.compile(r"\$[^$\n]+\$")
REFERENCE = re.compile(r'docs/mathematics/([\w.-]+\.md)(?:, "([^"]+)")?')


def section(title: str) -> str:
    """Return the text under a heading of one of the pages, up to the next of its level or above."""
    level = title.partition(" ")[0]
    assert ALL_PAGES.count(f"\n{title}\n") == 1, f"the pages do not have one heading {title!r}"
    return re.split(rf"\n#{{1,{len(level)}}} ", ALL_PAGES.split(f"\n{title}\n", 1)[1])[0]


def rows(text: str, head: str) -> list[list[str]]:
    """Return the cells of the table with a head."""
    assert f"\n{head}\n" in text, head
    lines = text.split(f"\n{head}\n", 1)[1].split("\n\n", maxsplit=1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def exists(name: str) -> bool:
    """Return whether the engine has a file, a name, or a member of a structure."""
    return name in ENGINE or all(re.search(rf"\b{part}\b", "".join(ENGINE.values())) for part in name.split("."))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read_at_once(page):
    assert len(PAGES[page].split()) <= MOST_WORDS.get(page, 3000)


@pytest.mark.parametrize("page", PAGES)
def test_every_symbol_has_a_unit_and_a_name_in_code(page):
    for symbol, meaning, unit, names in rows(PAGES[page], "| symbol | meaning | unit | name in code |"):
        assert symbol.startswith("$"), symbol
        assert meaning, symbol
        assert unit, symbol
        in_engine = [name for name in re.findall(r"`(?!coalloc\.|model\.)([^`]+)`", names) if not exists(name)]
        assert "`" in names, symbol
        assert in_engine == [], symbol  # tests/test_pages.py checks names of Python


def test_the_models_and_the_page_number_the_same_equations():
    package = ROOT / "coalloc"
    modules = [*(package / "models").glob("*.py"), *(package / "solvers" / "energy").glob("bound_by_*.py")]
    in_code = set(re.findall(OUR_NUMBERS, "\n".join(path.read_text(encoding="utf-8") for path in modules)))
    on_page = {number for block in MATHS.findall(ALL_PAGES) for number in re.findall(rf"&& {OUR_NUMBERS}", block)}
    assert in_code == on_page


def test_sources_refer_to_pages_and_headings_that_exist():
    sources = [p for pattern in ("*.py", "src/*.[ch]") for p in (ROOT / "coalloc").rglob(pattern)]
    text = {str(path): " ".join(re.sub(r"\n\s*", " ", path.read_text(encoding="utf-8")).split()) for path in sources}
    found = [(path, *match) for path, of in text.items() for match in REFERENCE.findall(of)]
    assert len(found) > 50
    wrong = [(path, page) for path, page, _ in found if page not in PAGES]
    wrong += [(path, t) for path, page, t in found if t and not re.search(rf"^#+ {re.escape(t)}\b", PAGES[page], re.M)]
    assert wrong == []


def three_clusters() -> Instance:
    """Return an instance that reaches every row: links and memory that bind, jobs that cannot run together.

    Nothing can be split over ``C3``, so both jobs share the 6 processors of ``C1`` and ``C2``: one waits, and its
    slots are open. The links could get 2*30*1/2 + 2*30*2/3 = 70 of 50 MB/s. With 3 and 4 tasks of 8 processors at
    least one dual feasible function is no share of the processors. ``C1`` is one node of 3 cores, with memory for two
    of these tasks.
    """
    clusters = [
        Cluster(name, [NodeGroup(count, power=1.0)], bandwidth)
        for name, count, bandwidth in (("C1", 3, 50.0), ("C2", 3, 50.0), ("C3", 2, 0.0))
    ]
    clusters[0] = clusters[0].replace(nodes=[NodeGroup(1, power=1.0, cores=3, memory=250.0)])
    jobs = [Job(f"J{n}", n, 100.0, processing_share=0.5, task_bandwidth=30.0, memory=100.0) for n in (3, 4)]
    return Instance(Platform(clusters), jobs)


def with_licences() -> Instance:
    """Return :func:`three_clusters` with a licence for ``C1`` and ``C2`` each, of which both jobs take one."""
    instance = three_clusters()
    clusters = [c.replace(resources={"licences": 1.0}) for c in instance.platform.clusters[:2]]
    jobs = [job.replace(resources={"licences": 1.0}) for job in instance.jobs]
    return instance.replace(
        platform=instance.platform.replace(clusters=[*clusters, instance.platform.clusters[2]]), jobs=jobs
    )


def with_a_window() -> Instance:
    """Return :func:`three_clusters` with a window that takes one processor of a group."""
    instance = three_clusters()
    window = Window("C1", start=0.0, end=100.0, group=0, processors=1)
    return instance.replace(platform=instance.platform.replace(unavailable=[window]))


def two_equal_nodes() -> Instance:
    """Return an instance with watts that reaches every row of energy: equal nodes, a gap, and links that bind.

    On the first node of C1 a job runs, with a core to spare, for longer than the jobs may take. It leaves too little of
    the node's memory for one of their tasks; each of the others has just enough for one job.
    """
    node = NodeGroup(2, power=1.0, cores=2, idle_watts=1.0, static_watts=3.0, core_watts=1.0, memory=200.0)
    clusters = [Cluster("C1", [node.replace(count=3)], 40.0), Cluster("C2", [node], 40.0)]
    jobs = [
        Job(f"J{n}", 2, 100.0, arrival=arrival, processing_share=0.5, task_bandwidth=30.0, memory=100.0)
        for n, arrival in enumerate((0.0, 0.0, 300.0), start=1)
    ]
    return Instance(Platform(clusters), jobs, [RunningJob(Job("R1", 1, 900.0, memory=150.0), ("C1/0.0",), 900.0)])


def built_for_energy(section_title: str) -> Iterator[pyo.ConcreteModel]:
    """Yield the models of a section on energy."""
    if "relaxation" in section_title:
        problem = discretise(two_equal_nodes(), None)
        yield energy_relaxation.build(problem, node_rates(problem), least_makespan=100.0)
    elif "blocks" in section_title:
        yield coalloc.build_model(two_equal_nodes(), objective="energy", scope="node")
    else:
        for scope in ("platform", "node"):
            yield coalloc.build_model(two_equal_nodes(), objective="energy", slot=50.0, scope=scope)


@pytest.mark.parametrize("title", ["## OAS energy mode", "## OAS energy blocks", "## Energy relaxation"])
def test_the_page_names_the_components_of_the_models_of_energy_and_no_others(title):
    models = list(built_for_energy(title))
    components = {c.name for model in models for c in model.component_objects(descend_into=False)}
    on_page = named(section(title))
    if "OAS" in title:
        shared = named(section("## Notation of the energy models"))
        assert shared & on_page <= {"makespan", "y"}
        on_page |= shared
    assert on_page == components
    assert [name for name in on_page if not any(_size(getattr(model, name, None)) for model in models)] == []


def built(section_title: str) -> Iterator[pyo.ConcreteModel]:
    """Yield the models of a section, one for each objective or treatment of links."""
    model, _, formulation = section_title.removeprefix("## ").lower().partition(" ")
    if model == "oas":
        for objective in ("makespan", "total-response-time"):
            yield coalloc.build_model(three_clusters(), formulation=formulation, slot="50%", objective=objective)
        yield coalloc.build_model(with_a_window(), formulation=formulation, slot="50%")
        yield coalloc.build_model(with_licences(), formulation=formulation, slot="50%")
    elif model == "pas":
        for links in ("strict", "shared"):
            yield coalloc.build_model(three_clusters(), model=model, formulation=formulation, links=links)
    else:
        yield coalloc.build_model(three_clusters(), model=model)


def named(text: str) -> set[str]:
    """Return the components that a text names, such as ``model.x``."""
    return set(re.findall(r"`model\.(\w+)`", text))


@pytest.mark.parametrize(
    "title",
    [
        "## OAS mode",
        "## OAS count",
        "## OAS node",
        "## PAS mode",
        "## PAS node",
        "## CBS",
        "## JPR",
    ],
)
def test_the_page_names_the_components_of_each_model_and_no_others(title):
    on_page = named(section(title))
    if title in ("## OAS mode", "## OAS count"):
        shared = named(section("## Notation of the time-slot models")) - {"x", "w"}
        assert shared == {"objective", "z", "monotone", "still_running", "running", "running_if_covered", "packing"}
        on_page |= shared
    models = list(built(title))
    components = {c.name for model in models for c in model.component_objects()}
    assert on_page == components
    # A component that exists in name only would show that the instance does not reach what the page describes.
    for name in on_page:
        assert any(_size(getattr(model, name, None)) for model in models), f"{name} is empty in every model"


def test_the_page_names_what_a_scope_adds_to_a_model():
    for formulation in ("count", "node"):
        free, restricted = (
            coalloc.build_model(
                three_clusters().replace(jobs=[Job("J1", 2, 100.0)]), slot="50%", scope=scope, formulation=formulation
            )
            for scope in ("platform", "cluster")
        )
        added = {c.name for c in restricted.component_objects()} - {c.name for c in free.component_objects()}
        assert added == named(section("## Scope"))


@pytest.mark.parametrize(
    ("title", "constraint", "formulations", "others"),
    [
        (
            "## Objectives and constraints",
            TimeLag(("end", "J1"), ("start", "J1"), 100.0),
            ("count", "node"),
            {"greatest", "no_greater"},
        ),
        ("## Clusters of several jobs", SameCluster(("J1",)), ("mode",), set()),
    ],
)
def test_the_page_names_what_a_constraint_adds_to_a_model(title, constraint, formulations, others):
    added = set()
    for formulation in formulations:
        free, restricted = (
            coalloc.build_model(
                three_clusters().replace(jobs=[Job("J1", 2, 100.0)]),
                slot="50%",
                formulation=formulation,
                constraints=constraints,
            )
            for constraints in ((), (constraint,))
        )
        added |= {c.name for c in restricted.component_objects()} - {c.name for c in free.component_objects()}
    assert added == named(section(title)) - others


def _size(component: Any) -> int:
    return 0 if component is None else len(component)


def test_inline_maths_survives_markdown():
    # GitHub takes away a backslash before punctuation, and reads < as the start of a tag, outside of ```math blocks.
    text = CODE.sub("", MATHS.sub("", ALL_PAGES))
    inline = INLINE_MATHS.findall(text)
    assert len(inline) > 100
    assert [maths for maths in inline if re.search(r"\\[^A-Za-z]|<|>", maths)] == []
    assert "$" not in INLINE_MATHS.sub("", text)
