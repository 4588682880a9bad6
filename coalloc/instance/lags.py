"""Time lags between jobs: when a job starts, counted from the start or the end of another."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from coalloc.documents.values import LARGEST, Text, Value, value

Difference = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False, description="seconds")]
From = Annotated[Literal["start", "end"], Field(alias="from")]


@value()
class Lag(Value):
    """A minimal and a maximal time lag: how long after the start or the end of another job a job starts.

    Parameters
    ----------
    after : str
        Id of the other job: one to schedule, a running job or an advance reservation.
    from_ : {"start", "end"}, default "end"
        Time of the other job from which the lag counts. In files and mappings the key is ``from``.
    min : float, default 0.0
        Smallest lag, s. Below 0, the job may start before that time.
    max : float or None, default None
        Largest lag, s. None: no limit. With ``from_="start"`` and 0 for both, the jobs start at the same time.

    Examples
    --------
    J2 starts 60 s to 120 s after the end of J1, and J3 together with J1:

    >>> from coalloc import Job, Lag
    >>> second = Job(
    ...     "J2", tasks=1, base_time=60.0, lags=[Lag("J1", "end", 60.0, 120.0)]
    ... )
    >>> third = Job("J3", tasks=1, base_time=60.0, lags=[Lag("J1", "start", 0.0, 0.0)])
    >>> third.lags[0].is_same_start
    True
    """

    after: Text
    from_: From = "end"
    min: Difference = 0.0
    max: Difference | None = None

    @property
    def is_same_start(self) -> bool:
        """Whether both jobs start at the same time."""
        return self.from_ == "start" and self.min == self.max == 0.0
