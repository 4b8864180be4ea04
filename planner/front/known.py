"""What is known of a front while it is looked for: plans, what is proven, and where more may be found.

`limited` is the term that each solve has a limit on, `improved` the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from memstow.planner.front.facts import ANY, Facts
from memstow.planner.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Found:
    """A plan: the values of the limited term and of the other, and the plan as the solve made it."""

    limited: int
    improved: int
    plan: Plan

    @property
    def values(self) -> tuple[int, int]:
        """Both values."""
        return self.limited, self.improved


@dataclass(frozen=True, slots=True)
class Gap:
    """Limits at which something better is not ruled out, between two neighbours that are known."""

    low: int
    high: int
    area: int


class Known:
    """Plans of which none is as good as another in both terms, and facts.

    `most` tells the largest value of the second term that is asked for, given its least (None: any);
    `limited_first`: whether the limited term is the first.
    """

    def __init__(self, most: Callable[[int], int | None], limited_first: bool) -> None:
        self._most = most
        self._limited_first = limited_first
        self._found: list[Found] = []
        self.facts = Facts()

    def add(self, found: Found) -> None:
        """Keep it unless another is as good in both; drop what is no better than it."""
        if any(it.limited <= found.limited and it.improved <= found.improved for it in self._found):
            return
        kept = [it for it in self._found if it.limited < found.limited or it.improved < found.improved]
        self._found = sorted([*kept, found], key=lambda it: it.limited)

    def best_within(self, limit: int | None) -> Plan | None:
        """The plan with the least value of the other term among those known to keep the limit."""
        fitting = [it for it in self._found if limit is None or it.limited <= limit]
        return min(fitting, key=lambda it: it.improved).plan if fitting else None

    def listed(self) -> list[Found]:
        """The points that are asked for."""
        x, y = self.most_limited(), self._most_improved()
        return [it for it in self._found if it.limited <= x and it.improved <= y]

    def bounds(self, found: Found) -> tuple[int, int]:
        """What no plan has less of that has no more of the other: of the limited term, and of the other."""
        limited = self.facts.reach(found.improved + 1) + 1
        return min(limited, found.limited), min(self.facts.least(found.limited), found.improved)

    def proven(self, found: Found) -> bool:
        """Whether no plan is better in one term and as good in the other."""
        return self.bounds(found) == (found.limited, found.improved)

    def gaps(self) -> list[Gap]:
        """Where something that is asked for may be missing."""
        most_x, most_y = self.most_limited(), self._most_improved()
        known = [it for it in self._found if it.limited <= most_x]
        if not known:
            return [] if self.infeasible else [Gap(0, ANY, 1)]
        gaps = [self._gap(0, known[0].limited - 1, min(most_y + 1, ANY), 1)]
        for one, other in pairwise(known):
            worth = min(one.improved, most_y + 1)
            gaps.append(self._gap(one.limited, other.limited - 1, worth, worth - other.improved))
        gaps.append(self._gap(known[-1].limited, most_x, known[-1].improved, 1))
        return [gap for gap in gaps if gap is not None]

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing fits."""
        return self.facts.least(ANY) >= ANY

    @property
    def complete(self) -> bool:
        """Whether everything that is asked for is known, and proven."""
        return self.infeasible or (bool(self._found) and not self.gaps())

    def _most_improved(self) -> int:
        """The largest value of the other term that is asked for."""
        if not self._limited_first or not self._found:
            return ANY
        most = self._most(self._found[-1].improved)
        return ANY if most is None else most

    def most_limited(self) -> int:
        """The largest value of the limited term that is asked for."""
        if self._limited_first or not self._found:
            return ANY
        most = self._most(self._found[0].limited)
        return ANY if most is None else most

    def _gap(self, low: int, high: int, worth: int, height: int) -> Gap | None:
        """The limits from `low` to `high` at which less than `worth` is possible, for all that is proven."""
        if high < 0 or self.facts.least(high) >= worth:
            return None
        low = max(low, self.facts.reach(worth) + 1)
        width = 1 if high >= ANY else high - low + 1
        return Gap(low, high, width * max(height, 1))
