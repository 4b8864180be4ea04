"""The way of the JSON through the planner and back: the only file here that knows the planner."""

import json
import threading
from random import Random
from typing import cast

from memstow.planner.formats import read_plan, read_problem, write_plan
from memstow.planner.graph.documents import retarget
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Event, Options
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_target
from memstow.planner.solve.engine import plan
from memstow.planner.verify import judge
from tests.independent.documents import PlanDocument, PoolDocument, ProblemDocument
from tests.independent.runs import Run

Refused = InputError | DeclinedError


def read(problem: ProblemDocument) -> Problem:
    """Through the reader that every door has."""
    return read_problem(json.dumps(problem).encode())


def digest_of(problem: ProblemDocument) -> str:
    """The identity of the problem."""
    return digest(read(problem))


def shuffled(problem: ProblemDocument, rng: Random) -> ProblemDocument:
    """The same problem with its buffers and all keys in another order."""
    other = cast(ProblemDocument, _mixed(problem, rng))
    rng.shuffle(other["buffers"])
    return other


def believed(problem: ProblemDocument, hint: PlanDocument | None, plan: PlanDocument) -> bool:
    """Whether the planner's judge finds nothing wrong with the plan and has checked all that it says."""
    read_in = read(problem)
    try:
        said = read_plan(json.dumps(plan).encode(), read_in)
    except InputError:
        return False
    start = read_plan(json.dumps(hint).encode(), read_in) if hint is not None else None
    verdict = judge(read_in, said, start)
    return verdict.valid and not verdict.unchecked


def objections(problem: ProblemDocument, hint: PlanDocument | None, plan: PlanDocument) -> list[str]:
    """What the planner's judge has against the plan."""
    read_in = read(problem)
    start = read_plan(json.dumps(hint).encode(), read_in) if hint is not None else None
    said = read_plan(json.dumps(plan).encode(), read_in)
    return [violation.message for violation in judge(read_in, said, start).violations]


def answer(problem: ProblemDocument, hint: PlanDocument | None, run: Run) -> PlanDocument | Refused:
    """The plan as it would be written to a file, or why there is none to be had."""
    try:
        read_in = _on_target(problem) if run.on_target else read(problem)
        start = read_plan(json.dumps(hint).encode(), read_in) if hint is not None else None
        options = Options(
            solver=run.solver,
            gap=run.gap,
            time_limit=run.time_limit,
            work_limit=run.work_limit,
            deterministic=run.deterministic,
            workers=run.workers,
            seed=run.seed,
            hint=start,
        )
        stop = _Stop(run.cancelled_at)
        planned = plan(read_in, options, on_event=stop.hear, cancel=stop.cancel)
        return cast(PlanDocument, json.loads(write_plan(read_in, planned)))
    except (InputError, DeclinedError) as error:
        return error


def _on_target(problem: ProblemDocument) -> Problem:
    """The problem with other pools of the same names, then in its own as a target.

    A problem must be right by itself, and the addresses of pins are counted from the base.
    """
    memory: list[PoolDocument] = [{"id": "memory"}]
    pools = problem.get("pools", memory)
    others: list[PoolDocument] = [
        {"id": pool["id"], "base": pool.get("base", 0), "capacity": 1 << 40, "cost": 5}
        for pool in reversed(pools)
    ]
    other: ProblemDocument = {**problem, "pools": others}
    target = {"version": 1, "name": "board", "pools": pools}
    return retarget(read(other), parse_target(parse_json(json.dumps(target).encode())))


def _mixed(value: object, rng: Random) -> object:
    if isinstance(value, list):
        return [_mixed(one, rng) for one in value]
    if not isinstance(value, dict):
        return value
    items = [(key, _mixed(one, rng)) for key, one in value.items()]
    rng.shuffle(items)
    return dict(items)


class _Stop:
    """Ends the run at one of its events, counted from 0."""

    def __init__(self, at: int | None) -> None:
        self.cancel = threading.Event()
        self._left = at

    def hear(self, _event: Event) -> None:
        if self._left is None:
            return
        if self._left <= 0:
            self.cancel.set()
        self._left -= 1
