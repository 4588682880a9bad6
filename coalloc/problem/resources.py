"""Resources that tasks share besides processors: links, memories of nodes, stocks, and pools that windows take from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from coalloc.instance import Instance, Job
from coalloc.instance.resources import contended_nodes, of_nodes
from coalloc.problem.allocation import Stock
from coalloc.problem.execution import link_load, link_load_table


@dataclass(frozen=True, slots=True)
class LinkBandwidth:
    """A link as a resource: the classes below it, by index, and its largest load, MB/s; inf where it may saturate."""

    name: str
    classes: tuple[int, ...]
    limit: float
    load = staticmethod(link_load)
    load_table = staticmethod(link_load_table)

    @staticmethod
    def sees(job: Job) -> Hashable:
        """Return what a load depends on besides the tasks there."""
        return job.tasks, job.task_bandwidth


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The memory of a node of several cores as a resource: the node's class, by index, and MB that tasks may hold."""

    name: str
    classes: tuple[int, ...]
    limit: float

    @staticmethod
    def load(tasks: int, job: Job) -> float:
        """Return what tasks of a job on the node ask for, MB."""
        return tasks * (job.memory or 0.0)

    @staticmethod
    def load_table(most: int, job: Job) -> list[float]:
        """Return what 0, 1, ..., ``most`` tasks of a job on the node ask for, MB."""
        return [NodeMemory.load(tasks, job) for tasks in range(most + 1)]

    @staticmethod
    def sees(job: Job) -> Hashable:
        """Return what a load depends on besides the tasks there."""
        return job.memory


@dataclass(frozen=True, slots=True)
class Pool:
    """Units that tasks on some classes, by index, take of a stock: processors that a window leaves of a group."""

    name: str
    classes: tuple[int, ...]
    limit: float

    @staticmethod
    def parts(job: Job) -> tuple[float, float]:  # noqa: ARG004 - every task of every job takes a processor
        """Return the units that a job takes by being there, and those that each of its tasks there takes."""
        return 0.0, 1.0

    @staticmethod
    def load(tasks: int, job: Job) -> float:  # noqa: ARG004
        """Return the units that so many tasks of a job take."""
        return float(tasks)

    @staticmethod
    def load_table(most: int, job: Job) -> list[float]:
        """Return the units that 0, 1, ..., ``most`` tasks of a job take."""
        return [Pool.load(tasks, job) for tasks in range(most + 1)]

    @staticmethod
    def sees(job: Job) -> Hashable:  # noqa: ARG004 - all jobs are alike
        """Return what a load depends on besides the tasks there."""
        return None


Countable = Stock | Pool
"""A resource of which a job takes a part for being there, and a part for each of its tasks there."""

Resource = LinkBandwidth | NodeMemory | Countable
"""Resource besides processors, on some classes: ``load(tasks, job)`` with so many tasks there, up to a limit."""


def crowded_nodes(instance: Instance) -> list[int]:
    """Return the nodes, by index, of which tasks may ask for more than there is of a resource: each is a class."""
    names = of_nodes(instance.platform, instance.resources_asked)
    return contended_nodes(instance.platform, [*instance.jobs, *(run.job for run in instance.running)], names)
