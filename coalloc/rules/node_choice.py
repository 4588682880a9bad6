"""Rules of LoRaS: admissible nodes, the nodes that a job takes, and the next job.

A job has one task per node. What limits nodes, in which order they are taken and which job is selected are choices
that any policy may combine. Source: Hanzich et al. (CISNE), section 2.2; what it leaves open is ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from coalloc.instance import Job

NodeLimit = Literal["both", "mpl", "memory"]
NodeOrder = Literal["mpl", "memory", "users"]
Selection = Literal["first-fit", "just-first", "best-fit"]


class NodeLoad(NamedTuple):
    """Load of a node as a policy sees it.

    ``tasks`` are on it, those that memory has ``stopped`` too; ``places`` are free. ``memory`` (MB) is what the tasks
    on it leave of what they may hold now, ``most_memory`` what one may hold that is alone there; inf: no limit.
    """

    name: str
    tasks: int
    stopped: int
    places: int
    has_user: bool
    memory: float
    most_memory: float

    def taking(self, memory: float) -> NodeLoad:
        """Return the node with one more task, which asks for so much memory, MB."""
        return self._replace(tasks=self.tasks + 1, places=self.places - 1, memory=self.memory - memory)


NODE_ORDERS: Mapping[NodeOrder, Callable[[NodeLoad], Any]] = {
    "mpl": lambda load: load.tasks,
    "memory": lambda load: -load.memory,
    "users": lambda load: load.has_user,
}
"""Sort key by name of the order of nodes; ties keep the order of the platform."""


class Board:
    """The nodes as they are in the middle of a pass: who fits, where, and what is left.

    A node is admissible to a job if it has a free place and room for one of its tasks: of its memory now, or with the
    limit ``"mpl"`` only when nobody else is there.
    """

    def __init__(self, loads: Iterable[NodeLoad], limit: NodeLimit, order: NodeOrder) -> None:
        self._loads = list(loads)
        self._is_by_places = limit == "mpl"
        self._key = NODE_ORDERS[order]
        self._order: list[int] = []
        self._rooms: list[float] = []
        self._sort()

    def admissible(self, job: Job) -> int:
        """Return how many nodes may take a task of a job."""
        return len(self._rooms) - bisect_left(self._rooms, job.memory or 0.0)

    def fits(self, job: Job) -> bool:
        """Return whether a job can be launched now."""
        return job.tasks <= len(self._rooms) and self._rooms[-job.tasks] >= (job.memory or 0.0)

    def chosen(self, job: Job) -> list[NodeLoad]:
        """Return the nodes that a job takes, which fits."""
        return [self._loads[n] for n in self._chosen(job)]

    def launch(self, job: Job) -> list[str]:
        """Put a job on the nodes that it takes; return their names."""
        numbers = self._chosen(job)
        for n in numbers:
            self._loads[n] = self._loads[n].taking(job.memory or 0.0)
        self._sort()
        return [self._loads[n].name for n in numbers]

    def _chosen(self, job: Job) -> list[int]:
        admissible = (n for n in self._order if self._room(self._loads[n]) >= (job.memory or 0.0))
        return [n for _, n in zip(range(job.tasks), admissible, strict=False)]

    def _room(self, load: NodeLoad) -> float:
        return load.most_memory if self._is_by_places else load.memory

    def _sort(self) -> None:
        open_nodes = [n for n, load in enumerate(self._loads) if load.places]
        self._order = sorted(open_nodes, key=lambda n: self._key(self._loads[n]))
        self._rooms = sorted(self._room(self._loads[n]) for n in open_nodes)


def just_first(queue: Sequence[Job], board: Board) -> Job | None:
    """Return the head of the queue if it can be launched."""
    return queue[0] if queue and board.fits(queue[0]) else None


def first_fit(queue: Sequence[Job], board: Board) -> Job | None:
    """Return the first job that can be launched."""
    return next((job for job in queue if board.fits(job)), None)


def best_fit(queue: Sequence[Job], board: Board) -> Job | None:
    """Return, of all jobs that can be launched, the one that leaves fewest admissible nodes unused.

    Ties: the one that leaves least memory on the nodes that it takes, then the first.
    """
    unused = {n: board.admissible(job) - job.tasks for n, job in enumerate(queue) if board.fits(job)}
    fewest = min(unused.values(), default=0)
    best = [queue[n] for n, number in unused.items() if number == fewest]
    return best[0] if len(best) == 1 else min(best, key=lambda job: _memory_left(job, board), default=None)


def _memory_left(job: Job, board: Board) -> float:
    """Return what a job leaves of the memory of the nodes that it takes, MB."""
    return sum(load.memory - (job.memory or 0.0) for load in board.chosen(job))


SELECTIONS: Mapping[Selection, Callable[[Sequence[Job], Board], Job | None]] = {
    "first-fit": first_fit,
    "just-first": just_first,
    "best-fit": best_fit,
}
"""Rules that select the job of an ordered queue that is launched next, by name."""
