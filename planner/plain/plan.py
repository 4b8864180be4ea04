"""A plan of a plain problem: short parts as the models have them, long ones as columns."""

from array import array

from memstow.planner.model.plan import Plan
from memstow.planner.model.records import record


@record
class PlainPlan:
    """Where every buffer is, and what that is worth."""

    frame: Plan
    """The plan without its placements; the certificate of its term, or of its pool, names no buffers."""
    offsets: "array[int]"
    """By buffer."""
    members: "array[int]"
    """The buffers that this certificate should name, where it is one of live bytes."""
