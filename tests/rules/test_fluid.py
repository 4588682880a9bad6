"""Jobs that may be divided: bounds from one machine, and schedules without fragmentation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from coalloc.rules.fluid import FluidJobs, Supply, delays, least_total_delay


def jobs(*rows):
    release, processors, run = zip(*rows, strict=True)
    return FluidJobs(np.array(release, dtype=float), np.array(processors), np.array(run, dtype=float))


WHOLE = Supply.beside(4, [], [])


def test_supply_counts_what_running_jobs_leave():
    # 4 processors, of which 3 are held until 10 s: 10 processor-seconds until then, 4 a second after.
    supply = Supply.beside(4, [1, 2], [10.0, 10.0])
    assert supply.amount(np.array([0.0, 5.0, 10.0, 12.0])).tolist() == [0.0, 5.0, 10.0, 18.0]
    assert supply.instant(np.array([0.0, 5.0, 10.0, 18.0])).tolist() == [0.0, 5.0, 10.0, 12.0]
    # 0 to 10 on one processor: 10^2/2; then 8 units around 11 s.
    assert supply.sum_of_instants(np.array([10.0, 18.0])).tolist() == [50.0, 50.0 + 8 * 11.0]


def test_two_jobs_that_fill_the_platform_wait_for_each_other():
    # 10 s and 20 s on all four: the short one first, the other 10 s late; nothing is gained by dividing them.
    two = jobs((0, 4, 20), (0, 4, 10))
    assert least_total_delay(two, WHOLE) == pytest.approx(10.0, rel=1e-6)
    assert delays(two, WHOLE, two.work).tolist() == [10.0, 0.0]


def test_what_is_divided_fills_the_gaps():
    # Three jobs of 3 of 4 processors for 8 s: rigid ones run in turn (8 + 16 s late). Divided, the first gets 3 and the
    # second 1; from 8 s on the second has 16 units left, of 3 a second, until 13.33, beside it the third gets 1, and
    # so on: at 13.33 it has 24 - 5.33 left, which take 6.22 s at 3 a second: until 19.56.
    three = jobs((0, 3, 8), (0, 3, 8), (0, 3, 8))
    late = delays(three, WHOLE, np.array([0.0, 1.0, 2.0]))
    assert late.tolist() == pytest.approx([0.0, 16 / 3, 16 / 3 + (24 - 16 / 3) / 3], rel=1e-9)
    assert least_total_delay(three, WHOLE) <= late.sum()


def test_nobody_waits_on_a_platform_that_is_large_enough():
    some = jobs((0, 1, 10), (3, 2, 5), (4, 1, 1))
    assert least_total_delay(some, WHOLE) == 0.0
    assert delays(some, WHOLE, some.run).tolist() == [0.0, 0.0, 0.0]


def test_running_jobs_are_waited_for():
    # All is held until 7 s.
    held = Supply.beside(4, [4], [7.0])
    one = jobs((2, 4, 10))
    assert delays(one, held, one.work).tolist() == [5.0]
    assert least_total_delay(one, held) == pytest.approx(5.0, rel=1e-6)


def rigid_waits(jobs, num_processors, held, held_until, order):
    """Return the waits of jobs that are placed in an order, each at the first instant at which it fits to its end."""
    spans = [(0.0, held_until, held)]
    waits = np.zeros(len(order))
    for job in order:
        arrival, tasks, run = float(jobs.release[job]), int(jobs.processors[job]), float(jobs.run[job])
        for start in sorted({arrival, *(end for _, end, _ in spans if end > arrival)}):
            instants = [start, *(begin for begin, _, _ in spans if start < begin < start + run)]
            used = [sum(k for begin, end, k in spans if begin <= instant < end) for instant in instants]
            if max(used) + tasks <= num_processors:
                break
        spans.append((start, start + run, tasks))
        waits[job] = start - arrival
    return waits


@pytest.mark.parametrize("seed", range(60))
def test_no_schedule_is_below_the_bounds(seed):
    # For a regular objective some order of the jobs, placed so, is optimal (Pinedo, section 5.2): all are tried.
    rng = np.random.default_rng(seed)
    number, size = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    held, until = int(rng.integers(0, size + 1)), float(rng.integers(1, 15))
    some = FluidJobs(
        rng.integers(0, 15, number) * 1.0, rng.integers(1, size + 1, number), rng.integers(1, 12, number) * 1.0
    )
    weights = rng.random(number) + 0.1
    supply = Supply.beside(size, [held] if held else [], [until] if held else [])
    waits = [rigid_waits(some, size, held, until, order) for order in itertools.permutations(range(number))]
    bound = least_total_delay(some, supply)
    assert bound <= min(wait.sum() for wait in waits) + 1e-9
    assert bound <= min(delays(some, supply, some.work).sum(), delays(some, supply, some.run).sum()) + 1e-9
    assert least_total_delay(some, supply, weights) <= min((weights * wait).sum() for wait in waits) + 1e-9
