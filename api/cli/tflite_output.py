"""The TensorFlow Lite model that is planned: its scratch memory, what is written, the arena it needs."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from memstow.api.cli.plan_output import wants_model
from memstow.api.cli.problem_input import STDIN, naming_file, read_bytes_of
from memstow.api.cli.terminal import columns, print_error
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.records import record, replace

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Arena, Arenas, Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.runtime_model import Scratch

MEASURE: Final = "measure"
_STOCK: Final = "tflm"
_LONGEST: Final = 2.0
_MOST_UNASKED: Final = 1_000
"""Of a model with more tensors the arena is told on demand: following the runtime's rule takes a while."""


@record
class Model:
    """A model, and what is known of the kernels that run it."""

    data: bytes
    scratch: "Scratch"
    tail: int | None
    has_scratch: bool
    measures: bool
    order_only: bool
    replan: bool


def read_model(args: argparse.Namespace, document: "Problem | Graph", data: bytes) -> Model | None:
    """The TensorFlow Lite model that these bytes are; None if they are none, or have too many tensors.

    What is asked for and impossible is refused.
    """
    wanted = wants_model(args)
    if not wanted and args.scratch is None:
        _refuse_unused(args)
        if not _is_model(document, data) or len(problem_of(document).buffers) > _MOST_UNASKED:
            return None
        return _model(args, data)
    with naming_file(args.file):
        if not _is_model(document, data):
            message = "only a TensorFlow Lite model can be written as one or measured, and this is none"
            raise InputError.single("not_a_model", "$", message)
        if wanted:
            _refuse_impossible(args, document, data)
        if args.scratch == MEASURE:
            from memstow.planner.tflm.measure import measure_scratch

            return _model(args, data, measure_scratch(data), measures=True)
    if args.scratch is None:
        return _model(args, data)
    from memstow.planner.tflm.measure import read_log

    log = read_bytes_of(args.scratch)
    with naming_file(args.scratch):
        measured = read_log(data, log)
    return _model(args, data, measured.scratch, measured.tail)


def _is_model(document: "Problem | Graph", data: bytes) -> bool:
    from memstow.planner.model.problem import Problem

    return data[4:8] == b"TFL3" and not isinstance(document, Problem)


def _model(
    args: argparse.Namespace,
    data: bytes,
    scratch: "Scratch | None" = None,
    tail: int | None = None,
    measures: bool = False,
) -> Model:
    return Model(data, scratch or {}, tail, scratch is not None, measures, args.order_only, args.replan)


def with_model(document: "Problem | Graph", model: Model | None) -> "Problem | Graph":
    """The graph with the memory that the kernels of its model ask for."""
    from memstow.planner.model.problem import Problem

    if model is None or not model.scratch or isinstance(document, Problem):
        return document
    from memstow.planner.tflm.runtime_model import with_scratch

    return with_scratch(document, model.data, model.scratch)


def written_model(model: Model, document: "Problem | Graph", plan: "Plan") -> Model | None:
    """The model with the plan, or as it is where the plan saves nothing; None if there is no plan."""
    from memstow.planner.tflm.measure import obstacles
    from memstow.planner.tflm.planned_model import written_model as written
    from memstow.planner.tflm.reordering import reorder_model
    from memstow.planner.tflm.runtime_model import scratch_in_order

    if plan.status not in PLANNED or plan.schedule is None:
        return None
    for obstacle in obstacles(model.data)[:1]:
        print_error(f"the model is written, and TensorFlow Lite Micro cannot run it: {obstacle}")
    if model.order_only:
        _warn_if_worse(document, plan)
        order = plan.schedule.order
        return replace(
            model, data=reorder_model(model.data, order), scratch=scratch_in_order(model.scratch, order)
        )
    result = written(model.data, plan, model.scratch, replan=model.replan)
    if not result.is_planned:
        print_error(
            f"the model is written without a plan, which saves nothing: the runtime's own rule needs "
            f"{result.plain_head:,} bytes, and the plan {result.planned_head:,}"
        )
    return replace(model, data=result.model, scratch=result.scratch)


def with_arenas(model: Model, written: Model | None, document: "Problem | Graph", plan: "Plan") -> "Plan":
    """The plan with what the runtime needs of its arena, for the model as it is and with the plan."""
    from memstow.planner.model.plan import Arenas
    from memstow.planner.tflm.measure import ELSEWHERE, obstacles

    reasons = obstacles(model.data)
    if reasons:
        lines = [f"TensorFlow Lite Micro cannot run this model: {entry}; {ELSEWHERE}" for entry in reasons]
        return replace(plan, arena=Arenas(notes=tuple(lines)))
    try:
        before = _arena(model)
    except InputError as error:
        lines = [f"the arena of TensorFlow Lite Micro is not known: {error.issues[0].message}"]
        return replace(plan, arena=Arenas(notes=tuple(lines)))
    try:
        return replace(plan, arena=_arenas(model, written, document, plan, before))
    except InputError as error:
        lines = [f"the model cannot carry this plan: {error.issues[0].message}"]
        return replace(plan, arena=Arenas(before=before, notes=tuple(lines)))


def _arenas(
    model: Model, written: Model | None, document: "Problem | Graph", plan: "Plan", before: "Arena"
) -> "Arenas":
    from memstow.planner.model.graph import GIVEN
    from memstow.planner.model.plan import Arenas
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.planned_model import written_model as written_with
    from memstow.planner.tflm.runtime_model import notes_on_saving

    if plan.status not in PLANNED:
        return Arenas(before=before)
    if written is None:
        result = written_with(model.data, plan, model.scratch, replan=True)
        written = replace(model, data=result.model, scratch=result.scratch)
    after = _arena(written)
    order = GIVEN if isinstance(document, Problem) else document.order
    return Arenas(
        before=before, after=after, notes=notes_on_saving(before, after, plan, order, model.has_scratch)
    )


def show_arena(args: argparse.Namespace, model: Model, plan: "Plan", is_written: bool) -> None:
    """Print what the runtime needs for the model, and with the plan, and what to do next."""
    from memstow.planner.firmware.layers import has_kernel
    from memstow.planner.formats.tflite_model import read_subgraphs
    from memstow.planner.show.formatting import plain
    from memstow.planner.show.report import arena_report
    from memstow.planner.tflm.runtime_model import room_of

    if plan.arena is None:
        return
    print("", arena_report(plan.arena, is_written, columns(sys.stdout)), sep="\n")
    before, after = plan.arena.before, plan.arena.after
    if args.file == STDIN or is_written or (before is not None and after is None):
        return
    is_less = before is not None and after is not None and room_of(after) < room_of(before)
    operators = (operator for subgraph in read_subgraphs(model.data) for operator in subgraph.operators)
    if not is_less and not all(has_kernel(operator.name) for operator in operators):
        return
    name = plain(os.path.splitext(os.path.basename(args.file))[0])
    words = ["memstow", "solve" if is_less else "build", plain(args.file)]
    if is_less and args.scratch is not None:
        words += ["--scratch", plain(args.scratch)]
    words += ["--output", f"{name}.planned.tflite" if is_less else name]
    import shlex

    print(f"next: {shlex.join(words)}")


def _arena(model: Model) -> "Arena":
    if model.measures:
        from memstow.planner.tflm.measure import measure_arena

        return measure_arena(model.data)
    from memstow.planner.tflm.runtime_model import arena_of

    return arena_of(model.data, model.scratch, tail=model.tail)


def _refuse_unused(args: argparse.Namespace) -> None:
    for option, is_set in (("--order-only", args.order_only), ("--replan", args.replan)):
        if is_set:
            message = "it is for models, and no output is one: add --output FILE.tflite, or leave it out"
            raise InputError.single("unused_option", option, message)


def _refuse_impossible(args: argparse.Namespace, document: "Problem | Graph", model: bytes) -> None:
    from memstow.planner.model.problem import Problem
    from memstow.planner.tflm.planned_model import OptionNames, WriteOptions, require_writable

    wanted = WriteOptions(
        order="given" if isinstance(document, Problem) else document.order,
        in_place=bool(args.in_place),
        order_only=args.order_only,
        replan=args.replan,
        pools=len(problem_of(document).pools),
    )
    names = OptionNames(
        free="--order free", in_place="--in-place", order_only="--order-only", of_in_place="--in-place"
    )
    require_writable(model, wanted, names)


def _warn_if_worse(document: "Problem | Graph", plan: "Plan") -> None:
    """Say so where TensorFlow Lite Micro, which places by a rule of its own, needs more in the new order."""
    from memstow.planner.model.options import Options
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
