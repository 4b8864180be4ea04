"""Documents to columns and back: the same as the ordinary readers and writers, without objects."""

import json
from typing import Final

from memstow.planner.formats.native import plain
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NO_NAMES: Final = '"buffers": []}}'
_JSON_BEGINS: Final = (b"{", b"[")


def columns_in(data: bytes, form: str | None = None) -> Columns | None:
    """The plain problem in the bytes, in JSON or CSV; None where the ordinary readers should read it."""
    if form not in (None, "json", "csv"):
        return None
    is_json = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in _JSON_BEGINS
    if is_json != (form == "json" if form is not None else is_json):
        return None
    return _columns.read_json(data) if is_json else _columns.read_csv(data)


def write_plan(columns: Columns, plan: PlainPlan, form: str) -> bytes:
    """The plan in JSON or CSV."""
    if form == "json":
        return plan_as_json(columns, plan)
    found = columns.as_csv(plan.offsets)
    if found is None:
        # An id that needs quotes: the ordinary writer knows them.
        from memstow.planner.formats.csv import table
        from memstow.planner.plain.models import plan_of, problem_of

        problem = problem_of(columns)
        return table.write_plan(problem, plan_of(columns, plan, problem))
    return found


def plan_as_json(columns: Columns, plan: PlainPlan) -> bytes:
    """The plan as native JSON."""
    status, *fields = plain(plan.frame).items()
    lines = [_line(*status), b'  "placements": [\n    ' + columns.placements(plan.offsets) + b"\n  ]"]
    for name, value in fields:
        line = _line(name, value)
        if name == "objective" and plan.members:
            line = _with_names(line, columns.names(plan.members))
        lines.append(line)
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def _line(name: str, value: object) -> bytes:
    """A field as the ordinary writer has it: a line for each element of a list."""
    if isinstance(value, list):
        elements = ",\n    ".join(map(_encode, value))
        return f"  {_encode(name)}: [\n    {elements}\n  ]".encode()
    return f"  {_encode(name)}: {_encode(value)}".encode()


def _with_names(line: bytes, names: bytes) -> bytes:
    """The only term, its certificate with the names of its buffers."""
    before, empty, after = line.decode().rpartition(_NO_NAMES)
    if not empty:
        raise AssertionError("no certificate to name buffers in")
    return before.encode() + b'"buffers": [' + names + b"]}}" + after.encode()
