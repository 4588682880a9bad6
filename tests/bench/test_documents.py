"""What the manual and the folder of benchmarks show works as it stands there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coalloc.bench.methods import METHODS, faults_of_options
from coalloc.bench.outcomes import FAILED, SOLVED
from coalloc.bench.plan import read_plan
from coalloc.bench.spec import parsed
from coalloc.bench.summary import DEFAULT_TIME_LIMIT
from coalloc.system.extras import is_installed
from coalloc.workloads.examples import example

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "bench.md").read_text()


def test_the_specification_of_the_manual_has_no_fault():
    (text,) = re.findall(r"```toml\n(.*?)```", MANUAL, re.DOTALL)
    spec, faults = parsed(tomllib.loads(text), text, Path("slots.toml"))
    assert faults == []
    assert len(spec.sources) == 4
    assert {method.method for method in spec.methods.values()} == set(METHODS)
    instance = example("thesis-oas-1")
    for method in spec.methods.values():
        for _, options in method.variants():
            assert faults_of_options(method.method, options, instance) == []


def test_the_manual_names_every_status():
    for status in (*SOLVED, *FAILED):
        assert f"`{status}`" in MANUAL


def test_the_limit_that_unsolved_samples_count_is_the_default_of_the_functions():
    limits = {name: method.time_limit for name, method in METHODS.items()}
    assert limits == {"solve": DEFAULT_TIME_LIMIT, "lower_bound": DEFAULT_TIME_LIMIT, "simulate": None}


SPECIFICATIONS = sorted({*(ROOT / "benchmarks").glob("*.toml")} - {ROOT / "benchmarks" / "sources.toml"})


@pytest.mark.parametrize("path", SPECIFICATIONS, ids=lambda path: path.name)
def test_every_committed_specification_can_be_run(path):
    assert read_plan(path).samples


@pytest.mark.extras
@pytest.mark.skipif(not is_installed("dask_jobqueue"), reason="the extra dask is not installed")
def test_the_slurm_script_shows_its_job():
    command = [
        sys.executable,
        ROOT / "benchmarks" / "slurm.py",
        "quick.toml",
        "--queue",
        "short",
        "--hours",
        "2",
        "--show",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert {"#SBATCH -p short", "#SBATCH -t 2:00:00", "#SBATCH --cpus-per-task=1"} <= set(shown.splitlines())
    assert "dask_worker tcp://" in shown
