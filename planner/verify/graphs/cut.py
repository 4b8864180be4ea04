"""Checks that an operator needs so many bytes in any order: the certificate `cut`, by precedence and sums.

The sets looked at are those of operators that may have run when the operator does: all that must come before
it, none that must come after it, and of the others any. What is live in all of them counts; chains add what
one of several tensors must hold; what the operator may save in place is taken off.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from memstow.planner.model.graph import Graph, Operator, size_of
from memstow.planner.model.plan import Chain, Cut, Way
from memstow.planner.verify.graphs.pieces import Name, Piece, pieces, predecessors

# Steps of one check: more are not taken, and the certificate is refused as too long.
_MOST_STEPS: Final = 50_000_000
# Sets of pairs that are gone through.
_MOST_SETS: Final = 20_000

_Pair = tuple[str, str]


class TooLong(Exception):  # noqa: N818
    """The check would take too long."""


class CutCheck:
    """Checks certificates about one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._pieces = pieces(graph)
        self._before = predecessors(graph)
        self._steps = 0
        self._base = sum(
            size_of(tensor)
            for tensor in graph.tensors
            if tensor.kind == "state" or (tensor.kind == "constant" and tensor.pools is not None)
        )

    def reason_against(self, bound: int, certificate: Cut) -> str | None:
        """Why the certificate does not prove the bound; None where it does."""
        if certificate.operator is None:
            start = sum(it.size for it in self._pieces.values() if it.from_start)
            end = sum(it.size for it in self._pieces.values() if it.to_end)
            most = self._base + max(start, end)
            return None if most >= bound else f"at both ends at most {most:,} bytes are live"
        operator = next((it for it in self._graph.operators if it.id == certificate.operator), None)
        if operator is None:
            return f"{certificate.operator!r} is not an operator of the graph"
        try:
            return _Sets(self, operator).reason_against(bound, certificate.ways)
        except TooLong:
            return "it is too long to be checked"

    def closed(self, starts: Iterable[str]) -> set[str]:
        """The operators and all that must come before any of them."""
        seen, left = set(starts), list(starts)
        while left:
            for earlier in self._before[left.pop()]:
                self._steps += 1
                if earlier not in seen:
                    seen.add(earlier)
                    left.append(earlier)
        if self._steps > _MOST_STEPS:
            raise TooLong
        return seen

    def after(self, operator: str) -> set[str]:
        """The operators that must come after this one."""
        later: dict[str, list[str]] = {}
        for then, them in self._before.items():
            for first in them:
                later.setdefault(first, []).append(then)
        seen: set[str] = set()
        left = [operator]
        while left:
            for then in later.get(left.pop(), ()):
                if then not in seen:
                    seen.add(then)
                    left.append(then)
        return seen

    @property
    def pieces(self) -> dict[Name, Piece]:
        """What lives as one."""
        return self._pieces

    @property
    def base(self) -> int:
        """The bytes that are always live."""
        return self._base


class _Sets:
    """The sets of operators that may have run when one does."""

    def __init__(self, check: CutCheck, operator: Operator) -> None:
        self._check = check
        self._operator = operator
        self._inside = check.closed([operator.id]) - {operator.id}
        self._outside = check.after(operator.id)
        self._always = {
            name for name, it in check.pieces.items() if self._has_begun(it) and self._has_not_ended(it)
        }
        self._can_save = {pair: self._bytes(pair) for pair in operator.in_place if self._may_save(pair)}

    def reason_against(self, bound: int, ways: tuple[Way, ...]) -> str | None:
        """Why the ways do not prove that the operator needs so much."""
        reason = self._against_cover(ways)
        if reason is not None:
            return reason
        live = sum(self._check.pieces[name].size for name in self._always)
        plain = self._check.base + live + _most_in_a_phase(self._operator)
        for way in ways:
            reason = self._against_chains(way)
            if reason is not None:
                return reason
            saved = sum(self._bytes(pair) for pair in way.saved)
            least = plain - saved + sum(chain.bytes for chain in way.chains)
            if least < bound:
                return f"{self._operator.id!r} needs at least {least:,} bytes by it"
        return None

    def _has_begun(self, piece: Piece) -> bool:
        """Whether it has begun in all of the sets, while the operator runs."""
        return piece.from_start or any(it == self._operator.id or it in self._inside for it in piece.writers)

    def _has_not_ended(self, piece: Piece) -> bool:
        """Whether it has ended in none of the sets."""
        return piece.to_end or any(it == self._operator.id or it in self._outside for it in piece.users)

    def _piece_of(self, tensor: str) -> Piece | None:
        return self._check.pieces.get((tensor, 0))

    def _bytes(self, pair: _Pair) -> int:
        sizes = [0 if (piece := self._piece_of(name)) is None else piece.size for name in pair]
        return min(sizes)

    def _may_save(self, pair: _Pair) -> bool:
        """Whether the input can end at the operator, and the output begin there."""
        source, target = map(self._piece_of, pair)
        if source is None or target is None:
            return False
        ends = not source.to_end and not source.users & self._outside
        return ends and not target.from_start and not target.writers & self._inside

    def _against_cover(self, ways: tuple[Way, ...]) -> str | None:
        """Why the ways leave out something that the operator may save."""
        if not ways:
            return "it grants no way to save, not even that of saving nothing"
        for way in ways:
            if not set(way.saved) <= set(self._operator.in_place):
                return "a way grants a pair that is not of the operator"
        if len(ways) == 1 and self._is_most_of_each_output(ways[0]):
            return None
        granted = [set(way.saved) for way in ways]
        for chosen in self._sets_of_pairs():
            if not any(chosen <= saved for saved in granted):
                return "the operator may save in a way that is left out"
        return None

    def _is_most_of_each_output(self, way: Way) -> bool:
        """Whether the way grants each output its best pair, on which no chain rests."""
        best: dict[str, int] = {}
        for (_, target), saves in self._can_save.items():
            best[target] = max(best.get(target, 0), saves)
        granted: Counter[str] = Counter()
        for pair in set(way.saved):
            granted[pair[1]] += self._bytes(pair)
        enough = all(granted[target] >= saves for target, saves in best.items())
        return enough and all(chain.unless is None for chain in way.chains)

    def _sets_of_pairs(self) -> Iterable[set[_Pair]]:
        """All sets of pairs that can be saved together and that no pair can be added to."""
        pairs = list(self._can_save)
        found: list[set[_Pair]] = []
        calls = 0

        def choose(at: int, chosen: list[_Pair]) -> None:
            nonlocal calls
            calls += 1
            if calls > _MOST_SETS:
                raise TooLong
            if at == len(pairs):
                found.append(set(chosen))
                return
            source, target = pairs[at]
            taken = any(source == it[0] or target == it[1] for it in chosen)
            rivals = [it for it in pairs if it != pairs[at] and (it[0] == source or it[1] == target)]
            if not taken:
                choose(at + 1, [*chosen, pairs[at]])
            if taken or rivals:
                choose(at + 1, chosen)

        if len(pairs) > 500:
            raise TooLong
        choose(0, [])
        return found

    def _against_chains(self, way: Way) -> str | None:
        used: Counter[Name] = Counter()
        spared: Counter[_Pair] = Counter()
        for chain in way.chains:
            reason = self._against_chain(way, chain)
            if reason is not None:
                return reason
            for name in chain.live:
                used[name] += chain.bytes
            if chain.unless is not None:
                spared[chain.unless] += chain.bytes
        for name, total in used.items():
            if name in self._always or total > self._check.pieces[name].size:
                return f"{name[0]!r} counts for more bytes than it has"
        for pair, total in spared.items():
            if total > self._bytes(pair):
                return f"the pair of {pair[0]!r} and {pair[1]!r} counts for more bytes than it saves"
        return None

    def _against_chain(self, way: Way, chain: Chain) -> str | None:
        """Why it may be that no tensor of the chain is live."""
        unknown = [name for name in chain.live if name not in self._check.pieces]
        if unknown:
            return f"{unknown[0][0]!r} has no piece that begins at byte {unknown[0][1]:,}"
        live = [self._check.pieces[name] for name in chain.live]
        if len(set(chain.live)) != len(live):
            return "a chain names a tensor twice"
        ended: set[str] | None = None
        if chain.unless is not None:
            source = self._piece_of(chain.unless[0])
            if chain.unless not in way.saved or source is None or way.saved.count(chain.unless) != 1:
                return "a chain rests on a pair that its way does not grant"
            if source.to_end:
                return None  # The pair saves nothing in any set.
            ended = source.users - {self._operator.id}
        for piece in live:
            begun = self._has_begun(piece)
            if not begun and (ended is None or not piece.writers & self._check.closed(ended)):
                return "a chain may not have begun"
            if piece.to_end:
                return None
            ended = piece.users
        if ended is None or not ended & ({self._operator.id} | self._outside):
            return "all of a chain may have ended"
        return None


def _most_in_a_phase(operator: Operator) -> int:
    """The most bytes of temporaries at one time."""
    count = max([1, *(it.phases[1] for it in operator.temporaries if it.phases is not None)])
    spans = [(it.phases or (0, count), it.size) for it in operator.temporaries]
    changes: Counter[int] = Counter()
    for (begin, end), size in spans:
        changes[begin] += size
        changes[end] -= size
    level, most = 0, 0
    for at in sorted(changes):
        level += changes[at]
        most = max(most, level)
    return most
