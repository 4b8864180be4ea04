"""The documents in bodies of requests: problems, graphs and models, within limits and changed as is asked.

Sizes may be formulas where the request takes that. What is too much is told before it is read.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations.envelope import (
    at_place,
    collect,
    envelope,
    format_alone,
    json_value,
    over_limit,
    subject_of,
)
from memstow.api.operations.request_types import BodyForm, Limits
from memstow.api.options import RECORDED
from memstow.planner import formats
from memstow.planner.formats import is_graph, is_programs, looks_like_json
from memstow.planner.graph.documents import retarget
from memstow.planner.model.errors import InputError, Issue, changing_issues
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import Problem, Target
from memstow.planner.reading.parse import parse_problem, parse_target
from memstow.planner.reading.sections import missing_field, unknown_field, wrong_type
from memstow.planner.targets import shipped_target
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph, Order
    from memstow.planner.model.programs import Programs
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
    from memstow.planner.recorded.recording import Recording, Usage

GRAPH_MEMBERS: Final = ("order", "in_place")
CHANGES: Final = ("target", *GRAPH_MEMBERS)
"""What changes a document before it is planned."""


@record
class Changes:
    """How a document is changed before it is planned."""

    target: Target | None
    order: "Order | None"
    in_place: bool | None


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
    from memstow.planner.graph.changes import with_order, without_in_place

    if changes.in_place is False:
        document = without_in_place(document)
    if changes.order is not None:
        document = with_order(document, changes.order)
    return document if changes.target is None else retarget(document, changes.target)


_TEXTS: Final = ("csv", "xla")


def is_symbolic(raw: object) -> bool:
    """Whether a JSON value is a problem with symbols."""
    if not (isinstance(raw, dict) and "symbols" in raw):
        return False
    # Requests about other problems do not wait for this import.
    from memstow.planner.formats import native

    return native.is_symbolic(raw)


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
    if name in RECORDED:
        return _document_within(_recording(body, form).problem, limits)
    if form.is_model:
        in_place = form.changes.get("in_place") is True
        document = formats.read_document(body, name, in_place=in_place, dims=form.dims)
        return _document_within(document, limits)
    if name in _TEXTS:
        return _document_within(formats.read_document(body, name), limits)
    return document_of(json_value(body, limits), name, limits)


def _recording(body: bytes, form: BodyForm) -> "Recording":
    """What an allocator did, of the device that the query names."""
    # Other requests do not wait for this import.
    from memstow.planner.recorded.recording import read_recording

    def in_query(issue: Issue) -> Issue:
        return replace(issue, path="query.device") if issue.path == "device" else issue

    with changing_issues(in_query):
        return read_recording(body, form.format or "", form.device)


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
    if is_graph(raw) or is_programs(raw):
        return _document_within(formats.document_of(raw), limits)
    return _document_within(parse_problem(raw), limits)


def programs_within(content: object) -> "Programs | None":
    """The programs in an envelope that has been read as one problem; None where it has none."""
    raw = content.get("problem") if isinstance(content, dict) else None
    if isinstance(raw, str) and looks_like_json(raw.encode("utf-8", "surrogatepass")):
        raw = json.loads(raw)
    if not is_programs(raw):
        return None
    from memstow.planner.formats.programs_format import problem_of_program
    from memstow.planner.programs import parse_programs

    return parse_programs(raw, problem_of_program)


def document_alone(
    issues: list[Issue], read: "Callable[[], Problem | Graph]", form: BodyForm, *, as_listed: bool = False
) -> "Problem | Graph | None":
    """The document of a body that holds nothing else, changed as the query says."""
    return _changed(issues, collect(issues, "", read), "", form.changes, "query", as_listed=as_listed)


def document_on_target(
    issues: list[Issue], raw: Mapping[str, Any], subject: str, limits: Limits, *, as_listed: bool = False
) -> "Problem | Graph | None":
    """The document of an envelope, changed as that says: a target, and for a graph its order."""
    document = (
        collect(issues, subject, lambda: embedded_document(raw[subject], limits)) if subject in raw else None
    )
    return _changed(issues, document, subject, raw, "", as_listed=as_listed)


def _changed(
    issues: list[Issue],
    document: "Problem | Graph | None",
    subject: str,
    members: Mapping[str, Any],
    place: str,
    *,
    as_listed: bool,
) -> "Problem | Graph | None":
    """The document, which is at `subject`, with the changes that are asked for at `place`.

    `as_listed`: of a graph its problem in the order in which operators are listed is wanted, and so no other.
    """
    named = members.get("target")
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
    changes = collect(issues, place, lambda: changes_of(members, target))
    if document is None or changes is None or len(issues) > before:
        return None
    if as_listed and not isinstance(document, Problem) and changes.order not in (None, "given"):
        # Requests about problems do not wait for this import.
        from memstow.planner.graph.changes import ONLY_LISTED

        issues.append(Issue("unused_option", f"$.{place}.order".replace("..", "."), ONLY_LISTED))
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


def parse_document_body(
    body: bytes,
    form: BodyForm,
    limits: Limits,
    *,
    members: Collection[str] = GRAPH_MEMBERS,
    as_listed: bool = False,
) -> "Problem | Graph":
    """The document of a body that holds nothing else, or of an envelope with what changes it.

    `members`: which changes of a graph an envelope may ask for; `as_listed`: of its order none.
    """
    issues: list[Issue] = []
    if form.format is None:
        content = json_value(body, limits)
        document = _document_in(issues, content, form, limits, members, as_listed=as_listed)
    else:
        name = form.format
        document = document_alone(
            issues, lambda: read_document(body, name, form, limits), form, as_listed=as_listed
        )
    if issues or document is None:
        raise InputError(issues)
    return document


def parse_described_body(
    body: bytes, form: BodyForm, limits: Limits
) -> "tuple[Problem | Graph, Usage | None]":
    """The document of such a body; and of a recording what the memory of its device was used for."""
    if form.format not in RECORDED:
        return parse_document_body(body, form, limits), None
    issues: list[Issue] = []
    recording = collect(issues, "", lambda: _recording(body, form))
    if recording is None:
        raise InputError(issues)
    document = document_alone(issues, lambda: _document_within(recording.problem, limits), form)
    if issues or document is None:
        raise InputError(issues)
    return document, recording.usage


def _document_in(
    issues: list[Issue],
    content: object,
    form: BodyForm,
    limits: Limits,
    members: Collection[str],
    *,
    as_listed: bool,
) -> "Problem | Graph | None":
    """The document that a JSON value is, or that it holds as an envelope."""
    alone = format_alone(content)
    if alone is not None:
        return document_alone(issues, lambda: document_of(content, alone, limits), form, as_listed=as_listed)
    subject = subject_of(content)
    raw = envelope(issues, content, (subject, "target", *members), (subject,))
    return document_on_target(issues, {**form.changes, **raw}, subject, limits, as_listed=as_listed)


# Problems with symbols

# What a process examines in some tens of seconds, however the formulas are made.
_MOST_CHARACTERS: Final = 4_000_000
# The same for the problems at all points, each of which is planned.
_MOST_ROWS: Final = 2_000_000
_LISTS: Final = ("buffers", "tensors", "operators")


def symbolic_within(raw: object, limits: Limits) -> "SymbolicDocument":
    """The problem or graph with symbols that a JSON value describes; what is too much is told before."""
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
    # Requests about other problems do not wait for this import.
    from memstow.planner.formats.native import parse_symbolic_document

    return parse_symbolic_document(raw)


def planned_within(document: "SymbolicDocument") -> "SymbolicDocument":
    """The document, if planning it at each of its points is not too much."""
    from memstow.planner.graph.symbolic_graph import symbolic_problem_of
    from memstow.planner.model.symbolic import points_of

    rows = len(symbolic_problem_of(document).buffers) * len(points_of(document))
    if rows > _MOST_ROWS:
        message = (
            f"the buffers at all points are {rows:,}, and at most {_MOST_ROWS:,} are taken; give fewer points"
        )
        raise InputError.single("too_large", "$.points", message)
    return document


def _listed(raw: object, name: str) -> Iterator[object]:
    elements = raw.get(name) if isinstance(raw, dict) else None
    return iter(elements) if isinstance(elements, list) else iter(())


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
                yield from (entry for entry in shape if isinstance(entry, str))


def has_symbols(content: object) -> bool:
    """Whether it is an envelope around a problem or a graph whose sizes are formulas."""
    return isinstance(content, dict) and is_symbolic(content.get(subject_of(content)))


def symbolic_to_judge(content: object, limits: Limits) -> "tuple[SymbolicDocument, SymbolicPlan]":
    """The document and the plan of such an envelope; InputError with everything that is wrong."""
    from memstow.planner.formats.native import parse_symbolic_plan

    raw, subject = content if isinstance(content, dict) else {}, subject_of(content)
    allowed = (subject, "order", "plan")
    issues = [
        Issue("unknown_field", f"$[{shown(name)}]", unknown_field(name, allowed))
        for name in raw
        if name not in allowed
    ]
    if "plan" not in raw:
        issues.append(Issue("missing_field", "$.plan", missing_field("plan")))
        raise InputError(issues)
    read = collect(issues, subject, lambda: symbolic_within(raw[subject], limits))
    document = None if read is None else in_operator_order(issues, read, subject, raw.get("order"), "$.order")
    plan = collect(issues, "plan", lambda: parse_symbolic_plan(raw["plan"]))
    if issues or document is None or plan is None:
        raise InputError(issues)
    return document, plan


def in_operator_order(
    issues: list[Issue], document: "SymbolicDocument", subject: str, order: object, place: str
) -> "SymbolicDocument | None":
    """The document, which is at `subject`, with the order of operators that is asked for at `place`."""
    if order is None:
        return document
    # Requests about other problems do not wait for this import.
    from memstow.planner.graph.symbolic_graph import with_operator_order

    def placed(issue: Issue) -> Issue:
        return replace(issue, path=place) if issue.path == "order" else at_place(issue, subject)

    try:
        return with_operator_order(document, order if isinstance(order, str) else shown(order))
    except InputError as error:
        issues.extend(map(placed, error.issues))
        return None
