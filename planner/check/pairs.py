"""Issues of everything that names two buffers: names that do not exist, a buffer paired with itself."""

from collections.abc import Iterator

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import Problem


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
