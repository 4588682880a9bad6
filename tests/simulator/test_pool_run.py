"""Runs in the engine beside the same runs pass by pass, and where they are not taken."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.heuristics.backfilling import Easy
from coalloc.rules.allocation_rules import ALLOCATION_RULES, FIXED_RULES
from coalloc.rules.orders import FIXED_ORDERS
from coalloc.simulator import pool_run
from coalloc.simulator.engine import Engine, Interrupted, Run
from coalloc.simulator.pool_run import PoolRun
from coalloc.simulator.processors import intervals_of
from coalloc.simulator.simulation import engine_for

ORDERS = sorted(FIXED_ORDERS)
EXAMPLES = 500


def random_instance(rng: np.random.Generator) -> Instance:
    """Return jobs on equal nodes, many of which come and end at once, some of them within the tolerance."""
    processors, number = int(rng.integers(1, 20)), int(rng.integers(0, 40))
    unit, noise = float(rng.choice([1.0, 0.1, 1e9 / 3])), float(rng.choice([0.0, 1e-7, 1e-13]))

    def time(most: int) -> float:
        return unit * float(rng.integers(0, most)) * (1.0 + noise * float(rng.integers(0, 3)))

    jobs = []
    for n in range(number):
        share = float(rng.choice([1.0, 0.7]))
        seconds, estimate = time(12) + unit / 2, time(12) + unit / 2
        jobs.append(
            Job(f"J{n}", int(rng.integers(1, processors + 1)), seconds, estimate=estimate, arrival=time(number + 1))
        )
        jobs[-1] = jobs[-1].replace(processing_share=share)
    group = NodeGroup(processors, power=float(rng.choice([1.0, 0.75])))
    instance = Instance(Platform([Cluster("C1", [group], 1.0)]), jobs)
    names = [f"C1/{k}" for k in range(processors)]
    running, begin = [], 0
    while rng.random() < 0.6 and begin < processors:
        size = int(rng.integers(1, processors - begin + 1))
        job = Job(f"R{len(running)}", size, 5.0 * unit, arrival=time(3))
        nodes = [*rng.permutation(names[begin : begin + size])]
        running.append(RunningJob(job, [str(node) for node in nodes], time(8) + unit / 4))
        begin += size
    return instance.replace(running=running)


def on_several_clusters(rng: np.random.Generator, instance: Instance) -> Instance:
    """Return the jobs on clusters of groups, the speeds of which may be equal; their tasks do not communicate."""
    powers = [1.0, 1.0, 0.75, 0.4] if rng.random() < 0.7 else [1.0]
    clusters = [
        Cluster(
            f"C{c}",
            [NodeGroup(int(rng.integers(1, 5)), float(rng.choice(powers))) for _ in range(rng.integers(1, 3))],
            link_bandwidth=1.0,
        )
        for c in range(rng.integers(1, 5))
    ]
    platform = Platform(clusters)
    most = platform.num_processors
    return Instance(platform, [job.replace(tasks=1 + (job.tasks - 1) % most) for job in instance.jobs])


def random_rules(rng: np.random.Generator) -> tuple[str, dict[str, object]]:
    """Return a policy that states its rules, and options of it."""
    order, allocation = str(rng.choice(["fcfs", *ORDERS])), str(rng.choice(sorted(ALLOCATION_RULES)))
    options: dict[str, object] = {"queue_order": order, "allocation": allocation}
    if rng.random() < 0.4:
        return "list", options | {"skip": bool(rng.integers(2))}
    return "easy", options | {"candidates": str(rng.choice(["queue", *ORDERS]))}


def pass_by_pass(engine: Engine) -> Run:
    """Return a run as it is without the engine."""
    engine.begin()
    engine.go_on()
    return engine.facts(range(len(engine._jobs)))


def seen(run: Run) -> tuple[object, ...]:
    return [*run.starts], [*run.ends], [*run.processors], run.killed, run.decisions


@pytest.mark.parametrize("block", range(5))
def test_runs_are_as_they_are_pass_by_pass(block):
    rng = np.random.default_rng(block)
    for number in range(EXAMPLES // 5):
        instance, (name, options) = random_instance(rng), random_rules(rng)
        if number % 2 and options["allocation"] in FIXED_RULES:
            instance = on_several_clusters(rng, instance)
        rules = {"passes": str(rng.choice(["batch", "per-event"])), "kill": bool(rng.integers(2))}
        engines = [
            engine_for(instance, coalloc.extend.policy_named(name, options), name=name, **rules) for _ in range(2)
        ]
        assert engines[0]._pool_rules() is not None
        assert seen(engines[0].run()) == seen(pass_by_pass(engines[1])), (instance, name, options, rules)
        assert engines[0].position == replace(engines[1].position, now=engines[0].position.now)


POOL = Platform([Cluster("C1", [NodeGroup(32, 1.0)], 1.0)])
LOG = Instance(
    POOL,
    [
        job.replace(estimate=job.base_time * (1.0 + job.tasks % 7))
        for job in coalloc.generate("lublin", seed=4, jobs=600, nodes=32).jobs
    ],
)


def rules_of(instance, policy, options):
    chosen = policy if not isinstance(policy, str) else coalloc.extend.policy_named(policy, options)
    return engine_for(instance, chosen, name="policy")._pool_rules()


@pytest.mark.parametrize("name", ["easy", "list", "fcfs", "sjf", "bjf", "fpfs", "spt", "lpt"])
def test_policies_that_state_their_rules(name):
    assert rules_of(LOG, name, {}) is not None


@pytest.mark.parametrize("policy", ["easy", "fcfs", "fpfs"])
def test_a_simulation_goes_on_from_a_run_in_the_engine(policy, monkeypatch):
    last = Job("last", 5, 100.0, arrival=1e7)

    def outcome():
        simulation = coalloc.Simulation(LOG, policy)
        simulation.run()
        simulation.submit(last)
        simulation.branch().run()
        simulation.run()
        result = simulation.result()
        return result.schedule, {k: v for k, v in result.metrics.items() if not k.startswith("decision_time")}

    found = outcome()
    monkeypatch.setattr(Engine, "run_in_pool", lambda _: False)
    assert found == outcome()
    assert found[0]["last"].start == 1e7


def test_positions_are_reported_as_pass_by_pass(monkeypatch):
    long = Instance(POOL, coalloc.generate("lublin", seed=4, jobs=3000, nodes=32).jobs)

    def reported():
        positions = []
        coalloc.simulate(long, "easy", progress=positions.append)
        return positions

    found = reported()
    monkeypatch.setattr(pool_run, "LONGEST_CALL", 0.0)  # calls come back as often as they can
    assert found == reported()
    monkeypatch.setattr(Engine, "run_in_pool", lambda _: False)
    assert found == reported()
    assert len(found) > 2


KEYS = [
    lambda job: job.id,
    lambda job: [job.tasks % 3],
    lambda job: 2**60 + job.tasks % 3,
    lambda job: job.base_time,  # which is the estimate here: no order knows the run time
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_anything_that_compares(key, monkeypatch):
    monkeypatch.setitem(FIXED_ORDERS, "lpt", key)
    found = coalloc.simulate(LOG, "easy", queue_order="lpt", candidates="lpt").schedule
    monkeypatch.setattr(Engine, "run_in_pool", lambda _: False)
    assert found == coalloc.simulate(LOG, "easy", queue_order="lpt", candidates="lpt").schedule


class Widest:
    """An order of a user that never changes, and counts how often it is asked for."""

    changes_every = math.inf

    def __init__(self):
        self.num_keys = 0

    def key(self, _):
        self.num_keys += 1
        return lambda job: -job.tasks


def test_an_order_of_a_user_that_never_changes_is_run_here(monkeypatch):
    order = Widest()
    assert rules_of(LOG, "easy", {"queue_order": order, "candidates": order}) is not None
    found = coalloc.simulate(LOG, "easy", queue_order=order, candidates=order).schedule
    assert order.num_keys == 2
    assert found == coalloc.simulate(LOG, "easy", queue_order="bjf", candidates="bjf").schedule
    monkeypatch.setattr(Engine, "run_in_pool", lambda _: False)
    assert found == coalloc.simulate(LOG, "easy", queue_order=order, candidates=order).schedule


class OtherEasy(Easy):
    """A policy that inherits the rules, and decides otherwise."""

    def decide(self, state):
        return super().decide(state)[:1]


class WithRules(Easy):
    """A policy that means something else by its rules."""

    queue_rules = ("shortest first",)

    def decide(self, state):
        return super().decide(state)[:1]


MEMORIES = Platform([Cluster("C1", [NodeGroup(2, 1.0, cores=2, memory=1.0)], 1.0)])
UNEQUAL = Platform([Cluster("C1", [NodeGroup(2, 1.0), NodeGroup(2, 0.5)], 1.0)])
MIXED = Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(1, 0.5), NodeGroup(1, 1.0)], 1.0)])


@pytest.mark.parametrize(
    ("instance", "policy", "options"),
    [
        (LOG, OtherEasy(), {}),
        (LOG, WithRules(), {}),
        (LOG, "easy", {"queue_order": "wfp3"}),
        (LOG, "easy", {"candidates": lambda job, now: now - job.arrival}),
        (LOG, "conservative", {}),
        (LOG, "mesd", {}),
        (Instance(UNEQUAL, [Job("J1", 2, 1.0)]), "easy", {"allocation": "best-processing"}),
        (Instance(UNEQUAL, [Job("J1", 2, 1.0)]), "easy", {"scope": "cluster"}),
        (Instance(UNEQUAL, [Job("J1", 2, 1.0)], running=[RunningJob(Job("R", 1, 1.0), ["C1/0"], 1.0)]), "easy", {}),
        (Instance(MIXED, [Job("J1", 2, 1.0)]), "easy", {}),
        (coalloc.example("thesis-oas-1"), "easy", {}),
        (LOG.replace(jobs=[*LOG.jobs[:5], LOG.jobs[5].replace(after=[LOG.jobs[0].id])]), "easy", {}),
        (Instance(MEMORIES, [Job("J1", 2, 1.0, memory=1.0)]), "easy", {}),
    ],
)
def test_what_is_decided_in_python(instance, policy, options):
    assert rules_of(instance, policy, options) is None


def test_an_interrupt_says_where_the_run_is(monkeypatch):
    def interrupted(run, _):
        go(run, 400)
        raise KeyboardInterrupt

    go = PoolRun.go
    monkeypatch.setattr(PoolRun, "go", interrupted)
    simulation = coalloc.Simulation(LOG, "easy")
    with pytest.raises(Interrupted, match=r"interrupted at time .* jobs ended"):
        simulation.run()
    with pytest.raises(CoallocError, match="call reset"):
        simulation.run()


def test_sets_of_processors_are_made_from_intervals():
    run = engine_for(LOG, coalloc.extend.policy_named("easy", {}), name="easy").run()
    held = run.processors
    again = intervals_of([*dict.fromkeys(held)], 32)
    assert [*again.first] == [*held.intervals.first]
    assert [*again.stop] == [*held.intervals.stop]
    assert held[3:5] == [held[3], held[4]]
    assert held[-1] == [*held][-1]
    with pytest.raises(IndexError):
        held[len(held)]


def test_wrong_arrays_are_refused():
    def made(**changes):
        columns = {"order": np.array([1, 0]), "arrivals": np.array([2.0, 1.0, 0.0]), "tasks": np.array([1, 2, 1])}
        columns = {"capacities": np.array([2]), "slowness": np.ones(1)} | columns
        columns |= {name: np.ones(2) for name in ("shares", "base_times", "estimates", "keys", "turns")}
        columns["running_ends"] = np.ones(1)
        columns |= {name: changes[name] for name in columns.keys() & changes.keys()}
        counts = [changes.get("num_running", 1), len(columns["capacities"]), changes.get("num_takes", 2)]
        numbers = [2, *counts, 2, 0, 0, changes.get("tolerance", 1e-9), 1e9, 1e-12]
        return engine().pool_run_new(*numbers, *columns.values())

    made()
    for name, wrong in {
        "order": [[0, 1], [1, 1], [0, 2], [-1, 0]],
        "arrivals": [[math.nan, 1.0, 0.0], [math.inf, 1.0, 0.0]],
        "tasks": [[0, 2, 1], [1, 3, 1], [1, 2, 3]],
        "capacities": [[0], [2**50]],
        "slowness": [[0.0], [math.nan], [math.inf]],
        "shares": [[-0.1, 1.0], [1.1, 1.0], [math.nan, 1.0]],
        "base_times": [[-1.0, 1.0], [math.nan, 1.0], [math.inf, 1.0]],
        "estimates": [[-1.0, 1.0], [math.nan, 1.0]],
        "keys": [[math.nan, 1.0]],
        "turns": [[math.nan, 1.0]],
        "running_ends": [[math.nan], [-1.0]],
    }.items():
        for content in wrong:
            with pytest.raises(InternalError, match=f"{name} of pool_run_new"):
                made(**{name: np.array(content)})
    two = {"capacities": np.array([1, 1]), "slowness": np.ones(2)}
    none = {"num_running": 0, "arrivals": np.array([2.0, 1.0]), "tasks": np.array([1, 2]), "running_ends": np.empty(0)}
    made(**two, **none, num_takes=3)
    for name, changes in {
        "tolerance": {"tolerance": math.nan},
        "num_takes": {"num_takes": 3},
        "num_running": {**two, "num_takes": 3},
        "num_classes": {"capacities": np.empty(0, np.int64), "slowness": np.empty(0)},
    }.items():
        with pytest.raises(InternalError, match=f"{name} of pool_run_new"):
            made(**changes)
