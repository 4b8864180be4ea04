"""Shapes of Einsum: each letter is one extent, and so is each place of the dots."""

from memstow.planner.shapes.onnx.forms import both
from memstow.planner.shapes.onnx.operation import Operation, Shape, UnderivableError
from memstow.planner.shapes.onnx.terms import Terms

_DOTS = "..."
_NO_FIT = "its equation does not fit its inputs"


def einsum(of: Operation) -> list[Shape]:
    """Einsum: 1 is repeated where another input has more, which shape inference of ONNX does not know."""
    left, arrow, right = of.text("equation", "").replace(" ", "").partition("->")
    labels = left.split(",")
    if len(labels) != len(of.node.input):
        raise UnderivableError(_NO_FIT)
    shapes = [of.shape(i) for i in range(len(labels))]
    places = {
        len(shape) - len(text) + len(_DOTS)
        for text, shape in zip(labels, shapes, strict=True)
        if _DOTS in text
    }
    if len(places) > 1:
        raise UnderivableError("its dots stand for different numbers of dimensions")
    dots = [f"{i}." for i in range(max(places, default=0))]
    found: dict[str, Terms] = {}
    for text, shape in zip(labels, shapes, strict=True):
        letters = _letters(text, dots)
        if len(letters) != len(shape):
            raise UnderivableError(_NO_FIT)
        for axis, (letter, extent) in enumerate(zip(letters, shape, strict=True)):
            before = found.get(letter, extent)
            found[letter] = both(of, before, extent, axis)
            of.is_own = of.is_own or before != extent
    made = _letters(right, dots) if arrow else [*dots, *_once(left)]
    if not set(made) <= set(found):
        raise UnderivableError(_NO_FIT)
    return [tuple(found[letter] for letter in made)]


def _letters(text: str, dots: list[str]) -> list[str]:
    """The letters of one input, or of the output, in which the dots are some as well."""
    before, given, after = text.partition(_DOTS)
    if not all(it.isalpha() and it.isascii() for it in before + after):
        raise UnderivableError(_NO_FIT)
    return [*before, *(dots if given else []), *after]


def _once(left: str) -> list[str]:
    """Without an arrow: the letters that are there once, in their order."""
    letters = [it for it in left if it.isalpha()]
    found = sorted(it for it in letters if letters.count(it) == 1)
    if any(it.isupper() for it in found) and any(it.islower() for it in found):
        raise UnderivableError("its equation has no arrow, and letters in upper and lower case")
    return found
