"""Every child process takes its modules from where it should, and no library writes into what it or the shell says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coalloc.solvers.backends import pumpkin
from tests.cli.running import TINY, write
from tests.cli.test_audit import LIMITS, SACCT
from tests.cli.test_bench import SPEC

COMMAND = [sys.executable, "-P", "-m", "coalloc"]
"""The shell as its script starts it: the current folder is not searched."""

CHATTY = """
import importlib, os, sys
os.write(1, b"HiGHS says hello\\n")
here = os.path.dirname(os.path.dirname(__file__))
sys.path[:] = [folder for folder in sys.path if folder != here]
del sys.modules["highspy"]
importlib.import_module("highspy")
"""
"""In the place of highspy: it writes a line, and is itself from then on."""

ASK = """
import json, os, sys, time
import coalloc
from coalloc.problem import discretise
from coalloc.solvers.backends import cpsat, pumpkin
from coalloc.solvers.backends.worker import Worker
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.list_schedules import best_list_schedule
from coalloc.objectives import Criterion
from coalloc.solvers.search.beam_worker import start_worker

sys.path.insert(0, os.getcwd())  # as --policy module:Class does
problem, answers, notes = discretise(coalloc.example("thesis-oas-1"), 50_000.0), {}, []
before = os.fstat(1)

with Worker("of_the_user", notes.append) as worker:
    answers["of the user"] = list(worker.messages({}, 60.0))
prices = FeasibleSets(problem)
prices.bound()
deadline = time.monotonic() + 60.0
with start_worker(problem, lower_bound=0.0, dual_prices=prices.dual_prices, seed=0, note=notes.append) as worker:
    while not notes and "beam" not in answers and time.monotonic() < deadline:
        for message in worker.news():
            answers["beam"] = len(message["starts"])
one_node = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(1, 1.0)], 1.0)])
two_jobs = coalloc.Instance(one_node, [coalloc.Job("J1", 1, 10.0), coalloc.Job("J2", 1, 10.0)])
answers["Pumpkin"] = pumpkin.status_of(pumpkin.Question(discretise(two_jobs, 10.0), 0, 1), time_limit=60.0)
if cpsat.is_installed():
    first, bounds = best_list_schedule(problem), []
    cpsat.solve_cpsat(
        Criterion.of(problem, "makespan"), first, lower_bound=0.0, time_limit=60.0, on_bound=bounds.append
    )
    answers["CP-SAT"] = bool(bounds)
many = coalloc.generate("thesis-oas", seed=2, jobs=24)
result = coalloc.solve(many, slot="15%", time_limit=2.0, threads=2)
notes += [point.source for point in result.trace if ": " in point.source]
answers["is where it was"] = os.path.samestat(before, os.fstat(1))
print(json.dumps([answers, notes]))
"""
"""A program of the user's that uses every kind of process of a solve, in the current folder and its own."""


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    """A folder with modules that nothing of ours may import, and one of the user's."""
    folder = tmp_path / "decoys"
    (folder / "coalloc").mkdir(parents=True)
    for path in (folder / "coalloc" / "__init__.py", folder / "json.py", folder / "numpy.py"):
        path.write_text("raise SystemExit(f'imported the decoy {__file__}')\n")
    (folder / "of_the_user.py").write_text(
        "from coalloc.solvers.backends.asker import Asker\n"
        "def main(requests, answers):\n"
        "    Asker(requests, answers).write({'status': 'here'})\n"
    )
    return folder


@pytest.fixture
def chatty(tmp_path: Path) -> dict[str, str]:
    """An environment in which highspy writes a line on descriptor 1 of every process that imports it."""
    folder = tmp_path / "chatty"
    (folder / "highspy").mkdir(parents=True)
    (folder / "highspy" / "__init__.py").write_text(CHATTY)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def ran(command: list[object], cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.extras
def test_every_process_of_a_solve_has_its_modules_and_its_messages_to_itself(
    decoys: Path, chatty: dict[str, str], tmp_path: Path
) -> None:
    done = ran([sys.executable, "-P", write(tmp_path / "ask.py", ASK)], decoys, chatty)
    assert done.returncode == 0, done.stderr
    # A library call moves no descriptor, so the lines of highspy are on the user's standard output. Pumpkin is asked
    # for two jobs of one slot on one node that end within one slot.
    *banner, answer = done.stdout.splitlines()
    answers, notes = json.loads(answer)
    assert "HiGHS says hello" in banner
    assert notes == []
    assert answers.pop("CP-SAT", True)
    verdict = "INFEASIBLE" if pumpkin.is_installed() else "UNKNOWN"
    assert answers == {"of the user": [{"status": "here"}], "beam": 8, "Pumpkin": verdict, "is where it was": True}


def test_the_shell_says_on_standard_output_only_what_it_says(chatty: dict[str, str], tmp_path: Path) -> None:
    instance = write(tmp_path / "tiny.json", TINY)
    shown = ran([*COMMAND, "solve", instance, "-q", "--json"], tmp_path, chatty)
    assert json.loads(shown.stdout)["objective"] == 200.0
    assert "HiGHS says hello" in shown.stderr.splitlines()
    for output in ("-", "/dev/stdout", "/dev/fd/1"):
        written = ran([*COMMAND, "solve", instance, "-q", "-o", output], tmp_path, chatty)
        assert json.loads(written.stdout)["format"] == "coalloc-schedule"


def test_the_shell_says_nothing_on_standard_output_where_standard_error_is_closed(
    chatty: dict[str, str], tmp_path: Path
) -> None:
    instance = write(tmp_path / "tiny.json", TINY)
    command = " ".join([*COMMAND, "solve", str(instance), "-q", "-o", "-", "2>&-"])
    done = ran(["bash", "-c", command], tmp_path, chatty)
    assert json.loads(done.stdout)["format"] == "coalloc-schedule"


def test_an_audit_and_a_benchmark_run_beside_decoys(decoys: Path) -> None:
    write(decoys / "october.txt", SACCT)
    write(decoys / "small.toml", SPEC)
    audit = ran([*COMMAND, "audit", "october.txt", "--processors", 2, *LIMITS, "--json"], decoys)
    assert audit.returncode == 0, audit.stderr
    assert json.loads(audit.stdout)["period"]["wait_as_it_was"] == 35.0
    bench = ran([*COMMAND, "bench", "run", "small.toml", "-q"], decoys)
    assert (bench.returncode, bench.stdout.rpartition(": ")[2]) == (0, "6 solved, 0 failed\n"), bench.stderr
