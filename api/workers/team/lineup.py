"""Which solver and which seed each member of a team has."""

from dataclasses import replace
from typing import Final

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.solve.portfolio import AUTO

# Of the peak of one pool: two of three members search, since what they find is found by restarts.
_OF_ONE_POOL: Final = (AUTO, "exact", "improve")
# With more buffers the exact search seldom has the time to get anywhere.
_MOST_TO_SEARCH: Final = 4_096


def options_of_member(options: Options, document: object, rank: int) -> Options:
    """The options of the member of this rank; the first has those of the whole."""
    seed = (options.seed + rank) % (1 << 63)
    if options.solver != AUTO or not isinstance(document, Problem):
        return replace(options, seed=seed)
    terms = terms_of(document)
    one_peak = len(document.pools) == 1 and len(terms) == 1
    if not one_peak or not terms[0].is_peak_of(document.pools[0].id, 1):
        return replace(options, seed=seed)
    solver = _OF_ONE_POOL[rank % len(_OF_ONE_POOL)]
    if solver == "exact" and len(document.buffers) > _MOST_TO_SEARCH:
        solver = "improve"
    return replace(options, seed=seed, solver=solver)
