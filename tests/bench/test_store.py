"""The store: what is kept, which journal it has, and what is no store."""

import errno
import fcntl
import multiprocessing
import sqlite3
from collections import namedtuple
from contextlib import closing

import pytest

from coalloc.bench import store as store_module
from coalloc.bench.lock import SUFFIX, held
from coalloc.bench.store import Store, is_on_network
from coalloc.instance import CoallocError

MADE_BY = {"versions": {"coalloc": "1"}, "machine": {"host": "h"}}
IDENTITY = {"instance": "i", "label": "m"}
ENTRIES = [("k1", "c1", IDENTITY), ("k2", "c2", IDENTITY)]


def test_planned_samples_are_rows_whether_they_ran_or_not(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("one", "one.toml", "text", ENTRIES)
        store.add("k2", "c2", IDENTITY, {"status": "done", "time": 1.5}, MADE_BY)
        first, second = store.rows("one")
        assert store.names() == ["one"]
        assert store.source("one") == "one.toml"
    assert first == IDENTITY | {"content": "c1", "status": "not run"}
    assert second.pop("ended")
    assert second == IDENTITY | {
        "content": "c2",
        "status": "done",
        "time": 1.5,
        "host": "h",
        "versions": {"coalloc": "1"},
    }


def test_a_new_plan_takes_the_place_of_that_of_its_name(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("one", "one.toml", "", ENTRIES)
        store.plan("two", "two.toml", "", ENTRIES)
        store.plan("one", "one.toml", "", ENTRIES[1:])
        assert store.names() == ["one", "two"]
        assert (len(store.rows("one")), len(store.rows("two")), store.rows("three")) == (1, 2, [])


def test_a_sample_of_the_same_key_is_replaced_and_the_newest_of_a_content_is_found(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        for key, status in (("k1", "crashed"), ("k1", "done"), ("k2", "done")):
            store.add(key, "c", IDENTITY, {"status": status}, MADE_BY)
        assert store.outcomes(["k1", "k3"]) == {"k1": {"status": "done"}}
        assert store.latest_key("c") == "k2"
        assert store.latest_key("d") is None


@pytest.mark.parametrize(("on_network", "journal"), [(False, "wal"), (True, "delete")])
def test_the_journal_fits_the_file_system(tmp_path, monkeypatch, on_network, journal):
    monkeypatch.setattr(store_module, "is_on_network", lambda _: on_network)
    path = tmp_path / "s.sqlite"
    Store(path).close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == (journal,)


@pytest.mark.parametrize(
    ("place", "expected"), [("/home/x/s", True), ("/data/s", False), ("/homes/s", False), ("/home/x/local/s", False)]
)
def test_the_deepest_mount_decides(monkeypatch, place, expected):
    Mount = namedtuple("Mount", "mountpoint fstype")
    mounts = [Mount("/", "ext4"), Mount("/home/x", "nfs4"), Mount("/home/x/local", "xfs")]
    monkeypatch.setattr(store_module.psutil, "disk_partitions", lambda all: mounts)
    monkeypatch.setattr(store_module.os.path, "realpath", str)
    assert is_on_network(place) is expected


def test_what_is_no_store_is_left_alone(tmp_path):
    text, other, absent = tmp_path / "a.txt", tmp_path / "b.sqlite", tmp_path / "c.sqlite"
    text.write_text("no database, " * 100)
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE mine (x)")
    before = other.read_bytes()
    for path in (text, other):
        with pytest.raises(CoallocError, match="is not a store of benchmarks"):
            Store(path)
    with pytest.raises(CoallocError, match="the store does not exist"):
        Store(absent, writes=False)
    assert other.read_bytes() == before
    assert not absent.exists()


def hold(path, began, end):
    with held(path):
        began.set()
        end.wait()


def test_the_lock_is_free_again_when_its_holder_is_killed(tmp_path):
    path = tmp_path / "s.sqlite"
    spawn = multiprocessing.get_context("fork")
    began, end = spawn.Event(), spawn.Event()
    holder = spawn.Process(target=hold, args=(path, began, end), daemon=True)
    holder.start()
    began.wait(10.0)
    with pytest.raises(CoallocError, match=f"is in use by process {holder.pid} on "), held(path):
        pass
    holder.kill()
    holder.join()
    with held(path):
        assert path.with_name(path.name + SUFFIX).exists()
    assert not path.with_name(path.name + SUFFIX).exists()


def test_no_folder_is_made_for_a_lock(tmp_path):
    absent = tmp_path / "absent" / "s.sqlite"
    with pytest.raises(CoallocError, match=r"s\.sqlite\.lock: cannot be written: No such file"), held(absent):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch, code):
    def refused(*_):
        raise OSError(code, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(CoallocError, match=r"s\.sqlite\.lock: cannot be locked: "), held(tmp_path / "s.sqlite"):
        pass
