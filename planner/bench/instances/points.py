"""A problem with symbols as ordinary problems: one at each of its points."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import points_of

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicProblem


def point_count(data: bytes) -> int:
    """How many instances the bytes of a file are; 1 where they are no valid problem with symbols."""
    try:
        found = _symbolic(data)
    except InputError:
        return 1
    return 1 if found is None else len(points_of(found))


def problems_at_points(data: bytes) -> Iterator[tuple[str, bytes]] | None:
    """The values of each point, such as `s=128,b=1`, and the problem there as JSON.

    None where the bytes are no problem with symbols; an InputError where they are one that is not valid.
    """
    found = _symbolic(data)
    return None if found is None else _each(found)


def _each(problem: "SymbolicProblem") -> Iterator[tuple[str, bytes]]:
    from memstow.planner.formats import write_problem
    from memstow.planner.shapes.sizes import problem_at

    for point in points_of(problem):
        values = ",".join(f"{name}={value}" for name, value in point.at.items())
        yield values, write_problem(problem_at(problem, point.at), "json")


def _symbolic(data: bytes) -> "SymbolicProblem | None":
    # Most files are none, and are not read for it.
    if b'"symbols"' not in data:
        return None
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.shapes.symbolic_documents import is_symbolic, parse_symbolic

    raw = parse_json(data)
    return parse_symbolic(raw) if is_symbolic(raw) else None
