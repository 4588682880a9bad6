"""The types that users see: code as people write it passes mypy in strict mode, and what is wrong in it does not."""

import runpy
import subprocess
import sys
from pathlib import Path

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


def checked(*paths: Path) -> list[str]:
    """Return what mypy in strict mode, without any plugin, says about files of a user's, one line per mistake."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-pretty"]
    command += [
        "--no-error-summary",
        "--hide-error-context",
        f"--cache-dir={ROOT / '.mypy_cache' / 'users'}",
        *(str(path) for path in paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def test_the_code_of_the_readme_passes_in_strict_mode(tmp_path):
    paths = []
    for number, block in enumerate(block for block in blocks() if block.language == "python"):
        paths.append(tmp_path / f"readme_{number}.py")
        paths[-1].write_text(block.code)
    assert checked(*paths) == []


def test_constructors_take_lists_and_hold_tuples():
    assert checked(CONSTRUCTORS) == []
    held = runpy.run_path(str(CONSTRUCTORS))
    assert {type(held[name]) for name in ("placed", "known", "links")} == {tuple}
    assert held["held"] == ("C1/0", "C1/1")


def test_mistakes_are_seen_before_anything_runs(tmp_path):
    path = tmp_path / "mistakes.py"
    path.write_text(MISTAKES)
    lines = [int(line.split(":")[1]) for line in checked(path)]
    assert lines == list(range(6, 16))
