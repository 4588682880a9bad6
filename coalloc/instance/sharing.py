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
    """How parallel tasks share nodes with each other and with local users.

    Parameters
    ----------
    contract
        Share of CPU and memory that parallel tasks get while a user is active (L); None: there is no contract, and
        they get what he leaves.
    paging
        Share of their memory by which the tasks on a node may exceed it.
    paging_slowdown
        Factor on the execution time of a job while one of its nodes pages.
    wait_factor
        Wait for a message, in the time that it takes itself, for each other that a task shares its node with (omega);
        where tasks that talk to each other are not scheduled together.
    coscheduling
        Whether they are: then messages wait for nobody.
    cooperation
        Whether nodes agree on one share of CPU for all tasks of a job.
    """

    contract: PositiveShare | None = 0.5
    paging: Share = 0.0
    paging_slowdown: PagingSlowdown = 1.3
    wait_factor: NonNegative = 1.0
    coscheduling: Flag = True
    cooperation: Flag = True


@value()
class LocalUser(Value):
    """A user who is active at a node for a while; no policy knows of it in advance.

    Parameters
    ----------
    node
        Name of the node, ``C1/0``.
    start, end
        The user is active in ``[start, end)``, s.
    profile
        What kind of user it is.
    cpu
        Share of the CPU that the user asks for; it counts where there is no contract.
    memory
        Memory that the user asks for, MB; likewise.
    """

    node: Text
    start: Seconds
    end: Seconds
    profile: Text = "user"
    cpu: Share = 1.0
    memory: NonNegative = 0.0
