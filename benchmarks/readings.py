"""Verdicts on the sources, and how they depend on the reading of what the texts leave open.

    python benchmarks/readings.py --data DIR                # every source, 20 samples of each reading
    python benchmarks/readings.py --data DIR cisne --samples 30
    python benchmarks/readings.py --again                   # the page from the tables that are there

Each open choice of a source is a factor. Factors are varied one at a time; those that alone change a verdict are then
crossed. A reading is scored by its agreement with the numbers that the source prints; nothing is tuned. An interrupted
run resumes. DIR has the folders ``swf`` and ``pcbe``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from readings_design import NO, OPEN, YES, Claim, Factor, Judged, Reading, base, best, design
from readings_sources import SOURCES, Place, Source

from coalloc.bench.outcomes import Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.studies.interruption import Interrupted

RESULTS = Path(__file__).resolve().parent / "readings"
SAMPLES = 20
COLUMNS = ("reading", "claim", "value", "low", "high", "samples", "verdict", "correlation", "error")
DIGITS = 6
"""Of the numbers in a table."""
OURS = "ours"
"""What our reading is called; others are called by the levels that differ from it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sources asked for, write their tables and the page; return the exit code."""
    options = _parser().parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    page = options.output / "README.md"
    try:
        if not options.again:
            if options.data is None:
                raise CoallocError("--data: the folder of the inputs is needed to run anything")
            _run(options)
        made_by = made_again(page) if options.again else code_sentence(("python",))
        write_atomically(page, "\n".join(page_of(options.output, made_by)) + "\n")
    except Interrupted:
        print("interrupted; run again to go on", file=sys.stderr)
        return 130
    except CoallocError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {page}")
    return 0


def _run(options: argparse.Namespace) -> None:
    place = Place(options.data, options.store or options.output, options.jobs)
    for source in SOURCES:
        if source.name in (options.sources or [one.name for one in SOURCES]):
            varied = [f for f in source.factors if f.name in (options.vary or [f.name])]
            found = design(source.factors, varied, source.claims, partial(_judged, source, place, options.samples))
            rows = [row for reading, judged in found for row in rows_of(source, reading, judged)]
            write_atomically(_table(source, options.output), csv_of(COLUMNS, rows))


def _judged(source: Source, place: Place, samples: int, reading: Reading) -> Judged:
    return source.judge(reading, place, samples)


def _table(source: Source, folder: Path) -> Path:
    return folder / f"{source.name}.csv"


def rows_of(source: Source, reading: Reading, judged: Judged) -> Iterator[Row]:
    """Yield a row for each claim, and one for each set of printed numbers."""
    name = name_of(source.factors, reading)
    for claim, found in zip(source.claims, judged.claims, strict=True):
        numbers = {"value": found.mean, "low": found.low, "high": found.high}
        rounded = {key: _rounded(number) for key, number in numbers.items()}
        yield {
            "reading": name,
            "claim": claim.says,
            **rounded,
            "samples": found.samples,
            "verdict": claim.verdict(found),
        }
    for one in judged.printed:
        agreement = {"correlation": _rounded(one.correlation), "error": _rounded(one.error)}
        yield {"reading": name, "claim": one.what, **agreement}


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def name_of(factors: Sequence[Factor], reading: Reading) -> str:
    """Return the levels in which a reading differs from ours."""
    ours = base(factors)
    return "; ".join(reading[factor.name] for factor in factors if reading[factor.name] != ours[factor.name]) or OURS


# ------------------------------------------------------------------------------ page


def made_again(page: Path) -> str:
    """Return whose code made the tables, as the page says that is written again."""
    if not page.is_file():
        raise CoallocError(f"--again: there is no {page}")
    return page.read_text().split("\n")[2].partition(". Made by ")[0]


def page_of(folder: Path, made_by: str) -> Iterator[str]:
    """Yield the lines of the page, with the sources that have a table."""
    yield "# Readings of the sources"
    yield ""
    yield f"{made_by}. Made by `python benchmarks/readings.py --data DIR`, which resumes."
    yield ""
    yield "A reading is called by the levels in which it differs from ours. Brackets: 95 % intervals (ranks, coverages:"
    yield "bootstrap over weeks). *yes*, *no*: the whole interval is on that side of the claim. *correlation*: mean of"
    yield "Spearman's with each printed table; *error*: mean of |here - printed| over the larger of the two."
    missing = [f"`{source.name}`" for source in SOURCES if not _table(source, folder).is_file()]
    if missing:
        yield from ("", f"Not run: {', '.join(missing)}; `--data DIR {missing[0].strip('`')}` runs one.")
    for source in SOURCES:
        if _table(source, folder).is_file():
            yield from source_lines(source, pd.read_csv(_table(source, folder)))


def source_lines(source: Source, table: pd.DataFrame) -> Iterator[str]:
    """Yield the section of a source: factors, verdicts, and all cells."""
    claims, printed = table[table["verdict"].notna()], table[table["verdict"].isna()]
    readings = list(dict.fromkeys(claims["reading"]))
    number = int(claims["samples"].max())
    yield from ("", f"## {source.title}", "")
    ours = "; ".join(base(source.factors).values())
    yield f"`{source.name}`: {len(readings)} readings, {number} {source.samples}. Ours: {ours}."
    left = [f.name for f in source.factors if not any(level in name for name in readings for level in f.levels[1:])]
    if left:
        yield f"Not varied: {', '.join(left)}; `--data DIR {source.name}` varies all."
    yield ""
    agree = best(scores(printed))
    heads = ("", "claim", "confirmed", "not", "undecided", "the best agreeing readings say")
    lines = [(str(n), *_verdict(claim, claims, agree)) for n, claim in enumerate(source.claims, start=1)]
    yield markdown(Table.of(heads, lines))
    yield ""
    yield f"Best agreement: {', '.join(agree)}." if agree else "The source prints no numbers to compare with."
    yield ""
    heads = ("reading", *(f"claim {n}" for n in range(1, len(source.claims) + 1)), "correlation", "error")
    yield markdown(Table.of(heads, [tuple(_cells(name, claims, printed)) for name in readings]))


def scores(printed: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the mean rank correlation and the mean error of each reading."""
    means = printed.groupby("reading", sort=False)[["correlation", "error"]].mean()
    return {str(name): (row["correlation"], row["error"]) for name, row in means.iterrows()}


def _verdict(claim: Claim, claims: pd.DataFrame, agree: Sequence[str]) -> tuple[str, ...]:
    """Return the line of a claim: how many readings say yes, no, or neither."""
    of_claim = claims[claims["claim"] == claim.says]
    counts = of_claim["verdict"].value_counts()
    known = int(sum(counts.get(name, 0) for name in (YES, NO, OPEN)))
    those = of_claim[of_claim["reading"].isin(agree)]["verdict"]
    said = ", ".join(dict.fromkeys(those)) or "-"
    return claim.says, f"{counts.get(YES, 0)} of {known}", str(counts.get(NO, 0)), str(counts.get(OPEN, 0)), said


def _cells(name: str, claims: pd.DataFrame, printed: pd.DataFrame) -> Iterator[str]:
    yield name
    for row in claims[claims["reading"] == name].itertuples():
        interval = "" if pd.isna(row.low) else f" ({row.low:.3g} to {row.high:.3g})"
        yield "-" if pd.isna(row.value) else f"{row.value:.3g}{interval} {row.verdict}"
    of_reading = printed[printed["reading"] == name]
    for column in ("correlation", "error"):
        value = of_reading[column].astype(float).mean()
        yield "-" if pd.isna(value) else f"{value:.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [source.name for source in SOURCES]
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--data", type=Path, help="folder of the inputs")
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"of each reading (default {SAMPLES})")
    parser.add_argument("--vary", nargs="+", metavar="FACTOR", help="vary these factors alone (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="samples at a time, each in a process (default 1)")
    parser.add_argument("--again", action="store_true", help="run nothing, write the page from the tables")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of tables and page")
    parser.add_argument("--store", type=Path, help="folder in which samples are kept (default: that of the tables)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
