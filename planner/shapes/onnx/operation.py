"""A node of a model as the rules see it: attributes, the shapes of its inputs, and numbers that are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.terms import Terms

if TYPE_CHECKING:
    import onnx

Shape = tuple[Terms | None, ...]
"""The extents of a value; None where one is not known."""
Numbers = tuple[Terms | None, ...]
"""The elements of a list of whole numbers, or of one number."""


class UnderivableError(Exception):
    """The reason why a shape does not follow; `disputed` where ONNX itself and its runtimes differ."""

    def __init__(self, reason: str, disputed: bool = False) -> None:
        super().__init__(reason)
        self.disputed = disputed


@dataclass(slots=True)
class Value:
    """What is known of a value."""

    shape: Shape | None
    numbers: Numbers | None = None
    floats: tuple[float, ...] | None = None
    fixed: bool = False
    """It does not depend on any symbol: neither its shape nor what it holds."""
    symbols: frozenset[str] = frozenset()
    """The symbols that its shape or what it holds may depend on."""
    lost: str = ""
    """Why its numbers are not known, where they may be a shape."""

    @property
    def shape_is_known(self) -> bool:
        """Whether all of its dimensions are."""
        return self.shape is not None and None not in self.shape


@dataclass(slots=True)
class Condition:
    """What must be at least 0 at every value, or a shape is not what its rule says."""

    extent: Terms
    message: str


@dataclass(slots=True)
class Operation:
    """A node, with what is known of its inputs."""

    node: "onnx.NodeProto"
    inputs: Sequence[Value | None]
    formulas: Formulas
    opset: int
    conditions: list[Condition] = field(default_factory=list)
    is_own: bool = False
    """Shape inference of ONNX is known to say something else than what runtimes make."""

    @property
    def kind(self) -> str:
        return text_of(self.node.op_type)

    def has(self, index: int) -> bool:
        """Whether this input is given."""
        return index < len(self.node.input) and bool(self.node.input[index])

    def shape(self, index: int = 0) -> tuple[Terms, ...]:
        """The shape of an input; UnderivableError where it is not known."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None or value.shape is None:
            raise UnderivableError("the shape of an input is not known")
        found = tuple(it for it in value.shape if it is not None)
        if len(found) < len(value.shape):
            raise UnderivableError("a dimension of an input is not known")
        return found

    def numbers(self, index: int) -> tuple[Terms, ...]:
        """The numbers in an input."""
        value = self.inputs[index] if index < len(self.inputs) else None
        found = () if value is None or value.numbers is None else value.numbers
        known = tuple(it for it in found if it is not None)
        if value is None or value.numbers is None or len(known) < len(found):
            why = "" if value is None or not value.lost else f": {value.lost}"
            message = f"it follows from the numbers in {self._name(index)}, which are not known{why}"
            raise UnderivableError(message)
        return known

    def constants(self, index: int) -> tuple[int, ...]:
        """The numbers in an input, which are the same at every value."""
        found = [it.number for it in self.numbers(index)]
        known = tuple(it for it in found if it is not None)
        if len(known) < len(found):
            raise UnderivableError(
                f"it follows from the numbers in {self._name(index)}, which depend on symbols"
            )
        return known

    def floats(self, index: int) -> tuple[float, ...] | None:
        """The fractions in a constant input."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return None if value is None else value.floats

    def wholes(self, name: str) -> tuple[int, ...] | None:
        """A list in an attribute."""
        attribute = self._attributes().get(name)
        return None if attribute is None else tuple(attribute.ints)

    def whole(self, name: str, default: int) -> int:
        """A number in an attribute."""
        attribute = self._attributes().get(name)
        return default if attribute is None else attribute.i

    def text(self, name: str, default: str) -> str:
        """A text in an attribute."""
        attribute = self._attributes().get(name)
        return default if attribute is None else attribute.s.decode("utf-8", "replace")

    def attribute(self, name: str) -> "onnx.AttributeProto | None":
        """An attribute as it is."""
        return self._attributes().get(name)

    def require(self, extent: Terms, message: str) -> None:
        """Note what must be at least 0 at every value."""
        low, _ = self.formulas.bounds(extent)
        if low < 0:
            self.conditions.append(Condition(extent, message))

    def require_same(self, one: Terms, other: Terms, message: str) -> None:
        """Note what must be the same at every value."""
        if one != other:
            texts = self.formulas.text(one), self.formulas.text(other)
            said = f"{message}: {texts[0]} and {texts[1]}"
            self.require(one - other, said)
            self.require(other - one, said)

    def _attributes(self) -> "Mapping[str, onnx.AttributeProto]":
        return {text_of(it.name): it for it in self.node.attribute}

    def _name(self, index: int) -> str:
        return repr(text_of(self.node.input[index])) if self.has(index) else f"input {index}"


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the front; UnderivableError for none of this rank."""
    if not -rank <= axis < rank:
        raise UnderivableError(f"there is no axis {axis}")
    return axis % rank
