"""The page of a plan of formulas: it lays the plan out itself at each value that is looked at."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstow.api.cli.io.problem_input import naming_file, naming_option, read_bytes_of, values_of
from memstow.api.cli.io.symbolic_input import symbolic_in
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

# Arguments of `view` that are not for plans of formulas: their names, and their values when not given.
_NOT_FOR_SYMBOLS: Final = {
    "--target": ("target", None),
    "--capacity": ("capacity", None),
    "--fit-only": ("fit_only", False),
    "--order": ("order", None),
    "--dim": ("dim", None),
    "--in-place": ("in_place", False),
    "--no-in-place": ("no_in_place", False),
    "--point": ("point", None),
    "--prefix": ("prefix", None),
    "--format": ("format", None),
    "--plan-format": ("plan_format", None),
}


def symbolic_page_of(args: argparse.Namespace) -> bytes | None:
    """The page that `memstow view` was asked for; None: nothing with symbols is among its files."""
    found = _files_among(args)
    if found is None:
        return None
    source, problem, path = found
    for option, (name, unset) in _NOT_FOR_SYMBOLS.items():
        if getattr(args, name) not in (unset, []):
            raise _error("not_for_symbols", option, "it is not for plans of formulas; leave it out")
    plan = _read_plan(path, problem)
    at = values_of(args)
    if at:
        from memstow.planner.shapes.at_point import require_values

        with naming_option("at", "--at"):
            require_values(problem, at)
    return symbolic_page(problem, plan, source, at)


def symbolic_page(
    problem: "SymbolicProblem", plan: "SymbolicPlan", source: str, at: Mapping[str, int]
) -> bytes:
    """The page; it begins at these values, or at the first point of the problem."""
    from memstow.api.page.alone import symbols_alone
    from memstow.planner.shapes.reading import write_symbolic, write_symbolic_plan
    from memstow.planner.verify.shapes import judge_symbolic

    violations = judge_symbolic(problem, plan).violations
    judged = plain(violations[0].message, most=400) if violations else ""
    title = plain(problem.name or Path(source).name, most=200)
    return symbols_alone(write_symbolic(problem), write_symbolic_plan(plan), judged, title, at)


def _files_among(args: argparse.Namespace) -> "tuple[str, SymbolicProblem, str] | None":
    """The file of a problem with symbols, the problem, and the file of its plan; None: there is none."""
    from memstow.api.cli.io.output import STDOUT

    if args.other is not None and args.problem is not None:
        return None
    given = [args.plan, args.other or args.problem]
    for source, path in (given, given[::-1]):
        if source in (None, STDOUT):
            continue
        data = read_bytes_of(source)
        problem = symbolic_in(data, source)
        if problem is None:
            continue
        if path is None:
            raise _error("no_plan", "PLAN", "this is a problem with symbols; give its plan as well")
        if args.at and path != STDOUT and not _is_formed(read_bytes_of(path)):
            return None
        return source, problem, path
    return None


def _is_formed(data: bytes) -> bool:
    """Whether it is a plan of formulas; another plan is for the problem at one value."""
    from memstow.planner.model.errors import InputError
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.reading import is_symbolic_plan

    try:
        return is_symbolic_plan(parse_json(data))
    except InputError:
        return False


def _read_plan(path: str, problem: "SymbolicProblem") -> "SymbolicPlan":
    from memstow.planner.model.symbolic_digest import digest_symbolic
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.reading import is_symbolic_plan, parse_symbolic_plan

    raw = parse_json(read_bytes_of(path))
    with naming_file(path):
        if not is_symbolic_plan(raw):
            message = (
                "this is no plan of formulas, which says its `shapes`; of a plan for one value say which: "
                "--at SYMBOL=N"
            )
            raise _error("not_symbolic", "$", message)
        plan = parse_symbolic_plan(raw)
        if plan.digest is not None and plan.digest != digest_symbolic(problem):
            message = "the plan is for another problem, as its digest says; give that one"
            raise _error("other_problem", "digest", message)
    return plan


def _error(code: str, path: str, message: str) -> "InputError":
    from memstow.planner.model.errors import InputError

    return InputError.single(code, path, message)
