"""A plan laid out by the judge's own code, to compare with."""

from memstow.planner.model.problem import parse_term
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.verify.formula_trees import Space
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.symbolic_orders import Orders, Stack
from memstow.planner.verify.symbolic_sizes import Sizes
from memstow.planner.verify.verdict import Findings


class JudgedLayout:
    """The orders of a plan, as the judge lays them out."""

    def __init__(self, problem: SymbolicProblem, plan: SymbolicPlan) -> None:
        findings = Findings()
        space = Space(problem, findings)
        self._problem = problem
        self._sizes = Sizes(problem, space, findings)
        index = ProblemIndex(self._sizes.problem_with(self._sizes.largest()), findings)
        stacks = [Stack(index, order, findings) for order in plan.orders]
        term = parse_term(problem.objective[0])
        assert term is not None
        assert not findings.total, list(findings.violations())
        self._orders = Orders(index, stacks, term)

    def at(self, at: dict[str, int]) -> list[int] | None:
        """Sizes, offsets and peaks in a row; None where the order that counts does not hold."""
        sizes = self._sizes.at(tuple(at[symbol.id] for symbol in self._problem.symbols))
        _, peaks, offsets, _ = self._orders._best(sizes)
        return None if any(self._orders.broken(sizes)) else [*sizes, *offsets, *peaks]
