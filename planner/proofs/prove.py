"""A proof of what a plan says of its peak, for the checker that stands alone.

What the proof is about is the problem as its rules see it: buffers in one pool, the offsets that each may
have on the grid, and the pairs that conflict. Most bounds need few of the buffers, which the certificate
names: they are tried before all.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from hashlib import file_digest, sha256
from itertools import combinations
from math import gcd, lcm
from typing import Final

from memstow.planner.formats import read_problem
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import ExhaustedWindow, LiveBytes, Plan
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Buffer,
    Pool,
    Problem,
    Range,
    end_of,
    merged,
    rigid_groups,
)
from memstow.planner.model.records import record
from memstow.solvers.core import Budget, write_proof

MOST_BUFFERS: Final = 4096
"""More are not searched; a sum of live bytes may have more."""
_LATEST: Final = LIMIT  # The checker reads no later times.
_KNOWN: Final = frozenset(
    (
        "version",
        "name",
        "pools",
        "buffers",
        "conflicts",
        "exclusive",
        "relative",
        "in_place",
        "reuse_costs",
        "objective",
        "id",
        "capacity",
        "alignment",
        "reserved",
        "base",
        "cost",
        "size",
        "lifetime",
        "lifetimes",
        "accesses",
        "pool",
        "offset",
        "group",
    )
)
_UNKNOWN: Final = {
    kind: [field.name for field in fields(kind) if field.name not in _KNOWN]
    for kind in (Problem, Pool, Buffer)
}
"""Fields that the checker refuses, and any that are added to problems."""


@record
class Proof:
    """What a proof that was written shows: no plan has a peak below the bound."""

    bound: int
    steps: int
    size: int
    sha256: str
    """Of the file."""


def why_not(problem: Problem) -> str | None:
    """Why there is no proof about the problem, as users are told; None if there may be one."""
    lacks = _without_a_rule(problem)
    return None if lacks is None else f"there are no proofs for such a problem yet: {lacks}"


def _without_a_rule(problem: Problem) -> str | None:
    if len(problem.pools) != 1:
        return "it has several pools"
    (pool,) = problem.pools
    for one, names in ((problem, _UNKNOWN[Problem]), (pool, _UNKNOWN[Pool])):
        if any(getattr(one, name) for name in names):
            return f"it has `{next(name for name in names if getattr(one, name))}`"
    for name in _UNKNOWN[Buffer]:
        if any(getattr(buffer, name) is not None for buffer in problem.buffers):
            return f"it has buffers with `{name}`"
    if next(iter(problem.terms()), None) not in ("peak", "max_peak", f"peak:{pool.id}"):
        return "its objective does not begin with the peak"
    lives = (time for buffer in problem.buffers for life in _lives(buffer) for time in life)
    if any(not -_LATEST <= time <= _LATEST for time in lives):
        return "its times are beyond 2^62"
    if any(lcm(buffer.alignment, pool.alignment) > LIMIT for buffer in problem.buffers):
        return "an alignment is beyond 2^62"
    if any(place > LIMIT // 2 for places in _groups(problem) for _, place in places):
        return "buffers of a rigid group are further apart than 2^61"
    return None


def read_provable(document: bytes) -> Problem:
    """The problem in a file in JSON. Raises InputError for one that proofs have no rules for."""
    problem = read_problem(document, "json")
    why = why_not(problem)
    if why is not None:
        raise InputError.single("no_proof", "$", why)
    return problem


def prove(
    document: bytes, plan: Plan, path: "str | os.PathLike[str]", time_limit: float = 10.0
) -> Proof | None:
    """Write to `path` why no plan of the problem is better, or what of that can be shown within the seconds.

    `document` is the file of the problem, in JSON, byte for byte. None, and no file, where nothing was shown.
    Raises InputError for a problem that proofs have no rules for.
    """
    problem = read_provable(document)
    return prove_within(problem, plan, document, os.fspath(path), Budget(time_limit, -1))


def prove_within(problem: Problem, plan: Plan, document: bytes, path: str, budget: Budget) -> Proof | None:
    """The same of a problem that was read from the document, within the budget.

    `why_not` has no objection.
    """
    draft = f"{path}.unfinished"
    try:
        for number, (height, buffers) in enumerate(_claims(problem, plan)):
            if number and budget.spent and len(problem.buffers) > MOST_BUFFERS:
                break  # Only to gather them would take long.
            proof = _attempt(problem, buffers, height, sha256(document).digest(), draft, budget)
            if proof is not None:
                os.replace(draft, path)
                return proof
    finally:
        if os.path.exists(draft):
            os.remove(draft)
    return None


def _claims(problem: Problem, plan: Plan) -> Iterator[tuple[int, Sequence[int]]]:
    """Heights that no layout may have, and the buffers that may show it: the strongest claim first."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    everything = range(len(problem.buffers))
    (pool,) = problem.pools
    if plan.status is Status.INFEASIBLE:
        named = () if plan.explanation is None else plan.explanation.buffers
        yield end_of(pool), sorted(index_of[name] for name in named if name in index_of)
        yield end_of(pool), everything
        return
    if plan.status not in PLANNED or not plan.objective:
        return
    first = plan.objective[0]
    certificate = first.certificate
    if first.value == 0:
        yield -1, ()
    if first.bound == 0:
        return
    if isinstance(certificate, LiveBytes | ExhaustedWindow):
        yield first.bound - 1, sorted(index_of[name] for name in certificate.buffers)
    yield first.bound - 1, everything
    fullest = _fullest(problem)
    yield sum(problem.buffers[i].size for i in fullest) - 1, fullest


def _attempt(
    problem: Problem, chosen: Sequence[int], height: int, digest: bytes, path: str, budget: Budget
) -> Proof | None:
    """A proof that these buffers alone do not fit below the height."""
    (pool,) = problem.pools
    kept = [index for index in chosen if problem.buffers[index].size]
    if not kept and height >= 0:
        return None
    if len(kept) > MOST_BUFFERS and len(kept) == sum(bool(buffer.size) for buffer in problem.buffers):
        return None
    place = grid_of(problem)
    items = [(index, problem.buffers[index].size, *place(problem.buffers[index])) for index in kept]
    reserved = merged((one.offset, one.offset + one.size) for one in pool.reserved)
    exempt, listed = _special_pairs(problem, [problem.buffers[index] for index in kept])
    written = write_proof(
        path,
        digest,
        items,
        reserved,
        moments_of([problem.buffers[index] for index in kept]),
        exempt,
        listed,
        _groups_among(problem, kept),
        min(height, end_of(pool)),
        budget,
    )
    if not written.proven:
        return None
    with open(path, "rb") as file:
        return Proof(
            height + 1, written.steps, os.path.getsize(path), file_digest(file, "sha256").hexdigest()
        )


_Pairs = list[tuple[int, int]]
_Places = list[tuple[int, int]]
"""Of a rigid group: its buffers with bytes by their indices, and how far each is from the lowest."""


def _groups(problem: Problem) -> list[_Places]:
    if not problem.relative:
        return []
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    return [list(zip(group.members, group.deltas, strict=True)) for group in rigid_groups(problem, index_of)]


def _groups_among(problem: Problem, kept: Sequence[int]) -> list[_Places]:
    """The groups among these buffers, by their places in that list."""
    at = {index: number for number, index in enumerate(kept)}
    among = ([(at[i], place) for i, place in group if i in at] for group in _groups(problem))
    return [group for group in among if len(group) > 1]


def _special_pairs(problem: Problem, buffers: Sequence[Buffer]) -> tuple[_Pairs, _Pairs]:
    """Pairs of these buffers that do not conflict when they live together, and those that do in any case."""
    at = {buffer.id: number for number, buffer in enumerate(buffers)}
    ties = {frozenset((pair.input, pair.output)) for pair in problem.in_place}
    listed = {frozenset(pair) for pair in problem.conflicts} - ties
    exempt = ({frozenset(pair) for pair in problem.exclusive} | ties) - listed

    def numbers(pairs: Iterable[frozenset[str]]) -> _Pairs:
        known = (sorted(at[name] for name in pair) for pair in pairs if all(name in at for name in pair))
        return sorted((one, other) for one, other in known)

    return numbers(exempt), numbers(listed)


def conflicts_of(problem: Problem, buffers: Sequence[Buffer]) -> _Pairs:
    """The pairs of these buffers that conflict, each and all ascending."""
    exempt, listed = _special_pairs(problem, buffers)
    together = {pair for moment in moments_of(buffers) for pair in combinations(moment, 2)}
    return sorted(together.difference(exempt).union(listed))


def grid_of(problem: Problem) -> "Callable[[Buffer], tuple[int, int, int]]":
    """By buffer, modulus and residue of the offsets that it may have without loss, and its pin or -1."""
    (pool,) = problem.pools
    base = pool.base or 0
    sized = [buffer for buffer in problem.buffers if buffer.size]
    ends = [one[1] for one in merged((one.offset, one.offset + one.size) for one in pool.reserved)]
    pins = [buffer.offset for buffer in sized if buffer.offset is not None]
    distances = (place for group in _groups(problem) for _, place in group)
    grid = gcd(*ends, *(buffer.size for buffer in sized), *pins, *distances)
    alignments = {lcm(buffer.alignment, pool.alignment) for buffer in sized}
    before = None
    while before != grid:
        before = grid
        for alignment in alignments:
            if grid % alignment or base % alignment:
                grid = gcd(grid, alignment, base)

    def place(buffer: Buffer) -> tuple[int, int, int]:
        alignment = lcm(buffer.alignment, pool.alignment)
        pin = -1 if buffer.offset is None else buffer.offset
        if grid % alignment or base % alignment:
            return alignment, -base % alignment, pin
        return grid, 0, pin

    return place


def _lives(buffer: Buffer) -> Sequence[Range]:
    if buffer.lifetimes is not None:
        return buffer.lifetimes
    return () if buffer.lifetime is None or buffer.lifetime == ALWAYS else (buffer.lifetime,)


def moments_of(buffers: Sequence[Buffer]) -> list[list[int]]:
    """The greatest sets of buffers that are live at one time, each ascending."""
    always = [i for i, buffer in enumerate(buffers) if buffer.lifetime == ALWAYS]
    begins, ends = dict[int, list[int]](), dict[int, list[int]]()
    for i, buffer in enumerate(buffers):
        for begin, end in merged(_lives(buffer)):
            begins.setdefault(begin, []).append(i)
            ends.setdefault(end, []).append(i)
    live, grown, moments = set(always), bool(always), list[list[int]]()
    for time in sorted(begins.keys() | ends.keys()):
        if time in ends:
            if grown:
                moments.append(sorted(live))
            live.difference_update(ends[time])
            grown = False
        if time in begins:
            live.update(begins[time])
            grown = True
    return moments or ([always] if always else [])


def _fullest(problem: Problem) -> list[int]:
    """The buffers with the most bytes that are live at one time, where no pair is exempt."""
    exempt = {name for pair in problem.exclusive for name in pair}
    exempt |= {name for pair in problem.in_place for name in (pair.input, pair.output)}
    exempt |= {problem.buffers[i].id for group in _groups(problem) for i, _ in group}
    kept = [i for i, buffer in enumerate(problem.buffers) if buffer.id not in exempt]
    moments = moments_of([problem.buffers[i] for i in kept])

    def live(moment: list[int]) -> int:
        return sum(problem.buffers[kept[i]].size for i in moment)

    return [kept[i] for i in max(moments, key=live, default=[])]
