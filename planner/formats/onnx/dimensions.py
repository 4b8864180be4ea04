"""The dimensions that an ONNX model leaves open, and the values they get: `N=1`, or `x:0=1` where no name is.

A name stands for all dimensions that have it, `x:0` for axis 0 of the input `x` alone.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from memstow.planner.formats.onnx.texts import path_of, text_of
from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.reading.printable import printable, shown

if TYPE_CHECKING:
    import onnx

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
    given = {axis.name for axis in axes if axis.position}
    for axis in axes:
        if not axis.position and axis.name not in given and _MADE_UP.fullmatch(axis.name):
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
    initial = {it.name for it in graph.initializer}
    inputs = [it for it in graph.input if it.name not in initial]
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
