"""The live ranges of the buffers in one pool, in the order in which a sweep over time meets them."""

from collections.abc import Iterator
from typing import Final

from planner.verify.facts import Facts
from planner.verify.layout import Layout
from planner.verify.rigid import ALONE

ENTER: Final = True
LEAVE: Final = False


class Lives:
    """One tag for each live range of each of these buffers, which are in one pool and have a size."""

    def __init__(self, facts: Facts, layout: Layout, placed: list[int]) -> None:
        self.buffer: list[int] = []
        self.begin: list[int] = []
        self.end: list[int] = []
        for i in placed:
            for begin, end in facts.lives(i):
                self.buffer.append(i)
                self.begin.append(begin)
                self.end.append(end)
        self.low = [layout.offset[i] for i in self.buffer]
        self.high = [layout.offset[i] + facts.buffers[i].size for i in self.buffer]
        self.group = [facts.rigid.group[i] for i in self.buffer]
        self.grouped = any(group != ALONE for group in self.group)

    def events(self) -> Iterator[tuple[bool, int, int]]:
        """(ENTER or LEAVE, tag, time); at one moment whatever ends leaves before anything enters."""
        begin, end = self.begin, self.end
        entering = sorted(range(len(begin)), key=begin.__getitem__)
        leaving = sorted(range(len(end)), key=end.__getitem__)
        next_out = 0
        for tag in entering:
            now = begin[tag]
            while end[leaving[next_out]] <= now:
                yield LEAVE, leaving[next_out], now
                next_out += 1
            yield ENTER, tag, now
