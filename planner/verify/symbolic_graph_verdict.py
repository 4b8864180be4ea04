"""Judges a plan of a graph whose sizes are formulas: its order, and then its places at every value.

In: a symbolic graph and its plan. Out: a verdict. The order of the schedule is replayed with liveness of the
judge's own, which does not depend on sizes, and the places are judged for the problem of that order. What is
said of all orders at a point is checked on the ordinary graph with the sizes there.
"""

from collections.abc import Callable, Sequence

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Cut, RefutedOrders, Schedule
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import (
    SymbolicBuffer,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    graph_with_sizes,
    size_formula,
)
from memstow.planner.verify.formula_trees import FormulaError, parsed
from memstow.planner.verify.graph_replay import problem_in_order, replay, structure_errors
from memstow.planner.verify.graph_verdict import does_more_than_order, is_as_given
from memstow.planner.verify.order_bounds import reason_against_orders
from memstow.planner.verify.symbolic_verdict import Schedules, judge_everywhere
from memstow.planner.verify.verdict import Claims, Code, Effort, Findings, Subject, TooMuch, Verdict

_Size = int | str


def judge_symbolic_graph(graph: SymbolicGraph, plan: SymbolicPlan, refutes: bool = True) -> Verdict:
    """The verdict on a plan of a symbolic graph; without `refutes`, no search is gone through again."""
    findings, claims = Findings(), Claims(plan)
    sizes = _sizes_of(graph, findings)
    timeless = graph_with_sizes(graph, {})
    for message in structure_errors(timeless):
        findings.add(Code.INVALID_PROBLEM, "{}", message)
    if findings.total:
        return Verdict(tuple(findings.violations()), ())
    _judge(graph, sizes, timeless, plan, refutes, findings, claims)
    return Verdict(tuple(findings.violations()), claims.settled())


def _judge(
    graph: SymbolicGraph,
    sizes: dict[str, _Size],
    timeless: Graph,
    plan: SymbolicPlan,
    refutes: bool,
    findings: Findings,
    claims: Claims,
) -> None:
    schedule = plan.schedule or Schedule(order=tuple(operator.id for operator in graph.operators))
    if does_more_than_order(schedule):
        message = (
            "the schedule does more than order, and of a graph with symbols each operator runs once by "
            "itself: list each of them once"
        )
        findings.add(Code.SCHEDULE, message)
        return
    replayed = replay(timeless, schedule.order, findings)
    says = f"the graph allows the order of its {len(graph.operators):,} operators"
    claims.counted(Subject.ORDER, None, says, replayed is not None)
    if replayed is None:
        return
    problem = _problem(graph, sizes, problem_in_order(timeless, replayed))
    against = _against_orders(graph, problem, refutes)
    judge_everywhere(problem, plan, Schedules(not is_as_given(timeless, replayed), against), findings, claims)


def _sizes_of(graph: SymbolicGraph, findings: Findings) -> dict[str, _Size]:
    """Of each tensor and temporary; a finding for each that has none, or no formula."""
    position = {symbol.id: number for number, symbol in enumerate(graph.symbols)}
    sizes: dict[str, _Size] = {}
    for tensor in graph.tensors:
        sizes[tensor.id] = 0
        try:
            # Each by itself, so that none reaches into the next.
            for extent in {extent for extent in tensor.shape or () if isinstance(extent, str)}:
                parsed(extent, position)
        except FormulaError as error:
            text = "the problem is not valid: the shape of {!r}: {}"
            findings.add(Code.INVALID_PROBLEM, text, tensor.id, error)
            continue
        size = size_formula(tensor)
        if size is None:
            text = "the problem is not valid: {!r} has neither a size nor a shape and a type"
            findings.add(Code.INVALID_PROBLEM, text, tensor.id)
        else:
            sizes[tensor.id] = size
    temporaries = (temporary for operator in graph.operators for temporary in operator.temporaries)
    return sizes | {temporary.id: temporary.size for temporary in temporaries}


def _problem(graph: SymbolicGraph, sizes: dict[str, _Size], ordinary: Problem) -> SymbolicProblem:
    """The problem of one order, whose lives are those of the ordinary problem."""
    return SymbolicProblem(
        name=graph.name,
        symbols=graph.symbols,
        points=graph.points,
        aim=graph.aim,
        pools=ordinary.pools,
        buffers=[
            SymbolicBuffer(
                id=buffer.id,
                size=sizes[buffer.id],
                lifetime=buffer.lifetime,
                alignment=buffer.alignment,
                pools=buffer.pools,
            )
            for buffer in ordinary.buffers
        ],
        relative=ordinary.relative,
        in_place=ordinary.in_place,
        objective=graph.objective,
    )


def _against_orders(
    graph: SymbolicGraph, problem: SymbolicProblem, refutes: bool
) -> Callable[[Sequence[int], int, Cut | RefutedOrders], str | None]:
    """Checks certificates of all orders; all of them together take no more steps than one may."""
    effort = Effort()
    names = [buffer.id for buffer in problem.buffers]

    def against(there: Sequence[int], bound: int, certificate: Cut | RefutedOrders) -> str | None:
        if isinstance(certificate, RefutedOrders) and not refutes:
            raise TooMuch
        if len(problem.pools) != 1:
            # Live bytes are those of all pools together, which is not what each objective counts.
            return "it is about what one pool holds, and there are several"
        # What is not placed has no bytes.
        ordinary = graph_with_sizes(graph, dict(zip(names, there, strict=True)))
        return reason_against_orders(ordinary, bound, certificate, effort)

    return against
