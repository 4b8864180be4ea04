"""Reads the body of a batch: every problem with every setting is a job, and each is read once."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstow.api.operations.body import ParsedRequest, options_within
from memstow.api.operations.body_documents import embedded_document
from memstow.api.operations.encoding import (
    cache_key_of_parts,
    digest_of,
    hint_key,
    options_to_text,
    ordered_key,
    plan_to_bytes,
)
from memstow.api.operations.envelope import (
    LONGEST_NAME,
    checked_name,
    checked_priority,
    collect,
    envelope,
    json_value,
    over_limit,
)
from memstow.api.operations.request_types import (
    BatchProblem,
    BatchSetting,
    Limits,
    ValidatedBatch,
    ValidatedRequest,
)
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import Problem
from memstow.planner.reading.sections import wrong_type
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

_DEFAULT_SETTINGS: Final = [{"name": "default", "options": {}}]


@record
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
    return ValidatedBatch(
        None if name is None else printable(name, LONGEST_NAME),
        priority or 0,
        tuple(
            _written(entry, problem)
            for entry, problem in zip(listed, problems, strict=True)
            if problem is not None
        ),
        tuple(
            _setting(entry, option)
            for entry, option in zip(settings, options, strict=True)
            if option is not None
        ),
    )


def jobs_of(batch: ValidatedBatch) -> list[ValidatedRequest]:
    """The jobs of a batch, which share what they have in common."""
    hint_keys = [hint_key(setting.hint) for setting in batch.settings]
    return [
        replace(
            problem.request,
            options=setting.options,
            hint=setting.hint,
            cache_key=cache_key_of_parts(
                problem.ordered_key if setting.deterministic else problem.key, setting.options, hint_of_key
            ),
            priority=batch.priority,
            setting=setting.name,
        )
        for problem in batch.problems
        for setting, hint_of_key in zip(batch.settings, hint_keys, strict=True)
    ]


def _written(entry: _Entry, problem: "Problem | Graph") -> BatchProblem:
    """Written once, because a batch may have a thousand settings."""
    key = digest_of(problem)
    parsed = ParsedRequest(problem=problem, options=Options(), digest=key, cache_key="")
    return BatchProblem(
        request=replace(parsed.validated(), name=_stored_name(entry)),
        key=key,
        ordered_key=ordered_key(problem, key),
    )


def _setting(entry: _Entry, options: Options) -> BatchSetting:
    return BatchSetting(
        name=_stored_name(entry),
        options=options_to_text(options),
        hint=None if options.hint is None else plan_to_bytes(options.hint),
        deterministic=options.deterministic,
    )


def _problem_of(issues: list[Issue], entry: _Entry, limits: Limits) -> "Problem | Graph | None":
    place = f"problems[{entry.index}].problem"
    return collect(issues, place, lambda: embedded_document(entry.content, limits))


def _options_of(issues: list[Issue], entry: _Entry, limits: Limits) -> Options | None:
    place = f"settings[{entry.index}].options"
    return collect(issues, place, lambda: options_within(entry.content, limits))


def _stored_name(entry: _Entry) -> str:
    return printable(entry.name, LONGEST_NAME)


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
