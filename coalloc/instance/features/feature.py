"""Modelling features: their fields, and all that the rest of the code asks about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from coalloc.documents.columns import some_has
from coalloc.documents.errors import CoallocError, Fault
from coalloc.documents.text import quoted
from coalloc.instance.constraints import Declaration
from coalloc.instance.job import Job

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


class Stated(NamedTuple):
    """Statements of an instance, or of a parsed document: jobs that may use features, with their places, and more.

    ``ids`` are those of the ``num_jobs`` jobs to schedule, then those of running jobs.
    """

    jobs: Sequence[tuple[int, object]]
    ids: Sequence[str | None]
    num_jobs: int
    running: Sequence[object]
    platform: object
    limits: Sequence[object]


class Wait(NamedTuple):
    """In a simulation a job joins the queue a time (s) after another (by id) has started or ended, or later."""

    job: str
    other: str
    event: Literal["start", "end"]
    seconds: float


class Condition(NamedTuple):
    """Requirement of an instance, in words, and a function that returns the instance without it."""

    sentence: str
    left_out: Callable[[Instance], Instance]


def no_faults(_: Stated) -> Iterable[Fault]:
    """Return nothing: whatever the fields allow is right."""
    return ()


@dataclass(frozen=True, slots=True)
class Feature:
    """A modelling feature: the fields that state it (``Class.field``), and whether an instance uses it.

    ``faults`` are errors of what is stated, ``platform_faults`` those of a platform. ``declare`` returns the feature as
    constraints, ``waits`` what jobs wait for in a simulation, and ``conditions`` what could be done without, to explain
    that there is no schedule. What none of these say of it are capacities, run times and shapes: methods read fields.
    """

    fields: tuple[str, ...]
    is_used: Callable[[Instance], bool]
    faults: Callable[[Stated], Iterable[Fault]] = no_faults
    platform_faults: Callable[[object], Iterable[Fault]] = lambda _: ()
    declare: Callable[[Instance], Iterable[Declaration]] = lambda _: ()
    waits: Callable[[Instance], Iterable[Wait]] = lambda _: ()
    conditions: Callable[[Instance], Iterable[Condition]] = lambda _: ()

    @property
    def has_faults(self) -> bool:
        """Whether something may be wrong with what jobs state of it, beyond the fields by themselves."""
        return self.faults is not no_faults


class UnsupportedFeature(CoallocError):  # noqa: N818 - what it is, not that it is an error
    """A method does not support a modelling feature that an instance uses; raised before any work begins.

    Attributes
    ----------
    method : str
        The method.
    features : tuple of str
        Names of the features that it does not support.

    See Also
    --------
    coalloc.solve : Supports every feature with regular objectives.

    Notes
    -----
    docs/methods.md lists which method supports which feature.

    Examples
    --------
    >>> import coalloc
    >>> job = coalloc.Job("J1", tasks=1, base_time=10.0, deadline=20.0)
    >>> instance = coalloc.example("pas-figure-3.3").replace(jobs=[job])
    >>> try:
    ...     coalloc.solve(instance, model="pas")
    ... except coalloc.UnsupportedFeature as error:
    ...     print(error.features)
    ('deadline',)
    """

    def __init__(self, method: str, features: Iterable[str], why: str = "", *, of: str = "instance") -> None:
        self.method, self.features = method, tuple(features)
        because = f": {why}" if why else ""
        used = " and ".join(map(repr, self.features))
        super().__init__(f"{method} does not support {used}, which this {of} uses{because}")


class RelaxedFeatureWarning(UserWarning):
    """A lower bound leaves out features of an instance, or constraints: it also holds without them.

    See Also
    --------
    coalloc.lower_bound : Warns where a bound on energy relaxes features.

    Examples
    --------
    >>> import warnings
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> jobs = [job.replace(deadline=100.0) for job in instance.jobs]
    >>> with warnings.catch_warnings(record=True) as found:
    ...     bound = coalloc.lower_bound(instance.replace(jobs=jobs), "energy")
    >>> print(found[0].message)
    lower_bound with objective 'energy' relaxes 'deadline'; it also holds without
    """


def of_job(job: Job, change: Callable[[Job], Job]) -> Callable[[Instance], Instance]:
    """Return a change of one job of an instance."""
    return lambda instance: instance.replace(jobs=[change(j) if j.id == job.id else j for j in instance.jobs])


def some_job_has(field: str) -> Callable[[Instance], bool]:
    """Return whether a job of an instance has something in a field."""
    return lambda instance: some_has(instance.jobs, field)


def conditions_of(
    field: str, words: Callable[[Job], str], empty: object = None
) -> Callable[[Instance], Iterator[Condition]]:
    """Return the conditions of a field of jobs, of which ``words`` says what it asks for; left out it is ``empty``."""

    def conditions(instance: Instance) -> Iterator[Condition]:
        for job in instance.jobs:
            if getattr(job, field) != empty:
                sentence = f"job {quoted(job.id)} {words(job)}"
                yield Condition(sentence, of_job(job, lambda j: j.replace(**{field: empty})))

    return conditions
