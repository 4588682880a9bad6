"""Usage of users: the closed form of what each use leaves, whenever it is asked for, and in branches."""

from __future__ import annotations

import math

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.extend import policy_named
from coalloc.simulator.usage import Ledger, Use


def left_of(use: Use, now: float, half_life: float) -> float:
    """Return the integral over a use of what each of its seconds counts now, from its antiderivative."""
    end = min(use.end, now)
    if half_life == math.inf:
        return use.processors * (end - use.start)
    scale = half_life / math.log(2.0)
    return use.processors * scale * (2.0 ** ((end - now) / half_life) - 2.0 ** ((use.start - now) / half_life))


@pytest.mark.parametrize("half_life", [1.0, 50.0, math.inf])
def test_a_ledger_has_what_each_use_leaves(half_life):
    # 100 random histories, noted use by use as they begin and end, or all at the end.
    rng = np.random.default_rng(7)
    for _ in range(100):
        starts = rng.uniform(0.0, 90.0, 8)
        uses = [
            Use(str(rng.choice(["a", "b"])), int(rng.integers(1, 5)), s, s + rng.uniform(1.0, 60.0)) for s in starts
        ]
        now = 100.0
        ledger = Ledger(half_life)
        events = [(use.start, 1, use) for use in uses] + [(use.end, -1, use) for use in uses if use.end <= now]
        for time, sign, use in sorted(events):
            ledger.change(use.user, sign * use.processors, time)
        known = [use if use.end <= now else use._replace(end=math.inf) for use in uses]
        late = Ledger.opened(half_life, known, now)
        for later in (now, now + 30.0):
            running = [use if use.end <= now else use._replace(end=later) for use in uses]
            for user in ("a", "b"):
                expected = sum(left_of(use, later, half_life) for use in running if use.user == user)
                assert ledger.at(later)[user] == pytest.approx(expected)
                assert late.at(later)[user] == pytest.approx(expected)


PLATFORM = Platform([Cluster("C1", [NodeGroup(8, power=1.0)], 100.0)])


def log(seed: int, jobs: int = 60) -> Instance:
    """Return random jobs of three users, of which one has no name."""
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.uniform(0.0, 900.0, jobs))
    return Instance(
        PLATFORM,
        [
            Job(
                f"J{k}",
                tasks=int(rng.integers(1, 7)),
                base_time=float(rng.integers(10, 90)),
                estimate=float(rng.integers(60, 120)),
                arrival=float(arrival),
                user=[None, "a", "b"][rng.integers(3)],
            )
            for k, arrival in enumerate(arrivals)
        ],
    )


class LeastUsage:
    """The user with the least usage first."""

    def __init__(self, changes_every, half_life=200.0):
        self.changes_every, self.half_life = changes_every, half_life

    def key(self, state):
        usage = state.usage(self.half_life)
        return lambda job: usage[job.user]


@pytest.mark.parametrize("period", [0.0, 50.0, 400.0])
@pytest.mark.parametrize(
    ("policy", "option"),
    [("easy", "queue_order"), ("easy", "candidates"), ("list", "queue_order"), ("conservative", "")],
)
def test_a_branch_goes_on_as_the_run_does(policy, option, period):
    options = {option: LeastUsage(period)} if option else {"queue_order": LeastUsage(period), "compression": "queue"}
    expected = coalloc.simulate(log(3), policy, **options).schedule
    simulation, place = coalloc.Simulation(log(3), policy, **options), 0
    while not simulation.finished:
        if place % 12 == 0:
            branch = simulation.branch()
            simulation.branch().run()  # one that others do not notice
            branch.run()
            assert branch.result().schedule == expected
        simulation.step()
        place += 1
    assert simulation.result().schedule == expected


def test_a_policy_that_takes_over_knows_the_history():
    # Up to 300 s another policy decides; what users have had then is the same as where each use is noted.
    simulation = coalloc.Simulation(log(5), "easy", queue_order=LeastUsage(10.0, half_life=100.0))
    simulation.run(until=300.0)
    noted = dict(simulation.state.usage(100.0))
    other = coalloc.Simulation(log(5), "easy", queue_order=LeastUsage(10.0, half_life=77.0))
    other.run(until=300.0)
    assert dict(other.state.usage(100.0)) == pytest.approx(noted)
    assert set(noted) == {None, "a", "b"}
    assert dict(other.branch("fcfs").state.usage(100.0)) == pytest.approx(noted)


@pytest.mark.parametrize("half_life", [1e12, 1e18, 1e300])
def test_a_long_half_life_counts_all(half_life):
    # 2 processors for 100 s, of which less than 1e-9 are lost; exp(-rate * 100) is 1 for the last two half-lives.
    ledger = Ledger(half_life)
    ledger.change("a", 2, 0.0)
    assert ledger.at(100.0)["a"] == pytest.approx(200.0, rel=1e-9)
    assert Ledger.opened(half_life, [Use("a", 2, 0.0, 100.0)], 100.0).at(150.0)["a"] == pytest.approx(200.0, rel=1e-9)


def test_usage_stays_as_it_was_and_a_half_life_is_positive():
    simulation = coalloc.Simulation(log(5), "easy")
    simulation.run(until=300.0)
    before = simulation.state.usage(100.0)
    noted = dict(before)
    simulation.run()
    assert dict(before) == noted
    for wrong in (0.0, math.nan, "1"):
        with pytest.raises(CoallocError, match=f"half_life must be above 0 s, got {wrong!r}"):
            simulation.state.usage(wrong)


def test_an_order_is_an_object_with_a_period_and_a_key():
    for wrong, said in (
        (LeastUsage(-1.0), "changes_every of queue order LeastUsage must be a period in seconds"),
        (LeastUsage(math.nan), "must be a period in seconds"),
        (LeastUsage, "must be an object, got the type LeastUsage; use LeastUsage"),
    ):
        with pytest.raises(CoallocError, match=said):
            policy_named("easy", {"queue_order": wrong})
    assert policy_named("easy", {"queue_order": LeastUsage(np.int64(300))})
    without = LeastUsage(1.0)
    without.key = lambda state: None
    with pytest.raises(CoallocError, match=r"key\(state\) of queue order LeastUsage must return a function of a job"):
        coalloc.simulate(log(5), "easy", queue_order=without)
