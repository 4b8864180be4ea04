"""Graphs whose sizes are formulas: what is wrong with one, and the symbolic problem that it becomes.

Sizes are checked as those of a symbolic problem; names, order, views and all else on the ordinary graph in
which each size is at its largest. The problem is that of the order in which the operators are listed:
lifetimes by that order, sizes as the formulas say.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from memstow.planner.check import MOST_ISSUES, find_issues
from memstow.planner.check.symbolic_issues import (
    CheckedFormulas,
    FormulaIssue,
    has_range,
    is_of_all_points,
    objective_issues,
    point_issues,
    symbol_issues,
)
from memstow.planner.formulas.sizes import sizes_at
from memstow.planner.graph.check import find_issues as find_graph_issues
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import Places, listed_problem, lower
from memstow.planner.graph.schedules import allowed_order, only_orders, refused
from memstow.planner.model.errors import InputError, Issue, changing_issues
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.symbolic import (
    OperatorOrder,
    SymbolicBuffer,
    SymbolicDocument,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    SymbolicTemporary,
    SymbolicTensor,
    digest_symbolic,
    graph_with_sizes,
    shape_size,
    size_formula,
)
from memstow.records import Remembered

Size = int | str
"""Bytes, or a formula."""


@dataclass(frozen=True, slots=True)
class CheckedGraph:
    """A symbolic graph that was checked; the rest has a meaning only if there are no issues."""

    issues: list[Issue]
    largest: Graph
    """The ordinary graph in which each size is at its largest."""
    sizes: dict[str, Size]
    """Of each tensor and temporary, by id."""


@Remembered
def checked_graph(graph: SymbolicGraph) -> CheckedGraph:
    """The graph with all of its issues, up to a thousand."""
    issues = list(_graph_symbol_issues(graph))
    sizes = _GraphSizes(graph, examines=not any(map(is_of_all_points, issues)))
    issues += [*sizes.issues, *objective_issues(graph.objective)]
    largest = graph_with_sizes(graph, sizes.largest)
    # Views and sizes are compared here, at every value.
    ours = ("view_beyond", "no_size")
    issues += [issue for issue in find_graph_issues(largest) if issue.code not in ours]
    if not issues:
        issues = list(sizes.view_issues())
    return CheckedGraph(issues[:MOST_ISSUES], largest, sizes.by_id)


def _graph_symbol_issues(graph: SymbolicGraph) -> Iterator[Issue]:
    """Those of a problem with these symbols and points."""
    stub = SymbolicProblem(symbols=graph.symbols, points=graph.points, buffers=())
    yield from symbol_issues(stub)
    if len({symbol.id for symbol in graph.symbols}) == len(graph.symbols) and all(
        map(has_range, graph.symbols)
    ):
        yield from point_issues(stub)


class _GraphSizes:
    """The sizes of the elements of a graph, their largest values, and what is wrong with them."""

    def __init__(self, graph: SymbolicGraph, *, examines: bool) -> None:
        self._graph = graph
        self._formulas = CheckedFormulas(graph.symbols, examines=examines)
        self.issues: list[Issue] = []
        self.by_id: dict[str, Size] = {}
        self.largest: dict[str, int] = {}
        for i, tensor in enumerate(graph.tensors):
            self._note(tensor, self._size_of(tensor, f"$.tensors[{i}]"), f"$.tensors[{i}].size")
        for i, operator in enumerate(graph.operators):
            for j, temporary in enumerate(operator.temporaries):
                self._note(temporary, temporary.size, f"$.operators[{i}].temporaries[{j}].size")

    def view_issues(self) -> Iterator[Issue]:
        """Issues of views that do not lie inside of their tensor at some value."""
        for i, view in enumerate(self._graph.views):
            inner, outer = self.by_id.get(view.tensor), self.by_id.get(view.of)
            if inner is None or outer is None:
                continue
            _, wrong = self._formulas.checked(f"({outer}) - {view.offset} - ({inner})")
            if wrong is not None:
                ends = f"{view.offset} + {inner}" if view.offset else f"{inner}"
                message = (
                    f"{view.tensor!r} ends at {ends}, and {view.of!r} has {outer} bytes, which must be "
                    f"enough at every value; of what is left, {_without_advice(wrong)}"
                )
                yield Issue("view_beyond", f"$.views[{i}]", message)

    def _note(self, element: SymbolicTensor | SymbolicTemporary, size: Size, path: str) -> None:
        self.by_id[element.id] = size
        largest, wrong = (size, None) if isinstance(size, int) else self._formulas.checked(size)
        self.largest[element.id] = min(largest, LIMIT)
        if wrong is not None:
            is_shape = isinstance(element, SymbolicTensor) and element.size is None
            self._add(path.removesuffix("size") + "shape" if is_shape else path, wrong)
        elif largest > LIMIT:
            self._add(path, FormulaIssue("too_large", f"{element.id!r} has {largest:,} bytes, above 2^62"))

    def _add(self, path: str, wrong: FormulaIssue) -> None:
        self.issues.append(Issue(wrong.code, path, wrong.message))

    def _size_of(self, tensor: SymbolicTensor, path: str) -> Size:
        sound = self._has_sound_shape(tensor, path)
        if tensor.size is not None:
            if sound:
                self._compare(tensor, tensor.size, f"{path}.size")
            return tensor.size
        size = size_formula(tensor) if sound else 0
        if size is None:
            self._add(
                path, FormulaIssue("no_size", f"{tensor.id!r} needs a `size`, or a `shape` and a `type`")
            )
        return size or 0

    def _has_sound_shape(self, tensor: SymbolicTensor, path: str) -> bool:
        before = len(self.issues)
        for axis, extent in enumerate(tensor.shape or ()):
            if isinstance(extent, str):
                _, wrong = self._formulas.checked(extent)
                if wrong is not None:
                    self._add(f"{path}.shape[{axis}]", wrong)
        return len(self.issues) == before

    def _compare(self, tensor: SymbolicTensor, size: Size, path: str) -> None:
        """The size must be enough for the shape at every value."""
        needed = shape_size(tensor)
        if needed is None or (isinstance(size, str) and self._formulas.checked(size)[1] is not None):
            return
        _, wrong = self._formulas.checked(f"({size}) - ({needed})")
        if wrong is not None:
            message = (
                f"{size} bytes must be enough for the {needed} of its shape and type at every value; "
                f"of what is left, {_without_advice(wrong)}"
            )
            self._add(path, FormulaIssue("size_contradicts_shape", message))


def _without_advice(wrong: FormulaIssue) -> str:
    """What is wrong with a difference of sizes: the advice is for sizes."""
    return wrong.message.partition(";")[0]


def lower_symbolic(graph: SymbolicGraph, order: Sequence[str] | None = None) -> SymbolicProblem:
    """The symbolic problem of a graph whose operators run in the order of these ids, at every value.

    By default they run as they are listed, or as near to that as they can. Raises InputError for a graph
    that contradicts itself, with all issues, and for an order that it does not allow.
    """
    checked = checked_graph(graph)
    if checked.issues:
        raise InputError(checked.issues)
    # Lifetimes, groups and pairs in place do not depend on sizes.
    largest = checked.largest
    ordinary = listed_problem(largest) if order is None else lower(largest, allowed_order(largest, order))
    problem = _lowered(graph, checked.sizes, ordinary)
    issues = find_issues(problem)
    if issues:
        places = Places(largest)
        raise InputError([Issue(issue.code, places.of_issue(issue.path), issue.message) for issue in issues])
    return problem


def _lowered(graph: SymbolicGraph, sizes: Mapping[str, Size], ordinary: Problem) -> SymbolicProblem:
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
                group=buffer.group,
            )
            for buffer in ordinary.buffers
        ],
        relative=ordinary.relative,
        in_place=ordinary.in_place,
        objective=graph.objective,
    )


def graph_at(graph: SymbolicGraph, at: Mapping[str, int]) -> Graph:
    """The ordinary graph where each symbol has this value; InputError unless each has one, in its range."""
    problem = lower_symbolic(graph)
    sizes = zip((buffer.id for buffer in problem.buffers), sizes_at(problem, at), strict=True)
    return graph_with_sizes(graph, dict(sizes))


def with_operator_order(document: SymbolicDocument, order: str) -> SymbolicDocument:
    """The document, a graph with this order of its operators; InputError where there is no such order."""
    if isinstance(document, SymbolicProblem):
        message = "it is for graphs, and this is a problem: its lifetimes have an order already; leave it out"
        raise InputError.single("not_a_graph", "order", message)
    known = next((entry for entry in get_args(OperatorOrder) if entry == order), None)
    if known is None:
        message = "operators of graphs with symbols run in the order that is `given`, or in a `free` one"
        raise InputError.single("not_for_symbols", "order", message)
    changed = replace(document, order=known)
    issues = checked_graph(changed).issues
    if issues:
        raise InputError(issues)
    return changed


def problem_of_plan(document: SymbolicDocument, plan: SymbolicPlan) -> SymbolicProblem:
    """The problem that this is a plan of; InputError where its digest or its schedule says another."""
    problem = symbolic_problem_of(document, plan)
    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        message = "the plan is for another problem, as its digest says; solve this one, or give the other"
        raise InputError.single("other_problem", "digest", message)
    return problem


def order_as_listed(graph: SymbolicGraph) -> tuple[str, ...]:
    """The ids of the operators of a valid graph as they are listed, or as near to that as they can run."""
    largest = checked_graph(graph).largest
    return tuple(graph.operators[number].id for number in listed_order(largest))


def symbolic_problem_of(document: SymbolicDocument, plan: SymbolicPlan | None = None) -> SymbolicProblem:
    """The problem itself, or that of a graph in the order of the plan; without a schedule, as it is listed.

    Raises InputError where the graph does not allow the schedule.
    """
    if isinstance(document, SymbolicProblem):
        return document
    schedule = None if plan is None else plan.schedule
    if schedule is None:
        return lower_symbolic(document)
    if not only_orders(schedule):
        message = (
            "of a graph with symbols, each operator runs once by itself: give the order of all, by their ids"
        )
        raise refused("schedule", message)
    with changing_issues(
        lambda issue: replace(issue, path="schedule.order") if issue.path == "order" else issue
    ):
        return lower_symbolic(document, schedule.order)
