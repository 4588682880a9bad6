"""Windows in which parts of a platform are not there: maintenance, and what is reserved for others."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any

from pydantic import Field

from coalloc.documents.values import LEFT_OUT, Count, Seconds, Text, Value, value
from coalloc.instance.processor_names import NamesField, ProcessorNames

NO_NODES: Any = ProcessorNames(())
GroupNumber = Annotated[int, Field(strict=True, ge=0)]


@value()
class Window(Value):
    """A maintenance window or outage of a cluster, of some of its nodes, or of some processors of a node group.

    Parameters
    ----------
    cluster : str
        Name of the cluster. All of it is unavailable, unless nodes or processors are given.
    start : float
        Time from which it is unavailable, s.
    end : float
        Time from which it is available again, s.
    nodes : sequence of str, default ()
        Names of the unavailable nodes, or ranges of them: ``C1/0-127``. Empty: all nodes.
    group : int or None, default None
        Index of a node group of the cluster, from 0; together with ``processors``.
    processors : int or None, default None
        Number of processors of the group that no job may hold at any time of the window.

    Examples
    --------
    Node ``C1/0`` is unavailable in the first hour:

    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Window, solve
    >>> cluster = Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=125.0)
    >>> window = Window("C1", start=0.0, end=3600.0, nodes=["C1/0"])
    >>> platform = Platform([cluster], unavailable=[window])
    >>> instance = Instance(platform, [Job("J1", tasks=2, base_time=600.0)])
    >>> solve(instance).schedule["J1"].start
    3600.0
    """

    cluster: Text
    start: Seconds
    end: Seconds
    nodes: NamesField = field(default=NO_NODES, metadata=LEFT_OUT)
    group: GroupNumber | None = None
    processors: Count | None = None
