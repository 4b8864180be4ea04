"""A proof of what a plan says of its peak and its reuse cost, for the checker that stands alone.

What the proof is about is the problem as its rules see it: buffers in one pool, the offsets that each may
have on the grid, and the pairs that conflict. Most bounds of peaks need few of the buffers, which the
certificate names: they are tried before all.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, Final

from memstow.planner.formats import read_problem
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import ExhaustedWindow, LiveBytes, Plan, rests_on_addresses
from memstow.planner.model.problem import (
    LIMIT,
    Buffer,
    Kind,
    Pool,
    Problem,
    end_of,
)
from memstow.planner.proofs.proof_file import Proof, draft_of, proof_in, take_place
from memstow.planner.proofs.prove_peaks import PeaksProof
from memstow.planner.proofs.prove_places import (
    PLACEMENT_TERMS,
    SHARE_OF_KNOWN,
    Draft,
    PlacementProof,
    floor_and_step,
    most_cost,
)
from memstow.planner.proofs.questions import (
    COST_TERMS,
    Heights,
    costs_of,
    fullest_of,
    groups_of,
    lives_of,
    may_leave_the_capacities,
    pose,
    provable_terms,
    ties_to_try,
    up_to,
)
from memstow.records import fields, record, replace
from memstow.solvers.core import Budget, CostProof, ProofFile

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.solvers.known import Known, KnownPrices

MOST_BUFFERS: Final = 4096
"""More are not searched; a sum of live bytes may have more."""
_MOST_POOLS: Final = 1_000
"""The checkers refuse more."""
MOST_COSTS: Final = 100_000
"""Of more pairs no least cost is looked for."""
_LATEST: Final = LIMIT  # The checker reads no later times.
COSTS: Final = COST_TERMS
_COST_NAMES: Final = "a cost (`placement_cost`, `preference`, `reuse_cost`)"
_WITHOUT_CORES: Final = 1_000_000
"""Steps in which a height may be refuted before it is tried with costs."""
_WITHOUT_TIES: Final = 20_000_000
"""Steps in which a height may be refuted where ties do not count, before it is tried where they do."""
_SHARE_OF_FIRST: Final = 0.8
"""Of the budget for a reuse cost: for the way by which the search knows it, before the other."""
_FIRST_TURNS: Final = 1_000_000
"""Steps for each way of a reuse cost before one takes long: the other may show it at once."""
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
        return f"its objective does not begin with {_peak_of(problem)} or {_COST_NAMES}{more}"
    if len(problem.pools) > _MOST_POOLS:
        return f"it has more than {_MOST_POOLS:,} pools"
    lives = (time for buffer in problem.buffers for life in lives_of(buffer) for time in life)
    if any(not -_LATEST <= time <= _LATEST for time in lives):
        return "its times are beyond 2^62"
    together = product(problem.buffers, problem.pools)
    if any(lcm(buffer.alignment, pool.alignment) > LIMIT for buffer, pool in together):
        return "an alignment is beyond 2^62"
    tied = problem
    if problem.relative:  # Those without bytes count.
        tied = replace(problem, buffers=[replace(one, size=one.size or 1) for one in problem.buffers])
    if any(place > LIMIT // 2 for places in groups_of(tied) for _, place in places):
        return "buffers of a rigid group are further apart than 2^61"
    return None


def terms_with_proofs(problem: "Problem | Graph") -> tuple[str, ...]:
    """The terms that the objective begins with and that proofs are about."""
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import is_about_peak

        return problem.terms()[:1] if is_about_peak(problem) else ()
    return provable_terms(problem)


def not_about(problem: "Problem | Graph") -> str | None:
    """Why nothing can be proven of a plan, unless it is that nothing fits."""
    if terms_with_proofs(problem):
        return None
    costs = f" or {_COST_NAMES}" if isinstance(problem, Problem) else ""
    return f"proofs are about {_peak_of(problem)}{costs} as the first term, or that nothing fits"


def begins_with_peak(problem: "Problem | Graph") -> bool:
    """Whether the first term of the objective is the peak of the fullest pool."""
    first = terms_with_proofs(problem)[:1]
    return bool(first) and (not isinstance(problem, Problem) or _is_max_peak(problem, first[0]))


def _peak_of(problem: "Problem | Graph") -> str:
    return "the peak" if len(problem.pools) == 1 else "a peak"


def _is_max_peak(problem: Problem, term: str) -> bool:
    return term == Kind.MAX_PEAK or (len(problem.pools) == 1 and term not in COSTS)


def read_provable(document: bytes) -> Problem:
    """The problem in a file in JSON. Raises InputError for one that proofs have no rules for."""
    problem = read_problem(document, "json")
    why = why_not(problem)
    if why is not None:
        raise InputError.single("no_proof", "$", why)
    return problem


def read_for(plan: Plan, document: bytes) -> "Problem | Graph":
    """What the plan is of, from its file in JSON. Raises InputError for what proofs have no rules for."""
    if plan.schedule is None:
        return read_provable(document)
    from memstow.planner.proofs.prove_order import read_provable_graph

    return read_provable_graph(document)


def prove(
    document: bytes, plan: Plan, path: "str | os.PathLike[str]", time_limit: float = 10.0
) -> Proof | None:
    """Write to `path` why no plan of the problem is better, or what of that can be shown within the seconds.

    `document` is the file of the problem, or of the graph, in JSON, byte for byte. None, and no file, where
    nothing was shown. Raises InputError for one that proofs have no rules for.
    """
    budget = Budget(time_limit, -1)
    return prove_within(read_for(plan, document), plan, document, os.fspath(path), budget)


def prove_within(
    problem: "Problem | Graph",
    plan: Plan,
    document: bytes,
    path: str,
    budget: Budget,
    known: "Known | None" = None,
    keeps_unfinished: bool = False,
    earlier: str | None = None,
) -> Proof | None:
    """The same of a problem or a graph that was read from the document, within the budget.

    `why_not` has no objection. `known`: what the run of the plan has proven. A search for a layout that the
    budget ends may be kept unfinished, also where nothing was shown; `earlier` is a file with such a one, to
    go on from, which the checker has accepted.
    """
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import prove_order_within

        orders = None if isinstance(known, tuple) else known
        return prove_order_within(problem, plan, document, path, budget, orders)
    prices = known if isinstance(known, tuple) else ()
    with draft_of(path) as draft:
        digest = sha256_of(document).digest()
        writer = _Writer(problem, plan, digest, draft, budget, prices, keeps_unfinished, earlier)
        written = writer.write()
        if written is None:
            return None
        proof = proof_in(draft, *written, writer.unfinished)
        take_place(draft, path)
    return proof


_PROOF_SHARE: Final = 0.25


def limits_before_proof(problem: "Problem | Graph", options: Options) -> Options:
    """Options for a plan whose proof is wanted within the same time limit."""
    if options.deterministic or not _uses_all(problem):
        return options
    return replace(options, time_limit=options.time_limit * (1 - _PROOF_SHARE))


def work_for_proof(problem: "Problem | Graph", limit: int, used: int) -> int:
    """Of a deterministic run, the work that a proof may take: what is left, or a share more.

    So plans are the same with and without a proof.
    """
    return max(limit - used, int(limit * _PROOF_SHARE) if _uses_all(problem) else 0)


def _uses_all(problem: "Problem | Graph") -> bool:
    """Whether other orders, or layouts that cost less, are tried until the limits are reached.

    Then nothing would be left to prove what all of them need.
    """
    if not isinstance(problem, Problem):
        return True
    terms = terms_with_proofs(problem)
    has_choice = len({pool.cost for pool in problem.pools}) > 1
    return Kind.REUSE_COST in terms or (has_choice and Kind.PLACEMENT_COST in terms)


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
    fullest = fullest_of(problem)
    if fullest:
        yield -(-sum(problem.buffers[i].size for i in fullest) // len(problem.pools)) - 1, fullest


@record
class _Wanted:
    """That layouts within heights cost so much: a term of the objective has such a bound then."""

    term_number: int
    term: str
    """What is paid; where it is another term, that contradicts the plan."""
    heights: Heights
    cost: int
    bound: int
    is_own: bool

    def comes_to(self, shown: int) -> int:
        """The bound, if layouts cost what is shown."""
        if self.is_own:
            return min(shown, self.bound)
        return self.bound if shown >= self.cost else 0


class _Writer:
    """A proof about a plan, in a draft."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        digest: bytes,
        path: str,
        budget: Budget,
        prices: "KnownPrices",
        keeps_unfinished: bool,
        earlier: str | None,
    ) -> None:
        self._problem, self._plan, self._digest, self._path = problem, plan, digest, path
        self._budget, self._prices = budget, prices
        self._keeps_unfinished, self._earlier = keeps_unfinished, earlier
        self._unfinished: ProofFile | None = None
        self.unfinished = 0
        self._several = len(problem.pools) > 1
        self._sized = [index for index, buffer in enumerate(problem.buffers) if buffer.size]
        self._ties = ties_to_try(problem)
        self._cores: CostProof | None = None
        index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
        number_of = {pool.id: number for number, pool in enumerate(problem.pools)}
        self._places = {
            index_of[one.buffer]: (number_of[one.pool], one.offset)
            for one in plan.placements
            if one.buffer in index_of and one.pool in number_of
        }

    def write(self) -> tuple[int, int, tuple[int, ...]] | None:
        """What is shown of the first term, the steps, and what is shown of each term. None: nothing."""
        terms = terms_with_proofs(self._problem) if self._plan.status in PLANNED else ()
        together = zip(terms, self._plan.objective, strict=False)
        if self._several and any(term == Kind.PEAK and one.value > LIMIT for term, one in together):
            return None  # The checkers refuse such a plan.
        if terms and not _is_max_peak(self._problem, terms[0]):
            return self._without_claims(terms)
        for number, (height, buffers) in enumerate(_claims(self._problem, self._plan)):
            if number and self._budget.spent and len(self._problem.buffers) > MOST_BUFFERS:
                break  # Only to gather them would take long.
            file = self._refuted(height, buffers)
            if file is not None:
                # What is clear without a step is no statement; an earlier run may have shown more.
                draft, bound = Draft(file, file.conclusions), max(height, file.concluded) + 1
                bounds = self._bounds(draft, terms, {0: bound} if terms else {})
                return (bounds[0] if bounds else bound), _finished(file), bounds
        if self._unfinished is None:
            return None
        bound = self._unfinished.concluded + 1
        bounds = (bound, *(0 for _ in terms[1:])) if terms else ()
        return bound, _finished(self._unfinished), bounds

    def _without_claims(self, terms: tuple[str, ...]) -> tuple[int, int, tuple[int, ...]] | None:
        """Of all layouts that fit, the first term; then the others of those that are no worse."""
        objective = self._plan.objective
        last = next((k for k, term in enumerate(terms) if term not in COSTS), len(terms))
        height, file = -1, None
        if last < len(terms) and _is_max_peak(self._problem, terms[last]):
            height = objective[last].bound - 1
        if height >= 0:
            within = self._budget.share(0.5, _WITHOUT_CORES)
            file = self._refuted(height, self._sized, within)
            self._budget.count(within.work)
        known = {} if file is None else {last: height + 1}
        begun = file or self._unfinished or ProofFile(self._path, self._digest)
        draft = Draft(begun, begun.conclusions)
        bounds = self._bounds(draft, terms, known)
        shown = any(bounds) or objective[0].value == 0
        return (bounds[0], _finished(draft.file), bounds) if shown else None

    def _bounds(self, draft: Draft, terms: tuple[str, ...], known: dict[int, int]) -> tuple[int, ...]:
        """Write what can be shown of each term, of layouts that are no worse in those before it.

        What is known of some was shown already.
        """
        bounds = [known.get(k, 0) for k in range(len(terms))]
        within = up_to(self._problem, max(map(end_of, self._problem.pools)))
        for k, (term, value) in enumerate(zip(terms, self._plan.objective, strict=False)):
            # A plan may be better than its search could show.
            before = zip(bounds[:k], self._plan.objective, strict=False)
            is_next = all(bound == one.value for bound, one in before)
            tries_more = is_next and term != Kind.REUSE_COST
            targets = dict.fromkeys((value.value, value.bound) if tries_more else (value.bound,))
            if term in COSTS:
                wanted = [_Wanted(k, term, within, bound, bound, True) for bound in targets]
            else:
                wanted = [
                    one
                    for bound in targets
                    for one in self._contradictions(k, terms, self._no_more(within, term, bound - 1), bound)
                ]
            within = self._no_more(within, term, value.value)
            for one in wanted:
                if bounds[k] < one.bound:
                    budget = self._budget if one.bound == value.bound else self._budget.share(0.5)
                    bounds[k] = max(bounds[k], self._cost(draft, one, budget))
                    if budget is not self._budget:
                        self._budget.count(budget.work)
        return tuple(bounds)

    def _no_more(self, heights: Heights, term: str, value: int) -> Heights:
        """The same of layouts that have no more than this of a term."""
        if term in COSTS:
            number = COSTS.index(Kind(term))
            costs = (min(most, value) if k == number else most for k, most in enumerate(heights.costs))
            return replace(heights, costs=tuple(costs))
        if term == Kind.PEAK and self._several:
            return replace(heights, total=min(heights.total, value))
        limited = [
            term in (Kind.MAX_PEAK, Kind.PEAK, f"{Kind.PEAK}:{pool.id}") for pool in self._problem.pools
        ]
        peaks = zip(heights.peaks, limited, strict=True)
        return replace(heights, peaks=tuple(min(peak, value) if is_so else peak for peak, is_so in peaks))

    def _contradictions(
        self, number: int, terms: tuple[str, ...], below: Heights, bound: int
    ) -> "Iterator[_Wanted]":
        """What would show that no layout is below the bound of a peak: a cost above that of the plan."""
        costs = [k for k, term in enumerate(terms[:number]) if term in COSTS]
        if costs:
            term = terms[costs[-1]]
            both = zip(COSTS, below.costs, strict=True)
            others = replace(below, costs=tuple(LIMIT if name == term else most for name, most in both))
            yield _Wanted(number, term, others, self._plan.objective[costs[-1]].value + 1, bound, False)
        elif self._several:
            term = PLACEMENT_TERMS[0]
            yield _Wanted(number, term, below, most_cost(self._problem, term) + 1, bound, False)

    def _cost(self, draft: Draft, wanted: "_Wanted", budget: Budget) -> int:
        """Write that layouts cost so much; what that comes to."""
        if wanted.term != Kind.REUSE_COST:
            return self._by_places(draft, wanted, budget)
        if wanted.heights != up_to(self._problem, max(wanted.heights.peaks)):
            return self._by_places(draft, wanted, budget)
        turns = [(self._by_cores, _SHARE_OF_FIRST), (self._by_places, 1.0)]
        if rests_on_addresses(self._plan.objective[wanted.term_number].certificate):
            known = SHARE_OF_KNOWN if self._prices else _SHARE_OF_FIRST
            turns = [(self._by_places, known), (self._by_cores, 1.0)]
        else:
            for way, share in turns:
                within = budget.share(share, _FIRST_TURNS)
                shown = way(draft, wanted, within, True)
                budget.count(within.work)
                if shown >= wanted.bound:
                    return shown
        bound = 0
        for way, share in turns:
            if bound < wanted.bound:
                within = budget.share(share)
                bound = max(bound, way(draft, wanted, within))
                budget.count(within.work)
        return bound

    def _by_places(self, draft: Draft, wanted: "_Wanted", budget: Budget, all_of_it: bool = False) -> int:
        """Write that layouts cost so much by where units are; what that comes to.

        `all_of_it`: less is not written.
        """
        height = max(wanted.heights.peaks)
        if wanted.heights == up_to(self._problem, height):
            value = self._plan.objective[wanted.term_number]
            prices = self._prices if rests_on_addresses(value.certificate) else ()
            proof = PlacementProof(
                self._problem, wanted.term, wanted.heights, height, budget, self._places, prices
            )
            shown = proof.raise_bound(wanted.cost)
            if wanted.comes_to(shown) and (shown >= wanted.cost or not all_of_it):
                proof.write(draft)
            return wanted.comes_to(shown)
        shown, _ = floor_and_step(self._problem, wanted.term)
        if shown < wanted.cost:
            peaks = PeaksProof(self._problem, wanted.term, wanted.heights, budget)
            shown = max(shown, peaks.write(wanted.cost, draft))
        return wanted.comes_to(shown)

    def _refuted(
        self, height: int, chosen: Sequence[int], budget: Budget | None = None
    ) -> "ProofFile | None":
        """A proof that these buffers alone do not fit below the height."""
        kept = [index for index in chosen if self._problem.buffers[index].size]
        heights = up_to(self._problem, max(height, 0))
        if not kept and height >= 0:
            return None
        if len(kept) > MOST_BUFFERS and len(kept) == len(self._sized):
            return None
        budget = self._budget if budget is None else budget
        for ties_count in self._ties:
            posed = pose(self._problem, heights, kept, ties_count)
            if posed is None:
                return None
            question, end = posed
            file, earlier = self._unfinished, None
            if file is None:
                file, earlier = ProofFile(self._path, self._digest), self._earlier
            most = height if self._several else min(height, end)
            within = budget if ties_count == self._ties[-1] else budget.share(0.5, _WITHOUT_TIES)
            proven = file.refute(question, end, most, self._several, within, earlier)
            if within is not budget:
                budget.count(within.work)
            if proven:
                return file
            if self._keeps_unfinished and self._budget.spent and file.lemmas:
                self._unfinished, self.unfinished = file, file.lemmas
        return None

    def _by_cores(self, draft: Draft, wanted: "_Wanted", budget: Budget, all_of_it: bool = False) -> int:
        """Write that layouts pay so much for pairs, by sets of pairs that are not all apart.

        `all_of_it`: less is not written.
        """
        height = max(wanted.heights.peaks)
        fixed, pairs = costs_of(self._problem)
        at = {index: number for number, index in enumerate(self._sized)}
        open_pairs = [
            (at[pair.first], at[pair.second], pair.cost, pair.number)
            for pair in pairs
            if pair.cost and pair.first in at and pair.second in at
        ]
        is_small = len(self._sized) <= MOST_BUFFERS and len(open_pairs) <= MOST_COSTS
        if wanted.cost <= fixed or not open_pairs or not is_small:
            return wanted.comes_to(fixed)
        if self._cores is None:
            self._cores = CostProof(open_pairs, fixed, self._several)
        known = fixed
        for ties_count in self._ties:
            posed = pose(self._problem, up_to(self._problem, height), self._sized, ties_count)
            if posed is None or known >= wanted.cost:
                break
            question, end = posed
            end = end if self._several else min(height, end)
            within = budget if ties_count == self._ties[-1] else budget.share(0.5)
            known = self._cores.raise_bound(question, end, height, wanted.cost, within)
            if within is not budget:
                budget.count(within.work)
        if known > fixed and (known >= wanted.cost or not all_of_it):
            known = draft.file.reuse_cost(self._cores, height, min(known, wanted.cost))
            draft.statements += known > fixed
        return wanted.comes_to(known)


def _finished(file: "ProofFile") -> int:
    """The steps of a proof, once it is on the disk."""
    file.finish()
    return file.steps
