"""A plan in a file of its own, or as a point of a front."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.api.cli.io.arguments import whole
from memstow.api.cli.io.problem_input import naming_file, read_bytes_of, read_plan

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.verify.verdict import Verdict


def add_point(parser: argparse.ArgumentParser) -> None:
    """Add the argument that selects a point."""
    parser.add_argument(
        "--point",
        type=whole(1, 1 << 31),
        metavar="N",
        help="PLAN is a front, as `memstow front --output front.json` writes it: take its N-th plan",
    )


def read_chosen_plan(path: str, problem: "Problem", form: str | None, point: int | None) -> "Plan":
    """The plan in the file, or that of this point of the front in it."""
    if point is None:
        return read_plan(path, problem, form)
    from memstow.planner.front.documents import read_front
    from memstow.planner.model.errors import InputError

    data = read_bytes_of(path)
    with naming_file(path):
        points = read_front(data).points
        if point > len(points):
            message = f"the front has {len(points):,} points; take one from 1 on"
            raise InputError.single("no_such_point", "--point", message)
        return points[point - 1].plan


def with_point_errors(verdict: "Verdict", document: "Problem | Graph", path: str, point: int) -> "Verdict":
    """The verdict on the plan of a point, and on what the front says of it."""
    from memstow.planner.front.documents import read_front
    from memstow.planner.front.point_errors import point_errors
    from memstow.planner.verify.findings import Code, Violation

    front = read_front(read_bytes_of(path))
    said = point_errors(document, front, front.points[point - 1])
    found = tuple(Violation(Code.VALUE, f"point {point:,} of the front: {it}") for it in said)
    return replace(verdict, violations=(*verdict.violations, *found))
