"""The tables of the PCBE experiments (5.1, 5.2, 5.3), with the published meter and with idle power from the start.

Files of an experiment are in a folder of ``--data``: ``energy_1`` to ``energy_4``, ``edp_1`` to ``edp_4`` and ``kit``
(with ``slices``), each with ``platform.json`` and ``workload.json``; ``Results.csv``, where it is there, holds the
published values to compare with. Rows without files are listed as absent. What becomes of each conclusion is said in
words.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coalloc
from coalloc import Instance

METERS = {"published": "from-first-use", "corrected": "always"}
"""Value of ``idle`` of each meter."""

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
}
COMPARED = ("0 0", "0 1", "1 0", "1 1", "heuristic 1 1", "heuristic 2 1")
SCALED = ("heuristic 1 1", "heuristic 2 1", "heuristic 2 2", "heuristic 2 6", "energy 1 0", "edp 1 0")
"""Columns of the tables, as ``Results.csv`` names them; those of PCBE in the comparisons without their criterion."""

CLAIMS = {
    ("energy", "heuristic 1 1"): 7,
    ("energy", "heuristic 2 1"): 11,
    ("makespan", "heuristic 1 1"): 11,
    ("makespan", "heuristic 2 1"): 16,
    ("edp", "heuristic 1 1"): 16,
    ("edp", "heuristic 2 1"): 25,
}
"""By how many per cent PCBE is better than a baseline, according to section 5.3.1 of the source."""

TIE = 1e-9
"""Two values that differ by less than this share are equal."""


@dataclass(frozen=True)
class Value:
    """What one policy takes on one workload: s, J, and J s, with each of the two meters."""

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


# ------------------------------------------------------------------------------ tables 5.1 and 5.2


def comparison(data: Path, criterion: str, number: int) -> tuple[dict[str, Value], float | None] | None:
    """Return a row of Table 5.1 (energy) or 5.2 (edp) by column, and its deviation; None where files are absent."""
    folder = data / f"{criterion}_{number}"
    files = folder / "platform.json", folder / "workload.json"
    if not all(file.is_file() for file in files):
        return None
    instance = coalloc.read_irmasim(*files)
    values = {column: simulated(instance, full_name(column, criterion)) for column in COMPARED}
    named = {full_name(column, criterion): value for column, value in values.items()}
    return values, deviation(named, folder / "Results.csv")


def best(values: Mapping[str, Value], quantity: str, meter: str) -> tuple[list[str], float]:
    """Return the names of the best policies, and how far the next one is behind, as a share."""
    ordered = sorted((value.of(quantity, meter), NAMES.get(column, column)) for column, value in values.items())
    least = ordered[0][0]
    names = [name for amount, name in ordered if amount <= least * (1.0 + TIE)]
    others = [amount for amount, _ in ordered if amount > least * (1.0 + TIE)]
    return names, others[0] / least - 1.0 if others else 0.0


def verdict(label: str, values: Mapping[str, Value], quantity: str) -> str:
    """Return in words who is best with each meter, and whether that changes."""
    (was, margin), (now, corrected) = (best(values, quantity, meter) for meter in METERS)
    same = "still" if was == now else "now"
    return (
        f"- {label}: best was {' = '.join(was)}, {100 * margin:.1f} % ahead of the next; "
        f"{same} best with idle power from the start is {' = '.join(now)}, {100 * corrected:.1f} % ahead."
    )


def comparison_table(data: Path, criterion: str, title: str, unit: str) -> Iterator[str]:
    """Yield the lines of Table 5.1 or 5.2 with both meters, and the verdicts."""
    rows = {number: comparison(data, criterion, number) for number in range(1, 5)}
    for meter, idle in METERS.items():
        yield from ("", f"## {title}, {meter} meter (idle {idle}), {unit}", "")
        yield "| test | " + " | ".join(NAMES[column] for column in COMPARED) + " | largest deviation |"
        yield "|---|" + "---|" * (len(COMPARED) + 1)
        for number, row in rows.items():
            yield f"| {criterion} {number} | " + (_cells(row, criterion, meter) if row else "absent |" + " |" * 6)
    yield ""
    for number, row in rows.items():
        if row:
            yield verdict(f"{criterion} {number}", row[0], criterion)
    for quantity in ("makespan", "energy", "edp"):
        yield counted([row[0] for row in rows.values() if row], quantity)


def _cells(row: tuple[Mapping[str, Value], float | None], quantity: str, meter: str) -> str:
    """Return the values of a row; the best in bold."""
    values, worst = row
    least = min(value.of(quantity, meter) for value in values.values())
    texts = []
    for column in COMPARED:
        amount = values[column].of(quantity, meter)
        texts.append(f"**{amount:.2f}**" if amount <= least * (1.0 + TIE) else f"{amount:.2f}")
    is_compared = meter == "published" and worst is not None
    return " | ".join([*texts, f"{worst:.0e}" if is_compared else "-"]) + " |"


def counted(rows: Sequence[Mapping[str, Value]], quantity: str) -> str:
    """Return in how many rows PCBE with high jobs to low nodes, the choice of the source, is best."""
    wins = [sum(NAMES["1 0"] in best(row, quantity, meter)[0] for row in rows) for meter in METERS]
    return (
        f"- {NAMES['1 0']} has the least {quantity} in {wins[0]} of these {len(rows)} tests with the published meter, "
        f"in {wins[1]} with the corrected one."
    )


# ------------------------------------------------------------------------------ table 5.3


def scaling_table(data: Path) -> Iterator[str]:
    """Yield the lines of Table 5.3 with both meters, the verdicts, and those of the slices."""
    folder = data / "kit"
    files = folder / "platform.json", folder / "workload.json"
    yield from ("", "## Table 5.3: the large experiment", "")
    if not all(file.is_file() for file in files):
        yield "absent"
        return
    instance = coalloc.read_irmasim(*files)
    values = {column: simulated(instance, column) for column in SCALED}
    yield "| quantity | meter | " + " | ".join(NAMES.get(column, column) for column in SCALED) + " |"
    yield "|---|---|" + "---|" * len(SCALED)
    yield "| makespan, s | - | " + " | ".join(f"{values[column].makespan:.6g}" for column in SCALED) + " |"
    for quantity, unit in (("energy", "J"), ("edp", "J s")):
        for meter in METERS:
            amounts = " | ".join(f"{values[column].of(quantity, meter):.5g}" for column in SCALED)
            yield f"| {quantity}, {unit} | {meter} | {amounts} |"
    worst = deviation(values, folder / "Results.csv")
    yield from (
        "",
        "No published values." if worst is None else f"Largest deviation from the published values: {worst:.0e}.",
    )
    yield ""
    for quantity in ("makespan", "energy", "edp"):
        for base in SCALED[:4]:
            yield saving(values, quantity, base)
    yield criteria(values)
    yield from slices(folder)


def saving(values: Mapping[str, Value], quantity: str, base: str) -> str:
    """Return in words how much less PCBE for energy takes than a baseline."""
    shares = [1.0 - values["energy 1 0"].of(quantity, meter) / values[base].of(quantity, meter) for meter in METERS]
    text = f"- {quantity}: PCBE for energy takes {100 * shares[0]:.1f} % less than {NAMES[base]}"
    if (quantity, base) in CLAIMS:
        text += f" (the source says {CLAIMS[quantity, base]} %)"
    return f"{text}." if quantity == "makespan" else f"{text}; corrected, {100 * shares[1]:.1f} % less."


def criteria(values: Mapping[str, Value]) -> str:
    """Return in words how far the two criteria of PCBE are apart."""
    apart = [values["edp 1 0"].of("energy", meter) / values["energy 1 0"].of("energy", meter) - 1.0 for meter in METERS]
    shares = [f"{100 * share:.2f} %" for share in apart]
    text = f"- energy: PCBE for EDP takes {shares[0]} more than PCBE for energy (the source: less than 1 %)"
    return f"{text}; corrected, {shares[1]}."


def slices(folder: Path) -> Iterator[str]:
    """Yield what the slices of the large experiment say."""
    savings: dict[str, list[float]] = {meter: [] for meter in METERS}
    for workload in sorted(folder.glob("slices/workload_slice_*.json")):
        instance = coalloc.read_irmasim(folder / "platform.json", workload)
        pcbe, fcfs = simulated(instance, "energy 1 0"), simulated(instance, "heuristic 1 1")
        for meter in METERS:
            savings[meter].append(1.0 - pcbe.energy[meter] / fcfs.energy[meter])
    for meter, shares in savings.items():
        if shares:
            less, more = sum(share > TIE for share in shares), sum(share < -TIE for share in shares)
            yield (
                f"- {meter} meter: of {len(shares)} slices PCBE for energy takes less energy than FCFS in {less}, "
                f"at best {100 * max(shares):.1f} % less, and more in {more}."
            )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the folders of the experiments")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file to write as well")
    options = parser.parse_args(arguments)
    lines = [
        "# The published tables of PCBE, recomputed",
        *comparison_table(options.data, "energy", "Table 5.1: energy", "J"),
        *comparison_table(options.data, "edp", "Table 5.2: energy-delay product", "J s"),
        *scaling_table(options.data),
    ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
