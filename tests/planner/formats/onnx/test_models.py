"""ONNX models as graphs: what small ones hold, and what is refused by name."""

from pathlib import Path
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.formats.onnx.models import read_graph
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.errors import InputError
from tests.onnx_models import T, helper, model, onnx, value


def small(first: object = 1, kind: int = T.FLOAT) -> bytes:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", T.INT64, [2], [1, -1])),
        helper.make_node("Reshape", ["b", "c"], ["y"]),
    ]
    weights = helper.make_tensor("w", T.FLOAT, [4, 3, 3, 3], [0.0] * 108)
    return model(nodes, [value("x", [first, 3, 8, 8], kind)], [value("y", None)], initializer=[weights])


def test_a_model_is_recognised_and_read() -> None:
    graph = formats.read_graph(small())
    assert {(t.id, t.kind, t.shape) for t in graph.tensors} == {
        ("x", "data", (1, 3, 8, 8)),
        ("w", "constant", (4, 3, 3, 3)),
        ("a", "data", (1, 4, 8, 8)),
        ("b", "data", (1, 4, 8, 8)),
        ("c", "constant", None),
        ("y", "data", (1, 256)),
    }
    assert [(o.id, o.inputs, o.outputs) for o in graph.operators] == [
        ("conv", ("x", "w"), ("a",)),
        ("Relu 1", ("a",), ("b",)),
        ("Reshape 2", ("b", "c"), ("y",)),
    ]
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    sizes = {buffer.id: buffer.size for buffer in listed_problem(graph).buffers}
    assert sizes == {"x": 768, "a": 1024, "b": 1024, "y": 1024}
    shared = read_graph(small(), in_place=True)
    assert [operator.in_place for operator in shared.operators] == [(), (("a", "b"),), (("b", "y"),)]


def test_inputs_that_are_left_out_and_names_that_are_used_twice_do_no_harm() -> None:
    nodes = [
        helper.make_node("Clip", ["x", "", "top"], ["a"], name="same"),
        helper.make_node("Relu", ["a"], ["y"], name="same"),
    ]
    top = helper.make_tensor("top", T.FLOAT, [], [6.0])
    graph = read_graph(model(nodes, [value("x", [4])], [value("y", [4])], initializer=[top]))
    assert graph.operators[0].inputs == ("x", "top")
    assert len({operator.id for operator in graph.operators}) == 2


def test_the_mask_of_an_old_dropout_is_as_large_as_its_input() -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["a", "mask"]), helper.make_node("Relu", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "net", [value("x", [2, 8])], [value("y", [2, 8])])
    old = helper.make_model(graph, ir_version=3, opset_imports=[helper.make_opsetid("", 9)])
    read = read_graph(old.SerializeToString())
    assert {tensor.id: tensor.shape for tensor in read.tensors}["mask"] == (2, 8)
    assert read.operators[0].outputs == ("a", "mask")


@pytest.mark.parametrize("name", ["bvlc_alexnet", "inception_v1", "squeezenet", "vgg19"])
def test_networks_with_old_dropouts_are_read(name: str) -> None:
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    if not path.exists():
        pytest.skip("the package onnx has no such network")
    graph = read_graph(path.read_bytes())
    masks = [operator.outputs for operator in graph.operators if operator.type == "Dropout"]
    shapes = {tensor.id: tensor.shape for tensor in graph.tensors}
    assert masks
    assert all(shapes[kept] == shapes[mask] for kept, mask in masks)


def refused(data: bytes) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        read_graph(data)
    issue = caught.value.issues[0]
    return issue.code, issue.message


def test_what_cannot_be_read_is_refused_by_name() -> None:
    branch = helper.make_graph([], "branch", [], [value("x", [4])])
    choice = helper.make_node("If", ["test"], ["y"], name="choose", then_branch=branch, else_branch=branch)
    flag = value("test", [1], T.BOOL)
    code, message = refused(model([choice], [value("x", [4]), flag], [value("y", [4])]))
    assert (code, message.startswith('the If "choose" runs')) == ("not_supported", True)
    text = helper.make_node("Identity", ["x"], ["y"])
    strings = model([text], [value("x", [4], T.STRING)], [value("y", [4], T.STRING)])
    assert refused(strings)[0] == "not_supported"
    function = onnx.ModelProto.FromString(small())
    function.functions.add().name = "f"
    assert '"f"' in refused(function.SerializeToString())[1]
    clash = helper.make_node("Add", ["x", "z"], ["y"])
    shapes = [value("x", [3]), value("z", [4])]
    assert refused(model([clash], shapes, [value("y", [3])]))[0] == "contradicting_shapes"
    unknown = helper.make_node("Strange", ["x"], ["y"], domain="elsewhere")
    assert refused(model([unknown], [value("x", [3])], [value("y", None)]))[0] == "unknown_shape"
    assert refused(b"\x08\xff\xff")[0] == "damaged"
    relu = helper.make_node("Relu", ["x"], ["y"])
    for inputs, outputs in ((["x", ""], ["y"]), (["x"], ["y", ""])):
        nameless = model(
            [relu], [value(entry, [3]) for entry in inputs], [value(output, [3]) for output in outputs]
        )
        assert refused(nameless)[0] == "no_name"


def test_operators_that_are_not_known_are_plain_operators() -> None:
    unknown = helper.make_node("Strange", ["x"], ["y"], domain="elsewhere")
    graph = read_graph(model([unknown], [value("x", [3])], [value("y", [5])]))
    assert graph.operators[0].type == "Strange"


def test_damaged_models_are_refused_or_read() -> None:
    rng, data, read, output = Random(2), small(), 0, list[str]()
    for _ in range(400):
        mutated = bytearray(data if rng.random() < 0.8 else data[: rng.randrange(1, len(data))])
        for _ in range(rng.choice((1, 2, 8))):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        try:
            listed_problem(read_graph(bytes(mutated)))
            read += 1
        except InputError as error:
            output += map(str, error.issues)
    assert read
    assert output
    assert all(line.isprintable() for line in output)
