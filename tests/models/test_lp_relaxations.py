"""How tight the OAS formulations are: values of their LP relaxations, pinned, and the order they are in.

An invalid inequality can leave the optima of stored instances as they are; it rarely leaves the
relaxations as they are.
"""

from __future__ import annotations

from functools import cache

import pyomo.environ as pyo
import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.models import formulation_of
from coalloc.problem import Problem, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.workloads.examples import example
from tests.small_instances import NODE_MODEL_SIZE, small_instance

FORMULATIONS = ("node", "count", "mode")


def large_jobs() -> Problem:
    """Return three jobs of 3 tasks and one of 2 on 5 nodes: no two of the three run at once."""
    platform = Platform((Cluster("C1", (NodeGroup(5, 1.0),), 1.0),))
    jobs = (*(Job(f"J{i}", 3, 20.0) for i in range(3)), Job("J3", 2, 30.0))
    return discretise(Instance(platform, jobs), 10.0)


def tight_links() -> Problem:
    """Return three jobs of 3 tasks on three clusters of 2, whose links carry one of them at a time."""
    clusters = tuple(Cluster(f"C{i}", (NodeGroup(2, 1.0),), 11.0) for i in (1, 2, 3))
    jobs = tuple(Job(f"J{i}", 3, 20.0, 1.0, 10.0) for i in (1, 2, 3))
    return discretise(Instance(Platform(clusters), jobs), 10.0)


def busy_and_mixed() -> Problem:
    """Return three jobs on classes of three speeds, one of them released late, beside a running job."""
    clusters = (
        Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 12.0),
        Cluster("C2", (NodeGroup(2, 0.75),), 12.0),
    )
    jobs = (Job("J1", 2, 30.0, 0.7, 5.0), Job("J2", 3, 25.0, 0.5, 4.0), Job("J3", 1, 20.0, arrival=15.0))
    running = (RunningJob(Job("R", 2, 30.0, 1.0, 5.0), ("C1/1", "C2/0"), 25.0),)
    return discretise(Instance(Platform(clusters), jobs, running), 10.0)


def bundled(name: str, slot: str) -> Problem:
    """Return a bundled example at a slot."""
    instance = example(name)
    return discretise(instance, slot_seconds(instance, slot))


@cache
def relaxation(problem: Problem, formulation: str) -> float:
    """Return the value of the LP relaxation, in slots; horizon of the list schedule, no lower bound given."""
    horizon = int(max(a.end for a in best_list_schedule(problem)))
    model = formulation_of("oas", formulation).build(problem, horizon=horizon, objective="makespan", lower_bound=0)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    objective = solve_model(model, SolverLimits(), integral=False).objective
    assert objective is not None
    return objective


PINNED = {
    # 6 = 3 * 2: one large job at a time. The area bound is 24 / 5.
    "large jobs": (large_jobs(), (0.293878, 6.0, 6.0)),
    # Each job puts 10 MB/s on two links at least for 2 slots: 3 * 40 over 33 MB/s a slot is 40/11. Half of a job on 2
    # nodes of a cluster and half on none puts 5 on each of three links: with counts the area is more, 18 / 6.
    "tight links": (tight_links(), (0.204082, 3.0, 40 / 11)),
    "busy and mixed": (busy_and_mixed(), (2.511500, 7.0, 7.0)),
    "paper-oas-1 at 100 %": (bundled("paper-oas-1", "100%"), (0.932402, 13.5, 13.5)),
    # The area: the rectangle is full.
    "perfect-packing-1 at 50 %": (bundled("perfect-packing-1", "50%"), (0.554170, 8.0, 8.0)),
}
"""Problem, and the values of node, count and mode."""


@pytest.mark.parametrize("name", PINNED)
def test_pinned_values(name: str) -> None:
    problem, expected = PINNED[name]
    values = [relaxation(problem, formulation) for formulation in FORMULATIONS]
    assert values == pytest.approx(expected, abs=1e-5)


def test_the_order_of_the_formulations() -> None:
    """Node <= count <= mode, and none above the optimum.

    Count <= mode is provable: summing ``x`` over the modes of a level gives ``w`` and ``n``, and
    naming the number of tasks below each link gives ``q``, with the same loads and ``z``. Node <= count is measured:
    all but nothing is left of the big-M rows (13), (14), (17) in the relaxation, while ``z`` sees the areas.
    """
    problems = [problem for problem, _ in PINNED.values()]
    problems += [discretise(*small_instance(seed, NODE_MODEL_SIZE)) for seed in range(15)]
    for problem in problems:
        node, count, mode = (relaxation(problem, formulation) for formulation in FORMULATIONS)
        assert node <= count + 1e-6
        assert count <= mode + 1e-6
        assert mode <= max(a.end for a in best_list_schedule(problem)) + 1e-6
