"""The page of a plan of formulas: it lays the plan out itself at each value that is looked at."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.io.problem_input import STDIN, naming_file, naming_option, read_bytes_of, values_of
from memstow.api.cli.io.symbolic_input import read_symbolic_plan_of, refuse_for_symbolic, symbolic_in
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem


def symbolic_page_of(args: argparse.Namespace) -> bytes | None:
    """The page that `memstow view` was asked for; None: no plan of formulas is among its files."""
    found = _files_among(args)
    if found is None:
        return None
    source, problem, path = found
    refuse_for_symbolic(args)
    plan = read_symbolic_plan_of(path)
    _require_same_problem(problem, plan, path)
    at = values_of(args)
    if at:
        from memstow.planner.shapes.sizes import require_values

        with naming_option("at", "--at"):
            require_values(problem, at)
    return symbolic_page(problem, plan, source, at)


def symbolic_page(
    problem: "SymbolicProblem", plan: "SymbolicPlan", source: str, at: Mapping[str, int]
) -> bytes:
    """The page; it begins at these values, or at the first point of the problem."""
    from memstow.api.page.alone import symbols_alone
    from memstow.planner.shapes.symbolic_documents import write_symbolic, write_symbolic_plan
    from memstow.planner.verify.symbolic_verdict import judge_symbolic
    from memstow.planner.verify.verdict import Standing, Subject

    verdict = judge_symbolic(problem, plan)
    judged = plain(verdict.violations[0].message, most=400) if verdict.violations else ""
    counted = next(
        (
            plain(it.by, most=100)
            for it in verdict.claims
            if it.subject is Subject.NOTHING_FITS and it.standing is Standing.CHECKED
        ),
        "",
    )
    title = plain(problem.name or Path(source).name, most=200)
    return symbols_alone(write_symbolic(problem), write_symbolic_plan(plan), judged, counted, title, at)


def _files_among(args: argparse.Namespace) -> "tuple[str, SymbolicProblem, str] | None":
    """The file of a problem with symbols, the problem, and the file of its plan; None: there is none.

    With --at, a plan that is not one of formulas is for the problem at that value, and nothing new.
    """
    if args.other is not None and args.problem is not None:
        return None
    given = [args.plan, args.other or args.problem]
    for source, path in (given, given[::-1]):
        problem = None if source in (None, STDIN) else symbolic_in(read_bytes_of(source), source)
        if problem is None:
            continue
        if path is None:
            raise _error("no_plan", "PLAN", "this is a problem with symbols; give its plan as well")
        if path != STDIN and not _is_formed(read_bytes_of(path)):
            if args.at:
                return None
            message = "this is a plan for one value of the symbols; say which, such as --at s=128"
            raise _error("no_value", "--at", message)
        return source, problem, path
    return None


def _is_formed(data: bytes) -> bool:
    """Whether it is a plan of formulas."""
    from memstow.planner.model.errors import InputError
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.symbolic_documents import is_symbolic_plan

    try:
        return is_symbolic_plan(parse_json(data))
    except InputError:
        return False


def _require_same_problem(problem: "SymbolicProblem", plan: "SymbolicPlan", path: str) -> None:
    from memstow.planner.model.symbolic import digest_symbolic

    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        with naming_file(path):
            message = "the plan is for another problem, as its digest says; give that one"
            raise _error("other_problem", "digest", message)


def _error(code: str, path: str, message: str) -> "InputError":
    from memstow.planner.model.errors import InputError

    return InputError.single(code, path, message)
