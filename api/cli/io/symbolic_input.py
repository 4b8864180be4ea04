"""Reading problems whose sizes are formulas, and their plans."""

import argparse
from typing import TYPE_CHECKING, Final

from memstow.api.cli.io.problem_input import naming_file, read_bytes_of

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

# Options of documents that symbolic problems do not have, with the values that say nothing.
_OF_OTHERS: Final = (
    ("--format", (None, "json")),
    ("--plan-format", (None, "json")),
    ("--target", (None,)),
    ("--capacity", (None,)),
    ("--fit-only", (False,)),
    ("--order", (None,)),
    ("--dim", (None,)),
    ("--in-place", (False,)),
    ("--no-in-place", (False,)),
    ("--point", (None,)),
    ("--hint", (None,)),
    ("--recheck", (False,)),
)


def symbolic_in(data: bytes, path: str) -> "SymbolicProblem | None":
    """The symbolic problem in the bytes of this file; None if they are something else."""
    # Read as a whole only where it may be one: files of problems are large.
    if b'"symbols"' not in data or not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return None
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.symbolic_documents import is_symbolic, parse_symbolic

    with naming_file(path):
        raw = parse_json(data)
        return parse_symbolic(raw) if is_symbolic(raw) else None


def read_symbolic_plan_of(path: str) -> "SymbolicPlan":
    """The plan of a symbolic problem in the file."""
    from memstow.planner.model.errors import InputError
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.symbolic_documents import is_symbolic_plan, parse_symbolic_plan

    data = read_bytes_of(path)
    with naming_file(path):
        raw = parse_json(data)
        if not is_symbolic_plan(raw):
            message = "this is no plan of a problem with symbols, which says its `shapes`"
            raise InputError.single("not_symbolic", "$", message)
        return parse_symbolic_plan(raw)


def refuse_for_symbolic(args: argparse.Namespace) -> None:
    """Reject options that mean nothing for a problem with symbols."""
    from memstow.planner.model.errors import InputError

    for option, silent in _OF_OTHERS:
        given = getattr(args, option.removeprefix("--").replace("-", "_"), silent[0])
        if given not in silent:
            message = "it is not for problems with symbols; leave it out"
            raise InputError.single("unused_option", option, message)
