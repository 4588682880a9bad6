"""A scheduler in another program, in any language: JSON lines over its standard input and output.

Protocol: docs/howto/use-an-external-scheduler.md. The program reads what happened since the last decision, and answers
with the jobs that start now. What it may do is what any policy may, and the simulator validates it in the same way.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

from coalloc.documents.kinds import plain
from coalloc.documents.text import quoted, shortened
from coalloc.heuristics.classics import less
from coalloc.instance import CoallocError, Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import RuleName
from coalloc.simulator.decisions import Preempt, Start, Wake
from coalloc.simulator.policy import INTERRUPTED, SUSPENSION, Running, State

PROTOCOL = 1
"""Version of the messages."""
GRACE = 2.0
"""Seconds that a program gets to end once its input is closed."""
LISTS = ("requeue", "suspend", "start")
FIELDS = {*LISTS, "wake"}
"""Fields that an answer may have."""


@dataclass(slots=True, weakref_slot=True)
class ExternalPolicy:
    """A scheduling policy that is a program of its own, in any language.

    The program runs from the beginning of a run to its end. At each decision it reads a line of JSON, what happened
    since the last one, and answers with a line: the jobs that start now.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments; a string is split as a shell would.
    allocation : {"fastest-first", "fewest-clusters", "best-processing", "first-fit"}, default "fastest-first"
        Where a job starts of which the program gives only the id.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run.

    Raises
    ------
    CoallocError
        In a run: the program cannot be started, ends early, or answers something else than the protocol says.

    See Also
    --------
    coalloc.simulate : Run an instance under a policy.
    coalloc.Policy : The interface of a policy in Python.

    Notes
    -----
    The protocol: docs/howto/use-an-external-scheduler.md.

    Examples
    --------
    A scheduler that starts the first waiting job when the machine is empty:

    >>> import sys
    >>> import coalloc
    >>> from coalloc.extend import ExternalPolicy
    >>> program = '''
    ... import json, sys
    ... waiting, running = [], 0
    ... for message in map(json.loads, sys.stdin):
    ...     if message["event"] == "decide":
    ...         waiting += [job["id"] for job in message["arrived"]]
    ...         running -= len(message["ended"])
    ...         start = [] if running else waiting[:1]
    ...         del waiting[: len(start)]
    ...         running += len(start)
    ...         print(json.dumps({"start": start}), flush=True)
    ... '''
    >>> policy = ExternalPolicy([sys.executable, "-c", program])
    >>> run = coalloc.simulate(coalloc.example("pas-figure-3.3"), policy)
    >>> run.metrics["makespan"]
    555.0
    """

    supported_features: ClassVar[frozenset[str]] = INTERRUPTED | {SUSPENSION}
    command: str | Sequence[str]
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _state: State | None = field(init=False, default=None)
    _program: _Program | None = field(init=False, default=None)
    _waiting: dict[str, Job] = field(init=False, default_factory=dict)
    _arrived: list[Job] = field(init=False, default_factory=list)
    _ended: list[str] = field(init=False, default_factory=list)
    _left: list[str] = field(init=False, default_factory=list)

    def begin(self, state: State) -> None:
        """Start the program, and tell it of the platform and of what runs."""
        if self._program is not None:
            self._program.close()
        self._state, self._waiting, self._arrived, self._ended, self._left = state, {}, [], [], []
        self._program = _Program(shlex.split(self.command) if isinstance(self.command, str) else list(self.command))
        weakref.finalize(self, self._program.close)
        self._program.tell(_beginning(state))

    def arrived(self, _: State, job: Job) -> None:
        """Note a job that the program does not know yet."""
        self._arrived.append(job)
        self._waiting[job.id] = job

    def ended(self, _: State, running: Running) -> None:
        """Note a job that has ended."""
        self._ended.append(running.job.id)

    def left(self, _: State, job: Job) -> None:
        """Note a job that has left the queue; one that the program does not know yet, it never hears of."""
        del self._waiting[job.id]
        known = [other for other in self._arrived if other.id != job.id]
        if len(known) == len(self._arrived):
            self._left.append(job.id)
        self._arrived = known

    def decide(self, state: State) -> list[Preempt | Start | Wake]:
        """Return what the program answers."""
        if state is not self._state:
            self.begin(state)
            for job in state.queue:
                self.arrived(state, job)
        assert self._program is not None
        message = {
            "event": "decide",
            "now": state.now,
            "arrived": [plain(job) for job in self._arrived],
            "ended": self._ended,
            "left": self._left,
            "free": state.free,
        }
        self._arrived, self._ended, self._left = [], [], []
        answer = self._program.ask(message)
        requeued, suspended, given = (_listed(answer, field) for field in LISTS)
        stopped = [*(Preempt(job) for job in requeued), *(Preempt(job, suspend=True) for job in suspended)]
        return [*stopped, *self._starts(state, stopped, given), *_wakes(answer.get("wake"))]

    def _starts(self, state: State, stopped: Sequence[Preempt], given: Sequence[Any]) -> list[Start]:
        """Return the starts of an answer: ids of suspended jobs, and others all as objects, or as ids for a rule."""
        starts, room = list[Start](), reduce(state.room_after, stopped, state.room)
        suspended = [run.job.id for run in state.suspended]
        are_placed = any(isinstance(one, dict) for one in given)
        for one in given:
            if one in suspended:
                starts.append(Start(one))
                room = state.room_after(room, starts[-1])
            elif are_placed:
                starts.append(_start(one))
            else:
                starts.append(Start(one, self._counts(state, room, one)))
                room = less(room, starts[-1].counts)
        for start in starts:
            self._waiting.pop(start.job_id, None)
        return starts

    def _counts(self, state: State, room: Allocation, name: object) -> Allocation:
        """Return where a job starts of which the program gives only the id."""
        job = self._waiting.get(name) if isinstance(name, str) else None
        if job is None:
            raise CoallocError(f"the scheduler starts {_shown(name)}, which is no waiting job")
        counts = state.allocator(self.allocation).choose(job, room)
        if counts is None:
            raise CoallocError(f"the scheduler starts job {quoted(job.id)}, for which too little is free")
        return counts


def _beginning(state: State) -> dict[str, Any]:
    """Return the first message, which has no answer."""
    clusters = state.platform.clusters
    return {
        "event": "begin",
        "protocol": PROTOCOL,
        "scope": state.scope,
        "platform": plain(state.platform),
        "classes": [
            {"cluster": clusters[of.cluster].name, "processors": of.capacity, "power": of.effective_power}
            for of in state.classes
        ],
        "running": [
            {"job": run.job.id, "counts": run.counts, "estimated_end": run.estimated_end} for run in state.running
        ],
    }


def _listed(answer: Mapping[str, Any], field: str) -> list[Any]:
    """Return a field of an answer that is a list."""
    given = answer.get(field, [])
    if not isinstance(given, list):
        raise CoallocError(f'the scheduler must answer a list "{field}", got {_shown(given)}')
    return given


def _start(given: object) -> Start:
    """Return a start as an answer says it, which the simulator validates."""
    parts = given if isinstance(given, dict) else {}
    is_where = all(isinstance(parts[key], list) for key in ("counts", "nodes") if key in parts)
    if not ({"job"} < parts.keys() <= {"job", "counts", "nodes"} and is_where):
        raise CoallocError(f'a start must have "job" and a list "counts" or "nodes", got {_shown(given)}')
    return Start(parts["job"], tuple(parts.get("counts", ())), tuple(parts.get("nodes", ())))


def _wakes(given: object) -> list[Wake]:
    """Return the time of a further pass, where an answer asks for one."""
    return [] if given is None else [Wake(given)]  # type: ignore[arg-type]  # the simulator validates it


def _shown(value: object) -> str:
    return shortened(json.dumps(value))


class _Program:
    """A program that answers lines."""

    def __init__(self, command: list[str]) -> None:
        self._name = shlex.join(command)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0 if os.name == "posix" else None,  # Ctrl-C is for the simulation
            )
        except (OSError, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or "it names no program"
            raise CoallocError(f"command {quoted(self._name)}: {reason}") from None

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None

    def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a line and return the object that is answered."""
        assert self._process.stdout is not None
        self.tell(message)
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._gone()
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not answer.keys() <= FIELDS:
            text = shortened(repr(line.decode(errors="replace").strip()))
            raise CoallocError(f'the scheduler must answer {{"start": [...], "wake": time}} in one line, got {text}')
        return answer

    def _gone(self) -> CoallocError:
        """Return what to raise where the program has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        how = self._process.returncode
        return CoallocError(f"the scheduler {quoted(self._name)} ended without an answer, with exit code {how}")

    def close(self) -> None:
        """Close its input, and wait until it has ended; kill it where it does not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
