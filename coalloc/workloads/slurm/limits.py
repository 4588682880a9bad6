"""Limits of a Slurm site on users, accounts and QOS, as ``sacctmgr show assoc`` and ``sacctmgr show qos`` list them.

Limits on running jobs (GrpJobs, MaxJobs, MaxJobsPU, MaxJobsPA) and on what they hold (GrpTRES, MaxTRESPU, MaxTRESPA)
are expressed. What a QOS limits its associations do not; the QOS of a partition comes before that of a job, unless the
latter has the flag OverPartQOS. Source: Slurm's guide to resource limits, and the manual page sacctmgr of Slurm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from coalloc.documents.text import quoted
from coalloc.instance import Limit
from coalloc.instance.rounding import capacity_limit
from coalloc.workloads.slurm.conf import SlurmSite
from coalloc.workloads.slurm.lines import Faults, Line, table_lines
from coalloc.workloads.slurm.runs import Runs
from coalloc.workloads.slurm.values import LineError, count, resources

JOBS = "jobs"
"""Name of a limit on the number of jobs."""
COLUMNS = {
    "GrpJobs": ("grpjobs",),
    "GrpTRES": ("grptres",),
    "MaxJobs": ("maxjobs",),
    "MaxJobsPU": ("maxjobspu", "maxjobsperuser"),
    "MaxTRESPU": ("maxtrespu", "maxtresperuser"),
    "MaxJobsPA": ("maxjobspa", "maxjobsperaccount"),
    "MaxTRESPA": ("maxtrespa", "maxtresperaccount"),
}
"""Columns of limits that are expressed, and their names in tables."""
UNEXPRESSED = {
    "grptresmins": "GrpTRESMins",
    "grptresrunmins": "GrpTRESRunMins",
    "grpwall": "GrpWall",
    "grpsubmit": "GrpSubmit",
    "maxsubmit": "MaxSubmit",
    "maxsubmitpu": "MaxSubmitPU",
    "maxsubmitpa": "MaxSubmitPA",
    "maxtresrunminspu": "MaxTRESRunMinsPU",
    "maxtresrunminspa": "MaxTRESRunMinsPA",
    "preempt": "preemption",
}
"""Limits that an instance cannot state."""

Stated = Mapping[str, Mapping[str, float]]
"""Limits by column and by what is limited."""


class Scope(NamedTuple):
    """Scope of a limit: its name, what it limits, and how much."""

    name: str
    counts: str
    capacity: float


@dataclass(slots=True)
class LimitTables:
    """Limits in the tables: of associations (account, user, partition), parents of accounts, limits of QOS."""

    associations: dict[tuple[str, str, str], Stated] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    qos: dict[str, Stated] = field(default_factory=dict)
    over_partition: set[str] = field(default_factory=set)
    notes: Counter[str] = field(default_factory=Counter)


def read_tables(sources: Iterable[str]) -> LimitTables:
    """Return what tables of sacctmgr and sshare say.

    Raises
    ------
    InstanceError
        A table cannot be read, is none of these, or has lines with errors.
    """
    tables = LimitTables()
    for source in sources:
        faults = Faults()
        add: Callable[[LimitTables, Line], None] | None = None
        for line in table_lines(source, faults):
            if add is None:
                with faults.at(source, 1):
                    add = _reader_of(line)
                faults.raise_all()
            assert add is not None  # else it is raised
            with faults.at(source, line.number):
                add(tables, line)
        faults.raise_all()
    return tables


def _reader_of(line: Line) -> Callable[[LimitTables, Line], None]:
    """Return what reads the rows of a table with these columns."""
    if "rawshares" in line.pairs:
        return _add_share
    if {"account", "user"} <= line.pairs.keys():
        return _add_association
    if "name" in line.pairs:
        return _add_qos
    sentence = "must have the columns of sacctmgr show assoc (Account, User), sacctmgr show qos (Name) or sshare"
    raise LineError(f"{sentence}, got {quoted('|'.join(line.pairs))}")


def _add_share(tables: LimitTables, line: Line) -> None:
    """Count a share, which is of the queue order and not of an instance."""
    if line.text("rawshares").strip() not in ("", "parent"):
        tables.notes["fair shares, which are for a queue order"] += 1


def _add_association(tables: LimitTables, line: Line) -> None:
    account, user, partition = (line.text(key).strip() for key in ("account", "user", "partition"))
    if not account:
        raise LineError("Account must not be empty")
    tables.associations[account, user, partition] = _stated(tables, line)
    if not user and line.text("parentname", "par name").strip():
        tables.parents[account] = line.text("parentname", "par name").strip()


def _add_qos(tables: LimitTables, line: Line) -> None:
    name = line.text("name").strip()
    if not name:
        raise LineError("Name must not be empty")
    tables.qos[name] = _stated(tables, line)
    if "overpartqos" in line.text("flags").lower():
        tables.over_partition.add(name)


def _stated(tables: LimitTables, line: Line) -> Stated:
    """Return the limits of a row; those that an instance cannot state are counted."""
    tables.notes.update(f"limits {name}" for key, name in UNEXPRESSED.items() if line.text(key).strip())
    found: dict[str, Mapping[str, float]] = {}
    for column, keys in COLUMNS.items():
        text = line.text(*keys).strip()
        if text and "TRES" in column:
            found[column] = resources(column, text)
        elif text and text != "-1":
            found[column] = {JOBS: float(count(column, text))}
    return found


# ------------------------------------------------------------------------------ limits of jobs


@dataclass(slots=True)
class Limiting:
    """The limits on the jobs of a log; ``user`` and ``account`` give the names by which these are known."""

    tables: LimitTables
    site: SlurmSite
    user: Callable[[str], str]
    account: Callable[[str], str]
    num_exceeding: int = 0

    def limits(self, runs: Runs, together: Mapping[int, int]) -> Iterator[Limit]:
        """Yield each limit that can restrict the runs; ``together`` is the first component of heterogeneous jobs."""
        scopes = [list(self._scopes(*owner)) for owner in runs.owners]
        members: dict[Scope, list[int]] = {}
        for place, owner in enumerate(runs.owner):
            for scope in scopes[owner]:
                members.setdefault(scope, []).append(place)
        for scope, places in members.items():
            amounts = {place: _amount(runs, place, scope.counts) for place in places}
            at_once: dict[int, float] = {}
            for place, amount in amounts.items():
                leader = together.get(place, place)
                at_once[leader] = at_once.get(leader, 0.0) + amount
            too_large = {
                place for place in amounts if at_once[together.get(place, place)] > capacity_limit(scope.capacity)
            }
            self.num_exceeding += len(too_large)
            fitting = {place: amount for place, amount in amounts.items() if amount > 0 and place not in too_large}
            if sum(fitting.values()) > scope.capacity:
                stated = () if scope.counts == JOBS else list(fitting.values())
                yield Limit(scope.name, [runs.ids[place] for place in fitting], scope.capacity, stated)

    def _scopes(self, account: str, user: str, partition: str, qos: str) -> Iterator[Scope]:
        """Yield the limits on the jobs of an owner."""
        partition_qos = self.site.partitions[partition].qos if partition in self.site.partitions else ""
        names = [*dict.fromkeys(name for name in (partition_qos, qos) if name in self.tables.qos)]
        stated: set[tuple[str, str]] = set()
        for name in reversed(names) if qos in self.tables.over_partition else names:
            limits = {key: limit for key, limit in self.tables.qos[name].items() if key != "MaxJobs"}
            for column, counts, capacity in _each(limits):
                if (column, counts) not in stated:
                    whose = f" of {self.user(user)}" * column.endswith("PU")
                    whose += f" of {self.account(account)}" * column.endswith("PA")
                    yield Scope(f"QOS {name}{whose}: {_words(column, counts)}", counts, capacity)
            stated |= {(column, counts) for column, counts, _ in _each(limits)}
        yield from self._of_associations(account, user, partition, stated)

    def _of_associations(
        self, account: str, user: str, partition: str, stated: set[tuple[str, str]]
    ) -> Iterator[Scope]:
        """Yield the limits of an association and of the accounts above it that no QOS has stated."""
        if {("MaxJobsPU", JOBS), ("MaxJobsPA", JOBS)} & stated:
            stated = stated | {("MaxJobs", JOBS)}
        for key in self._chain(account, user, partition):
            for column, counts, capacity in _each(self.tables.associations.get(key, {})):
                if (column, counts) in stated or column.endswith(("PU", "PA")):
                    continue
                is_of_user = column == "MaxJobs" or key[1]
                whose = f"{self.user(user)} in {self.account(account)}" if is_of_user else self.account(key[0])
                yield Scope(f"{whose}: {_words(column, counts)}", counts, capacity)
                if column == "MaxJobs":  # those of accounts above are defaults
                    stated = stated | {("MaxJobs", JOBS)}

    def _chain(self, account: str, user: str, partition: str) -> Iterator[tuple[str, str, str]]:
        """Yield the association of a job, and those of its account and the accounts above."""
        known = self.tables.associations
        yield from [key for key in ((account, user, partition), (account, user, "")) if user and key in known][:1]
        seen = set[str]()
        while account and account not in seen:
            seen.add(account)
            yield account, "", ""
            account = self.tables.parents.get(account, "")


def _each(limits: Stated) -> Iterator[tuple[str, str, float]]:
    """Yield the limits of a row: column, what it counts, capacity."""
    for column, of_each in limits.items():
        for counts, capacity in of_each.items():
            yield column, counts, capacity


def _words(column: str, counts: str) -> str:
    return column if counts == JOBS else f"{column} {counts}"


def _amount(runs: Runs, place: int, counts: str) -> float:
    """Return what a run takes of what a limit counts."""
    if counts == JOBS:
        return 1.0
    held = runs.resources[place]
    if counts in held:
        return held[counts]
    if counts == "mem":
        return (runs.demand[place].memory or 0.0) * runs.tasks[place]
    others = {"cpu": runs.tasks[place], "node": runs.nodes[place]}
    return float(others.get(counts, runs.licenses[place].get(counts, 0.0)))
