"""The timeline of the engine against the slow one: random operations, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from coalloc import CoallocError
from coalloc.rules.timeline import Timeline
from tests.rules.slow_timeline import SlowTimeline, Vector

CASES, BLOCKS = 500, 10
NUM_OPERATIONS = 60
HORIZON = 200.0


class Case:
    """A random timeline beside the slow one: up to five classes, a whole number beside them, and floats with noise."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.num_classes = int(self.rng.integers(1, 6))
        self.num_whole = self.num_classes + int(self.rng.integers(0, 2))
        self.sizes = (*map(int, self.rng.integers(0, 40, self.num_whole)), *self.rng.uniform(0.0, 50.0, seed % 3))
        noise = [1e-12 * max(1.0, size) for size in self.sizes[self.num_whole :]]
        since = -math.inf if seed % 4 == 0 else 0.0
        self.timeline = Timeline[float](since, self.sizes, num_classes=self.num_classes, noise=noise)
        self.slow = SlowTimeline(since, self.sizes, noise)
        self.taken: list[tuple[float, float, Vector]] = []
        self.now = 0.0

    def time(self, most: float = HORIZON) -> float:
        """Return a time or a length, every second one a whole number, so that many are equal."""
        value = float(self.rng.uniform(0.0, most))
        return float(round(value)) if self.rng.random() < 0.5 else value

    def amounts(self, share: float) -> Vector:
        """Return a vector of up to a share of what there is."""
        parts = [float(size * share * self.rng.random()) for size in self.sizes]
        return (*(round(part) for part in parts[: self.num_whole]), *parts[self.num_whole :])

    def classes(self) -> list[int]:
        """Return some classes."""
        chosen = self.rng.choice(self.num_classes, int(self.rng.integers(1, self.num_classes + 1)), replace=False)
        return sorted(map(int, chosen))

    def take(self) -> None:
        """Take a vector, now and then for ever or from before the beginning."""
        start = self.time() - 5.0
        end = math.inf if self.rng.random() < 0.05 else start + self.time(HORIZON / 4)
        booking = start, end, self.amounts(0.3)
        self.taken.append(booking)
        self.timeline.take(*booking)
        self.slow.take(*booking)

    def give_back(self) -> None:
        """Give back what was taken, or its end alone."""
        if self.taken:
            start, end, amounts = self.taken.pop(int(self.rng.integers(len(self.taken))))
            start = max(start, self.time()) if self.rng.random() < 0.3 else start
            self.timeline.give_back(start, end, amounts)
            self.slow.give_back(start, end, amounts)

    def query(self) -> None:
        """Compare what is free, the windows of some classes, and the first start of a vector."""
        release, duration = self.time() - 5.0, self.time(HORIZON / 5)
        assert self.timeline.free(release, release + duration) == self.slow.free(release, release + duration)
        classes = self.classes()
        tasks = int(self.rng.integers(0, sum(self.sizes[g] for g in classes) + 2))
        asked = release, duration, tasks, classes, math.inf if self.rng.random() < 0.7 else self.time()
        assert list(self.timeline.windows(*asked)) == self.slow.windows(*asked)
        amounts = self.amounts(0.8)
        assert self.timeline.first_start(release, duration, amounts) == self.slow.first_start(
            release, duration, amounts
        )

    def forget(self) -> None:
        """Let both begin a little later."""
        self.now += self.time(5.0)
        self.timeline.forget(self.now)
        self.slow.forget(self.now)

    def copy(self) -> None:
        """Go on with a copy; what is booked on the first one then is not booked on it."""
        first, self.timeline = self.timeline, self.timeline.copy()
        first.take(0.0, HORIZON, self.amounts(1.0))

    def run(self) -> None:
        """Do random operations; compare all steps at the end."""
        operations: list[Callable[[], None]] = [self.take, self.give_back, self.query, self.forget, self.copy]
        for k in self.rng.choice(len(operations), NUM_OPERATIONS, p=(0.45, 0.2, 0.25, 0.05, 0.05)):
            operations[k]()
        times = [time for time, _ in self.slow.steps]
        assert self.timeline.changes(-math.inf) == times
        assert [self.timeline.free(time) for time in times] == [self.slow.free(time) for time in times]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_it_equals_the_slow_one_to_the_last_bit(block: int) -> None:
    for seed in range(block * CASES // BLOCKS, (block + 1) * CASES // BLOCKS):
        Case(seed).run()


def test_thousands_of_steps_are_found_again() -> None:
    # Job k takes one of 2 processors in [2k, 2k + 1), in an order that splits blocks everywhere: 2 are free together
    # from 2k + 1 on for one second, and for two seconds only when all is over, at 2 * 4,999 + 1. Given back, none is.
    timeline = Timeline(0.0, (2,))
    order = np.random.default_rng(1).permutation(5_000).tolist()
    for k in order:
        timeline.take(2.0 * k, 2.0 * k + 1.0, (1,))
    assert timeline.changes(0.0) == [float(k) for k in range(10_000)]
    assert next(timeline.windows(4_000.0, 1.0, 2)) == 4_001.0
    assert next(timeline.windows(4_000.5, 2.0, 2)) == timeline.first_start(4_000.5, 2.0, (2,)) == 9_999.0
    assert sum(1 for _ in timeline.windows(0.0, 1.0, 2)) == 5_000
    assert timeline.free(0.0, 9_999.0) == (1,)
    for k in order:
        timeline.give_back(2.0 * k, 2.0 * k + 1.0, (1,))
    assert timeline.changes(0.0) == [0.0]


def test_amounts_beyond_a_machine_integer_raise_and_book_nothing() -> None:
    timeline = Timeline(0.0, (2, 3))
    for amounts in ((2**64, 0), (2**63 - 1, 0), (-(2**63), 0)):
        with pytest.raises(CoallocError):
            timeline.take(0.0, 1.0, amounts)
    assert timeline.changes(0.0) == [0.0]
    with pytest.raises(CoallocError):
        Timeline(0.0, (2**62, 2**62))  # of which the sum would be beyond


def test_what_is_not_a_number_raises() -> None:
    timeline = Timeline[float](0.0, (2, 1.0), noise=(0.0,))
    for booking in ((math.nan, 1.0, (1, 0.5)), (0.0, math.nan, (1, 0.5)), (0.0, 1.0, (1, math.nan))):
        with pytest.raises(CoallocError):
            timeline.take(*booking)
    with pytest.raises(CoallocError):
        timeline.forget(math.nan)
    assert timeline.free(0.0, 9.0) == (2, 1.0)
