"""What can be asked of memstow, as functions of JSON values and bytes: in a child when they are large."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, Final, Generic, TypeVar

from memstow.api.operations.body import (
    LONGEST_NAME,
    Asked,
    Form,
    Limits,
    envelope,
    gathered,
    json_of,
    plan_of,
    problem_of,
    read_asked,
    read_batch,
    read_problem,
    targeted,
    written_options,
)
from memstow.api.operations.body_form import format_alone
from memstow.api.operations.buffer_order import in_order
from memstow.api.operations.results import (
    Accepted,
    AcceptedBatch,
    Document,
    Result,
    Solved,
    accepted_of,
    batch_of,
    document_of,
    event_message,
)
from memstow.api.operations.solve import OnEvent, at_length, briefly, preferred
from memstow.planner import formats
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.events import Event
from memstow.planner.model.options import Options
from memstow.planner.model.plan import PLANNED, Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.processes.frames import Message
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_options, parse_plan, parse_problem
from memstow.planner.reading.printable import printable

Values = Mapping[str, Any]
_Returned = TypeVar("_Returned", bound=Result)
Tell = Callable[[Message], None]


def warm() -> None:
    """Import what a request will need, before there is one."""
    from memstow.planner import verify
    from memstow.planner.show import survey
    from memstow.planner.solve import engine

    _ = (engine, survey, verify)


@dataclass(frozen=True, slots=True)
class Operation(Generic[_Returned]):
    """What can be asked: how it is done here, and how its result is read where a child did it."""

    name: str
    perform: Callable[[Values], _Returned]
    result_of: Callable[[Message], _Returned]


def run(what: str, arguments: Values, tell: Tell, cancel: threading.Event) -> Message:
    """One operation by name, for another process."""
    if what == "solve":
        return solve(arguments, tell, cancel).as_message()
    result: Result = _OPERATIONS[what].perform(arguments)
    return result.as_message()


def solve(arguments: Values, tell: Tell, cancel: threading.Event) -> Solved:
    """The plan of a run of any length; better plans and events are told on the way."""
    problem = parse_problem(parse_json(arguments["problem"]))
    options = _options(arguments["options"], arguments["hint"])
    known = None if arguments["known"] is None else plan_of(arguments["known"])

    def on_plan(plan: Plan) -> None:
        tell({"kind": "plan", **described(problem, plan).as_message()})

    def on_event(event: Event) -> None:
        tell({"kind": "event", **event_message(event)})

    return described(problem, at_length(problem, options, known, on_plan, on_event, cancel))


def at_once(
    problem: bytes, options: str, hint: bytes | None, known: bytes | None, seconds: float, on_event: OnEvent
) -> tuple[Solved | None, bool]:
    """What a short attempt in this process finds, and whether it is the answer; events are told."""
    given = parse_problem(parse_json(problem))
    read_options = _options(options, hint)
    plan, whole = briefly(given, read_options, seconds, on_event)
    if plan is None or (plan.status is Status.UNKNOWN and not whole):
        return None, False
    if plan.status is not Status.INFEASIBLE and not read_options.deterministic:
        plan = preferred(given, plan, None if known is None else plan_of(known))
    return described(given, plan), whole


def _options(options: str, hint: bytes | None) -> Options:
    raw = json.loads(options)
    if hint is not None:
        raw["hint"] = json.loads(hint)
    return parse_options(raw)


def described(problem: Problem, plan: Plan) -> Solved:
    """A plan as its bytes, and what the job table says of it."""
    first = plan.objective[0] if plan.objective else None
    found = plan.status in PLANNED
    return Solved(
        plan=formats.write_plan(problem, in_order([buffer.id for buffer in problem.buffers], plan)),
        status=plan.status.value,
        value=first.value if first else None,
        bound=first.bound if first else None,
        peak=sum(use.peak for use in plan.pools) if found else None,
        solver=None if plan.solver is None else printable(plan.solver, LONGEST_NAME),
    )


def read(arguments: Values) -> Accepted:
    """A request to solve, as the store keeps it."""
    return kept(read_asked(_body(arguments), _form(arguments), _limits(arguments)))


def read_many(arguments: Values) -> AcceptedBatch:
    """A batch, as the store keeps it."""
    batch = read_batch(_body(arguments), _limits(arguments))
    jobs = tuple(replace(kept(asked), name=name, setting=setting) for asked, name, setting in batch.jobs)
    return AcceptedBatch(batch.name, batch.priority, jobs)


def kept(asked: Asked) -> Accepted:
    """A request to solve, as the store keeps it."""
    problem, options = asked.problem, asked.options
    terms = problem.terms()
    return Accepted(
        problem=formats.write_problem(problem),
        options=written_options(options),
        hint=None if options.hint is None else formats.write_plan(problem, options.hint),
        digest=asked.digest,
        cache_key=asked.cache_key,
        buffers=len(problem.buffers),
        name=None if problem.name is None else printable(problem.name, LONGEST_NAME),
        term=printable(terms[0], LONGEST_NAME) if terms else None,
        priority=asked.members.get("priority", 0),
        hint_job=asked.members.get("hint_job"),
    )


def verify(arguments: Values) -> Document:
    """The verdict on a plan from anyone."""
    from memstow.planner.verify import judge
    from memstow.planner.verify.verdict import as_data

    issues: list[Issue] = []
    raw = envelope(issues, _json(arguments), ("problem", "target", "plan", "hint"), ("problem", "plan"))
    problem = targeted(issues, raw, lambda: _problem(raw["problem"], arguments))
    plan = _part(raw, "plan", issues, lambda it: _plan(it, problem)) if "plan" in raw else None
    hint = _part(raw, "hint", issues, lambda it: _plan(it, problem)) if raw.get("hint") is not None else None
    if issues or problem is None or plan is None:
        raise InputError(issues)
    verdict = judge(problem, plan, hint)
    if arguments["recheck"] is not None:
        from memstow.planner.solve.recheck import recheck

        verdict = recheck(problem, plan, verdict, arguments["recheck"], hint)
    return Document(json.dumps(as_data(verdict)).encode(), "json")


def inspect(arguments: Values) -> Document:
    """What is in a problem."""
    from memstow.planner.show.survey import facts

    problem = _alone(arguments)
    told = facts(problem, arguments["rows"])
    if arguments["needs"] is not None:
        from memstow.planner.explain.needs import as_data, needs

        told["needs"] = as_data(needs(problem, arguments["needs"]))
    return Document(json.dumps(told).encode(), "json")


def convert(arguments: Values) -> Document:
    """A problem in another format."""
    problem = _alone(arguments)
    return Document(formats.write_problem(problem, arguments["to"]), arguments["to"])


def rewrite_plan(arguments: Values) -> Document:
    """A plan of ours in another format."""
    problem = parse_problem(parse_json(arguments["problem"]))
    plan = plan_of(arguments["plan"])
    return Document(formats.write_plan(problem, plan, arguments["to"]), arguments["to"])


READ: Final = Operation("read", read, accepted_of)
READ_MANY: Final = Operation("read_many", read_many, batch_of)
VERIFY: Final = Operation("verify", verify, document_of)
INSPECT: Final = Operation("inspect", inspect, document_of)
CONVERT: Final = Operation("convert", convert, document_of)
REWRITE_PLAN: Final = Operation("rewrite_plan", rewrite_plan, document_of)

_OPERATIONS: Final[Mapping[str, Operation[Any]]] = {
    it.name: it for it in (READ, READ_MANY, VERIFY, INSPECT, CONVERT, REWRITE_PLAN)
}


def _alone(arguments: Values) -> Problem:
    """The problem of a body that holds nothing else, or our envelope around it."""
    form, limits = _form(arguments), _limits(arguments)
    if form.format is not None:
        return read_problem(_body(arguments), form.format, limits)
    issues: list[Issue] = []
    content = _json(arguments)
    alone = format_alone(content)
    if alone is not None:
        return read_problem(_body(arguments), alone, limits)
    raw = envelope(issues, content, ("problem", "target"), ("problem",))
    problem = targeted(issues, raw, lambda: _problem(raw["problem"], arguments))
    if issues or problem is None:
        raise InputError(issues)
    return problem


def _part(raw: dict[str, Any], name: str, issues: list[Issue], read_it: Callable[[Any], Any]) -> Any:
    return gathered(issues, name, lambda: read_it(raw[name]))


def _problem(raw: object, arguments: Values) -> Problem:
    return problem_of(raw, _limits(arguments))


def _plan(raw: object, problem: Problem | None) -> Plan | None:
    if isinstance(raw, str) and problem is not None:
        return formats.read_plan(raw.encode("utf-8", "surrogatepass"), problem)
    return parse_plan(raw)


def _json(arguments: Values) -> object:
    return json_of(_body(arguments), _limits(arguments))


def _body(arguments: Values) -> bytes:
    body: bytes = arguments["body"]
    return body


def _form(arguments: Values) -> Form:
    form = arguments["form"]
    return form if isinstance(form, Form) else Form(**{**form, "members": tuple(form["members"])})


def _limits(arguments: Values) -> Limits:
    limits = arguments["limits"]
    return limits if isinstance(limits, Limits) else Limits(**limits)


def travelling(arguments: Values) -> Message:
    """Arguments as a message can carry them."""

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return value

    return {name: plain(value) for name, value in arguments.items()}


def issues_of(listed: Sequence[Sequence[str]]) -> InputError:
    """The error that a child told of."""
    return InputError(Issue(code, path, message) for code, path, message in listed)
