"""The types that users see: code as people write it passes mypy in strict mode, and what is wrong in it does not."""

import runpy
import subprocess
import sys

import pytest

from tests.pages import ROOT, blocks

CONSTRUCTORS = ROOT / "tests" / "typed" / "constructors.py"

MISTAKES = """
import coalloc
from coalloc import Cluster, Job, NodeGroup

instance = coalloc.example("thesis-oas-1")
coalloc.solve(instance, time_limt=3.0)
coalloc.build_model(instance, formulatoin="count")
coalloc.lower_bound(instance, slott="50%")
coalloc.check(instance, instance)
coalloc.check(instance, coalloc.solve(instance).schedule)
coalloc.io.write_swf(instance, path=3)
coalloc.write_swf(instance, "run.swf")
Cluster("C1", [Job("J1", 1, 1.0)], 125.0)
Cluster("C1", [NodeGroup(1, 1.0)], link_bandwith=125.0)
instance.jobs.append(Job("J1", 1, 1.0))
"""
"""A line with one mistake each, after the blank ones, the imports and the instance."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what mypy in strict mode, without any plugin, says about files of a user's, the lines of each by name."""
    folder = tmp_path_factory.mktemp("of a user")
    code = [block.code for block in blocks() if block.language == "python"]
    files = {"constructors": CONSTRUCTORS.read_text(), "mistakes": MISTAKES}
    files |= {f"readme_{number}": text for number, text in enumerate(code)}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-pretty"]
    command += ["--no-error-summary", "--hide-error-context", f"--cache-dir={ROOT / '.mypy_cache' / 'users'}"]
    command += [str(folder / f"{name}.py") for name in files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    return {name: [line for line in lines if f"{name}.py:" in line] for name in files}


def test_the_code_of_the_readme_passes_in_strict_mode(found):
    of_readme = {name: lines for name, lines in found.items() if name.startswith("readme_")}
    assert of_readme
    assert not any(of_readme.values()), of_readme


def test_constructors_take_lists_and_hold_tuples(found):
    assert found["constructors"] == []
    held = runpy.run_path(str(CONSTRUCTORS))
    assert {type(held[name]) for name in ("placed", "known", "links")} == {tuple}
    assert held["held"] == ("C1/0", "C1/1")


def test_mistakes_are_seen_before_anything_runs(found):
    assert [int(line.split(":")[1]) for line in found["mistakes"]] == list(range(6, 16))
