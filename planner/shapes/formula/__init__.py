"""Formulas of symbols in exact integers: read, evaluated, bounded, and told in which direction they go."""

from memstow.planner.shapes.formula.compiled import compile_formula
from memstow.planner.shapes.formula.errors import FormulaError, FormulaValueError
from memstow.planner.shapes.formula.evaluate import evaluate
from memstow.planner.shapes.formula.facts import Direction, Facts, Ranges, bounds, direction, facts_of
from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number, names_in
from memstow.planner.shapes.formula.parse import DEEPEST, parse_formula
from memstow.planner.shapes.formula.text import text_of

__all__ = [
    "DEEPEST",
    "Call",
    "Chain",
    "Direction",
    "Facts",
    "FormulaError",
    "FormulaValueError",
    "Name",
    "Negation",
    "Node",
    "Number",
    "Ranges",
    "bounds",
    "compile_formula",
    "direction",
    "evaluate",
    "facts_of",
    "names_in",
    "parse_formula",
    "text_of",
]
