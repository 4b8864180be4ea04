"""What the plans of a front are for, as the page needs it, as far as there is room.

The page cannot work out what stripes, runs again and copies make of a graph: what each schedule makes is in
the file.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from memstow.api.page.alone import PointPlans
from memstow.planner.formats import write_problem
from memstow.planner.formats.native import encode_graph
from memstow.planner.front.front_documents import write_front
from memstow.planner.front.graph_candidates import ends_first
from memstow.planner.front.graph_front import has_other_orders
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.schedules import only_orders, scheduled_graph
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.model.problem import Problem

MOST_PLANS: Final = 200
"""Points whose plans are in one file."""
MOST_BYTES: Final = 32 << 20
"""Bytes of these plans and of what they are for, before they are compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOf:
    """Of several targets, the one whose front the page draws."""

    name: str
    smallest: bool
    """Whether it is the smallest that will do."""
    all: int
    open: int
    """Of how many others not every point is known and proven."""


def front_file(document: Problem | Graph, front: Front, target: TargetOf | None = None) -> bytes:
    """The front with what its plans are for, as a file that the page reads."""
    held, front = point_plans(document, front, None, [None] * len(front.points))
    fields = {
        "name": json.dumps(front.name or document.name or "front").encode(),
        "front": write_front(front, "json"),
        **held.fields(),
    }
    if target is not None:
        fields["target"] = json.dumps(asdict(target)).encode()
    return b"{" + b", ".join(b'"%s": %s' % (name.encode(), it) for name, it in fields.items()) + b"}"


def point_plans(
    document: Problem | Graph, front: Front, first: int | None, told: Sequence[str | None]
) -> tuple[PointPlans, Front]:
    """What the plans of the points are for, and the front without the plans for which there is no room.

    `first`: the point that matters most. What is `told` against a point of a graph keeps its plan out.
    """
    held = _held(document, front, first, told)
    points = tuple(
        it if at is not None else replace(it, plan=_without_places(it.plan))
        for it, at in zip(front.points, held.of, strict=True)
    )
    return held, replace(front, points=points)


def _held(
    document: Problem | Graph, front: Front, first: int | None, told: Sequence[str | None]
) -> PointPlans:
    """What the plans are for: of a problem itself, of a graph what each schedule makes of it."""
    if isinstance(document, Problem):
        whole = write_problem(document)
        room = _Room(len(whole))
        of = {it: 0 for it in _nearest(len(front.points), first) if room.takes(_bytes(front.points[it]))}
        return PointPlans("problems", (whole,), tuple(of.get(it) for it in range(len(front.points))))
    graph = with_cost_unit(document, front.asked.cost)
    room = _Room(0)
    documents: list[bytes] = []
    place_of: dict[Schedule | None, int] = {}
    chosen: dict[int, int] = {}
    for it in _nearest(len(front.points), first):
        if told[it] is not None:
            continue
        schedule = front.points[it].plan.schedule
        if schedule not in place_of:
            made = encode_graph(_as_it_runs(graph, schedule))
            if not room.takes(len(made) + _bytes(front.points[it])):
                break
            place_of[schedule] = len(documents)
            documents.append(made)
        chosen[it] = place_of[schedule]
    places = tuple(chosen.get(it) for it in range(len(front.points)))
    keeps_order = document.order == GIVEN and has_other_orders(document)
    return PointPlans("graphs", tuple(documents), places, keeps_order)


def _as_it_runs(graph: Graph, schedule: Schedule | None) -> Graph:
    """A graph whose operators are listed as the schedule runs them."""
    if schedule is not None and not only_orders(schedule):
        return scheduled_graph(graph, schedule)
    if schedule is None:
        order = [graph.operators[it].id for it in listed_order(graph)]
    else:
        order = list(schedule.order)
    operators = {it.id: it for it in graph.operators}
    return replace(graph, operators=tuple(operators[it] for it in order), order=GIVEN)


def _nearest(points: int, first: int | None) -> list[int]:
    """The points in the order in which they are taken: the nearest to the chosen one, or spread over all."""
    if first is None:
        return list(ends_first(points))
    return sorted(range(points), key=lambda it: (abs(it - first), it))


class _Room:
    """What still goes into the file."""

    def __init__(self, used: int) -> None:
        self._bytes = MOST_BYTES - used
        self._plans = MOST_PLANS

    def takes(self, size: int) -> bool:
        """Whether a plan of this size goes in; the first always does."""
        if self._plans < MOST_PLANS and (size > self._bytes or not self._plans):
            return False
        self._bytes -= size
        self._plans -= 1
        return True


def _bytes(point: FrontPoint) -> int:
    """About how much JSON the places of a plan are."""
    return 64 * len(point.plan.placements)


def _without_places(plan: Plan) -> Plan:
    return replace(plan, placements=(), pools=(), objective=(), schedule=None)
