"""Whether a certificate proves the bound it stands for.

`reason_against` says in one sentence why it does not, or returns None. What a search or a solver did cannot
be repeated here; of those, everything that can be compared with the rest of the claim is.
"""

from collections.abc import Sequence
from math import gcd

from planner.plan import Exhausted, Least, LiveBytes, Model, TermValue
from planner.problem import access_count
from planner.verify.facts import PEAK_OF, Facts
from planner.verify.live_bytes import proven


class Proofs:
    """Judges the certificates of one plan. Bounds are conditional on the terms before, in their order."""

    def __init__(self, facts: Facts, claims: Sequence[TermValue]) -> None:
        self._facts = facts
        self._claims = claims
        self._least_cost: int | None = None

    def reason_against(self, position: int) -> str | None:
        """Why the certificate of that claim does not prove its bound."""
        claim = self._claims[position]
        match claim.certificate:
            case LiveBytes() as certificate:
                found = proven(self._facts, claim.term, certificate, self._cheapest_only(position))
                if isinstance(found, str):
                    return found
                if found < claim.bound:
                    return f"these buffers prove no more than {found}"
            case Least():
                least = self._least(claim.term)
                if least < claim.bound:
                    return f"the least each can have alone adds up to {least}"
            case Exhausted() as certificate:
                return self._against_search(position, certificate)
            case Model() as certificate:
                return None if certificate.solver else "the solver has no name"
        return None

    def _cheapest_only(self, position: int) -> bool:
        """Whether an earlier term says that every buffer is in its cheapest pool."""
        return any(
            claim.term == "placement_cost" and claim.value == self._least("placement_cost")
            for claim in self._claims[:position]
        )

    def _least(self, term: str) -> int:
        if term != "placement_cost":
            return 0
        if self._least_cost is None:
            costs = [pool.cost for pool in self._facts.pools]
            self._least_cost = sum(
                access_count(buffer) * min((costs[pool] for pool in self._facts.allowed(i)), default=0)
                for i, buffer in enumerate(self._facts.buffers)
                if buffer.size
            )
        return self._least_cost

    def _against_search(self, position: int, certificate: Exhausted) -> str | None:
        claim = self._claims[position]
        if not certificate.solver:
            return "the solver has no name"
        if not certificate.refuted:
            return None if claim.bound == 0 else "no height was refuted"
        if any(refuted.nodes < 1 for refuted in certificate.refuted):
            return "a height was refuted without a single node"
        highest = max(refuted.height for refuted in certificate.refuted)
        if highest >= claim.bound:
            return f"{highest} was refuted, which is not below the bound {claim.bound}"
        between = self._reachable(highest, claim.bound, position)
        if between is not None:
            return f"nothing up to {highest} exists, but {between} was not refuted"
        return None

    def _reachable(self, above: int, below: int, position: int) -> int | None:
        """The least value strictly between the two that the term may have in a best plan."""
        origin, unit = self._values(position)
        if unit == 0:
            return origin if above < origin < below else None
        candidate = above + 1 + (origin - above - 1) % unit
        return candidate if candidate < below else None

    def _values(self, position: int) -> tuple[int, int]:
        """All values that the term can have in a best plan are origin + multiples of unit."""
        facts, term = self._facts, self._claims[position].term
        if term == "placement_cost":
            costs = (_cost_unit(facts, i) for i, buffer in enumerate(facts.buffers) if buffer.size)
            return self._least(term), gcd(*costs)
        if term == "reuse_cost":
            return 0, gcd(*(cost for _, cost in facts.reuse_costs))
        if term == "moves" or any(claim.term == "moves" for claim in self._claims[:position]):
            return 0, 1
        pool = facts.pool_index.get(term.removeprefix(PEAK_OF)) if term.startswith(PEAK_OF) else None
        return 0, _height_unit(facts, range(len(facts.pools)) if pool is None else (pool,))


def _cost_unit(facts: Facts, buffer: int) -> int:
    costs = [facts.pools[pool].cost for pool in facts.allowed(buffer)]
    return gcd(*(access_count(facts.buffers[buffer]) * (cost - costs[0]) for cost in costs))


def _height_unit(facts: Facts, pools: Sequence[int]) -> int:
    """A number that divides every end offset in a plan whose buffers cannot be moved down.

    Such a buffer is against the start of memory, the end of a reserved range, of a pinned buffer or of
    another one that cannot be moved, perhaps short of it by its alignment or by its distance within a rigid
    group.
    """
    unit = gcd(
        *(buffer.size for buffer in facts.buffers),
        *(buffer.offset for buffer in facts.buffers if buffer.offset is not None),
        *(distance for _, _, distance in facts.relative),
        *(end for pool in pools for _, end in facts.reserved[pool]),
    )
    alignments = {buffer.alignment for buffer in facts.buffers}
    grids = [facts.grid(alignment, pool) for alignment in alignments for pool in pools]
    while True:
        rounding = [grid for grid in grids if grid.first or unit % grid.step]
        finer = gcd(unit, *(number for grid in rounding for number in grid))
        if finer == unit:
            return unit
        unit = finer
