"""Collects the issues of one document: a bounded number, in the order of the document."""

from collections.abc import Callable
from typing import Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.paths import Path, json_path, order_in

MOST_REPORTED: Final = 200
# More are gathered than reported, so that those reported are the first of the document, not the first found.
_MOST_GATHERED: Final = 5 * MOST_REPORTED


class Findings:
    """The issues found so far in the document `root`."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._found: dict[tuple[str, Path, str], Issue] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def full(self) -> bool:
        """Nobody reads more than this: looking for more is wasted."""
        return len(self._found) >= _MOST_GATHERED

    def add(self, code: str, path: Path, message: str) -> None:
        if not self.full:
            self._found.setdefault((code, path, message), Issue(code, json_path(path), message))

    def in_order(self) -> list[Issue]:
        """The error: the first issues of the document, and a last one if there are more."""
        found = sorted(self._found.items(), key=lambda item: order_in(self._root, item[0][1]))
        issues = [issue for _, issue in found[:MOST_REPORTED]]
        if len(found) > MOST_REPORTED:
            least = "at least " if self.full else ""
            rest = f"{least}{len(found) - MOST_REPORTED:,} more issues are not shown"
            issues.append(Issue("more_issues", "$", rest))
        return issues

    def error(self) -> InputError:
        """All of it as one exception."""
        return InputError(self.in_order())


class Renamed(Findings):
    """Findings of an object made from another document, reported at the places of that document."""

    def __init__(self, findings: Findings, place: Callable[[Path], Path]) -> None:
        super().__init__(None)
        self._findings = findings
        self._place = place

    @property
    def full(self) -> bool:
        return self._findings.full

    def add(self, code: str, path: Path, message: str) -> None:
        self._findings.add(code, self._place(path), message)
