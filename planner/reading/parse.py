"""JSON values to a problem, a plan, options or a target, with every error of the document at once.

When the structure of some elements is broken, the rest is still checked for what its fields mean together, so
that a document can be mended in one go; issues that only the missing elements cause are not reported.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from memstow.planner.check import find_issues
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.plan import REPEATED, Placement, Plan, repeated_placements
from memstow.planner.model.problem import ONE_MEMORY, Problem, Target
from memstow.planner.reading.json_text import Path, parse_path
from memstow.planner.reading.sections import (
    Findings,
    Section,
    index_before,
    read_section,
    read_whole,
)
from memstow.records import collector_at_rest

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import OrderedPlacement, SymbolicPlan, SymbolicProblem

_T = TypeVar("_T")

# A string as `repr` writes it.
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"")
_REFERENCES: Final = {"unknown_buffer": "buffers", "unknown_pool": "pools", "unknown_symbol": "symbols"}
# Issues that further elements of these lists could resolve. Every other issue stays whatever is added.
_UNLESS_MORE: Final = {
    "group_pools": ("pools",),
    "missing_symbol": ("symbols",),
    "too_many_points": ("points",),
    "group_alignment": ("pools",),
    "no_banks": ("pools",),
    "pin_misaligned": ("pools",),
    "pins_clash": ("exclusive", "in_place", "relative"),
    "unknown_bank": ("pools",),
}


def parse_document(
    holder: type[_T],
    raw: object,
    find_issues: Callable[[_T], Iterable[Issue]],
    *,
    stand_ins: Mapping[str, Any],
    references: Mapping[str, str] = _REFERENCES,
    may_end: Callable[[str, Section], bool] | None = None,
) -> _T:
    """The document that a JSON value describes; an InputError with all that is wrong otherwise.

    `find_issues` says what is wrong between the fields. Where elements could not be read, the rest is looked
    at, with `stand_ins` for fields that it would be nothing without, and issues are left out that these
    elements might end: `references` names the list in which what an issue calls unknown may have been, and
    `may_end` says whether an issue of another code may end (by default those of problems).
    """
    may_end = _may_end_with_more if may_end is None else may_end
    with collector_at_rest():
        findings = Findings(raw)
        section = read_section(holder, raw, findings)
        if findings.full or not isinstance(raw, dict):
            raise findings.error()
        absent = {name: value for name, value in stand_ins.items() if not section.values.get(name)}
        document = holder(**{**section.values, **absent})
        names = (
            {} if section.sound else {field: _left_out(field, raw, section) for field in references.values()}
        )
        for issue in find_issues(document):
            if not section.sound:
                if may_end(issue.code, section):
                    continue
                unread = names[references[issue.code]] if issue.code in references else set()
                if unread is None or _first_quoted(issue.message) in unread:
                    continue
            findings.add(issue.code, _place_in_document(parse_path(issue.path), section), issue.message)
        if findings:
            raise findings.error()
        return document


def parse_whole(holder: type[_T], raw: object, findings: Findings) -> _T:
    """The document that a JSON value describes; an InputError if any of it cannot be read."""
    with collector_at_rest():
        value = read_whole(holder, raw, findings)
    if not isinstance(value, holder):
        raise findings.error()
    return value


@overload
def parse_problem(raw: object) -> Problem: ...
@overload
def parse_problem(raw: object, holder: "type[SymbolicProblem]") -> "SymbolicProblem": ...
def parse_problem(
    raw: object, holder: "type[Problem | SymbolicProblem]" = Problem
) -> "Problem | SymbolicProblem":
    """The problem a JSON value describes; `holder`: whether its sizes are numbers or formulas."""
    stand_ins: dict[str, Any] = {"version": 1, "buffers": (), "pools": ONE_MEMORY}
    if holder is not Problem:
        from memstow.planner.model.symbolic import Symbol

        stand_ins |= {"symbols": (Symbol(id="_", min=0, max=0),), "objective": ("peak",)}
    return parse_document(holder, raw, find_issues, stand_ins=stand_ins)


def parse_target(raw: object) -> Target:
    """The target a JSON value describes."""
    if isinstance(raw, dict) and "buffers" in raw:
        message = "this is a problem, where a target is expected: a target has `pools` and no buffers"
        raise InputError.single("not_a_target", "$", message)
    return parse_document(
        Target,
        raw,
        # Its pools must be consistent without any problem.
        lambda target: find_issues(Problem(buffers=(), pools=target.pools)),
        stand_ins={"version": 1, "pools": ONE_MEMORY},
        may_end=lambda _, __: False,
    )


@overload
def parse_plan(raw: object) -> Plan: ...
@overload
def parse_plan(raw: object, holder: "type[SymbolicPlan]") -> "SymbolicPlan": ...
def parse_plan(raw: object, holder: "type[Plan | SymbolicPlan]" = Plan) -> "Plan | SymbolicPlan":
    """The plan a JSON value describes; whether it is right is for `planner.verify` to say."""
    findings = Findings(raw)
    plan = parse_whole(holder, raw, findings)
    note_repeated(findings, (), plan.placements)
    for index, order in enumerate(() if isinstance(plan, Plan) else plan.orders):
        note_repeated(findings, ("orders", index), order.placements)
    if findings:
        raise findings.error()
    return plan


def parse_options(raw: object) -> Options:
    """The options a JSON value describes."""
    findings = Findings(raw)
    options = parse_whole(Options, raw, findings)
    if options.hint is not None:
        note_repeated(findings, ("hint",), options.hint.placements)
    if findings:
        raise findings.error()
    return options


def note_repeated(
    findings: Findings, at: Path, placements: "Sequence[Placement] | Sequence[OrderedPlacement]"
) -> None:
    """Note each buffer that has a second place; `at` is where in the document the placements are."""
    for index, message in repeated_placements(placements):
        findings.add(REPEATED, (*at, "placements", index), message)


def check_made(problem: Problem, findings: Findings, place: Callable[[Path], Path]) -> None:
    """Check a problem made from another document; `place` tells where in it a part was made from."""
    for issue in find_issues(problem):
        if findings.full:
            break
        findings.add(issue.code, place(parse_path(issue.path)), issue.message)


def _may_end_with_more(code: str, section: Section) -> bool:
    """Whether the issue may only exist because other parts could not be read."""
    fields = _UNLESS_MORE.get(code, ())
    return bool(fields) and (
        section.has_unknown or any(field in section.lost or field in section.broken for field in fields)
    )


def _left_out(field: str, raw: dict[str, Any], section: Section) -> set[str] | None:
    """Ids of the elements left out of this list, quoted; None when one may have had any name."""
    if field in section.broken:
        return None
    names: set[str] = set()
    for index in section.lost.get(field, ()):
        element = raw[field][index]
        name = element.get("id") if isinstance(element, dict) else None
        if not isinstance(name, str):
            return None
        names.add(repr(name))
    return names


def _first_quoted(message: str) -> str | None:
    """The first name in a message, as it is quoted there: the one that the message is about."""
    quoted = _QUOTED.search(message)
    return None if quoted is None else quoted.group()


def _place_in_document(path: Path, section: Section) -> Path:
    """The place of an issue, counted with the elements that were left out."""
    if len(path) > 1 and isinstance(path[0], str) and isinstance(path[1], int):
        return (path[0], index_before(section.lost.get(path[0], []), path[1]), *path[2:])
    return path
