"""The parts of a TensorFlow Lite model that decide about memory: tensors, operators, subgraphs.

A model is a flatbuffer, whose tables have numbered fields: the enumerations name those of the schema that we
read or write.

Operators have names by their code. Control flow calls subgraphs: their tensors live in a phase of the
operator.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from memstow.planner.formats.flatbuffer import Flatbuffer, Table, damaged
from memstow.planner.model.errors import InputError
from memstow.records import record


class ModelField(IntEnum):
    """Numbers of the fields of the root table."""

    VERSION = 0
    CODES = 1
    SUBGRAPHS = 2
    DESCRIPTION = 3
    BUFFERS = 4
    METADATA_BUFFERS = 5
    METADATA = 6
    SIGNATURES = 7


class CodeField(IntEnum):
    """Numbers of the fields of a kind of operator.

    Models before 2020 have the code in a byte, and none in `CODE`.
    """

    BYTE_CODE = 0
    CUSTOM_NAME = 1
    CODE = 3


class SubgraphField(IntEnum):
    """Numbers of the fields of a subgraph."""

    TENSORS = 0
    INPUTS = 1
    OUTPUTS = 2
    OPERATORS = 3


class TensorField(IntEnum):
    """Numbers of the fields of a tensor."""

    SHAPE = 0
    TYPE = 1
    BUFFER = 2
    NAME = 3
    QUANTIZATION = 4
    IS_VARIABLE = 5


class QuantizationField(IntEnum):
    """Numbers of the fields of how elements stand for real numbers."""

    SCALES = 2
    ZERO_POINTS = 3
    AXIS = 6


class OperatorField(IntEnum):
    """Numbers of the fields of an operator."""

    CODE = 0
    INPUTS = 1
    OUTPUTS = 2
    OPTIONS = 4
    INTERMEDIATES = 8
    LARGE_OPTIONS = 9
    """Where options lie that are behind the flatbuffer."""


class BufferField(IntEnum):
    """Numbers of the fields of a buffer.

    It has its bytes, or where they lie behind the flatbuffer and how many they are.
    """

    DATA = 0
    BEGIN = 1
    SIZE = 2


class MetadataField(IntEnum):
    """Numbers of the fields of an entry of the metadata."""

    NAME = 0
    BUFFER = 1


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


INT32: Final = 2
"""The type of 32-bit integers."""
_MOST_NUMBERS: Final = 16
ABSENT: Final = -1
"""The index of a tensor that is left out."""


@record
class ModelTensor:
    """A tensor of a subgraph."""

    shape: tuple[int, ...]
    type: int
    name: str
    is_constant: bool
    is_variable: bool
    numbers: tuple[int, ...] | None = None
    """What a small constant of 32-bit integers holds."""
    content: tuple[int, int] = (0, 0)
    """Of a constant: where its bytes begin in the file, and how many they are."""
    quantization: Table | None = None


@record
class ModelOperator:
    """An operator of a subgraph; tensors by their index there."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Table | None
    is_custom: bool
    places: tuple[int, ...] = ()
    """The inputs with those that are left out, which are `ABSENT`."""


@record
class Subgraph:
    """A part of the model; the first is what runs."""

    tensors: Sequence[ModelTensor]
    operators: Sequence[ModelOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def read_subgraphs(data: bytes) -> list[Subgraph]:
    """The subgraphs of a model; an InputError for bytes that are none."""
    if data[4:8] != b"TFL3":
        message = "a TensorFlow Lite model has TFL3 at byte 4, and this file does not"
        raise InputError.single("not_a_model", "$", message)
    model = Flatbuffer(data).root()
    codes = [
        (
            max(code.number(CodeField.CODE, "<i"), code.number(CodeField.BYTE_CODE, "<b")),
            code.text(CodeField.CUSTOM_NAME),
        )
        for code in model.tables(ModelField.CODES)
    ]
    buffers = list(model.tables(ModelField.BUFFERS))
    filled = [bool(buffer.length(BufferField.DATA)) or is_behind(buffer) for buffer in buffers]
    subgraphs = [_subgraph(table, codes, filled, buffers) for table in model.tables(ModelField.SUBGRAPHS)]
    if not subgraphs:
        raise InputError.single("no_subgraph", "$.subgraphs", "the model has no subgraph; nothing runs")
    return subgraphs


def is_behind(buffer: Table) -> bool:
    """Whether the bytes of a buffer lie behind the flatbuffer."""
    return buffer.number(BufferField.BEGIN, "<Q") > 1


def _subgraph(
    table: Table, codes: Sequence[tuple[int, str]], filled: Sequence[bool], buffers: Sequence[Table]
) -> Subgraph:
    tensors = [_tensor(tensor, filled, buffers) for tensor in table.tables(SubgraphField.TENSORS)]
    count = len(tensors)
    return Subgraph(
        tensors,
        [_operator(operator, codes, count) for operator in table.tables(SubgraphField.OPERATORS)],
        _indices(table.integers(SubgraphField.INPUTS), count),
        _indices(table.integers(SubgraphField.OUTPUTS), count),
    )


def _tensor(table: Table, filled: Sequence[bool], buffers: Sequence[Table]) -> ModelTensor:
    buffer = table.number(TensorField.BUFFER, "<I")
    if buffer >= len(filled) and buffer:
        raise damaged(0, f"a tensor has buffer {buffer:,} of {len(filled):,}")
    kind, is_constant = table.number(TensorField.TYPE, "<b"), buffer < len(filled) and filled[buffer]
    has_numbers = is_constant and kind == INT32
    return ModelTensor(
        shape=tuple(table.integers(TensorField.SHAPE) or ()),
        type=kind,
        name=table.text(TensorField.NAME),
        is_constant=is_constant,
        is_variable=bool(table.number(TensorField.IS_VARIABLE, "<B")),
        numbers=buffers[buffer].packed_integers(BufferField.DATA, _MOST_NUMBERS) if has_numbers else None,
        content=_content(buffers[buffer]) if is_constant else (0, 0),
        quantization=table.table(TensorField.QUANTIZATION),
    )


def _content(buffer: Table) -> tuple[int, int]:
    if is_behind(buffer):
        return buffer.number(BufferField.BEGIN, "<Q"), buffer.number(BufferField.SIZE, "<Q")
    return buffer.vector(BufferField.DATA, 1) or (0, 0)


def _operator(table: Table, codes: Sequence[tuple[int, str]], tensors: int) -> ModelOperator:
    index = table.number(OperatorField.CODE, "<I")
    if index >= len(codes):
        raise damaged(0, f"an operator has code {index:,} of {len(codes):,}")
    code, custom = codes[index]
    return ModelOperator(
        name=operator_name(code, custom),
        inputs=_indices(table.integers(OperatorField.INPUTS), tensors),
        outputs=_indices(table.integers(OperatorField.OUTPUTS), tensors),
        options=table.table(OperatorField.OPTIONS),
        is_custom=bool(custom),
        places=tuple(table.integers(OperatorField.INPUTS) or ()),
    )


def _indices(numbers: list[int] | None, count: int) -> tuple[int, ...]:
    """Indices of tensors, without those that are left out."""
    for number in numbers or ():
        if number != ABSENT and not 0 <= number < count:
            raise damaged(0, f"it names tensor {number:,} of {count:,}")
    return tuple(number for number in numbers or () if number != ABSENT)


# The fields of the options that name subgraphs.
_CALLS: Final = {"IF": (0, 1), "WHILE": (0, 1), "CALL_ONCE": (0,)}
_DEEPEST: Final = 64


@record
class CalledTensor:
    """A tensor of a subgraph that an operator calls."""

    subgraph: int
    tensor: int
    phases: tuple[int, int]


@record
class CalledOperator:
    """An operator of a subgraph that an operator calls."""

    subgraph: int
    operator: int
    phases: tuple[int, int]


class Calls:
    """Follows the calls of the operators of a model; each subgraph has one caller."""

    def __init__(self, subgraphs: Sequence[Subgraph]) -> None:
        self._subgraphs = subgraphs
        self._called: set[int] = {0}
        self._operators: list[CalledOperator] = []

    def of(self, operator: ModelOperator, path: str) -> list[CalledTensor]:
        """The tensors of all subgraphs that the operator calls."""
        tensors: list[CalledTensor] = []
        self._follow(operator, path, 0, tensors, 0)
        return tensors

    def operators(self) -> list[CalledOperator]:
        """The operators of the subgraphs that were called since this was asked last."""
        called, self._operators = self._operators, []
        return called

    def _follow(
        self, operator: ModelOperator, path: str, clock: int, tensors: list[CalledTensor], depth: int
    ) -> int:
        """The last phase of the operator, whose first is the clock."""
        if operator.name == "CALL":
            raise InputError.single("not_supported", path, "the operator CALL is not supported")
        if depth > _DEEPEST:
            raise InputError.single("too_deep", path, f"subgraphs call each other more than {_DEEPEST} deep")
        for index in _called(operator, operator.options):
            if not 0 <= index < len(self._subgraphs):
                message = f"it calls subgraph {index:,} of {len(self._subgraphs):,}"
                raise InputError.single("damaged", path, message)
            if index in self._called:
                message = (
                    f"subgraph {index} is called from several places, or calls itself; that is not supported"
                )
                raise InputError.single("not_supported", path, message)
            self._called.add(index)
            clock = self._run(index, clock + 1, tensors, depth)
        return clock

    def _run(self, index: int, clock: int, tensors: list[CalledTensor], depth: int) -> int:
        """The last phase of a subgraph that begins at this phase."""
        subgraph = self._subgraphs[index]
        first = dict.fromkeys(subgraph.inputs, clock)
        last = dict.fromkeys(subgraph.inputs, clock)
        for at, operator in enumerate(subgraph.operators):
            clock += 1
            for tensor in operator.outputs:
                first.setdefault(tensor, clock)
            path = f"$.subgraphs[{index}].operators[{at}]"
            begin = clock
            clock = self._follow(operator, path, clock, tensors, depth + 1)
            self._operators.append(CalledOperator(index, at, (begin, clock + 1)))
            last.update(dict.fromkeys((*operator.inputs, *operator.outputs), clock))
        last.update(dict.fromkeys(subgraph.outputs, clock))
        tensors += [
            CalledTensor(index, tensor, (first.get(tensor, 0), until + 1))
            for tensor, until in sorted(last.items())
        ]
        return clock


def _called(operator: ModelOperator, options: Table | None) -> list[int]:
    """The subgraphs that an operator names."""
    fields = _CALLS.get(operator.name, ())
    return [0 if options is None else options.number(field, "<i") for field in fields]
