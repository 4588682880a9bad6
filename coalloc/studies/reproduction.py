"""The experiments of the source texts: the list of them, checked inputs, runs, and agreement with the committed tables.

The list is ``benchmarks/sources.toml`` of a clone. Its scripts keep samples in stores, and so resume.
"""

from __future__ import annotations

import hashlib
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

import coalloc
from coalloc.bench.provenance import DECISIVE, code_sentence
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import reason_of, write_atomically
from coalloc.documents.text import nearest, quoted, visible
from coalloc.documents.toml import load_toml
from coalloc.instance import CoallocError
from coalloc.measures.intervals import mean_interval

if TYPE_CHECKING:
    import pandas as pd

LIST = Path("benchmarks", "sources.toml")
INPUTS = "inputs"
"""Folder of the output that links the inputs whose sums agree."""
LEAST_RANKED = 3
"""Fewer strategies have no rank correlation that says anything."""

State = Literal["run", "failed", "input missing", "input changed", "left out"]


@dataclass(frozen=True, slots=True)
class Input:
    """A file or folder that is not part of coalloc, where it was found, and whether its sum agrees there."""

    name: str
    origin: str
    licence: str
    sha256: str
    state: Literal["missing", "intact", "changed"] = "missing"
    found: Path | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """An experiment of a source: its command, the figures and tables that it answers, and what its table compares.

    The table has a row for each value of the columns ``points``, ``over`` (samples, such as seeds) and ``who``.
    """

    source: str
    name: str
    command: str
    results: str
    table: str
    page: str
    who: Sequence[str]
    over: str
    points: Sequence[str]
    measures: Sequence[str]
    figures: Sequence[str] = ()
    tables: Sequence[str] = ()
    inputs: Sequence[str] = ()
    quick: str | None = None

    @property
    def answers(self) -> list[str]:
        """The figures and tables of the source, in words."""
        return [*(f"Figure {number}" for number in self.figures), *(f"Table {number}" for number in self.tables)]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a table with the committed one in one measure.

    ``correlations`` are rank correlations of the means, one for each point; ``pairs`` counts the pairs that differ
    significantly in the committed table, ``same`` those of them with the same sign here.
    """

    measure: str
    correlations: tuple[float, ...]
    pairs: int
    same: int

    @property
    def correlation(self) -> float:
        """The median rank correlation; nan where there is none."""
        return float(np.median(self.correlations)) if self.correlations else math.nan


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a part."""

    part: Part
    state: State
    command: tuple[str, ...] = ()
    cpu: float = math.nan
    agreements: tuple[Agreement, ...] = ()
    message: str = ""

    @property
    def disagrees(self) -> bool:
        """Whether the median rank correlation over all measures and points is not positive."""
        found = [value for agreement in self.agreements for value in agreement.correlations]
        return bool(found) and float(np.median(found)) <= 0.0


# ------------------------------------------------------------------------------------------------ list


def clone_folder() -> Path:
    """Return the clone: the current folder, or that of an editable installation."""
    for folder in (Path.cwd(), Path(coalloc.__file__).resolve().parents[1]):
        if (folder / LIST).is_file():
            return folder
    raise CoallocError(f"this requires a clone of coalloc: {LIST} is not in the current folder")


def read_list(clone: Path) -> tuple[dict[str, Input], list[Part]]:
    """Return the inputs by name, and the parts of all sources."""
    said, _ = load_toml(clone / LIST)
    inputs = {name: Input(name, **fields) for name, fields in said["inputs"].items()}
    parts = []
    for source, shared in said["sources"].items():
        for name, fields in shared.pop("parts").items():
            both = {"table": f"{name}.csv", "page": f"{name}.md", **shared, **fields}
            parts.append(Part(source=source, name=name, **both))
    return inputs, parts


def chosen(parts: Sequence[Part], source: str, figure: str | None) -> list[Part]:
    """Return the parts of a source, or of ``all``, that answer a figure or table; raise where there is none."""
    sources = ["all", *dict.fromkeys(part.source for part in parts)]
    if source not in sources:
        raise CoallocError(f"SOURCE: must be {', '.join(sources)}, got {quoted(source)}{nearest(source, sources)}")
    of_source = [part for part in parts if source in ("all", part.source)]
    if figure is None:
        return of_source
    wanted = figure.casefold()
    found = [p for p in of_source if any(wanted in (text.casefold(), text.split()[1]) for text in p.answers)]
    if not found:
        known = ", ".join(dict.fromkeys(text for part in of_source for text in part.answers))
        raise CoallocError(f"--figure: no figure or table {quoted(figure)} is reproduced; there are {known}")
    return found


# ---------------------------------------------------------------------------------------------- inputs


def looked_for(wanted: Input, data: Path | None) -> Input:
    """Return an input with where it is in a folder or its subfolders: a copy with the right sum, or else any."""
    places = sorted(data.rglob(wanted.name)) if data is not None else []
    for place in places:
        if checksum(place) == wanted.sha256:
            return replace(wanted, state="intact", found=place)
    return replace(wanted, state="changed", found=places[0]) if places else wanted


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder that of the names and contents of its files, sorted by name."""
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file()):
        digest.update(b"" if file == path else file.relative_to(path).as_posix().encode() + b"\0")
        try:
            digest.update(file.read_bytes())
        except OSError as error:
            raise CoallocError(f"{visible(str(file))}: cannot be read: {reason_of(error)}") from None
    return digest.hexdigest()


# --------------------------------------------------------------------------------------------- running


@dataclass(frozen=True, slots=True)
class Place:
    """Place in which parts run: a clone, a folder for files, the inputs looked for, and the number of cores."""

    clone: Path
    output: Path
    inputs: Mapping[str, Input]
    jobs: int | None = None

    def run(self, part: Part, quick: bool) -> Outcome:
        """Run the script of a part, which writes into a folder of the output, and compare its table."""
        states = {self.inputs[name].state for name in part.inputs}
        if states - {"intact"}:
            return Outcome(part, "input changed" if "changed" in states else "input missing")
        if quick and part.quick is None:
            return Outcome(part, "left out")
        folder = self.output / part.source
        folder.mkdir(parents=True, exist_ok=True)
        places = {"inputs": self._linked(part), "output": folder, "jobs": self.jobs or os.cpu_count() or 1}
        words = shlex.split(f"{part.command} {(part.quick or '') if quick else ''}")
        command = (sys.executable, *(word.format(part=part.name, **places) for word in words))
        code, cpu, message = _run(command, self.clone, folder / f"{part.name}.log")
        if code:
            return Outcome(part, "failed", command, cpu, message=message)
        return Outcome(part, "run", command, cpu, tuple(_compared(part, folder, self.clone)))

    def _linked(self, part: Part) -> Path:
        """Return a folder of the output that links the inputs of a part, where its script reads them."""
        folder = self.output / INPUTS
        folder.mkdir(exist_ok=True)
        for name in part.inputs:
            link, found = folder / name, self.inputs[name].found
            link.unlink(missing_ok=True)
            if found is not None:
                link.symlink_to(found.resolve(), target_is_directory=found.is_dir())
        return folder

    def write_pages(self, outcomes: Iterable[Outcome]) -> Iterator[Path]:
        """Write a page for each source; yield their paths."""
        for source, found in groupby(outcomes, lambda one: one.part.source):
            path = self.output / f"{source}.md"
            write_atomically(path, "\n".join(_page(source, list(found), self)) + "\n")
            yield path


def _run(command: Sequence[str], clone: Path, log: Path) -> tuple[int, float, str]:
    """Run a command with its output in a log; return its exit code, CPU seconds, and the last line that it said."""
    import resource

    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("w") as stream, subprocess.Popen(command, cwd=clone, stdout=stream, stderr=stream) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()  # the script keeps what has ended
            process.wait()
            raise
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = log.read_text(errors="replace").split("\n")
    last = next((visible(line) for line in reversed(lines) if line.strip()), "")
    return code, ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime, last


# ------------------------------------------------------------------------------------------ comparison


def _compared(part: Part, folder: Path, clone: Path) -> Iterator[Agreement]:
    """Yield the agreement of the table of a part with the committed one, where that has one, by measure."""
    committed = clone / part.results / part.table
    if part.measures and committed.is_file():
        import pandas as pd

        ours, theirs = pd.read_csv(folder / part.table), pd.read_csv(committed)
        yield from (agreement(part, measure, ours, theirs) for measure in part.measures)


def agreement(part: Part, measure: str, ours: pd.DataFrame, committed: pd.DataFrame) -> Agreement:
    """Return how far a table agrees with the committed one in a measure, over the points that both have."""
    correlations, signs = list[float](), list[bool]()
    there = _by_point(part, measure, committed)
    for point, here in _by_point(part, measure, ours).items():
        if point in there:
            common = here.columns.intersection(there[point].columns)
            before, after = there[point][common], here[common]
            if len(common) >= LEAST_RANKED:
                correlations.append(float(before.mean().rank().corr(after.mean().rank())))
            signs += _same_signs(before, after)
    known = tuple(value for value in correlations if not np.isnan(value))
    return Agreement(measure, known, len(signs), sum(signs))


def _by_point(part: Part, measure: str, table: pd.DataFrame) -> dict[object, pd.DataFrame]:
    """Return a measure by point: a row per sample, a column for each of those compared."""
    names = table[list(part.who)].fillna("").astype(str).agg(" ".join, axis=1)
    grouped = table.assign(compared=names).groupby(list(part.points))
    return {point: rows.pivot_table(measure, part.over, "compared") for point, rows in grouped}


def _same_signs(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[bool]:
    """Yield for each pair that differs significantly before, paired by sample, whether its sign is the same after."""
    for one, other in combinations(before.columns, 2):
        interval = mean_interval((before[one] - before[other]).dropna().to_numpy())
        if interval.low > 0.0 or interval.high < 0.0:
            yield bool(np.sign((after[one] - after[other]).mean()) == np.sign(interval.mean))


# ------------------------------------------------------------------------------------------------ page


def _page(source: str, outcomes: Sequence[Outcome], place: Place) -> Iterator[str]:
    """Yield the lines of the page of a source."""
    yield f"# Reproduction of the source `{source}`"
    yield ""
    yield f"{code_sentence(DECISIVE[1:])}."
    yield from ("", "## Inputs", "")
    inputs = [place.inputs[name] for name in dict.fromkeys(name for one in outcomes for name in one.part.inputs)]
    lines = [(one.name, one.origin, one.licence, one.sha256, one.state) for one in inputs]
    yield markdown(Table.of(("input", "origin", "licence", "SHA-256", "state"), lines)) if lines else "None."
    yield from ("", "## Parts", "", "CPU seconds exclude samples that an earlier run left in the store.", "")
    for one in outcomes:
        page = f"[{one.part.page}]({source}/{one.part.page})" if one.state == "run" else one.state
        answers = f" ({', '.join(one.part.answers)})" if one.part.answers else ""
        yield f"- {one.part.name}{answers}: {page}" + (f", `{shlex.join(one.command)}`" if one.command else "")
    yield from ("", "## Agreement with the committed run", "")
    yield "Rank correlation: median of Spearman's over the points. Same sign: of the pairs that differ significantly in"
    yield "the committed run (95 %, paired by sample) those whose difference has the same sign here."
    yield from ("", markdown(Table.of(HEADS, lines_of(outcomes))))


HEADS = ("source", "part", "state", "CPU, s", "measure", "points", "rank correlation", "same sign")


def lines_of(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield for each part and measure the entries below :data:`HEADS`."""
    for one in outcomes:
        first = (one.part.source, one.part.name, one.state, f"{one.cpu:.1f}" if one.command else "-")
        for found in one.agreements:
            numbers = (str(len(found.correlations)), f"{found.correlation:.2f}", f"{found.same} of {found.pairs}")
            yield (*first, found.measure, *numbers)
        if not one.agreements:
            yield (*first, "-", "-", "-", "-")
