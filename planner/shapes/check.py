"""Checks what must hold between the fields of a symbolic problem.

Takes a problem, returns all of its issues, each with a code, a path and a way out. What does not depend on
sizes, and what may not happen at any size, is checked on the ordinary problem with each size at its largest.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from memstow.planner.check import find_issues
from memstow.planner.check.once import issues_once
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.memory import Memo
from memstow.planner.model.objective import Kind, parse_term
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.shapes.checked_formulas import TOO_LONG, CheckedFormulas, are_too_long
from memstow.planner.shapes.symbol_issues import has_range, is_of_all_points, point_issues, symbol_issues

_PEAKS: Final = (Kind.PEAK, Kind.POOL_PEAK, Kind.MAX_PEAK)
_OF_SIZES: Final = frozenset(
    ("pin_beyond_capacity", "pin_on_reserved", "pins_clash", "group_too_large", "conflict_in_group")
)
"""Issues of the ordinary problem that depend on sizes."""

_valid: Final = Memo[SymbolicProblem, bool]()


def find_symbolic_issues(problem: SymbolicProblem) -> list[Issue]:
    """All issues of a well-formed symbolic problem, up to a thousand."""
    return issues_once(_valid, problem, _issues)


def require_valid_symbolic(problem: SymbolicProblem) -> None:
    """Raise InputError with every issue there is."""
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(issues)


def _issues(problem: SymbolicProblem) -> Iterator[Issue]:
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
    formulas.expect(buffer.size for buffer in problem.buffers if isinstance(buffer.size, str))
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
