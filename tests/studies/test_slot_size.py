"""Slot studies: makespans and bands by hand, laws that hold for all slots, and what the table is read as."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.documents.errors import InternalError
from coalloc.solvers.slotting_bound import RoundedDown
from coalloc.studies import slot_size
from coalloc.studies.interruption import Interrupted
from coalloc.studies.slot_report import best_bounds, coarsest, curves, draw, losses, recommendation, summary
from coalloc.studies.slot_size import COLUMNS
from coalloc.testing.brute_force import brute_force_oas
from tests.extras import needs_pictures
from tests.small_instances import TINY, slotted_instances


def one_node(name="one-node", *, base_times=(30.0, 50.0)):
    """Return jobs that run one after the other; by default for 30 and 50 s, 40 s on average."""
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=1.0)])
    return Instance(platform, [Job(f"J{n}", 1, time) for n, time in enumerate(base_times)], name=name)


def infeasible():
    """Return a job of two tasks on two clusters of one node, whose links carry a tenth of its traffic."""
    clusters = [Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=1.0) for name in ("C1", "C2")]
    job = Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0)
    return Instance(Platform(clusters), [job], name="infeasible")


def row_of(table, fraction):
    return table[table["fraction"] == fraction].iloc[0]


def test_makespans_and_the_band_of_each_slot():
    # Slots of 20 s: 2 + 3 slots are 100 s, 1 + 2 rounded down 60 s; one of the jobs starts at 40 or 60 s and
    # really ends at 90 s, moved left at 80 s. Slots of 40 s: 1 + 2 are 120 s, 0 + 1 rounded down 40 s.
    table = coalloc.slot_study(one_node(), [0.5, 1.0])
    assert list(table.columns) == list(COLUMNS)
    half, whole = row_of(table, 0.5), row_of(table, 1.0)
    assert (half["slot"], whole["slot"]) == (20.0, 40.0)
    assert (half["slotted"], half["lower_bound"], half["gap"], half["compacted"]) == (100.0, 100.0, 0.0, 80.0)
    assert half["replayed"] == 90.0
    assert (whole["slotted"], whole["compacted"]) == (120.0, 80.0)
    assert whole["replayed"] in (90.0, 110.0)  # whichever job comes first
    assert half[["rounded_down_bound", "is_rounded_down_proven"]].tolist() == [60.0, True]
    assert whole[["rounded_down_bound", "is_rounded_down_proven"]].tolist() == [40.0, True]
    assert table["optimum"].tolist() == pytest.approx([80.0, 80.0])
    assert table["band_low"].tolist() == pytest.approx([80.0, 80.0])
    assert table["band_high"].tolist() == [100.0, 120.0]
    assert table["is_proven"].all()


@pytest.mark.parametrize("limit", [None, math.inf])
def test_a_study_without_a_time_limit(limit):
    # As above: slots of 40 s.
    table = coalloc.slot_study(one_node(), [1.0], time_limit=limit)
    assert table["slotted"].tolist() == [120.0]
    assert coalloc.slot_study(one_node(), [1.0], continuous=False, time_limit=limit)["lower_bound"].tolist() == [120.0]


def test_the_documentation_defines_every_column():
    assert [name for name in COLUMNS if f"``{name}``" not in str(coalloc.slot_study.__doc__)] == []


def test_metrics_are_those_of_the_replayed_schedule():
    # 30 and 50 s of work in 90 s; the first job does not wait, the second starts at 40 or 60 s.
    row = row_of(coalloc.slot_study(one_node(), [0.5]), 0.5)
    assert row["utilization"] == pytest.approx(80.0 / 90.0)
    assert row["execution_mean"] == pytest.approx(40.0)
    assert row["wait_mean"] in (20.0, 30.0)
    assert row["response_mean"] == row["wait_mean"] + 40.0
    assert row["execution_slowdown"] == pytest.approx(0.0)


def test_a_job_of_no_whole_slot_leaves_the_bound_in_continuous_time():
    # Slots of 80 s: rounded down nothing is left; the band begins at the 80 s that the work takes.
    row = row_of(coalloc.slot_study(one_node(), [2.0], continuous=False), 2.0)
    assert (row["rounded_down_bound"], row["is_rounded_down_proven"]) == (0.0, True)
    assert row["band_low"] == pytest.approx(80.0)
    assert math.isnan(row["optimum"])
    assert math.isnan(row["continuous"])


def test_the_size_of_a_formulation_that_ran_is_told():
    auto = row_of(coalloc.slot_study(one_node(), [0.5]), 0.5)
    count = row_of(coalloc.slot_study(one_node(), [0.5], formulation="count"), 0.5)
    assert (auto["num_slots"], count["num_slots"]) == (5, 5)
    assert math.isnan(auto["nonzeros"])  # the bound closes the gap, so no model is built
    assert count["nonzeros"] > 0
    assert count["estimated_nonzeros"] > 0
    # In Unix time the time line begins with the first arrival as well.
    late = one_node().replace(jobs=[job.replace(arrival=1.7e9) for job in one_node().jobs])
    assert row_of(coalloc.slot_study(late, [0.5]), 0.5)["num_slots"] == 5


@given(slotted_instances(TINY))
@settings(max_examples=10, deadline=None)
def test_the_band_holds_the_optimum_in_all_slots(given_pair):
    instance, slot = given_pair
    optimum = brute_force_oas(instance, None).objective
    fractions = [slot / instance.mean_base_time, 2.0 * slot / instance.mean_base_time]
    table = coalloc.slot_study(instance, fractions, continuous=False)
    for row in table.itertuples():
        down = brute_force_oas(instance, row.slot, rounding="down").objective
        up = brute_force_oas(instance, row.slot).objective
        close = {"rel": 1e-6, "abs": 1e-6}
        assert (row.rounded_down_bound, row.slotted) == (
            pytest.approx(max(0.0, down), **close),
            pytest.approx(up, **close),
        )
        assert row.band_low <= optimum * (1.0 + 1e-6) + 1e-6
        assert optimum <= row.compacted * (1.0 + 1e-9) + 1e-9


@needs_pictures
def test_an_instance_without_a_schedule_stays_in_the_table():
    table = coalloc.slot_study([infeasible(), one_node()], [0.5])
    assert table["status"].tolist() == ["infeasible", "optimal"]
    assert table["slotted"].isna().tolist() == [True, False]
    assert "Instances omitted because no schedule was found: 1 of 2." in recommendation(table)
    assert draw(table).axes[0].get_ylabel() == "multiple of the best certified bound"
    with pytest.raises(CoallocError, match="no instance has a schedule"):
        recommendation(table[:1])


@needs_pictures
def test_no_jobs_take_no_time():
    table = coalloc.slot_study(one_node(base_times=()), [0.5, 1.0])
    assert table[["slotted", "compacted", "band_low", "band_high"]].to_numpy().tolist() == [[0.0] * 4] * 2
    assert "best slot length by 0.00 %.\nCertified: at most 0.00 %" in recommendation(table)
    assert draw(table).axes[1].get_yscale() == "log"
    assert draw(table).axes[2].get_yscale() == "linear"  # a model of nothing


def test_a_bound_above_a_makespan_is_a_fault_of_ours(monkeypatch):
    monkeypatch.setattr(slot_size, "rounded_down_makespan", lambda *_, **__: RoundedDown(85.0, is_proven=True))
    with pytest.raises(InternalError, match="time slot of 50 %: band_low = 85 s exceeds compacted = 80 s"):
        coalloc.slot_study(one_node(), [0.5])


def test_an_interrupt_ends_the_study_and_leaves_what_is_complete(monkeypatch):
    solve, seen = slot_size.solve, []

    def interrupted_at_the_third(instance, **options):
        seen.append(options["slot"])
        result = solve(instance, **options)
        return replace(result, stopped_by="interrupt") if len(seen) == 3 else result

    monkeypatch.setattr(slot_size, "solve", interrupted_at_the_third)  # continuous time, 50 %, and 100 %
    with pytest.raises(Interrupted) as interrupt:
        coalloc.slot_study(one_node(), [0.5, 1.0])
    assert interrupt.value.table["fraction"].tolist() == [0.5]
    assert interrupt.value.missing == ("one-node: time slot of 100 %",)
    assert str(interrupt.value) == "interrupted with 1 of 2 rows; missing: one-node: time slot of 100 %"


@pytest.mark.parametrize(
    ("instances", "arguments", "message"),
    [
        ([], {}, "at least one instance and one fraction"),
        (one_node(), {"fractions": []}, "at least one instance and one fraction"),
        (one_node(), {"fractions": [0.0]}, "fractions must be finite and above 0, such as 0.5 for 50 %, got 0.0"),
        (one_node(), {"fractions": [math.inf]}, "fractions must be finite and above 0"),
        (
            one_node(),
            {"fractions": ["50%"]},
            r"fractions\[0\]: must be a finite number above 0, such as 0.5 for 50 %, got '50%'",
        ),
        (one_node(), {"fractions": [True]}, "must be a finite number above 0"),
        (one_node(), {"fractions": [0.5, 0.5]}, "fractions must be distinct"),
        ([one_node(), one_node()], {}, "distinct names, got one-node more than once"),
        (one_node(), {"formulation": "fast"}, "formulation of model 'oas' must be one of"),
    ],
)
def test_what_cannot_be_studied_is_refused_before_anything_runs(monkeypatch, instances, arguments, message):
    monkeypatch.setattr(slot_size, "solve", None)
    with pytest.raises(CoallocError, match=message):
        coalloc.slot_study(instances, **arguments)


def table_of(*rows):
    """Return a table of (instance, fraction, replayed, compacted, is_proven); the best bound of each is 100 s."""
    names = ["instance", "fraction", "replayed", "compacted", "is_proven"]
    table = pd.DataFrame(rows, columns=names).assign(
        **dict.fromkeys(COLUMNS[5:], 1.0) | {"is_rounded_down_proven": True}
    )
    table = table.assign(**dict(zip(names, zip(*rows, strict=True), strict=True)))
    return table.assign(slotted=table["replayed"] + 10.0, band_low=100.0, band_high=table["replayed"] + 10.0)


TABLE = table_of(
    ("i1", 0.25, 100.0, 100.0, True),
    ("i1", 0.5, 102.0, 101.0, True),
    ("i1", 1.0, 130.0, 102.0, False),
    ("i2", 0.25, 200.0, 200.0, True),
    ("i2", 0.5, 202.0, 200.0, True),
    ("i2", 1.0, 220.0, 203.0, True),
)


def test_losses_are_against_the_best_slot_of_the_same_instance():
    assert losses(TABLE).tolist() == pytest.approx([0.0, 0.02, 0.3, 0.0, 0.01, 0.1])
    assert best_bounds(TABLE).tolist() == [100.0] * 6


@pytest.mark.parametrize(
    ("within", "by", "fraction"),
    # Mean losses at 50 and 100 %: 1.5 and 20 % replayed, 0.5 and 1.75 % compacted.
    [(0.02, "replayed", 0.5), (0.01, "replayed", 0.25), (0.02, "compacted", 1.0), (0.5, "replayed", 1.0)],
)
def test_the_coarsest_slot_within_a_share_of_the_best(within, by, fraction):
    assert coarsest(TABLE, within, by) == fraction


def test_the_recommendation_says_what_is_known():
    text = recommendation(TABLE, 0.02)
    assert (
        "Recommended time slot: 50 % of the mean reference run time (the longest with a mean loss of at most 2 %)"
        in text
    )
    assert "replayed makespan exceeds that of the best slot length by 1.50 % on average and 2.00 % at worst" in text
    assert "at most 102.00 % above the optimum" in text  # 202 s against a bound of 100 s
    assert "1 of 6 solves ended without a proof" in text
    assert "; the best one is " in recommendation(TABLE[TABLE["fraction"] > 0.3].assign(replayed=[1, 2, 2, 1]), 0.1)
    with pytest.raises(CoallocError, match="within must be finite and at least 0"):
        recommendation(TABLE, -0.1)
    with pytest.raises(CoallocError, match="by must be one of replayed, compacted, got 'slotted'"):
        recommendation(TABLE, by="slotted")


def test_the_summary_has_a_row_per_fraction():
    found = summary(TABLE).set_index("slot")
    assert found.index.tolist() == ["25 %", "50 %", "100 %"]
    assert found.loc["50 %", ["loss_mean", "loss_max"]].tolist() == pytest.approx([0.015, 0.02])
    assert found.loc["100 %", ["instances", "proven"]].tolist() == [2, 1]
    assert found.loc["25 %", "above_bound_mean"] == pytest.approx(0.5)


def test_curves_of_several_instances_are_relative_to_their_bounds():
    means = curves(TABLE)["replayed", "mean"]
    assert means.tolist() == pytest.approx([1.5, 1.52, 1.75])
    assert curves(TABLE)["slotted", "proven"].tolist() == [True, True, False]
    assert curves(TABLE[:3])["replayed", "mean"].tolist() == [100.0, 102.0, 130.0]


@needs_pictures
def test_the_picture_shows_the_band_and_marks_what_is_not_proven(tmp_path):
    makespan, *_, slowdown = draw(TABLE, tmp_path / "slots.svg").axes
    assert (tmp_path / "slots.svg").read_text().startswith("<?xml")
    labels = makespan.get_legend_handles_labels()[1]
    assert "certified band of the optimum" in labels
    assert "hollow: not proved" in labels
    assert [tick.get_text() for tick in slowdown.get_xticklabels()] == ["25", "50", "100"]
    assert makespan.get_ylabel() == "multiple of the best certified bound"
    alone = draw(TABLE[3:]).axes[0]
    assert alone.get_ylabel() == "makespan, min"
    assert "hollow: not proved" not in alone.get_legend_handles_labels()[1]
    with pytest.raises(CoallocError, match="must be one of"):
        draw(TABLE, tmp_path / "slots.html")
