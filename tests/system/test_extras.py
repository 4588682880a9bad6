"""Without an extra: one line that names it, before any work begins, and no file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import coalloc
from coalloc.solvers.backends import cpsat, pumpkin
from coalloc.system import extras
from coalloc.system.extras import MissingLibrary
from tests.cli.running import run

WEEK = "example:thesis-oas-1"
PICTURES = [
    (["solve", WEEK, "--plot", "g.png"], "g.png needs matplotlib"),
    (["solve", WEEK, "--progress-plot", "g.svg"], "g.svg needs matplotlib"),
    (["simulate", WEEK, "--plot", "g.html"], "g.html needs matplotlib"),
    (["simulate", "example:pcbe-8", "--power", "g.png"], "g.png needs matplotlib"),
    (["simulate", WEEK, "--series-plot", "g.pdf"], "g.pdf needs matplotlib"),
    (["compare", WEEK, "--plot", "g.png", "-o", "t.csv"], "g.png needs matplotlib"),
    (["study", "slot-size", WEEK, "--plot", "g.png"], "g.png needs matplotlib"),
    (["study", "front", "example:pcbe-8", "--plot", "g.png"], "g.png needs matplotlib"),
    (["study", "grid", WEEK, "--plot", "figures"], "--plot needs matplotlib"),
    (["audit", "log.swf", "--plot", "g.png"], "g.png needs matplotlib"),
    (["audit", "log.swf", "--page", "g.html"], "--page needs matplotlib"),
    (["merge", "grid.toml", "-o", "weeks"], "--output needs matplotlib"),
    (["bench", "report", "store.sqlite"], "coalloc bench report needs matplotlib"),
    (["demo"], "coalloc-demo/gantt.png needs matplotlib"),
]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have none of the optional libraries."""
    monkeypatch.setattr(extras, "find_spec", lambda _: None)


@pytest.mark.parametrize(("arguments", "sentence"), PICTURES, ids=lambda part: " ".join(part[:2]) if part else "")
@pytest.mark.usefixtures("bare")
def test_a_picture_without_the_extra_is_one_line(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr == f"coalloc: {sentence}: pip install 'coalloc[plot]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("bare")
def test_a_figure_without_the_extra_names_it():
    instance = coalloc.example("pas-figure-3.3")
    schedule = coalloc.simulate(instance, "fcfs").schedule
    with pytest.raises(MissingLibrary, match=r"^a figure needs matplotlib: pip install 'coalloc\[plot\]'$"):
        coalloc.gantt(instance, schedule)


@pytest.mark.usefixtures("bare")
def test_an_environment_without_the_extra_names_it():
    instance = coalloc.example("pas-figure-3.3")
    with pytest.raises(MissingLibrary, match=r"^environment needs gymnasium: pip install 'coalloc\[rl\]'$"):
        coalloc.extend.environment(instance)


@pytest.mark.usefixtures("bare")
def test_without_child_solvers_a_proof_is_found_and_they_say_what_they_need():
    # Both jobs take one of two nodes for 10 s: the makespan is 10 s.
    assert not cpsat.is_installed()
    assert not pumpkin.is_installed()
    nodes = coalloc.Platform([coalloc.Cluster("C", [coalloc.NodeGroup(2, 1.0)], 100.0)])
    jobs = [coalloc.Job(name, tasks=1, base_time=10.0) for name in "AB"]
    result = coalloc.solve(coalloc.Instance(nodes, jobs), slot=5.0)
    assert (result.status, result.objective) == ("optimal", 10.0)
    with pytest.raises(MissingLibrary, match=r"^write_proof needs pumpkin-solver: pip install 'pumpkin-solver'$"):
        coalloc.write_proof(result, Path("proof.drcp"))
    listed = run("solvers").stdout
    assert "cp-sat     not usable: it is not installed; it needs `pip install 'coalloc[cpsat]'`" in listed
    assert "pumpkin    not usable: it is not installed; it needs `pip install 'pumpkin-solver'`" in listed


def test_pictures_are_loaded_when_they_are_drawn():
    script = "import sys, coalloc, coalloc.cli.app; print({'matplotlib', 'plotly', 'pandas', 'pyomo'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
