"""Samples in processes of their own: what comes back, and that what must die dies."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import psutil
import pytest

from coalloc.bench import workers as workers_module
from coalloc.bench.protocol import Task
from coalloc.bench.provenance import code_versions
from coalloc.bench.workers import BenchWorker, LocalWorkers, refuse_other_versions
from coalloc.documents.kinds import document_of
from coalloc.documents.strict_json import layout
from coalloc.instance import CoallocError
from coalloc.instance.files import INSTANCE, instance_hash
from coalloc.workloads.examples import example
from tests.bench.calls import ROOT, task


@pytest.fixture(scope="module")
def worker():
    made = BenchWorker()
    yield made
    made.stop()


def wait_until(is_so, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def is_gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill_the_server(worker):
    worker._process.kill()


def test_a_call_runs_in_a_process_of_its_own(worker):
    first, second = worker.run(task("echo", x=1)), worker.run(task("echo", x=2))
    assert (first["status"], first["x"], second["x"]) == ("done", 1, 2)
    assert first["pid"] != second["pid"] != os.getpid()
    assert first["parent"] == second["parent"] != os.getpid()
    assert first["machine"]["host"]


def test_no_library_is_loaded_in_the_time_of_a_sample():
    code = (
        "import sys; from coalloc.bench.server import _preload; _preload(); before = set(sys.modules)\n"
        "import coalloc; four = coalloc.generate('thesis-oas', seed=1, jobs=4)\n"
        "coalloc.solve(four, slot='100%', formulation='mode')\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} & {'highspy', 'networkx', 'scipy'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "\n"


def test_time_and_memory_are_measured(worker):
    answer = worker.run(task("hold", megabytes=300))
    assert 0.0 < answer["time"] < 30.0
    assert answer["cpu"] > 0.0
    assert 300.0 < answer["memory"] < 600.0


def test_what_json_cannot_hold_is_null(worker):
    answer = worker.run(task("strange_numbers"))
    assert (answer["gap"], answer["bound"], answer["size"], answer["parts"]) == (None, None, 3, [0.5, True, None])


@pytest.mark.parametrize(("ours", "message"), [(True, "mend it"), (False, "ZeroDivisionError: by zero")])
def test_an_exception_is_an_outcome(worker, ours, message):
    answer = worker.run(task("fail", ours=ours))
    assert (answer["status"], answer["message"]) == ("error", message)


def test_a_call_that_does_not_end_is_killed(worker, tmp_path):
    answer = worker.run(task("sleep", time=0.3, file=str(tmp_path / "pid")))
    assert (answer["status"], answer["message"]) == ("timeout", "did not end within 0.3 s")
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_call_that_takes_too_much_memory_is_killed(worker):
    answer = worker.run(task("hold", memory=250.0, megabytes=300, stays=True))
    assert (answer["status"], answer["message"]) == ("memory", "used more than 250 MB")
    assert answer["memory"] > 250.0


def test_a_call_that_took_too_much_memory_too_quickly_to_be_caught_fails_as_well(worker):
    assert worker.run(task("hold", memory=250.0, megabytes=300))["status"] == "memory"


def test_the_memory_of_children_counts_and_they_die_with_the_call(worker, tmp_path):
    answer = worker.run(task("hold_in_a_child", memory=250.0, megabytes=300, file=str(tmp_path / "pid")))
    assert answer["status"] == "memory"
    wait_until(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_child_that_is_left_behind_dies(worker):
    answer = worker.run(task("leave_a_child"))
    assert answer["status"] == "done"
    wait_until(lambda: is_gone(answer["child"]))


@pytest.mark.parametrize(
    ("call", "argument", "message"),
    [
        ("end", {"code": 3}, "the process ended with exit code 3"),
        ("die", {"signal": "SIGSEGV"}, "the process was ended by SIGSEGV"),
    ],
)
def test_a_crash_is_an_outcome_and_is_not_repeated(worker, tmp_path, call, argument, message):
    answer = worker.run(task(call, file=str(tmp_path / "tries"), **argument))
    assert (answer["status"], answer["message"]) == ("crashed", message)
    assert call == "end" or (tmp_path / "tries").read_text() == "x"


def test_a_process_that_something_else_kills_is_started_once_more(worker, tmp_path):
    assert worker.run(task("die_at_first", file=str(tmp_path / "tries")))["lived"]
    answer = worker.run(task("die", signal="SIGKILL", file=str(tmp_path / "others")))
    assert (answer["status"], answer["message"]) == ("crashed", "the process was ended by SIGKILL")
    assert (tmp_path / "others").read_text() == "xx"


def test_a_worker_that_is_killed_is_started_again_and_its_sample_dies_with_it(tmp_path):
    with closing(LocalWorkers(1)) as workers:
        answers = dict(workers.run([(1, task("kill_the_worker_at_first", file=str(tmp_path / "pid")))]))
    assert answers[1]["lived"]
    wait_until(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_sample_dies_with_its_worker_when_nobody_asks_any_more(tmp_path, monkeypatch):
    monkeypatch.setattr(workers_module, "ATTEMPTS", 1)
    worker = BenchWorker()
    thread = threading.Thread(target=worker.run, args=[task("sleep", file=str(tmp_path / "pid"))])
    thread.start()
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    server = psutil.Process(pid).ppid()
    assert worker._process is not None
    worker._process.stdin.close()  # as the system does when the runner is killed
    wait_until(lambda: is_gone(pid) and is_gone(server))
    worker.stop()
    thread.join()


@pytest.mark.parametrize(("ends", "in_a_session"), [(BenchWorker.stop, True), (kill_the_server, False)])
def test_what_a_sample_has_started_dies_with_the_worker(tmp_path, monkeypatch, ends, in_a_session):
    monkeypatch.setattr(workers_module, "ATTEMPTS", 1)
    worker, file = BenchWorker(), tmp_path / "pid"
    call = task("hold_in_a_child", megabytes=1, file=str(file), in_a_session=in_a_session)
    thread = threading.Thread(target=worker.run, args=[call])
    thread.start()
    wait_until(lambda: file.exists() and file.read_text())
    child = psutil.Process(int(file.read_text()))
    ends(worker)
    wait_until(lambda: is_gone(child.pid))
    thread.join()
    worker.stop()


def test_the_worker_holds_an_instance_for_all_its_samples(worker):
    instance = example("thesis-oas-1")
    sent = []

    def text():
        sent.append(1)
        return layout(document_of(instance, INSTANCE))

    call = Task("tests.bench.calls:name_of", {}, 30.0, 2000.0, instance_hash(instance), text, str(ROOT))
    first, second = worker.run(call), worker.run(call)
    assert first["name"] == instance.name
    assert first["identity"] == second["identity"]
    assert sent == [1]


def test_an_instance_that_is_not_the_one_planned_is_refused_every_time(worker):
    text = layout(document_of(example("paper-oas-1"), INSTANCE))
    for _ in range(2):
        answer = worker.run(Task("tests.bench.calls:name_of", {}, 30.0, 2000.0, "0" * 64, lambda: text, str(ROOT)))
        assert answer["status"] == "error"
        assert answer["message"] == "the instance has changed since the benchmark was planned"


def test_a_worker_that_cannot_start_is_one_line(monkeypatch, capfd):
    monkeypatch.setattr(workers_module, "SERVER", "coalloc.bench.no_server")
    with pytest.raises(CoallocError, match="a worker cannot start; see its standard error for the reason"):
        BenchWorker().run(task("echo"))
    assert "No module named" in capfd.readouterr().err


def test_several_workers_run_at_a_time():
    with closing(LocalWorkers(2)) as workers:
        answers = dict(workers.run((i, task("echo", x=i)) for i in range(8)))
    assert {i: answer["x"] for i, answer in answers.items()} == {i: i for i in range(8)}
    assert len({answer["parent"] for answer in answers.values()}) <= 2


def test_ctrl_c_in_the_shell_does_not_reach_the_worker(worker):
    answer = worker.run(task("echo"))
    assert os.getpgid(answer["parent"]) != os.getpgid(0)
    os.kill(answer["parent"], signal.SIGINT)
    assert worker.run(task("echo"))["parent"] == answer["parent"]


def test_a_worker_with_other_versions_is_refused():
    greeting = {"versions": code_versions(), "machine": {"host": "node7"}}
    refuse_other_versions(greeting)
    greeting["versions"] = code_versions() | {"highspy": "9.9"}
    own = re.escape(code_versions()["highspy"])
    with pytest.raises(CoallocError, match=rf"node7 has other versions: highspy 9\.9 \(here {own}\); install the same"):
        refuse_other_versions(greeting)
