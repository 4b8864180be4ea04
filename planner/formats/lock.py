"""A lock: a plan that is kept beside its problem, with what it was made from, so that builds need no search.

`problem` is the digest of the problem or the graph, and `options` are those that decide about a deterministic
plan. The lock holds as long as both are the same and the judge accepts the plan, however old the files are.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from memstow.planner.formats.native import write_plan
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.graph.schedules import scheduled_problem
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_plan

_VERSION: Final = 1
_MEMBERS: Final = ("version", "problem", "options", "plan")
_ADVICE: Final = "give a lock that `memstow solve --lock` has written, or delete it to plan anew"

Choices = dict[str, str | float | int | None]
"""Options by name."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A plan, and what it was made from."""

    problem: str
    choices: Choices
    plan: Plan


def choices_of(options: Options) -> Choices:
    """The options that decide about a deterministic plan."""
    return {
        "solver": options.solver,
        "gap": float(options.gap),
        "work_limit": options.work_limit,
        "memory_limit": options.memory_limit,
        "seed": options.seed,
    }


def is_lock(raw: object) -> bool:
    """Whether a JSON value is a lock."""
    return isinstance(raw, dict) and raw.keys() == set(_MEMBERS)


def read_lock(data: bytes) -> Lock:
    """The lock in the bytes; InputError where it is none."""
    raw: Any = parse_json(data)
    if not is_lock(raw):
        raise InputError.single("not_a_lock", "$", f"this is not a lock: {_ADVICE}")
    if raw["version"] != _VERSION:
        message = f"a lock of a version that this memstow does not know: {_ADVICE}"
        raise InputError.single("not_a_lock", "$.version", message)
    if not isinstance(raw["problem"], str) or not isinstance(raw["options"], dict):
        raise InputError.single("not_a_lock", "$", f"this is not a lock: {_ADVICE}")
    return Lock(raw["problem"], raw["options"], parse_plan(raw["plan"]))


def identity(document: Problem | Graph) -> str:
    """The digest of what is locked."""
    return digest(document) if isinstance(document, Problem) else graph_digest(document)


def write_lock(document: Problem | Graph, options: Options, plan: Plan) -> bytes:
    """The lock of a plan that was made with these options."""
    problem = document if isinstance(document, Problem) else scheduled_problem(document, plan.schedule)
    of = {"version": _VERSION, "problem": identity(document), "options": choices_of(options)}
    head = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in of.items())
    # Line feeds in strings are escaped: each of these ends a line.
    body = write_plan(problem, plan).rstrip(b"\n").replace(b"\n", b"\n  ")
    return b"{\n" + head.encode() + b',\n  "plan": ' + body + b"\n}\n"
