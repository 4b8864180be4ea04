"""Issues of pairs of buffers: unknown names, a buffer paired with itself, pins to overlapping addresses."""

from collections.abc import Iterator

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import ALWAYS, Buffer, Problem
from memstow.planner.model.rigid_groups import Distances

# Pinned pairs may share addresses at different times; at most this many of them are checked.
_MOST_PAIRS = 2_000_000


def pair_issues(problem: Problem, index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of entries that name two buffers."""
    for field, path, first, second in _named_pairs(problem):
        for name in dict.fromkeys((first, second)):
            if name not in index_of:
                yield Issue(
                    "unknown_buffer",
                    path,
                    f"there is no buffer {name!r}; give the id of a buffer of this problem",
                )
        if first == second:
            yield Issue("pair_of_one", path, f"{first!r} is named twice; {field} takes two different buffers")


def _named_pairs(problem: Problem) -> Iterator[tuple[str, str, str, str]]:
    """(field, path, first, second) of everything that names two buffers."""
    for i, pair in enumerate(problem.conflicts):
        yield "conflicts", f"$.conflicts[{i}]", *pair
    for i, pair in enumerate(problem.exclusive):
        yield "exclusive", f"$.exclusive[{i}]", *pair
    for i, tie in enumerate(problem.relative):
        yield "relative", f"$.relative[{i}]", tie.buffer, tie.base
    for i, share in enumerate(problem.in_place):
        yield "in_place", f"$.in_place[{i}]", share.input, share.output
    for i, cost in enumerate(problem.reuse_costs):
        yield "reuse_costs", f"$.reuse_costs[{i}]", *cost.buffers


def clashing_pins(problem: Problem, index_of: dict[str, int]) -> Iterator[Issue]:
    """An issue for each pair of pins that cannot both hold. Names in the problem may be unknown."""
    pinned = [
        (buffer.pool, buffer.offset, index)
        for index, buffer in enumerate(problem.buffers)
        if buffer.offset is not None and buffer.pool is not None and buffer.size
    ]
    if len(pinned) < 2:
        return
    apart = _Apart(problem, index_of)
    checked = 0
    active: list[tuple[str, int, int]] = []
    for pool, offset, index in sorted(pinned):
        active = [a for a in active if a[0] == pool and a[1] > offset]
        for _, _, other in active:
            checked += 1
            if checked > _MOST_PAIRS:
                return
            if apart.must_be(index, other):
                yield _clash(problem.buffers, *sorted((index, other)))
        active.append((pool, offset + problem.buffers[index].size, index))


def _clash(buffers: tuple[Buffer, ...], first: int, second: int) -> Issue:
    one, other = buffers[first], buffers[second]
    return Issue(
        "pins_clash",
        f"$.buffers[{second}].offset",
        f"[{other.offset}, {(other.offset or 0) + other.size}) in {other.pool!r} overlaps "
        f"[{one.offset}, {(one.offset or 0) + one.size}) of {one.id!r}, which it conflicts with; "
        "pin them apart",
    )


class _Apart:
    """Decides which pinned buffers may not share bytes."""

    def __init__(self, problem: Problem, index_of: dict[str, int]) -> None:
        self._buffers = problem.buffers

        def pairs(named: Iterator[tuple[str, str]]) -> set[frozenset[int]]:
            return {
                frozenset((index_of[a], index_of[b])) for a, b in named if a in index_of and b in index_of
            }

        self._conflicts = pairs(iter(problem.conflicts))
        self._exclusive = pairs(iter(problem.exclusive))
        self._in_place = pairs((share.input, share.output) for share in problem.in_place)
        self._groups = Distances()
        for tie in problem.relative:
            if tie.buffer in index_of and tie.base in index_of and tie.buffer != tie.base:
                self._groups.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)

    def must_be(self, one: int, other: int) -> bool:
        pair = frozenset((one, other))
        if self._groups.find(one)[0] == self._groups.find(other)[0]:
            return False
        a, b = self._buffers[one], self._buffers[other]
        if pair in self._in_place and a.offset == b.offset:
            return False
        return pair in self._conflicts or (pair not in self._exclusive and _meet(a, b))


def _meet(a: Buffer, b: Buffer) -> bool:
    """Whether the two live together; invalid lifetimes, which are issues themselves, do not count."""
    if any(it.lifetime is not None and it.lifetimes is not None for it in (a, b)):
        return False
    if a.lifetime == ALWAYS or b.lifetime == ALWAYS:
        other = b if a.lifetime == ALWAYS else a
        return other.lifetime == ALWAYS or bool(_ranges(other))
    return any(
        begin < other_end and other_begin < end
        for begin, end in _ranges(a)
        for other_begin, other_end in _ranges(b)
    )


def _ranges(buffer: Buffer) -> list[tuple[int, int]]:
    ranges = buffer.lifetimes or ()
    if buffer.lifetime is not None and not isinstance(buffer.lifetime, str):
        ranges = (buffer.lifetime,)
    return [(begin, end) for begin, end in ranges if begin < end]
