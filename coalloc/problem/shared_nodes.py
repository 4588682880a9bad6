"""Shared nodes: who is on each, and how much that slows each job down.

Tasks of different jobs share the core of a node, with each other and with a local user who may be active there.
Symbols as on the page on nodes that are not dedicated: u_r, N_r, c_r of a node r, the CPU share a_jr of a task of job
j there, K_j of its communication. The model is ours, after Hanzich et al. (CISNE), section 2.1 (errata 24 and 35).

All that happens at one instant is told first (:meth:`SharedNodes.enter` and so on), and :meth:`SharedNodes.settle`
says what follows from it, once: in which order it was told does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from coalloc.instance import Job, LocalUser, Platform, Sharing
from coalloc.instance.rounding import capacity_limit
from coalloc.problem.fair_shares import fair_shares
from coalloc.problem.memory_stops import MemoryUse, stopped_tasks

STANDING_STILL = (math.inf, 1.0)
"""Slowdowns of a job that makes no progress."""


@dataclass(slots=True)
class SharedNode:
    """A node: 1/Gamma, its memory (MB), who is active there, its tasks by job, and those that are stopped, in order.

    ``runnable`` (N_r), ``cpu`` (c_r), ``stopped`` and ``is_paging`` are as :meth:`SharedNodes.settle` left them.
    """

    slowness: float
    memory: float
    user: LocalUser | None = None
    tasks: dict[int, None] = field(default_factory=dict)
    stopped: tuple[int, ...] = ()
    runnable: int = 0
    cpu: float = 1.0
    is_paging: bool = False


@dataclass(slots=True)
class SharedJob:
    """A job on shared nodes; ``is_stopped``: one of its tasks is. ``share`` is the least CPU share of a task of it.

    ``slowdowns`` are SP and K, which while a node pages has the paging slowdown in it, as SP has.
    """

    nodes: tuple[int, ...]
    is_stopped: bool = False
    share: float = 0.0
    slowdowns: tuple[float, float] = STANDING_STILL


def cpu_for_tasks(sharing: Sharing, user: LocalUser | None, runnable: int) -> float:
    """Return the share of the CPU of a node that so many parallel tasks get together (c_r)."""
    if user is None:
        return 1.0
    if sharing.contract is not None:
        return sharing.contract
    return max(1.0 - user.cpu, 1.0 / (runnable + 1))


def memory_for_tasks(sharing: Sharing, user: LocalUser | None, memory: float) -> float:
    """Return the part of the memory of a node (MB) that is for parallel tasks; they page if they hold more."""
    if user is None:
        return memory
    if sharing.contract is not None:
        return sharing.contract * memory
    return max(0.0, memory - user.memory)


class SharedNodes:
    """The tasks and the users on the nodes of a platform; jobs and nodes go by index.

    ``touched`` are the nodes to which something has happened since they were settled.
    """

    def __init__(self, platform: Platform, sharing: Sharing) -> None:
        self.sharing = sharing
        groups = [platform.group_of(node) for node in platform.nodes]
        memories = [math.inf if group.memory is None else group.memory for group in groups]
        self.nodes = tuple(SharedNode(1.0 / g.effective_power, m) for g, m in zip(groups, memories, strict=True))
        self.jobs: dict[int, SharedJob] = {}
        self._uses: dict[int, MemoryUse] = {}
        self.touched: set[int] = set()
        self._instant = 0

    def copied(self) -> Self:
        """Return the nodes with all that is on them as something of its own."""
        twin = copy(self)
        twin.nodes = tuple(replace(node, tasks=node.tasks.copy()) for node in self.nodes)
        twin.jobs = {index: copy(job) for index, job in self.jobs.items()}
        twin._uses, twin.touched = self._uses.copy(), self.touched.copy()
        return twin

    def enter(self, index: int, job: Job, nodes: Sequence[int]) -> None:
        """Put one task of a job that starts on each of some nodes."""
        memory = job.memory or 0.0
        self.jobs[index] = SharedJob(tuple(nodes))
        self._uses[index] = MemoryUse(memory, (memory * job.tasks, self._instant, job.arrival, index))
        for node in nodes:
            self.nodes[node].tasks[index] = None
        self.touched.update(nodes)

    def leave(self, index: int) -> None:
        """Take the tasks of a job that ends off their nodes."""
        del self._uses[index]
        for number in self.jobs.pop(index).nodes:
            node = self.nodes[number]
            del node.tasks[index]
            node.stopped = tuple(task for task in node.stopped if task != index)
            self.touched.add(number)

    def come(self, node: int, user: LocalUser) -> None:
        """Let a user come to a node."""
        self.nodes[node].user = user
        self.touched.add(node)

    def go(self, node: int) -> None:
        """Let the user of a node leave."""
        self.nodes[node].user = None
        self.touched.add(node)

    def most_memory(self, node: int, *, is_alone: bool = False) -> float:
        """Return what tasks may hold on a node now, or where no user ``is_alone`` with them ever, MB."""
        found = self.nodes[node]
        limit = memory_for_tasks(self.sharing, None if is_alone else found.user, found.memory)
        return capacity_limit(limit, self.sharing.paging)

    def memory_left(self, node: int) -> float:
        """Return what the tasks on a node, stopped ones too, leave of what they may hold now, MB."""
        return self.most_memory(node) - math.fsum(self._uses[task].memory for task in self.nodes[node].tasks)

    def memory_taken(self, node: int) -> float:
        """Return what the tasks on a node that are not stopped hold, MB."""
        stopped = self.nodes[node].stopped
        return math.fsum(self._uses[task].memory for task in self.nodes[node].tasks if task not in stopped)

    def cpu_taken(self, node: int) -> float:
        """Return the share of the CPU of a node that tasks use, once it is settled."""
        found = self.nodes[node]
        if not self.sharing.cooperation:
            return found.cpu if found.runnable else 0.0
        return math.fsum(self.jobs[task].share for task in found.tasks)

    def settle(self) -> set[int]:
        """Say what follows from all that has happened at an instant; return the jobs whose pace may have changed."""
        changed = {task for node in sorted(self.touched) for task in self._settle_memory(node)}
        for index in changed:
            self.touched.update(self.jobs[index].nodes)
        nodes, running = self._concerned()
        self.touched.clear()
        self._instant += 1
        for number in nodes:
            self._settle_cpu(self.nodes[number])
        shares = fair_shares({n: self.nodes[n].cpu for n in nodes}, running) if self.sharing.cooperation else {}
        for index in running:
            self._settle_pace(self.jobs[index], shares.get(index))
        return changed.union(running)

    def _settle_memory(self, number: int) -> Iterable[int]:
        """Stop tasks on a node, or let them come back; return the jobs that stand still now and did not, or went on."""
        node = self.nodes[number]
        before = set(node.stopped)
        node.stopped = stopped_tasks(node.tasks, node.stopped, self._uses, self.most_memory(number))
        node.is_paging = self.memory_taken(number) > capacity_limit(
            memory_for_tasks(self.sharing, node.user, node.memory)
        )
        changed = []
        for index in before.symmetric_difference(node.stopped):
            job = self.jobs[index]
            was_stopped, job.is_stopped = job.is_stopped, any(index in self.nodes[n].stopped for n in job.nodes)
            if was_stopped != job.is_stopped:
                job.share, job.slowdowns = 0.0, STANDING_STILL
                changed.append(index)
        return changed

    def _concerned(self) -> tuple[set[int], dict[int, tuple[int, ...]]]:
        """Return the nodes whose CPU is to be shared anew, and the nodes of the jobs that make progress there.

        Where nodes cooperate, what changes on one changes shares on all that a chain of jobs joins with it.
        """
        found, running = set(self.touched), dict[int, tuple[int, ...]]()
        waiting = list(self.touched)
        while waiting:
            for index in self.nodes[waiting.pop()].tasks:
                job = self.jobs[index]
                if index in running or job.is_stopped:
                    continue
                running[index] = job.nodes
                if self.sharing.cooperation:
                    new = [node for node in job.nodes if node not in found]
                    found.update(new)
                    waiting += new
        return found, running

    def _settle_cpu(self, node: SharedNode) -> None:
        """Count who is runnable on a node, and what they get."""
        if self.sharing.cooperation:
            node.runnable = sum(not self.jobs[task].is_stopped for task in node.tasks)
        else:
            node.runnable = len(node.tasks) - len(node.stopped)
        node.cpu = cpu_for_tasks(self.sharing, node.user, node.runnable)

    def _settle_pace(self, job: SharedJob, fair_share: float | None) -> None:
        """Give a job that makes progress its slowdowns: its slowest task holds it back."""
        nodes = [self.nodes[number] for number in job.nodes]
        shares = [node.cpu / node.runnable if fair_share is None else fair_share for node in nodes]
        processing = max(node.slowness / share for node, share in zip(nodes, shares, strict=True))
        others = max(node.runnable - 1 + (node.user is not None) for node in nodes)
        waits = 1.0 if self.sharing.coscheduling else 1.0 + self.sharing.wait_factor * others
        paging = self.sharing.paging_slowdown if any(node.is_paging for node in nodes) else 1.0
        job.share, job.slowdowns = min(shares), (processing * paging, waits * paging)
