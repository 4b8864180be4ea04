"""Checks what must hold between the fields of a symbolic problem.

Takes a problem, returns all of its issues, each with a code, a path and a way out. What does not depend on
sizes, and what may not happen at any size, is checked on the ordinary problem with each size at its largest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from memstow.planner.check import MOST_ISSUES, find_issues
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.memory import Memo
from memstow.planner.model.objective import Kind, parse_term
from memstow.planner.model.symbolic import Symbol, SymbolicProblem
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.examine import NoSize, examine
from memstow.planner.shapes.extremes import Effort, extremes
from memstow.planner.shapes.formula.errors import FormulaError
from memstow.planner.shapes.formula.nodes import names_in
from memstow.planner.shapes.formula.parse import parse_formula
from memstow.planner.shapes.symbol_issues import has_range, point_issues, symbol_issues

_PEAKS: Final = (Kind.PEAK, Kind.POOL_PEAK, Kind.MAX_PEAK)
_OF_SIZES: Final = frozenset(
    ("pin_beyond_capacity", "pin_on_reserved", "pins_clash", "group_too_large", "conflict_in_group")
)
"""Issues of the ordinary problem that depend on sizes."""
_ADVICE: Final = {
    "formula_negative": "use max(0, ...), or change the range of a symbol",
    "formula_divisor": "use max(1, ...), or change the range of a symbol",
    "formula_overflow": "write smaller factors, or change the range of a symbol",
}

_valid: Final = Memo[SymbolicProblem, bool]()


def find_symbolic_issues(problem: SymbolicProblem) -> list[Issue]:
    """All issues of a well-formed symbolic problem, up to a thousand."""
    if _valid.get(problem):
        return []
    issues = list(islice(_issues(problem), MOST_ISSUES))
    if not issues:
        _valid.note(problem, True)
    return issues


def require_valid_symbolic(problem: SymbolicProblem) -> None:
    """Raise InputError with every issue there is."""
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(issues)


def _issues(problem: SymbolicProblem) -> Iterator[Issue]:
    symbols = {symbol.id: symbol for symbol in problem.symbols}
    sound = len(symbols) == len(problem.symbols) and all(map(has_range, problem.symbols))
    yield from symbol_issues(problem)
    if sound:
        yield from point_issues(problem)
    formulas = _Formulas(symbols)
    largest: list[int] = []
    for index, buffer in enumerate(problem.buffers):
        if not isinstance(buffer.size, str):
            largest.append(buffer.size)
            continue
        size, found = formulas.checked(buffer.size)
        largest.append(size)
        if found is not None:
            yield Issue(found.code, f"$.buffers[{index}].size", found.message)
    yield from _objective_issues(problem)
    for issue in find_issues(with_sizes(problem, largest)):
        if not issue.path.startswith("$.objective") or issue.code == "unknown_pool":
            yield _told_of_largest(issue) if issue.code in _OF_SIZES else issue


@dataclass(frozen=True, slots=True)
class _Found:
    """What is wrong with a formula."""

    code: str
    message: str


class _Formulas:
    """Formulas that have been checked; those of many buffers are the same."""

    def __init__(self, symbols: Mapping[str, Symbol]) -> None:
        self._symbols = symbols
        self._broken = {symbol.id for symbol in symbols.values() if not has_range(symbol)}
        self._effort = Effort()
        self._known: dict[str, tuple[int, _Found | None]] = {}

    def checked(self, text: str) -> tuple[int, _Found | None]:
        """The largest size, 0 where there is none, and what is wrong with the formula."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._check(text)
        return known

    def _check(self, text: str) -> tuple[int, _Found | None]:
        try:
            node = parse_formula(text, self._symbols)
        except FormulaError as error:
            return 0, _Found(error.code, str(error))
        if self._broken.intersection(names_in(node)):
            return 0, None  # The symbol has an issue: whatever its values are to be.
        found = examine(node, self._symbols, self._effort)
        if found is not None:
            return 0, _Found(found.code, _message(found))
        return extremes(node, self._symbols, self._effort).high, None


def _message(found: NoSize) -> str:
    if found.at is None:
        return (
            f"{found.message}; write it simpler, bound it with min and max, or narrow the range of a symbol"
        )
    place = f"at {values_text(found.at)} " if found.at else ""
    return f"{place}{found.message}; {_ADVICE[found.code]}"


def _objective_issues(problem: SymbolicProblem) -> Iterator[Issue]:
    for index, text in enumerate(problem.objective):
        term = parse_term(text)
        if term is None or term.kind not in _PEAKS:
            message = (
                f"{text[:80]!r} is not an objective where sizes are formulas; use peak, peak:POOL or max_peak"
            )
            yield Issue("unknown_term", f"$.objective[{index}]", message)


def _told_of_largest(issue: Issue) -> Issue:
    return Issue(issue.code, issue.path, f"{issue.message} (each size counts at its largest)")
