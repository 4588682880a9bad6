"""The report on a benchmark: its tables as Markdown and CSV, its figures, and all of it as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coalloc.bench.figures import distance_from_best, solved_over_time, svg
from coalloc.bench.outcomes import Row, has_run, is_failed, is_solved
from coalloc.bench.page import Content, page
from coalloc.bench.store import Store
from coalloc.bench.summary import contradictions, failures, missing, summary, timing
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.sentences import shown
from coalloc.documents.storage import write_atomically
from coalloc.documents.text import visible
from coalloc.instance import CoallocError

FIGURES = {"solved": solved_over_time, "objective": distance_from_best}
"""Each figure by the name of its file."""

SAMPLE_COLUMNS = (
    *("instance", "label", "seed", "status", "stopped_by", "time", "objective", "lower_bound", "gap", "memory"),
    *("certified", "message"),
)
HEADS = {
    "label": "method",
    "stopped_by": "stopped by",
    "time": "time, s",
    "lower_bound": "bound",
    "gap": "gap, %",
    "memory": "peak memory, MB",
}
"""Headings of columns that differ from their names; objective and bound are in the unit of the objective."""
CSV_COLUMNS = (
    *("instance", "instance_sha256", "jobs", "label", "method", "options", "seed", "warmup", "repeat"),
    *(
        "time_limit",
        "memory_limit",
        "status",
        "stopped_by",
        "time",
        "times",
        "cpu",
        "memory",
        "objective",
        "lower_bound",
        "gap",
        "certified",
        "build",
    ),
    *("rows", "columns", "nonzeros", "metrics", "message", "host", "system", "processors", "versions", "ended"),
    "content",
)
READING = (
    "A sample is solved if it ended with a proof; a simulation or a bound is solved if it ended. Time is the shifted "
    "geometric mean (SGM); an unsolved sample counts its time limit. Objectives are compared with the best known for "
    "the same instance, model, objective, slot and links. Makespans and other times are in s, energies in J. Solves "
    "without a slot are in continuous time, and links must not saturate unless links is an option; simulations run in "
    "continuous time, and their links may saturate."
)


@dataclass(frozen=True, slots=True)
class ReportFindings:
    """Findings of a report about the rows of one benchmark."""

    name: str
    command: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """Title of the report."""
        return f"Benchmark {self.name}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Lines of a name and what belongs to it."""
        ran = [row for row in self.rows if has_run(row)]
        state = f"{len(ran)} of {len(self.rows)} ran, {sum(map(is_solved, ran))} solved, failed: {failures(ran)}"
        facts = [("samples", state), ("reproduce with", self.command)]
        facts += [("times", text) for text in _distinct(map(timing, ran))]
        facts += [("versions", text) for text in _distinct(_versions(row["versions"]) for row in ran)]
        return facts + [("machine", text) for text in _distinct(_machine(row) for row in ran)]

    @property
    def warnings(self) -> list[str]:
        """Return warnings for a reader of the numbers."""
        lines = [f"Contradiction: {sentence}" for sentence in contradictions(self.rows)]
        if self.num_missing:
            lines.append(f"The tables are incomplete: {self.num_missing} planned samples have not run.")
        if len({str(row["versions"]) for row in self.rows if has_run(row)}) > 1:
            lines.append("The samples come from several versions of the code.")
        return lines

    @property
    def num_missing(self) -> int:
        """Number of samples that did not run."""
        return missing(self.rows)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by their titles."""
        failed = [row for row in self.rows if is_failed(row)]
        tables = {"Summary": summary(self.rows)}
        if failed:
            tables["Failures"] = _sample_table(failed, ("instance", "label", "seed", "status", "time", "message"))
        return tables | {"Samples": _sample_table(self.rows, SAMPLE_COLUMNS)}


def findings(store: Store, name: str | None = None) -> ReportFindings:
    """Return what a store has of a specification; None: the one that was run last."""
    names = store.names()
    if not names or (name is not None and name not in names):
        there = ", ".join(names) or "none"
        wanted = "" if name is None else f" {shown(name)}"
        raise CoallocError(f"{visible(str(store.path))}: contains no benchmark{wanted}; available: {there}")
    chosen = name or names[0]
    return ReportFindings(chosen, f"coalloc bench run {store.source(chosen)}", tuple(store.rows(chosen)))


def write_report(found: ReportFindings, folder: Path) -> list[Path]:
    """Write all files of a report into a folder, which is made where it is missing; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {name: figure for name, draw in FIGURES.items() if (figure := draw(found.rows)) is not None}
    pictures = {f"{name}.svg": svg(figure) for name, figure in figures.items()}
    content = Content(found.title, found.facts, found.warnings, READING, found.tables, list(pictures.values()))
    files: dict[str, str | bytes] = {
        "report.html": page(content),
        "report.md": _markdown_page(found, list(pictures)),
        "samples.csv": csv_of(CSV_COLUMNS, found.rows),
        "summary.csv": _summary_csv(found),
        **pictures,
    }
    for name, file in files.items():
        write_atomically(folder / name, file)
    return [folder / name for name in files]


def _markdown_page(found: ReportFindings, pictures: Sequence[str]) -> str:
    facts = "\n".join(f"- {name}: {text}" for name, text in found.facts)
    warnings = [f"**{warning}**" for warning in found.warnings]
    tables = {title: markdown(table) for title, table in found.tables.items()}
    head = [f"# {found.title}", facts, *warnings, "## Summary", READING, tables.pop("Summary")]
    head += [f"![{name}]({name})" for name in pictures]
    return "\n\n".join([*head, *(part for title, text in tables.items() for part in (f"## {title}", text))]) + "\n"


def _summary_csv(found: ReportFindings) -> str:
    table = found.tables["Summary"]
    return csv_of(table.heads, [dict(zip(table.heads, line, strict=True)) for line in table.lines])


def _sample_table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    """Return a line per row, with the columns in which any of them has something."""
    filled = [column for column in columns if any(row.get(column) not in (None, "") for row in rows)]
    heads = [HEADS.get(column, column) for column in filled]
    return Table.of(heads, [[_shown(row, column) for column in filled] for row in rows])


def _shown(row: Row, column: str) -> Any:
    """Return an entry in the unit of its head."""
    entry = row.get(column)
    return 100.0 * entry if column == "gap" and entry is not None else entry


def _distinct(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _machine(row: Mapping[str, Any]) -> str:
    return f"{row.get('host', 'unknown')}, {row.get('system', '')}, {row.get('processors', '?')} processors"
