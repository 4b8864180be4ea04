"""Every form in which problems and plans come and go: told apart by their content, or chosen by name."""

from typing import Any, Final

from planner.errors import InputError
from planner.formats import csv_table, executorch, native, structured, usmp
from planner.formats.form import Format
from planner.jsontext import parse_json
from planner.plan import Plan
from planner.problem import Problem
from planner.shown import printable

_FORMATS: Final = (native.FORMAT, csv_table.FORMAT, structured.FORMAT, executorch.FORMAT, usmp.FORMAT)


def names() -> tuple[str, ...]:
    """The formats a problem can be read from and written to."""
    return tuple(form.name for form in _FORMATS)


def plan_names() -> tuple[str, ...]:
    """The formats a plan can be read from and written to."""
    return tuple(form.name for form in _FORMATS if form.write_plan is not None)


def read_problem(data: bytes, name: str | None = None) -> Problem:
    """The problem in the bytes, in the named format or in the one they look like."""
    if name is not None:
        form = _named(name)
        return form.read_problem(_content(form, data))
    if not _looks_like_json(data):
        return csv_table.FORMAT.read_problem(data)
    raw = parse_json(data)
    for form in _FORMATS:
        if form.is_json and form.recognises(raw):
            return form.read_problem(raw)
    return native.FORMAT.read_problem(raw)


def write_problem(problem: Problem, name: str = "json") -> bytes:
    """The problem in the named format; an InputError that names the fields it has no place for."""
    return _named(name).write_problem(problem)


def read_plan(data: bytes, problem: Problem, name: str | None = None) -> Plan:
    """The plan in the bytes. Whether it is right is for `planner.verify` to say."""
    if name is not None:
        form = _named(name)
        if form.read_plan is None:
            raise _no_plans(name)
        return form.read_plan(_content(form, data), problem)
    if not _looks_like_json(data):
        return _read_plan_as(csv_table.FORMAT, data, problem)
    raw = parse_json(data)
    for form in _FORMATS:
        if form.is_json and form.recognises_plan is not None and form.recognises_plan(raw):
            return _read_plan_as(form, raw, problem)
    return _read_plan_as(native.FORMAT, raw, problem)


def write_plan(problem: Problem, plan: Plan, name: str = "json") -> bytes:
    """The plan in the named format."""
    form = _named(name)
    if form.write_plan is None:
        raise _no_plans(name)
    return form.write_plan(problem, plan)


def _read_plan_as(form: Format, content: Any, problem: Problem) -> Plan:
    if form.read_plan is None:
        raise _no_plans(form.name)
    return form.read_plan(content, problem)


def _content(form: Format, data: bytes) -> Any:
    return parse_json(data) if form.is_json else data


def _looks_like_json(data: bytes) -> bool:
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _named(name: str) -> Format:
    for form in _FORMATS:
        if form.name == name:
            return form
    known = ", ".join(names())
    raise InputError.single(
        "unknown_format", "format", f"there is no format {printable(name)!r}; use {known}"
    )


def _no_plans(name: str) -> InputError:
    known = ", ".join(plan_names())
    return InputError.single(
        "no_plan_format", "format", f"the format {name!r} holds problems only; use {known}"
    )
