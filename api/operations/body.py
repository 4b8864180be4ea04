"""What a request asks for: its body as a problem and options, within the limits of the server."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import memstow
from memstow.api.operations.body_form import format_alone
from memstow.planner import formats
from memstow.planner.formats.detect import looks_like_json
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.messages import missing_field, unknown_field, wrong_type
from memstow.planner.reading.parse import parse_options, parse_problem, parse_target
from memstow.planner.reading.printable import shown
from memstow.planner.targets.by_name import shipped_target
from memstow.planner.targets.target import Target, retarget

# How much is asked of a solver is part of the question; from where it starts is not, unless it was told.
OPTION_NAMES: Final = (
    "time_limit",
    "solver",
    "gap",
    "deterministic",
    "work_limit",
    "seed",
    "workers",
    "memory_limit",
)


LEAST_PRIORITY, MOST_PRIORITY = -100, 100
LONGEST_NAME: Final = 200
# The settings of a batch that names none.
_USUAL: Final = [{"name": "default", "options": {}}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the settings of the server allow in one request."""

    max_buffers: int
    max_values: int
    max_time_limit: float
    max_workers: int
    solve_memory: int
    max_batch: int
    time_setting: str = "max_time_limit"  # the one that `max_time_limit` comes from


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """In what form a body is: a problem alone in a format, with options beside it, or in JSON."""

    format: str | None = None  # None: our envelope, or a problem alone in JSON
    options: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[str, ...] = ()  # what the envelope may hold besides the problem and the options


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One problem to solve."""

    problem: Problem
    options: Options
    digest: str
    cache_key: str
    members: Mapping[str, Any] = field(default_factory=dict)


def read_asked(body: bytes, form: Form, limits: Limits) -> Asked:
    """The problem and the options in a body; InputError with everything that is wrong."""
    if form.format is not None:
        issues: list[Issue] = []
        problem = gathered(issues, "", lambda: read_problem(body, form.format, limits))
        options = gathered(issues, "query", lambda: options_of(dict(form.options), limits))
        return _asked(issues, problem, options, {})
    return _from_envelope(body, form, limits)


@dataclass(frozen=True, slots=True)
class AskedBatch:
    """A request for several plans: each job with the names of its problem and its setting."""

    name: str | None
    priority: int | None
    jobs: list[tuple[Asked, str, str]]


def read_batch(body: bytes, limits: Limits) -> AskedBatch:
    """Every problem of the body with every setting."""
    issues: list[Issue] = []
    raw = envelope(issues, json_of(body, limits), ("problems", "settings", "name", "priority"), ("problems",))
    if raw.get("name") is not None:
        gathered(issues, "", lambda: checked_name(raw["name"], "$.name"))
    if raw.get("priority") is not None:
        gathered(issues, "", lambda: checked_priority(raw["priority"]))
    problems = _named(issues, raw["problems"], "problems", "problem") if "problems" in raw else []
    settings = _named(issues, raw.get("settings", _USUAL), "settings", "options")
    if len(problems) * len(settings) > limits.max_batch:
        raise over("$", "jobs", len(problems) * len(settings), limits.max_batch, "max_batch")
    made = []
    for i, name, content in problems:
        problem = gathered(issues, f"problems[{i}].problem", lambda it=content: problem_of(it, limits))
        made.append((problem, digest(problem) if problem is not None else "", name))
    chosen = []
    for i, name, content in settings:
        options = gathered(issues, f"settings[{i}].options", lambda it=content: options_of(it, limits))
        chosen.append((options, name))
    if issues:
        raise InputError(issues)
    listed = [
        (
            Asked(
                problem=problem,
                options=options,
                digest=known,
                cache_key=cache_key(question_of(problem, options), options),
            ),
            name,
            setting,
        )
        for problem, known, name in made
        for options, setting in chosen
    ]
    return AskedBatch(raw.get("name"), raw.get("priority"), listed)


def envelope(
    issues: list[Issue], raw: object, allowed: Sequence[str], required: Sequence[str], path: str = "$"
) -> dict[str, Any]:
    """The object a body must be. What is missing and what is too much is added to the issues."""
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", path, wrong_type("an object", raw))
    issues += [
        Issue("unknown_field", f"{path}[{shown(name)}]", unknown_field(name, allowed))
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


def read_problem(body: bytes, form: str | None, limits: Limits) -> Problem:
    """A problem alone in a format, or in the one it looks like."""
    if (form is None and looks_like_json(body)) or form not in (None, "csv"):
        json_of(body, limits)
    return _within(formats.read_problem(body, form), limits)


def json_of(body: bytes, limits: Limits) -> object:
    """The JSON value of a body; where it holds too many, the setting is named."""
    try:
        return parse_json(body, limits.max_values)
    except InputError as error:
        if error.issues[0].code != "too_large":
            raise
        message = f"more JSON values than the {limits.max_values:,} that the setting `max_values` allows"
        raise InputError.single("too_large", "$", message) from None


def options_of(raw: object, limits: Limits) -> Options:
    """The options of a request; who asks for no time gets no more than there is."""
    options = parse_options(raw)
    if isinstance(raw, dict) and "time_limit" not in raw:
        options = replace(options, time_limit=min(options.time_limit, limits.max_time_limit))
    return checked_options(options, limits)


def checked_options(options: Options, limits: Limits) -> Options:
    """The options, unless they ask for more than the server gives."""
    from memstow.planner.solve.portfolio import AUTO
    from memstow.solvers.solver import names

    if options.time_limit > limits.max_time_limit:
        raise over("$.time_limit", "seconds", options.time_limit, limits.max_time_limit, limits.time_setting)
    if options.workers is not None and options.workers > limits.max_workers:
        raise over("$.workers", "threads", options.workers, limits.max_workers, "max_workers")
    if options.memory_limit is not None and options.memory_limit > limits.solve_memory:
        raise over("$.memory_limit", "bytes", options.memory_limit, limits.solve_memory, "solve_memory")
    known = (AUTO, *names())
    if options.solver not in known:
        message = f"there is no solver {shown(options.solver)}; use one of {', '.join(known)}"
        raise InputError.single("unknown_solver", "$.solver", message)
    return options


def over(path: str, what: str, given: float, most: float, setting: str) -> InputError:
    """More than the server gives; the setting is named, so that its operator can be asked."""
    message = f"{given:,} {what} are more than the {most:,} that the setting `{setting}` allows"
    return InputError.single("over_limit", path, message)


def question_of(problem: Problem, options: Options) -> str:
    """What of a problem is part of the question.

    A deterministic answer is one for one input, and in what order things are named may change it. Any other
    is an answer to every problem of its digest.
    """
    if not options.deterministic:
        return digest(problem)
    as_written = formats.write_problem(replace(problem, name=None))
    return f"{digest(problem)} {hashlib.sha256(as_written).hexdigest()}"


def cache_key(known: str, options: Options) -> str:
    """Equal for requests that have one answer."""
    hint = "-" if options.hint is None else plan_bytes(options.hint).decode()
    parts = [memstow.__version__, known, written_options(options), hint]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def written_options(options: Options) -> str:
    """The options without the hint, as JSON."""
    return json.dumps({name: getattr(options, name) for name in OPTION_NAMES})


def plan_bytes(plan: Plan) -> bytes:
    """A plan as the store has it."""
    return formats.write_plan(_NOTHING, plan)


def plan_of(body: bytes) -> Plan:
    """A plan of our own, as the store has it."""
    return formats.read_plan(body, _NOTHING, "json")


_NOTHING: Final = Problem(version=1, buffers=())


def _from_envelope(body: bytes, form: Form, limits: Limits) -> Asked:
    issues: list[Issue] = []
    content = json_of(body, limits)
    alone = format_alone(content)
    if alone is not None:
        return read_asked(body, replace(form, format=alone), limits)
    allowed = ("problem", "target", "options", *form.members)
    raw = envelope(issues, content, allowed, ("problem",))
    problem = targeted(issues, raw, lambda: problem_of(raw["problem"], limits))
    given = raw.get("options", {})
    if isinstance(given, dict):
        # Who says one thing here and another in the query means what is here.
        given = {**form.options, **given}
    options = gathered(issues, "options", lambda: options_of(given, limits))
    members = {name: raw[name] for name in form.members if name in raw}
    if "priority" in members:
        gathered(issues, "", lambda: checked_priority(members["priority"]))
    return _asked(issues, problem, options, members)


def problem_of(raw: object, limits: Limits) -> Problem:
    """A problem inside an envelope: native, or a text in another format."""
    if isinstance(raw, str):
        return read_problem(raw.encode("utf-8", "surrogatepass"), None, limits)
    return _within(parse_problem(raw), limits)


def targeted(issues: list[Issue], raw: Mapping[str, Any], read: Callable[[], Problem]) -> Problem | None:
    """The problem of an envelope in the memories of its target, where it has one: a document or a name."""
    problem: Problem | None = gathered(issues, "problem", read) if "problem" in raw else None
    given = raw.get("target")
    if given is None:
        return problem
    target: Target | None = gathered(
        issues, "target", lambda: shipped_target(given) if isinstance(given, str) else parse_target(given)
    )
    if problem is None or target is None:
        return None
    moved_there: Problem | None = gathered(issues, "problem", lambda: retarget(problem, target))
    return moved_there


def _within(problem: Problem, limits: Limits) -> Problem:
    if len(problem.buffers) > limits.max_buffers:
        raise over("$.buffers", "buffers", len(problem.buffers), limits.max_buffers, "max_buffers")
    return problem


def _asked(
    issues: list[Issue], problem: Problem | None, options: Options | None, members: Mapping[str, Any]
) -> Asked:
    if issues or problem is None or options is None:
        raise InputError(issues)
    known = digest(problem)
    return Asked(
        problem=problem,
        options=options,
        digest=known,
        cache_key=cache_key(question_of(problem, options), options),
        members=members,
    )


def gathered(issues: list[Issue], place: str, read: Any) -> Any:
    """What `read` returns; its issues are added to the list, moved to where the value is in the body."""
    try:
        return read()
    except InputError as error:
        issues.extend(moved(issue, place) for issue in error.issues)
        return None


def moved(issue: Issue, place: str) -> Issue:
    """The issue of a part of a body as one of the whole."""
    if not place or not issue.path.startswith("$"):
        return issue
    return replace(issue, path=f"$.{place}{issue.path[1:]}")


def _named(issues: list[Issue], raw: object, member: str, content: str) -> list[tuple[int, str, Any]]:
    """The elements of a list with their names; what is wrong with the others is added to the issues."""
    path = f"$.{member}"
    if not isinstance(raw, list):
        issues.append(Issue("not_a_list", path, wrong_type("a list", raw)))
        return []
    if not raw:
        issues.append(Issue("empty", path, "expected at least one element"))
    named = []
    seen: set[str] = set()
    for i, element in enumerate(raw):
        at = f"{path}[{i}]"
        entry = gathered(
            issues, "", lambda it=element, at=at: envelope(issues, it, ("name", content), (content,), at)
        )
        if entry is None:
            continue
        given = entry.get("name", str(i))
        name = gathered(issues, "", lambda it=given, at=at: checked_name(it, f"{at}.name"))
        if name in seen:
            issues.append(Issue("duplicate_name", f"{at}.name", f"{shown(name)} is there twice"))
        elif name is not None and content in entry:
            seen.add(name)
            named.append((i, name, entry[content]))
    return named
