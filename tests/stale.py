"""Plans that a hint may be: right for some buffers, out of date for others, silent on the rest."""

from random import Random

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Problem


def stale_plan(problem: Problem, rng: Random) -> Plan:
    """Places for some buffers, in pools there are and in one there is not; they need not fit."""
    pools = [pool.id for pool in problem.pools] * 4 + ["gone"]
    places = tuple(
        Placement(buffer=buffer.id, pool=rng.choice(pools), offset=rng.randint(0, 6))
        for buffer in problem.buffers
        if rng.random() < 0.8
    )
    return Plan(status=Status.FEASIBLE, placements=places)
