"""Names, dimensions and numbers of an ONNX model: as texts, in messages, and within bounds.

The dimensions that a model leaves open get values: `N=1`, or `x:0=1` where no name is. The numbers that
shapes are computed from are bounded, so that no product of two of them passes 2^63.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.printable import printable, shown
from memstow.planner.reading.sections import without_nul

if TYPE_CHECKING:
    import onnx


_LONGEST_NAME: Final = 1024
FLOAT: Final = 1
INT32: Final = 6
INT64: Final = 7
"""The numbers of these types of elements."""
ALL_THAT_FOLLOW: Final = (1 << 31) - 1
"""From here on the end of a slice means the last element; backwards it is read in different ways."""
STANDARD: Final = ("", "ai.onnx")
"""The domain of the operators of the standard, by both of its names: shapes are inferred for no others."""


def text_of(value: str | bytes) -> str:
    """A text of the model; protobuf hands out bytes where they are no UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def path_of(value: str) -> str:
    """The path of a value of the graph, for messages."""
    return f"$.graph[{shown(value)}]"


def said_of(node: "onnx.NodeProto") -> str:
    """A node for a message: what it does, and its name if it has one."""
    kind = printable(text_of(node.op_type), 60)
    return f"{kind} {shown(text_of(node.name))}" if node.name else kind


def opset_of(model: "onnx.ModelProto") -> int:
    """The version of the standard by which the operators of the model work."""
    return next((entry.version for entry in model.opset_import if entry.domain in STANDARD), 1)


def usable_name(value: str | bytes, path: str) -> str:
    """The name as an id; InputError where it is too long, cannot be one, or where there is none."""
    name = text_of(value)
    if not name:
        raise InputError.single("no_name", path, "an input or output of the graph has no name; give it one")
    if len(name) > _LONGEST_NAME:
        message = f"a name of {len(name):,} characters is longer than {_LONGEST_NAME:,}; shorten it"
        raise InputError.single("name_too_long", path[:200], message)
    if "\0" in name:
        raise InputError.single("not_text", path[:200], without_nul(name))
    return name


LARGEST: Final = 1 << 31
_MOST_LISTED: Final = 20
_MADE_UP: Final = re.compile(r"unk__[0-9]+")


class Axis(NamedTuple):
    """A dimension; its position, such as `x:0`, is empty where the value is no input."""

    path: str
    position: str
    dimension: "onnx.TensorShapeProto.Dimension"

    @property
    def name(self) -> str:
        return text_of(self.dimension.dim_param)

    @property
    def is_open(self) -> bool:
        return not self.dimension.HasField("dim_value")


def fix_dimensions(model: "onnx.ModelProto", values: Mapping[str, int]) -> None:
    """Give dimensions their values; InputError for a value that no dimension can take."""
    axes = list(axes_of(model))
    _refuse_odd(axes, values)
    for axis in axes:
        value = values.get(axis.position, values.get(axis.name)) if axis.is_open else None
        if value is not None:
            axis.dimension.dim_value = value


def require_open(model: "onnx.ModelProto", names: Collection[str]) -> None:
    """Raise InputError for a name or position that no open dimension has."""
    axes = axes_of(model)
    can_be_set = {name for axis in axes if axis.is_open for name in (axis.name, axis.position) if name}
    for name in names:
        if name not in can_be_set:
            raise _no_such(name, sorted(can_be_set), "--symbol")


def forget_made_up_names(model: "onnx.ModelProto") -> None:
    """Take away the names, such as `unk__0`, that shape inference gave to what it did not know.

    They would hide that the dimension is nobody's to set, and keep inference from finding it later.
    """
    axes = list(axes_of(model))
    named_by_input = {axis.name for axis in axes if axis.position}
    for axis in axes:
        if not axis.position and axis.name not in named_by_input and _MADE_UP.fullmatch(axis.name):
            axis.dimension.ClearField("dim_param")


def refuse_unknown(axes: Iterable[Axis]) -> None:
    """Raise InputError for these open dimensions of inputs, if there are any."""
    issues: dict[str, Issue] = {}
    for axis in axes:
        issue = Issue("unknown_dimension", axis.path, unknown(axis.name or axis.position, of_input=True))
        issues.setdefault(axis.name or axis.position, issue)
    if issues:
        raise InputError(list(issues.values())[:_MOST_LISTED])


def unknown(name: str, of_input: bool = False) -> str:
    """What is said about an open dimension that can be given a value, and, of an input, a range as well."""
    from shlex import quote

    option = quote(printable(name, 200))
    more = f", or convert the model for a range of values: memstow convert --symbol {option}=1..64"
    message = (
        f"the dimension {shown(name)} is not known before the model runs; give its value: --dim {option}=1"
    )
    return message + more if of_input else message


def open_names(model: "onnx.ModelProto") -> frozenset[str]:
    """The names of the dimensions that are open."""
    return frozenset(axis.name for axis in axes_of(model) if axis.is_open and axis.name)


def axes_of(model: "onnx.ModelProto") -> Iterator[Axis]:
    """All dimensions: of inputs first, then of what the file says about other values."""
    graph = model.graph
    initial = {entry.name for entry in graph.initializer}
    inputs = [entry for entry in graph.input if entry.name not in initial]
    for values, are_inputs in ((inputs, True), ([*graph.output, *graph.value_info], False)):
        for value in values:
            if value.type.HasField("tensor_type"):
                name = text_of(value.name)
                for i, dimension in enumerate(value.type.tensor_type.shape.dim):
                    yield Axis(path_of(name), f"{name}:{i}" if are_inputs else "", dimension)


def _refuse_odd(axes: list[Axis], values: Mapping[str, int]) -> None:
    can_be_set = {name for axis in axes if axis.is_open for name in (axis.name, axis.position) if name}
    fixed = {axis.position: axis.dimension.dim_value for axis in axes if not axis.is_open and axis.position}
    for name, value in values.items():
        if not 1 <= value <= LARGEST:
            message = f"{shown(name)} is {shown(value)}: a dimension is from 1 to 2^31"
            if value == 0:
                from shlex import quote

                option = quote(printable(name, 200))
                message += f"; for what is empty, convert a range: memstow convert --symbol {option}=0..0"
            raise InputError.single("out_of_range", "--dim", message)
        if name in fixed:
            message = f"{shown(name)} is {fixed[name]:,} in the model already; leave it out"
            raise InputError.single("fixed_dimension", "--dim", message)
        if name not in can_be_set:
            raise _no_such(name, sorted(can_be_set))


def _no_such(name: str, known: list[str], option: str = "--dim") -> InputError:
    close = closest_match(name, known)
    meant = f"did you mean {shown(close)}? " if close is not None else ""
    listed = ", ".join(map(shown, known[:_MOST_LISTED]))
    what = f"open are {listed}" if known else "all of its dimensions are known"
    message = f"the model has no open dimension {shown(name)}; {meant}{what}"
    return InputError.single("no_such_dimension", option, message)


_LARGEST_FACTOR: Final = 1 << 30
_MOST_NUMBERS: Final = 64
# A slice may end at the largest number, for "all that follow".
_FREE: Final = frozenset(("Slice", "Gather", "GatherND", "GatherElements", "Constant"))
_COUNTS: Final = frozenset(
    ("Tile", "Pad", "Range", "Resize", "Upsample", "Col2Im", "CenterCropPad", "OneHot", "STFT")
)


def refuse_large_numbers(model: "onnx.ModelProto") -> None:
    """Raise InputError for attributes, counts and dimensions that no program has."""
    constants = dict(small_constants(model))
    for i, node in enumerate(model.graph.node):
        kind = text_of(node.op_type)
        if kind in _FREE or node.domain not in STANDARD:
            continue
        numbers = [number for entry in node.attribute for number in (entry.i, *entry.ints)]
        if kind in _COUNTS:
            numbers += [number for name in node.input for number in constants.get(name, ())]
        _refuse(numbers, _LARGEST_FACTOR, f"$.graph.node[{i}]", f"{printable(kind, 60)} has the number")


def refuse_large_dimensions(model: "onnx.ModelProto") -> None:
    """Raise InputError for a value with a dimension that no tensor has."""
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        extents = [entry.dim_value for entry in value.type.tensor_type.shape.dim]
        _refuse(extents, LARGEST, path_of(text_of(value.name)), "it has the dimension")


def _refuse(numbers: Iterable[int], most: int, path: str, what: str) -> None:
    for number in numbers:
        if abs(number) > most:
            message = f"{what} {shown(number)}, which is more than {most:,}"
            raise InputError.single("too_large", path, message)


def small_constants(model: "onnx.ModelProto") -> "Iterator[tuple[str, list[int]]]":
    """The whole numbers in constants that may be counts."""
    graph = model.graph
    tensors = [(entry.name, entry) for entry in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            for entry in node.attribute:
                for name in node.output:
                    yield name, [entry.i, *entry.ints]
                    tensors += [(name, entry.t)] if entry.HasField("t") else []
    for name, tensor in tensors:
        numbers = _numbers(tensor)
        if numbers is not None:
            yield name, numbers


def _numbers(tensor: "onnx.TensorProto") -> list[int] | None:
    if tensor.data_type not in (6, 7) or tensor.data_location == 1:
        return None
    width = 4 if tensor.data_type == 6 else 8
    raw = tensor.raw_data[: width * _MOST_NUMBERS]
    packed = [
        int.from_bytes(raw[at : at + width], "little", signed=True)
        for at in range(0, len(raw) - width + 1, width)
    ]
    return [*packed, *tensor.int64_data[:_MOST_NUMBERS], *tensor.int32_data[:_MOST_NUMBERS]]
