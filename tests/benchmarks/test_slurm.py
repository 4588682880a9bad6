"""The job script of a benchmark on Slurm, which needs dask-jobqueue and no Slurm."""

from __future__ import annotations

import shlex
import sys

import pytest
import slurm

pytest.importorskip("dask_jobqueue", reason="the extra dask is not installed")

OPTIONS = ("--queue", "normal", "--account", "project", "--hours", "2", "--threads", "4", "--memory", "6000")


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

    program, *words = shlex.split(script[-1])
    assert program == sys.executable
    given = main.make_context("dask worker", words[2:]).params  # after -m distributed.cli.dask_worker
    assert given["nthreads"] == 1
    assert given["scheduler"].startswith("tcp://")


def test_what_the_script_does_not_know_is_for_the_runner():
    options, others = slurm._parser().parse_known_args(["spec.toml", "--store", "a.sqlite", "--retry-failed"])
    assert (options.spec, others) == ("spec.toml", ["--store", "a.sqlite", "--retry-failed"])
