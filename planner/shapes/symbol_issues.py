"""Issues of the symbols and the points of a symbolic problem."""

from collections.abc import Iterator

from memstow.planner.model.errors import Issue
from memstow.planner.model.symbolic import MOST_POINTS, Symbol, SymbolicProblem
from memstow.planner.model.symbolic_points import combination_count, takes
from memstow.planner.shapes.at_point import value_issues, values_text
from memstow.planner.shapes.formula.nodes import FUNCTIONS


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
