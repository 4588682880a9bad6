"""Relations between runs of Slurm jobs: requeued jobs, dependencies, heterogeneous jobs, throttled arrays.

A relation that the log contradicts was changed later, and is left out: a job started before the other had ended. So
relations have no cycles. Source: the manual page sbatch (``--dependency``, ``--array``) of Slurm, and its guide
to heterogeneous jobs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from coalloc.instance import Lag, Limit
from coalloc.instance.rounding import TIME_TOLERANCE
from coalloc.workloads.slurm.runs import Runs

ENDED = frozenset({"afterok", "afterany", "afternotok", "afterburstbuffer", "aftercorr"})
"""Dependencies on the end of other jobs; those that ran have satisfied them."""
OTHER = re.compile(r"(\d+(?:[_+](?:\d+|\*))?)()")
STARTED = re.compile(r"(\d+(?:_(?:\d+|\*))?)(?:\+(\d+))?")
"""Another job, and for ``after`` the minutes since its start."""


class Broken(StrEnum):
    """Why a relation is not in the instance."""

    UNKNOWN = "dependency on a job outside the log: left out"
    CONTRADICTED = "dependency that the log contradicts: left out"
    ANY = "dependencies of which any one suffices (?): left out"
    OTHER = "dependency of another type, or not readable: left out"
    NO_NAMES = "dependency singleton without JobName and User in the log: left out"
    APART = "components of heterogeneous jobs with different starts: independent"
    DIFFERENT = "components of heterogeneous jobs that ask different nodes: simulate does not support them"


@dataclass(slots=True)
class Relations:
    """Relations of runs, by their places."""

    runs: Runs
    after: dict[int, list[int]] = field(default_factory=dict)
    since_start: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    together: dict[int, int] = field(default_factory=dict)
    leaders: set[int] = field(default_factory=set)
    arrays: dict[str, list[int]] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)

    def is_component(self, place: int) -> bool:
        """Return whether a run starts together with others."""
        return place in self.together or place in self.leaders

    def lags(self, place: int) -> tuple[Lag, ...]:
        """Return the lags of a run."""
        ids = self.runs.ids
        found = [Lag(ids[other], "start", min=lag) for other, lag in self.since_start.get(place, ())]
        if place in self.together:
            found.append(Lag(ids[self.together[place]], "start", min=0.0, max=0.0))
        return tuple(found)

    def limits(self) -> Iterator[Limit]:
        """Yield a limit for each array of which more tasks ran than its throttle lets run at once."""
        for array, places in self.arrays.items():
            throttle = self.runs.throttles[array]
            if len(places) > throttle:
                yield Limit(f"array {array}", [self.runs.ids[place] for place in places], float(throttle))


def related(runs: Runs) -> Relations:
    """Return how runs depend on each other; each gets an id of its own."""
    relations = Relations(runs)
    last = _name_runs(relations)
    bases = _by_base(relations, last)
    for place, told in enumerate(runs.submitted):
        if told.dependency:
            _depend(relations, last, bases, place, told.dependency)
    _order_singletons(relations)
    _join_components(relations, bases)
    return relations


def _ends_by(runs: Runs, one: int, other: int) -> bool:
    """Return whether a run had ended when another started."""
    return runs.start[one] + runs.run[one] <= runs.start[other] + TIME_TOLERANCE


def _name_runs(relations: Relations) -> dict[str, int]:
    """Give earlier runs of a job ids of their own, each before the next; return the last run of each job."""
    runs = relations.runs
    last: dict[str, int] = {}
    again: dict[str, list[int]] = {}
    for place, id in enumerate(runs.ids):
        if id in last:
            again.setdefault(id, [last[id]]).append(place)
        last[id] = place
    for id, places in again.items():
        places.sort(key=runs.start.__getitem__)
        last[id] = places[-1]
        for number, (place, following) in enumerate(pairwise(places), start=1):
            runs.ids[place] = f"{id} run {number}"
            _follow(relations, following, place)
    return last


def _follow(relations: Relations, place: int, other: int) -> None:
    """Let a run start after the end of another, unless the log contradicts that."""
    if other == place or not _ends_by(relations.runs, other, place):
        relations.broken[Broken.CONTRADICTED] += 1
    elif other not in relations.after.setdefault(place, []):
        relations.after[place].append(other)


def _by_base(relations: Relations, last: dict[str, int]) -> dict[str, list[int]]:
    """Return the last runs of the tasks of arrays and of the components of heterogeneous jobs, by their common id."""
    runs, bases = relations.runs, dict[str, list[int]]()
    for id, place in last.items():
        base = re.split("[_+]", id, maxsplit=1)[0] if "_" in id or "+" in id else id
        if base != id:
            bases.setdefault(base, []).append(place)
            throttle = runs.submitted[place].throttle
            if throttle and "_" in id:
                runs.throttles.setdefault(base, throttle)
    relations.arrays = {base: bases[base] for base in runs.throttles if base in bases}
    return bases


def _depend(relations: Relations, last: dict[str, int], bases: dict[str, list[int]], place: int, text: str) -> None:
    """Add the dependencies of a run."""
    if "?" in text:
        relations.broken[Broken.ANY] += 1
        return
    for entry in re.sub(r"\([^)]*\)", "", text).split(","):
        kind, *others = entry.strip().lower().split(":")
        if kind == "singleton":
            continue
        found = [(STARTED if kind == "after" else OTHER).fullmatch(other) for other in others]
        if kind not in (*ENDED, "after") or None in found:
            relations.broken[Broken.OTHER] += 1
            continue
        for match in filter(None, found):
            id, minutes = match[1], match[2]
            if kind == "aftercorr" and "_" in relations.runs.ids[place]:
                id = f"{id}_{relations.runs.ids[place].partition('_')[2].split()[0]}"
            base = id.removesuffix("*").rstrip("_+")
            places = [last[id]] if id in last else bases.get(base, [])
            if not places:
                relations.broken[Broken.UNKNOWN] += 1
            for other in places:
                if kind == "after":
                    _follow_start(relations, place, other, 60.0 * int(minutes or 0))
                else:
                    _follow(relations, place, other)


def _follow_start(relations: Relations, place: int, other: int, lag: float) -> None:
    """Let a run start a time after the start of another, unless the log contradicts that."""
    runs = relations.runs
    if (
        other == place
        or runs.start[other] + lag > runs.start[place] + TIME_TOLERANCE
        or runs.submit[other] > runs.submit[place]
    ):
        relations.broken[Broken.CONTRADICTED] += 1
    else:
        relations.since_start.setdefault(place, []).append((other, lag))


def _order_singletons(relations: Relations) -> None:
    """Let each singleton start after all jobs of its user and name that were submitted before it."""
    runs = relations.runs
    singletons = [p for p, told in enumerate(runs.submitted) if "singleton" in told.dependency.lower()]
    if not singletons:
        return
    known = {key for (user, name), key in runs.names.items() if user and name}
    keys = {runs.key[place] for place in singletons} & known
    relations.broken[Broken.NO_NAMES] += sum(runs.key[place] not in known for place in singletons)
    alike: dict[int, list[int]] = {}
    for place, key in enumerate(runs.key):
        if key in keys:
            alike.setdefault(key, []).append(place)
    single = set(singletons)
    for places in alike.values():
        before: list[int] = []
        for place in sorted(places, key=lambda place: (runs.submit[place], place)):
            if place in single:
                for other in before:
                    _follow(relations, place, other)
                before = []  # the next waits for this one, which waits for them
            before.append(place)


def _join_components(relations: Relations, bases: dict[str, list[int]]) -> None:
    """Let the components of each heterogeneous job start together."""
    runs = relations.runs
    for places in bases.values():
        first = min(places, key=lambda place: (runs.start[place], place))
        if "+" not in runs.ids[first]:
            continue
        if any(runs.start[place] != runs.start[first] for place in places):
            relations.broken[Broken.APART] += len(places)
            continue
        if any(runs.demand[place].requires != runs.demand[first].requires for place in places):
            relations.broken[Broken.DIFFERENT] += len(places)
        relations.leaders.add(first)
        relations.together.update({place: first for place in places if place != first})
