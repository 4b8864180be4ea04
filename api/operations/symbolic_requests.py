"""Problems with symbols in requests: read within limits, and planned with better plans told on the way."""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations import plan_forms
from memstow.api.operations.body import LONGEST_NAME, checked_priority, envelope, format_alone, options_within
from memstow.api.operations.body_parts import CHANGES, collect, over_limit
from memstow.api.operations.encoding import (
    SHAPES_MEMBERS,
    ShapesAsked,
    cache_key_of_parts,
    hint_key,
    options_from_text,
    options_to_text,
    parse_shapes,
    shapes_in,
    with_shapes,
)
from memstow.api.operations.request_types import (
    BodyForm,
    Limits,
    SolveResult,
    SolveSymbolicRequest,
    ValidatedRequest,
)
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem, digest_symbolic, points_of
from memstow.planner.reading.printable import printable
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.point_plans import better
from memstow.planner.shapes.symbolic_documents import (
    parse_symbolic,
    read_symbolic,
    read_symbolic_plan,
    write_symbolic,
    write_symbolic_plan,
)
from memstow.planner.solve.portfolio import AUTO
from memstow.planner.verify.symbolic_verdict import judge_symbolic

# What a process examines in some tens of seconds, however the formulas are made.
_MOST_CHARACTERS: Final = 4_000_000
# The same for the problems at all points, each of which is planned.
_MOST_ROWS: Final = 2_000_000
_LISTS: Final = ("buffers", "tensors", "operators")


def symbolic_within(raw: object, limits: Limits) -> SymbolicProblem:
    """The problem with symbols that a JSON value describes; what is too much is told before it is read."""
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
    return parse_symbolic(raw)


def planned_within(problem: SymbolicProblem) -> SymbolicProblem:
    """The problem, if planning it at each of its points is not too much."""
    rows = len(problem.buffers) * len(points_of(problem))
    if rows > _MOST_ROWS:
        message = (
            f"the buffers at all points are {rows:,}, and at most {_MOST_ROWS:,} are taken; give fewer points"
        )
        raise InputError.single("too_large", "$.points", message)
    return problem


def _listed(raw: object, name: str) -> Iterator[object]:
    found = raw.get(name) if isinstance(raw, dict) else None
    return iter(found) if isinstance(found, list) else iter(())


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


NOT_FOR_SYMBOLS: Final = "it is not for problems with symbols; leave it out"
_HINT_JOB: Final = "hint_job"


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicRequest:
    """A problem with symbols to plan, with its options."""

    problem: SymbolicProblem
    options: Options
    asked: ShapesAsked
    members: Mapping[str, object] = field(default_factory=dict)  # further members of the envelope

    def validated(self) -> ValidatedRequest:
        """In the form that the store keeps."""
        problem = self.problem
        written, digest = write_symbolic(problem), digest_symbolic(problem)
        text = with_shapes(options_to_text(self.options), self.asked)
        # A deterministic run may depend on the order in which the problem is written.
        key = f"{digest} {sha256(written).hexdigest()}" if self.options.deterministic else digest
        return ValidatedRequest(
            problem=written,
            options=text,
            hint=None,
            digest=digest,
            cache_key=cache_key_of_parts(key, text, hint_key(None)),
            buffers=len(problem.buffers),
            name=None if problem.name is None else printable(problem.name, LONGEST_NAME),
            term=printable(problem.objective[0], LONGEST_NAME),
            priority=checked_priority(self.members.get("priority", 0)),
        )


def parse_symbolic_alone(content: object, form: BodyForm, limits: Limits) -> SymbolicRequest:
    """The request of a body that is a problem with symbols; InputError with everything that is wrong."""
    # Members of an envelope beside those of the problem are told as such.
    format_alone(content)
    issues: list[Issue] = []
    problem = collect(issues, "", lambda: planned_within(symbolic_within(content, limits)))
    _refuse_changes(issues, "query", form.changes)
    options = collect(issues, "query", lambda: _options_within(dict(form.options), limits))
    asked = collect(issues, "query", lambda: parse_shapes(form.shapes or {}))
    return _parsed(issues, problem, options, asked, form, {})


def parse_symbolic_envelope(
    content: Mapping[str, Any], subject: str, raw_problem: object, form: BodyForm, limits: Limits
) -> SymbolicRequest:
    """The request of an envelope whose problem or graph, read from a text if it is one, has symbols."""
    issues: list[Issue] = []
    members = [name for name in form.members if name != _HINT_JOB]
    refused = (*CHANGES, *(name for name in form.members if name == _HINT_JOB))
    allowed = (subject, *SHAPES_MEMBERS, "options", *members)
    given = {name: value for name, value in content.items() if name not in refused}
    raw = envelope(issues, given, allowed, (subject,))
    _refuse_changes(issues, "", {name: content[name] for name in refused if name in content})
    _refuse_changes(issues, "query", form.changes)
    problem = collect(issues, subject, lambda: planned_within(symbolic_within(raw_problem, limits)))
    options = raw.get("options", {})
    if isinstance(options, dict):
        # The body comes before the query.
        options = {**form.options, **options}
    read_options = collect(issues, "options", lambda: _options_within(options, limits))
    shapes = {**(form.shapes or {}), **{name: raw[name] for name in SHAPES_MEMBERS if name in raw}}
    asked = collect(issues, "", lambda: parse_shapes(shapes))
    others = {name: raw[name] for name in members if name in raw}
    if "priority" in others:
        collect(issues, "", lambda: checked_priority(others["priority"]))
    return _parsed(issues, problem, read_options, asked, form, others)


def _parsed(
    issues: list[Issue],
    problem: SymbolicProblem | None,
    options: Options | None,
    asked: ShapesAsked | None,
    form: BodyForm,
    members: Mapping[str, object],
) -> SymbolicRequest:
    collect(issues, "", lambda: plan_forms.require_symbolic(form.plan_form))
    if issues or problem is None or options is None or asked is None:
        raise InputError(issues)
    return SymbolicRequest(problem=problem, options=options, asked=asked, members=members)


def _refuse_changes(issues: list[Issue], place: str, given: Mapping[str, object]) -> None:
    root = f"$.{place}" if place else "$"
    for name in given:
        instead = ", or write it into the problem" if name in CHANGES else ""
        issues.append(Issue("not_for_symbols", f"{root}.{name}", NOT_FOR_SYMBOLS + instead))


def _options_within(raw: object, limits: Limits) -> Options:
    options = options_within(raw, limits)
    refused = {"hint": options.hint is not None, "gap": options.gap != 0, "solver": options.solver != AUTO}
    issues: list[Issue] = []
    _refuse_changes(issues, "", {name: None for name, given in refused.items() if given})
    if issues:
        raise InputError(issues)
    return options


if TYPE_CHECKING:
    from memstow.api.operations.solve import OnUpdate

# Of a long search: this long for a first plan, which is at most one in so many of its seconds.
_FIRST_SECONDS: Final = 1.0
_FIRST_PART: Final = 15.0
_PROVEN: Final = (Status.OPTIMAL, Status.INFEASIBLE)


def solve_symbolic(
    request: SolveSymbolicRequest, on_update: "OnUpdate", cancel: threading.Event
) -> SolveResult:
    """Plan with the whole time limit; never worse than the plan of an earlier attempt at the same job."""
    problem = read_symbolic(request.problem)
    options = options_from_text(request.options, None)
    asked = shapes_in(request.options)
    # A deterministic run must not depend on how far an earlier one came.
    best = None if options.deterministic else _known(problem, request.known_plan)
    if best is not None and best.status in _PROVEN:
        return result_of(best)

    def on_better(plan: SymbolicPlan) -> None:
        nonlocal best
        if plan.status in PLANNED and (best is None or better(problem, plan, best)):
            best = plan
            on_update(result_of(plan))

    def planned(options: Options) -> SymbolicPlan:
        return plan_symbolic(
            problem,
            options,
            shapes=asked.shapes,
            pieces=asked.pieces,
            on_event=on_update,
            on_better=on_better,
            cancel=cancel,
        )

    begin = time.monotonic()
    first = None
    if best is None and not options.deterministic and options.time_limit > _FIRST_SECONDS * _FIRST_PART:
        # A long search looks at the points for long before it has a plan: one that can be used comes first.
        first = planned(replace(options, time_limit=_FIRST_SECONDS))
        if first.status in _PROVEN or cancel.is_set():
            return result_of(first)
        on_better(first)
        options = replace(options, time_limit=options.time_limit - (time.monotonic() - begin))
    plan = planned(options)
    if best is not None and better(problem, best, plan):
        plan = best
    if first is not None:
        plan = replace(plan, seconds=round(time.monotonic() - begin, 6))
    return result_of(plan)


def result_of(plan: SymbolicPlan) -> SolveResult:
    """A plan as its bytes, with the figures that the job table has of it: of its first point."""
    first = plan.points[0] if plan.points else None
    return SolveResult(
        plan=write_symbolic_plan(plan),
        status=plan.status.value,
        value=None if first is None else first.peak,
        bound=None if first is None else first.least,
        peak=None,
        solver=None if plan.solver is None else printable(plan.solver, LONGEST_NAME),
    )


def result_in(body: bytes) -> SolveResult:
    """The same of a plan from the store."""
    return result_of(read_symbolic_plan(body))


def _known(problem: SymbolicProblem, body: bytes | None) -> SymbolicPlan | None:
    """The plan of an earlier attempt, if the judge accepts it."""
    if body is None:
        return None
    try:
        plan = read_symbolic_plan(body)
    except InputError:
        return None
    return None if judge_symbolic(problem, plan).violations else plan
