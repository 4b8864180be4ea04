"""Plans as source code: what a compiler and a linker take into a program.

In: a problem, a plan of it and how names begin; out: a text. Only plans that the judge accepts are written.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from memstow.planner.exports.naming import DEFAULT_PREFIX, Naming, check_naming
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    from memstow.planner.exports.source_code import MemoryMap
    from memstow.planner.graph.graph_document import Label

_FORMS: Final = ("c-header", "c-source", "c-check", "ld", "rust")
# The suffixes of files from which a format is known, the longest first.
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
    return _FORMS


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
    if form not in _FORMS:
        message = f"there is no format {printable(form)!r}; use {', '.join(_FORMS)}"
        raise InputError.single("unknown_format", "format", message)
    check_naming(problem, naming)
    _refuse_wrong_plan(problem, plan)
    from memstow.planner.exports.source_code import MemoryMap

    return _writer(form)(MemoryMap(problem, plan, naming, labels)).encode("ascii")


def _writer(form: str) -> "Callable[[MemoryMap], str]":
    """What writes this format, imported when it is used."""
    if form == "c-check":
        from memstow.planner.exports.self_check import write_c_check

        return write_c_check
    from memstow.planner.exports import source_code

    writers = {
        "c-header": source_code.write_c_header,
        "c-source": source_code.write_c_source,
        "ld": source_code.write_linker_script,
        "rust": source_code.write_rust,
    }
    return writers[form]


def _refuse_wrong_plan(problem: Problem, plan: Plan) -> None:
    if plan.status not in PLANNED:
        message = f"there is no plan to write: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    from memstow.planner.verify import verify

    # What else it claims, of bounds for example, makes no difference to a program.
    violations = verify(problem, Plan(status=Status.FEASIBLE, placements=plan.placements))
    if violations:
        raise InputError(
            Issue(str(violation.code), "plan", violation.message) for violation in violations[:_MOST_REPORTED]
        )
