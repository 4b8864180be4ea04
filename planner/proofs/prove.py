"""A proof of what a plan says of its peak and its reuse cost, for the checker that stands alone.

What the proof is about is the problem as its rules see it: buffers in one pool, the offsets that each may
have on the grid, and the pairs that conflict. Most bounds of peaks need few of the buffers, which the
certificate names: they are tried before all.
"""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from itertools import combinations, product, takewhile
from math import gcd, lcm
from typing import TYPE_CHECKING, Final

from memstow.planner.formats import read_problem
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
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
from memstow.planner.proofs.proof_file import Proof, draft_of, proof_in
from memstow.solvers.core import Budget, CostProof, ProofFile, ProofQuestion

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

MOST_BUFFERS: Final = 4096
"""More are not searched; a sum of live bytes may have more."""
MOST_COSTS: Final = 100_000
"""Of more pairs no least cost is looked for."""
_LATEST: Final = LIMIT  # The checker reads no later times.
_COST: Final = "reuse_cost"
_WITHOUT_CORES: Final = 1_000_000
"""Steps in which a height may be refuted before it is tried with costs."""
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


def why_not(problem: "Problem | Graph") -> str | None:
    """Why there is no proof about the problem, as users are told; None if there may be one."""
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import why_not_order

        return why_not_order(problem)
    lacks = _without_a_rule(problem)
    return None if lacks is None else f"there are no proofs for such a problem yet: {lacks}"


def _without_a_rule(problem: Problem) -> str | None:
    for one, names in ((problem, _UNKNOWN[Problem]), *((pool, _UNKNOWN[Pool]) for pool in problem.pools)):
        if any(getattr(one, name) for name in names):
            return f"it has `{next(name for name in names if getattr(one, name))}`"
    for name in _UNKNOWN[Buffer]:
        if any(getattr(buffer, name) is not None for buffer in problem.buffers):
            return f"it has buffers with `{name}`"
    if not terms_with_proofs(problem) and all(pool.capacity is None for pool in problem.pools):
        more = "" if len(problem.pools) == 1 else ", and no pool has a capacity"
        return f"its objective does not begin with {_peak_of(problem)} or `reuse_cost`{more}"
    lives = (time for buffer in problem.buffers for life in _lives(buffer) for time in life)
    if any(not -_LATEST <= time <= _LATEST for time in lives):
        return "its times are beyond 2^62"
    together = product(problem.buffers, problem.pools)
    if any(lcm(buffer.alignment, pool.alignment) > LIMIT for buffer, pool in together):
        return "an alignment is beyond 2^62"
    if any(place > LIMIT // 2 for places in _groups(problem) for _, place in places):
        return "buffers of a rigid group are further apart than 2^61"
    return None


def terms_with_proofs(problem: "Problem | Graph") -> tuple[str, ...]:
    """The terms that the objective begins with and that proofs are about."""
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import is_about_peak

        return problem.terms()[:1] if is_about_peak(problem) else ()
    return tuple(takewhile(lambda term: term == _COST or _is_peak(problem, term), problem.terms()))


def not_about(problem: "Problem | Graph") -> str | None:
    """Why nothing can be proven of a plan, unless it is that nothing fits."""
    if terms_with_proofs(problem):
        return None
    several = "of several pools " if len(problem.pools) > 1 else ""
    costs = " or `reuse_cost`" if isinstance(problem, Problem) else ""
    about = f"{several}proofs are about {_peak_of(problem)}{costs}"
    return f"{about} as the first term, or that nothing fits"


def begins_with_peak(problem: "Problem | Graph") -> bool:
    """Whether the first term of the objective is the peak that proofs are about."""
    return terms_with_proofs(problem)[:1] not in ((), (_COST,))


def _is_peak(problem: Problem, term: str) -> bool:
    if len(problem.pools) > 1:
        return term == "max_peak"
    return term in ("peak", "max_peak", f"peak:{problem.pools[0].id}")


def _peak_of(problem: "Problem | Graph") -> str:
    return "the peak" if len(problem.pools) == 1 else "`max_peak`"


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

    `document` is the file of the problem, or of the graph, in JSON, byte for byte. None, and no file, where
    nothing was shown. Raises InputError for one that proofs have no rules for.
    """
    if plan.schedule is not None:
        from memstow.planner.proofs.prove_order import prove_order

        return prove_order(document, plan, os.fspath(path), Budget(time_limit, -1))
    problem = read_provable(document)
    return prove_within(problem, plan, document, os.fspath(path), Budget(time_limit, -1))


def prove_within(
    problem: "Problem | Graph", plan: Plan, document: bytes, path: str, budget: Budget
) -> Proof | None:
    """The same of a problem or a graph that was read from the document, within the budget.

    `why_not` has no objection.
    """
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import prove_order_within

        return prove_order_within(problem, plan, document, path, budget)
    with draft_of(path) as draft:
        written = _Writer(problem, plan, sha256(document).digest(), draft, budget).write()
        if written is None:
            return None
        proof = proof_in(draft, *written)
        os.replace(draft, os.path.realpath(path))
    return proof


_PROOF_SHARE: Final = 0.25


def limits_before_proof(problem: "Problem | Graph", options: Options) -> Options:
    """Options for a plan whose proof is wanted within the same time limit.

    Other orders are tried until the time is over; then nothing would be left to prove what all of them need.
    """
    if isinstance(problem, Problem) or options.deterministic:
        return options
    return replace(options, time_limit=options.time_limit * (1 - _PROOF_SHARE))


def work_for_proof(problem: "Problem | Graph", limit: int, used: int) -> int:
    """Of a deterministic run, the work that a proof may take: what is left, of a graph at least a share more.

    So plans are the same with and without a proof.
    """
    least = 0 if isinstance(problem, Problem) else int(limit * _PROOF_SHARE)
    return max(limit - used, least)


def _claims(problem: Problem, plan: Plan) -> Iterator[tuple[int, Sequence[int]]]:
    """Heights that no layout may have, and the buffers that may show it: the strongest claim first."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    everything: Sequence[int] = range(len(problem.buffers))
    if plan.status is Status.INFEASIBLE:
        most = max(map(end_of, problem.pools))
        named = () if plan.explanation is None else plan.explanation.buffers
        if most == LIMIT and len(problem.pools) > 1:
            everything = [i for i in everything if not may_leave_the_capacities(problem, problem.buffers[i])]
        yield most, sorted({index_of[name] for name in named if name in index_of}.intersection(everything))
        yield most, everything
        return
    if plan.status not in PLANNED or not begins_with_peak(problem):
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
    if fullest:
        yield -(-sum(problem.buffers[i].size for i in fullest) // len(problem.pools)) - 1, fullest


def may_leave_the_capacities(problem: Problem, buffer: Buffer) -> bool:
    """Whether a buffer may be in a pool that has none."""
    names = buffer.pools if buffer.pool is None else (buffer.pool,)
    return any(end_of(pool) == LIMIT for pool in problem.pools if names is None or pool.id in names)


class _Writer:
    """A proof about a plan, in a draft."""

    def __init__(self, problem: Problem, plan: Plan, digest: bytes, path: str, budget: Budget) -> None:
        self._problem, self._plan, self._digest, self._path = problem, plan, digest, path
        self._budget = budget
        self._several = len(problem.pools) > 1
        self._sized = [index for index, buffer in enumerate(problem.buffers) if buffer.size]

    def write(self) -> tuple[int, int, tuple[int, ...]] | None:
        """What is shown of the first term, the steps, and what is shown of each term. None: nothing."""
        terms = terms_with_proofs(self._problem) if self._plan.status in PLANNED else ()
        if terms[:1] == (_COST,):
            return self._costs_first(terms)
        for number, (height, buffers) in enumerate(_claims(self._problem, self._plan)):
            if number and self._budget.spent and len(self._problem.buffers) > MOST_BUFFERS:
                break  # Only to gather them would take long.
            file = self._refuted(height, buffers)
            if file is None:
                continue
            bounds = [height + 1 if term != _COST else 0 for term in terms]
            if _COST in terms:
                peak, cost = self._plan.objective[0], self._plan.objective[terms.index(_COST)]
                (bounds[terms.index(_COST)],) = self._costs(file, [(peak.value, cost.bound)])
            return height + 1, _finished(file), tuple(bounds)
        return None

    def _costs_first(self, terms: tuple[str, ...]) -> tuple[int, int, tuple[int, ...]] | None:
        """Of all layouts that fit, the cost; then the peak of those that cost no more."""
        cost = self._plan.objective[0]
        most = max(map(end_of, self._problem.pools))
        last = next((k for k, term in enumerate(terms) if term != _COST), None)
        height = -1 if last is None else self._plan.objective[last].bound - 1
        file: ProofFile | None = None
        if height >= 0:
            within = self._budget.share(0.5, _WITHOUT_CORES)
            file = self._refuted(height, self._sized, within)
            self._budget.count(within.work)
        proven = file is not None
        file = ProofFile(self._path, self._digest) if file is None else file
        wanted = [(most, cost.bound)]
        if height >= 0 and not proven:
            wanted.append((height, cost.value + 1))
        shown = self._costs(file, wanted)
        bounds = [shown[0] for _ in terms]
        if last is not None:
            proven = proven or shown[-1] > cost.value
            bounds = [shown[0] if term == _COST else (height + 1 if proven else 0) for term in terms]
        return (shown[0], _finished(file), tuple(bounds)) if any(bounds) or cost.value == 0 else None

    def _question(self, height: int, kept: Sequence[int]) -> "tuple[ProofQuestion, int] | None":
        """These buffers up to a height, and the end of all addresses."""
        space, problem = Space(self._problem, max(height, 0)), self._problem
        has_room = height == LIMIT and self._several
        if has_room and any(may_leave_the_capacities(problem, problem.buffers[index]) for index in kept):
            return None
        if space.end > LIMIT:
            return None
        number_of = dict[tuple[int, ...], int]()
        items = list[tuple[int, int, int, int, int, int]]()
        for index in kept:
            buffer = problem.buffers[index]
            ranges = number_of.setdefault(space.pools_of(buffer), len(number_of))
            items.append((index, buffer.size, *space.place(buffer), ranges))
        buffers = [problem.buffers[index] for index in kept]
        question = ProofQuestion(
            items,
            space.reserved,
            [space.barred(pools) for pools in number_of],
            moments_of(buffers),
            *_special_pairs(problem, buffers),
            _groups_among(problem, kept),
        )
        return question, space.end

    def _refuted(
        self, height: int, chosen: Sequence[int], budget: Budget | None = None
    ) -> "ProofFile | None":
        """A proof that these buffers alone do not fit below the height."""
        kept = [index for index in chosen if self._problem.buffers[index].size]
        if not kept and height >= 0:
            return None
        if len(kept) > MOST_BUFFERS and len(kept) == len(self._sized):
            return None
        posed = self._question(height, kept)
        if posed is None:
            return None
        question, end = posed
        file = ProofFile(self._path, self._digest)
        most = height if self._several else min(height, end)
        proven = file.refute(question, end, most, self._several, self._budget if budget is None else budget)
        return file if proven else None

    def _costs(self, file: "ProofFile", wanted: Sequence[tuple[int, int]]) -> list[int]:
        """Write that layouts up to each height cost so much, or what of that can be shown."""
        fixed, pairs = costs_of(self._problem)
        at = {index: number for number, index in enumerate(self._sized)}
        open_pairs = [
            (at[i], at[j], cost, number)
            for number, (i, j, cost) in enumerate(pairs)
            if cost and i in at and j in at
        ]
        proof = CostProof(open_pairs, fixed, self._several)
        shown = list[int]()
        for height, cost in wanted:
            known = fixed
            is_small = len(self._sized) <= MOST_BUFFERS and len(open_pairs) <= MOST_COSTS
            if cost > fixed and open_pairs and is_small:
                posed = self._question(height, self._sized)
                if posed is not None:
                    question, end = posed
                    end = end if self._several else min(height, end)
                    known = proof.raise_bound(question, end, height, cost, self._budget)
            shown.append(known)
        both = zip(shown, wanted, strict=True)
        return [file.cost(proof, height, min(known, cost)) for known, (height, cost) in both]


def _finished(file: "ProofFile") -> int:
    """The steps of a proof, once it is on the disk."""
    file.finish()
    return file.steps


def costs_of(problem: Problem) -> tuple[int, list[tuple[int, int, int]]]:
    """What every layout pays, and the pairs that pay or not, as a proof numbers them, with their cost."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    costs = Counter[tuple[int, int]]()
    for entry in problem.reuse_costs:
        i, j = sorted(index_of[name] for name in entry.buffers)
        costs[i, j] += entry.cost
    places = {i: (number, place) for number, group in enumerate(_groups(problem)) for i, place in group}
    fixed, pairs = 0, list[tuple[int, int, int]]()
    for (i, j), cost in sorted(costs.items()):
        if i in places and j in places and places[i][0] == places[j][0]:
            by = places[j][1] - places[i][1]
            fixed += cost if -problem.buffers[j].size < by < problem.buffers[i].size else 0
        else:
            pairs.append((i, j, cost))
    return fixed, pairs


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


class Space:
    """The addresses of a pool up to a height; of several pools they lie one after the other.

    Pools begin where alignments and the grid are the same in all. What is between them is reserved.
    """

    def __init__(self, problem: Problem, height: int) -> None:
        self._pools = problem.pools
        # Of several those without an end are left out.
        lengths = (min(end_of(pool), height) for pool in problem.pools)
        several = len(problem.pools) > 1
        self._lengths = [0 if several and length == LIMIT else length for length in lengths]
        self._starts = [0]
        self._base = problem.pools[0].base or 0
        self.end = self._lengths[0]
        sized = [buffer for buffer in problem.buffers if buffer.size]
        taken = [(one.offset, one.offset + one.size) for one in problem.pools[0].reserved]
        pinned = [buffer for buffer in sized if buffer.offset is not None]
        grid = gcd(
            *(buffer.size for buffer in sized),
            *(place for group in _groups(problem) for _, place in group),
        )
        if len(problem.pools) > 1:
            taken = self._place(sized, gcd(grid, *(buffer.offset or 0 for buffer in pinned)))
        self.reserved = merged(taken)
        self._grid = gcd(grid, *(self._pin(buffer) for buffer in pinned), *(end for _, end in self.reserved))
        grains = {self._grain(buffer) for buffer in sized}
        before = None
        while before != self._grid:
            before = self._grid
            for grain in grains:
                if not self._is_free(grain):
                    self._grid = gcd(self._grid, grain, self._base)

    def _place(self, sized: Sequence[Buffer], grid: int) -> list[Range]:
        """Put several pools one after the other; what no buffer may touch."""
        ends = (one.offset + one.size for pool in self._pools for one in pool.reserved)
        grid = gcd(grid, *ends, *(pool.base or 0 for pool in self._pools)) or 1
        step = lcm(
            grid, *(lcm(b.alignment, self._pools[k].alignment) for b in sized for k in self.pools_of(b))
        )
        self._starts, self._base, self.end = [], 0, -1
        taken = list[Range]()
        for pool, length in zip(self._pools, self._lengths, strict=True):
            start = (pool.base or 0) % step
            start += max(-(-(self.end + 1 - start) // step), 0) * step
            taken.append((max(self.end, 0), start))
            for one in pool.reserved:
                end = one.offset + one.size
                if one.offset < length:
                    is_last = pool is self._pools[-1]
                    taken.append((start + one.offset, start + (end if is_last else min(end, length))))
            self._starts.append(start)
            self.end = start + length
        return [(begin, end) for begin, end in taken if begin < end]

    def pools_of(self, buffer: Buffer) -> tuple[int, ...]:
        """The pools where the buffer may be, by their places."""
        names = buffer.pools if buffer.pool is None else (buffer.pool,)
        return tuple(k for k, pool in enumerate(self._pools) if names is None or pool.id in names)

    def pool_at(self, offset: int) -> int:
        """The pool that an address is in, by its place."""
        return bisect_right(self._starts, offset) - 1

    def _grain(self, buffer: Buffer) -> int:
        """Its alignment in any of its pools."""
        return gcd(*(lcm(buffer.alignment, self._pools[k].alignment) for k in self.pools_of(buffer)))

    def _is_free(self, grain: int) -> bool:
        return self._grid % grain == 0 and self._base % grain == 0

    def place(self, buffer: Buffer) -> tuple[int, int, int]:
        """Modulus and residue of the addresses that it may have without loss, and its pin or -1."""
        grain = self._grain(buffer)
        if self._is_free(grain):
            return self._grid, 0, self._pin(buffer)
        return grain, -self._base % grain, self._pin(buffer)

    def _pin(self, buffer: Buffer) -> int:
        return -1 if buffer.offset is None else self._starts[self.pools_of(buffer)[0]] + buffer.offset

    def barred(self, pools: tuple[int, ...]) -> list[Range]:
        """What a buffer may not touch that may be in these pools."""
        others = (k for k in range(len(self._pools)) if k not in pools)
        lengths = ((self._starts[k], self._starts[k] + self._lengths[k]) for k in others)
        return merged([*self.reserved, *(one for one in lengths if one[0] < one[1])])


def _lives(buffer: Buffer) -> Sequence[Range]:
    if buffer.lifetimes is not None:
        return buffer.lifetimes
    return () if buffer.lifetime is None or buffer.lifetime == ALWAYS else (buffer.lifetime,)


def moments_of(buffers: Sequence[Buffer]) -> list[list[int]]:
    """The greatest sets of buffers that are live at one time, each ascending."""
    return [sorted(live) for live, _ in _live_sets(buffers)]


def _live_sets(buffers: Sequence[Buffer]) -> Iterator[tuple[set[int], int]]:
    """These sets and their bytes, by time. A set is the same object each time, since all may be too many."""
    always = [i for i, buffer in enumerate(buffers) if buffer.lifetime == ALWAYS]
    begins, ends = dict[int, list[int]](), dict[int, list[int]]()
    for i, buffer in enumerate(buffers):
        for begin, end in merged(_lives(buffer)):
            begins.setdefault(begin, []).append(i)
            ends.setdefault(end, []).append(i)
    live, grown, size = set(always), bool(always), sum(buffers[i].size for i in always)
    for time in sorted(begins.keys() | ends.keys()):
        if time in ends:
            if grown:
                yield live, size
            live.difference_update(ends[time])
            size -= sum(buffers[i].size for i in ends[time])
            grown = False
        if time in begins:
            live.update(begins[time])
            size += sum(buffers[i].size for i in begins[time])
            grown = True
    if always and not ends:
        yield live, size


def _fullest(problem: Problem) -> list[int]:
    """The buffers with the most bytes that are live at one time, where no pair is exempt."""
    exempt = {name for pair in problem.exclusive for name in pair}
    exempt |= {name for pair in problem.in_place for name in (pair.input, pair.output)}
    exempt |= {problem.buffers[i].id for group in _groups(problem) for i, _ in group}
    kept = [i for i, buffer in enumerate(problem.buffers) if buffer.id not in exempt]
    buffers = [problem.buffers[i] for i in kept]
    most = max((size for _, size in _live_sets(buffers)), default=0)
    return next((sorted(kept[i] for i in live) for live, size in _live_sets(buffers) if size == most), [])
