"""The figures of docs/results.md and of the README, read from the raw tables that the scripts write.

Each function takes the folder of results and returns the figures of one page; a question, figure or number of samples
has at most 15 words. What a table does not have is left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from exact_report import counted_time, gap_of, is_proven, percent
from limits import holds

from coalloc.bench.outcomes import Row
from coalloc.bench.statistics import SHIFT, geometric_mean


class Figure(NamedTuple):
    """A line of a table: question, what was found, and on how many samples."""

    question: str
    figure: str
    samples: str


class Comparison(NamedTuple):
    """A line of the README: work, our result, another method's, and the ratio."""

    work: str
    result: str
    alternative: str
    ratio: str


WITHOUT = "portfolio, no CP-SAT"
"""A method that only the page itself shows."""
TIMES = "\N{MULTIPLICATION SIGN}"
TEXTS = frozenset(("status", "method", "work", "instance", "family", "log", "way", "policy", "options", "case", "kind"))


def rows_of(folder: Path, name: str) -> list[Row]:
    """Return the rows of a raw table, numbers as numbers and empty cells as None; none where there is no table."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: _value(key, text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value(column: str, text: str) -> str | float | None:
    if column in TEXTS:
        return text
    try:
        return float(text)
    except ValueError:
        return text or None


def page_of(folder: Path, name: str) -> str:
    """Return the text of a page, empty where there is none."""
    path = folder / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def counts_in(text: str, pattern: str) -> list[int]:
    """Return the numbers that a pattern finds first in a page; none where it finds nothing."""
    found = re.search(pattern, text)
    return [int(number) for number in found.groups()] if found else []


def proved(rows: Sequence[Row]) -> str:
    """Return how many of the samples are proved: ``3 of 4``."""
    return f"{sum(map(is_proven, rows))} of {len(rows)}"


def seconds(rows: Sequence[Row]) -> str:
    """Return the shifted geometric mean of times, with two digits; what is not proved counts with its limit."""
    mean = geometric_mean([counted_time(row) for row in rows], SHIFT)
    return "-" if mean is None else f"{float(f'{mean:.2g}'):g} s"


def mean_gap(rows: Sequence[Row]) -> str:
    """Return the mean gap, where an unknown one counts as 100 %."""
    return percent(sum(min(1.0, gap_of(row)) for row in rows) / len(rows))


def by_method(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each method."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["method"], []).append(row)
    return groups


# --- figures of pages -------------------------------------------------------------------------------


def of_nothing(folder: Path) -> list[Figure]:
    """Return no figures: the page is a report."""
    del folder
    return []


EXACT_QUESTIONS: Mapping[str, str] = {
    "slots": "8 jobs, 12 nodes, nine slots",
    "continuous": "8 jobs, 12 nodes, continuous time",
    "jobs-12": "12 jobs, 12 nodes",
    "jobs-20": "20 jobs, 12 nodes",
    "powers": "20 jobs, six speeds",
    "tiny": "20 jobs of 1 or 2 tasks",
    "tree": "20 jobs, two levels of switches",
    "links": "10 jobs, capacity-constrained links",
    "links-20": "20 jobs, capacity-constrained links",
    "arrivals": "10 jobs, arrivals",
    "arrivals-20": "20 jobs, arrivals",
    "jobs-50": "50 jobs, 64 nodes",
    "jobs-200": "200 jobs, 240 nodes",
    "jobs-1000": "1000 jobs, 999 nodes",
    "sums-8": "8 jobs, total response time",
    "sums-12": "12 jobs, total response time",
    "sums-cpsat-8": "8 jobs, total response time, 20 s",
    "sums-cpsat-12": "12 jobs, total response time, 20 s",
    "sums-cpsat-20": "20 jobs, total response time, 20 s",
    "sums-cpsat-30": "30 jobs, total response time, 20 s",
    "pyjobshop": "8 jobs, 12 nodes, four slots",
    "node": "8 jobs, 12 nodes, two slots",
    "node-6": "8 jobs, 6 nodes, two slots",
}


def of_exact(folder: Path) -> list[Figure]:
    """Return for each row and method what is proved, in what time, and the largest gap; CP-SAT is installed."""
    found = []
    rows = rows_of(folder, "exact")
    for work, title in EXACT_QUESTIONS.items():
        its_rows = [row for row in rows if row["work"] == work and row["method"] != WITHOUT]
        for method, its in by_method(its_rows).items():
            gap = max(map(gap_of, its))
            left = "" if gap <= 1e-4 else ", no bound" if gap > 1 else f", largest gap {percent(gap)}"
            found.append(
                Figure(f"{title}: {method}", f"{proved(its)} proved, {seconds(its)}{left}", f"{len(its)} solves")
            )
    return found


def _of_methods(title: str, rows: Sequence[Row]) -> list[Figure]:
    return [
        Figure(f"{title}: {method}", f"{proved(its)} proved, mean gap {mean_gap(its)}", f"{len(its)} instances")
        for method, its in by_method(rows).items()
    ]


def _of_rigid(name: str) -> Callable[[Path], list[Figure]]:
    def figures(folder: Path) -> list[Figure]:
        rows = rows_of(folder, name)
        return _of_methods(f"Published rigid instances, {rows[0]['limit']:g} s", rows) if rows else []

    return figures


of_rigid, of_rigid_60 = _of_rigid("rigid"), _of_rigid("rigid-60")


def of_unrelated(folder: Path) -> list[Figure]:
    """Return what each method proves of published instances of unrelated machines."""
    rows = rows_of(folder, "unrelated")
    return _of_methods(f"Published R||Cmax, {rows[0]['limit']:g} s", rows) if rows else []


def _of_brute_force(name: str, question: str) -> Callable[[Path], list[Figure]]:
    def figures(folder: Path) -> list[Figure]:
        rows = rows_of(folder, name)
        wrong = sum(bool(row["disagreement"]) for row in rows)
        optimal = sum(map(is_proven, rows))
        return [Figure(question, f"{wrong} disagree; {optimal:,} proved", f"{len(rows):,} solves")] if rows else []

    return figures


of_agreement = _of_brute_force("agreement", "Do all exact methods agree with brute force?")
of_verification = _of_brute_force("verification", "Are all optima of the portfolio optima?")
of_rows = _of_brute_force("rows", "Do models with a user-defined row agree with brute force?")
of_energy_agreement = _of_brute_force("energy-agreement", "Do least energy, EDP and fronts agree with brute force?")


def _of_sentence(name: str, question: str, pattern: str, unit: str, wrong: str) -> Callable[[Path], list[Figure]]:
    """Return what reads (samples, wrong ones) from the sentence of a page."""

    def figures(folder: Path) -> list[Figure]:
        counts = counts_in(page_of(folder, name), pattern)
        return [Figure(question, f"{counts[1]} {wrong}", f"{counts[0]:,} {unit}")] if counts else []

    return figures


of_features = _of_sentence(
    "features",
    "Do all methods agree with brute force on mixed features?",
    r": (\d+) calls, (\d+) disagree",
    "calls",
    "disagree",
)
of_metamorphic = _of_sentence(
    "metamorphic",
    "Do transformed instances keep what must not change?",
    r"(\d+) of \d+ triples compared: (\d+) contradict",
    "triples",
    "contradict",
)
of_sum_bounds = _of_sentence(
    "sum-bounds",
    "Is a bound on a sum above the optimum?",
    r"(\d+) bounds, (\d+) above their optimum",
    "bounds",
    "above it",
)


def of_engine(folder: Path) -> list[Figure]:
    """Return the differences between the engine and its references."""
    lines = re.findall(r"^\| [a-z ]+ \| \d+ \| (\d+) \| (\d+) \| \d+ \|$", page_of(folder, "engine-agreement"), re.M)
    cases, different = (sum(int(line[column]) for line in lines) for column in (0, 1))
    question = "Does the compiled engine equal its references?"
    return [Figure(question, f"{different} seeds differ", f"{cases:,} cases")] if lines else []


def of_certificates(folder: Path) -> list[Figure]:
    """Return how many proofs have a certificate in time, and what the mutants claim."""
    page = page_of(folder, "certificates")
    sets = re.findall(r"^\| [^|]+ \| \d+ of \d+ \| \d+ \| (\d+) \| (\d+) \|", page, re.M)
    all_proved, in_time = (sum(int(line[column]) for line in sets) for column in (0, 1))
    found = []
    if sets:
        question = "Does a proof get a certificate in time?"
        found.append(Figure(question, f"{in_time:,} of {all_proved:,}", f"{all_proved:,} proofs"))
    counts = counts_in(page, r"of (\d+) mutants \d+ are accepted\. (\d+) claim more")
    if counts:
        question = "Does an altered certificate claim more than the optimum?"
        found.append(Figure(question, f"{counts[1]} do", f"{counts[0]:,} mutants"))
    return found


def of_limits(folder: Path) -> list[Figure]:
    """Return how many time limits hold."""
    rows = rows_of(folder, "limits")
    if not rows:
        return []
    limits, sizes = ({row[name] for row in rows} for name in ("limit", "jobs"))
    span = f"{min(limits):g}" if min(limits) == max(limits) else f"{min(limits):g} to {max(limits):g}"
    question = f"Do limits of {span} s hold?"
    held = f"{sum(map(holds, rows))} of {len(rows)}, on {min(sizes):g} to {max(sizes):,.0f} jobs"
    return [Figure(question, held, f"{len(rows)} solves")]


def of_simulator(folder: Path) -> list[Figure]:
    """Return the speed of whole replays: jobs per CPU second, with names, metrics and check, the best run."""
    best: dict[tuple[str, str], Row] = {}
    for row in rows_of(folder, "simulator"):
        whole = row["kind"] == "replay" and row["num_jobs"] == 0 and not row["offered_load"]
        if whole and row["status"] == "measured":
            key = row["trace"], row["policy"]
            best[key] = min((row, best.get(key, row)), key=lambda one: one["simulate_cpu"])
    found = []
    for (trace, policy), row in best.items():
        rate = f"{row['jobs'] / row['simulate_cpu']:,.0f}"
        found.append(Figure(f"Jobs per CPU second: {policy}, {trace}", rate, f"{row['jobs']:,.0f} jobs"))
    return found


def of_audit(folder: Path) -> list[Figure]:
    """Return the mean bounded slowdown of EASY and EASY++ compared with the bound."""
    rows = {(row["log"], row["way"]): row for row in rows_of(folder, "audit") if row["status"] == "measured"}
    found = []
    for log in dict.fromkeys(log for log, _ in rows):
        ways = {way: row for (other, way), row in rows.items() if other == log}
        if {"bound", "EASY, estimates", "EASY++, run times"} <= ways.keys():
            easy, better, bound = (ways[way]["slowdown"] for way in ("EASY, estimates", "EASY++, run times", "bound"))
            figure = f"EASY {easy:.2f}, EASY++ with run times {better:.2f}, bound {bound:.2f}"
            found.append(Figure(f"Mean bounded slowdown, {log}", figure, f"{ways['bound']['jobs']:,.0f} jobs"))
    return found


def of_pcbe(folder: Path) -> list[Figure]:
    """Return the largest deviation from the published values of PCBE."""
    deviations = re.findall(r" \| (\de[-+]\d+) \|$", page_of(folder, "pcbe"), re.M)
    runs = len(rows_of(folder, "pcbe"))
    question = "How far are recomputed PCBE results from the published ones?"
    return (
        [Figure(question, f"at most {max(map(float, deviations)):.0e}, relative", f"{runs} runs")] if deviations else []
    )


def of_energy(folder: Path) -> list[Figure]:
    """Return what is proved of energy and EDP, by jobs; gaps are in per cent in the table."""
    groups: dict[tuple[float, str], list[Row]] = {}
    for row in rows_of(folder, "energy"):
        groups.setdefault((row["jobs"], row["objective"]), []).append(row)
    return [
        Figure(
            f"Least {objective}, {jobs:g} jobs, {rows[0]['nodes']:g} nodes",
            f"{proved(rows)} proved, largest gap {max(row['gap'] for row in rows):.3g} %",
            f"{len(rows)} solves",
        )
        for (jobs, objective), rows in groups.items()
    ]


def of_waits(folder: Path) -> list[Figure]:
    """Return the gap of the sum of responses on windows of logs."""
    found = []
    rows = [row for row in rows_of(folder, "waits") if row["gap"] is not None]
    for jobs in dict.fromkeys(row["jobs"] for row in rows):
        gaps = [row["gap"] for row in rows if row["jobs"] == jobs]
        figure = f"gap at most {percent(max(gaps))}, median {percent(median(gaps))}"
        found.append(Figure(f"Waits of {jobs:g} jobs of a log", figure, f"{len(gaps)} windows"))
    return found


def of_formulations(folder: Path) -> list[Figure]:
    """Return what each formulation proves."""
    rows = [{**row, "method": row["formulation"]} for row in rows_of(folder, "formulations")]
    return [
        Figure(f"OAS formulation `{name}`", f"{proved(its)} proved, {seconds(its)}", f"{len(its)} solves")
        for name, its in by_method(rows).items()
    ]


def of_oas_window(folder: Path) -> list[Figure]:
    """Return the mean response over its bound of each policy with its defaults on the week."""
    return [
        Figure(
            f"A week of HPC2N: `{row['policy']}`",
            f"mean response {row['response_mean'] / row['response_bound']:.2f} times its bound, {row['cpu']:.1f} s",
            f"{row['jobs']:,.0f} jobs",
        )
        for row in rows_of(folder, "oas-window")
        if row["case"] == "week" and row["options"] == "{}" and row["status"] == "measured"
    ]


# --- the README -------------------------------------------------------------------------------------


def comparisons(folder: Path) -> Iterator[Comparison]:
    """Yield the lines of the README's table of performance that the tables have."""
    exact = rows_of(folder, "exact")
    works = (
        ("pyjobshop", "8 jobs, 12 nodes"),
        ("links-20", "20 jobs, capacity-constrained links"),
        ("sums-cpsat-30", "30 jobs, total response time, 20 s"),
    )
    for work, title in works:
        methods = by_method([row for row in exact if row["work"] == work and row["method"] != WITHOUT])
        yield from _compared(title, methods)
    rigid, unrelated = (by_method(rows_of(folder, name)) for name in ("rigid", "unrelated"))
    yield from _compared(f"{_size(rigid)} published rigid instances, 10 s", rigid)
    yield from _compared(f"{_size(unrelated)} published R||Cmax instances, 10 s", unrelated)


def _size(methods: Mapping[str, Sequence[Row]]) -> int:
    return len(methods.get("portfolio", ()))


def _compared(title: str, methods: dict[str, list[Row]]) -> Iterator[Comparison]:
    ours = methods.pop("portfolio", [])
    for method, theirs in methods.items() if ours else ():
        yield Comparison(title, _said(ours), f"{method.split(',')[0]}: {_said(theirs)}", _ratio(ours, theirs))


def _said(rows: Sequence[Row]) -> str:
    gap = f", mean gap {mean_gap(rows)}" if not all(map(is_proven, rows)) else ""
    return f"{proved(rows)} proved, {seconds(rows)}{gap}"


def _ratio(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    """Return how many times as fast we are where both methods prove; a dash where they never do."""
    key = ("instance", "slot")
    by_key = {tuple(row.get(name) for name in key): row for row in theirs}
    pairs = [(row, by_key.get(tuple(row.get(name) for name in key))) for row in ours]
    ratios = [their["time"] / our["time"] for our, their in pairs if their and is_proven(our) and is_proven(their)]
    mean = geometric_mean(ratios)
    return "-" if mean is None else f"{float(f'{mean:.2g}'):g}{TIMES} as fast ({len(ratios)} proved by both)"
