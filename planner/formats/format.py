"""A format: its name, readers and writers; and the fields that it refuses."""

from collections.abc import Callable
from typing import Any

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.model.records import record


@record
class Format:
    """The readers get the JSON value where `is_json`, the bytes otherwise."""

    name: str
    is_json: bool
    read_problem: Callable[[Any], Problem]
    write_problem: Callable[[Problem], bytes] | None = None
    read_plan: Callable[[Any, Problem], Plan] | None = None
    write_plan: Callable[[Problem, Plan], bytes] | None = None


class Refusals:
    """Collects the fields of a problem that a format cannot express, then refuses them together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._issues: dict[str, Issue] = {}

    def add(self, path: str, why: str = "") -> None:
        """Refuse this field; of a field in a list of objects only the first is reported."""
        field = "".join(character for character in path if not character.isdigit())
        reason = why or "it has no place for it"
        message = f"the format {self._name!r} cannot express this: {reason}"
        self._issues.setdefault(field, Issue("not_expressible", path, message))

    def __bool__(self) -> bool:
        return bool(self._issues)

    def raise_any(self) -> None:
        """Raise InputError if a field was refused."""
        if self._issues:
            raise InputError(self._issues.values())
