"""The plan that a TensorFlow Lite model carries, where a plan is read."""

import argparse
from typing import TYPE_CHECKING

from memstow.api.cli.io.problem_input import naming_file

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.carried_plan import CarriedPlan


def read_carried_plan(
    args: argparse.Namespace, data: bytes, document: "Problem | Graph"
) -> "CarriedPlan | None":
    """The plan in the model that is the plan file, or the first file itself; None if the plan is no model.

    `data`: what is in that file.
    """
    path = args.problem if args.plan is None else args.plan
    if data[4:8] != b"TFL3":
        if args.plan is None:
            from memstow.planner.model.errors import InputError

            message = "name the plan: only the file of a TensorFlow Lite model can carry its own"
            raise InputError.single("no_plan", "PLAN", message)
        return None
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        message = "this model carries a plan for its graph, and the first file is a problem; name the model"
        raise InputError.single("not_a_graph", "PLAN", message)
    from memstow.planner.tflm.same_model import plan_in

    with naming_file(path):
        return plan_in(data, document)
