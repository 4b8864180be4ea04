"""A graph without times, as the judge of orders sees it: sets of operators are numbers with a bit for each.

A storage begins with the first operator of `begins`, and ends with the last of `ends`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from memstow.planner.verify.effort import Effort

Ops = int
"""A set of operators."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that live as one."""

    size: int
    begins: Ops
    ends: Ops
    from_start: bool
    to_end: bool


@dataclass(frozen=True)
class Untimed:
    """Operators, by their number, and what they begin and end."""

    extra: Sequence[int]
    storages: Sequence[Stored]
    before: Sequence[Ops]
    """By operator, those right before it."""
    pairs: Sequence[Sequence[tuple[int, int]]]
    """By operator, the storages of its pairs in place."""
    base: int
    effort: Effort = field(default_factory=Effort, compare=False)

    @property
    def count(self) -> int:
        """How many operators there are."""
        return len(self.extra)

    @cached_property
    def sizes(self) -> list[int]:
        """The bytes of each storage."""
        return [storage.size for storage in self.storages]

    @cached_property
    def everything(self) -> Ops:
        """All operators."""
        return (1 << self.count) - 1

    @cached_property
    def after(self) -> list[Ops]:
        """By operator, those right after it."""
        found = [0] * self.count
        for then, them in enumerate(self.before):
            for first in members(them):
                found[first] |= 1 << then
        return found

    @cached_property
    def all_before(self) -> list[Ops]:
        """By operator, all that come before it."""
        return _closures(self.before)

    @cached_property
    def all_after(self) -> list[Ops]:
        """By operator, all that come after it."""
        return _closures(self.after)

    @cached_property
    def uses(self) -> list[list[int]]:
        """By operator, the storages that it may begin or end."""
        found: list[list[int]] = [[] for _ in range(self.count)]
        for number, storage in enumerate(self.storages):
            for op in members(storage.begins | storage.ends):
                found[op].append(number)
        return found

    def closure(self, ops: Ops) -> Ops:
        """The operators and all that come before them."""
        self.effort.spend(1 + ops.bit_count())
        found = ops
        for op in members(ops):
            found |= self.all_before[op]
        return found

    def begun(self, number: int, done: Ops) -> bool:
        """Whether a storage has begun."""
        storage = self.storages[number]
        return storage.from_start or bool(storage.begins & done)

    def ended(self, number: int, done: Ops) -> bool:
        """Whether a storage has ended."""
        storage = self.storages[number]
        return not storage.to_end and not storage.ends & ~done

    def live(self, done: Ops) -> int:
        """What is live between operators."""
        self.effort.spend(len(self.storages))
        return self.base + sum(
            storage.size
            for number, storage in enumerate(self.storages)
            if self.begun(number, done) and not self.ended(number, done)
        )

    def backwards(self) -> "Untimed":
        """The same with time running backwards."""
        turned = [
            replace(it, begins=it.ends, ends=it.begins, from_start=it.to_end, to_end=it.from_start)
            for it in self.storages
        ]
        pairs = [[(target, source) for source, target in them] for them in self.pairs]
        return Untimed(self.extra, turned, self.after, pairs, self.base, self.effort)


def members(ops: Ops) -> Iterator[int]:
    """The operators of a set, ascending."""
    while ops:
        lowest = ops & -ops
        yield lowest.bit_length() - 1
        ops ^= lowest


def _closures(next_to: Sequence[Ops]) -> list[Ops]:
    """By operator, all that can be reached. There is no circle."""
    found: list[Ops | None] = [None] * len(next_to)
    for root in range(len(next_to)):
        stack = [root]
        while stack:
            op = stack[-1]
            missing = [it for it in members(next_to[op]) if found[it] is None]
            if missing and found[op] is None:
                stack += missing
                continue
            stack.pop()
            if found[op] is None:
                reached = next_to[op]
                for it in members(next_to[op]):
                    reached |= found[it] or 0
                found[op] = reached
    return [it or 0 for it in found]
