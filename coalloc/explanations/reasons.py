"""Reasons: what is said of an instance or a schedule, each with its numbers and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from coalloc.display.wording import plural
from coalloc.documents.text import quoted, visible

About = Literal["infeasible", "undecided", "invalid", "bound", "optimum", "capacity", "wait"]
"""What a reason is about."""

TITLES: Mapping[About, str] = {
    "infeasible": "there is no schedule",
    "undecided": "whether there is any schedule was not decided",
    "invalid": "the schedule is not valid",
    "bound": "what bounds the objective",
    "optimum": "what moves the optimum",
    "capacity": "what moves the bound",
    "wait": "why jobs waited",
}
"""What stands above the reasons of each kind, in the order in which they are given."""

KINDS: Mapping[tuple[About, str], str] = {
    ("infeasible", "processors"): "a job has more tasks (amount) than the scope has processors (limit)",
    ("infeasible", "eligibility"): "a job has more tasks (amount) than it may use processors (limit)",
    ("infeasible", "memory"): "a job has more tasks (amount) than the nodes have memory for (limit)",
    ("infeasible", "resource"): "a job has more tasks (amount) than a resource (where) is enough for (limit)",
    ("infeasible", "link"): "what a job puts on a link at best (amount, MB/s) is more than it carries (limit, MB/s); "
    "without numbers where it has too many allocations to try",
    ("infeasible", "deadline"): "a job ends at the earliest (amount, s) after it has to (limit, s)",
    ("infeasible", "together"): "the last of some jobs ends at the earliest (amount, s) after they have to (limit, s)",
    ("infeasible", "proof"): "a complete method proves it; what it says",
    ("undecided", "limit"): "in the time there was (limit, s) no schedule was found, nor a proof that there is none",
    ("invalid", "violation"): "a rule of the checker (where) that the schedule breaks; amount and limit are its own",
    ("bound", "longest-job"): "one job alone takes so long (amount, s) from the origin",
    ("bound", "area"): "the processor-seconds of the jobs (amount) over the processors (limit)",
    ("bound", "packing"): "jobs that are too wide to run side by side",
    ("bound", "memory"): "what the jobs ask of the nodes' memory",
    ("bound", "resource"): "what the jobs take of a resource (where) over what there is of it",
    ("bound", "work"): "what jobs bring to the parts of the platform that hold them",
    ("bound", "speeds"): "what jobs take at the speeds of the node classes",
    ("bound", "sets"): "which jobs fit beside each other, on processors and links",
    ("bound", "search"): "what the search for a schedule proved beyond that (amount, s)",
    ("bound", "alone"): "what the jobs cost, each alone",
    ("bound", "squashed-area"): "what the jobs cost on one machine that is as fast as all processors together",
    ("bound", "gap"): "the objective of the schedule (amount) and the bound (limit)",
    ("optimum", "link"): "the optimum (limit) falls to amount with twice the bandwidth of a link, both proved",
    ("optimum", "cluster"): "the optimum (limit) falls to amount with a node more in a cluster, both proved",
    ("optimum", "resource"): "the optimum (limit) falls to amount with twice as much of a resource, both proved",
    ("optimum", "releases"): "the optimum (limit) falls to amount if all jobs arrive with the first, both proved",
    ("optimum", "nothing"): "no such change moves the optimum",
    ("capacity", "link"): "the bound (limit) falls to amount with twice the bandwidth of a link",
    ("capacity", "cluster"): "the bound (limit) falls to amount with a node more in a cluster",
    ("capacity", "resource"): "the bound (limit) falls to amount with twice as much of a resource",
    ("capacity", "releases"): "the bound (limit) falls to amount if all jobs arrive with the first",
    ("capacity", "cut"): "the time limit cut the bound of some changes short, so that nothing is said of them",
    ("capacity", "nothing"): "no such change moves the bound",
    ("wait", "arrival"): "a job that was asked about starts as soon as it arrives",
    ("wait", "precedence"): "a job that comes before has not ended",
    ("wait", "processors"): "fewer processors are free (limit) than the job has tasks (amount)",
    ("wait", "link"): "processors are free, but a link would saturate (amount, limit: MB/s) on all of them",
    ("wait", "memory"): "processors are free, but too little memory for its tasks (amount) on their nodes",
    ("wait", "resource"): "processors are free, but too little of a resource (where)",
    ("wait", "reservation"): "it fits, but not for as long as it takes (amount, s): another starts after limit s",
    (
        "wait",
        "window",
    ): "it would fit but for a window, or a running job that starts later; with numbers where that "
    "begins after limit s, before the job would end (amount, s)",
    ("wait", "queue"): "it fits for as long as it takes; a job that was queued earlier has not started either",
    ("wait", "together"): "it fits for as long as it takes, and no job queued earlier waits; it starts with others",
    ("wait", "alone"): "it fits for as long as it takes, and no job queued earlier waits; it starts by itself",
}
"""What each kind of reason means, and what its numbers are."""

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
        Kind within the topic; ``coalloc.explanations.reasons.KINDS`` defines what ``amount`` and ``limit`` are.
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
        return "\n".join(lines) or "no job waited, and there is nothing to explain"

    __repr__ = __str__


def named(jobs: tuple[str, ...]) -> str:
    """Return the names of jobs as a sentence has them, the first few where there are many."""
    shown = ", ".join(quoted(job) for job in jobs[:NAMED_JOBS])
    return shown if len(jobs) <= NAMED_JOBS else f"{shown} and {plural(len(jobs) - NAMED_JOBS, 'other')}"
