"""Formulas of shapes by operator: at each value what inference finds for the model with this value."""

from random import Random
from typing import Any

import pytest

from memstow.planner.formats.onnx.models import read_graph, read_symbolic_model, symbol_for
from memstow.planner.formulas.formula import parse_formula
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import Symbol
from tests.onnx_models import T, helper, model, node, numbers, value, weights
from tests.planner.refusal import refusal

HIGH, WIDE = Symbol(id="H", min=6, max=37), Symbol(id="W", min=9, max=24, step=3)


def floats(name: str, *values: float) -> Any:
    return helper.make_tensor(name, T.FLOAT, [len(values)], values)


def shapes_agree(data: bytes, *symbols: Symbol, fewest: int = 12) -> dict[str, tuple[int | str, ...] | None]:
    """The shapes of all tensors, compared with those of the model at some values."""
    graph = read_symbolic_model(data, {symbol.id: symbol_for(symbol.id, symbol) for symbol in symbols})
    shapes = {tensor.id: tensor.shape for tensor in graph.tensors if tensor.kind == "data"}
    random = Random(len(data))
    for _ in range(fewest):
        at = {symbol.id: random.randrange(symbol.min, symbol.max + 1, symbol.step) for symbol in symbols}
        for tensor in read_graph(data, dims=at).tensors:
            if tensor.kind == "data":
                result = [parse_formula(str(shape), at).value(at) for shape in shapes[tensor.id] or ()]
                assert result == list(tensor.shape or ()), (tensor.id, at)
    return shapes


def images(*nodes: Any, constants: Any = (), opset: int = 17) -> bytes:
    made = [value("y", None)]
    constants = [weights("w", 4, 4, 3, 3), *constants]
    return model(nodes, [value("x", ["N", 4, "H", "W"])], made, opset, initializer=constants)


IMAGES = {
    "conv": images(node("Conv", "x w", "y", pads=[1, 0, 2, 1], strides=[2, 3])),
    "dilated": images(node("Conv", "x w", "y", dilations=[2, 1])),
    "same": images(node("Conv", "x w", "y", auto_pad="SAME_LOWER", strides=[2, 2])),
    "valid": images(node("Conv", "x w", "y", auto_pad="VALID", strides=[3, 2])),
    "back": images(
        node("ConvTranspose", "x w", "y", strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0])
    ),
    "pool": images(node("MaxPool", "x", "y", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])),
    "mean": images(node("AveragePool", "x", "y", kernel_shape=[2, 2], strides=[3, 1])),
    "ceil": images(node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
    "pad": images(node("Pad", "x p", "y"), constants=[numbers("p", 0, 0, 1, -2, 0, 1, 3, 0)]),
    "resize": images(node("Resize", "x r s", "y"), constants=[floats("r"), floats("s", 1, 1, 1.5, 0.5)]),
    "tile": images(node("Tile", "x t", "y"), constants=[numbers("t", 1, 2, 3, 1)]),
    "depth": images(node("DepthToSpace", "x", "y", blocksize=2)),
    "slice": images(
        node("Slice", "x a b c d", "y"),
        constants=[
            numbers("a", 1, -5),
            numbers("b", 1 << 62, -1),
            numbers("c", 2, 3),
            numbers("d", 2, 1),
        ],
    ),
    "backwards": images(
        node("Slice", "x a b c d", "y"),
        constants=[numbers("a", -1), numbers("b", -(1 << 62)), numbers("c", 2), numbers("d", -2)],
    ),
    "slice by attributes": images(
        node("Slice", "x", "a", axes=[2, 3], starts=[1, -5], ends=[1 << 62, -1]),
        node("Slice", "a", "y", starts=[0, 1, 2], ends=[1, 3, -1]),
        opset=9,
    ),
    "pad by attributes": images(node("Pad", "x", "y", pads=[0, 0, 1, 2, 0, 1, 3, 0]), opset=10),
    "upsample": images(node("Upsample", "x s", "y"), constants=[floats("s", 1, 1, 1.5, 2)], opset=9),
    "resize by the second input": images(
        node("Resize", "x s", "y"), constants=[floats("s", 1, 1, 1.5, 0.5)], opset=10
    ),
    "split by attributes": images(node("Split", "x", "z y", axis=1, split=[1, 3]), opset=11),
    "parts of one number, the last smaller": images(
        node("Split", "x", "z zz y", axis=2, num_outputs=3), opset=18
    ),
    "top": images(node("TopK", "x k", "y z", axis=2), constants=[numbers("k", 3)]),
    "there and back": images(
        node("MaxPool", "x", "a", kernel_shape=[3, 3], strides=[3, 3]),
        node("Resize", "a r s", "b"),
        node("Concat", "b b", "y", axis=1),
        constants=[floats("r"), floats("s", 1, 1, 3, 3)],
    ),
}


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_open_height_and_width_are_derived(name: str) -> None:
    shapes_agree(IMAGES[name], Symbol(id="N", min=1, max=3), HIGH, WIDE)


def test_half_and_twice_of_steps_is_the_same_again() -> None:
    data = model(
        [
            node("MaxPool", "x", "a", kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", "a r s", "b"),
            node("Concat", "b x", "y", axis=1),
        ],
        [value("x", [1, 2, "H", 8])],
        [value("y", [1, 4, "H", 8])],
        initializer=[floats("r"), floats("s", 1, 1, 2, 2)],
    )
    shapes = shapes_agree(data, Symbol(id="H", min=4, max=64, step=4))
    assert shapes["a"] == (1, 2, "H//2", 4)
    assert shapes["y"] == (1, 4, "H", 8)


def test_a_name_that_is_right_at_even_values_only_is_not_believed() -> None:
    data = model(
        [node("Conv", "x w", "a", pads=[1, 1, 1, 1], strides=[2, 1]), node("Resize", "a r s", "y")],
        [value("x", [1, 4, "H", 8])],
        [value("y", [1, 4, "H", 8])],
        initializer=[weights("w", 4, 4, 3, 3), floats("r"), floats("s", 1, 1, 2, 1)],
        value_info=[value("a", [1, 4, "(H+1)//2", 8])],
    )
    (issue,) = refusal(lambda: read_symbolic_model(data, {"H": Symbol(id="H", min=2, max=64)}))
    assert (issue.code, issue.path) == ("contradicting_shapes", '$.graph["y"]')
    assert "at H=63" in issue.message
    assert read_symbolic_model(data, {"H": Symbol(id="H", min=2, max=64, step=2)}).tensors[-1].shape == (
        *(1, 4, "H", 8),
    )


def test_what_only_the_file_says_is_not_believed() -> None:
    made = helper.make_node("Mystery", ["x"], ["a"], domain="elsewhere", name="k1")
    inputs, outputs = [value("x", ["N", 4])], [value("y", ["N", 4])]
    data = model([made, node("Relu", "a", "y")], inputs, outputs, value_info=[value("a", ["N", 4])])
    (issue,) = refusal(lambda: read_symbolic_model(data, {"N": Symbol(id="N", min=1, max=8)}))
    assert (issue.code, issue.path) == ("underivable_shape", '$.graph["a"]')
    assert 'Mystery "k1"' in issue.message


def test_heads_are_split_by_numbers_of_the_shape() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "b"),
        node("Gather", "s one", "t"),
        node("Unsqueeze", "b first", "b1"),
        node("Unsqueeze", "t first", "t1"),
        node("Concat", "b1 t1 four four", "shape", axis=0),
        node("Reshape", "x shape", "heads"),
        node("Transpose", "heads", "y", perm=[0, 2, 1, 3]),
    ]
    constants = [
        helper.make_tensor("zero", T.INT64, [], [0]),
        helper.make_tensor("one", T.INT64, [], [1]),
        numbers("first", 0),
        numbers("four", 4),
    ]
    data = model(nodes, [value("x", ["B", "S", 16])], [value("y", None)], initializer=constants)
    symbols = Symbol(id="B", min=1, max=4), Symbol(id="S", min=1, max=128)
    # Each value takes a child here, and reading has compared forty in one.
    assert shapes_agree(data, *symbols, fewest=3)["y"] == ("B", 4, "S", 4)


def test_letters_of_einsum_are_repeated_where_one_input_has_1() -> None:
    inputs = [value("x", [1, "N", 4]), value("z", [3, 1, "N"])]
    data = model([node("Einsum", "x z", "y", equation="bij,bjk->bik")], inputs, [value("y", None)])
    read = read_symbolic_model(data, {"N": Symbol(id="N", min=1, max=8)})
    assert read.tensors[-1].shape == (3, "N", "N")
    # Inference says 1 for the letter that is 3 when it runs, and would refuse the Concat.
    nodes = [node("Einsum", "x z", "a", equation="bij,bjk->bik"), node("Concat", "a z2", "y", axis=1)]
    inputs.append(value("z2", [3, 2, "N"]))
    data = model(nodes, inputs, [value("y", None)])
    graph = read_symbolic_model(data, {"N": Symbol(id="N", min=1, max=8)})
    assert [tensor.shape for tensor in graph.tensors if tensor.id in "ay"] == [
        (3, "N", "N"),
        (3, "N + 2", "N"),
    ]
    for equation, shape in (("...ij,...jk", (3, "N", 2)), ("j...i,kjm->m...i", (2, "N", 4))):
        given = [value("x", [3, "N", 4]), value("z", [3, 4, 2] if "..." in equation[:3] else [5, 3, 2])]
        data = model([node("Einsum", "x z", "y", equation=equation)], given, [value("y", None)])
        assert shapes_agree(data, Symbol(id="N", min=1, max=8), fewest=2)["y"] == shape
    same = [value("x", ["B", "N", 4]), value("z", ["B", 4, "N"])]
    data = model([node("Einsum", "x z", "y", equation="bij,bjk->bik")], same, [value("y", None)])
    symbols = Symbol(id="B", min=1, max=4), Symbol(id="N", min=1, max=8)
    assert shapes_agree(data, *symbols)["y"] == ("B", "N", "N")


def test_an_empty_cache_is_a_first_step() -> None:
    inputs = [value("past", ["B", 4, "past", 8]), value("k", ["B", 4, "new", 8])]
    data = model([node("Concat", "past k", "y", axis=2)], inputs, [value("y", None)])
    symbols = {
        "B": Symbol(id="B", min=1, max=4),
        "past": Symbol(id="past", min=0, max=100),
        "new": Symbol(id="new", min=1, max=10),
    }
    graph = read_symbolic_model(data, symbols)
    assert graph.tensors[-1].shape == ("B", 4, "new + past", 8)


@pytest.mark.parametrize(
    ("nodes", "inputs", "said"),
    [
        (
            [node("Split", "x", "y z", axis=0)],
            [value("x", ["N", 3])],
            "at N=9 Split cannot be: the shapes of the model contradict each other",
        ),
        (
            [node("Add", "x m", "y")],
            [value("x", ["N", 3]), value("m", ["M", 3])],
            "which are 3 and 8 at N=3, M=8",
        ),
        (
            [node("NonZero", "x", "i"), node("Cast", "i", "y", to=T.FLOAT)],
            [value("x", ["N", 3])],
            "what NonZero makes cannot be derived",
        ),
        (
            [node("MaxPool", "x", "y", kernel_shape=[3])],
            [value("x", [1, 1, "N"]), value("m", ["M"])],
            "at N=1 MaxPool cannot run: the window of 3",
        ),
    ],
)
def test_a_contradiction_says_at_which_value(nodes: list[Any], inputs: list[Any], said: str) -> None:
    data = model(nodes, inputs, [value("y", None)])
    names = {name for one in inputs for name in ("N", "M") if name in str(one)}
    symbols: dict[str, Symbol] = {name: Symbol(id=name, min=1, max=9) for name in ("N", "M") if name in names}
    issue = refusal(lambda: read_symbolic_model(data, symbols))[0]
    assert said in issue.message


def test_random_images_are_as_inference_finds_them_or_refused() -> None:
    derived, refused = 0, set[str]()
    for seed in range(24):
        random = Random(seed)
        nodes, last = [], "x"
        for i in range(random.randint(1, 4)):
            kind = random.choice(("Conv", "MaxPool", "ConvTranspose", "DepthToSpace"))
            made = f"t{i}"
            more: dict[str, Any] = {"strides": [random.randint(1, 3), random.randint(1, 2)]}
            if random.random() < 0.4:
                more["auto_pad"] = random.choice(("SAME_UPPER", "VALID"))
            elif random.random() < 0.5:
                more["pads"] = [random.randint(0, 1) for _ in range(4)]
            if kind == "MaxPool":
                nodes.append(node(kind, last, made, kernel_shape=[2, 3], **more))
            elif kind == "DepthToSpace":
                nodes += [node("Concat", f"{last} {last} {last} {last}", f"c{i}", axis=1)]
                nodes += [node(kind, f"c{i}", made, blocksize=2)]
            else:
                nodes.append(node(kind, f"{last} w", made, **more))
            last = made
        nodes.append(node("Relu", last, "y"))
        try:
            shapes_agree(images(*nodes), Symbol(id="N", min=1, max=2), HIGH, WIDE, fewest=4)
        except InputError as error:
            refused |= {issue.code for issue in error.issues}
            continue
        derived += 1
    assert derived > 15
    assert refused <= {"contradicting_shapes", "underivable_shape"}


def test_padding_to_a_multiple_is_followed() -> None:
    nodes = [
        node("Shape", "x", "s", start=0, end=1),
        node("Mod", "s eight", "r"),
        node("Sub", "eight r", "d"),
        node("Mod", "d eight", "e"),
        node("Concat", "zero zero e zero", "p", axis=0),
        node("Pad", "x p", "y"),
    ]
    constants = [numbers("zero", 0), numbers("eight", 8)]
    data = model(nodes, [value("x", ["N", 9])], [value("y", None)], initializer=constants)
    result = shapes_agree(data, Symbol(id="N", min=1, max=40), fewest=3)["y"] or ()
    assert result[1:] == (9,)
    for size in range(1, 41):
        assert parse_formula(str(result[0]), ("N",)).value({"N": size}) == -(-size // 8) * 8
