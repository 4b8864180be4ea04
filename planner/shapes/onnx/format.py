"""ONNX models without open dimensions as graphs: what inference cannot follow has the shapes of the rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.graph.format import GraphFormat
from memstow.planner.formats.onnx.as_run import with_shapes_as_run
from memstow.planner.formats.onnx.dimensions import forget_made_up_names
from memstow.planner.formats.onnx.format import graph_of, parsed_model
from memstow.planner.formats.onnx.inference import is_complete, shapes_in
from memstow.planner.formats.onnx.numbers import refuse_large_dimensions, refuse_large_numbers
from memstow.planner.formats.onnx.texts import path_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.shapes.onnx.compare import refuse_what_does_not_run
from memstow.planner.shapes.onnx.derive import Derived, derive
from memstow.planner.shapes.onnx.fill import fill_in
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.inputs import OpenInputs

if TYPE_CHECKING:
    import onnx


def read_graph(data: bytes, in_place: bool = False, dims: Mapping[str, int] | None = None) -> Graph:
    """The graph of a model. `in_place`: nodes that work by elements may overwrite an input.

    `dims`: values for dimensions that the model leaves open (`planner.formats.onnx.dimensions`).
    """
    model = parsed_model(data)
    forget_made_up_names(model)
    OpenInputs(model, {}, dims or {}, Formulas(()))
    refuse_large_numbers(model)
    refuse_large_dimensions(model)
    with collector_at_rest():
        inferred = with_shapes_as_run(model)
        _complete_shapes(model, inferred)
        return graph_of(model, inferred, in_place)


def _complete_shapes(model: "onnx.ModelProto", inferred: "onnx.ModelProto") -> None:
    """Write shapes that inference did not find into `inferred`, where they can be derived."""
    if is_complete(inferred):
        return
    known, formulas = shapes_in(inferred), Formulas(())
    derived = derive(model, inferred, known, formulas, {})
    refuse_what_does_not_run(derived, formulas, ())
    _refuse_differences(derived, known)
    fill_in(inferred, derived, formulas, {})


def _refuse_differences(derived: Derived, known: Mapping[str, tuple[int, ...]]) -> None:
    """Where the file says something else of what follows from numbers, inference does not notice it."""
    for name, said in known.items():
        value = derived.values.get(name)
        if value is None or value.shape is None or not value.shape_is_known:
            continue
        found = [it.number for it in value.shape if it is not None]
        if found != list(said):
            message = (
                f"its shape is {list(said)} in the file or by shape inference, and {found} by what makes it; "
                "correct the shapes in the model, or leave them out"
            )
            raise InputError.single("contradicting_shapes", path_of(name), message)


FORMAT: Final = GraphFormat(name="onnx", is_json=False, read_graph=read_graph, read_model=read_graph)
