"""What the type of an operator says about what it computes: names by meaning, as compilers spell them.

Facts alone, read by those who make plans and by the judge. Which rows, windows and tiles follow from them
each of the two works out by itself. A name that is wrong here is wrong for both, so
tests/planner/verify/test_stripe_kinds.py has the lists written out once more.
"""

from typing import Final

from memstow.planner.model.graph import Operator

_BY_ELEMENT: Final = """
abs acos acosh add addn and asin asinh atan atan2 atanh batchnormalization biasadd bitwiseand bitwisenot
bitwiseor bitwisexor cast ceil celu clamp clip cos cosh dequantize dequantizelinear div divide dropout elu
equal erf exp fakequant floor floordiv floormod gelu greater greaterequal greaterorequal hardsigmoid
hardswish hardtanh identity leakyrelu less lessequal lessorequal log logicaland logicalnot logicalor
logicalxor logistic max maximum min minimum mish mod mul multiply neg negative not notequal or pow power
prelu quantize quantizelinear reciprocal relu relu0to1 relu6 relun1to1 requantize round rsqrt rsub select
selectv2 selu sigmoid sign silu sin sinh softplus softsign sqrt square squareddifference sub subtract swish
tan tanh thresholdedrelu where xor
"""
BY_ELEMENT: Final = frozenset(_BY_ELEMENT.split())
"""An element of the output is made from the elements at the same place."""
CONCATENATIONS: Final = frozenset(("concat", "concatenate", "concatenation"))
NEAREST: Final = frozenset(("resizenearest", "resizenearestneighbor"))
"""An element of the output is a copy of the nearest one of the input."""
BILINEAR: Final = frozenset(("resizebilinear",))
"""An element of the output is a mean of the nearest ones of the input."""
REDUCTIONS: Final = frozenset(("mean", "reducemean", "globalaveragepool", "globalmaxpool", "reducemax"))
"""All rows and columns go into one element for each channel."""
PRODUCTS: Final = frozenset(("fullyconnected", "dense", "gemm", "matmul"))
"""All that is read is multiplied by a matrix."""
CONVOLUTIONS: Final = frozenset(("conv", "conv2d", "convolution"))
"""Each channel of the output is a sum over all channels of the input, or over those of its group."""

_LEFT_OUT: Final = str.maketrans("", "", "_- \t")


def word_of(operator: Operator) -> str:
    """The operator's type as these lists have it: in lower case, without `_`, `-`, blanks and tabs."""
    return (operator.type or "").lower().translate(_LEFT_OUT)


def is_pool(word: str) -> bool:
    """Whether an operator of this type slides a window over each channel, without weights."""
    return "pool" in word


def is_by_channel(word: str) -> bool:
    """Whether each channel of the output is made from one of the input: pools, depthwise convolutions."""
    return is_pool(word) or "depthwise" in word or word == "dw"
