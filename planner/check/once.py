"""Issues of a document, looked for once: that a valid one has none is remembered while it lives."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, TypeVar

from memstow.planner.model.errors import Issue
from memstow.planner.model.records import Memo

MOST_ISSUES: Final = 1000
"""No more issues than this are listed for one document."""

_Subject = TypeVar("_Subject")


def issues_once(
    valid: Memo[_Subject, bool], subject: _Subject, find: Callable[[_Subject], Iterator[Issue]]
) -> list[Issue]:
    """What `find` finds, up to a thousand; nothing where `valid` knows that there is nothing."""
    if valid.get(subject):
        return []
    issues = list(islice(find(subject), MOST_ISSUES))
    if not issues:
        valid.note(subject, True)
    return issues
