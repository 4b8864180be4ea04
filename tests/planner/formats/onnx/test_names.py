"""What names of dimensions mean, and what a file says of shapes: read where it is given, believed nowhere."""

from functools import partial
from typing import Any

import pytest

from memstow.planner.formats.onnx.models import read_symbolic_model, symbol_for
from memstow.planner.model.symbolic import Symbol, SymbolicGraph
from tests.onnx_models import T, helper, model, node, numbers, value
from tests.planner.refusal import refusal


def read(data: bytes, dims: dict[str, int] | None = None, **given: tuple[int, int]) -> SymbolicGraph:
    """`__` in a name stands for a dot, and `___` for a colon."""
    names = {name.replace("___", ":").replace("__", "."): entry for name, entry in given.items()}
    ranges = {
        name: symbol_for(name, Symbol(id="x", min=low, max=high)) for name, (low, high) in names.items()
    }
    return read_symbolic_model(data, ranges, dims=dims)


def shape_of(graph: SymbolicGraph, name: str) -> tuple[int | str, ...] | None:
    return next(tensor.shape for tensor in graph.tensors if tensor.id == name)


def two(first: object, second: object) -> bytes:
    nodes = [node("Concat", "a b", "y", axis=0)]
    return model(nodes, [value("a", [first, 3]), value("b", [second, 3])], [value("y", None)])


def test_the_id_of_a_symbol_is_no_name_of_another_dimension() -> None:
    for issue in (
        *refusal(lambda: read(two("N.1", "N_1"), N__1=(1, 5))),
        *refusal(lambda: read(two(None, "a_0"), a___0=(1, 5))),
        *refusal(lambda: read(two("N.1", "N_1 + 1"), N__1=(1, 5))),
    ):
        assert (issue.code, issue.path) == ("unknown_dimension", '$.graph["b"]')
    named = two("N.1", 4)
    graph = read(named, N__1=(1, 5))
    assert shape_of(graph, "y") == ("N_1 + 4", 3)


def test_names_of_inputs_may_be_formulas_of_what_is_given() -> None:
    """As exporters write masks: the cache and what is new."""
    nodes = [node("Concat", "past k", "keys", axis=1), node("Add", "keys mask", "y")]
    inputs = [
        value("past", ["batch", "past", 8]),
        value("k", ["batch", "new", 8]),
        value("mask", ["batch", "past + new", 8]),
    ]
    data = model(nodes, inputs, [value("y", ["batch", "past + new", 8])])
    graph = read(data, batch=(1, 3), past=(0, 8), new=(1, 8))
    assert shape_of(graph, "mask") == shape_of(graph, "y") == ("batch", "new + past", 8)
    assert shape_of(read(data, {"past": 4, "batch": 2}, new=(1, 8)), "y") == (2, "new + 4", 8)
    assert shape_of(read(data, {"past": 4, "new": 2}, batch=(1, 3)), "y") == ("batch", 6, 8)
    issues = refusal(lambda: read(data, batch=(1, 3), new=(1, 8)))
    assert [(issue.code, issue.path) for issue in issues] == [
        ("unknown_dimension", '$.graph["past"]'),
    ]  # What the mask has follows.
    other = [*inputs[:2], value("mask", ["batch", "past - new", 8])]
    issue = refusal(
        lambda: read(model(nodes, other, [value("y", None)]), batch=(1, 3), past=(0, 8), new=(1, 8))
    )[0]
    assert issue.code == "contradicting_shapes"


@pytest.mark.parametrize(
    ("nodes", "inputs", "said", "code"),
    [
        ([node("Compress", "d c", "y")], [[4, T.FLOAT, "d"], [4, T.BOOL, "c"]], [3], "underivable_shape"),
        ([node("ConstantOfShape", "s", "y")], [[2, T.INT64, "s"]], [3, 4], "underivable_shape"),
        ([node("Relu", "x", "y")], [["N", T.FLOAT, "x"]], [1], "contradicting_shapes"),
        ([node("Relu", "x", "y")], [["N", T.FLOAT, "x"]], [1, 1], "contradicting_shapes"),
        ([node("Range", "s s s", "y")], [[2, T.INT64, "s"]], [None], "underivable_shape"),
        (
            [node("Shape", "x", "s"), node("ConstantOfShape", "s", "y", value=numbers("v"))],
            [["N", T.FLOAT, "x"]],
            [None],
            "underivable_shape",
        ),
        (
            [node("Shape", "x", "s"), node("Concat", "s s", "t", axis=0), node("Range", "t t s", "y")],
            [["N", T.FLOAT, "x"]],
            [None],
            "underivable_shape",
        ),
    ],
)
def test_what_the_file_says_of_a_result_is_not_believed(
    nodes: list[Any], inputs: list[Any], said: list[Any], code: str
) -> None:
    made = [value(name, [extent], kind) for extent, kind, name in inputs] + [value("other", ["N"])]
    kind = T.INT64 if nodes[-1].op_type == "Range" or nodes[-1].attribute else T.FLOAT
    data = model(nodes, made, [value("y", said, kind)])
    issue = refusal(lambda: read(data, N=(1, 9)))[0]
    assert (issue.code, issue.path) == (code, '$.graph["y"]')
    output = "leave it out" if code == "contradicting_shapes" else nodes[-1].op_type
    assert output in issue.message


def test_numbers_of_shapes_are_followed_through_what_exporters_write() -> None:
    last = (1 << 63) - 1
    chains: dict[str, tuple[list[Any], tuple[int | str, ...]]] = {
        "split": ([node("Split", "s onetwo", "a split", axis=0)], (4, "M")),
        "back": ([node("Slice", "s minus start zero minus", "back")], ("M", 4, "N")),
        # Pads as torch writes them: pairs, turned around, from the last axis on.
        "pads": (
            [
                node("Concat", "s zero", "s4", axis=0),
                node("Reshape", "s4 pairs", "b"),
                node("Slice", "b minus start zero minus", "c"),
                node("Transpose", "c", "d", perm=[1, 0]),
                node("Reshape", "d minus", "pads"),
            ],
            ("M", "N", 0, 4),
        ),
        # To a multiple of 8: (8 - s % 8) % 8 more, and -s % 8 more.
        "filled": (
            [
                node("Mod", "s eight", "e"),
                node("Sub", "eight e", "f"),
                node("Mod", "f eight", "g"),
                node("Add", "s g", "filled"),
            ],
            ("8*((N + 7)//8)", 8, "8*((M + 7)//8)"),
        ),
        "negative": (
            [node("Neg", "s", "h"), node("Mod", "h eight", "i"), node("Add", "s i", "negative")],
            ("8*((N + 7)//8)", 8, "8*((M + 7)//8)"),
        ),
        "scattered": ([node("ScatterND", "s place eight", "scattered")], ("N", 8, "M")),
        "away": ([node("Sub", "s five", "j"), node("Abs", "j", "away")], ("max(-N + 5, N - 5)", 2, "M - 1")),
    }
    made = [entry for nodes, _ in chains.values() for entry in nodes]
    made += [helper.make_node("ConstantOfShape", [name], [f"made {name}"]) for name in chains]
    constants = {
        "minus": (-1,),
        "start": (-last,),
        "zero": (0,),
        "eight": (8,),
        "onetwo": (1, 2),
        "pairs": (-1, 2),
        "five": (5, 6, 1),
    }
    initial = [
        *(numbers(name, *values) for name, values in constants.items()),
        helper.make_tensor("place", T.INT64, [1, 1], [1]),
    ]
    outputs = [value(f"made {name}", None) for name in chains]
    data = model([node("Shape", "x", "s"), *made], [value("x", ["N", 4, "M"])], outputs, initializer=initial)
    graph = read(data, N=(1, 20), M=(3, 9))
    for name, (_, shape) in chains.items():
        assert shape_of(graph, f"made {name}") == shape, name


def test_equal_is_followed_where_ranges_decide_and_nowhere_else() -> None:
    """N is 1 to 9: never 0 nor 10, always itself, and 1 or 9 at some values only."""

    def chosen(other: str) -> tuple[int | str, ...] | None:
        nodes = [
            node("Shape", "x", "s"),
            node("Equal", f"s {other}", "same"),
            node("Where", "same three four", "lengths"),
            node("ConstantOfShape", "lengths", "y"),
        ]
        constants = [numbers(name, number) for name, number in named.items()]
        data = model(nodes, [value("x", ["N"])], [value("y", None)], initializer=constants)
        return shape_of(read(data, N=(1, 9)), "y")

    named = {"none": 0, "ten": 10, "one": 1, "nine": 9, "three": 3, "four": 4}
    assert [chosen(other) for other in ("s", "none", "ten")] == [(3,), (4,), (4,)]
    for undecided in ("one", "nine", "four"):
        assert refusal(partial(chosen, undecided))[0].code == "underivable_shape"


@pytest.mark.parametrize(
    ("nodes", "inputs", "said"),
    [
        ([node("Reshape", "x to", "y")], {"x": ["N", 8, 4]}, "32*N and 32"),
        ([node("Conv", "x w", "y")], {"x": [1, "N", 8, 8], "w": [4, 3, 3, 3]}, "N and 3"),
        ([node("LayerNormalization", "x w", "y")], {"x": [2, "N"], "w": [4]}, "N and 4"),
        ([node("ReduceMax", "x", "y", axes=[-1])], {"x": ["N", 8]}, "from the front"),
    ],
)
def test_what_runs_at_some_values_only_is_refused(
    nodes: list[Any], inputs: dict[str, list[Any]], said: str
) -> None:
    made = [value(name, shape) for name, shape in inputs.items()]
    data = model(nodes, made, [value("y", None)], initializer=[numbers("to", 1, 32)])
    issue = refusal(lambda: read(data, N=(0, 9)))[0]
    assert said in issue.message
    assert nodes[0].op_type in issue.message


def test_names_without_a_use_are_ignored_and_domains_have_two_names() -> None:
    for name in ("*".join(["N"] * 900), "N*4611686018427387904*8", "9" * 23):
        data = model([node("Relu", "x", "y")], [value("x", ["N", 3])], [value("y", [name, 3])])
        assert shape_of(read(data, N=(1, 20)), "y") == ("N", 3)
    made = helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")
    assert shape_of(read(model([made], [value("x", ["N"])], [value("y", None)]), N=(1, 20)), "y") == ("N",)


def test_depths_factors_and_windows_follow_from_numbers() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s one", "d"),
        node("OneHot", "i d v", "hot", axis=1),
        node("Concat", "f g", "factors", axis=0),
        node("Resize", "p r factors", "large"),
        node("MaxPool", "p", "small places", kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxUnpool", "small places", "again", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    floats = {"v": [0.0, 1.0], "f": [1.0, 1.0], "g": [2.0, 0.5], "r": []}
    initial = [
        *(helper.make_tensor(name, T.FLOAT, [len(entry)], entry) for name, entry in floats.items()),
        helper.make_tensor("one", T.INT64, [], [1]),
    ]
    inputs = [value("x", [3, "N"]), value("i", ["B"], T.INT64), value("p", [1, 1, "N", 6])]
    outputs = [value(name, None) for name in ("hot", "large", "again")]
    graph = read(model(nodes, inputs, outputs, initializer=initial), N=(4, 20), B=(1, 9))
    assert shape_of(graph, "hot") == ("B", "N")
    assert shape_of(graph, "large") == (1, 1, "2*N", 3)
    assert shape_of(graph, "again") == (1, 1, "2*(N//2)", 6)
