"""Decayed use of processors by users: the history that orders see, in which the past counts less and less.

Past processor time decays exponentially, as in batch systems with fair share: a processor second counts half after a
half-life. Source: J. Kay, P. Lauder, "A fair share scheduler", Communications of the ACM 31(1), 1988.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

User = str | None


class Use(NamedTuple):
    """Processors that a user held from ``start`` to ``end`` (s); until now, and longer, where that is infinite."""

    user: User
    processors: int
    start: float
    end: float


class _Account(NamedTuple):
    """Use of a user by ``since`` (s), in processor seconds, and the processors that are held from then on."""

    amount: float
    held: int
    since: float


NOTHING = _Account(0.0, 0, 0.0)


class UserUsage(Mapping[User, float]):
    """Usage of each user at a time, in processor seconds: of their running jobs so far, and what is left of the past.

    Users without a job are those without usage: 0.
    """

    def __init__(self, now: float, rate: float, accounts: dict[User, _Account]) -> None:
        self._now, self._rate, self._accounts = now, rate, accounts

    def __getitem__(self, user: User) -> float:
        return _amount(self._accounts.get(user, NOTHING), self._now, self._rate)

    def __iter__(self) -> Iterator[User]:
        return iter(self._accounts)

    def __len__(self) -> int:
        return len(self._accounts)


class Ledger:
    """Ledger of the processors that users hold and have used by now; ``half_life`` is in s, infinite without decay."""

    def __init__(self, half_life: float) -> None:
        self._rate = math.log(2.0) / half_life
        self._accounts: dict[User, _Account] = {}

    @classmethod
    def opened(cls, half_life: float, uses: Iterable[Use], now: float) -> Self:
        """Return a ledger of what has been until now (s)."""
        ledger = cls(half_life)
        for user, processors, start, end in uses:
            amount, held, _ = ledger._accounts.get(user, NOTHING)
            amount += _amount(_Account(0.0, processors, start), min(end, now), ledger._rate) * math.exp(
                -ledger._rate * max(0.0, now - end)
            )
            ledger._accounts[user] = _Account(amount, held + processors * (end == math.inf), now)
        return ledger

    def change(self, user: User, processors: int, now: float) -> None:
        """Let a user hold so many processors more from now on (s), or fewer."""
        account = self._accounts.get(user, NOTHING)
        self._accounts[user] = _Account(_amount(account, now, self._rate), account.held + processors, now)

    def at(self, now: float) -> UserUsage:
        """Return the usage of each user now (s)."""
        return UserUsage(now, self._rate, self._accounts.copy())

    def copied(self) -> Ledger:
        """Return a ledger of its own."""
        twin = Ledger(math.inf)
        twin._rate, twin._accounts = self._rate, self._accounts.copy()
        return twin


def _amount(account: _Account, now: float, rate: float) -> float:
    """Return what a user has had by now (s), where it decays at a rate (1/s)."""
    amount, held, since = account
    seconds = now - since
    if not rate:
        return amount + held * seconds
    lost = -math.expm1(-rate * seconds)  # 1 - exp would be 0 for a long half-life
    return amount * math.exp(-rate * seconds) + held * lost / rate
