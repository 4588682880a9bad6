"""A policy for tests: given starts at given instants."""

from __future__ import annotations

from dataclasses import dataclass, field

from coalloc.extend import Start
from coalloc.problem.allocation import Scope
from coalloc.simulator.policy import State


@dataclass
class Listed:
    """Starts each job with its counts once it waits and they are free; remembers every state it saw."""

    counts: dict[str, tuple[int, ...]]
    scope: Scope = "platform"
    seen: list[tuple[float, list[str], list[tuple[str, float]]]] = field(default_factory=list)

    def decide(self, state: State) -> list[Start]:
        """Return the jobs of the list that fit, in order of arrival."""
        waiting = [job.id for job in state.queue]
        self.seen.append((state.now, waiting, [(r.job.id, r.estimated_end) for r in state.running]))
        free, starts = state.free, []
        for id in waiting:
            counts = self.counts[id]
            if all(n <= f for n, f in zip(counts, free, strict=True)):
                free = tuple(f - n for n, f in zip(counts, free, strict=True))
                starts.append(Start(id, counts))
        return starts
