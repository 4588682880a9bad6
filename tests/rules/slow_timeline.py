"""What is free over time in plain lists, every query by its definition: what the engine equals to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = tuple[float, ...]


class SlowTimeline:
    """A list of steps, each a time and what is free from then on; every query looks at all of them."""

    def __init__(self, since: float, free: Vector, noise: Sequence[float] = ()) -> None:
        self.steps, self.noise = [(since, free)], noise

    def within(self, start: float, end: float) -> list[Vector]:
        """Return what is free at a start (before the beginning what is free then), and at each change before an end."""
        held = [free for time, free in self.steps if time <= start][-1:] or [self.steps[0][1]]
        return held + [free for time, free in self.steps if start < time < end]

    def free(self, start: float, end: float = -math.inf) -> Vector:
        """Return what is free throughout a span; of the last numbers their noise more, and never less than that."""
        least = tuple(map(min, zip(*self.within(start, end), strict=True)))
        first = len(least) - len(self.noise)
        return (*least[:first], *(max(0.0, a) + n for a, n in zip(least[first:], self.noise, strict=True)))

    def starts(self, release: float, before: float = math.inf) -> list[float]:
        """Return a release, or the beginning where that is later, and the changes after it: of steps before a time."""
        times = [time for time, _ in self.steps]
        held = max((time for time in times if time <= release), default=times[0])
        return [max(release, time) for time in times if held <= time < before]

    def windows(
        self, release: float, duration: float, tasks: int, classes: Sequence[int], before: float
    ) -> list[float]:
        """Return the starts that find enough at each step of a duration that begins before a last time."""
        if duration <= 0:
            return [release]
        spans = [(start, min(start + duration, before)) for start in self.starts(release, before)]
        return [s for s, end in spans if all(sum(free[g] for g in classes) >= tasks for free in self.within(s, end))]

    def first_start(self, release: float, duration: float, amounts: Vector) -> float:
        """Return the first start at which a vector is free for a duration."""
        if duration <= 0:
            return release
        spans = [(start, self.free(start, start + duration)) for start in self.starts(release)]
        fits = (start for start, free in spans if all(a <= f for a, f in zip(amounts, free, strict=True)))
        return next(fits, math.inf)

    def take(self, start: float, end: float, amounts: Vector) -> None:
        """Take a vector from each step of a span, at whose ends steps begin; none begins before the first."""
        if end <= start:
            return
        for time in (start, end):
            if time > self.steps[0][0] and time not in dict(self.steps):
                self.steps = sorted([*self.steps, (time, self.within(time, time)[0])])
        left = [(time, tuple(f - a for f, a in zip(free, amounts, strict=True))) for time, free in self.steps]
        self.steps = [new if start <= new[0] < end else old for old, new in zip(self.steps, left, strict=True)]

    def give_back(self, start: float, end: float, amounts: Vector) -> None:
        """Give a vector back; a step at an end of the span is part of the one before it where the two are equal."""
        self.take(start, end, tuple(-amount for amount in amounts))
        for time in (end, start) if end > start else ():
            k = [t for t, _ in self.steps].index(time) if time in dict(self.steps) else 0
            if k and self.steps[k][1] == self.steps[k - 1][1]:
                del self.steps[k]

    def forget(self, now: float) -> None:
        """Let the timeline begin now."""
        self.steps = [(now, self.within(now, now)[0]), *(step for step in self.steps if step[0] > now)]
