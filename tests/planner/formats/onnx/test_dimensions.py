"""Open dimensions of ONNX models: what gives them a value, and what is said where none does."""

from random import Random
from typing import Any

from memstow.planner import formats
from memstow.planner.formats.onnx.models import read_graph
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.errors import InputError
from tests.onnx_models import MODELS, T, helper, model, node, onnx, value
from tests.planner.refusal import refusal


def pair(first: object = "N", second: object = None, **more: Any) -> bytes:
    """Two inputs, a sum of their rows; axis 1 of `z` has no name."""
    nodes = [node("Add", "x x", "a"), node("MatMul", "a z", "y")]
    inputs = [value("x", [first, 4]), value("z", [4, second])]
    return model(nodes, inputs, [value("y", [first, None])], **more)


def shapes(data: bytes, **dims: int) -> dict[str, object]:
    graph = read_graph(data, dims={name.replace("_", ":"): n for name, n in dims.items()})
    return {tensor.id: tensor.shape for tensor in graph.tensors}


def test_a_name_is_for_all_dimensions_that_have_it_and_a_position_for_one() -> None:
    assert shapes(pair(), N=3, z_1=5) == {"x": (3, 4), "a": (3, 4), "z": (4, 5), "y": (3, 5)}
    assert shapes(pair(second="N"), N=6)["y"] == (6, 6)
    assert shapes(pair(second="N"), N=6, z_1=2)["y"] == (6, 2)


def test_every_open_dimension_of_an_input_is_named_with_what_to_say() -> None:
    issues = refusal(lambda: read_graph(pair()))
    assert [(issue.code, issue.path) for issue in issues] == [
        ("unknown_dimension", '$.graph["x"]'),
        ("unknown_dimension", '$.graph["z"]'),
    ]
    assert [issue.message.rpartition("; ")[2] for issue in issues] == [
        f"give its value: --dim {name}=1, or convert the model for a range of values: "
        f"memstow convert --symbol {name}=1..64"
        for name in ("N", "z:1")
    ]
    (odd,) = refusal(lambda: read_graph(pair("a b", 3)))
    assert "--dim 'a b'=1, or" in odd.message
    assert odd.message.endswith("--symbol 'a b'=1..64")


def told(data: bytes, **dims: int) -> tuple[str, str]:
    (issue,) = refusal(lambda: shapes(data, **dims))
    assert issue.path == "--dim"
    return issue.code, issue.message


def test_values_that_no_dimension_takes_are_refused() -> None:
    code, message = told(pair(second=5), n=1)
    assert (code, 'open are "N", "x:0"' in message) == ("no_such_dimension", True)
    assert told(pair(second=5), x_1=3)[0] == "fixed_dimension"
    assert told(pair(1, 1), N=3) == (
        "no_such_dimension",
        'the model has no open dimension "N"; all of its dimensions are known',
    )
    for wrong in (0, -1, (1 << 31) + 1, 1 << 80):
        assert told(pair(second=5), N=wrong)[0] == "out_of_range"


def test_shapes_in_the_model_are_completed_and_must_agree() -> None:
    # Exporters leave names of their own between inputs and outputs, or the batch that they saw.
    assert shapes(pair(second=5, value_info=[value("a", ["unk__3", 4])]), N=2)["a"] == (2, 4)
    other = pair(second=5, value_info=[value("a", [1, 4])])
    assert refusal(lambda: shapes(other, N=2))[0].code == "contradicting_shapes"


def test_what_only_a_run_tells_says_so_and_a_name_in_the_model_can_be_given() -> None:
    nodes = [node("NonZero", "x", "where"), node("Cast", "where", "y", to=T.FLOAT)]
    data = model(nodes, [value("x", [8])], [value("y", [1, None])])
    (issue,) = refusal(lambda: read_graph(data))
    assert (issue.code, "--dim" in issue.message) == ("unknown_shape", False)
    named = model(
        nodes,
        [value("x", [8])],
        [value("y", [1, "found"])],
        value_info=[value("where", [1, "found"], T.INT64)],
    )
    (issue,) = refusal(lambda: read_graph(named))
    assert (issue.code, issue.message.endswith("--dim found=1")) == ("unknown_dimension", True)
    assert shapes(named, found=8)["where"] == (1, 8)


def test_only_models_with_open_dimensions_take_values() -> None:
    for data in (b'{"version": 1, "buffers": []}', b"id,lower,upper,size\na,0,1,4\n"):
        (issue,) = refusal(lambda data=data: formats.read_document(data, dims={"N": 1}))  # type: ignore[misc]
        assert issue.code == "no_open_dimensions"
    assert formats.read_graph(pair(second=5), dims={"N": 1}).tensors


def test_models_of_the_other_tests_are_read_for_any_batch() -> None:
    for made in MODELS.values():
        sizes = [
            sum(buffer.size for buffer in listed_problem(read_graph(made(), dims={"N": n})).buffers)
            for n in (1, 2, 7)
        ]
        assert sizes[1] <= 2 * sizes[0]
        assert sizes[0] < sizes[1] < sizes[2]


def test_inputs_that_are_constants_need_no_value() -> None:
    weight = helper.make_tensor("z", T.FLOAT, [4, 2], [1.0] * 8)
    data = model(
        [node("MatMul", "x z", "y")],
        [value("x", [3, 4]), value("z", ["K", 2])],
        [value("y", None)],
        initializer=[weight],
    )
    assert shapes(data)["y"] == (3, 2)


def test_damaged_models_with_values_are_refused_or_read() -> None:
    rng, data, said = Random(3), pair(second=5), list[str]()
    for _ in range(200):
        mutated = bytearray(data)
        mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        try:
            listed_problem(read_graph(bytes(mutated), dims={"N": 1}))
        except InputError as error:
            said += map(str, error.issues)
    assert all(line.isprintable() for line in said)
    assert onnx.load_from_string(data).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
