"""What is known about a plan; apart from the plan's classes, because those take longer to import."""

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """What is known about the plan."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


PLANNED: Final = frozenset({Status.OPTIMAL, Status.FEASIBLE})
"""With these there is a plan."""
