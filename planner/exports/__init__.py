"""Plans as source code: what a compiler and a linker take into a program.

In: a problem, a plan of it and how names begin; out: a text. Only plans that the judge accepts are written.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from memstow.planner.exports.naming import DEFAULT_PREFIX, Naming, check_naming
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label

# Imported when used; the suffixes of files from which a format is known, the longest first.
_WRITERS: Final = {
    "c-header": ("source_code", "write_c_header"),
    "c-source": ("source_code", "write_c_source"),
    "c-check": ("self_check", "write_c_check"),
    "ld": ("source_code", "write_linker_script"),
    "rust": ("source_code", "write_rust"),
}
SUFFIXES: Final[Mapping[str, str]] = {
    ".check.cpp": "c-check",
    ".check.c": "c-check",
    ".hpp": "c-header",
    ".cpp": "c-source",
    ".h": "c-header",
    ".c": "c-source",
    ".ld": "ld",
    ".rs": "rust",
}
_MOST_REPORTED: Final = 20


def names() -> tuple[str, ...]:
    """The formats that a plan can be exported to."""
    return tuple(_WRITERS)


def export(
    problem: Problem,
    plan: Plan,
    form: str,
    *,
    prefix: str = DEFAULT_PREFIX,
    sections: Mapping[str, str] | None = None,
    header: str | None = None,
    labels: "Mapping[str, Label] | None" = None,
) -> bytes:
    """The plan as source code; `form` is c-header, c-source, c-check, ld or rust.

    Names begin with the prefix. `sections` has, by pool, the section for its arena; `header` is the name by
    which C sources include the header, and `labels` has, by id, what comments say of buffers. An InputError
    if the plan is not valid, or a name cannot be used.
    """
    naming = Naming(prefix, dict(sections or {}), header)
    if form not in _WRITERS:
        message = f"there is no format {printable(form)!r}; use {', '.join(_WRITERS)}"
        raise InputError.single("unknown_format", "format", message)
    check_naming(problem, naming)
    _refuse_wrong_plan(problem, plan)
    from memstow.planner.exports.source_code import MemoryMap

    module, writer = _WRITERS[form]
    write = getattr(import_module(f"memstow.planner.exports.{module}"), writer)
    text: str = write(MemoryMap(problem, plan, naming, labels))
    return text.encode("ascii")


def _refuse_wrong_plan(problem: Problem, plan: Plan) -> None:
    if plan.status not in PLANNED:
        message = f"there is no plan to write: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    from memstow.planner.verify import verify

    # What else it claims, of bounds for example, makes no difference to a program.
    found = verify(problem, Plan(status=Status.FEASIBLE, placements=plan.placements))
    if found:
        raise InputError(Issue(str(it.code), "plan", it.message) for it in found[:_MOST_REPORTED])
