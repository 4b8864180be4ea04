"""JSON values to a problem, a plan, options or a target, with every error of the document at once.

When the structure of some elements is broken, the rest is still checked for what its fields mean together, so
that a document can be mended in one go; issues that only the missing elements cause are not reported.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from memstow.planner.check import find_issues
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.plan import REPEATED, Plan, repeated_placements
from memstow.planner.model.problem import DEFAULT_POOL, Pool, Problem, Target
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.json_text import Path, parse_path
from memstow.planner.reading.sections import (
    Findings,
    Renamed,
    Section,
    index_before,
    read_section,
    read_whole,
)

_T = TypeVar("_T")

_STAND_INS: Final[dict[str, Any]] = {"version": 1, "buffers": (), "pools": (Pool(id=DEFAULT_POOL),)}
# A string as `repr` writes it.
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"")
_REFERENCES: Final = {"unknown_buffer": "buffers", "unknown_pool": "pools", "unknown_symbol": "symbols"}
# Issues that further elements of these lists could resolve. Every other issue stays whatever is added.
_UNLESS_MORE: Final = {
    "group_pools": ("pools",),
    "missing_symbol": ("symbols",),
    "too_many_points": ("points",),
    "group_alignment": ("pools",),
    "pin_misaligned": ("pools",),
    "pins_clash": ("exclusive", "in_place", "relative"),
}


def parse_problem(raw: object) -> Problem:
    """The problem a JSON value describes; an InputError with all that is wrong otherwise."""
    with collector_at_rest():
        return _problem(raw)


def parse_plan(raw: object) -> Plan:
    """The plan a JSON value describes; whether it is right is for `planner.verify` to say."""
    findings = Findings(raw)
    plan = _whole(Plan, raw, findings)
    _add_repeated(findings, (), plan)
    return plan


def parse_options(raw: object) -> Options:
    """The options a JSON value describes."""
    findings = Findings(raw)
    options = _whole(Options, raw, findings)
    if options.hint is not None:
        _add_repeated(findings, ("hint",), options.hint)
    return options


def parse_target(raw: object) -> Target:
    """The target a JSON value describes."""
    if isinstance(raw, dict) and "buffers" in raw:
        message = "this is a problem, where a target is expected: a target has `pools` and no buffers"
        raise InputError.single("not_a_target", "$", message)
    findings = Findings(raw)
    section = read_section(Target, raw, findings)
    pools = section.values.get("pools")
    if pools:
        # The pools must be consistent without any problem; issues of single fields are reported already.
        problem = Problem(version=1, buffers=(), pools=pools)
        for issue in find_issues(problem):
            findings.add(issue.code, _place_in_document(parse_path(issue.path), section), issue.message)
    if findings:
        raise findings.error()
    return Target(**section.values)


def check_made(problem: Problem, findings: Findings, place: Callable[[Path], Path]) -> None:
    """Check a problem made from another document; `place` tells where in it a part was made from."""
    add_issues(Renamed(findings, place), find_issues(problem))


def add_issues(findings: Findings, issues: list[Issue]) -> None:
    """Take over what the semantic checks found."""
    for issue in issues:
        if findings.full:
            break
        findings.add(issue.code, parse_path(issue.path), issue.message)


def _problem(raw: object) -> Problem:
    findings = Findings(raw)
    section = read_section(Problem, raw, findings)
    if findings.full or not isinstance(raw, dict):
        raise findings.error()
    stand_ins = {name: value for name, value in _STAND_INS.items() if not section.values.get(name)}
    problem = Problem(**{**section.values, **stand_ins})
    if section.sound:
        add_issues(findings, find_issues(problem))
    else:
        add_issues_of_the_rest(findings, find_issues(problem), raw, section)
    if findings:
        raise findings.error()
    return problem


def _add_repeated(findings: Findings, at: Path, plan: Plan) -> None:
    for index, message in repeated_placements(plan.placements):
        findings.add(REPEATED, (*at, "placements", index), message)
    if findings:
        raise findings.error()


def _whole(holder: type[_T], raw: object, findings: Findings) -> _T:
    with collector_at_rest():
        value = read_whole(holder, raw, findings)
    if not isinstance(value, holder):
        raise findings.error()
    return value


def add_issues_of_the_rest(
    findings: Findings, issues: list[Issue], raw: dict[str, Any], section: Section
) -> None:
    """Take over the issues of what could be read, but those that only what is missing may cause."""
    names = {field: names_left_out(field, raw, section) for field in _REFERENCES.values()}
    for issue in issues:
        if _may_end_with_more(issue.code, section):
            continue
        absent = names[_REFERENCES[issue.code]] if issue.code in _REFERENCES else set()
        if absent is not None and first_quoted(issue.message) not in absent:
            findings.add(issue.code, _place_in_document(parse_path(issue.path), section), issue.message)


def _may_end_with_more(code: str, section: Section) -> bool:
    """Whether the issue may only exist because other parts could not be read."""
    fields = _UNLESS_MORE.get(code, ())
    return bool(fields) and (
        section.has_unknown or any(field in section.lost or field in section.broken for field in fields)
    )


def names_left_out(field: str, raw: dict[str, Any], section: Section) -> set[str] | None:
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


def first_quoted(message: str) -> str | None:
    """The first name in a message, as it is quoted there: the one that the message is about."""
    found = _QUOTED.search(message)
    return None if found is None else found.group()


def _place_in_document(path: Path, section: Section) -> Path:
    """The place of an issue, counted with the elements that were left out."""
    if len(path) > 1 and isinstance(path[0], str) and isinstance(path[1], int):
        return (path[0], index_before(section.lost.get(path[0], []), path[1]), *path[2:])
    return path
