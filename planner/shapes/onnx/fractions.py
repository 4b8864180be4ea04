"""Fractions that a model puts together from constants: the factors of a Resize."""

from typing import Final

from memstow.planner.shapes.onnx.operation import Operation

_EXACT: Final = 1 << 24
"""Below this, whole numbers are the same as fractions of 32 bits."""


def fractions_of(of: Operation) -> tuple[float, ...] | None:
    """The fractions in the only output, which are the same at every value."""
    if of.kind == "Concat":
        lists = [of.floats(i) for i in range(len(of.node.input))]
        known = [it for it in lists if it is not None]
        return tuple(it for one in known for it in one) if len(known) == len(lists) else None
    if of.kind == "Cast":
        numbers = of.constants(0)
        return tuple(map(float, numbers)) if all(abs(it) < _EXACT for it in numbers) else None
    if of.kind in ("Identity", "Squeeze", "Unsqueeze", "Reshape"):
        return of.floats(0)
    return None
