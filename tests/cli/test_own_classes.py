"""``coalloc solve --objective module:Class --constraint module:Class``: their options, and one line per fault."""

import json
import sys

import pytest

from tests.cli.running import TINY, run, write

MINE = '''
from coalloc.extend import Constraint, NotTogether, RegularObjective


class Late(RegularObjective):
    """Number of jobs that end after a time."""

    name, unit, is_monotone = "late", "jobs", True

    def __init__(self, after):
        self.after = after

    def cost(self, job, start, end):
        return float(end > self.after)


class Apart(Constraint):
    """Two jobs are never run together."""

    def __init__(self, one, other):
        self.jobs = one, other

    def declare(self, instance):
        yield NotTogether(self.jobs)


class Neither:
    """No objective, no constraint."""
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return an instance file in the current folder, which has a module of the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine_to_solve", raising=False)
    (tmp_path / "mine_to_solve.py").write_text(MINE)
    return write(tmp_path / "tiny.json", TINY)


def solved(*options):
    result = run("solve", *options, "--slot", "50", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_objective_counts_and_takes_options(mine):
    # Two nodes: J1 takes both for 100 s, J2 one for 100 s, J3 one for 50 s. By 100 s J2 and J3 end, or J1.
    assert solved(mine, "--objective", "mine_to_solve:Late after=100")["objective"] == 1.0
    assert solved(mine, "--objective", "mine_to_solve:Late after=200")["objective"] == 0.0
    found = solved(mine, "--objective", "makespan,mine_to_solve:Late after=50")
    assert found["levels"] == {"makespan": 200.0, "late": 2.0}


def test_a_constraint_holds_and_takes_options(mine):
    # J2 and J3 side by side end by 200 s with J1; apart, all jobs take their turns: 250 s.
    assert solved(mine)["objective"] == 200.0
    assert solved(mine, "--constraint", "mine_to_solve:Apart one=J2 other=J3")["objective"] == 250.0


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--objective", "mine_to_solve:Neither", "is not an objective"),
        ("--objective", "mine_to_solve:Late after=1 before=1", "before"),
        ("--objective", "mine_to_solve:Lat after=1", "Late"),
        ("--objective", "no_such_module:Late", "no_such_module"),
        ("--constraint", "mine_to_solve:Neither", "is not a constraint"),
        ("--constraint", "mine_to_solve:Apart one=J2", "other"),
        ("--constraint", "Apart", "must be module:Class"),
    ],
)
def test_what_is_wrong_is_one_line(mine, option, text, message):
    result = run("solve", mine, option, text)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
