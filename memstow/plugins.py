"""What plug-ins are written with: `Search`, and what a solver and a format have (docs/plugins.md)."""

from memstow.planner.plugins.interface import PlanReader as PlanReader
from memstow.planner.plugins.interface import PlanWriter as PlanWriter
from memstow.planner.plugins.interface import Reader as Reader
from memstow.planner.plugins.interface import Search as Search
from memstow.planner.plugins.interface import Solver as Solver
from memstow.planner.plugins.interface import Writer as Writer

__all__ = ["PlanReader", "PlanWriter", "Reader", "Search", "Solver", "Writer"]
