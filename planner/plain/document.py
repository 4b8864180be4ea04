"""Documents to columns and back: the same as the ordinary readers and writers, without objects."""

import json
from array import array
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Final

from memstow.planner.model.plan import (
    Certificate,
    Exhausted,
    ExhaustedWindow,
    LiveBytes,
    Plan,
    PoolUse,
    TermValue,
)
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NO_NAMES: Final = b'"buffers": []}}'
_JSON_BEGINS: Final = (b"{", b"[")
_PLACES_AT_ONCE: Final = 1 << 16


def columns_in(data: bytes, form: str | None = None) -> Columns | None:
    """The plain problem in the bytes, in JSON or CSV; None where the ordinary readers should read it."""
    if form not in (None, "json", "csv"):
        return None
    is_json = looks_like_json(data)
    if form is not None and is_json != (form == "json"):
        return None
    return _columns.read_json(data) if is_json else _columns.read_csv(data)


def columns_and_options_in(data: bytes) -> tuple[Columns, bytes] | None:
    """The plain problem and the text of the options of a JSON envelope with nothing else in it; or None."""
    return _columns.read_request(data)


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
        from memstow.planner.formats import csv_table
        from memstow.planner.plain.models import plan_of, problem_of

        problem = problem_of(columns)
        return csv_table.write_plan(problem, plan_of(columns, plan, problem))
    return found


def plan_as_json(columns: Columns, plan: PlainPlan) -> bytes:
    """The plan as native JSON."""
    # Handed out without a copy: the text of a million placements need not be there twice.
    document = BytesIO()
    status = _encode(plan.frame.status.value)
    document.write(f'{{\n  "status": {status},\n  "placements": [\n    '.encode())
    document.writelines(_placements(columns, plan))
    document.write(b"\n  ]")
    for name, value in _fields(plan.frame):
        line = f',\n  "{name}": {value}'.encode()
        proves = name == ("objective" if plan.frame.objective else "pools")
        document.writelines(_with_names(line, columns, plan) if proves else [line])
    document.write(b"\n}\n")
    return document.getvalue()


def is_in_order(columns: Columns, plan: bytes) -> bool:
    """Whether this is a plan of the problem, in native JSON, that places the buffers in their order."""
    read = _columns.read_plan(columns, plan, True)
    return read is not None and columns.placements(array("q", read.offsets), 0, len(columns)) in plan


def _placements(columns: Columns, plan: PlainPlan) -> Iterator[bytes]:
    """In parts, because the whole is a copy of what native code has made."""
    for first in range(0, len(columns), _PLACES_AT_ONCE):
        yield columns.placements(plan.offsets, first, first + _PLACES_AT_ONCE)


def _fields(plan: Plan) -> Iterator[tuple[str, str]]:
    """The fields of a plan behind its placements, those at their defaults left out.

    The text of small plans is put together here, which takes a third of the time of an encoder.
    """
    yield "pools", _lines(map(_pool, plan.pools))
    if plan.objective:
        yield "objective", _lines(map(_term, plan.objective))
    for name, value in (("solver", plan.solver), ("prover", plan.prover)):
        if value is not None:
            yield name, _encode(value)
    for name, number in (("seconds", plan.seconds), ("work", plan.work)):
        if number:
            yield name, repr(number)
    for name, value in (("digest", plan.digest), ("version", plan.version)):
        if value is not None:
            yield name, _encode(value)


def _lines(elements: Iterable[str]) -> str:
    """A list with a line for each element."""
    listed = ",\n    ".join(elements)
    return f"[\n    {listed}\n  ]"


def _pool(use: PoolUse) -> str:
    capacity, time = _number(use.capacity), _number(use.live.time)
    fields = (
        f'"pool": {_encode(use.pool)}, "capacity": {capacity}, "peak": {use.peak}, "bound": {use.bound}, '
        f'"live": {{"bytes": {use.live.bytes}, "time": {time}}}'
    )
    return _proven(fields, use.certificate)


def _term(term: TermValue) -> str:
    fields = (
        f'"term": {_encode(term.term)}, "value": {term.value}, "bound": {term.bound}, "gap": {term.gap!r}'
    )
    return _proven(fields, term.certificate)


def _proven(fields: str, certificate: Certificate | None) -> str:
    if certificate is None:
        return f"{{{fields}}}"
    return f'{{{fields}, "certificate": {_certificate(certificate)}}}'


def _number(value: int | None) -> str:
    return "null" if value is None else repr(value)


def _certificate(certificate: Certificate) -> str:
    if isinstance(certificate, LiveBytes):
        pool = "null" if certificate.pool is None else _encode(certificate.pool)
        return f'{{"kind": "live_bytes", "pool": {pool}, "time": {_number(certificate.time)}, "buffers": []}}'
    if isinstance(certificate, Exhausted):
        steps = [{"height": step.height, "nodes": step.nodes} for step in certificate.refuted]
        fields: dict[str, object] = {"solver": certificate.solver, "refuted": steps}
    elif isinstance(certificate, ExhaustedWindow):
        fields = {
            "solver": certificate.solver,
            "pool": certificate.pool,
            "begin": certificate.begin,
            "end": certificate.end,
            "buffers": list(certificate.buffers),
        }
    else:
        raise TypeError(f"no plan in columns is proven by {certificate.kind}")
    return _encode({"kind": certificate.kind, **fields})


def _with_names(line: bytes, columns: Columns, plan: PlainPlan) -> list[bytes]:
    """The only term, or the pool, its certificate with the names of its buffers."""
    if not plan.members:
        return [line]
    before, empty, after = line.rpartition(_NO_NAMES)
    if not empty:
        raise AssertionError("no certificate to name buffers in")
    return [before, b'"buffers": [', columns.names(plan.members), b"]}}", after]
