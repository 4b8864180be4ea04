"""Problems with symbols in bodies of requests, within the limits of the server."""

from collections.abc import Iterator
from typing import Final

from memstow.api.operations.body_issues import over_limit
from memstow.api.operations.requests import Limits
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import SymbolicProblem, points_of
from memstow.planner.shapes.symbolic_documents import parse_symbolic

# What a process examines in some tens of seconds, however the formulas are made.
_MOST_CHARACTERS: Final = 4_000_000
# The same for the problems at all points, each of which is planned.
_MOST_ROWS: Final = 2_000_000
_LISTS: Final = ("buffers", "tensors", "operators")


def symbolic_within(raw: object, limits: Limits) -> SymbolicProblem:
    """The problem with symbols that a JSON value describes; what is too much is told before it is read."""
    for name in _LISTS:
        count = sum(1 for _ in _listed(raw, name))
        if count > limits.max_buffers:
            raise over_limit(f"$.{name}", name, count, limits.max_buffers, "max_buffers")
    characters = sum(map(len, set(_formulas(raw))))
    if characters > _MOST_CHARACTERS:
        message = (
            f"formulas that differ have {characters:,} characters, at most {_MOST_CHARACTERS:,} are taken; "
            "write shorter ones, and equal sizes alike"
        )
        raise InputError.single("too_large", "$.buffers", message)
    return parse_symbolic(raw)


def planned_within(problem: SymbolicProblem) -> SymbolicProblem:
    """The problem, if planning it at each of its points is not too much."""
    rows = len(problem.buffers) * len(points_of(problem))
    if rows > _MOST_ROWS:
        message = (
            f"the buffers at all points are {rows:,}, and at most {_MOST_ROWS:,} are taken; give fewer points"
        )
        raise InputError.single("too_large", "$.points", message)
    return problem


def _listed(raw: object, name: str) -> Iterator[object]:
    found = raw.get(name) if isinstance(raw, dict) else None
    return iter(found) if isinstance(found, list) else iter(())


def _formulas(raw: object) -> Iterator[str]:
    """The texts in the place of a size, and in the shapes of tensors."""
    for name in _LISTS:
        for element in _listed(raw, name):
            if not isinstance(element, dict):
                continue
            size, shape = element.get("size"), element.get("shape")
            if isinstance(size, str):
                yield size
            if isinstance(shape, list):
                yield from (it for it in shape if isinstance(it, str))
