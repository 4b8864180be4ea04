"""What a team has found of a problem, or of a part of it that is independent of the others."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.api.operations.encoding import plan_from_bytes
from memstow.api.operations.request_types import SolveResult
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, gap_of
from memstow.planner.model.problem import Kind, Problem, counts
from memstow.planner.solve.assembling import Proven
from memstow.planner.solve.run_state import better
from memstow.planner.solve.turns import ANOTHER_RUN
from memstow.planner.verify import Violation, recount

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

log = logging.getLogger("memstow.team")


class Share:
    """A problem or a graph, its best plan, and the best bound of its first term."""

    def __init__(self, document: "Problem | Graph", body: bytes, options: Options, plan: Plan | None) -> None:
        self.document = document
        self.body = body
        """The document as members get it."""
        self.options = options
        self.plan: Plan | None = None
        self.plan_body: bytes | None = None
        self.finder: int | None = None
        """The rank of the member that has found the best plan."""
        self.answer: Plan | None = None
        """What a member has said where it has no plan."""
        self.bound = 0
        """Of the first term, with or without a reason so far."""
        self.proven: Proven | None = None
        if plan is not None and plan.status in PLANNED and not self._violations(plan):
            self.plan = plan
            self._learn(plan)

    @property
    def value(self) -> int | None:
        """Of the first term in the best plan; None without one."""
        return self.plan.objective[0].value if self.plan is not None and self.plan.objective else None

    def take(self, result: SolveResult, rank: int) -> bool:
        """Take in what a member has sent; whether it is the best plan now."""
        plan = plan_from_bytes(result.plan)
        if plan.status not in PLANNED:
            if self.answer is None or plan.status is Status.INFEASIBLE:
                self.answer = plan
            return False
        if plan.solver == ANOTHER_RUN and self.plan is not None:
            # The member was told of it, and has found nothing lower.
            plan = replace(plan, solver=self.plan.solver)
        improves = self.plan is None or better(plan, self.plan)
        if not improves and not self._raises(plan):
            return False
        violations = self._violations(plan)
        if violations:
            log.error("a plan of member %d was refused: %s", rank, violations[0].message)
            return False
        self._learn(plan)
        if improves:
            self.plan, self.plan_body, self.finder = plan, result.plan, rank
        return improves

    def settled(self, floor: int) -> bool:
        """Whether nothing is left to be found, if none of the whole can be below this floor."""
        if self.answer is not None and self.answer.status is Status.INFEASIBLE:
            return True
        plan = self.plan
        if plan is None:
            return False
        if plan.status is Status.OPTIMAL or len(plan.objective) != 1:
            return all(term.gap <= self.options.gap for term in plan.objective)
        return gap_of(plan.objective[0].value, max(floor, self.bound)) <= self.options.gap

    def _violations(self, plan: Plan) -> list[Violation]:
        hint = self.options.hint if counts(self.document, Kind.MOVES) else None
        return recount(self.document, plan, hint)

    def _raises(self, plan: Plan) -> bool:
        reached = 0 if self.proven is None else self.proven.term.bound
        return bool(plan.objective) and plan.objective[0].bound > reached

    def _learn(self, plan: Plan) -> None:
        if self._raises(plan):
            self.proven = Proven(plan.objective[0], plan.prover)
            self.bound = max(self.bound, plan.objective[0].bound)
