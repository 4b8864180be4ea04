"""Reads the body of a batch: every problem with every setting is a job."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations.body import (
    LONGEST_NAME,
    ParsedRequest,
    checked_priority,
    collect,
    embedded_document,
    envelope,
    json_value,
    options_within,
    over_limit,
)
from memstow.api.operations.documents import digest_of
from memstow.api.operations.encoding import cache_key
from memstow.api.operations.requests import Limits
from memstow.api.operations.results import ValidatedBatch
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem
from memstow.planner.reading.messages import wrong_type
from memstow.planner.reading.printable import printable, shown

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

_DEFAULT_SETTINGS: Final = [{"name": "default", "options": {}}]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One element of a list, with its name."""

    index: int
    name: str
    content: Any


def read_batch(body: bytes, limits: Limits) -> ValidatedBatch:
    """The jobs of a batch; InputError with everything that is wrong."""
    issues: list[Issue] = []
    raw = envelope(
        issues, json_value(body, limits), ("problems", "settings", "name", "priority"), ("problems",)
    )
    name, priority = raw.get("name"), raw.get("priority")
    if name is not None:
        collect(issues, "", lambda: checked_name(name, "$.name"))
    if priority is not None:
        collect(issues, "", lambda: checked_priority(priority))
    listed = _entries(issues, raw["problems"], "problems", "problem") if "problems" in raw else []
    settings = _entries(issues, raw.get("settings", _DEFAULT_SETTINGS), "settings", "options")
    if len(listed) * len(settings) > limits.max_batch:
        raise over_limit("$", "jobs", len(listed) * len(settings), limits.max_batch, "max_batch")
    problems = [_problem_of(issues, entry, limits) for entry in listed]
    options = [_options_of(issues, entry, limits) for entry in settings]
    if issues:
        raise InputError(issues)
    jobs = tuple(
        replace(request.validated(), name=_stored_name(entry), setting=_stored_name(setting))
        for entry, problem in zip(listed, problems, strict=True)
        if problem is not None
        for request, setting in zip(_requests(problem, options), settings, strict=True)
    )
    return ValidatedBatch(None if name is None else printable(name, LONGEST_NAME), priority or 0, jobs)


def _problem_of(issues: list[Issue], entry: _Entry, limits: Limits) -> "Problem | Graph | None":
    place = f"problems[{entry.index}].problem"
    return collect(issues, place, lambda: embedded_document(entry.content, limits))


def _options_of(issues: list[Issue], entry: _Entry, limits: Limits) -> Options | None:
    place = f"settings[{entry.index}].options"
    return collect(issues, place, lambda: options_within(entry.content, limits))


def _requests(problem: "Problem | Graph", options: list[Options | None]) -> list[ParsedRequest]:
    key = digest_of(problem)
    return [
        ParsedRequest(problem=problem, options=it, digest=key, cache_key=cache_key(problem, it, key))
        for it in options
        if it is not None
    ]


def _stored_name(entry: _Entry) -> str:
    return printable(entry.name, LONGEST_NAME)


def checked_name(name: object, path: str) -> str:
    """A name that the store has room for."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        expected = f"a string of 1 to {LONGEST_NAME} characters"
        raise InputError.single("not_a_string", path, wrong_type(expected, name))
    return name


def _entries(issues: list[Issue], raw: object, member: str, content: str) -> list[_Entry]:
    """The elements of a list with their names; elements without are left out and added to the issues."""
    path = f"$.{member}"
    if not isinstance(raw, list):
        issues.append(Issue("not_a_list", path, wrong_type("a list", raw)))
        return []
    if not raw:
        issues.append(Issue("empty", path, "expected at least one element"))
    entries: list[_Entry] = []
    names: set[str] = set()
    for index, element in enumerate(raw):
        at = f"{path}[{index}]"
        entry = collect(issues, "", partial(envelope, issues, element, ("name", content), (content,), at))
        if entry is None:
            continue
        name = collect(issues, "", partial(checked_name, entry.get("name", str(index)), f"{at}.name"))
        if name in names:
            issues.append(Issue("duplicate_name", f"{at}.name", f"{shown(name)} is there twice"))
        elif name is not None and content in entry:
            names.add(name)
            entries.append(_Entry(index, name, entry[content]))
    return entries
