"""Reasons: what is said of an instance or a schedule, each with its numbers and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from coalloc.documents.text import quoted, visible
from coalloc.documents.wording import plural

About = Literal["infeasible", "undecided", "invalid", "bound", "optimum", "capacity", "wait"]
"""Subject of a reason."""

TITLES: Mapping[About, str] = {
    "infeasible": "there is no schedule",
    "undecided": "undecided whether a schedule exists",
    "invalid": "the schedule is invalid",
    "bound": "what bounds the objective",
    "optimum": "what reduces the optimum",
    "capacity": "what reduces the bound",
    "wait": "why jobs wait",
}
"""Title of the reasons of each kind, in the order in which they are given."""

KINDS: Mapping[tuple[About, str], str] = {
    ("infeasible", "processors"): "a job has more tasks (amount) than the scope has processors (limit)",
    ("infeasible", "eligibility"): "a job has more tasks (amount) than processors that it may use (limit)",
    ("infeasible", "memory"): "a job has more tasks (amount) than fit into the memory of the nodes (limit)",
    ("infeasible", "resource"): "a job has more tasks (amount) than a resource (where) suffices for (limit)",
    ("infeasible", "link"): "the minimum load of a job on a link (amount, MB/s) exceeds its limit (limit, MB/s); "
    "without numbers for jobs with too many allocations",
    ("infeasible", "deadline"): "the earliest end of a job (amount, s) is after its deadline (limit, s)",
    ("infeasible", "together"): "the earliest last end of some jobs (amount, s) is after their deadlines (limit, s)",
    ("infeasible", "proof"): "the proof of a complete method",
    ("undecided", "limit"): "neither a schedule nor a proof of infeasibility was found in the time limit (limit, s)",
    ("invalid", "violation"): "a violation of a rule of the checker (where), with its amount and limit",
    ("bound", "longest-job"): "the earliest end of one job (amount, s from the origin)",
    ("bound", "area"): "the processor-seconds of the jobs (amount) over the processors (limit)",
    ("bound", "packing"): "jobs that are too wide to run in parallel",
    ("bound", "memory"): "the memory demand of the jobs over the memory of the nodes",
    ("bound", "resource"): "the demand of the jobs for a resource (where) over its capacity",
    ("bound", "work"): "the work of the jobs on the parts of the platform that can hold them",
    ("bound", "speeds"): "the work of the jobs at the speeds of the node classes",
    ("bound", "sets"): "the sets of jobs that fit in parallel, on processors and links (feasible-set LP)",
    ("bound", "search"): "a higher bound (amount) that the solver proved",
    ("bound", "alone"): "the cost of each job alone",
    ("bound", "squashed-area"): "the cost of the jobs on one machine as fast as all processors together",
    ("bound", "gap"): "the objective of the schedule (amount) and the bound (limit)",
    ("optimum", "link"): "twice the bandwidth of a link reduces the optimum from limit to amount, both proved",
    ("optimum", "cluster"): "one more node in a cluster reduces the optimum from limit to amount, both proved",
    ("optimum", "resource"): "twice the capacity of a resource reduces the optimum from limit to amount, both proved",
    ("optimum", "limit"): "twice the capacity of a limit (where) reduces the optimum from limit to amount, both proved",
    ("optimum", "releases"): "arrival of all jobs with the first reduces the optimum from limit to amount, both proved",
    ("optimum", "nothing"): "none of these changes reduces the optimum",
    ("capacity", "link"): "twice the bandwidth of a link reduces the bound from limit to amount",
    ("capacity", "cluster"): "one more node in a cluster reduces the bound from limit to amount",
    ("capacity", "resource"): "twice the capacity of a resource reduces the bound from limit to amount",
    ("capacity", "limit"): "twice the capacity of a limit (where) reduces the bound from limit to amount",
    ("capacity", "releases"): "arrival of all jobs with the first reduces the bound from limit to amount",
    ("capacity", "cut"): "the time limit interrupted the bounds of some changes, whose effect is unknown",
    ("capacity", "nothing"): "none of these changes reduces the bound",
    ("wait", "arrival"): "a job starts at its arrival",
    ("wait", "precedence"): "a predecessor has not ended",
    ("wait", "lag"): "a lag from or to another job (where) does not let it start before limit s",
    ("wait", "processors"): "fewer processors are free (limit) than the job has tasks (amount)",
    ("wait", "link"): "enough processors are free, but every allocation saturates a link (amount, limit: MB/s)",
    ("wait", "memory"): "enough processors are free, but their nodes have too little memory for its tasks (amount)",
    ("wait", "resource"): "enough processors are free, but too little of a resource (where)",
    ("wait", "reservation"): "the job fits, but not for its run time (amount, s): another job starts after limit s",
    (
        "wait",
        "window",
    ): "the job would fit without an outage or reservation; with numbers where that "
    "begins after limit s, before the job would end (amount, s)",
    ("wait", "queue"): "the job fits for its run time; a job that was queued earlier is also waiting",
    ("wait", "together"): "the job fits for its run time, and no earlier job is waiting; other jobs start with it",
    ("wait", "alone"): "the job fits for its run time, and no earlier job is waiting; it starts alone",
}
"""Meaning of each kind of reason, and of its numbers."""

MOST_LINES = 20
"""Reasons of one title that are printed."""
NAMED_JOBS = 5
"""Jobs that a sentence names."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of an explanation, with its numbers and a sentence.

    Attributes
    ----------
    about : str
        Topic: ``"infeasible"``, ``"undecided"``, ``"invalid"``, ``"bound"``, ``"optimum"``, ``"capacity"`` or
        ``"wait"``.
    kind : str
        Kind within the topic; docs/reasons.md defines what ``amount`` and ``limit`` are.
    jobs : tuple of str
        Ids of the jobs.
    where : str
        Name of a link, cluster, resource or rule; empty if there is none.
    amount : float or None
        The measured number.
    limit : float or None
        The number that it is compared with.
    sentence : str
        The reason as a sentence.
    since : float or None
        Time from which the reason holds, s.
    until : float or None
        Time until which the reason holds, s.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.explain(coalloc.example("thesis-oas-1")).reasons[0].kind
    'sets'
    """

    about: About
    kind: str
    jobs: tuple[str, ...]
    where: str
    amount: float | None
    limit: float | None
    sentence: str
    since: float | None = None
    until: float | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The result of ``coalloc.explain``; printing it shows the sentences.

    Attributes
    ----------
    instance : str
        Name of the instance.
    reasons : tuple of Reason
        The reasons, by topic.

    Examples
    --------
    >>> import coalloc
    >>> explanation = coalloc.explain(coalloc.example("thesis-oas-1"))
    >>> [(reason.kind, round(reason.amount)) for reason in explanation.of("bound")]
    [('sets', 7495595)]
    """

    instance: str
    reasons: tuple[Reason, ...]

    def of(self, about: str) -> tuple[Reason, ...]:
        """Return the reasons about one topic.

        Parameters
        ----------
        about : str
            ``"infeasible"``, ``"undecided"``, ``"invalid"``, ``"bound"``, ``"optimum"``, ``"capacity"`` or ``"wait"``.

        Returns
        -------
        tuple of Reason
            The reasons.
        """
        return tuple(reason for reason in self.reasons if reason.about == about)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a JSON document.

        Returns
        -------
        dict
            ``instance`` and ``reasons``.
        """
        return {"instance": self.instance, "reasons": [asdict(reason) for reason in self.reasons]}

    def __str__(self) -> str:
        lines = []
        for about, title in TITLES.items():
            reasons = self.of(about)
            if reasons:
                lines.append(f"{title}:")
                lines += [f"  {visible(reason.sentence)}" for reason in reasons[:MOST_LINES]]
            if len(reasons) > MOST_LINES:
                lines.append(f"  and {len(reasons) - MOST_LINES} more")
        return "\n".join(lines) or "nothing to explain: no job waited"

    __repr__ = __str__


def named(jobs: tuple[str, ...]) -> str:
    """Return the names of jobs as a sentence has them, the first few where there are many."""
    shown = ", ".join(quoted(job) for job in jobs[:NAMED_JOBS])
    return shown if len(jobs) <= NAMED_JOBS else f"{shown} and {plural(len(jobs) - NAMED_JOBS, 'other')}"
