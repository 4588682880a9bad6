"""Runs that are stopped in every way, and that the table afterwards is that of an undisturbed run."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from coalloc.bench import store as store_module
from coalloc.bench.lock import SUFFIX, held
from coalloc.bench.outcomes import FAILED, is_solved
from coalloc.bench.plan import read_plan
from coalloc.bench.provenance import code_versions
from coalloc.bench.running import Choices, run_plan
from coalloc.bench.store import Store
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError
from tests.bench.spec_files import NUM_SAMPLES, lasting, write_spec
from tests.cli.running import PYTHON
from tests.in_process import InProcess

SMALL = """
[[instances]]
generator = "thesis-oas"
parameters = { jobs = 1 }

[[methods]]
method = "simulate"
options = { policy = ["fcfs", "easy"] }
"""


BEGUN = 150
"""Samples in the store of a run that was stopped."""


def two():
    return LocalWorkers(2)


def table(path, name="trivial"):
    with Store(path, writes=False) as store:
        return [lasting(row) for row in store.rows(name)]


def count(path):
    """Return how many samples a store has, 0 before it is one."""
    try:
        # Who may not write cannot recover what a killed process had written last, and misses it.
        with sqlite3.connect(f"file:{path}?mode=rw", uri=True) as database:
            return database.execute("SELECT count(*) FROM samples").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return write_spec(tmp_path_factory.mktemp("spec"))


@pytest.fixture(scope="module")
def undisturbed(spec):
    """The store of a run that nothing disturbed, all in this process, and its table."""
    path = spec.with_name("undisturbed.sqlite")
    progress = run_plan(read_plan(spec), path, InProcess)
    assert (progress.planned, progress.ran, progress.failed) == (NUM_SAMPLES, NUM_SAMPLES, 0)
    return path, table(path)


@pytest.fixture
def begun(undisturbed, tmp_path):
    """Return the store of a run that has 150 of its 200 samples: all but every fourth."""
    path = tmp_path / "begun.sqlite"
    shutil.copy(undisturbed[0], path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM samples WHERE rowid % 4 = 0")
        database.commit()
        database.execute("VACUUM")
    return path


class Runner:
    """``coalloc bench run`` in a process of its own."""

    def __init__(self, spec: Path, store: Path, jobs: int) -> None:
        command = [*PYTHON, "bench", "run", str(spec), "--store", str(store), "--jobs", str(jobs), "-q"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.store = store

    def wait_for(self, number: int) -> None:
        """Return when so many samples are in the store."""
        deadline = time.monotonic() + 60.0
        while count(self.store) < number:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def workers(self) -> list[psutil.Process]:
        """Return the processes of the runner."""
        return psutil.Process(self.process.pid).children(recursive=True)


def test_an_undisturbed_run_has_every_sample_in_order(spec, undisturbed):
    rows = undisturbed[1]
    samples = read_plan(spec).samples
    assert [(row["instance"], row["label"], row["seed"]) for row in rows] == [
        (sample.given.name, sample.label, sample.seed) for sample in samples
    ]
    assert all(map(is_solved, rows))
    assert {row["versions"]["code"] for row in rows} == {code_versions()["code"]}


def test_nothing_is_computed_twice(spec, undisturbed, tmp_path):
    path = tmp_path / "copy.sqlite"
    shutil.copy(undisturbed[0], path)
    progress = run_plan(read_plan(spec), path, lambda: pytest.fail("nothing is missing"))
    assert (progress.kept, progress.ran, progress.solved) == (NUM_SAMPLES, 0, NUM_SAMPLES)


def test_a_runner_that_is_killed_loses_what_was_running(spec, undisturbed, tmp_path):
    store = tmp_path / "store.sqlite"
    runner = Runner(spec, store, jobs=2)
    runner.wait_for(60)
    workers = runner.workers()
    runner.process.kill()
    runner.process.wait()
    _, alive = psutil.wait_procs(workers, timeout=20.0)
    assert alive == []
    kept = count(store)
    assert 60 <= kept < NUM_SAMPLES
    progress = run_plan(read_plan(spec), store, InProcess)
    assert (progress.kept, progress.ran) == (kept, NUM_SAMPLES - kept)
    assert table(store) == undisturbed[1]


def test_workers_that_are_killed_change_nothing(spec, undisturbed, begun):
    killed = []

    def kill_some(sample, outcome, progress):
        if progress.ran in (5, 25):
            children = psutil.Process().children()
            servers = [child for child in children if "coalloc.bench.server" in child.cmdline()]
            killed.extend(servers[:1])
            for server in servers[:1]:
                server.kill()

    progress = run_plan(read_plan(spec), begun, two, report=kill_some)
    assert len(killed) == 2
    assert progress.ran == NUM_SAMPLES - BEGUN
    assert table(begun) == undisturbed[1]


def test_a_full_disk_is_one_line_and_the_rerun_completes(spec, undisturbed, begun, monkeypatch):
    with closing(sqlite3.connect(begun)) as database:
        pages = database.execute("PRAGMA page_count").fetchone()[0]
    # A page holds some three samples, so that 50 more do not fit into three pages.
    pragmas = store_module.PRAGMAS
    monkeypatch.setattr(store_module, "PRAGMAS", (*pragmas, f"PRAGMA max_page_count = {pages + 3}"))
    with pytest.raises(CoallocError, match="the disk is full; completed samples are safe") as caught:
        run_plan(read_plan(spec), begun, InProcess)
    assert str(caught.value).startswith(f"{begun}: ")
    assert "\n" not in str(caught.value)
    kept = count(begun)
    assert BEGUN < kept < NUM_SAMPLES
    monkeypatch.setattr(store_module, "PRAGMAS", pragmas)
    assert run_plan(read_plan(spec), begun, InProcess).kept == kept
    assert table(begun) == undisturbed[1]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(spec, begun):
    runner = Runner(spec, begun, jobs=1)
    runner.wait_for(BEGUN + 10)
    workers = runner.workers()
    runner.process.send_signal(signal.SIGINT)
    out, err = runner.process.communicate(timeout=30.0)
    assert runner.process.returncode == 0, err
    assert f"of {NUM_SAMPLES} samples ({BEGUN} from the store" in out
    assert err.endswith("interrupted; run the same command again to resume\n")
    assert psutil.wait_procs(workers, timeout=20.0)[1] == []
    assert BEGUN + 10 <= count(begun) < NUM_SAMPLES


def test_a_batch_system_that_ends_the_runner_is_an_interrupt(spec, undisturbed, begun):
    def end(sample, outcome, progress):
        if progress.ran == 10:
            os.kill(os.getpid(), signal.SIGTERM)

    progress = run_plan(read_plan(spec), begun, InProcess, report=end)
    assert (progress.is_interrupted, progress.ran) == (True, 10)
    assert count(begun) == BEGUN + 10
    assert run_plan(read_plan(spec), begun, InProcess).ran == NUM_SAMPLES - BEGUN - 10
    assert table(begun) == undisturbed[1]


def test_a_second_runner_refuses_politely(spec, tmp_path):
    store = tmp_path / "store.sqlite"
    with held(store):
        message = rf"store\.sqlite: is in use by process {os.getpid()} on .*; wait until it ends or use another"
        with pytest.raises(CoallocError, match=message):
            run_plan(read_plan(spec), store, InProcess)
    assert not store.exists()
    assert not store.with_name(store.name + SUFFIX).exists()


def test_samples_of_other_versions_count_only_when_asked_for(tmp_path, monkeypatch):
    spec = write_spec(tmp_path, SMALL, "small.toml")
    store = tmp_path / "store.sqlite"
    run_plan(read_plan(spec), store, InProcess)
    monkeypatch.setattr("coalloc.bench.methods.versions_for", lambda _: {"highspy": "9.9"})
    plan = read_plan(spec)
    assert run_plan(plan, store, lambda: pytest.fail("reused"), Choices(reuse_versions=True)).kept == 2
    assert [row["versions"]["highspy"] for row in table(store, "small")] == [code_versions()["highspy"]] * 2
    assert run_plan(plan, store, InProcess).ran == 2
    assert count(store) == 4


def test_failures_stay_until_they_are_to_be_tried_again(tmp_path):
    plan = read_plan(write_spec(tmp_path, SMALL, "small.toml"))
    store = tmp_path / "store.sqlite"
    run_plan(plan, store, InProcess)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("""UPDATE samples SET outcome = '{"status": "crashed", "time": null, "message": "gone"}'""")
    progress = run_plan(plan, store, lambda: pytest.fail("they are there"))
    assert (progress.kept, progress.failed) == (2, 2)
    progress = run_plan(plan, store, InProcess, Choices(retry=FAILED))
    assert (progress.ran, progress.failed) == (2, 0)
