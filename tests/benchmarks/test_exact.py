"""The benchmark of exactness: what it plans, how PyJobShop gets a problem, and how its answer is judged."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import exact
import exact_plan
import pytest
from exact_pictures import Panel, draw_progress, draw_solved, hardest, moves, share_over_time, within_gap_after

from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import discretise, slot_seconds
from coalloc.solvers.backends import cpsat
from coalloc.testing.brute_force import brute_force_oas


def two_clusters() -> Instance:
    """Return two jobs of two tasks on two fast nodes and one slow: spread over both, a job takes twice as long.

    Each task asks 10 MB/s. Spread, one task is on each side of a link: 1 * 10 * (2 - 1)/(2 - 1) = 10 of its
    10 MB/s. Two jobs that are spread do not fit, so both links are contended.
    """
    clusters = (
        Cluster("C1", (NodeGroup(2, 1.0),), link_bandwidth=10.0),
        Cluster("C2", (NodeGroup(1, 0.5),), link_bandwidth=10.0),
    )
    jobs = tuple(Job(f"J{number}", 2, 10.0, processing_share=1.0, task_bandwidth=10.0) for number in (1, 2))
    return Instance(Platform(clusters), jobs)


def test_how_many_samples_of_each_method_a_row_has_with_the_usual_number_of_seeds_and_with_more():
    def sizes(num_seeds):
        return {
            work.name: len(list(exact_plan.samples_of(work, num_seeds, 2))) // len(work.methods)
            for work in exact_plan.WORKS
        }

    # Seeds x grids: 20 x 10 and 20 of 8 to 20 jobs, 10 of families and 50 jobs, 10 x 2, 3; then sums; then peers.
    usual = {"slots": 20 * 9, "continuous": 20, "jobs-12": 20, "jobs-20": 20}
    usual |= dict.fromkeys(("powers", "tiny", "tree", "links", "links-20", "arrivals", "arrivals-20", "jobs-50"), 10)
    usual |= {"jobs-200": 10 * 2, "jobs-1000": 3, "sums-8": 10 * 10, "sums-12": 20}
    usual |= dict.fromkeys(("sums-cpsat-8", "sums-cpsat-12", "sums-cpsat-20", "sums-cpsat-30"), 5 * 2)
    usual |= {"pyjobshop": 10 * 4, "node": 10 * 2, "node-6": 10 * 2}
    assert sizes(exact_plan.USUAL_SEEDS) == usual
    assert sizes(100) == usual | {"slots": 100 * 9, "continuous": 100}


def test_a_row_is_asked_for_by_its_name_and_the_number_of_its_seeds():
    assert [exact.row_asked(text) for text in ("slots", "slots=3")] == ["slots", "slots=3"]
    for wrong in ("slot", "slots=", "slots=few", "=3"):
        with pytest.raises(exact.argparse.ArgumentTypeError, match="is no row; the rows: slots, "):
            exact.row_asked(wrong)


def test_the_methods_take_turns_on_the_same_instance():
    samples = list(exact_plan.samples_of(exact_plan.WORK_BY_NAME["pyjobshop"], 2, 2))
    assert [sample.method for sample in samples[:2]] == ["portfolio", "PyJobShop"]
    assert samples[0].instance == samples[1].instance
    assert len({(sample.seed, sample.slot) for sample in samples}) == len(samples) / 2


@pytest.mark.parametrize("work", exact_plan.WORKS, ids=lambda work: work.name)
def test_every_work_has_the_size_that_its_title_says(work):
    instance = work.instance(work.seeds[0])
    jobs, _, nodes, *_ = work.title.split()
    assert (len(instance.jobs), instance.platform.num_processors) == (int(jobs), int(nodes))
    assert ({job.arrival for job in instance.jobs} == {0.0}) == ("arrivals" not in work.title)
    assert (work.criterion == "makespan") == ("sum of response times" not in work.title)


def test_a_mode_per_allocation_vector_with_nodes_and_links_as_resources():
    problem = discretise(two_clusters(), 5.0)
    document = exact.document_of(problem)
    assert document["capacities"] == [2, 1, exact.LINK_UNITS, exact.LINK_UNITS]
    # Both tasks fast: 10 s, 2 slots, no load. One of them slow: 20 s, 4 slots, both links full but for the
    # tolerance of a saturated link.
    full = pytest.approx(exact.LINK_UNITS, rel=1e-8)
    modes = [{"duration": 4, "demands": [1, 1, full, full]}, {"duration": 2, "demands": [2, 0, 0, 0]}]
    assert document["modes"] == [modes, modes]


def test_the_objective_of_the_peer_is_recomputed_from_its_schedule():
    problem = discretise(two_clusters(), 5.0)
    # Both on the fast nodes (mode 1), one after the other: 4 slots of 5 s.
    assert exact.makespan_of(problem, [(1, 0), (1, 2)]) == (20.0, "")
    answer = {"chosen": [(1, 0), (1, 2)], "lower_bound": 3.2, "time": 1.0, "memory": 1.0, "peer": "PyJobShop"}
    row = exact.row_of_peer(problem, answer)
    assert (row["status"], row["objective"], row["lower_bound"]) == ("optimal", 20.0, 20.0)
    assert exact.row_of_peer(problem, answer | {"lower_bound": 3.0})["status"] == "feasible"


@pytest.mark.parametrize(
    "method",
    [
        "portfolio",
        pytest.param(
            "CP-SAT, count model",
            marks=[
                pytest.mark.extras,
                pytest.mark.skipif(not cpsat.is_installed(), reason="the extra cpsat is not installed"),
            ],
        ),
    ],
)
def test_a_sum_of_response_times_is_solved_by_both_methods_of_its_row(monkeypatch, method):
    work = replace(exact_plan.WORK_BY_NAME["sums-cpsat-8"], parameters={"jobs": 3})
    monkeypatch.setitem(exact_plan.WORK_BY_NAME, work.name, work)
    sample = exact_plan.Sample(work.name, 1001, 100, method, 20.0, 1, work.criterion)
    row = exact.solve(asdict(sample) | {"peer_python": ""})
    slot = slot_seconds(sample.instance, sample.slot_option)
    optimum = brute_force_oas(sample.instance, slot, objective="total-response-time").objective
    assert (row["status"], row["stopped_by"]) == ("optimal", "proof")
    assert row["objective"] == row["lower_bound"] == pytest.approx(optimum, rel=1e-6)


def test_an_invalid_schedule_of_the_peer_does_not_count():
    problem = discretise(two_clusters(), 5.0)
    objective, why = exact.makespan_of(problem, [(0, 0), (1, 0)])  # three fast nodes at once
    assert objective is None
    assert why.startswith("an invalid schedule")
    assert exact.makespan_of(problem, []) == (None, "no schedule")


def sample_row(**known):
    trace = [(0.01, 110.0, None, "list schedule"), (0.02, 110.0, 90.0, "feasible-set LP"), (0.5, 100.0, 90.0, "CP-SAT")]
    usual = {"work": "slots", "seed": 1, "slot": 5, "method": "portfolio", "limit": 60.0, "trace": trace}
    return usual | {"status": "optimal", "time": 0.6, "objective": 100.0, "lower_bound": 100.0} | known


def test_the_hardest_sample_of_a_work_has_the_largest_gap_then_the_longest_time():
    easy, long, wide = sample_row(), sample_row(time=50.0), sample_row(status="feasible", lower_bound=90.0)
    assert hardest([easy, long]) == [long]
    assert hardest([long, wide, sample_row(work="node")]) == [wide, sample_row(work="node")]


def test_the_points_at_which_a_line_moves():
    trace = sample_row()["trace"]
    assert list(moves(trace, 1)) == [(0.01, 110.0, "list schedule"), (0.5, 100.0, "CP-SAT")]
    assert list(moves(trace, 2)) == [(0.02, 90.0, "feasible-set LP")]


def test_the_share_done_counts_all_that_ran():
    assert share_over_time([2.0, 1.0, math.inf, math.inf]) == ([1.0, 2.0], [0.25, 0.5])


def test_a_gap_is_reached_when_the_trace_says_so_or_with_the_proof():
    # 90 against 110 is a gap of 18.2 %, against 100 of 10 %.
    assert within_gap_after(sample_row(), 0.2) == 0.02
    assert within_gap_after(sample_row(), 0.1) == 0.5
    assert within_gap_after(sample_row(), 0.01) == 0.6
    assert within_gap_after(sample_row(status="feasible"), 0.01) == math.inf


def test_pictures_are_drawn_also_of_what_failed(tmp_path):
    killed = {"work": "slots", "seed": 2, "slot": 5, "method": "node model", "limit": 60.0, "status": "timeout"}
    rows = [sample_row(), sample_row(work="node", lower_bound=90.0, status="feasible"), killed]
    panels = [Panel(work.name, work.title, 0.01) for work in exact_plan.WORKS]
    for draw in (draw_progress, draw_solved):
        path = draw(rows, panels, tmp_path / f"{draw.__name__}.png")
        assert path.read_bytes().startswith(b"\x89PNG")
    assert draw_progress([killed], panels, tmp_path / "none.png").exists()
