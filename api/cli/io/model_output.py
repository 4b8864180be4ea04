"""The TensorFlow Lite model that is planned: its scratch memory, what is written, the arena it needs."""

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memstow.api.cli.io.problem_input import STDIN, naming_file, problem_of, read_bytes_of
from memstow.api.cli.io.results import wants_model
from memstow.api.cli.io.terminal import print_error
from memstow.planner.model.records import record

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.arena import Arena
    from memstow.planner.tflm.scratch import Scratch

MEASURE: Final = "measure"
_STOCK: Final = "tflm"
_LONGEST: Final = 2.0


@record
class Model:
    """A model, and what is known of the kernels that run it."""

    data: bytes
    scratch: "Scratch"
    tail: int | None
    order_only: bool
    replan: bool
    measures: bool


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for models."""
    models = parser.add_argument_group("TensorFlow Lite Micro (.tflite)")
    models.add_argument(
        "--scratch",
        metavar="LOG",
        help="plan around the memory that kernels ask for: `measure` runs the package tflite-micro; else the "
        "log of a device, compiled with TF_LITE_SHOW_MEMORY_USE",
    )
    models.add_argument(
        "--order-only",
        action="store_true",
        help="write the model in the order of --order free, but no plan: the runtime places tensors itself",
    )
    models.add_argument(
        "--replan", action="store_true", help="write a plan in the place of the one that the model carries"
    )


def read_model(args: argparse.Namespace, document: "Problem | Graph") -> Model | None:
    """The model to write or to measure; None if none is asked for. What is impossible is refused."""
    wanted = wants_model(args)
    if not wanted and args.scratch is None:
        _refuse_unused(args)
        return None
    data = _bytes_of(args, document)
    with naming_file(args.file):
        if wanted:
            _refuse_impossible(args, document, data)
        if args.scratch == MEASURE:
            from memstow.planner.tflm.measure import measure_scratch

            return Model(data, measure_scratch(data), None, args.order_only, args.replan, True)
    if args.scratch is None:
        return Model(data, {}, None, args.order_only, args.replan, False)
    from memstow.planner.tflm.device_log import read_log

    log = read_bytes_of(args.scratch)
    with naming_file(args.scratch):
        found = read_log(data, log)
    return Model(data, found.scratch, found.tail, args.order_only, args.replan, False)


def with_model(document: "Problem | Graph", model: Model | None) -> "Problem | Graph":
    """The graph with the memory that the kernels of its model ask for."""
    from memstow.planner.model.problem import Problem

    if model is None or not model.scratch or isinstance(document, Problem):
        return document
    from memstow.planner.tflm.scratch import with_scratch

    return with_scratch(document, model.data, model.scratch)


def written_model(model: Model, document: "Problem | Graph", plan: "Plan") -> Model | None:
    """The model with the plan, or as it is where the plan saves nothing; None if there is no plan."""
    from memstow.planner.formats.tflite.reordering import reorder_model
    from memstow.planner.model.plan import PLANNED
    from memstow.planner.tflm.scratch import in_order
    from memstow.planner.tflm.written_model import written_model as written

    if plan.status not in PLANNED or plan.schedule is None:
        return None
    if model.order_only:
        _warn_if_worse(document, plan)
        order = plan.schedule.order
        return replace(model, data=reorder_model(model.data, order), scratch=in_order(model.scratch, order))
    made = written(model.data, plan, model.scratch, replan=model.replan)
    if not made.is_planned:
        print_error(
            f"the model is written without a plan, which saves nothing: the runtime's own rule needs "
            f"{made.plain_head:,} bytes, and the plan {made.planned_head:,}"
        )
    return replace(model, data=made.model, scratch=made.scratch)


def show_arena(model: Model, written: Model | None) -> None:
    """Print what the runtime needs for the model, and for what was written."""
    from memstow.planner.show.arena_table import arena_table

    print(arena_table([_arena(it) for it in (model, written) if it is not None]))


def _arena(model: Model) -> "Arena":
    if model.measures:
        from memstow.planner.tflm.measure import measure_arena

        return measure_arena(model.data)
    from memstow.planner.tflm.arena import arena_of

    return arena_of(model.data, model.scratch, tail=model.tail)


def _refuse_unused(args: argparse.Namespace) -> None:
    from memstow.planner.model.errors import InputError

    for option, given in (("--order-only", args.order_only), ("--replan", args.replan)):
        if given:
            message = "it is for models, and no output is one: add --output FILE.tflite, or leave it out"
            raise InputError.single("unused_option", option, message)


def _bytes_of(args: argparse.Namespace, document: "Problem | Graph") -> bytes:
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem

    if args.file == STDIN or not os.path.isfile(args.file):
        message = "a model is read again when it is written or measured, and this is not a file; name one"
        raise InputError.single("not_a_file", "FILE", message)
    model = read_bytes_of(args.file)
    with naming_file(args.file):
        if model[4:8] != b"TFL3" or isinstance(document, Problem):
            message = "only a TensorFlow Lite model can be written as one or measured, and this is none"
            raise InputError.single("not_a_model", "$", message)
    return model


def _refuse_impossible(args: argparse.Namespace, document: "Problem | Graph", model: bytes) -> None:
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.writable import Asked, OptionNames, require_writable

    asked = Asked(
        order="given" if isinstance(document, Problem) else document.order,
        in_place=bool(args.in_place),
        order_only=args.order_only,
        replan=args.replan,
        pools=len(problem_of(document).pools),
    )
    names = OptionNames(
        free="--order free", in_place="--in-place", order_only="--order-only", of_in_place="--in-place"
    )
    require_writable(model, asked, names)


def _warn_if_worse(document: "Problem | Graph", plan: "Plan") -> None:
    """Say so where TensorFlow Lite Micro, which places by a rule of its own, needs more in the new order."""
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import PLANNED
    from memstow.planner.solve import engine

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
