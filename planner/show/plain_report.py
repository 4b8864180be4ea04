"""The report of a plan in columns: the same words and the same picture as of the models."""

from array import array
from typing import Final

from memstow.planner.plain._columns import Columns
from memstow.planner.plain.models import plan_of, problem_of
from memstow.planner.plain.plan import PlainPlan
from memstow.planner.show.report import PICTURE_ROWS, plan_lines, plan_report
from memstow.planner.show.text_picture import Glyphs, columns_in, shaded_map

# Few buffers are named by letters, and few objects take no time.
_FEW: Final = 200


def plain_report(columns: Columns, plan: PlainPlan, width: int, glyphs: Glyphs) -> str:
    """The answer for a person: figures, who found it, and a picture."""
    drawable = len(columns) if len(columns) <= _FEW else len(columns) - columns.sizes.tolist().count(0)
    if drawable <= _FEW:
        problem = problem_of(columns)
        return plan_report(problem, plan_of(columns, plan, problem), width, glyphs)
    room = columns_in(width)
    raw, levels = columns.picture(plan.offsets, room, PICTURE_ROWS)
    times = array("q")
    times.frombytes(raw)
    rows = [levels[begin : begin + room] for begin in range(0, len(levels), room)]
    drawn = shaded_map(plan.frame.pools[0], drawable, times, rows, width, glyphs)
    return "\n".join(plan_lines(plan.frame, len(columns), {}, drawn))
