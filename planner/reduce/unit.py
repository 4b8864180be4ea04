"""The common unit of a problem: sizes and offsets are counted in it."""

from math import gcd

from memstow.planner.model.problem import Problem
from memstow.planner.reduce.allowed_places import Body


def common_unit(problem: Problem, bodies: list[Body]) -> int:
    """The greatest unit of which every size, distance, given offset and alignment is a multiple.

    An alignment that divides the unit asks for nothing more, so it does not count.
    """
    buffers = problem.buffers
    unit = gcd(*(buffers[i].size for body in bodies for i in body.members))
    for pool in problem.pools:
        for reserved in pool.reserved:
            unit = gcd(unit, reserved.offset, reserved.size)
    for body in bodies:
        if len(body.deltas) > 1:
            unit = gcd(unit, *body.deltas)
        if body.low == body.high:
            unit = gcd(unit, body.low)
    # Most bodies share one list of spots.
    grids = {
        spot.where for spots in {id(body.spots): body.spots for body in bodies}.values() for spot in spots
    }
    before = 0
    while unit != before:
        before = unit
        for where in grids:
            unit = gcd(unit, where.residue)
            if unit % where.modulus:
                unit = gcd(unit, where.modulus)
    return unit
