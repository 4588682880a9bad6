"""What docs/results.md says of the code of each page."""

import page_ages


def test_pages_are_those_that_the_table_links():
    table = "| q | [one](../benchmarks/a.md) | c |\n| q | [two](../benchmarks/b.md), [three](../benchmarks/c.md) | c |"
    text = f"The [scripts](../benchmarks/README.md) are elsewhere.\n{table}\n"
    assert [page for pages in page_ages.LINKS.findall(text) for page in pages if page] == [
        "benchmarks/a.md",
        "benchmarks/b.md",
        "benchmarks/c.md",
    ]


def test_a_page_has_the_code_of_today_or_another_or_says_nothing():
    age = page_ages.Age("p", "abc1234", "0123456789ab")
    assert age.standing("0123456789ab", None) == "yes"
    assert age.standing("ba9876543210", 3) == "no: 3 commits to the package since"
    assert age.standing("ba9876543210", None) == "no"
    assert page_ages.Age("p", "", "").standing("0123456789ab", None) == "the page does not say"


def test_a_page_of_several_codes_has_a_line_for_each(tmp_path, monkeypatch):
    monkeypatch.setattr(page_ages, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    newer, older = "commit aaa, code 0123456789ab", "commit bbb, code ba9876543210"
    (tmp_path / "benchmarks" / "a.md").write_text(f"slots: ({newer}); node: ({older}); links: ({newer})")
    found = list(page_ages.ages("| q | [one](../benchmarks/a.md) | c |\n"))
    assert [(age.commit, age.code) for age in found] == [("aaa", "0123456789ab"), ("bbb", "ba9876543210")]


def test_the_table_is_written_anew():
    once = page_ages.written("# Results\n\ntext\n", [("p", "c", "d", "yes")], "c", "d")
    again = page_ages.written(once, [("p", "c", "e", "no")], "c", "d")
    assert again.startswith("# Results\n\ntext\n\n## Whose code\n")
    assert again.count("Whose code") == 1
    assert "| p | c | e | no |" in again
