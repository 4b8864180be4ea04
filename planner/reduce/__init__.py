"""Turns a problem into arrays, and a layout back into placements.

Takes a problem, returns a `Reduction`, or an explanation if some buffer has no place even alone. Native code
does it (`solvers/native/core/reduction.hpp`), of columns in which times are 64-bit and nothing has a name.
"""

from array import array

from memstow.planner.model.plan import Explanation, Plan, make_placement
from memstow.planner.model.problem import Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reduce.arrays import Reduction, describe
from memstow.planner.reduce.explanations import no_place
from memstow.solvers.core import instance_of, reduced

__all__ = ["Reduction", "reduce"]


def reduce(problem: Problem, hint: Plan | None = None, *, in_bytes: bool = False) -> Reduction | Explanation:
    """The arrays of a valid problem, or the explanation that some buffer has no place even alone.

    Every place of the hint can be used, whatever its offset: for objectives that count moves. With `in_bytes`
    the unit is one byte: for those who add other sizes.
    """
    with collector_at_rest():
        description, moments = describe(problem, hint, in_bytes=in_bytes)
        native = reduced(description)
        if native.homeless:
            return no_place(problem, tuple(native.homeless))
        part_buffer = array("q")
        part_buffer.frombytes(native.buffers)
        alone = tuple(
            (index, make_placement(problem.buffers[index].id, problem.pools[pool].id, offset))
            for index, pool, offset in native.alone
        )
        return Reduction(
            problem, instance_of(native), native.unit, native.least_cost, part_buffer, alone, moments
        )
