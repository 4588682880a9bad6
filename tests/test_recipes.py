"""The recipes of CONTRIBUTING.md ("Where to add something"), followed in a copy of the package, work.

Each writes the files, and inserts the lines after the texts, that the bold row of its name mentions; one child process
then uses all that is new.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Recipe:
    """``files`` by path; ``lines`` that go after a text in a file, by path and text; ``use``: what works then."""

    use: str
    files: dict[str, str] = field(default_factory=dict)
    lines: dict[tuple[str, str], str] = field(default_factory=dict)


TOP = "from __future__ import annotations\n"
"""The text after which imports go."""

# A needs both nodes for 10 s, B and C one each for 20 and 30 s. The shortest schedule takes 40 s.
PREPARE = """
import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, Schedule

jobs = [Job("A", 2, 10.0), Job("B", 1, 20.0), Job("C", 1, 30.0)]
instance = Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 100.0)]), jobs)
in_slots = {"slot": 10.0, "formulation": "mode"}
"""

RECIPES = {
    "policy": Recipe(
        files={
            "heuristics/last_come.py": """
                from dataclasses import dataclass

                from coalloc.problem.allocation import Scope
                from coalloc.rules.allocation_rules import RuleName
                from coalloc.simulator.policy import Start


                @dataclass(slots=True)
                class LastCome:
                    allocation: RuleName = "fastest-first"
                    scope: Scope = "platform"

                    def decide(self, state):
                        for job in reversed(state.queue):
                            counts = state.allocator(self.allocation).choose(job, state.room)
                            return [] if counts is None else [Start(job.id, counts)]
            """
        },
        lines={
            ("heuristics/registry.py", "BUILTIN: Mapping[str, Entry] = {"): """
                "lcfs": Entry(".last_come:LastCome", "last come, first served"),
            """
        },
        # One job at a time, C first: B starts at 30 s, A at 50 s.
        use="""
            schedule = coalloc.simulate(instance, "lcfs", allocation="first-fit").schedule
            assert [schedule[job].start for job in "CBA"] == [0.0, 30.0, 50.0]
        """,
    ),
    "strategy of the broker `grid`": Recipe(
        lines={
            ("rules/brokering.py", "StrategyName = Literal[\n"): '    "Last",\n',
            ("rules/brokering.py", "STRATEGIES: Mapping[StrategyName, Strategy] = {\n"): """
                "Last": Strategy(0, lambda view, factor: view.admissible[-1]),
            """,
        },
        use="""
            sites = Platform([Cluster(name, [NodeGroup(2, power=1.0)], 100.0) for name in ("C1", "C2", "C3")])
            schedule = coalloc.simulate(Instance(sites, jobs[:1]), "grid", strategy="Last").schedule
            assert schedule["A"].nodes[0] == "C3/0"
        """,
    ),
    "queue order": Recipe(
        lines={
            ("rules/orders.py", "OrderName = Literal["): '"name", ',
            ("rules/orders.py", "FIXED_ORDERS: Mapping[str, KeyOfJob] = {"): '"name": lambda job: job.id, ',
        },
        # In the order of names A comes first, whatever the queue.
        use="""
            backwards = instance.replace(jobs=jobs[::-1])
            assert coalloc.simulate(backwards, "list", queue_order="name").schedule["A"].start == 0.0
            assert coalloc.simulate(backwards, "fcfs").schedule["A"].start == 30.0
        """,
    ),
    "allocation rule": Recipe(
        lines={
            ("rules/allocation_rules.py", "RuleName = Literal["): '"last-fit", ',
            ("rules/allocation_rules.py", "ALLOCATION_RULES: Mapping[RuleName, Rank] = {"): """
                "last-fit": lambda classes, _: range(len(classes), 0, -1),
            """,
        },
        use="""
            platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0), NodeGroup(1, power=0.5)], 100.0)])
            schedule = coalloc.simulate(Instance(platform, jobs[1:2]), "fcfs", allocation="last-fit").schedule
            assert schedule["B"].end == 40.0
        """,
    ),
    "objective": Recipe(
        files={
            "objectives/ends.py": """
                from coalloc.objectives.objective import RegularObjective


                class TotalEnd(RegularObjective):
                    name = "total-end"

                    def cost(self, job, start, end):
                        return end
            """
        },
        lines={
            ("objectives/registry.py", TOP): "from coalloc.objectives.ends import TotalEnd\n",
            ("objectives/registry.py", "    for objective in (\n"): "        TotalEnd(),\n",
        },
        # A, then B and C: 10 + 30 + 40. B and C first: 20 + 30 + 40.
        use="""
            assert coalloc.solve(instance, objective="total-end", **in_slots).objective == 80.0
        """,
    ),
    "constraint": Recipe(
        files={
            "instance/apart.py": """
                from coalloc.instance.constraints import Constraint, NotTogether


                class Apart(Constraint):
                    def __init__(self, *jobs):
                        self.jobs = jobs

                    def declare(self, instance):
                        return [NotTogether(self.jobs)]
            """
        },
        lines={
            ("extend.pyi", '"""The public names of ``coalloc.extend``."""\n'): """
                from coalloc.instance.apart import Apart as Apart
            """
        },
        # One after the other: 10 + 20 + 30.
        use="""
            from coalloc.extend import Apart
            assert coalloc.solve(instance, constraints=[Apart("B", "C")], **in_slots).objective == 60.0
        """,
    ),
    "rule of the checker": Recipe(
        files={
            "checker/names.py": """
                from coalloc.checker.rule import Rule, Violation


                def _names(case):
                    for placement in case.schedule.placements:
                        if not placement.job.isupper():
                            yield Violation("name", (placement.job,), "", placement.start, 1, 0, "not upper case")


                RULES = (Rule({"name": "ids of jobs are upper case"}, _names),)
            """
        },
        lines={
            ("checker/checker.py", TOP): "from coalloc.checker import names\n",
            ("checker/checker.py", "FAMILIES = (\n"): "    names,\n",
        },
        use="""
            schedule = Schedule([Placement("a", 0.0, 10.0, ["C1/0-1"])])
            (violation,) = coalloc.check(instance.replace(jobs=[jobs[0].replace(id="a")]), schedule)
            assert violation.rule == "name"
        """,
    ),
    "formulation": Recipe(
        files={
            "models/oas_last.py": """
                from coalloc.models.oas_mode import build as build_mode, extract


                def build(problem, *, horizon, objective="makespan", lower_bound=0):
                    model = build_mode(problem, horizon=horizon, objective=objective, lower_bound=lower_bound)
                    for (j, _, t), x in model.x.items():
                        if j == 0 and t < 3:
                            x.fix(0)
                    return model
            """
        },
        lines={("models/registry.py", '    "oas": {\n'): '        "last": "coalloc.models.oas_last",\n'},
        # A, the first job, starts in slot 3 or later.
        use="""
            import pyomo.environ as pyo
            model = coalloc.build_model(instance, slot=10.0, formulation="last", horizon=6)
            pyo.SolverFactory("appsi_highs").solve(model)
            assert coalloc.schedule_of_model(model)["A"].start == 30.0
        """,
    ),
    "lower bound": Recipe(
        files={
            "solvers/bounds/three_eighths.py": """
                from coalloc.solvers.method import Bound, Method


                def bound(problem):
                    return 0.375 * sum(job.tasks * modes[0].duration for job, modes in zip(problem.jobs, problem.modes))


                def _run(incumbent):
                    incumbent.prove(bound(incumbent.problem), METHOD.name)


                BOUND = Bound("three-eighths", lambda problem, _: bound(problem))
                METHOD = Method("three eighths", _run, stage="bound", bound=BOUND)
            """
        },
        lines={
            ("solvers/portfolio.py", TOP): "from coalloc.solvers.bounds import three_eighths\n",
            ("solvers/portfolio.py", "METHODS: tuple[Method, ...] = (\n"): "    three_eighths.METHOD,\n",
        },
        # 0.375 (20 + 20 + 30) = 26.25.
        use="""
            assert coalloc.lower_bound(instance, method="three-eighths") == 26.25
            assert "three eighths" in [point.source for point in coalloc.solve(instance).trace]
        """,
    ),
    "search": Recipe(
        files={
            "solvers/search/in_turn.py": """
                from coalloc.problem import Assignment
                from coalloc.solvers.method import Method


                def _run(incumbent):
                    assignments, now = [], 0.0
                    for j, modes in enumerate(incumbent.problem.modes):
                        assignments.append(Assignment(j, now, modes[0]))
                        now = assignments[-1].end
                    incumbent.take(assignments, METHOD.name)


                METHOD = Method("in turn", _run)
            """
        },
        lines={
            ("solvers/portfolio.py", TOP): "from coalloc.solvers.search import in_turn\n",
            ("solvers/portfolio.py", "METHODS: tuple[Method, ...] = (\n"): "    in_turn.METHOD,\n",
        },
        use="""
            found = [point.incumbent for point in coalloc.solve(instance).trace if point.source == "in turn"]
            assert found == [60.0]
        """,
    ),
    "generator": Recipe(
        files={
            "workloads/generators/alike.py": '''
                from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
                from coalloc.workloads.generator import Generator, NumJobs


                class Alike(Generator):
                    """Jobs that are all alike."""

                    jobs: NumJobs = 3

                    def draw(self, rng, name):
                        platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 100.0)])
                        return Instance(platform, [Job(f"J{j}", 1, 10.0) for j in range(self.jobs)], name=name)


                GENERATORS = {"alike": Alike}
            '''
        },
        use="""
            assert len(coalloc.generate("alike", jobs=5).jobs) == 5
        """,
    ),
    "metric": Recipe(
        lines={
            ("measures/metrics.py", "JOB_METRICS: Mapping[str, JobMetric] = {\n"): '    "wait_total": _sum_of(WAIT),\n',
        },
        # A runs at 0, B and C wait 10 s each.
        use="""
            assert coalloc.simulate(instance, "fcfs").metrics["wait_total"] == 20.0
        """,
    ),
    "grouping of jobs": Recipe(
        lines={
            ("measures/groups.py", "By = Literal["): '"first", ',
            ("measures/groups.py", "GROUPINGS: Mapping[By, Grouping] = {\n"): """
                "first": Grouping("s_j = 0.", lambda jobs, *_: Labels([True, False], (jobs.start > 0.0).astype(int))),
            """,
        },
        # A starts at 0, B and C later.
        use="""
            table = coalloc.results.metrics_by(instance, coalloc.simulate(instance, "fcfs").schedule, "first")
            assert [*zip(table["first"], table["jobs"])] == [(True, 1), (False, 2)]
        """,
    ),
    "command": Recipe(
        files={
            "cli/count.py": '''
                import coalloc
                from coalloc.cli.errors import ExitCode
                from coalloc.cli.output import say


                def count(name: str) -> ExitCode:
                    """Print the number of jobs of a bundled instance."""
                    say(str(len(coalloc.example(name).jobs)))
                    return ExitCode.DONE
            '''
        },
        lines={
            ("cli/app.py", TOP): "from coalloc.cli import count\n",
            ("cli/app.py", "app.command(cls=Command)(demo.demo)\n"): "app.command(cls=Command)(count.count)\n",
        },
        use="""
            import contextlib, io
            from coalloc.cli.app import app
            with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
                app(["count", "pas-figure-3.3"])
            assert printed.getvalue() == "3\\n"
        """,
    ),
}


def followed(package: Path) -> str:
    """Follow all recipes in a package, and return a program that uses each and prints what fails."""
    for recipe in RECIPES.values():
        for name, text in recipe.files.items():
            (package / name).write_text(f'"""New."""\n\nfrom __future__ import annotations\n{dedent(text)}')
        for (name, before), line in recipe.lines.items():
            text = (package / name).read_text(encoding="utf-8")
            assert text.count(before) == 1, (name, before)
            (package / name).write_text(text.replace(before, before + dedent(line).lstrip("\n")), encoding="utf-8")
    uses = {name: PREPARE + dedent(recipe.use) for name, recipe in RECIPES.items()}
    return dedent(f"""
        import json, traceback
        failures = {{}}
        for name, use in {uses!r}.items():
            try:
                exec(use, {{}})
            except BaseException:
                failures[name] = traceback.format_exc()
        print(json.dumps(failures))
    """)


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What fails, by recipe."""
    folder = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "coalloc", folder / "coalloc")
    program = followed(folder / "coalloc")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    printed = subprocess.check_output([sys.executable, "-c", program], cwd=folder, env=environment, text=True)
    return dict(json.loads(printed.splitlines()[-1]))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(failures, name):
    assert name not in failures, failures[name]


def rows() -> dict[str, str]:
    """Return the cells "write" and "register in" of each bold row of the page, by what is new."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.*) \| .*? \|$", page, re.MULTILINE))


def test_the_recipes_are_those_of_the_page():
    assert set(rows()) == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_changes_the_files_that_the_page_names(name):
    folders = {f"{Path(file).parent.as_posix()}/" for file in RECIPES[name].files}
    changed = {file for file, _ in RECIPES[name].lines}
    named = re.findall(r"`([\w/]+(?:/|\.pyi?))`", rows()[name])
    assert folders | changed == set(named)
