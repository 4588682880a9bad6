"""Every page does what it says: its blocks run and print what is shown, its links lead somewhere, its names exist."""

from __future__ import annotations

import importlib
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import typer

from coalloc.cli.app import app
from tests.pages import PAGES, ROOT, Block, blocks, missing, run_page, text_of

WITH_CODE = [page for page in PAGES if blocks(page)]
NOTEBOOKS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "notebooks").glob("*.ipynb"))
OF_RL = "docs/howto/train-a-scheduler.md"
"""The page whose code needs the extra ``rl``."""
SHOWN_ONLY = 15
"""How many blocks there are that no test can run: they need a cluster, a trace that is not ours, or this very test."""

MOST_WORDS = 45_000
"""Words of all pages in ``docs``, without those that programs write; a word has a letter or a digit."""
MADE = re.compile(r"<!-- Made by .*?(?:<!-- End of what is made. -->|\Z)|<!--.*?-->", re.DOTALL)
"""A part of a page that a program writes, to its end mark or that of the page, and what no reader sees."""
WORD = re.compile(r"\S*\w\S*")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.extras] if page == OF_RL else []) for page in WITH_CODE]
)
def test_the_blocks_of_a_page_run_and_print_what_is_shown(page, tmp_path):
    if page == OF_RL:
        pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    found = blocks(page)
    done = run_page(page, tmp_path)
    for block, what in zip(found, done, strict=False):
        assert what["error"] == "", block.code
        if not block.shown_only:
            assert missing(block.output, what["printed"]) == [], block.code + what["printed"]
    assert len(done) == len(found)


def test_few_blocks_are_shown_only_and_say_why():
    shown_only = [block for page in WITH_CODE for block in blocks(page) if block.shown_only]
    assert len(shown_only) <= SHOWN_ONLY
    assert [block.code for block in shown_only if len(block.shown_only.split()) < 2] == []


def test_lines_shown_are_looked_for_in_order():
    assert missing("a\nb ... d\n", "a\nx\nb c d\n") == []
    assert missing("b\na\n", "a\nb\n") == ["a"]
    assert missing("a.\n", "ab\n") == ["a."]


def resolve(name: str) -> Any:
    """Return what a dotted name is: a module, or what hangs on one; a field of a value is its declaration."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields else getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def code_of(page: str) -> str:
    """Return all code of a page or a notebook, in blocks and in lines."""
    if page.endswith(".ipynb"):
        cells = json.loads(text_of(page))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        return code + "\n".join(inline_code("".join(c["source"])) for c in cells if c["cell_type"] == "markdown")
    text = text_of(page)
    return "\n".join([block.code for block in blocks(page)] + [inline_code(text)])


def inline_code(text: str) -> str:
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join(re.findall(r"`([^`\n]+)`", without_blocks))


def misspelt(code: str) -> list[str]:
    """Return the names below ``coalloc`` that code uses and that are not there; ``coalloc.egg-info`` is none."""
    found = set(re.findall(r"(?<![\w./-])(coalloc(?:\.[A-Za-z_]\w*)+)(?!\w*[/-])", code))
    wrong = []
    for name in sorted(found):
        try:
            resolve(name)
        except (AttributeError, ModuleNotFoundError, KeyError):
            wrong.append(name)
    return wrong


def test_every_name_that_a_page_uses_is_there():
    found = {page: misspelt(code_of(page)) for page in (*PAGES, *NOTEBOOKS)}
    assert {page: names for page, names in found.items() if names} == {}


def test_a_misspelt_name_is_noticed():
    for name in ("coalloc.solv", "coalloc.Instance.job", "coalloc.objectives.Regular", "coalloc.problem.discretize"):
        assert misspelt(f"x = {name}(1)") == [name]


def commands() -> dict[str, set[str]]:
    """Return the options of every command of the shell, by its words."""

    def below(command: Any, words: str) -> dict[str, set[str]]:
        own = {o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)}
        found = {words: {*own, "-h", "--help", "--debug", "--install-completion", "--show-completion"}}
        for name, child in getattr(command, "commands", {}).items():
            found |= below(child, f"{words} {name}")
        return found

    return below(typer.main.get_command(app), "coalloc")


COMMANDS = commands()
GROUPS = {words.split()[1] for words in COMMANDS if len(words.split()) == 3}


def wrong_options(code: str) -> list[str]:
    """Return the lines of a page that call a command, or an option of it, that is not there."""
    wrong = []
    for line in code.replace("\\\n", " ").splitlines():
        words = line.partition(" #")[0].split()
        if len(words) < 2 or words[0] != "coalloc" or not re.fullmatch(r"[a-z-]+", words[1]):
            continue
        name = " ".join(words[: 3 if words[1] in GROUPS else 2 if words[1][0] != "-" else 1])
        options = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z].*", word)}
        if name not in COMMANDS or not options <= COMMANDS[name]:
            wrong.append(line)
    return wrong


def test_every_command_and_option_that_a_page_names_is_there():
    assert [(page, line) for page in PAGES for line in wrong_options(code_of(page))] == []


def test_a_misspelt_option_is_noticed():
    assert wrong_options("coalloc solve x.json --slots 5") == ["coalloc solve x.json --slots 5"]
    assert wrong_options("coalloc study slotsize x.json") == ["coalloc study slotsize x.json"]


def links(page: str) -> list[tuple[str, Path, str]]:
    """Return where the links of a page lead: the page, a file and an anchor in it."""
    path = ROOT / page
    found = re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)", without_code(path.read_text(encoding="utf-8")))
    return [(page, path.parent / file if file else path, anchor) for file, anchor in found]


def test_links_lead_to_files_and_headings():
    targets = [link for page in PAGES for link in links(page)]
    assert [(page, str(target)) for page, target, _ in targets if not target.exists()] == []
    with_anchor = [link for link in targets if link[2] and link[1].suffix == ".md"]
    known = {target: anchors(target) for _, target, _ in with_anchor}
    assert [(page, f"{target}#{anchor}") for page, target, anchor in with_anchor if anchor not in known[target]] == []


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as a forge makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_two_lines_set_up_everything_and_run_the_demo_and_the_tests():
    lines = [line for block in blocks("README.md") for line in block.code.splitlines() if line.startswith("python3 -m")]
    assert [line.rpartition(" && .venv/bin/")[2] for line in lines] == ["coalloc demo", "pytest -n 2"]


def test_the_readme_is_short_enough_to_be_read():
    text = text_of("README.md")
    assert len(text.splitlines()) <= 90
    assert len(text.split()) <= 600


def test_the_example_of_a_policy_saves_energy_by_waiting(tmp_path, monkeypatch, capsys):
    # 8 start-ups without patience, 3 with 140 s of it: the script asserts both.
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "patient.py"), run_name="__main__")
    assert capsys.readouterr().out == "109090 J, 20 s of waiting\n52000 J, 99 s of waiting\n"


def test_the_pages_are_short_enough_to_be_read():
    by_hand = {page: MADE.sub("", text_of(page)) for page in PAGES if page.startswith("docs/")}
    assert sum(len(WORD.findall(text)) for text in by_hand.values()) <= MOST_WORDS


def test_a_block_knows_what_is_given_and_what_is_shown():
    assert Block("sh", "coalloc demo\n").shown_only == ""
    assert blocks("docs/extending.md")[0].output == "optimal late-jobs\n7 (late-jobs)\n"
