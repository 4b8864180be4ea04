"""A network: the graph that memstow reads, and the arrays that its operators compute with."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from striped.fixed_point import scale

Array = NDArray[np.int64] | NDArray[np.int8] | NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Window:
    """The rows and columns of an image that one element is made from."""

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)

    def made_from(self, height: int, width: int) -> tuple[int, int]:
        """The rows and columns of the result for an image of this size."""
        top, left, bottom, right = self.padding
        rows = (height + top + bottom - (self.kernel[0] - 1) * self.dilation[0] - 1) // self.stride[0] + 1
        columns = (width + left + right - (self.kernel[1] - 1) * self.dilation[1] - 1) // self.stride[1] + 1
        return rows, columns


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the graph."""

    id: str
    type: str
    inputs: tuple[str, ...]
    output: str
    window: Window | None = None


@dataclass
class Network:
    """Operators in an order that can run, the shapes of tensors, and arrays by name.

    Arrays are the constants of the graph and, by `TENSOR/zero`, `OPERATOR/multiplier` and so on, what makes
    an int8 from a sum.
    """

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    scratch: dict[str, int] = field(default_factory=dict)
    """By operator, bytes that its kernel uses while it runs."""

    def image(self, tensor: str) -> tuple[int, int, int]:
        """Rows, columns and channels; a vector is one element of many channels."""
        return image_shape(self.shapes[tensor])

    def zero(self, tensor: str) -> int:
        """The int8 that stands for zero."""
        return int(self.arrays[f"{tensor}/zero"])

    def add_tensor(self, name: str, shape: tuple[int, ...], zero: int) -> str:
        """A tensor of int8."""
        self.shapes[name] = shape
        self.arrays[f"{name}/zero"] = np.array(zero, np.int64)
        return name

    def add_constant(self, name: str, values: Array) -> str:
        """A constant tensor."""
        self.shapes[name] = values.shape
        self.arrays[name] = values
        return name

    def add_scale(self, name: str, factors: list[float]) -> None:
        """The factors as fixed-point numbers, under this name."""
        pairs = [scale(factor) for factor in factors]
        self.arrays[f"{name}/multiplier"] = np.array([pair[0] for pair in pairs], np.int64)
        self.arrays[f"{name}/shift"] = np.array([pair[1] for pair in pairs], np.int64)

    def graph(self) -> dict[str, object]:
        """The document that memstow reads."""
        return {
            "version": 1,
            "tensors": [self._tensor(name) for name in self.shapes],
            "operators": [
                _operator(operator, self.scratch.get(operator.id, 0)) for operator in self.operators
            ],
            "inputs": self.inputs,
            "outputs": self.outputs,
        }

    def _tensor(self, name: str) -> dict[str, object]:
        kind, of = ("constant", str(self.arrays[name].dtype)) if name in self.arrays else ("data", "int8")
        return {"id": name, "shape": list(self.shapes[name]), "type": of, "kind": kind}

    def write(self, folder: Path) -> None:
        """Write net.json and net.npz."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "net.json").write_text(json.dumps(self.graph(), indent=1) + "\n", encoding="utf-8")
        np.savez_compressed(folder / "net.npz", **self.arrays)  # type: ignore[arg-type]


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Rows, columns and channels of a shape with or without a batch of 1."""
    if len(shape) < 3:
        return 1, 1, int(np.prod(shape))
    height, width, channels = shape[-3:]
    return height, width, channels


def read(folder: Path) -> Network:
    """The network in net.json and net.npz."""
    document = json.loads((folder / "net.json").read_text(encoding="utf-8"))
    with np.load(folder / "net.npz") as arrays:
        net = Network(arrays={name: arrays[name] for name in arrays.files})
    net.shapes = {tensor["id"]: tuple(tensor["shape"]) for tensor in document["tensors"]}
    net.inputs, net.outputs = document["inputs"], document["outputs"]
    for operator in document["operators"]:
        window = operator.get("window")
        made = None if window is None else Window(**{key: tuple(value) for key, value in window.items()})
        if operator.get("temporaries"):
            net.scratch[operator["id"]] = operator["temporaries"][0]["size"]
        net.operators.append(
            Operator(
                operator["id"], operator["type"], tuple(operator["inputs"]), operator["outputs"][0], made
            )
        )
    return net


def _operator(operator: Operator, scratch: int) -> dict[str, object]:
    document: dict[str, object] = {
        "id": operator.id,
        "type": operator.type,
        "inputs": list(operator.inputs),
        "outputs": [operator.output],
    }
    if scratch:
        document["temporaries"] = [{"id": f"{operator.id}.scratch", "size": scratch}]
    if operator.type in ("relu", "add"):
        # Element by element, so the first input may be overwritten.
        document["in_place"] = [[operator.inputs[0], operator.output]]
    if (window := operator.window) is not None:
        document["window"] = {
            "kernel": list(window.kernel),
            "stride": list(window.stride),
            "padding": list(window.padding),
            "dilation": list(window.dilation),
        }
    return document
