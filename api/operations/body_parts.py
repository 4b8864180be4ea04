"""The parts that bodies of requests share: documents within limits, changes, moments, issues."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstow.api.operations.request_types import BodyForm, Limits
from memstow.planner import formats
from memstow.planner.formats import is_graph, looks_like_json
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import Problem, Target
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_problem, parse_target
from memstow.planner.reading.printable import shown
from memstow.planner.reading.sections import missing_field, unknown_field, wrong_type
from memstow.planner.targets import retarget, shipped_target

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph, Order
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

T = TypeVar("T")


def over_limit(path: str, unit: str, given: float, most: float, setting: str) -> InputError:
    """The error for more than a setting allows; the setting is named, so that its operator can be asked."""
    message = f"{given:,} {unit} are more than the {most:,} that the setting `{setting}` allows"
    return InputError.single("over_limit", path, message)


def collect(issues: list[Issue], place: str, read: Callable[[], T]) -> T | None:
    """The result of `read`; its issues are added to the list, with paths that begin at `place`."""
    try:
        return read()
    except InputError as error:
        issues.extend(at_place(issue, place) for issue in error.issues)
        return None


def at_place(issue: Issue, place: str) -> Issue:
    """The issue of a part that is at this place."""
    if not place or not issue.path.startswith("$"):
        return issue
    return replace(issue, path=f"$.{place}{issue.path[1:]}")


_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_LONGEST_SPAN: Final = 100 * 366 * 86_400


def span(text: str, path: str) -> float:
    """The seconds of 90s, 30m, 12h, 7d or 4w."""
    seconds = _seconds(text)
    if seconds is None:
        raise InputError.single("bad_span", path, f"{shown(text)} is not a time, such as 12h, 7d or 4w")
    return seconds


def moment(text: str, path: str, at: float) -> float:
    """Seconds since 1970, after `at`: of a span from then on, or of a date or time, in UTC unless it says."""
    seconds = _seconds(text)
    found = at + seconds if seconds is not None else _timestamp(text)
    if found is None:
        message = f"{shown(text)} is not a time, such as 30d, 2027-01-31 or 2027-01-31T12:00:00Z"
        raise InputError.single("bad_moment", path, message)
    if found <= at:
        raise InputError.single("past_moment", path, f"{shown(text)} is over already")
    return found


def _seconds(text: str) -> float | None:
    match = _SPAN.fullmatch(text.strip())
    return None if match is None else float(min(int(match[1]) * _UNIT_SECONDS[match[2]], _LONGEST_SPAN))


def _timestamp(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


GRAPH_MEMBERS: Final = ("order", "in_place")
CHANGES: Final = ("target", *GRAPH_MEMBERS)
"""What changes a document before it is planned."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How a document is changed before it is planned."""

    target: Target | None
    order: "Order | None"
    in_place: bool | None


def subject_of(raw: object) -> str:
    """The member of an envelope that holds what is to be planned."""
    return "graph" if isinstance(raw, dict) and "graph" in raw and "problem" not in raw else "problem"


def changes_of(raw: Mapping[str, Any], target: Target | None) -> Changes:
    """The changes that an envelope or a query asks for."""
    order, in_place = raw.get("order"), raw.get("in_place")
    if order is not None:
        # Requests about problems do not wait for this import.
        from memstow.planner.model.graph import ORDERS

        if order not in ORDERS:
            choices = " or ".join(f'"{entry}"' for entry in ORDERS)
            raise InputError.single("not_an_order", "$.order", wrong_type(choices, order))
    if in_place is not None and not isinstance(in_place, bool):
        raise InputError.single("not_a_boolean", "$.in_place", wrong_type("true or false", in_place))
    return Changes(target, order, in_place)


def changed(document: "Problem | Graph", changes: Changes) -> "Problem | Graph":
    """The document with these changes."""
    if isinstance(document, Problem):
        if changes.order is not None or changes.in_place is not None:
            message = "`order` and `in_place` are for graphs, and this is a problem; leave them out"
            raise InputError.single("not_a_graph", "$", message)
        return document if changes.target is None else retarget(document, changes.target)
    from memstow.planner.graph.changes import in_memories, with_order, without_in_place

    if changes.in_place is False:
        document = without_in_place(document)
    if changes.order is not None:
        document = with_order(document, changes.order)
    return document if changes.target is None else in_memories(document, changes.target, None, False)


_TEXTS: Final = ("csv", "xla")


def json_value(body: bytes, limits: Limits) -> object:
    """The JSON value of a body; where it holds too many values, the message names the setting."""
    try:
        return parse_json(body, limits.max_values)
    except InputError as error:
        if error.issues[0].code != "too_large":
            raise
        message = f"more JSON values than the {limits.max_values:,} that the setting `max_values` allows"
        raise InputError.single("too_large", "$", message) from None


def is_symbolic(raw: object) -> bool:
    """Whether a JSON value is a problem with symbols."""
    if not (isinstance(raw, dict) and "symbols" in raw):
        return False
    # Requests about other problems do not wait for this import.
    from memstow.planner.shapes import symbolic_documents

    return symbolic_documents.is_symbolic(raw)


def symbolic_in(raw: object, limits: Limits) -> object | None:
    """The problem with symbols that a member `problem` holds, as a JSON value or as text; else None."""
    if isinstance(raw, str) and '"symbols"' in raw:
        text = raw.encode("utf-8", "surrogatepass")
        with suppress(InputError):
            return symbolic_in(json_value(text, limits), limits) if looks_like_json(text) else None
    return raw if is_symbolic(raw) else None


def _refuse_symbolic(raw: object) -> None:
    if is_symbolic(raw):
        message = (
            "sizes are formulas of symbols here, which this request does not take: /v1/plan, /v1/jobs, "
            "/v1/verify and /v1/evaluate do; `memstow convert PROBLEM --at s=128` makes an ordinary one of it"
        )
        raise InputError.single("symbolic", "$.symbols", message)


def read_document(body: bytes, name: str, form: BodyForm, limits: Limits) -> "Problem | Graph":
    """The document of a body that holds nothing else, in the format of this name."""
    if form.is_model:
        in_place = form.changes.get("in_place") is True
        found = formats.read_document(body, name, in_place=in_place, dims=form.dims)
        return _document_within(found, limits)
    if name in _TEXTS:
        return _document_within(formats.read_document(body, name), limits)
    return document_of(json_value(body, limits), name, limits)


def document_of(raw: object, name: str, limits: Limits) -> "Problem | Graph":
    """The document that a JSON value describes in the format of this name."""
    _refuse_symbolic(raw)
    if name == "graph":
        if not is_graph(raw):
            message = "a graph is an object with `operators`, and this is something else"
            raise InputError.single("not_a_graph", "$", message)
        return _document_within(formats.document_of(raw), limits)
    return _document_within(formats.problem_of(raw, name), limits)


def embedded_document(raw: object, limits: Limits) -> "Problem | Graph":
    """The problem or the graph inside an envelope: native, or a text in another format."""
    if isinstance(raw, str):
        text = raw.encode("utf-8", "surrogatepass")
        if not looks_like_json(text):
            # A text is no model, whatever its first characters: those are read in processes of their own.
            return _document_within(formats.read_document(text, formats.text_format(text)), limits)
        _refuse_symbolic(json_value(text, limits))
        return _document_within(formats.read_document(text), limits)
    _refuse_symbolic(raw)
    if is_graph(raw):
        return _document_within(formats.document_of(raw), limits)
    return _document_within(parse_problem(raw), limits)


def document_alone(
    issues: list[Issue], read: "Callable[[], Problem | Graph]", form: BodyForm
) -> "Problem | Graph | None":
    """The document of a body that holds nothing else, changed as the query says."""
    return _changed(issues, collect(issues, "", read), "", form.changes, "query")


def document_on_target(
    issues: list[Issue], raw: Mapping[str, Any], subject: str, limits: Limits
) -> "Problem | Graph | None":
    """The document of an envelope, changed as that says: a target, and for a graph its order."""
    document = (
        collect(issues, subject, lambda: embedded_document(raw[subject], limits)) if subject in raw else None
    )
    return _changed(issues, document, subject, raw, "")


def _changed(
    issues: list[Issue],
    document: "Problem | Graph | None",
    subject: str,
    asked: Mapping[str, Any],
    place: str,
) -> "Problem | Graph | None":
    """The document, which is at `subject`, with the changes that are asked for at `place`."""
    named = asked.get("target")
    before = len(issues)
    target = (
        None
        if named is None
        else collect(
            issues,
            f"{place}.target".lstrip("."),
            lambda: shipped_target(named) if isinstance(named, str) else parse_target(named),
        )
    )
    changes = collect(issues, place, lambda: changes_of(asked, target))
    if document is None or changes is None or len(issues) > before:
        return None
    return collect(issues, subject, lambda: changed(document, changes))


def _document_within(document: "Problem | Graph", limits: Limits) -> "Problem | Graph":
    if not isinstance(document, Problem):
        count = max(len(document.tensors), len(document.operators))
        if count > limits.max_buffers:
            raise over_limit("$.tensors", "tensors or operators", count, limits.max_buffers, "max_buffers")
        return document
    return _problem_within(document, limits)


def _problem_within(problem: Problem, limits: Limits) -> Problem:
    if len(problem.buffers) > limits.max_buffers:
        raise over_limit("$.buffers", "buffers", len(problem.buffers), limits.max_buffers, "max_buffers")
    return problem


_TO_JUDGE: Final = ("problem", "plan")


def has_symbols(content: object) -> bool:
    """Whether it is an envelope around a problem whose sizes are formulas."""
    problem = content.get("problem") if isinstance(content, dict) else None
    if not isinstance(problem, dict) or "symbols" not in problem:
        return False
    # Requests about other problems do not wait for this import.
    from memstow.planner.shapes.symbolic_documents import is_symbolic

    return is_symbolic(problem)


def symbolic_to_judge(content: object, limits: Limits) -> "tuple[SymbolicProblem, SymbolicPlan]":
    """The problem and the plan of such an envelope; InputError with everything that is wrong."""
    from memstow.api.operations.symbolic_requests import symbolic_within
    from memstow.planner.shapes.symbolic_documents import parse_symbolic_plan

    raw = content if isinstance(content, dict) else {}
    issues = [
        Issue("unknown_field", f"$[{shown(name)}]", unknown_field(name, _TO_JUDGE))
        for name in raw
        if name not in _TO_JUDGE
    ]
    if "plan" not in raw:
        issues.append(Issue("missing_field", "$.plan", missing_field("plan")))
        raise InputError(issues)
    problem = collect(issues, "problem", lambda: symbolic_within(raw["problem"], limits))
    plan = collect(issues, "plan", lambda: parse_symbolic_plan(raw["plan"]))
    if issues or problem is None or plan is None:
        raise InputError(issues)
    return problem, plan
