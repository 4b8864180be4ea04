"""Documents to columns and back: the same as the ordinary readers and writers, without objects."""

import json
from typing import Final

from memstow.planner.model.plan import Certificate, Exhausted, LiveBytes, Plan, TermValue
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NO_NAMES: Final = b'"buffers": []}}'
_JSON_BEGINS: Final = (b"{", b"[")


def columns_in(data: bytes, form: str | None = None) -> Columns | None:
    """The plain problem in the bytes, in JSON or CSV; None where the ordinary readers should read it."""
    if form not in (None, "json", "csv"):
        return None
    is_json = looks_like_json(data)
    if form is not None and is_json != (form == "json"):
        return None
    return _columns.read_json(data) if is_json else _columns.read_csv(data)


def looks_like_json(data: bytes) -> bool:
    """Whether the ordinary readers would take it for JSON."""
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in _JSON_BEGINS


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
    status, *fields = _fields(plan.frame).items()
    parts = [
        b"{\n",
        _line(*status),
        b',\n  "placements": [\n    ',
        columns.placements(plan.offsets),
        b"\n  ]",
    ]
    for name, value in fields:
        line = _line(name, value)
        parts.append(b",\n")
        parts += [line] if name != "objective" else _with_names(line, columns, plan)
    return b"".join((*parts, b"\n}\n"))


def _fields(plan: Plan) -> dict[str, object]:
    """The fields of a plan without placements, those at their defaults left out."""
    fields: dict[str, object] = {
        "status": plan.status.value,
        "pools": [
            {
                "pool": use.pool,
                "capacity": use.capacity,
                "peak": use.peak,
                "bound": use.bound,
                "live": {"bytes": use.live.bytes, "time": use.live.time},
            }
            for use in plan.pools
        ],
        "objective": list(map(_term, plan.objective)),
        "solver": plan.solver,
        "prover": plan.prover,
        "seconds": plan.seconds or None,
        "work": plan.work or None,
        "digest": plan.digest,
        "version": plan.version,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _term(term: TermValue) -> dict[str, object]:
    fields: dict[str, object] = {
        "term": term.term,
        "value": term.value,
        "bound": term.bound,
        "gap": term.gap,
    }
    if term.certificate is not None:
        fields["certificate"] = _certificate(term.certificate)
    return fields


def _certificate(certificate: Certificate) -> dict[str, object]:
    if isinstance(certificate, LiveBytes):
        fields: dict[str, object] = {"pool": certificate.pool, "time": certificate.time, "buffers": []}
    elif isinstance(certificate, Exhausted):
        steps = [{"height": step.height, "nodes": step.nodes} for step in certificate.refuted]
        fields = {"solver": certificate.solver, "refuted": steps}
    else:
        raise TypeError(f"no plan in columns is proven by {certificate.kind}")
    return {"kind": certificate.kind, **fields}


def _line(name: str, value: object) -> bytes:
    """A field as the ordinary writer has it: a line for each element of a list."""
    if isinstance(value, list):
        elements = ",\n    ".join(map(_encode, value))
        return f"  {_encode(name)}: [\n    {elements}\n  ]".encode()
    return f"  {_encode(name)}: {_encode(value)}".encode()


def _with_names(line: bytes, columns: Columns, plan: PlainPlan) -> list[bytes]:
    """The only term, its certificate with the names of its buffers."""
    if not plan.members:
        return [line]
    before, empty, after = line.rpartition(_NO_NAMES)
    if not empty:
        raise AssertionError("no certificate to name buffers in")
    return [before, b'"buffers": [', columns.names(plan.members), b"]}}", after]
