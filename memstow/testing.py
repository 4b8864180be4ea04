"""Tries plug-ins out: a solver against brute force, a format by what comes back of it (docs/plugins.md)."""

from memstow.planner.plugins.kit import FEATURES as FEATURES
from memstow.planner.plugins.kit import check_format as check_format
from memstow.planner.plugins.kit import check_solver as check_solver

__all__ = ["FEATURES", "check_format", "check_solver"]
