"""Precedence: a job starts when others have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.constraints import Declaration, TimeBounds, TimeRow
from coalloc.instance.features.feature import Condition, Feature, Stated, Wait, of_job, some_job_has
from coalloc.instance.job import Job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every job that must end first and is none, and one for every cycle, named in full."""
    before = {i: read.listed(job, "after") for i, job in stated.jobs}
    before = {i: names for i, names in before.items() if names}
    if not before:
        return
    ids, known = stated.ids, set(stated.ids)
    for i, names in before.items():
        for n, name in enumerate(names):
            if None not in known and isinstance(name, str) and name and name not in known:
                yield Fault(f"jobs[{i}].after[{n}]", f"must be a job of the instance, got {quoted(name)}")
    texts = {i: [name for name in names if isinstance(name, str)] for i, names in before.items()}
    yield from _circle_faults(texts, ids)


def _circle_faults(before: Mapping[int, Sequence[str]], ids: Sequence[str | None]) -> Iterator[Fault]:
    """Yield a fault for one cycle in each part of the precedences that has some."""
    import networkx as nx

    graph: nx.DiGraph[str | None] = nx.DiGraph([(ids[i], name) for i, names in before.items() for name in names])
    place = {ids[i]: i for i in before}
    for part in nx.strongly_connected_components(graph):
        inner = graph.subgraph(part)
        if inner.number_of_edges():
            first = min(part, key=place.__getitem__)
            cycle = [job for job, _ in nx.find_cycle(inner, first)]
            start = cycle.index(min(cycle, key=place.__getitem__))
            named = [quoted(job or "") for job in (*cycle[start:], *cycle[: start + 1])]
            yield Fault(f"jobs[{place[cycle[start]]}].after", f"must not form a cycle: {' after '.join(named)}")


def _declare(instance: Instance) -> Iterator[Declaration]:
    """Yield a bound where a job comes after a running job, else a row, for each pair."""
    running = {run.job.id: run.end for run in instance.running}
    for job in instance.jobs:
        for other in dict.fromkeys(job.after):
            if other in running:
                yield TimeBounds(job.id, running[other])
            else:
                yield TimeRow(((1, "start", job.id), (-1, "end", other)), 0.0)


def _waits(instance: Instance) -> Iterator[Wait]:
    return (Wait(job.id, other, "end", 0.0) for job in instance.jobs for other in job.after)


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        for other in job.after:
            sentence = f"job {quoted(job.id)} must start after the end of {quoted(other)}"
            yield Condition(sentence, of_job(job, _without(other)))


def _without(other: str) -> Callable[[Job], Job]:
    return lambda job: job.replace(after=[name for name in job.after if name != other])


FEATURE = Feature(
    fields=("Job.after",),
    is_used=some_job_has("after"),
    faults=_faults,
    declare=_declare,
    waits=_waits,
    conditions=_conditions,
)
