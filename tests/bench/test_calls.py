"""Calls of a script's functions: what tells them apart, what is kept, and what is tried again."""

import sqlite3
from contextlib import closing

import pytest

from coalloc.bench.calls import Call
from coalloc.bench.provenance import code_versions
from coalloc.bench.running import outcomes_of, run_calls
from coalloc.instance import CoallocError
from tests.bench.calls import ROOT, echo, fail


class Echoing:
    """Workers that answer with what they are asked."""

    def run(self, tasks):
        for call, task in tasks:
            yield call, {"status": "done", **task.argument, "machine": {}}

    def close(self):
        pass


def call(x=1, **fields):
    return Call(echo, {"x": x}, 30.0, **fields)


def test_a_call_is_a_function_of_a_module_in_the_folder_of_its_file():
    task = call(local={"place": "/here"}).task
    assert (task.function, task.folder) == ("calls:echo", str(ROOT / "tests" / "bench"))
    assert task.argument == {"x": 1, "place": "/here"}


@pytest.mark.parametrize(
    "other",
    [call(2), call(given={"sha256": "0"}), call(memory=1.0), Call(echo, {"x": 1}, 1.0), Call(fail, {"x": 1}, 30.0)],
)
def test_whatever_may_change_the_outcome_changes_the_key(other):
    assert other.key != call().key


def test_where_files_lie_is_no_part_of_the_key():
    assert call(local={"place": "/here"}).key == call().key


def test_the_code_is_a_part_of_the_key_and_the_commit_alone_is_none(monkeypatch):
    known, key = code_versions(), call().key
    monkeypatch.setattr("coalloc.bench.provenance.code_versions", lambda: known | {"commit": "0000000"})
    assert call().key == key
    monkeypatch.setattr("coalloc.bench.provenance.code_versions", lambda: known | {"code": "0000000"})
    assert call().key != key


def test_outcomes_come_in_the_order_of_the_calls_none_where_there_is_none(tmp_path):
    store = tmp_path / "store.sqlite"
    assert run_calls([call(2), call(1)], store, Echoing).ran == 2
    outcomes = outcomes_of([call(1), call(3), call(2)], store)
    assert [outcome and outcome["x"] for outcome in outcomes] == [1, None, 2]


@pytest.mark.parametrize(("status", "ran"), [("crashed", 1), ("error", 1), ("timeout", 0), ("memory", 0), ("open", 0)])
def test_what_ended_by_itself_without_a_result_is_tried_again(tmp_path, status, ran):
    store = tmp_path / "store.sqlite"
    run_calls([call()], store, Echoing)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute(f"""UPDATE samples SET outcome = '{{"status": "{status}"}}'""")
    assert run_calls([call()], store, Echoing).ran == ran


def test_without_a_store_there_are_no_outcomes(tmp_path):
    with pytest.raises(CoallocError, match="the store does not exist"):
        outcomes_of([call()], tmp_path / "none.sqlite")
