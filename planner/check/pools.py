"""Issues of the pools: ids that are used twice, reserved ranges beyond the end of a pool."""

from collections.abc import Iterator

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import Pool, Problem, end_of


def pool_issues(problem: Problem) -> Iterator[Issue]:
    """Issues of the pools themselves."""
    ids = [pool.id for pool in problem.pools]
    yield from duplicate_ids("pools", "pool", ids, {name: i for i, name in enumerate(ids)})
    for index, pool in enumerate(problem.pools):
        for at, reserved in enumerate(pool.reserved):
            end = reserved.offset + reserved.size
            if end > end_of(pool):
                yield Issue(
                    "reserved_beyond_capacity",
                    f"$.pools[{index}].reserved[{at}]",
                    f"ends at {end:,}, but pool {pool.id!r} ends at {end_of(pool):,}; "
                    "make the range end within the pool",
                )


def duplicate_ids(field: str, kind: str, ids: list[str], index_of: dict[str, int]) -> Iterator[Issue]:
    """An issue for each id that an earlier element has; `index_of` maps each id to an index."""
    if len(index_of) == len(ids):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if name in first:
            yield Issue(
                f"duplicate_{kind}",
                f"$.{field}[{index}].id",
                f"{name!r} is already the id of {field}[{first[name]}]; give each {kind} an id of its own",
            )
        else:
            first[name] = index


def unknown_pool(path: str, name: str, pools: dict[str, Pool]) -> Issue:
    """The issue of a name that is not a pool's."""
    some = ", ".join(map(repr, list(pools)[:8]))
    return Issue("unknown_pool", path, f"there is no pool {name!r}; the pools are {some}")
