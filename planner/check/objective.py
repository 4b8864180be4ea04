"""Issues of the objective: unknown or repeated terms, and sums beyond the largest value."""

from collections.abc import Iterator

from memstow.planner.check.pools import unknown_pool
from memstow.planner.model.errors import Issue
from memstow.planner.model.objective import PLAIN_KINDS, Kind, counts, parse_term
from memstow.planner.model.problem import LIMIT, Pool, Problem, access_count, allowed_pools, named_pools


def term_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of the terms of the objective."""
    seen: set[str] = set()
    for i, text in enumerate(problem.objective or ()):
        path = f"$.objective[{i}]"
        if text in seen:
            yield Issue("repeated_term", path, f"{text!r} is in the list already; name each term once")
        seen.add(text)
        term = parse_term(text)
        if term is None:
            usual = f"use {', '.join(PLAIN_KINDS)} or {Kind.POOL_PEAK}"
            yield Issue("unknown_term", path, f"{text!r} is not an objective; {usual}")
        elif term.pool is not None and term.pool not in pools:
            yield unknown_pool(path, term.pool, pools)


def cost_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of terms whose values could exceed the largest value."""
    cost_of = {name: pool.cost for name, pool in pools.items()}
    if any(cost_of.values()):
        total = _most_cost(problem, cost_of)
        if total > LIMIT:
            yield Issue(
                "cost_too_large",
                "$.pools",
                f"all accesses, each in the dearest pool its buffer may go to, would cost {total:,}, "
                "above 2^62; use smaller costs",
            )
    if counts(problem, Kind.PREFERENCE):
        total = sum(buffer.size * (len(allowed_pools(problem, buffer)) - 1) for buffer in problem.buffers)
        if total > LIMIT:
            yield Issue("cost_too_large", "$.objective", f"`preference` can be {total:,}, above 2^62")
    total = sum(entry.cost for entry in problem.reuse_costs)
    if total > LIMIT:
        yield Issue("cost_too_large", "$.reuse_costs", f"the costs add up to {total:,}, above 2^62")


def _most_cost(problem: Problem, cost_of: dict[str, int]) -> int:
    dearest = max(cost_of.values())
    total = 0
    for buffer in problem.buffers:
        names = named_pools(buffer)
        most = dearest if names is None else max((cost_of.get(name, 0) for name in names), default=0)
        total += most * access_count(buffer)
    return total
