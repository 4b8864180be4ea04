"""A plan of a problem with symbols, in text: what it consists of, and what it needs at the points."""

from memstow.planner.model import PLANNED
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.shapes.sizes import values_text
from memstow.planner.shapes.sweep import said_points, sweep_points
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.show.formatting import count, plain
from memstow.planner.show.sweep_table import ratio_text, sweep_table


def symbolic_report(problem: SymbolicProblem, plan: SymbolicPlan) -> str:
    """Lines without a last line break; the plan is judged already."""
    if plan.status not in PLANNED:
        reason = "" if plan.explanation is None else f": {plain(plan.explanation.message, most=1000)}"
        return f"{plan.status.value}{reason}"
    lines = [f"{plan.status.value}: {_what(plan)}, {_how_good(plan)}", ""]
    # Which of several orders is used at a point, the plan does not say.
    several = len(plan.orders) > 1 or not plan.points
    found = sweep_points(Layout(problem, plan)) if several else said_points(problem, plan)
    lines += [sweep_table(found)]
    return "\n".join(lines)


def _what(plan: SymbolicPlan) -> str:
    buffers = len(plan.placements) if plan.shapes == "fixed" else len(plan.orders[0].placements)
    noun = "buffer" if buffers == 1 else "buffers"
    if plan.shapes == "fixed":
        return f"fixed offsets of {count(buffers)} {noun}"
    if len(plan.orders) == 1:
        return f"one order of {count(buffers)} {noun}"
    return f"{len(plan.orders)} orders of {count(buffers)} {noun}"


def _how_good(plan: SymbolicPlan) -> str:
    if plan.worst is None:
        return "no ratio: at some value the least is 0"
    if plan.shapes == "fixed":
        return f"largest ratio {ratio_text(plan.worst)}"
    if plan.bound is not None and plan.bound == plan.worst:
        return f"largest ratio {ratio_text(plan.worst)}, proven least"
    where = next((it.at for it in plan.points if it.least and it.peak / it.least == plan.worst), None)
    at = "" if where is None else f" at {values_text(where)}"
    return f"largest ratio {ratio_text(plan.worst)}{at}; not proven: perhaps {ratio_text(plan.bound or 1.0)}"
