"""The plan of a command: a file, a point of a front, what a model carries, or tiles of operators."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.parser import first_named
from memstow.api.cli.problem_input import naming_file, read_bytes_of, read_plan, read_target
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.reading.json_text import parse_json
from memstow.planner.show.formatting import plain
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.front import Front
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.tiling import Tiling, Tilings
    from memstow.planner.tflm.planned_model import CarriedPlan
    from memstow.planner.verify.verdict import Verdict


@record
class ChosenPlan:
    """A plan, and what it is a plan of; of a point the front, and what that is a front of."""

    plan: "Plan"
    document: "Problem | Graph"
    front: "Front | None" = None
    origin: "Problem | Graph | None" = None


def read_chosen_plan(
    path: str,
    document: "Problem | Graph",
    form: str | None,
    point: int | None,
    target: str | None = None,
    before: "Callable[[], Problem | Graph] | None" = None,
    data: bytes | None = None,
) -> ChosenPlan:
    """The plan in the file, or that of this point of the front in it.

    Alternatives that the front was asked to choose from are added to the graph, and capacities that were
    looked for are in the problem. `target`: as the user calls the one whose memories the document is in;
    `before` gives the document as it was in its own; `data`: what is in the file, where that was read.
    """
    if point is None:
        return ChosenPlan(read_plan(path, problem_of(document), form, data), document)
    from memstow.planner.front.find_front import document_of_point, with_choices
    from memstow.planner.front.front_documents import read_front

    if data is None:
        data = read_bytes_of(path)
    origin = document
    with naming_file(path):
        front = read_front(data)
        if front.targets:
            front = _front_in(front, target)
            origin = document if before is None else before()
        if point > len(front.points):
            message = f"the front has {len(front.points):,} points; take one from 1 on"
            raise InputError.single("no_such_point", "--point", message)
    chosen = front.points[point - 1]
    document = document_of_point(with_choices(document, front.request), front, chosen)
    return ChosenPlan(chosen.plan, document, front, with_choices(origin, front.request))


def refuse_plan_format_of_front(args: argparse.Namespace) -> None:
    """Reject another format for the file of a front."""
    if args.plan_format not in (None, "json"):
        message = "PLAN is a front here, which is JSON; leave it out"
        raise InputError.single("unused_option", "--plan-format", message)


def _front_in(front: "Front", target: str | None) -> "Front":
    """Of the fronts of several targets that of this one."""
    called = () if target is None else (target, read_target(target).name)
    fronts = [entry for entry in front.targets if entry.target in called]
    if len(fronts) != 1:
        names = ", ".join(plain(entry.target, most=300) for entry in front.targets[:8])
        message = f"the front has points in the memories of several targets; give one as --target: {names}"
        raise InputError.single("which_target", "--point", message)
    return replace(front, points=fronts[0].points, complete=fronts[0].complete, targets=())


def with_point_verdict(
    verdict: "Verdict", chosen: ChosenPlan, point: int | None, hint: "Plan | None"
) -> "Verdict":
    """The verdict on a plan, and if it is that of a point, on what the front says of it."""
    if chosen.front is None or point is None or chosen.origin is None:
        return verdict
    from memstow.planner.front.find_front import verdict_on_point

    return verdict_on_point(chosen.document, chosen.origin, chosen.front, point - 1, verdict, hint)


def read_carried_plan(
    args: argparse.Namespace, data: bytes, document: "Problem | Graph"
) -> "CarriedPlan | None":
    """The plan in the model that is the plan file, or the first file itself; None if the plan is no model.

    `data`: what is in that file.
    """
    path = args.problem if args.plan is None else args.plan
    if data[4:8] != b"TFL3":
        if args.plan is None:
            message = "name the plan: only the file of a TensorFlow Lite model can carry its own"
            raise InputError.single("no_plan", "PLAN", message)
        return None
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        message = "this model carries a plan for its graph, and the first file is a problem; name the model"
        raise InputError.single("not_a_graph", "PLAN", message)
    from memstow.planner.tflm.planned_model import plan_in

    with naming_file(path):
        return plan_in(data, document)


# Options about plans.
_NOT_OF_TILINGS: Final = (
    options.PLAN_FORMAT,
    options.POINT,
    options.VERIFY_HINT,
    options.RECHECK,
    options.VERIFY_PROOF,
    options.VERIFIED_OUTPUT,
    options.CAPACITY,
    options.FIT_ONLY,
    options.ORDER,
    options.IN_PLACE,
    options.NO_IN_PLACE,
)


def tilings_in(args: argparse.Namespace, data: bytes) -> "Tiling | Tilings | None":
    """The tiling in these bytes of the plan file, or those of all operators; None for something else."""
    # Read as a whole only where it may be one: files of plans are large.
    if b'"operator"' not in data and b'"tilings"' not in data:
        return None
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return None
    from memstow.planner.tiling.tiling_documents import is_tiling, parse_tilings

    with naming_file(args.plan):
        raw = parse_json(data)
        if not is_tiling(raw):
            return None
        option = first_named(args, _NOT_OF_TILINGS)
        if option is not None:
            message = "it is for plans, and the second file holds tiles of operators; leave it out"
            raise InputError.single("unused_option", option.spelling, message)
        return parse_tilings(raw)
