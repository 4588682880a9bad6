"""LoRaS: an order of the queue, a selection from it, a limit on nodes and an order of them, each an option."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from coalloc.instance import CoallocError
from coalloc.problem.allocation import Scope
from coalloc.rules.node_choice import SELECTIONS, Board, NodeLimit, NodeOrder, Selection
from coalloc.rules.orders import FIXED_ORDERS, ordered
from coalloc.simulator.policy import Start, State

QueueOrder = Literal["fcfs", "spt", "sjf"]

MIXES: dict[str, tuple[QueueOrder, Selection]] = {
    "SJF-JFirst": ("spt", "just-first"),
    "FCFS-FFit": ("fcfs", "first-fit"),
    "SNPF-BFit": ("sjf", "best-fit"),
}
"""Order and selection by the name that the source gives to the two; its SJF is by time, its SNPF by tasks."""


@dataclass(frozen=True, slots=True)
class Loras:
    """Select jobs and nodes in configurable orders; supports time-shared nodes.

    LoRaS sees what is on each node now, never what is to come (docs/time-shared-nodes.md#loras). Ties are in order of
    the queue or the platform. Source: Hanzich et al. (CISNE), section 2.2 (the policy Flexible); errata 12 and 24.

    Parameters
    ----------
    queue_order
        ``"fcfs"``: by arrival. ``"spt"``: by estimate, shortest first (SJF in the source). ``"sjf"``: by tasks, fewest
        first (SNPF in the source). None: ``"fcfs"``, or that of ``mix``.
    selection
        ``"first-fit"``: the first job that can start. ``"just-first"``: only the head. ``"best-fit"``: the job that
        leaves fewest admissible nodes unused, then least memory on its nodes. None: ``"first-fit"``, or that of
        ``mix``.
    node_limit
        ``"both"``: nodes with a free place, and memory for a task in the part that tasks may hold now. ``"memory"``:
        the same; the memory of every node group and every job must be known. ``"mpl"``: a free place is enough, if the
        node could hold the task alone. Free memory is what *all* tasks on a node leave, including stopped ones, which
        may return.
    node_order
        Admissible nodes with fewest tasks first (``"mpl"``), with most free memory first (``"memory"``), or without an
        active user first (``"users"``).
    mix
        Order and selection under the name of the source: ``"SJF-JFirst"`` is ``"spt"`` and ``"just-first"``,
        ``"FCFS-FFit"`` ``"fcfs"`` and ``"first-fit"``, ``"SNPF-BFit"`` ``"sjf"`` and ``"best-fit"``.

    Examples
    --------
    *Example.* Three nodes. A (2 tasks, 10 s) arrives at 0 s, B (3 tasks, 30 s) at 1 s, C (1 task, 40 s) at 2 s, D (2
    tasks, 20 s) at 3 s. One place per node, FCFS-FFit: C starts at 2 s and D at 10 s, both before B. B waits for C
    until 2 + 40 = 42 s. SJF-JFirst: D has the least estimate, is the head from 3 s on, and starts at 10 s; B at 10 + 20
    = 30 s, C at 30 + 30 = 60 s. Two places per node: B joins A at 1 s. A has half the CPU for its last 9 s and ends at
    1 + 9/0.5 = 19 s, when D takes its places.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> jobs = [
    ...     Job("A", 2, 10.0),
    ...     Job("B", 3, 30.0, arrival=1.0),
    ...     Job("C", 1, 40.0, arrival=2.0),
    ...     Job("D", 2, 20.0, arrival=3.0),
    ... ]
    >>> for places, mix in ((1, "FCFS-FFit"), (1, "SJF-JFirst"), (2, "FCFS-FFit")):
    ...     nodes = NodeGroup(3, power=1.0, multiprogramming=places)
    ...     platform = Platform([Cluster("C1", [nodes], link_bandwidth=1.0)])
    ...     run = coalloc.simulate(Instance(platform, jobs), "loras", mix=mix)
    ...     print(places, mix, {found.job: found.start for found in run.schedule})
    1 FCFS-FFit {'A': 0.0, 'B': 42.0, 'C': 2.0, 'D': 10.0}
    1 SJF-JFirst {'A': 0.0, 'B': 30.0, 'C': 60.0, 'D': 10.0}
    2 FCFS-FFit {'A': 0.0, 'B': 1.0, 'C': 2.0, 'D': 19.0}
    """

    queue_order: Literal[None, "fcfs", "spt", "sjf"] = None
    selection: Literal[None, "first-fit", "just-first", "best-fit"] = None
    node_limit: NodeLimit = "both"
    node_order: NodeOrder = "mpl"
    mix: Literal[None, "SJF-JFirst", "FCFS-FFit", "SNPF-BFit"] = None
    scope: ClassVar[Scope] = "platform"
    shares_nodes: ClassVar[bool] = True
    supported_features: ClassVar[frozenset[str]] = frozenset({"deadline", "after", "times", "shapes", "lags"})
    why_unsupported: ClassVar[str] = "it considers only the current tasks and memory of nodes"

    def __post_init__(self) -> None:
        given = {"queue_order": self.queue_order, "selection": self.selection}
        names = [name for name, value in given.items() if value is not None]
        if self.mix is not None and names:
            raise CoallocError(f"mix {self.mix!r} of policy 'loras' sets {' and '.join(names)}; give one or the other")

    @property
    def needs_memory(self) -> str:
        """Option that asks for the memory of all nodes and jobs; empty where none does."""
        asked = {"node_limit": self.node_limit, "node_order": self.node_order}
        return next((f"{name}='memory'" for name, value in asked.items() if value == "memory"), "")

    def begin(self, state: State) -> None:
        """Refuse dedicated nodes whose cores share too little memory: a job may have several tasks there."""
        groups = [group for cluster in state.platform.clusters for group in cluster.nodes]
        if state.lacks_memory and any(group.cores > 1 and group.memory is not None for group in groups):
            raise CoallocError("policy 'loras' does not support memory limits on dedicated nodes with several cores")

    def decide(self, state: State) -> Iterator[Start]:
        """Launch jobs until no more is selected."""
        order, selection = MIXES[self.mix or "FCFS-FFit"]
        order, select = self.queue_order or order, SELECTIONS[self.selection or selection]
        board = Board(state.node_loads, self.node_limit, self.node_order)
        queue = ordered(state.queue, FIXED_ORDERS[order])
        while (job := select(queue, board)) is not None:
            queue = [other for other in queue if other is not job]
            yield Start(job.id, nodes=board.launch(job))
