"""``coalloc simulate --policy module:Class``: a policy of the user's own, its arguments, and one line per fault."""

import json
import sys

import pytest

from tests.cli.running import TINY, run, write

MINE = '''
from coalloc.extend import Start


class Widest:
    """Starts the job with most tasks among those that fit, one at a pass."""

    scope = "platform"

    def __init__(self, at_most: int, order: object = None) -> None:
        if at_most < 0:
            raise ValueError("at_most is a number of jobs")
        self.at_most = at_most

    def decide(self, state):
        fitting = [job for job in state.queue if job.tasks <= state.free[0] / self.at_most]
        for job in sorted(fitting, key=lambda job: -job.tasks)[:1]:
            yield Start(job.id, (job.tasks,))


class Nothing:
    """No policy."""


class Leaving(Widest):
    """Leaves Python where the second job waits."""

    def ended(self, state, running):
        raise SystemExit(0)


class Deaf(Widest):
    """Hears less than it is told."""

    def ended(self, state):
        pass


class Blind(Widest):
    """Sees nothing."""

    def decide(self):
        return []


class Nowhere(Widest):
    """Is in no scope that it could tell."""

    @property
    def scope(self):
        raise LookupError("no scope")
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder, the current one, with an instance and modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(tmp_path / "tiny.json", TINY)
    write(tmp_path / "mine.py", MINE)
    write(tmp_path / "broken.py", "import a_library_that_is_not_there\n")
    write(tmp_path / "wrong.py", "1 +\n")
    write(tmp_path / "other.py", "from mine import Widest\n")
    write(tmp_path / "leaving.py", "raise SystemExit(0)\n")
    yield tmp_path
    for name in ("mine", "broken", "wrong", "other", "leaving"):
        sys.modules.pop(name, None)


def test_a_class_of_the_current_folder_decides(here):
    # Two nodes. J1 takes both until 100; J2 starts then, and J3 at the next pass, when J2 is done.
    result = run("simulate", "tiny.json", "--policy", "mine:Widest", "-p", "at_most=1", "--json", "-o", "out.json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["policy"] == "mine:Widest"
    assert document["options"]["at_most"] == 1
    starts = {p["job"]: p["start"] for p in json.loads((here / "out.json").read_text())["placements"]}
    assert starts == {"J1": 0.0, "J2": 100.0, "J3": 200.0}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere:Widest"], "--policy: module 'nowhere' is neither in the current folder nor installed"),
        (["mine.inner:Widest"], "--policy: module 'mine.inner' is neither in the current folder nor installed"),
        ([":Widest"], "--policy: must be module:Class, got ':Widest'"),
        (["broken:X"], "--policy: module 'broken' cannot be imported: ModuleNotFoundError: No module named 'a_library"),
        (["wrong:X"], "--policy: module 'wrong' cannot be imported: SyntaxError: invalid syntax"),
        (["mine:Widst"], "--policy: module 'mine' has no class 'Widst' (did you mean 'Widest'?)"),
        (["mine:"], "--policy: must be module:Class, got 'mine:'"),
        (["mine:X"], "--policy: module 'mine' has no class 'X'; its policies: Widest, Leaving, Deaf, "),
        (["leaving:X"], "--policy: module 'leaving' cannot be imported: SystemExit: 0"),
        (["mine:Widest"], "mine:Widest(at_most, order=None): missing a required argument: 'at_most'"),
        (
            ["mine:Widest", "-p", "at_most=1", "-p", "ordr=x"],
            "mine:Widest(at_most, order=None): got an unexpected keyword argument 'ordr'",
        ),
        (["mine:Widest", "-p", "at_most=-1"], "mine:Widest raised ValueError: at_most is a number of jobs (mine.py, "),
        (
            ["mine:Widest", "-p", "at_most=0"],
            "mine:Widest raised ZeroDivisionError: division by zero (mine.py, line 16; time 0 s: 0 jobs ended, 0 ",
        ),
        (
            ["other:Widest", "-p", "at_most=0"],
            "other:Widest raised ZeroDivisionError: division by zero (mine.py, line 16; time 0 s: ",
        ),
        (
            ["mine:Leaving", "-p", "at_most=1"],
            "mine:Leaving raised SystemExit: 0 (mine.py, ",
        ),
        (["mine:Deaf", "-p", "at_most=1"], "mine:Deaf: ended(state) must accept the call ended(state, running)"),
        (["mine:Blind", "-p", "at_most=1"], "mine:Blind: decide() must accept the call decide(state)"),
        (["mine:Nowhere", "-p", "at_most=1"], "mine:Nowhere raised LookupError: no scope (mine.py, "),
        (["mine:Nothing"], "mine:Nothing is not a policy: it must have scope and decide(state), or"),
    ],
)
def test_a_fault_is_one_line(here, arguments, line):
    result = run("simulate", "tiny.json", "--policy", *arguments, "--quiet", "--jobs", "jobs.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"coalloc: {line}")
    assert len(result.stderr.splitlines()) == 1
    assert not (here / "jobs.csv").exists()


def test_variants_of_a_class_are_compared_and_their_faults_are_theirs(here):
    variants = ["--policy", "mine:Widest at_most=1", "--policy", "mine:Widest at_most=1 order=wide", "--policy", "easy"]
    compared = run("compare", "tiny.json", *variants, "--no-exact", "--json", "--quiet")
    rows = {row["policy"]: row["makespan"] for row in json.loads(compared.stdout)}
    # The widest first, and no other before the next event: J1 for 100 s, J2 for 100 s, and J3 for 50 s after it.
    assert rows["mine:Widest at_most=1"] == 250.0
    assert list(rows) == ["mine:Widest at_most=1", "mine:Widest at_most=1 order=wide", "easy"]


def test_a_fault_of_a_compared_policy_is_one_line(here):
    result = run("compare", "tiny.json", "--policy", "mine:Widest at_most=0", "--no-exact", "--quiet")
    assert result.exit_code == 2
    assert result.stderr.startswith("coalloc: mine:Widest raised ZeroDivisionError: division by zero (mine.py, line 16")
