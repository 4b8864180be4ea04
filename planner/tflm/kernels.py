"""What a model has that TensorFlow Lite Micro cannot run, as far as that is known without the runtime.

Of the version that was tried (docs/integrations.md): its operators without a kernel, and weights that the
kernels do not take. What else a kernel refuses, the runtime says when it loads the model.
"""

from typing import Final

from memstow.planner.formats.tflite.format import TYPES
from memstow.planner.formats.tflite.model import ModelOperator, Subgraph, read_subgraphs
from memstow.planner.formats.tflite.operator_names import is_listed
from memstow.planner.reading.printable import printable

ELSEWHERE: Final = (
    "for a runtime of your own, write the plan as code or data: --output memory.h --output memory.c, or "
    "--output plan.json"
)
"""What works where this runtime does not."""
_NAMES: Final = """
BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN BUCKETIZE COMPLEX_ABS CONCAT_EMBEDDINGS
CONV_3D CONV_3D_TRANSPOSE DELEGATE DENSIFY EMBEDDING_LOOKUP_SPARSE FAKE_QUANT GELU HASHTABLE
HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP HASHTABLE_SIZE IMAG LOCAL_RESPONSE_NORMALIZATION
LSH_PROJECTION LSTM MATRIX_DIAG MATRIX_SET_DIAG MULTINOMIAL NON_MAX_SUPPRESSION_V4
NON_MAX_SUPPRESSION_V5 ONE_HOT PLACEHOLDER_FOR_GREATER_OP_CODES POW RANDOM_STANDARD_NORMAL
RANDOM_UNIFORM RANGE RANK REAL REDUCE_ANY REDUCE_PROD RELU_N1_TO_1 REVERSE_SEQUENCE RFFT2D RNN
SCATTER_ND SEGMENT_SUM SELECT SKIP_GRAM SPARSE_TO_DENSE TILE TOPK_V2 UNIDIRECTIONAL_SEQUENCE_RNN
UNIQUE WHERE
"""
_WITHOUT: Final = frozenset(_NAMES.split())
# By operator, which of its inputs are the data and the weights.
_WEIGHED: Final = {
    "CONV_2D": (0, 1),
    "DEPTHWISE_CONV_2D": (0, 1),
    "FULLY_CONNECTED": (0, 1),
    "TRANSPOSE_CONV": (2, 1),
}
_FLOAT: Final = "float32"
_TAKEN: Final = frozenset(((_FLOAT, _FLOAT), ("int8", "int8"), ("int8", "int4"), ("int16", "int8")))
"""The types of data and weights that kernels take; some of them others as well, but none weights of another
type for data in floating point."""
_STRICT: Final = frozenset(("CONV_2D",))
_MOST_KINDS: Final = 4
_MOST_PLACES: Final = 3


def obstacles(model: bytes) -> list[str]:
    """Why the runtime cannot run the model, in sentences without a subject; none if nothing is known."""
    subgraphs = read_subgraphs(model)
    missing: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for number, subgraph in enumerate(subgraphs):
        for index, operator in enumerate(subgraph.operators):
            place = f"{number}/{index}" if number else str(index)
            if not operator.is_custom and (operator.name in _WITHOUT or not is_listed(operator.name)):
                missing.setdefault(operator.name, []).append(place)
            elif (types := _refused_types(operator, subgraph)) is not None:
                kind = f"{operator.name} with {types[0]} data and {types[1]} weights"
                refused.setdefault(kind, []).append(place)
    found = []
    if missing:
        found.append(f"it has no kernel for {_listed(missing)}")
    if refused:
        found.append(f"its kernels do not take {_listed(refused)}")
    return found


def custom_operators(model: bytes) -> list[str]:
    """The names of the custom operators, whose kernels come with a program."""
    operators = (operator for subgraph in read_subgraphs(model) for operator in subgraph.operators)
    return sorted({printable(operator.name, 40) for operator in operators if operator.is_custom})


def _refused_types(operator: ModelOperator, subgraph: Subgraph) -> tuple[str, str] | None:
    """The types of data and weights, if the kernel does not take these."""
    inputs = _WEIGHED.get(operator.name)
    if operator.is_custom or inputs is None or max(inputs) >= len(operator.inputs):
        return None
    data, weights = (TYPES.get(subgraph.tensors[operator.inputs[i]].type, "other") for i in inputs)
    is_refused = (data, weights) not in _TAKEN and (data == _FLOAT or operator.name in _STRICT)
    return (data, weights) if is_refused else None


def _listed(places: dict[str, list[str]]) -> str:
    some = [f"{printable(name, 80)} ({_operators(them)})" for name, them in places.items()]
    return _some(some, _MOST_KINDS)


def _operators(places: list[str]) -> str:
    return f"operator{'s' if len(places) > 1 else ''} {_some(places, _MOST_PLACES)}"


def _some(words: list[str], most: int) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
