"""Checks what must hold between the fields of a symbolic graph, and lowers it.

Sizes are checked as those of a symbolic problem; names, order, views and all else on the ordinary graph in
which each size is at its largest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memstow.planner.check.once import MOST_ISSUES
from memstow.planner.graph.check import find_issues as find_graph_issues
from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.model.symbolic_graph import SymbolicGraph, SymbolicTemporary, SymbolicTensor
from memstow.planner.shapes.check import objective_issues
from memstow.planner.shapes.checked_formulas import CheckedFormulas, Found
from memstow.planner.shapes.formula.errors import FormulaError
from memstow.planner.shapes.graphs.sizes import size_from_shape
from memstow.planner.shapes.symbol_issues import has_range, is_of_all_points, point_issues, symbol_issues

Size = int | str
"""Bytes, or a formula."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A symbolic graph that was checked; the rest has a meaning only if there are no issues."""

    issues: list[Issue]
    largest: Graph
    """The ordinary graph in which each size is at its largest."""
    sizes: dict[str, Size]
    """Of each tensor and temporary, by id."""


def checked(graph: SymbolicGraph) -> Checked:
    """The graph with all of its issues, up to a thousand."""
    issues = list(_symbol_issues(graph))
    sizes = _Sizes(graph, examines=not any(map(is_of_all_points, issues)))
    issues += [*sizes.issues, *objective_issues(graph.objective)]
    largest = _with_sizes(graph, sizes.largest)
    # Views and sizes are compared here, at every value.
    ours = ("view_beyond", "no_size")
    issues += [it for it in find_graph_issues(largest) if it.code not in ours]
    if not issues:
        issues = list(sizes.view_issues())
    return Checked(issues[:MOST_ISSUES], largest, sizes.by_id)


def _symbol_issues(graph: SymbolicGraph) -> Iterator[Issue]:
    """Those of a problem with these symbols and points."""
    stub = SymbolicProblem(symbols=graph.symbols, points=graph.points, buffers=())
    yield from symbol_issues(stub)
    if len({it.id for it in graph.symbols}) == len(graph.symbols) and all(map(has_range, graph.symbols)):
        yield from point_issues(stub)


class _Sizes:
    """The sizes of the elements of a graph, their largest values, and what is wrong with them."""

    def __init__(self, graph: SymbolicGraph, *, examines: bool) -> None:
        self._graph = graph
        self._formulas = CheckedFormulas(graph.symbols, examines=examines)
        self._names = [symbol.id for symbol in graph.symbols]
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
            _, found = self._formulas.checked(f"({outer}) - {view.offset} - ({inner})")
            if found is not None:
                ends = f"{view.offset} + {inner}" if view.offset else f"{inner}"
                message = (
                    f"{view.tensor!r} ends at {ends}, and {view.of!r} has {outer} bytes, which must be "
                    f"enough at every value; of what is left, {_without_advice(found)}"
                )
                yield Issue("view_beyond", f"$.views[{i}]", message)

    def _note(self, element: SymbolicTensor | SymbolicTemporary, size: Size, path: str) -> None:
        self.by_id[element.id] = size
        largest, found = (size, None) if isinstance(size, int) else self._formulas.checked(size)
        self.largest[element.id] = min(largest, LIMIT)
        if found is not None:
            is_shape = isinstance(element, SymbolicTensor) and element.size is None
            self._add(path.removesuffix("size") + "shape" if is_shape else path, found)
        elif largest > LIMIT:
            self._add(path, Found("too_large", f"{element.id!r} has {largest:,} bytes, above 2^62"))

    def _add(self, path: str, found: Found) -> None:
        self.issues.append(Issue(found.code, path, found.message))

    def _size_of(self, tensor: SymbolicTensor, path: str) -> Size:
        sound = self._has_sound_shape(tensor, path)
        if tensor.size is not None:
            if sound:
                self._compare(tensor, tensor.size, f"{path}.size")
            return tensor.size
        made = size_from_shape(tensor, self._names) if sound else 0
        if made is None:
            self._add(path, Found("no_size", f"{tensor.id!r} needs a `size`, or a `shape` and a `type`"))
        return made or 0

    def _has_sound_shape(self, tensor: SymbolicTensor, path: str) -> bool:
        before = len(self.issues)
        for axis, extent in enumerate(tensor.shape or ()):
            if isinstance(extent, str):
                _, found = self._formulas.checked(extent)
                if found is not None:
                    self._add(f"{path}.shape[{axis}]", found)
        return len(self.issues) == before

    def _compare(self, tensor: SymbolicTensor, size: Size, path: str) -> None:
        """The size must be enough for the shape at every value."""
        try:
            needed = size_from_shape(tensor, self._names)
        except FormulaError:
            return
        if needed is None or (isinstance(size, str) and self._formulas.checked(size)[1] is not None):
            return
        _, found = self._formulas.checked(f"({size}) - ({needed})")
        if found is not None:
            message = (
                f"{size} bytes must be enough for the {needed} of its shape and type at every value; "
                f"of what is left, {_without_advice(found)}"
            )
            self._add(path, Found("size_contradicts_shape", message))


def _without_advice(found: Found) -> str:
    """What is wrong with a difference of sizes: the advice is for sizes."""
    return found.message.partition(";")[0]


def _with_sizes(graph: SymbolicGraph, sizes: dict[str, int]) -> Graph:
    return Graph(
        name=graph.name,
        pools=graph.pools,
        tensors=[
            Tensor(id=it.id, size=sizes[it.id], kind=it.kind, alignment=it.alignment, pools=it.pools)
            for it in graph.tensors
        ],
        operators=[
            Operator(
                id=operator.id,
                type=operator.type,
                inputs=operator.inputs,
                outputs=operator.outputs,
                temporaries=[
                    Temporary(
                        id=it.id,
                        size=sizes[it.id],
                        phases=it.phases,
                        alignment=it.alignment,
                        pools=it.pools,
                    )
                    for it in operator.temporaries
                ],
                in_place=operator.in_place,
            )
            for operator in graph.operators
        ],
        inputs=graph.inputs,
        outputs=graph.outputs,
        views=graph.views,
        objective=graph.objective,
    )
