"""What is proven about all plans at once: the least value of one term within a limit on the other."""

from typing import Final

ANY: Final = 1 << 200
"""No limit; and as the least value: nothing fits."""


class Facts:
    """Statements of the form: every plan whose limited term is at most `limit` has at least `least`."""

    def __init__(self) -> None:
        # By limit, descending; a smaller limit is only kept where it has a larger least value.
        self._steps: list[tuple[int, int]] = []

    def learn(self, limit: int, least: int) -> None:
        """Note a proven statement."""
        if limit >= 0 and least > self.least(limit):
            kept = [step for step in self._steps if step[0] > limit or step[1] > least]
            self._steps = sorted([*kept, (limit, least)], reverse=True)

    def least(self, limit: int) -> int:
        """The proven least value within this limit."""
        return max((least for known, least in self._steps if known >= limit), default=0)

    def reach(self, value: int) -> int:
        """The largest limit within which every plan has at least this value; -1 where there is none."""
        if value <= 0:
            return ANY
        return max((limit for limit, least in self._steps if least >= value), default=-1)
