"""What a problem means, whatever its buffers and pools are called and however it is written."""

import re
from dataclasses import dataclass
from itertools import combinations

from memstow.planner.model.problem import (
    Buffer,
    Problem,
    access_count,
    allowed_pools,
    group_alignment,
    merged,
    rigid_groups,
)

_NUMBERED = re.compile(r"^\d+:")


@dataclass(frozen=True)
class Meaning:
    """All that decides which plans are valid, and which of them is best."""

    pools: tuple[object, ...]
    buffers: frozenset[object]
    apart: frozenset[object]
    in_place: frozenset[object]
    groups: frozenset[object]
    reuse_costs: frozenset[object]
    objective: tuple[str, ...]


def meaning_of(problem: Problem) -> Meaning:
    """Two problems of one meaning have the same plans, and the same ones are best."""
    pool_name = {pool.id: _bare(pool.id) if len(problem.pools) > 1 else "" for pool in problem.pools}
    costly = any(pool.cost for pool in problem.pools)
    return Meaning(
        pools=tuple(
            (
                pool_name[pool.id],
                pool.capacity,
                tuple(merged((r.offset, r.offset + r.size) for r in pool.reserved)),
                pool.cost,
            )
            for pool in problem.pools
        ),
        buffers=frozenset(
            (
                _bare(buffer.id),
                buffer.size,
                tuple(pool_name[name] for name in allowed_pools(problem, buffer)),
                buffer.offset,
                access_count(buffer) if costly else None,
            )
            for buffer in problem.buffers
        ),
        apart=_apart(problem),
        in_place=frozenset(_pair(pair.input, pair.output) for pair in problem.in_place),
        groups=_groups(problem, pool_name),
        reuse_costs=_reuse_costs(problem),
        objective=_objective(problem, costly),
    )


def _bare(name: str) -> str:
    return _NUMBERED.sub("", name)


def _pair(one: str, other: str) -> frozenset[str]:
    return frozenset((_bare(one), _bare(other)))


def _apart(problem: Problem) -> frozenset[object]:
    """The pairs that may not share a byte."""
    exclusive = {frozenset(pair) for pair in problem.exclusive}
    listed = {frozenset(pair) for pair in problem.conflicts}
    group_of = {}
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    for number, group in enumerate(rigid_groups(problem, index_of)):
        group_of.update(dict.fromkeys(group.members, number))
    names = set()
    for one, other in combinations(problem.buffers, 2):
        pair = frozenset((one.id, other.id))
        tied = group_of.get(index_of[one.id], -1) == group_of.get(index_of[other.id], -2)
        apart = pair in listed or (pair not in exclusive and _meet(one, other))
        if apart and not tied and one.size and other.size:
            names.add(_pair(one.id, other.id))
    return frozenset(names)


def _meet(one: Buffer, other: Buffer) -> bool:
    if one.lifetime == "always" or other.lifetime == "always":
        return all(b.lifetime is not None or b.lifetimes is not None for b in (one, other))
    return any(a < d and c < b for a, b in _ranges(one) for c, d in _ranges(other))


def _ranges(buffer: Buffer) -> tuple[tuple[int, int], ...]:
    return (buffer.lifetime,) if isinstance(buffer.lifetime, tuple) else buffer.lifetimes or ()


def _groups(problem: Problem, pool_name: dict[str, str]) -> frozenset[object]:
    """What is placed as one (a buffer that is not tied is one too), and where in each pool it is aligned."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    tied = [list(zip(group.members, group.deltas, strict=True)) for group in rigid_groups(problem, index_of)]
    members = {index for group in tied for index, _ in group}
    groups = tied + [[(index, 0)] for index in range(len(problem.buffers)) if index not in members]
    return frozenset(
        (
            frozenset((_bare(problem.buffers[index].id), delta) for index, delta in group),
            tuple(
                (pool_name[pool.id], group_alignment([(problem.buffers[i], d) for i, d in group], pool))
                for pool in problem.pools
                if all(pool.id in allowed_pools(problem, problem.buffers[i]) for i, _ in group)
            ),
        )
        for group in groups
    )


def _reuse_costs(problem: Problem) -> frozenset[object]:
    costs: dict[frozenset[str], int] = {}
    for entry in problem.reuse_costs:
        pair = _pair(*entry.buffers)
        costs[pair] = costs.get(pair, 0) + entry.cost
    return frozenset(costs.items())


def _objective(problem: Problem, costly: bool) -> tuple[str, ...]:
    """The terms without those that every plan has the same value of, and without those that say it again."""
    terms = []
    for term in problem.terms():
        if term == "placement_cost" and not costly:
            continue
        name, colon, pool = term.partition(":")
        if len(problem.pools) == 1 and name in ("peak", "max_peak"):
            terms.append("peak")
        else:
            terms.append(f"{name}{colon}{_bare(pool)}")
    return tuple(dict.fromkeys(terms))
