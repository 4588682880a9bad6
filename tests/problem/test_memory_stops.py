"""Which tasks memory stops, by hand. Task 1 is the largest by memory in all, then 2, then 3."""

from __future__ import annotations

from coalloc.problem.memory_stops import MemoryUse, stopped_tasks


def uses(**memories):
    """Return tasks ``t1``, ``t2``, ... by number with their memory, MB, the first with the highest rank."""
    return {
        int(name[1:]): MemoryUse(memory, (100.0 - place, 0, 0.0, 0))
        for place, (name, memory) in enumerate(memories.items())
    }


def test_nobody_is_stopped_where_all_fit():
    assert stopped_tasks([1, 2], (), uses(t1=60.0, t2=40.0), 100.0) == ()


def test_those_that_ask_for_most_in_all_are_stopped_until_the_rest_fits():
    # 30 + 50 + 40 = 120: without task 1 90 are left, which fit, though without task 2 alone there would be room too.
    assert stopped_tasks([3, 2, 1], (), uses(t1=30.0, t2=50.0, t3=40.0), 100.0) == (1,)
    assert stopped_tasks([3, 2, 1], (), uses(t1=30.0, t2=50.0, t3=40.0), 45.0) == (1, 2)


def test_each_comes_back_that_fits_in_the_order_in_which_they_were_stopped():
    # 60 MB are free beside task 3: task 2, stopped first, takes 50 of them, and task 1 no longer fits.
    assert stopped_tasks([1, 2, 3], (2, 1), uses(t1=30.0, t2=50.0, t3=40.0), 100.0) == (1,)
    # With 10 MB less task 2 does not fit, task 1 does.
    assert stopped_tasks([1, 2, 3], (2, 1), uses(t1=30.0, t2=50.0, t3=40.0), 80.0) == (2,)


def test_one_that_is_stopped_in_vain_goes_on():
    # 10 + 90 + 45 = 145: task 1 is stopped, then 2; without 2 there is room for 1 again.
    assert stopped_tasks([1, 2, 3], (), uses(t1=10.0, t2=90.0, t3=45.0), 100.0) == (2,)


def test_a_task_that_asks_for_nothing_is_never_stopped():
    assert stopped_tasks([1, 2], (), uses(t1=10.0, t2=0.0), 0.0) == (1,)


def test_ranks_decide_by_start_then_by_place_in_the_queue():
    def use(instant, arrival, number):
        return MemoryUse(60.0, (60.0, instant, arrival, number))

    assert stopped_tasks([1, 2], (), {1: use(4, 0.0, 0), 2: use(3, 9.0, 1)}, 100.0) == (1,)
    assert stopped_tasks([1, 2], (), {1: use(3, 0.0, 0), 2: use(3, 9.0, 1)}, 100.0) == (2,)
    assert stopped_tasks([1, 2], (), {1: use(3, 9.0, 5), 2: use(3, 9.0, 1)}, 100.0) == (1,)
