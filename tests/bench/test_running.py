"""Runs that are stopped in every way, and that the table afterwards is that of an undisturbed run."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from coalloc.bench import store as store_module
from coalloc.bench.lock import SUFFIX, held
from coalloc.bench.outcomes import is_solved
from coalloc.bench.plan import read_plan
from coalloc.bench.provenance import code_versions
from coalloc.bench.running import Choices, run_plan
from coalloc.bench.store import Store
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError
from tests.bench.spec_files import NUM_SAMPLES, lasting, write_spec
from tests.cli.running import PYTHON

SMALL = """
[[instances]]
generator = "thesis-oas"
parameters = { jobs = 1 }

[[methods]]
method = "simulate"
options = { policy = ["fcfs", "easy"] }
"""


def two():
    return LocalWorkers(2)


def table(path, name="trivial"):
    with Store(path, writes=False) as store:
        return [lasting(row) for row in store.rows(name)]


def count(path):
    """Return how many samples a store has, 0 before it is one."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM samples").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return write_spec(tmp_path_factory.mktemp("spec"))


@pytest.fixture(scope="module")
def undisturbed(spec):
    """The store of a run that nothing disturbed, and its table."""
    path = spec.with_name("undisturbed.sqlite")
    progress = run_plan(read_plan(spec), path, two)
    assert (progress.planned, progress.ran, progress.failed) == (NUM_SAMPLES, NUM_SAMPLES, 0)
    return path, table(path)


@pytest.fixture
def halfway(undisturbed, tmp_path):
    """Return a store that has every second sample of the undisturbed run."""
    path = tmp_path / "halfway.sqlite"
    shutil.copy(undisturbed[0], path)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM samples WHERE rowid % 2 = 0")
    database.close()
    return path


class Runner:
    """``coalloc bench run`` in a process of its own."""

    def __init__(self, spec: Path, store: Path) -> None:
        command = [*PYTHON, "bench", "run", str(spec), "--store", str(store), "--jobs", "2"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
        )
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


def hear_ctrl_c() -> None:
    """Undo what a shell does to what it starts in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    runner = Runner(spec, store)
    runner.wait_for(60)
    workers = runner.workers()
    runner.process.kill()
    runner.process.wait()
    _, alive = psutil.wait_procs(workers, timeout=20.0)
    assert alive == []
    kept = count(store)
    assert 60 <= kept < NUM_SAMPLES
    progress = run_plan(read_plan(spec), store, two)
    assert (progress.kept, progress.ran) == (kept, NUM_SAMPLES - kept)
    assert table(store) == undisturbed[1]


def test_workers_that_are_killed_change_nothing(spec, undisturbed, halfway):
    killed = []

    def kill_some(sample, outcome, progress):
        if progress.ran % 30 == 1:
            children = psutil.Process().children()
            servers = [child for child in children if "coalloc.bench.server" in child.cmdline()]
            killed.extend(servers[:1])
            for server in servers[:1]:
                server.kill()

    progress = run_plan(read_plan(spec), halfway, two, report=kill_some)
    assert len(killed) >= 3
    assert progress.ran == NUM_SAMPLES // 2
    assert table(halfway) == undisturbed[1]


def test_a_full_disk_is_one_line_and_the_rerun_completes(spec, undisturbed, tmp_path, monkeypatch):
    store = tmp_path / "store.sqlite"
    pragmas = store_module.PRAGMAS
    # The plan of 200 samples takes 40 pages of 4 kB and the samples 90 more: the disk is full in their middle.
    monkeypatch.setattr(store_module, "PRAGMAS", (*pragmas, "PRAGMA max_page_count = 80"))
    with pytest.raises(CoallocError, match="the disk is full; what was kept before is safe") as caught:
        run_plan(read_plan(spec), store, two)
    assert str(caught.value).startswith(f"{store}: ")
    assert "\n" not in str(caught.value)
    kept = count(store)
    assert 0 < kept < NUM_SAMPLES
    monkeypatch.setattr(store_module, "PRAGMAS", pragmas)
    assert run_plan(read_plan(spec), store, two).kept == kept
    assert table(store) == undisturbed[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(spec, undisturbed, halfway, number):
    runner = Runner(spec, halfway)
    runner.wait_for(NUM_SAMPLES // 2 + 10)
    workers = runner.workers()
    runner.process.send_signal(number)
    out, err = runner.process.communicate(timeout=30.0)
    assert runner.process.returncode == 0, err
    assert f"of {NUM_SAMPLES} samples ({NUM_SAMPLES // 2} from before" in out
    assert err.endswith("interrupted; run the same command again to go on\n")
    assert psutil.wait_procs(workers, timeout=20.0)[1] == []
    assert NUM_SAMPLES // 2 + 10 <= count(halfway) < NUM_SAMPLES
    run_plan(read_plan(spec), halfway, two)
    assert table(halfway) == undisturbed[1]


def test_a_second_runner_refuses_politely(spec, tmp_path):
    store = tmp_path / "store.sqlite"
    with held(store):
        message = rf"store\.sqlite: is in use by process {os.getpid()} on .*; wait until it has ended, or take another"
        with pytest.raises(CoallocError, match=message):
            run_plan(read_plan(spec), store, two)
    assert not store.exists()
    assert not store.with_name(store.name + SUFFIX).exists()


def test_samples_of_other_versions_count_only_when_asked_for(tmp_path, monkeypatch):
    spec = write_spec(tmp_path, SMALL, "small.toml")
    store = tmp_path / "store.sqlite"
    run_plan(read_plan(spec), store, two)
    others = code_versions() | {"highspy": "9.9"}
    monkeypatch.setattr("coalloc.bench.plan.code_versions", lambda: others)
    plan = read_plan(spec)
    assert run_plan(plan, store, lambda: pytest.fail("reused"), Choices(reuse_versions=True)).kept == 2
    assert [row["versions"]["highspy"] for row in table(store, "small")] == [code_versions()["highspy"]] * 2
    assert run_plan(plan, store, two).ran == 2
    assert count(store) == 4


def test_failures_stay_until_they_are_to_be_tried_again(tmp_path):
    text = SMALL.replace('"fcfs", "easy"', '"fcfs"') + "[limits]\nmemory = 1.0\n"
    plan = read_plan(write_spec(tmp_path, text, "small.toml"))
    store = tmp_path / "store.sqlite"
    told = []
    progress = run_plan(plan, store, two, report=lambda _, outcome, __: told.append(outcome["status"]))
    # A process that has loaded the library has more than 1 MB; whether it is caught at that depends on its speed.
    assert progress.failed == told.count("memory")
    with sqlite3.connect(store) as database:
        database.execute("""UPDATE samples SET outcome = '{"status": "crashed", "time": null, "message": "gone"}'""")
    database.close()
    assert run_plan(plan, store, lambda: pytest.fail("it is there")).failed == 1
    assert run_plan(plan, store, two, Choices(retry_failed=True)).ran == 1
