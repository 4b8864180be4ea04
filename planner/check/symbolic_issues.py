"""Issues of a problem whose sizes are formulas: of its symbols and points, and of the formulas.

What does not depend on sizes, and what may not happen at any size, is checked on the ordinary problem with
each size at its largest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from memstow.planner.check.problem_issues import problem_issues
from memstow.planner.formulas.formula import FUNCTIONS, Formula, FormulaError, Formulas
from memstow.planner.formulas.sizes import (
    Effort,
    NoSize,
    Sizes,
    examine,
    extremes,
    sizes_of,
    value_issues,
    values_text,
    with_largest_sizes,
)
from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import Kind, Problem, parse_term
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    Symbol,
    SymbolicProblem,
    combination_count,
    takes,
    with_sizes,
)
from memstow.records import record


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


@record
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
        self._read: list[Formula] = []
        self.are_monotone = True
        """Whether each surely has a value everywhere, and goes in one direction as each symbol grows."""

    @property
    def read(self) -> tuple[Formulas, list[Formula]]:
        """Those that are formulas, each once, in the order in which they were checked."""
        return self._among, self._read

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
        self._read.append(formula)
        if not self._examines or (self._broken and not self._broken.isdisjoint(formula.names)):
            return 0, None  # The symbol has an issue: whatever its values are to be.
        simple = formula.if_monotone()
        if simple is not None and simple[0] >= 0:
            return simple[1], None
        self.are_monotone = False
        wrong = examine(formula, self._effort)
        if wrong is not None:
            return 0, FormulaIssue(wrong.code, _advised(wrong))
        return extremes(formula, self._effort).high, None


def _advised(reason: NoSize) -> str:
    if reason.at is None:
        return (
            f"{reason.message}; write it simpler, bound it with min and max, or narrow the range of a symbol"
        )
    place = f"at {values_text(reason.at)} " if reason.at else ""
    return f"{place}{reason.message}; {_ADVICE[reason.code]}"


_PEAKS: Final = (Kind.PEAK, Kind.POOL_PEAK, Kind.MAX_PEAK)
_OF_SIZES: Final = frozenset(
    ("pin_beyond_capacity", "pin_on_reserved", "pins_clash", "group_too_large", "conflict_in_group")
)
"""Issues of the ordinary problem that depend on sizes."""


def symbolic_problem_issues(
    problem: SymbolicProblem, take_as_valid: Callable[[Problem], None]
) -> Iterator[Issue]:
    """Issues of a well-formed problem whose sizes are formulas.

    `take_as_valid` hears of the ordinary problem with the largest sizes, where that has no issues either.
    """
    is_valid = True
    checks: list[tuple[CheckedFormulas, Problem]] = []
    for issue in _issues_in_turn(problem, checks):
        is_valid = False
        yield issue
    if not is_valid:
        return
    # Whoever plans it needs that next.
    for formulas, with_largest in checks:
        sizes_of.note(problem, Sizes(problem, formulas.read))
        if formulas.are_monotone:
            # Its objective is a peak, and all else was checked.
            with_largest_sizes.note(problem, with_largest)
            take_as_valid(with_largest)


def _issues_in_turn(
    problem: SymbolicProblem, checks: list[tuple[CheckedFormulas, Problem]]
) -> Iterator[Issue]:
    """The issues; `checks` gets the formulas, and the problem with each size at its largest."""
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
    sizes = [buffer.size for buffer in problem.buffers]
    checked = {size: formulas.checked(size) for size in dict.fromkeys(sizes) if isinstance(size, str)}
    largest = [checked[size][0] if isinstance(size, str) else size for size in sizes]
    if any(wrong is not None for _, wrong in checked.values()):
        for index, size in enumerate(sizes):
            _, wrong = checked[size] if isinstance(size, str) else (0, None)
            if wrong is not None:
                yield Issue(wrong.code, f"$.buffers[{index}].size", wrong.message)
    yield from objective_issues(problem.objective)
    with_largest = with_sizes(problem, largest)
    checks.append((formulas, with_largest))
    for issue in problem_issues(with_largest):
        if not issue.path.startswith("$.objective") or issue.code == "unknown_pool":
            yield (
                Issue(issue.code, issue.path, f"{issue.message} (each size counts at its largest)")
                if issue.code in _OF_SIZES
                else issue
            )


def objective_issues(objective: Sequence[str]) -> Iterator[Issue]:
    """Issues of the objective of a symbolic problem: it is a peak."""
    for index, text in enumerate(objective):
        term = parse_term(text)
        if term is None or term.kind not in _PEAKS:
            message = (
                f"{text[:80]!r} is not an objective where sizes are formulas; use peak, peak:POOL or max_peak"
            )
            yield Issue("unknown_term", f"$.objective[{index}]", message)
