"""Small TensorFlow Lite models for tests, written by a flatbuffer writer of a few lines."""

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

Value = int | str | bytes | list[int] | list["Fields"] | dict[int, object]
Fields = dict[int, object]

CONV_2D, RELU, ADD, CALL_ONCE, IF, WHILE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, CALL = (
    3,
    19,
    0,
    129,
    118,
    119,
    142,
    143,
    144,
    31,
)
CUSTOM: Final = 32
GELU: Final = 150
PAD: Final = 34
FLOAT32, INT32, INT8, STRING, RESOURCE = 0, 2, 9, 5, 13
_FIXED: Final = {"b": "<b", "f": "<f", "B": "<B", "i": "<i", "I": "<I", "Q": "<Q"}


def table(**fields: object) -> Fields:
    """A table: `f3=("i", 7)` is field 3, a number; text, bytes, lists and tables are what they are."""
    return {int(name[1:]): value for name, value in fields.items()}


def written(root: Fields) -> bytes:
    """The file of a table."""
    out = bytearray(b"\0\0\0\0TFL3")
    _patch(out, 0, _write(out, root))
    return bytes(out)


def _patch(out: bytearray, at: int, target: int) -> None:
    struct.pack_into("<I", out, at, target - at)


def _pad(out: bytearray) -> int:
    out.extend(bytes(-len(out) % 4))
    return len(out)


def _write(out: bytearray, fields: Fields) -> int:
    count = max(fields, default=-1) + 1
    vtable = _pad(out)
    widths = {number: _width(value) for number, value in sorted(fields.items())}
    out.extend(struct.pack("<HH", 4 + 2 * count, 4 + sum(widths.values())) + bytes(2 * count))
    start = _pad(out)
    out.extend(struct.pack("<i", start - vtable) + bytes(sum(widths.values())))
    places = accumulate(widths.values(), initial=start + 4)
    for (number, value), at in zip(sorted(fields.items()), places, strict=False):
        struct.pack_into("<H", out, vtable + 4 + 2 * number, at - start)
        if isinstance(value, tuple):
            struct.pack_into(_FIXED[value[0]], out, at, value[1])
        else:
            _patch(out, at, _write_value(out, value))
    return start


def _width(value: object) -> int:
    """Of the field of a table: those of a byte take four as well."""
    return 8 if isinstance(value, tuple) and value[0] == "Q" else 4


def _write_value(out: bytearray, value: object) -> int:
    if isinstance(value, dict):
        return _write(out, value)
    start = _pad(out)
    if isinstance(value, array):
        out.extend(struct.pack("<I", len(value)) + value.tobytes())
        return start
    if isinstance(value, str | bytes):
        data = value.encode() if isinstance(value, str) else value
        out.extend(struct.pack("<I", len(data)) + data + b"\0")
        return start
    assert isinstance(value, list)
    if value and isinstance(value[0], dict):
        out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
        places: dict[int, int] = {}  # one and the same table is written once
        for i, element in enumerate(value):
            if id(element) not in places:
                places[id(element)] = _write(out, element)
            _patch(out, start + 4 + 4 * i, places[id(element)])
        return start
    out.extend(struct.pack(f"<I{len(value)}i", len(value), *value))
    return start


@dataclass
class Sub:
    """A subgraph in the making."""

    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()
    tensors: list[Fields] = field(default_factory=list)
    operators: list[Fields] = field(default_factory=list)

    def tensor(self, *shape: int, kind: int = INT8, constant: bool = False, variable: bool = False) -> int:
        fields = table(f0=list(shape), f1=("b", kind), f2=("I", int(constant)), f3=f"t{len(self.tensors)}")
        if variable:
            fields[5] = ("B", 1)
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def operator(
        self, code: int, inputs: Sequence[int], outputs: Sequence[int], options: Fields | None = None
    ) -> None:
        fields = table(f0=("I", code), f1=list(inputs), f2=list(outputs))
        if options is not None:
            fields |= table(f3=("B", 1), f4=options)
        self.operators.append(fields)


def model(
    codes: Sequence[int | tuple[int, str]],
    *subgraphs: Sub,
    metadata: Sequence[Fields] = (),
    buffers: Sequence[Fields] = (),
) -> bytes:
    """A model; buffer 0 is empty, buffer 1 holds data. A custom operator has its name beside its code."""
    tables = {
        id(sub): table(f0=sub.tensors, f1=list(sub.inputs), f2=list(sub.outputs), f3=sub.operators)
        for sub in subgraphs
    }
    subs: list[object] = [tables[id(sub)] for sub in subgraphs]
    root = table(
        f0=("I", 3), f1=[_code(code) for code in codes], f2=subs, f4=[table(), table(f0=b"1234"), *buffers]
    )
    if metadata:
        root[6] = list(metadata)
    return written(root)


def _code(code: int | tuple[int, str]) -> Fields:
    number, name = code if isinstance(code, tuple) else (code, "")
    fields = table(f0=("b", min(number, 127)), f3=("i", number))
    return fields | table(f1=name) if name else fields


def small_model() -> bytes:
    """A convolution and a RELU."""
    main = Sub()
    x, w, a, y = main.tensor(1, 8, 8, 3), main.tensor(4, 3, 3, 3, constant=True), main.tensor(1, 4, 4, 4), 0
    y = main.tensor(1, 4, 4, 4)
    main.operator(0, [x, w], [a], table(f0=("b", 0), f1=("i", 2), f2=("i", 2)))
    main.operator(1, [a], [y])
    main.inputs, main.outputs = [x], [y]
    return model([CONV_2D, RELU], main)


def branching_model(metadata: Sequence[Fields] = ()) -> bytes:
    """Two branches that meet; it takes less memory to run the wide one first, which is listed second."""
    main = Sub()
    x, kept, wide, narrow, y = (main.tensor(size) for size in (16, 500, 600, 10, 16))
    main.operator(0, [x], [kept])
    main.operator(0, [x], [wide])
    main.operator(0, [wide], [narrow])
    main.operator(1, [kept, narrow], [y])
    main.inputs, main.outputs = [x], [y]
    return model([RELU, ADD], main, metadata=metadata)
