"""``coalloc/verify.py`` by itself: certificates written by hand, of instances that can be checked on paper."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from coalloc import verify
from coalloc.verify import BadFileError, NotProvedError, main, parsed, verdict_of

PATH = Path(verify.__file__)


def job(name, seconds, tasks=1, **others):
    return {"id": name, "tasks": tasks, "base_time": seconds, **others}


def cluster(name, nodes, power=1.0, bandwidth=100.0):
    return {"name": name, "link_bandwidth": bandwidth, "nodes": [{"count": nodes, "power": power}]}


def instance(*jobs, clusters=(("C1", 2),), **others):
    platform = {"clusters": [cluster(*one) for one in clusters]}
    return {"format": "coalloc-instance", "version": 1, "platform": platform, "jobs": list(jobs), **others}


def certificate(bound, proof, *tables, placements=None, slot=1, scope="platform", objective="makespan"):
    schedule = {"format": "coalloc-schedule", "version": 1, "placements": placements}
    tables = copy.deepcopy(tables)
    for piece in (piece for one in tables for piece in one["pieces"] if piece["to"] is None):
        piece["to"] = bound - 1  # in slots of 1 s all jobs of an earlier makespan have ended then
    return {
        "format": "coalloc-certificate",
        "version": 1,
        "problem": {"objective": objective, "slot": slot, "links": "strict", "scope": scope},
        "bound": bound,
        "tables": list(tables),
        "proof": proof,
        "schedule": None if placements is None else schedule,
    }


def place(name, start, end, *nodes):
    return {"job": name, "start": start, "end": end, "nodes": list(nodes)}


def table(processors="speeds", begin=0, end=None, weight=0, **prices):
    pieces = [{"from": begin, "to": end, "prices": prices}]
    return {"processors": processors, "weight": weight, "pieces": pieces}


def proves(given, claimed):
    return verdict_of(*(parsed(json.dumps(document)) for document in (given, claimed)))


def accepts(given, claimed):
    try:
        proves(given, claimed)
    except NotProvedError:
        return False
    return True


PRICES = {"rule": "prices", "table": 0}
SEARCH = {"rule": "search", "processors": "speeds", "tables": [0]}
HALF = {"rule": "cases", "split": "half", "job": "J1", "cases": [SEARCH]}
# Two nodes; jobs of 3, 3 and 2 s. Work of 8 on 2 nodes takes 4 s; two of the jobs share a node, so the optimum is 5 s.
THREE = instance(job("J1", 3), job("J2", 3), job("J3", 2))
ONES = table(J1=[1], J2=[1], J3=[1])
BEST = [place("J1", 0, 3, "C1/0"), place("J2", 0, 3, "C1/1"), place("J3", 3, 5, "C1/0")]


@pytest.mark.parametrize("bound", [1, 4, 5, 6])
def test_prices_prove_the_work_on_both_nodes(bound):
    # ceil((3 + 3 + 2) / 2) = 4.
    assert accepts(THREE, certificate(bound, PRICES, ONES)) == (bound <= 4)


@pytest.mark.parametrize("bound", [4, 5, 6])
@pytest.mark.parametrize("proof", [SEARCH, HALF])
def test_a_search_proves_the_optimum_and_no_more(bound, proof):
    assert accepts(THREE, certificate(bound, proof, ONES)) == (bound <= 5)


def test_a_certificate_with_a_schedule_is_complete():
    verdict = proves(THREE, certificate(5, SEARCH, ONES, placements=BEST))
    assert verdict.is_optimal
    assert (
        verdict.lines()[0]
        == "proved: no schedule has a makespan below 5 s (slots of 1 s, strict links, scope platform)"
    )
    assert not proves(THREE, certificate(4, PRICES, ONES, placements=BEST)).is_optimal


def test_prices_that_pay_for_no_pair_prove_nothing():
    # Prices 2, 2, 0: two of the jobs are worth 4 at a time, so 12 / 4 = 3 s.
    assert accepts(THREE, certificate(3, PRICES, table(J1=[2], J2=[2], J3=[0])))
    assert not accepts(THREE, certificate(4, PRICES, table(J1=[2], J2=[2], J3=[0])))


def test_prices_over_a_release_begin_at_the_release():
    # One node; J2 and J3 arrive at 10 and take 5 s: 15 s, while J1 has gone long before.
    given = instance(job("J1", 1), job("J2", 3, arrival=10), job("J3", 2, arrival=10), clusters=[("C1", 1)])
    late = table(begin=10, J2=[1], J3=[1])
    assert accepts(given, certificate(15, PRICES, late))
    assert not accepts(given, certificate(16, PRICES, late))
    everything = table(begin=10, J1=[1], J2=[1], J3=[1])  # J1 may be done before 10
    assert [accepts(given, certificate(bound, PRICES, everything)) for bound in (15, 16)] == [True, False]


def test_prices_by_duration_count_the_cheapest():
    # A job of 4 s on C1 takes 8 s on C2 of half the speed. Three of them: 4 s of the fast node each, or 8 s
    # of the slow one. Prices 2 and 1: at most 3 at a time, 24 / 3 = 8 s, which is the optimum.
    given = instance(*(job(f"J{n}", 4) for n in (1, 2, 3)), clusters=[("C1", 1, 1.0), ("C2", 1, 0.5)])
    prices = table("groups", J1=[2, 1], J2=[2, 1], J3=[2, 1])
    assert accepts(given, certificate(8, PRICES, prices))
    assert not accepts(given, certificate(9, PRICES, prices))
    assert not accepts(given, certificate(8, PRICES, table("groups", J1=[2, 2], J2=[2, 2], J3=[2, 2])))
    slow = {"rule": "cases", "split": "level", "job": "J1", "at": 1}
    cases = slow | {"cases": [PRICES, {"rule": "infeasible"}]}
    assert accepts(given, certificate(8, cases, prices))
    assert not accepts(given, certificate(9, cases, prices))


def test_links_count_where_they_are_listed():
    # Two jobs of three tasks fit on 2 + 2 + 2 nodes, but then both are in some cluster, and each loads its link with
    # 1 * 10 * 2/2 or 2 * 10 * 1/2 = 10 MB/s, which is all that it has: so they run one after the other, 6 s.
    wide = [job(f"J{n}", 3, tasks=3, task_bandwidth=10.0) for n in (1, 2)]
    given = instance(*wide, clusters=[(name, 2, 1.0, 10.0) for name in ("C1", "C2", "C3")])
    prices = table("groups", J1=[1], J2=[1])
    assert not accepts(given, certificate(4, PRICES, prices))
    listed = prices | {"links": ["C1", "C2", "C3"]}
    assert [accepts(given, certificate(bound, PRICES, listed)) for bound in (6, 7)] == [True, False]
    search = {"rule": "search", "processors": "groups", "tables": []}
    assert not accepts(given, certificate(4, search))
    search["links"] = ["C1", "C2", "C3"]
    assert [accepts(given, certificate(bound, search)) for bound in (6, 7)] == [True, False]


@pytest.mark.parametrize("bound", [6, 7])
def test_ranges_follow_from_durations_and_precedence(bound):
    for jobs in ([job("J1", 2), job("J2", 4, after=["J1"])], [job("J1", 6)]):
        assert accepts(instance(*jobs), certificate(bound, {"rule": "infeasible"})) == (bound == 6)


@pytest.mark.parametrize(("origin", "most", "optimum"), [("start", 4, 12), ("start", 9, 11), ("end", 4, 11)])
def test_a_greatest_lag_holds_a_job_back(origin, most, optimum):
    # J2 (1 s) arrives at 10, at most so long after the start or the end of J1 (6 s), on another node, and ends at 11.
    # J1 starts at 6, 1 or 0 at the earliest, and ends at 12, 7 or 6.
    given = instance(job("J1", 6), job("J2", 1, arrival=10, lags=[{"after": "J1", "from": origin, "max": most}]))
    for bound in (optimum, optimum + 1):
        assert accepts(given, certificate(bound, {"rule": "infeasible"})) == (bound == optimum)


# One node; J1 takes 2 s and J2 3 s, due at 2 and 4. J1 first: ends 2 and 5. J2 first: ends 5 and 3.
TWO = instance(job("J1", 2, due_date=2), job("J2", 3, due_date=4, weight=3), clusters=[("C1", 1)])


@pytest.mark.parametrize(
    ("objective", "optimum"),
    [
        ("total-response-time", 7),  # 2 + 5
        ("total-weighted-response-time", 14),  # 5 + 3 * 3
        ("mean-wait", 1),  # (0 + 2) / 2
        ("mean-bounded-slowdown", 1),  # run times below 10 s count as 10 s
        ("weighted-tardiness", 3),  # 3 * (5 - 4), or 5 - 2: both orders
        ("maximum-lateness", 1),  # 5 - 4
    ],
)
def test_a_search_proves_the_optimum_of_sums_and_lateness(objective, optimum):
    search = SEARCH | {"tables": []}
    assert accepts(TWO, certificate(optimum, search, objective=objective))
    assert not accepts(TWO, certificate(optimum + 0.001, search, objective=objective))


def test_long_jobs_have_slowdowns_of_their_run_times():
    # 20 s and 30 s on one node, the shorter first: (1 + 50/30) / 2 = 4/3.
    given, search = instance(job("J1", 20), job("J2", 30), clusters=[("C1", 1)]), SEARCH | {"tables": []}
    bounds = [accepts(given, certificate(b, search, objective="mean-bounded-slowdown")) for b in (1.3333, 1.3334)]
    assert bounds == [True, False]


def test_a_job_may_wait_for_a_longer_run_time_that_costs_less():
    # C1 is held until 10 s, C2 until 20 s. J1 takes 10 s on C1, from 10 s on: 20 / 10 = 2. It takes 1000 s on C2, from
    # 20 s on: 1020 / 1000 = 1.02, though it could have run on C1 in the meantime.
    held = [{"job": job(f"R{n}", 99), "nodes": [f"C{n}/0"], "end": 10 * n} for n in (1, 2)]
    given = instance(job("J1", 10), clusters=[("C1", 1), ("C2", 1, 0.01)], running=held)
    search = SEARCH | {"processors": "groups", "tables": []}
    for bound, proved in ((1.02, True), (1.021, False), (2, False)):
        assert accepts(given, certificate(bound, search, objective="mean-bounded-slowdown")) == proved


def test_prices_are_weighed_against_costs():
    # Ends sum to 7. At 1 per second up to 2 s, J1 costs 2 + 2 = 3 + 1 = 4 and J2 3 + 2 = 4 + 1 = 5, whenever they
    # start; of that 2 fit before 2 s: 4 + 5 - 2 = 7. Without the prices, 2 + 3.
    prices = table(end=2, weight=1, J1=[1], J2=[1])
    for bound, proved in ((7, True), (7.5, False)):
        assert accepts(TWO, certificate(bound, PRICES, prices, objective="total-response-time")) == proved
    alone = {"processors": "speeds", "weight": 1, "pieces": []}
    for bound, proved in ((5, True), (6, False)):
        assert accepts(TWO, certificate(bound, PRICES, alone, objective="total-response-time")) == proved
    late = table(end=4, J1=[1], J2=[1])  # work of 5 s, due within 4 s
    assert accepts(TWO, certificate(1, PRICES, late, objective="maximum-lateness"))
    assert not accepts(TWO, certificate(2, PRICES, late, objective="maximum-lateness"))


@pytest.mark.parametrize("deadline", [4, 5])
def test_deadlines_that_cannot_be_kept(deadline):
    given = instance(job("J1", 2, deadline=deadline), job("J2", 3, deadline=deadline), clusters=[("C1", 1)])
    prices = table(end=deadline, J1=[1], J2=[1])
    for proof, tables in ((PRICES, [prices]), (SEARCH | {"tables": []}, [])):
        assert accepts(given, certificate(None, proof, *tables)) == (deadline == 4)
    assert not accepts(given, certificate(None, {"rule": "infeasible"}))
    ordered = instance(job("J1", 2), job("J2", 3, after=["J1"], deadline=deadline))
    assert accepts(ordered, certificate(None, {"rule": "infeasible"})) == (deadline == 4)


@pytest.mark.parametrize("objective", ["total-response-time", "mean-bounded-slowdown"])
def test_without_a_bound_no_schedule_costs_too_much(objective):
    # What jobs cost says nothing where there is no budget: only the deadlines do.
    costs = table(end=9, weight=1, J1=[0], J2=[0])
    for deadline in (4, 5):
        given = instance(job("J1", 2, deadline=deadline), job("J2", 3, deadline=deadline), clusters=[("C1", 1)])
        assert not accepts(given, certificate(None, PRICES, costs, objective=objective))
        proved = accepts(given, certificate(None, SEARCH, costs, objective=objective))
        assert proved == (deadline == 4)


@pytest.mark.parametrize("late", [{"base_time": 1e40}, {"arrival": 1e40}, {"base_time": 1e99}])
def test_no_time_is_too_late_for_a_schedule(late):
    given = instance(job("J1", 1) | late)
    assert not accepts(given, certificate(None, {"rule": "infeasible"}))
    assert not accepts(given, certificate(None, SEARCH | {"tables": []}))


def test_a_running_job_takes_no_more_than_its_link():
    # R loads the link of C1 2^47 times over; J (5 s) needs those of C2 and C4 alone.
    held = {"job": job("R", 99, tasks=2, task_bandwidth=float(2**47)), "nodes": ["C1/0", "C3/0"], "end": 50}
    wide = job("J", 5, tasks=2, task_bandwidth=1.0, eligible=["C2", "C4"], slices=2)
    given = instance(wide, clusters=[(f"C{n}", 1, 1.0, 1.0) for n in (1, 2, 3, 4)], running=[held])
    search = {"rule": "search", "processors": "groups", "links": ["C1", "C2"], "tables": []}
    for load in (2**47, 2**47 + 140_737):
        held["job"]["task_bandwidth"] = load
        assert [accepts(given, certificate(bound, search)) for bound in (5, 6, 55)] == [True, False, False]
    given["platform"]["clusters"][0]["link_bandwidth"] = 0
    assert accepts(given, certificate(5, search | {"links": ["C1"]}))


def test_a_job_that_fits_nowhere_is_infeasible():
    given = instance(job("J1", 2, tasks=3), job("J2", 1))
    assert (
        proves(given, certificate(None, {"rule": "infeasible"})).lines()[0].startswith("proved: there is no schedule")
    )
    assert not accepts(instance(job("J1", 2, tasks=2)), certificate(None, {"rule": "infeasible"}))


def test_each_case_of_a_split_is_closed():
    split = {"rule": "cases", "split": "level", "job": "J3", "at": 1}
    # J3 has one duration: it is among the first one, and the second case is impossible.
    proof = split | {"cases": [SEARCH, {"rule": "infeasible"}]}
    assert [accepts(THREE, certificate(bound, proof, ONES)) for bound in (5, 6)] == [True, False]
    assert not accepts(THREE, certificate(5, split | {"cases": [{"rule": "infeasible"}] * 2}, ONES))
    with pytest.raises(BadFileError, match="2 cases"):
        accepts(THREE, certificate(5, split | {"cases": [SEARCH]}, ONES))


def test_equal_jobs_and_arrivals_in_a_search():
    # One node, jobs of 2 s; J2 arrives at 1: it waits until 2, or J1 until 3. Optimum 4, whatever the order.
    given = instance(job("J1", 2), job("J2", 2, arrival=1), clusters=[("C1", 1)])
    prices = table(J1=[1], J2=[1])
    assert accepts(given, certificate(4, SEARCH, prices))
    assert not accepts(given, certificate(5, SEARCH, prices))
    assert not accepts(given, certificate(4, HALF, prices))  # it cannot be reversed
    equal = instance(*(job(f"J{n}", 2) for n in range(5)))
    assert accepts(equal, certificate(6, SEARCH | {"tables": []}))
    assert not accepts(equal, certificate(7, SEARCH | {"tables": []}))


def test_running_jobs_and_slots():
    # C1/0 is taken until 4.5, 5 slots of 1 s; a job of two tasks and 1.2 s, so 2 slots, waits for it: 7.
    held = {"job": job("R", 9), "nodes": ["C1/0"], "end": 4.5}
    given = instance(job("J1", 1.2, 2), running=[held])
    assert accepts(given, certificate(7, SEARCH | {"tables": []}))
    assert not accepts(given, certificate(8, SEARCH | {"tables": []}))
    end = certificate(7, SEARCH | {"tables": []}, placements=[place("J1", 5, 7, "C1/0-1")])
    assert proves(given, end).is_optimal
    with pytest.raises(NotProvedError, match="of a processor is taken"):
        proves(given, certificate(1, {"rule": "infeasible"}, placements=[place("J1", 4, 6, "C1/0-1")]))


def test_a_lag_after_a_running_job_is_rounded_once():
    # R ends at 1.4, and J1 starts 0.3 s later, at 1.7: in slot 2, not in slot 2 + 1. It ends at 3.
    held = {"job": job("R", 9), "nodes": ["C1/0"], "end": 1.4}
    given = instance(job("J1", 1, lags=[{"after": "R", "min": 0.3}]), running=[held])
    accepted = [accepts(given, certificate(bound, {"rule": "infeasible"})) for bound in (3, 4)]
    assert accepted == [True, False]


def test_continuous_time_is_proved_to_the_tolerance():
    # One node, 0.1 + 0.2 s: binary fractions miss 0.3, exact decimals do not.
    given = instance(job("J1", 0.1), job("J2", 0.2), clusters=[("C1", 1)])
    placements = [place("J1", 0, 0.1, "C1/0"), place("J2", 0.1, 0.3, "C1/0")]
    prices = table(end=int((0.3 - 1e-7) * 2**30), J1=[1], J2=[1])
    claimed = certificate(0.3 - 2e-7, PRICES, prices, placements=placements, slot=None)
    verdict = proves(given, claimed)
    assert verdict.is_optimal
    assert float(verdict.tolerance) == pytest.approx(3e-7)  # a millionth of 0.3 s


def test_rounding_counts_for_each_second_of_each_job_in_a_sum():
    # Two jobs of 2 ticks; their ends may be off by 3 ticks each, and count a thousand times and once.
    given = instance(job("J1", 2**-29, weight=1000), job("J2", 2**-29))
    placements = [place(f"J{n}", 0, 2**-29, f"C1/{n - 1}") for n in (1, 2)]
    alone = {"processors": "speeds", "weight": 1, "pieces": []}
    claimed = certificate(
        1e-6, PRICES, alone, placements=placements, slot=None, objective="total-weighted-response-time"
    )
    assert float(proves(given, claimed).tolerance) == pytest.approx(1001 * 3 * 2**-30)


@pytest.mark.parametrize(("slot", "message"), [(10, "slots so short"), (None, "times so late")])
def test_jobs_shorter_than_the_tolerance_take_their_processors(slot, message):
    # So far from 0 the tolerance of times is 32 s.
    short, late = [job(f"J{n}", 10) for n in range(60)], 10**15
    placements = [place(one["id"], 0, 10, "C1/0") for one in short] + [place("F", late, late + 10, "C1/0")]
    given = instance(*short, job("F", 10, arrival=late), clusters=[("C1", 1)])
    claimed = certificate(1, PRICES, ONES | {"pieces": []}, placements=placements, slot=slot)
    with pytest.raises(NotProvedError, match=message):
        proves(given, claimed)


@pytest.mark.parametrize(
    ("seconds", "arrival", "start", "slot"),
    [(10, 10**15 + 30, 10**15 - 970, 10), (1.9e-9, 0, 0, 1e-10), (1, 1_760_000_000, 1_759_999_999.999, 0.001)],
)
def test_slots_are_longer_than_the_tolerance_of_times(seconds, arrival, start, slot):
    # Rounding may take a slot, or hundreds, off an arrival or a run time.
    given = instance(job("J", seconds, arrival=arrival), clusters=[("C1", 1)])
    placements = [place("J", start, start + seconds, "C1/0")]
    claimed = certificate(0, PRICES, ONES | {"pieces": []}, placements=placements, slot=slot)
    with pytest.raises(NotProvedError, match="slots so short for times so late"):
        proves(given, claimed)


def test_a_job_may_be_under_either_of_nested_switches_of_its_level():
    switches = [{"name": a, "parent": b, "bandwidth": 9.0, "level": "row"} for a, b in ("AB", ("B", "root"))]
    given = instance(job("J", 2, level={"name": "row", "required": True}), clusters=[("C1", 1)])
    given["platform"] |= {"switches": switches}
    given["platform"]["clusters"][0]["switch"] = "A"
    assert not accepts(given, certificate(None, {"rule": "infeasible"}))


@pytest.mark.parametrize("text", ["[1e99999999999999999999]", "[0e99999999999999999999]"])
def test_a_number_beyond_decimals_is_a_bad_file(text):
    with pytest.raises(BadFileError, match="not readable as JSON"):
        parsed(text)


@pytest.mark.parametrize("names", [["J", "J"], ["K"]])
def test_a_limit_names_jobs_that_exist_once(names):
    given = instance(job("J", 2)) | {"limits": [{"name": "user", "jobs": names, "capacity": 1}]}
    with pytest.raises(BadFileError, match="must name each job once"):
        proves(given, certificate(1, PRICES, ONES))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop(), "every job once"),
        (lambda s: s[0].update(end=2), "must last 3 s"),
        (lambda s: s[0].update(start=0.5, end=3.5), "whole slot"),
        (lambda s: s[0].update(start=-1, end=2), "before its arrival"),
        (lambda s: s[2].update(start=2, end=4), "of a processor is taken"),
        (lambda s: s[2].update(nodes=["C1/2"]), "not a processor"),
        (lambda s: s[2].update(nodes=["C1/0", "C1/1"]), "1 different processors"),
        (lambda s: s[2].update(outcome="killed"), "completed"),
    ],
)
def test_a_schedule_that_breaks_a_rule_is_rejected(change, message):
    placements = copy.deepcopy(BEST)
    change(placements)
    with pytest.raises(NotProvedError, match=message):
        proves(THREE, certificate(4, PRICES, ONES, placements=placements))


@pytest.mark.parametrize(
    ("fields", "platform", "message"),
    [
        ({"deadline": 4}, {}, "deadline"),
        ({"after": ["J2"]}, {}, None),
        ({"after": ["J1"], "arrival": 0}, {}, None),
        ({"lags": [{"after": "J1", "min": 1}]}, {}, "lag"),
        ({"lags": [{"after": "J1", "from": "start", "max": 2}]}, {}, "lag"),
        ({"requires": ["gpu"]}, {}, "not use"),
        ({"resources": {"license": 2}}, {"resources": {"license": 1}}, "license"),
        ({}, {"unavailable": [{"cluster": "C1", "start": 4, "end": 6, "nodes": ["C1/0"]}]}, "of a processor"),
        ({}, {"unavailable": [{"cluster": "C1", "start": 0, "end": 1e-9, "group": 0, "processors": 1}]}, None),
        ({}, {"unavailable": [{"cluster": "C1", "start": 0, "end": 1, "group": 0, "processors": 1}]}, "of a group"),
        ({"shapes": [{"tasks": 2, "base_time": 2, "estimate": 9}]}, {}, None),
        ({"slices": 1, "level": {"name": "row", "required": False}}, {}, None),
        ({"slices": 2}, {}, "allocation"),
        ({"level": {"name": "row"}}, {}, "allocation"),
        ({}, {"sharing": {"paging": 1}}, "not covered"),
        ({}, {"sharing": {}}, "not covered"),
        ({}, {"sharing": 1}, "not covered"),
        ({}, {"sharing": None}, None),
    ],
)
def test_what_a_job_demands_is_checked(fields, platform, message):
    given = copy.deepcopy(THREE)
    given["jobs"][2] |= fields
    given["platform"] |= platform
    claimed = certificate(1, {"rule": "infeasible"}, placements=BEST)
    if message is None:
        proves(given, claimed)
    else:
        with pytest.raises(NotProvedError, match=message):
            proves(given, claimed)


@pytest.mark.parametrize(("number", "covered"), [(1, True), (2, False), (True, False), (None, False)])
def test_nodes_take_one_task_at_a_time(number, covered):
    given = copy.deepcopy(THREE)
    given["platform"]["clusters"][0]["nodes"][0]["multiprogramming"] = number
    assert accepts(given, certificate(4, PRICES, ONES)) == covered


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (("platform",), ("clusters", 0)),
        (("platform",), ("clusters", 1, "nodes", 0)),
        (("clusters", 0), ("clusters", 1)),
    ],
)
def test_a_resource_is_of_one_level(place, other):
    given = instance(job("J", 2, resources={"license": 1}), clusters=[("C1", 1), ("C2", 1)])
    for path in (place, other):
        at = given["platform"]
        for key in path[path[0] == "platform" :]:
            at = at[key]
        at["resources"] = {"license": 1}
    if place[0] == other[0]:  # two clusters
        assert accepts(given, certificate(2, {"rule": "infeasible"}))
    else:
        with pytest.raises(BadFileError, match="of the platform, of its clusters or of its nodes"):
            proves(given, certificate(2, {"rule": "infeasible"}))


@pytest.mark.parametrize("sizes", [[1], [2, 2]])
def test_the_shapes_of_a_job_have_different_numbers_of_tasks(sizes):
    given = instance(job("J", 2, shapes=[{"tasks": tasks, "base_time": 1} for tasks in sizes]))
    with pytest.raises(BadFileError, match="different numbers of tasks"):
        proves(given, certificate(1, {"rule": "infeasible"}))


@pytest.mark.parametrize("given", [{"group": 0}, {"group": 7, "processors": 1}, {"processors": 1}, {"nodes": ["C2/0"]}])
def test_outages_name_what_they_take(given):
    outage = {"cluster": "C1", "start": 0, "end": 9} | given
    platform = THREE["platform"] | {"unavailable": [outage]}
    with pytest.raises(BadFileError, match="unavailable"):
        proves(THREE | {"platform": platform}, certificate(4, PRICES, ONES))


def mangled(text, rng):
    """Return a text with a part of it taken out, doubled or changed."""
    first, last = sorted(rng.randrange(len(text)) for _ in range(2))
    part = rng.choice(["", text[first:last] * 2, "null", "-1", "1e999", '"', "[" * 3000, "0" * 90, "{}"])
    return text[:first] + part + text[last if rng.random() < 0.5 else first + 1 :]


def test_malformed_files_give_one_line(tmp_path, capsys):
    rng = random.Random(1)
    documents = [json.dumps(THREE), json.dumps(certificate(5, SEARCH, ONES, placements=BEST))]
    for number in range(400):
        texts = [mangled(text, rng) if number % 2 == n else text for n, text in enumerate(documents)]
        for name, text in zip("ic", texts, strict=True):
            (tmp_path / name).write_text(text)
        code = main([str(tmp_path / "i"), str(tmp_path / "c")])
        out, err = capsys.readouterr()
        assert code in (0, 1, 2)
        assert code != 2 or (len(err.splitlines()) == 1 and not out)


@pytest.mark.parametrize(
    "given",
    [
        instance(job("J1", 1), clusters=[(f"C{n}", 1) for n in range(3000)]),
        instance(
            job("J1", 1, tasks=600),
            clusters=[("C1", 600)],
            running=[{"job": job(f"R{n}", 9), "nodes": [f"C1/{n}"], "end": n + 1} for n in range(600)],
        ),
    ],
    ids=["groups", "events"],
)
def test_what_is_nested_too_deeply_is_not_proved(given, tmp_path, capsys):
    (tmp_path / "i").write_text(json.dumps(given))
    (tmp_path / "c").write_text(json.dumps(certificate(10**6, SEARCH | {"tables": []})))
    assert main([str(tmp_path / name) for name in "ic"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("not proved: ")
    assert len(out.splitlines()) == 1
    assert not err


def test_files_that_cannot_be_read(tmp_path, capsys):
    (tmp_path / "i").write_text(json.dumps(THREE))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * (verify.MOST_BYTES + 10)))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(json.dumps(THREE).encode())[:40])
    for paths in ([], ["i"], ["i", "none"], ["i", "bomb.gz"], ["cut.gz", "i"], ["i", "i"]):
        assert main([str(tmp_path / path) for path in paths]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(BadFileError, match="twice"):
        parsed('{"a": 1, "a": 2}')


def test_it_runs_alone_with_the_standard_library(tmp_path):
    names = {n.split(".")[0] for node in ast.walk(ast.parse(PATH.read_text())) for n in imported(node)}
    assert names <= sys.stdlib_module_names
    alone = tmp_path / "verify.py"
    alone.write_bytes(PATH.read_bytes())
    (tmp_path / "i.json").write_text(json.dumps(THREE))
    (tmp_path / "c.json").write_text(json.dumps(certificate(5, SEARCH, ONES, placements=BEST)))
    command = [sys.executable, "-I", alone, tmp_path / "i.json", tmp_path / "c.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "proved: it is optimal (tolerance 5e-12 s)" in done.stdout


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []
