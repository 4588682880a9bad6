"""Instances whose optimum is known: jobs cut from a full rectangle of nodes by time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from coalloc.documents.values import NonNegative, PositiveSeconds, Share
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.workloads.communication import BSBW_RANGE, MB_PER_GB, SHARE_RANGE, draw_bsbw, draw_shares, task_bandwidth
from coalloc.workloads.generator import Generator, NumNodes, order_faults

Cuts = Literal["guillotine", "pinwheel"]
"""Cut pieces right through, or first into five that interlock, which no cut right through can part."""

PINWHEEL_PIECES = 5
PINWHEEL_SIDE = 3
"""Shortest side of a rectangle that can be cut into a pinwheel."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A piece: ``nodes`` nodes from ``first_node`` on, for ``steps`` steps of time from ``start`` on."""

    first_node: int
    nodes: int
    start: int
    steps: int

    @property
    def area(self) -> int:
        """Node steps."""
        return self.nodes * self.steps

    def part(self, first_node: int, last_node: int, start: int, end: int) -> Rectangle:
        """Return the part between these bounds, relative to this rectangle and half-open."""
        return Rectangle(self.first_node + first_node, last_node - first_node, self.start + start, end - start)


def cut(rng: np.random.Generator, whole: Rectangle, count: int, cuts: Cuts) -> list[Rectangle]:
    """Cut a rectangle into ``count`` pieces; large pieces are cut more often. Needs ``count <= whole.area``."""
    pieces = [whole]
    while len(pieces) < count:
        areas = np.array([piece.area if piece.area > 1 else 0 for piece in pieces])
        drawn = int(rng.integers(areas.sum()))
        piece = pieces.pop(int(np.searchsorted(np.cumsum(areas), drawn, side="right")))
        fits = min(piece.nodes, piece.steps) >= PINWHEEL_SIDE and count - len(pieces) >= PINWHEEL_PIECES
        pieces += pinwheel(rng, piece) if cuts == "pinwheel" and fits else halves(rng, piece)
    return pieces


def halves(rng: np.random.Generator, piece: Rectangle) -> list[Rectangle]:
    """Cut a piece in two, across the nodes or across the time."""
    nodes, steps = piece.nodes, piece.steps
    if steps == 1 or (nodes > 1 and rng.random() < 0.5):
        at = int(rng.integers(1, nodes))
        return [piece.part(0, at, 0, steps), piece.part(at, nodes, 0, steps)]
    at = int(rng.integers(1, steps))
    return [piece.part(0, nodes, 0, at), piece.part(0, nodes, at, steps)]


def pinwheel(rng: np.random.Generator, piece: Rectangle) -> list[Rectangle]:
    """Cut a piece in five: four around the fifth, each overlapping the end of the one before."""
    nodes, steps = piece.nodes, piece.steps
    left, right = sorted(int(at) for at in rng.choice(np.arange(1, nodes), 2, replace=False))
    early, late = sorted(int(at) for at in rng.choice(np.arange(1, steps), 2, replace=False))
    return [
        piece.part(0, right, 0, early),
        piece.part(right, nodes, 0, late),
        piece.part(left, nodes, late, steps),
        piece.part(0, left, early, steps),
        piece.part(left, right, early, late),
    ]


class PerfectPacking(Generator):
    """Jobs cut from a full rectangle of nodes by time: the optimal makespan is ``makespan``.

    Each piece becomes a job with its nodes as tasks and its time as reference run time. All nodes have speed 1, and
    each link carries the bisection bandwidths of all jobs together, so every job runs its reference run time on any
    allocation. The work of all jobs is ``nodes * makespan``: no schedule is shorter than ``makespan``, and the pieces
    in their places are one of that length, with any slot of which ``makespan / steps`` is a multiple. The order of the
    jobs is random; all arrive at 0.

    A piece is chosen with a probability proportional to its area. A guillotine cut goes right through, across nodes or
    time with equal probability, at a uniform position. A pinwheel cuts it into five interlocking pieces that no cut
    right through can part; where fewer than five pieces are still to be made, or a side is below three, the cut is a
    guillotine.
    """

    jobs: Annotated[NumNodes, "number of jobs, at most nodes * steps"] = 10
    nodes: Annotated[NumNodes, "number of nodes of the platform"] = 8
    clusters: Annotated[NumNodes, "number of clusters of equal size; must divide nodes"] = 1
    makespan: Annotated[PositiveSeconds, "the optimal makespan, s"] = 1000.0
    steps: Annotated[NumNodes, "reference run times are multiples of makespan/steps"] = 20
    cuts: Annotated[Cuts, "'guillotine' (complete cuts) or 'pinwheel' (interlocking cuts)"] = "guillotine"
    bsbw_low: Annotated[NonNegative, "smallest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[0]
    bsbw_high: Annotated[NonNegative, "largest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[1]
    share_low: Annotated[Share, "smallest processing share"] = SHARE_RANGE[0]
    share_high: Annotated[Share, "largest processing share"] = SHARE_RANGE[1]

    def __post_init__(self) -> None:
        faults = order_faults(
            ("bsbw_low", self.bsbw_low, "bsbw_high", self.bsbw_high),
            ("share_low", self.share_low, "share_high", self.share_high),
        )
        if self.jobs > self.nodes * self.steps:
            faults.append(Fault("jobs", f"must be at most nodes * steps = {self.nodes * self.steps}, got {self.jobs}"))
        if self.nodes % self.clusters:
            faults.append(Fault("clusters", f"must divide nodes = {self.nodes}, got {self.clusters}"))
        if faults:
            raise InstanceError(faults)

    def platform(self, link_bandwidth: float) -> Platform:
        """Return clusters of nodes of power 1."""
        group = NodeGroup(self.nodes // self.clusters, power=1.0)
        return Platform(tuple(Cluster(f"C{i + 1}", (group,), link_bandwidth) for i in range(self.clusters)))

    def pieces(self, rng: np.random.Generator) -> list[Rectangle]:
        """Return the rectangles that fill nodes by time, in random order; one becomes one job."""
        pieces = cut(rng, Rectangle(0, self.nodes, 0, self.steps), self.jobs, self.cuts)
        return [pieces[i] for i in rng.permutation(len(pieces))]

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance; a link carries the bisection bandwidths of all jobs together."""
        pieces = self.pieces(rng)
        shares = draw_shares(rng, self.share_low, self.share_high, self.jobs)
        bandwidths = draw_bsbw(rng, self.bsbw_low, self.bsbw_high, self.jobs)
        jobs = tuple(
            Job(
                f"J{number}",
                tasks=piece.nodes,
                base_time=self.makespan * piece.steps / self.steps,
                processing_share=share,
                task_bandwidth=task_bandwidth(bsbw, piece.nodes),
            )
            for number, (piece, share, bsbw) in enumerate(zip(pieces, shares, bandwidths, strict=True), start=1)
        )
        return Instance(self.platform(math.ceil(sum(bandwidths) * MB_PER_GB)), jobs, name=name)


GENERATORS: Mapping[str, type[Generator]] = {"perfect-packing": PerfectPacking}
