"""The live ranges of the buffers in one pool, in the order in which a sweep over time meets them."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from memstow.planner.verify.layout import Layout
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.rigid import ALONE

ENTER: Final = True
LEAVE: Final = False


class Lives:
    """One tag for each live range of each of these buffers, which are in one pool and have a size.

    Tags are in order of time, so that a sweep walks through memory instead of jumping about in it.
    """

    def __init__(self, index: ProblemIndex, layout: Layout, placed: list[int]) -> None:
        lives = [(i, begin, end) for i in placed for begin, end in index.lives(i)]
        lives.sort(key=itemgetter(1))
        self.buffer = [i for i, _, _ in lives]
        self.begin = [begin for _, begin, _ in lives]
        self.end = [end for _, _, end in lives]
        self.low = [layout.offset[i] for i in self.buffer]
        self.high = [layout.ends[i] for i in self.buffer]
        self.group = [index.rigid.group[i] for i in self.buffer]
        self.grouped = any(group != ALONE for group in self.group)

    def events(self) -> Iterator[tuple[bool, int, int]]:
        """(ENTER or LEAVE, tag, time); at one moment whatever ends leaves before anything enters."""
        end = self.end
        leaving = sorted(range(len(end)), key=end.__getitem__)
        next_out = 0
        for tag, now in enumerate(self.begin):
            while end[leaving[next_out]] <= now:
                yield LEAVE, leaving[next_out], now
                next_out += 1
            yield ENTER, tag, now
