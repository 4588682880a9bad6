"""A benchmark on Slurm, which needs dask-jobqueue and no Slurm: the job script, and a run with a made-up sbatch."""

from __future__ import annotations

import os
import shlex
import signal
import sys

import pytest
import slurm

from coalloc.bench.store import Store
from coalloc.system.extras import is_installed

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not is_installed("dask_jobqueue"), reason="the extra dask is not installed"),
]

OPTIONS = ("--queue", "normal", "--account", "project", "--hours", "2", "--threads", "4", "--memory", "6000")


@pytest.fixture(autouse=True, scope="module")
def interrupts():
    """Give Ctrl-C back: dask_jobqueue takes it for itself when it is imported."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def script(capsys):
    """Return the lines of a job script."""
    assert slurm.main(["spec.toml", *OPTIONS, "--directive=--constraint=cpu", "--show"]) == 0
    return capsys.readouterr().out.strip().splitlines()


def test_a_job_asks_slurm_for_what_the_options_say(script):
    asked = {line.removeprefix("#SBATCH ") for line in script if line.startswith("#SBATCH")}
    # 6000 MB are 5.6 GiB, which Slurm gets as whole gigabytes.
    wanted = {"-p normal", "-A project", "-t 2:00:00", "--constraint=cpu", "-n 1", "--cpus-per-task=4", "--mem=6G"}
    assert wanted <= asked


def test_a_job_is_one_worker_of_this_python_that_runs_one_sample_at_a_time(script):
    from distributed.cli.dask_worker import main

    assert "export PYTHONSAFEPATH=1" in script
    program, *words = shlex.split(script[-1])
    assert program == sys.executable
    given = main.make_context("dask worker", words[2:]).params  # after -m distributed.cli.dask_worker
    assert given["nthreads"] == 1
    assert given["scheduler"].startswith("tcp://")


def test_what_the_script_does_not_know_is_for_the_runner():
    options, others = slurm._parser().parse_known_args(["spec.toml", "--store", "a.sqlite", "--retry-failed"])
    assert (options.spec, others) == ("spec.toml", ["--store", "a.sqlite", "--retry-failed"])


SBATCH = """#!/bin/sh
cp "$1" "{folder}/script.sh"
setsid sh "{folder}/script.sh" > "{folder}/job.log" 2>&1 < /dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo "$@" >> "{folder}/cancelled"
for job in "$@"; do kill -- "-$job"; done 2> /dev/null
exit 0
"""


@pytest.fixture
def made_up_slurm(tmp_path, monkeypatch):
    """Put a made-up sbatch and scancel on the path, which run a job here and kill it; return their folder."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (commands / name).write_text(text.format(folder=tmp_path))
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_benchmark_runs_on_jobs_that_sbatch_starts(made_up_slurm, capfd):
    folder = made_up_slurm
    (folder / "spec.toml").write_text(
        '[limits]\ntime = 100.0\n[[instances]]\ngenerator = "thesis-oas"\nparameters = { jobs = 2 }\n'
        '[[methods]]\nmethod = "simulate"\noptions = { policy = ["fcfs", "easy"] }\n'
    )
    store = folder / "store.sqlite"
    asked = ["--workers", "1", "--queue", "normal", "--hours", "1", "--memory", "3000"]
    assert slurm.main([str(folder / "spec.toml"), *asked, "--store", str(store)]) == 0
    with Store(store, writes=False) as kept:
        rows = kept.rows("spec")
    assert [row["status"] for row in rows] == ["done", "done"]
    assert "#SBATCH -p normal" in (folder / "script.sh").read_text()
    assert (folder / "cancelled").read_text().strip()  # the job does not outlive the run
