"""The words that an instance may use and that not every method knows: which these are, and how a method refuses them.

A method that does not know a word refuses an instance that uses it, in one line: it never ignores one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coalloc.documents.errors import CoallocError

if TYPE_CHECKING:
    from coalloc.instance.job import Job
    from coalloc.instance.platform import Platform


class Placed(Protocol):
    """What is looked at of a job that is placed already."""

    @property
    def start(self) -> float:
        """From when on it holds its processors, s."""


class Worded(Protocol):
    """What is looked at of an instance."""

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs to schedule."""

    @property
    def running(self) -> Sequence[Placed]:
        """The jobs that are placed already."""

    @property
    def platform(self) -> Platform:
        """Where jobs run."""

    @property
    def words(self) -> Collection[str]:
        """The names of the words that it uses."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: what it says, and whether an instance uses it."""

    says: str
    is_used: Callable[[Worded], bool]


WORDS: Mapping[str, Word] = {
    "deadline": Word(
        "time by which a job must end",
        lambda instance: any(job.deadline is not None for job in instance.jobs),
    ),
    "after": Word(
        "precedence: jobs that must end before a job starts", lambda instance: any(job.after for job in instance.jobs)
    ),
    "eligible": Word("clusters on which a job may run", lambda instance: any(job.eligible for job in instance.jobs)),
    "requires": Word("node features that a job requires", lambda instance: any(job.requires for job in instance.jobs)),
    "times": Word(
        "run times by node feature",
        lambda instance: any(job.times or any(shape.times for shape in job.shapes) for job in instance.jobs),
    ),
    "shapes": Word(
        "alternative modes of a moldable job",
        lambda instance: any(job.shapes for job in instance.jobs),
    ),
    "unavailable": Word(
        "maintenance windows and outages of parts of the platform", lambda instance: bool(instance.platform.unavailable)
    ),
    "start": Word(
        "advance reservations: running jobs that start in the future",
        lambda instance: any(run.start > 0.0 for run in instance.running),
    ),
    "resources": Word(
        "resources with a capacity: licenses, GPUs (GRES), power",
        lambda instance: any(job.asks_resources for job in instance.jobs),
    ),
}
"""Every word by its name."""


def refuse_words(instance: Worded, what: str, unknown: Collection[str], why: str = "") -> None:
    """Raise :class:`CoallocError` where an instance uses a word that ``what`` does not know, and say why if it is."""
    used = [word for word in instance.words if word in unknown]
    if used:
        because = f": {why}" if why else ""
        raise CoallocError(
            f"{what} does not support {' and '.join(map(repr, used))}, which this instance uses{because}"
        )
