"""What a tiling says of all tiles there are: none is better, none fits, none is missing on the front."""

from collections.abc import Callable
from typing import Literal

from memstow.planner.model.tiling import Tiling, TilingTerm
from memstow.planner.verify.effort import TooMuch
from memstow.planner.verify.tilings.counts import Counted
from memstow.planner.verify.tilings.family import LAST, LONGEST, Family, Key, key_of
from memstow.planner.verify.verdict import Claims, Subject

_Finding = str | None


class Statements:
    """Gathers what is wrong with the statements of a tiling, and how each of the others was checked."""

    def __init__(self, family: Family, tiling: Tiling, claims: Claims) -> None:
        self._family, self._tiling, self._claims = family, tiling, claims
        self.wrong: list[str] = []

    def check(self, chosen: Counted | None) -> None:
        """Check all; `chosen`: the figures of the best tile as they were counted."""
        tiling = self._tiling
        if tiling.complete and not self._family.has_all_sizes:
            self.wrong.append(f"a direction of more than {LONGEST:,} is not tried in all sizes: not complete")
        if chosen is None:
            self._nothing_fits()
        else:
            self._is_best(chosen)
        if tiling.complete and tiling.front is not None:
            self._front_is_whole()

    def _nothing_fits(self) -> None:
        tiling, capacity = self._tiling, self._family.memory.capacity
        if tiling.bound is not None:
            self.wrong.append("bytes that move are bounded, where there is no tile")
        if tiling.needs is None:
            if tiling.complete:
                self.wrong.append("there is neither a tile nor what the smallest needs")
            return
        needs = tiling.needs
        if needs <= capacity:
            self.wrong.append(
                f"no tile is said to fit, and the smallest to need {needs:,} of {capacity:,} bytes"
            )

        def finding() -> _Finding:
            least = self._least(("l1",), None, (needs,))
            if least is None:
                return f"every tile needs more than {needs:,} bytes"
            if least[0] <= capacity:
                return f"a tile fits: it needs {least[0]:,} of {capacity:,} bytes"
            return None if least[0] == needs or not tiling.complete else f"a tile needs {least[0]:,} bytes"

        self._state("needs", f"no tile fits, and the smallest needs {needs:,} bytes", finding)

    def _is_best(self, chosen: Counted) -> None:
        tiling, capacity = self._tiling, self._family.memory.capacity
        if tiling.needs is not None:
            self.wrong.append("a tile is said to fit, and how much the smallest needs because none does")
        if tiling.complete:
            terms = (*tiling.options.objective, *(it for it in LAST if it not in tiling.options.objective))
            most = key_of(chosen, terms)

            def better() -> _Finding:
                least = self._least(terms, capacity, most)
                if least == most or least is None:
                    return None
                return f"a tile that fits is better: {_in_words(terms, least)}, not {_in_words(terms, most)}"

            self._state("best", f"no tile that fits is better in {', '.join(terms)}", better)
        if tiling.bound is None:
            if tiling.complete:
                self.wrong.append("all tiles are said to have been looked at, and no bound follows from it")
            return
        bound = tiling.bound
        if bound > chosen.bytes:
            self.wrong.append(f"the tile moves {chosen.bytes:,} bytes, less than the bound of {bound:,}")

        def moves_fewer() -> _Finding:
            least = self._least(("bytes",), capacity, (bound,))
            if least is None:
                return f"every tile that fits moves more than the bound of {bound:,} bytes"
            return (
                None
                if least[0] == bound
                else f"a tile that fits moves {least[0]:,} bytes: {bound:,} is no bound"
            )

        self._state("bound", f"no tile that fits moves fewer than {bound:,} bytes", moves_fewer)

    def _front_is_whole(self) -> None:
        points = [(it.l1, it.bytes) for it in self._tiling.front or ()]

        def missing() -> _Finding:
            point = self._family.missing_point(points, self._family.memory.capacity)
            if point is None:
                return None
            return f"the front lacks a point: a tile needs {point[0]:,} bytes and moves {point[1]:,}"

        self._state("front", f"no tile is missing among the {len(points):,} points of the front", missing)

    def _state(
        self, name: Literal["needs", "best", "bound", "front"], says: str, finding: Callable[[], _Finding]
    ) -> None:
        if not self._family.has_all_sizes:
            self._claims.claimed(Subject.TILES, name, says, None, holds=True)
            return
        try:
            wrong = finding()
        except TooMuch:
            self._claims.claimed(Subject.TILES, name, says, None, holds=True)
            return
        self._claims.counted(Subject.TILES, name, says, wrong is None)
        if wrong is not None:
            self.wrong.append(wrong)

    def _least(self, terms: tuple[TilingTerm, ...], capacity: int | None, most: Key) -> Key | None:
        return self._family.least_key(terms, capacity, most)


def _in_words(terms: tuple[TilingTerm, ...], key: Key) -> str:
    return ", ".join(f"{value:,} {term}" for term, value in zip(terms, key, strict=True))
