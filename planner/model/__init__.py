"""Problems, options, events, plans, targets and errors: the values that every other room works with.

The type of each field is checked when a value is made, what must hold between fields in `planner.check`.
Nothing here reads files, solves or judges. This module itself has what quick paths need without any class
of a problem or a plan: it imports next to nothing.
"""

from enum import StrEnum
from typing import Final

LONGEST_RUN: Final = 366 * 86_400.0
"""Seconds: what a time limit may be at most."""


class Status(StrEnum):
    """What is known about the plan."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


PLANNED: Final = frozenset({Status.OPTIMAL, Status.FEASIBLE})
"""With these there is a plan."""
