"""The front in the memories of each of several targets: which is the smallest that will do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import memstow
from memstow.planner.front.front import Outcome, collect, digest_of, request_of
from memstow.planner.front.request import FrontCallbacks
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions, TargetFront
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem, end_of
from memstow.planner.model.target import Target
from memstow.planner.solve.allowance import Allowance
from memstow.planner.targets.target import retarget

MOST_TARGETS: Final = 64


def front_of_targets(
    document: Problem | Graph,
    asked: FrontOptions,
    options: Options,
    targets: Sequence[Target],
    callbacks: FrontCallbacks,
    names: Sequence[str] | None = None,
) -> Front:
    """The fronts, the smallest target first; `names`: as the targets are called, else as they say."""
    if len(targets) > MOST_TARGETS:
        message = f"there are {len(targets):,}; compare at most {MOST_TARGETS} in one call"
        raise InputError.single("too_many", "targets", message)
    called = (
        list(names) if names is not None else [it.name or f"target {i + 1}" for i, it in enumerate(targets)]
    )
    moved = [_moved(document, target) for target in targets]
    in_order = sorted(range(len(targets)), key=lambda i: _size_order(targets[i]))
    allowance = Allowance(options)
    terms = request_of(moved[in_order[0]], asked, options).terms
    fronts = []
    for done, index in enumerate(in_order):
        share = allowance.share(1 / (len(in_order) - done))
        request = replace(request_of(moved[index], asked, share), terms=terms)
        outcome = collect(moved[index], request, callbacks, None)
        allowance.spend(outcome.ending.work)
        fronts.append(_front_of(called[index], targets[index], outcome))
    return Front(
        name=document.name,
        terms=terms,
        complete=all(it.complete for it in fronts),
        asked=asked,
        targets=fronts,
        smallest=_smallest(fronts),
        seconds=allowance.seconds,
        work=allowance.work,
        digest=digest_of(document),
        memstow=memstow.__version__,
    )


def _moved(document: Problem | Graph, target: Target) -> Problem | Graph:
    if isinstance(document, Problem):
        return retarget(document, target)
    from memstow.planner.graph.changes import in_memories

    return in_memories(document, target, None, fit_only=False)


def _front_of(name: str, target: Target, outcome: Outcome) -> TargetFront:
    fits: Literal["yes", "no", "unknown"] = "unknown"
    if outcome.points:
        fits = "yes"
    elif outcome.ending.infeasible:
        fits = "no"
    return TargetFront(
        target=name,
        fits=fits,
        bytes=_bytes(target),
        points=outcome.points,
        complete=outcome.ending.complete,
        explanation=outcome.ending.explanation,
    )


def _bytes(target: Target) -> int | None:
    """All of its memory; None: a pool has no limit."""
    if any(pool.capacity is None for pool in target.pools):
        return None
    return sum(map(end_of, target.pools))


def _size_order(target: Target) -> tuple[bool, int]:
    size = _bytes(target)
    return size is None, size or 0


def _smallest(fronts: Sequence[TargetFront]) -> str | None:
    """The first that will do, if all that are smaller are known not to."""
    for front in fronts:
        if front.fits != "no":
            return front.target if front.fits == "yes" else None
    return None
