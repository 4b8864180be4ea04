"""Checks what must hold between the fields of a problem.

Takes a problem, whether its sizes are numbers or formulas, and returns all of its issues, each with a code, a
path and a way out. That a valid one has none is remembered while it lives.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from memstow.planner.check.problem_issues import problem_issues
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import REPEATED, Plan, repeated_placements
from memstow.planner.model.problem import Kind, Problem, counts
from memstow.records import Memo

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicProblem

MOST_ISSUES: Final = 1000
"""No more issues than this are listed for one document."""

_Subject = TypeVar("_Subject")


def issues_once(
    valid: Memo[_Subject, bool], subject: _Subject, find: Callable[[_Subject], Iterator[Issue]]
) -> list[Issue]:
    """What `find` finds, up to a thousand; nothing where `valid` knows that there is nothing."""
    if valid.get(subject):
        return []
    issues = list(islice(find(subject), MOST_ISSUES))
    if not issues:
        valid.note(subject, True)
    return issues


_valid: "Final[Memo[Problem | SymbolicProblem, bool]]" = Memo()


def find_issues(problem: "Problem | SymbolicProblem") -> list[Issue]:
    """All issues of a well-formed problem, up to a thousand."""
    return issues_once(_valid, problem, _issues)


def _issues(problem: "Problem | SymbolicProblem") -> Iterator[Issue]:
    if isinstance(problem, Problem):
        return problem_issues(problem)
    # Problems without formulas do not wait for this import.
    from memstow.planner.check.symbolic_issues import symbolic_problem_issues

    return symbolic_problem_issues(problem, take_as_valid)


def take_as_valid(problem: Problem) -> None:
    """Note that a problem has no issues: it was made of a document that has none."""
    _valid.note(problem, True)


def require_valid(problem: "Problem | SymbolicProblem") -> None:
    """Raise InputError with every issue there is."""
    issues = find_issues(problem)
    if issues:
        raise InputError(issues)


def require_hint(problem: Problem, hint: Plan | None) -> None:
    """Raise InputError if the hint places a buffer twice, or if `moves` counts and there is no hint."""
    repeated = () if hint is None else islice(repeated_placements(hint.placements), MOST_ISSUES)
    issues = [Issue(REPEATED, f"$.hint.placements[{index}]", message) for index, message in repeated]
    if issues:
        raise InputError(issues)
    if hint is None and counts(problem, Kind.MOVES):
        where = problem.terms().index(Kind.MOVES.value)
        raise InputError.single(
            "moves_without_hint",
            f"$.objective[{where}]",
            "`moves` counts what differs from a plan; give that plan as the hint",
        )
