"""The loops of a plan of a graph as an output: by the end of a file's name, or by the format."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem

# The names of `planner.loops`, which takes longer to import than a parser may take.
LOOPS: Final = ("loops", "loops-text", "loops-header", "loops-picture")
LOOPS_HEADER: Final = LOOPS[2]
SUFFIXES: Final = dict(zip((".loops.json", ".loops.txt", ".loops.h", ".loops.svg"), LOOPS, strict=True))


def loops_told_by(path: str | None) -> str | None:
    """The format that the end of the name tells, if it is one of loops."""
    return next((form for end, form in SUFFIXES.items() if (path or "").lower().endswith(end)), None)


def graph_with_loops(document: "Problem | Graph") -> "Graph":
    """The document as a graph; an InputError if it is none: a problem says nothing of operators."""
    from memstow.planner.model.graph import Graph

    if isinstance(document, Graph):
        return document
    from memstow.planner.loops import no_loops

    raise no_loops("--output")


def loops_content(document: "Problem | Graph", plan: "Plan", form: str, prefix: str | None) -> bytes:
    """The table in this format."""
    from memstow.planner.exports.naming import DEFAULT_PREFIX
    from memstow.planner.loops import loops, write_loops

    table = loops(graph_with_loops(document), plan)
    return write_loops(table, form, prefix=DEFAULT_PREFIX if prefix is None else prefix)
