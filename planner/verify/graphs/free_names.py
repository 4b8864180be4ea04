"""Names for what a schedule adds to a graph: the plain one, or one with more signs where that is taken."""

from collections.abc import Iterable
from typing import Final

from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.refused import Refused

_LONGEST: Final = 1024


class FreeNames:
    """The names that are taken."""

    def __init__(self, taken: Iterable[str], effort: Effort) -> None:
        self._taken = set(taken)
        self._effort = effort

    def take(self, name: str) -> str:
        """The name, with as many `#` behind it as are needed to be free, which is then taken."""
        while name in self._taken:
            self._effort.spend(1)
            name += "#"
        if len(name) > _LONGEST:
            raise Refused(f"the name {name[:60]!r}... has more than {_LONGEST:,} characters; use shorter ids")
        self._effort.spend(1)
        self._taken.add(name)
        return name
