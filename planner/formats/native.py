"""The native JSON: the wire schema as it is, defaults left out, an element of a list a line.

Of problems, graphs and plans, whether their sizes are numbers or formulas. Where a problem is wanted, a graph
whose sizes are formulas is read as that of the order in which its operators are listed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.check import find_issues
from memstow.planner.formats.format import Format, GraphFormat
from memstow.planner.model._instances import placement_lines
from memstow.planner.model.model_class import fields_of, instance_in
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import FEW_BYTES, parse_json, parse_path, require_bytes
from memstow.planner.reading.parse import (
    parse_plan,
    parse_problem,
    parse_whole,
)
from memstow.planner.reading.sections import Findings
from memstow.records import collector_at_rest, record, replace

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.symbolic import (
        OrderedPlacement,
        SymbolicGraph,
        SymbolicPlan,
        SymbolicProblem,
    )

# The tag of a choice is what tells one object from another: it stays although it is the default.
_TAG: Final = "kind"
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_MANY: Final = 1_000
"""So many placements are written by themselves: an encoder takes most of the time of a large plan."""


def plain(value: Any) -> Any:
    """The value as JSON holds it, fields at their defaults left out."""
    kind: Any = type(value)
    if kind is tuple:
        return [member if type(member) in _SCALARS else plain(member) for member in value]
    if kind in _SCALARS:
        return value
    if isinstance(value, Enum):
        return value.value
    if kind is dict:
        return {name: plain(member) for name, member in value.items()}
    return {
        name: member if type(member) in _SCALARS else plain(member)
        for name, default in _defaults(kind)
        if (member := getattr(value, name)) != default or name == _TAG
    }


def encode_document(document: Mapping[str, object]) -> bytes:
    """A JSON object as text: a line for each field, and for each element of its lists."""
    return ("{\n" + ",\n".join(_lines(document)) + "\n}\n").encode()


def list_of_lines(elements: Iterable[Any]) -> bytes:
    """A JSON list as text: a line for each element."""
    lines = ",\n".join(map(_encode, elements))
    return (f"[\n{lines}\n]\n" if lines else "[]\n").encode()


@record
class _Written:
    """A value whose text is there already."""

    text: str


def write_document(document: object) -> bytes:
    """A problem, a graph or a plan as native JSON."""
    with collector_at_rest():
        return encode_document(plain(document))


def write_plan(_problem: Problem, plan: Plan) -> bytes:
    """The plan as native JSON."""
    return _write_placed(plan)


def _write_orders(plan: "SymbolicPlan") -> bytes:
    """The same for a plan of orders of many buffers."""
    first = tuple(replace(order, placements=order.placements[:1]) for order in plan.orders)
    lines = ",\n    ".join(f'{{"placements": [{_ordered(order.placements)}]}}' for order in plan.orders)
    return encode_document({**plain(replace(plan, orders=first)), "orders": _Written(f"[\n    {lines}\n  ]")})


def _ordered(placements: "Sequence[OrderedPlacement]") -> str:
    """The elements of a list of these."""
    named = {entry.buffer for entry in placements}.union(*(entry.above for entry in placements))
    names = {name: _encode(name) for name in named}
    pools = {pool: _encode(pool) for pool in {entry.pool for entry in placements}}
    written = []
    for entry in placements:
        above = f', "above": [{", ".join([names[name] for name in entry.above])}]' if entry.above else ""
        shares = "" if entry.shares is None else f', "shares": {_encode(entry.shares)}'
        empty = ', "empty": true' if entry.empty else ""
        written.append(
            f'{{"buffer": {names[entry.buffer]}, "pool": {pools[entry.pool]}{above}{shares}{empty}}}'
        )
    return ", ".join(written)


def _write_placed(plan: "Plan | SymbolicPlan") -> bytes:
    with collector_at_rest():
        if len(plan.placements) < _MANY:
            return write_document(plan)
        document = plain(replace(plan, placements=plan.placements[:1]))
        lines = placement_lines(plan.placements)
        if lines is None:
            return write_document(plan)
        return encode_document({**document, "placements": _Written(f"[\n    {lines}\n  ]")})


def _lines(document: Mapping[str, object]) -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, _Written):
            yield f"  {_encode(name)}: {value.text}"
        elif isinstance(value, list) and value and not isinstance(value[0], str | int):
            elements = ",\n    ".join(map(_encode, value))
            yield f"  {_encode(name)}: [\n    {elements}\n  ]"
        else:
            yield f"  {_encode(name)}: {_encode(value)}"


@cache
def _defaults(holder: Any) -> tuple[tuple[str, Any], ...]:
    missing = object()  # equal to nothing: a required field is always written
    return tuple(
        (name, missing if field.is_required else field.default()) for name, field in fields_of(holder).items()
    )


def _read_plan(raw: Any, _problem: Problem) -> Plan:
    return parse_plan(raw)


FORMAT: Final = Format(
    name="json",
    is_json=True,
    read_problem=parse_problem,
    write_problem=write_document,
    read_plan=_read_plan,
    write_plan=write_plan,
)


def _read_graph(raw: Any) -> "Graph":
    from memstow.planner.graph.graph_document import parse_graph

    return parse_graph(raw)


GRAPH_FORMAT: Final = GraphFormat(name="graph", is_json=True, read_graph=_read_graph)


def is_symbolic_graph(raw: object) -> bool:
    """Whether a JSON value is a symbolic graph: an object with `symbols` and `operators`."""
    return isinstance(raw, Mapping) and "symbols" in raw and "operators" in raw and "buffers" not in raw


def is_symbolic(raw: object) -> bool:
    """Whether a JSON value is a symbolic problem, or a graph that becomes one: an object with `symbols`."""
    return isinstance(raw, Mapping) and "symbols" in raw


def is_symbolic_plan(raw: object) -> bool:
    """Whether a JSON value is a plan of a symbolic problem: an object that says its `shapes`."""
    return isinstance(raw, Mapping) and "shapes" in raw


def parse_symbolic_graph(raw: object) -> "SymbolicGraph":
    """The symbolic graph that a JSON value describes."""
    from memstow.planner.graph.symbolic_graph import checked_graph
    from memstow.planner.model.symbolic import SymbolicGraph

    findings = Findings(raw)
    graph = parse_whole(SymbolicGraph, raw, findings)
    for issue in checked_graph(graph).issues:
        findings.add(issue.code, parse_path(issue.path), issue.message)
    if findings:
        raise findings.error()
    return graph


def parse_symbolic_document(raw: object) -> "SymbolicProblem | SymbolicGraph":
    """The symbolic problem or graph that a JSON value describes."""
    from memstow.planner.model.symbolic import SymbolicProblem

    return parse_symbolic_graph(raw) if is_symbolic_graph(raw) else parse_problem(raw, SymbolicProblem)


def parse_symbolic(raw: object) -> "SymbolicProblem":
    """The symbolic problem that a JSON value describes; a symbolic graph is that of its listed order."""
    from memstow.planner.graph.symbolic_graph import symbolic_problem_of

    return symbolic_problem_of(parse_symbolic_document(raw))


def parse_symbolic_plan(raw: object) -> "SymbolicPlan":
    """The plan that a JSON value describes; whether it is right is for the judge to say."""
    from memstow.planner.model.symbolic import SymbolicPlan

    return parse_plan(raw, SymbolicPlan)


def read_symbolic_document(data: bytes) -> "SymbolicProblem | SymbolicGraph | None":
    """The symbolic problem or graph in the bytes; None if they are another JSON document."""
    problem = _large_symbolic(data)
    if problem is not None:
        return problem
    raw = parse_json(data)
    return parse_symbolic_document(raw) if is_symbolic(raw) else None


def _large_symbolic(data: bytes) -> "SymbolicProblem | None":
    """The symbolic problem in a large document; None where the ordinary reader should read it."""
    require_bytes(data)
    if len(data) < FEW_BYTES or b'"symbols"' not in data or b'"operators"' in data:
        return None
    from memstow.planner.model.symbolic import SymbolicProblem

    with collector_at_rest():
        problem = instance_in(data, SymbolicProblem)
        return None if problem is None or find_issues(problem) else problem


def read_symbolic(data: bytes) -> "SymbolicProblem":
    """The symbolic problem in the bytes; an InputError with all that is wrong otherwise."""
    problem = _large_symbolic(data)
    return parse_symbolic(parse_json(data)) if problem is None else problem


def read_symbolic_graph(data: bytes) -> "SymbolicGraph":
    """The symbolic graph in the bytes; an InputError with all that is wrong otherwise."""
    return parse_symbolic_graph(parse_json(data))


def read_symbolic_plan(data: bytes) -> "SymbolicPlan":
    """The plan of a symbolic problem in the bytes."""
    return parse_symbolic_plan(parse_json(data))


def write_symbolic(problem: "SymbolicProblem") -> bytes:
    """The symbolic problem as JSON."""
    return write_document(problem)


def write_symbolic_graph(graph: "SymbolicGraph") -> bytes:
    """The symbolic graph as JSON."""
    return write_document(graph)


def write_symbolic_plan(plan: "SymbolicPlan") -> bytes:
    """The plan of a symbolic problem as JSON."""
    if sum(len(order.placements) for order in plan.orders) >= _MANY:
        with collector_at_rest():
            return _write_orders(plan)
    return _write_placed(plan)
