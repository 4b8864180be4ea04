"""The operations of the service, by name: carried out in this process or in a child."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from memstow.api.operations import plan_forms
from memstow.api.operations.batch import read_batch
from memstow.api.operations.body import ParsedRequest, parse_request
from memstow.api.operations.body_documents import (
    GRAPH_MEMBERS,
    document_on_target,
    has_symbols,
    parse_described_body,
    parse_document_body,
    programs_within,
    symbolic_to_judge,
)
from memstow.api.operations.encoding import document_from, plan_from_bytes, symbolic_from
from memstow.api.operations.envelope import collect, envelope, json_value, subject_of
from memstow.api.operations.plan_forms import model_with_plan, plan_in_model
from memstow.api.operations.request_types import (
    BodyForm,
    BuildRequest,
    ConvertRequest,
    Document,
    EvaluateRequest,
    InspectRequest,
    ProveRequest,
    ProveResult,
    ReadBatchRequest,
    ReadRequest,
    RewritePlanRequest,
    SolveFrontRequest,
    SolveRequest,
    SolveResult,
    SolveSymbolicRequest,
    TileRequest,
    ValidatedBatch,
    ValidatedRequest,
    VerifyRequest,
    WriteFrontRequest,
    WriteSymbolicPlanRequest,
    decode,
    encode,
)
from memstow.api.operations.solve import OnUpdate, solve
from memstow.planner import formats
from memstow.planner.graph.documents import labels_in, problem_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import ExhaustedWindow, Plan
from memstow.planner.model.problem import MOVES, Problem, choice_count, parse_term
from memstow.planner.processes.frames import Message
from memstow.planner.reading.parse import parse_plan
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.front.front_request import FrontRequest
    from memstow.planner.model.graph import Graph

NO_PAGE_OF_TILING: Final = "the page draws plans, and this is a tiling; leave it out"
NO_RECHECK: Final = "plans of problems with symbols cannot be checked by solving again; leave it out"


Q = TypeVar("Q")
R = TypeVar("R")


@record
class Operation(Generic[Q, R]):
    """One operation: its name between processes, and the types of its request and its result."""

    name: str
    request: type[Q]
    result: type[R]


@record
class Answer(Operation[Q, R]):
    """An operation that answers at once, in this process where the problem is small."""

    perform: Callable[[Q, int | None], R]
    """Carries it out; TooManyChoicesError when the problem has more choices than this number."""


@record
class Search(Operation[Q, R]):
    """An operation that searches for long, and tells what it finds on the way."""

    run: Callable[[Q, OnUpdate, threading.Event], R]
    """Carries it out until it ends, or the event is set."""


class TooManyChoicesError(Exception):
    """The problem takes too long for this process."""


def warm_up() -> None:
    """Import the modules that requests need, before the first one comes."""
    from memstow.planner import verify
    from memstow.planner.show import survey
    from memstow.planner.solve import engine

    _ = (engine, survey, verify)


def perform_by_name(name: str, message: Message, on_update: OnUpdate, cancel: threading.Event) -> Message:
    """Carry out an operation for another process: request and result are messages."""
    operation = OPERATIONS[name]
    request = decode(operation.request, message)
    if isinstance(operation, Search):
        return encode(operation.run(request, on_update, cancel))
    return encode(operation.perform(request, None))


def _solve_front(request: SolveFrontRequest, on_update: OnUpdate, cancel: threading.Event) -> SolveResult:
    # Requests for plans do not wait for this import.
    from memstow.api.operations.front_solve import solve_front

    return solve_front(request, on_update, cancel)


def _solve_symbolic(
    request: SolveSymbolicRequest, on_update: OnUpdate, cancel: threading.Event
) -> SolveResult:
    # Requests about other problems do not wait for this import.
    from memstow.api.operations.symbolic_solve import solve_symbolic

    return solve_symbolic(request, on_update, cancel)


def _prove(request: ProveRequest, _on_update: OnUpdate, cancel: threading.Event) -> ProveResult:
    # Requests for plans do not wait for this import.
    from memstow.api.operations.prove import prove

    return prove(request, cancel)


def _write_symbolic_plan(request: WriteSymbolicPlanRequest, most_choices: int | None) -> Document:
    from memstow.planner.formats.native import read_symbolic_plan

    plan_forms.require_symbolic(request.to)
    # The formulas are examined again.
    _require_own_process(most_choices)
    plan = read_symbolic_plan(request.plan)
    if request.to == plan_forms.PAGE:
        from memstow.planner.show.symbolic_view import symbolic_verdict_document

        document = symbolic_verdict_document(symbolic_from(request.problem), plan, "service")
        return Document(document, plan_forms.PAGE)
    if plan.status not in PLANNED:
        return Document(request.plan, "json")
    return Document(plan_forms.write_symbolic(symbolic_from(request.problem), plan, request.to), request.to)


def _write_front(request: WriteFrontRequest, most_choices: int | None) -> Document:
    from memstow.planner.front.front_documents import read_front, write_front

    if request.to == plan_forms.PAGE:
        if most_choices is not None:
            # It makes a graph of each plan.
            raise TooManyChoicesError
        from memstow.api.operations.front_solve import document_for_page

        return Document(document_for_page(request), "json")
    return Document(write_front(read_front(request.front), request.to), request.to)


def _read(request: ReadRequest, most_choices: int | None) -> ValidatedRequest:
    _require_no_model(request.form, most_choices)
    if request.form.shapes is not None and b'"symbols"' in request.body:
        # Formulas may take long to examine.
        _require_own_process(most_choices)
    compares = request.form.front is not None and b'"targets"' in request.body
    if most_choices is not None and (compares or request.form.targets is not None):
        # The document is read once for each of them.
        raise TooManyChoicesError
    parsed = parse_request(request.body, request.form, request.limits)
    if isinstance(parsed, ParsedRequest) and parsed.front is not None:
        for document, front in parsed.front.fronts:
            _require_willing(document, front, most_choices)
    return parsed.validated()


def _require_willing(document: "Problem | Graph", front: "FrontRequest", most_choices: int | None) -> None:
    """Refuse a solver that would refuse the front; to find out takes longer the more choices there are."""
    from memstow.planner.solve.portfolio import AUTO

    if front.options.solver == AUTO:
        return
    _require_few(problem_of(document), most_choices)
    from memstow.planner.front.find_front import require_willing_solver

    require_willing_solver(document, front)


def _read_batch(request: ReadBatchRequest, _most_choices: int | None) -> ValidatedBatch:
    return read_batch(request.body, request.limits)


def _verify(request: VerifyRequest, most_choices: int | None) -> Document:
    from memstow.api.operations.tools import verdict_on_tilings
    from memstow.planner.verify import judge
    from memstow.planner.verify.verdict import as_data

    _require_no_model(request.form, most_choices)
    content = None if request.form.is_model else json_value(request.body, request.limits)
    if request.for_page and (
        request.recheck_seconds is not None or (isinstance(content, dict) and content.get("hint") is not None)
    ):
        raise InputError.single("no_page", "query.output_format", "it is for no `hint` and no `recheck`")
    if has_symbols(content):
        # Few buffers can be much to judge: sizes are looked at over whole ranges.
        _require_own_process(most_choices)
        return _verify_symbolic(request, content)
    if isinstance(content, dict) and "tiling" in content:
        # Many tiles are looked at, which no number of choices tells.
        _require_own_process(most_choices)
        if request.for_page:
            raise InputError.single("no_page", "query.output_format", NO_PAGE_OF_TILING)
        return _json_document(verdict_on_tilings(request, content))
    problem, plan, hint = _to_judge(request, content)
    _require_few(problem_of(problem), most_choices)
    if any(isinstance(claim.certificate, ExhaustedWindow) for claim in plan.objective):
        # The judge searches the window itself, for a second or two.
        _require_own_process(most_choices)
    is_used = any(parse_term(entry.term) == MOVES for entry in plan.objective)
    if hint is not None and request.recheck_seconds is None and not is_used:
        message = "the term `moves` is counted against it, which this plan does not have; leave it out"
        raise InputError.single("unused_option", "$.hint", message)
    if request.for_page:
        from memstow.planner.show.view_document import verdict_document

        return Document(verdict_document(problem, problem_of(problem, plan), plan, "file"), "json")
    verdict = judge(problem, plan, hint)
    programs = programs_within(content)
    if programs is not None:
        from memstow.planner.verify.program_plans import judged_apart

        verdict = judged_apart(programs, problem_of(problem), plan, verdict)
    if request.recheck_seconds is not None:
        from memstow.planner.solve.recheck import recheck

        verdict = recheck(problem, plan, verdict, request.recheck_seconds, hint)
    return _json_document(as_data(verdict))


def _verify_symbolic(request: VerifyRequest, content: object) -> Document:
    from memstow.planner.verify import judge
    from memstow.planner.verify.verdict import as_data

    if request.recheck_seconds is not None:
        raise InputError.single("no_recheck", "query.recheck", NO_RECHECK)
    problem, plan = symbolic_to_judge(content, request.limits)
    if request.for_page:
        from memstow.planner.show.symbolic_view import symbolic_verdict_document

        return Document(symbolic_verdict_document(problem, plan, "file"), "json")
    return _json_document(as_data(judge(problem, plan)))


def _to_judge(request: VerifyRequest, content: object) -> "tuple[Problem | Graph, Plan, Plan | None]":
    """The problem, its plan, and the hint; of a model the plan that it carries."""
    if request.form.is_model:
        return (
            parse_document_body(request.body, request.form, request.limits),
            plan_in_model(request.body),
            None,
        )
    issues: list[Issue] = []
    subject = subject_of(content)
    allowed = (subject, "target", *GRAPH_MEMBERS, "plan", "hint")
    raw = envelope(issues, content, allowed, (subject, "plan"))
    problem = document_on_target(issues, raw, subject, request.limits)
    plan = _plan_of(issues, raw, "plan", problem)
    hint = None if raw.get("hint") is None else _plan_of(issues, raw, "hint", problem)
    if issues or problem is None or plan is None:
        raise InputError(issues)
    return problem, plan, hint


def _plan_of(
    issues: list[Issue], raw: Mapping[str, Any], member: str, problem: "Problem | Graph | None"
) -> Plan | None:
    """The plan in this member of an envelope: native, one for each program, or a text in another format."""

    def read() -> Plan:
        value = raw[member]
        if isinstance(value, str) and problem is not None:
            return formats.read_plan(value.encode("utf-8", "surrogatepass"), problem_of(problem))
        if problem is not None and formats.is_programs(value):
            return formats.read_plan(json.dumps(value).encode(), problem_of(problem), "programs")
        return parse_plan(value)

    return collect(issues, member, read) if member in raw else None


def _inspect(request: InspectRequest, most_choices: int | None) -> Document:
    from memstow.planner.show.survey import facts

    _require_no_model(request.form, most_choices)
    document, usage = parse_described_body(request.body, request.form, request.limits)
    problem = problem_of(document)
    _require_few(problem, most_choices)
    if request.without:
        from memstow.planner.explain.shortfall import without_buffers

        problem = without_buffers(problem, set(request.without))
    report = facts(problem, request.rows, labels_in(document))
    if not isinstance(document, Problem):
        from memstow.planner.show.graph_survey import graph_facts

        report = {"graph": graph_facts(document, request.rows), **report}
    if usage is not None:
        from memstow.planner.show.recording_report import usage_facts

        report = {"recorded": usage_facts(usage, request.rows), **report}
    if request.needs_seconds is not None:
        from memstow.planner.explain.needs import as_data, needs

        report["needs"] = as_data(needs(problem, request.needs_seconds))
    return _json_document(report)


def _convert(request: ConvertRequest, most_choices: int | None) -> Document:
    from memstow.planner.graph.changes import ONLY_GRAPHS, with_channels

    _require_no_model(request.form, most_choices)
    as_listed = request.to != "graph"
    document = parse_document_body(request.body, request.form, request.limits, as_listed=as_listed)
    problem = problem_of(document)
    _require_few(problem, most_choices)
    if request.to != "graph":
        if request.channels:
            raise InputError.single("unused_option", "query.channels", ONLY_GRAPHS)
        return Document(formats.write_problem(problem, request.to), request.to)
    if isinstance(document, Problem):
        message = "the format 'graph' is for graphs, and this is a problem: its operators are not known"
        raise InputError.single("not_a_graph", "query.to", message)
    return Document(
        formats.write_graph(with_channels(document) if request.channels else document), request.to
    )


def _tile(request: TileRequest, most_choices: int | None) -> Document:
    if most_choices is not None:
        # It looks at many combinations, which no number of choices tells.
        raise TooManyChoicesError
    from memstow.api.operations.tools import tiles_of

    return _json_document(tiles_of(request))


def _build(request: BuildRequest, most_choices: int | None) -> Document:
    # Bytes that nobody vouches for are read, and a front is searched.
    _require_own_process(most_choices)
    from memstow.api.operations.tools import program_of

    return program_of(request)


def _evaluate(request: EvaluateRequest, most_choices: int | None) -> Document:
    if most_choices is not None:
        # Formulas may have to be looked at for very many values, which their number does not tell.
        raise TooManyChoicesError
    from memstow.api.operations.tools import plan_at_values

    return plan_at_values(request)


def _rewrite_plan(request: RewritePlanRequest, most_choices: int | None) -> Document:
    plan = plan_from_bytes(request.plan)
    if plan.status not in PLANNED and request.to != plan_forms.PAGE:
        return Document(request.plan, "json")
    if request.to.partition("?")[0] == plan_forms.MODEL:
        if most_choices is not None:
            # Bytes that nobody vouches for are read in a process of their own.
            raise TooManyChoicesError
        model = model_with_plan(request.model or b"", plan, plan_forms.flags_of(request.to))
        return Document(model, plan_forms.MODEL)
    document = document_from(request.problem)
    problem = problem_of(document, plan)
    _require_few(problem, most_choices)
    if most_choices is not None and plan_forms.takes_long(problem, request.to):
        raise TooManyChoicesError
    return Document(plan_forms.write(document, plan, request.to), request.to)


def _require_no_model(form: BodyForm, most_choices: int | None) -> None:
    """Leave models to a process of their own: nobody vouches for their bytes, and native code reads some."""
    if form.is_model:
        _require_own_process(most_choices)


def _require_own_process(most_choices: int | None) -> None:
    if most_choices is not None:
        raise TooManyChoicesError


def _require_few(problem: Problem, most_choices: int | None) -> None:
    if most_choices is not None and choice_count(problem) > most_choices:
        raise TooManyChoicesError


def _json_document(data: object) -> Document:
    return Document(json.dumps(data).encode(), "json")


SOLVE: Final = Search("solve", SolveRequest, SolveResult, solve)
READ: Final = Answer("read", ReadRequest, ValidatedRequest, _read)
READ_BATCH: Final = Answer("read_batch", ReadBatchRequest, ValidatedBatch, _read_batch)
VERIFY: Final = Answer("verify", VerifyRequest, Document, _verify)
INSPECT: Final = Answer("inspect", InspectRequest, Document, _inspect)
CONVERT: Final = Answer("convert", ConvertRequest, Document, _convert)
TILE: Final = Answer("tile", TileRequest, Document, _tile)
BUILD: Final = Answer("build", BuildRequest, Document, _build)
EVALUATE: Final = Answer("evaluate", EvaluateRequest, Document, _evaluate)
REWRITE_PLAN: Final = Answer("rewrite_plan", RewritePlanRequest, Document, _rewrite_plan)

PROVE: Final = Search("prove", ProveRequest, ProveResult, _prove)
SOLVE_FRONT: Final = Search("solve_front", SolveFrontRequest, SolveResult, _solve_front)
WRITE_FRONT: Final = Answer("write_front", WriteFrontRequest, Document, _write_front)
SOLVE_SYMBOLIC: Final = Search("solve_symbolic", SolveSymbolicRequest, SolveResult, _solve_symbolic)
WRITE_SYMBOLIC_PLAN: Final = Answer(
    "write_symbolic_plan", WriteSymbolicPlanRequest, Document, _write_symbolic_plan
)

OPERATIONS: Final[Mapping[str, Answer[Any, Any] | Search[Any, Any]]] = {
    entry.name: entry
    for entry in (
        SOLVE,
        PROVE,
        SOLVE_FRONT,
        READ,
        READ_BATCH,
        VERIFY,
        INSPECT,
        CONVERT,
        TILE,
        BUILD,
        EVALUATE,
        REWRITE_PLAN,
        WRITE_FRONT,
        SOLVE_SYMBOLIC,
        WRITE_SYMBOLIC_PLAN,
    )
}
