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
    """A time in which a cluster, some of its nodes, or some processors of a group of them, are not there.

    Parameters
    ----------
    cluster
        Name of the cluster; all of it, unless nodes or processors are given.
    start
        From when on it is not there, s.
    end
        When it is there again, s.
    nodes
        Names of the nodes, or ranges of them: ``C1/0-127``; whole nodes, whatever cores they have. None: all.
    group
        Number of a group of nodes of the cluster, from 0; with ``processors``.
    processors
        So many processors of the group at least are held by no job at any instant of the window.
    """

    cluster: Text
    start: Seconds
    end: Seconds
    nodes: NamesField = field(default=NO_NODES, metadata=LEFT_OUT)
    group: GroupNumber | None = None
    processors: Count | None = None
