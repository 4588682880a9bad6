"""The policies that an audit tries over the whole period: which one it names, what that gains, and what it costs whom.

Each runs once from the beginning of the period to its end. A job counts in the interval in which it arrives. The policy
is chosen on the odd intervals and its gain is measured on the even ones, because the best of many policies on the same
intervals flatters itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coalloc.measures.groups import Labels, name_labels, size_labels
from coalloc.measures.intervals import ConfidenceInterval, statistic_interval
from coalloc.studies.audit_windows import AuditWindow, Floats, Ints, bounded_slowdowns

if TYPE_CHECKING:
    import pandas as pd

Truths = NDArray[np.bool_]
Policy = Mapping[str, Any]
"""``{"policy": name, option: value}``."""

AS_IT_WAS = "audited schedule"

SHORTEST_FIRST = ("spt", "sjf", "f1", "f2", "f3", "f4")
"""Queue orders that favour short or small jobs, and let others starve."""

AGING = ("wfp3", "unicef")
"""Queue orders by which the priority of a job grows while it waits."""

MOST_BLOCKS = 500
"""Intervals up to which each is a sample of its own; of more, neighbours are samples together."""

SAME = 0.02
"""Policies whose mean waits differ by a smaller share are equally good."""

STARVED_AFTER = 86_400.0
STARVED_TIMES = 10.0
"""A job starves if it waits longer than a day (s) and than ten times its requested walltime."""

LENGTHS = (600.0, 3_600.0, 6 * 3_600.0, 86_400.0)
LENGTH_NAMES = ("up to 10 min", "10 min to 1 h", "1 h to 6 h", "6 h to 1 d", "above 1 d")
"""Classes of run times, s."""

PERSONAL = ("account", "user")
"""Groups that are only named where that is asked for."""

UNKNOWN = "unknown"

STATISTICS: Mapping[str, Callable[[Floats], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "p90": lambda waits: np.percentile(waits, 90.0),
    "p99": lambda waits: np.percentile(waits, 99.0),
    "max": np.max,
}
"""Statistics of the waits of jobs, s."""


def spelled(policy: Policy) -> str:
    """Return a policy with its options as the shell accepts it: ``easy queue_order=f1``."""
    return " ".join([str(policy["policy"]), *options_of(policy)])


def options_of(policy: Policy) -> Iterator[str]:
    """Yield the options of a policy as the shell accepts them: ``queue_order=f1``."""
    for name, value in policy.items():
        if name != "policy":
            yield f"{name}={value if isinstance(value, str) else json.dumps(value)}"


def _candidates() -> Iterator[Policy]:
    """Yield the policies that are tried by default."""
    orders = ("fcfs", *SHORTEST_FIRST, *AGING)
    for candidates, order in product(("queue", "spt"), orders):
        if not (candidates == "spt" and order == "spt"):
            own = {"queue_order": order} if order != "fcfs" else {}
            yield {"policy": "easy", **own, **({"candidates": candidates} if candidates != "queue" else {})}
    yield {"policy": "conservative"}
    for order in orders:
        yield {"policy": "list", "queue_order": order, "skip": True}


CANDIDATES: Mapping[str, Policy] = {spelled(policy): policy for policy in _candidates()}
"""The policies that are tried by default, all of which know requested walltimes only."""

IN_INTERVALS = ("easy", "easy candidates=spt", "easy queue_order=spt", "easy queue_order=f1")
"""Policies that run in each interval, too, and with true run times, where searches begin."""


def refinements(trials: Trials) -> dict[str, Policy]:
    """Return EASY with the best of its queue orders on the odd intervals, and the orders of candidates not tried."""
    easy = [trial for trial in trials.policies if trial.policy is not None and trial.policy["policy"] == "easy"]
    best = min(easy, key=lambda trial: float(trial.waits[trials.jobs.chosen_on].mean()), default=None)
    if best is None or best.policy is None:
        return {}
    others = (order for order in (*SHORTEST_FIRST, *AGING) if order != best.policy.get("queue_order"))
    made = ({**best.policy, "candidates": order} for order in others)
    return {spelled(policy): policy for policy in made if spelled(policy) not in CANDIDATES}


@dataclass(frozen=True, eq=False)
class PolicyTrial:
    """A schedule of the period: its label, its policy (None: the audited schedule), and the wait of each job, s.

    ``lengths`` are the run times, s; None: those of the jobs.
    """

    label: str
    policy: Policy | None
    waits: Floats
    lengths: Floats | None = None


@dataclass(frozen=True)
class Population:
    """The jobs of the period: in which interval each counts, and what groups it is in.

    ``interval`` numbers the intervals that have jobs from 1; ``length`` is the run time, ``request`` the requested
    walltime, s. ``memberships`` say to what each job belongs, such as its queue, and whose it is; None: unknown.
    """

    interval: Ints
    processors: Ints
    length: Floats
    request: Floats
    memberships: Mapping[str, Labels]

    @classmethod
    def of(cls, window: AuditWindow, length: float, memberships: Mapping[str, Labels]) -> Population:
        """Return the jobs of a period that is cut into intervals of a length, s; memberships are of all its history."""
        jobs, columns = window.sample.instance.jobs, window.sample.jobs
        _, interval = np.unique(columns.release // length, return_inverse=True)
        request = np.array([job.estimate for job in jobs], dtype=np.float64)
        of_jobs = {name: labels.taken(window.rows) for name, labels in memberships.items()}
        if any(job.user is not None for job in jobs):
            of_jobs["user"] = name_labels([job.user for job in jobs])
        return cls(interval.astype(np.int64) + 1, columns.processors, columns.run, request, of_jobs)

    @property
    def num_intervals(self) -> int:
        """Intervals that have jobs."""
        return int(self.interval.max())

    @property
    def chosen_on(self) -> Truths:
        """Whether a policy is chosen by a job: those of odd intervals."""
        return np.equal(self.interval % 2, 1)

    @property
    def measured_on(self) -> Truths:
        """Whether the gain is measured on a job: those of even intervals, all where there is one interval."""
        return ~self.chosen_on if self.num_intervals > 1 else self.chosen_on

    def starved(self, waits: Floats) -> Truths:
        """Return whether each job starves."""
        longest: Floats = np.maximum(STARVED_AFTER, STARVED_TIMES * self.request)
        return np.greater(waits, longest)

    def groups(self, named_users: bool) -> dict[str, Labels]:
        """Return the groups by what they are made of; users and accounts are numbered unless they are to be named."""
        lengths = Labels(LENGTH_NAMES, np.searchsorted(LENGTHS, self.length).astype(np.int64))
        found = {"size": size_labels(self.processors), "length": lengths}
        for name, labels in self.memberships.items():
            if name in PERSONAL:
                found[name] = self._by_work(labels, name, named_users)
            elif len(np.unique(labels.of_job)) > 1:
                found[name] = Labels([UNKNOWN if group is None else group for group in labels.names], labels.of_job)
        return found

    def _by_work(self, labels: Labels, of_what: str, are_named: bool) -> Labels:
        """Return the groups in the order of their work, and numbered in it unless they are to be named."""
        by_work = np.argsort(-np.bincount(labels.of_job, self.processors * self.length), kind="stable")
        rank = np.argsort(by_work)
        names: list[Hashable] = [f"{of_what} {number}" for number in range(1, len(by_work) + 1)]
        if are_named:
            names = [UNKNOWN if labels.names[place] is None else labels.names[place] for place in by_work.tolist()]
        return Labels(names, rank[labels.of_job].astype(np.int64))


@dataclass(frozen=True)
class Trials:
    """The audited schedule and the policies that were tried, job by job; ``unfinished`` ones took too long.

    ``model`` is the one of them that models the site, if one does.
    """

    jobs: Population
    audited: PolicyTrial
    policies: tuple[PolicyTrial, ...]
    unfinished: tuple[str, ...]
    model: PolicyTrial | None = None

    @cached_property
    def named(self) -> PolicyTrial | None:
        """The policy that the audit names: of those as good as the best, that of the least 99th percentile of waits.

        Both are told by the odd intervals. None where no policy makes the jobs wait less than both the audited schedule
        and the model of the site: a gain over one of the two may be an error of the model.
        """
        rows = self.jobs.chosen_on
        means = {trial: float(trial.waits[rows].mean()) for trial in self.policies if trial is not self.model}
        least = min(means.values(), default=math.inf)
        now = [trial for trial in (self.audited, self.model) if trial is not None]
        if not all(least < float(trial.waits[rows].mean()) for trial in now):
            return None
        equal = (trial for trial, mean in means.items() if mean * (1.0 - SAME) <= least)
        return min(equal, key=lambda trial: float(np.percentile(trial.waits[rows], 99.0)))

    @cached_property
    def gain(self) -> ConfidenceInterval:
        """The share of the waiting on the even intervals that the named policy avoids, with its 95 % interval."""
        rows = self.jobs.measured_on
        blocks, number = blocks_of(self.jobs.interval[rows])
        trials = (self.audited, self.named or self.audited)
        sums = np.stack([np.bincount(blocks, trial.waits[rows]) for trial in trials], axis=1).astype(np.float64)
        found = statistic_interval(sums, _share_avoided)
        return found._replace(high=float(np.minimum(1.0, found.high)), samples=number)

    def mean(self, measure: str, trial: PolicyTrial) -> float:
        """Return the mean wait (s), or the mean bounded slowdown, of a schedule."""
        lengths = self.jobs.length if trial.lengths is None else trial.lengths
        of_jobs = trial.waits if measure == "wait" else bounded_slowdowns(trial.waits, lengths)
        return float(of_jobs.mean())

    def gain_over(self, other: Floats) -> float:
        """Return the share of other waits that the named policy avoids in the whole period."""
        waits = (self.named or self.audited).waits
        return float(_share_avoided(np.array([[other.sum(), waits.sum()]])))

    @property
    def table(self) -> pd.DataFrame:
        """A row for the audited schedule and for each policy, the least mean wait first."""
        import pandas as pd

        odd, even = self.jobs.chosen_on, self.jobs.measured_on
        rows = [
            {"policy": trial.label, "kind": self._kind(trial)}
            | {f"wait_{name}": float(statistic(trial.waits)) for name, statistic in STATISTICS.items()}
            | {"starved": int(self.jobs.starved(trial.waits).sum())}
            | {"wait_chosen_on": float(trial.waits[odd].mean()), "wait_measured_on": float(trial.waits[even].mean())}
            for trial in (self.audited, *self.policies)
        ]
        for tail in ("p99", "max"):
            points = np.array([[row["wait_mean"], row[f"wait_{tail}"]] for row in rows])
            for row, is_on in zip(rows, on_front(points).tolist(), strict=True):
                row[f"front_{tail}"] = is_on
        return pd.DataFrame(rows).sort_values("wait_mean", kind="stable", ignore_index=True)

    def _kind(self, trial: PolicyTrial) -> str:
        kinds = {"audited": self.audited, "named": self.named, "model": self.model}
        return next((kind for kind, found in kinds.items() if found is trial), "tried")

    def groups(self, *, users: bool = False) -> pd.DataFrame:
        """Return a row for each group of jobs: its waits in the audited schedule and under the named policy."""
        import pandas as pd

        after = self.named or self.audited
        rows = []
        for by, labels in self.jobs.groups(users).items():
            for number in np.unique(labels.of_job).tolist():
                members = labels.of_job == number
                row = {"by": by, "group": labels.names[number], "jobs": int(members.sum())}
                for name, trial in (("before", self.audited), ("after", after)):
                    waits = trial.waits[members]
                    row |= {f"{key}_{name}": float(statistic(waits)) for key, statistic in STATISTICS.items()}
                    row[f"starved_{name}"] = int(self.jobs.starved(trial.waits)[members].sum())
                rows.append(row)
        return pd.DataFrame(rows)


def blocks_of(intervals: Ints) -> tuple[Ints, int]:
    """Return of which sample each job is part, by its interval, and the number of intervals that have jobs."""
    _, interval = np.unique(intervals, return_inverse=True)
    number = int(interval.max()) + 1
    return np.asarray(interval * min(number, MOST_BLOCKS) // number), number


def _share_avoided(sums: Floats) -> Floats:
    """Return the share of sums of waits, before and after in the last axis, that is avoided over the axis before it."""
    before, after = np.moveaxis(sums.sum(axis=-2), -1, 0)
    return np.asarray(1.0 - np.divide(after, before, out=np.ones_like(before), where=before > 0.0))


def on_front(points: Floats) -> Truths:
    """Return whether each point is on the Pareto front, of equal ones the first.

    A point is not if another is at most as large in each coordinate, and smaller in one or before it.
    """
    at_most = (points[:, None] <= points[None]).all(axis=2)
    smaller = (points[:, None] < points[None]).any(axis=2)
    is_before = np.tri(len(points), k=-1, dtype=bool).T
    return np.asarray(~(at_most & (smaller | is_before)).any(axis=0))
