"""What TensorFlow Lite Micro cannot run: what is known without it, and what it says itself."""

import pytest

from memstow.planner.model.errors import InputError
from memstow.planner.tflm import measure
from memstow.planner.tflm.measure import custom_operators, measure_scratch, obstacles
from tests.planner.tflm.random_models import random_model
from tests.planner.tflm.running import needs_runtime
from tests.tflite_models import CONV_2D, CUSTOM, FLOAT32, GELU, INT8, Sub, model, small_model, table

UINT8 = 3
DEPTHWISE_CONV_2D, FULLY_CONNECTED, TRANSPOSE_CONV = 4, 9, 67


def of_one(code: int | tuple[int, str], times: int = 1) -> bytes:
    """A model that does one thing, some times."""
    main = Sub()
    made = [main.tensor(1, 8) for _ in range(times + 1)]
    for at in range(times):
        main.operator(0, [made[at]], [made[at + 1]])
    main.inputs, main.outputs = [made[0]], [made[-1]]
    return model([code], main)


def weighed(code: int, data: int, weights: int) -> bytes:
    """A model with weights of one type and data of another."""
    main = Sub()
    if code == FULLY_CONNECTED:
        x, w, y = main.tensor(1, 8, kind=data), main.tensor(4, 8, kind=weights, constant=True), 0
        y = main.tensor(1, 4, kind=data)
    else:
        x, w = main.tensor(1, 8, 8, 4, kind=data), main.tensor(4, 3, 3, 4, kind=weights, constant=True)
        y = main.tensor(1, 8, 8, 4, kind=data)
    shape = main.tensor(4, kind=2, constant=True)
    options = {
        FULLY_CONNECTED: table(),
        DEPTHWISE_CONV_2D: table(f0=("b", 0), f1=("i", 1), f2=("i", 1), f3=("i", 1)),
    }
    inputs = [shape, w, x] if code == TRANSPOSE_CONV else [x, w]
    main.operator(0, inputs, [y], options.get(code, table(f0=("b", 0), f1=("i", 1), f2=("i", 1))))
    main.inputs, main.outputs = [x], [y]
    return model([code], main)


def test_what_cannot_run_is_named_with_its_operators() -> None:
    assert obstacles(of_one(GELU)) == ["it has no kernel for GELU (operator 0)"]
    assert obstacles(of_one(199, 5)) == ["it has no kernel for operator 199 (operators 0, 1, 2 and 2 more)"]
    assert obstacles(weighed(CONV_2D, UINT8, UINT8)) == [
        "its kernels do not take CONV_2D with uint8 data and uint8 weights (operator 0)"
    ]
    assert obstacles(weighed(FULLY_CONNECTED, FLOAT32, INT8)) == [
        "its kernels do not take FULLY_CONNECTED with float32 data and int8 weights (operator 0)"
    ]


def test_what_can_run_has_no_obstacles() -> None:
    assert obstacles(small_model()) == []
    assert obstacles(of_one((CUSTOM, "GELU"))) == []
    assert all(obstacles(random_model(seed)) == [] for seed in range(20))
    assert custom_operators(of_one((CUSTOM, "mine"), 3)) == ["mine"]


@needs_runtime
def test_a_model_that_cannot_run_is_refused_with_what_works_instead() -> None:
    with pytest.raises(
        InputError, match=r"no kernel for GELU \(operator 0\); leave out --scratch, and for a"
    ):
        measure_scratch(of_one(GELU))
    with pytest.raises(
        InputError, match=r"custom operators \(mine\); give the log of a device that has them"
    ):
        measure_scratch(of_one((CUSTOM, "mine")))


# ADD, CONV_2D, SVDF, SELECT_V2 and DYNAMIC_UPDATE_SLICE are there.
@needs_runtime
@pytest.mark.parametrize("code", [0, 3, 27, 123, 151, GELU, 32 + 71, 69, 109, 36 + 12, 152, 199])
def test_the_runtime_has_no_kernel_where_that_is_said(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Where another version has one, the list is to be shortened."""
    assert ("Didn't find op" in said_of(of_one(code), monkeypatch)) == bool(obstacles(of_one(code)))


@needs_runtime
@pytest.mark.parametrize(
    ("code", "data", "weights"),
    [
        (CONV_2D, UINT8, UINT8),
        (CONV_2D, FLOAT32, INT8),
        (CONV_2D, INT8, INT8),
        (DEPTHWISE_CONV_2D, FLOAT32, INT8),
        (DEPTHWISE_CONV_2D, FLOAT32, FLOAT32),
        (FULLY_CONNECTED, FLOAT32, UINT8),
        (FULLY_CONNECTED, INT8, INT8),
        (TRANSPOSE_CONV, FLOAT32, INT8),
        (TRANSPOSE_CONV, FLOAT32, FLOAT32),
    ],
)
def test_types_are_said_to_be_refused_where_they_are(
    monkeypatch: pytest.MonkeyPatch, code: int, data: int, weights: int
) -> None:
    one = weighed(code, data, weights)
    said = said_of(one, monkeypatch)
    is_refused = "Hybrid models are not supported" in said or "with filter type" in said
    assert is_refused == bool(obstacles(one))


def said_of(one: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the runtime itself says of a model; nothing if it runs."""
    monkeypatch.setattr(measure, "obstacles", lambda _: [])
    try:
        measure_scratch(one)
    except InputError as error:
        return str(error)
    return ""
