"""Checks what must hold between the fields of a symbolic problem or graph, and lowers graphs to problems.

Takes a problem, returns all of its issues, each with a code, a path and a way out. What does not depend
on sizes, and what may not happen at any size, is checked on the ordinary problem with each size at its
largest. Sizes of a graph are checked as those of a symbolic problem; names, order, views and all else on
the ordinary graph in which each size is at its largest.

A symbolic graph becomes the symbolic problem of the order in which its operators are listed: lifetimes by
that order, sizes as its formulas say.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.check import MOST_ISSUES, find_issues, issues_once
from memstow.planner.formulas.formula import (
    FUNCTIONS,
    Call,
    Chain,
    FormulaError,
    Formulas,
    Node,
    Number,
    text_of,
)
from memstow.planner.formulas.sizes import Effort, NoSize, examine, extremes, value_issues, values_text
from memstow.planner.graph.check import find_issues as find_graph_issues
from memstow.planner.graph.lowering import Places, listed_problem
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph, element_bits
from memstow.planner.model.problem import LIMIT, Kind, parse_term
from memstow.planner.model.records import Memo
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    Symbol,
    SymbolicBuffer,
    SymbolicGraph,
    SymbolicProblem,
    SymbolicTemporary,
    SymbolicTensor,
    combination_count,
    graph_with_sizes,
    takes,
    with_sizes,
)


def symbol_issues(problem: SymbolicProblem) -> Iterator[Issue]:
    """Issues of each symbol: its name, its range, the values that matter."""
    first: dict[str, int] = {}
    for index, symbol in enumerate(problem.symbols):
        path = f"$.symbols[{index}]"
        if symbol.id in first:
            message = f"{symbol.id!r} is already the id of symbols[{first[symbol.id]}]"
            yield Issue("duplicate_symbol", f"{path}.id", f"{message}; give each symbol an id of its own")
        first.setdefault(symbol.id, index)
        if symbol.id in FUNCTIONS:
            message = f"{symbol.id!r} is a function of formulas; give the symbol another id"
            yield Issue("reserved_symbol", f"{path}.id", message)
        if has_range(symbol):
            yield from _value_issues(path, symbol)
        else:
            yield from _range_issues(path, symbol)


def has_range(symbol: Symbol) -> bool:
    """Whether the range goes up, in whole steps."""
    return takes(symbol, symbol.max)


def point_issues(problem: SymbolicProblem) -> Iterator[Issue]:
    """Issues of the points; the symbols have sound ranges and ids of their own."""
    if not problem.points:
        yield from _combination_issues(problem)
    seen: dict[tuple[tuple[str, int], ...], int] = {}
    for index, point in enumerate(problem.points):
        for code, name, message in value_issues(problem, point.at):
            path = f"$.points[{index}].at"
            yield Issue(code, path if code == "missing_symbol" else f"{path}.{name}", message)
        values = tuple(sorted(point.at.items()))
        if values in seen:
            message = f"{values_text(point.at)} is points[{seen[values]}] already; name each point once"
            yield Issue("repeated_point", f"$.points[{index}]", message)
        seen.setdefault(values, index)


def is_of_all_points(issue: Issue) -> bool:
    """Whether there are too many points: then formulas need not be examined, which takes long."""
    return issue.code == "too_many_points"


def _range_issues(path: str, symbol: Symbol) -> Iterator[Issue]:
    if symbol.min > symbol.max:
        message = f"the least value {symbol.min:,} is above the largest, {symbol.max:,}"
        yield Issue("reversed_range", f"{path}.min", f"{message}; give min <= max")
        return
    below = symbol.max - (symbol.max - symbol.min) % symbol.step
    message = f"{symbol.max:,} is not reached in steps of {symbol.step:,} from {symbol.min:,}"
    yield Issue("max_off_step", f"{path}.max", f"{message}; use {below:,} or {below + symbol.step:,}")


def _value_issues(path: str, symbol: Symbol) -> Iterator[Issue]:
    seen: set[int] = set()
    for index, value in enumerate(symbol.values):
        where = f"{path}.values[{index}]"
        if not symbol.min <= value <= symbol.max:
            message = f"{value:,} is not within {symbol.min:,} and {symbol.max:,}; change it or the range"
            yield Issue("value_out_of_range", where, message)
        elif not takes(symbol, value):
            below = value - (value - symbol.min) % symbol.step
            message = f"{value:,} is not reached in steps of {symbol.step:,} from {symbol.min:,}"
            yield Issue("value_out_of_range", where, f"{message}; use {below:,} or {below + symbol.step:,}")
        if value in seen:
            yield Issue("repeated_value", where, f"{value:,} is in the list already; name each value once")
        seen.add(value)


def _combination_issues(problem: SymbolicProblem) -> Iterator[Issue]:
    count = combination_count(problem)
    if count > MOST_POINTS:
        yield Issue(
            "too_many_points",
            "$.symbols",
            f"the values of the symbols have {count:,} combinations, of which {MOST_POINTS} may matter; "
            "give `points`, or fewer `values`",
        )


MOST_CHARACTERS: Final = 1_000_000
"""Of all formulas of a document that differ."""
_ADVICE: Final = {
    "formula_negative": "use max(0, ...), or change the range of a symbol",
    "formula_divisor": "use max(1, ...), or change the range of a symbol",
    "formula_overflow": "write smaller factors, or change the range of a symbol",
}


@dataclass(frozen=True, slots=True)
class FormulaIssue:
    """What is wrong with a formula: a code and a message."""

    code: str
    message: str


TOO_LONG: Final = FormulaIssue(
    "formulas_too_long",
    f"formulas that differ have more than {MOST_CHARACTERS:,} characters together; simplify them",
)


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether they have too many characters together."""
    return sum(map(len, set(texts))) > MOST_CHARACTERS


class CheckedFormulas:
    """Formulas that have been checked; those of many buffers are the same."""

    def __init__(self, symbols: Iterable[Symbol], *, examines: bool = True) -> None:
        """`examines`: whether values are looked at, which can take long; else only the text is."""
        self._examines = examines
        self._among = Formulas((), symbols)
        self._broken = {name for name, symbol in self._among.symbols.items() if not has_range(symbol)}
        self._effort = Effort()
        self._characters = 0
        self._known: dict[str, tuple[int, FormulaIssue | None]] = {}

    def checked(self, text: str) -> tuple[int, FormulaIssue | None]:
        """The largest size, 0 where there is none, and what is wrong with the formula."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._check(text)
        return known

    def _check(self, text: str) -> tuple[int, FormulaIssue | None]:
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            return 0, TOO_LONG
        try:
            formula = self._among.read(text)
        except FormulaError as error:
            return 0, FormulaIssue(error.code, str(error))
        if not self._examines or (self._broken and not self._broken.isdisjoint(formula.names)):
            return 0, None  # The symbol has an issue: whatever its values are to be.
        simple = formula.if_monotone()
        if simple is not None and simple[0] >= 0:
            return simple[1], None
        wrong = examine(formula, self._effort)
        if wrong is not None:
            return 0, FormulaIssue(wrong.code, _advised(wrong))
        return extremes(formula, self._effort).high, None


def _advised(found: NoSize) -> str:
    if found.at is None:
        return (
            f"{found.message}; write it simpler, bound it with min and max, or narrow the range of a symbol"
        )
    place = f"at {values_text(found.at)} " if found.at else ""
    return f"{place}{found.message}; {_ADVICE[found.code]}"


_PEAKS: Final = (Kind.PEAK, Kind.POOL_PEAK, Kind.MAX_PEAK)
_OF_SIZES: Final = frozenset(
    ("pin_beyond_capacity", "pin_on_reserved", "pins_clash", "group_too_large", "conflict_in_group")
)
"""Issues of the ordinary problem that depend on sizes."""

_valid_problems: Final = Memo[SymbolicProblem, bool]()


def find_symbolic_issues(problem: SymbolicProblem) -> list[Issue]:
    """All issues of a well-formed symbolic problem, up to a thousand."""
    return issues_once(_valid_problems, problem, _problem_issues)


def require_valid_symbolic(problem: SymbolicProblem) -> None:
    """Raise InputError with every issue there is."""
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(issues)


def _problem_issues(problem: SymbolicProblem) -> Iterator[Issue]:
    symbols = {symbol.id: symbol for symbol in problem.symbols}
    sound = len(symbols) == len(problem.symbols) and all(map(has_range, problem.symbols))
    yield from symbol_issues(problem)
    points = list(point_issues(problem)) if sound else []
    yield from points
    if are_too_long(buffer.size for buffer in problem.buffers if isinstance(buffer.size, str)):
        # At once: to examine some of them takes long, and says nothing of the others.
        yield Issue(TOO_LONG.code, "$.buffers", TOO_LONG.message)
        return
    formulas = CheckedFormulas(problem.symbols, examines=not any(map(is_of_all_points, points)))
    largest: list[int] = []
    for index, buffer in enumerate(problem.buffers):
        if not isinstance(buffer.size, str):
            largest.append(buffer.size)
            continue
        size, found = formulas.checked(buffer.size)
        largest.append(size)
        if found is not None:
            yield Issue(found.code, f"$.buffers[{index}].size", found.message)
    yield from objective_issues(problem.objective)
    for issue in find_issues(with_sizes(problem, largest)):
        if not issue.path.startswith("$.objective") or issue.code == "unknown_pool":
            yield _told_of_largest(issue) if issue.code in _OF_SIZES else issue


def objective_issues(objective: Sequence[str]) -> Iterator[Issue]:
    """Issues of the objective of a symbolic problem: it is a peak."""
    for index, text in enumerate(objective):
        term = parse_term(text)
        if term is None or term.kind not in _PEAKS:
            message = (
                f"{text[:80]!r} is not an objective where sizes are formulas; use peak, peak:POOL or max_peak"
            )
            yield Issue("unknown_term", f"$.objective[{index}]", message)


def _told_of_largest(issue: Issue) -> Issue:
    return Issue(issue.code, issue.path, f"{issue.message} (each size counts at its largest)")


def size_from_shape(tensor: SymbolicTensor, symbols: Iterable[str]) -> int | str | None:
    """The bytes of the tensor's elements, packed; None where shape or type is missing.

    FormulaError if a dimension is no formula.
    """
    if tensor.shape is None or tensor.type is None:
        return None
    among = Formulas(symbols)
    bits = element_bits(tensor.type)
    number, packed = (bits // 8, False) if bits % 8 == 0 else (bits, True)
    factors: list[Node] = []
    for extent in tensor.shape:
        node = among.read(extent).tree if isinstance(extent, str) else Number(extent)
        if isinstance(node, Number):
            number *= node.value
        else:
            factors.append(node)
    if not factors:
        return -(-number // 8) if packed else number
    if number != 1:
        factors.insert(0, Number(number))
    first, *others = factors
    product = Chain(first, tuple(("*", factor) for factor in others)) if others else first
    return text_of(Call("ceil_div", (product, Number(8))) if packed else product)


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
            self._add(path, FormulaIssue("too_large", f"{element.id!r} has {largest:,} bytes, above 2^62"))

    def _add(self, path: str, found: FormulaIssue) -> None:
        self.issues.append(Issue(found.code, path, found.message))

    def _size_of(self, tensor: SymbolicTensor, path: str) -> Size:
        sound = self._has_sound_shape(tensor, path)
        if tensor.size is not None:
            if sound:
                self._compare(tensor, tensor.size, f"{path}.size")
            return tensor.size
        made = size_from_shape(tensor, self._names) if sound else 0
        if made is None:
            self._add(
                path, FormulaIssue("no_size", f"{tensor.id!r} needs a `size`, or a `shape` and a `type`")
            )
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
            self._add(path, FormulaIssue("size_contradicts_shape", message))


def _without_advice(found: FormulaIssue) -> str:
    """What is wrong with a difference of sizes: the advice is for sizes."""
    return found.message.partition(";")[0]


def lower_symbolic(graph: SymbolicGraph) -> SymbolicProblem:
    """The symbolic problem of a graph whose operators run as they are listed; InputError with all issues."""
    found = checked_graph(graph)
    if found.issues:
        raise InputError(found.issues)
    problem = _lowered(graph, found)
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(_in_the_graph(found.largest, issues))
    return problem


def _lowered(graph: SymbolicGraph, found: CheckedGraph) -> SymbolicProblem:
    # Lifetimes, groups and pairs in place do not depend on sizes.
    ordinary = listed_problem(found.largest)
    return SymbolicProblem(
        name=graph.name,
        symbols=graph.symbols,
        points=graph.points,
        aim=graph.aim,
        pools=ordinary.pools,
        buffers=[
            SymbolicBuffer(
                id=buffer.id,
                size=found.sizes[buffer.id],
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


def _in_the_graph(graph: Graph, issues: list[Issue]) -> list[Issue]:
    places = Places(graph)
    return [Issue(issue.code, places.of_issue(issue.path), issue.message) for issue in issues]
