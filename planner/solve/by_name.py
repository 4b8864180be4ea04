"""A problem by name for a solver of another package, and what its plans are worth.

Of a plan the places count, once the judge has accepted them. A bound counts if the judge can check its
certificate, or if the checker accepts a proof of it, which may also show that nothing fits; what else a plan
says of itself is a claim: people are told, and nothing is made of it.
"""

from collections.abc import Callable
from typing import Final

from memstow.planner.formats.native import write_document
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, PlugInError
from memstow.planner.model.plan import Crowds, ExhaustedWindow, Least, LiveBytes, Plan, Sum, TermValue
from memstow.planner.model.problem import parse_term
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_plan
from memstow.planner.reduce import Reduction
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.problem_verdict import Proofs, judge_problem
from memstow.planner.verify.verdict import STEPS_IN_A_RUN, Findings, GraphFacts
from memstow.solvers.constraints import Relations
from memstow.solvers.lexicographic import Examiner
from memstow.solvers.solver import Received, Shown, Task

_MOST_SHOWN: Final = 3
_COUNTED: Final = (LiveBytes, Sum, Least, Crowds, ExhaustedWindow)
"""Certificates that the judge counts again."""


class NamedProblem:
    """The problem of a run by name; `reduction` counts in bytes, so that it has every place."""

    def __init__(
        self,
        reduction: Reduction,
        hint: Plan | None,
        task: Task,
        on_proof: Callable[[bytes], None] | None = None,
    ) -> None:
        self._problem = reduction.problem
        self._document: bytes | None = None
        self._on_proof = on_proof
        self._proof: tuple[bytes, Plan, tuple[int, ...]] | None = None
        """The last proof, the plan that it came with, and the values of that."""
        self._reduction = reduction
        self._hint = hint
        self._task = task
        self._examiner: Examiner | None = None
        self.bound: TermValue | None = None
        """The highest bound of the first term whose certificate the judge has checked."""
        self._claimed_bound = 0
        self._claims_misfit = False
        self._proven_bound = 0

    def document(self) -> bytes:
        """The problem as native JSON."""
        if self._document is None:
            self._document = write_document(self._problem)
        return self._document

    def hint(self) -> bytes | None:
        """The hint as native JSON."""
        return None if self._hint is None else write_document(self._hint)

    def read(self, plan: bytes, solver: str, proof: bytes | None = None) -> Received | None:
        """The plan as a layout; None for one that says that there is none. PlugInError for a wrong one."""
        try:
            received = parse_plan(parse_json(plan))
        except InputError as error:
            raise PlugInError(f"what the solver {solver!r} sent is no plan: {error.issues[0]}") from None
        if received.status not in PLANNED:
            if received.status is Status.INFEASIBLE:
                self._claims_misfit = True
                if proof is not None:
                    self._proof = proof, Plan(status=Status.INFEASIBLE), ()
            return None
        places = Plan(status=Status.FEASIBLE, placements=received.placements)
        violations = judge_problem(self._problem, places, self._hint, refutes=False).violations
        if violations:
            said = "; ".join(violation.message for violation in violations[:_MOST_SHOWN])
            more = len(violations) - _MOST_SHOWN
            rest = f"; and {more:,} more" if more > 0 else ""
            codes = [violation.code.value for violation in violations]
            raise PlugInError(f"the plan of the solver {solver!r} is not valid: {said}{rest}", codes)
        layout = self._reduction.layout(received.placements)
        if self._examiner is None:
            self._examiner = Examiner(self._task, Relations(self._task.instance))
        values = self._examiner.values(layout)
        if values is None:
            raise AssertionError("the judge accepts places that the arrays do not have")
        self._learn(received, values[0] if values else 0)
        if proof is not None:
            self._proof = proof, places, values
        return Received(layout, values)

    def shown(self, stopped: Callable[[], bool]) -> Shown:
        """What the last proof shows; one that is wrong, or not checked in time, is refused."""
        if self._proof is None:
            return Shown()
        # Most plug-ins have no proofs.
        from memstow.planner.proofs.check import Outcome, StoppedError, check_bytes

        proof, plan, values = self._proof
        try:
            checked = check_bytes(self.document(), plan, proof, stopped)
        except StoppedError:
            return Shown(refused="no time was left to check it")
        if not checked.shows:
            return Shown(refused=checked.says)
        if plan.status is Status.INFEASIBLE:
            if checked.outcome is not Outcome.VERIFIED:
                return Shown(refused=f"it does not show that nothing fits: {checked.says}")
            shown = Shown(nothing_fits=True)
        else:
            shown = Shown(checked.bounds[: len(values)], values)
            self._proven_bound = max(shown.bounds[:1], default=0)
        is_news = any(
            bound > known for bound, known in zip(shown.bounds, self._task.lower_bounds, strict=False)
        )
        if self._on_proof is not None and (shown.nothing_fits or is_news):
            self._on_proof(proof)
        return shown

    def claim(self, bound: int | None, *, has_plan: bool) -> str | None:
        """What the solver claims beyond the bound that is proven, in words."""
        if self._claims_misfit and not has_plan:
            return "nothing fits"
        proven = max(bound or 0, self._proven_bound, 0 if self.bound is None else self.bound.bound)
        if bound is not None and self._claimed_bound > proven:
            return f"no plan has a {self._problem.terms()[0]} below {self._claimed_bound:,}"
        return None

    def _learn(self, plan: Plan, value: int) -> None:
        """Check what the plan says of its first term; `value` is what that comes to."""
        terms = self._problem.terms()
        first = next((entry for entry in plan.objective[:1] if terms and entry.term == terms[0]), None)
        if first is None:
            if plan.status is Status.OPTIMAL:
                self._claimed_bound = max(self._claimed_bound, value)
            return
        if first.bound <= (0 if self.bound is None else self.bound.bound):
            return
        if isinstance(first.certificate, _COUNTED) and parse_term(first.term) is not None:
            findings = Findings()
            index = ProblemIndex(self._problem, findings)
            proofs = Proofs(index, (first,), GraphFacts(), STEPS_IN_A_RUN)
            if proofs.reason_against(0) is None and not proofs.unchecked and not findings.total:
                self.bound = first
                return
        self._claimed_bound = max(self._claimed_bound, first.bound)
