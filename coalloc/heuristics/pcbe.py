"""PCBE: a greedy policy for energy, or for energy times delay, of jobs that each run on one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coalloc.heuristics.classics import less
from coalloc.heuristics.node_list import on_node
from coalloc.heuristics.over_time import Admission
from coalloc.instance import Job, NodeGroup, Platform
from coalloc.instance.power import known_watts, require_watts
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem.allocation import NodeClass, Scope
from coalloc.problem.execution import dedicated_time, execution_time
from coalloc.simulator.policy import Running, Start, State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Criterion = Literal["energy", "edp"]
EnergyOrder = Literal["low-first", "high-first"]
Wait = Annotated[float, Field(strict=True, ge=0)]
"""Seconds, without end where nothing ever starves."""

SIGNS = {"low-first": 1.0, "high-first": -1.0}
"""Signs that make the order of a key ascending."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a platform, in its order, as columns; ``slowness`` is one over the effective power."""

    groups: tuple[NodeGroup, ...]
    slowness: tuple[float, ...]
    static_watts: Floats
    core_watts: Floats

    def seconds(self, job: Job) -> Floats:
        """Return the estimated execution time of a job on each node, s. Source: PCBE, equations (3.3), (3.4)."""
        if job.times:
            named = {group: dedicated_time(job, group) for group in set(self.groups)}
            return np.array([named[group] for group in self.groups])
        times = {slowness: execution_time(job, slowness) for slowness in set(self.slowness)}
        return np.array([times[slowness] for slowness in self.slowness])

    def joules(self, job: Job, running: Floats) -> Floats:
        """Return the estimated energy of a job on each node, J, where so many jobs run already.

        The job pays for its cores, and for its part of the static watts. Source: PCBE, equations (3.1), (3.2).
        """
        return self.seconds(job) * (job.tasks * self.core_watts + self.static_watts / (running + 1.0))


def nodes_of(classes: Sequence[NodeClass]) -> Nodes:
    """Return nodes, each a class of its own; their watts are given."""
    watts = np.array([known_watts(node_class.group) for node_class in classes])
    slowness = tuple(1.0 / node_class.effective_power for node_class in classes)
    return Nodes(tuple(node_class.group for node_class in classes), slowness, watts[:, 1], watts[:, 2])


@dataclass(slots=True)
class Pcbe:
    r"""Greedy for energy or the energy-delay product: each job on its best single node.

    At each pass:

    1. The queue is ordered by the users' expectation: ``energy_estimate`` (J per task) times tasks, for EDP times the
       estimate as well. Without a figure it is the estimate times the core watts of the most frugal node (section
       4.2.2). Ties: order of arrival.
    2. Jobs that have waited for at least ``starvation`` come before the others, in the same order among themselves.
    3. All are tried; none that does not fit blocks those behind it.
    4. A job takes, among the nodes with enough free cores, the one with the least (``high-first``: the most) estimated
       energy

       $$E_{jn} = T_{jn} \left( \tau_j P^{core}_n + \frac{P^{static}_n}{J_n + 1} \right)$$

       with the expected time $T_{jn} = p'_j / \Gamma_n$ and $J_n$ the jobs that run there, those just started included;
       for EDP $E_{jn} T_{jn}$. Equal estimates (to 1e-9) go to the first node of the platform.

    Source: PCBE, sections 3.1 and 3.2, algorithms 1 and 2, codes 3.1 to 3.6; errata 19. docs/energy.md has the energy
    model.

    Parameters
    ----------
    criterion
        Estimate of a job on a node: joules, or joules times seconds.
    job_order
        Jobs by what their users expect them to consume.
    node_order
        Nodes by what a job is estimated to consume there.
    starvation
        Wait after which a job comes first, s.

    Examples
    --------
    *Example.* Two nodes of three cores: C1/0 has speed 1, 10 W static and 5 W per core, C1/1 speed 2, 20 W and 20 W. A
    (2 cores) and B (1 core) arrive at 0 s, C (1 core) at 1 s. Each has an estimate of 10 s, and takes 5 s on C1/1.
    Without figures of users, B is expected to take 10 * 1 * 5 = 50 J and A 10 * 2 * 5 = 100 J, so B is first.

    | criterion | job | on C1/0 | on C1/1 |
    |---|---|---|---|
    | energy, J | B | 10 (5 + 10) = **150** | 5 (20 + 20) = 200 |
    | energy, J | A | 10 (10 + 10/2) = **150** | 5 (40 + 20) = 300 |
    | EDP, J s | B | 10 * 150 = 1500 | 5 * 200 = **1000** |
    | EDP, J s | A | 10 * 10 (10 + 10) = 2000 | 5 * 5 (40 + 20/2) = **1250** |

    A and B use all three cores of one node, so C takes the other.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> slow = NodeGroup(
    ...     1, power=1.0, cores=3, idle_watts=1.0, static_watts=10.0, core_watts=5.0
    ... )
    >>> fast = slow.replace(power=2.0, static_watts=20.0, core_watts=20.0)
    >>> platform = Platform([Cluster("C1", [slow, fast], link_bandwidth=1.0)])
    >>> jobs = [Job("A", 2, 10.0), Job("B", 1, 10.0), Job("C", 1, 10.0, arrival=1.0)]
    >>> for criterion in ("energy", "edp"):
    ...     run = coalloc.simulate(
    ...         Instance(platform, jobs), "pcbe", criterion=criterion
    ...     )
    ...     for placement in run.schedule:
    ...         node = placement.nodes[0].partition(".")[0]
    ...         print(criterion, placement.job, node, placement.start, placement.end)
    energy A C1/0 0.0 10.0
    energy B C1/0 0.0 10.0
    energy C C1/1 1.0 6.0
    edp A C1/1 0.0 5.0
    edp B C1/1 0.0 5.0
    edp C C1/0 1.0 11.0
    """

    criterion: Criterion = "energy"
    job_order: EnergyOrder = "low-first"
    node_order: EnergyOrder = "low-first"
    starvation: Wait = 60.0
    scope: Scope = field(init=False, default="node")
    _platform: Platform | None = field(init=False, default=None, repr=False)
    _nodes: Nodes = field(init=False, repr=False)

    def copy(self) -> Self:
        """Return a policy of its own over the same nodes."""
        return copy(self)

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs that fit, in order, each on its best node."""
        if self._platform is not state.platform:
            require_watts(state.platform)
            self._platform, self._nodes = state.platform, nodes_of(state.classes)
        nodes, room, free = self._nodes, state.room, np.array(state.free)
        running = running_jobs(state.running, len(free))
        admission = Admission(state) if state.has_closings else None
        most = int(free.max())
        fitting = [job for job in state.queue if job.tasks <= most]
        for job in sorted(fitting, key=self._key(state.now, float(nodes.core_watts.min()))):
            usable = np.array(state.usable(job, room)) if state.is_restricted else free
            if admission is not None:
                usable = np.array(admission.usable(job, nodes.seconds(job).tolist()))
            if job.tasks <= most and job.tasks <= int(usable.max()):
                best = self._best(job, nodes, running, usable)
                start = on_node(job, best, len(free))
                room = less(room, state.taken(job, start.counts))
                if admission is not None:
                    admission.admits_counts(job, start.counts, float(nodes.seconds(job)[best]))
                free[best] -= job.tasks
                running[best] += 1.0
                most = int(free.max())
                yield start

    def _best(self, job: Job, nodes: Nodes, running: Floats, free: Ints) -> int:
        """Return the node that a job takes, among those with room; of equal ones the first."""
        score = nodes.joules(job, running)
        if self.criterion == "edp":
            score = score * nodes.seconds(job)
        signed = np.where(free >= job.tasks, SIGNS[self.node_order] * score, np.inf)
        least = signed.min()
        return int(np.argmax(signed <= least + RELATIVE_TOLERANCE * abs(least)))

    def _key(self, now: float, least_watts: float) -> Callable[[Job], tuple[bool, float]]:
        """Return the sort key of the queue: those that starve, then by expected consumption."""
        sign = SIGNS[self.job_order]

        def key(job: Job) -> tuple[bool, float]:
            consumption = expected_joules(job, least_watts)
            if self.criterion == "edp":
                consumption *= job.estimate
            return now - job.arrival < self.starvation, sign * consumption

        return key


def running_jobs(running: Sequence[Running], num_nodes: int) -> Floats:
    """Return how many jobs run on each node, shape ``(num_nodes,)``."""
    counts = np.array([job.counts for job in running], dtype=np.int64).reshape(-1, num_nodes)
    return np.asarray(np.count_nonzero(counts, axis=0), dtype=np.float64)


def expected_joules(job: Job, least_watts: float) -> float:
    """Return what a job's user expects it to consume, J: the figure per task, times the tasks.

    Who gives no figure is taken to expect ``least_watts`` per task, the core watts of the most frugal node.
    Source: PCBE, section 3.2.1 and, for the latter, 4.2.2.
    """
    per_task = job.estimate * least_watts if job.energy_estimate is None else job.energy_estimate
    return per_task * job.tasks
