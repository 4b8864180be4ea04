"""Whether a certificate proves the bound it stands for.

`reason_against` says in one sentence why it does not, or returns None. What a search or a solver did cannot
be repeated here: such a certificate stays a claim, which is compared with the rest of the plan.
"""

from collections.abc import Sequence

from memstow.planner.model.objective import PLACEMENT_COST, parse_term
from memstow.planner.model.plan import Certificate, Exhausted, Least, LiveBytes, Model, Sum, TermValue
from memstow.planner.model.problem import access_count
from memstow.planner.verify.live_bytes import reason_against
from memstow.planner.verify.problem_index import ProblemIndex


def by_word_of(certificate: Certificate | None) -> str | None:
    """Whose word the certificate is; None where the judge counts all of it again."""
    return certificate.solver if isinstance(certificate, Exhausted | Model) else None


class Proofs:
    """Judges the certificates of one plan. Bounds are conditional on the terms before, in their order."""

    def __init__(self, index: ProblemIndex, claims: Sequence[TermValue]) -> None:
        self._index = index
        self._claims = claims
        self._least_cost: int | None = None

    def reason_against(self, position: int) -> str | None:
        """Why the certificate of that claim does not prove its bound."""
        claim = self._claims[position]
        match claim.certificate:
            case LiveBytes() | Sum() as certificate:
                term = parse_term(claim.term)
                if term is None:
                    return f"{claim.term!r} is no objective"
                cheapest_only = self._cheapest_only(position)
                return reason_against(self._index, term, claim.bound, certificate, cheapest_only)
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
            parse_term(claim.term) == PLACEMENT_COST and claim.value == self._least(claim.term)
            for claim in self._claims[:position]
        )

    def _least(self, term: str) -> int:
        if parse_term(term) != PLACEMENT_COST:
            return 0
        if self._least_cost is None:
            self._least_cost = self._count_least_cost()
        return self._least_cost

    def _count_least_cost(self) -> int:
        index, total = self._index, 0
        costs = [pool.cost for pool in index.pools]
        cheapest: dict[tuple[str, ...] | int | None, int] = {}
        for i, buffer in enumerate(index.buffers):
            if buffer.size:
                kind = index.pool_kind(i)
                if kind not in cheapest:
                    cheapest[kind] = min((costs[pool] for pool in index.allowed(i)), default=0)
                total += access_count(buffer) * cheapest[kind]
        return total

    def _against_search(self, position: int, certificate: Exhausted) -> str | None:
        claim = self._claims[position]
        if not certificate.solver:
            return "the solver has no name"
        if not certificate.refuted:
            return None if claim.bound == 0 else "no height was refuted"
        if any(refuted.nodes < 1 for refuted in certificate.refuted):
            return "a height was refuted without a single node"
        highest = max(refuted.height for refuted in certificate.refuted)
        if highest != claim.bound - 1:
            return f"{highest:,} is the highest value refuted, not {claim.bound - 1:,}"
        return None
