"""Rigid groups: buffers that `relative` ties at fixed distances, and the places such a group may take."""

from collections.abc import Collection, Iterable, Iterator
from math import gcd, lcm

from memstow.planner.model.problem import Buffer, Pool, Problem, Relative
from memstow.planner.model.records import record


@record
class Group:
    """Buffers (by index) and their distances from the lowest of them."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]


@record
class Congruence:
    """All offsets that are `residue` modulo `modulus`."""

    modulus: int
    residue: int

    def meet(self, other: "Congruence") -> "Congruence | None":
        """The offsets in both, if there are any."""
        common = gcd(self.modulus, other.modulus)
        apart = other.residue - self.residue
        if apart % common:
            return None
        step = other.modulus // common
        times = apart // common * pow(self.modulus // common, -1, step) % step
        modulus = lcm(self.modulus, other.modulus)
        return Congruence(modulus, (self.residue + self.modulus * times) % modulus)


ANYWHERE = Congruence(1, 0)


class Distances:
    """The groups of tied buffers and the distances in them, updated tie by tie."""

    def __init__(self) -> None:
        self._parent: dict[int, tuple[int, int]] = {}

    def find(self, index: int) -> tuple[int, int]:
        """The representative of the buffer's group, and the buffer's distance from it."""
        trail: list[tuple[int, int]] = []
        while index in self._parent:
            parent, distance = self._parent[index]
            trail.append((index, distance))
            index = parent
        total = 0
        for child, distance in reversed(trail):
            total += distance
            self._parent[child] = (index, total)
        return index, total

    def tie(self, index: int, base: int, distance: int) -> int | None:
        """Put `index` at `distance` from `base`; if they are tied already, return the distance they have."""
        root, at = self.find(index)
        base_root, base_at = self.find(base)
        if root == base_root:
            return at - base_at
        self._parent[root] = (base_root, base_at + distance - at)
        return None

    def members(self) -> Iterable[int]:
        """Every tied buffer that is not the representative of its group."""
        return self._parent.keys()


def rigid_groups(problem: Problem, index_of: dict[str, int]) -> list[Group]:
    """The groups of two buffers and more, in the order of their first buffers. Ties must be consistent.

    A buffer of size 0 passes on the distances of those that are tied through it, and is in no group itself.
    """
    distances = Distances()
    for tie in problem.relative:
        distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
    by_root: dict[int, list[tuple[int, int]]] = {}
    for index in list(distances.members()):
        root, at = distances.find(index)
        by_root.setdefault(root, [(root, 0)]).append((index, at))
    groups = []
    for tied in by_root.values():
        members = sorted((index, at) for index, at in tied if problem.buffers[index].size)
        if len(members) < 2:
            continue
        lowest = min(at for _, at in members)
        groups.append(Group(tuple(i for i, _ in members), tuple(at - lowest for _, at in members)))
    groups.sort(key=lambda group: group.members[0])
    return groups


def with_groups(problem: Problem, among: Collection[str]) -> set[str]:
    """These buffers and all that are tied to them, those tied through a buffer of size 0 as well."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    distances = Distances()
    for tie in problem.relative:
        distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
    groups = {distances.find(index_of[name])[0] for name in among}
    return {buffer.id for index, buffer in enumerate(problem.buffers) if distances.find(index)[0] in groups}


def alignment_in(buffer: Buffer, pool: Pool, delta: int = 0) -> Congruence:
    """The offsets of a group at which this buffer, `delta` above it, is aligned in the pool."""
    modulus = lcm(buffer.alignment, pool.alignment)
    return Congruence(modulus, -(delta + (pool.base or 0)) % modulus)


def group_alignment(buffers: Iterable[tuple[Buffer, int]], pool: Pool) -> Congruence | None:
    """The offsets at which all buffers of a group are aligned in the pool; None if there are none."""
    common: Congruence | None = ANYWHERE
    for buffer, delta in buffers:
        if common is None:
            return None
        common = common.meet(alignment_in(buffer, pool, delta))
    return common


def cycles(ties: Iterable[Relative]) -> Iterator[tuple[str, ...]]:
    """Chains of `relative` that come back to their start, each once."""
    bases: dict[str, list[str]] = {}
    for tie in ties:
        bases.setdefault(tie.buffer, []).append(tie.base)
    done: set[str] = set()
    for start in bases:
        if start in done:
            continue
        chain: list[str] = []
        on_chain: dict[str, int] = {}
        stack = [(start, iter(bases[start]))]
        chain.append(start)
        on_chain[start] = 0
        while stack:
            node, following = stack[-1]
            base = next(following, None)
            if base is None:
                stack.pop()
                chain.pop()
                del on_chain[node]
                done.add(node)
            elif base in on_chain:
                yield (*chain[on_chain[base] :], base)
            elif base not in done:
                on_chain[base] = len(chain)
                chain.append(base)
                stack.append((base, iter(bases.get(base, ()))))
