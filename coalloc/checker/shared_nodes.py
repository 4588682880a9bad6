"""Progress on time-shared nodes: shares of CPU and memory stops, recomputed from the definitions.

From starts, ends and nodes, one pass over the points in time at which something changes computes the rate of each job.
The definitions are on the page on time-shared nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from coalloc.checker.processor_sets import Floats
from coalloc.checker.rows import CheckedRows
from coalloc.instance import Instance, Job, LocalUser
from coalloc.instance.rounding import capacity_limit


@dataclass(slots=True)
class Row:
    """A placement: its job (None: unknown), its nodes by index, and its loads per link, MB/s.

    ``progress`` is the integral of 1/Te(t) from ``start`` to ``end`` (s), and ``fastest`` the highest 1/Te(t), 1/s.
    ``rate`` holds from ``since`` on.
    """

    id: str
    job: Job | None
    nodes: tuple[int, ...]
    start: float
    end: float
    loads: tuple[float, ...]
    progress: float = 0.0
    fastest: float = 0.0
    rate: float = 0.0
    since: float = 0.0

    @property
    def memory(self) -> float:
        """Memory that a task requires, MB."""
        return 0.0 if self.job is None else self.job.memory or 0.0

    def go_on(self, now: float, rate: float) -> None:
        """Make progress at the rate so far until ``now`` (s), and at another from then on."""
        self.progress += self.rate * (now - self.since)
        self.fastest = max(self.fastest, rate)
        self.rate, self.since = rate, now


@dataclass(frozen=True, slots=True)
class _Moment:
    """A node until the next change: rows whose tasks can use its CPU, their share of it, 1/Gamma."""

    runnable: list[int]
    cpu: float
    slowness: float
    has_user: bool
    pages: bool


@dataclass(slots=True)
class _Node:
    """A node at a time: its user, the rows that are on it, and those stopped, in the order in which they were.

    ``pages``: those that are not stopped hold more memory than their share.
    """

    gamma: float
    memory: float
    user: LocalUser | None = None
    rows: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    pages: bool = False


def rows_of(instance: Instance, rows: CheckedRows, loads: Floats) -> list[Row]:
    """Return the placements; there are no running jobs on time-shared nodes."""
    node_of, found = instance.platform.processor_node, []
    for row, placement, job in rows.placed(np.ones(len(rows.ids), dtype=bool)):
        spans = rows.spans(row)
        nodes = tuple(node_of[processor] for first, stop in spans for processor in range(first, stop))
        found.append(Row(placement.job, job, nodes, placement.start, placement.end, tuple(loads[row].tolist())))
    return found


def make_progress(instance: Instance, rows: Sequence[Row], bandwidths: Sequence[float] | None) -> None:
    """Give every row its progress; ``bandwidths`` (MB/s) are those of links that may saturate, None: SC is 1."""
    _Passage(instance, rows, bandwidths).make()


def _listed_by(instants: Sequence[int], items: Iterable[int]) -> dict[int, list[int]]:
    """Return the items at each point in time; that of item i is ``instants[i]``."""
    found: dict[int, list[int]] = {}
    for item in items:
        found.setdefault(instants[item], []).append(item)
    return found


def _rank(row: Row, begin: int, place: int) -> tuple[float, int, float, int]:
    """Return the rank by which rows are stopped: memory of the job, then the later start, then the later place."""
    if row.job is None:
        return 0.0, begin, 0.0, place
    return row.memory * row.job.tasks, begin, row.job.arrival, place


class _Passage:
    """One pass through time, from change to change."""

    def __init__(self, instance: Instance, rows: Sequence[Row], bandwidths: Sequence[float] | None) -> None:
        platform = instance.platform
        self._sharing, self._rows, self._bandwidths = instance.sharing, rows, bandwidths
        groups = [platform.group_of(node) for node in platform.nodes]
        self._nodes = [_Node(g.effective_power, math.inf if g.memory is None else g.memory) for g in groups]
        self._number = {node.name: n for n, node in enumerate(platform.nodes)}
        self._users = users = instance.local_users
        self._active: set[int] = set()
        self._num_stopped = [0] * len(rows)
        times = [*(r.start for r in rows), *(r.end for r in rows), *(u.start for u in users), *(u.end for u in users)]
        instants, index = instance.time_base.merged(times)
        self._instants: list[float] = instants.tolist()
        begin, finish = index[: len(rows)].tolist(), index[len(rows) : 2 * len(rows)].tolist()
        come, go = index[2 * len(rows) :].reshape(2, len(users)).tolist()
        lasting = [row for row in range(len(rows)) if begin[row] < finish[row]]
        self._starting, self._ending = _listed_by(begin, lasting), _listed_by(finish, lasting)
        self._coming, self._going = _listed_by(come, range(len(users))), _listed_by(go, range(len(users)))
        place = {job.id: number for number, job in enumerate(instance.jobs)}
        self._ranks = [_rank(row, begin[r], place.get(row.id, -1)) for r, row in enumerate(rows)]

    def make(self) -> None:
        """Go through all points in time."""
        for i, now in enumerate(self._instants):
            starting, ending = self._starting.get(i, []), self._ending.get(i, [])
            touched = self._leave(ending, now)
            touched.update(self._let(user, None) for user in self._going.get(i, []))
            touched.update(self._let(user, self._users[user]) for user in self._coming.get(i, []))
            touched |= self._enter(starting, now)
            self._go_on(touched, [*ending, *starting], now)

    def _leave(self, rows: Iterable[int], now: float) -> set[int]:
        """Take rows off their nodes; return these nodes."""
        touched: set[int] = set()
        for row in rows:
            self._rows[row].go_on(now, 0.0)
            self._active.remove(row)
            for node in self._rows[row].nodes:
                self._nodes[node].rows.remove(row)
                if row in self._nodes[node].stopped:
                    self._nodes[node].stopped.remove(row)
                    self._num_stopped[row] -= 1
                touched.add(node)
        return touched

    def _enter(self, rows: Iterable[int], now: float) -> set[int]:
        """Put rows on their nodes; return these nodes."""
        touched: set[int] = set()
        for row in rows:
            self._rows[row].go_on(now, 0.0)
            self._active.add(row)
            for node in self._rows[row].nodes:
                self._nodes[node].rows.append(row)
                touched.add(node)
        return touched

    def _let(self, user: int, present: LocalUser | None) -> int:
        """Let a user come to a node, or nobody be there; return the node."""
        node = self._number[self._users[user].node]
        self._nodes[node].user = present
        return node

    def _go_on(self, touched: set[int], changed: Iterable[int], now: float) -> None:
        """Stop and resume tasks on the nodes that something has happened to, and give rows their rates from now on."""
        for number in touched:
            self._stop_and_resume(self._nodes[number])
        nodes = set(touched)
        if self._bandwidths is not None and any(any(self._rows[row].loads) for row in changed):
            nodes.update(n for row in self._active if any(self._rows[row].loads) for n in self._rows[row].nodes)
        rows = self._joined(nodes)
        moments = {n: self._moment(self._nodes[n]) for n in {n for row in rows for n in self._rows[row].nodes}}
        shares = _max_min_fair(self._rows, moments) if self._sharing.cooperation else {}
        for row in rows:
            rate = 0.0 if self._is_halted(row) else self._rate(self._rows[row], moments, shares.get(row))
            self._rows[row].go_on(now, rate)

    def _stop_and_resume(self, node: _Node) -> None:
        """Stop the tasks of the jobs that require most memory while there is too little, then resume those that fit."""
        limit = capacity_limit(self._share_of_memory(node), self._sharing.paging)
        while self._held(node) > limit:
            largest = max((r for r in node.rows if r not in node.stopped), key=self._ranks.__getitem__)
            node.stopped.append(largest)
            self._num_stopped[largest] += 1
        for row in list(node.stopped):
            if math.fsum([self._held(node), self._rows[row].memory]) <= limit:
                node.stopped.remove(row)
                self._num_stopped[row] -= 1
        node.pages = self._held(node) > capacity_limit(self._share_of_memory(node))

    def _held(self, node: _Node) -> float:
        """Return what the tasks on a node that are not stopped hold, MB."""
        return math.fsum(self._rows[row].memory for row in node.rows if row not in node.stopped)

    def _share_of_memory(self, node: _Node) -> float:
        """Return what tasks may hold without paging, MB: all, L times it, or what a user leaves."""
        if node.user is None:
            return node.memory
        left = max(0.0, node.memory - node.user.memory)
        return left if self._sharing.contract is None else self._sharing.contract * node.memory

    def _joined(self, nodes: Iterable[int]) -> set[int]:
        """Return the rows on some nodes, and all that a chain of rows on common nodes joins with them."""
        rows: set[int] = set()
        frontier = list(nodes)
        seen = set(frontier)
        while frontier:
            for row in self._nodes[frontier.pop()].rows:
                if row not in rows:
                    rows.add(row)
                    frontier += [node for node in self._rows[row].nodes if node not in seen]
                    seen.update(self._rows[row].nodes)
        return rows

    def _is_halted(self, row: int) -> bool:
        """Return whether one of the tasks of a row is stopped."""
        return self._num_stopped[row] > 0

    def _moment(self, node: _Node) -> _Moment:
        """Return what there is of a node: with cooperation nobody is runnable who is stopped elsewhere."""
        runnable = [row for row in node.rows if row not in node.stopped]
        if self._sharing.cooperation:
            runnable = [row for row in runnable if not self._num_stopped[row]]
        return _Moment(runnable, self._cpu(node, len(runnable)), 1.0 / node.gamma, node.user is not None, node.pages)

    def _cpu(self, node: _Node, runnable: int) -> float:
        """Return the part of the CPU of a node that so many parallel tasks get."""
        if node.user is None:
            return 1.0
        free = max(1.0 - node.user.cpu, 1.0 / (runnable + 1))
        return free if self._sharing.contract is None else self._sharing.contract

    def _rate(self, row: Row, moments: Mapping[int, _Moment], fair_share: float | None) -> float:
        """Return 1/Te of a row that makes progress, 1/s; 0 where its job is not known."""
        if row.job is None:
            return 0.0
        sharing, nodes = self._sharing, [moments[number] for number in row.nodes]
        slowest = max(m.slowness / (m.cpu / len(m.runnable) if fair_share is None else fair_share) for m in nodes)
        others = max(len(m.runnable) - 1 + m.has_user for m in nodes)
        waits = 1.0 if sharing.coscheduling else 1.0 + sharing.wait_factor * others
        sigma = row.job.processing_share
        communicating = (1.0 - sigma) * waits * self._communication_slowdown(row) if sigma < 1.0 else 0.0
        pages = sharing.paging_slowdown if any(m.pages for m in nodes) else 1.0
        return 1.0 / (row.job.base_time * (sigma * slowest + communicating) * pages)

    def _communication_slowdown(self, row: Row) -> float:
        """Return SC: how often the most loaded of its links is loaded over, at least 1."""
        slowdown = 1.0
        for k, bandwidth in enumerate(self._bandwidths or ()):
            if row.loads[k] > 0.0:
                total = math.fsum(self._rows[other].loads[k] for other in self._active)
                slowdown = max(slowdown, total / bandwidth if bandwidth > 0.0 else math.inf)
        return slowdown


def _max_min_fair(rows: Sequence[Row], moments: Mapping[int, _Moment]) -> dict[int, float]:
    """Return the max-min fair shares of the rows that want the CPU of some nodes.

    In rounds: all that still rise are as high as the node that is full next, and the rows on it are done.
    """
    shares: dict[int, float] = {}
    rising = {number: moment.runnable for number, moment in moments.items() if moment.runnable}
    left = {number: moments[number].cpu for number in rising}
    while rising:
        full = min(rising, key=lambda number: left[number] / len(rising[number]))
        level = left[full] / len(rising[full])
        done = dict.fromkeys(rising[full], level)
        shares |= done
        for number in {number for row in done for number in rows[row].nodes}:
            still = [row for row in rising[number] if row not in done]
            left[number] -= level * (len(rising[number]) - len(still))
            rising[number] = still
            if not still:
                del rising[number]
    return shares
