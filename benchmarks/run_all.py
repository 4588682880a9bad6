"""All result pages of one commit: run what the budget allows, most important pages first, and write docs/results.md.

The pages, their commands and what these take are in run_pages.py. Every page gets its smallest size, then the larger
ones as far as the budget goes. The package must have no edits, so that all pages are of one commit. Interrupted, the
command goes on where it was: the scripts keep their samples, and ``run_all.json`` next to them which pages are done. At
the end the tables of docs/results.md are written from the raw tables, and results that were not made are deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree

from run_figures import Figure, comparisons
from run_pages import DATA, PAGES, PROOFS, TOPICS, Page, Size
from sampling import HERE, RESULTS, exit_with, say

from coalloc.bench.provenance import PACKAGE, code_sentence
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError

ROOT = HERE.parent
RESULTS_PAGE = ROOT / "docs" / "results.md"
HEAD = "## Figures\n\n<!-- Made by `python benchmarks/run_all.py`. -->"
PICTURE = "exact-solved.png"
ENDED = (0, 1)
"""Exit codes of a script that wrote its page: all is well, or the page says what is not."""
INTERRUPTED = 130


# --- what is done -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Made:
    """What is known of a page: the size that was begun last, CPU minutes so far, and whether it is done."""

    size: str
    minutes: float = 0.0
    done: bool = False


@dataclass(slots=True)
class Record:
    """The pages made of one state of the package, kept in a file."""

    path: Path
    tree: str
    pages: dict[str, Made] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, tree: str) -> Record:
        """Return the record of a file; an empty one where there is none, or where it is of another package."""
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        pages = kept.get("pages", {}) if kept.get("tree") == tree else {}
        return cls(path, tree, {name: Made(**made) for name, made in pages.items()})

    def write(self) -> None:
        """Keep the record."""
        pages = {name: asdict(made) for name, made in self.pages.items()}
        write_atomically(self.path, json.dumps({"tree": self.tree, "pages": pages}, indent=1) + "\n")

    def is_done(self, page: str, size: Size) -> bool:
        """Return whether a page is made in this size."""
        made = self.pages.get(page)
        return made is not None and made.done and made.size == size.text


def package_tree() -> str:
    """Return what identifies the committed package.

    Raises
    ------
    CoallocError
        The package has edits, or is another one than that of this repository.
    """
    if PACKAGE.parent != ROOT:
        raise CoallocError(f"coalloc is imported from {PACKAGE}: set PYTHONPATH to {ROOT}")
    edits = _git("status", "--porcelain", "--", "coalloc")
    if edits:
        raise CoallocError(f"the package has edits: commit them first\n{edits}")
    return _git("rev-parse", "HEAD:coalloc")


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.rstrip()


# --- what is to be done -----------------------------------------------------------------------------


def planned(pages: Sequence[Page], places: Mapping[str, str], record: Record, minutes: float) -> dict[str, Size]:
    """Return the size of each page that fits into the CPU minutes, by name; what is absent does not fit.

    The smallest sizes of all pages come first, in their order, and then the larger ones. A size counts with the minutes
    that it took, or else with at least those that were spent on it. No page gets a smaller size than it was begun with.
    """
    chosen: dict[str, Size] = {}
    left = minutes
    for is_first in (True, False):
        for page in pages:
            current = chosen.get(page.name)
            taken = _cost(page, current, record) if current else 0.0
            fits = [size for size in _possible(page, places, record) if _cost(page, size, record) - taken <= left]
            if fits and (is_first or current):
                chosen[page.name] = fits[0] if is_first else fits[-1]
                left -= _cost(page, chosen[page.name], record) - taken
    return chosen


def _possible(page: Page, places: Mapping[str, str], record: Record) -> list[Size]:
    """Return the sizes of a page whose inputs are there, from the one that was begun on."""
    begun = record.pages[page.name].size if page.name in record.pages else ""
    texts = [size.text for size in page.sizes]
    first = texts.index(begun) if begun in texts else 0
    return [size for size in page.sizes[first:] if size.places <= places.keys()]


def _cost(page: Page, size: Size, record: Record) -> float:
    made = record.pages.get(page.name)
    if made is None:
        return size.minutes
    return made.minutes if record.is_done(page.name, size) else max(made.minutes, size.minutes)


def missing(page: Page, places: Mapping[str, str]) -> str:
    """Return the inputs without which no size of a page can run, in words; empty where there are none."""
    lacking = [size.places - places.keys() for size in page.sizes]
    fewest = min(lacking, key=len)
    return ", ".join(sorted(fewest))


def listed(pages: Sequence[Page], places: Mapping[str, str], record: Record, minutes: float) -> Iterator[list[str]]:
    """Yield for each page what would run, its CPU minutes, and its state."""
    chosen = planned(pages, places, record, minutes)
    for page in pages:
        size = chosen.get(page.name)
        if size is None:
            lacking = missing(page, places)
            yield [page.name, "", "", f"input missing: {lacking}" if lacking else "beyond the budget"]
        else:
            state = "done" if record.is_done(page.name, size) else "begun" if page.name in record.pages else ""
            cost = f"{_cost(page, size, record):.1f} of {page.sizes[-1].minutes:g}"
            yield [page.name, _shown(size), cost, state]


def _shown(size: Size) -> str:
    return re.sub(r"benchmarks/|{out} ?|-m ", "", size.text)


# --- running ----------------------------------------------------------------------------------------


def make(page: Page, size: Size, places: Mapping[str, str], record: Record) -> str:
    """Run the commands of a page in a size; return what went wrong, in words, empty if nothing did.

    At Ctrl-C, or SIGTERM, the script ends in order, and KeyboardInterrupt follows.
    """
    before = record.pages.get(page.name, Made(size.text))
    made = record.pages[page.name] = Made(size.text, before.minutes)
    record.write()
    path = Path(places["results"], page.page)
    began = path.stat().st_mtime_ns if path.exists() else 0
    code = 0
    for command in size.commands(page.name, dict(places)):
        cpu = _children_minutes()
        child = subprocess.Popen([sys.executable, *command], cwd=ROOT, start_new_session=True)
        try:
            code = child.wait()
        except KeyboardInterrupt:
            child.terminate()  # the scripts keep what has ended
            child.wait()
            raise
        finally:
            made.minutes += _children_minutes() - cpu
            record.write()
        if code not in ENDED:
            return f"exit code {code}"
    if not path.exists() or path.stat().st_mtime_ns == began:
        return f"exit code {code}, and no page"
    made.done = True
    record.write()
    return "the page has contradictions or disagreements" if code else ""


def _children_minutes() -> float:
    times = os.times()
    return (times.children_user + times.children_system) / 60.0


def run(pages: Sequence[Page], places: Mapping[str, str], record: Record, minutes: float, wanted: set[str]) -> bool:
    """Make the wanted pages in their order, each in the size that fits what is left; return whether all went well."""
    is_well = True
    for page in pages:
        size = planned(pages, places, record, minutes).get(page.name)
        if size is None or page.name not in wanted or record.is_done(page.name, size):
            continue
        if package_tree() != record.tree:
            raise CoallocError("the package has changed since the first page: run again, all pages begin anew")
        say(f"== {page.name}: {_shown(size)}")
        fault = make(page, size, places, record)
        say(f"== {page.name}: {fault or 'done'}, {record.pages[page.name].minutes:.1f} CPU minutes")
        is_well &= not fault
    return is_well


# --- at the end -------------------------------------------------------------------------------------


def results_tables(pages: Sequence[Page], record: Record, folder: Path, from_docs: str) -> str:
    """Return the tables of the figures of all pages that are done, by topic, and the picture of proofs."""
    done = [page for page in pages if page.name in record.pages and record.pages[page.name].done]
    sections = []
    for topic in TOPICS:
        lines = []
        for page in (page for page in done if page.topic == topic):
            link = f"[{page.name}]({from_docs}/{page.page})"
            figures = page.figures(folder) or [Figure("Figures of this page", "see there", "")]
            lines += [(*figure, link) for figure in figures]
        if lines:
            sections += [f"### {topic}", markdown(Table.of(("question", "figure", "n", "page"), lines))]
        if topic == PROOFS and (folder / PICTURE).exists():
            sections.append(f"![Share of instances proved over time, by method]({from_docs}/{PICTURE})")
    return "\n\n".join(sections)


def written(text: str, tables: str, head: str) -> str:
    """Return the page of results with the tables in place of those that it has."""
    return f"{text.split(HEAD, maxsplit=1)[0].rstrip()}\n\n{HEAD}\n\n{head}.\n\n{tables}\n"


def left_out(pages: Sequence[Page], record: Record, folder: Path) -> list[Path]:
    """Return the committed results that are part of no page that is done."""
    done = [page for page in pages if page.name in record.pages and record.pages[page.name].done]
    kept = re.compile(r"run_all\.json|.*\.sqlite(-\w+|\.lock)?")
    names = sorted(path.name for path in folder.iterdir() if not kept.fullmatch(path.name))
    return [folder / name for name in names if not any(page.owns(name) for page in done)]


def finish(pages: Sequence[Page], record: Record, folder: Path, results_page: Path) -> None:
    """Write the tables of the page of results, and delete what was not made."""
    tables = results_tables(pages, record, folder, os.path.relpath(folder, results_page.parent))
    write_atomically(results_page, written(results_page.read_text(encoding="utf-8"), tables, code_sentence()))
    say(f"wrote {results_page}")
    for path in left_out(pages, record, folder):
        rmtree(path) if path.is_dir() else path.unlink()
        say(f"deleted {path}: not made on this commit")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.readme:
        heads = ("work", "result", "alternative", "ratio")
        print(markdown(Table.of(heads, comparisons(options.results))))
        return 0
    names = {page.name for page in PAGES}
    if unknown := {*options.only} - names:
        raise CoallocError(f"there is no page {', '.join(sorted(unknown))}; the pages: {', '.join(sorted(names))}")
    places = places_of(options)
    options.results.mkdir(parents=True, exist_ok=True)
    record = Record.read(options.results / "run_all.json", package_tree())
    minutes = 60.0 * options.budget
    if options.list:
        heads = ("page", "command", "CPU minutes, of the full size", "state")
        print(markdown(Table.of(heads, listed(PAGES, places, record, minutes))))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for page in PAGES:
        if lacking := missing(page, places):
            say(f"== {page.name}: input missing: {lacking}")
    try:
        is_well = run(PAGES, places, record, minutes, {*options.only} or names)
    except KeyboardInterrupt:
        say("interrupted; run again to go on")
        return INTERRUPTED
    if not options.only:
        finish(PAGES, record, options.results, options.page)
    return 0 if is_well else 1


def places_of(options: argparse.Namespace) -> dict[str, str]:
    """Return what stands for the places of the commands; inputs that are absent have none."""
    folders = {name: options.data / name for name in DATA}
    inputs = {name: str(path.resolve()) for name, path in folders.items() if path.is_dir()}
    if options.peer_python:
        inputs["peer"] = options.peer_python
    results = str(options.results.resolve())
    return {**inputs, "jobs": str(options.jobs), "results": results, "store": results}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    data = ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=data, help=f"folder with {', '.join(DATA)} (default: %(default)s)")
    parser.add_argument("--peer-python", default="", help="a Python that has PyJobShop (default: no rows with it)")
    parser.add_argument("--budget", type=float, default=50.0, help="CPU hours (default: %(default)g)")
    parser.add_argument("--only", nargs="+", default=[], metavar="PAGE", help="make these pages alone, delete nothing")
    parser.add_argument(
        "--jobs", type=int, default=2, choices=(1, 2), help="samples at a time, where times are none of the results"
    )
    parser.add_argument("--list", action="store_true", help="print what would run, and how long")
    parser.add_argument("--readme", action="store_true", help="print the README's table of performance, run nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results (default: %(default)s)")
    parser.add_argument("--page", type=Path, default=RESULTS_PAGE, help="page of results (default: %(default)s)")
    return parser


if __name__ == "__main__":
    exit_with(main)
