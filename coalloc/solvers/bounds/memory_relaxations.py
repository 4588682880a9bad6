"""Relaxations by memory: the part of a platform that serves jobs with large memories, as problems for every bound.

The tasks that ask for at least m MB each are, at any instant, no more on a node than m goes into its memory. So the
jobs that do, by themselves, on so many processors of each class and with memory forgotten, are a relaxation: every
schedule of the problem has one of them in it that ends no later. Bounds that know processors only learn of memory
this way. Derivation: docs/mathematics/bounds.md, "Memory".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coalloc.problem import Problem
from coalloc.problem.allocation import NodeClass


def memory_relaxations(problem: Problem) -> Iterator[Problem]:
    """Yield the problem of the jobs that ask for at least as much as each job does, where processors drop out then."""
    for asked in sorted({job.memory for job in problem.jobs if job.memory}):
        rooms = [node_class.room(asked) for node_class in problem.classes]
        if tuple(rooms) != problem.capacities:
            yield _relaxed(problem, asked, rooms)


def _relaxed(problem: Problem, asked: float, rooms: list[int]) -> Problem:
    """Return the problem of the jobs that ask for ``asked`` MB a task or more, on ``rooms`` processors of each class.

    What runs already is left out, as are precedences.
    """
    asking = (job for job in problem.jobs if job.memory is not None and job.memory >= asked)
    jobs = tuple(job.replace(memory=None, after=(), lags=(), resources={}, task_resources={}) for job in asking)
    classes = tuple(_cut(node_class, room) for node_class, room in zip(problem.classes, rooms, strict=True) if room)
    return replace(problem, instance=problem.instance.replace(jobs=jobs, running=()), classes=classes)


def _cut(node_class: NodeClass, room: int) -> NodeClass:
    return NodeClass(node_class.cluster, node_class.group.replace(memory=None), node_class.processors[:room])
