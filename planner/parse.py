"""JSON values to a problem, a plan or options: with every error of the document at once, structure and meaning.

When the structure of some elements is broken, the rest is still checked for what its fields mean together, so
that a document is mended in one go; issues that only the missing elements cause are not told.
"""

from typing import Any, Final

from planner.check import find_issues
from planner.findings import Findings
from planner.options import Options
from planner.paths import Path, parse_path, value_at
from planner.plan import Plan
from planner.problem import DEFAULT_POOL, Pool, Problem
from planner.sections import Section, index_before, read_section, read_whole

_STAND_INS: Final[dict[str, Any]] = {"version": 1, "buffers": (), "pools": (Pool(id=DEFAULT_POOL),)}
_NAMED: Final = ("pools", "buffers")


def parse_problem(raw: object) -> Problem:
    """The problem a JSON value describes; an InputError with all that is wrong otherwise."""
    findings = Findings(raw)
    section = read_section(Problem, raw, findings)
    problem: Problem | None = None
    if not findings.full and isinstance(raw, dict):
        stand_ins = {name: value for name, value in _STAND_INS.items() if name in section.broken}
        problem = Problem(**stand_ins, **section.values)
        missing = _Missing(raw, section)
        for issue in find_issues(problem):
            place = missing.place_in_document(parse_path(issue.path))
            if not (issue.code.startswith("unknown_") and missing.explains(place)):
                findings.add(issue.code, place, issue.message)
    findings.raise_any()
    if problem is None:
        raise AssertionError("nothing was found wrong, and yet there is no problem")
    return problem


def parse_plan(raw: object) -> Plan:
    """The plan a JSON value describes; whether it is right is for `planner.verify` to say."""
    return _parsed(Plan, raw)


def parse_options(raw: object) -> Options:
    """The options a JSON value describes."""
    return _parsed(Options, raw)


def _parsed[T](holder: type[T], raw: object) -> T: ...


class _Missing:
    """What was left out of the document before its meaning was checked."""

    def __init__(self, raw: dict[str, Any], section: Section) -> None:
        self._raw = raw
        self._section = section
        # None: something of that kind is missing whose name cannot be read, so it could be any.
        self._names: set[str] | None = set()
        for name in _NAMED:
            if name in section.broken:
                self._names = None
            for index in section.lost.get(name, ()):
                element = raw[name][index]
                identity = element.get("id") if isinstance(element, dict) else None
                if not isinstance(identity, str):
                    self._names = None
                elif self._names is not None:
                    self._names.add(identity)

    def place_in_document(self, path: Path) -> Path:
        """The place of an issue, counted with the elements that were left out."""
        if len(path) > 1 and isinstance(path[0], str) and isinstance(path[1], int):
            return (path[0], index_before(self._section.lost.get(path[0], []), path[1]), *path[2:])
        return path

    def explains(self, place: Path) -> bool:
        """Whether the name at this place may be that of something left out."""
        if self._names is None:
            return True
        name = value_at(self._raw, place)
        return isinstance(name, str) and (name in self._names or name.partition(":")[2] in self._names)
