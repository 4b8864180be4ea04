"""A problem moved to a target, so that one problem can be planned for many devices.

The pools come from the target, everything else from the problem. Targets that ship with memstow are in
`planner/targets`, each with the source of its facts.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from memstow.planner.check import find_issues
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import Problem, Target, parse_term

FOLDER: Final = Path(__file__).parent


def retarget(problem: Problem, target: Target) -> Problem:
    """The problem in the memories of the target; an InputError with all that does not go together."""
    moved = replace(problem, pools=target.pools)
    # A missing pool is reported in terms of the target, other issues as for any problem.
    issues = [*_missing(problem, target), *(i for i in find_issues(moved) if i.code != "unknown_pool")]
    if issues:
        raise InputError(issues)
    return moved


def shipped() -> tuple[str, ...]:
    """Names of the targets that come with memstow."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def path_of(name: str) -> Path | None:
    """The file of a target that comes with memstow; None when there is none of that name."""
    return FOLDER / f"{name}.json" if name in shipped() else None


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
