"""Issues of the parts of a body, collected until all parts are read."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memstow.planner.model.errors import InputError, Issue

T = TypeVar("T")


def over_limit(path: str, unit: str, given: float, most: float, setting: str) -> InputError:
    """The error for more than a setting allows; the setting is named, so that its operator can be asked."""
    message = f"{given:,} {unit} are more than the {most:,} that the setting `{setting}` allows"
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
