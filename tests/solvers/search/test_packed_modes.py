"""Numbers that are packed into one, and durations that count, by hand."""

from __future__ import annotations

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import discretise
from coalloc.solvers.search.packed_modes import PackedModes, PackedNumbers


def test_what_ends_after_the_ceiling_does_not_count() -> None:
    platform = Platform([Cluster(name, [NodeGroup(2, 1.0)], 1000.0) for name in ("A", "B")])
    problem = discretise(Instance(platform, [Job("J1", 1, 10.0), Job("J2", 1, 20.0)]), None)
    assert PackedModes(problem, 15.0, (), ()).durations == [[10.0], []]


def test_packed_numbers() -> None:
    numbers = PackedNumbers([3, 1, 8])
    some = numbers.packed([2, 0, 8])
    assert numbers.unpacked(some) == [2, 0, 8]
    assert numbers.unpacked(numbers.everything) == [3, 1, 8]
    # What is taken away borrows from a guard exactly where there is less.
    assert (some + numbers.guards - numbers.packed([2, 0, 7])) & numbers.guards == numbers.guards
    one = numbers.packed([0, 1, 0])
    assert (some + numbers.guards - one) & numbers.guards == numbers.guards - (one << 1)
    assert numbers.unpacked(some + one) == [2, 1, 8]


def test_no_number_is_in_two_words() -> None:
    # 61 bits with the guard and then 4, which do not fit into 64: they begin the second word.
    numbers = PackedNumbers([2**60 - 1, 5])
    assert numbers.words(numbers.packed([7, 5]), numbers.guards).tolist() == [7, 5, 2**60, 8]
    assert numbers.unpacked(numbers.packed([7, 5])) == [7, 5]
