"""LoRaS's modules by hand: which nodes are admissible, in which order they are taken, and which job is next."""

from __future__ import annotations

import pytest

from coalloc import Job
from coalloc.rules.node_choice import SELECTIONS, Board, NodeLoad, best_fit, first_fit, just_first


def load(name, tasks=0, places=1, memory=100.0, *, has_user=False, most_memory=100.0):
    """Return a node; one free place and 100 MB unless said."""
    return NodeLoad(name, tasks, 0, places, has_user, memory, most_memory)


def job(id, tasks, memory=0.0):
    """Return a job that asks for so much."""
    return Job(id, tasks=tasks, base_time=1.0, memory=memory)


LOADS = [
    load("a", tasks=2, memory=30.0),
    load("b", tasks=1, memory=60.0, has_user=True),
    load("c", tasks=1, memory=40.0),
    load("d", tasks=3, places=0, memory=90.0),
    load("e", tasks=0, memory=50.0, has_user=True, most_memory=50.0),
]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("mpl", ["e", "b", "c", "a"]),  # 0, 1, 1, 2 tasks
        ("memory", ["b", "e", "c", "a"]),  # 60, 50, 40, 30 MB
        ("users", ["a", "c", "b", "e"]),
    ],
)
def test_nodes_are_taken_in_order_where_there_is_a_place(order, names):
    board = Board(LOADS, "both", order)
    assert [node.name for node in board.chosen(job("J", 4))] == names
    assert not board.fits(job("J", 5))


def test_limits_by_places_and_by_memory():
    # With 45 MB b and e have room; by places alone a, b and c (100 MB when empty) as well as e (50).
    asked = job("J", 2, memory=45.0)
    for limit, number in (("both", 2), ("memory", 2), ("mpl", 4)):
        board = Board(LOADS, limit, "mpl")
        assert board.admissible(asked) == number
        assert board.fits(asked.replace(tasks=number))
        assert not board.fits(asked.replace(tasks=number + 1))
    assert Board(LOADS, "mpl", "mpl").admissible(job("J", 1, memory=51.0)) == 3


def test_a_launch_takes_places_and_memory():
    board = Board([load("a", places=2, memory=100.0), load("b", places=1, memory=60.0)], "both", "mpl")
    assert board.launch(job("J1", 2, memory=30.0)) == ["a", "b"]
    assert board.admissible(job("J2", 1)) == 1
    assert board.admissible(job("J2", 1, memory=70.0)) == 1
    assert board.admissible(job("J2", 1, memory=71.0)) == 0


QUEUE = [job("J1", 4), job("J2", 1), job("J3", 3, memory=10.0), job("J4", 3, memory=20.0)]


def three_nodes():
    """Return three empty nodes with a free place each."""
    return Board([load(name) for name in "abc"], "both", "mpl")


def test_the_three_selections_on_one_queue():
    # J1 is too large: just-first launches nothing, first-fit J2. J3 and J4 leave no node unused, J2 two; J4 leaves
    # 3 * 80 MB on its nodes, J3 3 * 90: best-fit takes J4.
    board = three_nodes()
    assert just_first(QUEUE, board) is None
    assert just_first(QUEUE[1:], board) is QUEUE[1]
    assert first_fit(QUEUE, board) is QUEUE[1]
    assert best_fit(QUEUE, board) is QUEUE[3]


def test_best_fit_takes_the_first_of_equals():
    # J3 again, under another name, after it; of nodes without memory limits all leave equally much.
    queue = [QUEUE[2], QUEUE[2].replace(id="J5")]
    assert best_fit(queue, three_nodes()) is queue[0]
    unlimited = Board([load(name, memory=float("inf"), most_memory=float("inf")) for name in "abc"], "both", "mpl")
    assert best_fit(QUEUE, unlimited) is QUEUE[2]


def test_best_fit_counts_the_nodes_that_are_admissible_to_the_job():
    # Of 90 MB only nodes a and b have room: J1 with one task there leaves one unused; J2, one task of no memory, three.
    board = Board([load("a"), load("b"), load("c", memory=10.0), load("d", memory=10.0)], "both", "mpl")
    queue = [job("J2", 1), job("J1", 1, memory=90.0)]
    assert best_fit(queue, board) is queue[1]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_nothing_is_selected_from_an_empty_queue_or_for_full_nodes(selection):
    assert SELECTIONS[selection]([], three_nodes()) is None
    assert SELECTIONS[selection](QUEUE, Board([load("a", places=0)], "both", "mpl")) is None
