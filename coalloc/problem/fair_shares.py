"""Max-min fair shares: how much CPU each job gets where all its tasks have one share, whatever node they are on.

The share of all jobs rises together from 0; that of a job stops where one of its nodes is full. No share can then
rise but at the cost of one that is no larger, and no other shares are so: they are unique. Source: D. Bertsekas and
R. Gallager, Data Networks, 1992, section 6.5.2 (max-min fair flow control).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence


def fair_shares(capacities: Mapping[int, float], nodes: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Return the share of each job such that on no node they add up to more than its capacity.

    ``capacities`` are above 0, by node; ``nodes`` are those of each job, none twice. In as many steps as there are
    jobs at most: each takes the node that is full first, and fixes the jobs on it.
    """
    jobs: dict[int, list[int]] = {node: [] for node in capacities}
    for job, used in nodes.items():
        for node in used:
            jobs[node].append(job)
    left = dict(capacities)
    rising = {node: len(on_node) for node, on_node in jobs.items()}
    levels = [(left[node] / number, node, number) for node, number in rising.items() if number]
    heapq.heapify(levels)
    shares: dict[int, float] = {}
    while levels:
        level, full, number = heapq.heappop(levels)
        if number != rising[full]:
            continue  # jobs on it were fixed since: it stands in the heap again
        touched: dict[int, None] = {}
        for job in jobs[full]:
            if job not in shares:
                shares[job] = level
                for node in nodes[job]:
                    left[node] -= level
                    rising[node] -= 1
                    touched[node] = None
        for node in touched:
            if rising[node]:
                heapq.heappush(levels, (left[node] / rising[node], node, rising[node]))
    return shares
