"""A plan in a file of its own, or as a point of a front."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memstow.api.cli.io.arguments import whole
from memstow.api.cli.io.problem_input import naming_file, problem_of, read_bytes_of, read_plan

if TYPE_CHECKING:
    from memstow.planner.model.front import Front
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.verify.verdict import Verdict


class ChosenPlan(NamedTuple):
    """A plan, what it is a plan of, and the front whose point it is, if any."""

    plan: "Plan"
    document: "Problem | Graph"
    front: "Front | None"


def add_point(parser: argparse.ArgumentParser) -> None:
    """Add the argument that selects a point."""
    parser.add_argument(
        "--point",
        type=whole(1, 1 << 31),
        metavar="N",
        help="PLAN is a front, as `memstow front --output front.json` writes it: take its N-th plan",
    )


def read_chosen_plan(
    path: str, document: "Problem | Graph", form: str | None, point: int | None
) -> ChosenPlan:
    """The plan in the file, or that of this point of the front in it.

    Alternatives that the front was asked to choose from are added to the graph.
    """
    if point is None:
        return ChosenPlan(read_plan(path, problem_of(document), form), document, None)
    from memstow.planner.front.choices import with_choices
    from memstow.planner.front.documents import read_front
    from memstow.planner.model.errors import InputError

    data = read_bytes_of(path)
    with naming_file(path):
        front = read_front(data)
        if point > len(front.points):
            message = f"the front has {len(front.points):,} points; take one from 1 on"
            raise InputError.single("no_such_point", "--point", message)
    return ChosenPlan(front.points[point - 1].plan, with_choices(document, front.asked), front)


def with_point_errors(verdict: "Verdict", chosen: ChosenPlan, point: int | None) -> "Verdict":
    """The verdict on a plan, and if it is that of a point, on what the front says of it."""
    if chosen.front is None or point is None:
        return verdict
    from memstow.planner.front.point_errors import point_errors
    from memstow.planner.verify.findings import Code, Violation

    said = point_errors(chosen.document, chosen.front, chosen.front.points[point - 1])
    found = tuple(Violation(Code.VALUE, f"point {point:,} of the front: {it}") for it in said)
    return replace(verdict, violations=(*verdict.violations, *found))
