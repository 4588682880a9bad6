"""The priority of Slurm's plugin priority/multifactor as a queue order: the job with the highest priority is first.

Sources: the pages *Multifactor Priority Plugin* (priority_multifactor) and *Fair Tree Fairshare Algorithm* (fair_tree)
of Slurm's documentation, https://slurm.schedmd.com. Fair Tree is by R. Cox and L. Morrison; Slurm has it as the default
since version 19.05. What is simplified stands in docs/policies.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from coalloc.documents.arguments import picture_of
from coalloc.documents.text import quoted
from coalloc.documents.values import LARGEST, Flag, NonNegative, PositiveSeconds
from coalloc.instance import CoallocError, Job
from coalloc.simulator.policy import State
from coalloc.simulator.usage import User

Finite = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""A number, which may be negative."""
DAY = 86_400.0
"""Seconds of a day."""


class Member(NamedTuple):
    """A user with shares of an account, or an account with its own members, users and accounts."""

    name: User
    shares: float
    members: tuple[Member, ...] | None = None


@dataclass(frozen=True, slots=True)
class Multifactor:
    """Priority of Slurm's plugin priority/multifactor, as it is every ``calc_period`` seconds.

    The ``weight_...`` are Slurm's PriorityWeight..., times are in s. ``shares`` has the shares of users, and for each
    account a pair: its own shares, and those of its members. ``partitions`` has priorities by the name of a cluster or
    a feature that jobs of the partition are restricted to; ``qos`` and ``nice`` are numbers by job or by user.
    """

    weight_age: NonNegative = 1000.0
    weight_fair_share: NonNegative = 10_000.0
    weight_job_size: NonNegative = 1000.0
    weight_partition: NonNegative = 1000.0
    weight_qos: NonNegative = 0.0
    max_age: PositiveSeconds = 7 * DAY
    half_life: PositiveSeconds = 7 * DAY
    calc_period: PositiveSeconds = 300.0
    favor_small: Flag = False
    shares: Mapping[str, Any] = field(default_factory=dict)
    partitions: Mapping[str, NonNegative] = field(default_factory=dict)
    qos: Mapping[str, NonNegative] = field(default_factory=dict)
    nice: Mapping[str, Finite] = field(default_factory=dict)
    _members: tuple[Member, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_members", _members(self.shares))
        users = [user.name for user in _users(self._members)]
        twice = next((name for name in users if users.count(name) > 1), None)
        if twice is not None:
            raise CoallocError(f"shares must have each user once, got {quoted(twice)} twice")

    @property
    def changes_every(self) -> float:
        """Period after which priorities are computed again, s (PriorityCalcPeriod)."""
        return self.calc_period

    def key(self, state: State) -> Callable[[Job], float]:
        """Return minus the priority of each job, which is a whole number and at least 1."""
        now, processors = state.now, state.platform.num_processors
        fair = self._fair_shares(state) if self.weight_fair_share else {}
        partitions, qos = _normalised(self.partitions), _normalised(self.qos)

        def priority(job: Job) -> float:
            size = processors - job.tasks + 1 if self.favor_small else job.tasks
            names = (*job.eligible, *job.requires) if partitions else ()
            return (
                self.weight_age * min(1.0, max(0.0, now - job.arrival) / self.max_age)
                + self.weight_fair_share * fair.get(job.user, 1.0)
                + self.weight_job_size * size / processors
                + self.weight_partition * next((partitions[name] for name in names if name in partitions), 0.0)
                + self.weight_qos * _of(job, qos)
                - _of(job, self.nice)
            )

        return lambda job: -max(1, math.floor(priority(job)))

    def _fair_shares(self, state: State) -> dict[User, float]:
        """Return the fair-share factor of each user who is in the tree, has usage or waits."""
        usage = state.usage(self.half_life)
        return fair_tree(self._members, {user: usage[user] for user in (*usage, *(job.user for job in state.queue))})


def fair_tree(members: Sequence[Member], usage: Mapping[User, float]) -> dict[User, float]:
    """Return the fair-share factor of each user of a tree, and of others with their usage: 1 for the first of them.

    The others are members of the root with one share each.
    """
    known = {user.name for user in _users(members)}
    root = [*members, *(Member(user, 1.0) for user in usage if user not in known)]
    number = sum(1 for _ in _users(root))
    ranking = _Ranking(usage)
    ranking.rank(ranking.levels(root), number, number)
    return {user: rank / number for user, rank in ranking.ranks.items()}


class _Ranking:
    """The ranks of users: that of the first is their number, and those with equal levels have equal ranks."""

    def __init__(self, usage: Mapping[User, float]) -> None:
        self._usage = usage
        self.ranks: dict[User, int] = {}

    def levels(self, members: Sequence[Member]) -> list[tuple[float, Member]]:
        """Return members of an account with their level fair shares: the part of its shares over that of its usage."""
        used = [*map(self._used, members)]
        all_used, all_shares = sum(used), sum(member.shares for member in members)
        parts = [amount / all_used if amount else 0.0 for amount in used]  # 0 also where next to nothing is left
        return [
            ((member.shares / all_shares) / part if member.shares and part else _extreme(member), member)
            for member, part in zip(members, parts, strict=True)
        ]

    def rank(self, levels: Iterable[tuple[float, Member]], left: int, first: int) -> int:
        """Give the users below some members their ranks, the first ``first``; return how many ranks are left.

        Members of accounts with equal levels are ranked together, behind the users with that level.
        """
        accounts: list[Member] = []
        previous: float | None = None
        for level, member in sorted(levels, key=itemgetter(0), reverse=True):
            if level != previous and previous is not None:
                first = left = self._rank_below(accounts, left, first)
                accounts = []
            previous = level
            if member.members is None:
                self.ranks[member.name] = first
                left -= 1
            else:
                accounts.append(member)
        return self._rank_below(accounts, left, first)

    def _rank_below(self, accounts: Sequence[Member], left: int, first: int) -> int:
        """Rank the members of accounts as those of one; return how many ranks are left."""
        below = [found for account in accounts for found in self.levels(account.members or ())]
        return self.rank(below, left, first) if below else left

    def _used(self, member: Member) -> float:
        """Return the usage of a user, or of all users of an account."""
        if member.members is None:
            return self._usage.get(member.name, 0.0)
        return sum(map(self._used, member.members))


def _members(shares: Mapping[str, Any]) -> tuple[Member, ...]:
    """Return the members of an account from their shares; raises for what is no tree."""
    found = []
    for name, given in shares.items():
        is_account = isinstance(given, Sequence) and len(given) == 2 and isinstance(given[1], Mapping)
        number = given[0] if is_account else given
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < math.inf:
            raise CoallocError(
                f"shares of {quoted(str(name))} must be a number of at least 0, for an account with its members "
                f"(as [2, {{...}}]), got {picture_of(given)}"
            )
        found.append(Member(name, float(number), _members(given[1]) if is_account else None))
    return tuple(found)


def _users(members: Iterable[Member]) -> Iterator[Member]:
    """Yield the users below some members."""
    for member in members:
        if member.members is None:
            yield member
        else:
            yield from _users(member.members)


def _extreme(member: Member) -> float:
    """Return the level fair share of a member without shares, or else without usage."""
    return math.inf if member.shares else 0.0


def _normalised(priorities: Mapping[str, float]) -> dict[str, float]:
    """Return priorities as parts of the highest."""
    highest = max(priorities.values(), default=0.0)
    return {name: priority / highest for name, priority in priorities.items()} if highest else {}


def _of(job: Job, numbers: Mapping[str, float]) -> float:
    """Return the number of a job, else that of its user, else 0."""
    found = numbers.get(job.id)
    return numbers.get(job.user or "", 0.0) if found is None else found
