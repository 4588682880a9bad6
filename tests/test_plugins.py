"""Plugins: the example package is found by its entry points, and what is wrong with others is said in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import coalloc
from coalloc.bench.methods import METHODS
from coalloc.heuristics.registry import ORDERS, POLICIES
from coalloc.objectives import OBJECTIVES
from coalloc.solvers.backends.adapters import ADAPTERS, find_solver
from coalloc.system.plugins import PluginWarning
from coalloc.workloads import generators
from coalloc.workloads.readers import READERS
from tests.cli.running import TINY, run, write

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]

BROKEN = """
from dataclasses import dataclass

from coalloc.extend import Adapter, Generator, Interface

FREE = Adapter("free", (Interface("highs", is_known=False),))
number = 7


class Nothing:
    pass


class Bare:
    scope = "platform"

    def __init__(self, depth):
        pass

    def decide(self, state):
        return []


class Failing:
    "Fails at once."

    scope = "platform"

    def decide(self, state):
        return [state.no_such_thing]


class Poor(Generator):
    "Draws nothing."

    def draw(self, rng, name):
        return rng.no_such_thing


def read(path, platform):
    return open(path).no_such_thing
"""


def install(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """Make the folder of metadata that an installed package has."""
    about = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder of installed packages; all registries look again."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    generators.families.cache_clear()
    for registry in (POLICIES, ORDERS, OBJECTIVES, ADAPTERS, READERS):
        monkeypatch.setattr(registry, "_plugins", None)
        monkeypatch.setattr(registry, "_owners", {})
    monkeypatch.chdir(tmp_path)
    yield folder
    generators.families.cache_clear()
    for module in ("coalloc_example", "broken", "typed"):
        sys.modules.pop(module, None)


@pytest.fixture
def example(site, monkeypatch):
    """Install the example."""
    install(site, PROJECT["name"], PROJECT["entry-points"])
    (site / "coalloc_example.py").write_text((EXAMPLE / "coalloc_example.py").read_text())
    return site


def in_process(site: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Run Python where the packages of a folder are installed."""
    paths = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH"), str(EXAMPLE.parents[1])]))
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_a_policy_of_a_package_is_run_and_listed_with_its_options(example):
    path = write(example / "tiny.json", TINY)
    done = run("simulate", path, "--policy", "last-come", "-p", "allocation=first-fit", "-q", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["options"]["allocation"] == "first-fit"
    assert "last-come" in coalloc.policies()
    listed = " ".join(run("policies").stdout.split())
    assert "last-come Last come, first served: start the job that arrived last, if it fits." in listed
    assert "allocation='fastest-first', scope='platform'" in listed
    wrong = run("simulate", path, "--policy", "last-come", "-p", "allocation=best")
    assert wrong.stderr == (
        "coalloc: allocation of policy 'last-come' must be one of fastest-first, first-fit, got 'best'\n"
    )


@pytest.mark.parametrize(
    ("hint", "wanted"), [("int", "an integer"), ("float", "a number"), ("bool", "one of False, True")]
)
def test_an_option_of_a_policy_of_a_package_has_the_type_of_its_argument(site, hint, wanted):
    install(site, "typed", {"coalloc.policies": {"typed": "typed:Typed"}})
    (site / "typed.py").write_text(
        f"class Typed:\n    scope = 'platform'\n    def __init__(self, given: {hint} = 1): ...\n"
        "    def decide(self, state): ...\n"
    )
    refused = run("simulate", "example:thesis-oas-1", "--policy", "typed", "-p", "given=x")
    assert refused.stderr == f"coalloc: given of policy 'typed' must be {wanted}, got 'x'\n"


def test_a_broker_of_a_package_is_run_with_its_options(example):
    path = write(example / "tiny.json", TINY)
    done = run("simulate", path, "--policy", "shortest-queue", "-p", "queue_order=spt", "-q", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["options"]["queue_order"] == "spt"


def test_a_queue_order_of_a_package_is_used_with_its_options(example):
    path = write(example / "tiny.json", TINY)
    for order in ("least-usage", '{"order": "least-usage", "half_life": 60.0}'):
        done = run("simulate", path, "-p", f"queue_order={order}", "-q", "--json")
        assert done.exit_code == 0, done.stderr
    wrong = run("simulate", path, "-p", 'queue_order={"order": "least-use"}')
    assert "must have one of multifactor, least-usage as its order, got 'least-use'" in wrong.stderr


def test_samples_of_a_benchmark_hang_on_the_version_of_a_plugin(example):
    # Keys of samples are made of these versions.
    of_theirs, of_ours = (METHODS["simulate"].versions({"policy": name}) for name in ("last-come", "easy"))
    assert of_theirs == of_ours | {"plugins": "coalloc-example 0.1.0"}
    assert METHODS["solve"].versions({"objective": "late-jobs"})["plugins"] == "coalloc-example 0.1.0"


def test_objective_generator_and_reader_of_a_package_are_used_in_the_shell(example):
    made = run("generate", "equal-jobs", "-p", "jobs=3", "-o", "equal.json", "-q")
    assert made.exit_code == 0, made.stderr
    solved = run("solve", "equal.json", "--objective", "late-jobs", "--slot", "100%", "-q")
    assert "(late-jobs)" in solved.stdout, solved.stderr
    write(Path("jobs.csv"), "id,tasks,seconds\nJ1,2,60\n")
    done = run("convert", "--from", "job-list", "jobs.csv", "--processors", 4, "-o", "read.json", "-q")
    assert done.exit_code == 0, done.stderr
    assert coalloc.read_instance("read.json").jobs[0].tasks == 2
    for wrong, sentence in ((["jobs.csv"], "a job list has no platform"), (["no.csv"], "cannot be read: no such file")):
        refused = run("convert", "--from", "job-list", *wrong)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert sentence in refused.stderr
    unknown = run("convert", "--from", "pbs", "jobs.csv")
    assert "must be one of instance, swf, sacct, irmasim, job-list, got 'pbs'" in unknown.stderr


def test_the_tests_of_the_example_pass(example):
    done = in_process(example, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="samples run in child processes of Linux and macOS")
def test_child_processes_of_a_benchmark_find_a_policy_of_a_package(example):
    method = '[[methods]]\nmethod = "simulate"\noptions = { policy = "last-come" }\n'
    write(Path("spec.toml"), f'[[instances]]\ngenerator = "equal-jobs"\n{method}')
    done = in_process(example, "-m", "coalloc", "bench", "run", "spec.toml", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 solved" in done.stdout


@pytest.mark.parametrize(
    ("group", "name", "home", "sentence"),
    [
        ("policies", "mine", "no_such_module:Mine", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("policies", "mine", "broken:Missing", "AttributeError: module 'broken' has no attribute 'Missing'"),
        ("policies", "mine", "broken:number", "must be a class, got 7"),
        ("policies", "mine", "broken:Nothing", "is no policy: it must have scope and decide(state), or "),
        ("policies", "mine", "broken:Bare", "each option must have a default, got none for depth"),
        ("policies", "easy", "broken:Failing", "the name is taken"),
        ("policies", "a,b", "broken:Failing", "the name must consist of letters, digits, - and _"),
        ("brokers", "mine", "broken:Failing", "is no broker: it must have "),
        ("queue_orders", "mine", "broken:Nothing", "is no queue order: it must have key(state) and changes_every"),
        ("objectives", "mine", "broken:Nothing", "must be a RegularObjective, got "),
        ("generators", "mine", "broken:Nothing", "must be a subclass of Generator, got "),
        ("solvers", "mine", "broken:FREE", "its name 'free' is taken, or is not that of the entry point"),
        ("readers", "mine", "broken:number", "must be a function of a path and a platform, got 7"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_named_and_skipped(group, name, home, sentence, site):
    (site / "broken.py").write_text(BROKEN)
    install(site, "their-package", {f"coalloc.{group}": {name: home}})
    registries = {"queue_orders": ORDERS, "objectives": OBJECTIVES, "solvers": ADAPTERS, "readers": READERS}
    registry = generators.families() if group == "generators" else registries.get(group, POLICIES)
    expected = f"plugin '{name}' (coalloc.{group}) of their-package 0.1.0 is skipped: {sentence}"
    with pytest.warns(PluginWarning, match=re.escape(expected)) as warned:
        assert list(registry) == list(registry.builtin)
    assert len(warned) == 1


def test_the_shell_names_a_broken_plugin_in_one_line_and_goes_on(site):
    install(site, "their-package", {"coalloc.policies": {"mine": "no_such_module:Mine"}})
    listed = run("policies")
    assert listed.exit_code == 0
    assert listed.stderr.startswith("coalloc: plugin 'mine' (coalloc.policies) of their-package 0.1.0 is skipped: ")
    assert listed.stderr.count("\n") == 1
    assert "easy" in listed.stdout


@pytest.mark.parametrize(
    ("group", "home", "arguments"),
    [
        ("policies", "broken:Failing", ["simulate", "example:pas-figure-3.3", "--policy", "failing", "-q"]),
        ("generators", "broken:Poor", ["generate", "failing"]),
        ("readers", "broken:read", ["convert", "--from", "failing", "jobs.csv"]),
    ],
)
def test_what_a_plugin_raises_is_an_error_of_the_plugin(group, home, arguments, site):
    (site / "broken.py").write_text(BROKEN)
    write(Path("jobs.csv"), "id\n")
    install(site, "their-package", {f"coalloc.{group}": {"failing": home}})
    done = run(*arguments)
    assert done.exit_code == 2
    assert re.match(
        r"coalloc: failing raised AttributeError: .*no_such_thing.* \(broken\.py, line \d+[;)]", done.stderr
    )
    assert done.stderr.count("\n") == 1


def test_an_adapter_of_a_package_is_a_solver(site):
    (site / "broken.py").write_text(BROKEN)
    install(site, "their-package", {"coalloc.solvers": {"free": "broken:FREE"}})
    assert find_solver("free").interface.name == "highs"
    assert "free" in run("solvers").stdout
    result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0, formulation="mode", solver="free")
    assert (result.status, result.objective) == ("optimal", 500.0)


def test_entry_points_are_read_where_a_name_is_not_built_in():
    script = (
        "import importlib.metadata as m; seen = []; real = m.entry_points\n"
        "m.entry_points = lambda **given: seen.append(given['group'][:7]) or real(**given)\n"
        "import coalloc, coalloc.cli.app\n"
        "coalloc.simulate(coalloc.example('pas-figure-3.3'), 'easy')\n"
        "coalloc.solve(coalloc.example('pas-figure-3.3'), slot=50.0, objective='makespan')\n"
        "print('coalloc' in seen); coalloc.policies(); print('coalloc' in seen)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "True"]
