"""The page of a front: its points, and for each the problem that its plan is for, as far as there is room.

The page cannot work out what stripes, runs again and copies make of a graph: what each schedule makes is in
the file.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from memstow.planner.show.formatting import count, plain

if TYPE_CHECKING:
    from memstow.api.page.alone import PointPlans
    from memstow.planner.model.front import Front, FrontPoint
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan, Schedule
    from memstow.planner.model.problem import Problem

MOST_PLANS: Final = 200
"""Points whose plans are in one file."""
MOST_BYTES: Final = 32 << 20
"""Bytes of these plans and of what they are for, before they are compressed."""


class FrontPage(NamedTuple):
    """The page, and how many of the points have their plans in it."""

    page: bytes
    plans: int


def front_page(document: "Problem | Graph", front: "Front", source: str, first: int | None) -> FrontPage:
    """The page of a front of this document. What the judge says against a point is told on the page.

    With `first` it opens with the plan of that point, and holds those around it.
    """
    from memstow.api.page.alone import front_alone
    from memstow.planner.front.documents import write_front
    from memstow.planner.model.problem import Problem

    _refuse_other(document, front)
    costed = document if isinstance(document, Problem) else _costed(document, front)
    told = [_said_against(costed, it) for it in front.points]
    held = _held(document, front, first, told)
    points = tuple(
        it if at is not None else replace(it, plan=_without_places(it.plan))
        for it, at in zip(front.points, held.of, strict=True)
    )
    title = plain(front.name or document.name or Path(source).name, most=200)
    page = front_alone(write_front(replace(front, points=points), "json"), held, told, title, first)
    return FrontPage(page, sum(at is not None for at in held.of))


def _refuse_other(document: "Problem | Graph", front: "Front") -> None:
    from memstow.planner.front.front import digest_of
    from memstow.planner.model.errors import InputError

    if front.targets and not front.points:
        message = "it compares targets; make the front of one memory, such as with --capacity, and view that"
        raise InputError.single("front_of_targets", "FRONT", message)
    if front.digest not in (None, digest_of(document)):
        message = (
            "the front is of another problem or graph, as its digest says; give that one, with the options "
            "with which the front was made"
        )
        raise InputError.single("other_problem", "FRONT", message)


def _said_against(document: "Problem | Graph", point: "FrontPoint") -> str | None:
    """Why a point is not what it says; None: the judge has counted its plan, and of a graph its cost."""
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem
    from memstow.planner.verify import recount

    try:
        violations = recount(document, point.plan)
        if violations:
            return plain(f"the judge says: {violations[0].message}", most=400)
        if isinstance(document, Problem):
            return None
        from memstow.planner.verify.graphs.schedule_cost import schedule_cost

        schedule = point.plan.schedule
        if schedule is None:
            return "its plan has no schedule"
        cost = schedule_cost(document, schedule)
    except (InputError, ValueError) as error:
        return plain(f"the judge says: {error}", most=400)
    if "cost" in point.values and cost != point.values["cost"]:
        return f"its schedule costs {count(cost)}, as the judge counts"
    return None


def _costed(document: "Problem | Graph", front: "Front") -> "Problem | Graph":
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.costs import with_cost_unit

    return with_cost_unit(document, front.asked.cost)


def _held(
    document: "Problem | Graph", front: "Front", first: int | None, told: list[str | None]
) -> "PointPlans":
    """What the plans are for: of a problem itself, of a graph what each schedule makes of it."""
    from memstow.api.page.alone import PointPlans
    from memstow.planner.formats import write_problem
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        whole = write_problem(document)
        room = _Room(len(whole))
        of = {it: 0 for it in _nearest(len(front.points), first) if room.takes(_bytes(front.points[it]))}
        return PointPlans("problems", (whole,), tuple(of.get(it) for it in range(len(front.points))))
    from memstow.planner.formats.graph.native import to_bytes
    from memstow.planner.graph.costs import with_cost_unit

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
            made = to_bytes(_as_it_runs(graph, schedule))
            if not room.takes(len(made) + _bytes(front.points[it])):
                break
            place_of[schedule] = len(documents)
            documents.append(made)
        chosen[it] = place_of[schedule]
    return PointPlans("graphs", tuple(documents), tuple(chosen.get(it) for it in range(len(front.points))))


def _as_it_runs(graph: "Graph", schedule: "Schedule | None") -> "Graph":
    """A graph whose operators are listed as the schedule runs them."""
    from memstow.planner.graph.links import listed_order
    from memstow.planner.graph.schedules import only_orders, scheduled_graph
    from memstow.planner.model.graph import GIVEN

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
    from memstow.planner.front.candidates import ends_first

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


def _bytes(point: "FrontPoint") -> int:
    """About how much JSON the places of a plan are."""
    return 64 * len(point.plan.placements)


def _without_places(plan: "Plan") -> "Plan":
    return replace(plan, placements=(), pools=(), objective=(), schedule=None)


def plans_left_out(made: FrontPage, front: "Front") -> str | None:
    """What to tell where some plans did not go into the file."""
    left = len(front.points) - made.plans
    if not left:
        return None
    return (
        f"the page holds the plans of {count(made.plans)} points; the other {count(left)} are drawn without; "
        "--point N takes those around point N"
    )
