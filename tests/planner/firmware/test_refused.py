"""Models that no program can be built of: each is refused with what is wrong about it."""

from collections.abc import Callable
from math import nan
from random import Random

import pytest

from memstow.planner.firmware import build
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Pool, Target
from tests.planner.firmware.random_models import Network
from tests.tflite_models import CUSTOM, FLOAT32, INT32, STRING, Sub, model

FLOAT16 = 1


def constant_input(net: Network) -> None:
    x = net.content((1, 4))
    y = net.tensor((1, 4))
    net.main.inputs, net.main.outputs = [x, y], [net.one("RELU", [y], net.tensor((1, 4)))]


def no_elements(net: Network) -> None:
    x = net.tensor((1, 0, 4))
    net.main.inputs, net.main.outputs = [x], [net.one("RELU", [x], net.alike(x, (1, 0, 4)))]


def far(net: Network, field: str) -> None:
    x = net.tensor((1, 8, 8, 2))
    weights, _ = net.weights((3, 1, 1, 2), 3, 0)
    options = {"f1": ("i", 1), "f2": ("i", 1), "f4": ("i", 1), "f5": ("i", 1), field: ("i", 2**31 - 1)}
    net.main.inputs, net.main.outputs = (
        [x],
        [net.one("CONV_2D", [x, weights], net.tensor((1, 8, 8, 3)), **options)],
    )


def text(net: Network) -> None:
    x, y = net.tensor((1, 4), STRING), net.tensor((4,), STRING)
    net.main.inputs, net.main.outputs = [x], [net.one("RESHAPE", [x, net.integers([4])], y)]


def strange_bias(net: Network) -> None:
    x = net.tensor((1, 4))
    weights, _ = net.weights((3, 4), 3, 0)
    bias = net.constant((3,), INT32, [1, 2, 3], [0.1])
    net.main.tensors[bias][1] = ("b", FLOAT16)
    net.main.inputs, net.main.outputs = (
        [x],
        [net.one("FULLY_CONNECTED", [x, weights, bias], net.tensor((1, 3)))],
    )


def turned_output(net: Network) -> None:
    x = net.tensor((1, 4))
    weights, _ = net.weights((3, 4), 3, 0)
    net.main.inputs, net.main.outputs = [x], [net.one("FULLY_CONNECTED", [x, weights], net.tensor((3, 1)))]


def another_size(net: Network) -> None:
    x = net.tensor((1, 2, 2, 1))
    y = net.alike(x, (1, 4, 5, 1))
    net.main.inputs = [x]
    net.main.outputs = [net.one("RESIZE_NEAREST_NEIGHBOR", [x, net.integers((4, 4))], y)]


def no_whole_number(net: Network) -> None:
    x = net.tensor((4,))
    begin = net.constant((1,), FLOAT32, [nan])
    inputs = [x, begin, net.integers((4,)), net.integers((1,))]
    net.main.inputs, net.main.outputs = [x], [net.one("STRIDED_SLICE", inputs, net.alike(x, (4,)))]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (constant_input, "it is an input of the model and a constant"),
        (no_elements, "shape [1, 0, 4] has no elements"),
        (lambda net: far(net, "f5"), "its window reaches 1,048,576 rows or columns"),
        (text, "RESHAPE: input 0 is of a type that no program can compute with"),
        (strange_bias, "FULLY_CONNECTED: input 2 is of a type that no program can compute with"),
        (turned_output, "its output has another shape than its weights make"),
        (another_size, "its output has another size than it says"),
        (no_whole_number, "it is of float32, where whole numbers are needed"),
    ],
)
def test_what_cannot_be_built_is_refused(change: Callable[[Network], None], says: str) -> None:
    net = Network(Random(1))
    change(net)
    with pytest.raises(InputError) as refused:
        build(net.file())
    assert says in refused.value.issues[0].message


def test_who_has_the_model_that_vela_made_gives_the_one_before() -> None:
    npu = Sub()
    names = [npu.tensor(16) for _ in range(6)]
    npu.operator(0, names[:5], names[5:])
    npu.inputs, npu.outputs = names[4:5], names[5:]
    with pytest.raises(InputError, match="build the model that Vela read"):
        build(model([(CUSTOM, "ethos-u")], npu))


def test_a_capacity_beside_a_target_is_refused() -> None:
    target = Target(name="two", pools=(Pool(id="one", capacity=9000), Pool(id="other", capacity=9000)))
    with pytest.raises(InputError) as refused:
        build(b"", capacity=1000, target=target)
    assert refused.value.issues[0].path == "capacity"
