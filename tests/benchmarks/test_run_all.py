"""All result pages by one command: what fits a budget, how a run goes on, and what the tables say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import run_all
import run_figures
from run_pages import PAGES, PROOFS, Page, Size, sizes

from coalloc import CoallocError

BENCHMARKS = Path(run_all.__file__).parent


def page(name: str, *minutes: float, command: str = "script.py") -> Page:
    """Return a page with a size for each number of minutes."""
    options = tuple((f"--size {number}", cost) for number, cost in enumerate(minutes))
    return Page(name, PROOFS, sizes(command, *options), run_figures.of_nothing)


def chosen(pages: list[Page], minutes: float, record: run_all.Record, **places: str) -> dict[str, str]:
    """Return the option of each page that is planned."""
    return {name: size.text[-1] for name, size in run_all.planned(pages, places, record, minutes).items()}


@pytest.fixture
def record(tmp_path: Path) -> run_all.Record:
    return run_all.Record(tmp_path / "run_all.json", "tree")


# --- the plan ---------------------------------------------------------------------------------------


def test_all_pages_get_their_smallest_size_before_one_gets_a_larger(record: run_all.Record) -> None:
    pages = [page("one", 2, 10, 50), page("two", 3, 6), page("three", 40)]
    assert chosen(pages, 1, record) == {}
    assert chosen(pages, 5, record) == {"one": "0", "two": "0"}
    # 2 + 3 of 13 minutes are gone: eight more for the first, none left for the second.
    assert chosen(pages, 13, record) == {"one": "1", "two": "0"}
    assert chosen(pages, 16, record) == {"one": "1", "two": "1"}
    assert chosen(pages, 96, record) == {"one": "2", "two": "1", "three": "0"}


def test_a_size_counts_with_what_it_took_and_no_page_gets_a_smaller_one(record: run_all.Record) -> None:
    pages = [page("one", 2, 10), page("two", 3)]
    record.pages["one"] = run_all.Made(pages[0].sizes[1].text, 4.0, done=True)  # for 4 minutes, not 10
    assert chosen(pages, 7, record) == {"one": "1", "two": "0"}
    record.pages["one"].done = False  # begun: it may still take its ten
    assert chosen(pages, 7, record) == {"two": "0"}
    record.pages["one"] = run_all.Made(pages[0].sizes[0].text, 1.0, done=True)
    assert chosen(pages, 12, record) == {"one": "0", "two": "0"}
    assert chosen(pages, 13, record) == {"one": "1", "two": "0"}


def test_a_page_whose_input_is_absent_is_said_to_be_missing(record: run_all.Record) -> None:
    needs = page("one", 1, command="script.py --traces {swf} --peer-python {peer}")
    assert chosen([needs], 9, record) == {}
    assert run_all.missing(needs, {"swf": "/logs"}) == "peer"
    lines = {line[0]: line[-1] for line in run_all.listed([needs, page("two", 90)], {"swf": "/logs"}, record, 9)}
    assert lines == {"one": "input missing: peer", "two": "beyond the budget"}
    assert chosen([needs], 9, record, swf="/logs", peer="python") == {"one": "0"}


@pytest.mark.parametrize("asked", PAGES, ids=lambda asked: asked.name)
def test_every_command_has_a_script_with_its_options_and_sizes_grow(asked: Page) -> None:
    places = dict.fromkeys(("peer", "jobs", "results", "store", *run_all.DATA), "X")
    for size in asked.sizes:
        for script, *words in size.commands(asked.name, places):
            if script == "-m":
                assert words[:2] == ["coalloc", "bench"]
                continue
            text = Path(run_all.ROOT, script).read_text(encoding="utf-8")
            assert [word for word in words if word.startswith("--") and word[2:] not in text] == []
    assert [size.minutes for size in asked.sizes] == sorted(size.minutes for size in asked.sizes)
    assert asked.owns(asked.page.split("/")[0])


def test_files_belong_to_their_page() -> None:
    exact, rigid, pcbe = (next(one for one in PAGES if one.name == name) for name in ("exact", "rigid", "pcbe"))
    assert exact.owns("exact-progress.png")
    assert pcbe.owns("pcbe-figure-5.10.png")
    assert not rigid.owns("rigid-60.md")
    assert not exact.owns("exact-quick.csv")


# --- running ----------------------------------------------------------------------------------------

WRITES = "import pathlib; pathlib.Path(r'{results}', '{name}.md').write_text('made')"


def scripted(tmp_path: Path, name: str, code: str) -> Page:
    """Return a page that a script of this code makes."""
    path = tmp_path / f"{name}.py"
    path.write_text(code.replace("{results}", str(tmp_path)).replace("{name}", name), encoding="utf-8")
    return Page(name, PROOFS, (Size(str(path).replace("\\", "/"), 1.0),), run_figures.of_nothing)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(run_all, "package_tree", lambda: "tree")
    return {"results": str(tmp_path), "store": str(tmp_path), "jobs": "1"}


def test_what_is_done_is_not_run_again_and_what_failed_is(
    tmp_path: Path, places: dict[str, str], record: run_all.Record
) -> None:
    good = scripted(tmp_path, "good", WRITES)
    wrong = scripted(tmp_path, "wrong", f"{WRITES}; raise SystemExit(1)")  # a page with disagreements
    crashed, empty = (
        scripted(tmp_path, "crashed", "raise SystemExit(2)"),
        scripted(tmp_path, "empty", "raise SystemExit(1)"),
    )
    pages = [good, wrong, crashed, empty]
    assert not run_all.run(pages, places, record, 60, {one.name for one in pages})
    read = run_all.Record.read(record.path, "tree")
    assert {name: made.done for name, made in read.pages.items()} == {
        "good": True,
        "wrong": True,
        "crashed": False,
        "empty": False,
    }
    assert read.pages["good"].minutes > 0.0
    (tmp_path / "good.py").write_text("raise SystemExit(2)", encoding="utf-8")
    assert run_all.run([good], places, read, 60, {"good"})
    assert run_all.Record.read(record.path, "other tree").pages == {}


def test_an_interrupted_page_is_begun_and_its_script_ends_in_order(
    tmp_path: Path, places: dict[str, str], record: run_all.Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The script keeps what it has when it is terminated, and is there to be terminated once it said so.
    slow = scripted(
        tmp_path,
        "slow",
        "import pathlib, signal, sys, time\n"
        "kept = pathlib.Path(r'{results}', 'kept')\n"
        "def end(*_): kept.write_text('ended'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "if kept.exists(): kept.with_name('slow.md').write_text('made'); sys.exit(0)\n"
        "kept.write_text('began')\n"
        "time.sleep(60)\n",
    )
    kept = tmp_path / "kept"
    wait = run_all.subprocess.Popen.wait

    def interrupted(child: run_all.subprocess.Popen[bytes]) -> int:
        monkeypatch.setattr(run_all.subprocess.Popen, "wait", wait)
        while not (kept.exists() and kept.read_text(encoding="utf-8") == "began"):
            run_all.signal.getsignal(run_all.signal.SIGTERM)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_all.subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all.run([slow], places, record, 60, {"slow"})
    assert kept.read_text(encoding="utf-8") == "ended"
    assert [made["done"] for made in json.loads(record.path.read_text(encoding="utf-8"))["pages"].values()] == [False]
    assert run_all.run([slow], places, run_all.Record.read(record.path, "tree"), 60, {"slow"})


def test_a_package_that_changes_or_has_edits_ends_the_run(
    tmp_path: Path, places: dict[str, str], record: run_all.Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_all, "package_tree", lambda: "another")
    with pytest.raises(CoallocError, match="has changed since the first page"):
        run_all.run([scripted(tmp_path, "good", WRITES)], places, record, 60, {"good"})
    monkeypatch.undo()
    monkeypatch.setattr(run_all, "_git", lambda *_: " M coalloc/x.py")
    with pytest.raises(CoallocError, match="the package has edits"):
        run_all.package_tree()
    monkeypatch.setattr(run_all, "PACKAGE", tmp_path / "coalloc")
    with pytest.raises(CoallocError, match="set PYTHONPATH"):
        run_all.package_tree()


# --- at the end -------------------------------------------------------------------------------------


def test_the_page_of_results_has_what_was_made_and_the_rest_is_deleted(tmp_path: Path, record: run_all.Record) -> None:
    results = tmp_path / "results"
    (results / "bench-old").mkdir(parents=True)
    for name in ("limits.md", "limits.csv", "limits.sqlite", "rigid.md", "rigid-60.csv", "run_all.json"):
        (results / name).touch()
    rows = [
        "family,jobs,limit,status,time",
        "three clusters,8,0.1,optimal,0.02",
        "three clusters,20,0.1,feasible,0.5",
    ]
    (results / "limits.csv").write_text("\n".join(rows), encoding="utf-8")
    page_of_results = tmp_path / "results.md"
    page_of_results.write_text(
        "# Results\n\nText.\n\n## Figures\n\n<!-- Made by `python benchmarks/run_all.py`. -->\n\nformer\n",
        encoding="utf-8",
    )
    pages = [one for one in PAGES if one.name in ("limits", "rigid")]
    record.pages["limits"] = run_all.Made(pages[1].sizes[0].text, 1.0, done=True)
    record.pages["rigid"] = run_all.Made(pages[0].sizes[0].text, 1.0)
    run_all.finish(pages, record, results, page_of_results)
    text = page_of_results.read_text(encoding="utf-8")
    assert text.startswith(
        "# Results\n\nText.\n\n## Figures\n\n<!-- Made by `python benchmarks/run_all.py`. -->\n\ncoalloc "
    )
    assert "\n\n### Proofs and gaps\n\n| question |" in text
    assert "former" not in text
    line = "| Do limits of 0.1 s hold? | 1 of 2, on 8 to 20 jobs | 2 solves | [limits](results/limits.md) |"
    assert line in text
    assert sorted(path.name for path in results.iterdir()) == [
        *("limits.csv", "limits.md", "limits.sqlite"),
        "run_all.json",
    ]


def exact_table(*rows: tuple[str, str, str, float, float, float]) -> str:
    """Return a raw table of (work, instance, method, time, objective, bound) with limits of 60 s and one slot."""
    heads = "work,instance,slot,method,status,time,objective,lower_bound,limit"
    lines = [
        f'{work},{name},5,"{method}",{"optimal" if value == bound else "feasible"},{time},{value},{bound},60'
        for work, name, method, time, value, bound in rows
    ]
    return "\n".join([heads, *lines])


def test_the_table_of_the_readme_counts_proofs_and_compares_times_where_both_prove(tmp_path: Path) -> None:
    table = exact_table(
        ("links-20", "a", "portfolio", 1.0, 10.0, 10.0),
        ("links-20", "a", "CP-SAT, count model", 4.0, 10.0, 10.0),
        ("links-20", "b", "portfolio", 3.0, 10.0, 10.0),
        ("links-20", "b", "CP-SAT, count model", 60.0, 10.0, 5.0),
        ("links-20", "a", "portfolio, no CP-SAT", 2.0, 10.0, 10.0),
    )
    (tmp_path / "exact.csv").write_text(table, encoding="utf-8")
    (line,) = run_figures.comparisons(tmp_path)
    # Shifted by 1 s: sqrt(2 * 4) - 1 = 1.83 s, sqrt(5 * 61) - 1 = 16.5 s; gaps 0 and 50 %.
    assert line == (
        "20 jobs, capacity-constrained links",
        "2 of 2 proved, 1.8 s",
        "CP-SAT: 1 of 2 proved, 16 s, mean gap 25 %",
        "4\N{MULTIPLICATION SIGN} as fast (1 proved by both)",
    )


def test_figures_are_read_from_tables_and_sentences(tmp_path: Path) -> None:
    files = {
        "rows.csv": "status,disagreement\noptimal,\ninfeasible,\noptimal,wrong\n",
        "features.md": "1 of 2 instances of `features`: 14 calls, 3 disagree. Made by",
        "engine-agreement.md": "| timeline | 2 | 20 | 0 | 0 |\n| serial generation | 3 | 1000 | 2 | 0 |\n",
        "certificates.md": "| a, b | 1 of 2 | 9 | 8 | 7 | 88% |\n\nof 30 mutants 4 are accepted. 1 claim more",
        "unrelated.csv": "instance,method,status,time,objective,lower_bound,limit\n5,portfolio,feasible,9,10,8,10\n",
        "pcbe.csv": "experiment\nenergy\nenergy\n",
        "pcbe.md": "| energy 1 | 1.0 | 9e-10 |\n| energy 2 | 1.0 | 2e-9 |\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {figure[0]: figure[1:] for one in PAGES for figure in one.figures(tmp_path)}
    assert found == {
        "Do models with a user-defined row agree with brute force?": ("1 disagree; 2 proved", "3 solves"),
        "Do all methods agree with brute force on mixed features?": ("3 disagree", "14 calls"),
        "Does the compiled engine equal its references?": ("2 seeds differ", "1,020 cases"),
        "Does a proof get a certificate in time?": ("7 of 8", "8 proofs"),
        "Does an altered certificate claim more than the optimum?": ("1 do", "30 mutants"),
        "Published R||Cmax, 10 s: portfolio": ("0 of 1 proved, mean gap 20 %", "1 instances"),
        "How far are recomputed PCBE results from the published ones?": ("at most 2e-09, relative", "2 runs"),
    }


def test_committed_figures_have_short_cells_and_the_results_page_has_them() -> None:
    """A cell of the tables has at most 15 words, and what the page says is what the raw tables say."""
    text = run_all.RESULTS_PAGE.read_text(encoding="utf-8")
    cells = (re.split(r"(?<!\\)\|", line)[1:4] for line in text.splitlines())
    lines = {tuple(cell.strip().replace("\\|", "|") for cell in line) for line in cells}
    for one in PAGES:
        if Path(run_all.RESULTS, one.page).exists():
            for figure in one.figures(run_all.RESULTS):
                assert max(len(cell.split()) for cell in figure) <= 15
                assert tuple(figure) in lines


def test_unknown_pages_are_an_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CoallocError, match="there is no page rigdi; the pages: ablation, "):
        run_all.main(["--only", "rigdi"])
    assert capsys.readouterr().out == ""
