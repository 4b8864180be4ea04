"""What the shape inference of ONNX says of one node, whose open dimensions have opaque names.

Equal dimensions have equal names, so that inference can only pass a name on, or say nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.inference import infer
from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.shapes.onnx.light import described, is_heavy
from memstow.planner.shapes.onnx.operation import Operation, Shape, UnderivableError, Value
from memstow.planner.shapes.onnx.terms import Terms, a_number

if TYPE_CHECKING:
    import onnx

_LARGEST_NUMBER: Final = (1 << 63) - 1


class NodeInference:
    """Infers the shapes of nodes one by one."""

    def __init__(
        self,
        model: "onnx.ModelProto",
        types: Mapping[str, int],
        constants: "Mapping[str, onnx.TensorProto]",
    ) -> None:
        self._ir_version = model.ir_version
        self._opsets = list(model.opset_import)
        self._types = types
        self._constants = constants
        self._names: dict[Terms, str] = {}
        self._extents: dict[str, Terms] = {}

    def shapes(self, of: Operation) -> list[Shape | None]:
        """Of each output, what inference finds; UnderivableError where it finds that the node cannot be."""
        from onnx import ValueInfoProto, helper
        from onnx.shape_inference import InferenceError

        if not all(isinstance(name, str) for name in (*of.node.input, *of.node.output)):
            raise UnderivableError("one of its names is no text")
        inputs: dict[str, onnx.ValueInfoProto] = {}
        initial: dict[str, onnx.TensorProto] = {}
        for name, value in zip(of.node.input, of.inputs, strict=True):
            if not name or name in inputs:
                continue
            tensor = self._constants.get(name)
            if tensor is not None and is_heavy(tensor):
                inputs[name] = described(tensor)
                continue
            if tensor is not None:
                initial[name] = tensor
                continue
            if value is None or name not in self._types:
                return [None] * len(of.node.output)
            shape = None if value.shape is None else [self._named(it) for it in value.shape]
            inputs[name] = helper.make_tensor_value_info(name, self._types[name], shape)
            known = _tensor(name, self._types[name], value)
            if known is not None:
                initial[name] = known
        outputs = [ValueInfoProto(name=name) for name in of.node.output if name]
        graph = helper.make_graph([of.node], "node", list(inputs.values()), outputs, list(initial.values()))
        model = helper.make_model(graph, opset_imports=self._opsets, ir_version=max(4, self._ir_version))
        try:
            inferred = infer(model, follow_numbers=False)
        except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
            raise UnderivableError(f"shape inference says: {str(error).strip()}"[:300]) from None
        found = {it.name: it for it in inferred.graph.output}
        return [self._shape(found[name]) if name else None for name in of.node.output]

    def _named(self, extent: Terms | None) -> int | str | None:
        if extent is None:
            return None
        if extent.number is not None:
            return extent.number
        name = self._names.setdefault(extent, f"extent {len(self._names)}")
        self._extents[name] = extent
        return name

    def _shape(self, value: "onnx.ValueInfoProto") -> Shape | None:
        if not value.type.tensor_type.HasField("shape"):
            return None
        return tuple(
            a_number(it.dim_value) if it.HasField("dim_value") else self._extents.get(text_of(it.dim_param))
            for it in value.type.tensor_type.shape.dim
        )


def _tensor(name: str, kind: int, value: Value) -> "onnx.TensorProto | None":
    """Numbers that do not depend on symbols, as a constant."""
    if kind not in (6, 7) or value.numbers is None or value.shape is None:
        return None
    found = [None if it is None else it.number for it in value.numbers]
    known = [it for it in found if it is not None and abs(it) <= _LARGEST_NUMBER]
    if len(known) < len(found):
        return None
    extents = [None if it is None else it.number for it in value.shape]
    dims = [it for it in extents if it is not None]
    if len(dims) < len(extents):
        return None
    from onnx import helper

    return helper.make_tensor(name, kind, dims, known)
