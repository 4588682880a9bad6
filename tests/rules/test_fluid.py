"""Jobs that may be divided: bounds from one machine, and schedules without fragmentation."""

from __future__ import annotations

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


@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_is_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    number = 30
    some = FluidJobs(rng.integers(0, 60, number) * 1.0, rng.integers(1, 5, number), rng.integers(1, 20, number) * 1.0)
    supply = Supply.beside(4, [2], [float(rng.integers(1, 30))])
    bound = least_total_delay(some, supply)
    rigid = in_turn(some, supply)
    assert bound > 0.0
    assert bound <= min(delays(some, supply, some.work).sum(), delays(some, supply, some.run).sum(), rigid)


def in_turn(jobs, supply):
    """Return the delay in all of jobs that run one after the other, by arrival, once all running ones have ended."""
    now, late = supply.times[-1], 0.0
    for job in np.argsort(jobs.release, kind="stable"):
        now = max(now, jobs.release[job]) + jobs.run[job]
        late += now - jobs.earliest_end[job]
    return late
