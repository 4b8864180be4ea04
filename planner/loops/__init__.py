"""What a program does, step by step, to run a graph as a plan says.

In: a graph and a plan of it. Out: the table of its loops (`planner.model.loops`), as JSON, as a text for
people, as tables in C and as a picture.
"""

from typing import Final

from memstow.planner.model.errors import InputError, require_kind
from memstow.planner.model.graph import Graph
from memstow.planner.model.loops import Loops
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable

HEADER: Final = "loops-header"
PICTURE: Final = "loops-picture"
_FORMATS: Final = ("loops", "loops-text", HEADER, PICTURE)
SUFFIXES: Final = {
    ".loops.json": "loops",
    ".loops.txt": "loops-text",
    ".loops.h": HEADER,
    ".loops.svg": PICTURE,
}


def names() -> tuple[str, ...]:
    """The formats in which the table can be had."""
    return _FORMATS


def loops(graph: Graph, plan: Plan) -> Loops:
    """The table of a plan of the graph; an InputError if the plan is not valid."""
    require_kind(graph, Graph, "loops takes a Graph and its Plan")
    from memstow.planner.loops.loop_table import table_of

    return table_of(graph, plan)


def no_loops(path: str) -> InputError:
    """The error about loops of what is no graph."""
    message = "loops are those of a graph's operators, and this is a problem; give the graph or the model"
    return InputError.single("not_a_graph", path, message)


def write_loops(table: Loops, form: str = "loops", *, prefix: str = "plan") -> bytes:
    """The table in a format: loops (JSON), loops-text, loops-header (C) or loops-picture.

    Names in C begin with the prefix.
    """
    if form not in _FORMATS:
        message = f"there is no format {printable(form)!r}; use {', '.join(_FORMATS)}"
        raise InputError.single("unknown_format", "format", message)
    if form == "loops":
        from memstow.planner.loops.loop_table import loops_json

        return loops_json(table)
    from memstow.planner.loops.loop_writers import loops_header, loops_picture, loops_text

    if form == HEADER:
        return loops_header(table, prefix)
    return loops_picture(table) if form == PICTURE else loops_text(table)
