"""The memories of devices: those that ship with memstow beside the code that reads them, and any others.

The pools of a problem come from the target, everything else from the problem, so that one problem can be
planned for many devices. Each file of a target that ships with memstow has the source of its facts. The
person who asks may also want another capacity, or no objective.
"""

import os
from collections.abc import Iterator
from typing import Final

from memstow.planner.check import find_issues
from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import Problem, Target, parse_term
from memstow.planner.reading.json_text import parse_json, read_bytes
from memstow.planner.reading.parse import parse_target
from memstow.records import replace

FOLDER: Final = os.path.dirname(__file__)
MOST_TARGETS: Final = 64
"""As many are compared in one call."""


def _in_target(problem: Problem, target: Target) -> Problem:
    """The problem in the memories of the target; an InputError with all that does not go together."""
    moved = replace(problem, pools=target.pools)
    # A missing pool is reported in terms of the target, other issues as for any problem.
    issues = [*_missing(problem, target), *(i for i in find_issues(moved) if i.code != "unknown_pool")]
    if issues:
        raise InputError(issues)
    return moved


def shipped() -> tuple[str, ...]:
    """Names of the targets that come with memstow."""
    return tuple(sorted(name.removesuffix(".json") for name in os.listdir(FOLDER) if name.endswith(".json")))


def path_of(name: str) -> str | None:
    """The file of a target that comes with memstow; None when there is none of that name."""
    return os.path.join(FOLDER, f"{name}.json") if name in shipped() else None


def _missing(problem: Problem, target: Target) -> Iterator[Issue]:
    known = {pool.id for pool in target.pools}
    for path, name in _names_used(problem):
        if name not in known:
            some = ", ".join(repr(pool.id) for pool in target.pools[:8])
            whose = f"the target {target.name!r}" if target.name else "the target"
            yield Issue(
                "not_in_target",
                path,
                f"{whose} has no pool {name!r}; its pools are {some}: "
                "rename a pool in one of the two, or leave the name out to allow all",
            )


def _names_used(problem: Problem) -> Iterator[tuple[str, str]]:
    """Every pool that a buffer or the objective names, and where."""
    for index, buffer in enumerate(problem.buffers):
        for at, name in enumerate(buffer.pools or ()):
            yield f"$.buffers[{index}].pools[{at}]", name
        if buffer.pool is not None:
            yield f"$.buffers[{index}].pool", buffer.pool
    for at, text in enumerate(problem.objective or ()):
        term = parse_term(text)
        if term is not None and term.pool is not None:
            yield f"$.objective[{at}]", term.pool


def shipped_target(name: str, place: str = "$") -> Target:
    """The shipped target of that name; InputError with this place if there is none."""
    return parse_target(parse_json(shipped_text(name, place)))


def shipped_text(name: str, place: str = "$") -> bytes:
    """The text of its file."""
    path = path_of(name)
    if path is None:
        close = closest_match(name, shipped())
        meant = f"did you mean {close}? " if close is not None else ""
        message = f"no target {shown(name)} comes with memstow; {meant}there are {', '.join(shipped())}"
        raise InputError.single("unknown_target", place, message)
    return read_bytes(path)


def with_overrides(problem: Problem, target: Target | None, capacity: int | None, fit_only: bool) -> Problem:
    """The problem in the memories of the target, its single pool of this capacity, without an objective."""
    if target is not None:
        problem = _in_target(problem, target)
    if capacity is not None:
        if len(problem.pools) != 1:
            raise InputError.single(
                "several_pools",
                "capacity",
                f"the problem has {len(problem.pools)} pools and a capacity can be given for a single one; "
                "set the capacities in the file",
            )
        problem = replace(problem, pools=(replace(problem.pools[0], capacity=capacity),))
    return replace(problem, objective=()) if fit_only else problem
