"""Reads the body of a request to plan a problem with symbols: alone, or in an envelope."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from memstow.api.operations import plan_forms
from memstow.api.operations.body import (
    LONGEST_NAME,
    checked_priority,
    envelope,
    format_alone,
    options_within,
)
from memstow.api.operations.body_issues import collect
from memstow.api.operations.encoding import cache_key_of_parts, hint_key, options_to_text
from memstow.api.operations.graph_members import CHANGES
from memstow.api.operations.requests import BodyForm, Limits
from memstow.api.operations.results import ValidatedRequest
from memstow.api.operations.symbolic_limits import planned_within, symbolic_within
from memstow.api.operations.symbolic_options import SHAPES_MEMBERS, ShapesAsked, parse_shapes, with_shapes
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.symbolic import SymbolicProblem, digest_symbolic
from memstow.planner.reading.printable import printable
from memstow.planner.shapes.symbolic_documents import write_symbolic
from memstow.planner.solve.portfolio import AUTO

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
