"""Failures of nodes, and the runs of jobs that ended before their jobs, because of them or of other jobs."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.values import LEFT_OUT, Seconds, Text, Value, value
from coalloc.instance.processor_names import NamesField
from coalloc.schedule.placement import Instant, Outcome, Placement, ShapeNumber

Cause = Literal["failure", "preemption", "suspension"]


@value()
class Failure(Value):
    """A failure of nodes: they are unavailable until they are repaired, and no policy knows of it in advance.

    Parameters
    ----------
    nodes : sequence of str
        Names of the nodes, or ranges of them: ``C1/0-127``.
    start : float
        Time at which they fail, s.
    end : float
        Time from which they are available again, s.

    See Also
    --------
    coalloc.simulate : Simulate an instance with failures.
    coalloc.io.read_failures : Read a trace of failures.
    coalloc.io.sample_failures : Sample failures from distributions.

    Examples
    --------
    The node of a job fails after 40 s, and is repaired 20 s later:

    >>> import coalloc
    >>> cluster = coalloc.Cluster(
    ...     "C1", [coalloc.NodeGroup(1, power=1.0)], link_bandwidth=125.0
    ... )
    >>> instance = coalloc.Instance(
    ...     coalloc.Platform([cluster]), [coalloc.Job("J1", tasks=1, base_time=100.0)]
    ... )
    >>> failure = coalloc.results.Failure(["C1/0"], start=40.0, end=60.0)
    >>> coalloc.simulate(instance, "fcfs", failures=[failure]).schedule["J1"].start
    60.0
    """

    nodes: NamesField
    start: Seconds
    end: Seconds

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InstanceError([Fault("nodes", "must have at least one node")])
        if self.end <= self.start:
            raise InstanceError([Fault("end", f"must be after its start, {self.start:.12g}, got {self.end:.12g}")])


@value()
class InterruptedRun(Value):
    """A run that ended before its job: the job starts anew, or it was suspended and resumes.

    Parameters
    ----------
    job : str
        Id of the job.
    start : float
        Start time, s.
    end : float
        Time of the interruption, s.
    nodes : sequence of str
        Names of the processors, as in a ``coalloc.Placement``.
    cause : {"failure", "preemption", "suspension"}
        ``"failure"``: one of its nodes failed. ``"preemption"``: the policy stopped it for another job. Either way its
        work is lost. ``"suspension"``: the next run of the job continues it on the same processors.
    shape : int, default 0
        Mode in which a moldable job ran.

    See Also
    --------
    coalloc.Schedule : Lists the interrupted runs as ``interrupted``.

    Examples
    --------
    >>> import coalloc
    >>> run = coalloc.results.InterruptedRun("J1", 0.0, 40.0, ["C1/0"], "failure")
    >>> run.end - run.start
    40.0
    """

    job: Text
    start: Instant
    end: Instant
    nodes: NamesField
    cause: Cause
    shape: ShapeNumber = field(default=0, metadata=LEFT_OUT)

    @property
    def placement(self) -> Placement:
        """The run as a placement; of a job that was killed, if its work is lost."""
        outcome: Outcome = "completed" if self.cause == "suspension" else "killed"
        return Placement(self.job, self.start, self.end, self.nodes, outcome, self.shape)
