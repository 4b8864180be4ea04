"""Names of an ONNX model as texts, as ids and in messages."""

from typing import TYPE_CHECKING, Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.messages import without_nul
from memstow.planner.reading.printable import printable, shown

if TYPE_CHECKING:
    import onnx

_LONGEST_NAME: Final = 1024


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
