"""A slow simulator of FCFS, EASY and conservative backfilling beside windows and reservations, to compare with.

It is written from docs/policies.md, docs/simulation.md and docs/features, and keeps nothing from instant to instant but
which jobs run, how far they are, and the reservations that conservative backfilling makes: all else is counted again
from the definitions, processor by processor and instant by instant. Only the default rule and scope, on a star.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from coalloc import Instance, Job

NEAR = 1e-9
"""Seconds within which instants are one."""


@dataclass(eq=False)
class Active:
    job: Job
    processors: list[int]
    start: float
    expected: float
    given_end: float | None = None
    done: float = 0.0
    end: float = math.inf


@dataclass
class Span:
    start: float
    seconds: float
    counts: list[int]


@dataclass
class Slow:
    """One run; ``outcomes`` are start, end and outcome of each job by id."""

    instance: Instance
    policy: str
    kill: bool = False
    now: float = 0.0
    running: list[Active] = field(default_factory=list)
    queue: list[Job] = field(default_factory=list)
    kept: dict[str, Span] = field(default_factory=dict)
    outcomes: dict[str, tuple[float, float, str]] = field(default_factory=dict)
    instants: list[float] = field(default_factory=list)
    gained: bool = False

    def __post_init__(self) -> None:
        platform = self.instance.platform
        self.node = platform.processor_node
        self.groups = [platform.clusters[platform.nodes[n].cluster].nodes[platform.nodes[n].group] for n in self.node]
        self.cluster = [platform.nodes[n].cluster for n in self.node]
        self.place = [(platform.nodes[n].cluster, platform.nodes[n].group) for n in self.node]
        index, names = platform.processor_index, [c.name for c in platform.clusters]
        self.reserved = [(run, [index[name] for name in run.nodes]) for run in self.instance.running if run.start > 0.0]
        for run in self.instance.running:
            if run.start <= 0.0:
                held = [index[name] for name in run.nodes]
                self.running.append(Active(run.job, held, 0.0, run.end, run.end))
        self.shut: list[list[tuple[float, float]]] = [[] for _ in self.node]
        self.taking: dict[tuple[int, int], list[tuple[float, float, int]]] = {}
        for window, nodes in zip(platform.unavailable, platform.window_nodes, strict=True):
            if window.processors is not None:
                taking = self.taking.setdefault((names.index(window.cluster), window.group), [])
                taking.append((window.start, window.end, window.processors))
                continue
            for p, node in enumerate(self.node):
                if node in nodes:
                    self.shut[p].append((window.start, window.end))
        for run, held in self.reserved:
            for p in held:
                self.shut[p].append((run.start, run.end))
            for key, taking in self.taking.items():
                taking.append((run.start, run.end, sum(self.place[p] == key for p in held)))
        kinds = dict.fromkeys(
            (self.cluster[p], self.groups[p].replace(count=1), self._known_by(p)) for p in range(len(self.node))
        )
        numbers = {kind: g for g, kind in enumerate(kinds)}
        self.kind = [
            numbers[self.cluster[p], self.groups[p].replace(count=1), self._known_by(p)] for p in range(len(self.node))
        ]
        self.first = [self.kind.index(g) for g in range(len(numbers))]

    def _known_by(self, p: int) -> tuple[object, ...]:
        """Return what tells processors of one description apart: the windows and reservations that they are in."""
        platform = self.instance.platform
        windows = tuple(w for w, nodes in enumerate(platform.window_nodes) if self.node[p] in nodes)
        return windows, tuple(r for r, (_, held) in enumerate(self.reserved) if p in held)

    # ---------------------------------------------------------------------- what is there

    def left(self, key: tuple[int, int], t: float) -> int:
        """Return how many processors of a group jobs may hold at an instant."""
        size = sum(place == key for place in self.place)
        return size - sum(count for start, end, count in self.taking[key] if start <= t < end)

    def free(self, t: float, late: float) -> tuple[list[int], dict[tuple[int, int], int]]:
        """Return what is free of each kind and group at an instant to come, by the estimates; overdue jobs end then."""
        open_now = [not any(start <= t < end for start, end in spans) for spans in self.shut]
        counts = [0] * len(self.first)
        for p, kind in enumerate(self.kind):
            counts[kind] += open_now[p]
        left = {key: self.left(key, t) for key in self.taking}
        for active in self.running:
            expected = active.expected if active.expected > self.now else late
            if t < expected:
                for p in active.processors:
                    counts[self.kind[p]] -= open_now[p]
                    if self.place[p] in left:
                        left[self.place[p]] -= 1
        for span in self.kept.values():
            if span.start <= t < span.start + span.seconds:
                for g, count in enumerate(span.counts):
                    counts[g] -= count
                    if self.place[self.first[g]] in left:
                        left[self.place[self.first[g]]] -= count
        return counts, left

    def changes(self) -> list[float]:
        """Return the instants from now on at which what is free changes."""
        found = {self.now, *(a.expected for a in self.running)}
        found |= {t for spans in self.shut for span in spans for t in span}
        found |= {t for spans in self.taking.values() for start, end, _ in spans for t in (start, end)}
        found |= {t for span in self.kept.values() for t in (span.start, span.start + span.seconds)}
        return sorted(t for t in found if t >= self.now)

    def seconds(self, job: Job, counts: list[int], base: float, saturation: float = 1.0) -> float:
        share = job.processing_share
        used = [self.groups[self.first[g]] for g, count in enumerate(counts) if count]
        return base * max(share / g.effective_power + (1.0 - share) * saturation for g in used)

    def filled(self, job: Job, counts: list[int], left: dict[tuple[int, int], int]) -> list[int] | None:
        """Return the fastest kinds, filled in turn."""
        order = sorted(range(len(counts)), key=lambda g: -self.groups[self.first[g]].effective_power)
        found, rest, left = [0] * len(counts), job.tasks, dict(left)
        usable = list(counts)
        for g in range(len(counts)):
            key = self.place[self.first[g]]
            if key in left:
                usable[g] = min(usable[g], max(0, left[key]))
                left[key] -= usable[g]
        for g in order:
            found[g] = max(0, min(rest, usable[g]))
            rest -= found[g]
        return None if rest else found

    def fit(self, job: Job, t: float, late: float) -> Span | None:
        """Return where a job goes at an instant: the rule's choice, asked again on what is free until its end."""
        counts, left = self.free(t, late)
        while (found := self.filled(job, counts, left)) is not None:
            length = self.seconds(job, found, job.estimate)
            rooms = [self.free(u, late) for u in {t, *self.changes(), late} if t <= u < t + length - NEAR]
            least = [min(column) for column in zip(*(room for room, _ in rooms), strict=True)]
            pools = {key: min(room[key] for _, room in rooms) for key in self.taking}
            asked = dict.fromkeys(pools, 0)
            for g, count in enumerate(found):
                if self.place[self.first[g]] in asked:
                    asked[self.place[self.first[g]]] += count
            if all(n <= m for n, m in zip(found, least, strict=True) if n) and all(
                n <= pools[key] for key, n in asked.items() if n
            ):
                return Span(t, length, found)
            counts, left = least, pools
        return None

    def earliest(self, job: Job, late: float, before: float = math.inf) -> Span | None:
        for t in sorted({*self.changes(), late}):
            if t < before and (span := self.fit(job, t, late)) is not None:
                return span
        return None

    # ---------------------------------------------------------------------- policies

    def decide(self) -> None:
        if self.policy == "conservative":
            self.conservative()
            return
        soon = math.nextafter(self.now, math.inf)
        waiting = list(self.queue)
        while waiting and (span := self.fit(waiting[0], self.now, soon)) is not None:
            self.start(waiting.pop(0), span.counts)
        if self.policy == "easy" and waiting:
            self.kept = {"head": self.earliest(waiting[0], soon)}
            for job in waiting[1:]:
                if (span := self.fit(job, self.now, soon)) is not None:
                    self.start(job, span.counts)
            self.kept = {}

    def conservative(self) -> None:
        by_id = {job.id: job for job in self.queue}
        order = sorted(self.kept, key=lambda name: (self.kept[name].start, self.queue.index(by_id[name])))
        is_late = any(a.expected < self.now for a in self.running)
        if is_late or any(span.start < self.now for span in self.kept.values()):
            self.kept = {}
            for name in order:
                self.kept[name] = self.earliest(by_id[name], self.now)
        elif self.gained:
            for name in order:
                before = self.kept.pop(name)
                self.kept[name] = self.earliest(by_id[name], self.now, before.start) or before
        self.gained = False
        for job in self.queue:
            if job.id not in self.kept:
                self.kept[job.id] = self.earliest(job, self.now)
        for job in sorted(self.queue, key=lambda job: self.kept[job.id].start):
            span = self.kept[job.id]
            if span.start <= self.now and self.has_now(span.counts):
                del self.kept[job.id]
                self.start(job, span.counts)

    def has_now(self, counts: list[int]) -> bool:
        kept, self.kept = self.kept, {}
        free, left = self.free(self.now, math.inf)
        self.kept = kept
        asked = dict.fromkeys(left, 0)
        for g, count in enumerate(counts):
            if self.place[self.first[g]] in asked:
                asked[self.place[self.first[g]]] += count
        return all(n <= m for n, m in zip(counts, free, strict=True)) and all(
            n <= left[key] for key, n in asked.items() if n
        )

    def start(self, job: Job, counts: list[int]) -> None:
        held = {p for active in self.running for p in active.processors}
        chosen: list[int] = []
        for g, count in enumerate(counts):
            free = [p for p, kind in enumerate(self.kind) if kind == g and p not in held]
            chosen += free[:count]
        self.queue.remove(job)
        expected = self.now + self.seconds(job, counts, job.estimate)
        self.running.append(Active(job, chosen, self.now, expected))

    # ---------------------------------------------------------------------- time

    def paces(self) -> None:
        """Set when each job ends if nothing changes."""
        platform = self.instance.platform
        holding = [(a.job, a.processors) for a in self.running]
        holding += [(run.job, held) for run, held in self.reserved if run.start <= self.now < run.end]
        loads = []
        for job, held in holding:
            inside = [sum(self.cluster[p] == c for p in held) for c in range(len(platform.clusters))]
            n = max(2, job.tasks)
            loads.append([t * job.task_bandwidth * (job.tasks - t) / (n - 1) for t in inside])
        totals = [sum(column) for column in zip(*loads, strict=True)]
        for active, own in zip(self.running, loads, strict=False):
            saturation = max(
                [1.0, *(t / c.link_bandwidth for t, c, o in zip(totals, platform.clusters, own, strict=True) if o)]
            )
            counts = [sum(self.kind[p] == g for p in active.processors) for g in range(len(self.first))]
            if active.given_end is None:
                length = self.seconds(active.job, counts, active.job.base_time, saturation)
                active.end = self.now + (1.0 - active.done) * length
                if self.kill:
                    active.end = min(active.end, max(active.expected, self.now))
                active.pace = 1.0 / length
            else:
                active.end, active.pace = active.given_end, 0.0

    def finish(self, active: Active, outcome: str) -> None:
        self.running.remove(active)
        self.gained |= active.expected > self.now
        self.outcomes[active.job.id] = active.start, self.now, outcome

    def kill_for_windows(self) -> None:
        for active in list(self.running):
            if any(start <= self.now < end for p in active.processors for start, end in self.shut[p]):
                self.finish(active, "killed")
        for key in self.taking:

            def held(active: Active, key: tuple[int, int] = key) -> int:
                return sum(self.place[p] == key for p in active.processors)

            by_estimate = sorted(self.running, key=lambda a: a.expected)
            for active in sorted(by_estimate, key=lambda a: (a.expected > self.now + NEAR, -a.start)):
                is_over = sum(map(held, self.running)) > max(0, self.left(key, self.now))
                if is_over and held(active) and active.given_end is None:
                    self.finish(active, "killed")

    def run(self) -> Slow:
        coming = sorted(self.instance.jobs, key=lambda job: job.arrival)
        fixed = {t for spans in self.shut for span in spans for t in span}
        fixed |= {t for spans in self.taking.values() for start, end, _ in spans for t in (start, end)}
        fixed |= {t for run, _ in self.reserved for t in (run.start, run.end)}
        self.paces()
        while coming or self.queue or any(a.given_end is None for a in self.running):
            times = [job.arrival for job in coming[:1]] + [a.end for a in self.running]
            times += [t for t in fixed if t > self.now]
            first = min((span.start for span in self.kept.values()), default=0.0)  # it asks to be woken for this one
            times += [first] if first > self.now else []
            if 0.0 in fixed and not self.instants:
                times.append(0.0)
            after = min(times)
            for active in self.running:
                active.done += (after - self.now) * getattr(active, "pace", 0.0)
            self.now = after
            self.instants.append(after)
            for active in [a for a in self.running if a.end <= self.now + NEAR]:
                is_done = active.done >= 1.0 - NEAR or active.given_end is not None
                self.finish(active, "completed" if is_done else "killed")
            self.kill_for_windows()
            while coming and coming[0].arrival <= self.now + NEAR:
                self.queue.append(coming.pop(0))
            if self.queue:
                self.decide()
            self.paces()
        return self
