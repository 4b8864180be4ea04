"""What one back end says of many tiny problems, run as a program of its own.

`python -m tests.solvers.models.agreement NAME FIRST LAST BUFFERS` prints a JSON list of [seed, status,
values], for problems from these seeds; a back end named `brute` is the referee. Back ends cannot share a
process with each other: OR-tools and highspy bring different copies of HiGHS under the same names.
"""

import json
import sys
from dataclasses import replace
from random import Random

from memstow.planner.check import require_valid
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement, Plan
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.reduce import reduce
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Limits, Model
from memstow.solvers.registry import model
from tests import referee
from tests.problems import random_problem

Said = tuple[str, tuple[int, ...] | None]


def problems(first: int, last: int, buffers: int) -> "list[tuple[int, Problem, Plan | None]]":
    """Valid problems with a hint for some, by seed."""
    result = []
    for seed in range(first, last):
        rng = Random(seed)
        problem = random_problem(rng, buffers)
        hint = None
        if rng.random() < 0.3:
            problem, hint = _with_moves(problem, rng)
        try:
            require_valid(problem)
        except InputError:
            continue
        result.append((seed, problem, hint))
    return result


class Heard:
    """What a back end reports."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        self.bounds: dict[int, int] = {}

    def layout(self, layout: Layout) -> None:
        self.layouts.append(layout)

    def bound(self, level: int, value: int, _locks: tuple[int, ...]) -> None:
        self.bounds[level] = max(value, self.bounds.get(level, 0))

    def infeasible(self) -> None:
        pass


def say(back_end: Model, problem: Problem, hint: Plan | None) -> Said:
    """Status and values; `unproven` where the back end leaves a term open."""
    reduction = reduce(problem, hint if "moves" in problem.terms() else None)
    if isinstance(reduction, Explanation):
        return "infeasible", None
    task, scales = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options(hint=hint))
    heard = Heard()
    verdict = back_end.solve(task, None, Limits(seconds=60), heard)
    if verdict.failure is not None:
        return verdict.failure, None
    if verdict.infeasible:
        return "infeasible", None
    if not heard.layouts:
        return "no layout", None
    places = {p.buffer: (p.pool, p.offset) for p in reduction.placements(heard.layouts[-1])}
    values = referee.cost(problem, places, hint)
    if referee.breaks(problem, places):
        return "breaks a constraint", values
    bounds = [heard.bounds.get(i, 0) * scale for i, scale in enumerate(scales)]
    return ("optimal" if tuple(bounds) == values else f"bounds {bounds}"), values


def _with_moves(problem: Problem, rng: Random) -> tuple[Problem, Plan]:
    """The problem with `moves` in its objective, and a hint that is partly stale."""
    placements = tuple(
        Placement(buffer=buffer.id, pool=rng.choice(problem.pools).id, offset=rng.randint(0, 6))
        for buffer in problem.buffers
        if rng.random() < 0.8
    )
    terms = [term for term in problem.terms() if term != "moves"]
    terms.insert(rng.randint(0, len(terms)), "moves")
    return replace(problem, objective=tuple(terms)), Plan(status=Status.FEASIBLE, placements=placements)


def main(arguments: list[str]) -> None:
    """Print what the named back end says."""
    name, (first, last, buffers) = arguments[0], map(int, arguments[1:])
    said: list[tuple[int, str, tuple[int, ...] | None]] = []
    back_end = None if name == "brute" else model(name)
    for seed, problem, hint in problems(first, last, buffers):
        if back_end is None:
            status, values = referee.best(problem, hint)
            said.append((seed, str(status), values))
        else:
            said.append((seed, *say(back_end, problem, hint)))
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
