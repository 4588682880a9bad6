"""Nodes that are not ours alone: what decides how tasks share them, and the local users who sit at some of them.

Source: M. Hanzich, F. Giné, P. Hernández, F. Solsona and E. Luque on CISNE, section 2.1 (CSC); errata 24 and 35. It
gives no model; the one that these values describe is ours.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from coalloc.documents.values import Flag, NonNegative, PositiveShare, Seconds, Share, Text, Value, value

PagingSlowdown = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]


@value()
class Sharing(Value):
    """Rules of time-sharing: how parallel tasks share nodes with each other and with local users.

    Parameters
    ----------
    contract : float or None, default 0.5
        Share of CPU and memory that parallel tasks get while a local user is active (L), above 0 and at most 1. None:
        no contract; parallel tasks get what the user leaves.
    paging : float, default 0.0
        Share of the memory of a node by which its tasks may exceed it.
    paging_slowdown : float, default 1.3
        Factor on the execution time of a job while one of its nodes pages, at least 1.
    wait_factor : float, default 1.0
        Waiting time of a message per other task on the node, relative to the time of the message itself (omega),
        without coscheduling.
    coscheduling : bool, default True
        Whether communicating tasks are scheduled together, so that messages do not wait.
    cooperation : bool, default True
        Whether nodes agree on one CPU share for all tasks of a job.

    Notes
    -----
    Source: Hanzich et al., section 2.1; errata 24 and 35. The model is defined in docs/time-shared/model.md.

    Examples
    --------
    >>> from coalloc import Cluster, NodeGroup, Platform, Sharing
    >>> nodes = NodeGroup(8, power=1.0, multiprogramming=4)
    >>> cluster = Cluster("C1", [nodes], link_bandwidth=12.5)
    >>> Platform([cluster], sharing=Sharing(contract=0.4)).num_processors
    32
    """

    contract: PositiveShare | None = 0.5
    paging: Share = 0.0
    paging_slowdown: PagingSlowdown = 1.3
    wait_factor: NonNegative = 1.0
    coscheduling: Flag = True
    cooperation: Flag = True


@value()
class LocalUser(Value):
    """An interactive user who is active on a node for some time, unknown to every policy in advance.

    Parameters
    ----------
    node : str
        Name of the node, such as ``C1/0``.
    start : float
        Time at which the user becomes active, s.
    end : float
        Time at which the user leaves, s.
    profile : str, default "user"
        Kind of user; metrics are reported by profile.
    cpu : float, default 1.0
        Share of the CPU that the user needs, 0 to 1; it counts if there is no contract.
    memory : float, default 0.0
        Memory that the user needs, MB; it counts if there is no contract.

    Examples
    --------
    A user halves the speed of a node from 300 s on:

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Sharing
    >>> cluster = Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=12.5)
    >>> platform = Platform([cluster], sharing=Sharing(contract=0.5))
    >>> user = coalloc.LocalUser("C1/0", start=300.0, end=9000.0)
    >>> job = Job("J1", tasks=1, base_time=600.0)
    >>> instance = Instance(platform, [job], local_users=[user])
    >>> coalloc.simulate(instance, "loras").schedule["J1"].end
    900.0
    """

    node: Text
    start: Seconds
    end: Seconds
    profile: Text = "user"
    cpu: Share = 1.0
    memory: NonNegative = 0.0
