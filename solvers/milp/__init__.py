"""The integer program of the largest end offset, written with PuLP and solved by CBC or by HiGHS.

The formulas are in docs/model.md, in the order in which `formulation` writes them.
"""

from memstow.solvers.milp.back_end import IntegerProgram


def make(name: str) -> IntegerProgram:
    """The back end `cbc` or `highs`."""
    return IntegerProgram(name, f"memstow.solvers.milp.{name}")
