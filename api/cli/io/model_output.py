"""The model that an output may be: read again before the search, written in a new order after it."""

import argparse
import os
from typing import TYPE_CHECKING, Final

from memstow.api.cli.io.problem_input import STDIN, naming_file, problem_of, read_bytes_of
from memstow.api.cli.io.results import wants_model
from memstow.api.cli.io.terminal import print_error

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem

_STOCK: Final = "tflm"
_LONGEST: Final = 2.0


def read_model(args: argparse.Namespace, document: "Problem | Graph") -> bytes | None:
    """The model to write in another order; None if no output is one. What is impossible is refused."""
    if not wants_model(args):
        return None
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem

    if args.file == STDIN or not os.path.isfile(args.file):
        message = "a model is written from the file of another, and this is none; name a .tflite file"
        raise InputError.single("not_a_file", "FILE", message)
    model = read_bytes_of(args.file)
    with naming_file(args.file):
        if model[4:8] != b"TFL3" or isinstance(document, Problem):
            message = "only a TensorFlow Lite model can be written as one, and this is something else"
            raise InputError.single("not_a_model", "$", message)
        if document.order == "given":
            message = "its operators would stay as they are listed, and the model the same; add --order free"
            raise InputError.single("same_model", "$", message)
        from memstow.planner.formats.tflite.reordering import require_movable

        require_movable(model)
    return model


def warn_if_worse(document: "Problem | Graph", plan: "Plan") -> None:
    """Say so where TensorFlow Lite Micro, which places by a rule of its own, needs more in the new order."""
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import PLANNED
    from memstow.planner.solve import engine

    if plan.status not in PLANNED:
        return
    options = Options(solver=_STOCK, time_limit=_LONGEST)
    heads = [engine.plan(problem_of(document, order), options) for order in (None, plan)]
    if any(head.status not in PLANNED for head in heads):
        return
    listed, reordered = (sum(use.peak for use in head.pools) for head in heads)
    if reordered > listed:
        print_error(
            f"without a plan, TensorFlow Lite Micro needs {reordered:,} bytes for this order, and {listed:,} "
            "for the listed one; --solver tflm looks for an order that suits it"
        )
