"""Of each committed page of results: which code made it, and whether that is the code that is here.

A page names the commit and a digest of the source files that decide a result. The code is today's where the
digest is the same; else the commits that touched the package since then are counted. The table of docs/results.md
under "Whose code" is written anew.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sampling import HERE, exit_with

from coalloc.bench.provenance import code_versions
from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically

ROOT = HERE.parent
RESULTS_PAGE = ROOT / "docs" / "results.md"
HEAD = "## Whose code"
MADE_BY = re.compile(r"commit (\w+), code (\w{12})")
LINKS = re.compile(r"\| \[[^]]+\]\(\.\./(benchmarks/[^)#]+\.md)\)(?:, \[[^]]+\]\(\.\./(benchmarks/[^)#]+\.md)\))? \|")
"""The pages of a line of the table: one or two."""


@dataclass(frozen=True, slots=True)
class Age:
    """A page, by its path from the root, and the code that it names; empty where it names none."""

    page: str
    commit: str
    code: str

    def standing(self, today: str, later: int | None) -> str:
        """Return in words whether its code is today's; ``later`` commits touched the package since, None: unknown."""
        if not self.code:
            return "the page does not say"
        if self.code == today:
            return "yes"
        return "no" if later is None else f"no: {later} commits to the package since"


def ages(results: str) -> Iterator[Age]:
    """Yield the age of each page that the page of results links, in its order; of several codes, one for each."""
    for page in dict.fromkeys(page for pages in LINKS.findall(results) for page in pages if page):
        found = MADE_BY.findall((ROOT / page).read_text(encoding="utf-8"))
        for commit, code in dict.fromkeys(found) or [("", "")]:
            yield Age(page, commit, code)


def commits_since(commit: str) -> int | None:
    """Return how many commits touched the package since one; None where that is not in this repository."""
    command = ["git", "-C", str(ROOT), "rev-list", "--count", f"{commit}..HEAD", "--", "coalloc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None


def written(results: str, lines: Sequence[tuple[str, ...]], commit: str, code: str) -> str:
    """Return the page of results with the table of ages at its end."""
    before = results.split(f"\n{HEAD}\n", maxsplit=1)[0].rstrip()
    table = markdown(Table.of(("page", "commit", "code", "today's"), lines))
    sentence = (
        f"Today is commit {commit}, code {code} (`python benchmarks/page_ages.py` looks again). A page whose code is "
        "not today's says what was true of that commit."
    )
    return f"{before}\n\n{HEAD}\n\n{sentence}\n\n{table}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--page", type=Path, default=RESULTS_PAGE, help="the page of results (default docs/results.md)")
    page = parser.parse_args(arguments).page
    results, known = page.read_text(encoding="utf-8"), code_versions()
    lines = []
    for age in ages(results):
        later = commits_since(age.commit) if age.code and age.code != known["code"] else None
        lines.append((f"[{age.page}](../{age.page})", age.commit, age.code, age.standing(known["code"], later)))
    write_atomically(page, written(results, lines, known["commit"], known["code"]))
    print(f"wrote {page}")
    return 0


if __name__ == "__main__":
    exit_with(main)
