"""How values show themselves: a line on a terminal, tables and a chart in a notebook."""

import pickle
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, RunningJob, Schedule
from coalloc.documents.palette import RUNNING

NASTY = "</script><b>J&1"


def instance(**changes):
    """Return two clusters, one with multi-core nodes, a job that runs, and jobs of strange names."""
    clusters = [
        Cluster("C<1>", [NodeGroup(2, power=1.0, idle_watts=10.0, static_watts=20.0, core_watts=5.0)], 125.0),
        Cluster("C2", [NodeGroup(1, power=0.5, cores=4, idle_watts=10.0, static_watts=20.0, core_watts=5.0)], 125.0),
    ]
    jobs = [Job(NASTY, tasks=2, base_time=600.0), Job("J2", tasks=1, base_time=300.0)]
    running = [RunningJob(Job("<i>R", 1, 60.0), ["C2/0.3"], 60.0)]
    return Instance(Platform(clusters), jobs, running, name="<h1>").replace(**changes)


@pytest.fixture(scope="module")
def result():
    return coalloc.solve(instance())


@pytest.fixture(scope="module")
def run():
    return coalloc.simulate(instance(), "fcfs", scope="node")


def test_a_line_on_a_terminal(result, run):
    given = instance()
    assert repr(given) == "<Instance '<h1>': 2 jobs, 1 running on 2 clusters with 6 processors>"
    assert repr(given.platform) == "<Platform of 2 clusters with 6 processors>"
    # The job of two tasks takes 600 s on the two fast nodes; the other one takes 600 s on a slow one.
    assert repr(result.schedule) == "<Schedule of '<h1>': 2 placements from 0 s to 10 min>"
    assert repr(Schedule([Placement("J", 0.0, 120.0, ["a"])], slot=60.0)) == (
        "<Schedule of 'instance': 1 placement from 0 s to 120 s, slot 60 s>"
    )
    assert repr(Schedule([])) == "<Schedule of 'instance': no placements>"
    assert repr(result) == "<SolveResult: optimal, makespan 600 s, bound 600 s, gap 0.00 %>"
    assert repr(run).startswith("<SimulationResult: 2 jobs of '<h1>' under 'fcfs', makespan ")
    assert repr(coalloc.energy(given, run.schedule)).startswith("<Energy: ")
    assert {"\n" in repr(shown) for shown in (given, result, run)} == {False}


def test_a_result_without_a_schedule_shows_what_is_known():
    impossible = coalloc.solve(instance(), slot=60.0, makespan_limit=1.0)
    assert repr(impossible) == f"<SolveResult: infeasible, {impossible.message}>"
    assert "<svg" not in impossible._repr_html_()


def test_names_from_data_are_text_in_a_notebook(result, run):
    for shown in (
        instance(),
        instance().platform,
        result.schedule,
        result,
        run,
        coalloc.energy(instance(), run.schedule),
    ):
        made = shown._repr_html_()
        assert ElementTree.fromstring(f"<div>{made}</div>") is not None, "every bracket of the data is escaped"
        for tag in ("</script", "<b>J", "<h1>", "C<1>", "<i>R"):
            assert tag not in made
    assert "&lt;/script&gt;&lt;b&gt;J&amp;1" in result._repr_html_()


def test_an_instance_shows_its_clusters_and_its_jobs():
    made = instance()._repr_html_()
    assert made.count("<table>") == 3
    assert instance(running=[])._repr_html_().count("<table>") == 2
    many = Instance(instance().platform, [Job(f"J{i}", 1, 1.0) for i in range(1000)])
    assert "and 980 more" in many._repr_html_()


def test_a_schedule_has_a_row_for_each_processor_that_it_uses_and_a_result_for_all(result):
    def height(made):
        return float(ElementTree.fromstring(made[made.index("<svg") :]).get("height"))

    # Three of the six processors are used, two of C<1> and one of C2: three rows of 20 pixels more.
    assert height(result._repr_html_()) == height(result.schedule._repr_html_()) + 3 * 20.0
    assert RUNNING in result._repr_html_()
    assert RUNNING not in result.schedule._repr_html_()


def test_a_large_schedule_is_a_table():
    schedule = Schedule([Placement(f"J{i}", 0.0, 1.0, [f"C1/{i}"]) for i in range(1000)])
    made = schedule._repr_html_()
    assert "<svg" not in made
    assert "and 980 more" in made


def test_a_schedule_of_another_instance_still_shows_itself(result):
    foreign = Schedule([Placement("X", 0.0, 1.0, ["nowhere/3"])])
    assert "nowhere" in foreign.html(instance())
    with pytest.raises(coalloc.CoallocError, match="instance: must be an Instance or None, got 'x'"):
        foreign.html("x")


def test_a_result_knows_its_instance_and_is_the_same_without_it(result, tmp_path):
    assert result.instance == instance()
    coalloc.io.write_result(result, tmp_path / "r.json")
    read = coalloc.io.read_result(tmp_path / "r.json")
    assert read.instance is None
    assert read == result
    assert "<svg" in read._repr_html_()
    kept = pickle.loads(pickle.dumps(result))
    assert (kept, kept.instance) == (result, result.instance)


def test_showing_loads_no_library_for_pictures():
    program = (
        "import coalloc, sys\n"
        "instance = coalloc.example('thesis-oas-1')\n"
        "schedule = coalloc.Schedule([coalloc.Placement('J1', 0.0, 1.0, ['C1/0'])])\n"
        "assert '<svg' in schedule._repr_html_() and '<table' in instance._repr_html_()\n"
        "print([name for name in ('matplotlib', 'plotly', 'pandas', 'IPython') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
