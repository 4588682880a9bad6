"""Events on shared nodes under a schedule: what each job got and when it stood still, what users kept.

From starts, ends and nodes the state of the nodes follows (:mod:`coalloc.problem.shared_nodes`): it is gone through
once, from instant to instant. Definitions: docs/time-shared/model.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coalloc.instance import Instance, LocalUser
from coalloc.instance.time_base import TimeBase
from coalloc.problem.shared_nodes import SharedNodes
from coalloc.schedule import Schedule
from coalloc.schedule.observed import intervals_held, placed_jobs

NOTIFICATIONS = ("local", "no_local", "stop", "resume")
"""Notifications between nodes: a user is there, a user has left, a task was stopped, a task goes on."""


@dataclass(slots=True)
class JobUse:
    """A job in order of the schedule: for how long it stood still (s), how often a task of it was stopped.

    ``share_seconds`` is the integral of its least CPU share over time, s.
    """

    stopped_time: float = 0.0
    stops: int = 0
    share_seconds: float = 0.0


@dataclass(slots=True)
class UserUse:
    """A local user: for how long jobs were watched beside him (s), and what parallel tasks took meanwhile.

    ``cpu_seconds`` and ``memory_seconds`` (s) are integrals of shares of the node over that time, ``most_cpu`` and
    ``most_memory`` (0..1) the largest shares. Tasks that ask for more memory than the node has take all of it.
    """

    node: int
    profile: str
    time: float = 0.0
    cpu_seconds: float = 0.0
    memory_seconds: float = 0.0
    most_cpu: float = 0.0
    most_memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Stop:
    """The task of a job, by number in the schedule, on a node, by number, stood still from ``start`` to ``end``, s."""

    job: int
    node: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class SharedUse:
    """Use of shared nodes: by job, by user who came before the last end, stops, and messages by kind.

    Stops are in order of their ends. A message goes from a node to one other that has a task of the same job; only
    where nodes cooperate.
    """

    jobs: tuple[JobUse, ...]
    users: tuple[UserUse, ...]
    stops: tuple[Stop, ...]
    messages: Mapping[str, int]


def observe_sharing(instance: Instance, schedule: Schedule) -> SharedUse:
    """Return what happened on the shared nodes of an instance, if it has some, under a schedule that passes ``check``.

    Raises :class:`CoallocError` where the schedule places jobs or uses processors that the instance does not have.
    """
    if not instance.shares_nodes:
        whole = (JobUse(share_seconds=placement.end - placement.start) for placement in schedule)
        return SharedUse(tuple(whole), (), (), dict.fromkeys(NOTIFICATIONS, 0))
    return _Watch(instance, schedule).observed()


def nodes_used(instance: Instance, schedule: Schedule) -> list[list[int]]:
    """Return for each placement the node of each of its tasks, by index."""
    node_of = instance.platform.processor_node
    found: list[list[int]] = [[] for _ in schedule]
    held = intervals_held(instance, [placement.nodes for placement in schedule])
    for row, first, stop in zip(held.holder.tolist(), held.first.tolist(), held.stop.tolist(), strict=True):
        found[row] += node_of[first:stop]
    return found


@dataclass(slots=True)
class _Happenings:
    """Events at one time: jobs and users by number."""

    ending: list[int] = field(default_factory=list)
    going: list[int] = field(default_factory=list)
    coming: list[int] = field(default_factory=list)
    starting: list[int] = field(default_factory=list)


class _Watch:
    """The nodes over time, and what has been seen so far: of jobs and nodes until ``since``, s."""

    def __init__(self, instance: Instance, schedule: Schedule) -> None:
        platform = instance.platform
        self._jobs = placed_jobs(instance, schedule)
        self._on = nodes_used(instance, schedule)
        last = max((placement.end for placement in schedule), default=0.0)
        number = {node.name: n for n, node in enumerate(platform.nodes)}
        self._facts = tuple(user for user in instance.local_users if user.start < last)
        self._instants, self._happenings = _by_instant(schedule, self._facts, instance.time_base)
        self._end = last
        self._nodes = SharedNodes(platform, instance.sharing)
        self._memories = [platform.group_of(node).memory or math.inf for node in platform.nodes]
        self._uses = tuple(JobUse() for _ in self._jobs)
        self._users = tuple(UserUse(number[user.node], user.profile) for user in self._facts)
        self._present: dict[int, int] = {}
        self._stopped_since: dict[tuple[int, int], float] = {}
        self._stops: list[Stop] = []
        self._messages: Counter[str] = Counter(dict.fromkeys(NOTIFICATIONS, 0))

    def observed(self) -> SharedUse:
        """Go through all instants."""
        for (now, after), what in zip(self._spans(), self._happenings, strict=True):
            self._take_in(what, now)
            self._watch(min(after, self._end) - now)
        return SharedUse(self._uses, self._users, tuple(self._stops), dict(self._messages))

    def _spans(self) -> Iterable[tuple[float, float]]:
        return zip(self._instants, [*self._instants[1:], self._end], strict=True)

    def _take_in(self, what: _Happenings, now: float) -> None:
        """Let all happen that happens at an instant, s, and count the messages."""
        nodes = self._nodes
        for row in what.ending:
            nodes.leave(row)
        for user in what.going:
            nodes.go(self._users[user].node)
            del self._present[user]
        for user in what.coming:
            nodes.come(self._users[user].node, self._facts[user])
            self._present[user] = self._users[user].node
        for row in what.starting:
            nodes.enter(row, self._jobs[row], self._on[row])
        touched = sorted(nodes.touched)
        before = {n: set(nodes.nodes[n].stopped) for n in touched}
        nodes.settle()
        for n in touched:
            after = set(nodes.nodes[n].stopped)
            self._tell("stop", after - before[n])
            self._tell("resume", before[n] - after)
            for row in after - before[n]:
                self._uses[row].stops += 1
                self._stopped_since[row, n] = now
            for row in before[n] - after:
                self._stops.append(Stop(row, n, self._stopped_since.pop((row, n)), now))
        self._tell("no_local", (row for user in what.going for row in nodes.nodes[self._users[user].node].tasks))
        self._tell("local", (row for user in what.coming for row in nodes.nodes[self._users[user].node].tasks))

    def _tell(self, kind: str, rows: Iterable[int]) -> None:
        """Count a message from a node of each of some jobs to every other one that it has."""
        if self._nodes.sharing.cooperation:
            self._messages[kind] += sum(len(self._on[row]) - 1 for row in rows)

    def _watch(self, seconds: float) -> None:
        """See what jobs get, and what users keep, for a while (s)."""
        if seconds <= 0.0:
            return
        for row, job in self._nodes.jobs.items():
            self._uses[row].share_seconds += job.share * seconds
            self._uses[row].stopped_time += seconds if job.is_stopped else 0.0
        for user, n in self._present.items():
            seen, cpu = self._users[user], self._nodes.cpu_taken(n)
            memory = min(1.0, self._nodes.memory_taken(n) / self._memories[n])
            seen.time += seconds
            seen.cpu_seconds += cpu * seconds
            seen.memory_seconds += memory * seconds
            seen.most_cpu, seen.most_memory = max(seen.most_cpu, cpu), max(seen.most_memory, memory)


def _by_instant(
    schedule: Schedule, users: Sequence[LocalUser], base: TimeBase
) -> tuple[list[float], list[_Happenings]]:
    """Return the instants at which something happens, s, and what does."""
    rows, people = range(len(schedule)), range(len(users))
    starts, ends = [p.start for p in schedule], [p.end for p in schedule]
    instants, index = base.merged([*starts, *ends, *(u.start for u in users), *(u.end for u in users)])
    found = [_Happenings() for _ in instants]
    begin, finish = index[: len(rows)].tolist(), index[len(rows) : 2 * len(rows)].tolist()
    come, go = index[2 * len(rows) :].reshape(2, len(users)).tolist()
    for row in rows:
        if begin[row] < finish[row]:
            found[begin[row]].starting.append(row)
            found[finish[row]].ending.append(row)
    for user in people:
        found[come[user]].coming.append(user)
        found[go[user]].going.append(user)
    return instants.tolist(), found
