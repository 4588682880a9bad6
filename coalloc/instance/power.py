"""Watts of a node, in one place, and watts derived from physics.

A node with a busy core draws ``static_watts``, and ``core_watts`` more for each busy core; a node without
draws ``idle_watts``. Source: PCBE, equations (2.3) and (2.4); errata 20 (what the published simulator does).
A cluster with power states draws what :mod:`coalloc.instance.power_states` says instead.
"""

from __future__ import annotations

from coalloc.documents.errors import CoallocError
from coalloc.documents.text import quoted
from coalloc.instance.clusters import Cluster, NodeGroup
from coalloc.instance.platform import Platform
from coalloc.instance.power_states import PowerStates

WATTS = ("idle_watts", "static_watts", "core_watts")
"""Fields of a node group without which nothing can be metered."""

HERTZ_PER_CLOCK = 1e9
"""``clock`` is in GHz."""


def node_watts(group: NodeGroup, busy_cores: int) -> float:
    """Return what one node of a group draws with so many busy cores, W; the group has its watts."""
    watts = known_watts(group)
    return watts[1] + busy_cores * watts[2] if busy_cores else watts[0]


def known_watts(group: NodeGroup) -> tuple[float, float, float]:
    """Return ``idle_watts``, ``static_watts`` and ``core_watts`` of a group; raises where one is not given."""
    if group.idle_watts is None or group.static_watts is None or group.core_watts is None:
        raise CoallocError(f"the node group has no {_missing(group)}")
    return group.idle_watts, group.static_watts, group.core_watts


def has_power_states(platform: Platform) -> bool:
    """Return whether some cluster has power states: then they are what is metered, not the watts of nodes."""
    return any(cluster.power_states is not None for cluster in platform.clusters)


def is_metered(platform: Platform) -> bool:
    """Return whether the watts of every node group, or the power states of every cluster, are given."""
    if has_power_states(platform):
        return all(cluster.power_states is not None for cluster in platform.clusters)
    return not any(_missing(group) for cluster in platform.clusters for group in cluster.nodes)


def require_metered(platform: Platform, power_management: bool = False) -> None:
    """Raise :class:`CoallocError` with a line for each cluster or node group for which energy lacks something."""
    if power_management or has_power_states(platform):
        require_power_states(platform)
    else:
        require_watts(platform)


def require_power_states(platform: Platform) -> None:
    """Raise :class:`CoallocError` with a line for each cluster without power states."""
    why = "the other clusters have them" if has_power_states(platform) else "power management requires them"
    lines = [
        f"clusters[{c}] (cluster {quoted(cluster.name)}) has no power_states: {why}"
        for c, cluster in enumerate(platform.clusters)
        if cluster.power_states is None
    ]
    if lines:
        raise CoallocError("\n".join(lines))


def known_power_states(cluster: Cluster) -> PowerStates:
    """Return the power states of a cluster; raises where it has none."""
    if cluster.power_states is None:
        raise CoallocError(f"cluster {quoted(cluster.name)} has no power_states")
    return cluster.power_states


def require_watts(platform: Platform) -> None:
    """Raise :class:`CoallocError` with a line for each node group whose watts are not all given."""
    lines = [
        f"clusters[{c}].nodes[{g}] (cluster {quoted(cluster.name)}) has no {_missing(group)}: {_reason(cluster)}"
        for c, cluster in enumerate(platform.clusters)
        for g, group in enumerate(cluster.nodes)
        if _missing(group)
    ]
    if lines:
        raise CoallocError("\n".join(lines))


def _reason(cluster: Cluster) -> str:
    """Return why the watts of the nodes of a cluster are needed."""
    if cluster.power_states is not None:
        return "node watts are required here, not the power_states of the cluster"
    return "energy requires them; use 0 for no power draw"


def _missing(group: NodeGroup) -> str:
    """Return the names of the watts that a group does not have."""
    return ", ".join(name for name in WATTS if getattr(group, name) is None)


# ------------------------------------------------------------------------------ derived watts


def switching_watts(capacitance: float, voltage: float, clock: float) -> float:
    """Return the dynamic power of a core, ``1/2 C V^2 f`` in W.

    ``capacitance`` is the switched capacitance in F, ``voltage`` in V, ``clock`` in GHz as in a node group.
    Source: PCBE, equation (2.4).
    """
    if min(capacitance, voltage, clock) < 0.0:
        raise CoallocError(
            f"capacitance, voltage and clock must be at least 0, got {capacitance!r}, {voltage!r}, {clock!r}"
        )
    return 0.5 * capacitance * voltage**2 * clock * HERTZ_PER_CLOCK


def at_clock(group: NodeGroup, clock: float, voltage_ratio: float | None = None) -> NodeGroup:
    """Return a group as it is at another clock (GHz): its power follows the clock, its core watts ``V^2 f``.

    ``voltage_ratio`` is the new voltage over the old; by default it equals the ratio of the clocks, so that
    core watts follow the cube of the clock; 1 leaves the voltage as it is. Idle and static watts do not change.

    Raises
    ------
    CoallocError
        If the group has no clock or no core watts, or an argument is not above 0.
    """
    if group.clock is None or group.core_watts is None:
        raise CoallocError("the node group must have a clock and core_watts to be scaled")
    if clock <= 0.0 or (voltage_ratio is not None and voltage_ratio <= 0.0):
        raise CoallocError(f"clock and voltage_ratio must be above 0, got {clock!r} and {voltage_ratio!r}")
    ratio = clock / group.clock
    voltage = ratio if voltage_ratio is None else voltage_ratio
    return group.replace(power=group.power * ratio, core_watts=group.core_watts * voltage**2 * ratio, clock=clock)
