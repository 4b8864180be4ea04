"""Judges a plan of a symbolic problem: whether it lays out every value of the symbols, and what it says.

In: a symbolic problem and its plan. Out: a verdict. Formulas are read and counted by the judge's own code;
nothing is shared with `planner.shapes`, which made the plan.
"""

from typing import Final

from memstow.planner.model.objective import Kind, Term, parse_term
from memstow.planner.model.plan import PLANNED
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.model.symbolic_digest import digest_symbolic
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.apart import check_apart
from memstow.planner.verify.shapes.chosen import Orders
from memstow.planner.verify.shapes.everywhere import check_everywhere
from memstow.planner.verify.shapes.fixed import Fixed, check_fixed, claim_fixed
from memstow.planner.verify.shapes.live import LiveBound
from memstow.planner.verify.shapes.nothing import check_nothing
from memstow.planner.verify.shapes.plain import PlainColumns, PlainFixed, columns_of, plain_fixed
from memstow.planner.verify.shapes.points import Laid, check_points, is_bare
from memstow.planner.verify.shapes.sizes import Sizes
from memstow.planner.verify.shapes.space import Space
from memstow.planner.verify.shapes.stack import Stack
from memstow.planner.verify.verdict import Claims, Subject, Verdict

_OF_ONE_POOL: Final = ("peak", "max_peak")
"""Objectives that are the peak of the pool where there is one."""


def judge_symbolic(problem: SymbolicProblem, plan: SymbolicPlan) -> Verdict:
    """The verdict on a plan of a symbolic problem."""
    findings, claims = Findings(), Claims(plan)
    space = Space(problem, findings)
    sizes = Sizes(problem, space, findings) if not findings.total else None
    if sizes is not None and not findings.total:
        says = "every size is from 0 to 2^62 at every value of the symbols"
        claims.proven(Subject.SIZES, None, says, "intervals", holds=True)
        plain = columns_of(problem) if problem.objective[0] in _OF_ONE_POOL else None
        fixed = None
        if plain is not None and plan.shapes == "fixed" and plan.status in PLANNED:
            fixed = plain_fixed(plain, plan.placements, sizes.largest())
        if plain is not None and fixed is not None:
            _judge_plain(problem, plan, fixed, sizes, space, findings, claims)
        else:
            _judge_all(problem, plan, plain, sizes, space, findings, claims)
    return Verdict(tuple(findings.violations()), claims.settled())


def _judge_plain(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    fixed: PlainFixed,
    sizes: Sizes,
    space: Space,
    findings: Findings,
    claims: Claims,
) -> None:
    """Offsets that hold are judged without objects for each buffer."""
    _check_whole(problem, plan, findings)
    if findings.total:
        return
    claim_fixed(problem.pools, [fixed.peak], sizes, claims)
    if not is_bare(plan):
        check_points(plan, fixed.peak_and_least, sizes, space, findings, claims)


def _judge_all(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    plain: PlainColumns | None,
    sizes: Sizes,
    space: Space,
    findings: Findings,
    claims: Claims,
) -> None:
    index = ProblemIndex(sizes.problem_with(sizes.largest()), findings)
    term = parse_term(problem.objective[0])
    if term is not None and term.kind not in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
        text = "the problem is not valid: {!r} is no objective of a symbolic problem"
        findings.add(Code.INVALID_PROBLEM, text, problem.objective[0])
    if term is not None and not findings.total:
        _judge(problem, plan, _Subject(index, sizes, space, term, plain), findings, claims)


class _Subject:
    """The problem as the judge reads it: `index` is the ordinary problem with all sizes at their largest."""

    def __init__(
        self, index: ProblemIndex, sizes: Sizes, space: Space, term: Term, plain: PlainColumns | None
    ) -> None:
        self.index = index
        self.plain = plain
        self.sizes = sizes
        self.space = space
        self.term = term


def _judge(
    problem: SymbolicProblem, plan: SymbolicPlan, subject: _Subject, findings: Findings, claims: Claims
) -> None:
    _check_whole(problem, plan, findings)
    if findings.total:
        return
    if plan.status not in PLANNED:
        check_nothing(plan, subject.index, subject.sizes, subject.space, findings, claims)
        return
    laid = _fixed(plan, subject, findings, claims) if plan.shapes == "fixed" else None
    if laid is None and plan.shapes != "fixed":
        laid = _orders(plan, subject, findings, claims)
    if laid is not None and not is_bare(plan):
        live = LiveBound(subject.index, subject.term) if subject.plain is None else subject.plain
        value, least = laid.value, live.at
        check_points(plan, lambda at: (value(at), least(at)), subject.sizes, subject.space, findings, claims)


def _check_whole(problem: SymbolicProblem, plan: SymbolicPlan, findings: Findings) -> None:
    """It is a plan of this problem, with the parts of its kind."""
    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        findings.add(Code.DIGEST, "the plan is for another problem: its digest is {}", plan.digest[:64])
    _check_parts(plan, bool(problem.buffers), findings)
    if plan.status in PLANNED and plan.explanation is not None and not findings.total:
        findings.add(Code.EXPLANATION, "the status is {}, and there is an explanation", plan.status.value)


def _check_parts(plan: SymbolicPlan, has_buffers: bool, findings: Findings) -> None:
    """A plan has the parts of its kind; what is no plan has none."""
    if plan.status not in PLANNED:
        if plan.placements or plan.orders or plan.points or plan.worst is not None or plan.bound is not None:
            text = "the status is {}: it has no placements, orders, points or ratios"
            findings.add(Code.STATUS, text, plan.status.value)
    elif plan.shapes == "fixed":
        if plan.orders:
            findings.add(Code.SHAPES, "a plan of fixed offsets has no orders")
        if has_buffers and not plan.placements:
            findings.add(Code.STATUS, "the status is {} but no buffer has a place", plan.status.value)
    elif plan.placements:
        findings.add(Code.SHAPES, "a plan of orders has no offsets")
    elif not plan.orders or (plan.shapes == "order" and len(plan.orders) > 1):
        wanted = "one order" if plan.shapes == "order" else "some orders"
        findings.add(Code.SHAPES, "it must have {}, and has {}", wanted, len(plan.orders))


def _fixed(plan: SymbolicPlan, subject: _Subject, findings: Findings, claims: Claims) -> Laid | None:
    fixed = Fixed(subject.index, plan.placements, subject.term, findings)
    if findings.total:
        return None
    check_fixed(fixed, subject.sizes, subject.space, findings, claims)
    return fixed


def _orders(plan: SymbolicPlan, subject: _Subject, findings: Findings, claims: Claims) -> Laid | None:
    stacks = [Stack(subject.index, order, findings) for order in plan.orders]
    if not all(stack.sound for stack in stacks):
        return None
    before, largest = findings.total, subject.sizes.largest()
    for stack in stacks:
        check_apart(stack, largest, findings)
    says = "of every two buffers that conflict one is above the other, at every value"
    claims.counted(Subject.PLACES, None, says, findings.total == before)
    orders = Orders(subject.index, stacks, subject.term)
    check_everywhere(subject.index, orders, subject.sizes, subject.space, findings, claims)
    return orders
