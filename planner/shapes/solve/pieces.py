"""Several orders, of which each value uses the one with the least peak."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memstow.planner.model.symbolic import Order
from memstow.planner.shapes.solve.arrays import ShapedArrays
from memstow.planner.shapes.solve.orders import Best, OrderSearch
from memstow.planner.shapes.solve.points import PointPlan
from memstow.planner.shapes.solve.quality import Scale, Score
from memstow.planner.solve.allowance import Allowance

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """An order, and what it needs at each point."""

    order: Order
    peaks: tuple[int, ...]
    fits: bool


class PieceSearch:
    """Points are dealt out to orders, an order is sought for each share, and points are dealt out again."""

    def __init__(
        self,
        arrays: Sequence[ShapedArrays],
        points: Sequence[PointPlan],
        peaks_of: Callable[[Order], Sequence[int]],
        scale: Scale,
        allowance: Allowance,
        seed: int,
        cancel: threading.Event | None,
        on_better: "Callable[[Sequence[Piece]], None] | None" = None,
    ) -> None:
        """`on_better` hears of orders that are better together than those before."""
        self._arrays = arrays
        self._points = points
        self._peaks_of = peaks_of
        self._scale = scale
        self._allowance = allowance
        self._seed = seed
        self._cancel = cancel
        self._on_better = on_better

    def run(self, first: Piece, count: int) -> list[Piece]:
        """At most `count` orders, of which the first may be one."""
        pieces = [first]
        while len(pieces) < count and not self._over(pieces):
            worst = self._worst(pieces)
            pieces.append(self._piece([worst], 0.5 / count))
        for turn in range(_ROUNDS):
            if self._over(pieces):
                break
            share = 0.9 / (_ROUNDS - turn) / len(pieces)
            better = [self._piece(numbers, share) for numbers in self._dealt(pieces) if numbers]
            before, pieces = pieces, self._best(pieces, better, count)
            if self._on_better is not None and pieces != before:
                self._on_better(pieces)
        return self._used(pieces)

    def piece_of(self, search: OrderSearch, best: Best) -> Piece:
        """What was found, with what it needs at all points."""
        order = best.arrays.order(search.native_of(best), best.found)
        return Piece(order, tuple(self._peaks_of(order)), best.fits)

    def _over(self, pieces: Sequence[Piece]) -> bool:
        stopped = self._cancel is not None and self._cancel.is_set()
        return stopped or self._allowance.over or self._scale.is_least(least_of(pieces))

    def _worst(self, pieces: Sequence[Piece]) -> int:
        ratios = self._scale.ratios(least_of(pieces))
        return max(range(len(ratios)), key=lambda it: (ratios[it], -it))

    def _dealt(self, pieces: Sequence[Piece]) -> list[list[int]]:
        """By order, the points at which it is the best."""
        dealt: list[list[int]] = [[] for _ in pieces]
        for number in range(len(self._points)):
            best = min(range(len(pieces)), key=lambda it: (pieces[it].peaks[number], it))
            dealt[best].append(number)
        return dealt

    def _piece(self, numbers: Sequence[int], share: float) -> Piece:
        search = OrderSearch(
            self._arrays, self._points, numbers, self._scale, self._allowance, self._seed, self._cancel
        )
        best = search.run(share, prove=False, every_set=None)
        return self.piece_of(search, best)

    def _best(self, old: Sequence[Piece], new: Sequence[Piece], count: int) -> list[Piece]:
        """Of all of these, so many that are good together: always the one that helps most."""
        chosen: list[Piece] = []
        rest = [*old, *new]
        while rest and len(chosen) < count:
            best = min(
                range(len(rest)), key=lambda it: (not rest[it].fits, self._score([*chosen, rest[it]]), it)
            )
            chosen.append(rest.pop(best))
        return min((chosen, list(old)), key=self._score)

    def _score(self, pieces: Sequence[Piece]) -> Score:
        return self._scale.score(least_of(pieces))

    def _used(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Without those that are the best nowhere."""
        return [it for it, numbers in zip(pieces, self._dealt(pieces), strict=True) if numbers] or [pieces[0]]


def least_of(pieces: Sequence[Piece]) -> list[int]:
    """At each point, the peak of the best."""
    return [min(peaks) for peaks in zip(*(it.peaks for it in pieces), strict=True)]
