"""Models that no program can be built of: each is refused with what is wrong about it."""

from collections.abc import Callable
from random import Random

import pytest

from memstow.planner.firmware import build
from memstow.planner.model.errors import InputError
from tests.planner.firmware.random_models import Network
from tests.tflite_models import STRING


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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (constant_input, "it is an input of the model and a constant"),
        (no_elements, "shape [1, 0, 4] has no elements"),
        (lambda net: far(net, "f5"), "its window reaches 1,048,576 rows or columns"),
        (text, "RESHAPE: input 0 is of a type that no program can compute with"),
    ],
)
def test_what_cannot_be_built_is_refused(change: Callable[[Network], None], says: str) -> None:
    net = Network(Random(1))
    change(net)
    with pytest.raises(InputError) as refused:
        build(net.file())
    assert says in refused.value.issues[0].message
