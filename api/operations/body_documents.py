"""Reads the document of a body, a problem or a graph: within the limits, and changed as the request asks."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations.body_issues import collect, over_limit
from memstow.api.operations.graph_members import changed, changes_of
from memstow.api.operations.requests import BodyForm, Limits
from memstow.planner import formats
from memstow.planner.formats import is_graph, looks_like_json
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_problem, parse_target
from memstow.planner.targets.by_name import shipped_target

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

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
