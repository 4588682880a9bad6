"""What the benchmarks share: hidden modules, processes and their children, order statistics, the store."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from runner import Store, descendants, geometric_mean, hidden, peak_memory, percentile


def test_a_hidden_module_looks_as_if_it_were_not_installed():
    assert find_spec("this") is not None
    with hidden("this"):
        assert find_spec("this") is None
        with pytest.raises(ImportError):
            import this  # noqa: F401
    assert find_spec("this") is not None


def test_what_is_loaded_cannot_be_hidden():
    with pytest.raises(RuntimeError, match="sys is loaded"), hidden("sys"):
        pass


def test_the_children_of_a_process_are_found_and_theirs():
    # The shell stays, for it has something to do after its child.
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess; subprocess.run(['sh', '-c', 'echo ready; read x; echo'], text=True)",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in descendants(os.getpid())
        assert len(descendants(child.pid)) == 1
        child.communicate("\n")


def test_memory_is_in_megabytes():
    # Python and the libraries loaded here hold more than 10 MB, and less than 100 GB.
    assert 10.0 < peak_memory() < 1e5


@pytest.mark.parametrize(("share", "number"), [(0.5, 10), (0.95, 19), (1.0, 20), (0.0, 1)])
def test_a_percentile_is_the_smallest_that_so_many_do_not_exceed(share, number):
    # Of 1 to 20, 95 % are 19 numbers.
    assert percentile(range(20, 0, -1), share) == number


def test_of_nothing_there_is_no_percentile_and_no_mean():
    assert percentile([], 0.5) is None
    assert geometric_mean([]) is None
    assert geometric_mean([1.0, 100.0]) == pytest.approx(10.0)
    assert geometric_mean([0.0, 3.0], shift=1.0) == pytest.approx(1.0)  # sqrt(1 * 4) - 1


def test_a_store_keeps_the_last_row_of_a_key(tmp_path):
    Store(tmp_path / "a.sqlite").add("key", {"time": 1.0})
    Store(tmp_path / "a.sqlite").add("key", {"time": 2.0})
    store = Store(tmp_path / "a.sqlite")
    assert store.get("key") == {"time": 2.0}
    assert store.get("other") is None
