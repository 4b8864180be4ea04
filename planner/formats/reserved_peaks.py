"""Whether minimising our peaks minimises those that count the end of reserved ranges as well.

The structured JSON's peak of a pool is never below the end of its last reserved range; ours is the end of its
last buffer. The best plans are the same when no buffer can end below a reserved range, or when nothing is
asked for after the peaks and the pools do not compete for buffers.
"""

from collections.abc import Sequence

from memstow.planner.model.problem import MAX_PEAK, PEAK, Pool, Problem, Term, allowed_pools, terms_of

_PEAKS = (PEAK, MAX_PEAK)


def same_optimum(problem: Problem) -> bool:
    """Whether the two notions of a peak lead to the same plans."""
    terms = terms_of(problem)
    reserving = [pool for pool in problem.pools if pool.reserved]
    if not reserving or not any(term in _PEAKS for term in terms):
        return True
    choices = [allowed_pools(problem, buffer) for buffer in problem.buffers if buffer.size]
    bound = {names[0] for names in choices if len(names) == 1}
    if all(_from_the_bottom(pool) and pool.id in bound for pool in reserving):
        return True
    first = next(index for index, term in enumerate(terms) if term in _PEAKS)
    return all(len(names) == 1 for names in choices) and _only_peaks(terms[first:])


def _only_peaks(terms: Sequence[Term]) -> bool:
    return all(term in _PEAKS for term in terms)


def _from_the_bottom(pool: Pool) -> bool:
    """Whether the reserved ranges leave no room below their end."""
    end = 0
    for reserved in sorted(pool.reserved, key=lambda one: one.offset):
        if reserved.offset > end:
            return False
        end = max(end, reserved.offset + reserved.size)
    return True
