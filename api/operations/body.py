"""Reads the body of a request to plan: the problem and the options in it, within the limits of the server.

What is wrong is told of all parts at once. A plain problem is read without objects for the buffers
(`plain_body`): nothing is refused there, and a body that is anything else, or not right, goes the ordinary
way, where it means the same.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations.body_documents import (
    CHANGES,
    GRAPH_MEMBERS,
    document_alone,
    document_of,
    document_on_target,
    in_operator_order,
    is_symbolic,
    planned_within,
    read_document,
    symbolic_in,
    symbolic_within,
)
from memstow.api.operations.encoding import (
    FRONT,
    PROOF,
    SHAPES_MEMBERS,
    TARGETS,
    RequestedShapes,
    cache_key,
    cache_key_of_parts,
    cache_key_with_hint,
    digest_of,
    document_bytes,
    hint_key,
    options_to_text,
    parse_shapes,
    symbolic_digest,
    with_front,
    with_shapes,
)
from memstow.api.operations.envelope import (
    LONGEST_NAME,
    at_place,
    checked_priority,
    collect,
    envelope,
    format_alone,
    json_value,
    over_limit,
    subject_of,
)
from memstow.api.operations.plan_forms import require_symbolic, require_writable
from memstow.api.operations.request_types import BodyForm, Limits, QueryValue, ValidatedRequest
from memstow.planner import formats
from memstow.planner.formats.native import write_document
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError, Issue, changing_issues, closest_match
from memstow.planner.model.options import Options, require_followed
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import Problem
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import columns_and_options_in, columns_in, digest, looks_like_json
from memstow.planner.reading.parse import parse_options, parse_target
from memstow.planner.solve.column_plans import takes
from memstow.planner.targets import MOST_TARGETS, shipped_target
from memstow.records import field, record, replace

if TYPE_CHECKING:
    from memstow.planner.front.front_request import FrontRequest
    from memstow.planner.model.front import FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Target
    from memstow.planner.model.symbolic import SymbolicDocument


@record
class RequestedFront:
    """The front that a body asks for, or those of several targets."""

    options: "FrontOptions"
    targets: "tuple[Target, ...]"
    """Each with the name that it is called by; empty: one front, of the document as it is."""
    fronts: "tuple[tuple[Problem | Graph, FrontRequest], ...]"
    """Those that the job finds, each with its document."""


@record
class FrontMembers:
    """What a body and the query say of a front, as read."""

    options: "FrontOptions | None"
    targets: "tuple[Target, ...] | None"


def read_front_members(
    issues: list[Issue], form: BodyForm, raw: Mapping[str, object] | None
) -> FrontMembers | None:
    """What the envelope, if there is one, and the query ask for; None where it is a plan.

    What the envelope says comes before the query.
    """
    if form.front is None:
        return None
    from memstow.planner.front.front_documents import parse_front_options

    of_query = raw is None
    raw = raw or {}
    members = raw.get(FRONT, {})
    options = {**form.front, **members} if isinstance(members, Mapping) else members
    front_options = collect(issues, "query" if of_query else FRONT, lambda: parse_front_options(options))
    named = form.targets if raw.get(TARGETS) is None else raw[TARGETS]
    if named is None:
        return FrontMembers(front_options, ())
    place = f"query.{TARGETS}" if of_query else TARGETS
    if {**form.changes, **raw}.get("target") is not None:
        message = "a front is in the memories of one target or of several: give `target` or `targets`"
        issues.append(Issue("two_targets", f"$.{place}", message))
    return FrontMembers(front_options, _targets(issues, place, named))


def front_of(
    document: "Problem | Graph", members: FrontMembers, options: Options, place: str, subject: str
) -> RequestedFront:
    """The front with its defaults; InputError where there is no such front.

    `place` and `subject`: where the body says what is asked for, and where its document is.
    """
    from memstow.planner.front.find_front import parts_of

    front_options, targets = members.options, members.targets
    assert front_options is not None and targets is not None  # noqa: S101, PT018  (all issues were raised before)
    with changing_issues(lambda issue: _placed(issue, place, subject)):
        parts = parts_of(document, front_options, options, targets)
        return RequestedFront(
            front_options, targets, tuple((entry.document, entry.request) for entry in parts)
        )


def _targets(issues: list[Issue], place: str, named: object) -> "tuple[Target, ...] | None":
    """The targets by name or as documents, each with what it is called."""
    if not isinstance(named, list) or not 0 < len(named) <= MOST_TARGETS:
        message = f"name 1 to {MOST_TARGETS} targets, in a list, each by its name or as a document"
        issues.append(Issue("not_targets", f"$.{place}", message))
        return None
    targets = [
        collect(issues, f"{place}[{at}]", partial(_target, entry, at)) for at, entry in enumerate(named)
    ]
    seen: set[str] = set()
    for at, target in enumerate(targets):
        name = None if target is None else target.name
        if name in seen:
            message = f"another target is called {printable(name or '', 80)!r}; give each a name of its own"
            issues.append(Issue("repeated_target", f"$.{place}[{at}]", message))
        seen.add(name or "")
    return None if None in targets else tuple(entry for entry in targets if entry is not None)


def _target(value: object, at: int) -> "Target":
    if isinstance(value, str):
        return replace(shipped_target(value), name=value)
    target = parse_target(value)
    return target if target.name else replace(target, name=f"target {at + 1}")


def _placed(issue: Issue, place: str, subject: str) -> Issue:
    if issue.path.startswith("$"):
        return at_place(issue, subject)
    return replace(issue, path=f"$.{place}.{issue.path}")


# The formats in which a problem or a graph may have symbols.
_JSON_DOCUMENTS: Final = ("json", "graph")
NOT_FOR_SYMBOLS: Final = "it is not for problems with symbols; leave it out"
_HINT_JOB: Final = "hint_job"
# Changes of documents whose sizes are numbers.
_CHANGES_OF_NUMBERS: Final = tuple(name for name in CHANGES if name != "order")


@record
class ParsedRequest:
    """A problem to solve, with its options."""

    problem: "Problem | Graph"
    options: Options
    digest: str
    cache_key: str
    members: Mapping[str, object] = field(default_factory=dict)  # further members of the envelope
    front: RequestedFront | None = None  # the front that is asked for, in the place of a plan
    proof: bool = False  # of the plan, asked for as well

    def validated(self) -> ValidatedRequest:
        """In the form that the store keeps."""
        options = self.options
        text, key = options_to_text(options), self.cache_key
        problem = problem_of(self.problem)
        terms = problem.terms()
        if self.front is not None:
            terms = self.front.fronts[0][1].terms
            text = with_front(text, self.front.options, self.front.targets)
            key = cache_key_with_hint(key, text.encode())
        if self.proof:
            # The plan is the same, and so is its key.
            text = json.dumps({**json.loads(text), PROOF: True})
        return ValidatedRequest(
            problem=document_bytes(self.problem),
            options=text,
            hint=None if options.hint is None else formats.write_plan(problem, options.hint),
            digest=self.digest,
            cache_key=key,
            buffers=len(problem.buffers),
            name=None if problem.name is None else printable(problem.name, LONGEST_NAME),
            term=printable(terms[0], LONGEST_NAME) if terms else None,
            priority=checked_priority(self.members.get("priority", 0)),
            hint_job=self.members.get("hint_job"),
        )


@record
class SymbolicRequest:
    """A problem or graph with symbols to plan, with its options."""

    document: "SymbolicDocument"
    options: Options
    shapes: RequestedShapes
    members: Mapping[str, object] = field(default_factory=dict)  # further members of the envelope

    def validated(self) -> ValidatedRequest:
        """In the form that the store keeps."""
        # Requests about other problems do not wait for this import.
        from memstow.planner.graph.symbolic_graph import symbolic_problem_of

        document = self.document
        written, digest = write_document(document), symbolic_digest(document)
        text = with_shapes(options_to_text(self.options), self.shapes)
        # A deterministic run may depend on the order in which the problem is written.
        key = f"{digest} {sha256(written).hexdigest()}" if self.options.deterministic else digest
        return ValidatedRequest(
            problem=written,
            options=text,
            hint=None,
            digest=digest,
            cache_key=cache_key_of_parts(key, text, hint_key(None)),
            buffers=len(symbolic_problem_of(document).buffers),
            name=None if document.name is None else printable(document.name, LONGEST_NAME),
            term=printable(document.objective[0], LONGEST_NAME),
            priority=checked_priority(self.members.get("priority", 0)),
        )


def parse_request(body: bytes, form: BodyForm, limits: Limits) -> ParsedRequest | SymbolicRequest:
    """The problem and the options of a body; InputError with everything that is wrong."""
    if form.format not in (None, *_JSON_DOCUMENTS):
        name = form.format or ""
        parsed = _parse_problem_alone(lambda: read_document(body, name, form, limits), form, limits)
        if form.rewrites_model:
            require_writable(body, parsed.problem, form)
        return parsed
    content = json_value(body, limits)
    symbolic = None if form.shapes is None else _symbolic_part(content, form, limits)
    if symbolic is not None:
        return _parse_symbolic(content, symbolic, form, limits)
    alone = form.format or format_alone(content)
    if alone is not None:
        return _parse_problem_alone(lambda: document_of(content, alone, limits), form, limits)
    return _parse_envelope(content, form, limits)


def _parse_problem_alone(
    read: "Callable[[], Problem | Graph]", form: BodyForm, limits: Limits
) -> ParsedRequest:
    issues: list[Issue] = []
    problem = document_alone(issues, read, form)
    options = _options_in(issues, None, form, limits)
    _refuse_shapes(issues, "query", form.shapes or {})
    front = read_front_members(issues, form, None)
    return _with_front(_parsed(issues, problem, options, {}, form.proof), front, "query", "")


def _parse_envelope(content: object, form: BodyForm, limits: Limits) -> ParsedRequest:
    issues: list[Issue] = []
    subject = subject_of(content)
    of_front = () if form.front is None else (FRONT, TARGETS)
    of_symbols = () if form.shapes is None else SHAPES_MEMBERS
    allowed = (subject, "target", *GRAPH_MEMBERS, "options", *of_front, *of_symbols, *form.members)
    raw = {**form.changes, **envelope(issues, content, allowed, (subject,))}
    problem = document_on_target(issues, raw, subject, limits)
    options = _options_in(issues, raw, form, limits)
    front = read_front_members(issues, form, raw)
    _refuse_shapes(issues, "query", form.shapes or {})
    _refuse_shapes(issues, "", [name for name in of_symbols if name in raw])
    hint = None if options is None or front is not None else options.hint
    if hint is not None and problem is not None and not isinstance(problem, Problem):
        # Requests about problems do not wait for this import.
        from memstow.planner.graph.schedules import require_hint_of_orders

        collect(issues, "options", partial(require_hint_of_orders, problem, hint))
    members = _members_in(issues, raw, form)
    return _with_front(_parsed(issues, problem, options, members, form.proof), front, FRONT, subject)


def _symbolic_part(content: object, form: BodyForm, limits: Limits) -> object | None:
    """The problem with symbols that a body is, or has in an envelope; None for any other."""
    if form.format is None and isinstance(content, dict):
        problem = symbolic_in(content.get(subject_of(content)), limits)
        if problem is not None:
            return problem
    return content if is_symbolic(content) else None


def _parse_symbolic(content: Any, problem: object, form: BodyForm, limits: Limits) -> SymbolicRequest:
    """The request of a body that is this problem with symbols, or has it in an envelope."""
    issues: list[Issue] = []
    raw, subject = None, ""
    if problem is content:
        # Members of an envelope beside those of the problem are told as such.
        format_alone(content)
    else:
        subject = subject_of(content)
        refused = (*_CHANGES_OF_NUMBERS, *(name for name in form.members if name == _HINT_JOB))
        members = (name for name in form.members if name != _HINT_JOB)
        own = {name: value for name, value in content.items() if name not in refused}
        raw = envelope(issues, own, (subject, "order", *SHAPES_MEMBERS, "options", *members), (subject,))
        _refuse_for_symbols(issues, "", (name for name in refused if name in content))
    of_query = (name for name in form.changes if name in _CHANGES_OF_NUMBERS)
    _refuse_for_symbols(issues, "query", (*of_query, *([PROOF] if form.proof else ())))
    planned = collect(issues, subject, lambda: planned_within(symbolic_within(problem, limits)))
    if planned is not None:
        # What the envelope says comes before the query.
        holder, place = (raw, "$") if raw is not None and "order" in raw else (form.changes, "$.query")
        planned = in_operator_order(issues, planned, subject, holder.get("order"), f"{place}.order")
    options = _options_in(issues, raw, form, limits, _refuse_options_of_numbers)
    of_envelope = raw or {}
    of_shapes = {name: of_envelope[name] for name in SHAPES_MEMBERS if name in of_envelope}
    shapes = collect(
        issues, "query" if raw is None else "", lambda: parse_shapes({**(form.shapes or {}), **of_shapes})
    )
    others = _members_in(issues, of_envelope, form)
    collect(issues, "", lambda: require_symbolic(form.plan_form))
    if issues or planned is None or options is None or shapes is None:
        raise InputError(issues)
    return SymbolicRequest(document=planned, options=options, shapes=shapes, members=others)


def _options_in(
    issues: list[Issue],
    raw: Mapping[str, Any] | None,
    form: BodyForm,
    limits: Limits,
    check: Callable[[Options], None] | None = None,
) -> Options | None:
    """The options of an envelope, with those of the query behind them; without an envelope, of the query."""
    members = dict(form.options) if raw is None else raw.get("options", {})
    if raw is not None and isinstance(members, dict):
        # The body comes before the query.
        members = {**form.options, **members}

    def read() -> Options:
        options = options_within(members, limits)
        if check is not None:
            check(options)
        return options

    return collect(issues, "query" if raw is None else "options", read)


def _members_in(issues: list[Issue], raw: Mapping[str, Any], form: BodyForm) -> dict[str, object]:
    """The further members of an envelope."""
    members = {name: raw[name] for name in form.members if name in raw}
    if "priority" in members:
        collect(issues, "", lambda: checked_priority(members["priority"]))
    return members


def _refuse_for_symbols(issues: list[Issue], place: str, names: Iterable[str]) -> None:
    root = f"$.{place}" if place else "$"
    for name in names:
        instead = ", or write it into the problem" if name in CHANGES else ""
        issues.append(Issue("not_for_symbols", f"{root}.{name}", NOT_FOR_SYMBOLS + instead))


def _refuse_options_of_numbers(options: Options) -> None:
    """Refuse options that are only for problems whose sizes are numbers."""
    from memstow.planner.solve.portfolio import AUTO

    refused = {"hint": options.hint is not None, "gap": options.gap != 0, "solver": options.solver != AUTO}
    issues: list[Issue] = []
    _refuse_for_symbols(issues, "", (name for name, is_refused in refused.items() if is_refused))
    if issues:
        raise InputError(issues)


def _parsed(
    issues: list[Issue],
    problem: "Problem | Graph | None",
    options: Options | None,
    members: Mapping[str, object],
    proof: bool,
) -> ParsedRequest:
    if proof and problem is not None:
        # Other requests do not wait for this import.
        from memstow.api.operations.prove import against_proofs

        issues += [issue for issue in (against_proofs(problem),) if issue is not None]
    if issues or problem is None or options is None:
        raise InputError(issues)
    key = digest_of(problem)
    return ParsedRequest(
        problem=problem,
        options=options,
        digest=key,
        cache_key=cache_key(problem, options, key),
        members=members,
        proof=proof,
    )


def _with_front(
    parsed: ParsedRequest, members: FrontMembers | None, place: str, subject: str
) -> ParsedRequest:
    if members is None:
        return parsed
    return replace(parsed, front=front_of(parsed.problem, members, parsed.options, place, subject))


def _refuse_shapes(issues: list[Issue], place: str, names: Iterable[str]) -> None:
    message = "it is for problems with symbols, and this has none; leave it out"
    root = f"$.{place}" if place else "$"
    issues += [Issue("not_symbolic", f"{root}.{name}", message) for name in names]


def options_within(raw: object, limits: Limits) -> Options:
    """The options of a request; without a time limit, the server's where that is smaller than the default."""
    options = parse_options(raw)
    # Clients that send all options send the default.
    require_followed(options, "$.time_limit", "deterministic", "work_limit")
    if isinstance(raw, dict) and "time_limit" not in raw:
        options = replace(options, time_limit=min(options.time_limit, limits.max_time_limit))
    _check_options(options, limits)
    return options


def _check_options(options: Options, limits: Limits) -> None:
    """Refuse options that go beyond the limits of the server."""
    from memstow.planner.solve.portfolio import AUTO
    from memstow.solvers.registry import names

    seconds, workers, memory = options.time_limit, options.workers, options.memory_limit
    if seconds > limits.max_time_limit:
        raise over_limit("$.time_limit", "seconds", seconds, limits.max_time_limit, limits.time_setting)
    if workers is not None and workers > limits.max_workers:
        raise over_limit("$.workers", "threads", workers, limits.max_workers, "max_workers")
    if memory is not None and memory > limits.solve_memory:
        raise over_limit("$.memory_limit", "bytes", memory, limits.solve_memory, "solve_memory")
    solvers = (AUTO, *names(), *limits.plugins)
    if options.solver not in solvers:
        close = closest_match(options.solver, solvers)
        meant = f"did you mean {close}? " if close is not None else ""
        message = f"there is no solver {shown(options.solver)}; {meant}use one of {', '.join(solvers)}"
        raise InputError.single("unknown_solver", "$.solver", message)


# Options longer than this hold a hint; those of most requests are the same few.
_LONGEST_OPTIONS: Final = 1_000
# No option has a longer word as its value.
_LONGEST_WORD: Final = 100
_OPTIONS_KEPT: Final = 256

# A query as it is told apart: 1, 1.0 and true are equal in Python.
_Query = tuple[tuple[str, str, QueryValue], ...]


@record
class PlainBody:
    """A plain problem to solve, with its options; the digest and the key are those of the ordinary reader."""

    columns: Columns
    options: Options
    digest: str
    cache_key: str


def plain_body(body: bytes, form: BodyForm, limits: Limits) -> PlainBody | None:
    """The plain problem and the options of a body; None for any other body."""
    # Few bytes hold few values: what may hold too many is counted by the ordinary reader.
    if _asks_for_more(form) or len(body) > limits.max_values:
        return None
    read = _columns_and_options(body, form)
    if read is None or len(read[0]) > limits.max_buffers:
        return None
    columns, text = read
    query: _Query = tuple((name, type(value).__name__, value) for name, value in form.options.items())
    options_read = _options(text, query, limits)
    if options_read is None:
        return None
    options, written = options_read
    name = digest(columns)
    key = cache_key_of_parts(name, written, hint_key(None))
    return PlainBody(columns=columns, options=options, digest=name, cache_key=key)


def _asks_for_more(form: BodyForm) -> bool:
    """Whether the request changes the problem, or asks for anything else than a plan of it."""
    return bool(form.changes or form.dims or form.shapes or form.members) or form.front is not None


def _columns_and_options(body: bytes, form: BodyForm) -> tuple[Columns, bytes] | None:
    if form.format is None and not looks_like_json(body):
        return None
    columns = columns_in(body, form.format)
    if columns is not None:
        return columns, b""
    return columns_and_options_in(body) if form.format is None else None


def _options(text: bytes, query: _Query, limits: Limits) -> tuple[Options, str] | None:
    """The options and what of them is part of the cache key; None for what columns do not take."""
    short = all(len(value) <= _LONGEST_WORD for _, _, value in query if isinstance(value, str))
    return _known_options(text, query, limits) if short and len(text) <= _LONGEST_OPTIONS else None


@lru_cache(_OPTIONS_KEPT)
def _known_options(text: bytes, query: _Query, limits: Limits) -> tuple[Options, str] | None:
    try:
        members = json_value(text, limits) if text else {}
        if not isinstance(members, dict):
            return None
        options = options_within({**{name: value for name, _, value in query}, **members}, limits)
    except InputError:
        return None
    # What is deterministic may depend on how the problem is written.
    return (options, options_to_text(options)) if takes(options) and not options.deterministic else None
