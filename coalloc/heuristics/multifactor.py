"""The priority of Slurm's plugin priority/multifactor as a queue order."""

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
    r"""Priority of Slurm's plugin priority/multifactor: age, fair share, job size, partition, QOS.

    ``queue_order="multifactor"``, or with options ``queue_order={"order": "multifactor", "weight_age": 500}``. The job
    with the highest priority is first. At a time $t$, $w_j$ after its arrival, a job of $\tau_j$ tasks has the priority

    $$P_j = \lfloor W_a A_j + W_f F_{u(j)} + W_s S_j + W_p Q_j + W_q O_j - N_j \rfloor, \quad \text{at least } 1$$

    | symbol | factor, 0 to 1 | weight |
    |---|---|---|
    | $A_j$ | age: $\min(1, w_j / m)$ with $m$ s of ``max_age`` | ``weight_age`` |
    | $F_u$ | fair share of user $u$: Fair Tree, below | ``weight_fair_share`` |
    | $S_j$ | size: $\tau_j / N$ of $N$ processors; with ``favor_small`` $(N - \tau_j + 1)/N$ | ``weight_job_size`` |
    | $Q_j$ | priority of the partition in ``partitions``, divided by the highest | ``weight_partition`` |
    | $O_j$ | number of the job or of its user in ``qos``, divided by the highest | ``weight_qos`` |
    | $N_j$ | nice: number of the job or of its user in ``nice``, without weight | |

    **Fair Tree.** $U_u$ is the usage of a user: processor seconds of ended and running jobs, each of which counts
    $2^{-a/h}$ at an age of $a$ seconds with $h$ s of ``half_life``. The usage of an account is the sum of its members.
    A member $i$ of an account has the level fair share

    $$LF_i = \frac{s_i / \sum_k s_k}{U_i / \sum_k U_k}$$

    over the members $k$ of the account; without usage it is infinite, without shares 0. The tree is visited from the
    root, members with the largest $LF$ first; users get the ranks $n, n-1, \dots, 1$ of $n$ users as they are reached,
    and $F_u$ is the rank over $n$. Equal users have equal ranks; the members of equal accounts are one list; a user has
    the rank of the best user of an account with the same $LF$.

    Sources: the pages [Multifactor Priority Plugin](https://slurm.schedmd.com/priority_multifactor.html) and
    [Fair Tree Fairshare Algorithm](https://slurm.schedmd.com/fair_tree.html) of Slurm's documentation (Fair Tree: R.
    Cox and L. Morrison). The weights are those of the example there, times the defaults of slurm.conf. Simplified:

    - Jobs have no account, partition, QOS or nice value of their own: the options say what they are. A user belongs to
      one account; users without shares are members of the root with one share.
    - Usage is processor seconds, without TRESBillingWeights, and decays continuously, not in steps of ``calc_period``.
      It begins with the run.
    - A user who arrives between two computations has $F = 1$ until the next. Age counts from the arrival, also for a
      job that waits for others.
    - The size factor counts processors, Slurm's the mean of nodes and CPUs. No association, site and TRES factors; no
      PriorityTier.

    Parameters
    ----------
    weight_age
        PriorityWeightAge.
    weight_fair_share
        PriorityWeightFairshare.
    weight_job_size
        PriorityWeightJobSize.
    weight_partition
        PriorityWeightPartition.
    weight_qos
        PriorityWeightQOS.
    max_age
        PriorityMaxAge: wait from which the age factor is 1, s.
    half_life
        PriorityDecayHalfLife: time after which used processor seconds count half, s.
    calc_period
        PriorityCalcPeriod: priorities are those of the first decision at or after each multiple, s.
    favor_small
        PriorityFavorSmall: small jobs have the higher size factor.
    shares
        Fairshare of associations, ``{"physics": [2, {"ann": 1, "bob": 1}], "eve": 1}``: an account with its shares and
        members, and a user.
    partitions
        PriorityJobFactor by name; a job is of the first partition that it names in ``eligible`` or ``requires``.
    qos
        Priority of a QOS, by job id, else by user.
    nice
        ``--nice``, by job id, else by user.

    Examples
    --------
    One processor, only fair share, no decay to speak of; shares of 2.5 for ann and 1 for bob. Both have run for 100 s
    when, at 200 s, two more of each wait, of 100 s each. $LF$ of ann is $(2.5/3.5)/(1/2) = 1.43$, of bob
    $(1/3.5)/(1/2) = 0.57$: ann is next. At 300 s 1.07 and 0.86: ann again. At 400 s 0.95 and 1.14: bob.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> weights = dict.fromkeys(
    ...     ("weight_age", "weight_job_size", "weight_partition"), 0
    ... )
    >>> times = {"half_life": 1e12, "calc_period": 1}
    >>> order = {
    ...     "order": "multifactor",
    ...     **weights,
    ...     **times,
    ...     "shares": {"ann": 2.5, "bob": 1},
    ... }
    >>> arrivals = {
    ...     "A1": 0.0,
    ...     "B1": 100.0,
    ...     "B2": 110.0,
    ...     "B3": 110.0,
    ...     "A2": 120.0,
    ...     "A3": 120.0,
    ... }
    >>> users = {"A": "ann", "B": "bob"}
    >>> jobs = [
    ...     Job(name, 1, 100.0, arrival=time, user=users[name[0]])
    ...     for name, time in arrivals.items()
    ... ]
    >>> platform = Platform(
    ...     [Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=1.0)]
    ... )
    >>> run = coalloc.simulate(Instance(platform, jobs), "easy", queue_order=order)
    >>> print(sorted((placement.start, placement.job) for placement in run.schedule))
    [(0.0, 'A1'), (100.0, 'B1'), (200.0, 'A2'), (300.0, 'A3'), (400.0, 'B2'), (500.0, 'B3')]
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
