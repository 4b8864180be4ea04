"""Names of the built-in operators by their code, and what some of them do besides computing."""

from typing import Final

_LISTED: Final = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM
EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX
MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV
SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT
REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU
REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE
READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM
MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE
"""
_NAMES: Final = tuple(_LISTED.split())

_LISTED_NAMES: Final = frozenset(_NAMES)

CUSTOM: Final = _NAMES.index("CUSTOM")

VAR_HANDLE: Final = "VAR_HANDLE"
"""It names a variable; the runtime keeps its output apart."""

NPU: Final = "ethos-u"
"""The custom operator that Vela writes: its commands have the places of tensors in them."""

ELEMENTWISE: Final = frozenset(
    (
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "MAXIMUM",
        "MINIMUM",
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "LEAKY_RELU",
        "PRELU",
        "ELU",
        "GELU",
        "HARD_SWISH",
        "LOGISTIC",
        "TANH",
        "ABS",
        "NEG",
        "EXP",
        "LOG",
        "SQRT",
        "RSQRT",
        "SQUARE",
        "FLOOR",
        "CEIL",
        "ROUND",
        "SIN",
        "COS",
        "LOGICAL_NOT",
        "SQUARED_DIFFERENCE",
        "RESHAPE",
        "SQUEEZE",
        "EXPAND_DIMS",
    )
)
"""Each element of the output is made of the elements at the same place of the inputs."""

STATEFUL: Final = frozenset(
    (
        "CALL_ONCE",
        "IF",
        "WHILE",
        "READ_VARIABLE",
        "ASSIGN_VARIABLE",
        "HASHTABLE",
        "HASHTABLE_FIND",
        "HASHTABLE_IMPORT",
        "HASHTABLE_SIZE",
        "HASHTABLE_LOOKUP",
        "RANDOM_STANDARD_NORMAL",
        "RANDOM_UNIFORM",
        "MULTINOMIAL",
    )
)
"""What they do or return depends on which of them ran before."""

CALLING: Final = frozenset(("CALL_ONCE", "IF", "WHILE"))
"""They run other subgraphs."""

ENDING: Final = frozenset(("CIRCULAR_BUFFER",))
"""Custom operators that end most runs: what comes after them runs only where they have enough data."""


def operator_name(code: int, custom: str) -> str:
    """The name of an operator; of one that is not built in, its own."""
    if code == CUSTOM:
        return custom or "CUSTOM"
    return _NAMES[code] if 0 <= code < len(_NAMES) else f"operator {code}"


def is_listed(name: str) -> bool:
    """Whether it is the name of a built-in operator that is known here."""
    return name in _LISTED_NAMES
