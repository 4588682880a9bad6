"""The earliest start that running jobs leave."""

import math

from hypothesis import given
from hypothesis import strategies as st

from coalloc import Cluster, Job, NodeGroup, Platform
from coalloc.problem.allocation import node_classes
from coalloc.rules.allocation_rules import allocation_rule, allocator
from coalloc.rules.reservations import Reservation, Span, earliest, fitting, reservation, reservation_in_pool
from coalloc.rules.timeline import Timeline

TWO = node_classes(
    Platform([Cluster("A", [NodeGroup(4, power=1.0)], 1.0), Cluster("B", [NodeGroup(4, power=0.5)], 1.0)])
)


def of(tasks: int) -> Job:
    return Job("J", tasks, 1.0)


def test_the_first_release_after_which_the_job_fits():
    # Free: 1 fast. At 5 one slow node more: two. At 7 two fast ones: four, of which the job takes the three fast.
    choose = allocation_rule("fastest-first", TWO)
    releases = [(5.0, (0, 1)), (7.0, (2, 0)), (9.0, (1, 3))]
    assert reservation(of(3), (1, 0), releases, choose) == Reservation(7.0, (0, 1))
    assert reservation(of(2), (1, 0), releases, choose) == Reservation(5.0, (0, 0))


def test_what_is_released_at_one_instant_is_released_together():
    choose = allocation_rule("fastest-first", TWO)
    assert reservation(of(2), (1, 0), [(5.0, (1, 0)), (5.0, (0, 2))], choose) == Reservation(5.0, (0, 2))


def test_a_scope_is_kept():
    choose = allocation_rule("fastest-first", TWO, "cluster")
    assert reservation(of(2), (1, 0), [(5.0, (0, 1)), (6.0, (0, 1))], choose) == Reservation(6.0, (1, 0))


def test_a_job_that_never_fits_waits_for_ever_and_takes_nothing():
    choose = allocation_rule("fastest-first", TWO)
    assert reservation(of(9), (4, 0), [(5.0, (0, 4))], choose) == Reservation(math.inf, (4, 4))


releases = st.lists(st.tuples(st.integers(0, 4).map(float), st.tuples(st.integers(1, 3))), max_size=6).map(sorted)


@given(st.integers(1, 9), st.integers(0, 8), releases)
def test_a_pool_needs_no_rule_to_be_asked(tasks, free, released):
    choose = allocation_rule("fastest-first", TWO[:1])
    free = (min(free, tasks - 1),)  # the job does not fit now
    assert reservation_in_pool(of(tasks), free, released, choose) == reservation(of(tasks), free, released, choose)


def test_a_rule_is_asked_again_on_what_is_free_to_the_end():
    # The fast class is away from 8 s on: the job, 10 s there, takes the slow one, 20 s; a shorter one does not.
    platform = Platform([Cluster("C1", [NodeGroup(1, 2.0), NodeGroup(1, 1.0)], 1.0)])
    rule = allocator("fastest-first", node_classes(platform))
    timeline = Timeline(0.0, (1, 1))
    timeline.take(8.0, 30.0, (1, 0))
    assert fitting(timeline, Job("A", 1, 20.0), 0.0, rule) == Span(0.0, 20.0, (0, 1))
    assert fitting(timeline, Job("B", 1, 16.0), 0.0, rule) == Span(0.0, 8.0, (1, 0))
    both = Job("C", 2, 10.0)
    assert fitting(timeline, both, 0.0, rule) is None
    assert earliest(timeline, both, rule.least_time(both), rule) == Span(30.0, 10.0, (1, 1))
