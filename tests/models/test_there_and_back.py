"""From an instance to its model, to any solver, and back: what ``solve`` says is what others find."""

from __future__ import annotations

import re
import warnings
from io import StringIO
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Switch
from coalloc.testing.small import SmallSize, small_instance

FORMULATIONS = ("node", "count", "mode")
SIZE = SmallSize(max_jobs=3, max_processors=5, max_slots=8)
TINY = SmallSize(max_jobs=2, max_processors=3, max_slots=5)
"""What cbc solves in a moment in the node formulation."""
GAPS = {"highs": "mip_rel_gap", "cbc": "ratio"}
"""The option of each solver that is the relative gap at which it stops."""


def solver(name: str) -> Any:
    """Return a solver of Pyomo that proves the optimum; cbc is the one inside PuLP's wheel."""
    program = {}
    if name == "cbc":
        pulp = pytest.importorskip("pulp", reason="PuLP, whose wheel has a cbc in it, is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from version 4 on there is an extra for it
            found = Path(getattr(pulp.apis, "PULP_CBC_CMD", pulp.apis.COIN_CMD)().path or "missing")
        if not found.is_file():
            pytest.skip("the wheel of PuLP has no cbc for this machine")
        program = {"executable": str(found)}
    chosen = pyo.SolverFactory(name, **program)
    chosen.options[GAPS[name]] = 0.0
    return chosen


def two_jobs() -> Instance:
    """Return two jobs on two clusters of one node, behind a switch that is called like one of them."""
    clusters = [Cluster("C1", [NodeGroup(1, power=1.0)], 100.0), Cluster("C2", [NodeGroup(1, power=0.5)], 100.0, "C1")]
    jobs = [Job("J1", 2, 100.0, processing_share=0.5, task_bandwidth=10.0), Job("J2", 1, 100.0)]
    return Instance(Platform(clusters, [Switch("C1", "S0", bandwidth=50.0)]), jobs)


@pytest.mark.parametrize("seed", range(20))
def test_two_solvers_agree_with_solve(seed):
    formulation = FORMULATIONS[seed % 3]
    instance, slot = small_instance(seed, TINY if formulation == "node" else SIZE)
    expected = coalloc.solve(instance, slot=slot, formulation=formulation)
    assert expected.status == "optimal"
    for name in GAPS:
        model = coalloc.build_model(instance, slot=slot, formulation=formulation)
        solver(name).solve(model)
        schedule = coalloc.schedule_of_model(model)
        assert coalloc.metrics(instance, schedule)["makespan"] == pytest.approx(expected.objective)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"formulation": "node", "slot": 50.0}, {"X": ("J1", "C1/0", 3), "eq12": "J2", "ABW": ("C1_2", 1)}),
        ({"formulation": "node", "slot": 50.0, "scope": "cluster"}, {"part": ("J2", "C2")}),
        ({"model": "pas", "formulation": "node"}, {"X": ("J2", "C2/0"), "eq3_6": "C1", "BW": ("J1", "C1_2")}),
    ],
)
def test_node_models_go_by_names(options, keys):
    # The switch C1 is the third link: its name is taken. In one cluster there is room for J2 alone.
    instance = two_jobs()
    if options.get("scope") or options.get("model"):
        instance = instance.replace(jobs=[instance.jobs[1], instance.jobs[1].replace(id="J1")])
    model = coalloc.build_model(instance, **options)
    assert {name: key in getattr(model, name) for name, key in keys.items()} == dict.fromkeys(keys, True)


def test_the_paper_s_model_prints_as_the_thesis_has_it():
    printed = StringIO()
    model = coalloc.build_model(two_jobs(), formulation="node", slot=50.0)
    model.pprint(ostream=printed)
    said = dict(re.findall(r"^    (\w+) : (.+)$", printed.getvalue(), re.MULTILINE))
    assert {name: said[name] for name in ("R", "K", "Gamma", "MBW", "J", "tau", "Tb", "PTBW", "sigma", "T", "theta")}
    numbers = sorted({int(n) for text in said.values() for n in re.findall(r"^\((\d+)\)", text)})
    assert numbers == [3, 4, *range(9, 24)]  # (1) and (2) are texts of what the others define
    thesis = sorted({int(n) for text in said.values() for n in re.findall(r"thesis \(3\.(\d+)\)", text)})
    assert thesis == list(range(9, 24))
    assert said["eq12"] == "(12), thesis (3.11): every task of a job is placed"
    # What is printed of a row: J1 has two tasks.
    row = re.search(r"^ +J1 : +2\.0 : (.+?) : +2\.0 : +True$", printed.getvalue(), re.MULTILINE)
    assert row is not None
    assert row[1].strip() == "Z[J1,C1/0] + Z[J1,C2/0]"


@pytest.mark.parametrize(
    "options",
    [
        *({"formulation": name, "slot": 50.0, "scope": "cluster"} for name in FORMULATIONS),
        {"slot": 50.0, "objective": "maximum-lateness"},
        {"model": "pas", "formulation": "node", "links": "shared"},
        *({"model": name} for name in ("pas", "cbs", "jpr")),
    ],
)
def test_every_component_says_what_it_is(options):
    instance = two_jobs()
    instance = instance.replace(jobs=[instance.jobs[1].replace(due_date=200.0)])
    model = coalloc.build_model(instance, **options)
    assert [c.name for c in model.component_objects() if not c.doc] == []
    rows = model.component_objects((pyo.Constraint, pyo.ConstraintList))
    assert [c.name for c in rows if not re.match(r"\([A-Z]?\d(\.\d+|\d|[ab])?\)", c.doc)] == []


def test_a_model_without_a_slot_says_which_there_are_and_what_each_makes_of_it():
    # Mean base time 100 s. J1 is on both nodes: 100 * (0.5 / 0.5 + 0.5) = 150 s; J2 takes 100 s on the fast one:
    # 2 * 150 + 100 = 400 processor-seconds, and in slots of 100 s, 2 * 200 + 100 = 500. In turn J1 takes 150 s and
    # J2, on the slow node, 200 s: 2 + 2 slots of 100 s, 3 + 4 of 50 s.
    with pytest.raises(CoallocError) as raised:
        coalloc.build_model(two_jobs())
    lines = str(raised.value).splitlines()
    assert lines[0].endswith(
        "formulation 'mode' requires a time slot, in seconds or as a share of the mean reference run time; choices:"
    )
    assert re.fullmatch(
        r'slot="100%" \(100 s\): 4 slots, about \d+ nonzeros; rounding adds 25 % to the processor time', lines[1]
    )
    assert re.fullmatch(
        r'slot="50%" \(50 s\): 7 slots, about \d+ nonzeros; rounding adds 0 % to the processor time', lines[2]
    )
    assert len(lines) == 7


def test_slots_that_are_too_fine_end_the_list():
    # 300 jobs in turn on one node of power 1, in slots of 5 %, 6,000 of them: 300 * 5,980 starts of 20 slots.
    instance = Instance(
        Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 1.0)]), [Job(f"J{i}", 1, 100.0) for i in range(300)]
    )
    with pytest.raises(CoallocError) as raised:
        coalloc.build_model(instance)
    lines = str(raised.value).splitlines()
    assert [line for line in lines if "above the limit of 5,000,000" in line] == lines[-1:]
    assert len(lines) < 7


@pytest.mark.parametrize(
    ("formulation", "values", "message"),
    [
        # Half a start is none.
        ("mode", {"x": 0.5}, r"the values of the model are not a solution: x\[0,0,0\] must be an integer, got 0.5"),
        # Every job starts in every slot, on every node.
        ("node", {"X": 1, "Y": 1, "Z": 1}, "the values of the model are not a solution: .*do not fit"),
        # Every job starts everywhere, and has no task.
        ("count", {"w": 1, "n": 0}, "the values of the model are not a solution: "),
        # No job starts.
        ("node", {"Y": 0, "Z": 1}, "the values of the model are not a valid schedule: "),
    ],
)
def test_values_that_are_no_solution_are_one_error(formulation, values, message):
    model = coalloc.build_model(two_jobs(), formulation=formulation, slot=50.0)
    for name, value in values.items():
        getattr(model, name).set_values(dict.fromkeys(getattr(model, name), value), skip_validation=True)
    with pytest.raises(CoallocError, match=message):
        coalloc.schedule_of_model(model)
