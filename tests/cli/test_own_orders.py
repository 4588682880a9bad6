"""``-p queue_order=module:Class``: a queue order of the user's own, its arguments, and one line per fault."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.running import TINY, run, write

MINE = '''
class Widest:
    """The job with most tasks first, or with fewest."""

    changes_every = float("inf")

    def __init__(self, is_last=False):
        self.sign = 1 if is_last else -1

    def key(self, state):
        return lambda job: self.sign * job.tasks


class Failing(Widest):
    """Asks jobs for what they do not have."""

    def key(self, state):
        return lambda job: job.nothing


class Unordered(Widest):
    """Keys that are no numbers."""

    def key(self, state):
        return lambda job: float("nan")


class Nothing:
    """No order."""
'''


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Return an instance in the current folder, which has a module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(tmp_path / "mine.py", MINE)
    yield write(tmp_path / "tiny.json", TINY)
    sys.modules.pop("mine", None)


def simulated(tiny, order):
    """Return the document of a run under an order."""
    done = run("simulate", tiny, "-q", "--json", "-p", f"queue_order={order}", "-o", "run.json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout), json.loads(Path("run.json").read_text())["placements"]


@pytest.mark.parametrize(
    ("order", "same"),
    [("mine:Widest", "bjf"), ('{"order": "mine:Widest", "is_last": true}', "sjf"), ('{"order": "multifactor"}', None)],
)
def test_an_order_is_named_by_its_class_alone_or_with_options(tiny, order, same):
    document, placements = simulated(tiny, order)
    assert document["options"]["queue_order"] == (json.loads(order) if order[0] == "{" else order)
    if same:
        assert placements == simulated(tiny, same)[1]


@pytest.mark.parametrize(
    ("order", "line"),
    [
        ("mine:Nothing", "mine:Nothing is not a queue order: it must have key(state) and changes_every"),
        ("mine:Wides", "queue order: module 'mine' has no class 'Wides' (did you mean 'Widest'?)"),
        ("mine:Other", "queue order: module 'mine' has no class 'Other'; its queue orders: Widest, Failing, Unordered"),
        (
            '{"order": "mine:Widest"',
            "invalid value for --parameter: queue_order begins as JSON and is none: Expecting ',' delimiter: line 1 "
            "column 24 (char 23); see `coalloc simulate --help`",
        ),
        ("mine:Unordered", "the keys of an order must be comparable with each other, got nan"),
        ("none:Other", "queue order: module 'none' is neither in the current folder nor installed"),
        (
            '{"order": "mine:Widest", "most": 1}',
            "mine:Widest(is_last=False): got an unexpected keyword argument 'most'",
        ),
        (
            "mine:Failing",
            "mine:Failing raised AttributeError: 'Job' object has no attribute 'nothing' (mine.py, line 18; time 0 s: "
            "0 jobs ended, 0 running, 3 waiting, 0 not yet arrived)",
        ),
    ],
)
def test_a_fault_is_one_line(tiny, order, line):
    done = run("simulate", tiny, "-q", "-p", f"queue_order={order}")
    assert (done.exit_code, done.stderr.splitlines()) == (2, [f"coalloc: {line}"])


def test_policies_are_compared_with_an_order(tiny):
    policy = "easy queue_order=mine:Widest"
    done = run("compare", tiny, "-q", "--time-limit", "1", "--policy", policy, "-o", "table.csv")
    assert done.exit_code == 0, done.stderr
    assert policy in Path("table.csv").read_text()
