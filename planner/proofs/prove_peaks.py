"""A proof of the least peaks of several pools: of their sum, or of that of one.

A tree halves what the peaks may be, pool by pool; where layouts within the heights of a node would cost too
much, that is a leaf. Else there are buffers that fit below them in each pool alone: the least peak there that
they have says where to go on.
"""

from typing import Final

from memstow.planner.model.problem import LIMIT, Kind, Problem
from memstow.planner.proofs.prove_places import Draft, PlacementProof
from memstow.planner.proofs.questions import COST_TERMS, Heights
from memstow.records import replace
from memstow.solvers.core import Budget

_DEEPEST: Final = 300
_DEAD, _BRANCH, _LEAF = range(3)


class PeaksProof:
    """That layouts within heights, with their sum, cost at least so much in a term."""

    def __init__(self, problem: Problem, term: str, heights: Heights, budget: Budget) -> None:
        self._problem, self._term, self._budget = problem, term, budget
        self._heights = heights
        self._leaves = list[tuple[Heights, PlacementProof]]()
        self._tree = list[int]()
        self._root: tuple[Heights, PlacementProof, int] | None = None
        """The first leaf, and what it shows."""

    def write(self, wanted: int, draft: Draft) -> int:
        """Write that layouts cost so much, or what is shown of any peaks; what they cost at least."""
        self._wanted = wanted
        # What is named for a leaf is used by it; all are named before the first is.
        self._first_name = LIMIT + 1 + len(draft.heights)
        self._first_statement = draft.statements
        if not self._node([0] * len(self._problem.pools), list(self._heights.peaks), 1):
            return self._write_weaker(draft)
        for heights, _ in self._leaves:
            draft.file.name_heights(heights.numbers)
            draft.heights.append(heights)
        for _, leaf in self._leaves:
            leaf.write(draft)
        if self._tree == [_LEAF, self._first_statement]:
            return wanted
        number = draft.file.name_heights(self._heights.numbers)
        draft.heights.append(self._heights)
        draft.file.peaks(COST_TERMS.index(Kind(self._term)), number, self._tree)
        draft.statements += 1
        return wanted

    def _write_weaker(self, draft: Draft) -> int:
        """Write what the root alone shows."""
        if self._root is None:
            return 0
        heights, proof, shown = self._root
        draft.file.name_heights(heights.numbers)  # as the first leaf, which has that number
        draft.heights.append(heights)
        proof.write(draft)
        return shown

    def _node(self, lows: list[int], tops: list[int], depth: int) -> bool:
        """Write a tree of the layouts whose peaks are from the lows to the tops; whether there is one."""
        if depth > _DEEPEST or self._budget.spent:
            return False
        total = self._heights.total
        left = LIMIT if total == LIMIT else total - sum(lows)
        most = [min(top, low + left) for low, top in zip(lows, tops, strict=True)]
        if any(top < low for low, top in zip(lows, most, strict=True)):
            self._tree.append(_DEAD)
            return True
        heights = replace(self._heights, peaks=tuple(most))
        for number, (known, _) in enumerate(self._leaves):
            if heights.within(known):
                self._tree += [_LEAF, self._first_statement + number]
                return True
        name = self._first_name + len(self._leaves)
        proof = PlacementProof(self._problem, self._term, heights, name, self._budget)
        shown = proof.raise_bound(self._wanted)
        if depth == 1:
            self._root = heights, proof, shown
        if shown >= self._wanted:
            self._tree += [_LEAF, self._first_statement + len(self._leaves)]
            self._leaves.append((heights, proof))
            return True
        if proof.example is None or total == LIMIT:
            return False
        needed = [proof.peak_of_example(pool) for pool in range(len(lows))]
        raised, pool = max(
            (peak - low, pool) for pool, (peak, low) in enumerate(zip(needed, lows, strict=True))
        )
        if raised <= 0 or sum(needed) <= total:
            return False  # As far as is known, that is a layout.
        at = needed[pool] - 1
        self._tree += [_BRANCH, pool, at]
        lower, higher = [*tops], [*lows]
        lower[pool], higher[pool] = min(tops[pool], at), at + 1
        return self._node(lows, lower, depth + 1) and self._node(higher, tops, depth + 1)
