"""A few greedy passes over a small plain problem: where they end its run, the rest of a run is not needed."""

import time
from array import array
from typing import Final

from memstow.planner.model.model_class import maker_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import LiveBytes
from memstow.planner.model.problem import LIMIT
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan
from memstow.planner.solve.plain_plan import four, judged_plan
from memstow.planner.solve.portfolio import AUTO, FIRST_PASSES
from memstow.planner.solve.run_state import LIVE_BYTES
from memstow.planner.solve.term_bounds import Stamp, TermBound
from memstow.solvers import core
from memstow.solvers.core import Budget

# A few passes over so many buffers, or fewer over more of them, take about as long as handing over to another
# thread. A step is one buffer in one pass.
_MOST_BUFFERS: Final = 100
_MOST_STEPS: Final = 1_000

_live_bytes: Final = maker_of(LiveBytes, "pool", "time", "buffers")


def found_at_once(columns: Columns, name: str, options: Options, seconds: float) -> PlainPlan | None:
    """The plan of a run with these options, where its first steps prove it within `seconds`.

    None where they do not, or where the run may begin with something else. `name` is the digest of the
    problem.
    """
    began = time.monotonic()
    if options.solver != AUTO or options.gap or options.work_limit is not None or options.deterministic:
        return None
    if columns.fit_only:
        # The first plan that fits ends such a run.
        return None
    if options.hint is not None or len(columns) > _MOST_BUFFERS or options.time_limit < seconds:
        return None
    items = len(columns) - columns.sizes.tolist().count(0)
    budget = Budget(seconds, min(FIRST_PASSES * items, _MOST_STEPS))
    capacity = LIMIT if columns.capacity is None else columns.capacity
    found = core.lowest(*four(columns), capacity, options.seed, budget)
    if found is None:
        return None
    offsets, members = array("q", found.offsets), array("q", found.members)
    bound = TermBound(found.peak, _live_bytes(columns.pool, found.moment, ()))
    stamp = Stamp(round(time.monotonic() - began, 6), budget.work)
    solver = f"greedy {found.name}"
    return judged_plan(columns, offsets, members, found.peak, bound, solver, LIVE_BYTES, stamp, name)
