"""What inputs of a node must have in common, where the rules for its shape do not ask: channels, and what is
reduced.
"""

from collections.abc import Callable, Mapping
from typing import Final

from memstow.planner.shapes.onnx.operation import Operation, UnderivableError


def require_fit(of: Operation) -> None:
    """Note what must hold at every value for it to run; UnderivableError where runtimes differ."""
    check = _CHECKS.get(of.kind)
    if check is not None:
        check(of)


def _channels(of: Operation) -> None:
    source, weights = of.shape(0), of.shape(_WEIGHTS.get(of.kind, 1))
    if len(source) < 2 or len(weights) < 2:
        return
    transposed = of.kind == "ConvTranspose"
    wanted = weights[0] if transposed else weights[1] * of.whole("group", 1)
    of.require_same(source[1], wanted, "the channels of its input are not those of its weights")


def _scale(of: Operation) -> None:
    source, scale = of.shape(0), of.shape(1)
    for one, other in zip(reversed(source), reversed(scale), strict=False):
        if other.number != 1:
            of.require_same(one, other, "its scale is not as large as what it normalizes")


def _width(of: Operation) -> None:
    source, weights = of.shape(0), of.shape(1)
    if len(source) == 3 and len(weights) == 3:
        of.require_same(source[2], weights[2], "its input is not as wide as its weights")


def _reduced(of: Operation) -> None:
    """Of nothing, onnxruntime leaves an axis counted from the end as it is; by the standard it is 1."""
    source = of.shape(0)
    if of.kind.startswith("Arg"):
        axes: tuple[int, ...] = (of.whole("axis", 0),)
    else:
        axes = (of.constants(1) if of.has(1) else of.wholes("axes")) or ()
    if min(axes, default=0) < 0 and any(of.formulas.bounds(it)[0] < 1 for it in source):
        message = "what it reduces may be empty, and runtimes differ in what they make of that"
        raise UnderivableError(f"{message}; count its axes from the front", disputed=True)


_WEIGHTS: Final = {"QLinearConv": 3}
_CHECKS: Final[Mapping[str, Callable[[Operation], None]]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "ConvTranspose"), _channels),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _scale),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _width),
    **dict.fromkeys(
        (
            *("ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
            *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        ),
        _reduced,
    ),
}
