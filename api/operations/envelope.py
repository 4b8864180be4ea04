"""Bodies of requests as JSON: within limits, with all that is wrong told at once, and as envelopes.

An envelope is an object around a document: its members say what is asked of that. Also the values that bodies
and queries share: names, priorities, spans and moments.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from memstow.api.operations.request_types import Limits
from memstow.planner.formats import is_graph, is_plan, looks_like_json, problem_format
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.printable import shown
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.sections import missing_field, unknown_field, wrong_type
from memstow.records import replace

T = TypeVar("T")

LEAST_PRIORITY, MOST_PRIORITY = -100, 100
LONGEST_NAME: Final = 200
# Members that only an envelope has, and members that only a native problem has.
_ENVELOPE_MEMBERS: Final = (
    "options",
    "target",
    "plan",
    "hint",
    "priority",
    "hint_job",
    "shapes",
    "pieces",
)
_PROBLEM_MEMBERS: Final = ("version", "buffers", "operators")
# Members that once were, and what takes their place.
_DROPPED: Final = {
    "members": "one run solves a problem: instead of several on a cluster, give it more threads by `workers`"
}
# Examples of the members of an envelope, for messages.
_EXAMPLES: Final = {
    "problem": '{"version": 1, "buffers": [...]}',
    "graph": '{"version": 1, "tensors": [...], "operators": [...]}',
    "plan": '{"status": ..., "placements": [...]}',
    "tiling": '{"operator": ..., "tile": {...}}',
    "problems": '[{"problem": {"version": 1, "buffers": [...]}}]',
    "options": "{...}",
    "at": '{"s": 128}',
}


def over_limit(path: str, unit: str, value: float, most: float, setting: str) -> InputError:
    """The error for more than a setting allows; the setting is named, so that its operator can be asked."""
    message = f"{value:,} {unit} are more than the {most:,} that the setting `{setting}` allows"
    return InputError.single("over_limit", path, message)


def collect(issues: list[Issue], place: str, read: Callable[[], T]) -> T | None:
    """The result of `read`; its issues are added to the list, with paths that begin at `place`."""
    try:
        return read()
    except InputError as error:
        issues.extend(at_place(issue, place) for issue in error.issues)
        return None


def at_place(issue: Issue, place: str) -> Issue:
    """The issue of a part that is at this place."""
    if not place or not issue.path.startswith("$"):
        return issue
    return replace(issue, path=f"$.{place}{issue.path[1:]}")


def json_value(body: bytes, limits: Limits) -> object:
    """The JSON value of a body; where it holds too many values, the message names the setting."""
    try:
        return parse_json(body, limits.max_values)
    except InputError as error:
        issue = error.issues[0]
        if issue.code == "too_large":
            message = f"more JSON values than the {limits.max_values:,} that the setting `max_values` allows"
            raise InputError.single("too_large", "$", message) from None
        if issue.code == "malformed_json" and not looks_like_json(body):
            hint = "; of a body in another format Content-Type says which, such as text/csv"
            raise InputError([replace(issue, message=issue.message + hint)]) from None
        raise


def subject_of(raw: object) -> str:
    """The member of an envelope that holds what is to be planned."""
    return "graph" if isinstance(raw, dict) and "graph" in raw and "problem" not in raw else "problem"


def format_alone(raw: object) -> str | None:
    """The format of a JSON body that is a problem alone; None for an envelope and for anything else."""
    if isinstance(raw, list):
        return problem_format(raw)
    if not isinstance(raw, dict):
        return None
    if subject_of(raw) == "graph":
        return None
    of_problem = [name for name in _PROBLEM_MEMBERS if name in raw]
    of_envelope = [name for name in _ENVELOPE_MEMBERS if name in raw]
    wrapped = "problem" in raw and "schema_version" not in raw
    if of_problem and (wrapped or of_envelope):
        one, other = of_problem[0], "problem" if wrapped else of_envelope[0]
        of_both = ("problem", "options")
        message = f"`{other}` stands beside `{one}`, which belongs into the problem: send {_example(of_both)}"
        raise InputError.single("not_wrapped", "$", message)
    if is_graph(raw):
        return "graph"
    name = problem_format(raw)
    return name if not wrapped and (of_problem or name != "json") else None


def _refuse_alone(raw: object, members: Sequence[str], path: str) -> None:
    """Refuse a problem or a plan in place of an envelope with these members; the message shows one."""
    what = _kind_alone(raw)
    if what is not None:
        raise InputError.single("not_wrapped", path, f"this is {what} itself: send {_example(members)}")


def _kind_alone(raw: object) -> str | None:
    if is_plan(raw):
        return "a plan"
    if is_graph(raw):
        return "a graph"
    foreign = isinstance(raw, list | dict) and raw and problem_format(raw) != "json"
    native = isinstance(raw, dict) and any(name in raw for name in _PROBLEM_MEMBERS)
    return "a problem" if foreign or native else None


def _example(members: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": {_EXAMPLES[name]}' for name in members) + "}"


def envelope(
    issues: list[Issue], raw: object, allowed: Sequence[str], required: Sequence[str], path: str = "$"
) -> Mapping[str, Any]:
    """The members of an object; unknown and missing ones are added to the issues."""
    if not isinstance(raw, dict) or required[0] not in raw or "schema_version" in raw:
        _refuse_alone(raw, required, path)
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", path, wrong_type("an object", raw))
    issues += [
        Issue("unknown_field", f"{path}[{shown(name)}]", _DROPPED.get(name) or unknown_field(name, allowed))
        for name in raw
        if name not in allowed
    ]
    issues += [
        Issue("missing_field", f"{path}.{name}", missing_field(name)) for name in required if name not in raw
    ]
    return raw


def checked_priority(priority: object) -> int:
    """A priority within the limits."""
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise InputError.single(
            "not_an_integer", "$.priority", f"expected an integer, given {shown(priority)}"
        )
    if not LEAST_PRIORITY <= priority <= MOST_PRIORITY:
        raise InputError.single(
            "out_of_range",
            "$.priority",
            f"expected {LEAST_PRIORITY} to {MOST_PRIORITY}, given {shown(priority)}",
        )
    return priority


def checked_name(name: object, path: str) -> str:
    """A name that the store has room for."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        expected = f"a string of 1 to {LONGEST_NAME} characters"
        raise InputError.single("not_a_string", path, wrong_type(expected, name))
    return name


_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_LONGEST_SPAN: Final = 100 * 366 * 86_400


def span(text: str, path: str) -> float:
    """The seconds of 90s, 30m, 12h, 7d or 4w."""
    seconds = _seconds(text)
    if seconds is None:
        raise InputError.single("bad_span", path, f"{shown(text)} is not a time, such as 12h, 7d or 4w")
    return seconds


def moment(text: str, path: str, at: float) -> float:
    """Seconds since 1970, after `at`: of a span from then on, or of a date or time, in UTC unless it says."""
    seconds = _seconds(text)
    time = at + seconds if seconds is not None else _timestamp(text)
    if time is None:
        message = f"{shown(text)} is not a time, such as 30d, 2027-01-31 or 2027-01-31T12:00:00Z"
        raise InputError.single("bad_moment", path, message)
    if time <= at:
        raise InputError.single("past_moment", path, f"{shown(text)} is over already")
    return time


def _seconds(text: str) -> float | None:
    match = _SPAN.fullmatch(text.strip())
    return None if match is None else float(min(int(match[1]) * _UNIT_SECONDS[match[2]], _LONGEST_SPAN))


def _timestamp(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
