"""What the scripts share: a line per sample, runs that resume, hidden modules, and exit codes."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib.util import find_spec

import pytest
import sampling

from coalloc.bench.calls import Call
from coalloc.bench.running import outcomes_of
from coalloc.instance import CoallocError
from tests.bench.calls import echo


def line(call, outcome):
    return f"{call.argument['x']}: {outcome['status']}"


def test_each_sample_is_a_line_and_run_once(tmp_path, capsys):
    store = tmp_path / "new folder" / "store.sqlite"
    calls = [Call(echo, {"x": number}, 30.0) for number in range(3)]
    assert sampling.run_shown(calls[:2], store, 1, line)
    assert sampling.run_shown(calls, store, 1, line)
    assert capsys.readouterr().err.splitlines() == ["1/2 0: done", "2/2 1: done", "3/3 2: done"]
    assert [outcome and outcome["x"] for outcome in outcomes_of(calls, store)] == [0, 1, 2]


def test_an_interrupted_run_says_how_to_go_on(tmp_path, capsys):
    def interrupted(call, outcome):
        raise KeyboardInterrupt

    calls = [Call(echo, {"x": number}, 30.0) for number in range(3)]
    assert not sampling.run_shown(calls, tmp_path / "store.sqlite", 1, interrupted)
    assert capsys.readouterr().err == "interrupted; run again to go on\n"
    assert [outcome is None for outcome in outcomes_of(calls, tmp_path / "store.sqlite")] == [False, True, True]


def test_the_command_of_a_page_has_what_differs_from_the_defaults_and_no_places():
    parser = ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--node-limit", type=float, default=10.0)
    parser.add_argument("--slots", nargs="+", type=int, default=(250, 100))
    parser.add_argument("--peer-python")
    parser.add_argument("--store")
    arguments = ["--full", "--node-limit", "0.5", "--slots", "100", "50", "--peer-python", "/a/b", "--store", "/c"]
    options = parser.parse_args(arguments)
    expected = "python benchmarks/exact.py --full --node-limit 0.5 --slots 100 50 --peer-python PATH"
    assert sampling.command_of("exact", parser, options) == expected
    assert sampling.command_of("exact", parser, parser.parse_args([])) == "python benchmarks/exact.py"


def test_what_cannot_be_used_is_a_line(capsys):
    def main():
        raise CoallocError("a.sqlite: the store does not exist")

    with pytest.raises(SystemExit) as end:
        sampling.exit_with(main)
    assert end.value.code == 2
    assert capsys.readouterr().err == "a.sqlite: the store does not exist\n"


def test_a_hidden_module_looks_as_if_it_were_not_installed():
    assert find_spec("this") is not None
    with sampling.hidden("this"):
        assert find_spec("this") is None
        with pytest.raises(ImportError):
            import this  # noqa: F401
    assert find_spec("this") is not None


def test_what_is_loaded_cannot_be_hidden():
    with pytest.raises(RuntimeError, match="sys is loaded"), sampling.hidden("sys"):
        pass


def test_the_folder_of_a_page_is_made_before_anything_runs(tmp_path):
    parser = ArgumentParser()
    parser.add_argument("--output", type=sampling.new_page)
    options = parser.parse_args(["--output", str(tmp_path / "new" / "folder" / "page")])
    assert options.output.parent.is_dir()
    assert not options.output.exists()
