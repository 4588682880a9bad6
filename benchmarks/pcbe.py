"""The tables and figures of the PCBE experiments, with the published energy model and with idle power from the start.

Files of an experiment are in a folder of ``--data``: ``energy_1`` to ``energy_4``, ``edp_1`` to ``edp_4`` and ``kit``
(with ``slices``), each with ``platform.json`` and ``workload.json``; ``Results.csv``, where it is there, holds the
published values to compare with. Rows without files are listed as absent. What becomes of each conclusion is said in
words.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pcbe_figures import draw_policies, draw_slices, draw_tests
from pcbe_slices import Slices, slice_lines, slices_of
from pcbe_values import COMPARED, METERS, NAMES, SCALED, TIE, Value, deviation, full_name, simulated
from sampling import new_page

import coalloc
from coalloc.bench.outcomes import Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.tables import csv_of

CLAIMS = {
    ("energy", "heuristic 1 1"): 7,
    ("energy", "heuristic 2 1"): 11,
    ("makespan", "heuristic 1 1"): 11,
    ("makespan", "heuristic 2 1"): 16,
    ("edp", "heuristic 1 1"): 16,
    ("edp", "heuristic 2 1"): 25,
}
"""By how many per cent PCBE is better than a baseline, according to section 5.3.1 of the source."""
HIGH_TO_LOW = {"job_order": "high-first", "node_order": "low-first"}
"""Options of the policy whose schedules the source draws."""


# ------------------------------------------------------------------------------ tables 5.1 and 5.2


@functools.cache
def comparison(data: Path, criterion: str, number: int) -> tuple[dict[str, Value], float | None] | None:
    """Return a row of Table 5.1 (energy) or 5.2 (edp) by column, and its deviation; None where files are absent."""
    instance = instance_of(data, criterion, number)
    if instance is None:
        return None
    values = {column: simulated(instance, full_name(column, criterion)) for column in COMPARED}
    named = {full_name(column, criterion): value for column, value in values.items()}
    return values, deviation(named, data / f"{criterion}_{number}" / "Results.csv")


def instance_of(data: Path, criterion: str, number: int) -> coalloc.Instance | None:
    """Return the instance of a test; None where files are absent."""
    files = [data / f"{criterion}_{number}" / name for name in ("platform.json", "workload.json")]
    return coalloc.read_irmasim(*files) if all(file.is_file() for file in files) else None


def best(values: Mapping[str, Value], quantity: str, meter: str) -> tuple[list[str], float]:
    """Return the names of the best policies, and how far the next one is behind, as a share."""
    ordered = sorted((value.of(quantity, meter), NAMES.get(column, column)) for column, value in values.items())
    least = ordered[0][0]
    names = [name for amount, name in ordered if amount <= least * (1.0 + TIE)]
    others = [amount for amount, _ in ordered if amount > least * (1.0 + TIE)]
    return names, others[0] / least - 1.0 if others else 0.0


def verdict(label: str, values: Mapping[str, Value], quantity: str) -> str:
    """Return in words who is best with each energy model, and whether that changes."""
    (was, margin), (now, corrected) = (best(values, quantity, meter) for meter in METERS)
    same = "still" if was == now else "now"
    return (
        f"- {label}: best was {' = '.join(was)}, {100 * margin:.1f} % ahead of the next; "
        f"{same} best with idle power from the start is {' = '.join(now)}, {100 * corrected:.1f} % ahead."
    )


def comparison_table(data: Path, criterion: str, title: str, unit: str) -> Iterator[str]:
    """Yield the lines of Table 5.1 or 5.2 with both energy models, and the verdicts."""
    rows = {number: comparison(data, criterion, number) for number in range(1, 5)}
    for meter, idle in METERS.items():
        yield from ("", f"## {title}, {meter} energy model (idle {idle}), {unit}", "")
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
        f"- {NAMES['1 0']} has the least {quantity} in {wins[0]} of these {len(rows)} tests with the published energy "
        f"model, in {wins[1]} with the corrected one."
    )


# ------------------------------------------------------------------------------ table 5.3


@functools.cache
def large_experiment(data: Path) -> dict[str, Value] | None:
    """Return what the policies take in the large experiment; None where files are absent."""
    files = data / "kit" / "platform.json", data / "kit" / "workload.json"
    if not all(file.is_file() for file in files):
        return None
    instance = coalloc.read_irmasim(*files)
    return {column: simulated(instance, column) for column in SCALED}


def scaling_table(data: Path) -> Iterator[str]:
    """Yield the lines of Table 5.3 with both energy models, the verdicts, and those of the slices."""
    yield from ("", "## Table 5.3: the large experiment", "")
    values = large_experiment(data)
    if values is None:
        yield "absent"
        return
    yield "| quantity | energy model | " + " | ".join(NAMES.get(column, column) for column in SCALED) + " |"
    yield "|---|---|" + "---|" * len(SCALED)
    yield "| makespan, s | - | " + " | ".join(f"{values[column].makespan:.6g}" for column in SCALED) + " |"
    for quantity, unit in (("energy", "J"), ("edp", "J s")):
        for meter in METERS:
            amounts = " | ".join(f"{values[column].of(quantity, meter):.5g}" for column in SCALED)
            yield f"| {quantity}, {unit} | {meter} | {amounts} |"
    worst = deviation(values, data / "kit" / "Results.csv")
    yield from (
        "",
        "No published values." if worst is None else f"Largest deviation from the published values: {worst:.0e}.",
    )
    yield ""
    for quantity in ("makespan", "energy", "edp"):
        for base in SCALED[:4]:
            yield saving(values, quantity, base)
    yield criteria(values)


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


# ------------------------------------------------------------------------------ figures


def figures(data: Path, slices: Slices, folder: Path, stem: str) -> Iterator[tuple[str, Path]]:
    """Draw the figures of chapter 5 that there are files for; yield the number and the file of each."""

    def path(number: str) -> Path:
        return folder / f"{stem}-figure-{number}.png"

    for number, criterion, what in (("5.1", "energy", "energy"), ("5.2", "edp", "energy-delay product")):
        tests = {f"{criterion} {n}": row and row[0] for n in range(1, 5) for row in [comparison(data, criterion, n)]}
        if any(tests.values()):
            yield number, draw_tests(f"Figure {number}: {what} of the tests", tests, criterion, path(number))
    for number, criterion, test in (("5.3", "energy", 2), ("5.5", "edp", 2), ("5.7", "energy", 4)):
        row = comparison(data, criterion, test)
        if row:
            yield number, draw_policies(f"Figure {number}: test {criterion} {test}", row[0], path(number))
    for number, criterion, test in (("5.4", "energy", 2), ("5.6", "edp", 2)):
        instance = instance_of(data, criterion, test)
        if instance is not None:
            schedule = coalloc.simulate(instance, "pcbe", criterion=criterion, **HIGH_TO_LOW).schedule
            title = f"Figure {number}: {NAMES['1 0']} in test {criterion} {test}"
            coalloc.gantt(instance, schedule, path(number), title=title)
            yield number, path(number)
    values = large_experiment(data)
    if values:
        yield "5.8", draw_policies("Figure 5.8: the large experiment", values, path("5.8"))
    for number, quantity in (("5.9", "energy"), ("5.10", "makespan"), ("5.11", "edp")) if slices else ():
        yield (
            number,
            draw_slices(f"Figure {number}: {quantity.replace('edp', 'EDP')} by slice", slices, quantity, path(number)),
        )


FIGURES = ("5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.11")


def figure_lines(drawn: Mapping[str, Path]) -> Iterator[str]:
    """Yield the pictures, and which there are no files for."""
    yield from ("", "## Figures", "")
    yield "Bars and dots: published energy model. Dashes: idle power from the start."
    for number, path in sorted(drawn.items(), key=lambda one: FIGURES.index(one[0])):
        yield from ("", f"![Figure {number}]({path.name})")
    absent = [number for number in FIGURES if number not in drawn]
    if absent:
        yield from ("", f"Without files: figure {', '.join(absent)}.")


# ------------------------------------------------------------------------------ table of runs


DIGITS = 10
"""Of the numbers in the table: what is beyond is rounding."""
METERED = {f"{name} {meter}": (name, meter) for name in ("energy", "edp") for meter in METERS}
COLUMNS = ("experiment", "number", "strategy", "makespan", *METERED)


def runs(data: Path, slices: Slices) -> Iterator[Row]:
    """Yield what each policy takes in each test, the large experiment and each slice."""
    found: dict[tuple[str, int], Mapping[str, Value] | None] = {
        (criterion, number): row and row[0]
        for criterion in ("energy", "edp")
        for number in range(1, 5)
        for row in [comparison(data, criterion, number)]
    }
    found |= {("large", 0): large_experiment(data)} | {("slice", number): row for number, row in slices.items()}
    for (experiment, number), values in found.items():
        for column, value in (values or {}).items():
            row = {"experiment": experiment, "number": number, "strategy": NAMES[column]}
            amounts = {"makespan": value.makespan} | {key: value.of(*asked) for key, asked in METERED.items()}
            yield row | {key: f"{amount:.{DIGITS}g}" for key, amount in amounts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the folders of the experiments")
    parser.add_argument("-o", "--output", type=new_page, help="Markdown file to write, with its pictures and CSV")
    options = parser.parse_args(arguments)
    slices, worst = slices_of(options.data / "kit")
    lines = [
        "# The published tables of PCBE, recomputed",
        "",
        f"{code_sentence(('python',))}. Made by `python benchmarks/pcbe.py --data DIR -o benchmarks/results/pcbe.md`.",
        *comparison_table(options.data, "energy", "Table 5.1: energy", "J"),
        *comparison_table(options.data, "edp", "Table 5.2: energy-delay product", "J s"),
        *scaling_table(options.data),
        *slice_lines(slices, worst),
    ]
    if options.output is not None:
        drawn = dict(figures(options.data, slices, options.output.parent, options.output.stem))
        lines += figure_lines(drawn)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.output is not None:
        options.output.write_text(text)
        options.output.with_suffix(".csv").write_text(csv_of(COLUMNS, runs(options.data, slices)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
