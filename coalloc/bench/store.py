"""The store of a benchmark: one SQLite file, one transaction per sample.

The runner alone writes, so that workers need no shared file system. The journal is a write-ahead log,
or a rollback journal where the file lies on a network file system, on which SQLite's log is unsafe.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from coalloc.bench.outcomes import NOT_RUN, Outcome, Row
from coalloc.documents.text import visible
from coalloc.instance import CoallocError

VERSION = 1
APPLICATION = 0x434F4142
"""Application number that marks the file as a store of coalloc, ``COAB``."""

PRAGMAS: tuple[str, ...] = ("PRAGMA synchronous = FULL",)
"""Settings of a connection that writes: a sample is on the disk when ``add`` returns."""

NETWORK_FILE_SYSTEMS = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "fuse", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "panfs"),
    *("pvfs", "smb", "wekafs"),
)
"""Prefixes of the names of network file systems."""

PATIENCE = 60.0
"""Seconds to wait for somebody who reads the file."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS samples (
    key TEXT PRIMARY KEY, content TEXT NOT NULL, identity TEXT NOT NULL, outcome TEXT NOT NULL,
    versions TEXT NOT NULL, machine TEXT NOT NULL, ended TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS samples_content ON samples (content);
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, source TEXT NOT NULL, spec TEXT NOT NULL, started TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plans (
    run INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, identity TEXT NOT NULL,
    PRIMARY KEY (run, position));
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""

ROWS = """
SELECT plans.content, plans.identity, samples.outcome, samples.versions, samples.machine, samples.ended
FROM plans LEFT JOIN samples ON samples.key = plans.key WHERE plans.run = ? ORDER BY plans.position
"""


class Store:
    """The samples and plans of a file; what is written is on the disk when a method returns."""

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        """Open a store, a new one where it is to be written and there is none."""
        self.path = path
        with self._named_errors():
            if not writes and not path.is_file():
                raise CoallocError(f"{visible(str(path))}: the store does not exist")
            self._database = sqlite3.connect(path, timeout=PATIENCE)
            self._refuse_strangers()
            if writes:
                journal = "DELETE" if is_on_network(path) else "WAL"
                self._database.execute(f"PRAGMA journal_mode = {journal}").fetchone()
                for pragma in PRAGMAS:
                    self._database.execute(pragma)
                self._database.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        with self._named_errors():
            self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, key: str, content: str, identity: Row, outcome: Outcome, made_by: Mapping[str, Row]) -> None:
        """Keep a sample, instead of any of the same key; ``made_by`` has the versions and the machine."""
        parts = (identity, outcome, made_by["versions"], made_by["machine"])
        fields = (key, content, *(json.dumps(part, allow_nan=False) for part in parts), _now())
        with self._named_errors(), self._database:
            self._database.execute("INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?)", fields)

    def outcomes(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Return the outcomes of those of these keys that there are."""
        query = "SELECT outcome FROM samples WHERE key = ?"
        with self._named_errors():
            found = {key: self._database.execute(query, (key,)).fetchone() for key in keys}
        return {key: _outcome(row[0]) for key, row in found.items() if row is not None}

    def statuses(self, keys: Collection[str]) -> dict[str, str]:
        """Return the statuses of those of these keys that there are."""
        query = "SELECT key, json_extract(outcome, '$.status') FROM samples"
        with self._named_errors():
            return {key: status for key, status in self._database.execute(query) if key in keys}

    def latest_key(self, content: str) -> str | None:
        """Return the key of the newest sample of this content, whatever versions made it."""
        query = "SELECT key FROM samples WHERE content = ? ORDER BY ended DESC, key LIMIT 1"
        with self._named_errors():
            row = self._database.execute(query, (content,)).fetchone()
        return None if row is None else str(row[0])

    def plan(self, name: str, source: str, spec: str, entries: Sequence[tuple[str, str, Row]]) -> None:
        """Keep what a run is to hold, as (key, content, identity) in order, instead of an earlier plan of that name.

        ``source`` is the path of the specification, ``spec`` its text.
        """
        with self._named_errors(), self._database:
            for (old,) in self._database.execute("SELECT id FROM runs WHERE name = ?", (name,)).fetchall():
                self._database.execute("DELETE FROM plans WHERE run = ?", (old,))
                self._database.execute("DELETE FROM runs WHERE id = ?", (old,))
            fields = (name, source, spec, _now())
            insert = "INSERT INTO runs (name, source, spec, started) VALUES (?, ?, ?, ?)"
            run = self._database.execute(insert, fields).lastrowid
            self._database.executemany(
                "INSERT INTO plans VALUES (?, ?, ?, ?, ?)",
                [(run, i, key, content, json.dumps(identity)) for i, (key, content, identity) in enumerate(entries)],
            )

    def names(self) -> list[str]:
        """Return the names of the specifications that were run, the latest first."""
        with self._named_errors():
            return [name for (name,) in self._database.execute("SELECT name FROM runs ORDER BY id DESC")]

    def source(self, name: str) -> str:
        """Return the path of a specification as it was given when it was run."""
        with self._named_errors():
            return str(self._database.execute("SELECT source FROM runs WHERE name = ?", (name,)).fetchone()[0])

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a row per planned sample of a specification, in order; those that did not run are in it, too."""
        with self._named_errors():
            run = self._database.execute("SELECT id FROM runs WHERE name = ?", (name,)).fetchone()
            return [_row(*fields) for fields in self._database.execute(ROWS, run or (0,))]

    def _refuse_strangers(self) -> None:
        """Raise where the file holds something else than a store of this version."""
        application = self._database.execute("PRAGMA application_id").fetchone()[0]
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        num_tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if num_tables and (application, version) != (APPLICATION, VERSION):
            raise sqlite3.DatabaseError("it is another database or from another version of coalloc")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Say which file it is that SQLite complains of, and what to do."""
        name = visible(str(self.path))
        try:
            yield
        except sqlite3.OperationalError as error:
            reason = "the disk is full" if "full" in str(error) else str(error)
            advice = "completed samples are safe; free disk space or repair the store, and run the same command again"
            raise CoallocError(f"{name}: cannot be used: {reason}; {advice}") from None
        except sqlite3.DatabaseError as error:
            raise CoallocError(f"{name}: is not a store of benchmarks: {error}") from None


def is_on_network(path: Path) -> bool:
    """Return whether a file lies on a network file system, by the type of the deepest mount above it."""
    place = os.path.realpath(path)
    mounts = [m for m in psutil.disk_partitions(all=True) if _is_below(place, m.mountpoint)]
    deepest = max(mounts, key=lambda mount: len(mount.mountpoint), default=None)
    return deepest is not None and deepest.fstype.startswith(NETWORK_FILE_SYSTEMS)


def _is_below(place: str, folder: str) -> bool:
    return os.path.commonpath([place, folder]) == folder.rstrip("/") or folder == "/"


def _row(content: str, identity: str, outcome: str | None, *made_by: str) -> dict[str, Any]:
    """Return one flat row: what was to run, what came out, who made it and when."""
    row: dict[str, Any] = {**json.loads(identity), "content": content}
    if outcome is None:
        return row | {"status": NOT_RUN}
    versions, machine, ended = made_by
    row |= _outcome(outcome) | json.loads(machine)
    return row | {"versions": json.loads(versions), "ended": ended}


def _outcome(text: str) -> Outcome:
    outcome: Outcome = json.loads(text)
    return outcome


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
