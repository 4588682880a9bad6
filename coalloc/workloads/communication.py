"""The task bandwidth of a sampled job follows from its bisection bandwidth, and alone it saturates no link.

The bisection bandwidth BSBW of a job, GB/s, is the load of a link with half of its tasks on either side. That of one
task, PTBW, in a job of n tasks is

    PTBW = 1000 * BSBW * 4 (n - 1) / n**2        MB/s

(thesis, section 3.1.3.1 and Table 3.2, where it is PNBW). A link with t of the tasks on one side has the load
``t * PTBW * (n - t) / (n - 1)``: an even split loads it by exactly BSBW, any other split by less.

A job that saturates a link on every allocation could never start. So all generators but ``perfect-packing`` lower PTBW,
where needed, to the largest value with which the job, alone on the platform, has one allocation whose load fits every
link. That happens with narrow links, or with BSBW near and above the link bandwidth, never with the defaults. Two jobs
together may still exceed a link.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from coalloc.instance import Platform

MB_PER_GB = 1000.0
"""MB/s in a GB/s; the thesis gives BSBW in GB/s, platforms give links in MB/s."""

SHARE_RANGE = (0.5, 0.9)
"""Processing shares are drawn uniformly from here; the sources give single values of 0.5 and 0.7 (Table 3.4)."""

BSBW_RANGE = (0.0125, 0.125)
"""BSBW is drawn uniformly from here, GB/s: a tenth of a Gigabit link to all of it."""

SHARE_DIGITS = 3
"""Decimals of a drawn processing share, so that files are readable."""

BSBW_DIGITS = 6
"""Decimals of a drawn BSBW in GB/s, so that files are readable (1 kB/s)."""

Ceilings = npt.NDArray[np.float64]
"""Largest task bandwidth in MB/s, by the number of tasks below a vertex of the network."""


def draw_shares(rng: np.random.Generator, low: float, high: float, count: int) -> list[float]:
    """Return ``count`` processing shares, uniform in [low, high)."""
    return [round(float(share), SHARE_DIGITS) for share in rng.uniform(low, high, count)]


def draw_bsbw(rng: np.random.Generator, low: float, high: float, count: int) -> list[float]:
    """Return ``count`` bisection bandwidths in GB/s, uniform in [low, high)."""
    return [round(float(bsbw), BSBW_DIGITS) for bsbw in rng.uniform(low, high, count)]


def task_bandwidth(bsbw: float, tasks: int) -> float:
    """Return PTBW in MB/s of a job with this BSBW in GB/s."""
    return bsbw * MB_PER_GB * 4 * (tasks - 1) / tasks**2


def bearable_task_bandwidth(bsbw: float, tasks: int, platform: Platform) -> float:
    """Return PTBW in MB/s by Table 3.2, capped so that the job fits the links when it is alone."""
    return min(task_bandwidth(bsbw, tasks), largest_task_bandwidth(tasks, platform))


@functools.lru_cache(maxsize=4096)
def largest_task_bandwidth(tasks: int, platform: Platform) -> float:
    """Return the largest PTBW in MB/s with which a lone job of ``tasks`` has an allocation that fits every link.

    ``inf`` where one cluster holds the job. The tree is folded from its leaves to the root: for each
    number of tasks below a vertex, the best allocation of these is the one whose tightest link allows
    most.
    """
    if any(cluster.num_processors >= tasks for cluster in platform.clusters):
        return math.inf
    import networkx as nx

    tree, root = platform.network, platform.network.graph["root"]
    inside = {("cluster", c.name): c.num_processors for c in platform.clusters}
    below = {vertex: np.full(min(inside.get(vertex, 0), tasks) + 1, math.inf) for vertex in tree}
    parents = nx.dfs_predecessors(tree, root)
    for vertex in nx.dfs_postorder_nodes(tree, root):
        if vertex != root:
            parent = parents[vertex]
            over_link = _through_link(below.pop(vertex), tasks, tree.edges[parent, vertex]["bandwidth"])
            below[parent] = _joined(below[parent], over_link, tasks)
    return float(below[root][tasks])


def _through_link(limits: Ceilings, tasks: int, bandwidth: float) -> Ceilings:
    """Limit the task bandwidth also by the link above a vertex, of ``bandwidth`` MB/s."""
    inside = np.arange(len(limits))
    pairs = inside * (tasks - inside)
    allowed = np.full(len(limits), math.inf)
    np.divide(bandwidth * (tasks - 1), pairs, out=allowed, where=pairs > 0)
    limited: Ceilings = np.minimum(limits, allowed)
    return limited


def _joined(one: Ceilings, other: Ceilings, tasks: int) -> Ceilings:
    """Return the best limit for each number of tasks below either of two parts of the tree."""
    joined = np.full(min(len(one) + len(other) - 2, tasks) + 1, -math.inf)
    for count, limit in enumerate(other):
        part = joined[count : count + len(one)]
        np.maximum(part, np.minimum(one[: len(part)], limit), out=part)
    return joined
