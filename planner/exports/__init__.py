"""Plans as source code: what a compiler and a linker take into a program.

In: a problem, a plan of it and how names begin; out: a text. Only plans that the judge accepts are written.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from memstow.planner.exports.naming import DEFAULT_PREFIX, Naming, check_naming
from memstow.planner.graph.documents import labels_in, problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem
from memstow.records import replace

if TYPE_CHECKING:
    from memstow.planner.exports.source_code import MemoryMap
    from memstow.planner.graph.graph_document import Label
    from memstow.planner.model.graph import Graph

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


def names() -> tuple[str, ...]:
    """The formats that a plan can be exported to."""
    return _FORMS


def export(
    problem: "Problem | Graph",
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
    which C sources include the header, and `labels` has, by id, what comments say of buffers: of a graph, by
    default, what they are. An InputError if the plan is not valid, or a name cannot be used.
    """
    naming = Naming(prefix, dict(sections or {}), header)
    if form not in _FORMS:
        message = f"there is no format {printable(form)!r}; use {', '.join(_FORMS)}"
        raise InputError.single("unknown_format", "format", message)
    comments = labels_in(problem) if labels is None else labels
    problem = problem_of(problem, plan)
    check_naming(problem, naming)
    from memstow.planner.exports.source_code import MemoryMap
    from memstow.planner.verify import require_valid_plan

    require_valid_plan(problem, replace(plan, schedule=None))

    return _writer(form)(MemoryMap(problem, plan, naming, comments)).encode("ascii")


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
