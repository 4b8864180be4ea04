"""The fewest members that take enough from each of several sums, by branch and bound."""

import time
from collections.abc import Mapping
from typing import Final

_MOST_DEPTH: Final = 200


class Work:
    """How many members of sums may still be looked at: without a clock, so that answers stay the same."""

    def __init__(self, units: int = 1_000_000, until: float | None = None) -> None:
        """`until`: a time of the monotonic clock after which no work is left either."""
        self._left = units
        self._until = until

    def spend(self, units: int) -> bool:
        """Whether that much was left."""
        self._left -= units
        return self._left >= 0 and (self._until is None or time.monotonic() < self._until)


class Cover:
    """Sums, each with an excess that some of its members must take away."""

    def __init__(self, enough: int) -> None:
        """`enough`: so many members are known to do."""
        self._enough = enough
        self._sums: list[tuple[int, list[int]]] = []
        self._amounts: dict[int, int] = {}
        self._sums_of: dict[int, int] = {}
        self.least = 0
        """No fewer will do."""

    def require(self, excess: int, amounts: Mapping[int, int]) -> None:
        """Those chosen must have at least this excess together; a member has the same amount in all sums."""
        for member in amounts:
            self._sums_of[member] = self._sums_of.get(member, 0) | 1 << len(self._sums)
        self._amounts.update(amounts)
        self._sums.append((excess, sorted(amounts, key=lambda it: (-amounts[it], it))))

    def smallest(self, work: Work) -> set[int] | None:
        """The smallest set, if it is smaller than the known one; None: it is not, or no work was left."""
        self.least = max(self.least, self._fewest(set(), set()))
        while self.least < min(self._enough, _MOST_DEPTH):
            chosen: set[int] = set()
            done = self._extend(chosen, set(), self.least, work)
            if done is None:
                return None
            if done:
                return chosen
            self.least += 1
        return None

    def _extend(self, chosen: set[int], barred: set[int], most: int, work: Work) -> bool | None:
        """Whether `chosen` can be completed with so many more, and then it is; None: no work was left."""
        if not work.spend(sum(len(members) for _, members in self._sums)):
            return None
        hardest = self._hardest(chosen, barred)
        if hardest is None:
            return True
        fewest, members = hardest
        if fewest > most:
            return False
        tried: list[int] = []
        answer: bool | None = False
        for member in members:
            if member in chosen or member in barred:
                continue
            if not any(self._does_as_much(other, member) for other in tried):
                chosen.add(member)
                answer = self._extend(chosen, barred, most - 1, work)
                if answer is not False:
                    break
                chosen.discard(member)
            # Every set with it has been looked at, or one that is as good.
            barred.add(member)
            tried.append(member)
            if self._fewest(chosen, barred) > most:
                break
        barred.difference_update(tried)
        return answer

    def _does_as_much(self, one: int, other: int) -> bool:
        return self._amounts[one] >= self._amounts[other] and not self._sums_of[other] & ~self._sums_of[one]

    def _fewest(self, chosen: set[int], barred: set[int]) -> int:
        """So many more are needed at least."""
        hardest = self._hardest(chosen, barred)
        return 0 if hardest is None else hardest[0]

    def _hardest(self, chosen: set[int], barred: set[int]) -> tuple[int, list[int]] | None:
        """How many all need at least, where sums without a common member add up, and the one that needs most.

        None: all are met.
        """
        needs = []
        for excess, members in self._sums:
            short = excess - sum(self._amounts[it] for it in members if it in chosen)
            if short <= 0:
                continue
            fewest = 0
            free = []
            for member in members:
                if member in chosen or member in barred:
                    continue
                free.append(member)
                if short > 0:
                    short -= self._amounts[member]
                    fewest += 1
            needs.append((fewest if short <= 0 else len(members) + _MOST_DEPTH, free, members))
        if not needs:
            return None
        needs.sort(key=lambda it: -it[0])
        used: set[int] = set()
        total = 0
        for fewest, free, _ in needs:
            if used.isdisjoint(free):
                used.update(free)
                total += fewest
        return total, needs[0][2]
