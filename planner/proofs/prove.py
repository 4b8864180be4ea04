"""A proof of what a plan says of its peak and its reuse cost, for the checker that stands alone.

What the proof is about is the problem as its rules see it: buffers in one pool, the offsets that each may
have on the grid, and the pairs that conflict. Most bounds of peaks need few of the buffers, which the
certificate names: they are tried before all.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from math import lcm
from typing import TYPE_CHECKING, Final

from memstow.planner.formats import read_problem
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import ExhaustedWindow, LiveBytes, Plan
from memstow.planner.model.problem import (
    LIMIT,
    Buffer,
    Kind,
    Pool,
    Problem,
    end_of,
)
from memstow.planner.proofs.proof_file import Proof, draft_of, proof_in
from memstow.planner.proofs.prove_places import PLACEMENT_TERMS, PlacementProof
from memstow.planner.proofs.questions import (
    costs_of,
    fullest_of,
    groups_of,
    lives_of,
    may_leave_the_capacities,
    pose,
    ties_to_try,
)
from memstow.records import fields, replace
from memstow.solvers.core import Budget, CostProof, ProofFile

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

MOST_BUFFERS: Final = 4096
"""More are not searched; a sum of live bytes may have more."""
MOST_COSTS: Final = 100_000
"""Of more pairs no least cost is looked for."""
_LATEST: Final = LIMIT  # The checker reads no later times.
COSTS: Final = (*PLACEMENT_TERMS, Kind.REUSE_COST)
_COST_NAMES: Final = "a cost (`placement_cost`, `preference`, `reuse_cost`)"
_WITHOUT_CORES: Final = 1_000_000
"""Steps in which a height may be refuted before it is tried with costs."""
_WITHOUT_TIES: Final = 20_000_000
"""Steps in which a height may be refuted where ties do not count, before it is tried where they do."""
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
    lives = (time for buffer in problem.buffers for life in lives_of(buffer) for time in life)
    if any(not -_LATEST <= time <= _LATEST for time in lives):
        return "its times are beyond 2^62"
    together = product(problem.buffers, problem.pools)
    if any(lcm(buffer.alignment, pool.alignment) > LIMIT for buffer, pool in together):
        return "an alignment is beyond 2^62"
    if any(place > LIMIT // 2 for places in groups_of(problem) for _, place in places):
        return "buffers of a rigid group are further apart than 2^61"
    return None


def terms_with_proofs(problem: "Problem | Graph") -> tuple[str, ...]:
    """The terms that the objective begins with and that proofs are about."""
    if not isinstance(problem, Problem):
        from memstow.planner.proofs.prove_order import is_about_peak

        return problem.terms()[:1] if is_about_peak(problem) else ()
    return tuple(takewhile(lambda term: term in COSTS or _is_peak(problem, term), problem.terms()))


def not_about(problem: "Problem | Graph") -> str | None:
    """Why nothing can be proven of a plan, unless it is that nothing fits."""
    if terms_with_proofs(problem):
        return None
    several = "of several pools " if len(problem.pools) > 1 else ""
    costs = f" or {_COST_NAMES}" if isinstance(problem, Problem) else ""
    about = f"{several}proofs are about {_peak_of(problem)}{costs}"
    return f"{about} as the first term, or that nothing fits"


def begins_with_peak(problem: "Problem | Graph") -> bool:
    """Whether the first term of the objective is the peak that proofs are about."""
    return any(term not in COSTS for term in terms_with_proofs(problem)[:1])


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
        written = _Writer(problem, plan, sha256_of(document).digest(), draft, budget).write()
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
    fullest = fullest_of(problem)
    if fullest:
        yield -(-sum(problem.buffers[i].size for i in fullest) // len(problem.pools)) - 1, fullest


class _Writer:
    """A proof about a plan, in a draft."""

    def __init__(self, problem: Problem, plan: Plan, digest: bytes, path: str, budget: Budget) -> None:
        self._problem, self._plan, self._digest, self._path = problem, plan, digest, path
        self._budget = budget
        self._several = len(problem.pools) > 1
        self._sized = [index for index, buffer in enumerate(problem.buffers) if buffer.size]
        self._ties = ties_to_try(problem)

    def write(self) -> tuple[int, int, tuple[int, ...]] | None:
        """What is shown of the first term, the steps, and what is shown of each term. None: nothing."""
        terms = terms_with_proofs(self._problem) if self._plan.status in PLANNED else ()
        if terms and terms[0] in COSTS:
            return self._costs_first(terms)
        for number, (height, buffers) in enumerate(_claims(self._problem, self._plan)):
            if number and self._budget.spent and len(self._problem.buffers) > MOST_BUFFERS:
                break  # Only to gather them would take long.
            file = self._refuted(height, buffers)
            if file is None:
                continue
            objective = self._plan.objective
            costs = [
                (term, objective[0].value, objective[k].bound)
                for k, term in enumerate(terms)
                if term in COSTS
            ]
            known = iter(self._bounds(file, costs))
            bounds = [next(known) if term in COSTS else height + 1 for term in terms]
            return height + 1, _finished(file), tuple(bounds)
        return None

    def _costs_first(self, terms: tuple[str, ...]) -> tuple[int, int, tuple[int, ...]] | None:
        """Of all layouts that fit, the cost; then the peak of those that cost no more."""
        objective = self._plan.objective
        cost = objective[0]
        most = max(map(end_of, self._problem.pools))
        last = next((k for k, term in enumerate(terms) if term not in COSTS), len(terms))
        height = -1 if last == len(terms) else objective[last].bound - 1
        file: ProofFile | None = None
        if height >= 0:
            within = self._budget.share(0.5, _WITHOUT_CORES)
            file = self._refuted(height, self._sized, within)
            self._budget.count(within.work)
        proven = file is not None
        file = ProofFile(self._path, self._digest) if file is None else file
        wanted = [
            (term, most if k < last else objective[last].value, objective[k].bound)
            for k, term in enumerate(terms)
            if term in COSTS
        ]
        if height >= 0 and not proven:
            wanted.append((terms[0], height, cost.value + 1))
        shown = self._bounds(file, wanted)
        proven = proven or shown[-1] > cost.value
        known = iter(shown)
        bounds = [next(known) if term in COSTS else (height + 1 if proven else 0) for term in terms]
        return (shown[0], _finished(file), tuple(bounds)) if any(bounds) or cost.value == 0 else None

    def _bounds(self, file: "ProofFile", wanted: "Sequence[tuple[str, int, int]]") -> list[int]:
        """Write that layouts up to each height cost so much in a term, or what of that can be shown."""
        shown = [0 for _ in wanted]
        # Pairs that are apart stay so: what is shown with them comes last.
        pairs = [k for k, (term, _, _) in enumerate(wanted) if term == Kind.REUSE_COST]
        for k, (term, height, cost) in enumerate(wanted):
            if term != Kind.REUSE_COST:
                shown[k] = PlacementProof(self._problem, term, height, self._budget).write(cost, file)
        costs = self._costs(file, [wanted[k][1:] for k in pairs]) if pairs else []
        for k, cost in zip(pairs, costs, strict=True):
            shown[k] = cost
        return shown

    def _refuted(
        self, height: int, chosen: Sequence[int], budget: Budget | None = None
    ) -> "ProofFile | None":
        """A proof that these buffers alone do not fit below the height."""
        kept = [index for index in chosen if self._problem.buffers[index].size]
        if not kept and height >= 0:
            return None
        if len(kept) > MOST_BUFFERS and len(kept) == len(self._sized):
            return None
        budget = self._budget if budget is None else budget
        for ties_count in self._ties:
            posed = pose(self._problem, height, kept, ties_count)
            if posed is None:
                return None
            question, end = posed
            file = ProofFile(self._path, self._digest)
            most = height if self._several else min(height, end)
            within = budget if ties_count == self._ties[-1] else budget.share(0.5, _WITHOUT_TIES)
            proven = file.refute(question, end, most, self._several, within)
            if within is not budget:
                budget.count(within.work)
            if proven:
                return file
        return None

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
                for ties_count in self._ties:
                    posed = pose(self._problem, height, self._sized, ties_count)
                    if posed is None or known >= cost:
                        break
                    question, end = posed
                    end = end if self._several else min(height, end)
                    within = self._budget if ties_count == self._ties[-1] else self._budget.share(0.5)
                    known = proof.raise_bound(question, end, height, cost, within)
                    if within is not self._budget:
                        self._budget.count(within.work)
            shown.append(known)
        both = zip(shown, wanted, strict=True)
        return [file.cost(proof, height, min(known, cost)) for known, (height, cost) in both]


def _finished(file: "ProofFile") -> int:
    """The steps of a proof, once it is on the disk."""
    file.finish()
    return file.steps
