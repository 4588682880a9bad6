"""Build the manuscripts below build/paper/: Markdown with tables filled in, HTML, and PDF where chromium is installed.

A placeholder in double braces becomes a table: ``{{performance}}`` that of the README, any other the table of that
section of docs/sources.md. A citation that is not in paper.bib, a missing figure, a reference to no figure, and a
placeholder that is left are errors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAPER = Path(__file__).resolve().parent
ROOT = PAPER.parent
BUILT = ROOT / "build" / "paper"
MANUSCRIPTS = ("paper.md", "replication.md")
PLACEHOLDER = re.compile(r"\{\{(.+?)\}\}")
FIGURE = re.compile(r"!\[([^]]*?)\s*\\label\{([^}]+)\}\]")
UNFILLED = re.compile(r"\{\{.*?\}\}|\b(?:TODO|TBD|FIXME)\b|\\(?:autoref|label)\{.*?\}")


def performance() -> str:
    """Return the table of performance, from the committed results."""
    command = [sys.executable, str(ROOT / "benchmarks" / "run_all.py"), "--readme"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", env=environment).stdout.strip()


def verdicts(section: str) -> str:
    """Return the table of a section of docs/sources.md, its links as text."""
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    if f"\n## {section}\n" not in page:
        raise SystemExit(f"docs/sources.md has no section {section}")
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", table)


def filled(text: str) -> str:
    """Return a manuscript with its tables."""
    return PLACEHOLDER.sub(lambda found: performance() if found[1] == "performance" else verdicts(found[1]), text)


def numbered(text: str) -> str:
    """Return a manuscript with its figures, and the references to them, numbered."""
    numbers = {label: f"Figure {n}" for n, (_, label) in enumerate(FIGURE.findall(text), 1)}
    for label, name in numbers.items():
        text = text.replace(f"\\autoref{{{label}}}", name)
    return FIGURE.sub(lambda found: f"![**{numbers[found[2]]}.** {found[1]}]", text)


def build(name: str, pandoc: str) -> Path:
    """Build a manuscript, and return its HTML."""
    text = filled((PAPER / name).read_text(encoding="utf-8"))
    (BUILT / name).write_text(text, encoding="utf-8")
    text = numbered(text)
    if left := UNFILLED.findall(text):
        raise SystemExit(f"{name}: not filled in: {', '.join(left)}")
    page = BUILT / Path(name).with_suffix(".html").name
    command = [pandoc, "--from=markdown", "--to=html5", "--standalone", "--embed-resources", "--mathml", "--citeproc"]
    command += ["--metadata=link-citations", "--template=template.html", "--fail-if-warnings", f"--output={page}"]
    command += ["--columns=10000"]  # no table is wide, so a browser fits the columns
    text = re.sub(r"(?<=[\d)])\s(?=%|s\b)", "\N{NO-BREAK SPACE}", text)
    if subprocess.run(command, input=text, encoding="utf-8", check=False, cwd=PAPER).returncode:
        raise SystemExit(f"{name}: pandoc stopped with the messages above")
    return page


def print_to_pdf(page: Path) -> bool:
    """Print a page to a PDF file next to it, and return whether there is a browser that does."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return False
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command = [browser, *flags, f"--print-to-pdf={page.with_suffix('.pdf')}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    return True


def main() -> None:
    """Build all manuscripts, and print what was written."""
    pandoc = shutil.which("pandoc")
    if pandoc is None:
        import pypandoc

        pandoc = pypandoc.get_pandoc_path()
    BUILT.mkdir(parents=True, exist_ok=True)
    for name in MANUSCRIPTS:
        page = build(name, pandoc)
        print(page, "and PDF" if print_to_pdf(page) else "(no chromium, so no PDF)")


if __name__ == "__main__":
    main()
