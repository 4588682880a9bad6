"""A benchmark on a real Dask scheduler with two worker processes, one of which is killed in the middle."""

import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import psutil
import pytest

from coalloc.bench.cluster import ClusterWorkers
from coalloc.bench.plan import read_plan
from coalloc.bench.running import run_plan
from coalloc.bench.store import Store
from coalloc.instance import CoallocError
from tests.bench.spec_files import NUM_SAMPLES, lasting, write_spec
from tests.in_process import InProcess

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="the extra dask is not installed")

BEGUN = 120
START = "from distributed.cli.{0} import main; main()"


def free_port():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(program, *arguments, folder):
    command = [sys.executable, "-c", START.format(program), *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return the address of a scheduler, and its two workers; the last test kills one."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", folder=tmp_path)
    options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", tmp_path)
    workers = [start("dask_worker", address, *options, folder=tmp_path) for _ in range(2)]
    wait_for_workers(address, 2)
    yield address, workers
    for process in (*workers, scheduler):
        process.terminate()
        process.wait()


def wait_for_workers(address, number):
    import distributed

    with distributed.Client(address, timeout=60) as client:
        client.wait_for_workers(number, timeout=60)


def test_what_runs_on_the_cluster_ends_when_the_runner_is_interrupted(cluster, tmp_path):
    address, workers = cluster
    plan = read_plan(write_spec(tmp_path))

    def interrupt(sample, outcome, progress):
        if progress.ran == 5:
            raise KeyboardInterrupt

    progress = run_plan(plan, tmp_path / "store.sqlite", lambda: ClusterWorkers(address), report=interrupt)
    assert (progress.is_interrupted, progress.ran) == (True, 5)
    deadline = time.monotonic() + 20.0
    while any(psutil.Process(worker.pid).children() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr("coalloc.bench.cluster.CONNECT_SECONDS", 0.5)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(CoallocError, match=f"--scheduler: there is no Dask scheduler at {address}"):
        ClusterWorkers(address)
    with pytest.raises(CoallocError, match="--scheduler: there is no Dask scheduler at nonsense://x"):
        ClusterWorkers("nonsense://x")


class Lost:
    """A future whose answer was lost with its worker, and is computed again when it is asked for."""

    status = "lost"

    def result(self):
        return {"status": "done"}


class Cancelled:
    """A future of a scheduler that is gone."""

    status = "cancelled"

    def result(self):
        from distributed.client import FutureCancelledError

        raise FutureCancelledError("key", "scheduler-connection-lost")


def test_an_answer_that_is_lost_is_waited_for_and_a_lost_scheduler_is_one_line():
    import distributed

    runner = object.__new__(ClusterWorkers)
    runner._distributed = distributed
    assert runner._answer(Lost()) == {"status": "done"}
    with pytest.raises(CoallocError, match="the scheduler has stopped; start it and run the same command again"):
        runner._answer(Cancelled())


def undisturbed_and_begun(plan, folder):
    """Return the store of a run that nothing disturbed, and that of one that has 120 of its 200 samples."""
    undisturbed, begun = folder / "undisturbed.sqlite", folder / "begun.sqlite"
    run_plan(plan, undisturbed, InProcess)
    shutil.copy(undisturbed, begun)
    with closing(sqlite3.connect(begun)) as database, database:
        database.execute("DELETE FROM samples WHERE rowid % 5 > 2")
    return undisturbed, begun


def rows_of(path):
    with Store(path, writes=False) as store:
        return [lasting(row) for row in store.rows("trivial")]


def test_a_worker_that_is_killed_changes_nothing(cluster, tmp_path):
    address, workers = cluster
    plan = read_plan(write_spec(tmp_path))
    undisturbed, store = undisturbed_and_begun(plan, tmp_path)
    parents = {}

    def kill_one(sample, outcome, progress):
        if progress.ran == 20:
            parents.update({child.pid: child for child in psutil.Process(workers[0].pid).children(recursive=True)})
            workers[0].kill()

    progress = run_plan(plan, store, lambda: ClusterWorkers(address), report=kill_one)
    assert (progress.kept, progress.ran, progress.failed) == (BEGUN, NUM_SAMPLES - BEGUN, 0)
    assert parents, "the worker had a process for its samples"
    assert psutil.wait_procs(list(parents.values()), timeout=20.0)[1] == []
    assert rows_of(store) == rows_of(undisturbed)
