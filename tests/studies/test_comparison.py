"""Comparisons with bounds: what each row says, and that no bound is ever beaten."""

import math
from dataclasses import replace

import pandas as pd
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.documents.errors import InternalError
from coalloc.studies import comparison
from coalloc.studies.comparison import (
    COLUMNS,
    EXACT,
    contestants_of,
    draw,
    paired_differences,
    performance_profile,
    summary,
    without_proven_gaps,
)
from coalloc.studies.interruption import Interrupted
from coalloc.testing.small import small_instance
from tests.extras import needs_pictures
from tests.simulator.listed import Listed


def tiny(name="tiny"):
    """Return two nodes; J1 takes both for 100 s, J2 and J3 share them for 100 s: the least makespan is 200 s."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)])
    jobs = [
        Job("J2", tasks=1, base_time=100.0),
        Job("J1", tasks=2, base_time=100.0),
        Job("J3", tasks=1, base_time=50.0),
    ]
    return Instance(platform, jobs, name=name)


def test_an_interrupt_leaves_what_is_complete(monkeypatch):
    def interrupted_for_b(instance, *arguments, **options):
        if instance.name == "b":
            raise KeyboardInterrupt
        return simulate(instance, *arguments, **options)

    simulate = comparison.simulate
    monkeypatch.setattr(comparison, "simulate", interrupted_for_b)
    with pytest.raises(Interrupted) as interrupt:
        coalloc.compare([tiny("a"), tiny("b")], ["fcfs", "easy"])
    table = interrupt.value.table
    assert list(zip(table["instance"], table["policy"], strict=True)) == [
        ("a", EXACT),
        ("a", "fcfs"),
        ("a", "easy"),
        ("b", EXACT),
    ]
    assert str(interrupt.value) == "interrupted with 4 of 6 rows; missing: b: fcfs, b: easy"


def test_a_comparison_without_a_time_limit():
    table = coalloc.compare(tiny(), ["fcfs"], time_limit=None)
    assert table["optimum"].tolist() == [200.0, 200.0]


def test_an_interrupted_solve_leaves_its_instance_beside_what_was_proven_by_then(monkeypatch):
    stopped = replace(coalloc.solve(tiny()), stopped_by="interrupt", status="feasible", lower_bound=4.0)
    monkeypatch.setattr(comparison, "solve", lambda *_, **__: stopped)
    monkeypatch.setattr(comparison, "lower_bound", lambda *_, **__: 3.0)
    with pytest.raises(Interrupted) as interrupt:
        coalloc.compare([tiny(), tiny("b")], ["fcfs", "sjf", "bjf", "lpt", "spt"])
    table = interrupt.value.table
    assert table["policy"].tolist() == ["oas (exact)", "fcfs", "sjf", "bjf", "lpt", "spt"]
    # FCFS lets links saturate, so that what holds for it was proven without them.
    assert table["lower_bound"].tolist() == [4.0, *[3.0] * 5]
    assert table["optimum"].isna().all()
    assert str(interrupt.value).endswith("missing: b: oas (exact), b: fcfs, b: sjf, b: bjf, b: lpt, and 1 more")
    with pytest.raises(Interrupted, match="interrupted with 2 of 2 rows; no row is missing; the interrupted solve is"):
        coalloc.compare(tiny(), ["fcfs"])


def saturated():
    """Return a job that must be spread: strict links forbid it, a policy runs it in 100 (0.5 + 0.5 * 2) = 150 s."""
    clusters = [Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=5.0) for name in ("C1", "C2")]
    job = Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0)
    return Instance(Platform(clusters), [job], name="saturated")


def close(*numbers):
    """Return numbers to compare with: a bound may be a millionth below what it is worth."""
    return pytest.approx(numbers, rel=1e-6, abs=1e-6)


def rows(table):
    """Return makespan, bound, gap and ratio by policy."""
    return {row.policy: (row.makespan, row.lower_bound, row.gap, row.ratio) for row in table.itertuples()}


def test_each_row_says_how_far_it_is_from_what_is_proven():
    # FCFS: J2 at 0, J1 at 100, J3 at 200, so 250 s; skipping, J3 runs beside J2: 200 s.
    table = coalloc.compare(tiny(), ["fcfs", "fpfs"], certify=True)
    assert list(table.columns) == list(COLUMNS)
    assert table["certified"].tolist() == [True, True, True]
    with pytest.raises(CoallocError, match=r"^certify requires exact"):
        coalloc.compare(tiny(), ["fcfs"], exact=False, certify=True)
    assert rows(table) == {
        EXACT: close(200.0, 200.0, 0.0, 1.0),
        "fcfs": close(250.0, 200.0, 0.2, 1.25),
        "fpfs": close(200.0, 200.0, 0.0, 1.0),
    }
    assert set(table["bound_source"]) <= {"oas", "oas without links", "bounds without links"}
    assert (table["decision_time_max"] > 0).all()


def test_a_policy_that_may_saturate_links_is_held_against_the_bound_without_links():
    # Strict links leave no schedule at all; without traffic the job takes 100 s, with it 150 s.
    table = coalloc.compare(saturated(), ["fcfs"])
    found = rows(table)["fcfs"]
    assert found == close(150.0, 100.0, 1 / 3, 1.5)
    assert math.isnan(rows(table)[EXACT][0])


def test_a_policy_that_keeps_links_is_held_against_the_bound_with_them():
    # Two nodes in two clusters, links that carry one spread job: the two spread jobs run one after the other, 200 s.
    clusters = [Cluster(name, [NodeGroup(2, power=1.0)], link_bandwidth=10.0) for name in ("C1", "C2")]
    job = Job("J1", tasks=3, base_time=100.0, processing_share=0.5, task_bandwidth=7.5)
    instance = Instance(Platform(clusters), [job], name="spread")

    class Strict(Listed):
        links = "strict"

    table = coalloc.compare(instance, [Strict({"J1": (2, 1)})])
    assert rows(table)["Strict"][:2] == close(100.0, 100.0)
    assert table.set_index("policy").loc["Strict", "bound_source"] == "oas"


def test_killed_jobs_leave_no_bound():
    instance = tiny().replace(jobs=[job.replace(estimate=job.base_time / 2) for job in tiny().jobs])
    table = coalloc.compare(instance, ["fcfs"], kill=True).set_index("policy")
    assert table.loc["fcfs", "bound_source"] == "none: jobs were killed"
    assert math.isnan(table.loc["fcfs", "lower_bound"])
    assert math.isnan(table.loc["fcfs", "gap"])


def test_a_bound_above_what_a_policy_reached_is_a_fault_of_ours(monkeypatch):
    monkeypatch.setattr(comparison, "lower_bound", lambda *_, **__: 260.0)
    with pytest.raises(InternalError, match=r"bound 260 .* exceeds the makespan 250 of policy 'fcfs'"):
        coalloc.compare(tiny(), ["fcfs"])


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(0, 30, 5))
def test_no_policy_beats_a_bound(seed):
    instance, _ = small_instance(seed)
    quick = [name for name in coalloc.policies() if name not in ("pas", "oas", "pcbe", "node-list", "grid")]
    table = coalloc.compare(instance, quick, time_limit=1.0)
    assert (table["gap"].dropna() >= -1e-9).all()
    assert len(table) == len(quick) + 1


def test_without_exact_solves_only_bounds_are_computed(monkeypatch):
    monkeypatch.setattr(comparison, "solve", None)
    table = coalloc.compare(tiny(), ["fcfs"], exact=False)
    assert rows(table)["fcfs"][:3] == close(250.0, 200.0, 0.2)
    assert table["bound_source"].tolist() == ["bounds without links"]


@needs_pictures
def test_waits_are_held_against_their_bound():
    # EASY runs J2 and J3 at once and J1 after 100 s: 100/3 s on average. FCFS runs them in turn: 0, 100 and 200 s.
    table = coalloc.compare(tiny(), ["fcfs", "easy"], objective="mean-wait", time_limit=0.5)
    assert table["objective"].unique().tolist() == ["mean-wait"]
    assert table["policy"].tolist() == [EXACT, "fcfs", "easy"]
    assert table["wait_mean"].tolist() == pytest.approx([100 / 3, 100.0, 100 / 3])
    assert table["makespan"].tolist() == pytest.approx([200.0, 250.0, 200.0])
    bounds = table["lower_bound"].to_numpy()
    assert (bounds <= 100 / 3).all()
    assert table["gap"].tolist() == pytest.approx(((table["wait_mean"] - bounds) / table["wait_mean"]).tolist())
    assert paired_differences(table, "easy").set_index("policy").loc["fcfs", "mean"] == pytest.approx(2.0)
    assert draw(table, "easy").axes[2].get_xlabel() == "factor of the best mean wait on the instance"


def test_an_objective_without_a_bound_is_refused():
    busy = tiny().replace(jobs=[Job("J1", tasks=2, base_time=9.0, task_bandwidth=1.0, processing_share=0.5)])
    with pytest.raises(CoallocError, match="has communication, with which the bounded slowdown has no bound"):
        coalloc.compare(busy, ["fcfs"], objective="mean-bounded-slowdown")
    shared = tiny().replace(platform=Platform([Cluster("C1", [NodeGroup(2, 1.0, multiprogramming=2)], 1.0)]))
    with pytest.raises(CoallocError, match="has time-shared nodes, for which only objective 'makespan' has a bound"):
        coalloc.compare(shared, ["loras"], objective="mean-wait", exact=False)


def test_no_wait_is_not_compared_with():
    # b waits twice as long as a where a waits at all.
    waits = TABLE.assign(objective="mean-wait", wait_mean=[0.0, 5.0, 4.0, 8.0])
    found = paired_differences(waits, "a").iloc[0]
    assert (found["mean"], found["instances"]) == (1.0, 1)


def test_labels_name_policies_with_their_options():
    table = coalloc.compare(tiny(), {"a": {"policy": "fcfs", "skip": True}, "fcfs": {}})
    assert [row[0] for row in list(rows(table).values())[1:]] == [200.0, 250.0]


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (["eazy"], "unknown policy 'eazy'"),
        ({"a": {"policy": "fcfs", "skp": 1}}, "policy 'fcfs' has no option skp"),
        (["fcfs", "fcfs"], "distinct labels, got fcfs more than once"),
        ([3], "policy must be a name or have scope and decide"),
        ([], "at least one instance and one policy"),
    ],
)
def test_wrong_policies_are_refused_before_anything_runs(monkeypatch, policies, message):
    monkeypatch.setattr(comparison, "solve", None)
    with pytest.raises(CoallocError, match=message):
        coalloc.compare(tiny(), policies)


TABLE = pd.DataFrame(
    [
        ["i1", "a", 100.0, 0.1, 1.0],
        ["i1", "b", 110.0, 0.2, math.nan],
        ["i2", "a", 300.0, 0.3, 1.5],
        ["i2", "b", 200.0, 0.0, 1.0],
    ],
    columns=["instance", "policy", "makespan", "gap", "ratio"],
).assign(objective="makespan", wait_mean=1.0, coallocated_share=0.5, decision_time_mean=0.01)


def test_the_profile_counts_instances_within_a_factor_of_the_best():
    # Factors of the best: a 1 and 1.5, b 1.1 and 1.
    profile = performance_profile(TABLE, [1.0, 1.2, 1.5])
    assert profile.to_dict("list") == {"a": [0.5, 0.5, 1.0], "b": [0.5, 1.0, 1.0]}


def test_differences_are_paired_by_instance():
    # b against a: +10 % and -1/3.
    found = paired_differences(TABLE, "a").iloc[0]
    assert found["policy"] == "b"
    assert found["mean"] == pytest.approx((0.1 - 1 / 3) / 2)
    assert math.isnan(found["low"])
    copies = pd.concat([TABLE.assign(instance=TABLE["instance"] + str(copy)) for copy in range(3)])
    found = paired_differences(copies, "a").iloc[0]
    assert found["mean"] == pytest.approx((0.1 - 1 / 3) / 2)
    assert found["low"] <= found["mean"] <= found["high"]
    with pytest.raises(CoallocError, match="has no policy 'c'; its policies: a, b"):
        paired_differences(TABLE, "c")


def test_the_summary_has_a_row_per_policy():
    found = summary(TABLE).set_index("policy")
    assert found.loc["a", ["gap_mean", "gap_max", "proven", "ratio_mean"]].tolist() == [0.2, 0.3, 2, 1.25]
    assert found.loc["b", ["instances", "proven", "ratio_mean"]].tolist() == [2, 1, 1.0]


def test_a_makespan_of_nothing_is_the_best():
    nothing = TABLE.assign(makespan=0.0)
    assert performance_profile(nothing, [1.0, 2.0]).to_numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_what_is_optimal_within_its_tolerance_is_the_best():
    # The exact row may be a millionth above the optimum that a policy meets.
    nearly = TABLE.assign(makespan=[100.00001 if name == "a" else 100.0 for name in TABLE["policy"]])
    assert performance_profile(nearly, [1.0]).to_numpy().tolist() == [[1.0, 1.0]]


@needs_pictures
def test_the_picture_names_every_policy(tmp_path):
    draw(TABLE, path=tmp_path / "c.svg")
    text = (tmp_path / "c.svg").read_text()
    assert text.startswith("<?xml")
    figure = draw(TABLE, baseline="b")
    gaps, differences, profile = figure.axes
    assert [label.get_text() for label in gaps.get_yticklabels()] == ["a", "b"]
    assert [line.get_label() for line in profile.get_lines()] == ["a", "b"]
    assert "that of\nb" in differences.get_xlabel()
    with pytest.raises(CoallocError, match="must be one of"):
        draw(TABLE, path=tmp_path / "c.html")


@needs_pictures
def test_gaps_of_nothing_are_not_spread_over_the_width():
    proven = TABLE.assign(gap=[1e-8 * row for row in range(len(TABLE))])
    low, high = draw(proven, baseline="b").axes[0].get_xlim()
    assert low < 0.0
    assert high >= 0.1


def test_two_objects_of_one_class_have_labels_beside_names_and_options():
    policies = {"a": Listed([]), "b": "fcfs", "c": {"policy": "fcfs", "allocation": "first-fit"}, "d": Listed([])}
    assert [contestant.label for contestant in contestants_of(policies)] == ["a", "b", "c", "d"]
    assert contestants_of(policies)[3].make() is policies["d"]
    with pytest.raises(CoallocError, match=r"got Listed more than once; use a mapping \{label: policy\}"):
        contestants_of([policies["a"], policies["d"]])


def test_an_audit_takes_no_objects_for_they_run_elsewhere():
    with pytest.raises(CoallocError, match=r"policies\['mine'\]: must be a mapping"):
        coalloc.audit(tiny(), policies={"mine": Listed([])})


def test_what_a_proof_leaves_below_an_optimum_is_not_shown_as_a_gap():
    # 1e-7 of it is within the tolerance of a proof; the second policy is 1 % worse, and its gap stays.
    table = pd.DataFrame(
        {
            "objective": ["makespan"] * 3,
            "makespan": [100.0, 101.0, 50.0],
            "optimum": [100.0, 100.0, math.nan],
            "gap": [1e-7, 0.01, 1e-7],
        }
    )
    assert without_proven_gaps(table)["gap"].tolist() == [0.0, 0.01, 1e-7]
