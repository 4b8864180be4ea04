"""The page of a front: its points, and for each the problem that its plan is for, as far as there is room.

The page cannot work out what stripes, runs again and copies make of a graph: what each schedule makes is in
the file.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memstow.planner.show.formatting import count, plain

if TYPE_CHECKING:
    from memstow.planner.model.front import Front, FrontPoint
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem


class FrontPage(NamedTuple):
    """The page, and how many of the points have their plans in it."""

    page: bytes
    plans: int


def front_page(document: "Problem | Graph", front: "Front", source: str, first: int | None) -> FrontPage:
    """The page of a front of this document. What the judge says against a point is told on the page.

    With `first` it opens with the plan of that point, and holds those around it.
    """
    from memstow.api.page.alone import front_alone
    from memstow.api.page.front_plans import point_plans
    from memstow.planner.front.choices import with_choices
    from memstow.planner.front.documents import write_front
    from memstow.planner.model.problem import Problem

    document = with_choices(document, front.asked)
    _refuse_other(document, front)
    costed = document if isinstance(document, Problem) else _costed(document, front)
    told = [_said_against(costed, front, it) for it in front.points]
    held, front = point_plans(document, front, first, told)
    title = plain(front.name or document.name or Path(source).name, most=200)
    page = front_alone(write_front(front, "json"), held, told, title, first)
    return FrontPage(page, sum(at is not None for at in held.of))


def _refuse_other(document: "Problem | Graph", front: "Front") -> None:
    from memstow.planner.front.front import digest_of
    from memstow.planner.front.point_verdict import other_document
    from memstow.planner.model.errors import InputError

    if front.targets and not front.points:
        message = "it compares targets; make the front of one memory, such as with --capacity, and view that"
        raise InputError.single("front_of_targets", "FRONT", message)
    if front.digest not in (None, digest_of(document)):
        message = f"{other_document(front)}; give that one, with the options with which the front was made"
        raise InputError.single("other_problem", "FRONT", message)


def _said_against(document: "Problem | Graph", front: "Front", point: "FrontPoint") -> str | None:
    """Why a point is not what it says; None: the judge has counted its plan, and of a graph its cost."""
    from memstow.planner.front.point_verdict import document_of_point
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem
    from memstow.planner.verify import recount

    try:
        violations = recount(document_of_point(document, front, point), point.plan)
        if violations:
            return plain(f"the judge says: {violations[0].message}", most=400)
        if isinstance(document, Problem):
            return None
        from memstow.planner.verify.graph_verdict import schedule_cost

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


def plans_left_out(made: FrontPage, front: "Front") -> str | None:
    """What to tell where some plans did not go into the file."""
    left = len(front.points) - made.plans
    if not left:
        return None
    return (
        f"the page holds the plans of {count(made.plans)} points; the other {count(left)} are drawn without; "
        "--point N takes those around point N"
    )
