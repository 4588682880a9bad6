"""The instance of a Slurm log: from runs, their relations, limits and reservations to jobs on its clock."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

import numpy as np

from coalloc.documents.columns import FEW, Columns
from coalloc.documents.values import AmountsByName
from coalloc.instance import Instance, Job, RunningJob, Shape
from coalloc.instance.limits import within
from coalloc.schedule import Placement, Schedule
from coalloc.workloads.slurm.demands import Demands
from coalloc.workloads.slurm.limits import Limiting, LimitTables
from coalloc.workloads.slurm.places import PlaceOccupancy, known_hosts
from coalloc.workloads.slurm.platform import WHOLE_NODE
from coalloc.workloads.slurm.relations import Relations, related
from coalloc.workloads.slurm.reservations import Blocking, SlurmReservation
from coalloc.workloads.slurm.runs import Collecting, Left
from coalloc.workloads.swf import no_jobs

Speedup = Literal["linear", "none"]
"""Model of the run time of a job with a range of nodes on other numbers of them."""

MOST_MODES = 16
"""Most numbers of nodes at which a moldable job is tried between the fewest and the most."""
WAITED = "arrived before the period: arrival set to its beginning"
MOLDABLE = "range of nodes: other numbers are modes with a linear speedup, which is assumed"


class Names:
    """Names as the instance has them: numbered in the order in which they come, or themselves."""

    def __init__(self, noun: str, hides: bool) -> None:
        self.noun, self.hides = noun, hides
        self.known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """Return the name that the instance has for a name of the site."""
        return self.known.setdefault(name, f"{self.noun}{len(self.known) + 1}") if self.hides else name


@dataclass
class Making:
    """An instance while it is made; ``kept`` and ``running`` are places of runs in the order of their arrivals.

    ``after`` and ``before`` are the ends of the period since 1970, in s; None: all of the log.
    """

    collecting: Collecting
    after: float | None
    before: float | None
    speedup: Speedup
    hides_names: bool
    kept: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.runs, self.demands = self.collecting.runs, self.collecting.demands
        self.layout = self.demands.layout
        self.user, self.account = Names("user", self.hides_names), Names("account", self.hides_names)
        self.epoch = min(self.runs.arrival, default=0.0) if self.after is None else self.after
        self._choose()
        self.layout.shares_nodes = any(self.runs.demand[place].whole_node for place in (*self.kept, *self.running))
        self._amounts = functools.cache(_amounts)

    def _choose(self) -> None:
        """Choose the runs of the period."""
        runs, count = self.runs, self.collecting
        for place in np.argsort(np.array(runs.arrival), kind="stable").tolist():
            if self.before is not None and runs.arrival[place] >= self.before:
                count.dropped[Left.AFTER] += 1
            elif runs.start[place] >= self.epoch:
                self.kept.append(place)
                count.changed[WAITED] += runs.arrival[place] < self.epoch
            elif runs.start[place] + runs.run[place] > self.epoch:
                self.running.append(place)
            else:
                count.dropped[Left.BEFORE] += 1

    def instance(self, name: str, tables: LimitTables, reservations: Sequence[SlurmReservation]) -> Instance:
        """Return the instance."""
        relations = related(self.runs)
        self.notes.update(relations.broken)
        limiting = Limiting(tables, self.layout.site, self.user, self.account)
        limits = [*limiting.limits(self.runs, relations.together), *relations.limits()]
        self.notes["limits on jobs that alone exceed them"] += limiting.num_exceeding
        blocking = self._blocking(reservations)
        jobs = self._jobs(relations, {run.job.id for run in blocking.running})
        there = {*jobs.column("id"), *(run.job.id for run in blocking.running)}
        return Instance(
            self.layout.platform(blocking.windows),
            tuple(jobs) if len(jobs) <= FEW else jobs,
            blocking.running,
            name,
            limits=[limit for limit in (within(limit, there) for limit in limits) if limit is not None],
        )

    # -------------------------------------------------------------------------- what holds nodes from the beginning

    def _blocking(self, reservations: Sequence[SlurmReservation]) -> Blocking:
        """Return what holds nodes: running jobs, then outages and maintenance, then other reservations."""
        blocking = Blocking(self.layout, self.epoch)
        for run, nodes in self._running_jobs(PlaceOccupancy(self.layout)):
            blocking.running.append(run)
            blocking.hold(nodes, 0.0, run.end)
        blocking.close(self._outages().items(), self.runs.end)
        reserved = Names("reservation ", self.hides_names)
        for reservation in reservations:
            if reservation.is_maintenance:
                blocking.close(((name, reservation.start) for name in reservation.nodes), reservation.end)
        for reservation in reservations:
            if not reservation.is_maintenance:
                blocking.reserve(reservation, reserved(reservation.name))
        self.notes.update(blocking.notes)
        return blocking

    def _outages(self) -> dict[str, float]:
        """Return since when nodes are down: a node that is drained ends the jobs that it has."""
        runs, since = self.runs, dict(self.layout.site.outages)
        for place, node_list in enumerate(runs.hosts) if since else ():
            for name in since.keys() & known_hosts(node_list):
                if runs.start[place] < since[name]:
                    since[name] = max(since[name], runs.start[place] + runs.run[place])
        return since

    def _running_jobs(self, occupancy: PlaceOccupancy) -> Iterable[tuple[RunningJob, Sequence[str]]]:
        """Yield the jobs that run when the period begins, with their nodes."""
        runs = self.runs
        users = self._users()
        for place in sorted(self.running, key=runs.start.__getitem__):
            end = runs.start[place] + runs.run[place]
            found = occupancy.place(runs.hosts[place], runs.tasks[place], runs.start[place], end)
            if found is None:
                self.collecting.dropped[Left.UNPLACED] += 1
                continue
            names, nodes = found
            demand = runs.demand[place]
            per_task, whole = self._held(place)
            job = Job(
                runs.ids[place],
                runs.tasks[place],
                runs.run[place],
                estimate=max(runs.estimate[place], runs.run[place]),
                user=users[runs.owner[place]],
                memory=demand.memory if self._has_memory else None,
                resources=whole,
                task_resources=per_task,
            )
            yield RunningJob(job, names, end - self.epoch), nodes

    def schedule(self, instance: Instance) -> Schedule:
        """Return where and when the jobs of the instance ran, as far as their processors are known."""
        runs, occupancy = self.runs, PlaceOccupancy(self.layout)
        ids = {id: place for place, id in enumerate(instance.job_by_id)}
        placements = []
        for place in sorted((*self.running, *self.kept), key=runs.start.__getitem__):
            start = runs.start[place]
            found = occupancy.place(runs.hosts[place], runs.tasks[place], start, start + runs.run[place])
            if found is not None and runs.ids[place] in ids:
                begin = start - self.epoch
                placements.append(Placement(runs.ids[place], begin, begin + runs.run[place], found[0]))
        return Schedule(placements, instance=instance.name)

    # -------------------------------------------------------------------------- the jobs

    def _jobs(self, relations: Relations, running: set[str]) -> Columns[Job]:
        """Return the jobs of the instance."""
        runs, kept, users = self.runs, self.kept, self._users()
        waiting = {runs.ids[place] for place in kept}
        columns: dict[str, Any] = no_jobs()
        columns["id"] = [runs.ids[place] for place in kept]
        columns["tasks"].extend(runs.tasks[place] for place in kept)
        columns["base_time"].extend(runs.run[place] for place in kept)
        columns["processing_share"].extend(1.0 for _ in kept)
        columns["task_bandwidth"].extend(0.0 for _ in kept)
        columns["arrival"].extend(max(0.0, runs.arrival[place] - self.epoch) for place in kept)
        columns["estimate"].extend(runs.estimate[place] for place in kept)
        columns["user"] = [users[runs.owner[place]] for place in kept]
        held = [self._held(place) for place in kept]
        others: dict[str, list[Any]] = {
            "memory": [runs.demand[place].memory if self._has_memory else None for place in kept],
            "requires": [runs.demand[place].requires for place in kept],
            "task_resources": [per_task for per_task, _ in held],
            "resources": [whole for _, whole in held],
            "shapes": [self._shapes(place, relations) for place in kept],
            "after": [
                tuple(
                    id
                    for other in relations.after.get(place, ())
                    if (id := runs.ids[other]) in waiting or id in running
                )
                for place in kept
            ],
            "lags": [
                tuple(lag for lag in relations.lags(place) if lag.after in waiting)
                if place in relations.since_start or place in relations.together
                else ()
                for place in kept
            ],
        }
        return Columns(Job, columns | {name: column for name, column in others.items() if any(column)})

    def _users(self) -> list[str | None]:
        return [self.user(owner[1]) if owner[1] else None for owner in self.runs.owners]

    @functools.cached_property
    def _has_memory(self) -> bool:
        """Whether memory of nodes is a resource that jobs share."""
        return self.layout.site.schedules_memory and any(kind.node.memory is not None for kind in self.layout.kinds)

    def _held(self, place: int) -> tuple[AmountsByName, AmountsByName]:
        """Return what each task of a run holds, and what the run holds as a whole."""
        demand, licenses = self.runs.demand[place], self.runs.licenses[place]
        share = 0.0
        if self.layout.shares_nodes and not demand.whole_node:
            share = 1.0 / max(self.layout.processors_of(kind.node) for kind in self.layout.kinds)
        whole = ((WHOLE_NODE, 1.0),) if demand.whole_node else ()
        per_task = (*demand.per_task, *(((WHOLE_NODE, share),) if share else ()))
        return self._amounts(per_task), self._amounts((*whole, *sorted(licenses.items())))

    def _shapes(self, place: int, relations: Relations) -> tuple[Shape, ...]:
        """Return the other numbers of nodes on which a job may run, with the same work on all of them."""
        runs = self.runs
        asked, nodes, tasks = runs.submitted[place].nodes, runs.nodes[place], runs.tasks[place]
        if asked is None or self.speedup == "none" or not nodes or tasks % nodes or relations.is_component(place):
            return ()
        numbers = dict.fromkeys(_numbers_of_nodes(*asked))
        demands: Demands = self.demands
        most = demands.capacity(runs.demand[place])
        found = []
        for number in numbers:
            width = tasks // nodes * number
            if number != nodes and width <= most:
                run = runs.run[place] * nodes / number
                found.append(Shape(width, run, max(runs.estimate[place], run)))
        self.collecting.changed[MOLDABLE] += bool(found)
        return tuple(found)


def _amounts(pairs: tuple[tuple[str, float], ...]) -> AmountsByName:
    """Return amounts by name."""
    return AmountsByName(dict(pairs))


def _numbers_of_nodes(fewest: int, most: int) -> Iterable[int]:
    """Return all numbers of nodes of a small range; of a large one the fewest, its doubles, and the most."""
    if most - fewest < MOST_MODES:
        return range(fewest, most + 1)
    return (*takewhile(most.__gt__, (fewest << i for i in range(MOST_MODES))), most)
