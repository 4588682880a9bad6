"""What the policies of the PCBE experiments take, with the published and the corrected energy model."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coalloc
from coalloc import Instance

METERS = {"published": "from-first-use", "corrected": "always"}
"""Value of ``idle`` of each energy model."""

ORDERS = {"0": "low-first", "1": "high-first"}
NODE_LISTS = {
    "heuristic 1 1": {"job_order": "first", "node_order": "first"},
    "heuristic 2 1": {"job_order": "shortest", "node_order": "first"},
    "heuristic 2 2": {"job_order": "shortest", "node_order": "high-flops"},
    "heuristic 2 6": {"job_order": "shortest", "node_order": "high-power"},
}
NAMES = {
    "0 0": "low jobs, low nodes",
    "0 1": "low jobs, high nodes",
    "1 0": "high jobs, low nodes",
    "1 1": "high jobs, high nodes",
    "heuristic 1 1": "FCFS",
    "heuristic 2 1": "SJF",
    "heuristic 2 2": "short to high flops",
    "heuristic 2 6": "short to high power",
    "energy 1 0": "PCBE for energy",
    "edp 1 0": "PCBE for EDP",
}
COMPARED = ("0 0", "0 1", "1 0", "1 1", "heuristic 1 1", "heuristic 2 1")
SCALED = ("heuristic 1 1", "heuristic 2 1", "heuristic 2 2", "heuristic 2 6", "energy 1 0", "edp 1 0")
"""Columns of the tables, as ``Results.csv`` names them; those of PCBE in the comparisons without their criterion."""

QUANTITIES = {"energy": "J", "edp": "J s", "makespan": "s"}
"""What is compared, and its unit."""


TIE = 1e-9
"""Two values that differ by less than this share are equal."""


@dataclass(frozen=True)
class Value:
    """What one policy takes on one workload: s, J, and J s, with each of the two energy models."""

    makespan: float
    energy: Mapping[str, float]

    def edp(self, meter: str) -> float:
        """Return energy times makespan, J s."""
        return self.energy[meter] * self.makespan

    def of(self, quantity: str, meter: str) -> float:
        """Return ``makespan``, ``energy`` or ``edp``."""
        return {"makespan": self.makespan, "energy": self.energy[meter], "edp": self.edp(meter)}[quantity]


def policy_of(column: str) -> tuple[str, dict[str, Any]]:
    """Return the policy of a column of ``Results.csv``, and its options."""
    if column in NODE_LISTS:
        return "node-list", NODE_LISTS[column]
    criterion, jobs, nodes = column.split()
    return "pcbe", {"criterion": criterion, "job_order": ORDERS[jobs], "node_order": ORDERS[nodes]}


def simulated(instance: Instance, column: str) -> Value:
    """Return what the policy of a column takes."""
    policy, options = policy_of(column)
    run = coalloc.simulate(instance, policy, **options)
    energies = {name: coalloc.energy(instance, run.schedule, idle) for name, idle in METERS.items()}
    return Value(run.metrics["makespan"], {name: metered.total for name, metered in energies.items()})


def full_name(column: str, criterion: str) -> str:
    """Return the column of ``Results.csv`` that a column of a comparison stands for."""
    return column if column in NODE_LISTS else f"{criterion} {column}"


def deviation(values: Mapping[str, Value], results: Path) -> float | None:
    """Return the largest relative difference from the published values, None where there are none."""
    if not results.is_file():
        return None
    with results.open(newline="") as file:
        headers, makespans, energies, edps = [row for row in csv.reader(file) if row]
    worst = 0.0
    for header, *published in zip(headers, makespans, energies, edps, strict=True):
        if header in values:
            value = values[header]
            ours = (value.makespan, value.energy["published"], value.edp("published"))
            worst = max(worst, *(abs(a / float(b) - 1.0) for a, b in zip(ours, published, strict=True)))
    return worst
