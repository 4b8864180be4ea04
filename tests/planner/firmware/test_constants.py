"""Numbers of a model stand in its program as they are, bit for bit."""

import re
import struct
from array import array
from random import Random

import pytest

from memstow.planner.firmware import build
from memstow.planner.firmware.layers import ConstantArray
from memstow.planner.firmware.program import Constants
from tests.onnx_models import T, helper, model, node, value


def floats_of(source: str, name: str) -> list[bytes]:
    """The bits of an array of floats in C."""
    body = re.search(rf"const float {name}\[\d+\] = \{{(.*?)\}};", source, re.DOTALL)
    assert body is not None
    cells = [cell.strip() for cell in body[1].split(",") if cell.strip()]
    words = {"NAN": "nan", "INFINITY": "inf", "-INFINITY": "-inf"}
    assert all(cell in words or re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", cell) for cell in cells)
    # Whole numbers without a point are none of floating point.
    assert all(cell in words or "." in cell or "e" in cell for cell in cells)
    return [struct.pack("<f", float(words.get(cell, cell.removesuffix("f")))) for cell in cells]


def test_floats_of_a_model_are_kept() -> None:
    random = Random(1)
    odd = [0.0, -0.0, 1.0, -3.0, 1e10, 16777216.0, 123456792.0, 1e-45, -1.1754944e-38, 3.4028235e38, 0.1]
    odd += [float("inf"), float("-inf"), 8388607.5]
    usual = [random.gauss(0, 0.1) for _ in range(3000 - len(odd))]
    values = [*usual[:1500], *odd, *usual[1500:]]
    constant = helper.make_tensor("c", T.FLOAT, [1, 1, 1, len(values)], values)
    shape = [1, 1, 1, len(values)]
    built = build(
        model([node("Add", "x c", "y")], [value("x", shape)], [value("y", shape)], initializer=[constant]),
        with_check=False,
    )
    source = built.files["model.c"].decode()
    (name,) = set(re.findall(r"const float (\w+)\[3000\]", source))
    assert floats_of(source, name) == [struct.pack("<f", entry) for entry in values]
    assert "#include <math.h>" in source


@pytest.mark.parametrize(
    ("kind", "letter", "bits"),
    [
        ("int8_t", "b", 8),
        ("uint8_t", "B", 8),
        ("int16_t", "h", 16),
        ("uint16_t", "H", 16),
        ("int32_t", "i", 32),
        ("int64_t", "q", 64),
    ],
)
def test_whole_numbers_are_kept(kind: str, letter: str, bits: int) -> None:
    random = Random(kind)
    most = (1 << bits) - 1 if letter.isupper() else (1 << bits - 1) - 1
    least = 0 if letter.isupper() else -most - 1
    values = [random.randint(least, most) for _ in range(3000)] + [least, least + 1, -1 % (most + 1), most]
    if bits == 64:
        values += [-(1 << 31), (1 << 31) - 1, 1 << 31, -(1 << 31) - 1]
    constants = Constants()
    assert constants.name_of(ConstantArray("numbers", kind, tuple(values))) == "numbers"
    # The same once more is not written again, whatever it came from.
    assert constants.name_of(ConstantArray("again", kind, array(letter, values))) == "numbers"
    (text,) = constants.lines
    words = {"INT32_MIN": -(1 << 31), "INT64_MIN": -(1 << 63)}
    body = re.sub(r"INT64_C\((-?\d+)\)", r"\1", text[text.index("{") + 1 : text.index("}")])
    cells = [cell.strip() for cell in body.split(",") if cell.strip()]
    assert [words[cell] if cell in words else int(cell) for cell in cells] == values
    # What C would read as minus something that is too large has a name.
    assert not re.search(r"-(2147483648|9223372036854775808)\b", text)
    assert constants.size == len(values) * bits // 8


def test_zeros_of_different_signs_are_different_numbers() -> None:
    constants = Constants()
    names = [constants.name_of(ConstantArray("zero", "float", (zero,))) for zero in (0.0, -0.0, 0.0)]
    assert names[0] == names[2] != names[1]
    assert "-0.0f" in constants.lines[1]
