"""What a plan and its proof show of an instance, by the judge and the checker alone; and the better of two.

Whatever an instance says of values, bounds and its state is made here, from the document, the plan and the
proof: `verify` makes it again and compares. Bounds count where they are checked. What a plan only claims is
shown as a claim, and is never a reason to take one plan for another.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.library import Change, DocumentKind, ShownBy, State, TermRecord
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, TermValue, gap_of, is_bare
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import BY_PROOF, CheckedProof, check_bytes, with_proof
from memstow.planner.proofs.prove import prove_within, why_not
from memstow.planner.solve.one_run import NO_TIME
from memstow.planner.solve.portfolio import cancelling
from memstow.planner.solve.problem_plans import assembled
from memstow.planner.solve.schedules import NOTHING, with_order_bound
from memstow.planner.verify import Standing, Subject, Verdict, judge
from memstow.solvers.core import Budget

_MOST_REPORTED: Final = 5
NEVER: Final = threading.Event()


@dataclass(frozen=True, slots=True)
class Posed:
    """A problem or a graph, and the bytes of its document, which a proof is about."""

    document: Problem | Graph
    data: bytes

    @property
    def kind(self) -> DocumentKind:
        """What it is."""
        return "problem" if isinstance(self.document, Problem) else "graph"


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan, and the file of a proof about it."""

    plan: Plan
    proof: bytes | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer that is right, and what it shows."""

    answer: Answer
    state: State
    best: tuple[TermRecord, ...] = ()
    proof_bound: int = 0
    """No plan is below it in the first term, by the proof."""
    checked: CheckedProof | None = None
    """What the checker says of the proof."""

    @property
    def values(self) -> tuple[int, ...]:
        """The value of each term."""
        return tuple(term.value for term in self.best)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The bound of each term that was checked."""
        return tuple(term.bound for term in self.best)


def proved(posed: Posed, plan: Plan, budget: Budget, most: int, cancel: threading.Event = NEVER) -> Answer:
    """The plan with a proof of what it claims, which has at most `most` bytes.

    Without one where none is written within the budget.
    """
    if why_not(posed.document) is not None:
        return Answer(plan)
    with TemporaryDirectory(prefix="memstow-") as folder:
        path = Path(folder) / "plan.proof"
        with cancelling(budget, cancel):
            proof = prove_within(posed.document, plan, posed.data, str(path), budget)
        if proof is None or proof.size > most:
            return Answer(plan)
        data = path.read_bytes()
    return Answer(replace(plan, proof_sha256=sha256(data).hexdigest()), data)


def complete(posed: Posed, plan: Plan) -> Plan:
    """The plan itself, or of a bare layout one that says what it costs. It has to be valid."""
    if not is_bare(plan):
        return plan
    problem = problem_of(posed.document, plan)
    place_of = {place.buffer: place for place in plan.placements}
    places = tuple(place_of[buffer.id] for buffer in problem.buffers)
    full = assembled(problem, Options(), places, "", None, NO_TIME)
    full = replace(full, schedule=plan.schedule, solver=None)
    if isinstance(posed.document, Graph) and not judge(posed.document, full).valid:
        # What holds in this order need not hold in others.
        return with_order_bound(posed.document, full, NOTHING)
    return full


def judged(posed: Posed, answer: Answer, cancel: threading.Event = NEVER) -> Judged:
    """What the answer shows; an InputError where any of it is wrong.

    Raises StoppedError soon after `cancel` is set while a proof is checked.
    """
    verdict = judge(posed.document, answer.plan)
    _require_valid(verdict)
    if is_bare(answer.plan):
        answer = replace(answer, plan=complete(posed, answer.plan))
        verdict = judge(posed.document, answer.plan)
        _require_valid(verdict)
    plan, proof_bound, checked = answer.plan, 0, None
    if plan.status not in (*PLANNED, Status.INFEASIBLE):
        raise InputError.single("no_plan", "plan", f"there is no plan in it: the status is {plan.status}")
    if answer.proof is not None:
        _require_provable(posed)
        checked = _checked(posed, plan, answer.proof, cancel)
        verdict = with_proof(problem_of(posed.document, plan), plan, verdict, checked)
        _require_valid(verdict)
        proof_bound = max(checked.bounds[:1], default=0) if plan.status in PLANNED else 0
    if plan.status is Status.INFEASIBLE:
        shown = _standing(verdict, Subject.NOTHING_FITS, None)[0] is Standing.CHECKED
        return Judged(answer, "infeasible" if shown else "claimed", checked=checked)
    best = tuple(_record(verdict, term) for term in plan.objective)
    if best:
        first = _strongest(posed, plan, best[0], proof_bound)
        best = (first, *best[1:])
    return Judged(answer, _state(best), best, proof_bound, checked)


def _require_valid(verdict: Verdict) -> None:
    if not verdict.valid:
        listed = verdict.violations[:_MOST_REPORTED]
        raise InputError(Issue(str(violation.code), "plan", violation.message) for violation in listed)


def _require_provable(posed: Posed) -> None:
    why = why_not(posed.document)
    if why is not None:
        raise InputError.single("no_proof", "proof", f"{why}; leave it out")


def _checked(posed: Posed, plan: Plan, proof: bytes, cancel: threading.Event) -> CheckedProof:
    return check_bytes(posed.data, plan, proof, cancel.is_set)


def _standing(verdict: Verdict, subject: Subject, name: str | None) -> tuple[Standing | None, str]:
    for claim in verdict.claims:
        if (claim.subject, claim.name) == (subject, name):
            return claim.standing, claim.by
    return None, ""


def _record(verdict: Verdict, term: TermValue) -> TermRecord:
    """A term of a valid plan, with its bound as far as that was checked."""
    standing, by = _standing(verdict, Subject.BOUND, term.term)
    if standing is Standing.CHECKED and term.bound:
        shown_by: ShownBy = "proof" if by == BY_PROOF else "judge"
        return TermRecord(term=term.term, value=term.value, bound=term.bound, shown_by=shown_by)
    return TermRecord(term=term.term, value=term.value, claimed=term.bound or None)


def _strongest(posed: Posed, plan: Plan, first: TermRecord, proof_bound: int) -> TermRecord:
    """The first term with the best bound that its certificate, its proof or counting shows."""
    best = first
    if proof_bound > best.bound:
        best = replace(best, bound=proof_bound, shown_by="proof")
    if best.shown_by is None and isinstance(posed.document, Problem):
        # What the plan says rests on a search: what can be counted is less, and is so.
        bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
        counted = complete(posed, bare)
        (term, *_) = counted.objective
        shown = _record(judge(posed.document, counted), term)
        best = replace(best, bound=shown.bound, shown_by=shown.shown_by)
    claimed = first.claimed if first.claimed is not None and first.claimed > best.bound else None
    return replace(best, claimed=claimed)


def _state(best: Sequence[TermRecord]) -> State:
    if all(term.bound == term.value for term in best):
        return "proven"
    return "claimed" if all(max(term.bound, term.claimed or 0) == term.value for term in best) else "open"


def better_of(
    posed: Posed, record: Judged | None, other: Judged, cancel: threading.Event = NEVER
) -> tuple[Judged, tuple[Change, ...]]:
    """The best of both, and what became better than in the record; nothing: the record stays.

    InputError where they contradict each other: then one of the checkers is wrong.
    """
    if record is None:
        return other, _changes(None, other)
    _refuse_contradiction(record, other)
    base, spare = _ranked(record, other)
    proof = base.answer.proof
    if proof is None or spare.proof_bound > base.proof_bound:
        proof = spare.answer.proof or proof
    digest = None if proof is None else sha256(proof).hexdigest()
    for plan in (_with_bounds(base, spare), base.answer.plan):
        answer = Answer(replace(plan, proof_sha256=digest), proof)
        try:
            best = judged(posed, answer, cancel)
        except InputError:
            continue  # A certificate of one plan need not hold beside what the other says.
        return best, _changes(record, best)
    return record, ()


def _refuse_contradiction(record: Judged, other: Judged) -> None:
    planned = [one.answer.plan.status in PLANNED for one in (record, other)]
    if planned == [True, False]:
        message = "it says that nothing fits, and the library has a plan that the judge accepts"
        raise InputError.single("contradiction", "plan", message)
    if planned == [False, True] and record.state == "infeasible":
        message = "the judge accepts it, and the library has what shows that nothing fits: please report this"
        raise InputError.single("contradiction", "plan", message)


def _ranked(record: Judged, other: Judged) -> tuple[Judged, Judged]:
    """The one whose plan is kept, and the other: lower values, then higher bounds, then the older one."""
    if record.answer.plan.status not in PLANNED:
        is_better = other.answer.plan.status in PLANNED or (other.state, record.state) == (
            "infeasible",
            "claimed",
        )
    else:
        is_better = (other.values, tuple(-bound for bound in other.bounds)) < (
            record.values,
            tuple(-bound for bound in record.bounds),
        )
    return (other, record) if is_better else (record, other)


def _with_bounds(base: Judged, spare: Judged) -> Plan:
    """The plan of the first with the bounds of the other that hold for it and are higher."""
    plan, terms = base.answer.plan, list(base.answer.plan.objective)
    for place, (mine, others) in enumerate(zip(base.best, spare.best, strict=False)):
        theirs = spare.answer.plan.objective[place]
        is_certified = others.shown_by == "judge" and theirs.bound == others.bound
        if is_certified and mine.bound < others.bound <= mine.value:
            terms[place] = replace(
                terms[place],
                bound=theirs.bound,
                gap=gap_of(mine.value, theirs.bound),
                certificate=theirs.certificate,
            )
        if mine.value != others.value:
            break  # Later bounds are about plans with the other value.
    if terms == list(plan.objective):
        return plan
    proven = all(term.value == term.bound for term in terms)
    pools = plan.pools
    if len(pools) == 1 and terms[0].bound > pools[0].bound and terms[0].value == pools[0].peak:
        pools = (replace(pools[0], bound=terms[0].bound, certificate=None),)
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    return replace(plan, status=status, objective=tuple(terms), pools=pools)


def _changes(record: Judged | None, best: Judged) -> tuple[Change, ...]:
    changed: list[Change] = []
    if best.answer.plan.status is Status.INFEASIBLE:
        if record is None or record.state != best.state:
            changed.append("infeasible")
    elif record is None or record.answer.plan.status not in PLANNED or best.values < record.values:
        changed.append("value")
    if record is not None and record.best and _has_higher_bound(record, best):
        changed.append("bound")
    if best.answer.proof is not None and (record is None or record.answer.proof is None):
        changed.append("proof")
    return tuple(changed)


def _has_higher_bound(record: Judged, best: Judged) -> bool:
    for before, now in zip(record.best, best.best, strict=True):
        if now.bound > before.bound:
            return True
        if now.value != before.value:
            return False
    return False
